//! Working ahead: what only one flow can see is carried out before its time.
//!
//! A hop after which only one flow's own hops or endpoint follow, and that endpoint, can be seen by
//! nobody else until the next sampling time, the *horizon*. What happens there up to the horizon is
//! carried out at once, each step at its own scheduled time. So a dumbbell with access links costs two
//! events per data packet, one at each shared hop, and the tables are the same to the bit. A traced
//! run, which must report steps in order, does not work ahead.

use super::Run;
use crate::trace::Trace;
use ackclock_core::hop::Hop;
use ackclock_core::units::Time;

/// How far a run works ahead of its clock.
#[derive(Debug)]
pub(super) struct Ahead {
    /// Private hops that something has entered that may leave at once.
    ready: Vec<u32>,
    /// Up to when nobody looks at what belongs to a single flow.
    horizon: Time,
    /// Up to when packets leave private hops: the horizon, or now if that is later.
    until: Time,
    /// When the window ends; never if the run is not cut into windows.
    pub(super) window_end: Time,
}

impl Ahead {
    pub(super) fn new(windows: bool) -> Self {
        Ahead {
            ready: Vec::new(),
            horizon: Time::ZERO,
            until: Time::ZERO,
            window_end: if windows { Time::ZERO } else { Time::NEVER },
        }
    }

    /// Sets the clock.
    #[inline(always)]
    pub(super) fn advance(&mut self, now: Time) {
        self.until = now.max(self.horizon);
    }

    pub(super) const fn horizon(&self) -> Time {
        self.horizon
    }
    pub(super) const fn set_horizon(&mut self, horizon: Time) {
        self.horizon = horizon;
    }

    /// Up to when packets may be taken out of a hop.
    #[inline(always)]
    pub(super) const fn until(&self, hop: &Hop, now: Time) -> Time {
        if hop.is_private() { self.until } else { now }
    }

    /// Notes that something may leave a private hop at once.
    #[inline(always)]
    pub(super) fn note_ready(&mut self, hop: usize) {
        if self.ready.last() != Some(&(hop as u32)) {
            self.ready.push(hop as u32);
        }
    }
}

impl<T: Trace> Run<T> {
    /// Drains the ready hops until nothing moves.
    #[inline]
    pub(super) fn work(&mut self) {
        if !self.ahead.ready.is_empty() {
            self.drain_ready();
        }
    }

    #[inline(never)]
    fn drain_ready(&mut self) {
        while let Some(hop) = self.ahead.ready.pop() {
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
