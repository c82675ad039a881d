//! How many packets left together, how often.

/// More together than that count as so many.
const MOST: usize = 4096;

/// A histogram of bursts: how often so many packets left between two looks at the clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bursts {
    counts: Vec<u64>,
}

impl Bursts {
    /// So many packets have left together; none is no burst.
    pub fn add(&mut self, packets: usize) {
        let Some(index) = packets.min(MOST).checked_sub(1) else {
            return;
        };
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
    }

    /// Packets in a burst, and how many bursts there were of so many; the smallest first.
    pub fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        let counted = self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        counted.map(|(index, count)| (index + 1, *count))
    }

    /// The packets of the largest burst.
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
