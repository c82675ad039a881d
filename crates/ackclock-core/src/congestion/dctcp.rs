//! DCTCP (RFC 8257): Reno that reduces its window by the share of packets that were marked.
//!
//! The sender estimates the share, α, once per round trip: α ← (1 − g) α + g M, where M is the
//! marked share of the data delivered in the round. A mark reduces the window to 1 − α/2 of it, at
//! most once per window. Everything else is Reno's: growth, losses, timeouts.
//!
//! The receiver tells M by its own feedback (`ecn_feedback = "dctcp"`), which the control asks for.
//! Without ECN nothing is marked, and the control is Reno.

use super::additive_increase::{AdditiveGrowth, AdditiveIncrease, Decrease, Growth};
use super::facts::{ControlFacts, EcnUse, KeptShare, LinuxControl};
use super::reno_linux::{RenoLinux, SegmentDecrease};
use super::segments::SegmentWindow;
use super::slow_start::SlowStartExit;
use super::{
    Congestion, CongestionControl, CongestionKind, ControlContext, ControlKind, MarkReport, Needs,
};
use crate::endpoint::parameters::{Arithmetic, EcnCodepoint, EcnFeedback};
use ackclock_spec::prelude::*;

/// Smallest window after a reduction, in segments (RFC 8257 section 3.4 leaves it to RFC 3168;
/// Linux).
const FLOOR: f64 = 2.0;

parameters! {
    /// Parameters.
    ///
    /// With the preset `linux` one flow has a smaller α than its model. As in Linux, the window
    /// does not grow in the round trip after a mark (the state CWR), and the bursts of segmentation
    /// offload cost more of a short queue. At 120 Mbit/s, 4 ms and a threshold of 30 packets the
    /// model says 0.17. It is 0.16 with `rfc`, 0.14 with `linux` and `segmentation_offload =
    /// false`, and 0.05 with `linux`. At round trips up to 300 µs the bursts empty the queue.
    pub struct Dctcp {
        /// g: weight of the last round trip in the average share of marks. Above 0, at most 1. RFC
        /// 8257 section 4.2 recommends 1/16.
        pub gain: f64 = 1.0 / 16.0,
        /// α before the first round trip, from 0 to 1. RFC 8257 section 3.3 recommends 1.
        pub initial_alpha: f64 = 1.0,
        /// Arithmetic of the window and of α; the default is the transport's. Linux has α in
        /// 1024ths, a gain of 1/16, and drops α below 1/64 to 0 in a round trip without marks.
        pub arithmetic: Arithmetic = Arithmetic::Exact,
    }
}

impl Element<ControlKind> for Dctcp {
    const NAME: &'static str = "dctcp";
    const LABEL: &'static str = "DCTCP";
    const SUMMARY: &'static str =
        "Reno whose window falls by half the share of packets that were marked.";
    const REFERENCE: &'static str = "RFC 8257; Alizadeh et al. (2010), Data Center TCP (DCTCP)";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let is_linux = self.arithmetic == Arithmetic::Linux;
        every([
            check_weight("gain", self.gain, "0.0625"),
            check_between("initial_alpha", self.initial_alpha, 0.0..=1.0, "1"),
            consistent(
                !is_linux || self.gain == Dctcp::default().gain,
                "gain",
                &self.gain,
                &["arithmetic"],
                "is not in Linux; choose 0.0625, or arithmetic = \"exact\"",
            ),
        ])
    }

    fn facts(&self) -> ControlFacts {
        let kernel = Dctcp {
            arithmetic: self.arithmetic,
            ..Dctcp::default()
        };
        ControlFacts {
            kept_after_mark: Some(KeptShare::ByMarks),
            ecn: Stated::Some(EcnUse {
                codepoint: EcnCodepoint::Ect0,
                feedback: EcnFeedback::Dctcp,
            }),
            linux: Stated::Some(LinuxControl::new("dctcp", self, &kernel)),
            ..ControlFacts::linear(1.0, KeptShare::Constant { share: 0.5 })
        }
    }
}

impl Factory<ControlKind> for Dctcp {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        if self.arithmetic == Arithmetic::Linux {
            let alpha = LinuxAlpha::new(self.initial_alpha);
            return Box::new(RenoLinux::new(&context, 1.0, alpha));
        }
        let growth = AdditiveGrowth {
            alpha: 1.0,
            growth: Growth::PerAck,
            slow_start_exit: SlowStartExit::None,
        };
        let share = MarkedShare {
            gain: self.gain,
            alpha: self.initial_alpha,
            delivered: 0.0,
            marked: 0.0,
            floor: FLOOR * context.mss.as_f64(),
        };
        Box::new(AdditiveIncrease::new(&context, growth, share))
    }
}

/// The average share of marks, and what it leaves of the window.
#[derive(Debug)]
struct MarkedShare {
    gain: f64,
    alpha: f64,
    /// Bytes of the present round.
    delivered: f64,
    marked: f64,
    /// Smallest window after a mark, in bytes.
    floor: f64,
}

impl Decrease for MarkedShare {
    fn needs(&self) -> Needs {
        Needs {
            marks: true,
            ..Needs::default()
        }
    }

    fn on_mark_report(&mut self, report: &MarkReport) {
        self.delivered += report.delivered.as_f64();
        self.marked += report.marked.as_f64();
        if report.round_start && self.delivered > 0.0 {
            let share = (self.marked / self.delivered).min(1.0);
            self.alpha += self.gain * (share - self.alpha);
            (self.delivered, self.marked) = (0.0, 0.0);
        }
    }

    fn kept(&mut self, _: Time, congestion: &Congestion) -> f64 {
        let base = congestion.base.as_f64();
        match congestion.kind {
            CongestionKind::Mark => (base * (1.0 - self.alpha / 2.0)).max(self.floor),
            _ => base / 2.0,
        }
    }
}

/// α in 1024ths, as `tcp_dctcp.c` of 6.18 has it.
#[derive(Debug)]
struct LinuxAlpha {
    alpha: u64,
    /// Segments of the present round.
    delivered: u64,
    marked: u64,
}

const LARGEST_ALPHA: u64 = 1024;
/// g as a power of two (`dctcp_shift_g`).
const GAIN_SHIFT: u32 = 4;

impl LinuxAlpha {
    fn new(initial: f64) -> Self {
        LinuxAlpha {
            alpha: libm::round(initial * LARGEST_ALPHA as f64) as u64,
            delivered: 0,
            marked: 0,
        }
    }

    /// Ends a round (`dctcp_update_alpha`).
    fn end_round(&mut self) {
        let less = match self.alpha >> GAIN_SHIFT {
            0 => self.alpha,
            less => less,
        };
        self.alpha -= less;
        if self.marked > 0 {
            let share = (self.marked << (10 - GAIN_SHIFT)) / self.delivered.max(1);
            self.alpha = (self.alpha + share).min(LARGEST_ALPHA);
        }
        (self.delivered, self.marked) = (0, 0);
    }
}

impl SegmentDecrease for LinuxAlpha {
    /// After a mark by α (`dctcp_ssthresh`).
    fn kept(&self, kind: CongestionKind, cwnd: u64) -> u64 {
        match kind {
            CongestionKind::Mark => cwnd - ((cwnd * self.alpha) >> 11),
            _ => cwnd / 2,
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            marks: true,
            ..Needs::default()
        }
    }

    fn on_mark_report(&mut self, report: &MarkReport, window: &SegmentWindow) {
        self.delivered += window.segments(report.delivered);
        self.marked += window.segments(report.marked);
        if report.round_start {
            self.end_round();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{AckClock, MSS};
    use super::*;
    use serde_json::json;

    const RTT: Span = Span::from_millis(100);

    fn clock(arithmetic: &str, window: u64) -> AckClock {
        let tree = json!({ "kind": "dctcp", "arithmetic": arithmetic });
        AckClock::new(&tree, RTT, window, Some(1))
    }

    /// Returns α after each of some rounds of ten segments, of which `marked` are marked.
    fn linux(marked: u64, rounds: usize) -> Vec<u64> {
        let mut alpha = LinuxAlpha::new(1.0);
        let mut round = || {
            (alpha.delivered, alpha.marked) = (10, marked);
            alpha.end_round();
            alpha.alpha
        };
        (0..rounds).map(|_| round()).collect()
    }

    /// By hand from `dctcp_update_alpha`.
    #[test]
    fn the_integers_of_linux_are_these() {
        assert_eq!(linux(0, 5), [960, 900, 844, 792, 743]);
        let zero = linux(0, 100).iter().position(|&alpha| alpha == 0).unwrap();
        assert_eq!(zero + 1, 75, "the round in which α reaches zero");
        assert_eq!(linux(1, 5), [966, 912, 861, 814, 770]);
        assert_eq!(linux(5, 500)[499], 527, "512 without floors");
        assert_eq!(linux(10, 100)[99], 1024);
        let kept = |cwnd, alpha| {
            LinuxAlpha {
                alpha,
                delivered: 0,
                marked: 0,
            }
            .kept(CongestionKind::Mark, cwnd)
            .max(2)
        };
        let windows = [(10, 1024), (100, 100), (40, 512), (3, 1024)].map(|(w, a)| kept(w, a));
        assert_eq!(windows, [5, 96, 30, 2]);
    }

    #[test]
    fn alpha_is_the_average_of_section_3_3() {
        let mut share = MarkedShare {
            gain: 1.0 / 16.0,
            alpha: 1.0,
            delivered: 0.0,
            marked: 0.0,
            floor: 0.0,
        };
        let mut expected = 1.0;
        for marked in [0, 3, 10, 7, 0, 1] {
            for n in 0..10 {
                share.on_mark_report(&MarkReport {
                    delivered: Bytes(MSS),
                    marked: Bytes(if n < marked { MSS } else { 0 }),
                    round_start: n == 9,
                });
            }
            expected = expected * 15.0 / 16.0 + marked as f64 / 10.0 / 16.0;
            assert!((share.alpha - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn a_mark_takes_half_of_alpha_and_a_loss_half() {
        for arithmetic in ["exact", "linux"] {
            let mut marked = clock(arithmetic, 40);
            marked.congestion(CongestionKind::Mark);
            assert_eq!(marked.cwnd(), 20.0, "α is 1 at first");
            let mut calm = clock(arithmetic, 40);
            (0..60).for_each(|_| calm.round());
            let before = calm.cwnd();
            calm.congestion(CongestionKind::Mark);
            assert!(calm.cwnd() > 0.98 * before, "{arithmetic}: α has decayed");
            let before = calm.cwnd();
            calm.congestion(CongestionKind::Loss);
            assert!((calm.cwnd() - before / 2.0).abs() <= 1.0, "{arithmetic}");
        }
    }

    /// Independent marks of probability p, so that α is p. A reaction waits for a window of W
    /// segments and then for a mark, 1/p segments. The epoch thus has 1 + 1/(pW) round trips. Each
    /// adds a segment, and the end takes α W/2. So x = pW solves x/2 = 1 + 1/x, and x = 1 + √3.
    /// With a reaction in every round trip it would be 2, the law of RFC 9332 appendix A.
    #[test]
    fn independent_marks_give_the_window_of_their_law() {
        for p in [0.02, 0.05] {
            let mut clock = clock("exact", 40);
            let window = clock.average_of_marked_rounds(p, 4000) * p;
            // α varies about p, and is correlated with the marks: 5 %.
            assert!(
                (window / (1.0 + libm::sqrt(3.0)) - 1.0).abs() < 0.05,
                "{p}: {window}"
            );
        }
    }
}
