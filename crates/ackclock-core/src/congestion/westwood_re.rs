//! TCP Westwood with the rate estimate (RE).

use super::additive_increase::Growth;
use super::westwood::{Cut, control, estimator_context};
use super::{CongestionControl, ControlContext, ControlKind};
use crate::estimator::EstimatorKind;
use crate::estimator::re::Re;
use crate::registry::{Element, Recipe};
use crate::scenario::error::Result;
use crate::scenario::files::Files;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WestwoodRe {
    /// The estimate.
    pub estimator: Re,
    /// When congestion avoidance opens the window (RFC 5681 section 3.1).
    pub growth: Growth,
}

impl Element<ControlKind> for WestwoodRe {
    const NAME: &'static str = "westwood_re";
    const LABEL: &'static str = "Westwood RE";
    const SUMMARY: &'static str =
        "NewReno, but a loss leaves the window that the rate estimate RE says the path holds.";
    const REFERENCE: &'static str = <Re as Element<EstimatorKind>>::REFERENCE;

    fn check(&mut self, files: &dyn Files) -> Result<()> {
        self.estimator
            .check(files)
            .map_err(|error| error.within("estimator"))
    }
}

impl Recipe<ControlKind> for WestwoodRe {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        let estimate = self.estimator.start(&estimator_context(&context));
        control(&context, self.growth, Cut::AtLoss, Box::new(estimate))
    }
}
