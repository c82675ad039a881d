//! Facts that a rate control states about itself.

use crate::congestion::facts::{GrowthLaw, KeptShare};
use ackclock_spec::quantity::OptionalWindow;
use ackclock_spec::stated::Stated;
use schemars::JsonSchema;
use serde::Serialize;

/// Facts that a rate control states about itself for its parameters. A field that is not known is
/// null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct RateControlFacts {
    /// Law by which the rate grows.
    pub growth: Option<GrowthLaw>,
    /// Share of the rate that is kept after a loss.
    pub kept_after_loss: Option<KeptShare>,
    /// Share of the rate that is kept after an ECN mark.
    pub kept_after_mark: Option<KeptShare>,
    /// True if a loss makes it send less.
    pub reacts_to_loss: Option<bool>,
    /// True if longer round trips make it send less.
    pub reacts_to_delay: Option<bool>,
    /// Throughput equation that it follows.
    pub equation: Stated<EquationFacts>,
}

/// A throughput equation with its inputs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EquationFacts {
    /// Loss rate in the equation.
    pub loss: EquationLoss,
    /// b: packets that one ACK of the equation's TCP acknowledges.
    pub packets_per_ack: f64,
    /// Receive window of the equation's TCP.
    pub receive_window: OptionalWindow,
    /// Retransmission timeout of the equation's TCP while the round-trip time is steady.
    pub timeout: EquationTimeout,
}

/// The loss rate in an equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EquationLoss {
    /// The share of packets lost in the last round (TFRCP).
    LastRound,
    /// The inverse of the mean of the last loss intervals (TFRC, RFC 5348 section 5).
    LossIntervals,
}

/// A timeout: the larger of a multiple of the round-trip time and a minimum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EquationTimeout {
    /// Multiple of the round-trip time.
    pub round_trips: f64,
    /// Minimum, in seconds.
    pub minimum_s: f64,
}

impl RateControlFacts {
    /// A control that sends at the rate of an equation.
    pub(super) fn by_equation(equation: EquationFacts) -> Self {
        RateControlFacts {
            growth: Some(GrowthLaw::ByEquation),
            kept_after_loss: Some(KeptShare::ByEstimate),
            kept_after_mark: Some(KeptShare::ByEstimate),
            reacts_to_loss: Some(true),
            reacts_to_delay: Some(true),
            equation: Stated::Some(equation),
        }
    }
}
