//! The throughput equation of TFRC and its inverse (RFC 5348 sections 3.1 and 6.3.1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// t_RTO, the retransmission timeout of the equation's TCP (RFC 5348 section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutRule {
    /// 4 R, the RFC's recommendation.
    FourRtt,
    /// max(4 R, 1 s), which the RFC allows: a TCP with the minimum timeout of RFC 6298.
    FourRttOrASecond,
}

/// The equation with the parameters that are constant during a flow.
///
/// In the RFC's symbols, with X in packets per second (X_pps = X_Bps / s):
/// X = 1 / (R sqrt(2 b p / 3) + t_RTO 3 sqrt(3 b p / 8) p (1 + 32 p²)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equation {
    /// b: packets that one ACK of the equation's TCP acknowledges.
    pub b: f64,
    /// t_RTO.
    pub timeout: TimeoutRule,
}

/// Relative precision of the inverse; the RFC requires a rate within 5 %.
const PRECISION: f64 = 1e-12;

impl Equation {
    /// Returns X in packets per second for the round-trip time R in seconds and the loss event rate
    /// p; infinite for p = 0.
    pub fn packets_per_s(&self, rtt: f64, p: f64) -> f64 {
        let timeout = match self.timeout {
            TimeoutRule::FourRtt => 4.0 * rtt,
            TimeoutRule::FourRttOrASecond => (4.0 * rtt).max(1.0),
        };
        let Equation { b, .. } = self;
        let timeouts = timeout * 3.0 * libm::sqrt(3.0 * b * p / 8.0) * p * (1.0 + 32.0 * p * p);
        1.0 / (rtt * libm::sqrt(2.0 * b * p / 3.0) + timeouts)
    }

    /// Returns the p in (0, 1] at which the equation gives `packets_per_s`: 1 for any rate below
    /// that at p = 1, the smallest positive number for an infinite rate.
    pub fn loss_event_rate(&self, rtt: f64, packets_per_s: f64) -> f64 {
        let exceeds = |p: f64| self.packets_per_s(rtt, p) > packets_per_s;
        if exceeds(1.0) || packets_per_s.is_nan() {
            return 1.0;
        }
        // The rate falls from infinity as p grows from zero. The solution is therefore at or below
        // any p whose rate is no larger.
        let window = rtt * packets_per_s;
        let of_square_root_law = 3.0 / (2.0 * self.b * window * window);
        let mut high = of_square_root_law.clamp(f64::MIN_POSITIVE, 1.0);
        let mut low = high;
        while !exceeds(low) && low > f64::MIN_POSITIVE {
            high = low;
            low /= 2.0;
        }
        while high > low * (1.0 + PRECISION) {
            let middle = libm::sqrt(low) * libm::sqrt(high);
            if exceeds(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RFC: Equation = Equation {
        b: 1.0,
        timeout: TimeoutRule::FourRtt,
    };

    /// R = 0.1 s; the values are those of `ackclock.models.tfrc.rate`, an independent
    /// implementation of the same section.
    #[test]
    fn rates_are_those_of_the_python_model() {
        let table = [
            (1e-4, 1_223.643_591_806_553_6),
            (1e-3, 383.843_631_391_254_5),
            (0.005, 165.740_779_032_385_2),
            (0.01, 112.332_234_362_992_98),
            (0.02, 73.248_961_670_132_09),
            (0.05, 36.858_853_129_553_57),
            (0.1, 17.701_020_777_913_236),
            (0.2, 5.365_620_665_215_184),
            (0.3, 1.948_473_316_050_705_3),
            (0.5, 0.417_361_640_378_042_7),
        ];
        for (p, rate) in table {
            let ours = RFC.packets_per_s(0.1, p);
            assert!((ours / rate - 1.0).abs() < 1e-12, "p = {p}: {ours}");
        }
    }

    /// RFC 5348 section 8.1: with the recommended t_RTO and b, X = 1 / (R f(p)).
    #[test]
    fn the_simplified_form_is_the_same() {
        for p in [1e-6, 1e-3, 0.1, 1.0] {
            let f = libm::sqrt(2.0 * p / 3.0)
                + 12.0 * libm::sqrt(3.0 * p / 8.0) * p * (1.0 + 32.0 * p * p);
            assert!((RFC.packets_per_s(0.2, p) * 0.2 * f - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn a_second_at_least_matters_below_a_quarter_of_one() {
        let floor = Equation {
            timeout: TimeoutRule::FourRttOrASecond,
            ..RFC
        };
        assert!(floor.packets_per_s(0.1, 0.05) < RFC.packets_per_s(0.1, 0.05));
        assert_eq!(floor.packets_per_s(0.3, 0.05), RFC.packets_per_s(0.3, 0.05));
    }

    #[test]
    fn outside_its_range_the_inverse_is_at_its_ends() {
        assert_eq!(RFC.loss_event_rate(0.1, 0.0), 1.0);
        assert_eq!(RFC.loss_event_rate(0.1, f64::NAN), 1.0);
        assert_eq!(RFC.loss_event_rate(0.1, f64::INFINITY), f64::MIN_POSITIVE);
        assert_eq!(RFC.packets_per_s(0.1, 0.0), f64::INFINITY);
    }

    proptest! {
        #[test]
        fn the_inverse_inverts(
            log_p in -11.0..0.0_f64,
            log_rtt in -6.0..2.0_f64,
            b in 1.0..2.0_f64,
            floor: bool,
        ) {
            let timeout = if floor { TimeoutRule::FourRttOrASecond } else { TimeoutRule::FourRtt };
            let equation = Equation { b, timeout };
            let (p, rtt) = (libm::pow(10.0, log_p), libm::pow(10.0, log_rtt));
            let back = equation.loss_event_rate(rtt, equation.packets_per_s(rtt, p));
            prop_assert!((back / p - 1.0).abs() < 1e-9, "{p} came back as {back}");
        }

        #[test]
        fn more_loss_or_a_longer_round_trip_is_less(p in 1e-9..0.9_f64, rtt in 1e-6..10.0_f64) {
            let rate = RFC.packets_per_s(rtt, p);
            prop_assert!(
                RFC.packets_per_s(rtt, p * 1.01) < rate && RFC.packets_per_s(rtt * 1.01, p) < rate
            );
        }
    }
}
