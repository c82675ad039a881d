//! Bursts of Linux's segmentation offload (`tcp_tso_autosize`, `tcp_tso_should_defer`).

use super::super::pacing::{AVOIDANCE_GAIN, SLOW_START_GAIN};
use super::super::parameters::WindowValidation;
use super::Sender;
use super::connection::Connection;
use super::recovery::Recovery;
use crate::congestion::{RecoveryPhase, SendLimit};
use ackclock_spec::units::{Bytes, Span, Time};

/// A burst has what the pacing rate sends in this fraction of a second (`sk_pacing_shift` = 10),
/// and at least so many segments (`tcp_min_tso_segs`).
const BURSTS_PER_SECOND: f64 = 1024.0;
const LEAST_BURST: u64 = 2;

/// Time after something was sent in which new data may wait for the next ACK.
const BURST_TIME: Span = Span::from_millis(1);

/// Largest burst in bytes. On a path without delay it may leave whatever the rate; each 512 µs of
/// the smallest round-trip time halve that (`tcp_tso_rtt_log` = 9).
const LARGEST_BURST: u64 = 65_536;
const BURST_HALVING_NS: u64 = 512_000;

/// A burst of new segments, which leave at one instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burst {
    /// True if the sender has bursts.
    pub(super) on: bool,
    /// Segments of it that have not left.
    left: u16,
    /// True if the last one carries PSH.
    pushed: bool,
    /// True if new data waits for an ACK or a write: no timer lets it leave.
    pub(super) held: bool,
}

impl Burst {
    pub(super) fn new(on: bool) -> Burst {
        Burst {
            on,
            left: 0,
            pushed: false,
            held: false,
        }
    }
}

impl Sender {
    /// True if new data leaves with what has left at this instant.
    pub(super) fn is_within_burst(&self, now: Time) -> bool {
        self.connection.transmission.burst.left > 0 && self.connection.transmission.active_at == now
    }

    /// True if new data waits for the next ACK. A timer that expires before does not let it leave,
    /// unless it sends a probe.
    #[inline(always)] // so that what is asked at every burst is one call
    pub(super) fn holds_back(&mut self, now: Time) -> bool {
        if self.recovery.is_urgent(&self.connection) {
            return false;
        }
        let held = self.connection.transmission.burst.held || self.defers(now);
        if held {
            let connection = &mut self.connection;
            connection.transmission.burst.held = true;
            connection.data.fill_buffers(&connection.scoreboard);
        }
        held
    }

    /// True if new data waits for the next ACK to fill a burst (`tcp_tso_should_defer` of Linux
    /// 6.18). It waits only if something left in the last millisecond and the ACK is due within
    /// one: the first segment in flight left a smoothed round trip ago, or nearly. In recovery
    /// nothing waits, nor does a third of the smaller window, nor the end of a buffer.
    #[inline(never)] // only for senders with segmentation offload
    pub(super) fn defers(&mut self, now: Time) -> bool {
        let Connection {
            scoreboard,
            data,
            transmission,
            ..
        } = &self.connection;
        let phase = self.connection.episode.phase();
        if now.since(transmission.active_at.max(transmission.pacer.next())) > BURST_TIME
            || !matches!(phase, RecoveryPhase::Open | RecoveryPhase::Cwr)
        {
            return false;
        }
        let Some((first, _)) = scoreboard.head() else {
            return false;
        };
        let mss = self.connection.mss;
        let room = self.window_room().min(self.receive_room()) / mss;
        let waiting = data.available.saturating_sub(scoreboard.next());
        let round_trip = self
            .connection
            .meter
            .rtt
            .smoothed()
            .unwrap_or(Span::FOREVER)
            .as_nanos();
        let end_waits = || {
            let end = data.buffer_end(scoreboard);
            end.is_none_or(|end| end - scoreboard.next() > room)
        };
        let soon = BURST_TIME.as_nanos().min(round_trip / 2);
        let defers = waiting > 1
            && 3 * room * mss < self.connection.control.cwnd().0.min(data.receive_window)
            && now.since(first).as_nanos() >= round_trip - soon
            && room < self.burst_length()
            && end_waits();
        if defers && room <= waiting {
            self.note_limit_of_deferral();
        }
        defers
    }

    /// Records which window leaves room for less than what waits.
    fn note_limit_of_deferral(&mut self) {
        let limit = match self.window_room() < self.receive_room() {
            true => SendLimit::CongestionWindow,
            false => SendLimit::ReceiveWindow,
        };
        self.connection.meter.round.note(limit);
        self.connection.meter.usage.limited |= limit == SendLimit::CongestionWindow
            && self.connection.parameters.growth.window_validation == WindowValidation::Full;
    }

    /// Counts a segment into its burst, before it is sent. True if it ends a burst of two or more.
    #[inline(never)] // only for senders that push bursts
    pub(super) fn ends_burst(&mut self, now: Time) -> bool {
        if !self.is_within_burst(now) {
            let mut length = self
                .ready()
                .min(self.connection.control.cwnd().0 / self.connection.mss / 2)
                .max(1);
            if length > LEAST_BURST || self.connection.control.pace().burst.is_some() {
                length = length.min(self.burst_length());
            }
            self.connection.transmission.burst.left = u16::try_from(length).unwrap_or(u16::MAX);
            self.connection.transmission.burst.pushed = length > 1;
        }
        self.connection.transmission.burst.left -= 1;
        self.connection.transmission.burst.left == 0 && self.connection.transmission.burst.pushed
    }

    /// Returns the largest number of segments in a burst of Linux: what its pacing rate sends in a
    /// millisecond, more if the round trip is short (`tcp_tso_autosize`). A control may have bursts
    /// of its own (`tso_segs`).
    pub fn burst_length(&self) -> u64 {
        let control = self.connection.control.get();
        let pace = self.connection.control.pace();
        if let Some(Bytes(most)) = pace.burst {
            return (most / self.connection.mss).max(1);
        }
        let (cwnd, ssthresh) = (control.cwnd().0, control.state().ssthresh);
        let gain = if ssthresh.is_none_or(|ssthresh| cwnd < ssthresh.0 / 2) {
            SLOW_START_GAIN
        } else {
            AVOIDANCE_GAIN
        };
        let round_trip = self
            .connection
            .meter
            .rtt
            .smoothed()
            .map_or(f64::INFINITY, Span::as_seconds);
        let rate = match pace.rate {
            Some(rate) => rate.as_byte_per_s(),
            None => gain * self.connection.rated_window() as f64 / round_trip,
        };
        let paced = rate / BURSTS_PER_SECOND;
        let halvings = self
            .connection
            .meter
            .rtt
            .minimum()
            .map_or(u64::MAX, Span::as_nanos)
            / BURST_HALVING_NS;
        let near = if halvings < 32 {
            LARGEST_BURST >> halvings
        } else {
            0
        };
        let bytes = (paced as u64).saturating_add(near).min(LARGEST_BURST);
        (bytes / self.connection.mss).max(LEAST_BURST)
    }
}
