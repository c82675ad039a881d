//! How punctual a run was: how late packets were written, and how long the loop was away.

use ackclock_core::units::Span;

/// Counts spans of time in buckets whose width is an eighth of their beginning at most, from a nanosecond to five centuries; below eight
/// nanoseconds each its own.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    most: Span,
}

/// Buckets for each doubling, as a power of two.
const FINENESS: u32 = 3;
const BUCKETS: usize = (64 - FINENESS as usize + 1) << FINENESS;

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            counts: vec![0; BUCKETS],
            total: 0,
            most: Span::ZERO,
        }
    }
}

/// The bucket of a number: the place of its highest bit, and the bits behind that.
const fn bucket(nanos: u64) -> usize {
    let octave = (nanos >> FINENESS).checked_ilog2();
    match octave {
        None => nanos as usize,
        Some(octave) => (((octave as usize) + 1) << FINENESS) + ((nanos >> octave) as usize & 7),
    }
}

/// The largest number in a bucket.
const fn last_of(bucket: usize) -> u64 {
    let (octave, part) = (bucket >> FINENESS, (bucket & 7) as u64);
    match octave.checked_sub(1) {
        None => part,
        Some(shift) => ((8 + part) << shift) + ((1 << shift) - 1),
    }
}

impl Histogram {
    /// Counts one.
    pub fn add(&mut self, span: Span) {
        self.counts[bucket(span.as_nanos())] += 1;
        self.total += 1;
        self.most = self.most.max(span);
    }
    /// How many have been counted.
    pub const fn total(&self) -> u64 {
        self.total
    }
    /// The longest; zero if there is none.
    pub const fn most(&self) -> Span {
        self.most
    }
    /// What the share `quantile` (0 to 1) does not exceed, rounded up to the end of its bucket, an eighth at most; zero if there is none.
    pub fn quantile(&self, quantile: f64) -> Span {
        // At least one: the quantile 0 is the shortest, not nothing.
        let rank = ((quantile * self.total as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Span::from_nanos(last_of(bucket)).min(self.most);
            }
        }
        self.most
    }
    /// The buckets that are not empty: the longest span that belongs to each, and how many there are.
    pub fn buckets(&self) -> impl Iterator<Item = (Span, u64)> + '_ {
        let buckets = self.counts.iter().enumerate();
        buckets
            .filter(|(_, count)| **count > 0)
            .map(|(bucket, count)| (Span::from_nanos(last_of(bucket)), *count))
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Timing {
    /// How late packets were written, after the moment the model gave them.
    pub lateness: Histogram,
    /// The longest time the loop was away: late after a moment it had asked to be woken at, or busy with one turn.
    pub longest_gap: Span,
    /// How often the loop went round.
    pub turns: u64,
    /// How often it slept.
    pub sleeps: u64,
}

impl Timing {
    /// The loop has been away for so long.
    pub fn note_gap(&mut self, gap: Span) {
        self.longest_gap = self.longest_gap.max(gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_span_is_in_a_bucket_not_much_longer(nanos: u64, shift in 0..64_u32) {
            let nanos = nanos >> shift;
            let last = last_of(bucket(nanos));
            prop_assert!(last >= nanos && last - nanos <= nanos / 8);
            prop_assert_eq!(bucket(last), bucket(nanos));
            prop_assert!(last == u64::MAX || bucket(last + 1) == bucket(nanos) + 1);
        }

        #[test]
        fn quantiles_are_those_of_the_sorted_list_within_an_eighth(
            mut spans in prop::collection::vec(0..u64::MAX / 2, 1..200),
            quantile in 0.0..=1.0_f64,
        ) {
            let mut histogram = Histogram::default();
            spans.iter().for_each(|span| histogram.add(Span::from_nanos(*span)));
            spans.sort_unstable();
            let rank = ((quantile * spans.len() as f64).ceil() as usize).max(1);
            let exact = spans[rank - 1];
            let told = histogram.quantile(quantile).as_nanos();
            prop_assert!(told >= exact && told - exact <= exact / 8);
            prop_assert_eq!(histogram.most().as_nanos(), spans[spans.len() - 1]);
            prop_assert_eq!(histogram.buckets().map(|(_, count)| count).sum::<u64>(), spans.len() as u64);
        }
    }

    #[test]
    fn nothing_counted_is_zero() {
        let empty = Histogram::default();
        assert_eq!(
            (empty.quantile(0.99), empty.most(), empty.total()),
            (Span::ZERO, Span::ZERO, 0)
        );
    }
}
