//! Records of sent packets, so that the sender need not trust the receiver, and nonces to prove
//! arrival.

use crate::keys::TagKey;
use crate::wire::Acknowledgement;
use ackclock_spec::units::{Span, Time};
use std::collections::VecDeque;

/// Number of packets remembered: more than a second of 1 Gbit/s in packets of the longest kind, in
/// 3 MB.
const REMEMBERED: usize = 1 << 17;

/// The latest [`REMEMBERED`] packets sent, by number.
#[derive(Debug, Default)]
pub struct SentLog {
    packets: VecDeque<SentPacket>,
    /// Number of the first packet remembered.
    first: u64,
    /// Payload of all packets so far, in bytes.
    bytes: u64,
}

/// A packet that has been sent.
#[derive(Clone, Copy, Debug)]
pub struct SentPacket {
    /// Time of sending.
    pub at: Time,
    nonce: u32,
    /// Payload in bytes.
    length: u32,
    /// Payload of all packets before this one, in bytes.
    before: u64,
}

/// The verdict on a claim of the receiver.
#[derive(Clone, Copy, Debug)]
pub enum Claim {
    /// It can be true.
    True(SentPacket),
    /// It is about packets that are no longer remembered.
    Forgotten,
    /// The receiver cannot know what it claims.
    False,
}

impl SentLog {
    /// Returns the number of the next packet.
    pub fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    /// Records that the next packet leaves.
    pub fn push(&mut self, at: Time, nonce: u32, length: u32) {
        if self.packets.len() == REMEMBERED {
            self.packets.pop_front();
            self.first += 1;
        }
        self.packets.push_back(SentPacket {
            at,
            nonce,
            length,
            before: self.bytes,
        });
        self.bytes += u64::from(length);
    }

    fn get(&self, number: u64) -> Option<&SentPacket> {
        self.packets
            .get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// Judges if the claimed packets can have arrived: each has been sent, and the receiver knows
    /// the sum of their nonces.
    pub fn judge(&self, ack: &Acknowledgement) -> Claim {
        if ack.sequence >= self.next() {
            return Claim::False;
        }
        let mut sum = 0_u32;
        let mut bits = ack.vector;
        while bits != 0 {
            let Some(packet) = self.get(ack.sequence - u64::from(bits.trailing_zeros())) else {
                return Claim::Forgotten;
            };
            sum = sum.wrapping_add(packet.nonce);
            bits &= bits - 1;
        }
        match self.get(ack.sequence) {
            Some(packet) if sum == ack.nonces => Claim::True(*packet),
            Some(_) => Claim::False,
            None => Claim::Forgotten,
        }
    }

    /// Returns an upper bound of the receive rate when packet `number` arrived, in bytes of payload
    /// per second.
    ///
    /// The bound is the largest rate sent over one, two or four round trips up to that packet, plus
    /// one packet. A receiver measures over one or two round trips (RFC 5348 section 6.2), which
    /// need not be the same ones.
    pub fn most_received(&self, number: u64, round_trip: Span) -> f64 {
        let Some(last) = self.get(number) else {
            return 0.0;
        };
        [1, 2, 4]
            .into_iter()
            .map(|trips| {
                let begin = Time::from_nanos(
                    last.at
                        .as_nanos()
                        .saturating_sub((round_trip * trips).as_nanos()),
                );
                let before = self.packets.partition_point(|packet| packet.at <= begin);
                let sent = last.before
                    - self
                        .packets
                        .get(before)
                        .map_or(last.before, |first| first.before.min(last.before));
                let bytes = sent + 2 * u64::from(last.length);
                bytes as f64 / (round_trip * trips).as_seconds().max(1e-6)
            })
            .fold(0.0, f64::max)
    }
}

/// Nonces that cannot be predicted without the key: HMAC-SHA-256 of a counter, eight at a time.
#[derive(Debug)]
pub struct Nonces {
    key: TagKey,
    counter: u64,
    /// Nonces computed together, 4 bytes each.
    made: [u8; 32],
    given: usize,
}

impl Nonces {
    /// Creates nonces from a key that serves no other purpose.
    pub fn new(secret: &[u8; 32]) -> Self {
        Nonces {
            key: TagKey::new(secret),
            counter: 0,
            made: [0; 32],
            given: 32,
        }
    }

    /// Returns the next nonce.
    pub fn draw(&mut self) -> u32 {
        if self.given == self.made.len() {
            self.made = self.key.digest(&[&self.counter.to_be_bytes()]);
            self.counter += 1;
            self.given = 0;
        }
        let (nonce, _) = self.made[self.given..]
            .split_first_chunk()
            .expect("whole nonces are left");
        self.given += 4;
        u32::from_be_bytes(*nonce)
    }
}

/// Nonces of the latest packets that arrived, with which the receiver proves their arrival.
#[derive(Debug)]
pub struct ArrivedNonces([(u64, u32); Self::REMEMBERED as usize]);

impl Default for ArrivedNonces {
    fn default() -> Self {
        ArrivedNonces([(u64::MAX, 0); Self::REMEMBERED as usize])
    }
}

impl ArrivedNonces {
    /// Number of nonces remembered: the replay window passes packets up to 64 numbers late, and a
    /// vector covers 64.
    const REMEMBERED: u64 = 128;

    /// Records that a packet has arrived.
    pub fn insert(&mut self, number: u64, nonce: u32) {
        self.0[(number % Self::REMEMBERED) as usize] = (number, nonce);
    }

    /// Returns those packets of `vector` whose nonces are remembered, and the sum of their nonces.
    /// Only these arrivals can be proved.
    pub fn claim(&self, number: u64, vector: u64) -> (u64, u32) {
        let (mut claimed, mut sum) = (0, 0_u32);
        let mut bits = vector;
        while bits != 0 {
            let back = u64::from(bits.trailing_zeros());
            if let Some(number) = number.checked_sub(back) {
                let (known, nonce) = self.0[(number % Self::REMEMBERED) as usize];
                if known == number {
                    claimed |= 1 << back;
                    sum = sum.wrapping_add(nonce);
                }
            }
            bits &= bits - 1;
        }
        (claimed, sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ack(sequence: u64, vector: u64, nonces: u32) -> Acknowledgement {
        Acknowledgement {
            sequence,
            echo_us: 0,
            held_us: 0,
            nonces,
            marked: 0,
            width: 64,
            vector,
            delivered: 0,
        }
    }

    proptest! {
        /// A claim is accepted if the receiver has all the packets that it claims. It is refused if
        /// it claims one more packet, or one that was never sent.
        #[test]
        fn a_claim_is_believed_if_it_is_true(
            sent in 1_u64..200,
            lost in prop::collection::hash_set(0_u64..200, 0..60),
            answered in any::<prop::sample::Index>(),
        ) {
            let (mut log, mut nonces, mut arrived) =
                (SentLog::default(), Nonces::new(&[1; 32]), ArrivedNonces::default());
            for number in 0..sent {
                let nonce = nonces.draw();
                log.push(Time::from_nanos(number), nonce, 1000);
                if !lost.contains(&number) {
                    arrived.insert(number, nonce);
                }
            }
            let sequence = sent - 1 - answered.index(sent.min(64) as usize) as u64;
            prop_assume!(!lost.contains(&sequence));
            let all = u64::MAX >> (63 - sequence.min(63));
            let (vector, sum) = arrived.claim(sequence, all);
            let claim_of = |vector, sum| log.judge(&ack(sequence, vector, sum));
            prop_assert!(matches!(
                claim_of(vector, sum),
                Claim::True(packet) if packet.at.as_nanos() == sequence
            ));
            if let Some(back) = (0..=sequence.min(63)).find(|back| vector >> back & 1 == 0) {
                prop_assert!(matches!(claim_of(vector | 1 << back, sum), Claim::False));
            }
            prop_assert!(matches!(claim_of(vector, sum.wrapping_add(1)), Claim::False));
            prop_assert!(matches!(log.judge(&ack(sent, 1, sum)), Claim::False), "not sent yet");
        }
    }

    #[test]
    fn memory_is_bounded_and_what_is_forgotten_is_not_believed() {
        let mut log = SentLog::default();
        for number in 0..REMEMBERED as u64 + 10 {
            log.push(Time::from_nanos(number), 0, 1);
        }
        assert_eq!(log.packets.len(), REMEMBERED);
        assert!(matches!(log.judge(&ack(9, 1, 0)), Claim::Forgotten));
        assert!(matches!(log.judge(&ack(12, 0b111, 0)), Claim::True(_)));
        assert!(matches!(log.judge(&ack(12, 0b1111, 0)), Claim::Forgotten));
    }

    #[test]
    fn no_more_arrives_than_is_sent() {
        let mut log = SentLog::default();
        // 100 packets of 1000 bytes per second, then ten times as many.
        (0..100).for_each(|n| log.push(Time::from_seconds(f64::from(n) * 0.01), 0, 1000));
        (0..1000).for_each(|n| log.push(Time::from_seconds(1.0 + f64::from(n) * 0.001), 0, 1000));
        let rtt = Span::from_millis(100);
        let most = |number| log.most_received(number, rtt);
        assert!((most(99) - 110_000.0).abs() < 1_000.0, "{}", most(99));
        assert!((most(1099) - 1_010_000.0).abs() < 1_000.0, "{}", most(1099));
        // At the change, at most the new rate.
        assert!(
            most(120) < 1_010_000.0 && most(120) > 210_000.0,
            "{}",
            most(120)
        );
        assert!(most(0) >= 1000.0);
    }

    #[test]
    fn nonces_differ() {
        let mut nonces = Nonces::new(&[1; 32]);
        let mut drawn: Vec<u32> = (0..1000).map(|_| nonces.draw()).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert!(drawn.len() > 995);
    }
}
