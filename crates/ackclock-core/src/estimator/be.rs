//! BE, the bandwidth estimate of the first TCP Westwood: the data that each ACK delivers over the
//! time since the previous ACK, smoothed.

use super::low_pass::{FedByAcks, LowPass};
use super::observation::{Observation, Observer};
use super::{AckSample, EstimatorContext, EstimatorKind, RateEstimator};
use ackclock_spec::prelude::*;

/// Parameters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Be {
    /// Smoothing of samples.
    pub low_pass: LowPass,
    /// Quantities taken from each ACK.
    pub observation: Observation,
}

impl Element<EstimatorKind> for Be {
    const NAME: &'static str = "be";
    const LABEL: &'static str = "BE";
    const SUMMARY: &'static str = "Bandwidth estimate: one sample per ACK over the time since the \
        previous ACK, low-pass filtered.";
    const REFERENCE: &'static str = "Mascolo, Casetti, Gerla, Sanadidi, Wang (2001), TCP Westwood: \
        Bandwidth Estimation for Enhanced Transport over Wireless Links";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([self.low_pass.check(), self.observation.check()])
    }
}

impl Factory<EstimatorKind> for Be {
    fn build(&self, context: EstimatorContext) -> Box<dyn RateEstimator> {
        Box::new(self.start(&context))
    }
}

impl Be {
    /// Returns the estimator of one connection.
    pub fn start(&self, context: &EstimatorContext) -> BandwidthEstimate {
        BandwidthEstimate {
            observer: Observer::new(&self.observation, context.mss),
            filter: FedByAcks::new(&self.low_pass),
            bytes: 0.0,
        }
    }
}

/// BE of one connection.
#[derive(Debug)]
pub struct BandwidthEstimate {
    observer: Observer,
    filter: FedByAcks,
    /// Bytes delivered at the last time with ACKs.
    bytes: f64,
}

impl RateEstimator for BandwidthEstimate {
    fn on_ack(&mut self, now: Time, ack: &AckSample) {
        if self.filter.advance(now) {
            self.bytes = 0.0;
        }
        self.bytes += self.observer.take(ack);
        self.filter.sample(|step| self.bytes / step);
    }

    fn on_timeout(&mut self, now: Time) {
        self.filter.time_out(now);
    }

    fn rate(&self) -> f64 {
        self.filter.value()
    }

    fn rtt_min(&self) -> Option<f64> {
        self.observer.rtt_min()
    }
}

#[cfg(test)]
mod tests {
    use super::super::low_pass::Filter;
    use super::super::testing::{CONTEXT, Stream, assert_near, rate_at};
    use super::*;

    const RTT: Span = Span::from_millis(70);
    const GAP: Span = Span::from_micros(3_200);

    fn be(filter: Filter) -> BandwidthEstimate {
        let low_pass = LowPass {
            filter,
            ..LowPass::default()
        };
        let be = Be {
            low_pass,
            ..Be::default()
        };
        be.start(&CONTEXT)
    }

    #[test]
    fn every_filter_finds_a_steady_rate() {
        for filter in [
            Filter::Tustin,
            Filter::Ns2Type0,
            Filter::Ns2Type1,
            Filter::Ns2Type2,
        ] {
            let mut be = be(filter);
            let rate = Stream::new(&mut be, RTT, 30).steady(GAP, 5000);
            assert_near(rate, rate_at(GAP), 1e-9);
        }
    }

    /// Checks the estimate on a full link with ACKs in trains: the previous sample is weighted with
    /// the present gap. One gap in eight is long.
    #[test]
    fn trains_make_it_read_high() {
        let read = |ratio: u64| {
            let mut be = be(Filter::Tustin);
            let mut stream = Stream::new(&mut be, RTT, 30);
            // Eight segments in eight gaps of 2 ms on average: seven gaps are short, and the last
            // makes up for them.
            let short = Span::from_millis(2) / ratio;
            let long = Span::from_nanos(Span::from_millis(16).as_nanos() - 7 * short.as_nanos());
            for _ in 0..2000 {
                (0..7).for_each(|_| stream.ack(short, 1));
                stream.ack(long, 1);
            }
            stream.estimator.rate() / rate_at(Span::from_millis(2))
        };
        assert_near(read(1), 1.0, 1e-6);
        let readings = [2, 4, 8, 26].map(read);
        assert!(readings.is_sorted(), "{readings:?}");
        // In the sum over a period, half of the terms have their own gap: one each. The other half
        // have the next gap, of which one is long: (6 + long/short + short/long)/2.
        for (ratio, readings) in [2.0, 4.0, 8.0, 26.0].into_iter().zip(readings) {
            let spread: f64 = 8.0 * ratio - 7.0;
            let expected = (8.0 + 6.0 + spread + 1.0 / spread) / 16.0;
            assert_near(readings, expected, 0.03);
        }
        assert!(readings[3] > 12.5, "13 times too much at a spacing of 1/26");
    }

    #[test]
    fn acks_of_one_moment_are_one_sample() {
        let (mut pairs, mut doubles) = (be(Filter::Tustin), be(Filter::Tustin));
        let mut of_pairs = Stream::new(&mut pairs, RTT, 30);
        let mut of_doubles = Stream::new(&mut doubles, RTT, 30);
        for _ in 0..200 {
            of_pairs.ack(GAP, 1);
            of_pairs.ack(Span::ZERO, 1);
            of_doubles.ack(GAP, 2);
            assert_near(
                of_pairs.estimator.rate(),
                of_doubles.estimator.rate(),
                1e-12,
            );
        }
    }

    #[test]
    fn duplicate_acks_keep_the_estimate_up() {
        let mut be = be(Filter::Tustin);
        let mut stream = Stream::new(&mut be, RTT, 30);
        let before = stream.steady(GAP, 5000);
        (0..20).for_each(|_| stream.ack(GAP, 0));
        assert_near(stream.estimator.rate(), before, 1e-9);
        stream.ack(GAP, 21); // one segment remains after the deduction
        assert_near(stream.estimator.rate(), before, 1e-9);
    }

    #[test]
    fn a_silence_is_taken_at_a_timeout_if_asked_for() {
        let after_silence = |zeros_at_timeout: bool| {
            let low_pass = LowPass {
                zeros_at_timeout,
                ..LowPass::default()
            };
            let mut be = Be {
                low_pass,
                ..Be::default()
            }
            .start(&CONTEXT);
            let mut stream = Stream::new(&mut be, RTT, 30);
            let before = stream.steady(GAP, 2000);
            let now = stream.now + Span::from_millis(1100);
            stream.estimator.on_timeout(now);
            let at_timeout = stream.estimator.rate() / before;
            stream.ack(Span::from_millis(1200), 1);
            (at_timeout, stream.estimator.rate() / before)
        };
        let (lazy, lazily_after) = after_silence(false);
        let (eager, eagerly_after) = after_silence(true);
        assert_eq!(lazy, 1.0);
        // Four zeros of 0.25 s: first 3/5 and 1/5 of the last sample, which equals the estimate,
        // then 3/5 each.
        assert_near(eager, 0.8 * 0.6_f64.powi(3), 1e-6);
        assert_near(lazily_after, eagerly_after, 1e-9);
        assert!(lazily_after < 0.2);
    }
}
