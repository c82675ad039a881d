//! Queues. They decide which packets to keep and which to send next, and report each drop and mark
//! themselves.
//!
//! Most disciplines keep the order of arrival and decide on arrival (drop-tail, RED). They are an
//! [`Admission`], and the hop knows at arrival when a packet will leave. Others decide when the
//! link asks (CoDel, fair queueing). They are a [`Queue`].

use self::facts::QueueFacts;
use crate::link::Link;
use crate::observe::Context;
use crate::packet::{Backlog, Packet, PacketId};
use ackclock_spec::registry::{Entry, Kind, StreamScope};
use ackclock_spec::units::{BitRate, Span, Time};
use std::fmt::Debug;

pub use labels::{FlowLabel, FlowLabels};

pub mod a_star;
pub mod ack_regulator;
mod adaptive_limit;
pub mod adaptive_red;
pub mod alt;
pub mod arithmetic;
mod buffer;
pub mod cake;
pub mod cells;
pub mod codel;
mod controlled_delay;
pub mod droptail;
pub mod drr;
pub mod dualpi2;
mod early_detection;
pub mod ebdp;
pub mod facts;
mod flow_queues;
pub mod fq;
pub mod fq_codel;
pub mod fq_pie;
pub mod headdrop;
mod labels;
pub mod pi2;
mod pi_controller;
pub mod pie;
pub mod red;
pub mod step_marking;
pub mod tbf;
#[cfg(test)]
mod testing;

/// The state of a hop that a packet finds on arrival.
#[derive(Clone, Copy, Debug, Default)]
pub struct Occupancy {
    /// Packets that wait, without the one in service.
    pub waiting: Backlog,
    /// Packet in service: one or none.
    pub in_service: Backlog,
    /// Remaining service time of the packet in service.
    pub residual_service: Span,
    /// Time that an admitted packet would wait until its service begins.
    pub wait: Span,
    /// Time for which the link has had nothing to send.
    pub idle: Span,
}

impl Occupancy {
    /// True if an admitted packet would be sent at once.
    pub const fn is_idle(&self) -> bool {
        self.in_service.packets == 0
    }
}

/// A discipline that keeps the order of arrival and decides on arrival.
pub trait Admission: Debug + Send {
    /// Returns true if the packet may join the queue. If not, it has been dropped
    /// ([`Context::drop_packet`]). `now` never decreases.
    #[must_use]
    fn admit(
        &mut self,
        now: Time,
        id: PacketId,
        occupancy: &Occupancy,
        context: &mut Context<'_>,
    ) -> bool;

    /// True if every service is to be reported to it.
    fn observes_service(&self) -> bool {
        false
    }
    /// Reports that a packet became the first of the queue at `from` and had been sent at `until`.
    /// `from` is its arrival only if it found the queue empty.
    ///
    /// A discipline that [observes services](Admission::observes_service) hears of each packet, in
    /// order, before it judges one that comes at `until` or later.
    fn note_service(&mut self, _from: Time, _until: Time) {}

    /// Returns the limit in packets at `now`, if the discipline adapts it. The link has had nothing
    /// to send for `idle`. Every service up to then has been reported.
    fn limit(&self, _now: Time, _idle: Span) -> Option<f64> {
        None
    }
}

/// A discipline that decides when the link asks. `now` is the scheduled time of the arrival or of
/// the service completion and never decreases.
pub trait Queue: Debug + Send {
    /// Queues a packet or drops it ([`Context::drop_packet`]). If `in_service` is empty, the packet
    /// is asked for by [`Queue::dequeue`] before anything else happens.
    fn enqueue(&mut self, now: Time, id: PacketId, in_service: Backlog, context: &mut Context<'_>);
    /// Returns the next packet to send, `None` if there is none (left) that may be sent now.
    fn dequeue(&mut self, now: Time, context: &mut Context<'_>) -> Option<PacketId>;
    /// Returns the packets that wait, without the one in service.
    fn backlog(&self) -> Backlog;
    /// Returns the time at which a packet that is held back may be sent, [`Time::NEVER`] if none
    /// is. Asked after [`Queue::dequeue`] returned `None`.
    fn ready_at(&self) -> Time {
        Time::NEVER
    }
    /// Returns the name of the class that an arriving packet joins, for tables of delays; empty if
    /// the queue has no classes.
    fn class(&self, _packet: &Packet) -> &'static str {
        ""
    }
    /// Returns the counts of each class since the run began; none if the queue has no classes.
    fn classes(&self) -> Vec<(&'static str, ClassCounts)> {
        Vec::new()
    }
}

/// Classes of a queue that has one for scalable flows, which it keeps short (RFC 9332).
pub const LOW_LATENCY: &str = "low_latency";
/// The other class of such a queue.
pub const CLASSIC: &str = "classic";

/// Counts of one class of a queue since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// Packets that arrived for it, whether they joined or not.
    pub arrivals: u64,
    /// Packets that it marked. One that arrived marked does not count.
    pub marks: u64,
    /// Packets that it dropped, those that found no room included.
    pub drops: u64,
}

/// A queueing discipline.
#[derive(Debug)]
pub enum Discipline {
    /// Drop-tail, which the hop need not call through a pointer.
    DropTail(droptail::DropTail),
    /// A discipline that keeps the order of arrival.
    InOrder(Box<dyn Admission>),
    /// A discipline that decides when the link asks.
    Scheduled(Box<dyn Queue>),
    /// A buffer of cells, which the hop serves cell by cell.
    Cells(cells::Cells),
}

/// Context from which a queue is built.
#[derive(Clone, Copy)]
pub struct QueueContext<'a> {
    /// Place of the queue (`hop/bottleneck/queue`).
    pub place: StreamScope<'a>,
    /// The link behind the queue, for disciplines whose parameters follow from its rate.
    pub link: &'a dyn Link,
    /// Hosts and codepoints of the flows, for disciplines that tell flows by them.
    pub labels: &'a FlowLabels,
    /// Makes an instance of the link that the queue [measures](facts::QueueFacts::measures).
    pub measured: Measured<'a>,
}

/// Makes an instance of a link that something else measures, with the same realisation; `None` if
/// it measures none.
pub type Measured<'a> = &'a dyn Fn() -> Option<Box<dyn Link>>;

/// Interval over which a discipline takes the mean rate of a varying link for its parameters. It is
/// long compared with changes within a round trip.
const LOOK_AHEAD: Span = Span::from_millis(60_000);

impl QueueContext<'_> {
    /// Returns the mean rate of the link over the first minute.
    pub fn mean_rate(&self) -> BitRate {
        self.link.mean_rate(Time::ZERO, Time::ZERO + LOOK_AHEAD)
    }
}

/// The registry of queues.
#[derive(Debug)]
pub struct QueueKind;

impl Kind for QueueKind {
    type Product = Discipline;
    type Context<'a> = QueueContext<'a>;
    type Facts = QueueFacts;
    const NAME: &'static str = "queue";
    const PLURAL: &'static str = "queues";
    const ENTRIES: &'static [Entry<Self>] = &[
        Entry::of::<droptail::DropTail>(),
        Entry::of::<headdrop::HeadDrop>(),
        Entry::of::<cells::Cells>(),
        Entry::of::<red::Red>(),
        Entry::of::<adaptive_red::AdaptiveRed>(),
        Entry::of::<step_marking::StepMarking>(),
        Entry::of::<codel::Codel>(),
        Entry::of::<pie::Pie>(),
        Entry::of::<pi2::Pi2>(),
        Entry::of::<dualpi2::DualPi2>(),
        Entry::of::<drr::Drr>(),
        Entry::of::<fq::Fq>(),
        Entry::of::<fq_codel::FqCodel>(),
        Entry::of::<fq_pie::FqPie>(),
        Entry::of::<cake::Cake>(),
        Entry::of::<tbf::Tbf>(),
        Entry::of::<ack_regulator::AckRegulator>(),
        Entry::of::<ebdp::Ebdp>(),
        Entry::of::<alt::Alt>(),
        Entry::of::<a_star::AStar>(),
    ];
}
