//! The part of its route on which a packet is.

use ackclock_core::packet::Packet;

/// The fields of a packet that the run needs at every hop, in one register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    flow: u32,
    pub(super) size: u16,
    /// Stop of its route that it is at or about to reach.
    pub(super) position: u8,
    /// True if it travels from the sender of data to the receiver.
    pub(super) forward: bool,
}

impl Leg {
    /// Returns the leg of a packet.
    #[inline(always)]
    pub(super) const fn of(packet: &Packet) -> Self {
        Leg {
            flow: packet.flow.0,
            size: packet.size,
            position: packet.position,
            forward: packet.is_forward(),
        }
    }
    /// Returns the leg at the next stop.
    #[inline(always)]
    pub(super) const fn next(mut self) -> Self {
        self.position += 1;
        self
    }
    pub(super) const fn flow(self) -> usize {
        self.flow as usize
    }
}
