//! Hoe's threshold (Hoe, "Improving the start-up behavior of a congestion control scheme for TCP",
//! SIGCOMM 1996): ends slow start at the bandwidth-delay product, which the first ACKs tell.
//!
//! Packets that leave the bottleneck back to back arrive at its rate, and so do their ACKs. A line
//! by least squares through the data that three closely spaced ACKs acknowledge is that rate. Times
//! the smallest round-trip time, it is the threshold. "Closely spaced" is not defined; here they
//! come within half of that time, so that the pause between two rounds is not among them.

use super::Ack;
use ackclock_spec::units::{Span, Time};

/// ACKs through which the line goes.
const ACKS: usize = 3;

/// State of one connection.
#[derive(Debug)]
pub(super) struct Hoe {
    mss: f64,
    /// Time and delivered data of the last ACKs, the newest first.
    last: [(Time, u64); ACKS],
    /// ACKs so far, at most [`ACKS`].
    seen: usize,
    /// Threshold in segments, once it is known.
    threshold: Option<f64>,
}

impl Hoe {
    /// Fewest ACKs of a full link in a round trip with which some are closely spaced.
    pub const LEAST_ACKS: u32 = 2 * (ACKS as u32 - 1);

    /// Creates it; `mss` is a full segment in bytes.
    pub const fn new(mss: f64) -> Self {
        Hoe {
            mss,
            last: [(Time::ZERO, 0); ACKS],
            seen: 0,
            threshold: None,
        }
    }

    /// Processes an ACK in slow start with a window of `cwnd` segments. Returns true if slow start
    /// is over.
    pub fn is_over(&mut self, now: Time, ack: &Ack, cwnd: u64, least: Option<Span>) -> bool {
        if self.threshold.is_none() {
            self.last.rotate_right(1);
            self.last[0] = (now, ack.delivered.0);
            self.seen = (self.seen + 1).min(ACKS);
            self.threshold = least.and_then(|least| self.product(least));
        }
        self.threshold
            .is_some_and(|threshold| cwnd as f64 >= threshold)
    }

    /// Returns the bandwidth-delay product in segments; `None` if the ACKs are not closely spaced.
    fn product(&self, least: Span) -> Option<f64> {
        let first = self.last[ACKS - 1];
        let length = self.last[0].0.since(first.0);
        if self.seen < ACKS || length == Span::ZERO || length * 2 > least {
            return None;
        }
        // From the first ACK on, so that nothing cancels.
        let points = self
            .last
            .map(|(at, data)| (at.since(first.0).as_seconds(), (data - first.1) as f64));
        let count = ACKS as f64;
        let mean = |sum: f64| sum / count;
        let at = mean(points.iter().map(|point| point.0).sum());
        let data = mean(points.iter().map(|point| point.1).sum());
        let together: f64 = points.iter().map(|p| (p.0 - at) * (p.1 - data)).sum();
        let spread: f64 = points.iter().map(|p| (p.0 - at) * (p.0 - at)).sum();
        Some(together / spread * least.as_seconds() / self.mss)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{AckClock, MSS};
    use super::*;
    use ackclock_spec::units::Bytes;
    use serde_json::json;

    const RTT: Span = Span::from_millis(100);

    fn ack(delivered: u64) -> Ack {
        let clock = AckClock::new(&json!({ "kind": "reno" }), RTT, 4, None);
        let mut ack = clock.ack_of(MSS);
        ack.delivered = Bytes(delivered);
        ack
    }

    /// ACKs of a segment each, 2 ms apart, over 100 ms: 50 segments fit the path.
    #[test]
    fn evenly_spaced_acks_give_the_product() {
        let mut hoe = Hoe::new(MSS as f64);
        for number in 1..=3_u64 {
            let now = Time::ZERO + Span::from_millis(2 * number);
            assert!(!hoe.is_over(now, &ack(number * MSS), 49, Some(RTT)));
        }
        assert!((hoe.threshold.unwrap() - 50.0).abs() < 1e-9);
        let now = Time::ZERO + Span::from_millis(8);
        assert!(hoe.is_over(now, &ack(4 * MSS), 50, Some(RTT)));
    }

    /// By least squares through (0, 0), (1, 2) and (3, 3): 13/14 segments per millisecond.
    #[test]
    fn unevenly_spaced_acks_give_the_line_through_them() {
        let mut hoe = Hoe::new(MSS as f64);
        for (at, data) in [(10, 5), (11, 7), (13, 8)] {
            let now = Time::ZERO + Span::from_millis(at);
            hoe.is_over(now, &ack(data * MSS), 1, Some(RTT));
        }
        assert!((hoe.threshold.unwrap() - 1300.0 / 14.0).abs() < 1e-9);
    }

    #[test]
    fn acks_of_two_rounds_or_of_one_moment_tell_nothing() {
        for times in [[0, 2, 53], [5, 5, 5]] {
            let mut hoe = Hoe::new(MSS as f64);
            for (number, at) in (1..).zip(times) {
                let now = Time::ZERO + Span::from_millis(at);
                assert!(!hoe.is_over(now, &ack(number * MSS), 1_000_000, Some(RTT)));
            }
            assert_eq!(hoe.threshold, None, "{times:?}");
        }
    }
}
