//! The facts of an impairment.

use super::{Applies, Side};
use ackclock_spec::prelude::*;

/// The facts that an impairment states about itself. A field that is not known is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ImpairmentFacts {
    /// Long-run share of packets that it loses, from 0 to 1; none if that changes at given times.
    pub mean_loss: Stated<f64>,
    /// Loss probabilities from given times on. There is no loss before the first, and the last one
    /// holds for ever.
    pub loss_steps: Stated<Vec<LossStep>>,
    /// Packets to which it applies.
    pub applies_to: Option<Applies>,
    /// Position in the hop.
    pub side: Option<Side>,
    /// Order in which its losses follow one another.
    pub spacing: Option<LossSpacing>,
    /// True if it changes at given times.
    pub changes: Option<bool>,
    /// True if it delays packets by times that vary.
    pub delays: Option<bool>,
    /// True if packets may overtake one another.
    pub reorders: Option<bool>,
    /// True if it adds copies of packets.
    pub duplicates: Option<bool>,
    /// True if it changes the ECN field.
    pub rewrites_ecn: Option<bool>,
}

/// The order in which losses follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossSpacing {
    /// Each packet is lost or not, whatever happened to the others.
    Independent,
    /// In bursts.
    Bursty,
    /// Every n-th packet.
    Even,
}

/// A loss probability and the time from which it holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LossStep {
    /// Time since the beginning of the run, in seconds.
    pub from_s: f64,
    /// Loss probability, from 0 to 1.
    pub probability: f64,
}

impl ImpairmentFacts {
    /// Returns the facts of an impairment that does nothing to the packets to which it applies.
    pub(super) fn of(applies: Applies, side: Side) -> Self {
        ImpairmentFacts {
            mean_loss: Stated::Some(0.0),
            loss_steps: Stated::None,
            applies_to: Some(applies),
            side: Some(side),
            spacing: Some(LossSpacing::Independent),
            changes: Some(false),
            delays: Some(false),
            reorders: Some(false),
            duplicates: Some(false),
            rewrites_ecn: Some(false),
        }
    }
}
