//! Every switch of TCP that changes an experiment's outcome, with the presets `ns2-2002`, `rfc`,
//! `linux` and `jacobson1988`.

use crate::scenario::quantity::{OptionalWindow, Segments};
use crate::units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to do about a lost segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossRecovery {
    /// None but the retransmission timer: duplicate ACKs mean nothing (Jacobson 1988 before fast
    /// retransmit).
    TimeoutOnly,
    /// Three duplicates: slow start from the hole (Jacobson 1988).
    Tahoe,
    /// Fast recovery that ends at any new ACK (RFC 2001).
    Reno,
    /// Fast recovery that retransmits at each partial ACK (RFC 6582).
    Newreno,
    /// Scoreboard and pipe (RFC 6675).
    Sack,
}

/// Whether a partial ACK restarts the retransmission timer (RFC 6582 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartialAck {
    /// Only the first one of a recovery does.
    Impatient,
    /// Each one does.
    SlowButSteady,
}

/// What a multiplicative decrease starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SsthreshFrom {
    /// Outstanding data, without what limited transmit added (RFC 5681 equation 4).
    FlightSize,
    /// The smaller of congestion window and receiver's window (ns-2); the congestion window
    /// (Linux).
    Window,
}

/// How much an ACK counts for the growth of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ByteCounting {
    /// One segment per ACK of new data, whatever it covers (RFC 5681, ns-2).
    PerAck,
    /// What it covers, at most two segments, one in slow start after a timeout (RFC 3465).
    AbcL2,
    /// All it covers (Linux).
    All,
}

/// Which round-trip times are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RttSampling {
    /// By the timestamp option, at every ACK of new data (RFC 7323).
    Timestamps,
    /// At every ACK of a segment sent once (Karn).
    EveryAck,
    /// One segment per round trip, given up if it is retransmitted (Karn; BSD, ns-2).
    OncePerRoundTrip,
}

/// What the smallest retransmission timeout bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RtoFloor {
    /// The whole timeout: max(minimum, SRTT + 4 RTTVAR) (RFC 6298).
    Timeout,
    /// The variance term: SRTT + max(minimum, 4 RTTVAR) (Linux).
    Variance,
}

/// Which duplicate ACKs for data that have been sent before are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AvoidMultipleFastRetransmits {
    /// Those of data sent before the last fast recovery or timeout began: one reduction for a
    /// window.
    Always,
    /// Those of data sent before the last timeout, which go-back-N causes. Each hole of a window
    /// may begin a fast recovery of its own, as in Reno of 1990.
    AfterTimeout,
    /// None.
    Never,
}

/// What is sent after a retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AfterTimeout {
    /// Everything from the first hole on, as if new (ns-2; RFC 5681).
    GoBackN,
    /// Only what is not known to have arrived (RFC 6675 section 5.1). Needs `recovery = "sack"`.
    Scoreboard,
}

/// ssthresh when the timer goes off again for the same segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RepeatedTimeout {
    /// Is kept (RFC 5681 section 3.1).
    Keep,
    /// Is halved again (ns-2).
    Reduce,
}

/// The window after an idle time longer than the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdleRestart {
    /// Is kept.
    Off,
    /// No larger than the initial window (RFC 5681 section 4.1, ns-2).
    InitialWindow,
    /// Halved for every timeout that passed, not below the initial window (Linux; RFC 2861).
    Decay,
}

/// Whether segments are spread over the round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// Only if the control gives a rate.
    Control,
    /// At the control's rate, else at cwnd/SRTT times 2 in slow start and 1.2 after (Linux with
    /// fq).
    Always,
    /// Never, not even if the control gives a rate.
    Off,
}

/// When the receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct DelayedAck {
    /// Every how many full segments: 1 acknowledges each.
    #[schemars(range(min = 1))]
    pub every: Segments,
    /// The longest wait for the next segment (RFC 5681 section 4.2: at most 500 ms).
    pub timeout: Span,
    /// How many segments at the beginning are acknowledged at once (Linux quick ACKs).
    pub quickack_segments: Segments,
}

/// What SACK takes to be in the network during a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SackPipe {
    /// What the scoreboard does not hold as arrived or lost (RFC 6675 section 4).
    Scoreboard,
    /// A count: what was outstanding less the duplicate ACKs, one less at each further duplicate,
    /// two at a partial ACK, one more for each segment sent; all segments below the highest SACKed
    /// one are sent again (ns-2's Sack1).
    Counted,
}

/// What begins a recovery with SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SackEntry {
    /// Duplicate ACKs, or a scoreboard that holds the first segment as lost (RFC 6675 section 5).
    KnownLoss,
    /// Duplicate ACKs alone (ns-2's Sack1).
    Duplicates,
}

/// All of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TcpParameters {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// IP and TCP headers, options included, on the wire with every segment; also the size of an
    /// ACK.
    pub header: Bytes,
    /// Whether a SYN exchange opens the connection.
    pub handshake: bool,
    /// Initial congestion window.
    pub initial_window: Segments,
    /// Initial slow-start threshold, or `"unlimited"`.
    pub initial_ssthresh: OptionalWindow,
    /// The receiver's window, or `"unlimited"`.
    pub receive_window: OptionalWindow,
    /// What to do about a lost segment.
    pub recovery: LossRecovery,
    /// NewReno: whether each partial ACK restarts the timer.
    pub partial_ack: PartialAck,
    /// NewReno: whether a partial ACK deflates the window by what it acknowledges (RFC 6582 section
    /// 3.2 step 5).
    pub partial_window_deflation: bool,
    /// Reno and NewReno: whether the ACK that ends fast recovery opens the window like any other
    /// ACK of new data (ns-2). RFC 6582 section 3.2 step 3 sets cwnd to ssthresh there and no more.
    /// At 1 % loss it is worth 1 % of the goodput.
    pub growth_at_recovery_end: bool,
    /// Reno and NewReno: whether duplicate ACKs for data sent before the last recovery or timeout
    /// are ignored (RFC 6582 section 6.1; ns-2 `bugFix_`).
    pub avoid_multiple_fast_retransmits: AvoidMultipleFastRetransmits,
    /// Duplicate ACKs that mean a loss.
    pub duplicate_threshold: Segments,
    /// Whether the first two duplicate ACKs send new data (RFC 3042).
    pub limited_transmit: bool,
    /// SACK: whether the highest outstanding segment may be sent once more per recovery (RFC 6675
    /// section 4 rule 4).
    pub rescue_retransmission: bool,
    /// SACK: what is taken to be in the network during a recovery.
    pub sack_pipe: SackPipe,
    /// SACK: what begins a recovery.
    pub sack_entry: SackEntry,
    /// What a multiplicative decrease starts from.
    pub ssthresh_from: SsthreshFrom,
    /// Whether a reduction cuts ssthresh to whole segments (ns-2); cwnd keeps the fraction. RFC
    /// 5681 counts in bytes.
    pub ssthresh_in_whole_segments: bool,
    /// How much an ACK counts for the growth of the window.
    pub byte_counting: ByteCounting,
    /// When the receiver acknowledges.
    pub delayed_ack: DelayedAck,
    /// Which round-trip times are measured.
    pub rtt_sampling: RttSampling,
    /// Tick of the sender's clock: round-trip times and timeouts are rounded up to it; `"0 s"` is
    /// exact. It is also G of RFC 6298.
    pub clock_granularity: Span,
    /// Smallest retransmission timeout.
    pub rto_minimum: Span,
    /// What the smallest timeout bounds.
    pub rto_floor: RtoFloor,
    /// Largest retransmission timeout.
    pub rto_maximum: Span,
    /// Retransmission timeout before the first sample.
    pub rto_initial: Span,
    /// Whether the timeout follows the round-trip times. If not it is `rto_initial` for ever,
    /// doubled while the timer goes off again: for comparing with models whose timeout is a
    /// constant.
    pub rto_adaptive: bool,
    /// What is sent after a timeout.
    pub after_timeout: AfterTimeout,
    /// ssthresh when the timer goes off again for the same segment.
    pub repeated_timeout: RepeatedTimeout,
    /// The window after an idle time.
    pub idle_restart: IdleRestart,
    /// Whether the window grows only while it is what limits the sender (RFC 7661).
    pub window_validation: bool,
    /// Each segment leaves up to this much later than it could (uniform), in order: breaks phase
    /// effects.
    pub send_jitter: Span,
    /// Most segments sent at one ACK; `"0 segments"` is no limit.
    pub max_burst: Segments,
    /// Whether segments are spread over the round trip.
    pub pacing: Pacing,
    /// Whether segments are ECN-capable (RFC 3168).
    pub ecn: bool,
}

/// Named sets of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Preset {
    /// ns-2 as the papers of 2002 used it, with the one-way TCP agents: per-segment ACKs, NewReno
    /// slow but steady, no handshake.
    #[serde(rename = "ns2-2002")]
    Ns2Of2002,
    /// The sender of Jacobson (1988) without fast retransmit, its timer as coarse as BSD's of that
    /// time: every loss ends in a timeout.
    #[serde(rename = "jacobson1988")]
    Jacobson1988,
    /// TCP as the RFCs describe it today.
    #[serde(rename = "rfc")]
    Rfc,
    /// TCP as close to today's Linux as these parameters allow.
    #[default]
    #[serde(rename = "linux")]
    Linux,
}

impl Preset {
    /// The parameters of that name.
    pub fn parameters(self) -> TcpParameters {
        match self {
            Preset::Rfc => rfc(),
            Preset::Ns2Of2002 => ns2_of_2002(),
            Preset::Jacobson1988 => jacobson_1988(),
            Preset::Linux => linux(),
        }
    }
}

fn rfc() -> TcpParameters {
    TcpParameters {
        mss: Bytes(1460),
        header: Bytes(40),
        handshake: true,
        initial_window: Segments(10),                // RFC 6928
        initial_ssthresh: OptionalWindow::Unlimited, // RFC 5681 section 3.1: arbitrarily high
        receive_window: OptionalWindow::Unlimited,
        recovery: LossRecovery::Sack,       // RFC 6675
        partial_ack: PartialAck::Impatient, // RFC 6582 section 4
        partial_window_deflation: true,
        growth_at_recovery_end: false,
        avoid_multiple_fast_retransmits: AvoidMultipleFastRetransmits::Always,
        duplicate_threshold: Segments(3),
        limited_transmit: true, // RFC 3042
        rescue_retransmission: true,
        sack_pipe: SackPipe::Scoreboard,
        sack_entry: SackEntry::KnownLoss,
        ssthresh_from: SsthreshFrom::FlightSize,
        ssthresh_in_whole_segments: false,
        byte_counting: ByteCounting::AbcL2, // RFC 3465
        delayed_ack: DelayedAck {
            every: Segments(2),
            timeout: Span::from_millis(200),
            quickack_segments: Segments(0),
        },
        rtt_sampling: RttSampling::EveryAck,
        clock_granularity: Span::ZERO,
        rto_minimum: Span::from_millis(1000), // RFC 6298 (2.4)
        rto_floor: RtoFloor::Timeout,
        rto_maximum: Span::from_millis(60_000), // RFC 6298 (2.5): at least 60 s
        rto_initial: Span::from_millis(1000),   // RFC 6298 (2.1)
        rto_adaptive: true,
        after_timeout: AfterTimeout::Scoreboard,
        repeated_timeout: RepeatedTimeout::Keep,
        idle_restart: IdleRestart::InitialWindow,
        window_validation: true,
        send_jitter: Span::ZERO,
        max_burst: Segments(0),
        pacing: Pacing::Control,
        ecn: false,
    }
}

/// Defaults of ns-2 before the changes of May 2003 and October 2004, with a fine clock and an
/// unlimited receiver window where the papers need one (`shared` specification of the Westwood
/// experiments: 0.01 s is the tick after, 0.1 s the tick before).
fn ns2_of_2002() -> TcpParameters {
    TcpParameters {
        mss: Bytes(1000),
        handshake: false,
        initial_window: Segments(1),
        recovery: LossRecovery::Newreno,
        partial_ack: PartialAck::SlowButSteady,
        partial_window_deflation: false,
        growth_at_recovery_end: true,
        limited_transmit: false,
        rescue_retransmission: false,
        ssthresh_from: SsthreshFrom::Window,
        ssthresh_in_whole_segments: true,
        byte_counting: ByteCounting::PerAck,
        delayed_ack: DelayedAck {
            every: Segments(1),
            timeout: Span::from_millis(100),
            quickack_segments: Segments(0),
        },
        rtt_sampling: RttSampling::OncePerRoundTrip,
        clock_granularity: Span::from_millis(10),
        rto_initial: Span::from_millis(6000),
        after_timeout: AfterTimeout::GoBackN,
        repeated_timeout: RepeatedTimeout::Reduce,
        window_validation: false,
        pacing: Pacing::Off,
        ..rfc()
    }
}

/// Slow start, congestion avoidance and the timer of Jacobson (1988), with the numbers of 4.3BSD's
/// `tcp_timer.h` and `tcp_timer.c`: ticks of 500 ms, timeouts from 1 s to 64 s, 3 s before the
/// first sample (also RFC 1122 section 4.2.3.1), ssthresh in whole segments. BSD delayed its ACKs,
/// and timed one segment per round trip; here each segment is acknowledged and timed (unless sent
/// twice, Karn), as in the studies of rate feedback that this preset is for: it is worth 2 % of the
/// goodput where their rate changes every few round trips.
fn jacobson_1988() -> TcpParameters {
    TcpParameters {
        mss: Bytes(536),                                      // RFC 1122 section 4.2.2.6
        receive_window: OptionalWindow::Bytes(Bytes(65_535)), // 16 bits of the header
        recovery: LossRecovery::TimeoutOnly,
        growth_at_recovery_end: false,
        rtt_sampling: RttSampling::EveryAck,
        clock_granularity: Span::from_millis(500),
        rto_initial: Span::from_millis(3000),
        rto_maximum: Span::from_millis(64_000),
        ..ns2_of_2002()
    }
}

fn linux() -> TcpParameters {
    TcpParameters {
        mss: Bytes(1448),
        header: Bytes(52), // timestamps
        rtt_sampling: RttSampling::Timestamps,
        byte_counting: ByteCounting::All,
        ssthresh_from: SsthreshFrom::Window, // its controls halve snd_cwnd, not what is outstanding
        delayed_ack: DelayedAck {
            every: Segments(2),
            timeout: Span::from_millis(40),
            quickack_segments: Segments(16),
        },
        rto_minimum: Span::from_millis(200),
        rto_floor: RtoFloor::Variance,
        rto_maximum: Span::from_millis(120_000),
        idle_restart: IdleRestart::Decay,
        ..rfc()
    }
}
