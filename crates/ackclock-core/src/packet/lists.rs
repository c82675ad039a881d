//! First-in first-out lists of packets, linked through the pool.

use super::{Packet, PacketId, PacketPool};
use ackclock_spec::units::{Bytes, Time};

/// A first-in first-out list of packets, linked through the pool.
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

    /// Removes and returns the first packet.
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

    /// Returns the first packet.
    #[inline]
    pub fn front(&self) -> Option<PacketId> {
        (self.head != PacketId::NONE).then_some(self.head)
    }
    /// Returns the last packet.
    pub fn back(&self) -> Option<PacketId> {
        (self.tail != PacketId::NONE).then_some(self.tail)
    }
    /// Counts the packets one by one.
    pub fn count(&self, pool: &PacketPool) -> u64 {
        pool.count(self.head, self.tail)
    }
    /// True if the list holds no packet.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == PacketId::NONE
    }
}

/// A first-in first-out list of packets with non-decreasing moments.
///
/// The list stores the moment of the first packet, and each packet the moment of the next. So
/// taking out the first packet shows when the next is due without a look at that packet. With a
/// million packets, that look would cost more than everything else.
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

    /// Removes and returns the first packet.
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

    /// Returns the first packet.
    #[inline(always)]
    pub fn front<'a>(&self, pool: &'a PacketPool) -> Option<&'a Packet> {
        pool.packets.get(self.head.index())
    }
    /// Returns the last packet.
    #[inline(always)]
    pub fn back<'a>(&self, pool: &'a PacketPool) -> Option<&'a Packet> {
        pool.packets.get(self.tail.index())
    }
    /// Returns the moment of the first packet, [`Time::NEVER`] if there is none.
    #[inline]
    pub const fn first_at(&self) -> Time {
        self.first_at
    }
    /// Counts the packets one by one.
    pub fn count(&self, pool: &PacketPool) -> u64 {
        pool.count(self.head, self.tail)
    }
    /// True if the list holds no packet.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == PacketId::NONE
    }
}

/// A [`FifoList`] that counts its packets and bytes.
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
    /// Removes and returns the first packet.
    #[inline]
    pub fn pop_front(&mut self, pool: &mut PacketPool) -> Option<PacketId> {
        let id = self.list.pop_front(pool)?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= pool[id].bytes();
        Some(id)
    }
    /// Returns the first packet.
    #[inline]
    pub fn front(&self) -> Option<PacketId> {
        self.list.front()
    }
    /// Returns the last packet.
    pub fn back(&self) -> Option<PacketId> {
        self.list.back()
    }
    /// Returns its packets and bytes.
    pub const fn backlog(&self) -> Backlog {
        self.backlog
    }
    /// True if the list holds no packet.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// A [`Timeline`] of arrivals that counts its packets and bytes, for queues that need to know for
/// how long a packet has waited. The packets hold their arrival times, so these cost no extra
/// memory.
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
    /// Removes the first packet and returns it with its arrival time.
    #[inline]
    pub fn pop_front(&mut self, pool: &mut PacketPool) -> Option<(Time, PacketId)> {
        let arrival = self.line.first_at();
        let id = self.line.pop_front(pool)?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= pool[id].bytes();
        Some((arrival, id))
    }
    /// Returns the first packet.
    pub fn first(&self) -> Option<PacketId> {
        (!self.line.is_empty()).then_some(self.line.head)
    }
    /// Returns the arrival time of the first packet, [`Time::NEVER`] if there is none.
    pub const fn first_at(&self) -> Time {
        self.line.first_at()
    }
    /// Returns its packets and bytes.
    pub const fn backlog(&self) -> Backlog {
        self.backlog
    }
}

/// An amount of waiting data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Number of packets.
    pub packets: u64,
    /// Sum of their lengths on the wire.
    pub bytes: Bytes,
}
