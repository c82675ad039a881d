//! Queues: decide what to keep and what to send next, and report each drop and mark themselves.
//!
//! Most disciplines keep the order of arrival and decide on arrival (drop-tail, RED): they are an
//! [`Admission`], and the hop knows at arrival when a packet will leave. Others decide when the
//! link asks (CoDel, fair queueing): they are a [`Queue`].

use self::facts::QueueFacts;
use crate::link::Link;
use crate::observe::Context;
use crate::packet::{Backlog, PacketId};
use crate::registry::{Entry, Kind, StreamScope};
use crate::units::{BitRate, Span, Time};
use std::fmt::Debug;

pub mod a_star;
mod adaptive_limit;
pub mod adaptive_red;
pub mod alt;
mod buffer;
pub mod codel;
pub mod droptail;
mod early_detection;
pub mod ebdp;
pub mod facts;
pub mod red;

/// What a packet finds on arrival.
#[derive(Clone, Copy, Debug, Default)]
pub struct Occupancy {
    /// What is waiting, the packet in service not counted.
    pub waiting: Backlog,
    /// The packet in service: one or none.
    pub in_service: Backlog,
    /// How much longer the packet in service takes.
    pub residual_service: Span,
    /// How long an admitted packet would wait until its own service begins.
    pub wait: Span,
    /// How long the link has had nothing to send.
    pub idle: Span,
}

impl Occupancy {
    /// Whether an admitted packet would be sent at once.
    pub const fn is_idle(&self) -> bool {
        self.in_service.packets == 0
    }
}

/// A discipline that keeps the order of arrival and decides on arrival.
pub trait Admission: Debug + Send {
    /// Whether the packet may join the queue. If not, it has been dropped
    /// ([`Context::drop_packet`]). `now` never runs backwards.
    #[must_use]
    fn admit(
        &mut self,
        now: Time,
        id: PacketId,
        occupancy: &Occupancy,
        context: &mut Context<'_>,
    ) -> bool;

    /// Whether it is to be told of every service.
    fn observes_service(&self) -> bool {
        false
    }
    /// A packet has become the first of the line at `from`, which is its arrival only if it found
    /// nobody there, and had been sent at `until`. Whoever [observes](Admission::observes_service)
    /// is told of each packet, in order, before one is judged that comes at `until` or later.
    fn note_service(&mut self, _from: Time, _until: Time) {}

    /// Of a limit that moves: where it is at `now`, in packets, the link having had nothing to send
    /// for `idle`. Every service up to then has been noted.
    fn limit(&self, _now: Time, _idle: Span) -> Option<f64> {
        None
    }
}

/// A discipline that decides when the link asks. `now` is the scheduled time of the arrival or of
/// the service completion and never runs backwards.
pub trait Queue: Debug + Send {
    /// Takes a packet in or drops it ([`Context::drop_packet`]). With `in_service` empty it will be
    /// asked for by [`Queue::dequeue`] before anything else happens.
    fn enqueue(&mut self, now: Time, id: PacketId, in_service: Backlog, context: &mut Context<'_>);
    /// The next packet to send, `None` if there is none (left).
    fn dequeue(&mut self, now: Time, context: &mut Context<'_>) -> Option<PacketId>;
    /// What is waiting, the packet in service not counted.
    fn backlog(&self) -> Backlog;
}

/// A discipline.
#[derive(Debug)]
pub enum Discipline {
    /// Drop-tail, which the hop need not call through a pointer.
    DropTail(droptail::DropTail),
    /// Keeps the order of arrival.
    InOrder(Box<dyn Admission>),
    /// Decides when the link asks.
    Scheduled(Box<dyn Queue>),
}

/// What a queue is built with.
#[derive(Clone, Copy, Debug)]
pub struct QueueContext<'a> {
    /// Where it stands (`hop/bottleneck/queue`).
    pub place: StreamScope<'a>,
    /// The link that it feeds, for disciplines whose parameters follow from its rate.
    pub link: &'a dyn Link,
}

/// How far a discipline looks ahead that takes a moving link's mean rate for its parameters: long
/// beside what links do within a round trip.
const LOOK_AHEAD: Span = Span::from_millis(60_000);

impl QueueContext<'_> {
    /// What the link sends, in the mean over the first minute.
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
    fn entries() -> &'static [Entry<Self>] {
        const LIST: &[Entry<QueueKind>] = &[
            Entry::of::<droptail::DropTail>(),
            Entry::of::<red::Red>(),
            Entry::of::<adaptive_red::AdaptiveRed>(),
            Entry::of::<codel::Codel>(),
            Entry::of::<ebdp::Ebdp>(),
            Entry::of::<alt::Alt>(),
            Entry::of::<a_star::AStar>(),
        ];
        LIST
    }
}
