//! `simulate`: runs in the background, so that Python can show progress and be interrupted.

use crate::capture::Listener;
use crate::tables::{Tables, append, by_name};
use crate::watch::watch;
use crate::{LackingError, scenario_of};
use ackclock_core::job::{Job, jobs};
use ackclock_core::result::Table;
use ackclock_core::scenario::Scenario;
use ackclock_sim::batch::{BatchProgress, run_all};
use ackclock_sim::memory::Need;
use ackclock_sim::run::SimulationOutcome;
use ackclock_sim::trace::NoTrace;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io;
use std::path::Path;

/// Runs every replicate of every point. Ctrl-C stops the runs and returns what there is, `complete` false. What needs more than `memory`
/// bytes is not begun.
#[pyfunction]
#[pyo3(signature = (points, folder, *, threads, memory, packets, pcap_folder, progress))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python's")]
pub fn simulate<'py>(
    py: Python<'py>,
    points: Vec<String>,
    folder: &str,
    threads: usize,
    memory: Option<u64>,
    packets: bool,
    pcap_folder: Option<String>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let scenarios = points
        .iter()
        .map(|tree| scenario_of(tree, folder))
        .collect::<PyResult<Vec<Scenario>>>()?;
    if let Some(memory) = memory {
        fit(&Need::of(&scenarios, threads), memory as f64)?;
    }
    let jobs = jobs(&scenarios);
    let state = BatchProgress::default();
    let pcap_folder = pcap_folder.as_deref().map(Path::new);
    let work = || {
        if packets || pcap_folder.is_some() {
            let listen = |job: &Job<'_>, topology: &_| Listener::new(job, topology, packets, pcap_folder);
            merge(
                run_all(&jobs, threads, &state, listen),
                jobs.len(),
                Listener::finish,
            )
        } else {
            merge(
                run_all(&jobs, threads, &state, |_, _| NoTrace),
                jobs.len(),
                |NoTrace| Ok(None),
            )
        }
    };
    let tell = || match &progress {
        Some(tell) => tell.call1((state.fraction(),)).map(drop),
        None => Ok(()),
    };
    let (tables, complete) = watch(py, || state.stop(), tell, work)?
        .map_err(|error| PyOSError::new_err(format!("the capture cannot be written: {error}")))?;
    let result = PyDict::new(py);
    result.set_item("complete", complete)?;
    result.set_item("tables", by_name(py, &tables)?)?;
    Ok(result)
}

/// Refuses what cannot fit.
fn fit(need: &Need, memory: f64) -> PyResult<()> {
    if need.bytes() <= memory {
        return Ok(());
    }
    let gigabytes = |bytes: f64| format!("{:.1} GB", bytes / 1e9);
    let (field, remedy) = if need.rows > need.runs {
        (
            "sample_interval",
            "a longer interval, fewer replicates or fewer points",
        )
    } else {
        ("flows", "fewer flows or fewer threads")
    };
    let sentence = format!(
        "{} flows and the rows of all samples need at least {} of memory, and {} are free; write {remedy}",
        need.flows.round(),
        gigabytes(need.bytes()),
        gigabytes(memory),
    );
    Err(LackingError::new_err(("lacking", field, sentence)))
}

/// The rows of all runs, one below the other, and those of what listened.
fn merge<T>(
    outcomes: Vec<SimulationOutcome<T>>,
    expected: usize,
    mut packets: impl FnMut(T) -> io::Result<Option<Table>>,
) -> io::Result<(Tables, bool)> {
    let complete = outcomes.len() == expected && outcomes.iter().all(|outcome| outcome.complete);
    let mut merged: Tables = Vec::new();
    for outcome in outcomes {
        let packets = packets(outcome.trace)?.map(|table| ("packets", table));
        for (name, table) in outcome.tables.into_iter().chain(packets) {
            append(&mut merged, name, table);
        }
    }
    Ok((merged, complete))
}
