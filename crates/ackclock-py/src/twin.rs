//! `twin`: plays the connections of a capture to our sender.

use crate::captures::{Unreadable, Written, naming_of, open};
use crate::watch::watch;
use crate::{refuse, scenario_of};
use ackclock_bpf::twin as calls;
use ackclock_bpf::{Program, Refusal};
use ackclock_core::congestion::ControlContext;
use ackclock_core::congestion::beside::{self, Begun, Standing};
use ackclock_core::endpoint::parameters::TcpParameters;
use ackclock_core::registry::StreamScope;
use ackclock_core::scenario::error::Code;
use ackclock_core::scenario::{Recording, Transport, tcp_sender};
use ackclock_core::streams::Streams;
use ackclock_core::units::{Bytes, Span, Time};
use ackclock_measure::measurement::Naming;
use ackclock_measure::twin::{
    Application, Connection, DifferenceKind, EventKind, MOST_EVENTS, Reading, Report, Step, Twin,
};
use ackclock_pcap::{CapturedPacket, Merged};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::net::{Ipv4Addr, SocketAddr};
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
    let Some(Transport::Tcp {
        control,
        parameters,
    }) = described.map(|group| &group.transport)
    else {
        return Err(PyValueError::new_err(format!("{flow} is not a TCP flow")));
    };
    if let Some(refusal) = control.refusal() {
        let place = format!("flows.{flow}.transport.control");
        return Err(refuse(refusal.within(&place)));
    }
    let naming = written.and_then(|(flows, _)| naming_of(&flows, method));
    let wanted = (flow.to_owned(), instance);
    let readings: Vec<Reading> = readings
        .into_iter()
        .map(|(at_s, cwnd, ssthresh, pacing, least_rtt_s)| Reading {
            at: Time::from_seconds(at_s),
            cwnd,
            ssthresh,
            pacing,
            least_rtt: least_rtt_s.map(Span::from_seconds),
        })
        .collect();
    let application = if bulk {
        Application::Bulk
    } else {
        Application::AsSent
    };
    let shown = shown.map(|(first, last)| first..last.saturating_add(1));
    let stop = AtomicBool::new(false);
    let (stop, seed) = (&stop, scenario.seed);
    let work = move || {
        let Some(pair) = find(&files, naming.as_ref(), &wanted, stop)? else {
            return Err(nothing(
                &files,
                "holds no TCP connection with payload that begins with a handshake",
            ));
        };
        let (connection, ended) = read(&files, pair, stop)?;
        let Some(mss) = connection.mss() else {
            return Err(nothing(
                &files,
                "does not begin with the handshake of the connection",
            ));
        };
        let streams = Streams::new(seed, 0);
        let make = |mss: Bytes| {
            let mut own = **parameters;
            own.mss = mss;
            tcp_sender(
                control,
                &Arc::new(own),
                &streams,
                flow,
                Recording::default(),
            )
        };
        let mut report = Twin::compare(
            connection.events(),
            mss,
            application,
            &readings,
            on_the_way_s.map(Span::from_seconds),
            shown,
            make,
        );
        report.ended = report.ended.or(ended);
        Ok(described_in_json(&report, pair, mss))
    };
    let found = watch(py, || stop.store(true, Ordering::Relaxed), || Ok(()), work)?;
    if stop.load(Ordering::Relaxed) {
        return Err(PyKeyboardInterrupt::new_err(()));
    }
    found
        .map_err(Unreadable::raised)
        .map(|value| value.to_string())
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

/// Gives the recorded calls of a control to its object, with the parameters of the run. Returns the
/// comparison as JSON, or raises `ValueError` with the reason why there is none.
#[pyfunction]
pub fn twin_calls(
    py: Python<'_>,
    control: &[u8],
    parameters: HashMap<String, i128>,
    record: &[u8],
) -> PyResult<String> {
    let work = || -> Result<Value, String> {
        let mut program = Program::read(control).map_err(|refusal| format!("object {refusal}"))?;
        program.set_recording(false);
        for (name, value) in &parameters {
            let known = program.parameters().find(|one| one.name == *name).cloned();
            let known = known.ok_or_else(|| format!("object has no parameter {name}"))?;
            program.set(&known, *value);
        }
        let compared = calls::compare(&Arc::new(program), record);
        let compared = compared.map_err(|refusal| format!("record {refusal}"))?;
        Ok(compared_calls_in_json(&compared))
    };
    let compared = py.detach(work).map_err(PyValueError::new_err)?;
    Ok(compared.to_string())
}

/// Returns the name of the control of the kernel whose functions an object calls; `None` for an
/// object that is a control by itself.
#[pyfunction]
pub fn kernel_control(control: &[u8]) -> Option<String> {
    ackclock_bpf::kernel_control(control)
}

/// Gives the recorded calls of a control that the kernel has to the control of a scenario's first
/// flow. What the kernel drew at random becomes the parameter `draws`. Returns the comparison as
/// JSON, or raises `ValueError` with the reason why there is none.
#[pyfunction]
pub fn twin_of_kernel(
    py: Python<'_>,
    tree_json: &str,
    folder: &str,
    draws: Option<&str>,
    record: &[u8],
) -> PyResult<String> {
    let tree: Value = serde_json::from_str(tree_json)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let make = |begun: &[calls::Call]| {
        let mut tree = tree.clone();
        let place = tree.pointer_mut("/flows/0/transport/control");
        if let (Some(name), Some(control)) = (draws, place) {
            control[name] = json!(calls::draws(begun));
        }
        let scenario = scenario_of(&tree.to_string(), folder)
            .map_err(|error| Refusal::new(format!("asks for another control ({error})")))?;
        let Some(Transport::Tcp {
            control,
            parameters,
        }) = scenario.flows.first().map(|flow| &flow.transport)
        else {
            return Err(Refusal::new(
                "is compared with a scenario without a TCP flow",
            ));
        };
        let streams = Streams::new(scenario.seed, 0);
        let control = control.build(context_of(&streams, parameters, Begun::of(&begun[0])));
        Ok(Standing::new(control, &begun[0]))
    };
    let compared = py.detach(|| calls::compare_with(record, make));
    let compared =
        compared.map_err(|refusal| PyValueError::new_err(format!("record {refusal}")))?;
    Ok(compared_calls_in_json(&compared).to_string())
}

/// Returns the context of a control that begins in the middle of a connection.
fn context_of<'a>(
    streams: &'a Streams,
    parameters: &TcpParameters,
    begun: Begun,
) -> ControlContext<'a> {
    ControlContext {
        place: StreamScope {
            streams,
            name: "flow/0/control",
        },
        mss: begun.mss,
        initial_window: begun.cwnd,
        initial_ssthresh: begun.ssthresh,
        ssthresh_in_whole_segments: parameters.ssthresh_in_whole_segments,
        paced: false,
        selective_acks: true,
        counts_marks: false,
    }
}

fn compared_calls_in_json(compared: &calls::Comparison) -> Value {
    json!({
        "calls": compared.calls,
        "equal": compared.equal,
        "equal_windows": compared.equal_windows,
        "equal_answers": compared.equal_answers,
        "draws": compared.draws,
        "connections": compared.connections,
        "moved": compared.moved,
        "skipped": compared.skipped,
        "kinds": compared.kinds.iter().copied().collect::<HashMap<_, _>>(),
        "first": compared.first.as_ref().map(difference_in_json),
    })
}

/// Gives the recorded calls of a program to the control of a scenario's first flow, and compares
/// their windows. Returns JSON.
#[pyfunction]
pub fn calls_beside(
    py: Python<'_>,
    tree_json: &str,
    folder: &str,
    record: &[u8],
) -> PyResult<String> {
    let scenario = scenario_of(tree_json, folder)?;
    let Some(Transport::Tcp {
        control,
        parameters,
    }) = scenario.flows.first().map(|flow| &flow.transport)
    else {
        return Err(PyValueError::new_err("the scenario has no TCP flow"));
    };
    let record = record
        .strip_prefix(calls::MAGIC)
        .ok_or_else(|| PyValueError::new_err("record is not a record of calls"))?;
    let streams = Streams::new(scenario.seed, 0);
    let make = |begun| control.build(context_of(&streams, parameters, begun));
    let beside = py.detach(|| beside::compare(record, make));
    Ok(json!({
        "connections": beside.connections,
        "cong_avoid": compared_in_json(&beside.growth),
        "cong_control": compared_in_json(&beside.controlled),
        "ssthresh": compared_in_json(&beside.reductions),
        "undo_cwnd": compared_in_json(&beside.undos),
    })
    .to_string())
}

fn compared_in_json(compared: &beside::Compared) -> Value {
    let apart = |one: &beside::Apart| {
        json!({
            "number": one.number,
            "now_ns": one.now_ns,
            "theirs_segments": one.theirs,
            "ours_segments": one.ours,
        })
    };
    json!({
        "calls": compared.calls,
        "mean_segments": compared.sum / compared.calls.max(1) as f64,
        "largest_share": compared.relative,
        "largest": compared.largest.as_ref().map(apart),
        "first": compared.first.as_ref().map(apart),
    })
}

fn difference_in_json(difference: &calls::Difference) -> Value {
    json!({
        "call": call_in_json(&difference.call),
        "window": window_in_json(difference.window),
        "result": difference.result,
        "before": difference.before.iter().map(call_in_json).collect::<Vec<_>>(),
    })
}

fn call_in_json(call: &calls::Call) -> Value {
    let (address, port) = call.local;
    json!({
        "number": call.number,
        "now_ns": call.now_ns,
        "local": format!("{}:{port}", Ipv4Addr::from(address)),
        "kind": call.callback().map_or("unknown", |callback| callback.name()),
        "state": call.state,
        "limited": call.limited,
        "arguments": call.arguments,
        "rtt_us": call.rtt_us,
        "result": call.result,
        "before": window_in_json(call.before),
        "after": window_in_json(call.after),
    })
}

fn window_in_json(window: calls::Window) -> Value {
    json!({
        "cwnd": window.cwnd,
        "cwnd_cnt": window.cwnd_cnt,
        "ssthresh": window.ssthresh,
    })
}
