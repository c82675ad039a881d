//! A sender that follows the decisions of another stack, so that they can be compared with its own.

use super::recovery::Recovery;
use super::timer::Purpose;
use super::transmit::Choice;
use super::{Sender, State};
use crate::endpoint::Segment;
use ackclock_spec::units::{Span, Time};

/// Longest time between segments of one burst, which a host sends without a gap.
const WITHIN_BURST: Span = Span::from_micros(200);

const ONE_MICROSECOND: Span = Span::from_micros(1);

impl Sender {
    /// Returns the segment that it would send now; `None` if it first needs an ACK, a timer or
    /// data. Pacing and send jitter do not count.
    pub fn would_send(&mut self) -> Option<u64> {
        let waits = self.window_is_full() && !self.recovery.is_urgent(&self.connection);
        if self.state != State::Established || waits {
            return None;
        }
        self.choose().map(|choice| self.number_of(choice))
    }

    /// True if that segment was never sent before.
    pub fn would_send_new_data(&mut self) -> bool {
        self.would_send() == Some(self.connection.scoreboard.highest())
    }

    /// Returns the first segment that is not acknowledged.
    pub fn first_in_flight(&self) -> u64 {
        self.connection.scoreboard.first()
    }

    /// Returns the first segment that was never sent.
    pub fn first_not_sent(&self) -> u64 {
        self.connection.scoreboard.highest()
    }

    /// Returns the number of segments that it would send now, at least approximately.
    pub fn room(&self) -> u64 {
        self.ready()
    }

    /// True if it would send its next new segment if its window were one segment larger.
    pub fn lacks_one_segment(&self) -> bool {
        let (used, window) = (self.used(), self.connection.window());
        self.connection.scoreboard.next() < self.connection.data.available && used <= window
    }

    /// Sends this segment now because the other stack did, even where it would not do so itself.
    /// Returns `None` if the segment is acknowledged, or if one before it was never sent.
    pub fn send_as(&mut self, now: Time, sequence: u64) -> Option<Segment> {
        let next = self.connection.scoreboard.next();
        if self.state != State::Established
            || sequence > next
            || sequence < self.connection.scoreboard.first()
        {
            return None;
        }
        if self.connection.scoreboard.is_empty() {
            self.restart_after_idling(now);
        }
        if now.since(self.connection.transmission.active_at) > WITHIN_BURST {
            // The other stack's pacing lets it leave.
            self.connection.transmission.pacer.end_gap(now);
        }
        let own = self.choose();
        let choice = match own {
            Some(choice) if self.number_of(choice) == sequence => choice,
            _ if sequence == next => Choice::Next,
            _ => Choice::Again(sequence),
        };
        self.connection.transmission.begin_event();
        Some(self.send(now, choice))
    }

    /// Lets the timer expire now because the other stack's did. Has no effect if none is set.
    pub fn expire(&mut self, now: Time) {
        let deadline = &mut self.connection.timer.deadline;
        if !deadline.is_never() {
            *deadline = (*deadline).min(now);
            self.expire_timer(now);
        }
    }

    /// True if its timer sends a segment when it expires; false for that of RACK's reordering
    /// window, which may find nothing to send.
    pub fn timer_sends(&self) -> bool {
        self.connection.timer.purpose != Purpose::Reordering
    }

    /// True if pacing or jitter lets a segment leave at `due`, rather than that a timer expires.
    pub fn is_paced_until(&self, due: Time) -> bool {
        self.connection.transmission.release_at == due
    }

    /// Takes over the other stack's smoothed round-trip time, which that tells in whole
    /// microseconds. The timeout stays.
    pub fn follow_round_trip(&mut self, smoothed: Span) {
        let estimate = &mut self.connection.meter.rtt;
        estimate.bound_smoothed(smoothed, smoothed + (ONE_MICROSECOND - Span::from_nanos(1)));
    }

    fn number_of(&self, choice: Choice) -> u64 {
        let next = self.connection.scoreboard.next();
        choice.again().unwrap_or(next)
    }
}
