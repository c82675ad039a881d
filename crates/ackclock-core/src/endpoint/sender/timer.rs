//! The sender's timer: its deadline, its purpose, and the ticks at which it may expire.

use ackclock_spec::units::{Span, Time};

/// Timers of fewer ticks expire at any tick, longer ones at each eighth (`LVL_SIZE - 1` and
/// `LVL_CLK_DIV` of `timer.c`; beyond 511 ticks each 64th, which is left out).
const EXACT_TICKS: u64 = 63;
const COARSE_TICKS: u64 = 8;

/// The purpose for which the timer is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A retransmission timeout.
    Retransmission,
    /// A tail loss probe (RFC 8985 section 7).
    Probe,
    /// The end of RACK's reordering window (RFC 8985 section 6.3).
    Reordering,
    /// A question for a closed receive window (RFC 9293 section 3.8.6.1).
    Window,
}

/// The timer of a sender, which has one at a time.
#[derive(Debug)]
pub(super) struct Timer {
    /// Time at which it expires; never if it is not set.
    pub deadline: Time,
    pub purpose: Purpose,
    /// True if the deadline is a tick at which the timer can expire.
    at_tick: bool,
}

impl Timer {
    /// A timer that is not set.
    pub const STOPPED: Timer = Timer {
        deadline: Time::NEVER,
        purpose: Purpose::Retransmission,
        at_tick: false,
    };

    /// Sets the timer for this purpose.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn set(&mut self, purpose: Purpose, deadline: Time) {
        (self.purpose, self.at_tick, self.deadline) = (purpose, false, deadline);
    }

    /// Puts the deadline off to a tick at which the timer can expire.
    pub fn put_off(&mut self, tick: Time) {
        (self.deadline, self.at_tick) = (tick, true);
    }

    /// True if the deadline is a tick at which the timer can expire.
    pub const fn is_at_tick(&self) -> bool {
        self.at_tick
    }
}

/// Returns the first tick at or after `deadline` at which a timer of that `timeout` can expire.
pub(super) fn tick_after(deadline: Time, timeout: Span, tick: Span) -> Time {
    Time::from_nanos(deadline.as_nanos().next_multiple_of(granule(timeout, tick)))
}

/// Returns the first such tick after `deadline`: a timer of Linux never expires at the tick for
/// which it was set (`calc_index`).
pub(super) fn tick_beyond(deadline: Time, timeout: Span, tick: Span) -> Time {
    let granule = granule(timeout, tick);
    Time::from_nanos((deadline.as_nanos() / granule + 1).saturating_mul(granule))
}

/// Returns the nanoseconds between the ticks at which a timer of that `timeout` can expire.
fn granule(timeout: Span, tick: Span) -> u64 {
    let coarse = timeout >= tick * EXACT_TICKS;
    tick.as_nanos() * if coarse { COARSE_TICKS } else { 1 }
}

/// Returns a timeout in whole ticks (`usecs_to_jiffies`).
pub(super) fn in_ticks(timeout: Span, tick: Span) -> Span {
    match tick.as_nanos() {
        0 => timeout,
        tick => Span::from_nanos(timeout.as_nanos().next_multiple_of(tick)),
    }
}
