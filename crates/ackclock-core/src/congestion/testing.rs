//! A test bench of congestion controls: an ideal ACK clock over one bottleneck. The unit tests of
//! controls and the contract tests in `tests/integration/controls.rs` use it.

use ackclock_core::congestion::{
    Ack, Congestion, CongestionControl, CongestionKind, ControlContext, ControlKind, Event,
    MarkReport, RateInfo, RateSample, RecoveryPhase, SegmentLost, SegmentSent, SendLimit,
    SocketState,
};
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::{StreamScope, choose};
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use serde_json::Value;

pub const MSS: u64 = 1000;

/// A control whose sender keeps the window full, and its path.
///
/// The path has no lag: the queue holds the data in flight beyond the bandwidth-delay product, and
/// the next ACK has the round-trip time of the present window. Without a [`Bottleneck`] there is no
/// queue and no loss.
pub struct AckClock {
    pub control: Box<dyn CongestionControl>,
    pub now: Time,
    /// Round-trip time with an empty queue.
    pub rtt: Span,
    pub bottleneck: Option<Bottleneck>,
    /// Most data that the application keeps in flight.
    pub application: Bytes,
    pub delivered: Bytes,
    /// Number of buffer overflows, at most one per window of data.
    pub overflows: u32,
    min_rtt: Span,
    /// Data delivered when the present round trip ends.
    round_end: Bytes,
    next_is_marked: bool,
    /// State of the recovery from the last loss, which lasts until `recovered_at` is delivered.
    phase: RecoveryPhase,
    recovered_at: Bytes,
}

/// A link with a buffer before it.
#[derive(Clone, Copy, Debug)]
pub struct Bottleneck {
    pub rate: BitRate,
    pub buffer: Bytes,
    /// Reaction to a packet that does not fit: [`CongestionKind::Loss`] or a mark.
    pub overflow: CongestionKind,
}

/// A context with fixed random streams.
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
        paced: false,
        selective_acks: true,
        counts_marks: true,
        keeps_calls: false,
    }
}

impl AckClock {
    /// Creates a clock; the windows are in segments.
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
            round_end: Bytes::ZERO,
            next_is_marked: false,
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
    /// Returns the queue at the bottleneck, in segments.
    pub fn queue(&self) -> f64 {
        self.waiting().as_f64() / MSS as f64
    }
    /// Returns the round-trip time of the next ACK.
    pub fn round_trip(&self) -> Span {
        let queueing = |bottleneck: Bottleneck| bottleneck.rate.serialization(self.waiting());
        self.rtt + self.bottleneck.map_or(Span::ZERO, queueing)
    }

    /// Returns the data in flight before an ACK.
    fn flight(&self) -> Bytes {
        self.control.cwnd().min(self.application)
    }
    /// Returns the data in flight beyond the bandwidth-delay product, whether it fits the buffer or
    /// not.
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
    /// Returns the data in flight that does not fit the buffer.
    fn overflowed(&self) -> Bytes {
        self.excess().saturating_sub(self.waiting())
    }
    /// Returns the reaction to the last packet, if the buffer had no room for it.
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
    /// Returns the data of an ACK that may open the window: none in fast recovery, and none while
    /// less than half the window is used (RFC 7661 section 4.3).
    fn credit(&self, bytes: u64) -> Bytes {
        let unused = self.flight().0.saturating_mul(2) < self.control.cwnd().0;
        Bytes(if unused || self.phase == RecoveryPhase::Recovery {
            0
        } else {
            bytes
        })
    }

    /// Returns the sample of a flight that took `rtt` from end to end. What did not fit the buffer
    /// is not delivered.
    fn sample(&self, rtt: Span) -> RateSample {
        let flight = self.flight().saturating_sub(self.overflowed());
        RateSample {
            delivered: flight,
            interval: rtt,
            send_elapsed: rtt,
            ack_elapsed: rtt,
            tx_in_flight: flight,
            lost: Bytes::ZERO,
            prior_delivered: self.delivered.saturating_sub(flight),
            limited: self.limited(),
        }
    }

    /// Returns an ACK of `bytes` of the data in flight, now.
    pub fn ack_of(&self, bytes: u64) -> Ack {
        let rtt = self.round_trip();
        let in_flight = self.flight().saturating_sub(Bytes(bytes));
        let is_marked = self.overflow() == Some(CongestionKind::Mark);
        Ack {
            newly_acked: Bytes(bytes),
            newly_delivered: Bytes(bytes),
            credit: self.credit(bytes),
            delivered: self.delivered,
            rtt: Some(rtt),
            newest_rtt: Some(rtt),
            smoothed_rtt: Some(rtt),
            min_rtt: Some(self.min_rtt.min(rtt)),
            in_flight,
            rate: Some(RateInfo {
                sample: Some(self.sample(rtt)),
                prior_in_flight: self.flight(),
                delayed: false,
                next_departure: self.now,
            }),
            socket: Some(SocketState {
                outstanding: in_flight,
                opens: self.phase != RecoveryPhase::Recovery,
                ..SocketState::default()
            }),
            limited: self.limited(),
            phase: self.phase,
            newly_lost: Bytes::ZERO,
            round_start: false,
            first: self.delivered.0 / MSS,
            next: (self.delivered + in_flight).0 / MSS,
            window: None,
            marked: Bytes(if is_marked { bytes } else { 0 }),
        }
    }

    /// Delivers an ACK of `bytes`. The ACKs of a round are spread evenly over it, so time advances
    /// by the share of the data in flight that fits the path. Then handles the overflow of the
    /// segments that this ACK releases.
    pub fn ack(&mut self, bytes: u64) {
        let arriving = self.flight().saturating_sub(self.overflowed());
        let share = bytes as f64 / arriving.as_f64();
        self.now = self.now + Span::from_seconds(self.round_trip().as_seconds() * share);
        self.delivered += Bytes(bytes);
        if self.phase != RecoveryPhase::Open && self.delivered >= self.recovered_at {
            self.phase = RecoveryPhase::Open;
            self.event(&Event::RecoveryEnd);
        }
        let marked = self.overflow() == Some(CongestionKind::Mark);
        let marked = std::mem::take(&mut self.next_is_marked) || marked;
        let ack = self.report(bytes, marked);
        if marked && self.bottleneck.is_none() && self.delivered >= self.recovered_at {
            self.begin_reaction(CongestionKind::Mark);
        }
        self.min_rtt = self.min_rtt.min(self.round_trip());
        self.control.on_ack(self.now, &ack);
        if self.control.needs().sent {
            let sent = SegmentSent {
                bytes: Bytes(bytes),
                in_flight: self.flight(),
                next: 0,
                limited: self.limited(),
            };
            self.event(&Event::Sent(sent));
        }
        if let Some(kind) = self.overflow()
            && self.delivered >= self.recovered_at
        {
            self.overflows += 1;
            if kind == CongestionKind::Loss {
                self.lose();
            }
            self.begin_reaction(kind);
        }
    }

    /// Reports an event, now.
    pub fn event(&mut self, event: &Event) {
        self.control.on_event(self.now, event);
    }

    /// Reports the marks of an ACK, and returns the ACK.
    fn report(&mut self, bytes: u64, marked: bool) -> Ack {
        let round_start = self.delivered >= self.round_end;
        if round_start {
            self.round_end = self.delivered + self.flight();
        }
        let ack = Ack {
            round_start,
            marked: Bytes(if marked { bytes } else { 0 }),
            ..self.ack_of(bytes)
        };
        if self.control.needs().marks {
            let report = MarkReport {
                delivered: ack.newly_delivered,
                marked: ack.marked,
                round_start,
            };
            self.event(&Event::Marks(report));
        }
        ack
    }

    /// Marks what the next ACK acknowledges.
    pub fn mark_next(&mut self) {
        self.next_is_marked = true;
    }

    /// Marks each segment with probability `p`, independently, and reacts at most once per window.
    /// Returns the time average of the window over the second half of some rounds, in segments.
    pub fn average_of_marked_rounds(&mut self, p: f64, rounds: u32) -> f64 {
        let mut draws = Streams::new(1, 0).stream("marks");
        let (mut segments, mut counted) = (0, 0);
        for round in 0..rounds {
            for _ in 0..self.flight().0 / MSS {
                let share = MSS as f64 / self.flight().as_f64();
                self.now = self.now + Span::from_seconds(self.rtt.as_seconds() * share);
                self.delivered += Bytes(MSS);
                let marked = draws.uniform() < p;
                let ack = self.report(MSS, marked);
                self.min_rtt = self.rtt;
                let reacts = marked && self.delivered >= self.recovered_at;
                if reacts {
                    self.begin_reaction(CongestionKind::Mark);
                }
                self.control.on_ack(self.now, &ack);
                if round >= rounds / 2 {
                    segments += 1;
                }
            }
            counted += u32::from(round >= rounds / 2);
        }
        f64::from(segments) / f64::from(counted)
    }

    /// Reports the loss of the last segment in flight, and with it of all that does not fit.
    fn lose(&mut self) {
        let lost = SegmentLost {
            sequence: (self.delivered.0 + self.flight().0) / MSS,
            bytes: Bytes(MSS),
            tx_in_flight: self.flight(),
            lost: self.overflowed().max(Bytes(MSS)),
            delivered: self.delivered,
            limited: self.limited(),
        };
        self.event(&Event::Lost(lost));
    }

    /// Runs one round trip: one ACK for each segment in flight when it begins.
    pub fn round(&mut self) {
        for _ in 0..self.flight().0 / MSS {
            self.ack(MSS);
        }
    }

    /// Reports congestion to the control alone; the next ACK counts as if nothing had happened.
    pub fn congestion(&mut self, kind: CongestionKind) {
        let rtt = self.round_trip();
        let congestion = Congestion {
            kind,
            base: self.flight(),
            in_flight: self.flight(),
            min_rtt: Some(self.min_rtt.min(rtt)),
            smoothed_rtt: Some(rtt),
            loss_window: Bytes(MSS),
        };
        self.control.on_congestion(self.now, &congestion);
    }

    /// Reports congestion as a sender does: no further report until the data now in flight is
    /// delivered.
    pub fn react(&mut self, kind: CongestionKind) {
        if kind == CongestionKind::Mark && self.control.needs().marks {
            let report = MarkReport {
                delivered: Bytes(MSS),
                marked: Bytes(MSS),
                round_start: false,
            };
            self.event(&Event::Marks(report));
        }
        self.begin_reaction(kind);
    }

    /// The same for marks that have been reported.
    fn begin_reaction(&mut self, kind: CongestionKind) {
        self.recovered_at = self.delivered + self.flight();
        self.phase = match kind {
            CongestionKind::Loss => RecoveryPhase::Recovery,
            CongestionKind::Timeout | CongestionKind::RepeatedTimeout => RecoveryPhase::Loss,
            CongestionKind::Mark | CongestionKind::SpuriousLoss => RecoveryPhase::Open,
        };
        self.congestion(kind);
    }

    /// Loses exactly one segment in 1/p. Returns the time average of the window, in segments, over
    /// the last of `losses` congestion epochs. An ACK covers up to a fiftieth of the window, which
    /// changes nothing since growth is linear in the credit.
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
