//! Detection of duplicate datagrams.

/// Distinguishes the first arrival of a number from its copies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Once {
    /// One more than the highest number that has arrived; zero for none.
    highest: u64,
    /// Bit n is set if number `highest` − n has been seen.
    seen: u64,
}

impl Once {
    /// Returns true for the first arrival of a number. A number more than 63 behind counts as new:
    /// only a copy as late would be misjudged.
    pub fn is_new(&mut self, sequence: u64) -> bool {
        let number = sequence + 1; // so that highest = 0 means that none has arrived
        if number > self.highest {
            let ahead = number - self.highest;
            self.seen = if ahead < 64 { self.seen << ahead } else { 0 };
            self.highest = number;
        }
        let behind = self.highest - number;
        let bit = 1_u64.checked_shl(behind as u32).unwrap_or(0);
        if behind < 64 && self.seen & bit != 0 {
            return false;
        }
        self.seen |= bit;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_new_once() {
        let mut once = Once::default();
        let new: Vec<bool> = [0, 1, 1, 3, 2, 2, 0, 100, 100, 40, 40, 37]
            .map(|n| once.is_new(n))
            .into();
        assert_eq!(
            new,
            [
                true, true, false, true, true, false, false, true, false, true, false, true
            ]
        );
        // Nothing is known of numbers behind the window.
        assert!(once.is_new(36) && once.is_new(36));
    }
}
