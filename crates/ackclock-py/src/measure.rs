//! `measure`: reads captures in the background and hands out rows as they come.

use crate::captures::{Unreadable, Written, naming_of};
use crate::estimators;
use crate::tables::{Tables, by_name, to_python};
use crate::waiting::Waiting;
use crate::watch::watch;
use ackclock_core::result::{Column, Table};
use ackclock_measure::measurement::empty_tables;
use ackclock_measure::{Measurement, Parameters};
use ackclock_pcap::{Merged, Reader};
use ackclock_spec::units::Span;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Stands for standard input instead of a file.
const STANDARD_INPUT: &str = "-";

/// Most chunks that may wait to be written. A chunk has about ten megabytes; one of connections has
/// thirty.
const WAITING: usize = 2;

/// Packets between two checks of the request to stop.
const BETWEEN_LOOKS: u64 = 4_096;

/// Files, point, replicate.
type Asked = (Vec<String>, u32, u32);

/// Measures captures, one after the other. Ctrl-C ends the reading and returns the results so far,
/// with `complete` false.
#[pyfunction]
#[pyo3(signature = (captures, runs, method, *, interval_s, segments, estimators, progress, take))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn measure<'py>(
    py: Python<'py>,
    captures: Vec<Asked>,
    runs: Vec<Written>,
    method: &str,
    interval_s: f64,
    segments: bool,
    estimators: Vec<(String, String)>,
    progress: Option<Bound<'py, PyAny>>,
    take: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let estimators = estimators::asked(estimators)?;
    let state = State {
        waiting: Waiting::new(WAITING),
        stop: AtomicBool::new(false),
        bytes: AtomicU64::new(0),
        total: AtomicU64::new(0),
        packets: AtomicU64::new(0),
    };
    for file in captures.iter().flat_map(|(files, ..)| files) {
        state.total.fetch_add(
            refuse_what_is_none(file).map_err(Unreadable::raised)?,
            Ordering::Relaxed,
        );
    }
    let tell = || {
        for (name, rows) in state.waiting.take().into_iter().flatten() {
            if rows_of(&rows) > 0 {
                take.call1((name, to_python(py, &rows)?))?;
            }
        }
        match &progress {
            Some(tell) => tell.call1((state.progress().to_string(),)).map(drop),
            None => Ok(()),
        }
    };
    let work = || {
        let mut described = Vec::new();
        for (number, asked) in captures.iter().enumerate() {
            if !state.is_stopped() {
                let written = runs.get(number);
                let parameters = parameters_of(asked, written, interval_s, segments);
                let naming = written.and_then(|(flows, _)| naming_of(flows, method));
                let measurement = match naming {
                    Some(naming) => Measurement::with_names(parameters, naming),
                    None => Measurement::new(parameters),
                };
                let measurement = measurement.with_estimators(estimators.clone());
                described.push(read(asked, measurement, &state)?);
            }
        }
        Ok::<_, Unreadable>(described)
    };
    let described = watch(py, || state.stop(), tell, work)?.map_err(Unreadable::raised)?;
    let result = PyDict::new(py);
    result.set_item("complete", !state.is_stopped())?;
    result.set_item("captures", Value::from(described).to_string())?;
    result.set_item(
        "tables",
        by_name(py, &empty_tables(segments, !estimators.is_empty()))?,
    )?;
    Ok(result)
}

/// Returns the length of a file, and checks that it is a capture. Standard input and pipes have
/// length zero and are not checked, since they can be read only once.
fn refuse_what_is_none(file: &str) -> Result<u64, Unreadable> {
    if file == STANDARD_INPUT {
        return Ok(0);
    }
    let opened = File::open(file).map_err(|error| Unreadable::of_system(file, &error))?;
    let metadata = opened
        .metadata()
        .map_err(|error| Unreadable::of_system(file, &error))?;
    if metadata.is_file() {
        Reader::new(opened).map_err(|error| Unreadable::of_content(file, &error))?;
    }
    Ok(metadata.len())
}

fn parameters_of(
    asked: &Asked,
    written: Option<&Written>,
    interval_s: f64,
    segments: bool,
) -> Parameters {
    let span = |seconds: f64| Span::from_nanos((seconds * 1e9).round() as u64);
    Parameters {
        labels: (i64::from(asked.1), i64::from(asked.2)),
        origin_ns: written.map(|_| 0),
        warmup: written.map_or(Span::ZERO, |(_, warmup_s)| span(*warmup_s)),
        sample_interval: span(interval_s),
        // For a run of ackclock, only the captures at the senders are measured.
        at_senders: written.is_some(),
        segments,
        ..Parameters::default()
    }
}

/// Reads one capture to its end, and describes its content.
fn read(asked: &Asked, mut measurement: Measurement, state: &State) -> Result<Value, Unreadable> {
    let readers: Result<Vec<_>, Unreadable> =
        asked.0.iter().map(|name| open(name, state)).collect();
    let mut packets = Merged::new(readers?);
    let mut count = 0;
    for packet in packets.by_ref() {
        measurement.handle_packet(&packet);
        count += 1;
        if let Some(tables) = measurement.poll_tables() {
            state.put(tables);
        }
        if count % BETWEEN_LOOKS == 0 {
            state.packets.fetch_add(BETWEEN_LOOKS, Ordering::Relaxed);
            if state.is_stopped() {
                break;
            }
        }
    }
    measurement.finish();
    while let Some(tables) = measurement.poll_tables() {
        state.put(tables);
    }
    state
        .packets
        .fetch_add(count % BETWEEN_LOOKS, Ordering::Relaxed);
    let (surplus, repairs) = (measurement.surplus(), measurement.repairs());
    Ok(json!({
        "files": asked.0,
        "point": asked.1,
        "replicate": asked.2,
        "packets": count,
        "unfollowed_datagrams": measurement.unfollowed_datagrams(),
        "skipped": packets.skipped(),
        "damage": packets.damage(),
        "begins_unix_ns": measurement.origin_ns(),
        "left_out": { "empty": surplus.empty, "ended_early": surplus.ended_early },
        "clock": {
            "wrong_times": repairs.wrong_times,
            "set_back": repairs.set_back,
            "largest_step_s": repairs.largest_step as f64 / 1e9,
        },
    }))
}

/// Opens a capture.
fn open<'a>(name: &str, state: &'a State) -> Result<Reader<Counted<'a>>, Unreadable> {
    let is_pipe = name == STANDARD_INPUT;
    let input: Box<dyn Read + Send> = if is_pipe {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(name).map_err(|error| Unreadable::of_system(name, &error))?)
    };
    let counted = Counted {
        input,
        count: &state.bytes,
    };
    let shown = if is_pipe { "standard input" } else { name };
    Reader::new(counted).map_err(|error| Unreadable::of_content(shown, &error))
}

/// Counts the bytes read.
struct Counted<'a> {
    input: Box<dyn Read + Send>,
    count: &'a AtomicU64,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(buffer)?;
        self.count.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

/// State shared by the thread that reads and the one that watches.
struct State {
    waiting: Waiting<Tables>,
    stop: AtomicBool,
    /// Bytes read so far, and the total length of all files; zero if unknown.
    bytes: AtomicU64,
    total: AtomicU64,
    packets: AtomicU64,
}

impl State {
    /// Adds rows to be taken; waits while there are many.
    fn put(&self, tables: Tables) {
        self.waiting.put(tables, || self.is_stopped());
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn progress(&self) -> Value {
        let (bytes, total) = (
            self.bytes.load(Ordering::Relaxed),
            self.total.load(Ordering::Relaxed),
        );
        let fraction = (total > 0).then(|| (bytes as f64 / total as f64).min(1.0));
        json!({ "fraction": fraction, "packets": self.packets.load(Ordering::Relaxed) })
    }
}

fn rows_of(table: &Table) -> usize {
    match table.0.first() {
        Some((_, Column::Number(rows))) => rows.len(),
        Some((_, Column::Integer(rows))) => rows.len(),
        Some((_, Column::Text(words))) => words.indices.len(),
        None => 0,
    }
}
