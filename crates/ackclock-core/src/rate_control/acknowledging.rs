//! A receiver that measures nothing: it answers each packet and reports the earlier arrivals.

use super::{Arrived, Feedback, RateReceiver, Received};
use ackclock_spec::units::{Span, Time};

/// Most packets that one answer can report.
pub const MOST: u8 = 64;

/// Answers each packet with its number, its sending time, and a bit vector of it and the packets
/// just before it. TFRCP uses it; it also suffices for a sender that detects loss events itself. A
/// run of lost answers one shorter than the vector loses no information.
#[derive(Debug)]
pub struct Acknowledging {
    width: u8,
    /// Highest number that has arrived; valid if `seen` is not zero.
    highest: u64,
    /// Bit i is set if the packet numbered `highest` − i has arrived.
    seen: u64,
    marked: u64,
    due: Option<Feedback>,
}

impl Acknowledging {
    /// A receiver with vectors of `width` bits, 1 to [`MOST`].
    pub fn new(width: u8) -> Self {
        Acknowledging {
            width: width.clamp(1, MOST),
            highest: 0,
            seen: 0,
            marked: 0,
            due: None,
        }
    }

    /// Returns the bits of the packets up to `sequence`. For a packet too late to be remembered,
    /// only its own bit is known.
    fn up_to(&self, sequence: u64) -> u64 {
        let older = self.highest - sequence;
        let bits = self.seen.checked_shr(older as u32).filter(|_| older < 64);
        let mask = u64::MAX >> (64 - u32::from(self.width));
        (bits.unwrap_or(0) | 1) & mask
    }
}

impl RateReceiver for Acknowledging {
    fn on_data(&mut self, now: Time, data: &Arrived) {
        let _ = now;
        if self.seen == 0 {
            self.highest = data.sequence;
        }
        if let Some(ahead) = data.sequence.checked_sub(self.highest) {
            let kept = self.seen.checked_shl(ahead as u32).filter(|_| ahead < 64);
            self.seen = kept.unwrap_or(0) | 1;
            self.highest = data.sequence;
        } else if self.highest - data.sequence < 64 {
            self.seen |= 1 << (self.highest - data.sequence);
        }
        self.marked += u64::from(data.marked);
        self.due = Some(Feedback {
            sequence: data.sequence,
            echo: data.sent_at,
            held: Span::ZERO,
            received: Received {
                bits: self.up_to(data.sequence),
                width: self.width,
            },
            marked: self.marked,
            report: None,
        });
    }

    fn poll_feedback(&mut self, _now: Time) -> Option<Feedback> {
        self.due.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_spec::units::Bytes;

    fn answer(receiver: &mut Acknowledging, sequence: u64) -> Feedback {
        let now = Time::from_nanos(1000 + sequence);
        let data = Arrived {
            sequence,
            sent_at: Time::from_nanos(sequence),
            length: Bytes(1000),
            rtt: None,
            marked: sequence.is_multiple_of(2),
        };
        receiver.on_data(now, &data);
        let feedback = receiver.poll_feedback(now).unwrap();
        assert_eq!(
            receiver.poll_feedback(now),
            None,
            "one answer for one packet"
        );
        assert_eq!(feedback.echo, data.sent_at);
        feedback
    }

    #[test]
    fn an_answer_speaks_of_the_packet_and_those_before_it() {
        let mut receiver = Acknowledging::new(8);
        let numbers = |feedback: Feedback| -> Vec<u64> {
            feedback.received.numbers(feedback.sequence).collect()
        };
        assert_eq!(numbers(answer(&mut receiver, 0)), [0]);
        assert_eq!(numbers(answer(&mut receiver, 1)), [1, 0]);
        assert_eq!(numbers(answer(&mut receiver, 4)), [4, 1, 0]);
        // Late and reordered: reports the packets before it, not those after.
        assert_eq!(numbers(answer(&mut receiver, 3)), [3, 1, 0]);
        assert_eq!(numbers(answer(&mut receiver, 8)), [8, 4, 3, 1]);
        assert_eq!(numbers(answer(&mut receiver, 100)), [100]);
        let late = answer(&mut receiver, 5);
        assert_eq!((numbers(late), late.marked), (vec![5], 4));
    }

    #[test]
    fn a_vector_may_be_as_wide_as_a_word() {
        let mut receiver = Acknowledging::new(MOST);
        let last = (0..200)
            .map(|sequence| answer(&mut receiver, sequence))
            .last()
            .unwrap();
        assert_eq!(last.received.bits, u64::MAX);
        assert_eq!(last.received.numbers(199).count(), 64);
    }
}
