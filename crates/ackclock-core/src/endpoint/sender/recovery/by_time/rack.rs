//! RACK (RFC 8985 section 6): finds losses by the time since a segment was sent.
//!
//! A segment is lost if one that was sent later has arrived, and the reordering window has passed
//! since then. The [scoreboard](super::scoreboard) applies that to its records. This module keeps
//! the segment sent last among those that arrived, and sets the reordering window. Where Linux
//! differs from the RFC, this is Linux (`tcp_recovery.c`, `tcp_input.c` of 6.18).

use crate::endpoint::scoreboard::Delivered;
use ackclock_spec::units::{Span, Time};

/// Largest factor of the reordering window.
const MOST_STEPS: u64 = 255;
/// Number of recoveries for which a larger reordering window lasts.
const PERSISTENCE: u32 = 16;
/// Largest degree of reordering that is counted, in segments.
const MOST_REORDERING: u64 = 300;

/// State of RACK.
#[derive(Debug)]
pub(super) struct Rack {
    /// Sending time and number of the segment sent last among those that arrived.
    latest: (Time, u64),
    /// Round-trip time of the segment that arrived last.
    rtt: Span,
    /// True if a segment has arrived since losses were last looked for.
    pub advanced: bool,
    /// Reordering window, in quarters of the smallest round-trip time.
    steps: u64,
    /// Number of recoveries after which `steps` returns to one.
    persist: u32,
    /// True if a report of duplicates waits for the next delivery, which lets `steps` grow.
    reported: bool,
    /// Time at which `steps` last grew.
    grown_at: Time,
    /// Degree of reordering seen, in segments; at least the threshold of duplicate ACKs.
    reordering: u64,
    /// Threshold of duplicate ACKs.
    threshold: u64,
    reordering_seen: bool,
}

impl Rack {
    /// Creates it with a threshold of duplicate ACKs, in segments.
    pub fn new(threshold: u64) -> Self {
        Rack {
            latest: (Time::ZERO, 0),
            rtt: Span::ZERO,
            advanced: false,
            steps: 1,
            persist: 0,
            reported: false,
            grown_at: Time::ZERO,
            reordering: threshold,
            threshold,
            reordering_seen: false,
        }
    }

    /// Returns the sending time and the number of the segment sent last among those that arrived.
    pub const fn latest(&self) -> (Time, u64) {
        self.latest
    }
    /// Returns the round-trip time of the segment that arrived last.
    pub const fn rtt(&self) -> Span {
        self.rtt
    }
    /// Returns the degree of reordering seen, in segments.
    pub const fn reordering(&self) -> u64 {
        self.reordering
    }
    /// True if more reordering was seen than duplicate ACKs tolerate.
    pub const fn tolerates_reordering(&self) -> bool {
        self.reordering > self.threshold
    }

    /// Records that a segment has arrived (steps 1 and 2). The ACK of a retransmission that comes
    /// within `min_rtt` is that of the original.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn on_delivered(&mut self, delivered: &Delivered, now: Time, min_rtt: Option<Span>) {
        let rtt = now.since(delivered.sent_at);
        if delivered.ambiguous && min_rtt.is_some_and(|least| rtt < least) {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        self.latest = self.latest.max((delivered.sent_at, delivered.sequence));
    }

    /// Records that `low`, sent once, arrived after segments before `end` (step 3), which Linux
    /// counts from `low` on. Returns true if that is reordering.
    pub fn note_reordering(&mut self, low: u64, end: u64) -> bool {
        let Some(degree) = end.checked_sub(low).filter(|&degree| degree > 0) else {
            return false;
        };
        self.reordering = self.reordering.max(degree.min(MOST_REORDERING));
        self.reordering_seen = true;
        true
    }

    /// Records that more duplicate ACKs came than segments can have arrived, of `outstanding` ones
    /// (`tcp_check_reno_reordering`).
    pub fn set_reordering(&mut self, outstanding: u64) {
        self.reordering = outstanding.min(MOST_REORDERING);
        self.reordering_seen = true;
    }

    /// Records that a timeout found `sacked` segments beyond the hole: so many would not have been
    /// needed, so the degree of reordering was overestimated.
    pub fn forget_reordering(&mut self, sacked: u64) {
        if sacked >= self.threshold {
            self.reordering = self.threshold;
        }
    }

    /// Records the report of a duplicate: a retransmission was spurious, so the window will grow
    /// (step 4), if reordering was seen.
    pub fn on_duplicate(&mut self) {
        self.reported |= self.reordering_seen;
    }

    /// True if the next delivery adapts the window.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub const fn is_to_adapt(&self) -> bool {
        self.reported || (self.persist == 0 && self.steps > 1)
    }

    /// Adapts the window at an ACK that delivers data, sent last at `newest`. A round trip later
    /// than it last grew, a report lets it grow (`tcp_rack_update_reo_wnd`).
    pub fn adapt(&mut self, now: Time, newest: Time) {
        if std::mem::take(&mut self.reported) && newest >= self.grown_at {
            self.steps = (self.steps + 1).min(MOST_STEPS);
            self.persist = PERSISTENCE;
            self.grown_at = now;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// Records the end of a recovery that was necessary.
    pub fn on_recovery_end(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }
    /// Records a reduction that reports of duplicates proved unnecessary.
    pub fn on_undo(&mut self) {
        self.persist = (self.persist + 1).min(PERSISTENCE);
    }

    /// Returns the reordering window (step 4). Without reordering it is zero once recovery has
    /// begun, or as soon as `sacked` segments would begin it.
    pub fn window(
        &self,
        recovering: bool,
        sacked: u64,
        min_rtt: Option<Span>,
        smoothed_rtt: Option<Span>,
    ) -> Span {
        if !self.reordering_seen && (recovering || sacked >= self.threshold) {
            return Span::ZERO;
        }
        let quarter = min_rtt.unwrap_or(Span::ZERO).as_nanos() / 4;
        let window = Span::from_nanos(quarter.saturating_mul(self.steps));
        window.min(smoothed_rtt.unwrap_or(Span::FOREVER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_millis(1);

    fn window(rack: &Rack, recovering: bool, sacked: u64) -> Span {
        rack.window(recovering, sacked, Some(MS * 40), Some(MS * 50))
    }

    /// Checks the reordering windows of a path with 40 ms at least and 50 ms on average.
    #[test]
    fn the_window_grows_by_quarters_of_the_smallest_round_trip() {
        let mut rack = Rack::new(3);
        assert_eq!(window(&rack, false, 2), MS * 10);
        assert_eq!(window(&rack, false, 3), Span::ZERO);
        assert_eq!(window(&rack, true, 0), Span::ZERO);
        rack.on_duplicate();
        assert_eq!(window(&rack, false, 0), MS * 10, "no reordering seen yet");
        assert!(rack.note_reordering(1, 9) && !rack.note_reordering(9, 9));
        assert_eq!(window(&rack, true, 3), MS * 10);
        let at = |ms| Time::ZERO + MS * ms;
        for (newest, expected) in [(0, 20), (9, 20), (10, 30), (20, 40), (30, 50), (40, 50)] {
            rack.on_duplicate();
            rack.adapt(at(newest + 10), at(newest));
            assert_eq!(window(&rack, true, 3), MS * expected, "SRTT is the most");
        }
    }

    #[test]
    fn a_larger_window_lasts_for_sixteen_recoveries() {
        let mut rack = Rack::new(3);
        rack.note_reordering(1, 9);
        rack.on_duplicate();
        assert!(rack.is_to_adapt());
        rack.adapt(Time::ZERO + MS, Time::ZERO);
        (0..15).for_each(|_| rack.on_recovery_end());
        assert_eq!(window(&rack, true, 0), MS * 20);
        rack.on_recovery_end();
        assert_eq!(window(&rack, true, 0), MS * 20, "until data is delivered");
        rack.adapt(Time::ZERO + MS * 2, Time::ZERO + MS);
        assert_eq!(window(&rack, true, 0), MS * 10);
    }

    #[test]
    fn the_ack_of_the_original_is_not_that_of_the_retransmission() {
        let mut rack = Rack::new(3);
        let at = |ms| Time::ZERO + MS * ms;
        let delivered = |sequence, ms, ambiguous| Delivered {
            sequence,
            index: 0,
            sent_at: at(ms),
            ambiguous,
        };
        rack.on_delivered(&delivered(5, 10, false), at(50), Some(MS * 40));
        assert_eq!((rack.latest(), rack.rtt()), ((at(10), 5), MS * 40));
        rack.on_delivered(&delivered(2, 30, true), at(50), Some(MS * 40));
        assert_eq!(rack.latest(), (at(10), 5));
        rack.on_delivered(&delivered(4, 10, false), at(60), Some(MS * 40));
        assert_eq!((rack.latest(), rack.rtt()), ((at(10), 5), MS * 50));
    }
}
