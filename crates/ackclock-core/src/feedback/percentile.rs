//! A percentile of the last sliding means: less strict than EFFCAP's minimum.

use super::sliding_mean::SlidingMean;
use super::{FeedbackAlgorithm, FeedbackKind, check_number};
use ackclock_spec::prelude::*;
use serde_json::json;
use std::collections::VecDeque;

/// Parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "percentile": "5 %", "n": 50 }))]
pub struct Percentile {
    /// Percentile of the means that is fed back (nearest rank): `"0 %"` is the smallest of them,
    /// `"50 %"` the median.
    pub percentile: Probability,
    /// M: number of measurements in each mean, at least one.
    #[serde(default = "single_measurement")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub m: u32,
    /// N: number of means in the percentile, at least one.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub n: u32,
}

/// Tolerance for rounding, so that an integer rank stays an integer: 56 % of 25 means are 14 of
/// them.
const ROUNDING: f64 = 1e-6;

fn single_measurement() -> u32 {
    1
}

impl Element<FeedbackKind> for Percentile {
    const NAME: &'static str = "percentile";
    const LABEL: &'static str = "percentile";
    const SUMMARY: &'static str = "Feeds back a percentile of the latest means of measurements.";
    const REFERENCE: &'static str =
        "inspired by the cautious forecast of Winstein, Sivaraman, Balakrishnan (2013), NSDI";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([check_number("m", self.m), check_number("n", self.n)])
    }
}

impl Factory<FeedbackKind> for Percentile {
    fn build(&self, (): ()) -> Box<dyn FeedbackAlgorithm> {
        Box::new(Ranked {
            parameters: *self,
            mean: SlidingMean::new(self.m),
            means: VecDeque::new(),
            sorted: Vec::new(),
        })
    }
}

#[derive(Debug)]
struct Ranked {
    parameters: Percentile,
    mean: SlidingMean,
    /// The last means in order of arrival, and sorted.
    means: VecDeque<u64>,
    sorted: Vec<u64>,
}

impl FeedbackAlgorithm for Ranked {
    fn feed_back(&mut self, measured: BitRate) -> BitRate {
        let mean = self.mean.push(measured);
        let full = self.means.len() == self.parameters.n as usize;
        if full && let Some(oldest) = self.means.pop_front() {
            let place = self.sorted.partition_point(|&value| value < oldest);
            self.sorted.remove(place);
        }
        self.means.push_back(mean);
        let place = self.sorted.partition_point(|&value| value < mean);
        self.sorted.insert(place, mean);
        let rank =
            libm::ceil(self.parameters.percentile.get() * self.sorted.len() as f64 - ROUNDING)
                as usize;
        BitRate::from_bit_per_s(self.sorted[rank.saturating_sub(1)])
    }
    fn memory(&self) -> u64 {
        u64::from(self.parameters.n) + u64::from(self.parameters.m) - 1
    }
    fn clear(&mut self) {
        self.mean.clear();
        self.means.clear();
        self.sorted.clear();
    }
}
