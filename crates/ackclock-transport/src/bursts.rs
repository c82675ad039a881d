//! Burst sizes: counts of packets that left together.

/// Largest burst size counted; larger ones count as this size.
const MOST: usize = 4096;

/// A histogram of burst sizes. A burst is the packets that leave between two readings of the clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bursts {
    counts: Vec<u64>,
}

impl Bursts {
    /// Counts a burst of this many packets; ignores 0.
    pub fn add(&mut self, packets: usize) {
        let Some(index) = packets.min(MOST).checked_sub(1) else {
            return;
        };
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
    }

    /// Yields each burst size in packets and the number of such bursts, in ascending order.
    pub fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        let counted = self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        counted.map(|(index, count)| (index + 1, *count))
    }

    /// Returns the size of the largest burst in packets.
    pub const fn largest(&self) -> usize {
        self.counts.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_counted_by_size() {
        let mut bursts = Bursts::default();
        [0, 1, 1, 3, 1, MOST + 7]
            .iter()
            .for_each(|packets| bursts.add(*packets));
        assert_eq!(
            bursts.counts().collect::<Vec<_>>(),
            [(1, 3), (3, 1), (MOST, 1)]
        );
        assert_eq!(bursts.largest(), MOST);
    }
}
