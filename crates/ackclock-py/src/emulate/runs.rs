//! Runs in real time, one after the other.

use super::program_of;
use crate::tables::{Tables, append, by_name, to_python};
use crate::watch::watch;
use crate::{LackingError, refuse, scenario_of};
use ackclock_core::job::{Job, jobs};
use ackclock_core::result::Table;
use ackclock_core::scenario::Scenario;
use ackclock_core::units::Time;
use ackclock_emu::emulation::{self, Failure, Options, Watch};
use ackclock_emu::protocol::DeviceChoice;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

fn scenarios_of(points: &[String], folder: &str) -> PyResult<Vec<Scenario>> {
    points.iter().map(|tree| scenario_of(tree, folder)).collect()
}

fn device_of(name: &str) -> PyResult<DeviceChoice> {
    serde_json::from_value(Value::from(name))
        .map_err(|_| PyValueError::new_err(format!("{name}: is no device")))
}

fn raised(failure: Failure) -> PyErr {
    match failure {
        Failure::Scenario(error) => refuse(error),
        Failure::Lacking(text) | Failure::Broken(text) => LackingError::new_err(text),
    }
}

/// What this machine would run these points with, as JSON.
#[pyfunction]
#[pyo3(signature = (points, folder, host_command, *, device))]
pub fn prepare_emulation(
    py: Python<'_>,
    points: Vec<String>,
    folder: &str,
    host_command: Vec<String>,
    device: &str,
) -> PyResult<String> {
    let scenarios = scenarios_of(&points, folder)?;
    let options = Options {
        program: program_of(&host_command)?,
        device: device_of(device)?,
        folder: folder.into(),
        captures: false,
    };
    // Hosts end with the thread that has started them.
    let checked = py
        .detach(|| std::thread::scope(|scope| scope.spawn(|| emulation::check(&scenarios, &options)).join()));
    let machine = checked
        .map_err(|_| PyRuntimeError::new_err("the emulator has panicked"))?
        .map_err(raised)?;
    serde_json::to_string(&machine).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Runs every replicate of every point, one after the other. Ctrl-C stops and returns what there is, `complete` false.
#[pyfunction]
#[pyo3(signature = (points, folder, output, host_command, *, device, pcap, progress, take))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn emulate<'py>(
    py: Python<'py>,
    points: Vec<String>,
    folder: &str,
    output: &str,
    host_command: Vec<String>,
    device: &str,
    pcap: bool,
    progress: Option<Bound<'py, PyAny>>,
    take: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let scenarios = scenarios_of(&points, folder)?;
    let options = Options {
        program: program_of(&host_command)?,
        device: device_of(device)?,
        folder: output.into(),
        captures: pcap,
    };
    let state = State::default();
    let tell = || {
        let rows = std::mem::take(&mut state.shared().tcp_info);
        if !rows.0.is_empty() {
            take.call1(("tcp_info", to_python(py, &rows)?))?;
        }
        match &progress {
            Some(tell) => tell.call1((state.progress().to_string(),)).map(drop),
            None => Ok(()),
        }
    };
    let stop = || state.stop.store(true, Ordering::Relaxed);
    let done = watch(py, stop, tell, || run_all(&scenarios, &options, &state))?;
    let result = PyDict::new(py);
    result.set_item("complete", done.complete)?;
    result.set_item("failure", done.failure)?;
    result.set_item("warnings", done.warnings)?;
    result.set_item("tables", by_name(py, &done.tables)?)?;
    Ok(result)
}

/// What the thread that runs and the one that watches share.
#[derive(Default)]
struct State {
    shared: Mutex<Shared>,
    stop: AtomicBool,
}

#[derive(Default)]
struct Shared {
    /// Rows that nobody has taken yet.
    tcp_info: Table,
    /// Number of the run, of so many.
    run: (usize, usize),
    /// Of the run.
    elapsed: Time,
    /// Of all runs, in seconds.
    done_s: f64,
    total_s: f64,
    rate_bit_per_s: f64,
    delivered_bytes: u64,
}

impl State {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn progress(&self) -> Value {
        let shared = self.shared();
        json!({
            "fraction": ((shared.done_s + shared.elapsed.as_seconds()) / shared.total_s.max(f64::MIN_POSITIVE)).min(1.0),
            "run": shared.run.0,
            "runs": shared.run.1,
            "rate_bit_per_s": shared.rate_bit_per_s,
        })
    }
}

impl Watch for &State {
    fn take_tcp_info(&mut self, rows: Table) -> io::Result<()> {
        self.shared().tcp_info.append(rows);
        Ok(())
    }

    fn proceed(&mut self, elapsed: Time, delivered_bytes: u64) -> bool {
        let mut shared = self.shared();
        let since = elapsed.since(shared.elapsed).as_seconds();
        if since > 0.0 {
            let bits = delivered_bytes.saturating_sub(shared.delivered_bytes) as f64 * 8.0;
            shared.rate_bit_per_s = bits / since;
        }
        shared.elapsed = elapsed;
        shared.delivered_bytes = delivered_bytes;
        !self.stop.load(Ordering::Relaxed)
    }
}

/// What came of all runs.
#[derive(Default)]
struct Done {
    tables: Tables,
    complete: bool,
    failure: Option<String>,
    warnings: Vec<String>,
}

fn run_all(scenarios: &[Scenario], options: &Options, state: &State) -> Done {
    let jobs = jobs(scenarios);
    let seconds = |job: &Job<'_>| job.scenario.duration.as_seconds();
    state.shared().total_s = jobs.iter().map(seconds).sum();
    let mut done = Done {
        tables: emulation::empty_tables(),
        ..Done::default()
    };
    for (number, job) in jobs.iter().enumerate() {
        if state.stop.load(Ordering::Relaxed) {
            return done;
        }
        {
            let mut shared = state.shared();
            shared.run = (number + 1, jobs.len());
            (shared.elapsed, shared.delivered_bytes) = (Time::ZERO, 0);
        }
        match emulation::emulate(job, options, &mut &*state) {
            Ok(outcome) => {
                for (name, table) in outcome.tables {
                    append(&mut done.tables, name, table);
                }
                done.warnings.extend(outcome.warnings);
                if !outcome.complete {
                    return done;
                }
            }
            Err(failure) => {
                done.failure = Some(failure.to_string());
                return done;
            }
        }
        let mut shared = state.shared();
        shared.done_s += seconds(job);
        shared.elapsed = Time::ZERO;
    }
    done.complete = true;
    done
}
