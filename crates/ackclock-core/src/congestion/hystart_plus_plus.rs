//! HyStart++ (RFC 9406): leaves slow start when the round-trip time grows.

use super::Ack;
use super::rounds::RoundCounter;
use super::window::Window;
use ackclock_spec::units::Span;

/// HyStart++: leaves slow start when the round-trip time grows, after conservative slow start
/// (CSS).
///
/// Symbols of RFC 9406 section 4.2: windowEnd is in `rounds`, lastRoundMinRTT is `last_minimum`,
/// currentRoundMinRTT is `current_minimum`, rttSampleCount is `samples`, and cssBaselineMinRtt is
/// `Conservative::baseline`. Infinity is `Span::FOREVER`.
#[derive(Clone, Debug)]
pub(super) struct HyStartPlusPlus {
    rounds: RoundCounter,
    last_minimum: Span,
    current_minimum: Span,
    samples: u32,
    conservative: Option<Conservative>,
}

#[derive(Clone, Copy, Debug)]
struct Conservative {
    baseline: Span,
    rounds: u32,
}

// RFC 9406 section 4.3.
const MIN_RTT_THRESH: Span = Span::from_millis(4);
const MAX_RTT_THRESH: Span = Span::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;
/// L of RFC 9406 without pacing, in segments.
const L: f64 = 8.0;

impl HyStartPlusPlus {
    /// Creates it, for the first slow start (section 4.2).
    pub fn new() -> Self {
        HyStartPlusPlus {
            rounds: RoundCounter::default(),
            last_minimum: Span::FOREVER,
            current_minimum: Span::FOREVER,
            samples: 0,
            conservative: None,
        }
    }

    /// cwnd += min(N, L SMSS), in CSS divided by CSS_GROWTH_DIVISOR. N is the credit; the part of
    /// it above L SMSS is discarded.
    pub fn grow(&self, window: &mut Window, credit: f64) -> f64 {
        let divisor = if self.conservative.is_some() {
            CSS_GROWTH_DIVISOR
        } else {
            1.0
        };
        window.grow_in_slow_start(credit.min(L * window.mss()), divisor)
    }

    /// Processes the round-trip time of an ACK. Returns true if slow start is over.
    pub fn is_over(&mut self, ack: &Ack) -> bool {
        if self.rounds.begins(ack) {
            self.last_minimum = std::mem::replace(&mut self.current_minimum, Span::FOREVER);
            self.samples = 0;
            if let Some(conservative) = &mut self.conservative {
                conservative.rounds += 1;
                if conservative.rounds >= CSS_ROUNDS {
                    return true;
                }
            }
        }
        let Some(rtt) = ack.rtt else {
            return false;
        };
        self.current_minimum = self.current_minimum.min(rtt);
        self.samples = self.samples.saturating_add(1);
        if self.samples < N_RTT_SAMPLE {
            return false;
        }
        match self.conservative {
            Some(conservative) if self.current_minimum < conservative.baseline => {
                self.conservative = None
            }
            None if self.last_minimum != Span::FOREVER
                && self.current_minimum >= self.threshold() =>
            {
                self.conservative = Some(Conservative {
                    baseline: self.current_minimum,
                    rounds: 0,
                });
            }
            _ => {}
        }
        false
    }

    /// True in conservative slow start.
    pub const fn is_conservative(&self) -> bool {
        self.conservative.is_some()
    }

    /// Returns lastRoundMinRTT + RttThresh.
    fn threshold(&self) -> Span {
        let growth = (self.last_minimum / MIN_RTT_DIVISOR)
            .min(MAX_RTT_THRESH)
            .max(MIN_RTT_THRESH);
        self.last_minimum + growth
    }
}

#[cfg(test)]
mod tests {
    use super::super::CongestionKind;
    use super::super::testing::AckClock;
    use super::*;
    use serde_json::json;

    const CSS: &str = "conservative_slow_start";

    /// A HyStart++ flow with 32 segments, after two rounds of 100 ms.
    fn clock(kind: &str) -> AckClock {
        let tree = json!({ "kind": kind, "slow_start_exit": "hystart++" });
        let mut clock = AckClock::new(&tree, Span::from_millis(100), 8, None);
        (0..2).for_each(|_| clock.round());
        assert_eq!(
            (clock.cwnd(), clock.control.state().mode),
            (32.0, "slow_start")
        );
        clock
    }

    #[test]
    fn a_constant_round_trip_time_is_slow_start() {
        let mut clock = clock("reno");
        (0..5).for_each(|_| clock.round());
        assert_eq!(
            (clock.cwnd(), clock.control.state().mode),
            (1024.0, "slow_start")
        );
    }

    #[test]
    fn growing_delay_leads_through_five_slower_rounds_to_congestion_avoidance() {
        for kind in ["reno", "cubic"] {
            let mut clock = clock(kind);
            clock.rtt = Span::from_millis(100 + 12); // threshold: 100/8 = 12.5 ms
            clock.round();
            assert_eq!(clock.control.state().mode, "slow_start");
            clock.rtt = Span::from_millis(112 + 14); // 112/8 = 14 ms
            clock.round();
            assert_eq!(clock.control.state().mode, CSS);
            // Eight samples in slow start, then a quarter of a segment for each of the other 56
            // ACKs.
            assert_eq!(clock.cwnd(), 64.0 + 8.0 + 56.0 / 4.0);
            for _ in 0..4 {
                let before = clock.cwnd();
                clock.round();
                assert!((clock.cwnd() / before - 1.25).abs() < 0.01);
                assert_eq!((clock.control.state().mode, clock.ssthresh()), (CSS, None));
            }
            clock.round();
            assert!(!clock.control.state().mode.ends_with("slow_start"));
            assert!(clock.ssthresh().unwrap() <= clock.cwnd());
        }
    }

    #[test]
    fn delay_that_falls_back_resumes_slow_start() {
        let mut clock = clock("reno");
        clock.rtt = Span::from_millis(120);
        clock.round();
        assert_eq!(clock.control.state().mode, CSS);
        clock.rtt = Span::from_millis(119);
        clock.round();
        assert_eq!(clock.control.state().mode, "slow_start");
    }

    #[test]
    fn the_threshold_is_bounded_on_both_sides() {
        for (rtt, growth) in [(8, 4), (80, 10), (1000, 16)] {
            let grown = |extra: u64| {
                let mut clock = clock("reno");
                clock.rtt = Span::from_millis(rtt);
                clock.round();
                clock.rtt = Span::from_nanos(rtt * 1_000_000 + extra);
                clock.round();
                clock.control.state().mode
            };
            // The step from 100 ms to one second is itself growth: CSS has begun by then.
            if rtt < 100 {
                assert_eq!(grown(growth * 1_000_000 - 1), "slow_start", "{rtt}");
            }
            assert_eq!(grown(growth * 1_000_000), CSS, "{rtt}");
        }
    }

    #[test]
    fn after_a_loss_slow_start_is_the_standard_one() {
        let mut clock = clock("reno");
        clock.congestion(CongestionKind::Timeout);
        for rtt in [100, 150, 200, 250] {
            clock.rtt = Span::from_millis(rtt);
            let before = clock.cwnd();
            clock.round();
            assert_eq!(clock.cwnd(), (2.0 * before).min(16.0));
        }
    }
}
