//! Runs in real time, one after the other or several side by side.

use super::program_of;
use crate::key::{Key, key};
use crate::tables::{Tables, append, by_name, to_python};
use crate::watch::watch;
use crate::{LackingError, refuse, scenario_of};
use ackclock_core::result::Table;
use ackclock_core::transport::Quic;
use ackclock_emu::emulation::{self, EmulationOutcome, Failure, Options, Watch};
use ackclock_emu::files::Folder;
use ackclock_emu::protocol::DeviceChoice;
use ackclock_scenario::Scenario;
use ackclock_scenario::job::{Job, jobs};
use ackclock_spec::error::{Code, Error};
use ackclock_spec::units::Time;
use ackclock_stacks::brought;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

fn scenarios_of(points: &[String], folder: &str) -> PyResult<Vec<Scenario>> {
    let scenarios = points.iter().map(|tree| {
        let scenario = scenario_of(tree, folder)?;
        check_stacks(&scenario).map_err(refuse)?;
        Ok(scenario)
    });
    scenarios.collect()
}

/// Refuses stacks in Python: no host has Python, which would be too slow for real time.
fn check_stacks(scenario: &Scenario) -> Result<(), Error> {
    for flow in &scenario.flows {
        let stack = flow.transport.parameters().map(|quic: &Quic| &*quic.stack);
        if let Some(stack) = stack.filter(|stack| brought::is_table(stack)) {
            let field = format!("flows.{}.transport.stack", flow.name);
            let remedy = "is in Python, which is too slow for real time; run ackclock simulate";
            return Err(Error::new(&field, &json!(stack), remedy).coded(Code::Unsupported));
        }
    }
    Ok(())
}

fn device_of(name: &str) -> PyResult<DeviceChoice> {
    serde_json::from_value(Value::from(name)).map_err(|_| {
        refuse(Error::unknown_name(
            "--device",
            &name.into(),
            "device",
            std::iter::empty(),
        ))
    })
}

fn raised(failure: Failure) -> PyErr {
    match failure {
        Failure::Scenario(error) => refuse(error),
        Failure::Lacking(text) => LackingError::new_err(("lacking", "", text)),
        Failure::Broken(text) => LackingError::new_err(("failed", "", text)),
    }
}

/// Returns the properties of this machine with which it would run these points, as JSON.
#[pyfunction]
#[pyo3(signature = (points, folder, host_command, loader, *, device))]
pub fn prepare_emulation(
    py: Python<'_>,
    points: Vec<String>,
    folder: &str,
    host_command: Vec<String>,
    loader: Option<PathBuf>,
    device: &str,
) -> PyResult<String> {
    let scenarios = scenarios_of(&points, folder)?;
    let options = Options {
        program: program_of(&host_command)?,
        loader,
        files: Folder::new(folder),
        device: device_of(device)?,
        folder: folder.into(),
        captures: false,
        stop: Arc::default(),
    };
    let stop = || options.stop.store(true, Ordering::Relaxed);
    let work = || emulation::check(&scenarios, &options);
    let checked = watch(py, stop, || Ok(()), work)?;
    if options.stop.load(Ordering::Relaxed) {
        return Err(PyKeyboardInterrupt::new_err(()));
    }
    let machine = checked.map_err(raised)?;
    serde_json::to_string(&machine).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Runs every replicate of every point that is not in `finished`, `side_by_side` at a time. Ctrl-C
/// stops and returns the results so far, with `complete` false.
#[pyfunction]
#[pyo3(signature = (
    points, folder, output, host_command, loader, *, device, pcap, side_by_side, finished, progress,
    take
))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn emulate<'py>(
    py: Python<'py>,
    points: Vec<String>,
    folder: &str,
    output: &str,
    host_command: Vec<String>,
    loader: Option<PathBuf>,
    device: &str,
    pcap: bool,
    side_by_side: NonZeroUsize,
    finished: HashSet<Key>,
    progress: Option<Bound<'py, PyAny>>,
    take: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let scenarios = scenarios_of(&points, folder)?;
    let options = Options {
        program: program_of(&host_command)?,
        loader,
        files: Folder::new(folder),
        device: device_of(device)?,
        folder: output.into(),
        captures: pcap,
        stop: Arc::default(),
    };
    let mut jobs = jobs(&scenarios);
    jobs.retain(|job| !finished.contains(&key(job)));
    let state = State::of(&jobs);
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
    let stop = || options.stop.store(true, Ordering::Relaxed);
    let done = watch(py, stop, tell, || {
        run_all(&jobs, &options, side_by_side, &state)
    })?;
    let result = PyDict::new(py);
    result.set_item("complete", done.complete)?;
    result.set_item("failure", done.failure)?;
    result.set_item("warnings", done.warnings)?;
    result.set_item("tables", by_name(py, &done.tables)?)?;
    Ok(result)
}

/// State shared by the threads that run and the one that watches.
struct State {
    shared: Mutex<Shared>,
    /// Held while hosts are started. Starting them would take the processors from other runs and
    /// from their first probes.
    starting: Mutex<()>,
    total_s: f64,
}

struct Shared {
    /// Rows that have not been taken yet.
    tcp_info: Table,
    /// Progress of every run, begun or not.
    runs: Vec<EmulationProgress>,
}

/// Progress of a run.
#[derive(Clone, Copy, Default)]
struct EmulationProgress {
    begun: bool,
    elapsed: Time,
    delivered_bytes: u64,
    /// Delivery rate since the last report; zero once the run is over.
    rate_bit_per_s: f64,
}

impl State {
    fn of(jobs: &[Job<'_>]) -> Self {
        State {
            shared: Mutex::new(Shared {
                tcp_info: Table::default(),
                runs: vec![EmulationProgress::default(); jobs.len()],
            }),
            starting: Mutex::new(()),
            total_s: jobs
                .iter()
                .map(|job| job.scenario.duration.as_seconds())
                .sum(),
        }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn progress(&self) -> Value {
        let runs = &self.shared().runs;
        let elapsed_s: f64 = runs.iter().map(|run| run.elapsed.as_seconds()).sum();
        json!({
            "fraction": (elapsed_s / self.total_s.max(f64::MIN_POSITIVE)).min(1.0),
            "run": runs.iter().filter(|run| run.begun).count(),
            "runs": runs.len(),
            "rate_bit_per_s": runs.iter().map(|run| run.rate_bit_per_s).sum::<f64>(),
        })
    }
}

/// One run and its shared state.
struct Watching<'a> {
    state: &'a State,
    /// True if all runs are to end soon.
    stop: &'a AtomicBool,
    number: usize,
}

impl Watch for Watching<'_> {
    fn take_tcp_info(&mut self, rows: Table) -> io::Result<()> {
        self.state.shared().tcp_info.append(rows);
        Ok(())
    }

    fn proceed(&mut self, elapsed: Time, delivered_bytes: u64) -> bool {
        let run = &mut self.state.shared().runs[self.number];
        let since = elapsed.since(run.elapsed).as_seconds();
        if since > 0.0 {
            let bits = delivered_bytes.saturating_sub(run.delivered_bytes) as f64 * 8.0;
            run.rate_bit_per_s = bits / since;
        }
        (run.elapsed, run.delivered_bytes) = (elapsed, delivered_bytes);
        !self.stop.load(Ordering::Relaxed)
    }
}

/// Result of all runs.
struct Done {
    tables: Tables,
    complete: bool,
    failure: Option<String>,
    warnings: Vec<String>,
}

type Outcomes = Mutex<Vec<Option<Result<EmulationOutcome, Failure>>>>;

fn run_all(jobs: &[Job<'_>], options: &Options, side_by_side: NonZeroUsize, state: &State) -> Done {
    let outcomes = Mutex::new((0..jobs.len()).map(|_| None).collect());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        // Hosts end with the thread that started them, so each thread lives as long as its runs.
        for _ in 0..side_by_side.get().min(jobs.len()) {
            scope.spawn(|| run_some(jobs, options, state, &next, &outcomes));
        }
    });
    gathered(
        outcomes
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner),
    )
}

/// Executes runs that have not begun, until there is none or one has failed. Other runs in progress
/// are completed.
fn run_some(
    jobs: &[Job<'_>],
    options: &Options,
    state: &State,
    next: &AtomicUsize,
    outcomes: &Outcomes,
) {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= jobs.len() || options.stop.load(Ordering::Relaxed) {
            return;
        }
        state.shared().runs[number].begun = true;
        let job = &jobs[number];
        let started = {
            let _alone = state.starting.lock();
            if options.stop.load(Ordering::Relaxed) {
                return; // the wait for the lock may have been long
            }
            emulation::start(job, options)
        };
        if started.is_err() && options.stop.load(Ordering::Relaxed) {
            return;
        }
        let mut watching = Watching {
            state,
            stop: &options.stop,
            number,
        };
        let outcome = started.and_then(|hosts| hosts.run(job, options, &mut watching));
        let run = &mut state.shared().runs[number];
        run.rate_bit_per_s = 0.0;
        if outcome.is_err() {
            next.store(jobs.len(), Ordering::Relaxed);
        }
        let mut outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        outcomes[number] = Some(outcome);
    }
}

/// Collects the outcomes in the order of the runs, whichever ended first.
fn gathered(outcomes: Vec<Option<Result<EmulationOutcome, Failure>>>) -> Done {
    let mut done = Done {
        tables: emulation::empty_tables(),
        complete: true,
        failure: None,
        warnings: Vec::new(),
    };
    for outcome in outcomes {
        match outcome {
            Some(Ok(outcome)) => {
                for (name, table) in outcome.tables {
                    append(&mut done.tables, name, table);
                }
                done.warnings.extend(outcome.warnings);
                done.complete &= outcome.complete;
            }
            Some(Err(failure)) => {
                done.failure.get_or_insert(failure.to_string());
                done.complete = false;
            }
            None => done.complete = false,
        }
    }
    done
}
