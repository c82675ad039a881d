//! Proportional Integral controller Enhanced (PIE, RFC 8033). Drops or marks arriving packets at
//! random, with a probability that a controller adapts every few milliseconds until the queueing
//! delay meets a target.

use super::arithmetic::Arithmetic;
use super::buffer::{Buffer, check_limit};
use super::facts::{QueueFacts, SteeringLaw};
use super::pi_controller::check_times;
use super::{Discipline, Queue, QueueContext, QueueKind};
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, PacketId};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::QueueLimit;
use serde_json::json;
use std::fmt::Debug;

pub(super) use exact::Exact;
pub(super) use linux::Linux;

mod exact;
mod linux;

parameters! {
    /// Parameters. In the letters of RFC 8033: `QDELAY_REF` is `target`, `T_UPDATE`
    /// `update_interval`, `MAX_BURST` `burst_allowance`, `MEAN_PKTSIZE` `mean_packet`, `mark_ecnth`
    /// `mark_up_to`, `DQ_THRESHOLD` `rate_sample`.
    // Defaults: the values of RFC 8033 sections 4 and 5; the limit is that of Linux.
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
        pub target: Span = Span::from_millis(15),
        /// Time from one update of the drop probability to the next. At least 1 ms, which bounds
        /// the work for a link that stands still; the bound is our own choice.
        pub update_interval: Span = Span::from_millis(15),
        /// Weight of the delay's distance from the target, per second: the drop probability that a
        /// second above the target adds at an update. Above 0.
        pub alpha: f64 = 0.125,
        /// Weight of the delay's change since the last update, per second. At least 0.
        pub beta: f64 = 1.25,
        /// Time for which nothing is dropped after the queue has been short. It counts down from
        /// the first packet of a run or of a new busy period, update by update.
        pub burst_allowance: Span = Span::from_millis(150),
        /// Most packets or bytes that may wait, without the packet in service. RFC 8033 leaves it
        /// open; 1000 packets is the value of Linux.
        pub limit: QueueLimit = QueueLimit::Packets(1000),
        /// True if ECN-capable packets are marked instead of dropped, up to `mark_up_to`. Packets
        /// that find the buffer full are still dropped.
        pub ecn: bool = false,
        /// Drop probability above which ECN-capable packets are dropped as well (RFC 8033 section
        /// 5.1).
        pub mark_up_to: Probability = Probability::new(0.1).unwrap_or(Probability::ONE),
        /// Size of a usual packet on the wire. With at most two of them waiting, nothing is dropped
        /// (RFC 8033 section 4.1).
        pub mean_packet: Bytes = Bytes(1500),
        /// True if random drops are spaced (RFC 8033 section 5.4). The drop probabilities of the
        /// packets since the last drop are added up. Below a sum of 0.85 nothing is dropped, and
        /// from
        /// 8.5 on the next packet is.
        pub derandomise: bool = true,
        /// Source of the queueing delay at an update (RFC 8033 section 5.2).
        pub delay_measure: DelayMeasure = DelayMeasure::Timestamps,
        /// Bytes of a measurement of the departure rate; used with `departure_rate`. Above 0.
        pub rate_sample: Bytes = Bytes(16_384),
        /// Arithmetic of the drop probability. That of Linux measures the delay by the last packet
        /// that left, updates first after half a second, and counts the burst allowance down
        /// between departures. It has `derandomise` and timestamps only.
        pub arithmetic: Arithmetic = Arithmetic::Exact,
    }
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

impl Element<QueueKind> for Pie {
    const NAME: &'static str = "pie";
    const LABEL: &'static str = "PIE";
    const SUMMARY: &'static str = "First in, first out; drops or marks arrivals at random, with a \
        probability that is adapted until the delay meets a target.";
    const REFERENCE: &'static str = "RFC 8033; Pan et al. (2013), PIE: A Lightweight Control \
        Scheme to Address the Bufferbloat Problem";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([self.check_control(), check_limit("limit", self.limit)])
    }

    fn facts(&self) -> QueueFacts {
        QueueFacts::early(self.limit, self.ecn).steered(SteeringLaw::Random, self.target, None)
    }
}

impl Pie {
    /// Refuses parameters of the control that contradict one another or the law.
    pub(super) fn check_control(&self) -> Result<()> {
        every([
            check_times(self.target, self.update_interval),
            check_positive("alpha", self.alpha, "0.125"),
            check_not_negative("beta", self.beta, "1.25"),
            check_above_zero("mean_packet", self.mean_packet, "1500 bytes"),
            check_above_zero("rate_sample", self.rate_sample, "16384 bytes"),
            self.check_arithmetic(),
        ])
    }

    /// Refuses what Linux's arithmetic does not have.
    fn check_arithmetic(&self) -> Result<()> {
        if self.arithmetic == Arithmetic::Exact {
            return Ok(());
        }
        let other = &["arithmetic"];
        let whole = |field, gain: &f64, example| {
            let remedy = format!("is not a multiple of 1/16 up to 2, as in Linux; {example}");
            let sixteenths = gain * 16.0;
            let fits = sixteenths <= 32.0 && sixteenths == libm::round(sixteenths);
            consistent(fits, field, gain, other, &remedy)
        };
        every([
            whole("alpha", &self.alpha, "for example 0.125"),
            whole("beta", &self.beta, "for example 1.25"),
            consistent(
                self.derandomise,
                "derandomise",
                &self.derandomise,
                other,
                "is not in Linux; choose true, or arithmetic = \"exact\"",
            ),
            consistent(
                self.delay_measure == DelayMeasure::Timestamps,
                "delay_measure",
                &self.delay_measure,
                other,
                "needs arithmetic = \"exact\"; or choose \"timestamps\"",
            ),
        ])
    }
}

impl Factory<QueueKind> for Pie {
    fn build(&self, context: QueueContext<'_>) -> Discipline {
        let stream = context.place.stream();
        Discipline::Scheduled(match self.arithmetic {
            Arithmetic::Exact => Box::new(PieQueue::<Exact>::new(self, stream)),
            Arithmetic::Linux => Box::new(PieQueue::<Linux>::new(self, stream)),
        })
    }

    fn draws(&self) -> bool {
        true
    }
}

/// Control of the drop probability for one line of packets.
///
/// There is no timer: every arrival and departure first makes up for the updates due by then. In
/// between, the line does not change, so each update sees the line of its own moment.
pub(super) trait Control: Debug + Send {
    fn new(parameters: &Pie) -> Self;
    /// Makes up for the updates due by `now`, but leaves out those that would change nothing. So
    /// the work of a long pause is bounded.
    fn catch_up(&mut self, now: Time, line: Line);
    /// True if a packet that arrives at this line is to be dropped or marked.
    fn strikes(&mut self, line: Line, stream: &mut Stream) -> bool;
    /// True if ECN-capable packets may be marked instead of dropped.
    fn may_mark(&self) -> bool;
    /// Records a packet's departure; `left` is the line without it.
    fn note_departure(&mut self, now: Time, packet: Departing, left: Line);
    /// Records that an arriving packet was dropped.
    fn note_drop(&mut self);
}

/// A line of packets as its control sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// Arrival time of the first packet.
    pub first_at: Option<Time>,
    /// Bytes that wait.
    pub bytes: Bytes,
}

/// A packet that begins its service.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departing {
    pub arrival: Time,
    pub size: Bytes,
}

/// Lets an arriving packet pass, or marks it, and returns true; or drops it.
pub(super) fn admits<C: Control>(
    control: &mut C,
    (ecn, line): (bool, Line),
    (now, id): (Time, PacketId),
    (stream, context): (&mut Stream, &mut Context<'_>),
) -> bool {
    if !control.strikes(line, stream) {
        return true;
    }
    if ecn && control.may_mark() && context.mark_packet(now, id) {
        return true;
    }
    control.note_drop();
    context.drop_packet(now, id, DropReason::Aqm);
    false
}

/// A first-in first-out buffer under control.
#[derive(Debug)]
struct PieQueue<C> {
    buffer: Buffer,
    control: C,
    stream: Stream,
    ecn: bool,
}

impl<C: Control> PieQueue<C> {
    fn new(parameters: &Pie, stream: Stream) -> Self {
        PieQueue {
            buffer: Buffer::new(parameters.limit),
            control: C::new(parameters),
            stream,
            ecn: parameters.ecn,
        }
    }

    fn line(&self) -> Line {
        Line {
            first_at: self.buffer.first_at(),
            bytes: self.buffer.backlog().bytes,
        }
    }
}

impl<C: Control> Queue for PieQueue<C> {
    fn enqueue(&mut self, now: Time, id: PacketId, in_service: Backlog, context: &mut Context<'_>) {
        let line = self.line();
        self.control.catch_up(now, line);
        if self.buffer.fits(id, in_service, context) {
            let random = (&mut self.stream, &mut *context);
            if !admits(&mut self.control, (self.ecn, line), (now, id), random) {
                return;
            }
        } else {
            self.control.note_drop();
        }
        self.buffer.enqueue(now, id, in_service, context);
    }

    fn dequeue(&mut self, now: Time, context: &mut Context<'_>) -> Option<PacketId> {
        self.control.catch_up(now, self.line());
        let (arrival, id) = self.buffer.dequeue(context)?;
        let size = context.packets[id].bytes();
        self.control
            .note_departure(now, Departing { arrival, size }, self.line());
        Some(id)
    }

    fn backlog(&self) -> Backlog {
        self.buffer.backlog()
    }
}

#[cfg(test)]
mod tests;
