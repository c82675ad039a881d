//! Ranges reported by SACK blocks, in order, not touching each other.

/// Most ranges remembered: every other segment of a window of about two dozen megabytes. Further
/// ones are dropped.
const MOST: usize = 8_192;

/// Ranges of sequence numbers reported by SACK blocks.
#[derive(Clone, Debug, Default)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Adds the numbers between `low` and `high`; returns true if any of them is new.
    pub fn add(&mut self, low: u64, high: u64) -> bool {
        if low >= high {
            return false;
        }
        let first = self.0.partition_point(|range| range.1 < low);
        let end = first + self.0[first..].partition_point(|range| range.0 <= high);
        if let Some(range) = self.0[first..end].first()
            && range.0 <= low
            && high <= range.1
        {
            return false;
        }
        let merged = self.0[first..end].iter().fold((low, high), |all, range| {
            (all.0.min(range.0), all.1.max(range.1))
        });
        if first == end {
            if self.0.len() == MOST {
                return false;
            }
            self.0.insert(first, merged);
        } else {
            self.0[first] = merged;
            self.0.drain(first + 1..end);
        }
        true
    }

    /// Removes the numbers before `low`.
    pub fn forget_before(&mut self, low: u64) {
        let gone = self.0.partition_point(|range| range.1 <= low);
        self.0.drain(..gone);
        if let Some(first) = self.0.first_mut() {
            first.0 = first.0.max(low);
        }
    }

    /// True if it contains all numbers between `low` and `high`.
    pub fn contains(&self, low: u64, high: u64) -> bool {
        let at = self.0.partition_point(|range| range.1 <= low);
        self.0
            .get(at)
            .is_some_and(|range| range.0 <= low && high <= range.1)
    }

    /// True if it contains any number beyond `low`.
    pub fn reaches_beyond(&self, low: u64) -> bool {
        self.0.last().is_some_and(|range| range.1 > low)
    }

    /// Returns how many numbers it contains.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|(low, high)| high - low).sum()
    }

    /// True if it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Comparison with a set of numbers.
        #[test]
        fn ranges_are_the_union_of_what_was_added(
            steps in prop::collection::vec((0..100_u64, 0..20_u64, any::<bool>()), 1..60),
        ) {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for (low, length, forget) in steps {
                if forget {
                    ranges.forget_before(low / 4);
                    set.retain(|number| *number >= low / 4);
                } else {
                    let before = set.len();
                    set.extend(low..low + length);
                    prop_assert_eq!(ranges.add(low, low + length), set.len() > before);
                }
                prop_assert!(ranges.0.windows(2).all(|pair| pair[0].1 < pair[1].0));
                prop_assert_eq!(
                    ranges.0.iter().map(|(low, high)| high - low).sum::<u64>(),
                    set.len() as u64,
                );
                prop_assert_eq!(
                    ranges.contains(low, low + 5),
                    (low..low + 5).all(|number| set.contains(&number)),
                );
                prop_assert_eq!(
                    ranges.reaches_beyond(low),
                    set.iter().any(|number| *number >= low),
                );
                prop_assert_eq!(ranges.is_empty(), set.is_empty());
            }
        }
    }
}
