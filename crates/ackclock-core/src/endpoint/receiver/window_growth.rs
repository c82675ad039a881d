//! Growth of Linux's receive buffer and of the window that it advertises (`tcp_grow_window`,
//! `tcp_rcv_rtt_update`, `tcp_rcv_space_adjust`).

use ackclock_spec::units::{Bytes, Span, Time};

/// Advertised window at the start, and the largest that the initial buffer allows: what a Linux of
/// 128 KiB (`tcp_rmem[1]`) advertises, as captured from version 6.18.
const INITIAL_WINDOW: u64 = 65_536;
const INITIAL_LIMIT: u64 = 81_920;

/// Largest window: that of 6 MiB (`tcp_rmem[2]`).
const LARGEST: u64 = INITIAL_LIMIT * 48;

const NANOS_PER_MS: u64 = 1_000_000;

/// Segments counted at first as if they had arrived in a round trip (`TCP_INIT_CWND`).
const INITIAL_SEGMENTS: u64 = 10;

/// The window that a receiver advertises. Its application reads at once.
#[derive(Debug)]
pub(super) struct WindowGrowth {
    mss: u64,
    /// The window advertised, and the largest that the buffer allows, in bytes.
    window: u64,
    limit: u64,
    /// Most bytes that arrived within a round trip, and those of the present one.
    most: u64,
    arrived: u64,
    /// When the present round trip began.
    began: Time,
    syn_at: Time,
    /// The round trip of the handshake, and how long its first segment was under way.
    round_trip: Span,
    first_way: Span,
    /// The receiver's estimate of the round trip, in eighths of a microsecond; zero if unknown.
    estimate: u64,
    /// When the segments of the last sample were sent, in milliseconds.
    sampled_ms: u64,
}

impl WindowGrowth {
    pub fn new(mss: Bytes) -> Self {
        WindowGrowth {
            mss: mss.0,
            window: INITIAL_WINDOW,
            limit: INITIAL_LIMIT,
            most: INITIAL_SEGMENTS * mss.0,
            arrived: 0,
            began: Time::NEVER,
            syn_at: Time::NEVER,
            round_trip: Span::FOREVER,
            first_way: Span::ZERO,
            estimate: 0,
            sampled_ms: u64::MAX,
        }
    }

    /// Records that the SYN has arrived.
    pub fn begin(&mut self, now: Time) {
        self.syn_at = now;
    }

    /// Returns the round trip of the handshake, [`Span::FOREVER`] if there was none.
    pub fn round_trip(&self) -> Span {
        self.round_trip
    }

    /// Counts a segment that arrived in order. Returns true if the advertised window grows.
    pub fn handle_segment(&mut self, now: Time, sent: Time, length: Bytes) -> bool {
        let way = now.since(sent);
        if self.began.is_never() {
            self.began = now;
            if !self.syn_at.is_never() {
                (self.round_trip, self.first_way) = (now.since(self.syn_at), way);
            }
        }
        let grows = self.window < self.limit;
        if grows {
            self.window = (self.window + 2 * self.mss).min(self.limit);
        }
        self.arrived += length.0;
        if self.round_trip < Span::FOREVER {
            self.measure(now, sent);
        }
        let elapsed_us = now.since(self.began).as_nanos() / 1_000;
        if self.estimate > 0 && elapsed_us >= self.estimate / 8 {
            self.end_round(now);
        }
        grows
    }

    /// Estimates the round trip: a shorter one counts at once, a longer one for an eighth.
    ///
    /// Linux subtracts timestamps of whole milliseconds. It takes one sample of the segments that
    /// echo the same one; here these are those sent in the same millisecond.
    fn measure(&mut self, now: Time, sent: Time) {
        let sent_ms = sent.as_nanos() / NANOS_PER_MS;
        if std::mem::replace(&mut self.sampled_ms, sent_ms) == sent_ms {
            return;
        }
        // The queue's delay is part of the round trip.
        let round_trip = self.round_trip + now.since(sent) - self.first_way;
        let echoed = now.as_nanos().saturating_sub(round_trip.as_nanos());
        let sample = 1_000 * (now.as_nanos() / NANOS_PER_MS - echoed / NANOS_PER_MS);
        if sample == 0 {
            return;
        }
        self.estimate = if self.estimate == 0 || 8 * sample < self.estimate {
            8 * sample
        } else {
            self.estimate - self.estimate / 8 + sample
        };
    }

    /// Sizes the buffer for twice what arrived, and more while that still grows.
    fn end_round(&mut self, now: Time) {
        let arrived = std::mem::take(&mut self.arrived);
        self.began = now;
        if arrived <= self.most {
            return;
        }
        let doubled = 2 * arrived;
        let further = doubled * (arrived - self.most) / self.most;
        self.limit = self.limit.max((doubled + 2 * further).min(LARGEST));
        self.most = arrived;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;
    const MS: Span = Span::from_millis(1);

    /// Lets a round of segments arrive, each 100 ms under way. Returns how many of them made the
    /// window grow.
    fn round(growth: &mut WindowGrowth, at_ms: u64, segments: u64) -> usize {
        let grows = |index: u64| {
            let sent = Time::ZERO + MS * (at_ms - 100) + Span::from_nanos(index * 600_000);
            growth.handle_segment(sent + MS * 100, sent, Bytes(MSS))
        };
        (0..segments).map(grows).filter(|grows| *grows).count()
    }

    /// Slow start over 200 ms with ten segments at first. A Linux 6.18 that received it advertised
    /// at most 151,552 bytes in the third round and 346,112 in the fourth, multiples of 2,048.
    #[test]
    fn a_slow_start_is_given_the_windows_of_linux() {
        let mut growth = WindowGrowth::new(Bytes(MSS));
        growth.begin(Time::ZERO + MS * 100);
        assert_eq!(round(&mut growth, 300, 10), 6);
        assert_eq!((growth.window, growth.limit), (81_920, 81_920));
        assert_eq!(round(&mut growth, 500, 20), 0);
        round(&mut growth, 700, 40);
        assert_eq!(growth.window / 2048 * 2048, 151_552);
        round(&mut growth, 900, 80);
        assert_eq!(growth.limit / 2048 * 2048, 346_112);
    }

    /// A shorter round trip counts at once, a longer one for an eighth, both in whole milliseconds.
    #[test]
    fn the_round_trip_is_estimated_as_in_linux() {
        let mut growth = WindowGrowth::new(Bytes(MSS));
        growth.begin(Time::ZERO + MS * 100);
        let mut estimate_us = |sent_ms: u64, way_us: u64| {
            let sent = Time::ZERO + MS * sent_ms;
            growth.handle_segment(sent + Span::from_micros(way_us), sent, Bytes(MSS));
            growth.estimate as f64 / 8.0
        };
        assert_eq!(estimate_us(200, 100_000), 200_000.0);
        assert_eq!(estimate_us(201, 108_000), 201_000.0); // 200 + (208 - 200) / 8
        assert_eq!(estimate_us(201, 116_000), 201_000.0); // echoes the same timestamp
        assert_eq!(estimate_us(250, 99_400), 199_000.0); // from 150.0 to 349.4
        assert_eq!(estimate_us(260, 99_600), 199_000.0);
    }

    #[test]
    fn without_a_handshake_the_round_trip_is_unknown_and_the_buffer_stays() {
        let mut growth = WindowGrowth::new(Bytes(MSS));
        for number in 1..9 {
            round(&mut growth, 200 * number, 100);
        }
        assert_eq!(growth.limit, INITIAL_LIMIT);
    }
}
