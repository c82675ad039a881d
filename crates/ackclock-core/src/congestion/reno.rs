//! Reno (RFC 5681): additive increase, multiplicative decrease, with α and β as parameters.
//!
//! The congestion window, cwnd, limits the data in flight. ssthresh separates slow start from
//! congestion avoidance. The whole algorithm, and the functions that implement it:
//!
//! * Start: the transport sets cwnd and ssthresh (`Window::new`).
//! * Slow start, an ACK with cwnd < ssthresh: cwnd grows by the acknowledged data, and so doubles
//!   every round trip (`SlowStart::grow`). A `slow_start_exit` may end the first slow start before
//!   a loss.
//! * Congestion avoidance, an ACK with cwnd ≥ ssthresh: cwnd grows by α segments per round trip. It
//!   grows a little with each ACK (equation 3) or once per window (`Growth`,
//!   `AdditiveIncrease::on_ack`).
//! * Loss: ssthresh = β times the data in flight, at least two segments (equation 4), and cwnd =
//!   ssthresh (`Window::reduce_after_loss`).
//! * Mark: the same with its own β (RFC 8511), but cwnd may fall to one segment (RFC 3168,
//!   `Window::reduce_after_mark`).
//! * Timeout: ssthresh as after a loss, cwnd = one segment (`Window::reduce_after_timeout`). If the
//!   same segment times out again, ssthresh stays (`Window::restart`).
//! * Spurious loss: cwnd and ssthresh are restored (RFC 4015, `AdditiveIncrease::on_congestion`).
//! * Idle: cwnd falls to the limit of the transport (section 4.1, `Window::lower`).
//!
//! `Window` is in `window.rs`, `SlowStart` in `slow_start.rs`, `AdditiveIncrease` in
//! `additive_increase.rs`. The [transport](crate::endpoint) decides what is lost, how much an ACK
//! counts, and that a window is reduced only once. Specific to Reno are its parameters and β.

use super::additive_increase::{AdditiveGrowth, AdditiveIncrease, Decrease, Growth};
use super::facts::{ControlFacts, EarlyEnd, KeptShare, LinuxControl};
use super::rapid_start::{GROWTH, RapidStart};
use super::reno_linux::{RenoLinux, Shares};
use super::slow_start::{SlowStartExit, Slower};
use super::{Congestion, CongestionControl, CongestionKind, ControlContext, ControlKind};
use crate::endpoint::parameters::Arithmetic;
use ackclock_spec::prelude::*;

parameters! {
    /// Parameters.
    pub struct Reno {
        /// α: growth of the congestion window in congestion avoidance, in segments per round trip.
        /// Larger than 0.
        pub alpha: f64 = 1.0,
        /// β: factor by which the congestion window is multiplied after a loss (0.5 keeps half of
        /// it; some papers call this 1 − β). Between 0 and 1.
        pub beta: f64 = 0.5,
        /// β after an ECN mark; absent: that after a loss. Between 0 and 1. RFC 8511 (ABE) has 0.8,
        /// for queues that mark early.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub beta_after_mark: Option<f64> = None,
        /// Moment at which congestion avoidance opens the congestion window (RFC 5681 section 3.1).
        /// The default is `"per_ack"` with exact arithmetic, and `"per_window"` with that of Linux,
        /// which has no other.
        pub growth: Option<Growth> = None,
        /// The sign that ends the first slow start before a loss. Needs exact arithmetic: Linux's
        /// Reno has nothing of the kind.
        pub slow_start_exit: SlowStartExit = SlowStartExit::None,
        /// Rapid Start in the place of the first slow start; absent: none. Needs exact arithmetic
        /// and `slow_start_exit` `"none"` or `"hystart++"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub rapid_start: Option<RapidStart> = None,
        /// Congestion window from which the first slow start opens it more slowly, in segments;
        /// absent: none. Needs exact arithmetic, and no `slow_start_exit`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub slow_start_change: Option<f64> = None,
        /// Segments acknowledged per segment by which it opens the window from there: 1 to 100.
        pub slow_start_divisor: f64 = 2.0,
        /// Arithmetic of the window; the default is the transport's.
        pub arithmetic: Arithmetic = Arithmetic::Exact,
    }
}

impl Element<ControlKind> for Reno {
    const NAME: &'static str = "reno";
    const LABEL: &'static str = "Reno";
    const SUMMARY: &'static str = "AIMD(α, β): slow start, then α more segments per round trip; a \
        loss leaves β of the window.";
    const REFERENCE: &'static str = "RFC 5681; Floyd, Handley, Padhye (2000), A Comparison of \
        Equation-Based and AIMD Congestion Control";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let linux = self.arithmetic == Arithmetic::Linux;
        let growth = consistent(
            !linux || self.growth != Some(Growth::PerAck),
            "growth",
            &self.growth,
            &["arithmetic"],
            "is not in Linux; choose \"per_window\", or arithmetic = \"exact\"",
        );
        let exit = consistent(
            !linux || !self.slow_start_exit.is_early(),
            "slow_start_exit",
            &self.slow_start_exit,
            &["arithmetic"],
            "is not in Linux's Reno; choose \"none\", or arithmetic = \"exact\"",
        );
        let change = consistent(
            self.slow_start_change.is_none()
                || !linux && !self.slow_start_exit.is_early() && self.rapid_start.is_none(),
            "slow_start_change",
            &self.slow_start_change,
            &["arithmetic", "slow_start_exit", "rapid_start"],
            "needs arithmetic = \"exact\", slow_start_exit = \"none\" and no rapid_start",
        );
        self.growth.get_or_insert(if linux {
            Growth::PerWindow
        } else {
            Growth::PerAck
        });
        every([
            check_positive("alpha", self.alpha, "1"),
            check_factor("beta", self.beta, "0.5"),
            self.beta_after_mark
                .map_or(Ok(()), |beta| check_factor("beta_after_mark", beta, "0.8")),
            growth,
            exit,
            change,
            RapidStart::check(self.rapid_start, self.slow_start_exit, linux),
            self.slow_start_change.map_or(Ok(()), |window| {
                check_positive("slow_start_change", window, "30")
            }),
            check_between(
                "slow_start_divisor",
                self.slow_start_divisor,
                1.0..=100.0,
                "2",
            ),
        ])
    }

    fn facts(&self) -> ControlFacts {
        let kept = KeptShare::Constant { share: self.beta };
        let kernel = Reno {
            growth: Some(match self.arithmetic {
                Arithmetic::Exact => Growth::PerAck,
                Arithmetic::Linux => Growth::PerWindow,
            }),
            arithmetic: self.arithmetic,
            ..Reno::default()
        };
        ControlFacts {
            kept_after_mark: Some(KeptShare::Constant {
                share: self.after_mark(),
            }),
            slow_start_ends_early: Some(
                self.slow_start_exit.is_early() || self.slow_start_change.is_some(),
            ),
            early_end: self.early_end(),
            start_growth: self.rapid_start.map(|_| GROWTH),
            resumes: Some(true),
            linux: Stated::Some(LinuxControl::new("reno", self, &kernel)),
            ..ControlFacts::linear(self.alpha, kept)
        }
    }
}

impl Reno {
    /// Returns where the first slow start ends or becomes slower, if that is known ahead.
    fn early_end(&self) -> Option<EarlyEnd> {
        let slower = self.slow_start_change.map(|window| EarlyEnd::Slower {
            from_segments: window,
            divisor: self.slow_start_divisor,
        });
        slower.or(self.slow_start_exit.early_end())
    }

    /// Returns β after a mark.
    fn after_mark(&self) -> f64 {
        self.beta_after_mark.unwrap_or(self.beta)
    }
}

impl Factory<ControlKind> for Reno {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        if self.arithmetic == Arithmetic::Linux {
            let shares = Shares {
                after_loss: self.beta,
                after_mark: self.after_mark(),
            };
            return Box::new(RenoLinux::new(&context, self.alpha, shares));
        }
        let growth = AdditiveGrowth {
            alpha: self.alpha,
            growth: self.growth.unwrap_or(Growth::PerAck),
            slow_start_exit: self.slow_start_exit,
        };
        let share = Share {
            after_loss: self.beta,
            after_mark: self.after_mark(),
        };
        let slower = self.slow_start_change.map(|segments| Slower {
            from: segments * context.mss.as_f64(),
            divisor: self.slow_start_divisor,
        });
        let control = AdditiveIncrease::new(&context, growth, share).slowing(slower);
        Box::new(control.starting(self.rapid_start, self.slow_start_exit, &context))
    }
}

/// Keeps a constant share of the window.
#[derive(Debug)]
struct Share {
    after_loss: f64,
    after_mark: f64,
}

impl Decrease for Share {
    fn kept(&mut self, _: Time, congestion: &Congestion) -> f64 {
        let share = match congestion.kind {
            CongestionKind::Mark => self.after_mark,
            _ => self.after_loss,
        };
        congestion.base.as_f64() * share
    }
}

#[cfg(test)]
mod tests {
    use super::super::Event;
    use super::super::testing::{AckClock, MSS, context};
    use super::*;
    use ackclock_spec::files::NoFiles;
    use ackclock_spec::registry::choose;
    use ackclock_spec::streams::Streams;
    use serde_json::{Value, json};

    fn clock(tree: &Value, window: u64, ssthresh: Option<u64>) -> AckClock {
        AckClock::new(tree, Span::from_millis(100), window, ssthresh)
    }
    fn reno() -> Value {
        json!({ "kind": "reno" })
    }
    fn per_window() -> Value {
        json!({ "kind": "reno", "growth": "per_window" })
    }

    #[test]
    fn slow_start_doubles_each_round() {
        let mut clock = clock(&reno(), 2, None);
        for expected in [4.0, 8.0, 16.0, 32.0] {
            clock.round();
            assert_eq!(clock.cwnd(), expected);
        }
        assert_eq!(clock.control.state().mode, "slow_start");
        assert_eq!(clock.ssthresh(), None);
    }

    /// The second round acknowledges 16 segments, 8 of them from the change on.
    #[test]
    fn slow_start_is_slower_from_its_change_on() {
        let tree = json!({
            "kind": "reno", "slow_start_change": 24, "slow_start_divisor": 3,
        });
        let mut clock = clock(&tree, 8, None);
        clock.round();
        assert_eq!(clock.cwnd(), 16.0);
        clock.round();
        // A window is told in whole bytes.
        assert!((clock.cwnd() - (24.0 + 8.0 / 3.0)).abs() < 1.0 / MSS as f64);
        let window = clock.cwnd();
        clock.round();
        // A round acknowledges the whole segments of the window.
        let grown = clock.cwnd() / window - 1.0;
        assert!((grown - 1.0 / 3.0).abs() < 0.02, "{grown}");
        clock.congestion(CongestionKind::Timeout);
        let window = clock.cwnd();
        clock.round();
        assert_eq!(
            clock.cwnd(),
            2.0 * window,
            "a later slow start is the standard one"
        );
    }

    #[test]
    fn slow_start_ends_at_the_threshold() {
        let mut clock = clock(&reno(), 8, Some(12));
        clock.round();
        // 4 segments of credit reach 12, the other 4 count 1/12 each.
        assert!(
            (clock.cwnd() - (12.0 + 4.0 / 12.0)).abs() < 0.01,
            "{}",
            clock.cwnd()
        );
        assert_eq!(clock.control.state().mode, "congestion_avoidance");
    }

    #[test]
    fn congestion_avoidance_adds_alpha_segments_a_round() {
        for alpha in [0.5, 1.0, 2.0] {
            let mut clock = clock(&json!({ "kind": "reno", "alpha": alpha }), 100, Some(1));
            for n in 1..20 {
                clock.round();
                assert!(
                    (clock.cwnd() - 100.0 - alpha * f64::from(n)).abs()
                        < 0.02 * alpha * f64::from(n)
                );
            }
        }
    }

    #[test]
    fn a_segment_of_credit_adds_one_over_the_window() {
        let mut clock = clock(&reno(), 10, Some(1));
        clock.ack(MSS);
        assert_eq!(clock.control.cwnd(), Bytes(10 * MSS + MSS / 10));
    }

    #[test]
    fn growth_per_window_adds_exactly_alpha_segments_a_round() {
        for (alpha, halves) in [(1.0, 20), (1.0, 21), (0.5, 20), (2.0, 21)] {
            let tree = json!({ "kind": "reno", "growth": "per_window", "alpha": alpha });
            let mut clock = clock(&tree, halves, Some(1));
            // Ten and a half of 21 segments are left, of which ten can be sent.
            clock.congestion(CongestionKind::Loss);
            let start = clock.cwnd();
            assert_eq!(start, halves as f64 / 2.0);
            for n in 1..50 {
                clock.round();
                assert_eq!(clock.cwnd(), start + alpha * f64::from(n), "{tree}");
            }
        }
    }

    #[test]
    fn growth_per_window_comes_with_the_last_ack_of_the_window() {
        let mut clock = clock(&per_window(), 10, Some(1));
        (0..9).for_each(|_| clock.ack(MSS));
        assert_eq!(clock.cwnd(), 10.0);
        clock.ack(MSS);
        assert_eq!(clock.cwnd(), 11.0);
    }

    #[test]
    fn what_is_acknowledged_beyond_a_window_counts_for_the_next() {
        let mut clock = clock(&per_window(), 5, Some(1));
        for (segments, cwnd) in [(3, 5.0), (3, 6.0), (4, 6.0), (1, 7.0), (7, 8.0)] {
            clock.ack(segments * MSS);
            assert_eq!(clock.cwnd(), cwnd);
        }
        // An ACK of three and a half windows opens the window once, and only half a window carries
        // over.
        clock.ack(28 * MSS);
        assert_eq!(clock.cwnd(), 9.0);
        clock.ack(5 * MSS);
        assert_eq!(clock.cwnd(), 10.0);
    }

    #[test]
    fn reductions_begin_a_new_window() {
        use CongestionKind::{Loss, Mark, RepeatedTimeout, Timeout};
        for kind in [Loss, Mark, Timeout, RepeatedTimeout] {
            let mut clock = clock(&per_window(), 8, Some(1));
            (0..7).for_each(|_| clock.ack(MSS));
            clock.congestion(kind);
            while clock.control.state().mode == "slow_start" {
                clock.ack(MSS);
            }
            let lowered = clock.cwnd();
            (1..lowered as u64).for_each(|_| clock.ack(MSS));
            assert_eq!(clock.cwnd(), lowered, "{kind:?}");
            clock.ack(MSS);
            assert_eq!(clock.cwnd(), lowered + 1.0, "{kind:?}");
        }
        let mut clock = clock(&per_window(), 8, Some(1));
        (0..7).for_each(|_| clock.ack(MSS));
        clock.event(&Event::IdleRestart {
            limit: Bytes(3 * MSS),
        });
        (0..2).for_each(|_| clock.ack(MSS));
        assert_eq!(clock.cwnd(), 3.0);
    }

    #[test]
    fn an_idle_restart_above_the_window_changes_nothing() {
        let mut clock = clock(&per_window(), 4, Some(2));
        (0..3).for_each(|_| clock.ack(MSS));
        clock.event(&Event::IdleRestart {
            limit: Bytes(10 * MSS),
        });
        clock.ack(MSS);
        assert_eq!(clock.cwnd(), 5.0, "the count of before the pause goes on");
    }

    /// Linux 6.18: a window of 22 segments above an ssthresh of 6 restarts with 10 after a pause,
    /// and grows back in slow start, to three quarters of the window of before.
    #[test]
    fn an_idle_restart_remembers_three_quarters_of_the_window() {
        let tree = json!({ "kind": "reno", "arithmetic": "linux" });
        let mut clock = clock(&tree, 22, Some(6));
        (0..21).for_each(|_| clock.ack(MSS));
        clock.event(&Event::IdleRestart {
            limit: Bytes(10 * MSS),
        });
        assert_eq!((clock.cwnd(), clock.ssthresh()), (10.0, Some(16.0)));
        (0..6).for_each(|_| clock.ack(MSS));
        assert_eq!(clock.cwnd(), 16.0);
        clock.ack(MSS);
        assert_eq!(clock.cwnd(), 17.0, "the count of before the pause goes on");
    }

    #[test]
    fn a_loss_keeps_beta_of_the_window() {
        for (beta, kept) in [(0.5, 23.0), (0.75, 34.5)] {
            let mut clock = clock(&json!({ "kind": "reno", "beta": beta }), 46, None);
            clock.congestion(CongestionKind::Loss);
            assert_eq!((clock.cwnd(), clock.ssthresh()), (kept, Some(kept)));
        }
    }

    #[test]
    fn a_mark_may_keep_more_than_a_loss() {
        for (arithmetic, window, lost, marked) in
            [("exact", 45, 22.5, 36.0), ("linux", 45, 22.0, 36.0)]
        {
            let tree = json!({ "kind": "reno", "beta_after_mark": 0.8, "arithmetic": arithmetic });
            for (kind, kept) in [
                (CongestionKind::Loss, lost),
                (CongestionKind::Mark, marked),
                (CongestionKind::Timeout, lost),
            ] {
                let mut clock = clock(&tree, window, None);
                clock.congestion(kind);
                assert_eq!(clock.ssthresh(), Some(kept), "{arithmetic} {kind:?}");
            }
        }
    }

    /// The window falls to β and grows back linearly, so its mean is (1 + β)/2 of its peak; over a
    /// path without a queue, that is the share of the link that is used.
    #[test]
    fn the_mean_window_is_half_way_between_the_peak_and_what_a_mark_keeps() {
        for (beta, used) in [(0.5, 0.75), (0.8, 0.9)] {
            let tree = json!({ "kind": "reno", "beta_after_mark": beta });
            let mut clock = clock(&tree, 200, Some(1));
            clock.congestion(CongestionKind::Mark);
            let (mut sum, mut rounds) = (0.0, 0.0);
            while clock.cwnd() < 200.0 {
                sum += clock.cwnd();
                rounds += 1.0;
                clock.round();
            }
            let share = sum / rounds / 200.0;
            // One segment in 200, as rounds are discrete.
            assert!((share - used).abs() < 1.0 / 200.0, "{beta}: {share}");
        }
    }

    #[test]
    fn marks_go_down_to_one_segment_and_losses_to_two() {
        let mut lossy = clock(&reno(), 10, None);
        let mut marked = clock(&reno(), 10, None);
        for _ in 0..10 {
            lossy.congestion(CongestionKind::Loss);
            marked.congestion(CongestionKind::Mark);
        }
        assert_eq!((lossy.cwnd(), lossy.ssthresh()), (2.0, Some(2.0)));
        assert_eq!((marked.cwnd(), marked.ssthresh()), (1.0, Some(2.0)));
    }

    #[test]
    fn timeouts_restart_from_one_segment() {
        let mut clock = clock(&reno(), 40, None);
        clock.congestion(CongestionKind::Timeout);
        assert_eq!((clock.cwnd(), clock.ssthresh()), (1.0, Some(20.0)));
        clock.congestion(CongestionKind::RepeatedTimeout);
        assert_eq!((clock.cwnd(), clock.ssthresh()), (1.0, Some(20.0)), "kept");
        clock.congestion(CongestionKind::Timeout);
        assert_eq!(
            (clock.cwnd(), clock.ssthresh()),
            (1.0, Some(2.0)),
            "reduced again"
        );
    }

    #[test]
    fn a_whole_threshold_is_cut_and_the_window_keeps_its_fraction() {
        use CongestionKind::{Loss, Timeout};
        // Half of 7 is 3.5; half of 3 is below the smallest threshold.
        for (kind, whole, cwnd, ssthresh) in [
            (Loss, false, 3.5, 3.5),
            (Loss, true, 3.5, 3.0),
            (Timeout, false, 1.0, 3.5),
            (Timeout, true, 1.0, 3.0),
        ] {
            let streams = Streams::new(1, 0);
            let context = ControlContext {
                ssthresh_in_whole_segments: whole,
                paced: false,
                ..context(&streams, 7, None)
            };
            let control = choose::<ControlKind>(&reno(), &NoFiles)
                .unwrap()
                .build(context);
            let mut clock = AckClock::of(control, Span::from_millis(100));
            clock.congestion(kind);
            assert_eq!(
                (clock.cwnd(), clock.ssthresh()),
                (cwnd, Some(ssthresh)),
                "{kind:?} {whole}"
            );
            clock.congestion(kind);
            assert_eq!(clock.ssthresh(), Some(2.0), "{kind:?} {whole}");
        }
    }

    #[test]
    fn a_spurious_loss_is_undone_unless_outgrown() {
        let mut clock = clock(&reno(), 40, Some(30));
        clock.congestion(CongestionKind::Loss);
        clock.congestion(CongestionKind::SpuriousLoss);
        assert_eq!((clock.cwnd(), clock.ssthresh()), (40.0, Some(30.0)));
        clock.congestion(CongestionKind::SpuriousLoss);
        assert_eq!(clock.cwnd(), 40.0, "only once");
        clock.congestion(CongestionKind::Loss);
        (0..30).for_each(|_| clock.round());
        let grown = clock.cwnd();
        clock.congestion(CongestionKind::SpuriousLoss);
        assert!(grown > 40.0 && clock.cwnd() == grown);
    }

    #[test]
    fn the_response_function_is_that_of_the_saw_tooth() {
        for p in [1e-2, 1e-3, 1e-4, 1e-5] {
            let average = clock(&reno(), 10, Some(10)).periodic_loss(p, 30);
            let expected = libm::sqrt(1.5 / p);
            assert!(
                (average / expected - 1.0).abs() < 0.02,
                "p = {p}: {average} {expected}"
            );
        }
        // AVG_AIMD(α, β) = sqrt(α (1 + β)/(2 (1 − β) p)) (RFC 9438 equation 3).
        for (alpha, beta) in [(0.31, 0.875), (2.0, 0.5), (1.0, 0.8)] {
            for growth in ["per_ack", "per_window"] {
                let tree =
                    json!({ "kind": "reno", "alpha": alpha, "beta": beta, "growth": growth });
                let average = clock(&tree, 10, Some(10)).periodic_loss(1e-4, 60);
                let expected = libm::sqrt(alpha * (1.0 + beta) / (2.0 * (1.0 - beta) * 1e-4));
                assert!(
                    (average / expected - 1.0).abs() < 0.02,
                    "{tree}: {average} {expected}"
                );
            }
        }
    }

    #[test]
    fn an_idle_restart_lowers_the_window_and_keeps_the_threshold() {
        let mut clock = clock(&reno(), 40, Some(30));
        clock.event(&Event::IdleRestart {
            limit: Bytes(10 * MSS),
        });
        assert_eq!((clock.cwnd(), clock.ssthresh()), (10.0, Some(30.0)));
        clock.event(&Event::IdleRestart {
            limit: Bytes(20 * MSS),
        });
        assert_eq!(clock.cwnd(), 10.0);
    }

    #[test]
    fn impossible_parameters_are_refused_by_name() {
        let refusal = |tree| choose::<ControlKind>(&tree, &NoFiles).unwrap_err().key();
        assert_eq!(
            refusal(json!({ "kind": "reno", "alpha": 0.0 })),
            "out-of-range alpha"
        );
        assert_eq!(
            refusal(json!({ "kind": "reno", "beta": 1.0 })),
            "out-of-range beta"
        );
        assert_eq!(
            refusal(json!({ "kind": "reno", "slow_start_change": 0.0 })),
            "out-of-range slow_start_change"
        );
        assert_eq!(
            refusal(json!({ "kind": "reno", "slow_start_divisor": 0.5 })),
            "out-of-range slow_start_divisor"
        );
        let both = json!({ "kind": "reno", "slow_start_change": 9, "slow_start_exit": "hoe" });
        assert_eq!(refusal(both), "contradiction slow_start_change");
        assert_eq!(
            refusal(json!({ "kind": "reno", "gamma": 1 })),
            "unknown-field gamma"
        );
    }
}
