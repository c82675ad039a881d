//! RE, the rate estimate: the data delivered over the last T, sampled at each ACK and smoothed.

use super::low_pass::{FedByAcks, LowPass};
use super::observation::{Observation, Observer};
use super::recent::Recent;
use super::{AckSample, EstimatorContext, EstimatorKind, RateEstimator, seconds};
use ackclock_spec::prelude::*;

/// Parameters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Re {
    /// T: interval of a sample. The default is the smoothed round-trip time. This is a guess: the
    /// paper of 2002 that compares RE with BE says T = RTT for one figure.
    pub interval: Option<Span>,
    /// Smoothing of samples.
    pub low_pass: LowPass,
    /// Quantities taken from each ACK.
    pub observation: Observation,
}

impl Element<EstimatorKind> for Re {
    const NAME: &'static str = "re";
    const LABEL: &'static str = "RE";
    const SUMMARY: &'static str =
        "Rate estimate: at each ACK the data delivered over the last T, low-pass filtered.";
    const REFERENCE: &'static str = "Wang, Valla, Sanadidi, Ng, Gerla (2002), \
        Efficiency/Friendliness Tradeoffs in TCP Westwood, ISCC";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let remedy = "is too short; for example \"70 ms\"; or remove it";
        every([
            in_range(
                self.interval != Some(Span::ZERO),
                "interval",
                &self.interval,
                remedy,
            ),
            self.low_pass.check(),
            self.observation.check(),
        ])
    }
}

impl Factory<EstimatorKind> for Re {
    fn build(&self, context: EstimatorContext) -> Box<dyn RateEstimator> {
        Box::new(self.start(&context))
    }
}

impl Re {
    /// Returns the estimator of one connection.
    pub fn start(&self, context: &EstimatorContext) -> RateEstimate {
        RateEstimate {
            interval: self.interval,
            observer: Observer::new(&self.observation, context.mss),
            filter: FedByAcks::new(&self.low_pass),
            recent: Recent::default(),
        }
    }
}

/// RE of one connection.
#[derive(Debug)]
pub struct RateEstimate {
    interval: Option<Span>,
    observer: Observer,
    filter: FedByAcks,
    recent: Recent,
}

impl RateEstimator for RateEstimate {
    fn on_ack(&mut self, now: Time, ack: &AckSample) {
        self.recent.push(now, self.observer.take(ack));
        self.filter.advance(now);
        // Without a round-trip time the interval is unknown; the steps pass without a sample.
        let smoothed = ack.smoothed_rtt.map(|rtt| self.observer.read(rtt));
        let Some(interval) = self
            .interval
            .or(smoothed)
            .filter(|&interval| interval > Span::ZERO)
        else {
            return;
        };
        self.recent.forget_far_beyond(interval);
        self.filter
            .sample(|_| self.recent.sum(interval).bytes / seconds(interval));
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
    use super::super::testing::{CONTEXT, Stream, ack, assert_near, rate_at};
    use super::*;

    const RTT: Span = Span::from_millis(70);

    /// Checks that the window that ends with an ACK holds ⌈T/gap⌉ ACKs: ⌊T/gap⌋ + 1 unless T is a
    /// multiple.
    #[test]
    fn a_steady_rate_is_read_high_by_less_than_a_gap() {
        // 5 Mbit/s shared by two flows, segments of 1000 bytes: 3.2 ms, 0.6 % too high.
        for (gap_us, held) in [(3_200, 22.0), (3_328, 22.0), (7_000, 10.0), (23_000, 4.0)] {
            let gap = Span::from_micros(gap_us);
            let mut re = Re::default().start(&CONTEXT);
            let share = Stream::new(&mut re, RTT, 30).steady(gap, 5000) / rate_at(gap);
            assert_near(share, held * gap.as_seconds() / RTT.as_seconds(), 1e-9);
            assert!((1.0 - 1e-9..=1.0 + gap.as_seconds() / RTT.as_seconds()).contains(&share));
        }
    }

    #[test]
    fn the_example_reads_high_by_six_tenths_of_a_percent() {
        let mut re = Re::default().start(&CONTEXT);
        let gap = Span::from_micros(3_200);
        let share = Stream::new(&mut re, RTT, 30).steady(gap, 5000) / rate_at(gap);
        assert!((share - 1.0057).abs() < 1e-4, "{share}");
    }

    #[test]
    fn trains_are_no_matter_within_an_interval() {
        let mut re = Re::default().start(&CONTEXT);
        let mut stream = Stream::new(&mut re, Span::from_millis(80), 30);
        for _ in 0..2000 {
            (0..7).for_each(|_| stream.ack(Span::from_micros(80), 1));
            stream.ack(Span::from_micros(16_000 - 7 * 80), 1);
        }
        // At an ACK, the interval holds up to one train more than five trains.
        let share = stream.estimator.rate() / rate_at(Span::from_millis(2));
        assert!((1.0 - 1e-6..1.2).contains(&share), "{share}");
    }

    #[test]
    fn it_reads_low_until_there_is_an_interval() {
        let re = Re {
            interval: Some(Span::from_millis(1000)),
            low_pass: LowPass {
                filter: super::super::low_pass::Filter::Ns2Type0,
                ..LowPass::default()
            },
            ..Re::default()
        };
        let mut re = re.start(&CONTEXT);
        let gap = Span::from_millis(10);
        let mut stream = Stream::new(&mut re, RTT, 30);
        let half = stream.steady(gap, 50) / rate_at(gap);
        assert!(
            (0.35..0.5).contains(&half),
            "half of the interval, and the filter's delay: {half}"
        );
        assert_near(stream.steady(gap, 300), rate_at(gap), 1e-6);
    }

    #[test]
    fn without_a_round_trip_time_there_is_no_sample() {
        let mut re = Re::default().start(&CONTEXT);
        let mut sample = ack(1, RTT, 30);
        (sample.rtt, sample.smoothed_rtt) = (None, None);
        for ms in 1..100 {
            re.on_ack(Time::ZERO + Span::from_millis(ms), &sample);
        }
        assert_eq!((re.rate(), re.rtt_min()), (0.0, None));
    }
}
