//! A control of the engine beside the recorded calls of a program: it hears of the same ACKs and
//! the same congestion, and its windows are compared with the program's, call by call.
//!
//! The control's window is its own throughout. It is told of idle times and of the window after a
//! timeout as the kernel set them. It hears nothing of single sent segments, and of no rate sample.

use super::{
    Ack, AckKind, Congestion, CongestionControl, CongestionKind, RecoveryPhase, SegmentSent,
    SendLimit,
};
use crate::units::{Bytes, Span, Time};
use ackclock_bpf::Callback;
use ackclock_bpf::twin::Call;
use std::collections::HashMap;

/// States of loss recovery and events, in the kernel's numbers.
const OPEN: u32 = 0;
const CWR: u32 = 2;
const RECOVERY: u32 = 3;
const LOSS: u32 = 4;
const TX_START: u32 = 0;
const CWND_RESTART: u32 = 1;

/// A difference from which on two windows count as different: a segment.
const ONE_SEGMENT: f64 = 1.0;

/// A call whose windows differ, in segments.
#[derive(Clone, Copy, Debug)]
pub struct Apart {
    /// Number of the call in the record, from 1.
    pub number: u64,
    /// Time on the clock of the record.
    pub now_ns: u64,
    /// The program's answer.
    pub theirs: u32,
    /// The control's.
    pub ours: f64,
}

impl Apart {
    /// Returns by how much the control's answer is larger.
    pub fn difference(&self) -> f64 {
        self.ours - f64::from(self.theirs)
    }
}

/// The calls of one kind beside the control.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compared {
    /// Calls.
    pub calls: u64,
    /// Sum of the differences, without their signs.
    pub sum: f64,
    /// Largest of the differences over the program's answers, without its sign.
    pub relative: f64,
    /// Call with the largest difference.
    pub largest: Option<Apart>,
    /// First call whose windows are more than a segment apart.
    pub first: Option<Apart>,
}

impl Compared {
    fn add(&mut self, call: &Call, theirs: u32, ours: f64) {
        let apart = Apart {
            number: call.number,
            now_ns: call.now_ns,
            theirs,
            ours,
        };
        let difference = apart.difference().abs();
        self.calls += 1;
        self.sum += difference;
        self.relative = self.relative.max(difference / f64::from(theirs.max(1)));
        if self
            .largest
            .is_none_or(|most| difference > most.difference().abs())
        {
            self.largest = Some(apart);
        }
        if self.first.is_none() && difference > ONE_SEGMENT {
            self.first = Some(apart);
        }
    }
}

/// A control beside the calls of a record, by kind of call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside {
    /// Windows after `cong_avoid`.
    pub growth: Compared,
    /// Thresholds after `ssthresh`.
    pub reductions: Compared,
    /// Windows after `undo_cwnd`.
    pub undos: Compared,
    /// Connections.
    pub connections: u64,
}

/// A connection.
struct Connection {
    control: Box<dyn CongestionControl>,
    /// `pkts_acked` of an ACK, until it is known whether the window may grow with it.
    acked: Option<Call>,
    /// `ssthresh`, until the new state says why it was asked.
    asked: Option<Call>,
    /// True after an idle time, until the next call shows the window that the kernel has set.
    restarts: bool,
    state: u32,
    delivered: u32,
    lost_out: u32,
    round_ends: u32,
    min_rtt: Option<Span>,
}

/// Gives the calls of a record to a control of the engine. `make` makes one for each connection, of
/// its payload of a full segment, its window and its threshold.
pub fn compare(
    record: &[u8],
    mut make: impl FnMut(Bytes, Bytes, Option<Bytes>) -> Box<dyn CongestionControl>,
) -> Beside {
    let mut beside = Beside::default();
    let mut connections: HashMap<([u8; 4], u16), Connection> = HashMap::new();
    for call in Call::all(record) {
        if call.callback() == Some(Callback::Init) {
            let mss = u64::from(call.mss.max(1));
            let ssthresh = call.before.ssthresh;
            let ssthresh = (ssthresh < 0x7fff_ffff).then(|| Bytes(mss * u64::from(ssthresh)));
            let cwnd = Bytes(mss * u64::from(call.before.cwnd));
            beside.connections += 1;
            connections.insert(
                call.local,
                Connection::new(make(Bytes(mss), cwnd, ssthresh), &call),
            );
        } else if let Some(connection) = connections.get_mut(&call.local) {
            connection.take(&call, &mut beside);
        }
    }
    beside
}

impl Connection {
    fn new(mut control: Box<dyn CongestionControl>, call: &Call) -> Self {
        control.on_open(at(call), smoothed(call));
        Connection {
            control,
            acked: None,
            asked: None,
            restarts: false,
            state: call.state.into(),
            delivered: call.delivered,
            lost_out: call.lost_out,
            round_ends: call.snd_nxt,
            min_rtt: None,
        }
    }

    fn take(&mut self, call: &Call, beside: &mut Beside) {
        if self.restarts {
            self.restarts = false;
            let limit = Bytes(segments(call.before.cwnd, call));
            self.control.on_idle_restart(at(call), limit);
        }
        let callback = call.callback();
        if callback == Some(Callback::CongAvoid) {
            self.acknowledge(call, credit(call));
            beside.growth.add(call, call.after.cwnd, self.cwnd(call));
            return;
        }
        if let Some(acked) = self.acked.take() {
            self.tell(&acked, &acked, 0);
        }
        match callback {
            Some(Callback::PktsAcked) => {
                if call.rtt_us > 0 {
                    let rtt = Span::from_nanos(1000 * u64::from(call.rtt_us.unsigned_abs()));
                    self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
                }
                self.acked = Some(*call);
            }
            Some(Callback::Ssthresh) => self.asked = Some(*call),
            Some(Callback::SetState) => self.enter(call, beside),
            Some(Callback::UndoCwnd) => {
                self.congestion(CongestionKind::SpuriousLoss, call, call.before.cwnd);
                beside.undos.add(call, call.result, self.cwnd(call));
                self.state = OPEN;
            }
            Some(Callback::CwndEvent) if call.arguments[0] == CWND_RESTART => self.restarts = true,
            Some(Callback::CwndEvent) if call.arguments[0] == TX_START => {
                let one = Bytes(call.mss.into());
                let sent = SegmentSent {
                    bytes: one,
                    in_flight: one,
                    limited: SendLimit::Application,
                };
                if self.control.wants_sent() {
                    self.control.on_sent(at(call), &sent);
                }
            }
            _ => {}
        }
    }

    /// Tells the control of a new state of loss recovery, and of the congestion that is its reason.
    fn enter(&mut self, call: &Call, beside: &mut Beside) {
        let next = call.arguments[0];
        let asked = self.asked.take();
        let kind = match (next, asked.is_some()) {
            (RECOVERY, true) => Some(CongestionKind::Loss),
            (CWR, true) => Some(CongestionKind::Mark),
            (LOSS, true) => Some(CongestionKind::Timeout),
            (LOSS, false) => Some(CongestionKind::RepeatedTimeout),
            _ => None,
        };
        if let Some(kind) = kind {
            let found = asked.as_ref().unwrap_or(call);
            self.congestion(kind, found, call.before.cwnd);
        } else if next == OPEN && self.state >= CWR {
            self.control.on_recovery_end(at(call));
        }
        if let Some(asked) = asked {
            let ssthresh = self.control.state().ssthresh.unwrap_or(self.control.cwnd());
            let ours = ssthresh.as_f64() / f64::from(call.mss.max(1));
            beside.reductions.add(&asked, asked.result, ours);
        }
        self.state = next;
    }

    fn congestion(&mut self, kind: CongestionKind, found: &Call, loss_window: u32) {
        let congestion = Congestion {
            kind,
            base: Bytes(segments(found.before.cwnd, found)),
            in_flight: in_flight(found),
            min_rtt: self.min_rtt,
            smoothed_rtt: smoothed(found),
            loss_window: Bytes(segments(loss_window, found)),
        };
        self.control.on_congestion(at(found), &congestion);
    }

    /// Tells the control of the ACK by which the window may grow.
    fn acknowledge(&mut self, call: &Call, credit: u64) {
        let acked = self.acked.take();
        self.tell(acked.as_ref().unwrap_or(call), call, credit);
    }

    /// Tells the control of an ACK. `seen` is what `pkts_acked` saw of it, `last` its last call.
    fn tell(&mut self, seen: &Call, last: &Call, credit: u64) {
        let is_new = seen.callback() == Some(Callback::PktsAcked);
        let acked = if is_new { seen.arguments[0] } else { 0 };
        let delivered = seen.delivered.wrapping_sub(self.delivered);
        let lost = seen.lost_out.saturating_sub(self.lost_out);
        (self.delivered, self.lost_out) = (seen.delivered, seen.lost_out);
        let rtt = (is_new && seen.rtt_us > 0)
            .then(|| Span::from_nanos(1000 * u64::from(seen.rtt_us.unsigned_abs())));
        let round_start = seen.snd_una.wrapping_sub(self.round_ends).cast_signed() > 0;
        if round_start {
            self.round_ends = seen.snd_nxt;
        }
        let ack = Ack {
            kind: if acked > 0 {
                AckKind::New
            } else {
                AckKind::Duplicate
            },
            newly_acked: Bytes(segments(acked, seen)),
            newly_delivered: Bytes(segments(delivered, seen)),
            credit: Bytes(credit),
            delivered: Bytes(segments(seen.delivered, seen)),
            rtt,
            newest_rtt: rtt,
            smoothed_rtt: smoothed(last),
            min_rtt: self.min_rtt,
            in_flight: in_flight(seen),
            next_departure: at(last),
            rate_sample: None,
            limited: if last.limited {
                SendLimit::CongestionWindow
            } else {
                SendLimit::Application
            },
            phase: match self.state {
                CWR => RecoveryPhase::Cwr,
                RECOVERY => RecoveryPhase::Recovery,
                LOSS => RecoveryPhase::Loss,
                _ => RecoveryPhase::Open,
            },
            newly_lost: Bytes(segments(lost, seen)),
            round_start,
            marked: Bytes::ZERO,
        };
        self.control.on_ack(at(last), &ack);
    }

    /// Returns the control's window in segments, fractions included.
    fn cwnd(&self, call: &Call) -> f64 {
        self.control.cwnd().as_f64() / f64::from(call.mss.max(1))
    }
}

fn at(call: &Call) -> Time {
    Time::from_nanos(call.now_ns)
}

fn smoothed(call: &Call) -> Option<Span> {
    let known = call.srtt_us8 > 0;
    known.then(|| Span::from_nanos(u64::from(call.srtt_us8) * 125))
}

/// Returns segments in bytes.
fn segments(count: u32, call: &Call) -> u64 {
    u64::from(count) * u64::from(call.mss)
}

fn in_flight(call: &Call) -> Bytes {
    let gone = call.sacked_out.saturating_add(call.lost_out);
    let left = call.packets_out.saturating_add(call.retrans_out);
    Bytes(segments(left.saturating_sub(gone), call))
}

/// Returns the data by which the window may grow: nothing if it was not used
/// (`tcp_is_cwnd_limited`).
fn credit(call: &Call) -> u64 {
    let window = call.before;
    let filled = window.cwnd < call.max_packets_out.saturating_mul(2);
    let used = call.limited || (window.cwnd < window.ssthresh && filled);
    if used {
        segments(call.arguments[1], call)
    } else {
        0
    }
}
