//! A histogram of durations with buckets of constant relative width.

use ackclock_spec::units::Span;

/// Counts durations in buckets from a nanosecond to five centuries. The width of a bucket is at
/// most a `2^FINENESS`-th of its lower end; below `2^FINENESS` nanoseconds it is a nanosecond. Only
/// the buckets between the shortest and the longest duration are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram<const FINENESS: u32> {
    /// Number of the first bucket in `counts`.
    first: usize,
    counts: Vec<u64>,
    total: u64,
    most: Span,
}

/// Returns the bucket of a number: the position of its highest bit, and the bits behind it.
const fn bucket<const FINENESS: u32>(nanos: u64) -> usize {
    let octave = (nanos >> FINENESS).checked_ilog2();
    match octave {
        None => nanos as usize,
        Some(octave) => {
            let mantissa = (nanos >> octave) & ((1 << FINENESS) - 1);
            ((octave as usize + 1) << FINENESS) + mantissa as usize
        }
    }
}

/// Returns the smallest number in a bucket.
const fn first_of<const FINENESS: u32>(bucket: usize) -> u64 {
    let part = bucket as u64 & ((1 << FINENESS) - 1);
    match (bucket >> FINENESS).checked_sub(1) {
        None => part,
        Some(shift) => ((1 << FINENESS) + part) << shift,
    }
}

/// Returns the largest number in a bucket.
const fn last_of<const FINENESS: u32>(bucket: usize) -> u64 {
    let width = match (bucket >> FINENESS).checked_sub(1) {
        None => 1,
        Some(shift) => 1 << shift,
    };
    first_of::<FINENESS>(bucket) + (width - 1)
}

impl<const FINENESS: u32> Histogram<FINENESS> {
    /// Counts one duration.
    #[inline]
    pub fn add(&mut self, span: Span) {
        let bucket = bucket::<FINENESS>(span.as_nanos());
        if bucket.wrapping_sub(self.first) >= self.counts.len() {
            self.make_room(bucket);
        }
        self.counts[bucket - self.first] += 1;
        self.total += 1;
        self.most = self.most.max(span);
    }

    #[cold]
    fn make_room(&mut self, bucket: usize) {
        if self.counts.is_empty() {
            self.first = bucket;
        } else if bucket < self.first {
            let missing = self.first - bucket;
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = bucket;
        }
        let length = self.counts.len().max(bucket - self.first + 1);
        self.counts.resize(length, 0);
    }

    /// Returns the number of durations counted.
    pub const fn total(&self) -> u64 {
        self.total
    }
    /// Returns the longest duration, zero if there is none.
    pub const fn most(&self) -> Span {
        self.most
    }
    /// Returns the quantile `quantile` (0 to 1), rounded up to the end of its bucket; zero for an
    /// empty histogram.
    pub fn quantile(&self, quantile: f64) -> Span {
        // The quantile 0 is the shortest duration, so the rank is at least one.
        let rank = (libm::ceil(quantile * self.total as f64) as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in (self.first..).zip(&self.counts) {
            seen += count;
            if seen >= rank {
                return Span::from_nanos(last_of::<FINENESS>(bucket)).min(self.most);
            }
        }
        self.most
    }
    /// Returns the lower end, the upper end and the count of each bucket that is not empty.
    pub fn buckets(&self) -> impl Iterator<Item = (Span, Span, u64)> + '_ {
        let buckets = (self.first..)
            .zip(&self.counts)
            .filter(|(_, count)| **count > 0);
        buckets.map(|(bucket, count)| {
            let (low, high) = (first_of::<FINENESS>(bucket), last_of::<FINENESS>(bucket));
            (Span::from_nanos(low), Span::from_nanos(high), *count)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check_bucket<const FINENESS: u32>(nanos: u64) {
        let number = bucket::<FINENESS>(nanos);
        let (first, last) = (first_of::<FINENESS>(number), last_of::<FINENESS>(number));
        assert!(first <= nanos && nanos <= last && last - first <= first >> FINENESS);
        assert_eq!(bucket::<FINENESS>(first), number);
        assert_eq!(bucket::<FINENESS>(last), number);
        assert!(last == u64::MAX || bucket::<FINENESS>(last + 1) == number + 1);
    }

    proptest! {
        #[test]
        fn every_span_is_in_one_narrow_bucket(nanos: u64, shift in 0..64_u32) {
            check_bucket::<3>(nanos >> shift);
            check_bucket::<7>(nanos >> shift);
        }

        #[test]
        fn quantiles_are_those_of_the_sorted_list_within_an_eighth(
            mut spans in prop::collection::vec(0..u64::MAX / 2, 1..200),
            quantile in 0.0..=1.0_f64,
        ) {
            let mut histogram = Histogram::<3>::default();
            spans.iter().for_each(|span| histogram.add(Span::from_nanos(*span)));
            spans.sort_unstable();
            let rank = ((quantile * spans.len() as f64).ceil() as usize).max(1);
            let exact = spans[rank - 1];
            let estimate = histogram.quantile(quantile).as_nanos();
            prop_assert!(estimate >= exact && estimate - exact <= exact / 8);
            prop_assert_eq!(histogram.most().as_nanos(), spans[spans.len() - 1]);
            prop_assert_eq!(histogram.total(), spans.len() as u64);
            for (low, high, count) in histogram.buckets() {
                let inside = spans.iter().filter(
                    |span| (low.as_nanos()..=high.as_nanos()).contains(*span)
                );
                prop_assert_eq!(count, inside.count() as u64);
            }
            prop_assert_eq!(
                histogram.buckets().map(|(_, _, count)| count).sum::<u64>(),
                spans.len() as u64
            );
        }
    }

    #[test]
    fn nothing_counted_is_zero() {
        let empty = Histogram::<3>::default();
        assert_eq!(
            (empty.quantile(0.99), empty.most(), empty.total()),
            (Span::ZERO, Span::ZERO, 0)
        );
    }
}
