//! The time of a direction cut into round trips, each with its verdict, and round trips with the same verdict put together.

use crate::limits::{Evidence, LimitingFactor, judge};
use ackclock_core::units::Span;

/// Round trips are not cut shorter: of a hundred microseconds they would make more rows than packets.
const SHORTEST: Span = Span::from_millis(10);

/// How long one is taken to be before the first sample.
const UNKNOWN: Span = Span::from_millis(100);

/// A stretch of time with one limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// When it begins, in nanoseconds.
    pub start: u64,
    /// When it ends.
    pub end: u64,
    /// What limited.
    pub limit: LimitingFactor,
    /// What happened meanwhile.
    pub sums: Sums,
}

/// What happened in a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    /// Outstanding data, in bytes times nanoseconds.
    pub outstanding: f64,
    /// The receiver's window, in bytes times nanoseconds.
    pub window: f64,
    /// Bytes acknowledged.
    pub acknowledged: u64,
    /// New bytes sent.
    pub sent: u64,
    /// Packets sent again.
    pub resent: u64,
    /// Round trips, in nanoseconds, and how many.
    pub round_trips: (u64, u64),
}

impl Sums {
    fn add(&mut self, more: &Sums) {
        self.outstanding += more.outstanding;
        self.window += more.window;
        self.acknowledged += more.acknowledged;
        self.sent += more.sent;
        self.resent += more.resent;
        self.round_trips.0 += more.round_trips.0;
        self.round_trips.1 += more.round_trips.1;
    }
}

/// New data leaves.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Its length.
    pub bytes: u64,
    /// Whether it is shorter than a full segment.
    pub short: bool,
    /// Whether the receiver's window, if known, has no room for another segment.
    pub fills_window: bool,
    /// Whether an ACK may have released it.
    pub asked: bool,
    /// Whether it left at once when an ACK came.
    pub prompt: bool,
}

/// What holds from now on.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// Outstanding bytes.
    pub outstanding: u64,
    /// The receiver's window; zero if not known.
    pub window: u64,
    /// Whether it is closed.
    pub zero_window: bool,
    /// Whether losses are being repaired.
    pub recovering: bool,
    /// Payload of a full segment.
    pub mss: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Round {
    start: u64,
    end: u64,
    evidence: Evidence,
    sums: Sums,
    idle: u64,
    events: u32,
    least_round_trip: Option<Span>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    round: Option<Round>,
    /// Until when the sums have been taken, and what has held since.
    now: u64,
    outstanding: u64,
    window: u64,
    zero_window: bool,
    /// The most outstanding data in the last round trip with data.
    peak: u64,
    /// Between which peaks the last `flat_rounds` were.
    flat: (u64, u64),
    flat_rounds: u32,
    least_round_trip: Option<Span>,
    stretch: Option<Stretch>,
    finished: Vec<Stretch>,
    /// Time with each limit, in nanoseconds.
    totals: [u64; LimitingFactor::ALL.len()],
}

impl Rounds {
    /// It is `now`: round trips that are over by now are judged. Without data so far there is none.
    pub fn advance(&mut self, now: u64, smoothed: Option<Span>) {
        while let Some(round) = &self.round
            && round.end <= now
        {
            let end = round.end;
            self.close(end);
            // A pause is one long round trip.
            self.begin(end, smoothed);
            if let Some(round) = &mut self.round
                && now >= round.end + (round.end - round.start)
            {
                round.end = now;
            }
        }
        self.sum_up(now);
    }

    fn begin(&mut self, start: u64, smoothed: Option<Span>) {
        let length = smoothed.unwrap_or(UNKNOWN).max(SHORTEST);
        self.round = Some(Round {
            start,
            end: start.saturating_add(length.as_nanos()),
            evidence: Evidence {
                zero_window: self.zero_window,
                ..Evidence::default()
            },
            ..Round::default()
        });
        self.now = self.now.max(start);
    }

    fn sum_up(&mut self, now: u64) {
        let Some(round) = &mut self.round else {
            return;
        };
        let passed = now.saturating_sub(self.now);
        round.sums.outstanding += self.outstanding as f64 * passed as f64;
        round.sums.window += self.window as f64 * passed as f64;
        if self.outstanding == 0 {
            round.idle += passed;
        }
        self.now = self.now.max(now);
    }

    /// The state after an event; [`Rounds::advance`] has been called.
    pub fn set(&mut self, state: &State) {
        self.outstanding = state.outstanding;
        self.window = state.window;
        self.zero_window = state.zero_window;
        if let Some(round) = &mut self.round {
            round.events += 1;
            let evidence = &mut round.evidence;
            evidence.peak = evidence.peak.max(state.outstanding);
            evidence.recovering |= state.recovering;
            evidence.zero_window |= state.zero_window;
            evidence.mss = state.mss;
        }
    }

    /// New data leaves; the first begins the first round trip.
    pub fn depart(&mut self, now: u64, departure: &Departure, smoothed: Option<Span>) {
        if self.round.is_none() {
            self.now = now;
            self.begin(now, smoothed);
        }
        let Some(round) = &mut self.round else {
            return;
        };
        round.sums.sent += departure.bytes;
        let evidence = &mut round.evidence;
        evidence.sent += 1;
        evidence.short += u32::from(departure.short);
        evidence.filled_window += u32::from(departure.fills_window);
        evidence.unasked += u32::from(!departure.asked);
        evidence.prompt += u32::from(departure.prompt);
    }

    /// A packet is sent again; `loss` unless it is a mere probe.
    pub fn resend(&mut self, loss: bool) {
        if let Some(round) = &mut self.round {
            round.sums.resent += 1;
            round.evidence.recovering |= loss;
        }
    }

    /// An ACK covers so many bytes and perhaps tells a round-trip time, and the one without the delay of ACKs.
    pub fn acknowledge(&mut self, bytes: u64, round_trip: Option<Span>, quickest: Option<Span>) {
        if let Some(span) = quickest {
            self.least_round_trip = Some(self.least_round_trip.map_or(span, |least| least.min(span)));
        }
        let Some(round) = &mut self.round else {
            return;
        };
        round.events += 1;
        round.sums.acknowledged += bytes;
        if let Some(span) = quickest {
            round.least_round_trip = Some(round.least_round_trip.map_or(span, |least| least.min(span)));
        }
        if let Some(span) = round_trip {
            round.sums.round_trips.0 += span.as_nanos();
            round.sums.round_trips.1 += 1;
        }
    }

    /// The round trips so far were of another kind than those to come.
    pub fn forget_round_trips(&mut self) {
        self.least_round_trip = None;
        if let Some(round) = &mut self.round {
            round.least_round_trip = None;
        }
    }

    /// Judges the round trip, which ends now.
    fn close(&mut self, end: u64) {
        self.sum_up(end);
        let Some(round) = self.round.take() else {
            return;
        };
        let length = end.saturating_sub(round.start);
        if length == 0 {
            return;
        }
        let mut evidence = round.evidence;
        evidence.peak = evidence
            .peak
            .max(if evidence.sent > 0 { self.outstanding } else { 0 });
        evidence.previous_peak = self.peak;
        evidence.idle = round.idle as f64 / length as f64;
        evidence.silent = round.events == 0 && self.outstanding > 0;
        let least = self.least_round_trip.filter(|least| *least > Span::ZERO);
        evidence.stretched = least
            .zip(round.least_round_trip)
            .map(|(least, span)| span.as_nanos() as f64 / least.as_nanos() as f64);
        if evidence.sent > 0 {
            self.note_peak(evidence.peak, evidence.mss);
        }
        evidence.flat_rounds = self.flat_rounds;
        let limit = judge(&evidence).or(self.stretch.map(|stretch| stretch.limit));
        self.extend(&round, end, limit.unwrap_or(LimitingFactor::Unknown));
    }

    fn note_peak(&mut self, peak: u64, mss: u64) {
        self.peak = peak;
        let (low, high) = (self.flat.0.min(peak), self.flat.1.max(peak));
        if self.flat_rounds > 0 && high - low <= mss {
            self.flat = (low, high);
            self.flat_rounds += 1;
        } else {
            self.flat = (peak, peak);
            self.flat_rounds = 1;
        }
    }

    fn extend(&mut self, round: &Round, end: u64, limit: LimitingFactor) {
        self.totals[limit as usize] += end - round.start;
        match &mut self.stretch {
            Some(stretch) if stretch.limit == limit => {
                stretch.end = end;
                stretch.sums.add(&round.sums);
            }
            current => {
                let next = Stretch {
                    start: round.start,
                    end,
                    limit,
                    sums: round.sums,
                };
                self.finished.extend(current.replace(next));
            }
        }
    }

    /// Nothing more will come.
    pub fn finish(&mut self, now: u64, smoothed: Option<Span>) {
        self.advance(now, smoothed);
        self.close(now);
        self.finished.extend(self.stretch.take());
    }

    /// Takes out the stretches that are over.
    pub fn take_finished(&mut self) -> std::vec::Drain<'_, Stretch> {
        self.finished.drain(..)
    }
    /// Whether there are some.
    pub fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    /// What limited for the longest time, and for which share of it.
    pub fn dominant(&self) -> Option<(LimitingFactor, f64)> {
        let all: u64 = self.totals.iter().sum();
        let longest = LimitingFactor::ALL
            .into_iter()
            .max_by_key(|limit| self.totals[*limit as usize])?;
        (all > 0).then(|| (longest, self.totals[longest as usize] as f64 / all as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const TRIP: Option<Span> = Some(Span::from_millis(100));

    const fn state(outstanding: u64) -> State {
        State {
            outstanding,
            window: 100_000,
            zero_window: false,
            recovering: false,
            mss: 1_000,
        }
    }

    const SEGMENT: Departure = Departure {
        bytes: 1_000,
        short: false,
        fills_window: false,
        asked: true,
        prompt: true,
    };

    /// A segment leaves and `outstanding` bytes are outstanding after it.
    fn send(rounds: &mut Rounds, ms: u64, outstanding: u64) {
        rounds.advance(ms * MS, TRIP);
        rounds.depart(ms * MS, &SEGMENT, TRIP);
        rounds.set(&state(outstanding));
    }

    fn acknowledge(rounds: &mut Rounds, ms: u64, bytes: u64, outstanding: u64) {
        rounds.advance(ms * MS, TRIP);
        rounds.acknowledge(bytes, TRIP, TRIP);
        rounds.set(&state(outstanding));
    }

    #[test]
    fn stretches_cover_the_time_without_gaps() {
        let mut rounds = Rounds::default();
        for trip in 0..5 {
            send(&mut rounds, trip * 100, 1_000 + trip * 1_000);
        }
        acknowledge(&mut rounds, 499, 5_000, 0);
        send(&mut rounds, 2_345, 1_000); // after a pause
        acknowledge(&mut rounds, 2_445, 1_000, 0);
        rounds.finish(2_500 * MS, TRIP);
        let stretches: Vec<Stretch> = rounds.take_finished().collect();
        let limits: Vec<&str> = stretches.iter().map(|stretch| stretch.limit.name()).collect();
        assert_eq!(
            limits,
            [
                "slow_start",
                "congestion_window",
                "application",
                "congestion_window",
                "application"
            ]
        );
        assert_eq!((stretches[0].start, stretches[4].end), (0, 2_500 * MS));
        assert!(stretches.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(
            stretches
                .iter()
                .map(|stretch| stretch.sums.acknowledged)
                .sum::<u64>(),
            6_000
        );
        assert_eq!(
            stretches.iter().map(|stretch| stretch.sums.sent).sum::<u64>(),
            6_000
        );
        let outstanding: f64 = stretches.iter().map(|stretch| stretch.sums.outstanding).sum();
        let expected = (1 + 2 + 3 + 4) * 100_000 + 5_000 * 99 + 1_000 * 100;
        assert_eq!(outstanding, expected as f64 * MS as f64);
        let (limit, share) = rounds.dominant().unwrap();
        assert_eq!(limit.name(), "application");
        assert!(share > 0.7 && share < 0.8, "{share}");
    }

    #[test]
    fn a_window_stays_closed_until_it_opens() {
        let mut rounds = Rounds::default();
        send(&mut rounds, 0, 1_000);
        acknowledge(&mut rounds, 90, 1_000, 0);
        rounds.set(&State {
            zero_window: true,
            ..state(0)
        });
        send(&mut rounds, 5_000, 1_000); // the application had it all the time
        rounds.finish(5_050 * MS, TRIP);
        let (limit, share) = rounds.dominant().unwrap();
        assert_eq!(limit.name(), "receive_window");
        assert!(share > 0.9, "{share}");
    }

    #[test]
    fn silence_with_data_outstanding_waits_for_a_timer() {
        let mut rounds = Rounds::default();
        send(&mut rounds, 0, 1_000);
        rounds.advance(1_000 * MS, TRIP);
        rounds.finish(1_000 * MS, TRIP);
        let limits: Vec<&str> = rounds
            .take_finished()
            .map(|stretch| stretch.limit.name())
            .collect();
        assert_eq!(limits, ["slow_start", "recovery"]);
    }

    #[test]
    fn without_data_there_is_nothing_to_limit() {
        let mut rounds = Rounds::default();
        acknowledge(&mut rounds, 10, 0, 0);
        rounds.finish(5_000 * MS, TRIP);
        assert_eq!(rounds.take_finished().count(), 0);
        assert_eq!(rounds.dominant(), None);
    }
}
