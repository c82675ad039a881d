//! The control law of RFC 8033 in real numbers.

use super::{Control, DelayMeasure, Departing, Line, Pie};
use ackclock_spec::streams::Stream;
use ackclock_spec::units::{Bytes, Span, Time};

/// Divisors of an adjustment: the first whose drop probability exceeds the present one (RFC 8033
/// section 4.2, auto-tuning).
const TUNING: [(f64, f64); 6] = [
    (0.000_001, 2048.0),
    (0.000_01, 512.0),
    (0.000_1, 128.0),
    (0.001, 32.0),
    (0.01, 8.0),
    (0.1, 2.0),
];
/// From this drop probability on, an adjustment adds at most [`LARGEST_STEP`] (section 5.5).
const CAPPED_FROM: f64 = 0.1;
const LARGEST_STEP: f64 = 0.02;
/// Above this delay, in seconds, an update adds [`LARGEST_STEP`] on top, as Linux does.
const HIGH_DELAY: f64 = 0.25;
/// Factor of an update after two without delay (section 4.2).
const DECAY: f64 = 0.98;
/// Below this drop probability, nothing is dropped while the delay is less than half the target
/// (section 4.1).
const SPARED_BELOW: f64 = 0.2;
/// Sums of drop probabilities between which a drop is random (section 5.4).
const ACCUMULATED: [f64; 2] = [0.85, 8.5];
/// Weight of a departure-rate measurement of [`Pie::rate_sample`] bytes is that size over 2^16
/// (section 5.2), at most 1.
const RATE_WEIGHT: f64 = 65_536.0;

/// The controller of the drop probability.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    pub(super) target: f64,
    alpha: f64,
    beta: f64,
    pub(super) update_interval: Span,
    burst_allowance: Span,
    pub(super) state: ControllerState,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ControllerState {
    /// drop_prob_, from 0 to 1.
    pub(super) probability: f64,
    /// qdelay_old_: the delay at the last update, in seconds.
    pub(super) delay: f64,
    /// Rest of the burst allowance.
    pub(super) burst: Span,
}

impl Controller {
    pub(super) fn new(parameters: &Pie) -> Self {
        Controller {
            target: parameters.target.as_seconds(),
            alpha: parameters.alpha,
            beta: parameters.beta,
            update_interval: parameters.update_interval,
            burst_allowance: parameters.burst_allowance,
            state: ControllerState {
                probability: 0.0,
                delay: 0.0,
                burst: parameters.burst_allowance,
            },
        }
    }

    /// Updates the drop probability with the present delay, in seconds (RFC 8033 sections 4.2, 4.3
    /// and 5.5).
    pub(super) fn update(&mut self, delay: f64) {
        let ControllerState {
            probability: before,
            delay: old,
            ..
        } = self.state;
        let adjustment = self.alpha * (delay - self.target) + self.beta * (delay - old);
        let mut step = adjustment / tuning(before);
        if before >= CAPPED_FROM {
            step = step.min(LARGEST_STEP);
        }
        if delay > HIGH_DELAY {
            step += LARGEST_STEP;
        }
        let mut probability = before + step;
        if delay == 0.0 && old == 0.0 {
            probability *= DECAY;
        }
        self.state.probability = probability.clamp(0.0, 1.0);
        self.state.delay = delay;
        self.update_burst(old);
    }

    /// Counts the burst allowance down, or renews it when congestion is over (RFC 8033 section
    /// 4.4).
    fn update_burst(&mut self, old: f64) {
        let ControllerState {
            probability,
            delay,
            burst,
        } = self.state;
        let short = |delay: f64| delay < self.target / 2.0;
        self.state.burst = if probability == 0.0 && short(delay) && short(old) {
            self.burst_allowance
        } else {
            burst - burst.min(self.update_interval)
        };
    }

    /// True if no packet is dropped at random whatever the drop probability (RFC 8033 section 4.1).
    fn spares(&self) -> bool {
        let ControllerState {
            probability,
            delay,
            burst,
        } = self.state;
        burst != Span::ZERO || (delay < self.target / 2.0 && probability < SPARED_BELOW)
    }
}

/// Returns the divisor of an adjustment.
pub(super) fn tuning(probability: f64) -> f64 {
    let row = TUNING.iter().find(|(below, _)| probability < *below);
    row.map_or(1.0, |(_, divisor)| *divisor)
}

/// Random choice of the packets to drop.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) derandomise: bool,
    /// accu_prob_: sum of the drop probabilities since the last drop.
    pub(super) accumulated: f64,
}

impl Choice {
    pub(super) fn strikes(&mut self, probability: f64, stream: &mut Stream) -> bool {
        if !self.derandomise {
            return stream.uniform() < probability;
        }
        if probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += probability;
        let [low, high] = ACCUMULATED;
        let strikes =
            self.accumulated >= low && (self.accumulated >= high || stream.uniform() < probability);
        if strikes {
            self.accumulated = 0.0;
        }
        strikes
    }
}

/// The average departure rate (RFC 8033 section 5.2).
#[derive(Debug)]
pub(super) struct DepartureRate {
    sample: Bytes,
    /// avg_dq_time_: average time for a sample, in seconds.
    pub(super) average: Option<f64>,
    /// Start of the measurement under way, and the bytes that have left since.
    measuring: Option<(Time, Bytes)>,
}

impl DepartureRate {
    pub(super) fn new(sample: Bytes) -> Self {
        DepartureRate {
            sample,
            average: None,
            measuring: None,
        }
    }

    /// Counts a packet of `size` that leaves `waiting` bytes behind.
    fn note_departure(&mut self, now: Time, size: Bytes, waiting: Bytes) {
        if let Some((start, left)) = &mut self.measuring {
            *left += size;
            if *left >= self.sample {
                let took = now.since(*start).as_seconds();
                let weight = (self.sample.as_f64() / RATE_WEIGHT).min(1.0);
                self.average = Some(match self.average {
                    None => took,
                    Some(average) => weight * took + (1.0 - weight) * average,
                });
                self.measuring = None;
            }
        }
        if self.measuring.is_none() && waiting >= self.sample {
            self.measuring = Some((now, Bytes::ZERO));
        }
    }

    /// Returns the delay behind `waiting` bytes, in seconds.
    fn delay(&self, waiting: Bytes) -> f64 {
        self.average.map_or(0.0, |average| {
            waiting.as_f64() * average / self.sample.as_f64()
        })
    }
}

/// The control of one line.
#[derive(Debug)]
pub(crate) struct Exact {
    pub(super) controller: Controller,
    pub(super) choice: Choice,
    pub(super) next_update: Time,
    mark_up_to: f64,
    /// Nothing is dropped at random with at most this much waiting.
    spared: Bytes,
    /// Set if the delay is measured by the departure rate.
    pub(super) departures: Option<DepartureRate>,
}

impl Exact {
    /// Returns the delay at a moment since the last arrival or departure, in seconds.
    pub(super) fn delay(&self, at: Time, line: Line) -> f64 {
        match &self.departures {
            Some(rate) => rate.delay(line.bytes),
            None => line
                .first_at
                .map_or(0.0, |arrival| at.since(arrival).as_seconds()),
        }
    }

    /// True if updates change nothing until the line does, after one with this delay. Either the
    /// delay is constant and the update has changed nothing. Or the delay grows above the target,
    /// and everything is dropped already.
    fn has_settled(&self, delay: f64, before: ControllerState, line: Line) -> bool {
        let state = self.controller.state;
        if self.delay(self.next_update, line) == delay {
            return state == before;
        }
        let everything = [before, state].iter().all(|state| state.probability == 1.0);
        everything && state.burst == Span::ZERO && delay > self.controller.target
    }
}

impl Control for Exact {
    fn new(parameters: &Pie) -> Self {
        let by_rate = parameters.delay_measure == DelayMeasure::DepartureRate;
        Exact {
            controller: Controller::new(parameters),
            choice: Choice {
                derandomise: parameters.derandomise,
                accumulated: 0.0,
            },
            next_update: Time::ZERO + parameters.update_interval,
            mark_up_to: parameters.mark_up_to.get(),
            spared: parameters.mean_packet * 2,
            departures: by_rate.then(|| DepartureRate::new(parameters.rate_sample)),
        }
    }

    fn catch_up(&mut self, now: Time, line: Line) {
        let interval = self.controller.update_interval;
        while self.next_update <= now {
            let (at, before) = (self.next_update, self.controller.state);
            let delay = self.delay(at, line);
            self.controller.update(delay);
            self.next_update = at + interval;
            if self.has_settled(delay, before, line) {
                let left_out = now.since(at).as_nanos() / interval.as_nanos();
                self.controller.state.delay = self.delay(at + interval * left_out, line);
                self.next_update = at + interval * (left_out + 1);
            }
        }
    }

    fn strikes(&mut self, line: Line, stream: &mut Stream) -> bool {
        !self.controller.spares()
            && line.bytes > self.spared
            && self
                .choice
                .strikes(self.controller.state.probability, stream)
    }

    fn may_mark(&self) -> bool {
        self.controller.state.probability <= self.mark_up_to
    }

    fn note_departure(&mut self, now: Time, packet: Departing, left: Line) {
        if let Some(rate) = &mut self.departures {
            rate.note_departure(now, packet.size, left.bytes);
        }
    }

    /// The sum of [`Choice`] already begins again after every strike.
    fn note_drop(&mut self) {}
}
