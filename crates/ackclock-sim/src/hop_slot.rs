//! A hop of the run and its wake-up.

use crate::events::Wake;
use ackclock_core::hop::Hop;

/// A hop and its wake-up, in one cache line.
#[derive(Debug)]
#[repr(align(64))]
pub struct HopSlot {
    /// The hop.
    pub hop: Hop,
    /// Its next wake-up.
    pub wake: Wake,
}

const _: () = assert!(size_of::<HopSlot>() == 64, "a slot is one cache line");

impl HopSlot {
    /// Makes a slot without a pending wake-up.
    pub fn new(hop: Hop) -> Self {
        HopSlot {
            hop,
            wake: Wake::default(),
        }
    }
}
