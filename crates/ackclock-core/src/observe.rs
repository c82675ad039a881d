//! Reports of drops and marks. The element that drops a packet calls [`Context::drop_packet`],
//! which reports the drop once and frees the packet. So no element can do one without the other.

use crate::packet::{Ecn, Packet, PacketId, PacketPool};
use ackclock_spec::units::Time;

/// Reason for which a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The queue was full.
    QueueFull,
    /// The queue discipline dropped it before the queue was full.
    Aqm,
    /// An impairment lost it.
    Impairment,
    /// A medium dropped it after too many collisions.
    Retries,
}

impl DropReason {
    /// Returns the name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            DropReason::QueueFull => "queue_full",
            DropReason::Aqm => "aqm",
            DropReason::Impairment => "impairment",
            DropReason::Retries => "retries",
        }
    }
}

/// Receives reports of what happens to packets inside a hop.
pub trait Observer {
    /// Reports that `packet` was dropped at `now` (scheduled time).
    fn dropped(&mut self, now: Time, packet: &Packet, reason: DropReason);
    /// Reports that `packet` was marked CE at `now`.
    fn marked(&mut self, now: Time, packet: &Packet);
    /// Reports that `copy` is a duplicate of `original`. For a driver that stores more of a packet
    /// than the pool does.
    fn duplicated(&mut self, original: PacketId, copy: PacketId) {
        let _ = (original, copy);
    }
}

/// Drops and marks of one hop since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopLosses {
    /// Drops because the queue was full.
    pub queue: u64,
    /// Drops by the queue discipline before the queue was full.
    pub aqm: u64,
    /// Losses by impairments.
    pub impairment: u64,
    /// Drops by a medium after too many collisions.
    pub retries: u64,
    /// Packets marked CE.
    pub marks: u64,
}

impl HopLosses {
    /// Counts a drop.
    pub const fn count(&mut self, reason: DropReason) {
        match reason {
            DropReason::QueueFull => self.queue += 1,
            DropReason::Aqm => self.aqm += 1,
            DropReason::Impairment => self.impairment += 1,
            DropReason::Retries => self.retries += 1,
        }
    }
    /// Returns the number of all drops.
    pub const fn drops(&self) -> u64 {
        self.queue + self.aqm + self.impairment + self.retries
    }
}

/// Drops of one flow since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowLosses {
    /// Dropped packets from the sender to the receiver.
    pub forward: u32,
    /// Dropped packets from the receiver to the sender.
    pub acks: u32,
}

impl FlowLosses {
    /// Counts a drop.
    pub fn count(&mut self, packet: &Packet) {
        if packet.is_forward() {
            self.forward += 1;
        } else {
            self.acks += 1;
        }
    }
    /// Returns the number of all drops.
    pub fn drops(&self) -> u64 {
        u64::from(self.forward) + u64::from(self.acks)
    }
}

/// The state outside itself that an element may change.
pub struct Context<'a> {
    /// All packets of the run.
    pub packets: &'a mut PacketPool,
    /// Receives the reports of drops and marks.
    pub observer: &'a mut dyn Observer,
}

impl Context<'_> {
    /// Reports a drop and frees the packet, which must be in no list.
    #[cold]
    #[inline(never)]
    pub fn drop_packet(&mut self, now: Time, id: PacketId, reason: DropReason) {
        self.observer.dropped(now, &self.packets[id], reason);
        self.packets.remove(id);
    }

    /// Duplicates a packet, reports it, and returns the copy, which is in no list.
    #[cold]
    #[inline(never)]
    pub fn duplicate_packet(&mut self, id: PacketId) -> PacketId {
        let copy = self.packets.duplicate(id);
        self.observer.duplicated(id, copy);
        copy
    }

    /// Marks an ECN-capable packet and reports it. Returns false if the packet is not ECN-capable;
    /// drop it then (RFC 3168 section 5).
    #[must_use]
    pub fn mark_packet(&mut self, now: Time, id: PacketId) -> bool {
        let packet = &mut self.packets[id];
        match packet.ecn() {
            Ecn::NotCapable => return false,
            Ecn::Marked => return true,
            Ecn::Capable | Ecn::CapableL4s => packet.set_ecn(Ecn::Marked),
        }
        self.observer.marked(now, packet);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FlowId, PacketKind};

    #[derive(Default)]
    struct Recorder {
        drops: Vec<(u64, DropReason)>,
        marks: Vec<u64>,
        copies: Vec<(PacketId, PacketId)>,
    }
    impl Observer for Recorder {
        fn dropped(&mut self, _now: Time, packet: &Packet, reason: DropReason) {
            self.drops.push((packet.sequence, reason));
        }
        fn marked(&mut self, _now: Time, packet: &Packet) {
            self.marks.push(packet.sequence);
        }
        fn duplicated(&mut self, original: PacketId, copy: PacketId) {
            self.copies.push((original, copy));
        }
    }

    fn packet(sequence: u64, ecn: Ecn) -> Packet {
        let mut packet = Packet::new(PacketKind::Data, FlowId(0), sequence, 1500, Time::ZERO);
        packet.set_ecn(ecn);
        packet
    }

    #[test]
    fn a_drop_is_told_once_and_frees_the_packet() {
        let (mut packets, mut recorder) = (PacketPool::new(), Recorder::default());
        let id = packets.insert(packet(7, Ecn::NotCapable));
        let mut context = Context {
            packets: &mut packets,
            observer: &mut recorder,
        };
        context.drop_packet(Time::ZERO, id, DropReason::Aqm);
        assert_eq!(packets.live(), 0);
        assert_eq!(recorder.drops, [(7, DropReason::Aqm)]);
    }

    #[test]
    fn a_copy_is_told_with_its_original() {
        let (mut packets, mut recorder) = (PacketPool::new(), Recorder::default());
        let id = packets.insert(packet(7, Ecn::NotCapable));
        let mut context = Context {
            packets: &mut packets,
            observer: &mut recorder,
        };
        let copy = context.duplicate_packet(id);
        assert_eq!((packets.live(), packets[copy].sequence), (2, 7));
        assert_eq!(recorder.copies, [(id, copy)]);
    }

    #[test]
    fn losses_of_a_flow_are_counted_by_way() {
        let mut losses = FlowLosses::default();
        for kind in [
            PacketKind::Syn,
            PacketKind::Data,
            PacketKind::Datagram,
            PacketKind::SynAck,
            PacketKind::Ack,
        ] {
            losses.count(&Packet::new(kind, FlowId(0), 0, 40, Time::ZERO));
        }
        assert_eq!((losses.forward, losses.acks, losses.drops()), (3, 2, 5));
    }

    #[test]
    fn losses_are_counted_by_reason() {
        let mut losses = HopLosses::default();
        for reason in [
            DropReason::QueueFull,
            DropReason::Aqm,
            DropReason::Aqm,
            DropReason::Impairment,
            DropReason::Retries,
        ] {
            losses.count(reason);
        }
        assert_eq!((losses.queue, losses.aqm, losses.impairment), (1, 2, 1));
        assert_eq!((losses.retries, losses.drops(), losses.marks), (1, 5, 0));
    }

    #[test]
    fn only_what_is_capable_is_marked_and_told_once() {
        let (mut packets, mut recorder) = (PacketPool::new(), Recorder::default());
        let fields = [Ecn::NotCapable, Ecn::Capable, Ecn::CapableL4s, Ecn::Marked];
        for (sequence, ecn) in (0..).zip(fields) {
            let id = packets.insert(packet(sequence, ecn));
            let mut context = Context {
                packets: &mut packets,
                observer: &mut recorder,
            };
            assert_eq!(context.mark_packet(Time::ZERO, id), ecn != Ecn::NotCapable);
            let expected = if ecn == Ecn::NotCapable {
                Ecn::NotCapable
            } else {
                Ecn::Marked
            };
            assert_eq!(packets[id].ecn(), expected);
        }
        assert_eq!(
            recorder.marks,
            [1, 2],
            "what was marked before is not told again"
        );
    }
}
