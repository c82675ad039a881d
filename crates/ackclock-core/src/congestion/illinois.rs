//! TCP Illinois (Liu, Başar and Srikant 2006): additive increase and multiplicative decrease by
//! loss, with sizes by delay.
//!
//! d_a is the mean queueing delay of a round trip, d_m the longest so far. With d_1 = 0.01 d_m,
//! d_2 = 0.1 d_m and d_3 = 0.8 d_m:
//!
//! ```text
//! α = α_max up to d_1, above κ_1/(κ_2 + d_a), which falls to α_min at d_m
//! β = β_min up to d_2, β_max from d_3 on, linear in between; a loss takes β of the window
//! ```
//!
//! α returns to α_max only after θ round trips with a short queue. Below W_thresh segments the
//! control is Reno.

use super::additive_increase::{AdditiveGrowth, AdditiveIncrease, Decrease, Growth};
use super::facts::{ControlFacts, GrowthLaw, KeptShare, LinuxControl};
use super::rounds::RoundCounter;
use super::slow_start::SlowStartExit;
use super::{Ack, Congestion, CongestionControl, CongestionKind, ControlContext, ControlKind};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::Segments;

parameters! {
    /// Parameters. The defaults are those of the paper and of Linux.
    pub struct Illinois {
        /// α_max: growth per round trip while the queue is short, in segments.
        pub maximum_alpha: f64 = 10.0,
        /// α_min: growth per round trip at the longest queue, in segments. At most α_max.
        pub minimum_alpha: f64 = 0.3,
        /// β_min: share of the window that a loss takes while the queue is short.
        pub minimum_beta: f64 = 0.125,
        /// β_max: share that a loss takes while the queue is long. At least β_min.
        pub maximum_beta: f64 = 0.5,
        /// θ: round trips with a short queue after which α returns to α_max.
        pub patience: u32 = 5,
        /// W_thresh: window below which the control is Reno.
        pub reno_below: Segments = Segments(15),
    }
}

impl Element<ControlKind> for Illinois {
    const NAME: &'static str = "illinois";
    const LABEL: &'static str = "Illinois";
    const SUMMARY: &'static str = "Reno that grows faster and gives up less at a loss, the \
        shorter the queue is.";
    const REFERENCE: &'static str = "Liu, Başar, Srikant (2006), TCP-Illinois: A loss and \
        delay-based congestion control algorithm for high-speed networks; Linux, tcp_illinois.c";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let (least, most) = (self.minimum_alpha, self.maximum_alpha);
        let (little, much) = (self.minimum_beta, self.maximum_beta);
        every([
            check_positive("minimum_alpha", least, "0.3"),
            check_positive("maximum_alpha", most, "10"),
            check_factor("minimum_beta", little, "0.125"),
            check_factor("maximum_beta", much, "0.5"),
            consistent(
                most > least,
                "maximum_alpha",
                &most,
                &["minimum_alpha"],
                &format!("is not above minimum_alpha, {least}; for example 10"),
            ),
            consistent(
                much >= little,
                "maximum_beta",
                &much,
                &["minimum_beta"],
                &format!("is less than minimum_beta, {little}; for example 0.5"),
            ),
        ])
    }

    fn facts(&self) -> ControlFacts {
        ControlFacts {
            growth: Some(GrowthLaw::ByDelay),
            linux: Stated::Some(LinuxControl::new("illinois", self, &Illinois::default())),
            ..ControlFacts::loss_based(KeptShare::ByEstimate)
        }
    }
}

impl Factory<ControlKind> for Illinois {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        let growth = AdditiveGrowth {
            alpha: RENO_ALPHA,
            growth: Growth::PerAck,
            slow_start_exit: SlowStartExit::None,
        };
        let law = Law::new(self.clone(), context.mss.as_f64());
        Box::new(AdditiveIncrease::new(&context, growth, law))
    }
}

/// Growth and decrease of Reno.
const RENO_ALPHA: f64 = 1.0;
const RENO_BETA: f64 = 0.5;

/// d_1, d_2 and d_3 as shares of d_m.
const SHORT: f64 = 0.01;
const LOW: f64 = 0.1;
const HIGH: f64 = 0.8;

#[derive(Debug)]
struct Law {
    parameters: Illinois,
    mss: f64,
    alpha: f64,
    beta: f64,
    rounds: RoundCounter,
    /// Shortest and longest round-trip time.
    least: Span,
    longest: Span,
    /// Sum and number of the round trip's measurements, in seconds.
    sum: f64,
    count: u32,
    /// True once a queue was not short; then, the round trips with a short queue since.
    was_long: bool,
    short_rounds: u32,
}

impl Law {
    fn new(parameters: Illinois, mss: f64) -> Self {
        Law {
            parameters,
            mss: mss.max(1.0),
            alpha: RENO_ALPHA,
            beta: RENO_BETA,
            rounds: RoundCounter::default(),
            least: Span::FOREVER,
            longest: Span::ZERO,
            sum: 0.0,
            count: 0,
            was_long: false,
            short_rounds: 0,
        }
    }

    /// Returns α at a mean delay, without patience.
    fn alpha_at(&self, mean: f64, longest: f64) -> f64 {
        let Illinois {
            minimum_alpha: least,
            maximum_alpha: most,
            ..
        } = self.parameters;
        let short = SHORT * longest;
        if mean <= short {
            return most;
        }
        let factor = (longest - short) * least / (most - least);
        factor * most / (factor - short + mean)
    }

    /// Returns β at a mean delay.
    fn beta_at(&self, mean: f64, longest: f64) -> f64 {
        let (least, most) = (self.parameters.minimum_beta, self.parameters.maximum_beta);
        let (low, high) = (LOW * longest, HIGH * longest);
        if mean <= low {
            least
        } else if mean >= high {
            most
        } else {
            least + (most - least) * (mean - low) / (high - low)
        }
    }

    /// Adapts α and β at the end of a round trip.
    fn adapt(&mut self, cwnd: f64) {
        if self.count == 0 {
            return;
        }
        let base = self.least.as_seconds();
        let mean = (self.sum / f64::from(self.count) - base).max(0.0);
        let longest = (self.longest.as_seconds() - base).max(0.0);
        (self.sum, self.count) = (0.0, 0);
        if cwnd < f64::from(self.parameters.reno_below.0) * self.mss {
            (self.alpha, self.beta) = (RENO_ALPHA, RENO_BETA);
            return;
        }
        self.beta = self.beta_at(mean, longest);
        let alpha = self.alpha_at(mean, longest);
        if alpha < self.parameters.maximum_alpha {
            (self.was_long, self.short_rounds) = (true, 0);
            self.alpha = alpha;
            return;
        }
        self.short_rounds += 1;
        if !self.was_long || self.short_rounds >= self.parameters.patience {
            (self.was_long, self.short_rounds) = (false, 0);
            self.alpha = alpha;
        }
    }
}

impl Decrease for Law {
    fn on_ack(&mut self, _: Time, ack: &Ack, cwnd: Bytes) {
        if let Some(rtt) = ack
            .rtt
            .filter(|rtt| *rtt > Span::ZERO && *rtt != Span::FOREVER)
        {
            self.least = self.least.min(rtt);
            self.longest = self.longest.max(rtt);
            self.sum += rtt.as_seconds();
            self.count = self.count.saturating_add(1);
        }
        if self.rounds.begins(ack) {
            self.adapt(cwnd.as_f64());
        }
    }

    fn alpha(&mut self, _: f64, _: f64) -> f64 {
        self.alpha
    }

    fn kept(&mut self, _: Time, congestion: &Congestion) -> f64 {
        let kept = congestion.base.as_f64() * (1.0 - self.beta);
        if congestion.kind == CongestionKind::Timeout {
            (self.alpha, self.beta) = (RENO_ALPHA, RENO_BETA);
            (self.was_long, self.short_rounds) = (false, 0);
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::AckClock;
    use super::*;
    use serde_json::json;

    /// The curves at d_m = 100 ms, by arithmetic from the paper's formulas.
    #[test]
    fn the_curves_are_those_of_the_paper() {
        let law = Law::new(Illinois::default(), 1000.0);
        for (mean, alpha, beta) in [
            (0.0005, 10.0, 0.125),
            (0.010, 2.538, 0.125),
            (0.050, 0.588, 0.339),
            (0.090, 0.333, 0.5),
            (0.100, 0.3, 0.5),
        ] {
            let factors = (law.alpha_at(mean, 0.1), law.beta_at(mean, 0.1));
            assert!((factors.0 - alpha).abs() < 5e-4, "{mean}: {factors:?}");
            assert!((factors.1 - beta).abs() < 5e-4, "{mean}: {factors:?}");
        }
    }

    fn clock(window: u64) -> AckClock {
        let tree = json!({ "kind": "illinois" });
        AckClock::new(&tree, Span::from_millis(100), window, Some(1))
    }

    fn grown(clock: &mut AckClock) -> f64 {
        let before = clock.cwnd();
        clock.round();
        clock.cwnd() - before
    }

    #[test]
    fn without_a_queue_it_grows_by_the_largest_alpha_and_gives_up_least() {
        let mut clock = clock(100);
        (0..3).for_each(|_| clock.round());
        let growth = grown(&mut clock);
        assert!((growth - 10.0).abs() < 0.6, "{growth}");
        let before = clock.cwnd();
        clock.congestion(CongestionKind::Loss);
        assert!((clock.cwnd() / before - 0.875).abs() < 1e-3);
    }

    #[test]
    fn with_a_long_queue_it_hardly_grows_and_gives_up_half() {
        let mut clock = clock(100);
        clock.round();
        clock.rtt = Span::from_millis(200); // the longest queue
        (0..3).for_each(|_| clock.round());
        let growth = grown(&mut clock);
        assert!((growth - 0.3).abs() < 0.02, "{growth}");
        let before = clock.cwnd();
        clock.congestion(CongestionKind::Loss);
        assert!((clock.cwnd() / before - 0.5).abs() < 1e-3);
    }

    #[test]
    fn fast_growth_returns_after_five_round_trips_with_a_short_queue() {
        let mut clock = clock(100);
        clock.round();
        clock.rtt = Span::from_millis(200);
        (0..3).for_each(|_| clock.round());
        clock.rtt = Span::from_millis(100);
        let slow = (0..20).take_while(|_| grown(&mut clock) < 5.0).count();
        // The mean of the first is still that of both, and a round's law holds in the next.
        assert!((5..=7).contains(&slow), "{slow}");
    }

    #[test]
    fn a_small_window_is_renos() {
        let mut clock = clock(8);
        (0..3).for_each(|_| clock.round());
        let growth = grown(&mut clock);
        assert!((growth - 1.0).abs() < 0.1, "{growth}");
        let before = clock.cwnd();
        clock.congestion(CongestionKind::Loss);
        assert!((clock.cwnd() / before - 0.5).abs() < 1e-3);
    }
}
