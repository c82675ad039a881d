//! RE, the rate estimate: what was delivered over the last T, per ACK, smoothed.

use super::low_pass::{FedByAcks, LowPass};
use super::observation::{Observation, Observer};
use super::recent::Recent;
use super::{AckSample, EstimatorContext, EstimatorKind, RateEstimator, seconds};
use crate::registry::{Element, Recipe};
use crate::scenario::error::{Error, Result};
use crate::scenario::files::Files;
use crate::units::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Re {
    /// T: over how long a time a sample is taken. By default the smoothed round-trip time, which is a guess: the paper of 2002 that
    /// compares RE with BE says T = RTT for one figure.
    pub interval: Option<Span>,
    /// How samples are smoothed.
    pub low_pass: LowPass,
    /// What is taken from each ACK.
    pub observation: Observation,
}

impl Element<EstimatorKind> for Re {
    const NAME: &'static str = "re";
    const LABEL: &'static str = "RE";
    const SUMMARY: &'static str =
        "Rate estimate: at each ACK what was delivered over the last T, through a low-pass filter.";
    const REFERENCE: &'static str =
        "Wang, Valla, Sanadidi, Ng, Gerla (2002), Efficiency/Friendliness Tradeoffs in TCP Westwood, ISCC";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        if self.interval == Some(Span::ZERO) {
            return Err(Error::new(
                "interval",
                &"0 s".into(),
                "holds no ACK; write for example \"70 ms\", or leave it out",
            ));
        }
        self.low_pass.check()?;
        self.observation.check()
    }
}

impl Recipe<EstimatorKind> for Re {
    fn build(&self, context: EstimatorContext) -> Box<dyn RateEstimator> {
        Box::new(self.start(&context))
    }
}

impl Re {
    /// One for a connection.
    pub fn start(&self, context: &EstimatorContext) -> RateEstimate {
        RateEstimate {
            interval: self.interval,
            observer: Observer::new(&self.observation, context.mss),
            low_pass: self.low_pass.clone(),
            filter: None,
            recent: Recent::default(),
        }
    }
}

/// RE of one connection.
#[derive(Debug)]
pub struct RateEstimate {
    interval: Option<Span>,
    observer: Observer,
    low_pass: LowPass,
    filter: Option<FedByAcks>,
    recent: Recent,
}

impl RateEstimator for RateEstimate {
    fn on_ack(&mut self, now: Time, ack: &AckSample) {
        let Some(filter) = &mut self.filter else {
            self.observer.begin(ack);
            self.recent.push(now, 0.0);
            self.filter = Some(FedByAcks::new(&self.low_pass, now));
            return;
        };
        self.recent.push(now, self.observer.take(ack));
        filter.advance(now);
        // Without a round-trip time nobody can say over how long; the steps go by.
        let smoothed = ack.smoothed_rtt.map(|rtt| self.observer.read(rtt));
        let Some(interval) = self
            .interval
            .or(smoothed)
            .filter(|&interval| interval > Span::ZERO)
        else {
            return;
        };
        self.recent.forget_far_beyond(interval);
        filter.sample(|_| self.recent.sum(interval).bytes / seconds(interval));
    }

    fn on_timeout(&mut self, now: Time) {
        if let Some(filter) = &mut self.filter {
            filter.time_out(now);
        }
    }

    fn rate(&self) -> f64 {
        self.filter.as_ref().map_or(0.0, FedByAcks::value)
    }

    fn rtt_min(&self) -> Option<f64> {
        self.observer.rtt_min()
    }
}
