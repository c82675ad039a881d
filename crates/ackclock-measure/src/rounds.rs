//! Division of a direction's time into round trips, each with its limit, merged into periods with
//! the same limit.

use crate::limits::{
    Evidence, LimitingFactor, STILL_ROUNDS, Stillness, doubles, has_room, judge, judge_still,
};
use crate::pauses::Unsent;
use crate::undecided::Depends;
use ackclock_spec::units::Span;

mod band;
mod periods;
mod stretch;
mod wait;

use band::Band;
use periods::Periods;
pub use stretch::{Stretch, Sums};
use wait::{Wait, WaitsFor};

/// Shortest round trip used. Shorter ones, of a hundred microseconds, would make more rows than
/// packets. A wait of at least this length, for the receiver's window or the application, is a
/// period of its own.
const SHORTEST: Span = Span::from_millis(10);

/// Shortest pause after which senders may restart with a small window: the retransmission timeout
/// (RFC 5681 section 4.1), in Linux at least this long.
const RESTART: Span = Span::from_millis(200);

/// Length of a round trip before the first sample.
const UNKNOWN: Span = Span::from_millis(100);

/// New data that leaves.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Length in bytes.
    pub bytes: u64,
    /// True if it is shorter than a full segment.
    pub short: bool,
    /// True if an ACK may have released it.
    pub asked: bool,
    /// Longest delay of data that an ACK releases.
    pub soon: Span,
    /// True if it waited in the queue of the sender's own device.
    pub queued: bool,
    /// Data that the sender lately left unsent in its pauses.
    pub unsent: Unsent,
    /// True if most of what left lately refilled a buffer.
    pub refills: bool,
    /// True if it was captured next to the sender.
    pub near: bool,
    /// True if the arrival of the last ACK before it at the sender is known.
    pub ack_known: bool,
    /// True if it left right after that ACK.
    pub prompt: bool,
    /// True if it left neither right after that ACK nor right behind another packet.
    pub late: bool,
}

/// State from now on.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// Bytes in flight.
    pub outstanding: u64,
    /// The receiver's window in bytes; 0 if unknown.
    pub window: u64,
    /// True if the sender has to wait until the window opens.
    pub waits_for_window: bool,
    /// True if losses are being repaired.
    pub recovering: bool,
    /// Payload of a full segment in bytes.
    pub mss: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Round {
    start: u64,
    end: u64,
    evidence: Evidence,
    sums: Sums,
    /// Time with nothing in flight, and time in which the receiver's window had no room, in
    /// nanoseconds.
    idle: u64,
    blocked: u64,
    /// Numbers of packets as in [`Stillness`].
    near: u32,
    ack_known: u32,
    prompt: u32,
    late: u32,
    /// Longest delay of data that an ACK releases.
    soon: Span,
    /// True if nothing was in flight before it.
    after_pause: bool,
    events: u32,
    least_round_trip: Option<Span>,
}

/// Division of a direction's time into round trips.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    round: Option<Round>,
    /// Time up to which the sums are complete, and the state since then.
    now: u64,
    outstanding: u64,
    window: u64,
    wait: Option<Wait>,
    /// Peak of the data in flight in the last round trip with data. Before the first reduction of
    /// the congestion window, and since the last pause, it is the highest so far.
    peak: u64,
    /// Least round-trip time of the last round trip, if there was a sample.
    last_least: Option<Span>,
    /// True if most of what left lately refilled a buffer.
    refills: bool,
    /// Payload of a full segment in bytes.
    mss: u64,
    /// True if an ACK of the last round trip reported marks.
    last_marked: bool,
    band: Band,
    /// True if the congestion window was reduced so far: anything was retransmitted, apart from
    /// probes, or the sender said so.
    reduced: bool,
    /// True if the next peak begins a new band: after a loss, or after a pause of the application.
    band_ends: bool,
    /// Round trips with data in which the window has grown since the beginning, or since a pause.
    growth: u32,
    least_round_trip: Option<Span>,
    periods: Periods,
}

impl Rounds {
    /// Advances to `now`: judges the round trips that have ended. Does nothing before the first
    /// data.
    pub fn advance(&mut self, now: u64, smoothed: Option<Span>) {
        while let Some(round) = &self.round
            && round.end <= now
        {
            if self
                .wait
                .is_some_and(|wait| now >= wait.since.saturating_add(SHORTEST.as_nanos()))
            {
                self.set_wait_apart();
                break;
            }
            let end = round.end;
            self.close(end);
            self.begin(end, smoothed);
            // A wait goes on in the next round trip.
            if let Some(wait) = &mut self.wait {
                (wait.since, wait.before) = (end, self.round);
            }
            // A silence is one long round trip.
            if let Some(round) = &mut self.round
                && now >= round.end + (round.end - round.start)
                && self.wait.is_none()
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
        match self.wait.map(|wait| wait.waits_for) {
            Some(WaitsFor::Application) => round.idle += passed,
            Some(WaitsFor::Window) => round.blocked += passed,
            Some(WaitsFor::OwnQueue) | None => {}
        }
        self.now = self.now.max(now);
    }

    /// Makes the current wait a round trip of its own, however long it will last, and judges the
    /// time before it.
    fn set_wait_apart(&mut self) {
        let (Some(wait), Some(round)) = (&mut self.wait, &mut self.round) else {
            return;
        };
        let Some(before) = wait.before.take() else {
            return;
        };
        let since = wait.since;
        let has_begun = before.start < since;
        *round = Round {
            start: since,
            end: u64::MAX,
            sums: if has_begun {
                round.sums.since(&before.sums)
            } else {
                round.sums
            },
            ..Round::default()
        };
        if has_begun {
            self.judge(before, since);
        }
    }

    /// Ends the wait at `now`.
    fn end_wait(&mut self, now: u64, smoothed: Option<Span>) {
        let Some(wait) = self.wait else {
            return;
        };
        if now >= wait.since.saturating_add(SHORTEST.as_nanos()) {
            self.set_wait_apart();
        }
        let lasted = Span::from_nanos(now.saturating_sub(wait.since));
        let is_apart = self.wait.is_some_and(|wait| wait.before.is_none());
        self.wait = None;
        if is_apart && let Some(round) = self.round.take() {
            self.extend(&round, now, wait.waits_for.limit(), Depends::Nothing);
            self.begin(now, smoothed);
            if let Some(round) = &mut self.round {
                round.after_pause = wait.waits_for == WaitsFor::Application;
                // A window that shrank in the pause may grow to where it was.
                self.band_ends |= round.after_pause && lasted >= RESTART;
            }
        }
    }

    /// Sets the state after an event at `now`; [`Rounds::advance`] must have been called.
    pub fn set(&mut self, now: u64, state: &State, smoothed: Option<Span>) {
        let now = now.max(self.now);
        let waits_for = WaitsFor::of(state);
        if self.wait.map(|wait| wait.waits_for) != waits_for {
            self.end_wait(now, smoothed);
            let before = self.round;
            self.wait = waits_for.map(|waits_for| Wait {
                waits_for,
                since: now,
                before,
            });
        }
        self.outstanding = state.outstanding;
        self.window = state.window;
        if let Some(round) = &mut self.round {
            round.events += 1;
            let evidence = &mut round.evidence;
            evidence.peak = evidence.peak.max(state.outstanding);
            evidence.recovering |= state.recovering;
            evidence.mss = state.mss;
        }
        self.mss = state.mss;
    }

    /// Records new data; the first begins the first round trip.
    pub fn depart(&mut self, now: u64, departure: &Departure, smoothed: Option<Span>) {
        if self.round.is_none() {
            self.now = now;
            self.begin(now, smoothed);
        }
        if let Some(wait) = &mut self.wait
            && wait.waits_for == WaitsFor::Application
        {
            if departure.queued {
                wait.waits_for = WaitsFor::OwnQueue;
            }
            self.end_wait(now.max(self.now), smoothed);
        }
        let Some(round) = &mut self.round else {
            return;
        };
        round.sums.sent += departure.bytes;
        round.near += u32::from(departure.near);
        round.ack_known += u32::from(departure.ack_known);
        round.prompt += u32::from(departure.prompt);
        round.late += u32::from(departure.late);
        round.soon = departure.soon;
        let evidence = &mut round.evidence;
        evidence.sent += 1;
        evidence.short += u32::from(departure.short);
        evidence.unasked += u32::from(!departure.asked);
        evidence.queued += u32::from(departure.queued);
        evidence.unsent = departure.unsent;
        self.refills = departure.refills;
    }

    /// Records a retransmission; `loss` is false for a mere probe.
    pub fn resend(&mut self, loss: bool) {
        if loss {
            self.reduce();
        }
        if let Some(round) = &mut self.round {
            round.sums.resent += 1;
            round.evidence.recovering |= loss;
        }
    }

    /// Records that the sender has reduced its congestion window.
    pub fn reduce(&mut self) {
        self.reduced = true;
        self.band_ends = true;
    }

    /// Records an ACK that reports marks.
    pub fn mark(&mut self) {
        self.reduce();
        if let Some(round) = &mut self.round {
            round.sums.marks += 1;
        }
    }

    /// Returns the peak of the data in flight in the last round trip with data, or the highest so
    /// far before the first reduction of the congestion window.
    pub const fn peak(&self) -> u64 {
        self.peak
    }

    /// Records an ACK of `bytes`. It may measure a round-trip time, and one without the delay of
    /// the ACK, `quickest`.
    pub fn acknowledge(&mut self, bytes: u64, round_trip: Option<Span>, quickest: Option<Span>) {
        if let Some(span) = quickest {
            self.least_round_trip =
                Some(self.least_round_trip.map_or(span, |least| least.min(span)));
        }
        self.periods.answer();
        let Some(round) = &mut self.round else {
            return;
        };
        round.events += 1;
        round.sums.acknowledged += bytes;
        if let Some(span) = quickest {
            round.least_round_trip =
                Some(round.least_round_trip.map_or(span, |least| least.min(span)));
        }
        if let Some(span) = round_trip {
            let sum = &mut round.sums.round_trips.0;
            *sum = sum.saturating_add(span.as_nanos());
            round.sums.round_trips.1 += 1;
        }
    }

    /// Forgets the round-trip times so far, which cannot be compared with those to come.
    pub fn forget_round_trips(&mut self) {
        self.least_round_trip = None;
        self.last_least = None;
        if let Some(round) = &mut self.round {
            round.least_round_trip = None;
        }
    }

    /// Ends the round trip.
    fn close(&mut self, end: u64) {
        self.sum_up(end);
        if let Some(round) = self.round.take() {
            self.judge(round, end);
        }
    }

    /// Judges a round trip that has ended.
    fn judge(&mut self, round: Round, end: u64) {
        let length = end.saturating_sub(round.start);
        if length == 0 {
            return;
        }
        let mut evidence = round.evidence;
        evidence.peak = evidence.peak.max(if evidence.sent > 0 {
            self.outstanding
        } else {
            0
        });
        evidence.previous_peak = self.peak;
        evidence.mean = round.sums.outstanding / length as f64;
        (evidence.prompt, evidence.late) = (round.prompt, round.late);
        let after_acks = round.soon * round.sums.round_trips.1;
        evidence.sparse = after_acks <= Span::from_nanos(length / 2);
        evidence.refills = self.refills;
        evidence.idle = round.idle as f64 / length as f64;
        evidence.blocked = round.blocked as f64 / length as f64;
        // Part of a round trip is too short to tell.
        evidence.lone = self.outstanding <= self.mss;
        evidence.silent = round.events == 0 && self.outstanding > 0 && end >= round.end;
        let least = self.least_round_trip.filter(|least| *least > Span::ZERO);
        // A queue that stands for less than two round trips may come from one burst of the sender.
        let standing = match (self.last_least, round.least_round_trip) {
            (Some(before), Some(now)) => Some(before.min(now)),
            (before, now) => before.or(now),
        };
        self.last_least = round.least_round_trip.or(self.last_least);
        let marked = round.sums.marks > 0;
        evidence.marked = marked || self.last_marked;
        self.last_marked = marked;
        evidence.stretched = least
            .zip(standing)
            .map(|(least, span)| span.as_nanos() as f64 / least.as_nanos() as f64);
        let goes_on = self.periods.doubts_until(round.start);
        if goes_on && evidence.sent > evidence.unasked {
            // There was more to send than the window held.
            self.periods.resolve_doubt(LimitingFactor::CongestionWindow);
        }
        // After a pause a window may be full at once, and ACKs release the rest.
        let is_released = round.after_pause
            && round.prompt > 0
            && evidence.sent == evidence.unasked + round.prompt
            && round.idle == 0;
        let limit = if is_released {
            Some(LimitingFactor::CongestionWindow)
        } else {
            judge(&evidence)
        };
        if limit == Some(LimitingFactor::Application) && round.after_pause {
            self.release();
            self.periods.doubt(Stretch {
                start: round.start,
                end,
                limit: LimitingFactor::Application,
                sums: round.sums,
            });
            self.peak = evidence.peak;
            return;
        }
        if evidence.sent > 0 {
            self.note_peak(&evidence, &round, length);
        }
        let before = self.periods.last_limit();
        let limit = limit.or(before).unwrap_or(LimitingFactor::Unknown);
        let depends = match limit {
            LimitingFactor::CongestionWindow if has_room(&evidence) => Depends::Room,
            LimitingFactor::CongestionWindow => Depends::Stillness,
            LimitingFactor::SlowStart if self.may_only_seem_to_grow() && !doubles(&evidence) => {
                Depends::Growth
            }
            _ => Depends::Nothing,
        };
        self.extend(&round, end, limit, depends);
    }

    /// True before the first reduction, as long as the growth takes fewer than twice the round
    /// trips that are needed to see that a window stands still. We chose the factor.
    fn may_only_seem_to_grow(&self) -> bool {
        !self.reduced && self.growth < 2 * STILL_ROUNDS
    }

    /// Records the peak: within the band of those before it, or the beginning of a new band.
    fn note_peak(&mut self, evidence: &Evidence, round: &Round, length: u64) {
        let peak = evidence.peak;
        self.peak = if self.reduced || self.band_ends {
            peak
        } else {
            self.peak.max(peak)
        };
        let inside = !self.band_ends && self.band.admit(peak, evidence.mss);
        if !inside {
            let grows = !self.band_ends
                && self.may_only_seem_to_grow()
                && judge_still(&self.band.still) == LimitingFactor::CongestionWindow;
            if grows {
                self.periods.undecided.grow();
            } else {
                // They are decided by the band that they were in.
                self.release();
            }
            if self.band_ends {
                self.periods.undecided.shrink();
                self.growth = 0;
            } else {
                self.growth += self.band.still.rounds;
            }
            let still = Stillness {
                after_loss: self.reduced,
                ..Stillness::default()
            };
            self.band = Band {
                low: peak,
                high: peak,
                still,
            };
            self.band_ends = false;
        }
        let still = &mut self.band.still;
        still.rounds += 1;
        still.lasted = still.lasted + Span::from_nanos(length);
        still.sent += u64::from(evidence.sent);
        still.near += u64::from(round.near);
        still.ack_known += u64::from(round.ack_known);
        still.prompt += u64::from(round.prompt);
        still.late += u64::from(round.late);
        still.unsent = evidence.unsent;
        still.marked |= evidence.marked;
        still.dense |= !evidence.sparse;
    }

    /// Decides on the periods that wait.
    fn release(&mut self) {
        self.periods.decide(&self.band.still);
    }

    /// Adds a round trip with its limit.
    fn extend(&mut self, round: &Round, end: u64, limit: LimitingFactor, depends: Depends) {
        if end <= round.start {
            return;
        }
        let next = Stretch {
            start: round.start,
            end,
            limit,
            sums: round.sums,
        };
        self.periods.add(next, depends, &self.band.still);
    }

    /// Marks the end of the packets.
    pub fn finish(&mut self, now: u64, smoothed: Option<Span>) {
        self.advance(now, smoothed);
        self.end_wait(now.max(self.now), smoothed);
        self.close(now);
        self.release();
        self.periods.finish();
    }

    /// Takes out the finished periods.
    pub fn take_finished(&mut self) -> std::vec::Drain<'_, Stretch> {
        self.periods.take_finished()
    }

    /// True if there are finished periods.
    pub fn has_finished(&self) -> bool {
        self.periods.has_finished()
    }

    /// Returns the main limit and its share of the time.
    pub fn dominant(&self) -> Option<(LimitingFactor, f64)> {
        self.periods.dominant()
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
            waits_for_window: false,
            recovering: false,
            mss: 1_000,
        }
    }

    const SEGMENT: Departure = Departure {
        bytes: 1_000,
        short: false,
        asked: true,
        prompt: true,
        near: true,
        ack_known: true,
        late: false,
        soon: Span::from_micros(200),
        queued: false,
        unsent: Unsent::Unknown,
        refills: false,
    };

    /// Sends a segment; `outstanding` bytes are in flight after it.
    fn send(rounds: &mut Rounds, ms: u64, outstanding: u64) {
        rounds.advance(ms * MS, TRIP);
        rounds.depart(ms * MS, &SEGMENT, TRIP);
        rounds.set(ms * MS, &state(outstanding), TRIP);
    }

    fn acknowledge(rounds: &mut Rounds, ms: u64, bytes: u64, outstanding: u64) {
        rounds.advance(ms * MS, TRIP);
        rounds.acknowledge(bytes, TRIP, TRIP);
        rounds.set(ms * MS, &state(outstanding), TRIP);
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
        let limits: Vec<&str> = stretches
            .iter()
            .map(|stretch| stretch.limit.name())
            .collect();
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
        assert!(
            stretches
                .windows(2)
                .all(|pair| pair[0].end == pair[1].start)
        );
        assert_eq!(
            stretches
                .iter()
                .map(|stretch| stretch.sums.acknowledged)
                .sum::<u64>(),
            6_000
        );
        assert_eq!(
            stretches
                .iter()
                .map(|stretch| stretch.sums.sent)
                .sum::<u64>(),
            6_000
        );
        let outstanding: f64 = stretches
            .iter()
            .map(|stretch| stretch.sums.outstanding)
            .sum();
        let expected = (1 + 2 + 3 + 4) * 100_000 + 5_000 * 99 + 1_000 * 100;
        assert_eq!(outstanding, expected as f64 * MS as f64);
        let (limit, share) = rounds.dominant().unwrap();
        assert_eq!(limit.name(), "application");
        assert!(share > 0.7 && share < 0.8, "{share}");
    }

    /// Twenty round trips, in turn with twenty and with fifteen segments in flight. `reduces` says
    /// that the sender has reduced its window before each that is lower.
    fn zigzag(reduces: bool) -> Rounds {
        let mut rounds = Rounds::default();
        for trip in 0..20 {
            let lower = trip % 2 == 1;
            if lower && reduces {
                rounds.reduce();
            }
            let segments = if lower { 15 } else { 20 };
            for segment in 1..=segments {
                send(&mut rounds, trip * 100 + segment, segment * 1_000);
            }
            acknowledge(
                &mut rounds,
                trip * 100 + 95,
                segments * 1_000 - 1_000,
                1_000,
            );
        }
        rounds.finish(2_000 * MS, TRIP);
        rounds
    }

    #[test]
    fn a_peak_that_falls_without_a_reduction_is_not_the_congestion_window() {
        let (limit, share) = zigzag(false).dominant().unwrap();
        assert_eq!(limit.name(), "sender_buffer");
        assert!(share > 0.9, "{share}");
        let (limit, _) = zigzag(true).dominant().unwrap();
        assert_ne!(limit.name(), "sender_buffer");
    }

    #[test]
    fn a_queue_stands_for_more_than_one_round_trip() {
        let stretched = |longer: std::ops::Range<u64>| {
            let mut rounds = Rounds::default();
            for trip in 0..5 {
                let took = if longer.contains(&trip) { 150 } else { 100 };
                send(&mut rounds, trip * 100, (trip + 1) * 1_000);
                let quickest = Some(Span::from_millis(took));
                rounds.acknowledge(0, TRIP, quickest);
            }
            rounds.finish(500 * MS, TRIP);
            let limits = rounds.take_finished().map(|stretch| stretch.limit.name());
            limits.filter(|limit| *limit == "bottleneck_rate").count()
        };
        assert_eq!(stretched(3..4), 0);
        assert_eq!(stretched(3..5), 1);
    }

    #[test]
    fn a_window_stays_closed_until_it_opens() {
        let mut rounds = Rounds::default();
        send(&mut rounds, 0, 1_000);
        acknowledge(&mut rounds, 90, 1_000, 0);
        let closed = State {
            waits_for_window: true,
            ..state(0)
        };
        rounds.set(90 * MS, &closed, TRIP);
        send(&mut rounds, 5_000, 1_000); // the application had it all the time
        rounds.finish(5_050 * MS, TRIP);
        let (limit, share) = rounds.dominant().unwrap();
        assert_eq!(limit.name(), "receive_window");
        assert!(share > 0.9, "{share}");
    }

    #[test]
    fn silence_with_data_outstanding_waits_for_a_timer() {
        let mut rounds = Rounds::default();
        rounds.acknowledge(0, None, None);
        send(&mut rounds, 0, 2_000);
        rounds.advance(1_000 * MS, TRIP);
        rounds.finish(1_000 * MS, TRIP);
        let limits: Vec<&str> = rounds
            .take_finished()
            .map(|stretch| stretch.limit.name())
            .collect();
        assert_eq!(limits, ["slow_start", "recovery"]);
    }

    /// A capture of one direction: the data in flight only seems to grow.
    #[test]
    fn what_no_ack_answers_is_unknown_however_long() {
        for segments in [1, 20, 1_000] {
            let mut rounds = Rounds::default();
            (0..segments).for_each(|number| send(&mut rounds, number * 20, (number + 1) * 1_000));
            rounds.finish(segments * 20 * MS, TRIP);
            assert_eq!(rounds.dominant(), Some((LimitingFactor::Unknown, 1.0)));
            let periods: Vec<Stretch> = rounds.take_finished().collect();
            assert_eq!(periods.len(), 1);
            assert_eq!((periods[0].start, periods[0].end), (0, segments * 20 * MS));
        }
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
