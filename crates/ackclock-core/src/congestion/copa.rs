//! Copa (Arun and Balakrishnan, NSDI 2018): aims at a rate in inverse proportion to the queueing
//! delay.
//!
//! ```text
//! d_q = RTT_standing − RTT_min,   target rate = 1/(δ d_q),   rate = cwnd/RTT_standing
//! cwnd += v/(δ cwnd) for each segment if the rate is at most the target, otherwise −=
//! ```
//!
//! RTT_min is the smallest of 10 s, RTT_standing that of half a smoothed round trip. The velocity v
//! is 1. It doubles each round trip once the window has moved the same way for three. It is 1 again
//! when the window turns. At first the window doubles each round trip, until the rate exceeds the
//! target.
//!
//! From a window near the bandwidth-delay product it settles there. From slow start's overshoot it
//! may swing for ever instead: the velocity doubles for as long as a round trip hides the effect,
//! and the next overshoot is as large. `tests/simulation/test_copa.py` shows both.
//!
//! It paces at twice cwnd/RTT_standing. Losses change nothing. The paper's text was read in part;
//! details are those of mvfst's `Copa.cpp`, with the paper's δ of 0.5 where mvfst has 0.05. As in
//! mvfst there is no competitive mode, which the paper has for queues that others fill.

use super::ControlState;
use super::facts::{ControlFacts, GrowthLaw, KeptShare};
use super::rounds::RoundCounter;
use super::smallest_delay::SlidingMinimum;
use super::{
    Ack, Congestion, CongestionControl, CongestionKind, ControlContext, ControlKind, Event, Needs,
    Pace,
};
use ackclock_spec::prelude::*;

parameters! {
    /// Parameters. The defaults are those of the paper.
    ///
    /// A flow alone may swing for ever between a few segments and 1.8 bandwidth-delay products,
    /// depending on where slow start ends. At 40 ms it does so at 100, 200 and 400 Mbit/s, with 66
    /// % of the link, and not at 50, 150 and 250. Look at the window before you compare.
    pub struct Copa {
        /// δ: a flow alone keeps 1/δ segments in the queue. Above 0.
        pub delta: f64 = 0.5,
        /// Time over which the smallest round-trip time counts.
        pub min_rtt_window: Span = Span::from_millis(10_000),
    }
}

impl Element<ControlKind> for Copa {
    const NAME: &'static str = "copa";
    const LABEL: &'static str = "Copa";
    const SUMMARY: &'static str = "Aims at a rate of 1/(δ d) segments per second at a queueing \
        delay of d; ignores losses.";
    const REFERENCE: &'static str = "Arun and Balakrishnan (2018), Copa: Practical delay-based \
        congestion control for the Internet, NSDI";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            check_positive("delta", self.delta, "0.5"),
            in_range(
                self.min_rtt_window > Span::ZERO,
                "min_rtt_window",
                &self.min_rtt_window,
                "is not positive; for example \"10 s\"",
            ),
        ])
    }

    fn facts(&self) -> ControlFacts {
        ControlFacts {
            growth: Some(GrowthLaw::ByDelay),
            kept_after_loss: Some(KeptShare::All),
            kept_after_mark: Some(KeptShare::All),
            reacts_to_loss: Some(false),
            reacts_to_delay: Some(true),
            paces: Some(true),
            slow_start_ends_early: Some(true),
            ..ControlFacts::of_the_engine()
        }
    }
}

impl Factory<ControlKind> for Copa {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        let mss = context.mss.as_f64().max(1.0);
        let cwnd = (context.initial_window.as_f64() / mss).max(1.0);
        Box::new(CopaControl {
            mss,
            cwnd,
            in_slow_start: context
                .initial_ssthresh
                .is_none_or(|ssthresh| context.initial_window < ssthresh),
            velocity: Velocity::new(cwnd),
            rounds: RoundCounter::default(),
            smallest: SlidingMinimum::default(),
            standing: SlidingMinimum::default(),
            standing_rtt: Span::ZERO,
            parameters: self.clone(),
            undo: None,
        })
    }
}

/// Smallest window, in segments.
const FLOOR: f64 = 2.0;
/// Largest window, in segments.
const LARGEST: f64 = (1_u64 << 40) as f64;
/// Round trips of the same direction after which the velocity doubles.
const STEADY_ROUNDS: u32 = 3;
/// Largest velocity: a window more per round trip is slow start.
const FASTEST: f64 = (1_u64 << 20) as f64;

/// The velocity, and the way the window has moved.
#[derive(Debug)]
struct Velocity {
    value: f64,
    is_up: bool,
    rounds: u32,
    /// The window when the round began.
    from: f64,
}

impl Velocity {
    const fn new(cwnd: f64) -> Self {
        Velocity {
            value: 1.0,
            is_up: true,
            rounds: 0,
            from: cwnd,
        }
    }

    /// Notes the way of the next step: turning resets the velocity at once.
    const fn step(&mut self, is_up: bool) {
        if is_up != self.is_up && self.value > 1.0 {
            self.value = 1.0;
            self.rounds = 0;
        }
    }

    fn end_round(&mut self, cwnd: f64) {
        let is_up = cwnd > self.from;
        if is_up == self.is_up {
            self.rounds = self.rounds.saturating_add(1);
            if self.rounds >= STEADY_ROUNDS {
                self.value = (2.0 * self.value).min(FASTEST);
            }
        } else {
            (self.value, self.is_up, self.rounds) = (1.0, is_up, 1);
        }
        self.from = cwnd;
    }
}

/// The control. The window is in segments.
#[derive(Debug)]
struct CopaControl {
    parameters: Copa,
    mss: f64,
    cwnd: f64,
    in_slow_start: bool,
    velocity: Velocity,
    rounds: RoundCounter,
    smallest: SlidingMinimum,
    standing: SlidingMinimum,
    standing_rtt: Span,
    /// The window before the last timeout.
    undo: Option<f64>,
}

impl CopaControl {
    /// True if the rate is at most the target rate.
    fn is_below_target(&self, smallest: Span) -> bool {
        let standing = self.standing_rtt.as_seconds();
        let delay = standing - smallest.as_seconds();
        // cwnd/standing <= 1/(δ d_q), without a division by zero.
        self.cwnd * delay * self.parameters.delta <= standing
    }

    fn move_window(&mut self, ack: &Ack, is_up: bool) {
        let delivered = ack.newly_delivered.as_f64() / self.mss;
        if self.in_slow_start {
            if is_up {
                self.cwnd += ack.credit.as_f64() / self.mss;
                return;
            }
            self.in_slow_start = false;
            self.velocity = Velocity::new(self.cwnd);
        }
        self.velocity.step(is_up);
        let step = self.velocity.value * delivered / (self.parameters.delta * self.cwnd);
        if !is_up {
            self.cwnd = (self.cwnd - step).max(FLOOR);
        } else if ack.credit > Bytes::ZERO {
            self.cwnd += step;
        }
    }
}

impl CongestionControl for CopaControl {
    fn needs(&self) -> Needs {
        Needs {
            paces: true,
            replaces_recovery: true,
            ..Needs::default()
        }
    }

    fn on_ack(&mut self, now: Time, ack: &Ack) {
        let usable = |rtt: &Span| *rtt > Span::ZERO && *rtt != Span::FOREVER;
        let Some(rtt) = ack.newest_rtt.or(ack.rtt).filter(usable) else {
            return;
        };
        let window = self.parameters.min_rtt_window;
        let smallest = self.smallest.update(now, window, rtt);
        let half = ack.smoothed_rtt.filter(usable).unwrap_or(rtt) / 2;
        self.standing_rtt = self.standing.update(now, half, rtt);
        if self.rounds.begins(ack) && !self.in_slow_start {
            self.velocity.end_round(self.cwnd);
        }
        let is_up = self.is_below_target(smallest);
        self.move_window(ack, is_up);
        self.cwnd = self.cwnd.min(LARGEST);
    }

    fn on_congestion(&mut self, _: Time, congestion: &Congestion) {
        match congestion.kind {
            CongestionKind::Loss | CongestionKind::Mark => {}
            CongestionKind::Timeout | CongestionKind::RepeatedTimeout => {
                if congestion.kind == CongestionKind::Timeout {
                    self.undo = Some(self.cwnd);
                }
                self.cwnd = (congestion.loss_window.as_f64() / self.mss).max(1.0);
                self.in_slow_start = true;
            }
            CongestionKind::SpuriousLoss => {
                if let Some(cwnd) = self.undo.take() {
                    self.cwnd = self.cwnd.max(cwnd);
                    self.in_slow_start = false;
                }
            }
        }
    }

    fn on_event(&mut self, _: Time, event: &Event) {
        if let Event::IdleRestart { limit } = event {
            self.cwnd = self.cwnd.min((limit.as_f64() / self.mss).max(1.0));
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes((self.cwnd * self.mss) as u64)
    }

    fn pace(&self) -> Pace {
        // Until a round trip is known, a window in a microsecond: nothing is held back.
        let round_trip = match self.standing_rtt.as_seconds() {
            known if known > 0.0 => known,
            _ => 1e-6,
        };
        let bytes = 2.0 * self.cwnd * self.mss / round_trip;
        Pace {
            rate: Some(BitRate::from_bit_per_s((8.0 * bytes) as u64)),
            burst: None,
        }
    }

    fn state(&self) -> ControlState {
        ControlState::of_phase(self.in_slow_start, None)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{AckClock, Bottleneck, MSS};
    use super::*;
    use serde_json::{Value, json};

    fn clock(tree: &Value, window: u64, ssthresh: Option<u64>) -> AckClock {
        AckClock::new(tree, Span::from_millis(50), window, ssthresh)
    }
    fn over_a_link(tree: &Value, rtt_ms: u64) -> AckClock {
        let mut clock = AckClock::new(tree, Span::from_millis(rtt_ms), 10, None);
        clock.bottleneck = Some(Bottleneck {
            rate: BitRate::from_mbit_per_s(8.0), // a segment in a millisecond
            buffer: Bytes(1000 * MSS),
            overflow: CongestionKind::Loss,
        });
        clock.application = Bytes(MSS);
        clock.ack(MSS); // measures the empty path
        clock.application = Bytes(u64::MAX);
        clock
    }
    fn copa() -> Value {
        json!({ "kind": "copa" })
    }

    /// A window of 100 at a queueing delay of 20 ms, without velocity: δ decides on the way.
    #[test]
    fn the_window_moves_towards_the_target_rate() {
        // cwnd/RTT = 100/0.07 s = 1429/s. 1/(δ d_q) = 100/s at δ = 0.5, 5000/s at δ = 0.01.
        for (delta, step) in [(0.5, -2.0 / 100.0), (0.01, 100.0 / 100.0)] {
            let tree = json!({ "kind": "copa", "delta": delta });
            let mut clock = clock(&tree, 100, Some(1));
            clock.application = Bytes(MSS); // the window is not used
            clock.ack(MSS);
            clock.application = Bytes(u64::MAX);
            clock.rtt = Span::from_millis(70);
            clock.now = clock.now + Span::from_millis(500); // the standing minimum is forgotten
            let before = clock.cwnd();
            clock.ack(MSS);
            let moved = clock.cwnd() - before;
            assert!((moved - step).abs() < 1e-3, "{delta}: {moved}");
        }
    }

    /// The standing round trip lags by half a round trip. With a segment per millisecond and a path
    /// of 50, the window is w when the standing one is that of a window of 51: w − 51 = w/2.
    #[test]
    fn slow_start_doubles_until_the_rate_exceeds_the_target() {
        let mut clock = over_a_link(&copa(), 50);
        let mut doubled = 0;
        while clock.control.state().mode == "slow_start" {
            let before = clock.cwnd();
            clock.ack(MSS);
            doubled += u32::from(clock.cwnd() == before + 1.0);
        }
        assert!(doubled > 40, "{doubled}");
        assert!((100.0..=106.0).contains(&clock.cwnd()), "{}", clock.cwnd());
    }

    #[test]
    fn velocity_doubles_after_three_rounds_of_the_same_way() {
        let mut velocity = Velocity::new(10.0);
        let values = [11.0, 12.0, 13.0, 15.0, 19.0].map(|cwnd| {
            velocity.end_round(cwnd);
            velocity.value
        });
        assert_eq!(values, [1.0, 1.0, 2.0, 4.0, 8.0]);
        velocity.step(false);
        assert_eq!(velocity.value, 1.0);
        velocity.end_round(18.0);
        assert_eq!(velocity.value, 1.0);
    }

    #[test]
    fn losses_and_marks_change_nothing() {
        let mut clock = over_a_link(&copa(), 50);
        (0..50).for_each(|_| clock.round());
        for kind in [CongestionKind::Loss, CongestionKind::Mark] {
            let before = clock.cwnd();
            clock.congestion(kind);
            assert_eq!(clock.cwnd(), before);
        }
    }

    #[test]
    fn it_paces_at_twice_the_window_per_standing_round_trip() {
        let mut clock = clock(&copa(), 100, Some(1));
        clock.ack(MSS);
        let rate = clock.control.pace().rate.unwrap().as_byte_per_s();
        let expected = 2.0 * clock.cwnd() * MSS as f64 / 0.05;
        assert!((rate / expected - 1.0).abs() < 1e-6, "{rate} {expected}");
    }
}
