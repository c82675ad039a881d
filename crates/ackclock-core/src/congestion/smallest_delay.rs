//! Smallest round-trip times: of a time, of the last measurements, and of the last minutes.

use ackclock_spec::units::{Span, Time};
use std::collections::VecDeque;

/// The smallest value of a time that ends now. Holds values that rise from the oldest to the
/// newest, since a smaller one makes those before it needless.
#[derive(Debug, Default)]
pub(super) struct SlidingMinimum(VecDeque<(Time, Span)>);

/// Most values that are held. A round trip has no more ACKs than that for a minimum to be exact.
const MOST: usize = 1024;

impl SlidingMinimum {
    /// Takes in a value and forgets those older than `window`. Returns the minimum.
    pub fn update(&mut self, now: Time, window: Span, value: Span) -> Span {
        while self.0.back().is_some_and(|(_, kept)| *kept >= value) || self.0.len() >= MOST {
            self.0.pop_back();
        }
        self.0.push_back((now, value));
        while self
            .0
            .front()
            .is_some_and(|(at, _)| now.since(*at) > window)
        {
            self.0.pop_front();
        }
        self.0.front().map_or(value, |(_, smallest)| *smallest)
    }
}

/// The smallest of the last few values (CURRENT_FILTER of RFC 6817).
#[derive(Debug)]
pub(super) struct LastMinimum {
    values: VecDeque<Span>,
    count: usize,
}

impl LastMinimum {
    /// Makes the minimum of the last `count` values, at least one.
    pub fn of(count: u32) -> Self {
        LastMinimum {
            values: VecDeque::new(),
            count: count.max(1) as usize,
        }
    }

    /// Takes in a value. Returns the minimum.
    pub fn update(&mut self, value: Span) -> Span {
        if self.values.len() == self.count {
            self.values.pop_front();
        }
        self.values.push_back(value);
        self.values.iter().copied().min().unwrap_or(value)
    }
}

/// The base delay: the smallest value of each of the last minutes (BASE_HISTORY of RFC 6817).
#[derive(Debug)]
pub(super) struct BaseDelay {
    /// The present minute and those before it, the oldest first.
    minutes: VecDeque<Span>,
    count: usize,
    began: Time,
}

const MINUTE: Span = Span::from_millis(60_000);

impl BaseDelay {
    /// Makes the base delay of the last `minutes`, at least one.
    pub fn over(minutes: u32) -> Self {
        BaseDelay {
            minutes: VecDeque::new(),
            count: minutes.max(1) as usize,
            began: Time::ZERO,
        }
    }

    /// Takes in a value. Returns the base delay.
    pub fn update(&mut self, now: Time, value: Span) -> Span {
        let is_new = self.minutes.is_empty() || now.since(self.began) >= MINUTE;
        if is_new {
            if self.minutes.len() == self.count {
                self.minutes.pop_front();
            }
            self.minutes.push_back(value);
            self.began = now;
        } else if let Some(last) = self.minutes.back_mut() {
            *last = (*last).min(value);
        }
        self.minutes.iter().copied().min().unwrap_or(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(value: u64) -> Span {
        Span::from_millis(value)
    }
    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_sliding_minimum_forgets_what_is_too_old() {
        let mut minimum = SlidingMinimum::default();
        let smallest = [(0, 9), (10, 5), (20, 7), (30, 6), (61, 8), (100, 9)]
            .map(|(time, value)| minimum.update(at(time), ms(50), ms(value)));
        assert_eq!(smallest, [9, 5, 5, 5, 6, 8].map(ms));
    }

    #[test]
    fn the_last_values_count() {
        let mut last = LastMinimum::of(3);
        assert_eq!(
            [5, 7, 8, 9].map(|value| last.update(ms(value))),
            [5, 5, 5, 7].map(ms)
        );
    }

    #[test]
    fn a_base_delay_is_forgotten_after_its_minutes() {
        let mut base = BaseDelay::over(2);
        let minutes = [(0, 9), (30, 5), (60, 8), (119, 7), (120, 9), (181, 9)];
        let smallest = minutes.map(|(s, value)| base.update(at(s * 1000), ms(value)));
        assert_eq!(smallest, [9, 5, 5, 5, 7, 9].map(ms));
    }
}
