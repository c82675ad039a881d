//! What a rate control states about itself.

use crate::congestion::facts::{GrowthLaw, KeptShare};
use crate::scenario::quantity::OptionalWindow;
use schemars::JsonSchema;
use serde::Serialize;

/// What a rate control states about itself with its parameters. A field that is not known is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct RateControlFacts {
    /// The law by which the rate grows.
    pub growth: Option<GrowthLaw>,
    /// By how many packets per round-trip time the rate grows in each round trip, where that is a
    /// constant.
    pub growth_segments_per_rtt: Option<f64>,
    /// The share of the rate that is kept after a loss.
    pub kept_after_loss: Option<KeptShare>,
    /// The share of the rate that is kept after an ECN mark.
    pub kept_after_mark: Option<KeptShare>,
    /// Whether a loss makes it send less.
    pub reacts_to_loss: Option<bool>,
    /// Whether longer round trips make it send less.
    pub reacts_to_delay: Option<bool>,
    /// The throughput equation that it follows; null also if it follows none.
    pub equation: Option<EquationFacts>,
}

/// A throughput equation and what it is given.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EquationFacts {
    /// The loss rate that it is given.
    pub loss: EquationLoss,
    /// b: packets that one acknowledgement of the TCP in the equation answers.
    pub packets_per_ack: f64,
    /// The receiver's window of the TCP in the equation.
    pub receive_window: OptionalWindow,
    /// The retransmission timeout of the TCP in the equation while the round-trip time is steady.
    pub timeout: EquationTimeout,
}

/// The loss rate that an equation is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EquationLoss {
    /// The share of packets lost in the last round (TFRCP).
    LastRound,
    /// The inverse of the mean of the last loss intervals (TFRC, RFC 5348 section 5).
    LossIntervals,
}

/// A timeout: the larger of a number of round-trip times and a minimum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EquationTimeout {
    /// Round-trip times.
    pub round_trips: f64,
    /// Seconds.
    pub minimum_s: f64,
}

impl RateControlFacts {
    /// A control that sends what an equation gives.
    pub(super) fn by_equation(equation: EquationFacts) -> Self {
        RateControlFacts {
            growth: Some(GrowthLaw::ByEquation),
            growth_segments_per_rtt: None,
            kept_after_loss: Some(KeptShare::ByEstimate),
            kept_after_mark: Some(KeptShare::ByEstimate),
            reacts_to_loss: Some(true),
            reacts_to_delay: Some(true),
            equation: Some(equation),
        }
    }
}
