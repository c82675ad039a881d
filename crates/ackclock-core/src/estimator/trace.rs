//! Estimators on a trace of ACKs: what each would have said, ACK by ACK.

use super::{AckSample, RateEstimator};
use crate::units::{Bytes, Span, Time};

/// An ACK as it came to the sender, or past a place near it.
#[derive(Clone, Copy, Debug)]
pub struct TracedAck {
    /// When. Never before the ACK before.
    pub at: Time,
    /// Acknowledgement number, as on the wire: it begins anew at 2^32.
    pub number: u32,
    /// Newly known to have been delivered, SACK included, if the trace says so.
    pub delivered: Option<Bytes>,
    /// Round-trip time measured by it.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Option<Span>,
    /// Congestion window, or what is known of it: the data outstanding.
    pub cwnd: Bytes,
}

/// Follows the acknowledgement numbers of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Follower {
    last: Option<u32>,
}

impl Follower {
    /// What an ACK tells an estimator; `None` for one that acknowledges less than was acknowledged
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

/// The estimate after each ACK, in bytes per second.
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
