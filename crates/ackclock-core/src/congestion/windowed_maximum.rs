//! The windowed maximum of Linux (`lib/win_minmax.c`): constant memory, approximately exact.

/// A value and the round in which it was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Seen {
    round: u64,
    value: u64,
}

/// The largest value of the last rounds. Keeps the best, and the best seen after it, twice.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowedMaximum([Seen; 3]);

impl WindowedMaximum {
    /// Returns the maximum.
    pub const fn get(&self) -> u64 {
        self.0[0].value
    }

    /// Takes in a value seen in `round`; `window` is the age up to which values count.
    pub fn update(&mut self, window: u64, round: u64, value: u64) {
        let seen = Seen { round, value };
        let best = &mut self.0;
        if value >= best[0].value || round.saturating_sub(best[2].round) > window {
            *best = [seen; 3];
            return;
        }
        if value >= best[1].value {
            (best[1], best[2]) = (seen, seen);
        } else if value >= best[2].value {
            best[2] = seen;
        }
        self.age(window, seen);
    }

    /// Replaces what is too old. A successor is chosen early enough to be from another part of the
    /// window than the best.
    fn age(&mut self, window: u64, seen: Seen) {
        let best = &mut self.0;
        let age = seen.round.saturating_sub(best[0].round);
        if age > window {
            *best = [best[1], best[2], seen];
            if seen.round.saturating_sub(best[0].round) > window {
                *best = [best[1], best[2], seen];
            }
        } else if best[1].round == best[0].round && age > window / 4 {
            (best[1], best[2]) = (seen, seen);
        } else if best[2].round == best[1].round && age > window / 2 {
            best[2] = seen;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks against the true maximum. The filter may forget early what it never held, but never
    /// keeps a value longer than the window, and never misses the newest.
    #[test]
    fn a_peak_is_kept_for_the_window_and_not_longer() {
        let mut filter = WindowedMaximum::default();
        filter.update(10, 5, 100);
        for round in 6..=15 {
            filter.update(10, round, 40);
            assert_eq!(filter.get(), 100, "{round}");
        }
        filter.update(10, 16, 40);
        assert_eq!(filter.get(), 40);
        filter.update(10, 17, 50);
        assert_eq!(filter.get(), 50);
    }

    #[test]
    fn after_a_long_silence_only_the_new_value_counts() {
        let mut filter = WindowedMaximum::default();
        filter.update(10, 1, 100);
        filter.update(10, 100, 7);
        assert_eq!(filter.get(), 7);
    }
}
