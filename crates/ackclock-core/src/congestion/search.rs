//! SEARCH (draft-chung-ccwg-search-09, as neqo has it): ends slow start when delivery falls short
//! of what was sent a round trip before.
//!
//! Time is cut into bins. At the end of each, the data delivered in the last W bins is compared
//! with the data sent in the W bins that ended a round trip before. Below the path's capacity both
//! are equal, however the round-trip time varies, as all that was sent arrives a round trip later.
//! With a queue they differ: it lengthens the round trip, while the window of W bins stays as long.

use super::Ack;
use super::window::Window;
use ackclock_spec::units::{Span, Time};

/// Bins in a window (W).
const WINDOW: usize = 10;
/// Bins by which the window of sent data may lie back (EXTRA_BINS). A longer round trip is not
/// compared.
const EXTRA: usize = 15;
/// Tenths of the first round-trip time in a window (WINDOW_SIZE_FACTOR, 3.5).
const WINDOW_TENTHS: u64 = 35;
/// Bins of a round trip, rounded up: 1/0.35.
const ROUND_TRIP: usize = 3;
/// Smallest window of the drain, in segments.
const LEAST: f64 = 10.0;
/// Acknowledged segments for each that the drain sends.
const ACKED_PER_SENT: f64 = 3.0;
/// Shortfall that ends slow start, as a share of the sent data (THRESH).
const THRESHOLD: f64 = 0.26;

/// State of one connection.
#[derive(Debug)]
pub(super) struct Search {
    /// Length of a bin; zero before the first round-trip time is known.
    bin: Span,
    /// Number of the last bin that has ended, and the time at which the next one does.
    last: usize,
    bin_end: Time,
    /// Data delivered and sent by the end of each bin, in bytes.
    delivered: History<{ WINDOW + 1 }>,
    sent: History<{ WINDOW + EXTRA + 1 }>,
}

/// The last `N` values of a sequence.
#[derive(Debug)]
struct History<const N: usize>([u64; N]);

impl<const N: usize> History<N> {
    const fn at(&self, index: usize) -> u64 {
        self.0[index % N]
    }
    const fn set(&mut self, index: usize, value: u64) {
        self.0[index % N] = value;
    }
    /// Returns the growth over the window that ends with `index`.
    const fn window(&self, index: usize) -> u64 {
        self.at(index).saturating_sub(self.at(index - WINDOW))
    }
}

impl Search {
    pub const fn new() -> Self {
        Search {
            bin: Span::ZERO,
            last: 0,
            bin_end: Time::ZERO,
            delivered: History([0; WINDOW + 1]),
            sent: History([0; WINDOW + EXTRA + 1]),
        }
    }

    /// Processes an ACK in slow start. Returns true if slow start is over.
    pub fn is_over(&mut self, now: Time, ack: &Ack) -> bool {
        let Some(rtt) = ack.newest_rtt else {
            return false;
        };
        let sent = ack.delivered.0.saturating_add(ack.in_flight.0);
        self.advances(now, rtt, ack.delivered.0, sent)
            && self.shortfall(rtt).is_some_and(|share| share >= THRESHOLD)
    }

    /// Returns the bytes that were delivered in the last round trip, which is the first one here.
    pub const fn arrived_lately(&self) -> u64 {
        let before = self.last.saturating_sub(ROUND_TRIP);
        let since = self.delivered.at(before);
        self.delivered.at(self.last).saturating_sub(since)
    }

    /// Takes in the data delivered and sent so far. Returns true if a bin has ended.
    fn advances(&mut self, now: Time, rtt: Span, delivered: u64, sent: u64) -> bool {
        if self.bin == Span::ZERO {
            self.bin = rtt * WINDOW_TENTHS / 10 / WINDOW as u64;
            self.bin_end = now + self.bin;
            self.last = 0;
            self.record(delivered, sent);
            return false;
        }
        if now <= self.bin_end {
            return false;
        }
        let ended = now.since(self.bin_end).as_nanos() / self.bin.as_nanos() + 1;
        if ended > WINDOW as u64 {
            // What was recorded is too old: the flow was idle. The next ACK begins again.
            self.bin = Span::ZERO;
            return false;
        }
        let (before, sent_before) = (self.delivered.at(self.last), self.sent.at(self.last));
        for _ in 1..ended {
            self.last += 1;
            self.record(before, sent_before);
        }
        self.last += 1;
        self.record(delivered, sent);
        self.bin_end = self.bin_end + self.bin * ended;
        true
    }

    fn record(&mut self, delivered: u64, sent: u64) {
        self.delivered.set(self.last, delivered);
        self.sent.set(self.last, sent);
    }

    /// Returns by which share the delivered data falls short of the sent data (norm_diff), negative
    /// if it exceeds it; `None` if the bins do not reach back a round trip and a window.
    fn shortfall(&self, rtt: Span) -> Option<f64> {
        let back = usize::try_from(rtt.as_nanos() / self.bin.as_nanos()).ok()?;
        let end = self.last.checked_sub(back)?;
        if end <= WINDOW || back >= EXTRA {
            return None;
        }
        // A round trip ends within a bin. The draft interpolates with the bin after; before it is
        // where a longer round trip leads.
        let rest = rtt.as_nanos() % self.bin.as_nanos();
        let rest = rest as f64 / self.bin.as_nanos() as f64;
        let sent =
            (1.0 - rest) * self.sent.window(end) as f64 + rest * self.sent.window(end - 1) as f64;
        let delivered = self.delivered.window(self.last) as f64;
        (sent > 0.0).then(|| (sent - delivered) / sent)
    }
}

/// The drain after a slow start that SEARCH has ended, as version 4.0 of its module for Linux has
/// it: the window follows what is in flight, and a segment leaves for every three acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drain {
    /// Window at which it ends, in bytes.
    target: f64,
    /// Acknowledged bytes for which nothing has left.
    counted: f64,
}

impl Drain {
    /// Begins a drain to `target` bytes.
    pub fn new(target: f64, window: &Window) -> Self {
        Drain {
            target: target.max(LEAST * window.mss()).min(window.cwnd()),
            counted: 0.0,
        }
    }

    /// Processes an ACK. Returns true at the end.
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack) -> bool {
        let each = ACKED_PER_SENT * window.mss();
        self.counted += ack.newly_delivered.as_f64();
        let leave = libm::floor(self.counted / each);
        self.counted -= leave * each;
        let cwnd = ack.in_flight.as_f64() + leave * window.mss();
        window.lower(cwnd.max(self.target));
        window.cwnd() <= self.target
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{AckClock, MSS, context};
    use super::*;
    use ackclock_spec::streams::Streams;
    use ackclock_spec::units::Bytes;
    use serde_json::json;

    const RTT: Span = Span::from_millis(100);

    /// Feeds the data delivered and sent by time, at every millisecond. Returns the time at which
    /// slow start is over, in seconds.
    fn exit(
        from_s: f64,
        rtt_s: impl Fn(f64) -> f64,
        delivered: impl Fn(f64) -> f64,
        sent: impl Fn(f64) -> f64,
    ) -> Option<f64> {
        let mut search = Search::new();
        (0..10_000).find_map(|millisecond| {
            let passed = f64::from(millisecond) / 1000.0;
            let at = from_s + passed;
            let now = Time::from_seconds(passed);
            let rtt = Span::from_seconds(rtt_s(at));
            let over = search.advances(now, rtt, delivered(at) as u64, sent(at) as u64)
                && search
                    .shortfall(rtt)
                    .is_some_and(|share| share >= THRESHOLD);
            over.then_some(at)
        })
    }

    /// Bins last 0.35 of the first round trip: 21 ms at 60 ms, 35 ms at 100 ms.
    #[test]
    fn ten_bins_are_three_and_a_half_round_trips() {
        for (rtt, bin) in [(60, 21), (100, 35)] {
            let mut search = Search::new();
            search.advances(Time::ZERO, Span::from_millis(rtt), 0, 0);
            assert_eq!(search.bin, Span::from_millis(bin));
        }
    }

    /// With 35 ms a bin, 100 ms are 2 bins and 0.857 of one.
    #[test]
    fn a_round_trip_within_a_bin_is_interpolated() {
        let mut search = Search::new();
        // Sends 1000 bytes in every bin but the tenth from the last, which has 8000.
        let mut sent = 0;
        for bin in 0..=20_u64 {
            sent += if bin == 8 { 8000 } else { 1000 };
            let now = Time::ZERO + Span::from_millis(35) * bin + Span::from_nanos(bin.min(1));
            search.advances(now, RTT, 1000 * bin, sent);
        }
        assert_eq!(search.last, 20);
        // Windows that end with bins 18 and 17: (8, 18] has ten times 1000, (7, 17] also bin 8.
        let rest = 0.3 / 0.35;
        let expected = (1.0 - rest) * 10_000.0 + rest * 17_000.0;
        let shortfall = search.shortfall(RTT).unwrap();
        assert!(
            (shortfall - (1.0 - 10_000.0 / expected)).abs() < 1e-6,
            "{shortfall}"
        );
    }

    /// The first comparison needs a window, one bin more, and a round trip: 13 bins at 100 ms.
    #[test]
    fn nothing_is_compared_before_a_window_and_a_round_trip() {
        let mut search = Search::new();
        let compared = (0..30_u64).find(|&bin| {
            let now = Time::ZERO + Span::from_millis(35) * bin + Span::from_nanos(bin.min(1));
            search.advances(now, RTT, 1000 * bin, 1000 * bin);
            search.shortfall(RTT).is_some()
        });
        assert_eq!(compared, Some(13));
        // 600 ms are 17 bins: 15 and more are not compared; 14 are.
        assert_eq!(search.shortfall(Span::from_millis(600)), None);
        assert_eq!(search.shortfall(Span::from_millis(15 * 35)), None);
    }

    #[test]
    fn after_an_idle_window_it_begins_again() {
        let mut search = Search::new();
        search.advances(Time::ZERO, RTT, 0, 0);
        let bin = Span::from_millis(35);
        // Ten bins have ended, then eleven.
        let now = Time::ZERO + bin * 10 + Span::from_nanos(1);
        assert!(search.advances(now, RTT, 1000, 1000));
        assert_eq!((search.last, search.delivered.at(9)), (10, 0));
        let now = Time::ZERO + bin * 21 + Span::from_nanos(1);
        assert!(!search.advances(now, RTT, 2000, 2000));
        assert!(!search.advances(now, RTT * 2, 2000, 2000));
        assert_eq!((search.bin, search.last), (bin * 2, 0));
    }

    /// The window doubles each round trip, and round-trip times vary by a fifth, all below the
    /// capacity: all that was sent arrives. Slow start goes on.
    #[test]
    fn jitter_below_the_capacity_ends_nothing() {
        let rtt = |at: f64| 0.1 * (1.0 + 0.2 * libm::sin(40.0 * at));
        let sent = |at: f64| 1e4 * libm::exp2(at / 0.1);
        // What was sent at t arrives at t + rtt(t); its inverse by fixed point.
        let departed = |at: f64| (0..50).fold(at, |sent_at, _| at - rtt(sent_at));
        let delivered = |at: f64| sent(departed(at));
        assert_eq!(exit(0.0, |at| at - departed(at), delivered, sent), None);
    }

    /// A path of capacity 1 and round-trip time 1 with a buffer without end, from the closed form.
    ///
    /// Delivered is D = 2^t/ln 2 up to t = 0, where the path is full, and 1/ln 2 + t from there.
    /// Slow start sends twice as much: X = 2 D. The last that arrives at t was sent at u with
    /// X(u) = D(t), and the round-trip time is t − u. With a window of 3.5, the shortfall is
    /// 1 − (D(t) − D(t − 3.5))/(X(u) − X(u − 3.5)), which is 0.26 at t = 3.89. By then X − D = 5.33
    /// bandwidth-delay products are in flight.
    #[test]
    fn over_a_deep_buffer_it_ends_after_four_round_trips_of_a_full_path() {
        let ln2 = std::f64::consts::LN_2;
        let delivered = |t: f64| {
            if t < 0.0 {
                libm::exp2(t) / ln2
            } else {
                1.0 / ln2 + t
            }
        };
        let sent = |t: f64| 2.0 * delivered(t);
        let departed = |t: f64| {
            let sent_at = (delivered(t) - 2.0 / ln2) / 2.0;
            if sent_at >= 0.0 {
                sent_at
            } else {
                libm::log2(delivered(t) * ln2 / 2.0)
            }
        };
        let shortfall = |t: f64| {
            let u = departed(t);
            1.0 - (delivered(t) - delivered(t - 3.5)) / (sent(u) - sent(u - 3.5))
        };
        let expected = (0..)
            .map(|n| f64::from(n) * 1e-4)
            .find(|&t| shortfall(t) >= THRESHOLD)
            .unwrap();
        assert!((expected - 3.89).abs() < 0.01, "{expected}");
        assert!((sent(expected) - delivered(expected) - 5.33).abs() < 0.01);
        // Units of 100 ms and 10 MB. It looks only at the end of bins, of 0.35 round trips; the
        // linear interpolation of an exponential adds a few hundredths.
        let bytes = 1e7;
        let start = -1.2;
        let over = exit(
            start,
            |at| 0.1 * (at / 0.1 - departed(at / 0.1)),
            |at| bytes * delivered(at / 0.1),
            |at| bytes * sent(at / 0.1),
        )
        .unwrap()
            / 0.1;
        assert!(
            (expected - 0.1..expected + 0.35 + 0.02).contains(&over),
            "{over}"
        );
    }

    /// 300 segments in flight, 150 of which arrived in the last round trip: one leaves for three
    /// that arrive. The specification computed 224 and 74 by hand.
    #[test]
    fn the_drain_sends_a_segment_for_every_three() {
        let mut clock = AckClock::new(&json!({ "kind": "reno" }), RTT, 300, None);
        let streams = Streams::new(1, 0);
        let mut window = Window::new(&context(&streams, 300, None));
        let mut drain = Drain::new(150.0 * MSS as f64, &window);
        let (mut flight, mut acked, mut sent) = (300 * MSS, 0, 0);
        loop {
            flight -= MSS;
            acked += 1;
            let ack = Ack {
                newly_delivered: Bytes(MSS),
                in_flight: Bytes(flight),
                ..clock.ack_of(MSS)
            };
            clock.now = clock.now + Span::from_millis(1);
            let ends = drain.on_ack(&mut window, &ack);
            while flight + MSS <= window.cwnd() as u64 {
                flight += MSS;
                sent += 1;
            }
            if ends {
                break;
            }
        }
        assert_eq!((acked, sent, flight / MSS), (224, 74, 150));
    }

    #[test]
    fn without_a_queue_slow_start_goes_on() {
        for kind in ["reno", "cubic"] {
            let tree = json!({ "kind": kind, "slow_start_exit": "search" });
            let mut clock = AckClock::new(&tree, RTT, 10, None);
            (0..15).for_each(|_| clock.round());
            assert_eq!(clock.control.state().mode, "slow_start", "{kind}");
        }
    }
}
