//! TCP Westwood with adaptive bandwidth share estimation (ABSE).

use super::additive_increase::Growth;
use super::facts::{ControlFacts, KeptShare};
use super::westwood::{Cut, control, estimator_context};
use super::{CongestionControl, ControlContext, ControlKind};
use crate::estimator::EstimatorKind;
use crate::estimator::abse::{Abse, AbseLiteral};
use ackclock_spec::prelude::*;

/// Parameters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WestwoodAbse {
    /// Estimator of the rate.
    pub estimator: Reading,
    /// Moment at which congestion avoidance opens the congestion window (RFC 5681 section 3.1).
    pub growth: Growth,
}

/// Interpretation of the equations of ABSE.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reading {
    /// The interpretation that shares fairly, unless its parameters say otherwise.
    Abse(Abse),
    /// The equations as printed.
    AbseLiteral(AbseLiteral),
}

impl Default for Reading {
    fn default() -> Self {
        Reading::Abse(Abse::default())
    }
}

impl Element<ControlKind> for WestwoodAbse {
    const NAME: &'static str = "westwood_abse";
    const LABEL: &'static str = "Westwood ABSE";
    const SUMMARY: &'static str =
        "NewReno that sets the window after a loss from the bandwidth share estimate ABSE.";
    const REFERENCE: &'static str = <Abse as Element<EstimatorKind>>::REFERENCE;

    fn check(&mut self, files: &dyn Files) -> Result<()> {
        let checked = match &mut self.estimator {
            Reading::Abse(abse) => abse.check(files),
            Reading::AbseLiteral(literal) => literal.check(files),
        };
        checked.map_err(|error| error.within("estimator"))
    }

    fn facts(&self) -> ControlFacts {
        ControlFacts::linear(1.0, KeptShare::ByEstimate)
    }
}

impl Factory<ControlKind> for WestwoodAbse {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        let estimating = estimator_context(&context);
        let estimate = match &self.estimator {
            Reading::Abse(abse) => abse.start(&estimating),
            Reading::AbseLiteral(literal) => literal.start(&estimating),
        };
        control(&context, self.growth, Cut::AtLoss, Box::new(estimate))
    }
}
