//! The decrease of the Westwood family: a loss sets ssthresh to the amount of data that the path
//! holds by an estimate, instead of half the window.

use super::additive_increase::{AdditiveGrowth, AdditiveIncrease, Decrease, Growth};
use super::facts::{ControlFacts, KeptShare};
use super::slow_start::SlowStartExit;
use super::{Ack, Congestion, CongestionControl, CongestionKind, ControlContext, ControlKind};
use crate::estimator::{AckSample, EstimatorContext, EstimatorKind, RateEstimator};
use ackclock_spec::prelude::*;
use serde::de::DeserializeOwned;

// Parameters of the controls that add none to those of their estimator. The reference page shows
// any text after "Parameters." in the docs below.
/// Parameters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, bound = "")]
pub struct Westwood<E: Named> {
    /// Estimator of the rate.
    pub estimator: E,
    /// Moment at which congestion avoidance opens the congestion window (RFC 5681 section 3.1).
    pub growth: Growth,
}

/// An estimator that such a control uses, with the names of the control.
pub trait Named:
    Element<EstimatorKind> + Factory<EstimatorKind> + DeserializeOwned + Default
{
    /// Name in a scenario's `kind`.
    const NAME: &'static str;
    /// Name in figures.
    const LABEL: &'static str;
    /// One sentence that summarizes the control.
    const SUMMARY: &'static str;
}

impl<E: Named> Element<ControlKind> for Westwood<E> {
    const NAME: &'static str = <E as Named>::NAME;
    const LABEL: &'static str = <E as Named>::LABEL;
    const SUMMARY: &'static str = <E as Named>::SUMMARY;
    const REFERENCE: &'static str = <E as Element<EstimatorKind>>::REFERENCE;

    fn check(&mut self, files: &dyn Files) -> Result<()> {
        self.estimator
            .check(files)
            .map_err(|error| error.within("estimator"))
    }

    fn facts(&self) -> ControlFacts {
        ControlFacts::linear(1.0, KeptShare::ByEstimate)
    }
}

impl<E: Named> Factory<ControlKind> for Westwood<E> {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        let estimator = self.estimator.build(estimator_context(&context));
        control(&context, self.growth, Cut::AtLoss, estimator)
    }
}

/// The moment at which a loss inferred from duplicate ACKs sets the window to the estimated amount
/// that the path holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// At the loss, if the window is larger: sets cwnd and ssthresh (the papers).
    #[default]
    AtLoss,
    /// At the end of fast recovery, which may raise or lower the window; at the loss as Reno does
    /// (Linux). An ECN mark, which has no recovery, takes effect at once.
    AtRecoveryEnd,
}

/// Builds a control of the family: Reno's growth with an estimator's decrease.
pub(super) fn control(
    context: &ControlContext<'_>,
    growth: Growth,
    cut: Cut,
    estimator: Box<dyn RateEstimator>,
) -> Box<dyn CongestionControl> {
    let growth = AdditiveGrowth {
        alpha: 1.0,
        growth,
        slow_start_exit: SlowStartExit::None,
    };
    let decrease = EligibleWindow {
        estimator,
        cut,
        recovers: false,
    };
    Box::new(AdditiveIncrease::new(context, growth, decrease))
}

/// Returns the context of a control's estimator.
pub(super) const fn estimator_context(context: &ControlContext<'_>) -> EstimatorContext {
    EstimatorContext { mss: context.mss }
}

/// The amount of data that the path holds, by an estimator.
#[derive(Debug)]
struct EligibleWindow {
    estimator: Box<dyn RateEstimator>,
    cut: Cut,
    /// True during a fast recovery at whose end the window is set.
    recovers: bool,
}

impl Decrease for EligibleWindow {
    fn on_ack(&mut self, now: Time, ack: &Ack, cwnd: Bytes) {
        let sample = AckSample {
            newly_acked: ack.newly_acked,
            newly_delivered: ack.newly_delivered,
            rtt: ack.rtt,
            smoothed_rtt: ack.smoothed_rtt,
            cwnd,
        };
        self.estimator.on_ack(now, &sample);
    }

    /// Keeps half, as Reno does, while there is no estimate: it needs a round-trip time.
    fn kept(&mut self, now: Time, congestion: &Congestion) -> f64 {
        let half = congestion.base.as_f64() / 2.0;
        let is_timeout = congestion.kind == CongestionKind::Timeout;
        if is_timeout {
            self.estimator.on_timeout(now);
        }
        self.recovers = self.cut == Cut::AtRecoveryEnd && congestion.kind == CongestionKind::Loss;
        if self.recovers {
            return half;
        }
        let held = if is_timeout {
            self.estimator.window_after_timeout()
        } else {
            self.estimator.window()
        };
        held.unwrap_or(half)
    }

    fn at_recovery_end(&mut self) -> Option<f64> {
        std::mem::take(&mut self.recovers)
            .then(|| self.estimator.window())
            .flatten()
    }

    fn rate_estimate(&self) -> Option<f64> {
        Some(self.estimator.rate())
    }
}

#[cfg(test)]
mod tests;
