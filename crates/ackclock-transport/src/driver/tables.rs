//! Results of sessions as tables. Times count from the start of the program.

use crate::bursts::Bursts;
use crate::session::{Receiver, ReceiverReport, Sender, SenderReport};
use ackclock_core::activity::bit_per_s;
use ackclock_core::result::{BurstRow, FlowRow, SampleRow, Table};
use ackclock_spec::units::{Bytes, Span, Time};

/// Interval between two rows of the table of samples.
const INTERVAL: Span = Span::from_millis(100);
/// Name of the only flow.
const FLOW: &str = "data";

/// Status of a session, for display.
#[derive(Clone, Copy, Debug)]
pub struct SessionStatus {
    /// Time of the status.
    pub at: Time,
    /// Payload rate over the last interval in bit/s: sent at a sender, arrived at a receiver.
    pub rate_bit_per_s: f64,
    /// Payload rate that the control allows, in bit/s; NaN at a receiver.
    pub allowed_bit_per_s: f64,
    /// Smoothed round-trip time in seconds; NaN if unknown.
    pub rtt_s: f64,
    /// Share of the packets sent so far that is deemed lost; at a receiver, that has not arrived.
    pub loss: f64,
    /// Payload so far, in bytes.
    pub payload: u64,
}

/// The table of samples under construction.
#[derive(Debug)]
pub(super) struct Samples {
    table: Table,
    next: Time,
    last: (Time, u64),
}

impl Default for Samples {
    fn default() -> Self {
        Samples {
            table: SampleRow::table(),
            next: Time::ZERO,
            last: (Time::ZERO, 0),
        }
    }
}

impl Samples {
    pub fn is_due(&self, now: Time) -> bool {
        self.next <= now
    }
    pub const fn next(&self) -> Time {
        self.next
    }
    pub fn finish(self) -> Table {
        self.table
    }

    /// Returns the payload rate since the last call, and schedules the next one.
    fn rate(&mut self, now: Time, payload: u64) -> f64 {
        let (then, before) = std::mem::replace(&mut self.last, (now, payload));
        self.next = now + INTERVAL;
        bit_per_s(Bytes(payload - before), now.since(then))
    }

    pub fn take_sender(&mut self, now: Time, sender: &Sender) -> Option<SessionStatus> {
        let Some(report) = sender.report() else {
            self.rate(now, 0);
            return None;
        };
        let (state, counts) = (&report.state, &report.statistics);
        let seconds = |span: Option<Span>| span.map_or(f64::NAN, Span::as_seconds);
        let row = SampleRow {
            flow: FLOW,
            time_s: now.as_seconds(),
            rtt_s: seconds(state.rtt),
            smoothed_rtt_s: seconds(state.smoothed_rtt),
            rto_s: seconds(state.timeout),
            delivered_bytes: report.delivered.0 as i64,
            sent_packets: counts.sent as i64,
            retransmitted_packets: 0.0,
            mode: state.mode,
            allowed_rate_bit_per_s: 8.0 * state.rate,
            loss_event_rate: state.loss_event_rate,
            ..SampleRow::UNKNOWN
        };
        row.push(&mut self.table);
        Some(SessionStatus {
            at: now,
            rate_bit_per_s: self.rate(now, counts.sent_bytes.0),
            allowed_bit_per_s: 8.0 * state.rate,
            rtt_s: seconds(state.smoothed_rtt),
            loss: count(state.lost) / counts.sent as f64,
            payload: counts.sent_bytes.0,
        })
    }

    pub fn take_receiver(&mut self, now: Time, receiver: &Receiver) -> Option<SessionStatus> {
        let report = receiver.report();
        if report.begun.is_none() {
            self.rate(now, 0);
            return None;
        }
        let (arrived, Bytes(payload)) = (&report.arrived, report.statistics.delivered);
        let row = SampleRow {
            flow: FLOW,
            time_s: now.as_seconds(),
            delivered_bytes: payload as i64,
            sent_packets: arrived.highest as i64,
            retransmitted_packets: 0.0,
            ..SampleRow::UNKNOWN
        };
        row.push(&mut self.table);
        Some(SessionStatus {
            at: now,
            rate_bit_per_s: self.rate(now, payload),
            allowed_bit_per_s: f64::NAN,
            rtt_s: f64::NAN,
            loss: (arrived.highest - arrived.packets) as f64 / arrived.highest as f64,
            payload,
        })
    }
}

/// Returns the tables `flows` and `bursts` of a sender, without rows if it had no session.
pub fn sender_tables(report: Option<&SenderReport>, ended: Time) -> Vec<(&'static str, Table)> {
    let Some(report) = report else {
        return vec![("flows", FlowRow::table()), ("bursts", BurstRow::table())];
    };
    let (state, counts) = (&report.state, &report.statistics);
    let measured = ended.since(report.opened);
    let rtt = |value: f64| {
        if counts.rtt_samples > 0 {
            value
        } else {
            f64::NAN
        }
    };
    let row = FlowRow {
        flow: FLOW,
        control: report.control,
        start_s: report.opened.as_seconds(),
        end_s: ended.as_seconds(),
        measured_s: measured.as_seconds(),
        goodput_bit_per_s: bit_per_s(report.delivered, measured),
        delivered_bytes: report.delivered.0 as i64,
        sent_packets: counts.sent as i64,
        retransmitted_packets: 0.0,
        timeouts: state.timeouts as f64,
        rtt_mean_s: rtt(counts.rtt_sum_s / counts.rtt_samples as f64),
        rtt_min_s: rtt(counts.rtt_min_s),
        rtt_max_s: rtt(counts.rtt_max_s),
        lost_packets: count(state.lost),
        spurious_losses: count(state.spurious_losses),
        ..FlowRow::UNKNOWN
    };
    let mut flows = FlowRow::table();
    row.push(&mut flows);
    vec![("flows", flows), ("bursts", bursts(&report.bursts))]
}

fn count(value: Option<u64>) -> f64 {
    value.map_or(f64::NAN, |count| count as f64)
}

fn bursts(counted: &Bursts) -> Table {
    let mut table = BurstRow::table();
    for (packets, count) in counted.counts() {
        let row = BurstRow {
            flow: FLOW,
            packets: packets as i64,
            bursts: count as i64,
            ..BurstRow::UNKNOWN
        };
        row.push(&mut table);
    }
    table
}

/// Returns the table `flows` of a receiver.
pub fn receiver_tables(
    report: &ReceiverReport,
    control: &str,
    is_ipv6: bool,
) -> Vec<(&'static str, Table)> {
    let arrived = &report.arrived;
    let headers = if is_ipv6 { 48 } else { 28 } * arrived.packets;
    let mut flows = FlowRow::table();
    if let Some(begun) = report.begun {
        let measured = report.last.since(begun);
        let row = FlowRow {
            flow: FLOW,
            control,
            start_s: begun.as_seconds(),
            end_s: report.last.as_seconds(),
            measured_s: measured.as_seconds(),
            goodput_bit_per_s: bit_per_s(report.statistics.delivered, measured),
            throughput_bit_per_s: bit_per_s(Bytes(arrived.on_wire.0 + headers), measured),
            delivered_bytes: report.statistics.delivered.0 as i64,
            sent_packets: arrived.highest as i64,
            retransmitted_packets: 0.0,
            lost_packets: (arrived.highest - arrived.packets) as f64,
            ..FlowRow::UNKNOWN
        };
        row.push(&mut flows);
    }
    vec![("flows", flows)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::SharedKey;
    use crate::session::ReceiverSettings;
    use ackclock_spec::files::NoFiles;
    use ackclock_spec::registry::choose;
    use std::net::SocketAddr;

    #[test]
    fn the_time_before_a_session_is_not_part_of_its_first_rate() {
        let settings = ReceiverSettings {
            key: SharedKey::public(),
            sender: SocketAddr::from(([127, 0, 0, 1], 7400)),
            control: choose(&serde_json::json!({ "kind": "tfrc" }), &NoFiles).unwrap(),
            payload: Bytes(1000),
            most: None,
            wait: Span::from_millis(10_000),
        };
        let receiver = Receiver::new(Time::ZERO, settings, [1; 16]);
        let (mut samples, waited) = (Samples::default(), Time::from_seconds(5.0));
        assert!(samples.take_receiver(waited, &receiver).is_none());
        assert_eq!(samples.next(), waited + INTERVAL);
        assert_eq!(samples.rate(waited + INTERVAL, 1000), 80_000.0);
    }
}
