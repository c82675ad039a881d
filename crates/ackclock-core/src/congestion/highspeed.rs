//! HighSpeed TCP (RFC 3649): grows faster and decreases less than Reno if the window is large.

use super::additive_increase::{AdditiveGrowth, AdditiveIncrease, Decrease, Growth};
use super::facts::{ControlFacts, GrowthLaw, KeptShare, LinuxControl};
use super::slow_start::SlowStartExit;
use super::{Congestion, CongestionControl, ControlContext, ControlKind};
use ackclock_spec::prelude::*;

/// Parameters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HighSpeed {
    /// Response function that determines growth and decrease.
    pub response: ResponseFunction,
    /// The sign that ends the first slow start before a loss.
    pub slow_start_exit: SlowStartExit,
}

/// The response function that determines a(w) and b(w).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponseFunction {
    /// The equations of RFC 3649 section 5.
    #[default]
    Formula,
    /// The table of RFC 3649 appendix B with the decrease in 256ths, as in Linux: growth is rounded
    /// up to the next row. Linux also counts ACKs in congestion avoidance instead of the
    /// acknowledged data; set `byte_counting = "per_ack"` of the transport for that.
    Table,
}

impl Element<ControlKind> for HighSpeed {
    const NAME: &'static str = "highspeed";
    const LABEL: &'static str = "HighSpeed";
    const SUMMARY: &'static str = "Behaves as Reno up to 38 segments; above, growth and the share \
        kept after a loss rise with the window.";
    const REFERENCE: &'static str = "RFC 3649";

    fn facts(&self) -> ControlFacts {
        let kernel = HighSpeed {
            response: ResponseFunction::Table,
            ..HighSpeed::default()
        };
        ControlFacts {
            growth: Some(GrowthLaw::Highspeed),
            slow_start_ends_early: Some(self.slow_start_exit.is_early()),
            early_end: self.slow_start_exit.early_end(),
            linux: Stated::Some(LinuxControl::new("highspeed", self, &kernel)),
            ..ControlFacts::loss_based(KeptShare::ByWindow)
        }
    }
}

impl Factory<ControlKind> for HighSpeed {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        let growth = AdditiveGrowth {
            alpha: 1.0,
            growth: Growth::PerAck, // section 5: w += a(w)/w at each ACK
            slow_start_exit: self.slow_start_exit,
        };
        let response = HighSpeedResponse {
            source: self.response,
            mss: context.mss.as_f64().max(1.0),
            segments: 0,
            increase: 1.0,
        };
        Box::new(AdditiveIncrease::new(&context, growth, response))
    }
}

// RFC 3649 section 5: Low_Window and High_Window in segments, Low_P and High_P, High_Decrease.
const LOW_WINDOW: f64 = 38.0;
const HIGH_WINDOW: f64 = 83_000.0;
const LOW_P: f64 = 1e-3;
const HIGH_P: f64 = 1e-7;
const HIGH_DECREASE: f64 = 0.1;

/// Largest window of each row of appendix B. The growth of a row is its number, counted from 1.
const ROWS: [u32; 72] = [
    38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778,
    4177, 4596, 5036, 5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10_661, 11_358, 12_082,
    12_834, 13_614, 14_424, 15_265, 16_137, 17_042, 17_981, 18_955, 19_965, 21_013, 22_101, 23_230,
    24_402, 25_618, 26_881, 28_193, 29_557, 30_975, 32_450, 33_986, 35_586, 37_253, 38_992, 40_808,
    42_707, 44_694, 46_776, 48_961, 51_258, 53_677, 56_230, 58_932, 61_799, 64_851, 68_113, 71_617,
    75_401, 79_517, 84_035, 89_053,
];

/// Returns the row of a window in whole segments, counted from 0: the first that covers it, or the
/// last.
fn row(segments: u64) -> usize {
    ROWS.partition_point(|&most| u64::from(most) < segments)
        .min(ROWS.len() - 1)
}

/// Returns b(w), at least High_Decrease. The RFC does not say what holds beyond High_Window, where
/// the line would fall below zero.
fn decrease(w: f64) -> f64 {
    line(w).max(HIGH_DECREASE)
}

/// Returns the line of b(w): 0.5 up to Low_Window, then linear in log w, through High_Decrease at
/// High_Window.
fn line(w: f64) -> f64 {
    let along = libm::log(w.max(LOW_WINDOW) / LOW_WINDOW) / libm::log(HIGH_WINDOW / LOW_WINDOW);
    0.5 + (HIGH_DECREASE - 0.5) * along
}

/// Returns a(w) = w² p(w) 2 b(w)/(2 − b(w)), in segments per round trip, at least Reno's one. Just
/// above Low_Window the formula gives 4 % less than one.
fn increase(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 1.0;
    }
    // S is the slope of the response function on logarithmic axes. The RFC rounds it to -0.835, and
    // p(w) to 0.078/w^1.2.
    let slope = libm::log(HIGH_WINDOW / LOW_WINDOW) / libm::log(HIGH_P / LOW_P);
    let p = LOW_P * libm::pow(w / LOW_WINDOW, 1.0 / slope);
    let b = decrease(w);
    (w * w * p * 2.0 * b / (2.0 - b)).max(1.0)
}

/// Returns b of a row in 256ths, rounded down, as in Linux's module.
fn decrease_of_row(row: usize) -> f64 {
    libm::floor(256.0 * line(ROWS[row].into()))
}

/// a(w) and b(w) of a window in bytes.
#[derive(Debug)]
struct HighSpeedResponse {
    source: ResponseFunction,
    mss: f64,
    /// Window for which `increase` is valid, in whole segments. It saves the logarithms at each
    /// ACK.
    segments: u64,
    increase: f64,
}

impl Decrease for HighSpeedResponse {
    #[inline(always)]
    fn alpha(&mut self, _: f64, cwnd: f64) -> f64 {
        let segments = match self.source {
            ResponseFunction::Formula => (cwnd / self.mss + 0.5) as u64, // the nearest
            ResponseFunction::Table => (cwnd / self.mss) as u64,         // those that can be sent
        };
        if segments != self.segments {
            self.segments = segments;
            self.increase = match self.source {
                ResponseFunction::Formula => increase(segments as f64),
                ResponseFunction::Table => (row(segments) + 1) as f64,
            };
        }
        self.increase
    }

    fn kept(&mut self, _: Time, congestion: &Congestion) -> f64 {
        let w = congestion.base.as_f64() / self.mss;
        let kept = match self.source {
            ResponseFunction::Formula => (1.0 - decrease(w)) * w,
            ResponseFunction::Table => w - libm::floor(w * decrease_of_row(row(w as u64)) / 256.0),
        };
        kept * self.mss
    }
}

#[cfg(test)]
mod tests {
    use super::super::CongestionKind;
    use super::super::testing::{AckClock, MSS};
    use super::*;
    use serde_json::{Value, json};

    const RTT: Span = Span::from_millis(100);

    fn tree(response: &str) -> Value {
        json!({ "kind": "highspeed", "response": response })
    }
    fn clock(response: &str, window: u64) -> AckClock {
        AckClock::new(&tree(response), RTT, window, Some(1))
    }
    /// Returns the growth of `window` per acknowledged window, in segments.
    fn growth(response: &str, window: u64) -> f64 {
        let mut clock = clock(response, window);
        clock.ack(MSS);
        (clock.control.cwnd().as_f64() / MSS as f64 - window as f64) * window as f64
    }
    fn share_given_up(response: &str, window: u64) -> f64 {
        let mut clock = clock(response, window);
        clock.congestion(CongestionKind::Loss);
        1.0 - clock.cwnd() / window as f64
    }

    /// Compares a(w), b(w) and p(w) with values computed elsewhere from section 5 of the RFC.
    #[test]
    fn growth_and_decrease_are_those_of_section_5() {
        for (w, a, b) in [
            (38, 1.00, 0.500),
            (118, 2.03, 0.441),
            (221, 3.04, 0.408),
            (495, 5.08, 0.367),
            (1058, 8.14, 0.327),
            (1500, 10.06, 0.309),
            (2812, 14.61, 0.276),
            (5036, 20.39, 0.246),
            (10_661, 30.63, 0.207),
            (83_000, 72.5, 0.100),
        ] {
            assert!(
                (increase(w as f64) - a).abs() <= if a < 50.0 { 0.0051 } else { 0.051 },
                "a({w})"
            );
            assert!((decrease(w as f64) - b).abs() <= 0.001, "b({w})");
            // The control's growth. Its window is known to a byte, and the growth per ACK is only a
            // few bytes.
            let grown = growth("formula", w);
            assert!(
                (grown - a).abs() <= w as f64 / MSS as f64 + 0.06,
                "a({w}): {grown}"
            );
            assert!((share_given_up("formula", w) - b).abs() <= 0.001, "b({w})");
        }
    }

    #[test]
    fn up_to_low_window_it_is_reno() {
        for response in ["formula", "table"] {
            for w in [2, 10, 37] {
                let mut reno = AckClock::new(&json!({ "kind": "reno" }), RTT, w, Some(1));
                let mut high = clock(response, w);
                for clock in [&mut reno, &mut high] {
                    (0..w / 2).for_each(|_| clock.ack(MSS));
                }
                assert_eq!(reno.control.cwnd(), high.control.cwnd(), "{w}");
                for clock in [&mut reno, &mut high] {
                    clock.congestion(CongestionKind::Mark);
                }
                assert!(
                    (reno.cwnd() - high.cwnd()).abs() <= 1.0,
                    "{w}: whole segments by the table"
                );
            }
        }
    }

    #[test]
    fn beyond_high_window_it_gives_up_a_tenth_and_never_grows_less_than_reno() {
        assert!((share_given_up("formula", 400_000) - 0.1).abs() < 1e-6);
        assert!(increase(400_000.0) > increase(83_000.0));
        assert!((1..2000).all(|w| increase(f64::from(w)) >= 1.0));
    }

    /// Checks that a(w), with p(w) rounded to 0.078/w^1.2, is a whole number at the windows of
    /// appendix B.
    #[test]
    fn rows_are_where_growth_is_a_whole_number() {
        for (number, &w) in (1..).zip(&ROWS) {
            let (w, b) = (f64::from(w), line(w.into()));
            let rounded = w * w * 0.078 / libm::pow(w, 1.2) * 2.0 * b / (2.0 - b);
            assert!(
                (rounded - f64::from(number)).abs() < 0.05,
                "row {number}: {rounded}"
            );
        }
    }

    #[test]
    fn rows_give_up_what_linux_gives_up() {
        let listed = [
            (38, 128.0),
            (118, 112.0),
            (221, 104.0),
            (347, 98.0),
            (495, 93.0),
            (663, 89.0),
            (851, 86.0),
            (1058, 83.0),
            (1284, 81.0),
            (5036, 62.0),
            (10_661, 52.0),
            (30_975, 38.0),
            (61_799, 29.0),
            (84_035, 25.0),
            (89_053, 24.0),
        ];
        for (w, parts) in listed {
            assert_eq!(decrease_of_row(row(w)), parts, "{w}");
        }
        // In whole segments: 118 loses 51 (51.6); 119 is in the next row.
        assert_eq!(clock_after_loss(118), 67.0);
        assert_eq!(clock_after_loss(119), 119.0 - 48.0);
        assert_eq!(clock_after_loss(1000), 1000.0 - 324.0);
        assert_eq!(clock_after_loss(100_000), 100_000.0 - 9375.0);
    }

    fn clock_after_loss(window: u64) -> f64 {
        let mut clock = clock("table", window);
        clock.congestion(CongestionKind::Loss);
        clock.cwnd()
    }

    #[test]
    fn growth_by_the_table_is_the_number_of_the_first_row_that_reaches_so_far() {
        for (w, a) in [
            (38, 1),
            (39, 2),
            (118, 2),
            (119, 3),
            (221, 3),
            (222, 4),
            (89_053, 72),
            (89_054, 72),
        ] {
            assert_eq!(row(w) + 1, a, "{w}");
        }
        for window in [38, 118, 119, 500, 2000] {
            let expected = (row(window) + 1) as f64;
            let grown = growth("table", window);
            assert!(
                (grown - expected).abs() <= window as f64 / MSS as f64,
                "{window}: {grown}"
            );
        }
    }

    /// With one loss in 1/p segments, the mean window is w(p) = 38 (p/10⁻³)^S. This is the RFC's
    /// approximation, which takes a and b at the mean window instead of along the sawtooth: the
    /// exact value is 2 to 3 % more. The table rounds growth up, so its windows are larger by the
    /// relative size of a step.
    #[test]
    fn evenly_spaced_losses_lead_to_the_response_function() {
        let slope = libm::log(HIGH_WINDOW / LOW_WINDOW) / libm::log(HIGH_P / LOW_P);
        let above_by_table = [
            (3e-4, 0.28),
            (1e-4, 0.19),
            (3e-5, 0.11),
            (1e-5, 0.08),
            (3e-6, 0.05),
            (1e-6, 0.05),
        ];
        for (p, table) in above_by_table {
            let w = LOW_WINDOW * libm::pow(p / LOW_P, slope);
            let rounded = 0.12 / libm::pow(p, 0.835);
            assert!(
                (rounded / w - 1.0).abs() < 0.012,
                "rounded by the RFC: {rounded} {w}"
            );
            for (response, most) in [("formula", 0.03), ("table", table)] {
                let mut clock = clock(response, (1.2 * w) as u64);
                clock.congestion(CongestionKind::Loss);
                let error = clock.periodic_loss(p, 60) / w - 1.0;
                assert!(0.01 < error && error < most, "{response} at {p}: {error}");
            }
        }
    }
}
