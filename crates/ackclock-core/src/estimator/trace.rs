//! Estimators applied to a trace of ACKs: the estimate of each, ACK by ACK.

use super::{AckSample, RateEstimator};
use ackclock_spec::units::{Bytes, Span, Time};

/// An ACK as received by the sender, or captured near it.
#[derive(Clone, Copy, Debug)]
pub struct TracedAck {
    /// Time of arrival; never decreasing.
    pub at: Time,
    /// Acknowledgement number on the wire, which wraps at 2^32.
    pub number: u32,
    /// Bytes newly known to be delivered, SACK included, if the trace has them.
    pub delivered: Option<Bytes>,
    /// Round-trip time measured with it.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Option<Span>,
    /// Congestion window, or a substitute for it: the data in flight.
    pub cwnd: Bytes,
}

/// Follows the acknowledgement numbers of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Follower {
    last: Option<u32>,
}

impl Follower {
    /// Returns the information of an ACK for an estimator; `None` if it acknowledges less than
    /// before.
    pub fn follow(&mut self, ack: &TracedAck) -> Option<AckSample> {
        let advance = self.last.map_or(0, |last| ack.number.wrapping_sub(last));
        if advance > u32::MAX / 2 {
            return None;
        }
        self.last = Some(ack.number);
        let newly_acked = Bytes(advance.into());
        Some(AckSample {
            newly_acked,
            newly_delivered: ack.delivered.unwrap_or(newly_acked),
            rtt: ack.rtt,
            smoothed_rtt: ack.smoothed_rtt,
            cwnd: ack.cwnd,
        })
    }
}

/// Returns the estimate after each ACK, in bytes per second.
pub fn rates(
    estimator: &mut dyn RateEstimator,
    acks: impl IntoIterator<Item = TracedAck>,
) -> Vec<f64> {
    let mut follower = Follower::default();
    acks.into_iter()
        .map(|ack| {
            if let Some(sample) = follower.follow(&ack) {
                estimator.on_ack(ack.at, &sample);
            }
            estimator.rate()
        })
        .collect()
}
