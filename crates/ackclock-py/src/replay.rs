//! `replay`: sends recorded arrivals through the hops again.

use crate::scenario_of;
use crate::watch::watch;
use ackclock_emu::record::{self, Chunks};
use ackclock_emu::replay::{Replay, replay as replay_record};
use ackclock_scenario::Scenario;
use ackclock_scenario::job::{Job, jobs};
use ackclock_spec::units::Time;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Replays every run of a result's folder. Returns for each run, as JSON, whether the hops'
/// decisions are the recorded ones.
#[pyfunction]
pub fn replay(py: Python<'_>, points: Vec<String>, folder: &str, output: &str) -> PyResult<String> {
    let scenarios: Vec<Scenario> = points
        .iter()
        .map(|tree| scenario_of(tree, folder))
        .collect::<PyResult<_>>()?;
    let stop = AtomicBool::new(false);
    let replays = watch(
        py,
        || stop.store(true, Ordering::Relaxed),
        || Ok(()),
        || replay_all(&jobs(&scenarios), Path::new(output), &stop),
    )?;
    match replays.map_err(PyOSError::new_err)? {
        _ if stop.load(Ordering::Relaxed) => Err(PyKeyboardInterrupt::new_err(())),
        replays => Ok(Value::from(replays).to_string()),
    }
}

fn replay_all(jobs: &[Job<'_>], folder: &Path, stop: &AtomicBool) -> Result<Vec<Value>, String> {
    let mut all = Vec::new();
    for job in jobs {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let file = record::file_of(folder, job);
        let replayed = replay_one(job, &file)
            .map_err(|error| format!("{}: {error}; emulate again", file.display()))?;
        let Some(replayed) = replayed else { continue };
        all.push(json!({
            "point": job.point,
            "replicate": job.replicate,
            "arrivals": replayed.arrivals,
            "decisions": replayed.decisions,
            "until_s": replayed.until.as_seconds(),
            "duration_s": job.scenario.duration.as_seconds(),
            "complete": replayed.complete,
            "difference": replayed.difference.map(|difference| difference.to_string()),
        }));
    }
    Ok(all)
}

/// Returns `None` if there is no record: the run was never begun.
fn replay_one(job: &Job<'_>, file: &Path) -> io::Result<Option<Replay>> {
    let file = match File::open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => BufReader::new(file?),
    };
    replay_record(
        job.network(),
        job.scenario.sample_interval,
        Time::ZERO + job.scenario.duration,
        Chunks::new(file)?,
    )
    .map(Some)
}
