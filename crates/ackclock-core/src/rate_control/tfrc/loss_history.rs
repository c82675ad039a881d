//! Loss events from arrivals (RFC 5348 sections 5.1 and 5.2).

use super::loss_intervals::{LossIntervals, Weighing};
use ackclock_spec::units::{Span, Time};
use std::collections::VecDeque;

/// Consecutive packets missing between two that have arrived; or a single packet that has arrived
/// marked.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: u64,
    last: u64,
    /// S_before and T_before, S_after and T_after, of all packets that were missing when S_after
    /// arrived.
    before: (u64, Time),
    after: (u64, Time),
    /// Number of later packets that have arrived.
    later: u8,
    marked: bool,
    /// R when they were deemed lost.
    rtt: Span,
}

impl Run {
    /// Returns T_loss: the time at which a packet would have arrived.
    fn at(&self, number: u64) -> Time {
        let packets = self.after.0 - self.before.0;
        let time = u128::from(self.after.1.since(self.before.1).as_nanos());
        match u128::from(number - self.before.0) * time {
            0 => self.before.1,
            product => self.before.1 + Span::from_nanos((product / u128::from(packets)) as u64),
        }
    }

    /// Returns the first packet from `from` on that would have arrived later than `limit`.
    fn first_later(&self, from: u64, limit: Time) -> Option<u64> {
        let (mut low, mut high) = (from.max(self.first), self.last);
        if low > high || self.at(high) <= limit {
            return None;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at(middle) > limit {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(low)
    }

    /// Returns the remaining runs below and above a number.
    fn without(self, number: u64) -> impl Iterator<Item = Run> {
        let below = Run {
            last: number.wrapping_sub(1),
            ..self
        };
        let above = Run {
            first: number.saturating_add(1),
            ..self
        };
        let below = (self.first < number).then_some(below);
        below
            .into_iter()
            .chain((number < self.last).then_some(above))
    }

    const fn length(&self) -> u64 {
        self.last - self.first + 1
    }
}

/// The effect of an arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// True if a loss event has begun.
    pub begun: bool,
    /// True if a packet deemed lost has arrived, and a loss event has been removed.
    pub removed: bool,
}

/// Returns the loss interval, in packets, before the first loss event (section 6.3.1). The argument
/// is true if the very first packet is lost or marked.
pub type FirstInterval<'a> = &'a dyn Fn(bool) -> f64;

/// Most runs of lost packets, and marked packets, kept in case packets arrive late. It covers eight
/// intervals at a hundred thousand packets per second and a round trip of 100 ms. It bounds the
/// memory for any R that a sender reports.
const MOST_RUNS: usize = 1 << 16;

/// The arrivals and the loss events derived from them.
#[derive(Debug)]
pub struct LossHistory {
    /// NDUPACK: number of later arrivals that make a missing packet lost.
    duplicate_threshold: u8,
    weighing: Weighing,
    intervals: LossIntervals,
    highest: Option<u64>,
    /// The last packet to arrive.
    last: (u64, Time),
    /// Missing packets that are not deemed lost yet, in order.
    missing: VecDeque<Run>,
    /// Packets deemed lost or marked, in order, from the oldest loss event that counts.
    congested: VecDeque<Run>,
    lost: u64,
    spurious: u64,
}

impl LossHistory {
    /// A history without arrivals.
    pub const fn new(duplicate_threshold: u8, weighing: Weighing) -> Self {
        LossHistory {
            duplicate_threshold,
            weighing,
            intervals: LossIntervals::new(weighing),
            highest: None,
            last: (0, Time::ZERO),
            missing: VecDeque::new(),
            congested: VecDeque::new(),
            lost: 0,
            spurious: 0,
        }
    }

    /// Processes an arrival. R is `rtt`: losses within one R are one event.
    pub fn on_arrival(
        &mut self,
        at: Time,
        number: u64,
        marked: bool,
        rtt: Span,
        first_interval: FirstInterval<'_>,
    ) -> Change {
        let mut change = Change::default();
        let is_late = self.highest.is_some_and(|highest| number <= highest);
        let was_expected = if is_late {
            self.fill(number, &mut change)
        } else {
            self.extend(number, at);
            true
        };
        for run in &mut self.missing {
            run.later = run.later.saturating_add(u8::from(run.last < number));
        }
        self.last = (number, at);
        // A mark takes effect at once, also for packets missing before it (section 5.1).
        let tells = marked && was_expected;
        while let Some(run) = self.missing.front().copied()
            && (run.later >= self.duplicate_threshold || tells && run.last < number)
        {
            self.missing.pop_front();
            self.lost += run.length();
            change.begun |= self.congestion(Run { rtt, ..run }, first_interval);
        }
        if tells {
            let run = Run {
                first: number,
                last: number,
                before: (number, at),
                after: (number, at),
                later: 0,
                marked: true,
                rtt,
            };
            change.begun |= self.congestion(run, first_interval);
        }
        self.intervals.discount(self.highest.unwrap_or_default());
        change
    }

    /// Adds a packet beyond all others: those between are missing. Before the very first arrival
    /// there is nothing to interpolate from.
    fn extend(&mut self, number: u64, at: Time) {
        let (expected, before) = match self.highest {
            Some(highest) => (highest + 1, self.last),
            None => (0, (0, at)),
        };
        self.highest = Some(number);
        if expected < number {
            self.missing.push_back(Run {
                first: expected,
                last: number - 1,
                before,
                after: (number, at),
                later: 0,
                marked: false,
                rtt: Span::ZERO,
            });
        }
    }

    /// Processes a late packet. Returns true if it was missing and not deemed lost.
    fn fill(&mut self, number: u64, change: &mut Change) -> bool {
        if take(&mut self.missing, number) {
            return true;
        }
        if take(&mut self.congested, number) {
            self.spurious += 1;
            change.removed = self.begin_anew(number);
        }
        false
    }

    /// Adds lost or marked packets, and begins their loss events. Returns true if there was one.
    fn congestion(&mut self, run: Run, first_interval: FirstInterval<'_>) -> bool {
        if self.congested.is_empty() {
            self.intervals.begin_with(first_interval(run.first == 0));
        }
        self.congested.push_back(run);
        let begun = self.begin_events(&run);
        let oldest = self.intervals.oldest().map_or(0, |start| start.number);
        while self.congested.len() > MOST_RUNS
            || self.congested.front().is_some_and(|run| run.last < oldest)
        {
            self.congested.pop_front();
        }
        begun
    }

    /// Begins a loss event for each packet that comes more than R after the start of the last
    /// event.
    fn begin_events(&mut self, run: &Run) -> bool {
        let earliest = self.earliest_to_count(run);
        let mut begun = false;
        loop {
            let next = match self.intervals.latest() {
                None => Some(run.first),
                Some(start) => run.first_later(
                    start.number.saturating_add(1),
                    (start.at + run.rtt).max(earliest),
                ),
            };
            let Some(number) = next else { return begun };
            self.intervals.begin(number, run.at(number));
            begun = true;
        }
    }

    /// Returns the time from which to look for events of a very long gap: older ones would be
    /// discarded. Events are at most two round trips, or two packets, apart.
    fn earliest_to_count(&self, run: &Run) -> Time {
        let gap = run.after.1.since(run.before.1) / (run.after.0 - run.before.0).max(1);
        let apart = run.rtt.max(gap + Span::from_nanos(1)) * 2;
        let enough = apart * (self.weighing.intervals as u64 + 2);
        let end = run.at(run.last).as_nanos();
        Time::from_nanos(end.saturating_sub(enough.as_nanos()))
    }

    /// Rebuilds the loss events after the packet that began one has arrived after all. Returns true
    /// if there are fewer events now.
    fn begin_anew(&mut self, number: u64) -> bool {
        let before = self.intervals.count();
        let Some(forgotten) = self.intervals.forget_from(number) else {
            return false;
        };
        let from = self
            .intervals
            .latest()
            .map_or(0, |start| start.number.saturating_add(1));
        for index in 0..self.congested.len() {
            let run = self.congested[index];
            if run.last >= from {
                self.begin_events(&run);
            }
        }
        self.intervals.restore(&forgotten);
        self.intervals.count() < before
    }

    /// Returns p: zero before the first loss event.
    pub fn loss_event_rate(&self) -> f64 {
        self.highest
            .map_or(0.0, |highest| self.intervals.loss_event_rate(highest))
    }
    /// Returns the number of packets deemed lost.
    pub const fn lost(&self) -> u64 {
        self.lost
    }
    /// Returns the number of packets deemed lost that arrived later.
    pub const fn spurious(&self) -> u64 {
        self.spurious
    }

    #[cfg(test)]
    pub fn remembered(&self) -> usize {
        self.congested.len()
    }

    #[cfg(test)]
    pub fn lengths_and_discounts(&self) -> Vec<(f64, f64)> {
        self.intervals
            .lengths_and_discounts(self.highest.unwrap_or(0))
    }
}

/// Removes a packet that has arrived from the runs. Returns true if it was in one.
fn take(runs: &mut VecDeque<Run>, number: u64) -> bool {
    let index = runs.partition_point(|run| run.last < number);
    let Some(run) = runs
        .get(index)
        .copied()
        .filter(|run| run.first <= number && !run.marked)
    else {
        return false;
    };
    runs.remove(index);
    for (offset, rest) in run.without(number).enumerate() {
        runs.insert(index + offset, rest);
    }
    true
}
