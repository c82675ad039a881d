//! An ideal ACK clock for the unit tests of controls: a path of constant round-trip time that is always full.

use super::{Ack, AckKind, Congestion, CongestionControl, CongestionKind, ControlContext, ControlKind};
use super::{Limit, Phase};
use crate::registry::{Place, choose};
use crate::scenario::files::NoFiles;
use crate::streams::Streams;
use crate::units::{Bytes, Span, Time};
use serde_json::Value;

pub const MSS: u64 = 1000;

pub struct AckClock {
    pub control: Box<dyn CongestionControl>,
    pub now: Time,
    pub rtt: Span,
    pub delivered: Bytes,
}

/// A context without randomness.
pub fn context(streams: &Streams, window: u64, ssthresh: Option<u64>) -> ControlContext<'_> {
    ControlContext {
        place: Place {
            streams,
            name: "flow/0/control",
        },
        mss: Bytes(MSS),
        initial_window: Bytes(window * MSS),
        initial_ssthresh: ssthresh.map(|segments| Bytes(segments * MSS)),
        whole_ssthresh: false,
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
            delivered: Bytes::ZERO,
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

    /// An ACK for that much of a full window, now.
    pub fn ack_of(&self, bytes: u64) -> Ack {
        Ack {
            kind: AckKind::New,
            newly_acked: Bytes(bytes),
            newly_delivered: Bytes(bytes),
            credit: Bytes(bytes),
            delivered: self.delivered,
            rtt: Some(self.rtt),
            smoothed_rtt: Some(self.rtt),
            min_rtt: Some(self.rtt),
            in_flight: self.control.cwnd().saturating_sub(Bytes(bytes)),
            rate_sample: None,
            limited: Limit::CongestionWindow,
            phase: Phase::Open,
            marked: Bytes::ZERO,
        }
    }

    /// An ACK for that much, as much later as a full window's ACKs are apart.
    pub fn ack(&mut self, bytes: u64) {
        let share = bytes as f64 / self.control.cwnd().as_f64();
        self.now = self.now + Span::from_seconds(self.rtt.as_seconds() * share);
        self.delivered += Bytes(bytes);
        let ack = self.ack_of(bytes);
        self.control.on_ack(self.now, &ack);
    }

    /// One round trip: as many ACKs of one segment as fit the window when it begins.
    pub fn round(&mut self) {
        for _ in 0..self.control.cwnd().0 / MSS {
            self.ack(MSS);
        }
    }

    pub fn congestion(&mut self, kind: CongestionKind) {
        let congestion = Congestion {
            kind,
            base: self.control.cwnd(),
            in_flight: self.control.cwnd(),
            min_rtt: Some(self.rtt),
            smoothed_rtt: Some(self.rtt),
        };
        self.control.on_congestion(self.now, &congestion);
    }

    /// Loses one segment in 1/p exactly, and returns the average window in segments (over time) of the last of
    /// `losses` saw-teeth. ACKs cover up to a fiftieth of the window, which changes nothing since growth is linear in the credit.
    pub fn periodic_loss(&mut self, p: f64, losses: u32) -> f64 {
        let period = libm::round(MSS as f64 / p) as u64;
        let mut average = 0.0;
        for _ in 0..losses {
            let (start, mut left) = (self.now, period);
            while left > 0 {
                let bytes = (self.control.cwnd().0 / 50).clamp(MSS, left.max(MSS)).min(left);
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
