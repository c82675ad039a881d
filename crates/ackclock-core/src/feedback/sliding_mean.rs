//! The mean of the last few measurements.

use ackclock_spec::units::BitRate;
use std::collections::VecDeque;

/// Sliding mean with one addition and one subtraction per measurement. Integers avoid residual
/// rounding errors of discarded measurements.
#[derive(Debug)]
pub(super) struct SlidingMean {
    length: usize,
    last: VecDeque<u64>,
    sum: u128,
}

impl SlidingMean {
    /// A mean of the last `length` measurements, or of all while there are fewer.
    pub fn new(length: u32) -> Self {
        SlidingMean {
            length: length as usize,
            last: VecDeque::new(),
            sum: 0,
        }
    }

    /// Adds a measurement, and returns the mean, rounded down to 1 bit/s.
    pub fn push(&mut self, measured: BitRate) -> u64 {
        if self.last.len() == self.length {
            self.sum -= u128::from(self.last.pop_front().unwrap_or(0));
        }
        self.last.push_back(measured.as_bit_per_s());
        self.sum += u128::from(measured.as_bit_per_s());
        (self.sum / self.last.len() as u128) as u64 // at most the largest of them
    }

    pub fn clear(&mut self) {
        self.last.clear();
        self.sum = 0;
    }
}
