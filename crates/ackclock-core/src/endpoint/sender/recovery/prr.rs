//! Proportional rate reduction (RFC 9937): spreads a reduction of the window over a round trip.
//!
//! Counts in segments, as Linux does (`tcp_cwnd_reduction`). Symbols of RFC 9937: prr_delivered is
//! `delivered`, prr_out is `sent`, and RecoverFS is `base`. Linux takes the congestion window
//! before the reduction as `base`.

use std::num::NonZeroU64;

/// A reduction in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prr {
    base: NonZeroU64,
    delivered: u64,
    sent: u64,
}

/// Segments known at an ACK during a reduction.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct PrrAck {
    /// Window with which the reduction ends.
    pub ssthresh: u64,
    /// Segments in flight, after this ACK and after losses were marked.
    pub in_flight: u64,
    /// Segments that this ACK shows to have arrived.
    pub delivered: u64,
    /// True if the ACK advances, and no further loss is known from it (SafeACK).
    pub safe: bool,
}

impl Prr {
    /// Begins a reduction.
    pub fn new(base: u64) -> Self {
        Prr {
            base: NonZeroU64::new(base).unwrap_or(NonZeroU64::MIN),
            delivered: 0,
            sent: 0,
        }
    }

    /// Records a sent segment.
    pub fn on_sent(&mut self) {
        self.sent += 1;
    }

    /// Processes an ACK (section 6.2). Returns the congestion window; `None` if it stays.
    pub fn on_ack(&mut self, ack: &PrrAck) -> Option<u64> {
        if ack.delivered == 0 {
            return None;
        }
        self.delivered += ack.delivered;
        let mut send = if ack.in_flight > ack.ssthresh {
            let share = (self.delivered * ack.ssthresh).div_ceil(self.base.get());
            share.saturating_sub(self.sent)
        } else {
            let conserving = self.delivered.saturating_sub(self.sent).max(ack.delivered);
            (conserving + u64::from(ack.safe)).min(ack.ssthresh - ack.in_flight)
        };
        if self.sent == 0 {
            send = send.max(1); // the fast retransmission
        }
        Some(ack.in_flight + send)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the segments sent after each ACK of one segment, and those in flight at the end. As
    /// many are sent as the window allows.
    fn dialogue(
        base: u64,
        ssthresh: u64,
        in_flight: u64,
        acks: &[u64],
        safe: bool,
    ) -> (Vec<u64>, u64) {
        let (mut prr, mut flight) = (Prr::new(base), in_flight);
        let mut sent = Vec::new();
        for (n, &delivered) in acks.iter().enumerate() {
            if n > 0 {
                flight -= delivered;
            }
            let ack = PrrAck {
                ssthresh,
                in_flight: flight,
                delivered,
                safe,
            };
            let window = prr.on_ack(&ack).unwrap();
            sent.push(window.saturating_sub(flight));
            while flight < window {
                flight += 1;
                prr.on_sent();
            }
        }
        (sent, flight)
    }

    /// Checks a window of 20 whose first segment is lost, reduced to 14: the third duplicate ACK
    /// begins recovery, with 16 in flight. By hand from section 6.2.
    #[test]
    fn a_reduction_is_in_proportion() {
        let acks = [vec![1], vec![1; 16]].concat();
        let (sent, flight) = dialogue(18, 14, 16, &acks, false);
        assert_eq!(sent[..13], [1, 1, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 1]);
        assert_eq!(flight, 14);
        let (sent, _) = dialogue(20, 14, 16, &acks, false);
        assert_eq!(sent[..10], [1, 1, 1, 0, 1, 1, 0, 0, 1, 1], "Linux");
    }

    #[test]
    fn below_the_threshold_each_arrival_sends_one_or_two() {
        let (sent, flight) = dialogue(18, 10, 8, &[1; 6], false);
        assert_eq!((sent, flight), (vec![1; 6], 9), "packet conservation");
        let (sent, flight) = dialogue(18, 10, 4, &[1; 8], true);
        assert_eq!((sent, flight), (vec![2, 2, 2, 2, 2, 1, 1, 1], 10));
    }

    #[test]
    fn what_delivers_nothing_changes_nothing() {
        let ack = PrrAck {
            ssthresh: 7,
            in_flight: 3,
            delivered: 0,
            safe: true,
        };
        assert_eq!(Prr::new(10).on_ack(&ack), None);
    }
}
