//! The part of a packet's route that it is on.

use ackclock_core::packet::Packet;

/// What the run has to know of a packet at every hop, in one register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    flow: u32,
    pub(super) size: u16,
    /// The stop of its route that it is at or comes to.
    pub(super) position: u8,
    /// Whether it travels from the sender of data to the receiver.
    pub(super) forward: bool,
}

impl Leg {
    /// The leg a packet is on.
    #[inline(always)]
    pub(super) const fn of(packet: &Packet) -> Self {
        Leg {
            flow: packet.flow.0,
            size: packet.size,
            position: packet.position,
            forward: packet.is_forward(),
        }
    }
    /// One stop further on.
    #[inline(always)]
    pub(super) const fn next(mut self) -> Self {
        self.position += 1;
        self
    }
    pub(super) const fn flow(self) -> usize {
        self.flow as usize
    }
}
