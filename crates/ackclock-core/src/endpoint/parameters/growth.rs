//! Parameters of the congestion window: where it begins, grows and is reduced.

use super::ResumeParameters;
use ackclock_spec::quantity::{OptionalWindow, Segments};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrowthParameters {
    /// Initial congestion window.
    pub initial_window: Segments,
    /// Lost SYNs that leave the initial window as it is. After more, it is one segment (RFC 5681
    /// section 3.1).
    pub tolerated_lost_syns: u32,
    /// Initial slow-start threshold, or `"unlimited"`.
    pub initial_ssthresh: OptionalWindow,
    /// Acknowledged data that an ACK counts for the growth of the congestion window.
    pub byte_counting: ByteCounting,
    /// Rule by which the congestion window grows only while it limits the sender.
    pub window_validation: WindowValidation,
    /// Base of a multiplicative decrease.
    pub ssthresh_from: SsthreshFrom,
    /// True if a reduction cuts ssthresh to whole segments (ns-2); cwnd keeps the fraction. RFC
    /// 5681 counts in bytes.
    pub ssthresh_in_whole_segments: bool,
    /// Congestion window after an idle time.
    pub idle_restart: IdleRestart,
    /// Arithmetic of Reno's and CUBIC's congestion window.
    pub arithmetic: Arithmetic,
    /// Resumption with what an earlier connection has learnt of the path (RFC 9959); absent: none.
    /// Reno, CUBIC and Cuback have it.
    pub resume: Option<ResumeParameters>,
}

/// Acknowledged data that an ACK counts for the growth of the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ByteCounting {
    /// One segment per ACK of new data, regardless of the amount acknowledged (RFC 5681, ns-2).
    PerAck,
    /// The amount acknowledged: at most two segments, or one in slow start after a timeout (RFC
    /// 3465).
    AbcL2,
    /// The whole amount acknowledged.
    All,
    /// The whole amount known to be delivered: acknowledged, SACKED or reported twice (Linux).
    Delivered,
}

/// Rule by which the congestion window grows only while it limits the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WindowValidation {
    /// It always grows.
    Off,
    /// At least half of it was in flight in the last round trip (RFC 7661 section 4.3).
    HalfUsed,
    /// It was full in the last round trip; in slow start, more than half of it was in flight
    /// (Linux, `tcp_is_cwnd_limited`).
    Full,
    /// It grows to twice the most data in flight since its last reduction in slow start, otherwise
    /// to a segment above that (draft-ietf-ccwg-ratelimited-increase-10 section 3).
    RateLimitedIncrease,
}

/// Base of a multiplicative decrease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SsthreshFrom {
    /// Data in flight, excluding segments sent by limited transmit (RFC 5681 equation 4); at most
    /// the congestion window while data in flight is SACKED.
    FlightSize,
    /// The smaller of congestion window and receive window (ns-2); the congestion window (Linux).
    Window,
}

/// Congestion window after an idle time longer than the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdleRestart {
    /// The window is kept.
    Off,
    /// The window is at most the initial window (RFC 5681 section 4.1, ns-2).
    InitialWindow,
    /// The window is halved for each timeout that passed, to at least the initial window (Linux;
    /// RFC 2861).
    Decay,
}

/// Arithmetic of Reno's and CUBIC's congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arithmetic {
    /// Fractions of bytes (RFC 5681, RFC 9438).
    Exact,
    /// Whole segments, with the integers and constants of Linux (`tcp_cong.c`, `tcp_cubic.c`).
    Linux,
}
