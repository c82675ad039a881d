//! CRB, combined rate and bandwidth: RE if a loss looks like congestion, BE if it looks like a link
//! error.

use super::be::{BandwidthEstimate, Be};
use super::re::{RateEstimate, Re};
use super::{AckSample, EstimatorContext, EstimatorKind, RateEstimator};
use ackclock_spec::prelude::*;

parameters! {
    /// Parameters.
    pub struct Crb {
        /// θ: a loss means congestion if the congestion window is more than θ times the amount that
        /// the path is estimated to hold. The value 1.4 is from memory, without a source. With a
        /// full buffer of b bandwidth-delay products the ratio at a loss is 1 + b. Congestion with
        /// b below
        /// 0.4 therefore looks like an error.
        pub theta: f64 = 1.4,
        /// Estimate of the amount that the path holds, for the comparison with the congestion
        /// window.
        pub compared: Estimate = Estimate::Re,
        /// Estimate used after a timeout (from memory; the congestion window is then meaningless).
        pub after_timeout: Estimate = Estimate::Be,
        /// Parameters of the bandwidth estimate.
        pub be: Be = Be::default(),
        /// Parameters of the rate estimate.
        pub re: Re = Re::default(),
    }
}

/// The estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Estimate {
    /// The bandwidth estimate.
    Be,
    /// The rate estimate.
    Re,
}

impl Element<EstimatorKind> for Crb {
    const NAME: &'static str = "crb";
    const LABEL: &'static str = "CRB";
    const SUMMARY: &'static str = "Combined rate and bandwidth estimate: RE while the window far \
        exceeds what the path seems to hold, else BE.";
    const REFERENCE: &'static str = "Wang, Valla, Sanadidi, Ng, Gerla (2002), \
        Efficiency/Friendliness Tradeoffs in TCP Westwood, ISCC";

    fn check(&mut self, files: &dyn Files) -> Result<()> {
        let theta = self.theta >= 1.0 && self.theta.is_finite();
        every([
            in_range(
                theta,
                "theta",
                &self.theta,
                "is less than 1; for example 1.4",
            ),
            self.be.check(files).map_err(|error| error.within("be")),
            self.re.check(files).map_err(|error| error.within("re")),
        ])
    }
}

impl Factory<EstimatorKind> for Crb {
    fn build(&self, context: EstimatorContext) -> Box<dyn RateEstimator> {
        Box::new(self.start(&context))
    }
}

impl Crb {
    /// Returns the estimator of one connection.
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
    /// Congestion window at the last ACK.
    cwnd: Bytes,
}

impl CombinedEstimate {
    fn of(&self, which: Estimate) -> &dyn RateEstimator {
        match which {
            Estimate::Be => &self.be,
            Estimate::Re => &self.re,
        }
    }

    /// True if a loss now would count as congestion: expected rate cwnd/RTTmin over achieved rate
    /// is more than θ.
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

#[cfg(test)]
mod tests {
    use super::super::testing::{CONTEXT, Stream, ack, assert_near, rate_at};
    use super::*;

    const RTT_MIN: Span = Span::from_millis(70);
    const GAP: Span = Span::from_millis(2);
    /// Amount that the path holds, in segments.
    const PIPE: u64 = 35;

    /// A path of one bandwidth-delay product whose queue holds the rest of the window. ACKs come in
    /// pairs, so that BE is higher than RE.
    fn at_a_loss(crb: &Crb, window: u64) -> CombinedEstimate {
        let mut estimate = crb.start(&CONTEXT);
        estimate.on_ack(Time::ZERO, &ack(1, RTT_MIN, window));
        let queued = GAP * window.saturating_sub(PIPE);
        let mut stream = Stream::new(&mut estimate, RTT_MIN + queued, window);
        for _ in 0..3000 {
            stream.ack(GAP / 4, 1);
            stream.ack(GAP * 7 / 4, 1);
        }
        estimate
    }

    fn takes_it_for_congestion(estimate: &CombinedEstimate) -> bool {
        let (be, re) = (estimate.be.rate(), estimate.re.rate());
        assert!(be > 1.2 * re, "told apart");
        assert!(estimate.rate() == be || estimate.rate() == re);
        estimate.rate() == re
    }

    #[test]
    fn a_full_buffer_is_congestion_and_an_empty_one_an_error() {
        // With a buffer of one bandwidth-delay product, the ratio is two at a loss by congestion,
        // and one at a random loss.
        assert!(takes_it_for_congestion(&at_a_loss(
            &Crb::default(),
            2 * PIPE
        )));
        assert!(!takes_it_for_congestion(&at_a_loss(&Crb::default(), PIPE)));
    }

    #[test]
    fn in_a_small_buffer_congestion_is_taken_for_an_error() {
        let full =
            |buffer: u64| takes_it_for_congestion(&at_a_loss(&Crb::default(), PIPE + buffer));
        // θ = 1.4: the buffer must hold 0.4 of the amount that the path holds.
        assert_eq!([4, 12, 17, 30].map(full), [false, false, true, true]);
    }

    #[test]
    fn the_ratio_may_be_to_either_estimate() {
        let to_be = Crb {
            compared: Estimate::Be,
            ..Crb::default()
        };
        // BE is higher, so the same window looks less like congestion.
        assert!(takes_it_for_congestion(&at_a_loss(&Crb::default(), 54)));
        assert!(!takes_it_for_congestion(&at_a_loss(&to_be, 54)));
    }

    #[test]
    fn after_a_timeout_a_rule_of_its_own_holds() {
        let be = at_a_loss(&Crb::default(), 2 * PIPE);
        let to_re = Crb {
            after_timeout: Estimate::Re,
            ..Crb::default()
        };
        let re = at_a_loss(&to_re, 2 * PIPE);
        assert!(takes_it_for_congestion(&be) && takes_it_for_congestion(&re));
        assert_eq!(be.window(), re.window());
        assert_eq!(be.window_after_timeout(), be.be.window());
        assert_eq!(re.window_after_timeout(), re.re.window());
        assert!(be.window_after_timeout() > re.window_after_timeout());
        // RE counts the whole ACK at the edge of its interval, two round trips without a queue.
        let edge = (GAP * 7 / 4).as_seconds() / (RTT_MIN * 2).as_seconds();
        assert_near(
            re.window().unwrap(),
            rate_at(GAP) * RTT_MIN.as_seconds(),
            edge,
        );
    }
}
