//! First-in first-out lists of packets, threaded through the pool.

use super::{Packet, PacketId, PacketPool};
use crate::units::{Bytes, Time};

/// A first-in first-out list of packets, threaded through the pool.
#[derive(Debug)]
pub struct FifoList {
    head: PacketId,
    tail: PacketId,
}

impl Default for FifoList {
    fn default() -> Self {
        FifoList {
            head: PacketId::NONE,
            tail: PacketId::NONE,
        }
    }
}

impl FifoList {
    /// Appends a packet that is in no list.
    #[inline]
    pub fn push_back(&mut self, id: PacketId, pool: &mut PacketPool) {
        debug_assert!(
            pool[id].next == PacketId::NONE,
            "a packet is in one list at a time"
        );
        match pool.packets.get_mut(self.tail.index()) {
            Some(last) => last.next = id,
            None => self.head = id, // the list was empty
        }
        self.tail = id;
    }

    /// Takes the first packet out.
    #[inline]
    pub fn pop_front(&mut self, pool: &mut PacketPool) -> Option<PacketId> {
        let id = self.front()?;
        let packet = &mut pool[id];
        self.head = packet.next;
        packet.next = PacketId::NONE;
        if self.head == PacketId::NONE {
            self.tail = PacketId::NONE;
        }
        Some(id)
    }

    /// The first packet.
    #[inline]
    pub fn front(&self) -> Option<PacketId> {
        (self.head != PacketId::NONE).then_some(self.head)
    }
    /// The last packet.
    pub fn back(&self) -> Option<PacketId> {
        (self.tail != PacketId::NONE).then_some(self.tail)
    }
    /// How many are in it, counted one by one.
    pub fn count(&self, pool: &PacketPool) -> u64 {
        pool.count(self.head, self.tail)
    }
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == PacketId::NONE
    }
}

/// A first-in first-out list of packets that each have a moment, none before that of the packet in
/// front of it. The list itself holds the moment of the first, and each packet that of the one
/// behind it: whoever takes the first out learns when the next is due without looking at it, which
/// with a million packets costs more than all the rest.
#[derive(Debug)]
pub struct Timeline {
    first_at: Time,
    head: PacketId,
    tail: PacketId,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline {
            first_at: Time::NEVER,
            head: PacketId::NONE,
            tail: PacketId::NONE,
        }
    }
}

impl Timeline {
    /// Appends a packet that is in no list.
    #[inline(always)]
    pub fn push_back(&mut self, at: Time, id: PacketId, pool: &mut PacketPool) {
        debug_assert!(
            pool[id].next == PacketId::NONE,
            "a packet is in one list at a time"
        );
        match pool.packets.get_mut(self.tail.index()) {
            Some(last) => (last.next, last.next_at) = (id, at),
            None => (self.head, self.first_at) = (id, at), // the list was empty
        }
        self.tail = id;
    }

    /// Takes the first packet out.
    #[inline(always)]
    pub fn pop_front(&mut self, pool: &mut PacketPool) -> Option<PacketId> {
        let id = self.head;
        let packet = pool.packets.get_mut(id.index())?;
        self.head = packet.next;
        self.first_at = packet.next_at;
        packet.next = PacketId::NONE;
        if self.head == PacketId::NONE {
            (self.tail, self.first_at) = (PacketId::NONE, Time::NEVER);
        }
        Some(id)
    }

    /// The first packet.
    #[inline(always)]
    pub fn front<'a>(&self, pool: &'a PacketPool) -> Option<&'a Packet> {
        pool.packets.get(self.head.index())
    }
    /// The last packet.
    #[inline(always)]
    pub fn back<'a>(&self, pool: &'a PacketPool) -> Option<&'a Packet> {
        pool.packets.get(self.tail.index())
    }
    /// The moment of the first packet, [`Time::NEVER`] if there is none.
    #[inline]
    pub const fn first_at(&self) -> Time {
        self.first_at
    }
    /// How many are in it, counted one by one.
    pub fn count(&self, pool: &PacketPool) -> u64 {
        pool.count(self.head, self.tail)
    }
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == PacketId::NONE
    }
}

/// A [`FifoList`] that knows how much is in it.
#[derive(Debug, Default)]
pub struct Fifo {
    list: FifoList,
    backlog: Backlog,
}

impl Fifo {
    /// Appends a packet that is in no list.
    #[inline]
    pub fn push_back(&mut self, id: PacketId, pool: &mut PacketPool) {
        self.backlog.packets += 1;
        self.backlog.bytes += pool[id].bytes();
        self.list.push_back(id, pool);
    }
    /// Takes the first packet out.
    #[inline]
    pub fn pop_front(&mut self, pool: &mut PacketPool) -> Option<PacketId> {
        let id = self.list.pop_front(pool)?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= pool[id].bytes();
        Some(id)
    }
    /// The first packet.
    #[inline]
    pub fn front(&self) -> Option<PacketId> {
        self.list.front()
    }
    /// The last packet.
    pub fn back(&self) -> Option<PacketId> {
        self.list.back()
    }
    /// How much is in it.
    pub const fn backlog(&self) -> Backlog {
        self.backlog
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// A [`Timeline`] of arrivals that knows how much is in it: for queues that need to know how long a
/// packet has waited. The time of arrival stands in the packets and costs no memory.
#[derive(Debug, Default)]
pub struct TimedFifo {
    line: Timeline,
    backlog: Backlog,
}

impl TimedFifo {
    /// Appends a packet that is in no list and arrives at `now`, not before the last one.
    #[inline]
    pub fn push_back(&mut self, now: Time, id: PacketId, pool: &mut PacketPool) {
        self.backlog.packets += 1;
        self.backlog.bytes += pool[id].bytes();
        self.line.push_back(now, id, pool);
    }
    /// Takes the first packet out. Returns it with the time of its arrival.
    #[inline]
    pub fn pop_front(&mut self, pool: &mut PacketPool) -> Option<(Time, PacketId)> {
        let arrival = self.line.first_at();
        let id = self.line.pop_front(pool)?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= pool[id].bytes();
        Some((arrival, id))
    }
    /// When the first packet arrived, [`Time::NEVER`] if there is none.
    pub const fn first_at(&self) -> Time {
        self.line.first_at()
    }
    /// How much is in it.
    pub const fn backlog(&self) -> Backlog {
        self.backlog
    }
}

/// An amount of waiting data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Number of packets.
    pub packets: u64,
    /// Their lengths on the wire.
    pub bytes: Bytes,
}
