//! BE, the bandwidth estimate of the first TCP Westwood: what each ACK delivers, per time since the ACK before, smoothed.

use super::low_pass::{FedByAcks, LowPass};
use super::observation::{Observation, Observer};
use super::{AckSample, EstimatorContext, EstimatorKind, RateEstimator};
use crate::registry::{Element, Recipe};
use crate::scenario::error::Result;
use crate::scenario::files::Files;
use crate::units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Be {
    /// How samples are smoothed.
    pub low_pass: LowPass,
    /// What is taken from each ACK.
    pub observation: Observation,
}

impl Element<EstimatorKind> for Be {
    const NAME: &'static str = "be";
    const LABEL: &'static str = "BE";
    const SUMMARY: &'static str =
        "Bandwidth estimate: a sample per ACK over the time since the ACK before, through a low-pass filter.";
    const REFERENCE: &'static str = "Mascolo, Casetti, Gerla, Sanadidi, Wang (2001), TCP Westwood: Bandwidth Estimation for Enhanced Transport over Wireless Links";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        self.low_pass.check()?;
        self.observation.check()
    }
}

impl Recipe<EstimatorKind> for Be {
    fn build(&self, context: EstimatorContext) -> Box<dyn RateEstimator> {
        Box::new(self.start(&context))
    }
}

impl Be {
    /// One for a connection.
    pub fn start(&self, context: &EstimatorContext) -> BandwidthEstimate {
        BandwidthEstimate {
            observer: Observer::new(&self.observation, context.mss),
            low_pass: self.low_pass.clone(),
            filter: None,
            bytes: 0.0,
        }
    }
}

/// BE of one connection.
#[derive(Debug)]
pub struct BandwidthEstimate {
    low_pass: LowPass,
    observer: Observer,
    filter: Option<FedByAcks>,
    /// Delivered at the last moment with ACKs.
    bytes: f64,
}

impl RateEstimator for BandwidthEstimate {
    fn on_ack(&mut self, now: Time, ack: &AckSample) {
        let Some(filter) = &mut self.filter else {
            self.observer.begin(ack);
            self.filter = Some(FedByAcks::new(&self.low_pass, now));
            return;
        };
        if filter.advance(now) {
            self.bytes = 0.0;
        }
        self.bytes += self.observer.take(ack);
        filter.sample(|step| self.bytes / step);
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
