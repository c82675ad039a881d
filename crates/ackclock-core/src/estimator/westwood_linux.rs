//! Westwood+ in Linux's arithmetic: whole bytes and jiffies.

use super::observation::AckedCount;
use super::{AckSample, EstimatorContext, EstimatorKind, RateEstimator};
use ackclock_spec::prelude::*;

parameters! {
    /// Parameters.
    pub struct WestwoodLinux {
        /// HZ: jiffies per second of the kernel to compare with (`CONFIG_HZ`). Truncation to whole
        /// bytes per jiffy lowers the estimate by up to 14 HZ bytes per second.
        pub hz: u32 = 1000,
    }
}

impl Element<EstimatorKind> for WestwoodLinux {
    const NAME: &'static str = "westwood_linux";
    const LABEL: &'static str = "Westwood+ of Linux";
    const SUMMARY: &'static str = "Westwood+ in Linux's integer arithmetic: two filters of gain \
        1/8 in series, in bytes per jiffy.";
    const REFERENCE: &'static str = "Linux, net/ipv4/tcp_westwood.c";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let remedy = "is not between 1 and 1000000; for example 250 or 1000";
        in_range((1..=1_000_000).contains(&self.hz), "hz", &self.hz, remedy)
    }
}

impl Factory<EstimatorKind> for WestwoodLinux {
    fn build(&self, context: EstimatorContext) -> Box<dyn RateEstimator> {
        Box::new(self.start(&context))
    }
}

impl WestwoodLinux {
    /// Returns the estimator of one connection.
    pub fn start(&self, context: &EstimatorContext) -> LinuxEstimate {
        LinuxEstimate {
            hz: self.hz.into(),
            mss: context.mss.0,
            window_start: None,
            bytes: 0,
            counter: AckedCount::new(context.mss),
            first_stage: 0,
            rate: 0,
            rtt: INITIAL_RTT_S * u64::from(self.hz),
            rtt_min: INITIAL_RTT_S * u64::from(self.hz),
            relearn_rtt_min: true,
        }
    }
}

/// Round-trip time assumed before the first measurement.
const INITIAL_RTT_S: u64 = 20;
/// A sample covers at least 1/20 s.
const SHORTEST_SAMPLE_PER_S: u64 = 20;

/// The module's state for one connection. Rates are in bytes per jiffy, times in jiffies.
#[derive(Debug)]
pub struct LinuxEstimate {
    hz: u64,
    mss: u64,
    /// Start of the present sample.
    window_start: Option<u64>,
    /// Bytes counted since then.
    bytes: u64,
    /// Count of the module's slow path, which a trace cannot distinguish from the fast path.
    counter: AckedCount,
    first_stage: u64,
    rate: u64,
    rtt: u64,
    rtt_min: u64,
    /// True at the start and after a timeout: the next ACK's round-trip time becomes the smallest,
    /// whatever its value.
    relearn_rtt_min: bool,
}

impl LinuxEstimate {
    fn filter(&mut self, elapsed: u64) {
        let sample = self.bytes / elapsed;
        if self.first_stage == 0 && self.rate == 0 {
            (self.first_stage, self.rate) = (sample, sample);
        } else {
            self.first_stage = smoothed(self.first_stage, sample);
            self.rate = smoothed(self.rate, self.first_stage);
        }
    }

    /// Ends the sample if it is long enough, before the ACK's own round-trip time is stored.
    fn update_window(&mut self, jiffies: u64) {
        let Some(start) = self.window_start else {
            return;
        };
        let elapsed = jiffies.saturating_sub(start);
        if elapsed > self.rtt.max(self.hz / SHORTEST_SAMPLE_PER_S) {
            self.filter(elapsed);
            self.bytes = 0;
            self.window_start = Some(jiffies);
        }
    }
}

impl RateEstimator for LinuxEstimate {
    fn on_ack(&mut self, now: Time, ack: &AckSample) {
        let jiffies = (u128::from(now.as_nanos()) * u128::from(self.hz) / 1_000_000_000) as u64;
        self.update_window(jiffies);
        if self.window_start.is_none() {
            self.window_start = Some(jiffies); // the first ACK is not counted
        } else {
            let counted = self.counter.count(ack.newly_acked.0);
            self.bytes = self.bytes.saturating_add(counted);
        }
        self.rtt_min = if self.relearn_rtt_min {
            self.rtt
        } else {
            self.rtt_min.min(self.rtt)
        };
        self.relearn_rtt_min = false;
        if let Some(rtt) = ack.rtt.filter(|&rtt| rtt > Span::ZERO) {
            self.rtt =
                (u128::from(rtt.as_nanos()) * u128::from(self.hz)).div_ceil(1_000_000_000) as u64;
        }
    }

    fn on_timeout(&mut self, _now: Time) {
        self.relearn_rtt_min = true;
    }

    fn rate(&self) -> f64 {
        self.rate as f64 * self.hz as f64
    }

    fn rtt_min(&self) -> Option<f64> {
        (self.rtt_min < INITIAL_RTT_S * self.hz).then_some(self.rtt_min as f64 / self.hz as f64)
    }

    /// Returns the window in whole segments, at least two.
    fn window(&self) -> Option<f64> {
        let segments = self.rate.saturating_mul(self.rtt_min) / self.mss.max(1);
        Some(segments.max(2).saturating_mul(self.mss) as f64)
    }
}

/// Smooths with a gain of 1/8 and truncates the division.
const fn smoothed(value: u64, sample: u64) -> u64 {
    value.saturating_mul(7).saturating_add(sample) >> 3
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CONTEXT, MSS, ack};
    use super::*;

    fn start(hz: u32) -> LinuxEstimate {
        WestwoodLinux { hz }.start(&CONTEXT)
    }

    fn at_ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    const RTT: Span = Span::from_millis(100);

    /// Delivers ACKs that advance by `bytes` each millisecond, from `from` on.
    fn feed(estimate: &mut LinuxEstimate, from: u64, ms: u64, bytes: u64, rtt: Span) {
        for now in from..from + ms {
            let sample = AckSample {
                newly_acked: Bytes(bytes),
                ..ack(1, rtt, 30)
            };
            estimate.on_ack(at_ms(now), &sample);
        }
    }

    #[test]
    fn from_below_it_stays_up_to_fourteen_short_and_from_above_it_is_exact() {
        let mut stalled = Vec::new();
        for true_rate in 100..164 {
            let mut from_below = start(1000);
            feed(&mut from_below, 0, 1_000, 50, RTT);
            feed(&mut from_below, 1_000, 60_000, true_rate, RTT);
            stalled.push(true_rate - from_below.rate);
            let mut from_above = start(1000);
            feed(&mut from_above, 0, 1_000, 900, RTT);
            feed(&mut from_above, 1_000, 60_000, true_rate, RTT);
            assert_eq!(from_above.rate, true_rate);
            assert_eq!(from_above.rate(), true_rate as f64 * 1000.0);
        }
        assert_eq!(stalled.iter().max(), Some(&14));
        assert!(stalled.iter().all(|&short| short >= 7), "{stalled:?}");
    }

    #[test]
    fn the_first_sample_is_taken_as_it_is() {
        let mut estimate = start(1000);
        feed(&mut estimate, 0, 102, 100, RTT);
        // 101 jiffies have passed, more than the round trip of 100. The first ACK is not counted,
        // and the last counts in the next sample.
        assert_eq!(estimate.rate, 100 * 100 / 101);
        assert_eq!(estimate.bytes, 100);
    }

    #[test]
    fn a_sample_takes_a_twentieth_of_a_second_at_least() {
        for (hz, jiffies) in [(1000, 50), (250, 12), (100, 5)] {
            let mut estimate = start(hz);
            let gap = Span::from_nanos(1_000_000_000 / u64::from(hz));
            for n in 0..=jiffies {
                estimate.on_ack(Time::ZERO + gap * n, &ack(1, Span::from_millis(1), 30));
            }
            assert_eq!(estimate.rate, 0, "{hz}");
            estimate.on_ack(
                Time::ZERO + gap * (jiffies + 1),
                &ack(1, Span::from_millis(1), 30),
            );
            assert_eq!(estimate.rate, jiffies * MSS / (jiffies + 1), "{hz}");
        }
    }

    #[test]
    fn the_round_trip_time_is_stored_after_the_window_and_rounded_up() {
        let mut estimate = start(250);
        assert_eq!(estimate.rtt_min(), None);
        estimate.on_ack(at_ms(0), &ack(1, Span::from_micros(70_100), 30));
        assert_eq!(
            (estimate.rtt, estimate.rtt_min()),
            (18, None),
            "the next ACK learns of it"
        );
        estimate.on_ack(at_ms(4), &ack(1, Span::from_micros(68_000), 30));
        assert_eq!((estimate.rtt, estimate.rtt_min()), (17, Some(18.0 / 250.0)));
    }

    #[test]
    fn after_a_timeout_the_smallest_round_trip_is_learnt_anew() {
        let mut estimate = start(1000);
        feed(&mut estimate, 0, 300, 100, RTT);
        assert_eq!(estimate.rtt_min(), Some(0.1));
        let congested = Span::from_millis(180);
        feed(&mut estimate, 300, 10, 100, congested);
        assert_eq!(estimate.rtt_min(), Some(0.1));
        estimate.on_timeout(at_ms(900));
        assert_eq!(estimate.rtt_min(), Some(0.1), "ssthresh is of before");
        feed(&mut estimate, 910, 1, 100, RTT);
        assert_eq!(
            estimate.rtt_min(),
            Some(0.18),
            "the round trip before the present ACK's"
        );
    }

    #[test]
    fn the_window_is_whole_segments_and_two_at_least() {
        let mut estimate = start(1000);
        assert_eq!(estimate.window(), Some(2.0 * MSS as f64));
        feed(&mut estimate, 0, 5_000, 77, RTT);
        let held = estimate.rate * 100;
        assert!(!held.is_multiple_of(MSS) && held > 2 * MSS);
        assert_eq!(estimate.window(), Some((held / MSS * MSS) as f64));
    }

    #[test]
    fn duplicate_acks_count_as_in_the_slow_path() {
        let mut estimate = start(1000);
        let mut counted = Vec::new();
        for (ms, segments) in [(0, 1), (1, 2), (2, 0), (3, 0), (4, 0), (5, 4), (6, 1)] {
            let before = estimate.bytes;
            estimate.on_ack(at_ms(ms), &ack(segments, RTT, 30));
            counted.push((estimate.bytes - before) / MSS);
        }
        assert_eq!(counted, [0, 2, 1, 1, 1, 1, 1]);
    }
}
