//! The latest packets of a direction. They serve to recognise packets that were captured twice or
//! duplicated on the path, and to learn how the host assigns IP identifications.

use crate::seen::Seen;
use ackclock_spec::units::Span;

/// Number of packets remembered; a duplicate closely follows its original.
const MOST: usize = 8;

/// Largest distance of a duplicate before a round trip is known. It is longer than the distance of
/// two records of one packet, and shorter than the time until a retransmission.
const COPY: Span = Span::from_millis(1);

/// The latest packets of a direction.
#[derive(Clone, Debug, Default)]
pub struct Recent {
    /// Parts of `packets`, adjacent in memory. A match is rare, and only then the rest is compared.
    tags: [u32; MOST],
    packets: [Print; MOST],
    /// Number of packets so far; the next is stored at this index modulo `MOST`.
    count: usize,
    /// Packets whose identification was compared with the one before; and of these, how many had
    /// the same, and how many a slightly larger one.
    compared: u32,
    same: u32,
    steps: u32,
}

/// Fingerprint of a packet.
#[derive(Clone, Copy, Debug, Default)]
struct Print {
    headers: u64,
    at: u64,
    identification: u16,
}

impl Print {
    const fn tag(&self) -> u32 {
        self.headers as u32 ^ ((self.identification as u32) << 16)
    }
}

/// Differences of consecutive identifications where the host counts packets. A burst of segments
/// may be one packet in the capture.
const STEP: std::ops::RangeInclusive<u16> = 1..=64;

impl Recent {
    /// Returns true if this packet duplicates an earlier one; if not, remembers it. `round_trip`
    /// returns the least round trip.
    pub fn is_copy(&mut self, seen: &Seen<'_>, round_trip: impl Fn() -> Option<Span>) -> bool {
        let print = Print {
            headers: digest(seen),
            at: seen.at,
            identification: seen.identification,
        };
        let is_copy =
            self.tags.contains(&print.tag()) && self.has_original(&print, seen, round_trip());
        if !is_copy {
            self.remember(print);
        }
        is_copy
    }

    #[cold]
    fn has_original(&self, print: &Print, seen: &Seen<'_>, round_trip: Option<Span>) -> bool {
        let usable = print.identification != 0 && self.identifications_differ();
        // Without identifications, even an ACK that repeats the last one is a new packet, unless it
        // carries data, a SYN or SACK blocks.
        let segment = seen.segment;
        let telling =
            segment.payload > 0 || segment.flags.syn || !segment.options.sacks().is_empty();
        let soon = round_trip.map_or(COPY, |span| span / 2).as_nanos();
        self.packets[..self.count.min(MOST)].iter().any(|old| {
            let alike = old.headers == print.headers && old.identification == print.identification;
            alike && (usable || (telling && print.at.abs_diff(old.at) < soon))
        })
    }

    fn remember(&mut self, print: Print) {
        if let Some(last) = self
            .count
            .checked_sub(1)
            .map(|last| self.packets[last % MOST])
        {
            let step = print.identification.wrapping_sub(last.identification);
            self.compared += 1;
            self.same += u32::from(step == 0);
            self.steps += u32::from(STEP.contains(&step));
        }
        if self.compared == u32::MAX / 2 {
            (self.compared, self.same, self.steps) =
                (self.compared / 2, self.same / 2, self.steps / 2);
        }
        self.tags[self.count % MOST] = print.tag();
        self.packets[self.count % MOST] = print;
        self.count += 1;
    }

    /// True unless most packets have the same identification, which hosts may do (RFC 6864
    /// section 4.1).
    pub const fn identifications_differ(&self) -> bool {
        self.same * 4 <= self.compared
    }
    /// True if identifications count packets, which most hosts do per connection.
    pub const fn identifications_count(&self) -> bool {
        self.compared > 0 && self.steps * 4 >= self.compared * 3
    }
}

/// Hashes the headers that a duplicate shares with its original (the multiplier is that of Steele
/// and Vigna 2021).
fn digest(seen: &Seen<'_>) -> u64 {
    const MULTIPLIER: u64 = 0xd134_2543_de82_ef95;
    let segment = seen.segment;
    let flags = segment.flags;
    let bits = [
        flags.fin, flags.syn, flags.rst, flags.psh, flags.ack, flags.ece, flags.cwr, flags.ae,
    ];
    let bits = bits.iter().fold(0, |all, bit| all << 1 | u64::from(*bit));
    let (value, echo) = segment.options.timestamps.unwrap_or_default();
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(MULTIPLIER).rotate_left(29);
    let pair = |a: u32, b: u32| u64::from(a) << 32 | u64::from(b);
    let mut hash = mix(1, pair(segment.sequence, segment.acknowledgment));
    hash = mix(
        hash,
        pair(segment.payload, u32::from(segment.window)) | bits << 56,
    );
    hash = mix(hash, pair(value, echo));
    for (left, right) in segment.options.sacks() {
        hash = mix(hash, pair(*left, *right));
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_core::packet::Ecn;
    use ackclock_pcap::packet::Segment;

    fn copies(packets: &[(u64, u16, Segment)]) -> Vec<bool> {
        let mut recent = Recent::default();
        let each = packets.iter().map(|(at, identification, segment)| {
            let seen = Seen {
                at: *at,
                ip_bytes: 52,
                identification: *identification,
                ecn: Ecn::NotCapable,
                segment,
            };
            recent.is_copy(&seen, || None)
        });
        each.collect()
    }

    fn ack(acknowledgment: u32) -> Segment {
        Segment {
            acknowledgment,
            ..Segment::default()
        }
    }

    fn data(sequence: u32) -> Segment {
        Segment {
            sequence,
            payload: 100,
            ..Segment::default()
        }
    }

    #[test]
    fn the_same_identification_means_the_same_packet() {
        let packets = [
            (1, 7, ack(5)),
            (2, 8, ack(5)),
            (3, 8, ack(5)),
            (4, 9, ack(6)),
            (9, 7, ack(5)),
        ];
        assert_eq!(copies(&packets), [false, false, true, false, true]);
    }

    #[test]
    fn without_identification_only_what_follows_at_once_is_a_copy() {
        let ms = 1_000_000;
        let packets = [
            (1, 0, data(5)),
            (2, 0, data(5)),
            (ms * 30, 0, data(5)),
            (ms * 30, 0, ack(9)),
            (ms * 30, 0, ack(9)),
        ];
        assert_eq!(copies(&packets), [false, true, false, false, false]);
    }

    #[test]
    fn a_host_that_numbers_nothing_is_not_believed() {
        let packets: Vec<_> = (1..50)
            .map(|at| (at * 10_000_000, 1, ack(at as u32 / 4)))
            .collect();
        let copies = copies(&packets);
        assert!(copies[5..].iter().all(|copy| !copy), "{copies:?}");
    }

    #[test]
    fn it_is_seen_whether_identifications_count() {
        let mut recent = Recent::default();
        let mut pass = |identification: u16| {
            recent.remember(Print {
                headers: 0,
                at: 1,
                identification,
            });
            recent.identifications_count()
        };
        assert!(!pass(65_535));
        assert!(pass(0) && pass(2));
        assert!(!pass(30_000) && !pass(20_000));
    }
}
