//! Proportional Integral controller Enhanced (PIE, RFC 8033). Drops or marks arriving packets at
//! random, with a probability that a controller adapts every few milliseconds until the queueing
//! delay meets a target.

use super::buffer::{Buffer, check_limit};
use super::facts::QueueFacts;
use super::{Discipline, Queue, QueueContext, QueueKind};
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, PacketId};
use crate::registry::{Element, Factory};
use crate::scenario::error::{Result, every, in_range};
use crate::scenario::files::Files;
use crate::scenario::quantity::QueueLimit;
use crate::streams::Stream;
use crate::units::{Bytes, Probability, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Parameters. In the letters of RFC 8033: `QDELAY_REF` is `target`, `T_UPDATE` `update_interval`,
/// `MAX_BURST` `burst_allowance`, `MEAN_PKTSIZE` `mean_packet`, `mark_ecnth` `mark_up_to`,
/// `DQ_THRESHOLD` `rate_sample`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(example = json!({}))]
#[schemars(example = json!({
    "target": "5 ms",
    "limit": "60 kB",
    "ecn": true,
    "burst_allowance": "0 s",
    "delay_measure": "departure_rate"
}))]
pub struct Pie {
    /// Queueing delay to which the drop probability is adapted. Above 0.
    pub target: Span,
    /// Time from one update of the drop probability to the next. At least 1 ms, which bounds the
    /// work for a link that stands still; the bound is our own choice.
    pub update_interval: Span,
    /// Weight of the delay's distance from the target, per second: the drop probability that a
    /// second above the target adds at an update. Above 0.
    pub alpha: f64,
    /// Weight of the delay's change since the last update, per second. At least 0.
    pub beta: f64,
    /// Time for which nothing is dropped after the queue has been short. It counts down from the
    /// first packet of a run or of a new busy period, update by update.
    pub burst_allowance: Span,
    /// Most packets or bytes that may wait, without the packet in service. RFC 8033 leaves it open;
    /// 1000 packets is the value of Linux.
    pub limit: QueueLimit,
    /// True if ECN-capable packets are marked instead of dropped, up to `mark_up_to`. Packets that
    /// find the buffer full are still dropped.
    pub ecn: bool,
    /// Drop probability above which ECN-capable packets are dropped as well (RFC 8033 section 5.1).
    pub mark_up_to: Probability,
    /// Size of a usual packet on the wire. With at most two of them waiting, nothing is dropped
    /// (RFC 8033 section 4.1).
    pub mean_packet: Bytes,
    /// True if random drops are spaced (RFC 8033 section 5.4). The drop probabilities of the
    /// packets since the last drop are added up. Below a sum of 0.85 nothing is dropped, and from
    /// 8.5 on the next packet is.
    pub derandomise: bool,
    /// Source of the queueing delay at an update (RFC 8033 section 5.2).
    pub delay_measure: DelayMeasure,
    /// Bytes of a measurement of the departure rate; used with `departure_rate`. Above 0.
    pub rate_sample: Bytes,
}

/// Source of the queueing delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelayMeasure {
    /// Time for which the first packet of the queue has waited; zero if the queue is empty.
    Timestamps,
    /// Waiting bytes over the average departure rate; zero until the first measurement. A
    /// measurement begins while at least `rate_sample` wait.
    DepartureRate,
}

impl Default for Pie {
    /// The values of RFC 8033 sections 4 and 5; the limit is that of Linux.
    fn default() -> Self {
        Pie {
            target: Span::from_millis(15),
            update_interval: Span::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            burst_allowance: Span::from_millis(150),
            limit: QueueLimit::Packets(1000),
            ecn: false,
            mark_up_to: Probability::new(0.1).unwrap_or(Probability::ONE),
            mean_packet: Bytes(1500),
            derandomise: true,
            delay_measure: DelayMeasure::Timestamps,
            rate_sample: Bytes(16_384),
        }
    }
}

/// Shortest `update_interval`.
const LEAST_INTERVAL: Span = Span::from_millis(1);
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

impl Element<QueueKind> for Pie {
    const NAME: &'static str = "pie";
    const LABEL: &'static str = "PIE";
    const SUMMARY: &'static str = "First in, first out; drops or marks arrivals at random, with a \
        probability that is adapted until the delay meets a target.";
    const REFERENCE: &'static str = "RFC 8033; Pan et al. (2013), PIE: A Lightweight Control \
        Scheme to Address the Bufferbloat Problem";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            in_range(
                self.target != Span::ZERO,
                "target",
                &self.target,
                "is too short; for example \"15 ms\"",
            ),
            in_range(
                self.update_interval >= LEAST_INTERVAL,
                "update_interval",
                &self.update_interval,
                "is shorter than 1 ms; for example \"15 ms\"",
            ),
            in_range(
                self.alpha > 0.0 && self.alpha.is_finite(),
                "alpha",
                &self.alpha,
                "is not positive; for example 0.125",
            ),
            in_range(
                self.beta >= 0.0 && self.beta.is_finite(),
                "beta",
                &self.beta,
                "is negative; for example 1.25",
            ),
            check_limit("limit", self.limit),
            in_range(
                self.mean_packet != Bytes::ZERO,
                "mean_packet",
                &self.mean_packet,
                "is too small; for example \"1500 bytes\"",
            ),
            in_range(
                self.rate_sample != Bytes::ZERO,
                "rate_sample",
                &self.rate_sample,
                "is too small; for example \"16384 bytes\"",
            ),
        ])
    }

    fn facts(&self) -> QueueFacts {
        QueueFacts::early(self.limit, self.ecn, None)
    }
}

impl Factory<QueueKind> for Pie {
    fn build(&self, context: QueueContext<'_>) -> Discipline {
        Discipline::Scheduled(Box::new(PieQueue::new(self, context.place.stream())))
    }
}

/// The controller of the drop probability.
#[derive(Clone, Debug)]
struct Controller {
    target: f64,
    alpha: f64,
    beta: f64,
    update_interval: Span,
    burst_allowance: Span,
    state: ControllerState,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct ControllerState {
    /// drop_prob_, from 0 to 1.
    probability: f64,
    /// qdelay_old_: the delay at the last update, in seconds.
    delay: f64,
    /// Rest of the burst allowance.
    burst: Span,
}

impl Controller {
    fn new(parameters: &Pie) -> Self {
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
    fn update(&mut self, delay: f64) {
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
fn tuning(probability: f64) -> f64 {
    let row = TUNING.iter().find(|(below, _)| probability < *below);
    row.map_or(1.0, |(_, divisor)| *divisor)
}

/// Random choice of the packets to drop.
#[derive(Debug)]
struct Choice {
    stream: Stream,
    derandomise: bool,
    /// accu_prob_: sum of the drop probabilities since the last drop.
    accumulated: f64,
}

impl Choice {
    fn strikes(&mut self, probability: f64) -> bool {
        if !self.derandomise {
            return self.stream.uniform() < probability;
        }
        if probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += probability;
        let [low, high] = ACCUMULATED;
        let strikes = self.accumulated >= low
            && (self.accumulated >= high || self.stream.uniform() < probability);
        if strikes {
            self.accumulated = 0.0;
        }
        strikes
    }
}

/// The average departure rate (RFC 8033 section 5.2).
#[derive(Debug)]
struct DepartureRate {
    sample: Bytes,
    /// avg_dq_time_: average time for a sample, in seconds.
    average: Option<f64>,
    /// Start of the measurement under way, and the bytes that have left since.
    measuring: Option<(Time, Bytes)>,
}

impl DepartureRate {
    fn new(sample: Bytes) -> Self {
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

/// A first-in first-out buffer under the controller.
///
/// There is no timer: every arrival and departure first makes up for the updates due by then. In
/// between, the buffer does not change, so each update sees the buffer of its own moment.
#[derive(Debug)]
struct PieQueue {
    buffer: Buffer,
    controller: Controller,
    choice: Choice,
    next_update: Time,
    ecn: bool,
    mark_up_to: f64,
    /// Nothing is dropped at random with at most this much waiting.
    spared: Bytes,
    /// Set if the delay is measured by the departure rate.
    departures: Option<DepartureRate>,
}

impl PieQueue {
    fn new(parameters: &Pie, stream: Stream) -> Self {
        let by_rate = parameters.delay_measure == DelayMeasure::DepartureRate;
        PieQueue {
            buffer: Buffer::new(parameters.limit),
            controller: Controller::new(parameters),
            choice: Choice {
                stream,
                derandomise: parameters.derandomise,
                accumulated: 0.0,
            },
            next_update: Time::ZERO + parameters.update_interval,
            ecn: parameters.ecn,
            mark_up_to: parameters.mark_up_to.get(),
            spared: parameters.mean_packet * 2,
            departures: by_rate.then(|| DepartureRate::new(parameters.rate_sample)),
        }
    }

    /// Returns the delay at a moment since the last arrival or departure, in seconds.
    fn delay(&self, at: Time) -> f64 {
        match &self.departures {
            Some(rate) => rate.delay(self.buffer.backlog().bytes),
            None => self
                .buffer
                .first_at()
                .map_or(0.0, |arrival| at.since(arrival).as_seconds()),
        }
    }

    /// Makes up for the updates due by now, but leaves out those that would change nothing. So the
    /// work of a long pause is bounded.
    fn catch_up(&mut self, now: Time) {
        let interval = self.controller.update_interval;
        while self.next_update <= now {
            let (at, before) = (self.next_update, self.controller.state);
            let delay = self.delay(at);
            self.controller.update(delay);
            self.next_update = at + interval;
            if self.has_settled(delay, before) {
                let left_out = now.since(at).as_nanos() / interval.as_nanos();
                self.controller.state.delay = self.delay(at + interval * left_out);
                self.next_update = at + interval * (left_out + 1);
            }
        }
    }

    /// True if updates change nothing until the buffer does, after one with this delay. Either the
    /// delay is constant and the update has changed nothing. Or the delay grows above the target,
    /// and everything is dropped already.
    fn has_settled(&self, delay: f64, before: ControllerState) -> bool {
        let state = self.controller.state;
        if self.delay(self.next_update) == delay {
            return state == before;
        }
        let everything = [before, state].iter().all(|one| one.probability == 1.0);
        everything && state.burst == Span::ZERO && delay > self.controller.target
    }

    /// True if an arriving packet is to be dropped or marked at random.
    fn strikes(&mut self) -> bool {
        !self.controller.spares()
            && self.buffer.backlog().bytes > self.spared
            && self.choice.strikes(self.controller.state.probability)
    }
}

impl Queue for PieQueue {
    fn enqueue(&mut self, now: Time, id: PacketId, in_service: Backlog, context: &mut Context<'_>) {
        self.catch_up(now);
        let fits = self.buffer.fits(id, in_service, context);
        if fits && self.strikes() {
            let marks = self.ecn && self.controller.state.probability <= self.mark_up_to;
            if !(marks && context.mark_packet(now, id)) {
                context.drop_packet(now, id, DropReason::Aqm);
                return;
            }
        }
        self.buffer.enqueue(now, id, in_service, context);
    }

    fn dequeue(&mut self, now: Time, context: &mut Context<'_>) -> Option<PacketId> {
        self.catch_up(now);
        let (_, id) = self.buffer.dequeue(context)?;
        if let Some(rate) = &mut self.departures {
            let size = context.packets[id].bytes();
            rate.note_departure(now, size, self.buffer.backlog().bytes);
        }
        Some(id)
    }

    fn backlog(&self) -> Backlog {
        self.buffer.backlog()
    }
}

#[cfg(test)]
mod tests;
