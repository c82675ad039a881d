//! ACKs that have passed the capture point and not reached the sender yet: what the sender knew when it
//! sent the packet that passes now.

use ackclock_core::units::Span;
use std::collections::VecDeque;

/// How many are remembered at most: a round trip's, mostly.
const MOST: usize = 8192;

/// The ACKs between the capture point and the sender.
#[derive(Clone, Debug, Default)]
pub struct AcksInTransit {
    /// When they passed, and what they acknowledged.
    acks: VecDeque<(u64, u64)>,
    known: u64,
}

impl AcksInTransit {
    /// All before `number` is acknowledged by an ACK that passes at `at`.
    pub fn pass(&mut self, at: u64, number: u64) {
        if self.acks.len() == MOST
            && let Some((_, oldest)) = self.acks.pop_front()
        {
            self.known = oldest;
        }
        self.acks.push_back((at, number));
    }

    /// What was acknowledged for the sender when it sent what passes at `at`, if from here to the sender and back is `way`.
    pub fn known(&mut self, at: u64, way: Span) -> u64 {
        while let Some(&(passed_at, number)) = self.acks.front()
            && passed_at.saturating_add(way.as_nanos()) <= at
        {
            self.known = number;
            self.acks.pop_front();
        }
        self.known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_is_known_when_its_answer_comes() {
        let mut acks_in_transit = AcksInTransit::default();
        acks_in_transit.pass(100, 7);
        acks_in_transit.pass(110, 9);
        let way = Span::from_nanos(50);
        assert_eq!(
            [149, 150, 155, 160].map(|at| acks_in_transit.known(at, way)),
            [0, 7, 7, 9]
        );
        assert_eq!(acks_in_transit.known(100, way), 9, "what is known stays known");
    }
}
