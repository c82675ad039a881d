//! Sizes whose logarithm is normal: the body of the sizes on file servers and in web traffic.

use super::{SizeKind, check_size, whole};
use ackclock_spec::prelude::*;
use serde_json::json;

/// Parameters. The median is mean · exp(−sigma²/2). A distribution given by mu and sigma has the
/// mean exp(mu + sigma²/2).
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "mean": "20 kB", "sigma": 1.3 }))]
#[schemars(example = json!({
    "mean": "20 kB", "sigma": 1.3, "minimum": "100 bytes", "maximum": "2 MB"
}))]
pub struct Lognormal {
    /// Mean of the sizes themselves, not of their logarithms.
    #[schemars(extend("examples" = ["20 kB"]))]
    pub mean: Bytes,
    /// Standard deviation of the natural logarithm of the size.
    #[schemars(extend("exclusiveMinimum" = 0, "examples" = [1.3]))]
    pub sigma: f64,
    /// Smallest size; a smaller one is drawn again. The mean is that without bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<Bytes>,
    /// Largest size; a larger one is drawn again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<Bytes>,
}

/// Least share of the sizes within the bounds: otherwise a size would take too many draws.
const LEAST_SHARE: f64 = 0.01;

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
        ])?;
        let bounded = self.share_up_to(self.maximum, 1.0) - self.share_up_to(self.minimum, 0.0);
        consistent(
            bounded >= LEAST_SHARE,
            "maximum",
            &self.maximum,
            &["minimum", "mean", "sigma"],
            "leaves less than a hundredth of the sizes within the bounds; widen them",
        )
    }
}

impl Lognormal {
    /// Returns the share of the sizes up to a bound; `otherwise` without one.
    fn share_up_to(&self, bound: Option<Bytes>, otherwise: f64) -> f64 {
        bound.map_or(otherwise, |bound| {
            let exponent = libm::log(bound.as_f64() / self.mean.as_f64());
            let deviations = exponent / self.sigma + self.sigma / 2.0;
            0.5 * libm::erfc(-deviations / std::f64::consts::SQRT_2)
        })
    }
}

impl Factory<SizeKind> for Lognormal {
    fn build(&self, stream: &mut Stream) -> Bytes {
        loop {
            let exponent = self.sigma * stream.normal() - self.sigma * self.sigma / 2.0;
            let size = whole(self.mean.as_f64() * libm::exp(exponent));
            let above = self.minimum.is_none_or(|minimum| size >= minimum);
            if above && self.maximum.is_none_or(|maximum| size <= maximum) {
                return size;
            }
        }
    }
}
