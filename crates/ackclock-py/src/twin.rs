//! `twin`: plays the connections of a capture to our sender.

use crate::captures::{Unreadable, Written, naming_of, open};
use crate::watch::watch;
use crate::{refuse, scenario_of};
use ackclock_core::endpoint::sender::Sender;
use ackclock_core::transport::{EndpointContext, Recording, Tcp};
use ackclock_measure::measurement::Naming;
use ackclock_measure::twin::{
    Application, Connection, DifferenceKind, EventKind, MOST_EVENTS, Reading, Report, Step, Twin,
};
use ackclock_pcap::{CapturedPacket, Merged};
use ackclock_spec::error::Code;
use ackclock_spec::registry::StreamScope;
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{Bytes, Span, Time};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A reading of `tcp_info`: time, window, threshold, pacing rate, least round-trip time.
type Read = (f64, u64, Option<u64>, Option<f64>, Option<f64>);

type Pair = (SocketAddr, SocketAddr);

/// Packets between two checks of the request to stop.
const BETWEEN_LOOKS: usize = 4096;

/// Plays one connection of a capture to the sender of a flow of a scenario. Returns the comparison
/// as JSON.
///
/// The connection is that of `instance` of the flow, if the capture is of a run (`written` and
/// `method`), else the one with the most payload.
#[pyfunction]
#[pyo3(signature = (
    files, tree, folder, flow, instance, *, written, method, bulk, readings, on_the_way_s, shown
))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn twin(
    py: Python<'_>,
    files: Vec<String>,
    tree: &str,
    folder: &str,
    flow: &str,
    instance: i64,
    written: Option<Written>,
    method: &str,
    bulk: bool,
    readings: Vec<Read>,
    on_the_way_s: Option<f64>,
    shown: Option<(usize, usize)>,
) -> PyResult<String> {
    let scenario = scenario_of(tree, folder)?;
    let described = scenario.flows.iter().find(|group| group.name == flow);
    let transport = described.map(|group| &group.transport);
    let tcp = transport.and_then(|transport| transport.parameters());
    let (Some(transport), Some(tcp @ Tcp { .. })) = (transport, tcp) else {
        return Err(PyValueError::new_err(format!("{flow} is not a TCP flow")));
    };
    if let Some(refusal) = transport.refusal() {
        return Err(refuse(refusal.within(&format!("flows.{flow}.transport"))));
    }
    let asked = Asked {
        files: &files,
        naming: written.and_then(|(flows, _)| naming_of(&flows, method)),
        wanted: (flow.to_owned(), instance),
        application: if bulk {
            Application::Bulk
        } else {
            Application::AsSent
        },
        readings: readings.into_iter().map(reading).collect(),
        on_the_way: on_the_way_s.map(Span::from_seconds),
        shown: shown.map(|(first, last)| first..last.saturating_add(1)),
    };
    let stop = AtomicBool::new(false);
    let (stop, streams) = (&stop, Streams::new(scenario.seed, 0));
    let work = move || {
        asked.compare(stop, |mss: Bytes| {
            let mut own = tcp.clone();
            Arc::make_mut(&mut own.parameters).connection.mss = mss;
            own.sender(EndpointContext {
                place: StreamScope {
                    streams: &streams,
                    name: flow,
                },
                recording: Recording::default(),
            })
        })
    };
    let twin = watch(py, || stop.store(true, Ordering::Relaxed), || Ok(()), work)?;
    if stop.load(Ordering::Relaxed) {
        return Err(PyKeyboardInterrupt::new_err(()));
    }
    twin.map_err(Unreadable::raised)
        .map(|value| value.to_string())
}

/// A connection of a capture to compare, and what else is known about it.
struct Asked<'a> {
    files: &'a [String],
    naming: Option<Naming>,
    /// Flow and instance, if the capture is of a run.
    wanted: (String, i64),
    application: Application,
    readings: Vec<Reading>,
    on_the_way: Option<Span>,
    /// Steps to show.
    shown: Option<Range<usize>>,
}

impl Asked<'_> {
    /// Plays the connection to the sender that `make` returns for a segment size. Returns the
    /// comparison as JSON.
    fn compare(
        &self,
        stop: &AtomicBool,
        make: impl Fn(Bytes) -> Sender,
    ) -> Result<Value, Unreadable> {
        let Some(pair) = find(self.files, self.naming.as_ref(), &self.wanted, stop)? else {
            return Err(nothing(
                self.files,
                "holds no TCP connection with payload that begins with a handshake",
            ));
        };
        let (connection, ended) = read(self.files, pair, stop)?;
        let Some(mss) = connection.mss() else {
            return Err(nothing(
                self.files,
                "does not begin with the handshake of the connection",
            ));
        };
        let mut report = Twin::compare(
            connection.events(),
            mss,
            self.application,
            &self.readings,
            self.on_the_way,
            self.shown.clone(),
            make,
        );
        report.ended = report.ended.or(ended);
        Ok(described_in_json(&report, pair, mss))
    }
}

fn reading((at_s, cwnd, ssthresh, pacing, least_rtt_s): Read) -> Reading {
    Reading {
        at: Time::from_seconds(at_s),
        cwnd,
        ssthresh,
        pacing,
        least_rtt: least_rtt_s.map(Span::from_seconds),
    }
}

fn nothing(files: &[String], sentence: &str) -> Unreadable {
    Unreadable::new(
        &files[0],
        Code::File,
        format!("{sentence}; capture at the sender from its start"),
    )
}

fn packets(files: &[String]) -> Result<Merged<BufReader<File>>, Unreadable> {
    Ok(Merged::new(
        files
            .iter()
            .map(|file| open(file))
            .collect::<Result<Vec<_>, _>>()?,
    ))
}

/// Returns source and destination of the wanted data, or of the most data.
fn find(
    files: &[String],
    naming: Option<&Naming>,
    wanted: &(String, i64),
    stop: &AtomicBool,
) -> Result<Option<Pair>, Unreadable> {
    let mut bytes: HashMap<Pair, (bool, u64)> = HashMap::new();
    for (number, packet) in packets(files)?.enumerate() {
        if number % BETWEEN_LOOKS == 0 && stop.load(Ordering::Relaxed) {
            break;
        }
        let CapturedPacket {
            source,
            destination,
            ..
        } = packet;
        let ackclock_pcap::packet::Transport::Tcp(segment) = packet.transport else {
            continue;
        };
        let own = naming.is_none_or(|naming| naming(source, destination).as_ref() == Some(wanted));
        if own {
            let (begun, sum) = bytes.entry((source, destination)).or_default();
            *begun |= segment.flags.syn;
            *sum += u64::from(segment.payload);
        }
    }
    let most = bytes
        .into_iter()
        .filter(|(_, (begun, sum))| *begun && *sum > 0);
    Ok(most
        .max_by_key(|(pair, (_, sum))| (*sum, *pair))
        .map(|(pair, _)| pair))
}

/// Reads the events of a connection. Returns also why it stopped before the end.
fn read(
    files: &[String],
    pair: Pair,
    stop: &AtomicBool,
) -> Result<(Connection, Option<String>), Unreadable> {
    let mut connection = Connection::new(pair);
    for (number, packet) in packets(files)?.enumerate() {
        if number % BETWEEN_LOOKS == 0 && stop.load(Ordering::Relaxed) {
            break;
        }
        if connection.events().len() >= MOST_EVENTS {
            return Ok((
                connection,
                Some(format!("there are more than {MOST_EVENTS} packets")),
            ));
        }
        if let Err(reason) = connection.take(&packet) {
            return Ok((connection, Some(reason)));
        }
    }
    Ok((connection, None))
}

fn described_in_json(report: &Report, (source, destination): Pair, mss: u64) -> Value {
    let differences = report.differences.iter().map(|difference| {
        let (theirs, ours) = match difference.kind {
            DifferenceKind::Segment { theirs, ours } => (json!(theirs), json!(ours)),
            DifferenceKind::Silence { ours } => (Value::Null, json!(ours)),
            DifferenceKind::Timer => (Value::Null, Value::Null),
            DifferenceKind::Window { theirs, ours } => (json!(theirs), json!(ours)),
            DifferenceKind::Threshold { theirs, ours } => (json!(theirs), json!(ours)),
            DifferenceKind::Pacing { theirs, ours } => (json!(theirs), json!(ours)),
        };
        json!({
            "step": difference.step,
            "time_s": difference.at.as_seconds(),
            "kind": difference.kind.name(),
            "theirs": theirs,
            "ours": ours,
        })
    });
    json!({
        "source": source.to_string(),
        "destination": destination.to_string(),
        "mss_bytes": mss,
        "steps": report.steps,
        "acks": report.acks,
        "on_the_way_s": report.on_the_way.as_seconds(),
        "segments": report.segments,
        "equal_segments": report.equal_segments,
        "silences": report.silences,
        "timers": report.timers,
        "readings": report.readings,
        "equal_windows": report.equal_windows,
        "equal_thresholds": report.equal_thresholds,
        "pacing_readings": report.pacing_readings,
        "equal_pacing": report.equal_pacing,
        "differences": differences.collect::<Vec<_>>(),
        "shown": report.shown.iter().map(step).collect::<Vec<_>>(),
        "ended": report.ended,
    })
}

fn step(step: &Step) -> Value {
    let (event, segment, blocks) = match &step.kind {
        EventKind::Syn => ("syn", None, Vec::new()),
        EventKind::SynAck { .. } => ("syn_ack", None, Vec::new()),
        EventKind::Sent { segment, .. } => ("sent", Some(*segment), Vec::new()),
        EventKind::Ack(answer) => {
            let blocks = answer.sacks.as_slice().iter();
            let blocks = blocks.map(|block| [block.start, block.end]).collect();
            ("ack", Some(answer.cumulative), blocks)
        }
    };
    json!({
        "step": step.number,
        "time_s": step.at.as_seconds(),
        "event": event,
        "segment": segment,
        "sack_blocks": blocks,
        "ours": step.own,
        "cwnd_segments": step.cwnd,
        "ssthresh_segments": step.ssthresh,
        "in_flight_segments": step.in_flight,
        "rto_s": step.rto.as_seconds(),
    })
}
