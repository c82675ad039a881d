//! What an impairment states about itself.

use super::{Applies, Side};
use schemars::JsonSchema;
use serde::Serialize;

/// What an impairment states about itself with its parameters. A field that is not known is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ImpairmentFacts {
    /// The share of packets that it loses in the long run, from 0 to 1; null where that changes at
    /// given times.
    pub mean_loss: Option<f64>,
    /// The loss probabilities of given times; null if it has none. Before the first nothing is
    /// lost, the last one stays.
    pub loss_steps: Option<Vec<LossStep>>,
    /// Which packets it concerns.
    pub applies_to: Option<Applies>,
    /// Where in the hop it acts.
    pub side: Option<Side>,
    /// Whether losses come in bursts.
    pub bursty: Option<bool>,
    /// Whether it changes at given times.
    pub changes: Option<bool>,
    /// Whether it delays packets by random times.
    pub delays: Option<bool>,
    /// Whether packets may overtake one another.
    pub reorders: Option<bool>,
    /// Whether it adds copies of packets.
    pub duplicates: Option<bool>,
}

/// A loss probability and the moment from which it holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LossStep {
    /// Seconds since the beginning of the run.
    pub from_s: f64,
    /// From 0 to 1.
    pub probability: f64,
}

impl ImpairmentFacts {
    /// An impairment that does nothing to the packets that it concerns.
    pub(super) fn of(applies: Applies, side: Side) -> Self {
        ImpairmentFacts {
            mean_loss: Some(0.0),
            loss_steps: None,
            applies_to: Some(applies),
            side: Some(side),
            bursty: Some(false),
            changes: Some(false),
            delays: Some(false),
            reorders: Some(false),
            duplicates: Some(false),
        }
    }
}
