//! The buffer of a discipline that decides when the link asks: a bounded FIFO with arrival times.

use super::droptail::DropTail;
use super::red::check_room;
use super::{Admission, Occupancy};
use crate::observe::Context;
use crate::packet::{Backlog, PacketId, TimedFifo};
use crate::scenario::error::{Result, every, in_range};
use crate::scenario::quantity::QueueLimit;
use crate::units::Time;

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
        let occupancy = Occupancy {
            waiting: self.waiting.backlog(),
            in_service,
            ..Occupancy::default()
        };
        if self.tail.admit(now, id, &occupancy, context) {
            self.waiting.push_back(now, id, context.packets);
        }
    }

    /// Removes the first packet and returns it with its arrival time.
    pub fn dequeue(&mut self, context: &mut Context<'_>) -> Option<(Time, PacketId)> {
        self.waiting.pop_front(context.packets)
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
