//! Recording of a congestion control's states, one by one.

use crate::congestion::{
    Ack, Congestion, CongestionControl, CongestionKind, ControlState, Event, PathModel,
    RecoveryPhase, SendLimit,
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
    max_fs: Option<Bytes>,
}

/// Records the states of a control: after every ACK and every reaction, and after a sent segment
/// that changed something.
#[derive(Debug)]
pub(super) struct Recorder {
    seen: Seen,
    last: Option<ControlRecord>,
    /// The records that nobody has taken yet.
    pub records: Vec<ControlRecord>,
}

impl Recorder {
    /// Creates a recorder without records.
    pub fn new() -> Self {
        Recorder {
            seen: Seen {
                recovery: RecoveryPhase::Open,
                delivered: Bytes::ZERO,
                in_flight: None,
                newly_lost: None,
                rtt: None,
                sample: None,
                max_fs: None,
            },
            last: None,
            records: Vec::new(),
        }
    }

    /// Takes the most data in flight since the last reduction.
    pub fn on_most_in_flight(&mut self, most: Bytes) {
        self.seen.max_fs = Some(most);
    }

    /// Records the state after an ACK.
    pub fn on_ack(&mut self, now: Time, ack: &Ack, control: &dyn CongestionControl) {
        let sample = ack.rate_sample();
        self.seen = Seen {
            recovery: ack.phase,
            delivered: ack.delivered,
            in_flight: None,
            newly_lost: Some(ack.newly_lost),
            rtt: ack.newest_rtt,
            sample: sample.map(|sample| (sample.rate(), sample.limited)),
            max_fs: self.seen.max_fs,
        };
        self.record(now, "ack", Some(ack.in_flight), false, control);
    }

    /// Records the state after congestion.
    pub fn on_congestion(
        &mut self,
        now: Time,
        congestion: &Congestion,
        control: &dyn CongestionControl,
    ) {
        let event = match congestion.kind {
            CongestionKind::Loss => "loss",
            CongestionKind::Mark => "mark",
            CongestionKind::Timeout | CongestionKind::RepeatedTimeout => "timeout",
            CongestionKind::SpuriousLoss => "undo",
        };
        self.forget_ack();
        self.record(now, event, Some(congestion.in_flight), false, control);
    }

    /// Records the state after another event.
    pub fn on_event(&mut self, now: Time, event: &Event, control: &dyn CongestionControl) {
        let (name, in_flight, if_changed) = match event {
            Event::Open { .. } => ("open", None, false),
            Event::IdleRestart { .. } => ("idle_restart", None, false),
            Event::RecoveryEnd => ("recovery_end", None, false),
            Event::Sent(sent) => ("sent", Some(sent.in_flight), true),
            Event::SentAfterIdle => ("sent", Some(Bytes::ZERO), true),
            Event::Lost(_) => ("lost", None, true),
            Event::Marks(_) => return, // the ACK's record follows
        };
        self.forget_ack();
        self.record(now, name, in_flight, if_changed, control);
    }

    /// Records the state after an event; with `if_changed`, only if it differs from the last one.
    fn record(
        &mut self,
        at: Time,
        event: &'static str,
        in_flight: Option<Bytes>,
        if_changed: bool,
        control: &dyn CongestionControl,
    ) {
        let record = ControlRecord {
            at,
            event,
            cwnd: control.cwnd(),
            pacing_rate: control.pace().rate,
            state: control.state(),
            model: control.model(),
            seen: Seen {
                in_flight,
                ..self.seen
            },
        };
        let last = self.last.replace(record);
        if !(if_changed && last.is_some_and(|last| last.decides_like(&record))) {
            self.records.push(record);
        }
    }

    /// Forgets what holds for one ACK alone.
    fn forget_ack(&mut self) {
        (self.seen.newly_lost, self.seen.rtt, self.seen.sample) = (None, None, None);
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
        let decisions =
            |record: &ControlRecord| (record.cwnd, record.pacing_rate, record.state, record.model);
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
            max_fs_bytes: bytes(seen.max_fs),
        }
        .push(table);
    }
}
