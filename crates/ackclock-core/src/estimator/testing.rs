//! Traces for the unit tests of estimators.

use super::{AckSample, EstimatorContext, RateEstimator};
use ackclock_spec::units::{Bytes, Span, Time};

pub const MSS: u64 = 1000;
pub const CONTEXT: EstimatorContext = EstimatorContext { mss: Bytes(MSS) };

/// Returns an ACK that advances by `segments`.
pub fn ack(segments: u64, rtt: Span, cwnd_segments: u64) -> AckSample {
    AckSample {
        newly_acked: Bytes(segments * MSS),
        newly_delivered: Bytes(segments * MSS),
        rtt: Some(rtt),
        smoothed_rtt: Some(rtt),
        cwnd: Bytes(cwnd_segments * MSS),
    }
}

/// Feeds an estimator ACKs with one round-trip time and congestion window.
pub struct Stream<'a> {
    pub estimator: &'a mut dyn RateEstimator,
    pub now: Time,
    pub rtt: Span,
    pub cwnd: u64,
}

impl<'a> Stream<'a> {
    /// Starts at time zero with the first ACK.
    pub fn new(estimator: &'a mut dyn RateEstimator, rtt: Span, cwnd: u64) -> Self {
        estimator.on_ack(Time::ZERO, &ack(1, rtt, cwnd));
        Stream {
            estimator,
            now: Time::ZERO,
            rtt,
            cwnd,
        }
    }

    /// Delivers one ACK of `segments`, `gap` after the previous one.
    pub fn ack(&mut self, gap: Span, segments: u64) {
        self.now = self.now + gap;
        self.estimator
            .on_ack(self.now, &ack(segments, self.rtt, self.cwnd));
    }

    /// Delivers evenly spaced ACKs of one segment each. Returns the estimate after the last.
    pub fn steady(&mut self, gap: Span, count: u32) -> f64 {
        (0..count).for_each(|_| self.ack(gap, 1));
        self.estimator.rate()
    }
}

/// Returns the payload rate for a spacing of segments, in bytes per second.
pub fn rate_at(gap: Span) -> f64 {
    MSS as f64 / gap.as_seconds()
}

pub fn assert_near(ours: f64, theirs: f64, share: f64) {
    assert!(
        (ours / theirs - 1.0).abs() <= share,
        "{ours} is not {theirs}"
    );
}
