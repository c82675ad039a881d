//! Sizes whose logarithm is normal: the body of the sizes on file servers and in web traffic.

use super::{SizeKind, check_size, whole};
use ackclock_spec::prelude::*;
use serde_json::json;

/// Parameters. The median is mean · exp(−sigma²/2). A distribution given by mu and sigma has the
/// mean exp(mu + sigma²/2).
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "mean": "20 kB", "sigma": 1.3 }))]
pub struct Lognormal {
    /// Mean of the sizes themselves, not of their logarithms.
    #[schemars(extend("examples" = ["20 kB"]))]
    pub mean: Bytes,
    /// Standard deviation of the natural logarithm of the size.
    #[schemars(extend("exclusiveMinimum" = 0, "examples" = [1.3]))]
    pub sigma: f64,
}

impl Element<SizeKind> for Lognormal {
    const NAME: &'static str = "lognormal";
    const LABEL: &'static str = "lognormal";
    const SUMMARY: &'static str = "Log-normal sizes: their logarithm is normally distributed.";
    const REFERENCE: &'static str =
        "Barford, Crovella (1998), SIGMETRICS: the body of the sizes of web files";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            check_size("mean", self.mean),
            check_positive("sigma", self.sigma, "1.3"),
        ])
    }
}

impl Factory<SizeKind> for Lognormal {
    fn build(&self, stream: &mut Stream) -> Bytes {
        let exponent = self.sigma * stream.normal() - self.sigma * self.sigma / 2.0;
        whole(self.mean.as_f64() * libm::exp(exponent))
    }
}
