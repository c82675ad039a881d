//! What a link states about itself.

use super::contention::Contention;
use schemars::JsonSchema;
use serde::Serialize;

/// What a link states about itself with its parameters. A field that is not known is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct LinkFacts {
    /// Whether its rate changes.
    pub varies: Option<bool>,
    /// The rate in the long run, in bit/s.
    pub mean_bit_per_s: Option<f64>,
    /// The highest rate, in bit/s.
    pub highest_bit_per_s: Option<u64>,
    /// The states of a rate that a Markov chain chooses; null also if it is none.
    pub states: Option<LinkStates>,
    /// The rates of given times; null if it has none. The last one stays.
    pub steps: Option<Vec<RateStep>>,
    /// How it contends for a medium; null if the link is its own.
    pub contends: Option<Contention>,
    /// The name of the hop whose link it follows; null if it follows none.
    pub measures: Option<String>,
    /// What it makes of the link that it follows.
    pub feedback: Option<FeedbackFacts>,
}

/// The states of a Markov link.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LinkStates {
    /// The rates, in bit/s.
    pub bit_per_s: Vec<u64>,
    /// The mean time in each state, in seconds; null if it is never left.
    pub sojourns_s: Vec<Option<f64>>,
    /// The state changes only at multiples of this, in seconds; zero if at any time.
    pub step_s: f64,
}

/// A rate and the moment from which it holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RateStep {
    /// Seconds since the beginning of the run.
    pub from_s: f64,
    /// Bit/s.
    pub bit_per_s: u64,
}

/// What a link makes of the link that it follows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FeedbackFacts {
    /// The name of the algorithm.
    pub algorithm: String,
    /// How many measurements decide; 1 follows the last one.
    pub measurements: u64,
    /// How long after the beginning of a measurement the link follows it, in seconds.
    pub lag_s: f64,
    /// The share of the rate fed back that the link takes, from 0 to 1.
    pub share: f64,
    /// The lowest rate, in bit/s.
    pub lowest_bit_per_s: u64,
}
