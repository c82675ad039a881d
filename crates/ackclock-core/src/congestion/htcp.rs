//! H-TCP (Leith and Shorten 2004): Reno whose growth quickens with the time since the last
//! congestion, and which keeps as much of the window as empties the queue.
//!
//! In the draft's terms, Δ is the time since the last congestion and Δ_L a second:
//!
//! ```text
//! α(Δ) = 1                                  up to Δ_L
//! α(Δ) = 1 + 10 (Δ − Δ_L) + ((Δ − Δ_L)/2)²  above
//! α ← 2 (1 − β) α
//! β = RTT_min/RTT_max, from 0.5 to 0.8; 0.5 if the throughput has changed by more than a fifth
//! ```
//!
//! RTT_max is the longest round trip since the last congestion. The throughput is the highest of
//! that time: data delivered per shortest round trip, smoothed as in Linux (a quarter is new).

use super::additive_increase::{AdditiveGrowth, AdditiveIncrease, Decrease, Growth};
use super::facts::{ControlFacts, KeptShare, LinuxControl};
use super::slow_start::SlowStartExit;
use super::{Ack, Congestion, CongestionControl, ControlContext, ControlKind};
use ackclock_spec::prelude::*;

parameters! {
    /// Parameters. The defaults are those of the draft.
    pub struct Htcp {
        /// Δ_L: time after congestion for which the window grows as Reno's.
        pub low_speed_period: Span = Span::from_millis(1000),
        /// Smallest β, the share of the window that is kept. Between 0 and 1.
        pub minimum_beta: f64 = 0.5,
        /// Largest β, at least the smallest. Between 0 and 1.
        pub maximum_beta: f64 = 0.8,
        /// Relative change of the throughput between two congestion epochs above which β is the
        /// smallest. Above 0.
        pub bandwidth_switch: f64 = 0.2,
        /// True if α is divided by 100 ms over the shortest round-trip time, from 0.5 to 10, so
        /// that growth per second depends less on the round trip. Linux does so.
        pub rtt_scaling: bool = false,
    }
}

impl Element<ControlKind> for Htcp {
    const NAME: &'static str = "htcp";
    const LABEL: &'static str = "H-TCP";
    const SUMMARY: &'static str = "Reno whose growth quickens with the time since the last \
        congestion; keeps the share of the window that empties the queue.";
    const REFERENCE: &'static str = "Leith and Shorten (2004), H-TCP: TCP for high-speed and \
        long-distance networks; draft-leith-tcp-htcp-06; Linux, tcp_htcp.c";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let (least, most) = (self.minimum_beta, self.maximum_beta);
        every([
            check_factor("minimum_beta", least, "0.5"),
            check_factor("maximum_beta", most, "0.8"),
            consistent(
                most >= least,
                "maximum_beta",
                &most,
                &["minimum_beta"],
                &format!("is less than minimum_beta, {least}; raise it or lower minimum_beta"),
            ),
            check_positive("bandwidth_switch", self.bandwidth_switch, "0.2"),
        ])
    }

    fn facts(&self) -> ControlFacts {
        let kernel = Htcp {
            rtt_scaling: true,
            ..Htcp::default()
        };
        // Growth is a function of time, which no law of the list is.
        ControlFacts {
            linux: Stated::Some(LinuxControl::new("htcp", self, &kernel)),
            ..ControlFacts::loss_based(KeptShare::ByEstimate)
        }
    }
}

impl Factory<ControlKind> for Htcp {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        let growth = AdditiveGrowth {
            alpha: 1.0,
            growth: Growth::PerAck,
            slow_start_exit: SlowStartExit::None,
        };
        let law = Law {
            beta: self.minimum_beta,
            parameters: self.clone(),
            now: Time::ZERO,
            since: None,
            least: Span::FOREVER,
            longest: Span::ZERO,
            throughput: Throughput::default(),
        };
        Box::new(AdditiveIncrease::new(&context, growth, law))
    }
}

/// Shortest round-trip time below which Linux keeps the smallest β.
const SHORTEST: Span = Span::from_millis(10);

#[derive(Debug)]
struct Law {
    parameters: Htcp,
    beta: f64,
    now: Time,
    /// Time of the last congestion.
    since: Option<Time>,
    /// RTT_min.
    least: Span,
    /// RTT_max of the present epoch.
    longest: Span,
    throughput: Throughput,
}

/// The throughput of the present epoch and that of the one before, in bytes per second.
#[derive(Debug, Default)]
struct Throughput {
    /// Data delivered since the last sample, and the time of that sample.
    delivered: f64,
    sampled_at: Option<Time>,
    smoothed: Option<f64>,
    highest: f64,
    before: Option<f64>,
}

/// Weight of a new sample (Linux).
const SAMPLE_WEIGHT: f64 = 0.25;

impl Throughput {
    fn note(&mut self, now: Time, delivered: Bytes, least: Span) {
        let since = *self.sampled_at.get_or_insert(now);
        self.delivered += delivered.as_f64();
        let elapsed = now.since(since);
        if least == Span::FOREVER || elapsed < least || elapsed == Span::ZERO {
            return;
        }
        let sample = self.delivered / elapsed.as_seconds();
        let smoothed = self
            .smoothed
            .map_or(sample, |mean| mean + SAMPLE_WEIGHT * (sample - mean));
        self.smoothed = Some(smoothed);
        self.highest = self.highest.max(smoothed);
        (self.delivered, self.sampled_at) = (0.0, Some(now));
    }

    /// Ends an epoch. Returns true if its throughput differs from that of the last one by more than
    /// this share, or if there was none.
    fn has_changed(&mut self, by: f64) -> bool {
        let highest = std::mem::take(&mut self.highest);
        let before = self.before.replace(highest);
        before.is_none_or(|before| (highest - before).abs() > by * before)
    }
}

impl Law {
    /// Returns α after a time Δ without congestion.
    fn growth(&self, elapsed: Span) -> f64 {
        let over = elapsed.as_seconds() - self.parameters.low_speed_period.as_seconds();
        let mut alpha = if over <= 0.0 {
            1.0
        } else {
            1.0 + 10.0 * over + (over / 2.0) * (over / 2.0)
        };
        if self.parameters.rtt_scaling && self.least != Span::FOREVER {
            let scale = (0.1 / self.least.as_seconds().max(1e-9)).clamp(0.5, 10.0);
            alpha = (alpha / scale).max(1.0);
        }
        2.0 * (1.0 - self.beta) * alpha
    }

    fn adapt_beta(&mut self) {
        let (least, most) = (self.parameters.minimum_beta, self.parameters.maximum_beta);
        let changed = self
            .throughput
            .has_changed(self.parameters.bandwidth_switch);
        let unknown = self.least == Span::FOREVER || self.longest == Span::ZERO;
        self.beta = if changed || unknown || self.least <= SHORTEST {
            least
        } else {
            (self.least.as_seconds() / self.longest.as_seconds()).clamp(least, most)
        };
        self.longest = Span::ZERO;
    }
}

impl Decrease for Law {
    fn on_ack(&mut self, now: Time, ack: &Ack, _: Bytes) {
        self.now = now;
        if let Some(rtt) = ack.rtt.filter(|rtt| *rtt > Span::ZERO) {
            self.least = self.least.min(rtt);
            self.longest = self.longest.max(rtt);
        }
        self.throughput.note(now, ack.newly_delivered, self.least);
    }

    fn alpha(&mut self, _: f64, _: f64) -> f64 {
        self.growth(self.since.map_or(Span::ZERO, |since| self.now.since(since)))
    }

    fn kept(&mut self, now: Time, congestion: &Congestion) -> f64 {
        self.adapt_beta();
        self.since = Some(now);
        congestion.base.as_f64() * self.beta
    }

    fn rate_estimate(&self) -> Option<f64> {
        self.throughput.smoothed
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{AckClock, MSS};
    use super::super::{CongestionKind, Event};
    use super::*;
    use serde_json::json;

    fn law(parameters: Htcp, least_ms: u64) -> Law {
        Law {
            beta: parameters.minimum_beta,
            parameters,
            now: Time::ZERO,
            since: None,
            least: Span::from_millis(least_ms),
            longest: Span::ZERO,
            throughput: Throughput::default(),
        }
    }

    /// The draft's α at β = 0.5, by arithmetic.
    #[test]
    fn growth_is_that_of_the_draft() {
        let law = law(Htcp::default(), 100);
        for (seconds, alpha) in [
            (0.5, 1.0),
            (1.0, 1.0),
            (2.0, 11.25),
            (5.0, 45.0),
            (10.0, 111.25),
        ] {
            let growth = law.growth(Span::from_seconds(seconds));
            assert!((growth - alpha).abs() < 1e-9, "{seconds}: {growth}");
        }
    }

    #[test]
    fn a_larger_beta_grows_more_slowly() {
        let mut law = law(Htcp::default(), 100);
        law.beta = 0.8;
        let growth = law.growth(Span::from_seconds(2.0));
        assert!((growth - 0.4 * 11.25).abs() < 1e-9, "{growth}");
    }

    #[test]
    fn scaling_divides_by_a_hundred_milliseconds_over_the_shortest_round_trip() {
        let scaled = |least_ms: u64| {
            let parameters = Htcp {
                rtt_scaling: true,
                ..Htcp::default()
            };
            law(parameters, least_ms).growth(Span::from_seconds(10.0))
        };
        for (least_ms, expected) in [(50, 111.25 / 2.0), (100, 111.25), (400, 222.5), (5, 11.125)] {
            let growth = scaled(least_ms);
            assert!((growth - expected).abs() < 1e-9, "{least_ms} ms: {growth}");
        }
    }

    /// At a constant rate of 100 segments per 100 ms, with round trips of 100 to 150 ms.
    #[test]
    fn what_is_kept_empties_the_queue_once_the_throughput_is_steady() {
        let mut clock = AckClock::new(
            &json!({ "kind": "htcp" }),
            Span::from_millis(100),
            100,
            Some(1),
        );
        let mut kept = Vec::new();
        for _ in 0..3 {
            clock.event(&Event::IdleRestart {
                limit: Bytes(100 * MSS),
            });
            for rtt in [100, 120, 150] {
                clock.rtt = Span::from_millis(rtt);
                clock.round();
            }
            let before = clock.cwnd();
            clock.congestion(CongestionKind::Loss);
            kept.push(clock.cwnd() / before);
            clock.congestion(CongestionKind::SpuriousLoss);
        }
        assert_eq!(kept[0], 0.5, "nothing to compare the first epoch with");
        assert!((kept[2] - 100.0 / 150.0).abs() < 0.01, "{kept:?}");
    }

    #[test]
    fn growth_quickens_with_the_time_since_congestion() {
        let mut clock = AckClock::new(
            &json!({ "kind": "htcp" }),
            Span::from_millis(100),
            100,
            Some(1),
        );
        clock.congestion(CongestionKind::Loss);
        let grown = |clock: &mut AckClock| {
            let before = clock.cwnd();
            clock.round();
            clock.cwnd() - before
        };
        let first = grown(&mut clock);
        assert!((first - 1.0).abs() < 0.02, "{first}");
        (0..19).for_each(|_| clock.round());
        let now = grown(&mut clock); // two seconds later
        assert!((now - 11.25).abs() < 1.2, "{now}");
    }
}
