//! Sizes with a heavy tail, optionally bounded.
//!
//! With shape a and smallest size k, P(X > x) = (k/x)^a. With a largest size p (the bounded Pareto
//! distribution), P(X > x) = ((k/x)^a − (k/p)^a) / (1 − (k/p)^a). The mean is given, so that
//! distributions can be exchanged under the same load, and k follows from it. Without a bound k =
//! mean (a − 1)/a. With a bound, k is found by bisection, because the mean grows with k.

use super::{SizeKind, check_size, whole};
use ackclock_spec::prelude::*;
use serde_json::json;

/// Parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "mean": "20 kB", "shape": 1.2 }))]
#[schemars(example = json!({ "mean": "20 kB", "shape": 1.2, "maximum": "10 MB" }))]
pub struct Pareto {
    /// Mean size, after bounding if there is a bound. With a shape of up to 2, the mean of a run is
    /// mostly smaller, since a few very large sizes make up most of the mean.
    #[schemars(extend("examples" = ["20 kB"]))]
    pub mean: Bytes,
    /// Shape, above 1 unless there is a bound; up to 2 the variance is infinite without one.
    #[serde(default = "usual_shape")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub shape: f64,
    /// Largest size; unbounded if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<Bytes>,
    /// Smallest size, in bytes.
    #[serde(skip)]
    minimum: f64,
}

/// The middle of 1.1 to 1.3, the shapes of the tail of web files in Crovella and Bestavros (1997).
fn usual_shape() -> f64 {
    1.2
}

impl Element<SizeKind> for Pareto {
    const NAME: &'static str = "pareto";
    const LABEL: &'static str = "Pareto";
    const SUMMARY: &'static str =
        "Pareto sizes: most are small, few carry most of the data; optionally bounded.";
    const REFERENCE: &'static str = "Crovella, Bestavros (1997), IEEE/ACM ToN 5(6); bounded: \
        Harchol-Balter, Crovella, Murta (1999), JPDC 59(2)";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let finite = self.maximum.is_some() || self.shape > 1.0;
        let remedy = "has an infinite mean; choose more than 1, for example 1.2, or set a maximum";
        every([
            check_size("mean", self.mean),
            check_positive("shape", self.shape, "1.2"),
            consistent(finite, "shape", &self.shape, &["maximum"], remedy),
            consistent(
                self.maximum.is_none_or(|maximum| maximum > self.mean),
                "maximum",
                &self.maximum,
                &["mean"],
                "is not more than the mean",
            ),
        ])?;
        self.minimum = self.find_minimum();
        Ok(())
    }
}

/// Bisections of an interval until its ends are adjacent floating-point numbers.
const BISECTIONS: u32 = 200;

impl Pareto {
    fn find_minimum(&self) -> f64 {
        let (mean, shape) = (self.mean.as_f64(), self.shape);
        let Some(maximum) = self.maximum else {
            return mean * (shape - 1.0) / shape;
        };
        let (mut low, mut high) = (0.0, mean);
        for _ in 0..BISECTIONS {
            let middle = f64::midpoint(low, high);
            if bounded_mean(middle, maximum.as_f64(), shape) < mean {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}

/// Returns the mean of the distribution bounded by k and p: the integral of P(X > x) from 0.
fn bounded_mean(k: f64, p: f64, a: f64) -> f64 {
    let cut = libm::pow(k / p, a);
    // ∫ (k/x)^a dx from k to p
    let tail = if (a - 1.0).abs() < 1e-9 {
        k * libm::log(p / k)
    } else {
        (k - p * cut) / (a - 1.0)
    };
    k + (tail - cut * (p - k)) / (1.0 - cut)
}

impl Factory<SizeKind> for Pareto {
    fn build(&self, stream: &mut Stream) -> Bytes {
        let cut = self.maximum.map_or(0.0, |maximum| {
            libm::pow(self.minimum / maximum.as_f64(), self.shape)
        });
        let tail = 1.0 - stream.uniform() * (1.0 - cut);
        let size = whole(self.minimum * libm::pow(tail, -1.0 / self.shape));
        self.maximum.map_or(size, |maximum| size.min(maximum))
    }
}
