//! The pool that stores all packets of a run.

use super::{AckOptions, FlowId, Packet, PacketId, PacketKind, SackBlock, SackBlocks};
use crate::rate_control::Feedback;
use ackclock_spec::units::{Bytes, Span, Time};

/// Data that few packets carry in addition to their header.
#[derive(Clone, Copy, Debug)]
pub enum Options {
    /// Segments that the receiver holds beyond the cumulative ACK; at least one block.
    Sack(SackBlocks),
    /// Fields that few ACKs have, and SACK blocks, perhaps none.
    Ack(AckOptions, SackBlocks),
    /// Feedback of a receiver of datagrams.
    Feedback(Feedback),
    /// The sender's estimate of the round-trip time, for the receiver of a datagram.
    RoundTrip(Span),
    /// Bytes ([`PacketPool::payload`]).
    Payload,
}

/// The content of a packet besides its header, for a record of it.
#[derive(Clone, Copy, Debug, Default)]
pub enum Content<'a> {
    /// Nothing, or what is not recorded.
    #[default]
    Nothing,
    /// SACK blocks of an ACK.
    Sacks(&'a [SackBlock]),
    /// Window that an ACK advertises, and its SACK blocks, perhaps none.
    Window(Bytes, &'a [SackBlock]),
    /// Bytes that an implementation made.
    Bytes(&'a [u8]),
}

/// Owns every packet of a run. Reuses freed slots, the last freed first.
#[derive(Debug)]
pub struct PacketPool {
    pub(super) packets: Vec<Packet>,
    /// The first free slot. Each free slot leads to the next.
    free: PacketId,
    live: usize,
    pub(super) options: Vec<Options>,
    unused_options: Vec<u32>,
    /// Bytes by slot of the options. The next packet in a slot reuses its buffer.
    payloads: Vec<Vec<u8>>,
}

impl Default for PacketPool {
    fn default() -> Self {
        PacketPool {
            packets: Vec::new(),
            free: PacketId::NONE,
            live: 0,
            options: Vec::new(),
            unused_options: Vec::new(),
            payloads: Vec::new(),
        }
    }
}

impl PacketPool {
    /// Makes an empty pool.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores a packet.
    ///
    /// # Panics
    /// Beyond 2^32 − 1 packets at once.
    #[inline(always)] // so that the packet is built in its slot
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        self.live += 1;
        // `NONE` is never the number of a slot, so one comparison covers both cases.
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

    /// Adds a free slot.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        if self.packets.len() == self.packets.capacity() {
            // Grows by a quarter instead of doubling: BENCHMARKS.md promises the memory per packet
            // in flight.
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

    /// Stores an answer in the slot of the packet that it answers, or in its own slot if it answers
    /// none.
    #[inline(always)] // so that the packet is built in its slot
    pub fn answer(&mut self, arrived: Option<PacketId>, answer: Packet) -> PacketId {
        let Some(id) = arrived else {
            return self.insert(answer);
        };
        let slot = &mut self.packets[id.index()];
        let options = std::mem::replace(slot, answer).options;
        self.free_options(options);
        id
    }

    /// Frees a packet.
    #[inline]
    pub fn remove(&mut self, id: PacketId) {
        self.live -= 1;
        let slot = &mut self.packets[id.index()];
        slot.next = self.free;
        let options = std::mem::replace(&mut slot.options, u32::MAX);
        self.free = id;
        self.free_options(options);
    }

    /// Frees the slot of a packet's options, if it has any.
    #[inline(always)]
    fn free_options(&mut self, slot: u32) {
        if slot != u32::MAX {
            self.unused_options.push(slot);
        }
    }

    /// Duplicates a packet. The copy is in no list.
    pub fn duplicate(&mut self, id: PacketId) -> PacketId {
        let options = self.options(id).copied();
        let mut copy = self[id];
        copy.next = PacketId::NONE;
        copy.options = u32::MAX;
        let copy = self.insert(copy);
        match options {
            None => {}
            Some(Options::Payload) => self.copy_payload(id, copy),
            Some(options) => self.set_options(copy, options),
        }
        copy
    }

    /// Returns the options of a packet; most packets have none.
    #[inline]
    pub fn options(&self, id: PacketId) -> Option<&Options> {
        self.options.get(self[id].options as usize)
    }

    /// Returns the SACK blocks of an ACK; most ACKs have none.
    #[inline]
    pub fn sack_blocks(&self, id: PacketId) -> Option<&SackBlocks> {
        match self.options(id) {
            Some(Options::Sack(blocks)) => Some(blocks),
            Some(Options::Ack(_, blocks)) => (!blocks.is_empty()).then_some(blocks),
            _ => None,
        }
    }

    /// Returns what a packet carries besides its header.
    pub fn content(&self, id: PacketId) -> Content<'_> {
        match (self.options(id), self.sack_blocks(id)) {
            (Some(Options::Payload), _) => Content::Bytes(self.payload(id)),
            (
                Some(Options::Ack(
                    AckOptions {
                        window: Some(window),
                        ..
                    },
                    blocks,
                )),
                _,
            ) => Content::Window(*window, blocks.as_slice()),
            (_, Some(blocks)) => Content::Sacks(blocks.as_slice()),
            _ => Content::Nothing,
        }
    }

    /// Returns the SACK blocks and the further options of an ACK; most ACKs have neither.
    #[inline]
    pub fn ack_options(&self, id: PacketId) -> (Option<&SackBlocks>, Option<&AckOptions>) {
        match self.options(id) {
            None => (None, None),
            Some(Options::Ack(options, _)) => (self.sack_blocks(id), Some(options)),
            Some(_) => (self.sack_blocks(id), None),
        }
    }

    /// Sets the options of a packet that has none yet.
    #[inline(never)] // most packets carry none
    pub fn set_options(&mut self, id: PacketId, options: Options) {
        debug_assert_eq!(self[id].options, u32::MAX, "options are set once");
        let slot = self.unused_options.pop().unwrap_or_else(|| {
            self.options.push(options);
            self.options.len() as u32 - 1
        });
        self.options[slot as usize] = options;
        self[id].options = slot;
    }

    /// Puts bytes into a packet that has no options yet.
    pub fn set_payload(&mut self, id: PacketId, bytes: &[u8]) {
        self.set_options(id, Options::Payload);
        let slot = self[id].options as usize;
        if self.payloads.len() <= slot {
            self.payloads.resize_with(slot + 1, Vec::new);
        }
        self.payloads[slot].clear();
        self.payloads[slot].extend_from_slice(bytes);
    }

    /// Returns the bytes in a packet; empty for most packets, which have none.
    pub fn payload(&self, id: PacketId) -> &[u8] {
        match self.options(id) {
            Some(Options::Payload) => &self.payloads[self[id].options as usize],
            _ => &[],
        }
    }

    fn copy_payload(&mut self, original: PacketId, copy: PacketId) {
        let slot = self[original].options as usize;
        let bytes = std::mem::take(&mut self.payloads[slot]);
        self.set_payload(copy, &bytes);
        self.payloads[slot] = bytes;
    }

    /// Counts the packets in the list from `head` to `tail`.
    pub(super) fn count(&self, head: PacketId, tail: PacketId) -> u64 {
        let next = |id: &PacketId| (*id != tail).then(|| self[*id].next);
        std::iter::successors((head != PacketId::NONE).then_some(head), next).count() as u64
    }

    /// Returns the number of packets stored: in flight or queued.
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
