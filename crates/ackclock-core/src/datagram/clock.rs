//! The sending time of the next packet.

use super::DatagramParameters;
use crate::rate_control::Clocking;
use ackclock_spec::streams::Stream;
use ackclock_spec::units::{Span, Time};

/// Computes the sending times of packets from a control's [`Clocking`]. A sending time that passes
/// without data is lost, so that an idle application accumulates no credit: the next gap starts
/// when a packet leaves. A driver in real time passes the time at which it should have woken, not
/// the later time at which it did.
#[derive(Debug)]
pub(super) struct SendClock {
    parameters: DatagramParameters,
    stream: Stream,
    clocking: Clocking,
    /// Ideal sending time of the last packet since the origin, and the fraction of a nanosecond by
    /// which it is too early.
    last: Option<(Time, f64)>,
    /// Sending time of the next packet, and the same fraction.
    next: (Time, f64),
    /// Random delay of the next packet, and the sending time of the packet before it.
    late: Span,
    not_before: Time,
    /// Last tick at which packets left, and their number.
    tick: (Time, u32),
    /// Round-trip time, if the control limits bursts to it.
    round_trip: Option<Span>,
    /// Present length of ticks, and whether it may be shorter than the parameters set.
    granularity: Span,
    is_fine: bool,
}

impl SendClock {
    pub fn new(parameters: DatagramParameters, stream: Stream) -> Self {
        let mut clock = SendClock {
            granularity: parameters.granularity,
            is_fine: false,
            parameters,
            stream,
            clocking: Clocking {
                origin: Time::NEVER,
                packets_per_s: 0.0,
            },
            last: None,
            next: (Time::NEVER, 0.0),
            late: Span::ZERO,
            not_before: Time::ZERO,
            tick: (Time::NEVER, 0),
            round_trip: None,
        };
        clock.draw();
        clock
    }

    fn draw(&mut self) {
        if self.parameters.send_jitter > Span::ZERO {
            self.late = self.stream.uniform_span(self.parameters.send_jitter);
        }
    }

    /// Follows a change of the control's clocking.
    pub fn follow(&mut self, clocking: Clocking) {
        if clocking == self.clocking {
            return;
        }
        if clocking.origin != self.clocking.origin {
            self.last = None;
        }
        self.clocking = clocking;
        self.find();
    }

    fn find(&mut self) {
        self.next = match self.last {
            None => (self.clocking.origin, 0.0),
            Some((last, fraction)) => {
                let nanos = 1e9 / self.clocking.packets_per_s + fraction;
                // Also an infinite or undefined gap.
                if nanos < u64::MAX as f64 {
                    let whole = libm::floor(nanos.max(0.0));
                    (
                        last + Span::from_nanos(whole as u64),
                        nanos.max(0.0) - whole,
                    )
                } else {
                    (Time::NEVER, 0.0)
                }
            }
        };
    }

    /// Returns when the next packet leaves, if there is data for it.
    pub fn next(&self) -> Time {
        if self.next.0.is_never() {
            return Time::NEVER;
        }
        let due = (self.next.0 + self.late).max(self.not_before);
        let due = round_up(due, self.granularity);
        if due == self.tick.0 && self.tick.1 >= self.most_at_once() {
            return due + self.granularity;
        }
        due
    }

    /// Allows shorter ticks: the timer can be finer than the chosen tick where a rate needs it.
    pub fn allow_finer_ticks(&mut self) {
        self.is_fine = true;
    }

    /// Limits bursts to a round trip's worth of packets, or one packet (RFC 5348 section 4.6). A
    /// coarse timer then does not keep the rate ("an unavoidable consequence", section 8.3). If
    /// ticks may be shorter, they are halved until two fit into a round trip, which suffices for
    /// any rate in whole packets.
    pub fn keep_bursts_within(&mut self, round_trip: Option<Span>) {
        if round_trip == self.round_trip {
            return;
        }
        self.round_trip = round_trip;
        self.granularity = self.parameters.granularity;
        if let (Some(round_trip), true) = (round_trip, self.is_fine) {
            while self.granularity * 2 > round_trip && self.granularity > Span::from_nanos(1) {
                self.granularity = self.granularity / 2;
            }
        }
    }

    /// Returns the most packets that may leave at one tick: those due and one more, at least the
    /// burst.
    fn most_at_once(&self) -> u32 {
        let owed = self.clocking.packets_per_s * self.granularity.as_seconds();
        let most = (libm::ceil(owed) as u32)
            .saturating_add(1)
            .max(self.parameters.burst.0);
        let Some(round_trip) = self.round_trip else {
            return most;
        };
        let worth = self.clocking.packets_per_s * round_trip.as_seconds();
        most.min((worth as u32).max(1))
    }

    /// Records that a packet leaves at `now`.
    pub fn on_sent(&mut self, now: Time) {
        let granularity = self.granularity;
        if granularity > Span::ZERO {
            let before = if self.tick.0 == now { self.tick.1 } else { 0 };
            self.tick = (now, before + 1);
        }
        // A delay of a tick does not count as late, nor do the random delays of this packet and of
        // the one before it.
        let slack = granularity + self.parameters.send_jitter;
        let moment = match self.next.0 + slack < now {
            true => (
                Time::from_nanos(now.as_nanos() - granularity.as_nanos()),
                0.0,
            ),
            false => self.next,
        };
        self.last = Some(moment);
        self.not_before = now;
        self.draw();
        self.find();
    }
}

/// Rounds up to whole ticks; a tick of zero does not round.
fn round_up(time: Time, tick: Span) -> Time {
    let tick = tick.as_nanos();
    if tick == 0 {
        return time;
    }
    Time::from_nanos(time.as_nanos().div_ceil(tick).saturating_mul(tick))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_spec::streams::Streams;

    fn clock(parameters: DatagramParameters, packets_per_s: f64) -> SendClock {
        let mut clock = SendClock::new(parameters, Streams::new(1, 0).stream("jitter"));
        clock.follow(at(0, packets_per_s));
        clock
    }
    fn at(origin_ns: u64, packets_per_s: f64) -> Clocking {
        Clocking {
            origin: Time::from_nanos(origin_ns),
            packets_per_s,
        }
    }
    /// Returns the sending times up to `until` seconds with unlimited data.
    fn leaving(clock: &mut SendClock, until: f64) -> Vec<Time> {
        let mut all = Vec::new();
        while clock.next() <= Time::from_seconds(until) {
            let now = clock.next();
            clock.on_sent(now);
            all.push(now);
        }
        all
    }

    #[test]
    fn moments_do_not_drift() {
        let mut exact = clock(DatagramParameters::default(), 300.0);
        for (k, now) in leaving(&mut exact, 100.0).into_iter().enumerate() {
            let expected = k as u64 * 1_000_000_000 / 300;
            assert!(now.as_nanos().abs_diff(expected) <= 1, "{k}: {now:?}");
        }
    }

    #[test]
    fn a_new_rate_stretches_the_gap_and_a_new_origin_starts_anew() {
        let mut clock = clock(DatagramParameters::default(), 10.0);
        clock.on_sent(Time::ZERO);
        clock.follow(at(0, 5.0));
        assert_eq!(clock.next(), Time::from_seconds(0.2));
        clock.follow(at(50_000_000, 5.0));
        assert_eq!(clock.next(), Time::from_seconds(0.05));
        clock.follow(at(50_000_000, 0.0));
        assert_eq!(
            clock.next(),
            Time::from_seconds(0.05),
            "the first needs no rate"
        );
        clock.on_sent(Time::from_seconds(0.05));
        assert!(clock.next().is_never());
    }

    #[test]
    fn time_without_data_is_not_saved_up() {
        let mut clock = clock(DatagramParameters::default(), 10.0);
        clock.on_sent(Time::from_seconds(5.0));
        assert_eq!(clock.next(), Time::from_seconds(5.1));
    }

    #[test]
    fn coarse_ticks_keep_the_mean_rate() {
        for milliseconds in [1, 10, 20] {
            for rate in [0.7, 49.0, 50.0, 333.0, 12_345.6] {
                let granularity = Span::from_millis(milliseconds);
                let parameters = DatagramParameters {
                    granularity,
                    ..DatagramParameters::default()
                };
                // Long enough for a packet more or less to be no error: 700 packets at least.
                let seconds = (10_000.0_f64 / rate).clamp(20.0, 1000.0);
                let left = leaving(&mut clock(parameters, rate), seconds);
                let error = left.len() as f64 / (seconds * rate) - 1.0;
                assert!(error.abs() < 0.01, "{milliseconds} ms, {rate}: {error}");
                assert!(
                    left.iter()
                        .all(|at| at.as_nanos() % granularity.as_nanos() == 0)
                );
                let largest = left
                    .chunk_by(|a, b| a == b)
                    .map(<[Time]>::len)
                    .max()
                    .unwrap();
                let owed = rate * granularity.as_seconds();
                assert!(
                    largest as f64 <= (libm::ceil(owed) + 1.0).max(2.0),
                    "{rate}: {largest}"
                );
            }
        }
    }

    #[test]
    fn after_idling_a_tick_has_no_more_than_its_share() {
        let parameters = DatagramParameters {
            granularity: Span::from_millis(10),
            ..DatagramParameters::default()
        };
        let mut clock = clock(parameters, 1000.0);
        clock.on_sent(Time::ZERO);
        let now = Time::from_seconds(3.0);
        let mut together = 0;
        while clock.next() <= now {
            clock.on_sent(now);
            together += 1;
        }
        assert_eq!(together, 11);
    }

    /// Sends for ten seconds at a tick of 10 ms, with bursts limited to a round trip's worth.
    /// Returns the number of packets and the largest burst.
    fn within_a_round_trip(packets_per_s: f64, milliseconds: u64, is_fine: bool) -> (usize, usize) {
        let parameters = DatagramParameters {
            granularity: Span::from_millis(10),
            ..DatagramParameters::default()
        };
        let mut clock = clock(parameters, packets_per_s);
        if is_fine {
            clock.allow_finer_ticks();
        }
        clock.keep_bursts_within(Some(Span::from_millis(milliseconds)));
        let left = leaving(&mut clock, 10.0);
        let largest = left
            .chunk_by(|a, b| a == b)
            .map(<[Time]>::len)
            .max()
            .unwrap();
        (left.len(), largest)
    }

    #[test]
    fn a_tick_longer_than_a_round_trip_slows_down_where_bursts_are_kept_within_one() {
        for (round_trip, at_once) in [(20, 11), (5, 5), (1, 1), (0, 1)] {
            let (count, largest) = within_a_round_trip(1000.0, round_trip, false);
            assert!(largest <= at_once, "{round_trip} ms: {largest}");
            let expected = 1000.0_f64.min(at_once as f64 * 100.0) * 10.0;
            assert!((count as f64 / expected - 1.0).abs() < 0.01, "{count}");
        }
    }

    #[test]
    fn a_tick_that_may_be_finer_does_not() {
        for rate in [49.0, 333.0, 1000.0, 1999.0, 12_345.6] {
            for round_trip in [0, 1, 3, 5, 19, 20, 30] {
                let (count, largest) = within_a_round_trip(rate, round_trip, true);
                let worth = rate * round_trip as f64 * 1e-3;
                assert!(
                    largest as f64 <= worth.max(1.0),
                    "{rate}, {round_trip} ms: {largest}"
                );
                assert!(
                    (count as f64 / (rate * 10.0) - 1.0).abs() < 0.01,
                    "{rate}, {round_trip} ms: {count}"
                );
            }
        }
    }

    #[test]
    fn chance_keeps_order_bound_and_rate() {
        let parameters = DatagramParameters {
            send_jitter: Span::from_millis(8),
            ..DatagramParameters::default()
        };
        let left = leaving(&mut clock(parameters, 187.5), 100.0);
        assert!(left.is_sorted());
        assert!(left.len().abs_diff(18_750) <= 2, "{}", left.len());
        let late = |(k, at): (usize, &Time)| at.as_seconds() - k as f64 / 187.5;
        let worst = left.iter().enumerate().map(late).fold(0.0, f64::max);
        assert!(worst <= 0.008 + 1e-6 && worst > 0.0075, "{worst}");
    }
}
