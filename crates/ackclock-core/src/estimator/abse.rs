//! ABSE, adaptive bandwidth share estimation. The sampling interval grows with the queue that the
//! window must have built. The filter's time constant grows with the variation of the samples.

use super::observation::{Observation, Observer};
use super::recent::Recent;
use super::{AckSample, EstimatorContext, EstimatorKind, RateEstimator, seconds};
use ackclock_spec::prelude::*;
use std::collections::VecDeque;

const REFERENCE: &str = "Wang, Valla, Sanadidi, Gerla (2002), Using Adaptive Rate Estimation to \
    Provide Enhanced and Robust Transport over Heterogeneous Networks, ICNP, equations 1 to 6";

parameters! {
    /// Parameters. Symbols of the paper: ŝ is the estimate, s a sample, Δ the time between two
    /// ACKs, T the sampling interval, τ the time constant, and U the variation of the samples.
    pub struct Abse {
        /// Rate that, times RTTmin, gives the part of the congestion window that the path holds
        /// (equation 2).
        pub compared: Compared = Compared::Throughput,
        /// Start of the sampling interval (equation 4).
        pub edge: Edge = Edge::Aligned,
        /// Choice of T.
        pub sampling: Sampling = Sampling::Adaptive,
        /// Constant τ; by default it adapts.
        pub tau: Option<Span> = None,
        /// Number of ACKs over which the largest U is taken (equation 6); ten in the paper.
        pub horizon: u32 = 10,
        /// Step of the filter (equation 1, which does not define Δ).
        pub step: Step = Step::AckInterval,
        /// The round-trip time of equations 2 and 6.
        pub round_trip: RoundTrip = RoundTrip::Smoothed,
        /// β: share of U that a sample keeps (equation 5).
        pub beta: f64 = 0.6,
        /// N: τ is between one and 1 + N round-trip times (equation 6).
        pub stretch: f64 = 10.0,
        /// Quantities taken from each ACK.
        pub observation: Observation = Observation::default(),
    }
}

/// Rates that equation 2 can compare with the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compared {
    /// Rate over the last round trip, smoothed: Th ← 0.6 Th + 0.4 of it (as a later paper describes
    /// ABSE).
    Throughput,
    /// ŝ before this ACK, as printed. It is bistable with packet trains: once ŝ RTTmin reaches the
    /// window, T stays at its minimum, which favours high samples.
    Estimate,
}

/// Starts of the sampling interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Edge {
    /// The last ACK before the interval: the data delivered since then, over the time since then.
    Aligned,
    /// T before the last ACK, as printed. It overestimates by up to Δ/T, since the ACK at the end
    /// of the interval counts whole.
    Literal,
}

/// Choices of the sampling interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// Equation 2, between Δ and a round-trip time.
    Adaptive,
    /// Always Δ, the last pair of ACKs (figure 7 of the paper).
    AckPair,
}

/// Steps of the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Time since the previous ACK.
    AckInterval,
    /// Sampling interval T.
    SamplingInterval,
}

/// Round-trip times for the equations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoundTrip {
    /// Smoothed round-trip time.
    Smoothed,
    /// Last measured round-trip time.
    Latest,
}

impl Element<EstimatorKind> for Abse {
    const NAME: &'static str = "abse";
    const LABEL: &'static str = "ABSE";
    const SUMMARY: &'static str = "Adaptive bandwidth share estimation: sampling interval and \
        filter adapt to queueing and variation; the variant that shares fairly.";
    const REFERENCE: &'static str = REFERENCE;

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            check_at_least_one("horizon", self.horizon, "10"),
            in_range(
                self.tau != Some(Span::ZERO),
                "tau",
                &self.tau,
                "is too short; for example \"0.5 s\"; or remove it",
            ),
            in_range(
                (0.0..1.0).contains(&self.beta),
                "beta",
                &self.beta,
                "is not between 0 and 1 (excluded); for example 0.6",
            ),
            check_not_negative("stretch", self.stretch, "10"),
            self.observation.check(),
        ])
    }
}

impl Factory<EstimatorKind> for Abse {
    fn build(&self, context: EstimatorContext) -> Box<dyn RateEstimator> {
        Box::new(self.start(&context))
    }
}

/// ABSE as printed: equation 2 compares the estimate itself, and the sampling interval starts
/// exactly T before the last ACK.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AbseLiteral {
    /// Quantities taken from each ACK.
    pub observation: Observation,
}

impl Element<EstimatorKind> for AbseLiteral {
    const NAME: &'static str = "abse_literal";
    const LABEL: &'static str = "ABSE, as printed";
    const SUMMARY: &'static str = "ABSE exactly as printed: bistable when packets travel in \
        trains, so that ten flows share unfairly.";
    const REFERENCE: &'static str = REFERENCE;

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        self.observation.check()
    }
}

impl Factory<EstimatorKind> for AbseLiteral {
    fn build(&self, context: EstimatorContext) -> Box<dyn RateEstimator> {
        Box::new(self.start(&context))
    }
}

impl AbseLiteral {
    /// Returns the estimator of one connection.
    pub fn start(&self, context: &EstimatorContext) -> AdaptiveEstimate {
        let literal = Abse {
            compared: Compared::Estimate,
            edge: Edge::Literal,
            observation: self.observation.clone(),
            ..Abse::default()
        };
        literal.start(context)
    }
}

impl Abse {
    /// Returns the estimator of one connection.
    pub fn start(&self, context: &EstimatorContext) -> AdaptiveEstimate {
        AdaptiveEstimate {
            observer: Observer::new(&self.observation, context.mss),
            parameters: self.clone(),
            recent: Recent::default(),
            variations: VecDeque::new(),
            now: Level::default(),
            before: Level::default(),
            step: None,
            sampled: false,
        }
    }
}

/// ABSE of one connection.
#[derive(Debug)]
pub struct AdaptiveEstimate {
    parameters: Abse,
    observer: Observer,
    recent: Recent,
    /// The last values of U, as many as the horizon has ACKs.
    variations: VecDeque<f64>,
    now: Level,
    /// State at the start of the present step. ACKs at the same time are one sample, which each of
    /// them updates.
    before: Level,
    /// Start and end of the present step.
    step: Option<(Time, Time)>,
    /// True if the step has a sample: the last of `variations` is of this step.
    sampled: bool,
}

/// State that carries over from sample to sample.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// ŝ, in bytes per second.
    estimate: f64,
    /// The previous sample.
    sample: f64,
    /// U: variation of the samples.
    variation: f64,
    /// Th: smoothed throughput.
    throughput: f64,
}

/// Relative difference below which samples count as equal. τ depends only on U over its largest
/// value, however small both are: on a steady stream, rounding errors would otherwise set it.
const ROUNDING: f64 = 1e-12;

fn difference(one: f64, other: f64) -> f64 {
    let difference = (one - other).abs();
    if difference > ROUNDING * one.max(other) {
        difference
    } else {
        0.0
    }
}

/// Share of Th that each value keeps.
const THROUGHPUT_KEPT: f64 = 0.6;

impl AdaptiveEstimate {
    /// Returns T (equation 2), at least the time between two ACKs.
    fn sampling_interval(&self, ack: &AckSample, gap: Span, rtt: Span) -> Span {
        let (cwnd, rtt_min) = (ack.cwnd.as_f64(), self.observer.rtt_min());
        let rate = match self.parameters.compared {
            Compared::Throughput => self.now.throughput,
            Compared::Estimate => self.before.estimate,
        };
        let held = rate * rtt_min.unwrap_or(0.0);
        if self.parameters.sampling == Sampling::AckPair || held >= cwnd {
            return gap;
        }
        // Share of the window that waits in the queue.
        let waiting = (cwnd - held) / cwnd;
        Span::from_seconds(seconds(rtt) * waiting).min(rtt).max(gap)
    }

    /// Returns s (equation 4).
    fn sample(&self, interval: Span) -> f64 {
        let sum = self.recent.sum(interval);
        let span = match self.parameters.edge {
            Edge::Aligned => sum.reach,
            Edge::Literal => seconds(interval),
        };
        sum.bytes / span
    }

    /// Returns τ (equation 6).
    fn time_constant(&self, rtt: f64) -> f64 {
        let largest = self.variations.iter().copied().fold(0.0, f64::max);
        let ratio = if largest > 0.0 {
            self.now.variation / largest
        } else {
            0.0
        };
        rtt * (1.0 + self.parameters.stretch * ratio)
    }

    fn remember_variation(&mut self) {
        if std::mem::replace(&mut self.sampled, true) {
            self.variations.pop_back();
        } else if self.variations.len() >= self.parameters.horizon as usize {
            self.variations.pop_front();
        }
        self.variations.push_back(self.now.variation);
    }

    /// Updates the estimate at the end of a step: equations 2 to 6, then 1.
    fn reckon(&mut self, ack: &AckSample, gap: Span, rtt: Span) {
        let beta = self.parameters.beta;
        self.now = self.before;
        let last_round_trip = self.recent.sum(rtt).bytes / seconds(rtt);
        self.now.throughput =
            THROUGHPUT_KEPT * self.before.throughput + (1.0 - THROUGHPUT_KEPT) * last_round_trip;
        let interval = self.sampling_interval(ack, gap, rtt);
        let sample = self.sample(interval);
        self.now.sample = sample;
        self.now.variation =
            beta * self.before.variation + (1.0 - beta) * difference(sample, self.before.sample);
        self.remember_variation();
        let tau = self
            .parameters
            .tau
            .map_or_else(|| self.time_constant(seconds(rtt)), seconds);
        let step = match self.parameters.step {
            Step::AckInterval => seconds(gap),
            Step::SamplingInterval => seconds(interval),
        };
        // After a silence the step may be longer than 2τ: then nothing is kept.
        let kept = ((2.0 * tau - step) / (2.0 * tau + step)).max(0.0);
        self.now.estimate = kept * self.before.estimate + (1.0 - kept) * sample;
    }
}

impl RateEstimator for AdaptiveEstimate {
    fn on_ack(&mut self, now: Time, ack: &AckSample) {
        let (began, ended) = self.step.get_or_insert((now, now));
        if now > *ended {
            (*began, *ended) = (*ended, now);
            self.before = self.now;
            self.sampled = false;
        }
        let gap = ended.since(*began);
        self.recent.push(now, self.observer.take(ack));
        let rtt = match self.parameters.round_trip {
            RoundTrip::Smoothed => ack.smoothed_rtt,
            RoundTrip::Latest => ack.rtt.or(ack.smoothed_rtt),
        };
        let rtt = rtt.map(|rtt| self.observer.read(rtt));
        // Without a round-trip time there is no sample; the step passes.
        let Some(rtt) = rtt.filter(|&rtt| rtt > Span::ZERO && gap > Span::ZERO) else {
            return;
        };
        self.reckon(ack, gap, rtt);
        self.recent.forget_far_beyond(rtt.max(gap));
    }

    fn rate(&self) -> f64 {
        self.now.estimate
    }

    fn rtt_min(&self) -> Option<f64> {
        self.observer.rtt_min()
    }
}

#[cfg(test)]
mod tests;
