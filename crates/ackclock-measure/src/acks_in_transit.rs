//! ACKs that have passed the capture point and not reached the sender yet: what the sender knew when it sent what passes now.

use ackclock_core::units::Span;
use std::collections::VecDeque;

/// How many are remembered at most: a round trip's, mostly.
const MOST: usize = 8192;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Underway {
    /// When they passed, and what they acknowledged.
    acks: VecDeque<(u64, u64)>,
    known: u64,
}

impl Underway {
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
        let mut underway = Underway::default();
        underway.pass(100, 7);
        underway.pass(110, 9);
        let way = Span::from_nanos(50);
        assert_eq!(
            [149, 150, 155, 160].map(|at| underway.known(at, way)),
            [0, 7, 7, 9]
        );
        assert_eq!(underway.known(100, way), 9, "what is known stays known");
    }
}
