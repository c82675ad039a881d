//! Who is told of drops and marks. Every drop is reported once, by the element that made it, through
//! [`Context::drop_packet`], which also frees the packet: nobody can forget either half.

use crate::packet::{Ecn, Packet, PacketId, PacketPool};
use crate::units::Time;

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The queue was full.
    QueueFull,
    /// A queue discipline decided to.
    Aqm,
    /// An impairment lost it.
    Impairment,
}

impl DropReason {
    /// As written in tables.
    pub const fn name(self) -> &'static str {
        match self {
            DropReason::QueueFull => "queue_full",
            DropReason::Aqm => "aqm",
            DropReason::Impairment => "impairment",
        }
    }
}

/// Told of what happens to packets inside a hop.
pub trait Observer {
    /// `packet` was dropped at `now` (scheduled time).
    fn dropped(&mut self, now: Time, packet: &Packet, reason: DropReason);
    /// `packet` was marked "congestion experienced" at `now`.
    fn marked(&mut self, now: Time, packet: &Packet);
}

/// Looks away.
#[derive(Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn dropped(&mut self, _now: Time, _packet: &Packet, _reason: DropReason) {}
    fn marked(&mut self, _now: Time, _packet: &Packet) {}
}

/// What an element may touch besides itself.
pub struct Context<'a> {
    /// All packets of the run.
    pub packets: &'a mut PacketPool,
    /// Told of drops and marks.
    pub observer: &'a mut dyn Observer,
}

impl Context<'_> {
    /// Reports the drop and frees the packet, which must be in no list.
    #[cold]
    #[inline(never)]
    pub fn drop_packet(&mut self, now: Time, id: PacketId, reason: DropReason) {
        self.observer.dropped(now, &self.packets[id], reason);
        self.packets.remove(id);
    }

    /// Marks an ECN-capable packet and reports it; `false` if the packet is not ECN-capable (drop it instead,
    /// RFC 3168 section 5).
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
