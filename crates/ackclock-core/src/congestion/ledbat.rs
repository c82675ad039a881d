//! LEDBAT (RFC 6817): a background transfer that keeps a target of delay in the queue and gives way
//! to those that fill it further.
//!
//! In the RFC's terms:
//!
//! ```text
//! queuing = min(last delays) − base,   off_target = (TARGET − queuing)/TARGET
//! cwnd += GAIN · off_target · acked · MSS/cwnd,   at most flight + ALLOWED_INCREASE · MSS
//! ```
//!
//! The RFC measures the one-way delay by a timestamp of the receiver. Here it is the round-trip
//! time, as in LEDBAT++, so a queue that ACKs meet counts too. docs/deviations.md has it.
//!
//! The flight is the largest of this round trip and the last. What segmentation offload holds back
//! until the next ACK would otherwise lower the window, for ever.
//!
//! The RFC starts with two segments; the start here is the transport's window, and there is no slow
//! start unless `slow_start` asks for one.

use super::facts::{ControlFacts, GrowthLaw, KeptShare};
use super::smallest_delay::{BaseDelay, LastMinimum};
use super::window::Window;
use super::{Ack, Congestion, CongestionControl, ControlContext, ControlKind, Event};
use super::{ControlState, RecoveryPhase};
use ackclock_spec::prelude::*;

parameters! {
    /// Parameters. The defaults are those of RFC 6817.
    pub struct Ledbat {
        /// TARGET: queueing delay that is aimed at. Above 0, at most 100 ms (section 2.5).
        pub target: Span = Span::from_millis(100),
        /// GAIN: growth per round trip of an empty queue, in segments. Above 0, at most 1.
        pub gain: f64 = 1.0,
        /// ALLOWED_INCREASE: segments by which the window may exceed what was in flight in the last
        /// two round trips.
        pub allowed_increase: f64 = 1.0,
        /// MIN_CWND: smallest window after an ACK, in segments.
        pub minimum_window: f64 = 2.0,
        /// BASE_HISTORY: minutes after which a smallest delay is forgotten.
        pub base_history: u32 = 10,
        /// CURRENT_FILTER: last measurements whose smallest counts.
        pub current_filter: u32 = 4,
        /// True if the window doubles until the queueing delay is half of the target, or until a
        /// loss.
        pub slow_start: bool = false,
    }
}

impl Element<ControlKind> for Ledbat {
    const NAME: &'static str = "ledbat";
    const LABEL: &'static str = "LEDBAT";
    const SUMMARY: &'static str = "Background transfer: keeps a target of delay in the queue and \
        gives way to others.";
    const REFERENCE: &'static str = "RFC 6817";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            in_range(
                self.target > Span::ZERO && self.target <= Span::from_millis(100),
                "target",
                &self.target,
                "is not between 0 (excluded) and 100 ms; for example \"100 ms\"",
            ),
            check_weight("gain", self.gain, "1"),
            check_positive("allowed_increase", self.allowed_increase, "1"),
            in_range(
                self.minimum_window >= 1.0 && self.minimum_window.is_finite(),
                "minimum_window",
                &self.minimum_window,
                "is less than a segment; for example 2",
            ),
            check_at_least_one("base_history", self.base_history, "10"),
            check_at_least_one("current_filter", self.current_filter, "4"),
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

impl Factory<ControlKind> for Ledbat {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        Box::new(LedbatControl {
            base: BaseDelay::over(self.base_history),
            current: LastMinimum::of(self.current_filter),
            window: Window::new(&context),
            in_slow_start: self.slow_start,
            parameters: self.clone(),
            flights: [0.0; 2],
            undo: None,
        })
    }
}

/// Share of the window that is kept after a loss.
const KEPT: f64 = 0.5;

#[derive(Debug)]
struct LedbatControl {
    parameters: Ledbat,
    window: Window,
    base: BaseDelay,
    current: LastMinimum,
    in_slow_start: bool,
    /// Most bytes in flight in this round trip, and in the last one.
    flights: [f64; 2],
    /// The window before the last reduction for a loss.
    undo: Option<Window>,
}

impl LedbatControl {
    /// Takes in a round-trip time. Returns the distance of the queueing delay from the target, as a
    /// share of it: 1 for an empty queue, negative above the target.
    fn off_target(&mut self, now: Time, rtt: Span) -> f64 {
        let base = self.base.update(now, rtt);
        let queueing = self.current.update(rtt).as_seconds() - base.as_seconds();
        let target = self.parameters.target.as_seconds();
        (target - queueing) / target
    }

    fn move_window(&mut self, ack: &Ack, off_target: f64) {
        // Data that may open the window opens it; all of it closes it.
        let bytes = if off_target > 0.0 {
            ack.credit
        } else if ack.phase == RecoveryPhase::Recovery {
            Bytes::ZERO
        } else {
            ack.newly_delivered
        };
        let mss = self.window.mss();
        let step = self.parameters.gain * off_target * bytes.as_f64() * mss / self.window.cwnd();
        self.window.grow(step);
        self.bound(ack);
    }

    /// Keeps the window between its floor and what was in flight and a little more.
    fn bound(&mut self, ack: &Ack) {
        let mss = self.window.mss();
        let flight = ack.in_flight.as_f64() + ack.newly_delivered.as_f64();
        if ack.round_start {
            self.flights = [0.0, self.flights[0]];
        }
        self.flights[0] = self.flights[0].max(flight);
        let flight = self.flights[0].max(self.flights[1]);
        let most = flight + self.parameters.allowed_increase * mss;
        if self.window.cwnd() > most {
            self.window
                .lower(most.max(self.parameters.minimum_window * mss));
        }
        if ack.phase != RecoveryPhase::Recovery {
            self.window.raise(self.parameters.minimum_window * mss);
        }
    }
}

impl CongestionControl for LedbatControl {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        let Some(rtt) = ack
            .newest_rtt
            .or(ack.rtt)
            .filter(|rtt| *rtt != Span::FOREVER)
        else {
            return;
        };
        let off_target = self.off_target(now, rtt);
        if self.in_slow_start {
            self.window.grow(ack.credit.as_f64());
            self.in_slow_start = off_target > 0.5;
        } else {
            self.move_window(ack, off_target);
        }
    }

    fn on_congestion(&mut self, _: Time, congestion: &Congestion) {
        let kept = congestion.base.as_f64() * KEPT;
        self.in_slow_start = false;
        self.window.react(congestion, &mut self.undo, || kept);
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
        ControlState::of_phase(self.in_slow_start, None)
    }
}

#[cfg(test)]
mod tests {
    use super::super::CongestionKind;
    use super::super::testing::{AckClock, Bottleneck, MSS};
    use super::*;
    use serde_json::json;

    fn clock(window: u64) -> AckClock {
        let mut clock = AckClock::new(
            &json!({ "kind": "ledbat" }),
            Span::from_millis(50),
            window,
            None,
        );
        clock.ack(MSS); // measures the base
        clock
    }

    /// Ten segments: a tenth of a segment for each at an empty queue, nothing at the target, and
    /// minus a tenth at twice that.
    #[test]
    fn growth_is_in_proportion_to_the_distance_from_the_target() {
        for (queue_ms, share) in [(0, 1.0), (50, 0.5), (100, 0.0), (200, -1.0)] {
            let mut clock = clock(10);
            clock.rtt = Span::from_millis(50 + queue_ms);
            (0..4).for_each(|_| clock.ack(MSS)); // fills the filter
            let before = clock.cwnd();
            clock.ack(MSS);
            let grown = clock.cwnd() - before;
            assert!(
                (grown - share / before).abs() < 1e-3,
                "{queue_ms} ms: {grown}"
            );
        }
    }

    #[test]
    fn alone_it_keeps_its_target_in_the_queue() {
        let mut clock = clock(10);
        clock.bottleneck = Some(Bottleneck {
            rate: BitRate::from_mbit_per_s(8.0), // a segment in a millisecond
            buffer: Bytes(1000 * MSS),
            overflow: CongestionKind::Loss,
        });
        (0..600).for_each(|_| clock.round());
        assert!((clock.queue() - 100.0).abs() < 3.0, "{}", clock.queue());
        assert_eq!(clock.overflows, 0);
    }

    #[test]
    fn it_gives_way_to_a_longer_queue_down_to_its_floor() {
        let mut clock = clock(50);
        clock.rtt = Span::from_millis(50 + 300);
        (0..100).for_each(|_| clock.round());
        assert_eq!(clock.cwnd(), 2.0);
    }

    /// With segmentation offload several segments wait for the next ACK. An application that writes
    /// less bounds the window within two round trips.
    #[test]
    fn what_waits_for_the_next_ack_does_not_lower_the_window() {
        let mut clock = clock(20);
        (0..2).for_each(|_| clock.round());
        let before = clock.cwnd();
        let waiting = Ack {
            in_flight: Bytes(15 * MSS),
            ..clock.ack_of(MSS)
        };
        clock.control.on_ack(clock.now, &waiting);
        assert!(clock.cwnd() >= before, "{} {before}", clock.cwnd());
        clock.application = Bytes(10 * MSS);
        (0..4).for_each(|_| clock.round());
        assert_eq!(clock.cwnd(), 11.0);
    }

    #[test]
    fn slow_start_doubles_up_to_half_of_the_target() {
        let tree = json!({ "kind": "ledbat", "slow_start": true });
        let mut clock = AckClock::new(&tree, Span::from_millis(50), 4, None);
        (0..3).for_each(|_| clock.round());
        assert_eq!(
            (clock.cwnd(), clock.control.state().mode),
            (32.0, "slow_start")
        );
        clock.rtt = Span::from_millis(50 + 51);
        (0..5).for_each(|_| clock.ack(MSS)); // the filter has four
        assert_eq!(clock.control.state().mode, "congestion_avoidance");
    }
}
