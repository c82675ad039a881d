//! What flows say of themselves while they run.

use super::tcp_info::TcpInfoColumns;
use ackclock_core::units::{Span, Time};
use ackclock_transport::session::SenderReport;
use serde::{Deserialize, Serialize};

/// Readings of several flows since the last time, each kind in order of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readings {
    /// Of connections.
    pub tcp_info: TcpInfoColumns,
    /// Of datagrams under rate control.
    pub rates: Vec<RateReading>,
}

/// What a rate control shows of itself. What is not known, or without bound, is `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateReading {
    /// When it was read, in nanoseconds of the run.
    pub time_ns: u64,
    /// The number of the flow.
    pub flow: u32,
    /// What the control thinks it is doing.
    pub mode: String,
    /// Payload that it allows, in bytes per second.
    pub rate_byte_per_s: Option<f64>,
    /// What it takes for the loss rate.
    pub loss_event_rate: Option<f64>,
    /// The last round-trip time measured, in nanoseconds.
    pub rtt_ns: Option<u64>,
    /// The smoothed one, in nanoseconds.
    pub smoothed_rtt_ns: Option<u64>,
    /// The timeout that it reckons with, in nanoseconds.
    pub timeout_ns: Option<u64>,
    /// Datagrams sent.
    pub sent_packets: u64,
    /// Payload that has arrived, as the receiver says, in bytes.
    pub delivered_bytes: u64,
}

impl RateReading {
    /// What a sender shows at `now`.
    pub(super) fn of(now: Time, flow: u32, report: &SenderReport) -> Self {
        let state = &report.state;
        let nanos = |span: Option<Span>| span.map(Span::as_nanos);
        let known = |value: f64| Some(value).filter(|value| value.is_finite());
        RateReading {
            time_ns: now.as_nanos(),
            flow,
            mode: state.mode.into(),
            rate_byte_per_s: known(state.rate),
            loss_event_rate: known(state.loss_event_rate),
            rtt_ns: nanos(state.rtt),
            smoothed_rtt_ns: nanos(state.smoothed_rtt),
            timeout_ns: nanos(state.timeout),
            sent_packets: report.statistics.sent,
            delivered_bytes: report.delivered.0,
        }
    }
}

impl Readings {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.tcp_info.len() + self.rates.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Appends all of `more`.
    pub fn append(&mut self, mut more: Readings) {
        self.tcp_info.append(more.tcp_info);
        self.rates.append(&mut more.rates);
    }
}
