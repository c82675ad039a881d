//! The smallest of the last sliding means: what the path can be trusted to carry for a while.
//!
//! With the paper's letters, c_i being the measurement i:
//!
//! ```text
//! avg_i = (c_i + … + c_{i−M+1}) / M,   fed back: min(avg_i, …, avg_{i−N+1})
//! ```
//!
//! When capacity changes slowly this is the capacity of now; when it changes much faster than the
//! means are long, the mean capacity; in between, about the smallest capacity.

use super::sliding_mean::SlidingMean;
use super::{FeedbackAlgorithm, FeedbackKind, check_number};
use crate::registry::{Element, Factory};
use crate::scenario::error::Result;
use crate::scenario::files::Files;
use crate::units::BitRate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::VecDeque;

/// Parameters. `m = 1` and `n = 1` is INSTCAP.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "m": 7, "n": 49 }))]
pub struct Effcap {
    /// M: each mean is of so many measurements, at least one. About a round trip of them is
    /// advised.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub m: u32,
    /// N: the smallest of so many means is taken, at least one. Some round trips of them are
    /// advised.
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
        check_number("m", self.m)?;
        check_number("n", self.n)
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
    /// Means so far.
    count: u64,
    /// Those of the last N means that no later one undercuts, with their numbers: they rise from
    /// front to back, and the first is the smallest. Each comes and goes once, so that a
    /// measurement costs the same for any N.
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
        // The oldest of N means reaches back M - 1 measurements further.
        u64::from(self.parameters.n) + u64::from(self.parameters.m) - 1
    }
    fn clear(&mut self) {
        self.mean.clear();
        self.count = 0;
        self.rising.clear();
    }
}
