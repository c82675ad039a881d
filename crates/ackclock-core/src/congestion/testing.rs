//! A test bench of congestion controls: an ideal ACK clock over one bottleneck. The unit tests of
//! controls use it, and the contract tests in `tests/controls.rs`.

use ackclock_core::congestion::{
    Ack, AckKind, Congestion, CongestionControl, CongestionKind, ControlContext,
};
use ackclock_core::congestion::{ControlKind, RecoveryPhase, SegmentSent, SendLimit};
use ackclock_core::registry::{StreamScope, choose};
use ackclock_core::scenario::files::NoFiles;
use ackclock_core::streams::Streams;
use ackclock_core::units::{BitRate, Bytes, Span, Time};
use serde_json::Value;

pub const MSS: u64 = 1000;

/// A control whose sender keeps the window full, and the path that it sends over.
///
/// The path knows no lag: the queue holds what is in flight beyond the bandwidth-delay product, and
/// the next ACK has the round-trip time of the present window. Without a [`Bottleneck`] nothing
/// queues and nothing is lost.
pub struct AckClock {
    pub control: Box<dyn CongestionControl>,
    pub now: Time,
    /// The round-trip time of an empty queue.
    pub rtt: Span,
    pub bottleneck: Option<Bottleneck>,
    /// The most that the application keeps outstanding.
    pub application: Bytes,
    pub delivered: Bytes,
    /// How often the buffer has overflowed, once per window of data.
    pub overflows: u32,
    min_rtt: Span,
    /// What the sender does about the last loss, and until that much is delivered.
    phase: RecoveryPhase,
    recovered_at: Bytes,
}

/// A link and the buffer in front of it.
#[derive(Clone, Copy, Debug)]
pub struct Bottleneck {
    pub rate: BitRate,
    pub buffer: Bytes,
    /// What becomes of a packet that does not fit: [`CongestionKind::Loss`], or a mark.
    pub overflow: CongestionKind,
}

/// A context without randomness.
pub fn context(streams: &Streams, window: u64, ssthresh: Option<u64>) -> ControlContext<'_> {
    ControlContext {
        place: StreamScope {
            streams,
            name: "flow/0/control",
        },
        mss: Bytes(MSS),
        initial_window: Bytes(window * MSS),
        initial_ssthresh: ssthresh.map(|segments| Bytes(segments * MSS)),
        ssthresh_in_whole_segments: false,
    }
}

impl AckClock {
    /// Windows in segments.
    pub fn new(tree: &Value, rtt: Span, window: u64, ssthresh: Option<u64>) -> Self {
        let chosen = choose::<ControlKind>(tree, &NoFiles).unwrap();
        let control = chosen.build(context(&Streams::new(1, 0), window, ssthresh));
        Self::of(control, rtt)
    }
    pub fn of(control: Box<dyn CongestionControl>, rtt: Span) -> Self {
        AckClock {
            control,
            now: Time::ZERO,
            rtt,
            bottleneck: None,
            application: Bytes(u64::MAX),
            delivered: Bytes::ZERO,
            overflows: 0,
            min_rtt: Span::FOREVER,
            phase: RecoveryPhase::Open,
            recovered_at: Bytes::ZERO,
        }
    }

    pub fn cwnd(&self) -> f64 {
        self.control.cwnd().as_f64() / MSS as f64
    }
    pub fn ssthresh(&self) -> Option<f64> {
        self.control
            .state()
            .ssthresh
            .map(|bytes| bytes.as_f64() / MSS as f64)
    }
    /// What waits at the bottleneck, in segments.
    pub fn queue(&self) -> f64 {
        self.waiting().as_f64() / MSS as f64
    }
    /// The round-trip time that the next ACK has.
    pub fn round_trip(&self) -> Span {
        let queueing = |bottleneck: Bottleneck| bottleneck.rate.serialization(self.waiting());
        self.rtt + self.bottleneck.map_or(Span::ZERO, queueing)
    }

    /// What is in flight before an ACK.
    fn flight(&self) -> Bytes {
        self.control.cwnd().min(self.application)
    }
    /// What does not fit the path itself, whether the buffer holds it or not.
    fn excess(&self) -> Bytes {
        self.bottleneck.map_or(Bytes::ZERO, |bottleneck| {
            let product = bottleneck.rate.as_byte_per_s() * self.rtt.as_seconds();
            self.flight().saturating_sub(Bytes(product as u64))
        })
    }
    fn waiting(&self) -> Bytes {
        let buffer = self
            .bottleneck
            .map_or(Bytes::ZERO, |bottleneck| bottleneck.buffer);
        self.excess().min(buffer)
    }
    /// What becomes of the packet sent last if the buffer has no room for it.
    fn overflow(&self) -> Option<CongestionKind> {
        self.bottleneck
            .filter(|bottleneck| self.excess() > bottleneck.buffer)
            .map(|bottleneck| bottleneck.overflow)
    }
    fn limited(&self) -> SendLimit {
        if self.application < self.control.cwnd() {
            SendLimit::Application
        } else {
            SendLimit::CongestionWindow
        }
    }
    /// What the transport lets an ACK count for growth: nothing in fast recovery, and nothing while
    /// less than half the window is used (RFC 7661 section 4.3).
    fn credit(&self, bytes: u64) -> Bytes {
        let unused = self.flight().0.saturating_mul(2) < self.control.cwnd().0;
        Bytes(if unused || self.phase == RecoveryPhase::Recovery {
            0
        } else {
            bytes
        })
    }

    /// An ACK for that much of what is in flight, now.
    pub fn ack_of(&self, bytes: u64) -> Ack {
        let rtt = self.round_trip();
        let is_marked = self.overflow() == Some(CongestionKind::Mark);
        Ack {
            kind: AckKind::New,
            newly_acked: Bytes(bytes),
            newly_delivered: Bytes(bytes),
            credit: self.credit(bytes),
            delivered: self.delivered,
            rtt: Some(rtt),
            smoothed_rtt: Some(rtt),
            min_rtt: Some(self.min_rtt.min(rtt)),
            in_flight: self.flight().saturating_sub(Bytes(bytes)),
            rate_sample: None,
            limited: self.limited(),
            phase: self.phase,
            marked: Bytes(if is_marked { bytes } else { 0 }),
        }
    }

    /// An ACK for that much, as much later as the ACKs of what is in flight are apart, and what the
    /// buffer does about the segments that it lets go.
    pub fn ack(&mut self, bytes: u64) {
        let share = bytes as f64 / self.flight().as_f64();
        self.now = self.now + Span::from_seconds(self.round_trip().as_seconds() * share);
        self.delivered += Bytes(bytes);
        if self.phase != RecoveryPhase::Open && self.delivered >= self.recovered_at {
            self.phase = RecoveryPhase::Open;
            self.control.on_recovery_end(self.now);
        }
        let ack = self.ack_of(bytes);
        self.min_rtt = self.min_rtt.min(self.round_trip());
        self.control.on_ack(self.now, &ack);
        if self.control.wants_sent() {
            let sent = SegmentSent {
                bytes: Bytes(bytes),
                in_flight: self.flight(),
                limited: self.limited(),
            };
            self.control.on_sent(self.now, &sent);
        }
        if let Some(kind) = self.overflow()
            && self.delivered >= self.recovered_at
        {
            self.overflows += 1;
            self.react(kind);
        }
    }

    /// One round trip: as many ACKs of one segment as are in flight when it begins.
    pub fn round(&mut self) {
        for _ in 0..self.flight().0 / MSS {
            self.ack(MSS);
        }
    }

    /// Tells the control of congestion and nothing else; the next ACK counts as if nothing had
    /// happened.
    pub fn congestion(&mut self, kind: CongestionKind) {
        let rtt = self.round_trip();
        let congestion = Congestion {
            kind,
            base: self.flight(),
            in_flight: self.flight(),
            min_rtt: Some(self.min_rtt.min(rtt)),
            smoothed_rtt: Some(rtt),
        };
        self.control.on_congestion(self.now, &congestion);
    }

    /// Congestion as a sender has it: nothing more until what is in flight now is delivered.
    pub fn react(&mut self, kind: CongestionKind) {
        self.recovered_at = self.delivered + self.flight();
        self.phase = match kind {
            CongestionKind::Loss => RecoveryPhase::Recovery,
            CongestionKind::Timeout | CongestionKind::RepeatedTimeout => RecoveryPhase::Loss,
            CongestionKind::Mark | CongestionKind::SpuriousLoss => RecoveryPhase::Open,
        };
        self.congestion(kind);
    }

    /// Loses one segment in 1/p exactly, and returns the average window in segments (over time) of
    /// the last of `losses` saw-teeth. ACKs cover up to a fiftieth of the window, which changes
    /// nothing since growth is linear in the credit.
    pub fn periodic_loss(&mut self, p: f64, losses: u32) -> f64 {
        let period = libm::round(MSS as f64 / p) as u64;
        let mut average = 0.0;
        for _ in 0..losses {
            let (start, mut left) = (self.now, period);
            while left > 0 {
                let bytes = (self.control.cwnd().0 / 50)
                    .clamp(MSS, left.max(MSS))
                    .min(left);
                self.ack(bytes);
                left -= bytes;
            }
            let rounds = self.now.since(start).as_seconds() / self.rtt.as_seconds();
            average = (period / MSS) as f64 / rounds;
            self.congestion(CongestionKind::Loss);
        }
        average
    }
}
