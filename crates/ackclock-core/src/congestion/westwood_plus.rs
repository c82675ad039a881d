//! TCP Westwood+, and its variant in Linux.

use super::additive_increase::Growth;
use super::facts::{ControlFacts, KeptShare, LinuxControl};
use super::westwood::{Cut, control, estimator_context};
use super::{CongestionControl, ControlContext, ControlKind};
use crate::estimator::westwood_linux::WestwoodLinux;
use crate::estimator::{EstimatorKind, westwood_plus};
use ackclock_spec::prelude::*;

/// Parameters. Linux corresponds to `estimator = { kind = "westwood_linux" }`, `cut =
/// "at_recovery_end"` and `growth = "per_window"`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WestwoodPlus {
    /// Estimator of the rate.
    pub estimator: Arithmetic,
    /// Moment at which a loss sets the congestion window to the estimated amount that the path
    /// holds.
    pub cut: Cut,
    /// Moment at which congestion avoidance opens the congestion window (RFC 5681 section 3.1).
    pub growth: Growth,
}

/// The arithmetic of Westwood+.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Arithmetic {
    /// Real numbers, as in the papers.
    WestwoodPlus(westwood_plus::WestwoodPlus),
    /// Whole bytes per jiffy, as in Linux.
    WestwoodLinux(WestwoodLinux),
}

impl Default for Arithmetic {
    fn default() -> Self {
        Arithmetic::WestwoodPlus(westwood_plus::WestwoodPlus::default())
    }
}

impl Element<ControlKind> for WestwoodPlus {
    const NAME: &'static str = "westwood_plus";
    const LABEL: &'static str = "Westwood+";
    const SUMMARY: &'static str =
        "NewReno that sets the window after a loss from one filtered rate sample per round trip.";
    const REFERENCE: &'static str =
        <westwood_plus::WestwoodPlus as Element<EstimatorKind>>::REFERENCE;

    fn check(&mut self, files: &dyn Files) -> Result<()> {
        let checked = match &mut self.estimator {
            Arithmetic::WestwoodPlus(plus) => plus.check(files),
            Arithmetic::WestwoodLinux(linux) => linux.check(files),
        };
        checked.map_err(|error| error.within("estimator"))
    }

    fn facts(&self) -> ControlFacts {
        let kernel = WestwoodPlus {
            estimator: Arithmetic::WestwoodLinux(WestwoodLinux::default()),
            cut: Cut::AtRecoveryEnd,
            growth: Growth::PerWindow,
        };
        ControlFacts {
            linux: Stated::Some(LinuxControl::new("westwood", self, &kernel)),
            ..ControlFacts::linear(1.0, KeptShare::ByEstimate)
        }
    }
}

impl Factory<ControlKind> for WestwoodPlus {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        let estimating = estimator_context(&context);
        match &self.estimator {
            Arithmetic::WestwoodPlus(plus) => control(
                &context,
                self.growth,
                self.cut,
                Box::new(plus.start(&estimating)),
            ),
            Arithmetic::WestwoodLinux(linux) => control(
                &context,
                self.growth,
                self.cut,
                Box::new(linux.start(&estimating)),
            ),
        }
    }
}
