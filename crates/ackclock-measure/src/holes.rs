//! Gaps in the captured sequence numbers of a direction: data lost before the capture point, late,
//! or missed by the capture.

use std::collections::VecDeque;

/// Most holes remembered: more than a window has during recovery, but few enough for a capture that
/// misses packets all the time.
const MOST: usize = 256;

/// A gap in the sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// First missing number.
    pub low: u64,
    /// Number after the last missing one.
    pub high: u64,
    /// Time at which the packet behind the gap was captured, in nanoseconds.
    pub made_at: u64,
    /// Timestamp of the packet behind the gap.
    pub stamp: Option<u32>,
    /// IP identification of the packet behind the gap.
    pub identification: u16,
}

/// The holes of a direction, in order.
#[derive(Clone, Debug, Default)]
pub struct Holes {
    holes: VecDeque<Hole>,
    /// Bytes in holes that were forgotten because there were too many.
    forgotten: u64,
}

impl Holes {
    /// Adds a hole beyond all others.
    pub fn push(&mut self, hole: Hole) {
        debug_assert!(self.holes.back().is_none_or(|last| last.high <= hole.low));
        if self.holes.len() == MOST
            && let Some(oldest) = self.holes.pop_front()
        {
            self.forgotten += oldest.high - oldest.low;
        }
        self.holes.push_back(hole);
    }

    /// Adds a hole before all others.
    pub fn unshift(&mut self, hole: Hole) {
        debug_assert!(
            self.holes
                .front()
                .is_none_or(|first| hole.high <= first.low)
        );
        self.holes.push_front(hole);
    }

    /// Returns the number of bytes between `low` and `high` that are in holes, and the first hole
    /// that contains some of them.
    pub fn overlap(&self, low: u64, high: u64) -> (u64, Option<Hole>) {
        let first = self.holes.partition_point(|hole| hole.high <= low);
        let touched = self.holes.range(first..).take_while(|hole| hole.low < high);
        let bytes = touched
            .map(|hole| hole.high.min(high) - hole.low.max(low))
            .sum();
        let hole = self
            .holes
            .get(first)
            .filter(|hole| hole.low < high)
            .copied();
        (bytes, hole)
    }

    /// Removes the numbers between `low` and `high`, which have been captured.
    pub fn fill(&mut self, low: u64, high: u64) {
        let mut at = self.holes.partition_point(|hole| hole.high <= low);
        while let Some(&hole) = self.holes.get(at)
            && hole.low < high
        {
            let (before, after) = (hole.low < low, high < hole.high);
            match (before, after) {
                (false, false) => {
                    self.holes.remove(at);
                    continue;
                }
                (true, false) => self.holes[at].high = low,
                (false, true) => self.holes[at].low = high,
                (true, true) => {
                    self.holes[at].high = low;
                    self.holes.insert(at + 1, Hole { low: high, ..hole });
                }
            }
            at += 1;
        }
    }

    /// Returns the number of bytes below `end` that were never captured.
    pub fn missed(&self, end: u64) -> u64 {
        let below = self.holes.iter().take_while(|hole| hole.low < end);
        self.forgotten + below.map(|hole| hole.high.min(end) - hole.low).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hole(low: u64, high: u64) -> Hole {
        Hole {
            low,
            high,
            made_at: low,
            stamp: None,
            identification: 0,
        }
    }

    proptest! {
        /// Comparison with a set of numbers.
        #[test]
        fn holes_are_what_is_not_filled(
            parts in prop::collection::vec((1..5_u64, 1..5_u64), 1..20),
            fills in prop::collection::vec((0..100_u64, 1..30_u64), 0..30),
        ) {
            let mut holes = Holes::default();
            let mut missing = std::collections::BTreeSet::new();
            let mut at = 0;
            for (gap, length) in parts {
                holes.push(hole(at + gap, at + gap + length));
                missing.extend(at + gap..at + gap + length);
                at += gap + length;
            }
            for (low, length) in fills {
                let inside = missing.range(low..low + length).count() as u64;
                let (bytes, first) = holes.overlap(low, low + length);
                prop_assert_eq!(bytes, inside);
                prop_assert_eq!(first.is_some(), inside > 0);
                holes.fill(low, low + length);
                missing.retain(|number| !(low..low + length).contains(number));
                prop_assert_eq!(holes.missed(50), missing.range(..50).count() as u64);
            }
            prop_assert_eq!(holes.missed(u64::MAX), missing.len() as u64);
        }
    }

    #[test]
    fn too_many_are_forgotten_but_counted() {
        let mut holes = Holes::default();
        (0..2 * MOST as u64).for_each(|n| holes.push(hole(10 * n, 10 * n + 3)));
        assert_eq!(holes.missed(u64::MAX), 6 * MOST as u64);
        assert_eq!(holes.overlap(0, 10), (0, None));
    }
}
