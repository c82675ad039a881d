//! Runs many jobs on all cores. Runs share no state, so the rows do not depend on the number of
//! threads.

use crate::run::{Run, SimulationOutcome, Supervisor};
use crate::topology::Topology;
use crate::trace::Trace;
use ackclock_scenario::job::Job;
use ackclock_spec::units::Time;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Progress of a batch, and the request to stop it. Shared by all runs and by observers.
#[derive(Debug, Default)]
pub struct BatchProgress {
    done: AtomicU64,
    total: AtomicU64,
    stop: AtomicBool,
}

impl BatchProgress {
    /// Returns the share of virtual time that is done, 0 to 1.
    pub fn fraction(&self) -> f64 {
        let total = self.total.load(Ordering::Relaxed).max(1);
        (self.done.load(Ordering::Relaxed) as f64 / total as f64).min(1.0)
    }
    /// Asks all runs to stop soon.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
    /// True if the runs were asked to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The progress of one run, in microseconds of virtual time. A century of runs of a century each
/// fits.
struct Part<'a> {
    progress: &'a BatchProgress,
    reported: AtomicU64,
}

impl Supervisor for Part<'_> {
    fn proceed(&self, now: Time) -> bool {
        let micros = now.as_nanos() / 1_000;
        let before = self.reported.swap(micros, Ordering::Relaxed);
        self.progress
            .done
            .fetch_add(micros.saturating_sub(before), Ordering::Relaxed);
        !self.progress.stopped()
    }
}

/// The work of a thread.
pub type Work<'a> = &'a mut (dyn FnMut() + Send);

/// Runs the jobs on `threads` threads (0 for one per core). `begin` makes the parts of a run and
/// what traces it. Hands over each outcome, with the job's position, as its run ends. Leaves out
/// jobs not begun when the batch is stopped.
pub fn run_each<T: Trace>(
    jobs: &[Job<'_>],
    threads: usize,
    progress: &BatchProgress,
    begin: impl Fn(&Job<'_>) -> (Topology, T) + Sync,
    ended: impl Fn(usize, SimulationOutcome<T>) + Sync,
) {
    run_each_within(jobs, threads, progress, |work| work(), begin, ended);
}

/// Does the same; each thread does all its work within a call of `within`.
pub fn run_each_within<T: Trace>(
    jobs: &[Job<'_>],
    threads: usize,
    progress: &BatchProgress,
    within: impl Fn(Work<'_>) + Sync,
    begin: impl Fn(&Job<'_>) -> (Topology, T) + Sync,
    ended: impl Fn(usize, SimulationOutcome<T>) + Sync,
) {
    let micros = |job: &Job<'_>| job.scenario.duration.as_nanos() / 1_000;
    progress.total.store(
        jobs.iter().map(micros).fold(0, u64::saturating_add),
        Ordering::Relaxed,
    );
    let run = |(position, job): (usize, &Job<'_>)| {
        if progress.stopped() {
            return;
        }
        let part = Part {
            progress,
            reported: AtomicU64::new(0),
        };
        let (topology, trace) = begin(job);
        let outcome = Run::simulate(job, topology, trace, &part);
        part.proceed(Time::ZERO + job.scenario.duration);
        ended(position, outcome);
    };
    let all = || jobs.par_iter().enumerate().with_max_len(1).for_each(run);
    let thread = |thread: rayon::ThreadBuilder| {
        let mut thread = Some(thread);
        within(&mut || {
            if let Some(thread) = thread.take() {
                thread.run();
            }
        });
    };
    let threads = rayon::ThreadPoolBuilder::new().num_threads(threads);
    if threads
        .build_scoped(thread, |pool| pool.install(all))
        .is_err()
    {
        // Without threads, the jobs run one after the other.
        within(&mut || jobs.iter().enumerate().for_each(run));
    }
}
