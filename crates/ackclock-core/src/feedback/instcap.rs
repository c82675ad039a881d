//! The last measurement, unchanged.

use super::{FeedbackAlgorithm, FeedbackKind};
use ackclock_spec::prelude::*;

/// Parameters: none.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Instcap {}

impl Element<FeedbackKind> for Instcap {
    const NAME: &'static str = "instcap";
    const LABEL: &'static str = "INSTCAP";
    const SUMMARY: &'static str = "Feeds back the latest measured capacity.";
    const REFERENCE: &'static str = "Shakkottai, Kumar, Karnik, Anvekar (2001), IEEE/ACM ToN 9(4)";
}

impl Factory<FeedbackKind> for Instcap {
    fn build(&self, (): ()) -> Box<dyn FeedbackAlgorithm> {
        Box::new(*self)
    }
}

impl FeedbackAlgorithm for Instcap {
    fn feed_back(&mut self, measured: BitRate) -> BitRate {
        measured
    }
    fn memory(&self) -> u64 {
        1
    }
    fn clear(&mut self) {}
}
