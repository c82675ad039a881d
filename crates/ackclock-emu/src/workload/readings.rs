//! Readings of flows while they run.

use super::tcp_info::TcpInfoColumns;
use ackclock_core::endpoint::SenderEvent;
use ackclock_core::transport::endpoint::Progress;
use ackclock_spec::units::{Bytes, Span, Time};
use ackclock_transport::session::SenderReport;
use serde::{Deserialize, Serialize};

/// Readings of several flows since the last time, each kind in order of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readings {
    /// Readings of TCP connections.
    pub tcp_info: TcpInfoColumns,
    /// Readings of rate controls, and of transports that others wrote.
    pub rates: Vec<RateReading>,
    /// Payload that transports that others wrote have delivered, at the receiving host.
    #[serde(default)]
    pub delivered: Vec<DeliveredReading>,
    /// Reactions of transports that others wrote to congestion.
    #[serde(default)]
    pub events: Vec<EventReading>,
}

/// State of a rate control, or of a transport that others wrote. `None` means unknown or
/// unlimited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateReading {
    /// Time of the reading, in nanoseconds of the run.
    pub time_ns: u64,
    /// Number of the flow.
    pub flow: u32,
    /// Mode of the control.
    pub mode: String,
    /// Payload rate that it allows, in bytes per second.
    pub rate_byte_per_s: Option<f64>,
    /// Its loss event rate.
    pub loss_event_rate: Option<f64>,
    /// Last round-trip time, in nanoseconds.
    pub rtt_ns: Option<u64>,
    /// Smoothed round-trip time, in nanoseconds.
    pub smoothed_rtt_ns: Option<u64>,
    /// Current timeout, in nanoseconds.
    pub timeout_ns: Option<u64>,
    /// Congestion window, in bytes.
    pub cwnd_bytes: Option<u64>,
    /// Slow-start threshold, in bytes.
    pub ssthresh_bytes: Option<u64>,
    /// Data on its way, in bytes.
    pub in_flight_bytes: Option<u64>,
    /// Datagrams sent.
    pub sent_packets: u64,
    /// Datagrams sent again.
    pub retransmitted_packets: Option<u64>,
    /// Payload that has arrived, as reported by the receiver, in bytes. `None` if only the
    /// receiving host knows ([`Readings::delivered`]).
    pub delivered_bytes: Option<u64>,
}

/// Payload that has been delivered to a flow's application by a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeliveredReading {
    /// Time of the reading, in nanoseconds of the run.
    pub time_ns: u64,
    /// Number of the flow.
    pub flow: u32,
    /// Payload, each byte once, in bytes.
    pub bytes: u64,
}

/// A reaction to congestion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventReading {
    /// Time of the reaction, in nanoseconds of the run.
    pub time_ns: u64,
    /// Number of the flow.
    pub flow: u32,
    /// Its kind, as in tables.
    pub kind: String,
    /// Congestion window before and after it, in bytes.
    pub cwnd_bytes: (u64, u64),
    /// Slow-start threshold after it, in bytes.
    pub ssthresh_bytes: Option<u64>,
    /// Data on its way, in bytes.
    pub in_flight_bytes: Option<u64>,
}

impl EventReading {
    pub(super) fn of(flow: u32, event: &SenderEvent) -> Self {
        EventReading {
            time_ns: event.at.as_nanos(),
            flow,
            kind: event.kind.name().into(),
            cwnd_bytes: (event.cwnd_before.0, event.cwnd_after.0),
            ssthresh_bytes: bytes(event.ssthresh_after),
            in_flight_bytes: bytes(event.in_flight),
        }
    }
}

fn bytes(count: Option<Bytes>) -> Option<u64> {
    count.map(|count| count.0)
}

fn nanos(span: Option<Span>) -> Option<u64> {
    span.map(Span::as_nanos)
}

impl RateReading {
    /// Returns a sender's state at `now`.
    pub(super) fn of(now: Time, flow: u32, report: &SenderReport) -> Self {
        let state = &report.state;
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        RateReading {
            time_ns: now.as_nanos(),
            flow,
            mode: state.mode.into(),
            rate_byte_per_s: finite(state.rate),
            loss_event_rate: finite(state.loss_event_rate),
            rtt_ns: nanos(state.rtt),
            smoothed_rtt_ns: nanos(state.smoothed_rtt),
            timeout_ns: nanos(state.timeout),
            cwnd_bytes: None,
            ssthresh_bytes: None,
            in_flight_bytes: None,
            sent_packets: report.statistics.sent,
            retransmitted_packets: Some(0),
            delivered_bytes: Some(report.delivered.0),
        }
    }

    /// Returns what a stack's sending side says at `now`.
    pub(super) fn of_stack(now: Time, flow: u32, progress: &Progress) -> Self {
        RateReading {
            time_ns: now.as_nanos(),
            flow,
            mode: progress.mode.into(),
            rate_byte_per_s: progress.allowed_rate,
            loss_event_rate: progress.loss_event_rate,
            rtt_ns: nanos(progress.rtt),
            smoothed_rtt_ns: nanos(progress.smoothed_rtt),
            timeout_ns: nanos(progress.timeout),
            cwnd_bytes: bytes(progress.cwnd),
            ssthresh_bytes: bytes(progress.ssthresh),
            in_flight_bytes: bytes(progress.in_flight),
            sent_packets: progress.sent,
            retransmitted_packets: progress.retransmitted,
            delivered_bytes: None,
        }
    }
}

impl Readings {
    /// Returns the number of readings.
    pub fn len(&self) -> usize {
        self.tcp_info.len() + self.rates.len() + self.delivered.len() + self.events.len()
    }
    /// True if there are no readings.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Appends all readings of `more`.
    pub fn append(&mut self, mut more: Readings) {
        self.tcp_info.append(more.tcp_info);
        self.rates.append(&mut more.rates);
        self.delivered.append(&mut more.delivered);
        self.events.append(&mut more.events);
    }
}
