//! `replay`: recorded arrivals through the hops again.

use crate::scenario_of;
use crate::watch::watch;
use ackclock_core::network;
use ackclock_core::scenario::Scenario;
use ackclock_core::streams::Streams;
use ackclock_emu::record::{self, Chunks};
use ackclock_emu::replay::{Replay, replay as replay_record};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Replays every run of a result's folder, and says of each whether the hops decide again what was recorded, as JSON.
#[pyfunction]
pub fn replay(py: Python<'_>, points: Vec<String>, folder: &str, output: &str) -> PyResult<String> {
    let scenarios: Vec<Scenario> = points
        .iter()
        .map(|tree| scenario_of(tree, folder))
        .collect::<PyResult<_>>()?;
    let stop = AtomicBool::new(false);
    let found = watch(
        py,
        || stop.store(true, Ordering::Relaxed),
        || Ok(()),
        || replay_all(&scenarios, Path::new(output), &stop),
    )?;
    match found.map_err(PyOSError::new_err)? {
        _ if stop.load(Ordering::Relaxed) => Err(PyKeyboardInterrupt::new_err(())),
        found => Ok(Value::from(found).to_string()),
    }
}

fn replay_all(scenarios: &[Scenario], folder: &Path, stop: &AtomicBool) -> Result<Vec<Value>, String> {
    let mut all = Vec::new();
    for (point, scenario) in (0..).zip(scenarios) {
        for replicate in 0..scenario.replicates {
            if stop.load(Ordering::Relaxed) {
                return Ok(all);
            }
            let file = record::file_of(folder, point, replicate);
            let found = replay_one(scenario, replicate, &file)
                .map_err(|error| format!("{}: {error}; emulate again", file.display()))?;
            let Some(found) = found else { continue };
            all.push(json!({
                "point": point,
                "replicate": replicate,
                "arrivals": found.arrivals,
                "decisions": found.decisions,
                "complete": found.complete,
                "difference": found.difference.map(|difference| difference.to_string()),
            }));
        }
    }
    Ok(all)
}

/// `None` if there is no record: the run was never begun.
fn replay_one(scenario: &Scenario, replicate: u32, file: &Path) -> io::Result<Option<Replay>> {
    let file = match File::open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => BufReader::new(file?),
    };
    let network = network::build(scenario, &Streams::new(scenario.seed, replicate));
    replay_record(network, scenario.sample_interval, Chunks::new(file)?).map(Some)
}
