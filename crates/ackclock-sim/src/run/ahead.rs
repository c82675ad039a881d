//! Working ahead: steps that only one flow can observe are executed before their time.
//!
//! Suppose that a hop is followed only by one flow's own hops or endpoint. Then no other flow can
//! observe these until the next sampling time, the *horizon*. Steps there up to the horizon are
//! executed at once, each at its own scheduled time. So a dumbbell with access links costs two
//! events per data packet, one at each shared hop, and the tables are the same to the bit. A traced
//! run, which must report steps in order, does not work ahead. Nor does a run with clients: one
//! side of a flow knows there what the other has done by now.

use super::{Run, Unattended};
use crate::samples::Sampler;
use crate::trace::Trace;
use ackclock_core::hop::Hop;
use ackclock_spec::units::{Span, Time};

/// Longest time from one horizon to the next while data is sent. A run can be stopped only at a
/// horizon.
const LONGEST: Span = Span::from_millis(1000);

/// The clock of a run, and how far the run works ahead of it.
#[derive(Debug)]
pub(super) struct Clock {
    pub(super) now: Time,
    /// Time up to which packets leave private hops: the horizon, or now if that is later.
    ahead: Time,
    /// Time up to which the state of single flows is not sampled.
    pub(super) horizon: Time,
    /// The horizon of a run that nothing stops before it.
    planned: Time,
    /// True if the run takes every step at its time.
    in_step: bool,
    /// End of the window; never if the run has no windows.
    pub(super) window_end: Time,
    /// Longest time to the next horizon, and data packets sent by the last.
    longest: Span,
    sent: u64,
}

impl Clock {
    pub(super) const fn new(windows: bool, in_step: bool) -> Self {
        Clock {
            in_step,
            now: Time::ZERO,
            ahead: Time::ZERO,
            horizon: Time::ZERO,
            planned: Time::ZERO,
            window_end: if windows { Time::ZERO } else { Time::NEVER },
            longest: LONGEST,
            sent: 0,
        }
    }

    /// Sets the clock.
    #[inline(always)]
    pub(super) fn advance(&mut self, now: Time) {
        debug_assert!(now >= self.now, "time is monotone");
        self.now = now;
        self.ahead = now.max(self.horizon);
    }

    /// Returns the horizon after this one: the next sample, or an earlier time. The longest
    /// distance doubles while no data is sent, so that a century of silence has few horizons.
    pub(super) fn next_horizon(&mut self, sample: Time, sent: u64) -> Time {
        self.longest = if sent == self.sent {
            Span::from_nanos(self.longest.as_nanos().saturating_mul(2))
        } else {
            LONGEST
        };
        self.sent = sent;
        sample.min(self.now + self.longest)
    }

    /// Sets the horizon of a run that stops at `stop`, unless it takes every step at its time.
    pub(super) fn work_until(&mut self, horizon: Time, stop: Time) {
        self.planned = if self.in_step { Time::ZERO } else { horizon };
        self.stop_at(stop);
    }

    /// Moves the horizon for a run that stops at `stop`.
    pub(super) fn stop_at(&mut self, stop: Time) {
        self.horizon = self.planned.min(stop);
        self.ahead = self.now.max(self.horizon);
    }

    /// Takes every step at its time from now on.
    pub(super) fn keep_in_step(&mut self) {
        self.in_step = true;
        self.work_until(Time::ZERO, Time::ZERO);
    }

    /// Returns the time up to which packets may be taken out of a hop.
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
    /// Handles all events before the horizon, up to which some flows have worked ahead. Returns it.
    pub(super) fn settle(&mut self, sampler: &mut Sampler) -> Time {
        let Clock { now, horizon, .. } = self.clock;
        if horizon <= now {
            return now;
        }
        let last = Time::from_nanos(horizon.as_nanos() - 1);
        while !self.proceed_until(last, sampler, &Unattended) {}
        horizon
    }

    /// Records that a packet may leave a private hop at once.
    #[inline(always)]
    pub(super) fn note_ready(&mut self, hop: usize) {
        if self.ready.last() != Some(&(hop as u32)) {
            self.ready.push(hop as u32);
        }
    }

    /// Drains the ready hops until no packet moves.
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

    /// Handles the timers of the receiving side that are due before a packet arrives at `at`.
    #[inline(always)]
    pub(super) fn catch_up_receiver(&mut self, flow: usize, at: Time) {
        while let due = self.flows[flow].poll_receiver_timeout()
            && due < at
        {
            self.flows[flow].handle_receiver_timeout(due);
            self.pump_receiver(flow, due);
        }
    }

    /// Handles the timers of the sending side that are due before a packet arrives at `at`.
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
