//! TCP Westwood with combined rate and bandwidth (CRB).

use super::additive_increase::Growth;
use super::westwood::{Cut, control, estimator_context};
use super::{CongestionControl, ControlContext, ControlKind};
use crate::estimator::EstimatorKind;
use crate::estimator::crb::Crb;
use crate::registry::{Element, Recipe};
use crate::scenario::error::Result;
use crate::scenario::files::Files;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WestwoodCrb {
    /// The estimate.
    pub estimator: Crb,
    /// When congestion avoidance opens the window (RFC 5681 section 3.1).
    pub growth: Growth,
}

impl Element<ControlKind> for WestwoodCrb {
    const NAME: &'static str = "westwood_crb";
    const LABEL: &'static str = "Westwood CRB";
    const SUMMARY: &'static str = "NewReno, but a loss leaves the window of RE if it looks like congestion, of BE if it looks like an error.";
    const REFERENCE: &'static str = <Crb as Element<EstimatorKind>>::REFERENCE;

    fn check(&mut self, files: &dyn Files) -> Result<()> {
        self.estimator
            .check(files)
            .map_err(|error| error.within("estimator"))
    }
}

impl Recipe<ControlKind> for WestwoodCrb {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        let estimate = self.estimator.start(&estimator_context(&context));
        control(&context, self.growth, Cut::AtLoss, Box::new(estimate))
    }
}
