//! The mean of the last few measurements.

use crate::units::BitRate;
use std::collections::VecDeque;

/// Takes one addition and one subtraction a measurement; in whole numbers, so that it forgets
/// without a trace.
#[derive(Debug)]
pub(super) struct SlidingMean {
    length: usize,
    last: VecDeque<u64>,
    sum: u128,
}

impl SlidingMean {
    /// Of the last `length` measurements, of all as long as there are fewer.
    pub fn new(length: u32) -> Self {
        SlidingMean {
            length: length as usize,
            last: VecDeque::new(),
            sum: 0,
        }
    }

    /// The mean with one more, rounded down to the bit per second.
    pub fn push(&mut self, measured: BitRate) -> u64 {
        if self.last.len() == self.length {
            self.sum -= u128::from(self.last.pop_front().unwrap_or(0));
        }
        self.last.push_back(measured.as_bit_per_s());
        self.sum += u128::from(measured.as_bit_per_s());
        (self.sum / self.last.len() as u128) as u64 // no more than the largest of them
    }

    pub fn clear(&mut self) {
        self.last.clear();
        self.sum = 0;
    }
}
