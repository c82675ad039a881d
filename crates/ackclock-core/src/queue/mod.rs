//! Queues: decide what to keep and what to send next, and report each drop and mark themselves.

use crate::link::Link;
use crate::observe::Context;
use crate::packet::{Backlog, PacketId};
use crate::registry::{Entry, Kind, Place};
use crate::units::Time;
use std::fmt::Debug;

pub mod droptail;

/// The link a queue feeds, as the queue sees it.
#[derive(Clone, Copy)]
pub struct Server<'a> {
    /// The packet being sent: one packet or none.
    pub in_service: Backlog,
    /// The link that sends it.
    pub link: &'a dyn Link,
}

/// A queue. `now` is the scheduled time of the arrival or of the service completion and never runs backwards.
pub trait Queue: Debug + Send {
    /// Takes a packet in or drops it ([`Context::drop_packet`]). `server.in_service` is empty if the packet can be sent at once: it
    /// will then be asked for by [`Queue::dequeue`] before anything else happens.
    fn enqueue(&mut self, now: Time, id: PacketId, server: Server<'_>, context: &mut Context<'_>);
    /// The next packet to send, `None` if there is none (left).
    fn dequeue(&mut self, now: Time, context: &mut Context<'_>) -> Option<PacketId>;
    /// What is waiting, the packet in service not counted.
    fn backlog(&self) -> Backlog;
}

/// The registry of queues.
#[derive(Debug)]
pub struct QueueKind;

impl Kind for QueueKind {
    type Product = Box<dyn Queue>;
    type Context<'a> = Place<'a>;
    const NAME: &'static str = "queue";
    fn entries() -> &'static [Entry<Self>] {
        const LIST: &[Entry<QueueKind>] = &[Entry::of::<droptail::DropTail>()];
        LIST
    }
}
