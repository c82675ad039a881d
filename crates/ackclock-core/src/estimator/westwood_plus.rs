//! Westwood+: one sample per round trip, which compressed ACKs cannot raise, through a filter of
//! constant gain.

use super::observation::{Observation, Observer};
use super::{AckSample, EstimatorContext, EstimatorKind, RateEstimator, seconds};
use ackclock_spec::prelude::*;

parameters! {
    /// Parameters.
    pub struct WestwoodPlus {
        /// Share of the estimate that each sample keeps.
        pub kept: f64 = 0.9,
        /// Minimum interval of a sample, which is otherwise the last round-trip time. Linux has 50
        /// ms; the papers have no such limit.
        pub shortest: Span = Span::ZERO,
        /// Quantities taken from each ACK.
        pub observation: Observation = Observation::default(),
    }
}

impl Element<EstimatorKind> for WestwoodPlus {
    const NAME: &'static str = "westwood_plus";
    const LABEL: &'static str = "Westwood+";
    const SUMMARY: &'static str =
        "Data delivered per round trip over the round-trip time, filtered with constant gain.";
    const REFERENCE: &'static str = "Mascolo, Grieco, Ferorelli, Camarda, Piscitelli (2004), \
        Performance Evaluation of Westwood+ TCP Congestion Control";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let remedy = "is not between 0 and 1 (excluded); for example 0.9";
        every([
            in_range((0.0..1.0).contains(&self.kept), "kept", &self.kept, remedy),
            self.observation.check(),
        ])
    }
}

impl Factory<EstimatorKind> for WestwoodPlus {
    fn build(&self, context: EstimatorContext) -> Box<dyn RateEstimator> {
        Box::new(self.start(&context))
    }
}

impl WestwoodPlus {
    /// Returns the estimator of one connection.
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
    /// Start of the present sample.
    round: Option<Time>,
    /// Bytes delivered since then.
    bytes: f64,
    /// Last round-trip time before the present ACK.
    rtt: Option<Span>,
    rate: Option<f64>,
}

impl EstimatePerRound {
    fn end_round(&mut self, elapsed: Span) {
        let sample = self.bytes / seconds(elapsed);
        // The first sample is the first estimate.
        self.rate = Some(
            self.rate
                .map_or(sample, |rate| self.kept * rate + (1.0 - self.kept) * sample),
        );
        self.bytes = 0.0;
    }
}

impl RateEstimator for EstimatePerRound {
    /// Processes an ACK. One that ends a sample counts in the next.
    fn on_ack(&mut self, now: Time, ack: &AckSample) {
        let elapsed = now.since(*self.round.get_or_insert(now));
        if self.rtt.is_some_and(|rtt| elapsed > rtt.max(self.shortest)) {
            self.end_round(elapsed);
            self.round = Some(now);
        }
        self.bytes += self.observer.take(ack);
        self.rtt = ack.rtt.or(self.rtt);
    }

    fn rate(&self) -> f64 {
        self.rate.unwrap_or(0.0)
    }

    fn rtt_min(&self) -> Option<f64> {
        self.observer.rtt_min()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CONTEXT, Stream, assert_near, rate_at};
    use super::*;

    const RTT: Span = Span::from_millis(70);

    #[test]
    fn a_steady_rate_is_found_whatever_the_gaps() {
        for gap_us in [1_000, 3_200, 3_328, 69_000, 200_000] {
            let gap = Span::from_micros(gap_us);
            let mut plus = WestwoodPlus::default().start(&CONTEXT);
            let rate = Stream::new(&mut plus, RTT, 30).steady(gap, 10_000);
            assert_near(rate, rate_at(gap), 1e-6);
        }
    }

    #[test]
    fn compressed_acks_are_no_matter() {
        let mut plus = WestwoodPlus::default().start(&CONTEXT);
        let mut stream = Stream::new(&mut plus, RTT, 30);
        for _ in 0..2000 {
            (0..7).for_each(|_| stream.ack(Span::from_micros(80), 1));
            stream.ack(Span::from_micros(16_000 - 7 * 80), 1);
        }
        // A sample ends with the first ACK after a round trip, which begins a train: it covers
        // exactly five trains.
        assert_near(stream.estimator.rate(), rate_at(Span::from_millis(2)), 1e-9);
    }

    #[test]
    fn one_sample_takes_a_round_trip_and_the_ack_that_ends_it_belongs_to_the_next() {
        let mut plus = WestwoodPlus::default().start(&CONTEXT);
        let mut stream = Stream::new(&mut plus, Span::from_millis(100), 30);
        let ten = Span::from_millis(10);
        assert_eq!(
            stream.steady(ten, 10),
            0.0,
            "no round trip yet: it must be longer"
        );
        // Eleven gaps, ten ACKs: the first ACK of all is not counted.
        assert_near(stream.steady(ten, 1), 10_000.0 / 0.11, 1e-12);
        // From then on, as many ACKs as gaps.
        let after = 0.9 * 10_000.0 / 0.11 + 0.1 * rate_at(ten);
        assert_near(stream.steady(ten, 11), after, 1e-12);
    }

    #[test]
    fn a_shortest_sample_may_be_asked_for() {
        let plus = WestwoodPlus {
            shortest: Span::from_millis(50),
            ..WestwoodPlus::default()
        };
        let mut plus = plus.start(&CONTEXT);
        let mut stream = Stream::new(&mut plus, Span::from_millis(1), 30);
        assert_eq!(stream.steady(Span::from_millis(1), 50), 0.0);
        assert!(stream.steady(Span::from_millis(1), 1) > 0.0);
    }
}
