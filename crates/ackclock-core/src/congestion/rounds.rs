//! Round trips, counted by delivered data.

use super::Ack;
use ackclock_spec::units::Bytes;

/// Counts round trips. A round ends with the ACK that delivers the first segment sent since the
/// round began. The round-trip time of that ACK is the effect of the round before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundCounter {
    /// Data delivered plus data in flight when the round began.
    end: Bytes,
    rounds: u64,
}

impl RoundCounter {
    /// Processes an ACK. Returns true if a new round begins with it; the first ACK always begins
    /// one.
    pub fn begins(&mut self, ack: &Ack) -> bool {
        if ack.delivered <= self.end {
            return false;
        }
        self.end = Bytes(ack.delivered.0.saturating_add(ack.in_flight.0));
        self.rounds += 1;
        true
    }

    /// Returns the number of rounds that have begun.
    pub const fn count(&self) -> u64 {
        self.rounds
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{AckClock, MSS};
    use super::*;
    use ackclock_spec::units::Span;
    use serde_json::json;

    /// Checks, against a count by hand, which ACKs begin the rounds of a window of four segments.
    #[test]
    fn a_round_ends_when_its_first_segment_is_delivered() {
        let tree = json!({ "kind": "reno" });
        let mut clock = AckClock::new(&tree, Span::from_millis(100), 4, Some(1));
        let mut rounds = RoundCounter::default();
        let begins = (1..=12_u64).filter(|&segment| {
            clock.delivered = Bytes(segment * MSS);
            let ack = Ack {
                in_flight: Bytes(3 * MSS),
                ..clock.ack_of(MSS)
            };
            rounds.begins(&ack)
        });
        assert_eq!(Vec::from_iter(begins), [1, 5, 9]);
        assert_eq!(rounds.count(), 3);
    }

    #[test]
    fn what_delivers_nothing_begins_no_round() {
        let clock = AckClock::new(&json!({ "kind": "reno" }), Span::from_millis(100), 4, None);
        let mut rounds = RoundCounter::default();
        assert!(
            !rounds.begins(&clock.ack_of(MSS)),
            "nothing is delivered yet"
        );
    }
}
