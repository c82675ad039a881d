//! Round-trip time and retransmission timeout (RFC 6298).

use super::parameters::{RtoFloor, TimerParameters};
use ackclock_spec::units::Span;

/// Estimates the round-trip time and sets the retransmission timeout.
///
/// Symbols of RFC 6298: SRTT is `scaled_srtt`/8, RTTVAR is `scaled_rttvar`/4, G is `granularity`,
/// and K is 4.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    granularity: Span,
    rto_minimum: Span,
    rto_maximum: Span,
    rto_floor: RtoFloor,
    /// Constant timeout, if it does not follow the samples.
    fixed: Option<Span>,
    /// SRTT and RTTVAR in eighths and quarters of a nanosecond, so that the gains 1/8 and 1/4 cause
    /// no rounding error (Jacobson 1988, appendix A).
    scaled_srtt: u64,
    scaled_rttvar: u64,
    /// Linux's variance term, if the floor asks for it.
    peak: Option<PeakVariance>,
    /// Timeout without back-off, and with it.
    base: Span,
    backed_off: Span,
    minimum: Option<Span>,
    latest: Option<Span>,
}

/// The variance term of Linux (`tcp_rtt_estimator`), in nanoseconds. It has the factor 4 in it: the
/// timeout is SRTT plus `variance`.
#[derive(Clone, Copy, Debug)]
struct PeakVariance {
    /// Mean deviation, times 4 (`mdev_us`).
    deviation: u64,
    /// Largest `deviation` of this round trip, at least the minimum (`mdev_max_us`).
    largest: u64,
    /// Variance term (`rttvar_us`).
    variance: u64,
    /// True if a round trip ends with the next sample.
    round: bool,
}

impl PeakVariance {
    /// Processes a round trip of `r` nanoseconds; SRTT is still the one before.
    fn sample(&mut self, r: u64, scaled_srtt: u64, minimum: u64) {
        let (srtt, quarter) = (scaled_srtt / 8, self.deviation / 4);
        let deviation = srtt.abs_diff(r);
        if r < srtt && deviation > quarter {
            // A timeout need not wait longer because round trips become shorter.
            self.deviation += (deviation - quarter) / 8;
        } else {
            self.deviation = self.deviation - quarter + deviation;
        }
        self.largest = self.largest.max(self.deviation);
        self.variance = self.variance.max(self.largest);
        if std::mem::take(&mut self.round) {
            self.variance -= self.variance.saturating_sub(self.largest) / 4;
            self.largest = minimum;
        }
    }
}

/// Longest round trip in the estimate, 9 years: eight times this fits the scaled registers.
const LONGEST: u64 = 1 << 58;

/// Smallest timeout: a timer of zero would expire forever at one moment.
const SHORTEST_TIMEOUT: Span = Span::from_nanos(1);

/// First timeout of data after the timer expired for a SYN (RFC 6298 (5.7)).
const AFTER_LOST_SYN: Span = Span::from_millis(3000);

/// Rounds up to whole ticks, at least one; a tick of zero does not round.
fn round_up(span: Span, tick: Span) -> Span {
    let tick = tick.as_nanos();
    if tick == 0 {
        return span;
    }
    let ticks = span.as_nanos().div_ceil(tick).max(1);
    Span::from_nanos(ticks.saturating_mul(tick))
}

impl RttEstimator {
    /// An estimator without a sample: the timeout is `rto_initial`.
    pub fn new(timer: &TimerParameters) -> Self {
        let mut estimator = RttEstimator {
            granularity: timer.clock_granularity,
            rto_minimum: timer.rto_minimum,
            rto_maximum: timer.rto_maximum,
            rto_floor: timer.rto_floor,
            fixed: (!timer.rto_adaptive).then_some(timer.rto_initial),
            scaled_srtt: 0,
            scaled_rttvar: 0,
            peak: (timer.rto_floor == RtoFloor::PeakVariance).then_some(PeakVariance {
                deviation: 0,
                largest: 0,
                variance: 0,
                round: false,
            }),
            base: Span::ZERO,
            backed_off: Span::ZERO,
            minimum: None,
            latest: None,
        };
        estimator.base = estimator.bounded(timer.rto_initial);
        estimator.backed_off = estimator.base;
        estimator
    }

    /// Lowers the minimum to a round-trip time that the estimate does not take as a sample.
    pub fn lower_minimum(&mut self, rtt: Span) {
        self.minimum = Some(self.minimum.map_or(rtt, |minimum| minimum.min(rtt)));
    }

    /// Records that all data in flight at the last call has been acknowledged. The variance term of
    /// Linux then takes over the deviations up to the next sample.
    pub fn begin_round(&mut self) {
        if let Some(peak) = &mut self.peak {
            peak.round = true;
        }
    }

    /// Processes an exact round-trip time, which the estimate rounds up to the clock tick. Ends the
    /// back-off.
    pub fn sample(&mut self, rtt: Span) {
        let first = self.latest.is_none();
        self.latest = Some(rtt);
        self.minimum = Some(self.minimum.map_or(rtt, |minimum| minimum.min(rtt)));
        let r = round_up(rtt, self.granularity).as_nanos().min(LONGEST);
        if first {
            // RFC 6298 (2.2): SRTT = R, RTTVAR = R/2.
            self.scaled_srtt = 8 * r;
            self.scaled_rttvar = 2 * r;
            if let Some(peak) = &mut self.peak {
                let largest = (2 * r).max(self.rto_minimum.as_nanos());
                *peak = PeakVariance {
                    deviation: 2 * r,
                    largest,
                    variance: largest,
                    round: false,
                };
            }
        } else {
            if let Some(peak) = &mut self.peak {
                peak.sample(r, self.scaled_srtt, self.rto_minimum.as_nanos());
            }
            // RFC 6298 (2.3): RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R|, then SRTT = 7/8 SRTT + 1/8 R.
            let error = (self.scaled_srtt / 8).abs_diff(r);
            self.scaled_rttvar = self.scaled_rttvar - self.scaled_rttvar / 4 + error;
            self.scaled_srtt = self.scaled_srtt - self.scaled_srtt / 8 + r;
        }
        self.base = self.bounded(self.fixed.unwrap_or_else(|| self.unbounded()));
        self.backed_off = self.base;
    }

    /// Returns SRTT + max(G, K RTTVAR), or Linux's variant.
    fn unbounded(&self) -> Span {
        // K RTTVAR = 4 RTTVAR.
        let variance = Span::from_nanos(self.scaled_rttvar).max(self.granularity);
        let variance = match self.rto_floor {
            RtoFloor::Timeout => variance,
            RtoFloor::Variance => variance.max(self.rto_minimum),
            RtoFloor::PeakVariance => {
                Span::from_nanos(self.peak.map_or(0, |peak| peak.variance)).max(self.rto_minimum)
            }
        };
        Span::from_nanos(self.scaled_srtt / 8) + variance
    }

    /// Applies the bounds of RFC 6298 (2.4) and (2.5), and rounds up to the tick in between. The
    /// maximum wins if the two contradict each other.
    fn bounded(&self, rto: Span) -> Span {
        round_up(rto.max(self.rto_minimum), self.granularity)
            .min(self.rto_maximum)
            .max(SHORTEST_TIMEOUT)
    }

    /// Returns the retransmission timeout with back-off, between `rto_minimum` and `rto_maximum`.
    pub fn rto(&self) -> Span {
        self.backed_off
    }

    /// Returns the retransmission timeout with back-off if it is kept in whole ticks
    /// (`icsk_rto` of Linux): rounded up first, then doubled.
    pub fn rto_in_ticks(&self, tick: Span) -> Span {
        if tick == Span::ZERO {
            return self.backed_off;
        }
        let doublings = self.backed_off.as_nanos() / self.base.as_nanos();
        (round_up(self.base, tick) * doublings.max(1)).min(self.rto_maximum.max(self.backed_off))
    }

    /// Doubles the timeout after the timer expired, up to `rto_maximum` (RFC 6298 (5.5)).
    pub fn back_off(&mut self) {
        self.backed_off = (self.backed_off * 2)
            .min(self.rto_maximum)
            .max(SHORTEST_TIMEOUT);
    }

    /// Raises the timeout to at least three seconds if the timer expired for the SYN and there is
    /// no sample (RFC 6298 (5.7)). The path may be longer than the first timeout.
    pub fn begin_after_lost_syn(&mut self) {
        if self.latest.is_none() && self.base < AFTER_LOST_SYN {
            self.base = self.bounded(AFTER_LOST_SYN);
            self.backed_off = self.base;
        }
    }

    /// Moves SRTT into these bounds if there was a sample. The timeout changes with the next one.
    pub fn bound_smoothed(&mut self, least: Span, most: Span) {
        if self.latest.is_some() {
            let scaled = |bound: Span| 8 * bound.as_nanos().min(LONGEST);
            self.scaled_srtt = self.scaled_srtt.clamp(scaled(least), scaled(most));
        }
    }

    /// Returns SRTT of samples rounded up to the tick; `None` before the first sample.
    pub fn smoothed(&self) -> Option<Span> {
        self.latest.map(|_| Span::from_nanos(self.scaled_srtt / 8))
    }
    /// Returns the smallest sample, exact.
    pub fn minimum(&self) -> Option<Span> {
        self.minimum
    }
    /// Returns the last sample, exact.
    pub fn latest(&self) -> Option<Span> {
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::parameters::Preset;
    use proptest::prelude::*;

    const MS: Span = Span::from_millis(1);

    fn exact() -> TimerParameters {
        let mut parameters = TimerParameters::RFC_6298;
        parameters.clock_granularity = Span::ZERO;
        parameters.rto_minimum = Span::ZERO;
        parameters
    }

    #[test]
    fn the_first_sample_gives_three_round_trips() {
        let mut rtt = RttEstimator::new(&exact());
        assert_eq!((rtt.rto(), rtt.smoothed()), (MS * 1000, None));
        rtt.sample(MS * 100);
        assert_eq!(rtt.smoothed(), Some(MS * 100));
        assert_eq!(rtt.rto(), MS * 300); // R + 4 R/2
    }

    /// 60.2 ms and 200 ms are 260.2 ms, which Linux keeps as 66 ticks of 4 ms and doubles.
    #[test]
    fn a_timeout_in_ticks_is_rounded_before_it_is_doubled() {
        let mut rtt = RttEstimator::new(&Preset::Linux.parameters().timer);
        rtt.sample(Span::from_micros(60_200));
        assert_eq!(rtt.rto(), Span::from_micros(260_200));
        assert_eq!(rtt.rto_in_ticks(Span::ZERO), rtt.rto());
        assert_eq!(rtt.rto_in_ticks(MS * 4), MS * 264);
        rtt.back_off();
        assert_eq!(rtt.rto_in_ticks(MS * 4), MS * 528);
    }

    #[test]
    fn smoothed_moves_into_bounds() {
        let mut rtt = RttEstimator::new(&exact());
        rtt.bound_smoothed(MS, MS);
        assert_eq!(rtt.smoothed(), None);
        rtt.sample(MS * 100);
        for (least, most, moved) in [(90, 110, 100), (101, 102, 101), (97, 99, 99)] {
            rtt.bound_smoothed(MS * least, MS * most);
            assert_eq!(rtt.smoothed(), Some(MS * moved));
        }
        assert_eq!(rtt.rto(), MS * 300);
    }

    #[test]
    fn the_second_sample_follows_the_gains() {
        let mut rtt = RttEstimator::new(&exact());
        rtt.sample(MS * 100);
        rtt.sample(MS * 180);
        // RTTVAR = 3/4 50 + 1/4 80 = 57.5 ms; SRTT = 7/8 100 + 1/8 180 = 110 ms.
        assert_eq!(rtt.smoothed(), Some(MS * 110));
        assert_eq!(rtt.rto(), MS * (110 + 230));
        assert_eq!(
            (rtt.minimum(), rtt.latest()),
            (Some(MS * 100), Some(MS * 180))
        );
    }

    #[test]
    fn constant_samples_leave_the_floor() {
        let mut parameters = exact();
        parameters.rto_minimum = MS * 200;
        let settled = |parameters: &TimerParameters| {
            let mut rtt = RttEstimator::new(parameters);
            (0..1000).for_each(|_| rtt.sample(MS * 300));
            rtt.rto()
        };
        assert_eq!(
            settled(&parameters).as_nanos() / 1000,
            300_000,
            "max(200, 300)"
        );
        parameters.rto_floor = RtoFloor::Variance;
        assert_eq!(settled(&parameters), MS * 500, "Linux: 300 + 200");
        parameters.clock_granularity = MS * 250;
        parameters.rto_floor = RtoFloor::Timeout;
        assert_eq!(settled(&parameters), MS * 750, "two ticks, and G = 250 ms");
    }

    /// The timeouts of Linux for sequences of samples, one per round trip. They follow from
    /// `tcp_rtt_estimator` of Linux 6.18 by hand.
    #[test]
    fn linux_follows_the_largest_deviation() {
        let parameters = Preset::Linux.parameters().timer;
        for (samples, expected) in [
            (&[100, 100, 100, 100][..], &[300.0, 300.0, 300.0, 300.0][..]),
            (&[20, 20, 20], &[220.0, 220.0, 220.0]),
            (
                &[300, 300, 300, 300, 300, 300],
                &[900.0, 900.0, 834.375, 764.0625, 698.0479, 648.5359],
            ),
            (
                &[100, 100, 400, 100, 100, 100],
                &[300.0, 300.0, 550.0, 528.906, 499.024, 464.967],
            ),
        ] {
            let mut rtt = RttEstimator::new(&parameters);
            for (&sample, &expected) in samples.iter().zip(expected) {
                rtt.begin_round();
                rtt.sample(MS * sample);
                let rto = rtt.rto().as_seconds() * 1e3;
                // The kernel cuts to microseconds, up to four times per sample.
                assert!(
                    (rto - expected).abs() < 0.005,
                    "{samples:?}: {rto} {expected}"
                );
            }
        }
    }

    #[test]
    fn a_fixed_timeout_takes_no_notice_of_samples_but_of_back_off() {
        let mut parameters = exact();
        parameters.rto_initial = MS * 300;
        parameters.rto_adaptive = false;
        let mut rtt = RttEstimator::new(&parameters);
        for sample in [20, 900, 5000] {
            rtt.back_off();
            rtt.back_off();
            assert_eq!(rtt.rto(), MS * 1200);
            rtt.sample(MS * sample);
            assert_eq!(rtt.rto(), MS * 300, "a sample ends the back-off");
        }
        assert!(rtt.smoothed() > Some(MS * 300));
    }

    #[test]
    fn samples_are_rounded_up_to_the_tick() {
        let mut parameters = exact();
        parameters.clock_granularity = MS * 100;
        for (exact, rounded) in [(0, 100), (1, 100), (100, 100), (101, 200)] {
            let mut rtt = RttEstimator::new(&parameters);
            rtt.sample(MS * exact);
            assert_eq!(rtt.smoothed(), Some(MS * rounded));
            assert_eq!(
                (rtt.minimum(), rtt.latest()),
                (Some(MS * exact), Some(MS * exact))
            );
        }
    }

    #[test]
    fn back_off_doubles_to_the_maximum_and_ends_with_a_sample() {
        let mut rtt = RttEstimator::new(&TimerParameters::RFC_6298);
        for seconds in [2, 4, 8, 16, 32, 60, 60] {
            rtt.back_off();
            assert_eq!(rtt.rto(), MS * 1000 * seconds);
        }
        rtt.sample(MS * 2000);
        assert_eq!(rtt.rto(), MS * 6000);
    }

    #[test]
    fn after_a_lost_syn_the_timeout_is_three_seconds_or_what_it_was_if_that_is_more() {
        for (initial, maximum, expected) in [
            (1000, 60_000, 3000),
            (3000, 60_000, 6000),
            (1000, 2000, 2000),
        ] {
            let mut parameters = TimerParameters::RFC_6298;
            parameters.rto_initial = MS * initial;
            parameters.rto_maximum = MS * maximum;
            let mut rtt = RttEstimator::new(&parameters);
            rtt.back_off();
            rtt.begin_after_lost_syn();
            assert_eq!(rtt.rto(), MS * expected);
        }
        let mut rtt = RttEstimator::new(&TimerParameters::RFC_6298);
        rtt.sample(MS * 100);
        rtt.begin_after_lost_syn();
        assert_eq!(rtt.rto(), MS * 1000, "a sample knows better");
    }

    proptest! {
        #[test]
        fn the_timeout_stays_within_its_bounds(
            rtts in prop::collection::vec(prop_oneof![0..u64::MAX, 0..10_000_000_000_u64], 1..50),
            backs in 0..70_u32,
            preset in prop::sample::select(vec![
                Preset::Rfc,
                Preset::Ns2Of2002,
                Preset::Linux,
                Preset::Linux2012,
                Preset::Jacobson1988,
            ]),
        ) {
            let parameters = preset.parameters().timer;
            let mut rtt = RttEstimator::new(&parameters);
            let bounds = parameters.rto_minimum..=parameters.rto_maximum;
            for nanos in &rtts {
                rtt.sample(Span::from_nanos(*nanos));
                prop_assert!(bounds.contains(&rtt.rto()));
                let smoothed = rtt.smoothed().unwrap();
                prop_assert!(rtt.rto() >= smoothed.min(parameters.rto_maximum));
            }
            let before = rtt.rto();
            (0..backs).for_each(|_| rtt.back_off());
            prop_assert!(bounds.contains(&rtt.rto()) && rtt.rto() >= before);
            prop_assert_eq!(rtt.minimum().unwrap().as_nanos(), *rtts.iter().min().unwrap());
        }

        #[test]
        fn the_smoothed_time_is_the_exact_moving_average(
            rtts in prop::collection::vec(1..1_000_000_000_u64, 1..200),
        ) {
            let mut rtt = RttEstimator::new(&exact());
            let mut average = rtts[0] as f64;
            for nanos in &rtts {
                rtt.sample(Span::from_nanos(*nanos));
                average += (*nanos as f64 - average) / 8.0;
                prop_assert!((rtt.smoothed().unwrap().as_nanos() as f64 - average).abs() < 2.0);
            }
        }
    }

    #[test]
    fn a_timeout_of_nothing_still_takes_time() {
        let mut parameters = exact();
        parameters.rto_initial = Span::ZERO;
        let mut rtt = RttEstimator::new(&parameters);
        rtt.sample(Span::ZERO);
        let first = rtt.rto();
        rtt.back_off();
        assert!(Span::ZERO < first && first < rtt.rto());
    }
}
