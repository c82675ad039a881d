//! The times at which a constellation of satellites in low orbits changes who serves a terminal:
//! every 15 s, at the seconds 12, 27, 42 and 57 of a minute. Link and delay of a path share them.

use ackclock_spec::streams::Streams;
use ackclock_spec::units::{Span, Time};

/// Time between two changes.
pub const PERIOD: Span = Span::from_millis(15_000);
/// Time of the first change in a minute.
const FIRST: Span = Span::from_millis(12_000);

/// The changes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reallocations {
    /// Time of the first change.
    first: Time,
}

impl Reallocations {
    /// Makes those of a run that begins `phase` after a full minute. Without a phase it is drawn,
    /// for all hops of the run the same.
    pub fn of(phase: Option<Span>, streams: &Streams) -> Self {
        let phase = phase.unwrap_or_else(|| streams.stream("reallocation").uniform_span(PERIOD));
        let period = PERIOD.as_nanos();
        let since = (phase.as_nanos() % period + period - FIRST.as_nanos()) % period;
        let first = Time::from_nanos((period - since) % period);
        Reallocations { first }
    }

    /// Returns the time of the last change by `at`; none before the first.
    pub fn last(self, at: Time) -> Option<Time> {
        let since = at.as_nanos().checked_sub(self.first.as_nanos())?;
        Some(Time::from_nanos(at.as_nanos() - since % PERIOD.as_nanos()))
    }

    /// Returns the time of the next change after `at`.
    pub fn next(self, at: Time) -> Time {
        self.last(at).map_or(self.first, |last| last + PERIOD)
    }

    /// Returns the number of changes by `at`.
    pub fn count(self, at: Time) -> u64 {
        let since = |last: Time| last.since(self.first).as_nanos() / PERIOD.as_nanos() + 1;
        self.last(at).map_or(0, since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(phase: Option<Span>) -> Vec<f64> {
        let changes = Reallocations::of(phase, &Streams::new(1, 0));
        let mut now = Time::ZERO;
        let mut next = || {
            now = changes.next(now);
            now.as_seconds()
        };
        vec![next(), next(), next()]
    }

    #[test]
    fn they_are_at_the_seconds_of_the_minute() {
        assert_eq!(changes(Some(Span::ZERO)), [12.0, 27.0, 42.0]);
        assert_eq!(changes(Some(Span::from_millis(13_000))), [14.0, 29.0, 44.0]);
        assert_eq!(changes(Some(Span::from_millis(60_000))), [12.0, 27.0, 42.0]);
    }

    #[test]
    fn a_drawn_phase_is_the_same_in_the_whole_run() {
        assert_eq!(changes(None), changes(None));
        let first = changes(None)[0];
        assert!((0.0..15.0).contains(&first));
    }

    #[test]
    fn they_are_counted_and_the_last_is_known() {
        let changes = Reallocations::of(Some(Span::ZERO), &Streams::new(1, 0));
        let at = |second: u64| Time::ZERO + Span::from_millis(1_000 * second);
        assert_eq!(
            [0, 11, 12, 26, 27].map(|s| changes.count(at(s))),
            [0, 0, 1, 1, 2]
        );
        assert_eq!(changes.last(at(11)), None);
        assert_eq!(changes.last(at(30)), Some(at(27)));
    }
}
