//! Parameters of the retransmission timer.

use ackclock_spec::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of the round-trip time and of the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimerParameters {
    /// Segments whose round-trip time is measured.
    pub rtt_sampling: RttSampling,
    /// Tick of the sender's clock, G of RFC 6298. Round-trip times and timeouts are rounded up to
    /// it; `"0 s"` is exact.
    pub clock_granularity: Span,
    /// Minimum retransmission timeout.
    pub rto_minimum: Span,
    /// Quantity that the minimum retransmission timeout bounds.
    pub rto_floor: RtoFloor,
    /// Maximum retransmission timeout.
    pub rto_maximum: Span,
    /// Retransmission timeout before the first sample.
    pub rto_initial: Span,
    /// Timeouts of the SYN that do not double the next one (`tcp_syn_linear_timeouts` of Linux,
    /// since 6.5).
    pub linear_syn_timeouts: u32,
    /// True if the timeout follows the round-trip times. Otherwise it is always `rto_initial`,
    /// doubled on repeated timeouts, for comparison with models that have a constant timeout.
    pub rto_adaptive: bool,
    /// Tick of the clock that timers wait for (Linux: 1/HZ). A timer expires at a tick, and one of
    /// 63 ticks or more at every eighth (`timer.c`). Zero for exact timers.
    pub timer_tick: Span,
    /// True if timeouts are kept in whole ticks: rounded up, doubled by the back-off, and counted
    /// from the tick before, with one more (`usecs_to_jiffies`, `calc_index`). Linux has this; the
    /// presets do not (`docs/deviations.md`). Only with `recovery = "rack"`.
    pub timeouts_in_ticks: bool,
}

impl TimerParameters {
    /// Values of RFC 6298 with exact clocks.
    pub const RFC_6298: TimerParameters = TimerParameters {
        rtt_sampling: RttSampling::EveryAck,
        clock_granularity: Span::ZERO,
        rto_minimum: Span::from_millis(1000), // (2.4)
        rto_floor: RtoFloor::Timeout,
        rto_maximum: Span::from_millis(60_000), // (2.5): at least 60 s
        rto_initial: Span::from_millis(1000),   // (2.1)
        linear_syn_timeouts: 0,                 // (5.5)
        rto_adaptive: true,
        timer_tick: Span::ZERO,
        timeouts_in_ticks: false,
    };
}

/// Segments whose round-trip time is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RttSampling {
    /// Every ACK of new data gives a sample, with the timestamp option (RFC 7323).
    Timestamps,
    /// Every ACK of a segment that was sent once gives a sample (Karn).
    EveryAck,
    /// One segment per round trip; its sample is discarded if it is retransmitted (Karn; BSD,
    /// ns-2).
    OncePerRoundTrip,
}

/// The quantity that the minimum retransmission timeout bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RtoFloor {
    /// The whole timeout: max(minimum, SRTT + 4 RTTVAR) (RFC 6298).
    Timeout,
    /// The variance term: SRTT + max(minimum, 4 RTTVAR).
    Variance,
    /// The variance term of Linux (`tcp_rtt_estimator`). It rises at once to the largest deviation
    /// of a round trip, and falls by at most a quarter of the excess per round trip.
    PeakVariance,
}
