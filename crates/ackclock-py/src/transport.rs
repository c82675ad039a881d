//! `send` and `receive`: one session on real sockets, in the background.

use crate::tables::{Tables, by_name};
use crate::watch::watch;
use crate::{LackingError, refuse, tree_of};
use ackclock_spec::error::{Code, Error};
use ackclock_spec::units::Span;
use ackclock_transport::driver::{
    self, Live, Port, SessionOutcome, SessionStatus, receiver_tables, sender_tables,
};
use ackclock_transport::keys::SharedKey;
use ackclock_transport::options::{ReceiveOptions, SendOptions};
use ackclock_transport::session::Ending;
use ackclock_transport::wire::ErrorCode;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;

/// Stands for standard input or output instead of a file.
const STANDARD: &str = "-";

/// Waits for a receiver and sends it data. Ctrl-C ends the session in good order.
#[pyfunction]
#[pyo3(signature = (options, listen, *, key, data, pcap, duration_s, seed, progress))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn send<'py>(
    py: Python<'py>,
    options: &str,
    listen: &str,
    key: Option<Vec<u8>>,
    data: Option<String>,
    pcap: Option<String>,
    duration_s: Option<f64>,
    seed: u64,
    progress: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = SendOptions::read(tree_of(options)?).map_err(refuse)?;
    let (settings, source) = options.settings(key_of(key)?, seed).map_err(refuse)?;
    let data = data.map(|name| opened(&name)).transpose()?;
    let port = bound(listen, pcap)?;
    let local = port.local();
    let live = live(duration_s)?;
    let secret = random()?;
    let tell = || tell(&progress, local, &live);
    let work = || driver::send(port, settings, source, data, &secret, &live);
    let outcome = watch(py, || live.stop.give(), tell, work)?.map_err(PyErr::from)?;
    let mut described = describe(&outcome);
    let mut tables: Tables = vec![("samples", outcome.samples)];
    if let Some(report) = &outcome.report {
        described["peer"] = report.peer.to_string().into();
        described["control"] = report.control.into();
        described["counts"] = json!({
            "wrong_echoes": report.wrong_echoes,
            "clamped_reports": report.clamped,
            "unusable_round_trips": report.unusable_rtts,
            "marked_packets": report.marked,
            "sent_on_wire_bytes": report.sent_on_wire.0,
        });
    }
    tables.extend(sender_tables(outcome.report.as_ref(), outcome.lasted));
    answer(py, &described, &tables)
}

/// Opens a session with a sender and receives its data. Ctrl-C ends the session in good order.
#[pyfunction]
#[pyo3(signature = (options, *, key, data, pcap, duration_s, progress))]
pub fn receive<'py>(
    py: Python<'py>,
    options: &str,
    key: Option<Vec<u8>>,
    data: Option<String>,
    pcap: Option<String>,
    duration_s: Option<f64>,
    progress: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = ReceiveOptions::read(tree_of(options)?).map_err(refuse)?;
    let settings = options.settings(key_of(key)?).map_err(refuse)?;
    let sender = settings.sender;
    let any = match sender {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let data = data.map(|name| output(&name)).transpose()?;
    let port = bound(&any.to_string(), pcap)?;
    let local = port.local();
    let live = live(duration_s)?;
    let secret: [u8; 32] = random()?;
    let client = *secret.first_chunk().expect("32 bytes are more than 16");
    let tell = || tell(&progress, local, &live);
    let work = || driver::receive(port, settings, data, client, &live);
    let outcome = watch(py, || live.stop.give(), tell, work)?.map_err(PyErr::from)?;
    let mut described = describe(&outcome);
    let control = options.control().map_err(refuse)?;
    described["peer"] = sender.to_string().into();
    described["control"] = control.into();
    described["counts"] = json!({ "marked_packets": outcome.report.arrived.marked });
    let mut tables: Tables = vec![("samples", outcome.samples)];
    tables.extend(receiver_tables(&outcome.report, control, sender.is_ipv6()));
    answer(py, &described, &tables)
}

fn key_of(key: Option<Vec<u8>>) -> PyResult<SharedKey> {
    match key {
        None => Ok(SharedKey::public()),
        Some(bytes) => SharedKey::new(&bytes)
            .map_err(|words| refuse(Error::message("--key-file", words).coded(Code::File))),
    }
}

fn live(duration_s: Option<f64>) -> PyResult<Live> {
    Live::new(duration_s.map(Span::from_seconds)).map_err(PyErr::from)
}

fn random() -> PyResult<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        LackingError::new_err(("lacking", "", format!("cannot get random bytes: {error}")))
    })?;
    Ok(bytes)
}

fn bound(address: &str, pcap: Option<String>) -> PyResult<Port> {
    let address: SocketAddr = address.parse().map_err(|_| {
        let remedy = "is not an address; for example 127.0.0.1:7400 or [::]:7400";
        refuse(Error::new("--listen", &address.into(), remedy).coded(Code::Syntax))
    })?;
    let capture = pcap
        .map(|name| File::create(&name).map_err(|error| named(&error, &name)))
        .transpose()?;
    Port::bind(address, capture).map_err(|error| {
        let sentence = format!("cannot listen here ({error}); choose another address");
        LackingError::new_err(("lacking", address.to_string(), sentence))
    })
}

fn opened(name: &str) -> PyResult<File> {
    if name == STANDARD {
        return Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?));
    }
    File::open(name).map_err(|error| named(&error, name))
}

/// Opens the output for received data. An existing file keeps its content until data arrive.
fn output(name: &str) -> PyResult<File> {
    if name == STANDARD {
        return Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?));
    }
    let mut options = OpenOptions::new();
    let opened = options.write(true).create(true).truncate(false).open(name);
    opened.map_err(|error| named(&error, name))
}

/// Converts an error of the system, with the file's name as Python has it.
fn named(error: &io::Error, name: &str) -> PyErr {
    PyOSError::new_err((error.raw_os_error(), error.to_string(), name.to_owned()))
}

/// Reports progress: the local address, and the status of the session.
fn tell(progress: &Bound<'_, PyAny>, local: SocketAddr, live: &Live) -> PyResult<()> {
    let latest = live.latest().map(|latest| {
        let SessionStatus {
            at,
            rate_bit_per_s,
            allowed_bit_per_s,
            rtt_s,
            loss,
            payload,
        } = latest;
        json!({
            "at_s": at.as_seconds(),
            "rate_bit_per_s": rate_bit_per_s,
            "allowed_bit_per_s": allowed_bit_per_s,
            "rtt_s": rtt_s,
            "loss": loss,
            "payload_bytes": payload,
        })
    });
    progress.call1((json!({ "local": local.to_string(), "now": latest }).to_string(),))?;
    Ok(())
}

fn describe<R>(outcome: &SessionOutcome<R>) -> Value {
    let (ending, seconds) = match outcome.ending {
        Ending::Finished { confirmed: true } => ("finished", None),
        Ending::Finished { confirmed: false } => ("unconfirmed", None),
        Ending::Stopped => ("stopped", None),
        Ending::PeerStopped => ("peer_stopped", None),
        Ending::NoAnswer => ("no_answer", None),
        Ending::Silence(span) => ("silence", Some(span.as_seconds())),
        Ending::Dishonest => ("dishonest", None),
        Ending::Refused(code) => (refusal(code), None),
    };
    let ignored: serde_json::Map<_, _> = outcome
        .ignored
        .by_name()
        .into_iter()
        .map(|(name, count)| (name.to_owned(), count.into()))
        .collect();
    let (unsent, said) = &outcome.unsent;
    json!({
        "ending": ending,
        "silence_s": seconds,
        "lasted_s": outcome.lasted.as_seconds(),
        "ignored": ignored,
        "unsent": unsent,
        "why_unsent": said.as_ref().map(ToString::to_string),
    })
}

const fn refusal(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::Version => "refused_version",
        ErrorCode::Busy => "refused_busy",
        ErrorCode::Control => "refused_control",
        ErrorCode::Dishonest => "refused_dishonest",
        ErrorCode::Silence => "refused_silence",
    }
}

fn answer<'py>(
    py: Python<'py>,
    described: &Value,
    tables: &Tables,
) -> PyResult<Bound<'py, PyDict>> {
    let answer = PyDict::new(py);
    answer.set_item("outcome", described.to_string())?;
    answer.set_item("tables", by_name(py, tables)?)?;
    Ok(answer)
}
