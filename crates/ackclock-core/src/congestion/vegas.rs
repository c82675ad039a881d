//! TCP Vegas (Brakmo and Peterson 1995): keeps a few segments queued at the bottleneck. The growth
//! of the round-trip time reveals the queue long before a loss does.
//!
//! Once per round trip the control compares the rate of its window on an empty path with the actual
//! rate. In the paper's terms:
//!
//! ```text
//! Expected = cwnd / BaseRTT     Actual = cwnd / RTT
//! Diff     = (Expected − Actual) · BaseRTT = cwnd · (1 − BaseRTT / RTT)
//! ```
//!
//! BaseRTT is the smallest round-trip time of data so far. That of the SYN does not count: it is
//! shorter by the serialization time of a full segment.
//!
//! Diff is the number of segments that the flow has queued. Below α the window grows by one
//! segment, above β it shrinks by one. Slow start doubles the window every other round trip, and
//! keeps it constant in between so that the comparison is valid. It ends when Diff exceeds γ.
//!
//! Where the paper leaves a choice, this follows Linux's `tcp_vegas`:
//!
//! * RTT is the smallest of the round, which no delayed ACK has lengthened.
//! * Slow start ends with the window that the path carried without a queue, plus one segment.
//! * A loss halves the window, as in Reno.
//!
//! It differs from Linux in what `OTHER_RULES` lists, which its facts say. With a round trip of 92
//! ms, a smallest one of 80 and a window of 33, Linux keeps the window and the paper takes one. The
//! paper's retransmissions before the third duplicate ACK belong to the transport, which does not
//! have them.

use super::facts::{ControlFacts, GrowthLaw, KeptShare, LinuxControl};
use super::rounds::RoundCounter;
use super::window::Window;
use super::{Ack, Congestion, CongestionControl, ControlContext, ControlKind, Event};
use super::{ControlState, RecoveryPhase};
use ackclock_spec::prelude::*;

parameters! {
    /// Parameters. The rules are the paper's, of 1995. The defaults are Linux's, which the paper
    /// calls Vegas-2,4; its other setting is 1 and 3. Linux's module has other rules: slow start
    /// doubles the window every round trip, Diff is cwnd (RTT − BaseRTT)/BaseRTT in whole segments,
    /// and BaseRTT is measured again after an idle time.
    pub struct Vegas {
        /// α: the congestion window grows while fewer segments than this are queued at the
        /// bottleneck. Larger than 0.
        pub alpha: f64 = 2.0,
        /// β: the congestion window shrinks while more segments than this are queued. At least α.
        pub beta: f64 = 4.0,
        /// γ: slow start ends once more segments than this are queued. Larger than 0.
        pub gamma: f64 = 1.0,
    }
}

impl Element<ControlKind> for Vegas {
    const NAME: &'static str = "vegas";
    const LABEL: &'static str = "Vegas";
    const SUMMARY: &'static str = "Keeps α to β segments queued, judged by the round-trip time; a \
        loss halves the window. The paper's rules, not those of Linux's module.";
    const REFERENCE: &'static str = "Brakmo and Peterson (1995), TCP Vegas: End to End Congestion \
        Avoidance on a Global Internet";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let (alpha, beta) = (self.alpha, self.beta);
        let remedy = format!("is less than alpha, {alpha}; raise beta or lower alpha");
        every([
            check_positive("alpha", alpha, "2"),
            check_positive("beta", beta, "4"),
            check_positive("gamma", self.gamma, "1"),
            consistent(beta >= alpha, "beta", &beta, &["alpha"], &remedy),
        ])
    }

    fn facts(&self) -> ControlFacts {
        ControlFacts {
            growth: Some(GrowthLaw::ByDelay),
            reacts_to_delay: Some(true),
            slow_start_ends_early: Some(true),
            linux: Stated::Some(LinuxControl {
                slow_start_ends_early: Some(true),
                other_rules: OTHER_RULES.map(String::from).to_vec(),
                ..LinuxControl::new("vegas", self, &Vegas::default())
            }),
            ..ControlFacts::loss_based(KeptShare::Constant { share: KEPT })
        }
    }
}

impl Factory<ControlKind> for Vegas {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        Box::new(VegasControl {
            parameters: self.clone(),
            window: Window::new(&context),
            rounds: RoundCounter::default(),
            base: Span::FOREVER,
            smallest: Span::FOREVER,
            undo: None,
        })
    }
}

/// Rules of Linux's module (`tcp_vegas.c`) that are not the paper's.
const OTHER_RULES: [&str; 3] = [
    "slow start doubles the window every round trip",
    "Diff is relative to BaseRTT, in whole segments",
    "BaseRTT is measured again after an idle time",
];
/// Share of the window that is kept after a loss, as in Reno (RFC 5681 equation 4).
const KEPT: f64 = 0.5;
/// Smallest window after a decrease due to delay, in segments (Linux).
const FLOOR: f64 = 2.0;

#[derive(Debug)]
struct VegasControl {
    parameters: Vegas,
    window: Window,
    rounds: RoundCounter,
    /// BaseRTT, and the smallest round-trip time of this round; [`Span::FOREVER`] if there is none.
    base: Span,
    smallest: Span,
    /// The window before the last reduction for a loss.
    undo: Option<Window>,
}

impl VegasControl {
    /// Compares the rates at the end of a round with the round-trip time `rtt`.
    fn compare(&mut self, rtt: Span, may_grow: bool) {
        let Vegas { alpha, beta, gamma } = self.parameters;
        let mss = self.window.mss();
        let carried = self.window.cwnd() * (self.base.as_seconds() / rtt.as_seconds());
        let diff = (self.window.cwnd() - carried) / mss;
        if self.window.in_slow_start() {
            if diff > gamma {
                self.lower(carried + mss);
            }
        } else if diff > beta {
            self.lower(self.window.cwnd() - mss);
        } else if diff < alpha && may_grow {
            self.window.grow(mss);
        }
    }

    /// Lowers the window to `cwnd` bytes and enters congestion avoidance.
    fn lower(&mut self, cwnd: f64) {
        self.window.lower(cwnd.max(FLOOR * self.window.mss()));
        self.window.end_slow_start();
    }
}

impl CongestionControl for VegasControl {
    fn on_ack(&mut self, _now: Time, ack: &Ack) {
        if let Some(rtt) = ack.rtt.filter(|rtt| *rtt > Span::ZERO) {
            self.base = self.base.min(rtt);
            self.smallest = self.smallest.min(rtt);
        }
        if self.rounds.begins(ack) {
            let smallest = std::mem::replace(&mut self.smallest, Span::FOREVER);
            // In slow start, this ACK is for the first segment of the round, which has waited
            // behind all that the previous round queued: the paper's distinguished segment.
            let first = ack.rtt.filter(|_| self.window.in_slow_start());
            let rtt = first.unwrap_or(smallest).max(self.base);
            if rtt != Span::FOREVER && ack.phase != RecoveryPhase::Recovery {
                self.compare(rtt, ack.credit > Bytes::ZERO);
            }
        }
        let grows = self.rounds.count() % 2 == 1; // every other round
        if self.window.in_slow_start() && grows {
            self.window.grow_in_slow_start(ack.credit.as_f64(), 1.0);
        }
    }

    fn on_congestion(&mut self, _now: Time, congestion: &Congestion) {
        let kept = congestion.base.as_f64() * KEPT;
        self.window.react(congestion, &mut self.undo, || kept);
    }

    fn on_event(&mut self, _: Time, event: &Event) {
        match event {
            // The round-trip times of the recovery do not show the effect of the new window.
            Event::RecoveryEnd => self.smallest = Span::FOREVER,
            Event::IdleRestart { limit } => {
                self.window.lower(limit.as_f64());
                self.smallest = Span::FOREVER;
            }
            _ => {}
        }
    }

    fn cwnd(&self) -> Bytes {
        self.window.bytes()
    }

    fn state(&self) -> ControlState {
        ControlState::of_phase(self.window.in_slow_start(), self.window.ssthresh())
    }
}

#[cfg(test)]
mod tests {
    use super::super::CongestionKind;
    use super::super::testing::{AckClock, Bottleneck, MSS};
    use super::*;
    use ackclock_spec::files::NoFiles;
    use ackclock_spec::registry::choose;
    use serde_json::{Value, json};

    /// A path that carries `product` segments in 100 ms, with a buffer for as many.
    fn clock(tree: &Value, product: u64, window: u64, ssthresh: Option<u64>) -> AckClock {
        let mut clock = AckClock::new(tree, Span::from_millis(100), window, ssthresh);
        clock.bottleneck = Some(Bottleneck {
            rate: BitRate::from_bit_per_s(product * MSS * 8 * 10),
            buffer: Bytes(product * MSS),
            overflow: CongestionKind::Loss,
        });
        clock
    }
    fn vegas(alpha: f64, beta: f64) -> Value {
        json!({ "kind": "vegas", "alpha": alpha, "beta": beta })
    }

    /// The paper's Diff is 33 (1 − 80/92) = 4.3 and above β; it is below at 30 segments. Linux's is
    /// 33 · 12/80, in whole segments 4, and would keep the window. The facts say so.
    #[test]
    fn it_is_the_papers_vegas_and_its_facts_say_so() {
        let mut clock = AckClock::new(&vegas(2.0, 4.0), Span::from_millis(80), 33, Some(1));
        clock.application = Bytes(MSS);
        clock.ack(MSS); // measures BaseRTT
        clock.application = Bytes(u64::MAX);
        clock.rtt = Span::from_millis(92);
        (0..10).for_each(|_| clock.round());
        assert_eq!(clock.cwnd(), 30.0);
        let chosen = choose::<ControlKind>(&vegas(2.0, 4.0), &NoFiles).unwrap();
        let linux = chosen.facts.linux.some().unwrap();
        assert_eq!((&*linux.name, linux.other_rules.len()), ("vegas", 3));
    }

    /// Checks that the queue ends between α and β, from below and from above, on any path.
    #[test]
    fn between_alpha_and_beta_segments_wait_at_the_bottleneck() {
        for (alpha, beta) in [(1.0, 3.0), (2.0, 4.0), (5.0, 10.0)] {
            for product in [20, 50, 200] {
                for (window, ssthresh) in [(10, None), (10, Some(1)), (2 * product, Some(1))] {
                    let mut clock = clock(&vegas(alpha, beta), product, window, ssthresh);
                    // The first segment finds an empty path and measures BaseRTT.
                    clock.application = Bytes(MSS);
                    clock.ack(MSS);
                    clock.application = Bytes(u64::MAX);
                    (0..250).for_each(|_| clock.round());
                    for _ in 0..50 {
                        clock.round();
                        let queue = clock.queue();
                        // Diff is that of the previous round: it may differ by one segment.
                        assert!(
                            alpha - 1.0 <= queue && queue <= beta + 1.0,
                            "{alpha} to {beta} on {product} from {window}: {queue}"
                        );
                    }
                    assert_eq!(clock.overflows, 0);
                }
            }
        }
    }

    #[test]
    fn within_the_bounds_the_window_rests() {
        let mut clock = clock(&vegas(2.0, 4.0), 50, 53, Some(1));
        clock.event(&Event::IdleRestart {
            limit: Bytes(50 * MSS),
        });
        clock.ack(MSS); // measures BaseRTT
        (0..20).for_each(|_| clock.round());
        let rest = clock.cwnd();
        (0..200).for_each(|_| clock.round());
        assert_eq!(clock.cwnd(), rest);
    }

    /// Checks that the window grows and shrinks by one segment per round trip.
    #[test]
    fn congestion_avoidance_moves_by_a_segment_per_round_trip() {
        let mut growing = clock(&vegas(2.0, 4.0), 100, 20, Some(1));
        let mut shrinking = clock(&vegas(2.0, 4.0), 100, 100, Some(1));
        shrinking.ack(MSS); // measures BaseRTT, without a queue
        shrinking.rtt = Span::from_millis(150);
        (0..3).for_each(|_| shrinking.round());
        for _ in 0..20 {
            let before = (growing.cwnd(), shrinking.cwnd());
            growing.round();
            shrinking.round();
            assert_eq!(growing.cwnd(), before.0 + 1.0);
            assert_eq!(shrinking.cwnd(), before.1 - 1.0);
        }
    }

    #[test]
    fn slow_start_doubles_every_other_round_and_ends_before_the_buffer_is_full() {
        let mut clock = clock(&vegas(2.0, 4.0), 200, 4, None);
        let mut windows = Vec::new();
        while clock.control.state().mode == "slow_start" {
            windows.push(clock.cwnd());
            clock.round();
        }
        assert_eq!(windows[..7], [4.0, 8.0, 8.0, 16.0, 16.0, 32.0, 32.0]);
        // From at most twice the capacity of the path to the capacity plus one segment.
        assert!(windows.iter().all(|window| *window <= 400.0));
        assert!((clock.cwnd() - 201.0).abs() < 3.0, "{}", clock.cwnd());
        assert_eq!(clock.overflows, 0);
    }

    #[test]
    fn a_larger_gamma_ends_slow_start_later() {
        let longest = |gamma: f64| {
            let mut clock = clock(&json!({ "kind": "vegas", "gamma": gamma }), 64, 60, None);
            clock.rtt = Span::from_millis(90);
            clock.ack(MSS);
            clock.rtt = Span::from_millis(100);
            clock.ack(MSS);
            (0..2).for_each(|_| clock.round());
            clock.control.state().mode
        };
        assert_eq!(
            (longest(1.0), longest(1000.0)),
            ("congestion_avoidance", "slow_start")
        );
    }

    #[test]
    fn half_of_the_window_is_kept_at_a_loss_and_given_back_if_there_was_none() {
        let mut clock = clock(&vegas(2.0, 4.0), 50, 40, Some(1));
        clock.congestion(CongestionKind::Loss);
        assert_eq!((clock.cwnd(), clock.ssthresh()), (20.0, Some(20.0)));
        clock.congestion(CongestionKind::SpuriousLoss);
        assert_eq!(clock.cwnd(), 40.0);
        clock.congestion(CongestionKind::Timeout);
        assert_eq!((clock.cwnd(), clock.ssthresh()), (1.0, Some(20.0)));
        clock.congestion(CongestionKind::RepeatedTimeout);
        assert_eq!((clock.cwnd(), clock.ssthresh()), (1.0, Some(20.0)));
    }

    /// Checks the effect of longer round trips that this flow's queue does not cause.
    #[test]
    fn no_delay_takes_the_window_below_two_segments() {
        let mut clock = clock(&vegas(2.0, 4.0), 50, 10, Some(1));
        clock.round();
        clock.rtt = Span::from_millis(10_000);
        for _ in 0..50 {
            clock.round();
            assert!(clock.cwnd() >= 2.0);
        }
        assert!(clock.cwnd() <= 5.0, "{}", clock.cwnd());
    }

    #[test]
    fn impossible_parameters_are_refused_by_name() {
        let refusal = |tree| choose::<ControlKind>(&tree, &NoFiles).unwrap_err().key();
        assert!(
            refusal(json!({ "kind": "vegas", "alpha": 0.0 })).starts_with("out-of-range alpha")
        );
        assert!(
            refusal(json!({ "kind": "vegas", "gamma": -1.0 })).starts_with("out-of-range gamma")
        );
        assert_eq!(
            refusal(json!({ "kind": "vegas", "alpha": 5.0 })),
            "contradiction beta"
        );
    }
}
