//! CRB, combined rate and bandwidth: RE where a loss looks like congestion, BE where it looks like an error of the link.

use super::be::{BandwidthEstimate, Be};
use super::re::{RateEstimate, Re};
use super::{AckSample, EstimatorContext, EstimatorKind, RateEstimator};
use crate::registry::{Element, Recipe};
use crate::scenario::error::{Error, Result};
use crate::scenario::files::Files;
use crate::units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Crb {
    /// θ: a loss means congestion if the window is more than so many times what the path is thought to hold. 1.4 is from memory, and found
    /// in no source. With a full buffer of b bandwidth-delay products the ratio at a loss is 1 + b, so that with less than 0.4 of one
    /// congestion is taken for an error.
    pub theta: f64,
    /// By which estimate the path is thought to hold that.
    pub compared: Estimate,
    /// Which estimate is used after a timeout (from memory; the window then says nothing).
    pub after_timeout: Estimate,
    /// The bandwidth estimate.
    pub be: Be,
    /// The rate estimate.
    pub re: Re,
}

/// One of the two estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Estimate {
    /// The bandwidth estimate.
    Be,
    /// The rate estimate.
    Re,
}

impl Default for Crb {
    fn default() -> Self {
        Crb {
            theta: 1.4,
            compared: Estimate::Re,
            after_timeout: Estimate::Be,
            be: Be::default(),
            re: Re::default(),
        }
    }
}

impl Element<EstimatorKind> for Crb {
    const NAME: &'static str = "crb";
    const LABEL: &'static str = "CRB";
    const SUMMARY: &'static str = "Combined rate and bandwidth: RE while the window is far larger than the path seems to hold, BE otherwise.";
    const REFERENCE: &'static str =
        "Wang, Valla, Sanadidi, Ng, Gerla (2002), Efficiency/Friendliness Tradeoffs in TCP Westwood, ISCC";

    fn check(&mut self, files: &dyn Files) -> Result<()> {
        if !(self.theta >= 1.0 && self.theta.is_finite()) {
            return Err(Error::new(
                "theta",
                &self.theta.into(),
                "is less than 1; write for example 1.4",
            ));
        }
        self.be.check(files).map_err(|error| error.within("be"))?;
        self.re.check(files).map_err(|error| error.within("re"))
    }
}

impl Recipe<EstimatorKind> for Crb {
    fn build(&self, context: EstimatorContext) -> Box<dyn RateEstimator> {
        Box::new(self.start(&context))
    }
}

impl Crb {
    /// One for a connection.
    pub fn start(&self, context: &EstimatorContext) -> CombinedEstimate {
        CombinedEstimate {
            theta: self.theta,
            compared: self.compared,
            after_timeout: self.after_timeout,
            be: self.be.start(context),
            re: self.re.start(context),
            cwnd: Bytes::ZERO,
        }
    }
}

/// CRB of one connection.
#[derive(Debug)]
pub struct CombinedEstimate {
    theta: f64,
    compared: Estimate,
    after_timeout: Estimate,
    be: BandwidthEstimate,
    re: RateEstimate,
    /// As the last ACK told.
    cwnd: Bytes,
}

impl CombinedEstimate {
    fn of(&self, which: Estimate) -> &dyn RateEstimator {
        match which {
            Estimate::Be => &self.be,
            Estimate::Re => &self.re,
        }
    }

    /// What a loss now would be taken for: expected rate cwnd/RTTmin over achieved rate, against θ.
    fn looks_congested(&self) -> bool {
        let held = self.of(self.compared).window();
        held.is_some_and(|held| self.cwnd.as_f64() > self.theta * held)
    }

    fn in_use(&self) -> &dyn RateEstimator {
        self.of(if self.looks_congested() {
            Estimate::Re
        } else {
            Estimate::Be
        })
    }
}

impl RateEstimator for CombinedEstimate {
    fn on_ack(&mut self, now: Time, ack: &AckSample) {
        self.be.on_ack(now, ack);
        self.re.on_ack(now, ack);
        self.cwnd = ack.cwnd;
    }

    fn on_timeout(&mut self, now: Time) {
        self.be.on_timeout(now);
        self.re.on_timeout(now);
    }

    fn rate(&self) -> f64 {
        self.in_use().rate()
    }

    fn rtt_min(&self) -> Option<f64> {
        self.in_use().rtt_min()
    }

    fn window_after_timeout(&self) -> Option<f64> {
        self.of(self.after_timeout).window()
    }
}
