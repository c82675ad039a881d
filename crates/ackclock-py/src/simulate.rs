//! `simulate`: runs in the background, so that Python can show progress, keep finished runs, and be
//! interrupted.

use crate::capture::{Listener, TakeRows};
use crate::key::{Key, key};
use crate::qlog;
use crate::tables::{Tables, append, by_name, to_python};
use crate::waiting::Waiting;
use crate::watch::watch;
use crate::{LackingError, Place, refuse, scenario_in};
use ackclock_core::result::Table;
use ackclock_core::transport::Quic;
use ackclock_core::transport::stack::Logs;
use ackclock_emu::files::Folder;
use ackclock_scenario::Scenario;
use ackclock_scenario::job::{Job, jobs};
use ackclock_sim::batch::{BatchProgress, Work, run_each_within};
use ackclock_sim::memory::Need;
use ackclock_sim::run::{Fault, SimulationOutcome};
use ackclock_sim::topology::{self, Topology, check};
use ackclock_sim::trace::NoTrace;
use ackclock_spec::error::{Code, Error};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of progress calls, ten per second, after which finished runs are handed over.
const HAND_OVER: u32 = 10;

/// Most chunks of the table `packets` that may wait to be written. They are taken ten times a
/// second, so that five million rows a second never wait.
const WAITING: usize = 8;

/// Runs every replicate of every point that is not in `finished`. Refuses to begin if the runs need
/// more than `memory` bytes.
///
/// Calls `take` with keys and tables of the runs that have ended, about once a second. Returns
/// `keys` and `tables` of the other ended runs. Ctrl-C stops the runs: then `complete` is false,
/// and `stopped` has the rows of the runs that had not ended.
///
/// With `take_packets`, rows of the table `packets` are in none of these. It is called with the key
/// of a run and its next rows while the run goes on, and with the last ones before the run counts
/// as ended.
#[pyfunction]
#[pyo3(
    signature = (
        points, place, *, threads, memory, packets, pcap_folder, qlog_folder, finished, take,
        take_packets, progress
    )
)]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn simulate<'py>(
    py: Python<'py>,
    points: Vec<String>,
    place: Place,
    threads: usize,
    memory: Option<u64>,
    packets: bool,
    pcap_folder: Option<String>,
    qlog_folder: Option<String>,
    finished: HashSet<Key>,
    take: Option<Bound<'py, PyAny>>,
    take_packets: Option<Bound<'py, PyAny>>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let folder = Folder::from(place);
    let scenarios = points
        .iter()
        .map(|tree| scenario_in(tree, folder.clone()))
        .collect::<PyResult<Vec<Scenario>>>()?;
    scenarios.iter().try_for_each(check).map_err(refuse)?;
    if qlog_folder.is_some() {
        refuse_without_qlog(&scenarios).map_err(refuse)?;
    }
    let mut jobs = jobs(&scenarios);
    jobs.retain(|job| !finished.contains(&key(job)));
    if let Some(memory) = memory {
        fit(&Need::of(left(&jobs), threads), memory as f64)?;
    }
    let state = BatchProgress::default();
    let listening = Listening {
        packets,
        waiting: take_packets.as_ref().map(|_| Waiting::new(WAITING)),
        pcap_folder: pcap_folder.as_deref().map(Path::new),
        qlog_folder: qlog_folder.as_deref().map(Path::new),
        failure: qlog::Failure::default(),
        state: &state,
    };
    let ended = Ended::default();
    let work = || run_all(&jobs, threads, &ended, &listening);
    let mut calls = 0;
    let tell = || {
        calls += 1;
        let (keys, tables) = match &take {
            Some(_) if calls % HAND_OVER == 0 => ended.take_whole(&jobs),
            _ => (Vec::new(), Tables::new()),
        };
        // Runs that have just been taken have handed over their last rows before.
        if let (Some(take), Some(waiting)) = (&take_packets, &listening.waiting) {
            for (run, rows) in waiting.take() {
                take.call1((run, to_python(py, &rows)?))?;
            }
        }
        if let Some(take) = &take
            && !keys.is_empty()
        {
            take.call1((keys, by_name(py, &tables)?))?;
        }
        match &progress {
            Some(tell) => tell.call1((state.fraction(),)).map(drop),
            None => Ok(()),
        }
    };
    watch(py, || state.stop(), tell, work)?;
    if let Some(error) = listening.failure.take() {
        let sentence = format!("the qlog file cannot be written: {error}");
        return Err(PyOSError::new_err(sentence));
    }
    result_of(py, &ended, &jobs)
}

/// Settings of what is recorded of packets.
struct Listening<'a> {
    packets: bool,
    /// Chunks of the table `packets` that wait to be taken; none if tables are returned at the end.
    waiting: Option<Waiting<(Key, Table)>>,
    pcap_folder: Option<&'a Path>,
    qlog_folder: Option<&'a Path>,
    /// The first error of writing a qlog file.
    failure: qlog::Failure,
    state: &'a BatchProgress,
}

impl Listening<'_> {
    fn is_on(&self) -> bool {
        self.packets || self.pcap_folder.is_some()
    }

    fn topology_of(&self, job: &Job<'_>) -> Topology {
        let files = self
            .qlog_folder
            .map(|folder| qlog::Files::of(job, folder.to_path_buf(), self.failure.clone()));
        topology::build_logging(job, files.as_ref().map(|files| files as &dyn Logs))
    }

    fn to(&self, job: &Job<'_>, topology: &Topology) -> Listener<'_> {
        let run = key(job);
        let take_rows = self.waiting.as_ref().map(|waiting| -> TakeRows<'_> {
            Box::new(move |rows| waiting.put((run, rows), || self.state.stopped()))
        });
        Listener::new(job, topology, self.packets, take_rows, self.pcap_folder)
    }
}

/// Does the work of a thread that Python knows all the while. Another one is made known at each
/// call of a control in Python, which takes longer than the call.
fn as_python_thread(work: Work<'_>) {
    Python::attach(|py| py.detach(work));
}

/// Runs the jobs, and records the packets of each if asked to.
fn run_all(jobs: &[Job<'_>], threads: usize, ended: &Ended, listening: &Listening<'_>) {
    let state = listening.state;
    if listening.is_on() {
        let begin = |job: &Job<'_>| {
            let topology = listening.topology_of(job);
            let listener = listening.to(job, &topology);
            (topology, listener)
        };
        run_each_within(
            jobs,
            threads,
            state,
            as_python_thread,
            begin,
            |position, outcome| {
                ended.note_fault(&jobs[position], outcome.fault.as_ref(), state);
                ended.note(position, outcome, Listener::finish);
            },
        );
    } else {
        let begin = |job: &Job<'_>| (listening.topology_of(job), NoTrace);
        run_each_within(
            jobs,
            threads,
            state,
            as_python_thread,
            begin,
            |position, outcome| {
                ended.note_fault(&jobs[position], outcome.fault.as_ref(), state);
                ended.note(position, outcome, |NoTrace| Ok(None));
            },
        );
    }
}

/// Returns what `simulate` does: the runs that were not handed over, and those that were stopped.
fn result_of<'py>(
    py: Python<'py>,
    ended: &Ended,
    jobs: &[Job<'_>],
) -> PyResult<Bound<'py, PyDict>> {
    if let Some((_, fault)) = ended.lock().fault.take() {
        return Err(refuse(fault));
    }
    if let Some(error) = ended.lock().failure.take() {
        return Err(PyOSError::new_err(format!(
            "the capture cannot be written: {error}"
        )));
    }
    let (keys, tables) = ended.take_whole(jobs);
    let complete = ended.lock().count == jobs.len();
    let (_, stopped) = merged(std::mem::take(&mut ended.lock().stopped));
    let result = PyDict::new(py);
    result.set_item("complete", complete)?;
    result.set_item("keys", keys)?;
    result.set_item("tables", by_name(py, &tables)?)?;
    result.set_item("stopped", by_name(py, &stopped)?)?;
    result.set_item("data_packets", ended.lock().data_packets)?;
    Ok(result)
}

/// Returns the scenario of each point that has jobs, and their number.
fn left<'a>(jobs: &[Job<'a>]) -> Vec<(&'a Scenario, u32)> {
    jobs.chunk_by(|job, other| job.point == other.point)
        .map(|of_point| (of_point[0].scenario, of_point.len() as u32))
        .collect()
}

/// Refuses scenarios of which no flow would write a qlog file.
fn refuse_without_qlog(scenarios: &[Scenario]) -> Result<(), Error> {
    let mut flows = scenarios.iter().flat_map(|scenario| &scenario.flows);
    let writes = |quic: &Quic| quic.writes_qlog();
    if flows.any(|flow| flow.transport.parameters().is_some_and(writes)) {
        return Ok(());
    }
    let sentence = "is written by no flow here; give one the transport \
        { kind = \"quic\", stack = \"quinn\", control = \"cubic\" }";
    Err(Error::message("qlog", sentence).coded(Code::Unsupported))
}

/// Refuses runs that need more memory than there is.
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
        "{} flows and all their samples need at least {} of memory, but {} are free; choose \
        {remedy}",
        need.flows.round(),
        gigabytes(need.bytes()),
        gigabytes(memory),
    );
    Err(LackingError::new_err(("lacking", field, sentence)))
}

/// Runs that have ended and have not been handed over, by their job's position.
#[derive(Default)]
struct Ended(Mutex<EndedRuns>);

#[derive(Default)]
struct EndedRuns {
    /// Number of runs that reached their end.
    count: usize,
    /// Data packets that arrived in all runs.
    data_packets: u64,
    /// Runs that reached their end.
    whole: BTreeMap<usize, Tables>,
    /// Runs that were stopped.
    stopped: BTreeMap<usize, Tables>,
    /// The first error of writing a capture.
    failure: Option<io::Error>,
    /// The fault of a control, of the first job that has one.
    fault: Option<(Key, Error)>,
}

impl Ended {
    fn lock(&self) -> MutexGuard<'_, EndedRuns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the runs that reached their end, with their keys.
    fn take_whole(&self, jobs: &[Job<'_>]) -> (Vec<Key>, Tables) {
        let (positions, tables) = merged(std::mem::take(&mut self.lock().whole));
        let keys = positions
            .iter()
            .map(|position| key(&jobs[*position]))
            .collect();
        (keys, tables)
    }

    /// Notes the fault of a control, and stops the runs.
    fn note_fault(&self, job: &Job<'_>, fault: Option<&Fault>, state: &BatchProgress) {
        let Some(fault) = fault else {
            return;
        };
        state.stop();
        let mut ended = self.lock();
        let earlier = ended
            .fault
            .as_ref()
            .is_some_and(|(first, _)| *first < key(job));
        if !earlier {
            let name = &job.scenario.flows[fault.group as usize].name;
            let field = format!("flows.{name}.transport.control");
            let error = Error::message(&field, format!("failed in {}", fault.reason));
            ended.fault = Some((key(job), error.coded(Code::Failed)));
        }
    }

    fn note<T>(
        &self,
        position: usize,
        outcome: SimulationOutcome<T>,
        packets: impl FnOnce(T) -> io::Result<Option<Table>>,
    ) {
        let packets = packets(outcome.trace);
        let mut ended = self.lock();
        ended.data_packets += outcome.statistics.data_packets;
        match packets {
            Ok(packets) => {
                let packets = packets.map(|table| ("packets", table));
                let tables = outcome.tables.into_iter().chain(packets).collect();
                if outcome.complete {
                    ended.count += 1;
                    ended.whole.insert(position, tables);
                } else {
                    ended.stopped.insert(position, tables);
                }
            }
            Err(error) => ended.failure = ended.failure.take().or(Some(error)),
        }
    }
}

/// Returns the positions of runs, and their rows in that order.
fn merged(runs: BTreeMap<usize, Tables>) -> (Vec<usize>, Tables) {
    let positions = runs.keys().copied().collect();
    let mut merged: Tables = Vec::new();
    for (name, table) in runs.into_values().flatten() {
        append(&mut merged, name, table);
    }
    (positions, merged)
}
