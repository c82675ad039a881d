//! The times at which a constellation of satellites in low orbits changes who serves a terminal:
//! every 15 s, at the seconds 12, 27, 42 and 57 of a minute. Link and delay of a path share them.

use ackclock_spec::streams::Streams;
use ackclock_spec::units::{Span, Time};

/// Time between two changes.
pub const PERIOD: Span = Span::from_millis(15_000);
/// Time without packets after which the changes in it are not drawn one by one.
pub const DAY: Span = Span::from_millis(86_400_000);
/// Time of the first change in a minute.
const FIRST: Span = Span::from_millis(12_000);

/// Returns the time of the first change of a run that begins `phase` after a full minute. Without a
/// phase it is drawn, for all hops of the run the same.
pub fn first(phase: Option<Span>, streams: &Streams) -> Time {
    let phase = phase.unwrap_or_else(|| streams.stream("reallocation").uniform_span(PERIOD));
    let period = PERIOD.as_nanos();
    let since = (phase.as_nanos() % period + period - FIRST.as_nanos()) % period;
    Time::from_nanos((period - since) % period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_at_a_second_of_the_minute() {
        let first = |ms: u64| first(Some(Span::from_millis(ms)), &Streams::new(1, 0)).as_seconds();
        assert_eq!(
            [0, 12_000, 13_000, 27_000, 60_000].map(first),
            [12.0, 0.0, 14.0, 0.0, 12.0]
        );
    }

    #[test]
    fn a_drawn_phase_is_the_same_in_the_whole_run() {
        let streams = Streams::new(1, 0);
        assert_eq!(first(None, &streams), first(None, &streams));
        assert!(first(None, &streams) < Time::ZERO + PERIOD);
    }
}
