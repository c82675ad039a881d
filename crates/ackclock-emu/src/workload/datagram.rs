//! Payload of a datagram: number and time of sending, and their evaluation at the receiver.

/// Length of number and time of sending, two little-endian words of eight bytes. A shorter payload
/// holds only their first bytes: the rest of the number tells it from its neighbours, and the time
/// is unknown.
pub(super) const STAMP_BYTES: usize = 16;
const WORD: usize = 8;

/// Returns the beginning of a datagram's payload.
pub(super) fn stamp(number: u64, sent_ns: u64) -> [u8; STAMP_BYTES] {
    let mut bytes = [0; STAMP_BYTES];
    bytes[..WORD].copy_from_slice(&number.to_le_bytes());
    bytes[WORD..].copy_from_slice(&sent_ns.to_le_bytes());
    bytes
}

/// Reads number and time of sending from a payload; `expected` is the next number in order.
pub(super) fn read_stamp(payload: &[u8], expected: u64) -> (u64, Option<u64>) {
    let mut words = [[0; WORD]; 2];
    for (word, bytes) in words.iter_mut().zip(payload.chunks(WORD)) {
        word[..bytes.len()].copy_from_slice(bytes);
    }
    let [low, sent] = words.map(u64::from_le_bytes);
    let bits = payload.len().min(WORD) as u32 * 8;
    let sent = (payload.len() >= STAMP_BYTES).then_some(sent);
    (nearest(low, bits, expected), sent)
}

/// Returns the number with these lowest bits that is nearest to `expected`.
fn nearest(low: u64, bits: u32, expected: u64) -> u64 {
    let Some(period) = 1_u64.checked_shl(bits) else {
        return low;
    };
    let base = expected - expected % period + low;
    let half = period / 2;
    if base > expected.saturating_add(half) && base >= period {
        base - period
    } else if base.saturating_add(half) < expected {
        base + period
    } else {
        base
    }
}

/// Classification of a datagram that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// New, and the highest number so far.
    InOrder,
    /// New, but after a later one (RFC 4737 section 3).
    Reordered,
    /// A number that has arrived before.
    Duplicate,
}

/// Range of numbers in which duplicates are recognised. Anything older counts as new: its duplicate
/// would have to be as late.
const REMEMBERED: u64 = 1 << 16;

/// The numbers that have arrived.
#[derive(Debug)]
pub(super) struct Numbers {
    /// One more than the highest number that has arrived.
    next: u64,
    /// One bit for each of the last [`REMEMBERED`] numbers below `next`.
    seen: Box<[u64]>,
}

impl Default for Numbers {
    fn default() -> Self {
        Numbers {
            next: 0,
            seen: vec![0; REMEMBERED as usize / 64].into_boxed_slice(),
        }
    }
}

impl Numbers {
    /// Returns the next number if none is lost.
    pub(super) const fn expected(&self) -> u64 {
        self.next
    }
    /// Records a number and classifies it.
    pub(super) fn arrive(&mut self, number: u64) -> Arrival {
        if number >= self.next {
            // The numbers skipped have not arrived; their bits belonged to old numbers.
            for skipped in self
                .next
                .max(number.saturating_add(1).saturating_sub(REMEMBERED))
                ..number
            {
                self.set(skipped, false);
            }
            self.set(number, true);
            self.next = number.saturating_add(1);
            return Arrival::InOrder;
        }
        if self.next - number > REMEMBERED {
            return Arrival::Reordered;
        }
        let (word, bit) = place(number);
        if self.seen[word] & bit != 0 {
            return Arrival::Duplicate;
        }
        self.set(number, true);
        Arrival::Reordered
    }

    fn set(&mut self, number: u64, seen: bool) {
        let (word, bit) = place(number);
        if seen {
            self.seen[word] |= bit;
        } else {
            self.seen[word] &= !bit;
        }
    }
}

fn place(number: u64) -> (usize, u64) {
    let index = number % REMEMBERED;
    ((index / 64) as usize, 1 << (index % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_reads_as_it_is_written_and_short_ones_tell_the_number() {
        let bytes = stamp(70_123, 5_000_000_007);
        assert_eq!(read_stamp(&bytes, 0), (70_123, Some(5_000_000_007)));
        for length in 1..STAMP_BYTES {
            for expected in [70_000, 70_123, 70_200] {
                assert_eq!(
                    read_stamp(&bytes[..length], expected),
                    (70_123, None),
                    "{length} bytes"
                );
            }
        }
        assert_eq!(read_stamp(&[], 41), (41, None));
    }

    #[test]
    fn short_numbers_wrap_both_ways() {
        assert_eq!(read_stamp(&[255], 256), (255, None));
        assert_eq!(read_stamp(&[3], 255), (259, None));
        assert_eq!(
            read_stamp(&[250], 3),
            (250, None),
            "there is nothing before the first"
        );
    }

    #[test]
    fn each_number_counts_once_in_whatever_order() {
        let mut numbers = Numbers::default();
        let arrivals: Vec<Arrival> = [0, 1, 4, 3, 3, 4, 2, 1, 5]
            .into_iter()
            .map(|n| numbers.arrive(n))
            .collect();
        use Arrival::{Duplicate, InOrder, Reordered};
        assert_eq!(
            arrivals,
            [
                InOrder, InOrder, InOrder, Reordered, Duplicate, Duplicate, Reordered, Duplicate,
                InOrder
            ]
        );
        assert_eq!(numbers.expected(), 6);
    }

    #[test]
    fn a_long_gap_forgets_what_was_before_it() {
        let mut numbers = Numbers::default();
        (0..100).for_each(|number| assert_eq!(numbers.arrive(number), Arrival::InOrder));
        assert_eq!(numbers.arrive(REMEMBERED + 50), Arrival::InOrder);
        // 51 has arrived and is remembered, 50 is the oldest remembered, 49 is forgotten.
        assert_eq!(numbers.arrive(51), Arrival::Duplicate);
        assert_eq!(numbers.arrive(49), Arrival::Reordered);
        assert_eq!(numbers.arrive(REMEMBERED + 49), Arrival::Reordered);
        assert_eq!(numbers.arrive(REMEMBERED + 49), Arrival::Duplicate);
    }
}
