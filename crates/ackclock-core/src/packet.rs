//! The packet, the pool that stores all packets of a run, and FIFO lists linked through the pool.
//!
//! Elements pass on a [`PacketId`]; nothing is copied or allocated per packet. A packet is in at
//! most one [`Fifo`] at a time and cannot be in two places, so packets are conserved by
//! construction.

use ackclock_spec::units::{Bytes, Time};

mod ack_options;
mod dscp;
mod ecn;
mod lists;
mod pool;
mod sack;

pub use ack_options::AckOptions;
pub use dscp::Dscp;
pub use ecn::{Ecn, EcnCounters};
pub use lists::{Backlog, Fifo, FifoList, TimedFifo, Timeline};
pub use pool::{Content, Options, PacketPool};
pub use sack::{SackBlock, SackBlocks};

/// Index of a packet in its [`PacketPool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(u32);

impl PacketId {
    const NONE: PacketId = PacketId(u32::MAX);
    /// Returns the slot's number, for side tables such as a driver's payload buffers.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Number of a flow instance, from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// Kind of a packet.
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
    /// A receiver's feedback to the sender of datagrams under rate control.
    Feedback = 5,
    /// A TCP segment without data that asks for the receive window.
    WindowProbe = 6,
    /// A request of a client, in a TCP segment of the return route.
    Request = 7,
}

/// One packet: the fields that queues and links need and that the simulated endpoints exchange.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// In a [`Timeline`]: the moment of the next packet.
    next_at: Time,
    /// Data: number of the segment. ACK: number of the next segment expected. Datagram: its number.
    pub sequence: u64,
    /// Data: time at which it was sent. ACK: the echoed timestamp (RFC 7323), `Time::NEVER` if
    /// none.
    pub stamp: Time,
    /// Flow that it belongs to.
    pub flow: FlowId,
    /// Index of its options in the pool, if it has any.
    options: u32,
    next: PacketId,
    /// Length on the wire, headers included, in bytes.
    pub size: u16,
    /// Position on its route of the hop that it is in or about to enter.
    pub position: u8,
    kind_and_flags: u8,
}

const KIND_MASK: u8 = 0b0000_0111;
/// The kinds that travel from receiver to sender have odd numbers.
const BACKWARD: u8 = 0b0000_0001;
const ECN_SHIFT: u8 = 3;
const ECN_MASK: u8 = 0b0001_1000;
/// In data. In an ACK the same three bits are AE, CWR and ECE.
const RETRANSMISSION: u8 = 0b0010_0000;
const PUSH: u8 = 0b0100_0000;
const WINDOW_REDUCED: u8 = 0b1000_0000;
const ACE_SHIFT: u8 = 5;
const ACE_MASK: u8 = 0b1110_0000;

impl Packet {
    /// Makes a packet of `kind` that is in no list and not ECN-capable.
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
    /// Returns its length on the wire.
    pub const fn bytes(&self) -> Bytes {
        Bytes(self.size as u64)
    }
    /// Returns its kind.
    pub const fn kind(&self) -> PacketKind {
        match self.kind_and_flags & KIND_MASK {
            0 => PacketKind::Data,
            1 => PacketKind::Ack,
            2 => PacketKind::Syn,
            3 => PacketKind::SynAck,
            4 => PacketKind::Datagram,
            5 => PacketKind::Feedback,
            6 => PacketKind::WindowProbe,
            _ => PacketKind::Request,
        }
    }
    /// True if it travels from the sender of data to the receiver.
    #[inline]
    pub const fn is_forward(&self) -> bool {
        self.kind_and_flags & BACKWARD == 0
    }
    /// Returns its ECN field.
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
    /// True if the segment is a retransmission. Not to be asked of an ACK.
    pub const fn is_retransmission(&self) -> bool {
        debug_assert!(self.is_forward());
        self.kind_and_flags & RETRANSMISSION != 0
    }
    /// Returns the flags AE, CWR and ECE of an ACK as a number from 0 to 7. With an echo it is 1,
    /// ECE alone (RFC 3168 section 6.1). With accurate ECN it is the field ACE (RFC 9768 section
    /// 3.2.2). Not to be asked of data.
    pub const fn ace(&self) -> u8 {
        debug_assert!(!self.is_forward());
        self.kind_and_flags >> ACE_SHIFT
    }
    /// True if data carry PSH: the receiver does not wait for more before it delivers. Not to be
    /// asked of an ACK.
    pub const fn is_pushed(&self) -> bool {
        debug_assert!(self.is_forward());
        self.kind_and_flags & PUSH != 0
    }
    /// True if the segment carries CWR (RFC 3168 section 6.1). Not to be asked of an ACK.
    pub const fn has_window_reduced(&self) -> bool {
        debug_assert!(self.is_forward());
        self.kind_and_flags & WINDOW_REDUCED != 0
    }
    /// Sets whether the segment is a retransmission.
    pub fn set_retransmission(&mut self, on: bool) {
        self.set_flag(RETRANSMISSION, on);
    }
    /// Sets AE, CWR and ECE of an ACK ([`Packet::ace`]); only the lowest three bits count.
    pub fn set_ace(&mut self, ace: u8) {
        debug_assert!(!self.is_forward());
        self.kind_and_flags = (self.kind_and_flags & !ACE_MASK) | (ace << ACE_SHIFT);
    }
    /// Sets PSH of a segment.
    pub fn set_pushed(&mut self, on: bool) {
        debug_assert!(self.is_forward());
        self.set_flag(PUSH, on);
    }
    /// Sets CWR.
    pub fn set_window_reduced(&mut self, on: bool) {
        self.set_flag(WINDOW_REDUCED, on);
    }
    fn set_flag(&mut self, flag: u8, on: bool) {
        // Without a branch, since it runs several times for each packet.
        self.kind_and_flags = (self.kind_and_flags & !flag) | (flag * u8::from(on));
    }
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
        let at = |n: u64| Time::from_nanos(1000 + n / 2); // pairs arrive at the same time
        for n in 0..5 {
            let id = pool.insert(packet(n));
            fifo.push_back(at(n), id, &mut pool);
        }
        assert_eq!(
            (fifo.backlog().packets, fifo.backlog().bytes),
            (5, Bytes(7500))
        );
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
            assert_eq!(
                pool.sack_blocks(copy).unwrap().as_slice(),
                blocks.as_slice()
            );
            pool.remove(id);
            pool.remove(copy);
        }
        assert_eq!((pool.packets.len(), pool.options.len()), (2, 2));
    }

    #[test]
    fn the_kinds_that_answer_travel_back() {
        for kind in [
            PacketKind::Data,
            PacketKind::Syn,
            PacketKind::Datagram,
            PacketKind::WindowProbe,
        ] {
            assert_eq!(Packet::new(kind, FlowId(0), 0, 40, Time::ZERO).kind(), kind);
            assert!(Packet::new(kind, FlowId(0), 0, 40, Time::ZERO).is_forward());
        }
        for kind in [
            PacketKind::Ack,
            PacketKind::SynAck,
            PacketKind::Feedback,
            PacketKind::Request,
        ] {
            assert_eq!(Packet::new(kind, FlowId(0), 0, 40, Time::ZERO).kind(), kind);
            assert!(!Packet::new(kind, FlowId(0), 0, 40, Time::ZERO).is_forward());
        }
    }

    #[test]
    fn flags_do_not_touch_each_other() {
        let mut p = packet(0);
        p.set_ecn(Ecn::Marked);
        p.set_retransmission(true);
        p.set_pushed(true);
        p.set_ecn(Ecn::Capable);
        assert_eq!((p.kind(), p.ecn()), (PacketKind::Data, Ecn::Capable));
        assert!(p.is_retransmission() && p.is_pushed() && !p.has_window_reduced());
        p.set_pushed(false);
        assert!(p.is_retransmission() && !p.is_pushed());
        let mut ack = Packet::new(PacketKind::Ack, FlowId(0), 0, 40, Time::ZERO);
        ack.set_ecn(Ecn::CapableL4s);
        for ace in [1, 7, 5, 0] {
            ack.set_ace(ace);
            assert_eq!((ack.ace(), ack.ecn()), (ace, Ecn::CapableL4s));
        }
        assert_eq!(ack.kind(), PacketKind::Ack);
    }
}
