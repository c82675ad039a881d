//! Jitter: a propagation delay that varies from packet to packet.

use super::facts::ImpairmentFacts;
use super::{Applies, Impairment, ImpairmentKind, Overtaking, Side, Verdict};
use crate::packet::Packet;
use ackclock_spec::prelude::*;
use serde_json::json;

/// Parameters. The extra delay is added to the hop's delay, after the link.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "distribution": { "kind": "uniform", "maximum": "5 ms" } }))]
#[schemars(example = json!({
    "distribution": { "kind": "normal", "mean": "5 ms", "standard_deviation": "2 ms" },
    "reordering": "allowed"
}))]
#[schemars(example = json!({
    "distribution": { "kind": "uniform", "maximum": "40 ms" },
    "after_gap": "100 ms"
}))]
#[schemars(example = json!({ "distribution": { "kind": "wifi", "mean": "12 ms" } }))]
#[schemars(example = json!({ "distribution": { "kind": "rbpdv" } }))]
pub struct Jitter {
    /// Distribution of the extra delay.
    pub distribution: Distribution,
    /// Permission for a packet to overtake another. If it is forbidden, the packets behind a late
    /// one wait for it.
    #[serde(default = "forbidden")]
    pub reordering: Overtaking,
    /// Shortest gap behind the packet before, for a packet to be delayed. With a gap only the first
    /// packet after a pause is late, as where a host or a radio has to wake up.
    #[serde(default)]
    pub after_gap: Span,
    /// Time of the run from which packets are delayed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub from: Span,
    /// Time of the run until which packets are delayed; absent: to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Span>,
    /// Packets to which it applies.
    #[serde(default = "Applies::data")]
    pub applies: Applies,
}

fn is_zero(span: &Span) -> bool {
    *span == Span::ZERO
}

fn forbidden() -> Overtaking {
    Overtaking::Forbidden
}

/// Distribution of the extra delay.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Distribution {
    /// Uniform from 0 to `maximum`.
    Uniform {
        /// Largest extra delay.
        maximum: Span,
    },
    /// Exponential.
    Exponential {
        /// Mean extra delay.
        mean: Span,
    },
    /// Normal, truncated at zero. Mean and standard deviation are those of the normal distribution
    /// before the truncation. If the mean is only a few standard deviations, the mean after the
    /// truncation is larger. A mean of three deviations is the Gaussian jitter of picoquic.
    Normal {
        /// Mean before the truncation.
        mean: Span,
        /// Standard deviation before the truncation.
        standard_deviation: Span,
    },
    /// Waiting for a Wi-Fi channel, as in picoquic's `sim_link.c` of August 2026. A packet waits
    /// for a Poisson number of slots of 1 ms, one in the mean, less a part of a slot: 0.68 ms in
    /// the mean. Rarely the channel is lost, and it waits for a Poisson number of slots of 7.5 ms
    /// in addition, twelve in the mean, less a part of a slot. The longer the mean, the more often.
    Wifi {
        /// Mean extra delay, 1 to 85 ms. That of 1 ms is 0.68 ms, without rare long waits.
        mean: Span,
    },
    /// Random bounded packet delay variation of RFC 8868 (section 4.5.1): the absolute value of a
    /// normal one that is cut at `maximum` on either side.
    Rbpdv {
        /// Standard deviation of the normal distribution; by default that of the RFC.
        #[serde(default = "five_milliseconds")]
        standard_deviation: Span,
        /// Largest extra delay; by default that of the RFC.
        #[serde(default = "fifteen_milliseconds")]
        maximum: Span,
        /// True to take the value with its sign, `maximum` later than in the RFC so that no delay
        /// is negative.
        #[serde(default)]
        signed: bool,
    },
}

const fn five_milliseconds() -> Span {
    Span::from_millis(5)
}
const fn fifteen_milliseconds() -> Span {
    Span::from_millis(15)
}

/// The waits of picoquic for a Wi-Fi channel.
mod wifi {
    use ackclock_spec::units::Span;

    /// Slots of every packet: the mean of their number, and their length in seconds.
    pub const SLOTS: (f64, f64) = (1.0, 1e-3);
    /// Slots of a rare long wait.
    pub const LONG: (f64, f64) = (12.0, 7.5e-3);
    /// Mean without long waits, as picoquic counts it.
    pub const SHORTEST: Span = Span::from_millis(1);
    /// Mean of a long wait, as picoquic counts it (its comment has 85 ms).
    pub const LONG_MEAN: Span = Span::from_millis(84);
}

impl Element<ImpairmentKind> for Jitter {
    const NAME: &'static str = "jitter";
    const LABEL: &'static str = "jitter";
    const SUMMARY: &'static str =
        "Delays each packet by a random time, with or without reordering.";
    const REFERENCE: &'static str = "independent draws by inversion, one per packet; normal \
        quantiles: Wichura 1988, Applied Statistics 37 (AS 241)";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        in_range(
            self.until.is_none_or(|until| until > self.from),
            "until",
            &self.until,
            "is not after from",
        )?;
        match &self.distribution {
            Distribution::Uniform { .. } | Distribution::Exponential { .. } => Ok(()),
            Distribution::Normal {
                standard_deviation, ..
            }
            | Distribution::Rbpdv {
                standard_deviation, ..
            } => in_range(
                *standard_deviation != Span::ZERO,
                "distribution.standard_deviation",
                standard_deviation,
                "is too short; a constant delay belongs in the hop's delay",
            ),
            Distribution::Wifi { mean } => in_range(
                (wifi::SHORTEST..=wifi::SHORTEST + wifi::LONG_MEAN).contains(mean),
                "distribution.mean",
                mean,
                "is not between 1 ms and 85 ms; for example \"12 ms\"",
            ),
        }
    }

    fn facts(&self) -> ImpairmentFacts {
        ImpairmentFacts {
            delays: Some(true),
            changes: Some(self.from > Span::ZERO || self.until.is_some()),
            reorders: Some(self.reordering == Overtaking::Allowed),
            ..ImpairmentFacts::of(self.applies, Side::AfterLink)
        }
    }
}

impl Factory<ImpairmentKind> for Jitter {
    fn build(&self, place: StreamScope<'_>) -> Box<dyn Impairment> {
        Box::new(JitterImpairment {
            parameters: self.clone(),
            law: Law::new(self.distribution),
            stream: place.stream(),
            last: None,
        })
    }

    fn draws(&self) -> bool {
        true
    }
}

impl Jitter {
    /// True if it delays packets at that time.
    fn holds_at(&self, now: Time) -> bool {
        let since = now.since(Time::ZERO);
        since >= self.from && self.until.is_none_or(|until| since < until)
    }
}

/// A distribution with precomputed constants for its draws.
#[derive(Clone, Copy, Debug)]
enum Law {
    Uniform {
        maximum: Span,
    },
    Exponential {
        mean: f64,
    },
    /// `below`: probability that the normal distribution is negative.
    Normal {
        mean: f64,
        deviation: f64,
        below: f64,
    },
    /// `chance`: probability of a long wait.
    Wifi {
        chance: f64,
    },
    Rbpdv {
        deviation: f64,
        maximum: f64,
        signed: bool,
    },
}

impl Law {
    fn new(distribution: Distribution) -> Self {
        match distribution {
            Distribution::Uniform { maximum } => Law::Uniform { maximum },
            Distribution::Exponential { mean } => Law::Exponential {
                mean: mean.as_seconds(),
            },
            Distribution::Normal {
                mean,
                standard_deviation,
            } => {
                let (mean, deviation) = (mean.as_seconds(), standard_deviation.as_seconds());
                Law::Normal {
                    mean,
                    deviation,
                    below: 0.5 * libm::erfc(mean / deviation * std::f64::consts::FRAC_1_SQRT_2),
                }
            }
            Distribution::Wifi { mean } => Law::Wifi {
                chance: (mean - wifi::SHORTEST).as_seconds() / wifi::LONG_MEAN.as_seconds(),
            },
            Distribution::Rbpdv {
                standard_deviation,
                maximum,
                signed,
            } => Law::Rbpdv {
                deviation: standard_deviation.as_seconds(),
                maximum: maximum.as_seconds(),
                signed,
            },
        }
    }

    fn draw(self, stream: &mut Stream) -> Span {
        match self {
            Law::Uniform { maximum } => stream.uniform_span(maximum),
            Law::Exponential { mean } => Span::from_seconds(stream.exponential(mean)),
            Law::Normal {
                mean,
                deviation,
                below,
            } => {
                // From the upper end, where 1 − uniform() stays away from zero, so that the
                // quantile is finite.
                let above = (1.0 - stream.uniform()) * (1.0 - below);
                Span::from_seconds(mean - deviation * normal_quantile(above))
            }
            Law::Wifi { chance } => {
                let mut wait = slots(stream, wifi::SLOTS);
                if stream.uniform() < chance {
                    wait += slots(stream, wifi::LONG);
                }
                Span::from_seconds(wait)
            }
            Law::Rbpdv {
                deviation,
                maximum,
                signed,
            } => {
                let bounded = (deviation * stream.normal()).clamp(-maximum, maximum);
                Span::from_seconds(if signed {
                    maximum + bounded
                } else {
                    bounded.abs()
                })
            }
        }
    }
}

/// Draws the time of a Poisson number of slots, in seconds, less a part of the last one.
fn slots(stream: &mut Stream, (mean, length): (f64, f64)) -> f64 {
    let (mut count, mut product, bound) = (0, stream.uniform(), libm::exp(-mean));
    while product > bound {
        count += 1;
        product *= stream.uniform();
    }
    match count {
        0 => 0.0,
        _ => (f64::from(count) - stream.uniform()) * length,
    }
}

/// Returns the standard normal quantile for 0 < `p` < 1, to about 16 digits (Wichura's AS 241,
/// routine PPND16).
fn normal_quantile(p: f64) -> f64 {
    let polynomial =
        |coefficients: &[f64], x: f64| coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c);
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * polynomial(&CENTRE.0, r) / polynomial(&CENTRE.1, r);
    }
    let r = libm::sqrt(-libm::log(p.min(1.0 - p)));
    let tail = if r <= 5.0 {
        polynomial(&FLANK.0, r - 1.6) / polynomial(&FLANK.1, r - 1.6)
    } else {
        polynomial(&TAIL.0, r - 5.0) / polynomial(&TAIL.1, r - 5.0)
    };
    libm::copysign(tail, q)
}

type Ratio = ([f64; 8], [f64; 8]);
/// |p − 1/2| ≤ 0.425.
const CENTRE: Ratio = (
    [
        3.3871328727963665,
        133.14166789178438,
        1971.5909503065513,
        13731.69376550946,
        45921.95393154987,
        67265.7709270087,
        33430.57558358813,
        2509.0809287301227,
    ],
    [
        1.0,
        42.31333070160091,
        687.1870074920579,
        5394.196021424751,
        21213.794301586597,
        39307.89580009271,
        28729.085735721943,
        5226.495278852854,
    ],
);
/// Further out, down to p = e^−25.
const FLANK: Ratio = (
    [
        1.4234371107496835,
        4.630337846156546,
        5.769497221460691,
        3.6478483247632045,
        1.2704582524523684,
        0.2417807251774506,
        0.022723844989269184,
        0.0007745450142783414,
    ],
    [
        1.0,
        2.053191626637759,
        1.6763848301838038,
        0.6897673349851,
        0.14810397642748008,
        0.015198666563616457,
        0.0005475938084995345,
        1.0507500716444169e-09,
    ],
);
/// Beyond.
const TAIL: Ratio = (
    [
        6.657904643501103,
        5.463784911164114,
        1.7848265399172913,
        0.29656057182850487,
        0.026532189526576124,
        0.0012426609473880784,
        2.7115555687434876e-05,
        2.0103343992922881e-07,
    ],
    [
        1.0,
        0.599832206555888,
        0.1369298809227358,
        0.014875361290850615,
        0.0007868691311456133,
        1.8463183175100548e-05,
        1.421511758316446e-07,
        2.0442631033899397e-15,
    ],
);

#[derive(Debug)]
struct JitterImpairment {
    parameters: Jitter,
    law: Law,
    stream: Stream,
    /// Time of the packet before, of those to which it applies.
    last: Option<Time>,
}

impl Impairment for JitterImpairment {
    fn judge(&mut self, now: Time, packet: &Packet) -> Verdict {
        if !self.parameters.applies.to(packet) || !self.parameters.holds_at(now) {
            return Verdict::Pass;
        }
        let last = self.last.replace(now);
        if last.is_some_and(|last| now.since(last) < self.parameters.after_gap) {
            return Verdict::Pass;
        }
        Verdict::Delay {
            by: self.law.draw(&mut self.stream),
            overtaken: self.parameters.reordering,
        }
    }
    fn side(&self) -> Side {
        Side::AfterLink
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impairment::tests::{self, packet};

    /// Returns extra delays in seconds.
    fn delays(distribution: serde_json::Value, n: usize) -> Vec<f64> {
        let mut jitter = tests::build(json!({ "kind": "jitter", "distribution": distribution }));
        let mut delay = || match jitter.judge(Time::ZERO, &packet()) {
            Verdict::Delay { by, overtaken } => {
                assert_eq!(overtaken, Overtaking::Forbidden);
                by.as_seconds()
            }
            other => panic!("{other:?}"),
        };
        (0..n).map(|_| delay()).collect()
    }

    /// Asserts that the sample mean is the given one within four standard errors.
    fn assert_mean(delays: &[f64], mean: f64, deviation: f64) {
        let observed = delays.iter().sum::<f64>() / delays.len() as f64;
        let sigma = deviation / libm::sqrt(delays.len() as f64);
        assert!(
            (observed - mean).abs() < 4.0 * sigma,
            "{observed} for {mean}"
        );
    }

    #[test]
    fn it_may_hold_for_a_part_of_the_run() {
        let mut jitter = tests::build(json!({
            "kind": "jitter",
            "distribution": { "kind": "uniform", "maximum": "10 ms" },
            "from": "1 s",
            "until": "3 s"
        }));
        let delays = [0, 999, 1000, 2999, 3000].map(|ms| {
            let at = Time::ZERO + Span::from_millis(ms);
            jitter.judge(at, &packet()) != Verdict::Pass
        });
        assert_eq!(delays, [false, false, true, true, false]);
    }

    #[test]
    fn means_are_those_of_the_distributions() {
        let n = 100_000;
        let uniform = delays(json!({ "kind": "uniform", "maximum": "10 ms" }), n);
        assert_mean(&uniform, 0.005, 0.01 / libm::sqrt(12.0));
        assert!(uniform.iter().all(|&delay| delay <= 0.01));
        assert_mean(
            &delays(json!({ "kind": "exponential", "mean": "10 ms" }), n),
            0.01,
            0.01,
        );
        // Zero is ten standard deviations away.
        let normal = json!({ "kind": "normal", "mean": "10 ms", "standard_deviation": "1 ms" });
        assert_mean(&delays(normal, n), 0.01, 0.001);
        // The specification's arithmetic: Poisson slots, less half of one where there is any.
        let wifi = |mean: &str| json!({ "kind": "wifi", "mean": mean });
        let short = delays(wifi("1 ms"), n);
        assert_mean(&short, 0.683_94e-3, 0.861_94e-3);
        let none = short.iter().filter(|&&delay| delay == 0.0).count() as f64 / n as f64;
        assert!((none - 0.367_88).abs() < 4.0 * libm::sqrt(0.367_88 * 0.632_12 / n as f64));
        let rare = libm::sqrt(26.07 * 26.07 + (1.0 - 0.130_952) * 86.25 * 86.25);
        let deviation = libm::sqrt(0.861_94 * 0.861_94 + 0.130_952 * rare * rare);
        assert_mean(&delays(wifi("12 ms"), n), 11.979e-3, deviation * 1e-3);
        // RFC 8868's values: folded, and cut at three deviations.
        let bounded = delays(json!({ "kind": "rbpdv" }), n);
        assert_mean(&bounded, 3.9856e-3, 2.9984e-3);
        assert!(bounded.iter().all(|&delay| delay <= 0.015));
        let signed = delays(json!({ "kind": "rbpdv", "signed": true }), n);
        assert_mean(&signed, 15e-3, 5e-3);
        assert!(signed.iter().all(|&delay| (0.0..=0.03).contains(&delay)));
        assert!(signed.iter().any(|&delay| delay < 0.01));
        // Truncated in the middle: half-normal, mean √(2/π), deviation √(1 − 2/π).
        let half = json!({ "kind": "normal", "mean": "0 s", "standard_deviation": "1 ms" });
        let share = 2.0 / std::f64::consts::PI;
        assert_mean(
            &delays(half, n),
            0.001 * libm::sqrt(share),
            0.001 * libm::sqrt(1.0 - share),
        );
    }

    #[test]
    fn a_gap_delays_only_the_first_packet_after_a_pause() {
        let mut jitter = tests::build(json!({
            "kind": "jitter",
            "distribution": { "kind": "exponential", "mean": "1 ms" },
            "after_gap": "10 ms",
        }));
        let mut late = |ms: u64| {
            let now = Time::from_nanos(1_000_000 * ms);
            jitter.judge(now, &packet()) != Verdict::Pass
        };
        // The run begins with a pause.
        let at = [0, 1, 10, 20, 29, 39, 48];
        let late_ms: Vec<u64> = at.into_iter().filter(|&ms| late(ms)).collect();
        assert_eq!(late_ms, [0, 20, 39]);
    }

    #[test]
    fn quantiles_invert_the_normal_law() {
        for p in [1e-300, 1e-100, 1e-12, 1e-4, 0.02, 0.075, 0.3, 0.5] {
            let back = 0.5 * libm::erfc(-normal_quantile(p) * std::f64::consts::FRAC_1_SQRT_2);
            assert!((back / p - 1.0).abs() < 1e-11, "{p}: {back}");
            if p >= 1e-4 {
                assert!((normal_quantile(p) + normal_quantile(1.0 - p)).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn a_normal_law_without_spread_is_refused() {
        let normal = json!({ "kind": "normal", "mean": "1 ms", "standard_deviation": "0 s" });
        let error = tests::choose(json!({ "kind": "jitter", "distribution": normal })).unwrap_err();
        assert_eq!(error.field(), "distribution.standard_deviation");
    }

    #[test]
    fn a_wait_for_a_channel_has_a_mean_that_the_law_can_have() {
        for mean in ["999 us", "86 ms"] {
            let wifi = json!({ "kind": "wifi", "mean": mean });
            let jitter = json!({ "kind": "jitter", "distribution": wifi });
            assert_eq!(
                tests::choose(jitter).unwrap_err().field(),
                "distribution.mean"
            );
        }
    }
}
