//! The key of a run, by which Python names it.

use ackclock_scenario::job::Job;

/// Point and replicate of a run.
pub type Key = (u32, u32);

pub fn key(job: &Job<'_>) -> Key {
    (job.point, job.replicate)
}
