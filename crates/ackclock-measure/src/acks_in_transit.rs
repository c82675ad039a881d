//! ACKs between the capture point and the sender. They tell what the sender knew when it sent the
//! packet that passes now.

use ackclock_spec::units::Span;
use std::collections::VecDeque;

/// Most ACKs remembered: about a round trip's worth.
const MOST: usize = 8192;

/// Contents of an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckContents {
    /// Cumulative acknowledgment: everything before this number is acknowledged.
    pub acknowledged: u64,
    /// Right edge of the receiver's window.
    pub edge: u64,
    /// Earliest time at which an answer to it can pass the capture point; 0 if there is no ACK.
    pub at: u64,
}

/// The ACKs between the capture point and the sender.
#[derive(Clone, Debug, Default)]
pub struct AcksInTransit {
    /// Times at which they passed, with their contents.
    acks: VecDeque<(u64, AckContents)>,
    received: AckContents,
}

impl AcksInTransit {
    /// Records an ACK that passes at `at`.
    pub fn pass(&mut self, at: u64, contents: AckContents) {
        if self.acks.len() == MOST
            && let Some((_, oldest)) = self.acks.pop_front()
        {
            self.received = oldest;
        }
        self.acks.push_back((at, contents));
    }

    /// Returns what the sender knew when it sent the packet that passes at `at`. `way` is the round
    /// trip from the capture point to the sender.
    pub fn received(&mut self, at: u64, way: Span) -> AckContents {
        while let Some(&(passed_at, contents)) = self.acks.front()
            && passed_at.saturating_add(way.as_nanos()) <= at
        {
            self.received = AckContents {
                at: passed_at.saturating_add(way.as_nanos()),
                ..contents
            };
            self.acks.pop_front();
        }
        self.received
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_is_known_when_its_answer_comes() {
        let mut acks_in_transit = AcksInTransit::default();
        let ack = |acknowledged, at| AckContents {
            acknowledged,
            edge: acknowledged + 50,
            at,
        };
        acks_in_transit.pass(100, ack(7, 0));
        acks_in_transit.pass(110, ack(9, 0));
        let way = Span::from_nanos(50);
        assert_eq!(
            [149, 150, 155, 160].map(|at| acks_in_transit.received(at, way)),
            [
                AckContents::default(),
                ack(7, 150),
                ack(7, 150),
                ack(9, 160)
            ]
        );
        assert_eq!(
            acks_in_transit.received(100, way),
            ack(9, 160),
            "what is known stays known"
        );
    }
}
