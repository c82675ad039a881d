//! A congestion control whose states are recorded, one by one.

use super::{
    Ack, Congestion, CongestionControl, CongestionKind, ControlState, MarkReport, PathModel,
    RecoveryPhase, SegmentLost, SegmentSent, SendLimit, SenderState,
};
use crate::result::{ControlStateRow, Table};
use ackclock_spec::units::{BitRate, Bytes, Span, Time};

/// The state of a control after an event.
#[derive(Clone, Copy, Debug)]
pub struct ControlRecord {
    at: Time,
    event: &'static str,
    cwnd: Bytes,
    pacing_rate: Option<BitRate>,
    state: ControlState,
    model: PathModel,
    seen: Seen,
}

/// Content of the event, and of the last ACK.
#[derive(Clone, Copy, Debug)]
struct Seen {
    recovery: RecoveryPhase,
    delivered: Bytes,
    in_flight: Option<Bytes>,
    newly_lost: Option<Bytes>,
    rtt: Option<Span>,
    sample: Option<(BitRate, SendLimit)>,
}

/// Returns a control that decides like `control` and records its states: after every ACK and every
/// reaction, and after a sent segment that changed something.
pub fn recorded(control: Box<dyn CongestionControl>) -> Box<dyn CongestionControl> {
    Box::new(Recorded {
        control,
        seen: Seen {
            recovery: RecoveryPhase::Open,
            delivered: Bytes::ZERO,
            in_flight: None,
            newly_lost: None,
            rtt: None,
            sample: None,
        },
        last: None,
        records: Vec::new(),
    })
}

/// A control, and the records that nobody has taken yet.
#[derive(Debug)]
struct Recorded {
    control: Box<dyn CongestionControl>,
    seen: Seen,
    last: Option<ControlRecord>,
    records: Vec<ControlRecord>,
}

impl Recorded {
    /// Records the state after an event. With `changes`, only if it differs from the last one.
    fn record(&mut self, at: Time, event: &'static str, in_flight: Option<Bytes>, changes: bool) {
        let record = ControlRecord {
            at,
            event,
            cwnd: self.control.cwnd(),
            pacing_rate: self.control.pacing_rate(),
            state: self.control.state(),
            model: self.control.model(),
            seen: Seen {
                in_flight,
                ..self.seen
            },
        };
        let known = self.last.replace(record);
        if changes && known.is_some_and(|known| known.decides_like(&record)) {
            return;
        }
        self.records.push(record);
    }

    /// Records the state after an event that is neither an ACK nor a sent segment.
    fn note(&mut self, at: Time, event: &'static str, in_flight: Option<Bytes>) {
        self.forget_ack();
        self.record(at, event, in_flight, false);
    }

    /// Forgets what holds for one ACK alone.
    fn forget_ack(&mut self) {
        (self.seen.newly_lost, self.seen.rtt, self.seen.sample) = (None, None, None);
    }
}

impl CongestionControl for Recorded {
    fn on_sent(&mut self, now: Time, sent: &SegmentSent) {
        self.control.on_sent(now, sent);
        self.forget_ack();
        self.record(now, "sent", Some(sent.in_flight), true);
    }
    fn on_sent_after_idle(&mut self, now: Time) {
        self.control.on_sent_after_idle(now);
        self.forget_ack();
        self.record(now, "sent", Some(Bytes::ZERO), true);
    }
    fn on_open(&mut self, now: Time, rtt: Option<Span>) {
        self.control.on_open(now, rtt);
        self.note(now, "open", None);
    }
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.control.on_ack(now, ack);
        self.seen = Seen {
            recovery: ack.phase,
            delivered: ack.delivered,
            in_flight: None,
            newly_lost: Some(ack.newly_lost),
            rtt: ack.newest_rtt,
            sample: ack
                .rate_sample
                .map(|sample| (sample.rate(), sample.limited)),
        };
        self.record(now, "ack", Some(ack.in_flight), false);
    }
    fn on_mark_report(&mut self, now: Time, report: &MarkReport) {
        self.control.on_mark_report(now, report); // the ACK's record follows
    }
    fn on_sender_state(&mut self, state: &SenderState) {
        self.control.on_sender_state(state); // the ACK's record follows
    }
    fn on_lost(&mut self, now: Time, lost: &SegmentLost) {
        self.control.on_lost(now, lost);
        self.forget_ack();
        self.record(now, "lost", None, true);
    }
    fn on_congestion(&mut self, now: Time, congestion: &Congestion) {
        self.control.on_congestion(now, congestion);
        let event = match congestion.kind {
            CongestionKind::Loss => "loss",
            CongestionKind::Mark => "mark",
            CongestionKind::Timeout | CongestionKind::RepeatedTimeout => "timeout",
            CongestionKind::SpuriousLoss => "undo",
        };
        self.note(now, event, Some(congestion.in_flight));
    }
    fn on_recovery_end(&mut self, now: Time) {
        self.control.on_recovery_end(now);
        self.note(now, "recovery_end", None);
    }
    fn on_idle_restart(&mut self, now: Time, limit: Bytes) {
        self.control.on_idle_restart(now, limit);
        self.note(now, "idle_restart", None);
    }
    fn cwnd(&self) -> Bytes {
        self.control.cwnd()
    }
    fn pacing_rate(&self) -> Option<BitRate> {
        self.control.pacing_rate()
    }
    fn burst(&self) -> Option<Bytes> {
        self.control.burst()
    }
    fn wants_delivery_rate(&self) -> bool {
        self.control.wants_delivery_rate()
    }
    fn wants_mark_reports(&self) -> bool {
        self.control.wants_mark_reports()
    }
    fn wants_sender_state(&self) -> bool {
        self.control.wants_sender_state()
    }
    fn owns_recovery(&self) -> bool {
        self.control.owns_recovery()
    }
    fn limits_rate_samples(&self) -> bool {
        self.control.limits_rate_samples()
    }
    fn wants_sent(&self) -> bool {
        self.control.wants_sent()
    }
    fn state(&self) -> ControlState {
        self.control.state()
    }
    fn model(&self) -> PathModel {
        self.control.model()
    }
    fn may_fail(&self) -> bool {
        self.control.may_fail()
    }
    fn fault(&self) -> Option<String> {
        self.control.fault()
    }
    fn take_calls(&mut self) -> Vec<u8> {
        self.control.take_calls()
    }
    fn take_records(&mut self) -> Vec<ControlRecord> {
        std::mem::take(&mut self.records)
    }
}

fn rate(value: Option<BitRate>) -> f64 {
    value.map_or(f64::NAN, |rate| rate.as_bit_per_s() as f64)
}
fn bytes(value: Option<Bytes>) -> f64 {
    value.map_or(f64::NAN, Bytes::as_f64)
}
fn seconds(value: Option<Span>) -> f64 {
    value.map_or(f64::NAN, Span::as_seconds)
}
fn count(value: Option<u64>) -> f64 {
    value.map_or(f64::NAN, |count| count as f64)
}
fn flag(value: Option<bool>) -> f64 {
    value.map_or(f64::NAN, |flag| f64::from(u8::from(flag)))
}

impl ControlRecord {
    /// True if window, rate and model are the same.
    fn decides_like(&self, other: &ControlRecord) -> bool {
        let decisions = |one: &ControlRecord| (one.cwnd, one.pacing_rate, one.state, one.model);
        decisions(self) == decisions(other)
    }

    /// Appends the row of this record, of an instance of the flow group `flow`, to a table.
    /// `labels` are the numbers of the point and of the replicate.
    pub fn push(&self, labels: (i64, i64), flow: &str, instance: u32, table: &mut Table) {
        let (model, seen) = (&self.model, &self.seen);
        ControlStateRow {
            point: labels.0,
            replicate: labels.1,
            flow,
            instance: instance.into(),
            time_s: self.at.as_seconds(),
            event: self.event,
            mode: self.state.mode,
            phase: model.phase,
            previous_mode: model.previous_mode,
            recovery: match seen.recovery {
                RecoveryPhase::Open => "open",
                RecoveryPhase::Cwr => "cwr",
                RecoveryPhase::Recovery => "recovery",
                RecoveryPhase::Loss => "loss",
            },
            cwnd_bytes: self.cwnd.as_f64(),
            ssthresh_bytes: bytes(self.state.ssthresh),
            pacing_rate_bit_per_s: rate(self.pacing_rate),
            in_flight_bytes: bytes(seen.in_flight),
            delivered_bytes: seen.delivered.as_f64(),
            newly_lost_bytes: bytes(seen.newly_lost),
            rtt_s: seconds(seen.rtt),
            sample_bit_per_s: rate(seen.sample.map(|(rate, _)| rate)),
            sample_app_limited: flag(
                seen.sample
                    .map(|(_, limited)| limited == SendLimit::Application),
            ),
            max_bw_bit_per_s: rate(model.max_bw),
            bw_bit_per_s: rate(model.bw),
            bw_shortterm_bit_per_s: rate(model.bw_shortterm),
            inflight_longterm_bytes: bytes(model.inflight_longterm),
            inflight_shortterm_bytes: bytes(model.inflight_shortterm),
            min_rtt_s: seconds(model.min_rtt),
            extra_acked_bytes: bytes(model.extra_acked),
            pacing_gain: model.pacing_gain.unwrap_or(f64::NAN),
            cwnd_gain: model.cwnd_gain.unwrap_or(f64::NAN),
            round_count: count(model.round_count),
            full_bw_bit_per_s: rate(model.full_bw),
            full_bw_count: count(model.full_bw_count),
            full_bw_now: flag(model.full_bw_now),
            full_bw_reached: flag(model.full_bw_reached),
            idle_restart: flag(model.idle_restart),
            undo_mode: model.undo_mode,
        }
        .push(table);
    }
}
