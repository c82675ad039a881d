//! HyStart of Linux: ends slow start when ACKs come in a long train, or when the round-trip time
//! grows (`hystart_update` of `tcp_cubic.c`, 6.18). It is neither the HyStart of the paper (Ha and
//! Rhee, 2011) nor HyStart++ (RFC 9406).

use super::Ack;
use ackclock_spec::units::{Bytes, Span, Time};

/// Least window at which it looks, in segments.
const LOW_WINDOW: u64 = 16;
/// Number of round-trip times per round before the delay counts.
const LEAST_SAMPLES: u32 = 8;
/// Longest gap within a train of ACKs.
const LONGEST_GAP: Span = Span::from_millis(2);
/// Bounds of the growth of the round-trip time.
const LEAST_GROWTH: Span = Span::from_millis(4);
const MOST_GROWTH: Span = Span::from_millis(16);
/// Most time that aggregation adds to a train, and the data that it holds back.
const MOST_ACK_DELAY: Span = Span::from_millis(1);
const AGGREGATE: Bytes = Bytes(4 * 65_536);

/// State of one connection.
#[derive(Debug)]
pub(super) struct HyStartLinux {
    /// First segment not sent when the round began; `None` until the ACK after a timeout.
    round_end: Option<u64>,
    round_start: Time,
    last_ack: Time,
    least: Span,
    samples: u32,
    should_exit: bool,
    paced: bool,
}

impl HyStartLinux {
    /// Creates it; `paced` if segments are spread over the round trip.
    pub fn new(paced: bool) -> Self {
        HyStartLinux {
            round_end: Some(0),
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            least: Span::FOREVER,
            samples: 0,
            should_exit: false,
            paced,
        }
    }

    /// Starts again, after a timeout.
    pub fn reset(&mut self, now: Time) {
        *self = HyStartLinux {
            round_end: None,
            round_start: now,
            last_ack: now,
            ..HyStartLinux::new(self.paced)
        };
    }

    /// Processes an ACK in slow start with a window of `cwnd` segments. `delay` is its round-trip
    /// time, `least_delay` the smallest one of the connection. Returns true if slow start is over.
    pub fn is_over(
        &mut self,
        now: Time,
        ack: &Ack,
        cwnd: u64,
        delay: Span,
        least_delay: Span,
    ) -> bool {
        if self.should_exit {
            return false;
        }
        if ack.first > *self.round_end.get_or_insert(ack.next) {
            (self.round_start, self.last_ack) = (now, now);
            (self.least, self.samples) = (Span::FOREVER, 0);
            self.round_end = Some(ack.next);
        }
        if cwnd < LOW_WINDOW {
            return false;
        }
        if now.since(self.last_ack) <= LONGEST_GAP {
            self.last_ack = now;
            let mut longest = least_delay + self.ack_delay(ack);
            if !self.paced {
                longest = longest / 2;
            }
            self.should_exit |= now.since(self.round_start) > longest;
        }
        self.least = self.least.min(delay);
        if self.samples < LEAST_SAMPLES {
            self.samples += 1;
        } else {
            let growth = (least_delay / 8).max(LEAST_GROWTH).min(MOST_GROWTH);
            self.should_exit |= self.least > least_delay + growth;
        }
        self.should_exit
    }

    /// Returns the time that aggregation may add to a train, at twice the window per round trip.
    fn ack_delay(&self, ack: &Ack) -> Span {
        let Some(rtt) = ack.smoothed_rtt else {
            return Span::ZERO;
        };
        let window = ack.in_flight.0.saturating_add(ack.newly_acked.0).max(1);
        let per_window = AGGREGATE.0 as f64 / (2.0 * window as f64);
        Span::from_seconds(rtt.as_seconds() * per_window).min(MOST_ACK_DELAY)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{AckClock, MSS};
    use super::*;
    use serde_json::json;

    /// A flow with 20 segments, after a round with this round-trip time.
    fn clock(rtt: Span) -> AckClock {
        let tree = json!({
            "kind": "cubic", "arithmetic": "linux", "slow_start_exit": "hystart",
        });
        let mut clock = AckClock::new(&tree, rtt, 10, None);
        clock.round();
        assert_eq!((clock.cwnd(), clock.ssthresh()), (20.0, None));
        clock
    }

    /// An eighth of the least round-trip time more, but 4 to 16 ms: above that, and not at it. The
    /// ninth ACK of a round is the first that counts.
    #[test]
    fn growth_is_compared_with_an_eighth_within_bounds() {
        for (base_ms, threshold_us) in [(10, 14_000), (100, 112_500), (200, 216_000)] {
            for (more_us, ends) in [(0, false), (100, true)] {
                let mut clock = clock(Span::from_millis(base_ms));
                clock.rtt = Span::from_micros(threshold_us + more_us);
                (0..8).for_each(|_| clock.ack(MSS));
                assert_eq!((clock.cwnd(), clock.ssthresh()), (28.0, None));
                clock.ack(MSS);
                assert_eq!(clock.ssthresh(), ends.then_some(28.0), "{base_ms} ms");
            }
        }
    }

    /// The packetdrill script of the kernel: ACKs of two segments, 200 ms and then 240 ms.
    #[test]
    fn the_window_at_the_ninth_ack_is_the_threshold() {
        let mut longer = clock(Span::from_millis(200));
        longer.rtt = Span::from_millis(240);
        (0..9).for_each(|_| longer.ack(2 * MSS));
        assert_eq!(longer.ssthresh(), Some(36.0));
        let mut shorter = clock(Span::from_millis(200));
        shorter.rtt = Span::from_millis(160);
        (0..10).for_each(|_| shorter.ack(2 * MSS));
        assert_eq!((shorter.cwnd(), shorter.ssthresh()), (40.0, None));
    }
}
