//! The packet, the pool all packets of a run live in, and FIFO lists threaded through the pool.
//!
//! Elements pass a [`PacketId`] on; nothing is copied or allocated per packet. A packet is in at most one
//! [`Fifo`] at a time, so it cannot be in two places: conservation is structural.

use crate::rate_control::Feedback;
use crate::units::{Bytes, Span, Time};

/// Names a packet in its [`PacketPool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(u32);

impl PacketId {
    const NONE: PacketId = PacketId(u32::MAX);
    /// The slot's number, for side tables such as a driver's payload buffers.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Numbers the flows of a run from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketKind {
    /// Payload of a TCP connection.
    Data = 0,
    /// A pure TCP acknowledgement.
    Ack = 1,
    /// Opens a connection.
    Syn = 2,
    /// Answers a [`PacketKind::Syn`].
    SynAck = 3,
    /// A UDP datagram.
    Datagram = 4,
    /// A receiver's answer to datagrams under rate control.
    Feedback = 5,
}

/// The two ECN bits of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotCapable,
    /// ECN-capable transport, ECT(0).
    Capable,
    /// ECN-capable, low-latency identifier, ECT(1) (RFC 9331).
    CapableL4s,
    /// Congestion experienced.
    Marked,
}

/// One packet. What queues and links need, and what the simulated endpoints exchange.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// In a [`Timeline`]: the moment of the packet behind it.
    next_at: Time,
    /// Data: number of the segment. ACK: number of the next segment expected. Datagram: its number.
    pub sequence: u64,
    /// Data: when it was sent. ACK: the echoed value (RFC 7323), `Time::NEVER` for none.
    pub stamp: Time,
    /// Whose it is.
    pub flow: FlowId,
    /// Which options it carries, if any.
    options: u32,
    next: PacketId,
    /// Length on the wire, headers included, in bytes.
    pub size: u16,
    /// Which hop of its route it is in or about to enter.
    pub position: u8,
    kind_and_flags: u8,
}

const KIND_MASK: u8 = 0b0000_0111;
/// The kinds that answer have odd numbers.
const BACKWARD: u8 = 0b0000_0001;
const ECN_SHIFT: u8 = 3;
const ECN_MASK: u8 = 0b0001_1000;
const RETRANSMISSION: u8 = 0b0010_0000;
const ECN_ECHO: u8 = 0b0100_0000;
const WINDOW_REDUCED: u8 = 0b1000_0000;

impl Packet {
    /// A packet of `kind`, not in any list, not ECN-capable.
    #[inline]
    pub fn new(kind: PacketKind, flow: FlowId, sequence: u64, size: u16, stamp: Time) -> Self {
        Packet {
            next_at: Time::NEVER,
            sequence,
            stamp,
            flow,
            options: u32::MAX,
            next: PacketId::NONE,
            size,
            position: 0,
            kind_and_flags: kind as u8,
        }
    }
    /// Length on the wire.
    pub const fn bytes(&self) -> Bytes {
        Bytes(self.size as u64)
    }
    /// What it is.
    pub const fn kind(&self) -> PacketKind {
        match self.kind_and_flags & KIND_MASK {
            0 => PacketKind::Data,
            1 => PacketKind::Ack,
            2 => PacketKind::Syn,
            3 => PacketKind::SynAck,
            4 => PacketKind::Datagram,
            _ => PacketKind::Feedback,
        }
    }
    /// Whether it travels from the sender of data to the receiver.
    #[inline]
    pub const fn is_forward(&self) -> bool {
        self.kind_and_flags & BACKWARD == 0
    }
    /// Its ECN field.
    pub const fn ecn(&self) -> Ecn {
        match (self.kind_and_flags & ECN_MASK) >> ECN_SHIFT {
            0 => Ecn::NotCapable,
            1 => Ecn::Capable,
            2 => Ecn::CapableL4s,
            _ => Ecn::Marked,
        }
    }
    /// Sets its ECN field.
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.kind_and_flags = (self.kind_and_flags & !ECN_MASK) | ((ecn as u8) << ECN_SHIFT);
    }
    /// Whether the segment was sent before.
    pub const fn is_retransmission(&self) -> bool {
        self.kind_and_flags & RETRANSMISSION != 0
    }
    /// Whether the ACK carries ECE (RFC 3168 section 6.1).
    pub const fn has_ecn_echo(&self) -> bool {
        self.kind_and_flags & ECN_ECHO != 0
    }
    /// Whether the segment carries CWR (RFC 3168 section 6.1).
    pub const fn has_window_reduced(&self) -> bool {
        self.kind_and_flags & WINDOW_REDUCED != 0
    }
    /// Says that the segment was sent before.
    pub fn set_retransmission(&mut self, on: bool) {
        self.set_flag(RETRANSMISSION, on);
    }
    /// Sets ECE.
    pub fn set_ecn_echo(&mut self, on: bool) {
        self.set_flag(ECN_ECHO, on);
    }
    /// Sets CWR.
    pub fn set_window_reduced(&mut self, on: bool) {
        self.set_flag(WINDOW_REDUCED, on);
    }
    fn set_flag(&mut self, flag: u8, on: bool) {
        self.kind_and_flags = if on {
            self.kind_and_flags | flag
        } else {
            self.kind_and_flags & !flag
        };
    }
}

/// A run of segments the receiver holds beyond the cumulative ACK: `start` included, `end` excluded (RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First segment held.
    pub start: u64,
    /// First segment after it.
    pub end: u64,
}

impl SackBlock {
    /// Whether the segment of that number is in it.
    pub const fn contains(&self, sequence: u64) -> bool {
        self.start <= sequence && sequence < self.end
    }
}

/// Up to three SACK blocks, most recently changed first (RFC 2018 section 4).
#[derive(Clone, Copy, Debug, Default)]
pub struct SackBlocks {
    blocks: [SackBlock; SackBlocks::MOST],
    count: u8,
}

impl SackBlocks {
    /// How many fit beside the timestamp option.
    pub const MOST: usize = 3;

    /// Adds a block; what does not fit is left out.
    pub fn push(&mut self, block: SackBlock) {
        if usize::from(self.count) < Self::MOST {
            self.blocks[usize::from(self.count)] = block;
            self.count += 1;
        }
    }
    /// The blocks.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.count)]
    }
    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// What few packets carry beside their header.
#[derive(Clone, Copy, Debug)]
pub enum Options {
    /// What the receiver holds beyond the cumulative ACK; at least one block.
    Sack(SackBlocks),
    /// What the receiver of datagrams says.
    Feedback(Feedback),
    /// The sender's estimate of the round-trip time, for the receiver of a datagram.
    RoundTrip(Span),
}

/// Owns every packet of a run. Freed slots are used again, the last freed first.
#[derive(Debug)]
pub struct PacketPool {
    packets: Vec<Packet>,
    /// The first free slot; each leads to the next.
    free: PacketId,
    live: usize,
    options: Vec<Options>,
    free_options: Vec<u32>,
}

impl Default for PacketPool {
    fn default() -> Self {
        PacketPool {
            packets: Vec::new(),
            free: PacketId::NONE,
            live: 0,
            options: Vec::new(),
            free_options: Vec::new(),
        }
    }
}

impl PacketPool {
    /// An empty pool.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a packet in.
    ///
    /// # Panics
    /// Beyond 2^32 − 1 packets at once.
    #[inline(always)] // so that the packet is built in its slot
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        self.live += 1;
        // There is no slot of the number of `NONE`: one comparison answers both questions.
        if self.free.index() >= self.packets.len() {
            self.grow();
        }
        let id = self.free;
        let slot = &mut self[id];
        let next = slot.next;
        *slot = packet;
        self.free = next;
        id
    }

    /// Makes a free slot.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        if self.packets.len() == self.packets.capacity() {
            // A quarter, not a doubling: memory per packet in flight is a promise (BENCHMARKS.md).
            self.packets.reserve_exact(self.packets.len() / 4 + 64);
        }
        assert!(
            self.packets.len() < u32::MAX as usize,
            "more than 2^32 - 1 packets in flight"
        );
        self.free = PacketId(self.packets.len() as u32);
        self.packets
            .push(Packet::new(PacketKind::Data, FlowId(0), 0, 0, Time::ZERO));
    }

    /// Puts an answer in the place of the packet that has arrived, or in a slot of its own if it answers none.
    #[inline(always)] // so that the packet is built in its slot
    pub fn answer(&mut self, arrived: Option<PacketId>, answer: Packet) -> PacketId {
        let Some(id) = arrived else {
            return self.insert(answer);
        };
        self.forget_options(id);
        self[id] = answer;
        id
    }

    /// Lets a packet go.
    #[inline]
    pub fn remove(&mut self, id: PacketId) {
        self.live -= 1;
        self.forget_options(id);
        self[id].next = self.free;
        self.free = id;
    }

    #[inline(always)]
    fn forget_options(&mut self, id: PacketId) {
        let slot = self[id].options;
        if slot != u32::MAX {
            self.free_options.push(slot);
            self[id].options = u32::MAX;
        }
    }

    /// A second packet like the first, in no list.
    pub fn duplicate(&mut self, id: PacketId) -> PacketId {
        let options = self.options(id).copied();
        let mut copy = self[id];
        copy.next = PacketId::NONE;
        copy.options = u32::MAX;
        let copy = self.insert(copy);
        if let Some(options) = options {
            self.set_options(copy, options);
        }
        copy
    }

    /// What a packet carries beside its header; most carry nothing.
    #[inline]
    pub fn options(&self, id: PacketId) -> Option<&Options> {
        self.options.get(self[id].options as usize)
    }

    /// The SACK blocks of an ACK; most have none.
    #[inline]
    pub fn sack_blocks(&self, id: PacketId) -> Option<&SackBlocks> {
        match self.options(id) {
            Some(Options::Sack(blocks)) => Some(blocks),
            _ => None,
        }
    }

    /// Gives options to a packet that has none yet.
    #[inline(never)] // most packets carry none
    pub fn set_options(&mut self, id: PacketId, options: Options) {
        debug_assert_eq!(self[id].options, u32::MAX, "options are set once");
        let slot = self.free_options.pop().unwrap_or_else(|| {
            self.options.push(options);
            self.options.len() as u32 - 1
        });
        self.options[slot as usize] = options;
        self[id].options = slot;
    }

    /// How many there are in the list from `head` to `tail`.
    fn count(&self, head: PacketId, tail: PacketId) -> u64 {
        let next = |id: &PacketId| (*id != tail).then(|| self[*id].next);
        std::iter::successors((head != PacketId::NONE).then_some(head), next).count() as u64
    }

    /// How many packets are in flight or queued.
    pub const fn live(&self) -> usize {
        self.live
    }
}

impl std::ops::Index<PacketId> for PacketPool {
    type Output = Packet;
    #[inline]
    fn index(&self, id: PacketId) -> &Packet {
        &self.packets[id.index()]
    }
}
impl std::ops::IndexMut<PacketId> for PacketPool {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id.index()]
    }
}

/// A first-in first-out list of packets, threaded through the pool.
#[derive(Debug)]
pub struct Chain {
    head: PacketId,
    tail: PacketId,
}

impl Default for Chain {
    fn default() -> Self {
        Chain {
            head: PacketId::NONE,
            tail: PacketId::NONE,
        }
    }
}

impl Chain {
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

/// A first-in first-out list of packets that each have a moment, none before that of the packet in front of it. The list itself holds the
/// moment of the first, and each packet that of the one behind it: whoever takes the first out learns when the next one's turn is
/// without looking at it, which with a million packets costs more than all the rest.
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

/// A [`Chain`] that knows how much is in it.
#[derive(Debug, Default)]
pub struct Fifo {
    chain: Chain,
    backlog: Backlog,
}

impl Fifo {
    /// Appends a packet that is in no list.
    #[inline]
    pub fn push_back(&mut self, id: PacketId, pool: &mut PacketPool) {
        self.backlog.packets += 1;
        self.backlog.bytes += pool[id].bytes();
        self.chain.push_back(id, pool);
    }
    /// Takes the first packet out.
    #[inline]
    pub fn pop_front(&mut self, pool: &mut PacketPool) -> Option<PacketId> {
        let id = self.chain.pop_front(pool)?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= pool[id].bytes();
        Some(id)
    }
    /// The first packet.
    #[inline]
    pub fn front(&self) -> Option<PacketId> {
        self.chain.front()
    }
    /// The last packet.
    pub fn back(&self) -> Option<PacketId> {
        self.chain.back()
    }
    /// How much is in it.
    pub const fn backlog(&self) -> Backlog {
        self.backlog
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.chain.is_empty()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sequence: u64) -> Packet {
        Packet::new(PacketKind::Data, FlowId(0), sequence, 1500, Time::ZERO)
    }

    #[test]
    fn a_packet_is_forty_bytes() {
        assert!(size_of::<Packet>() <= 40);
    }

    #[test]
    fn fifo_keeps_order_and_counts() {
        let (mut pool, mut fifo) = (PacketPool::new(), Fifo::default());
        for n in 0..5 {
            let id = pool.insert(packet(n));
            fifo.push_back(id, &mut pool);
        }
        assert_eq!(
            fifo.backlog(),
            Backlog {
                packets: 5,
                bytes: Bytes(7500)
            }
        );
        for n in 0..5 {
            let id = fifo.pop_front(&mut pool).unwrap();
            assert_eq!(pool[id].sequence, n);
            pool.remove(id);
        }
        assert!(fifo.pop_front(&mut pool).is_none() && pool.live() == 0);
        assert_eq!(fifo.backlog(), Backlog::default());
    }

    #[test]
    fn a_timed_fifo_gives_each_packet_its_arrival() {
        let (mut pool, mut fifo) = (PacketPool::new(), TimedFifo::default());
        let at = |n: u64| Time::from_nanos(1000 + n / 2); // two arrive at once
        for n in 0..5 {
            let id = pool.insert(packet(n));
            fifo.push_back(at(n), id, &mut pool);
        }
        assert_eq!((fifo.backlog().packets, fifo.backlog().bytes), (5, Bytes(7500)));
        for n in 0..5 {
            assert_eq!(fifo.first_at(), at(n));
            let (arrival, id) = fifo.pop_front(&mut pool).unwrap();
            assert_eq!((arrival, pool[id].sequence), (at(n), n));
        }
        assert!(fifo.pop_front(&mut pool).is_none() && fifo.first_at().is_never());
        assert_eq!(fifo.backlog(), Backlog::default());
    }

    #[test]
    fn slots_and_options_are_used_again() {
        let mut pool = PacketPool::new();
        let mut blocks = SackBlocks::default();
        blocks.push(SackBlock { start: 3, end: 5 });
        for _ in 0..10 {
            let id = pool.insert(packet(0));
            pool.set_options(id, Options::Sack(blocks));
            let copy = pool.duplicate(id);
            assert_eq!(pool.sack_blocks(copy).unwrap().as_slice(), blocks.as_slice());
            pool.remove(id);
            pool.remove(copy);
        }
        assert_eq!((pool.packets.len(), pool.options.len()), (2, 2));
    }

    #[test]
    fn the_kinds_that_answer_travel_back() {
        for kind in [PacketKind::Data, PacketKind::Syn, PacketKind::Datagram] {
            assert!(Packet::new(kind, FlowId(0), 0, 40, Time::ZERO).is_forward());
        }
        for kind in [PacketKind::Ack, PacketKind::SynAck] {
            assert!(!Packet::new(kind, FlowId(0), 0, 40, Time::ZERO).is_forward());
        }
    }

    #[test]
    fn flags_do_not_touch_each_other() {
        let mut p = packet(0);
        p.set_ecn(Ecn::Marked);
        p.set_retransmission(true);
        p.set_ecn_echo(true);
        p.set_ecn(Ecn::Capable);
        assert_eq!((p.kind(), p.ecn()), (PacketKind::Data, Ecn::Capable));
        assert!(p.is_retransmission() && p.has_ecn_echo() && !p.has_window_reduced());
    }
}
