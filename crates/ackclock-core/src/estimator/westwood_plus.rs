//! Westwood+: one sample per round trip, which compressed ACKs cannot raise, through a filter of constant gain.

use super::observation::{Observation, Observer};
use super::{AckSample, EstimatorContext, EstimatorKind, RateEstimator, seconds};
use crate::registry::{Element, Recipe};
use crate::scenario::error::{Error, Result};
use crate::scenario::files::Files;
use crate::units::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WestwoodPlus {
    /// What the estimate keeps of its value at each sample.
    pub kept: f64,
    /// A sample takes the last round-trip time, but no less than this. Linux has 50 ms; the papers have no such bound.
    pub shortest: Span,
    /// What is taken from each ACK.
    pub observation: Observation,
}

impl Default for WestwoodPlus {
    fn default() -> Self {
        WestwoodPlus {
            kept: 0.9,
            shortest: Span::ZERO,
            observation: Observation::default(),
        }
    }
}

impl Element<EstimatorKind> for WestwoodPlus {
    const NAME: &'static str = "westwood_plus";
    const LABEL: &'static str = "Westwood+";
    const SUMMARY: &'static str =
        "What a round trip delivers, per round-trip time, through a filter of constant gain.";
    const REFERENCE: &'static str = "Mascolo, Grieco, Ferorelli, Camarda, Piscitelli (2004), Performance Evaluation of Westwood+ TCP Congestion Control";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        if !(0.0..1.0).contains(&self.kept) {
            return Err(Error::new(
                "kept",
                &self.kept.into(),
                "is not between 0 and 1, 1 excluded; write for example 0.9",
            ));
        }
        self.observation.check()
    }
}

impl Recipe<EstimatorKind> for WestwoodPlus {
    fn build(&self, context: EstimatorContext) -> Box<dyn RateEstimator> {
        Box::new(self.start(&context))
    }
}

impl WestwoodPlus {
    /// One for a connection.
    pub fn start(&self, context: &EstimatorContext) -> EstimatePerRound {
        EstimatePerRound {
            kept: self.kept,
            shortest: self.shortest,
            observer: Observer::new(&self.observation, context.mss),
            round: None,
            bytes: 0.0,
            rtt: None,
            rate: None,
        }
    }
}

/// Westwood+ of one connection.
#[derive(Debug)]
pub struct EstimatePerRound {
    kept: f64,
    shortest: Span,
    observer: Observer,
    /// When the present sample began.
    round: Option<Time>,
    /// Delivered since.
    bytes: f64,
    /// The last round-trip time, before the present ACK.
    rtt: Option<Span>,
    rate: Option<f64>,
}

impl EstimatePerRound {
    fn end_round(&mut self, elapsed: Span) {
        let sample = self.bytes / seconds(elapsed);
        // The first sample is taken as it is.
        self.rate = Some(
            self.rate
                .map_or(sample, |rate| self.kept * rate + (1.0 - self.kept) * sample),
        );
        self.bytes = 0.0;
    }
}

impl RateEstimator for EstimatePerRound {
    /// The ACK that ends a sample belongs to the next.
    fn on_ack(&mut self, now: Time, ack: &AckSample) {
        match self.round {
            None => {
                self.observer.begin(ack);
                self.round = Some(now);
            }
            Some(began) => {
                let elapsed = now.since(began);
                if self.rtt.is_some_and(|rtt| elapsed > rtt.max(self.shortest)) {
                    self.end_round(elapsed);
                    self.round = Some(now);
                }
                self.bytes += self.observer.take(ack);
            }
        }
        self.rtt = ack.rtt.or(self.rtt);
    }

    fn rate(&self) -> f64 {
        self.rate.unwrap_or(0.0)
    }

    fn rtt_min(&self) -> Option<f64> {
        self.observer.rtt_min()
    }
}
