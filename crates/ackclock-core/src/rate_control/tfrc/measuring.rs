//! The sender-based variant (RFC 5348 section 7): the receiver's reckoning, done by the sender from acknowledgements.

use super::Tfrc;
use super::receiver::TfrcReceiver;
use crate::rate_control::acknowledging::MOST;
use crate::rate_control::{Arrived, Feedback, RateReceiver, Sent};
use crate::units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// How many packets behind the highest one that has been answered are remembered: as many as a vector speaks of, and as many again that are late.
const REMEMBERED: u64 = 2 * MOST as u64;

/// What the sender knows of a packet.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Time,
    length: Bytes,
    arrived: bool,
}

/// The receiver's half at the sender, and what is needed to feed it. Losses are told apart by when packets were sent: acknowledgements may be lost or late.
#[derive(Debug)]
pub struct Measuring {
    receiver: TfrcReceiver,
    sent: VecDeque<Entry>,
    /// The number of the first of them.
    first: u64,
    marked: u64,
}

impl Measuring {
    /// Nothing has been sent.
    pub fn new(parameters: &Tfrc) -> Self {
        Measuring {
            receiver: TfrcReceiver::new(parameters),
            sent: VecDeque::new(),
            first: 0,
            marked: 0,
        }
    }

    /// A packet has left.
    pub fn on_sent(&mut self, now: Time, sent: &Sent) {
        self.sent.push_back(Entry {
            at: now,
            length: sent.length,
            arrived: false,
        });
    }

    /// The receiver has answered; `rtt` is the sender's estimate.
    pub fn on_feedback(&mut self, now: Time, feedback: &Feedback, rtt: Option<Span>) {
        let marked = feedback.marked > self.marked;
        self.marked = self.marked.max(feedback.marked);
        let mut numbers: Vec<u64> = feedback.received.numbers(feedback.sequence).collect();
        numbers.reverse();
        for number in numbers {
            let Some(index) = number.checked_sub(self.first) else {
                continue;
            };
            let Some(entry) = self.sent.get_mut(index as usize).filter(|entry| !entry.arrived) else {
                continue;
            };
            entry.arrived = true;
            let data = Arrived {
                sequence: number,
                sent_at: entry.at,
                length: entry.length,
                rtt,
                // The answer does not say which packet was marked: most often the one that it answers.
                marked: marked && number == feedback.sequence,
            };
            // The receiver may have held the answer.
            let arrived = Time::from_nanos(now.as_nanos().saturating_sub(feedback.held.as_nanos()));
            self.receiver.take(arrived, data.sent_at, &data);
        }
        while self.first + REMEMBERED < feedback.sequence && self.sent.pop_front().is_some() {
            self.first += 1;
        }
    }

    /// When it wants to be called.
    pub fn timer(&self) -> Time {
        self.receiver.poll_timeout()
    }
    /// Does what is due by `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.receiver.handle_timeout(now);
    }
    /// The next report, as if it had come.
    pub fn poll(&mut self, now: Time) -> Option<Feedback> {
        self.receiver.poll_feedback(now)
    }
    /// Packets that were held lost, and those of them that arrived.
    pub const fn losses(&self) -> (u64, u64) {
        let history = self.receiver.history();
        (history.lost(), history.spurious())
    }
}
