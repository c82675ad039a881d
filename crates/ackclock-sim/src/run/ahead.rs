//! Working ahead: what only one flow can see is carried out before its time.
//!
//! A hop after which only one flow's own hops or endpoint follow, and that endpoint, can be seen by
//! nobody else until the next sampling time, the *horizon*. What happens there up to the horizon is
//! carried out at once, each step at its own scheduled time. So a dumbbell with access links costs
//! two events per data packet, one at each shared hop, and the tables are the same to the bit. A
//! traced run, which must report steps in order, does not work ahead.

use super::Run;
use crate::trace::Trace;
use ackclock_core::hop::Hop;
use ackclock_core::units::Time;

/// The clock of a run, and how far the run works ahead of it.
#[derive(Debug)]
pub(super) struct Clock {
    pub(super) now: Time,
    /// Up to when packets leave private hops: the horizon, or now if that is later.
    ahead: Time,
    /// Up to when nobody looks at what belongs to a single flow.
    pub(super) horizon: Time,
    /// When the window ends; never if the run is not cut into windows.
    pub(super) window_end: Time,
}

impl Clock {
    pub(super) const fn new(windows: bool) -> Self {
        Clock {
            now: Time::ZERO,
            ahead: Time::ZERO,
            horizon: Time::ZERO,
            window_end: if windows { Time::ZERO } else { Time::NEVER },
        }
    }

    /// Sets the clock.
    #[inline(always)]
    pub(super) fn advance(&mut self, now: Time) {
        debug_assert!(now >= self.now, "time is monotone");
        self.now = now;
        self.ahead = now.max(self.horizon);
    }

    /// Up to when packets may be taken out of a hop.
    #[inline(always)]
    pub(super) const fn until(&self, hop: &Hop) -> Time {
        if hop.is_private() {
            self.ahead
        } else {
            self.now
        }
    }
}

impl<T: Trace> Run<T> {
    /// Notes that something may leave a private hop at once.
    #[inline(always)]
    pub(super) fn note_ready(&mut self, hop: usize) {
        if self.ready.last() != Some(&(hop as u32)) {
            self.ready.push(hop as u32);
        }
    }

    /// Drains the ready hops until nothing moves.
    #[inline]
    pub(super) fn work(&mut self) {
        if !self.ready.is_empty() {
            self.drain_ready();
        }
    }

    #[inline(never)]
    fn drain_ready(&mut self) {
        while let Some(hop) = self.ready.pop() {
            self.drain(hop as usize);
        }
    }

    /// Lets the timers of the receiving side go off that are due before a packet arrives at `at`.
    #[inline(always)]
    pub(super) fn catch_up_receiver(&mut self, flow: usize, at: Time) {
        while let due = self.flows[flow].poll_receiver_timeout()
            && due < at
        {
            self.flows[flow].handle_receiver_timeout(due);
            self.pump_receiver(flow, due);
        }
    }

    /// Lets the timers of the sending side go off that are due before a packet arrives at `at`.
    #[inline(always)]
    pub(super) fn catch_up_sender(&mut self, flow: usize, at: Time) {
        while let due = self.flows[flow].poll_timeout()
            && due < at
        {
            self.flows[flow].handle_timeout(due);
            self.pump_sender(flow, due);
        }
    }
}
