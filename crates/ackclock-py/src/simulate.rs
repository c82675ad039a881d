//! `simulate`: runs in the background, so that Python can show progress and be interrupted.

use crate::capture::Listener;
use crate::scenario_of;
use crate::tables::to_python;
use ackclock_core::result::Table;
use ackclock_core::scenario::Scenario;
use ackclock_sim::batch::{Job, Progress, jobs, run_all};
use ackclock_sim::run::Outcome;
use ackclock_sim::trace::NoTrace;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io;
use std::path::Path;
use std::time::Duration;

/// How often progress is told and signals are looked at.
const WATCH: Duration = Duration::from_millis(100);

type Tables = Vec<(&'static str, Table)>;

/// Runs every replicate of every point. Ctrl-C stops the runs and returns what there is, `complete` false.
#[pyfunction]
#[pyo3(signature = (points, folder, *, threads, packets, pcap_folder, progress))]
pub fn simulate<'py>(
    py: Python<'py>,
    points: Vec<String>,
    folder: &str,
    threads: usize,
    packets: bool,
    pcap_folder: Option<String>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let scenarios = points
        .iter()
        .map(|tree| scenario_of(tree, folder))
        .collect::<PyResult<Vec<Scenario>>>()?;
    let jobs = jobs(&scenarios);
    let state = Progress::default();
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
    let (tables, complete) = watch(py, &state, progress.as_ref(), work)?
        .map_err(|error| PyOSError::new_err(format!("the capture cannot be written: {error}")))?;
    let by_name = PyDict::new(py);
    for (name, table) in &tables {
        by_name.set_item(name, to_python(py, table)?)?;
    }
    let result = PyDict::new(py);
    result.set_item("complete", complete)?;
    result.set_item("tables", by_name)?;
    Ok(result)
}

/// Does the work on another thread while this one, which Python's signals reach, watches.
fn watch<R: Send>(
    py: Python<'_>,
    state: &Progress,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce() -> R + Send,
) -> PyResult<R> {
    std::thread::scope(|scope| {
        let worker = scope.spawn(work);
        let mut failure = None;
        while !worker.is_finished() {
            py.detach(|| pause(&worker));
            let told = py.check_signals().and_then(|()| match progress {
                Some(tell) => tell.call1((state.fraction(),)).map(drop),
                None => Ok(()),
            });
            if let Err(error) = told {
                state.stop();
                if !error.is_instance_of::<PyKeyboardInterrupt>(py) {
                    failure = Some(error);
                }
            }
        }
        let result = py.detach(|| worker.join());
        match (failure, result) {
            (Some(error), _) => Err(error),
            (None, Ok(result)) => Ok(result),
            (None, Err(panic)) => std::panic::resume_unwind(panic),
        }
    })
}

/// Waits until the worker ends, but no longer than [`WATCH`].
#[expect(
    clippy::disallowed_methods,
    reason = "the binding waits in real time for the engine, which does not"
)]
fn pause<R>(worker: &std::thread::ScopedJoinHandle<'_, R>) {
    let slices = 100;
    for _ in 0..slices {
        if worker.is_finished() {
            return;
        }
        std::thread::sleep(WATCH / slices);
    }
}

/// The rows of all runs, one below the other, and those of what listened.
fn merge<T>(
    outcomes: Vec<Outcome<T>>,
    expected: usize,
    mut packets: impl FnMut(T) -> io::Result<Option<Table>>,
) -> io::Result<(Tables, bool)> {
    let complete = outcomes.len() == expected && outcomes.iter().all(|outcome| outcome.complete);
    let mut merged: Tables = Vec::new();
    for outcome in outcomes {
        let packets = packets(outcome.trace)?.map(|table| ("packets", table));
        for (name, table) in outcome.tables.into_iter().chain(packets) {
            match merged.iter_mut().find(|(known, _)| *known == name) {
                Some((_, rows)) => rows.append(table),
                None => merged.push((name, table)),
            }
        }
    }
    Ok((merged, complete))
}
