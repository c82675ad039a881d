//! Readings of flows while they run.

use super::tcp_info::TcpInfoColumns;
use ackclock_spec::units::{Span, Time};
use ackclock_transport::session::SenderReport;
use serde::{Deserialize, Serialize};

/// Readings of several flows since the last time, each kind in order of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readings {
    /// Readings of TCP connections.
    pub tcp_info: TcpInfoColumns,
    /// Readings of rate controls.
    pub rates: Vec<RateReading>,
}

/// State of a rate control. `None` means unknown or unlimited.
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
    /// Datagrams sent.
    pub sent_packets: u64,
    /// Payload that has arrived, as reported by the receiver, in bytes.
    pub delivered_bytes: u64,
}

impl RateReading {
    /// Returns a sender's state at `now`.
    pub(super) fn of(now: Time, flow: u32, report: &SenderReport) -> Self {
        let state = &report.state;
        let nanos = |span: Option<Span>| span.map(Span::as_nanos);
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
            sent_packets: report.statistics.sent,
            delivered_bytes: report.delivered.0,
        }
    }
}

impl Readings {
    /// Returns the number of readings.
    pub fn len(&self) -> usize {
        self.tcp_info.len() + self.rates.len()
    }
    /// True if there are no readings.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Appends all readings of `more`.
    pub fn append(&mut self, mut more: Readings) {
        self.tcp_info.append(more.tcp_info);
        self.rates.append(&mut more.rates);
    }
}
