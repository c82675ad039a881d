//! A control of the engine beside the recorded calls of a program: it hears of the same ACKs and
//! the same congestion, and its windows are compared with the program's, call by call.
//!
//! The control's window is its own throughout. It is told of idle times and of the window after a
//! timeout as the kernel set them. It hears nothing of single sent segments. Rate samples are those
//! of the program's `cong_control`.
//!
//! [`ShadowControl`] is such a control as the twin of one that the kernel has: it has to answer
//! alike.

use crate::congestion::{
    Ack, Congestion, CongestionControl, CongestionKind, Event, RateInfo, RateSample, RecoveryPhase,
    SegmentLost, SegmentSent, SendLimit,
};
use ackclock_bpf::twin::{Call, Twin, Window};
use ackclock_bpf::{Callback, Fault};
use ackclock_spec::units::{Bytes, Span, Time};
use std::collections::HashMap;

/// States of loss recovery and events, in the kernel's numbers.
const OPEN: u32 = 0;
const CWR: u32 = 2;
const RECOVERY: u32 = 3;
const LOSS: u32 = 4;
const TX_START: u32 = 0;
const CWND_RESTART: u32 = 1;

/// ssthresh that is not set (`TCP_INFINITE_SSTHRESH`).
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// `min_rtt_us` before the first round-trip time.
const UNKNOWN_RTT: u32 = u32::MAX;

/// Most segments that one call may show to be lost; more are a gap in the record.
const MOST_LOST: u32 = 1 << 20;

/// A difference from which on two windows count as different: a segment.
const ONE_SEGMENT: f64 = 1.0;

/// A call whose windows differ, in segments.
#[derive(Clone, Copy, Debug)]
pub struct Divergence {
    /// Number of the call in the record, from 1.
    pub number: u64,
    /// Time on the clock of the record.
    pub now_ns: u64,
    /// The program's answer.
    pub theirs: u32,
    /// The control's.
    pub ours: f64,
}

impl Divergence {
    /// Returns by how much the control's answer is larger.
    pub fn difference(&self) -> f64 {
        self.ours - f64::from(self.theirs)
    }
}

/// The calls of one kind beside the control.
#[derive(Clone, Copy, Debug, Default)]
pub struct Comparison {
    /// Calls.
    pub calls: u64,
    /// Sum of the differences, without their signs.
    pub sum: f64,
    /// Largest of the differences over the program's answers, without its sign.
    pub relative: f64,
    /// Call with the largest difference.
    pub largest: Option<Divergence>,
    /// First call whose windows are more than a segment apart.
    pub first: Option<Divergence>,
}

impl Comparison {
    fn add(&mut self, call: &Call, theirs: u32, ours: f64) {
        let divergence = Divergence {
            number: call.number,
            now_ns: call.now_ns,
            theirs,
            ours,
        };
        let difference = divergence.difference().abs();
        self.calls += 1;
        self.sum += difference;
        self.relative = self.relative.max(difference / f64::from(theirs.max(1)));
        if self
            .largest
            .is_none_or(|most| difference > most.difference().abs())
        {
            self.largest = Some(divergence);
        }
        if self.first.is_none() && difference > ONE_SEGMENT {
            self.first = Some(divergence);
        }
    }
}

/// A control beside the calls of a record, by kind of call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Agreement {
    /// Windows after `cong_avoid`.
    pub growth: Comparison,
    /// Windows after `cong_control`.
    pub controlled: Comparison,
    /// Thresholds after `ssthresh`.
    pub reductions: Comparison,
    /// Windows after `undo_cwnd`.
    pub undos: Comparison,
    /// Connections.
    pub connections: u64,
}

/// A connection.
#[derive(Debug)]
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
    /// Segments found lost so far.
    lost: u32,
    /// SND.UNA at first, and at the last call.
    begin: u32,
    una: u32,
    round_ends: u32,
    min_rtt: Option<Span>,
}

/// Gives the calls of a record to a control of the engine. `make` makes one for each connection.
pub fn compare(
    record: &[u8],
    mut make: impl FnMut(Begun) -> Box<dyn CongestionControl>,
) -> Agreement {
    let mut agreement = Agreement::default();
    let mut connections: HashMap<([u8; 4], u16), Connection> = HashMap::new();
    for call in Call::all(record) {
        if call.callback() == Some(Callback::Init) {
            agreement.connections += 1;
            let control = make(Begun::of(&call));
            connections.insert(call.local, Connection::new(control, &call));
        } else if let Some(connection) = connections.get_mut(&call.local) {
            connection.take(&call, &mut agreement);
        }
    }
    agreement
}

/// State of a connection with which a control of the engine is made.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow-start threshold, if it is set.
    pub ssthresh: Option<Bytes>,
}

impl Begun {
    /// Returns what the first call of a connection found.
    pub fn of(call: &Call) -> Self {
        let mss = u64::from(call.mss.max(1));
        let bytes = |segments: u32| Bytes(mss * u64::from(segments));
        let ssthresh = call.before.ssthresh;
        Begun {
            mss: Bytes(mss),
            cwnd: bytes(call.before.cwnd),
            ssthresh: (ssthresh < INFINITE_SSTHRESH).then(|| bytes(ssthresh)),
        }
    }
}

/// A control of the engine as the twin of one that the kernel has, and that owns window and rate in
/// all states. Its window has whole segments.
///
/// The kernel sets the threshold too, when it undoes a reduction. So of the threshold only changes
/// by the control are compared.
#[derive(Debug)]
pub struct ShadowControl {
    connection: Connection,
    unread: Agreement,
}

impl ShadowControl {
    /// Lets a control stand for the kernel's in a connection that begins with a call.
    pub fn new(control: Box<dyn CongestionControl>, call: &Call) -> Self {
        ShadowControl {
            connection: Connection::new(control, call),
            unread: Agreement::default(),
        }
    }

    fn ssthresh(&self, call: &Call) -> u32 {
        let ssthresh = self.connection.control.state().ssthresh;
        ssthresh.map_or(INFINITE_SSTHRESH, |bytes| whole(bytes, call))
    }
}

impl Twin for ShadowControl {
    fn answer(&mut self, callback: Callback, call: &Call) -> Result<(Window, u32), Fault> {
        let ssthresh = self.ssthresh(call);
        if callback != Callback::Init {
            self.connection.take(call, &mut self.unread);
        }
        let cwnd = whole(self.connection.control.cwnd(), call);
        let rate = self.connection.control.pace().rate;
        let rate = rate.map_or(0, |rate| rate.as_bit_per_s() / 8);
        let changed = self.ssthresh(call);
        let window = Window {
            cwnd,
            ssthresh: if changed == ssthresh {
                call.before.ssthresh
            } else {
                changed
            },
            cwnd_cnt: call.before.cwnd_cnt,
        };
        let result = match callback {
            Callback::Ssthresh => window.ssthresh,
            Callback::UndoCwnd => cwnd,
            _ => u32::try_from(rate).unwrap_or(u32::MAX),
        };
        Ok((window, result))
    }
}

/// Returns bytes in whole segments.
fn whole(bytes: Bytes, call: &Call) -> u32 {
    u32::try_from(bytes.0 / u64::from(call.mss.max(1))).unwrap_or(u32::MAX)
}

impl Connection {
    fn new(mut control: Box<dyn CongestionControl>, call: &Call) -> Self {
        let rtt = smoothed(call);
        control.on_event(at(call), &Event::Open { rtt });
        Connection {
            control,
            acked: None,
            asked: None,
            restarts: false,
            state: call.state.into(),
            delivered: call.delivered,
            lost_out: call.lost_out,
            lost: call.lost,
            begin: call.snd_una,
            una: call.snd_una,
            round_ends: call.snd_nxt,
            min_rtt: None,
        }
    }

    fn take(&mut self, call: &Call, agreement: &mut Agreement) {
        if self.restarts {
            self.restarts = false;
            let limit = Bytes(segments(call.before.cwnd, call));
            self.tell(call, &Event::IdleRestart { limit });
        }
        self.lose(call);
        let callback = call.callback();
        if callback == Some(Callback::CongControl) {
            self.acked = None;
            self.control(call);
            agreement
                .controlled
                .add(call, call.after.cwnd, self.cwnd(call));
            return;
        }
        if callback == Some(Callback::CongAvoid) {
            self.acknowledge(call, credit(call));
            agreement.growth.add(call, call.after.cwnd, self.cwnd(call));
            return;
        }
        if let Some(acked) = self.acked.take() {
            self.hear(&acked, &acked, 0);
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
            Some(Callback::SetState) => self.enter(call, agreement),
            Some(Callback::UndoCwnd) => {
                self.congestion(CongestionKind::SpuriousLoss, call, call.before.cwnd);
                agreement.undos.add(call, call.result, self.cwnd(call));
                self.state = OPEN;
            }
            Some(Callback::CwndEvent) if call.arguments[0] == CWND_RESTART => self.restarts = true,
            Some(Callback::CwndEvent) if call.arguments[0] == TX_START => {
                if call.app_limited {
                    self.tell(call, &Event::SentAfterIdle);
                }
                let segment = Bytes(call.mss.into());
                let sent = SegmentSent {
                    bytes: segment,
                    in_flight: segment,
                    next: 0,
                    limited: SendLimit::Application,
                };
                if self.control.needs().sent {
                    self.tell(call, &Event::Sent(sent));
                }
            }
            _ => {}
        }
    }

    /// Tells the control of a new state of loss recovery, and of the congestion that is its reason.
    fn enter(&mut self, call: &Call, agreement: &mut Agreement) {
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
            let seen = asked.as_ref().unwrap_or(call);
            self.congestion(kind, seen, call.before.cwnd);
        } else if next == OPEN && self.state >= CWR {
            self.tell(call, &Event::RecoveryEnd);
        }
        if let Some(asked) = asked {
            let ssthresh = self.control.state().ssthresh.unwrap_or(self.control.cwnd());
            let ours = ssthresh.as_f64() / f64::from(call.mss.max(1));
            agreement.reductions.add(&asked, asked.result, ours);
        }
        self.state = next;
    }

    fn congestion(&mut self, kind: CongestionKind, call: &Call, loss_window: u32) {
        let congestion = Congestion {
            kind,
            base: Bytes(segments(call.before.cwnd, call)),
            in_flight: in_flight(call),
            min_rtt: self.min_rtt,
            smoothed_rtt: smoothed(call),
            loss_window: Bytes(segments(loss_window, call)),
        };
        self.control.on_congestion(at(call), &congestion);
    }

    /// Tells the control of the segments found lost since the last call.
    fn lose(&mut self, call: &Call) {
        let lost = call.lost.wrapping_sub(self.lost);
        self.lost = call.lost;
        if !self.control.needs().rate_samples || lost > MOST_LOST {
            return;
        }
        for _ in 0..lost {
            let segment = SegmentLost {
                sequence: u64::from(call.snd_una) / u64::from(call.mss.max(1)),
                bytes: Bytes(call.mss.into()),
                tx_in_flight: Bytes(segments(call.prior_in_flight, call)),
                lost: Bytes(segments(lost, call)),
                delivered: Bytes(segments(call.delivered, call)),
                limited: SendLimit::CongestionWindow,
            };
            self.tell(call, &Event::Lost(segment));
        }
    }

    /// Returns the bytes before a sequence number, which stand for segments.
    fn bytes_before(&self, number: u32) -> u64 {
        number.wrapping_sub(self.begin).into()
    }

    /// Tells the control of an ACK with its rate sample.
    fn control(&mut self, call: &Call) {
        let advanced = call.snd_una.wrapping_sub(self.una);
        self.una = call.snd_una;
        self.delivered = call.delivered;
        let limited = limit(call.sample_limited);
        let [delivered, interval] = call.arguments;
        let interval = Span::from_micros(interval.into());
        let rate_sample = (delivered > 0).then(|| RateSample {
            delivered: Bytes(segments(delivered, call)),
            interval,
            send_elapsed: interval,
            ack_elapsed: interval,
            tx_in_flight: Bytes(segments(call.prior_in_flight, call)),
            lost: Bytes(segments(call.losses, call)),
            prior_delivered: Bytes(segments(call.prior_delivered, call)),
            limited,
        });
        let round_start = call.snd_una.wrapping_sub(self.round_ends).cast_signed() > 0;
        if round_start {
            self.round_ends = call.snd_nxt;
        }
        let rtt = u64::try_from(call.rtt_us).ok().map(Span::from_micros);
        let ack = Ack {
            newly_acked: Bytes(advanced.into()),
            newly_delivered: Bytes(segments(call.acked_sacked, call)),
            credit: Bytes::ZERO,
            delivered: Bytes(segments(call.delivered, call)),
            rtt,
            newest_rtt: rtt,
            smoothed_rtt: smoothed(call),
            min_rtt: (call.min_rtt_us != UNKNOWN_RTT)
                .then(|| Span::from_micros(call.min_rtt_us.into())),
            in_flight: in_flight(call),
            rate: Some(RateInfo {
                sample: rate_sample,
                prior_in_flight: Bytes(segments(call.prior_in_flight, call)),
                delayed: call.delayed,
                next_departure: at(call) + Span::from_micros(call.departure_us.into()),
            }),
            socket: None,
            limited,
            first: self.bytes_before(call.snd_una),
            next: self.bytes_before(call.snd_nxt),
            window: Some(Bytes(segments(call.before.cwnd, call))),
            phase: phase(call.state.into()),
            newly_lost: Bytes(segments(call.losses, call)),
            round_start,
            marked: Bytes::ZERO,
        };
        self.control.on_ack(at(call), &ack);
    }

    /// Tells the control of the ACK by which the window may grow.
    fn acknowledge(&mut self, call: &Call, credit: u64) {
        let acked = self.acked.take();
        self.hear(acked.as_ref().unwrap_or(call), call, credit);
    }

    /// Tells the control of an ACK. `seen` is what `pkts_acked` saw of it, `last` its last call.
    fn hear(&mut self, seen: &Call, last: &Call, credit: u64) {
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
            newly_acked: Bytes(segments(acked, seen)),
            newly_delivered: Bytes(segments(delivered, seen)),
            credit: Bytes(credit),
            delivered: Bytes(segments(seen.delivered, seen)),
            rtt,
            newest_rtt: rtt,
            smoothed_rtt: smoothed(last),
            min_rtt: self.min_rtt,
            in_flight: in_flight(seen),
            rate: Some(RateInfo {
                sample: None,
                prior_in_flight: Bytes(in_flight(seen).0 + segments(delivered, seen)),
                delayed: false,
                next_departure: at(last),
            }),
            socket: None,
            limited: limit(!last.limited),
            first: self.bytes_before(seen.snd_una),
            next: self.bytes_before(seen.snd_nxt),
            window: Some(Bytes(segments(seen.before.cwnd, seen))),
            phase: phase(self.state),
            newly_lost: Bytes(segments(lost, seen)),
            round_start,
            marked: Bytes::ZERO,
        };
        self.control.on_ack(at(last), &ack);
    }

    /// Tells the control of an event at the time of a call.
    fn tell(&mut self, call: &Call, event: &Event) {
        self.control.on_event(at(call), event);
    }

    /// Returns the control's window in segments, fractions included.
    fn cwnd(&self, call: &Call) -> f64 {
        self.control.cwnd().as_f64() / f64::from(call.mss.max(1))
    }
}

/// Returns the time that the kernel's own controls see: that of the socket's clock.
fn at(call: &Call) -> Time {
    Time::from_nanos(1000 * call.mstamp_us)
}

fn limit(by_application: bool) -> SendLimit {
    if by_application {
        SendLimit::Application
    } else {
        SendLimit::CongestionWindow
    }
}

fn phase(state: u32) -> RecoveryPhase {
    match state {
        CWR => RecoveryPhase::Cwr,
        RECOVERY => RecoveryPhase::Recovery,
        LOSS => RecoveryPhase::Loss,
        _ => RecoveryPhase::Open,
    }
}

fn smoothed(call: &Call) -> Option<Span> {
    let is_known = call.srtt_us8 > 0;
    is_known.then(|| Span::from_nanos(u64::from(call.srtt_us8) * 125))
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
