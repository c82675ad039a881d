//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): LEDBAT that late-comers cannot push aside.
//!
//! It differs from RFC 6817 as follows:
//!
//! * Delays are round-trip times, and the target is 60 ms.
//! * GAIN = 1/min(16, ⌈2 TARGET/base⌉), so that it grows no faster than half of Reno.
//! * Above the target the window falls by a share of itself: per round trip by
//!   W (queuing/TARGET − 1) less GAIN, at most by half.
//! * Slow start grows by GAIN for each segment, and the first ends at ¾ of the target.
//! * Slow-downs: two round trips after the first slow start the window is two segments for two
//!   round trips, and then grows by slow start to what it was. So all flows measure the empty
//!   queue. The next slow-down comes after nine times the duration of this one.
//!
//! The draft's version -06 was not at hand; the formulas are those that three ports of -01 quote.

use super::facts::{ControlFacts, GrowthLaw, KeptShare};
use super::rounds::RoundCounter;
use super::smallest_delay::{BaseDelay, LastMinimum};
use super::window::Window;
use super::{Ack, Congestion, CongestionControl, ControlContext, ControlKind, Event};
use super::{ControlState, RecoveryPhase};
use ackclock_spec::prelude::*;

parameters! {
    /// Parameters. The defaults are those of the draft.
    pub struct LedbatPlusPlus {
        /// TARGET: queueing delay that is aimed at. Above 0.
        pub target: Span = Span::from_millis(60),
        /// Share of the excess delay by which the window falls per round trip. Above 0.
        pub decrease: f64 = 1.0,
        /// Minutes after which a smallest delay is forgotten.
        pub base_history: u32 = 10,
        /// Last measurements whose smallest counts.
        pub current_filter: u32 = 4,
        /// Duration between slow-downs over that of a slow-down; 0 for no slow-downs.
        pub slowdown_ratio: f64 = 9.0,
    }
}

impl Element<ControlKind> for LedbatPlusPlus {
    const NAME: &'static str = "ledbat_plus_plus";
    const LABEL: &'static str = "LEDBAT++";
    const SUMMARY: &'static str = "LEDBAT that now and then empties its queue, so that flows that \
        start later do not push it aside.";
    const REFERENCE: &'static str = "draft-irtf-iccrg-ledbat-plus-plus";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            in_range(
                self.target > Span::ZERO && self.target != Span::FOREVER,
                "target",
                &self.target,
                "is not positive; for example \"60 ms\"",
            ),
            check_positive("decrease", self.decrease, "1"),
            check_at_least_one("base_history", self.base_history, "10"),
            check_at_least_one("current_filter", self.current_filter, "4"),
            check_not_negative("slowdown_ratio", self.slowdown_ratio, "9"),
        ])
    }

    fn facts(&self) -> ControlFacts {
        ControlFacts {
            growth: Some(GrowthLaw::ByDelay),
            reacts_to_delay: Some(true),
            slow_start_ends_early: Some(true),
            ..ControlFacts::loss_based(KeptShare::Constant { share: KEPT })
        }
    }
}

impl Factory<ControlKind> for LedbatPlusPlus {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        Box::new(Control {
            base: BaseDelay::over(self.base_history),
            current: LastMinimum::of(self.current_filter),
            parameters: self.clone(),
            window: Window::new(&context),
            rounds: RoundCounter::default(),
            gain: 1.0 / MOST_ROUNDS,
            is_first: true,
            slowdown: Slowdown::None,
            undo: None,
        })
    }
}

const KEPT: f64 = 0.5;
/// The smallest gain is one segment in so many round trips.
const MOST_ROUNDS: f64 = 16.0;
/// Share of the target at which the first slow start ends.
const EXIT: f64 = 0.75;
/// Smallest window, in segments.
const FLOOR: f64 = 2.0;
/// Round trips between the first slow start and the first slow-down, and those of a slow-down with
/// the smallest window.
const WAIT_ROUNDS: u64 = 2;

/// The state of slow-downs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slowdown {
    /// None is due: the first slow start goes on, or there are none.
    None,
    /// The first begins after this round.
    AfterRound(u64),
    /// The next begins at this time.
    At(Time),
    /// The window is smallest until this round. It began at `began`.
    Smallest { until: u64, began: Time },
    /// Slow start to what the window was.
    Return { began: Time },
}

#[derive(Debug)]
struct Control {
    parameters: LedbatPlusPlus,
    window: Window,
    rounds: RoundCounter,
    base: BaseDelay,
    current: LastMinimum,
    gain: f64,
    /// True during the first slow start.
    is_first: bool,
    slowdown: Slowdown,
    undo: Option<Window>,
}

impl Control {
    /// Takes in a round-trip time. Returns the queueing delay over the target.
    fn measure(&mut self, now: Time, rtt: Span) -> f64 {
        let base = self.base.update(now, rtt).as_seconds();
        let target = self.parameters.target.as_seconds();
        let rounds = libm::ceil(2.0 * target / base.max(1e-9));
        self.gain = 1.0 / rounds.clamp(1.0, MOST_ROUNDS);
        (self.current.update(rtt).as_seconds() - base) / target
    }

    fn end_first(&mut self) {
        if self.is_first {
            self.is_first = false;
            if self.parameters.slowdown_ratio > 0.0 {
                self.slowdown = Slowdown::AfterRound(self.rounds.count() + WAIT_ROUNDS);
            }
        }
    }

    fn grow_in_slow_start(&mut self, credit: f64) {
        self.window.grow_in_slow_start(self.gain * credit, 1.0);
    }

    fn avoid(&mut self, ack: &Ack, delay: f64) {
        let (mss, cwnd) = (self.window.mss(), self.window.cwnd());
        if delay <= 1.0 {
            let credit = ack.credit.as_f64();
            self.window.grow(self.gain * mss * credit / cwnd);
        } else if ack.phase != RecoveryPhase::Recovery {
            let excess = self.parameters.decrease * cwnd * (delay - 1.0);
            let per_round = (self.gain * mss - excess).max(-cwnd / 2.0);
            self.window
                .grow(per_round * ack.newly_delivered.as_f64() / cwnd);
            self.window.raise(FLOOR * mss);
            self.window.end_slow_start(); // a window below ssthresh would grow back
        }
    }

    /// Begins or goes on with a slow-down. Returns true if the window is not to grow.
    fn slow_down(&mut self, now: Time) -> bool {
        let round = self.rounds.count();
        let is_due = match self.slowdown {
            Slowdown::AfterRound(last) => round > last,
            Slowdown::At(time) => now >= time,
            _ => false,
        };
        if is_due {
            self.window.end_slow_start(); // ssthresh is the window now
            self.window.lower(FLOOR * self.window.mss());
            let until = round + WAIT_ROUNDS;
            self.slowdown = Slowdown::Smallest { until, began: now };
        }
        if let Slowdown::Smallest { until, began } = self.slowdown {
            if round <= until {
                return true;
            }
            self.slowdown = Slowdown::Return { began };
        }
        if let Slowdown::Return { began } = self.slowdown
            && !self.window.in_slow_start()
        {
            let pause = now.since(began).as_seconds() * self.parameters.slowdown_ratio;
            self.slowdown = Slowdown::At(now + Span::from_seconds(pause));
        }
        false
    }
}

impl CongestionControl for Control {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        let Some(rtt) = ack
            .newest_rtt
            .or(ack.rtt)
            .filter(|rtt| *rtt != Span::FOREVER)
        else {
            return;
        };
        let delay = self.measure(now, rtt);
        self.rounds.begins(ack);
        if self.slow_down(now) {
            return;
        }
        if self.is_first && self.window.in_slow_start() {
            self.grow_in_slow_start(ack.credit.as_f64());
            if delay > EXIT {
                self.window.end_slow_start();
                self.end_first();
            }
        } else if self.window.in_slow_start() {
            self.grow_in_slow_start(ack.credit.as_f64());
        } else {
            self.avoid(ack, delay);
        }
    }

    fn on_congestion(&mut self, _: Time, congestion: &Congestion) {
        let kept = congestion.base.as_f64() * KEPT;
        if self.window.react(congestion, &mut self.undo, || kept) {
            self.end_first();
        }
    }

    fn on_event(&mut self, _: Time, event: &Event) {
        if let Event::IdleRestart { limit } = event {
            self.window.lower(limit.as_f64());
        }
    }

    fn cwnd(&self) -> Bytes {
        self.window.bytes()
    }

    fn state(&self) -> ControlState {
        ControlState {
            ssthresh: self.window.ssthresh(),
            mode: match self.slowdown {
                Slowdown::Smallest { .. } | Slowdown::Return { .. } => "slow_down",
                _ if self.window.in_slow_start() => "slow_start",
                _ => "congestion_avoidance",
            },
            rate_estimate: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::CongestionKind;
    use super::super::testing::{AckClock, Bottleneck, MSS};
    use super::*;
    use serde_json::json;

    fn clock(rtt_ms: u64, window: u64, ssthresh: Option<u64>) -> AckClock {
        let tree = json!({ "kind": "ledbat_plus_plus" });
        AckClock::new(&tree, Span::from_millis(rtt_ms), window, ssthresh)
    }

    /// 1/6 at 20 ms, 1/2 at 60 ms, 1/16 at 3 ms, by the formula.
    #[test]
    fn the_gain_depends_on_the_base_delay() {
        for (rtt_ms, gain) in [(20, 1.0 / 6.0), (60, 0.5), (3, 1.0 / 16.0), (200, 1.0)] {
            let mut clock = clock(rtt_ms, 100, Some(1));
            clock.round();
            let before = clock.cwnd();
            clock.round();
            let grown = clock.cwnd() - before;
            assert!((grown - gain).abs() < 0.02 * gain, "{rtt_ms} ms: {grown}");
        }
    }

    #[test]
    fn above_the_target_the_window_falls_in_proportion() {
        let mut clock = clock(60, 100, Some(1));
        clock.ack(MSS);
        clock.rtt = Span::from_millis(60 + 66); // 10 % above the target
        (0..4).for_each(|_| clock.ack(MSS));
        let before = clock.cwnd();
        clock.ack(MSS);
        let expected = (0.5 - before * 0.1) / before;
        let grown = clock.cwnd() - before;
        assert!((grown - expected).abs() < 0.01, "{grown} {expected}");
    }

    #[test]
    fn what_has_fallen_below_ssthresh_does_not_grow_back() {
        let mut clock = clock(60, 100, Some(100));
        clock.ack(MSS);
        clock.rtt = Span::from_millis(60 + 90);
        (0..4).for_each(|_| clock.ack(MSS));
        for _ in 0..100 {
            let before = clock.cwnd();
            clock.ack(MSS);
            assert!(clock.cwnd() < before, "{before}");
        }
    }

    fn over_a_link(window: u64) -> AckClock {
        let mut clock = clock(60, window, None);
        clock.bottleneck = Some(Bottleneck {
            rate: BitRate::from_mbit_per_s(8.0), // a segment in a millisecond
            buffer: Bytes(1000 * MSS),
            overflow: CongestionKind::Loss,
        });
        clock
    }

    #[test]
    fn two_round_trips_after_slow_start_the_window_is_smallest_for_two() {
        let mut clock = over_a_link(10);
        while clock.control.state().mode == "slow_start" {
            clock.round();
        }
        let mut windows = Vec::new();
        while clock.control.state().mode != "slow_down" {
            clock.round();
            windows.push(clock.cwnd());
        }
        assert!((1..=3).contains(&windows.len()), "{windows:?}");
        assert_eq!(clock.cwnd(), 2.0);
        let before = clock.ssthresh().unwrap();
        let rounds = (0..40).take_while(|_| {
            clock.round();
            clock.control.state().mode == "slow_down"
        });
        // Two with two segments, then by half of each: ln(before/2)/ln(1.5).
        let expected = 2.0 + (before / 2.0).ln() / 1.5_f64.ln();
        let rounds = rounds.count() as f64;
        assert!((rounds - expected).abs() <= 3.0, "{rounds} {expected}");
        assert!((clock.cwnd() - before).abs() < 2.0);
    }

    #[test]
    fn slow_downs_take_a_tenth_of_the_time_at_most_and_the_queue_stays_below_the_target() {
        let mut clock = over_a_link(10);
        (0..100).for_each(|_| clock.round());
        let (start, mut slow) = (clock.now, Span::ZERO);
        let mut most = 0.0_f64;
        for _ in 0..100_000 {
            let before = clock.now;
            let is_slow = clock.control.state().mode == "slow_down";
            clock.ack(MSS);
            if is_slow {
                slow = slow + (clock.now - before);
            }
            most = most.max(clock.queue());
        }
        let share = slow.as_seconds() / (clock.now - start).as_seconds();
        assert!((0.05..=0.11).contains(&share), "{share}");
        assert!(most <= 62.0, "{most}");
    }
}
