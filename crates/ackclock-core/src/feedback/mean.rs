//! The mean of the last measurements.

use super::sliding_mean::SlidingMean;
use super::{FeedbackAlgorithm, FeedbackKind, check_number};
use ackclock_spec::prelude::*;
use serde_json::json;

/// Parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "m": 7 }))]
pub struct Mean {
    /// M: number of measurements in the mean, at least one.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub m: u32,
}

impl Element<FeedbackKind> for Mean {
    const NAME: &'static str = "mean";
    const LABEL: &'static str = "mean capacity";
    const SUMMARY: &'static str = "Feeds back the mean of the latest measurements.";
    const REFERENCE: &'static str =
        "EFFCAP with N = 1; suits capacities that change much faster than a round trip";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        check_number("m", self.m)
    }
}

impl Factory<FeedbackKind> for Mean {
    fn build(&self, (): ()) -> Box<dyn FeedbackAlgorithm> {
        Box::new(Running {
            m: self.m,
            mean: SlidingMean::new(self.m),
        })
    }
}

#[derive(Debug)]
struct Running {
    m: u32,
    mean: SlidingMean,
}

impl FeedbackAlgorithm for Running {
    fn feed_back(&mut self, measured: BitRate) -> BitRate {
        BitRate::from_bit_per_s(self.mean.push(measured))
    }
    fn memory(&self) -> u64 {
        self.m.into()
    }
    fn clear(&mut self) {
        self.mean.clear();
    }
}
