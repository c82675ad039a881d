//! A hop of the run.

use crate::events::Wake;
use ackclock_core::hop::Hop;
use ackclock_core::units::Time;

/// A hop and when it is woken, side by side in one cache line.
#[derive(Debug)]
#[repr(align(64))]
pub struct Station {
    /// The hop.
    pub hop: Hop,
    /// Its next wake-up.
    pub wake: Wake,
}

const _: () = assert!(size_of::<Station>() == 64, "a station is one cache line");

impl Station {
    /// A hop that nobody wakes yet.
    pub fn new(hop: Hop) -> Self {
        Station {
            hop,
            wake: Wake::default(),
        }
    }

    /// Up to when what leaves may be taken.
    #[inline(always)]
    pub const fn until(&self, now: Time, ahead: Time) -> Time {
        if self.hop.is_private() { ahead } else { now }
    }
}
