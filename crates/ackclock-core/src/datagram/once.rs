//! Each datagram counts once.

/// Tells the first arrival of a number from a copy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Once {
    /// One more than the highest number that has arrived; zero for none.
    highest: u64,
    /// Bit n: number `highest` − n has been seen.
    seen: u64,
}

impl Once {
    /// Whether this is the first arrival of that number. What comes more than 63 numbers late is
    /// taken for new: its copy would have to be as late.
    pub fn is_new(&mut self, sequence: u64) -> bool {
        let number = sequence + 1; // so that nothing received is highest = 0
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
        // Behind the window nothing is known.
        assert!(once.is_new(36) && once.is_new(36));
    }
}
