//! The sender-based variant (RFC 5348 section 7): the sender does the receiver's measurements from
//! acknowledgements.

use super::Tfrc;
use super::receiver::TfrcReceiver;
use crate::rate_control::acknowledging::MOST;
use crate::rate_control::{Arrived, DatagramSent, Feedback, RateReceiver, Received};
use ackclock_spec::units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Number of packets kept, up to the highest answered one: as many as a vector reports, and as many
/// again that are late.
const REMEMBERED: u64 = u128::BITS as u64;

/// Sending time and length of a packet.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Time,
    length: Bytes,
}

/// The receiver's half at the sender, and the data that it needs. It places losses by the sending
/// times of packets, since acknowledgements may be lost or late.
#[derive(Debug)]
pub struct Measuring {
    receiver: TfrcReceiver,
    sent: VecDeque<Entry>,
    /// Number of the first entry.
    first: u64,
    /// Highest number that has been answered.
    highest: u64,
    /// Bit i is set if the packet numbered `highest` − i has arrived.
    arrived: u128,
    marked: u64,
}

impl Measuring {
    /// A measurement before the first packet.
    pub fn new(parameters: &Tfrc) -> Self {
        Measuring {
            receiver: TfrcReceiver::new(parameters),
            sent: VecDeque::new(),
            first: 0,
            highest: 0,
            arrived: 0,
            marked: 0,
        }
    }

    /// Records a sent packet.
    pub fn on_sent(&mut self, now: Time, sent: &DatagramSent) {
        self.sent.push_back(Entry {
            at: now,
            length: sent.length,
        });
    }

    /// Processes the answer to a sent packet; `rtt` is the sender's estimate.
    pub fn on_feedback(&mut self, now: Time, feedback: &Feedback, rtt: Option<Span>) {
        let marked = feedback.marked > self.marked;
        self.marked = self.marked.max(feedback.marked);
        // The receiver may have delayed the answer.
        let arrived = Time::from_nanos(now.as_nanos().saturating_sub(feedback.held.as_nanos()));
        let mut news = self.news(feedback);
        while news != 0 {
            let back = news.ilog2(); // the oldest first
            news ^= 1 << back;
            let Some(number) = self.highest.checked_sub(u64::from(back)) else {
                continue;
            };
            let index = number.checked_sub(self.first).map(|index| index as usize);
            let Some(entry) = index.and_then(|index| self.sent.get(index)) else {
                continue;
            };
            let data = Arrived {
                sequence: number,
                sent_at: entry.at,
                length: entry.length,
                rtt,
                // The answer does not identify the marked packet; most often it is the answered
                // one.
                marked: marked && number == feedback.sequence,
            };
            self.receiver.take(arrived, data.sent_at, &data);
        }
        while self.first + REMEMBERED <= self.highest && self.sent.pop_front().is_some() {
            self.first += 1;
        }
    }

    /// Returns the newly reported arrivals, as bits counted down from the highest number.
    fn news(&mut self, feedback: &Feedback) -> u128 {
        let ahead = feedback.sequence.saturating_sub(self.highest);
        self.highest += ahead;
        self.arrived = shifted(self.arrived, ahead);
        let Received { bits, width } = feedback.received;
        let arrived = u128::from(bits) & ((1 << width.min(MOST)) - 1);
        let news = shifted(arrived, self.highest - feedback.sequence) & !self.arrived;
        self.arrived |= news;
        news
    }

    /// Returns the time of the next timeout.
    pub fn timer(&self) -> Time {
        self.receiver.poll_timeout()
    }
    /// Handles all timeouts due by `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.receiver.handle_timeout(now);
    }
    /// Returns the next report, as if the receiver had sent it.
    pub fn poll(&mut self, now: Time) -> Option<Feedback> {
        self.receiver.poll_feedback(now)
    }
    /// Returns the number of packets deemed lost, and of those among them that arrived.
    pub const fn losses(&self) -> (u64, u64) {
        let history = self.receiver.history();
        (history.lost(), history.spurious())
    }
}

/// Shifts the bits; those shifted out are discarded.
fn shifted(bits: u128, by: u64) -> u128 {
    if by < REMEMBERED { bits << by } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Answers may overtake each other.
        #[test]
        fn each_packet_is_news_once(
            answers in prop::collection::vec((0..400_u64, any::<u64>(), 0..=64_u8), 1..60),
        ) {
            let mut measuring = Measuring::new(&Tfrc::default());
            let mut before = BTreeSet::new();
            let mut highest = 0;
            for (sequence, bits, width) in answers {
                highest = highest.max(sequence);
                let received = Received { bits, width };
                let answered = received
                    .numbers(sequence)
                    .filter(|number| number + REMEMBERED > highest);
                let expected: BTreeSet<u64> =
                    answered.filter(|number| !before.contains(number)).collect();
                let news = measuring.news(&Feedback { sequence, received, ..Feedback::default() });
                let is_news = |number: &u64| news >> (highest - number) & 1 == 1;
                let fresh: BTreeSet<u64> = (highest.saturating_sub(REMEMBERED - 1)..=highest)
                    .filter(is_news)
                    .collect();
                prop_assert_eq!(&fresh, &expected);
                before.extend(expected);
            }
        }
    }
}
