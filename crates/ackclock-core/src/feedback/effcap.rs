//! EFFCAP: the smallest of the last sliding means, a capacity that is reliable for a while.
//!
//! In the paper's symbols, where c_i is measurement i:
//!
//! ```text
//! avg_i = (c_i + … + c_{i−M+1}) / M,   fed back: min(avg_i, …, avg_{i−N+1})
//! ```
//!
//! If capacity changes slowly, this is the present capacity. If it changes much faster than the
//! means are long, it is the mean capacity. In between, it is about the smallest capacity.

use super::sliding_mean::SlidingMean;
use super::{FeedbackAlgorithm, FeedbackKind, check_number};
use ackclock_spec::prelude::*;
use serde_json::json;
use std::collections::VecDeque;

/// Parameters. `m = 1` and `n = 1` is INSTCAP.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "m": 7, "n": 49 }))]
pub struct Effcap {
    /// M: number of measurements in each mean, at least one. About a round trip is recommended.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub m: u32,
    /// N: number of means of which the smallest is taken, at least one. Several round trips are
    /// recommended.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub n: u32,
}

impl Element<FeedbackKind> for Effcap {
    const NAME: &'static str = "effcap";
    const LABEL: &'static str = "EFFCAP";
    const SUMMARY: &'static str =
        "Feeds back the smallest of the last N means of M measurements each.";
    const REFERENCE: &'static str = "Shakkottai, Kumar, Karnik, Anvekar (2001), IEEE/ACM ToN 9(4)";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([check_number("m", self.m), check_number("n", self.n)])
    }
}

impl Factory<FeedbackKind> for Effcap {
    fn build(&self, (): ()) -> Box<dyn FeedbackAlgorithm> {
        Box::new(SmallestMean {
            parameters: *self,
            mean: SlidingMean::new(self.m),
            count: 0,
            rising: VecDeque::new(),
        })
    }
}

#[derive(Debug)]
struct SmallestMean {
    parameters: Effcap,
    mean: SlidingMean,
    /// Number of means so far.
    count: u64,
    /// Those of the last N means that no later one undercuts, with their numbers. They increase
    /// from front to back, so the first is the smallest. Each is added and removed once: the cost
    /// of a measurement does not depend on N.
    rising: VecDeque<(u64, u64)>,
}

impl FeedbackAlgorithm for SmallestMean {
    fn feed_back(&mut self, measured: BitRate) -> BitRate {
        let mean = self.mean.push(measured);
        while self
            .rising
            .back()
            .is_some_and(|&(_, earlier)| earlier >= mean)
        {
            self.rising.pop_back();
        }
        self.rising.push_back((self.count, mean));
        self.count += 1;
        let oldest = self.count.saturating_sub(self.parameters.n.into());
        if self.rising[0].0 < oldest {
            self.rising.pop_front();
        }
        BitRate::from_bit_per_s(self.rising[0].1)
    }
    fn memory(&self) -> u64 {
        // The oldest of N means depends on M - 1 earlier measurements.
        u64::from(self.parameters.n) + u64::from(self.parameters.m) - 1
    }
    fn clear(&mut self) {
        self.mean.clear();
        self.count = 0;
        self.rising.clear();
    }
}
