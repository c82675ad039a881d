//! The facts of a link.

use super::contention::Contention;
use ackclock_spec::prelude::*;

/// The facts that a link states about itself. A field that is not known is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct LinkFacts {
    /// True if its rate changes.
    pub varies: Option<bool>,
    /// Long-run mean rate, in bit/s.
    pub mean_bit_per_s: Option<f64>,
    /// Highest rate, in bit/s.
    pub highest_bit_per_s: Option<u64>,
    /// States of a rate that a Markov chain chooses.
    pub states: Stated<LinkStates>,
    /// Rates from given times on, the last one for ever.
    pub steps: Stated<Vec<RateStep>>,
    /// Contention for a medium; none if the hop has its own link.
    pub contends: Stated<Contention>,
    /// Name of the hop whose link it follows.
    pub measures: Stated<String>,
    /// Feedback from the link that it follows.
    pub feedback: Stated<FeedbackFacts>,
}

/// The states of a Markov link.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LinkStates {
    /// Rates, in bit/s.
    pub bit_per_s: Vec<u64>,
    /// Mean time in each state, in seconds; none if it is never left.
    pub sojourns_s: Vec<Stated<f64>>,
    /// The state changes only at multiples of this, in seconds; zero if it may change at any time.
    pub step_s: f64,
}

/// A rate and the time from which it holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RateStep {
    /// Time since the beginning of the run, in seconds.
    pub from_s: f64,
    /// Rate, in bit/s.
    pub bit_per_s: u64,
}

/// The feedback from the link that a link follows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FeedbackFacts {
    /// Name of the feedback algorithm.
    pub algorithm: String,
    /// Number of measurements that the algorithm uses; with 1 it follows the latest.
    pub measurements: u64,
    /// Time from the beginning of a measurement until the link follows it, in seconds.
    pub lag_s: f64,
    /// Share of the rate fed back that the link takes, from 0 to 1.
    pub share: f64,
    /// Lowest rate, in bit/s.
    pub lowest_bit_per_s: u64,
    /// True if the link takes the rate fed back at once; false if it rises or falls to it by what
    /// its own packets bring back.
    pub jumps: bool,
}

impl LinkFacts {
    /// True if the rate is a function of the link's own stream and of time alone. Otherwise a
    /// second instance, which serves no packets, has another rate.
    pub fn has_rate_of_time(&self) -> bool {
        let jumps = self.feedback.some().is_none_or(|feedback| feedback.jumps);
        jumps && !self.contends.is_some()
    }

    /// Returns the facts of a hop's own link, of whose rate nothing is known but whether it varies.
    pub(super) const fn own(varies: bool) -> Self {
        LinkFacts {
            varies: Some(varies),
            mean_bit_per_s: None,
            highest_bit_per_s: None,
            states: Stated::None,
            steps: Stated::None,
            contends: Stated::None,
            measures: Stated::None,
            feedback: Stated::None,
        }
    }
}
