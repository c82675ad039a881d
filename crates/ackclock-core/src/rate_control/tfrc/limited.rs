//! Detection of data-limited intervals: the application, not the control, limits the rate (RFC 5348
//! sections 4.3 and 8.2.1).

use ackclock_spec::units::{Span, Time};
use std::collections::VecDeque;

/// Intervals in which the sender sent all that it was allowed to. Each lasts from one such packet
/// to another, with no other packet between them. Section 8.2.1 stores two times, and says that
/// more are more accurate.
#[derive(Debug, Default)]
pub struct NotLimited {
    times: VecDeque<(Time, Time)>,
    /// True if the last packet ended such an interval.
    open: bool,
}

impl NotLimited {
    /// Records a sent packet.
    pub fn on_sent(&mut self, now: Time, data_limited: bool) {
        match self.times.back_mut() {
            _ if data_limited => {}
            Some((_, end)) if self.open => *end = now,
            _ => self.times.push_back((now, now)),
        }
        self.open = !data_limited;
    }

    /// True if feedback on a packet sent at `sent_at` covers only data-limited time. It covers the
    /// round trip before that time.
    pub fn covers_only_limited(&mut self, sent_at: Time, rtt: Span) -> bool {
        // The next feedback packet covers a later time.
        while self
            .times
            .front()
            .is_some_and(|(_, end)| *end + rtt <= sent_at)
        {
            self.times.pop_front();
            self.open &= !self.times.is_empty();
        }
        self.times.front().is_none_or(|(start, _)| *start > sent_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = |milliseconds| Time::from_nanos(milliseconds * 1_000_000);
    const RTT: Span = Span::from_millis(100);

    #[test]
    fn a_time_between_two_full_packets_is_not_limited() {
        let mut limited = NotLimited::default();
        limited.on_sent(MS(0), false);
        limited.on_sent(MS(1000), false);
        assert!(
            !limited.covers_only_limited(MS(500), RTT),
            "as slow as it must"
        );
        limited.on_sent(MS(1100), true);
        assert!(!limited.covers_only_limited(MS(1099), RTT));
        assert!(limited.covers_only_limited(MS(1100), RTT));
        limited.on_sent(MS(1200), false);
        assert!(limited.covers_only_limited(MS(1199), RTT));
        assert!(!limited.covers_only_limited(MS(1200), RTT));
    }

    #[test]
    fn the_very_first_packet_counts_at_time_zero() {
        let mut limited = NotLimited::default();
        limited.on_sent(MS(0), false);
        assert!(!limited.covers_only_limited(MS(0), RTT));
    }
}
