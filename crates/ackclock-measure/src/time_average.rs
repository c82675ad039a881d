//! Time average of a quantity that changes in steps.

/// A quantity over time. Times are in nanoseconds and may step back a little, which counts as no
/// time.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeAverage {
    value: u64,
    since: Option<u64>,
    least: u64,
    most: u64,
    area: f64,
    duration: u64,
}

impl TimeAverage {
    /// Sets the value from `at` on.
    pub fn set(&mut self, at: u64, value: u64) {
        let first = self.since.is_none();
        self.advance(at);
        self.value = value;
        self.least = if first { value } else { self.least.min(value) };
        self.most = self.most.max(value);
    }

    /// Extends the current value to `at`.
    pub fn advance(&mut self, at: u64) {
        let since = self.since.unwrap_or(at);
        let passed = at.saturating_sub(since);
        self.area += self.value as f64 * passed as f64;
        self.duration += passed;
        self.since = Some(since.max(at));
    }

    /// Returns the current value; 0 before it was set.
    pub const fn value(&self) -> u64 {
        self.value
    }
    /// Returns the smallest value, if it was set.
    pub fn least(&self) -> Option<u64> {
        self.since.map(|_| self.least)
    }
    /// Returns the largest value, if it was set.
    pub fn most(&self) -> Option<u64> {
        self.since.map(|_| self.most)
    }
    /// Returns the mean over time, or the current value if no time has passed. Never outside
    /// `least` and `most`, despite rounding.
    pub fn mean(&self) -> Option<f64> {
        self.since?;
        let mean = match self.duration {
            0 => self.value as f64,
            duration => self.area / duration as f64,
        };
        Some(mean.clamp(self.least as f64, self.most as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_over_time() {
        let mut quantity = TimeAverage::default();
        assert_eq!((quantity.mean(), quantity.least()), (None, None));
        quantity.set(100, 4);
        assert_eq!(quantity.mean(), Some(4.0));
        quantity.set(110, 8);
        quantity.set(105, 2); // out of order: no time has passed
        quantity.advance(140);
        assert_eq!(quantity.mean(), Some((4.0 * 10.0 + 2.0 * 30.0) / 40.0));
        assert_eq!((quantity.least(), quantity.most()), (Some(2), Some(8)));
        assert_eq!(quantity.value(), 2);
    }
}
