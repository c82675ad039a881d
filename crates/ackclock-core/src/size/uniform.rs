//! Sizes that are equally likely within bounds.

use super::{SizeKind, check_size};
use ackclock_spec::prelude::*;
use serde_json::json;

/// Parameters. Every whole number of bytes is equally likely, bounds included.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "low": "10 kB", "high": "30 kB" }))]
pub struct Uniform {
    /// Smallest size.
    #[schemars(extend("examples" = ["10 kB"]))]
    pub low: Bytes,
    /// Largest size.
    #[schemars(extend("examples" = ["30 kB"]))]
    pub high: Bytes,
}

impl Element<SizeKind> for Uniform {
    const NAME: &'static str = "uniform";
    const LABEL: &'static str = "uniform";
    const SUMMARY: &'static str = "Uniform sizes between two bounds.";
    const REFERENCE: &'static str =
        "the medium-sized transfers of Padhye, Kurose, Towsley, Koodli (1999), NOSSDAV";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let remedy = "is less than low; swap the two";
        every([
            check_size("low", self.low),
            consistent(self.high >= self.low, "high", &self.high, &["low"], remedy),
        ])
    }
}

impl Factory<SizeKind> for Uniform {
    fn build(&self, stream: &mut Stream) -> Bytes {
        let choices = (self.high - self.low).as_f64() + 1.0;
        (self.low + Bytes((stream.uniform() * choices) as u64)).min(self.high)
    }
}
