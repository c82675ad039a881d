//! The buffer of a discipline that decides when the link asks: a bounded FIFO with arrival times.

use super::droptail::DropTail;
use super::red::check_room;
use super::{Admission, Occupancy};
use crate::observe::Context;
use crate::packet::{Backlog, PacketId, TimedFifo};
use ackclock_spec::error::{Result, every, in_range};
use ackclock_spec::quantity::QueueLimit;
use ackclock_spec::units::Time;

/// A drop-tail buffer; the packet in service does not count towards its limit.
#[derive(Debug)]
pub(super) struct Buffer {
    tail: DropTail,
    waiting: TimedFifo,
}

impl Buffer {
    /// Makes an empty buffer. The limit must have been [checked](check_limit).
    pub fn new(limit: QueueLimit) -> Self {
        Buffer {
            tail: limit.into(),
            waiting: TimedFifo::default(),
        }
    }

    /// Queues a packet, or drops it if it does not fit; as
    /// [`Queue::enqueue`](super::Queue::enqueue).
    pub fn enqueue(
        &mut self,
        now: Time,
        id: PacketId,
        in_service: Backlog,
        context: &mut Context<'_>,
    ) {
        if self
            .tail
            .admit(now, id, &self.occupancy(in_service), context)
        {
            self.waiting.push_back(now, id, context.packets);
        }
    }

    /// Returns true if there is room for a packet.
    pub fn fits(&self, id: PacketId, in_service: Backlog, context: &Context<'_>) -> bool {
        let size = context.packets[id].bytes();
        self.tail.fits(size, &self.occupancy(in_service))
    }

    fn occupancy(&self, in_service: Backlog) -> Occupancy {
        Occupancy {
            waiting: self.waiting.backlog(),
            in_service,
            ..Occupancy::default()
        }
    }

    /// Removes the first packet and returns it with its arrival time.
    pub fn dequeue(&mut self, context: &mut Context<'_>) -> Option<(Time, PacketId)> {
        self.waiting.pop_front(context.packets)
    }

    /// Returns the first packet.
    pub fn first(&self) -> Option<PacketId> {
        self.waiting.first()
    }

    /// Returns the arrival time of the first packet.
    pub fn first_at(&self) -> Option<Time> {
        let at = self.waiting.first_at();
        (!at.is_never()).then_some(at)
    }

    /// Returns the packets that wait.
    pub const fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }
}

/// Refuses a limit without room, and a limit in time: a packet is judged on arrival, when its wait
/// is not known yet.
///
/// # Errors
/// With the name of the field.
pub(super) fn check_limit(field: &str, limit: QueueLimit) -> Result<()> {
    let remedy = "is a time, but the wait of a packet is unknown on arrival; give packets or bytes";
    let timed = matches!(limit, QueueLimit::Time(_));
    every([
        in_range(!timed, field, &limit, remedy),
        check_room(field, limit),
    ])
}
