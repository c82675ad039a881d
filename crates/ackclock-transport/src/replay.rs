//! Anti-replay: a sliding window of 64 packet numbers (as in RFC 4303 section 3.4.3 for IPsec).

/// Size of the window in packet numbers.
pub const WINDOW: u64 = 64;

/// Accepts each number once. Refuses numbers below the window, since they are no longer remembered.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplayWindow {
    /// One above the largest number accepted.
    next: u64,
    /// Bit vector: bit i is set if `next` − 1 − i was accepted.
    seen: u64,
}

impl ReplayWindow {
    /// Returns true if the number is new, and records it. Call it only for authentic packets:
    /// others would move the window.
    pub fn take(&mut self, number: u64) -> bool {
        if number >= self.next {
            // The largest number is refused, since nothing could follow it. No session gets that
            // far.
            let Some(next) = number.checked_add(1) else {
                return false;
            };
            let shift = next - self.next;
            self.seen = if shift < WINDOW {
                self.seen << shift
            } else {
                0
            } | 1;
            self.next = next;
            return true;
        }
        let age = self.next - 1 - number;
        if age >= WINDOW || self.seen >> age & 1 == 1 {
            return false;
        }
        self.seen |= 1 << age;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        /// Comparison with a set that forgets nothing.
        #[test]
        fn each_number_is_taken_once_and_all_that_are_recent_are(
            start in prop_oneof![Just(0_u64), Just(1 << 63), 0..u64::MAX - 100_000],
            steps in prop::collection::vec(prop_oneof![0_u64..4, 0_u64..200], 1..400),
            back in prop::collection::vec(0_u64..130, 400),
        ) {
            let mut window = ReplayWindow::default();
            let mut taken = HashSet::new();
            let (mut forward, mut largest) = (start, None);
            for (step, back) in steps.iter().zip(back) {
                forward += step;
                for number in [forward, forward.saturating_sub(back)] {
                    let is_recent = largest.is_none_or(|largest: u64| number + WINDOW > largest);
                    let expected = is_recent && !taken.contains(&number);
                    prop_assert_eq!(
                        window.take(number),
                        expected,
                        "{} after {:?}",
                        number,
                        largest
                    );
                    if expected {
                        taken.insert(number);
                        largest = Some(largest.unwrap_or(0).max(number));
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_breaks_at_the_ends_of_the_range() {
        let mut window = ReplayWindow::default();
        assert!(window.take(0));
        assert!(!window.take(0));
        assert!(window.take(u64::MAX - 1));
        assert!(!window.take(u64::MAX));
        assert!(!window.take(0));
        assert!(window.take(u64::MAX - 2));
    }
}
