//! All TCP parameters that change the outcome of an experiment, and their presets.

use crate::packet::Ecn;
use ackclock_spec::quantity::{OptionalWindow, Segments};
use ackclock_spec::units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reaction to a lost segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossRecovery {
    /// Retransmission timer only: duplicate ACKs are ignored (Jacobson 1988 without fast
    /// retransmit).
    TimeoutOnly,
    /// Slow start from the lost segment after three duplicate ACKs (Jacobson 1988).
    Tahoe,
    /// Fast recovery that ends with the first new ACK (RFC 2001).
    Reno,
    /// Fast recovery that retransmits at each partial ACK (RFC 6582).
    Newreno,
    /// Fast recovery with scoreboard and pipe (RFC 6675).
    Sack,
    /// Fast recovery with scoreboard and pipe, which finds losses by the time since a segment was
    /// sent (RACK, RFC 8985).
    Rack,
}

impl LossRecovery {
    /// True if it follows the SACK blocks of the receiver.
    pub const fn uses_sack(self) -> bool {
        matches!(self, LossRecovery::Sack | LossRecovery::Rack)
    }
}

/// Congestion window during fast recovery with SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryWindow {
    /// The window that the congestion control asks for, from the first ACK on (RFC 6675).
    Ssthresh,
    /// Reduced to that window in proportion to the delivered data (PRR, RFC 9937).
    Proportional,
    /// The same with the congestion window before the reduction as the base of the proportion, not
    /// the data in flight (Linux, `tcp_cwnd_reduction`).
    ProportionalToWindow,
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

/// Partial ACKs that restart the retransmission timer (RFC 6582 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartialAck {
    /// Only the first partial ACK of a recovery.
    Impatient,
    /// Each partial ACK.
    SlowButSteady,
}

/// Base of a multiplicative decrease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SsthreshFrom {
    /// Data in flight, excluding segments sent by limited transmit (RFC 5681 equation 4).
    FlightSize,
    /// The smaller of congestion window and receive window (ns-2); the congestion window (Linux).
    Window,
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

/// Duplicate ACKs that are ignored, depending on when the data they ask for was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AvoidMultipleFastRetransmits {
    /// Those for data sent before the last fast recovery or timeout began: one reduction per
    /// window.
    Always,
    /// Those for data sent before the last timeout, which go-back-N causes. Each lost segment of a
    /// window may start its own fast recovery, as in Reno of 1990.
    AfterTimeout,
    /// None.
    Never,
}

/// Data that is sent after a retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AfterTimeout {
    /// Everything from the first unacknowledged segment on, as if new (ns-2; RFC 5681).
    GoBackN,
    /// Only segments not known to have arrived (RFC 6675 section 5.1). Needs `recovery = "sack"`.
    Scoreboard,
}

/// Effect on ssthresh of a repeated timeout of the same segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RepeatedTimeout {
    /// ssthresh is kept (RFC 5681 section 3.1).
    Keep,
    /// ssthresh is halved again (ns-2).
    Reduce,
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

/// Pacing of segments over the round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// Only if the congestion control sets a pacing rate.
    Control,
    /// At the control's pacing rate. Without one, at 2 cwnd/SRTT in slow start and 1.2 cwnd/SRTT
    /// after it (Linux with fq).
    Always,
    /// Never, not even if the control sets a rate.
    Off,
}

/// Delayed ACKs of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct DelayedAck {
    /// Number of full segments per ACK: 1 acknowledges each.
    #[schemars(range(min = 1))]
    pub every: Segments,
    /// Longest wait for the next segment (RFC 5681 section 4.2: at most 500 ms).
    pub timeout: Span,
    /// Number of segments at the start that are acknowledged at once (Linux quick ACKs).
    pub quickack_segments: Segments,
    /// Longest wait with SACK for further segments beyond a hole, after three that are acknowledged
    /// at once; at most a third of the round trip and 44 segments (Linux, `__tcp_ack_snd_check`).
    /// Zero acknowledges each.
    pub beyond_hole: Span,
}

/// SACK's estimate of the data in the network during a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SackPipe {
    /// Segments that the scoreboard records neither as arrived nor as lost (RFC 6675 section 4).
    Scoreboard,
    /// A count of segments, as in ns-2's Sack1. It starts with the segments in flight minus the
    /// duplicate ACKs. A duplicate ACK subtracts one, a partial ACK two, and a sent segment adds
    /// one. All segments below the highest SACKed one are retransmitted.
    Counted,
}

/// Event that starts a recovery with SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SackEntry {
    /// Duplicate ACKs, or a scoreboard that records the first segment as lost (RFC 6675 section 5).
    KnownLoss,
    /// Duplicate ACKs alone (ns-2's Sack1).
    Duplicates,
}

/// The TCP parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TcpParameters {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Size of the IP and TCP headers of each segment, options included; also the size of an ACK.
    pub header: Bytes,
    /// True if a SYN exchange opens the connection.
    pub handshake: bool,
    /// Initial congestion window.
    pub initial_window: Segments,
    /// Initial slow-start threshold, or `"unlimited"`.
    pub initial_ssthresh: OptionalWindow,
    /// Receive window, or `"unlimited"`.
    pub receive_window: OptionalWindow,
    /// Reaction to a lost segment.
    pub recovery: LossRecovery,
    /// NewReno: partial ACKs that restart the retransmission timer.
    pub partial_ack: PartialAck,
    /// NewReno: true if a partial ACK deflates the congestion window by the data it acknowledges
    /// (RFC 6582 section 3.2 step 5).
    pub partial_window_deflation: bool,
    /// Reno and NewReno: true if the ACK that ends fast recovery also opens the congestion window
    /// (ns-2). RFC 6582 section 3.2 step 3 only sets cwnd to ssthresh. At 1 % loss this gains 1 %
    /// goodput.
    pub growth_at_recovery_end: bool,
    /// Reno and NewReno: duplicate ACKs that are ignored because their data was sent before the
    /// last recovery or timeout (RFC 6582 section 6.1; ns-2 `bugFix_`).
    pub avoid_multiple_fast_retransmits: AvoidMultipleFastRetransmits,
    /// Number of duplicate ACKs that indicates a loss.
    pub duplicate_threshold: Segments,
    /// True if the first two duplicate ACKs send new data (RFC 3042).
    pub limited_transmit: bool,
    /// SACK: true if the highest segment in flight may be retransmitted once per recovery (RFC 6675
    /// section 4 rule 4).
    pub rescue_retransmission: bool,
    /// SACK: estimate of the data in the network during a recovery.
    pub sack_pipe: SackPipe,
    /// SACK: event that starts a recovery.
    pub sack_entry: SackEntry,
    /// SACK: congestion window during fast recovery.
    pub recovery_window: RecoveryWindow,
    /// RACK: true if a probe is sent two round trips after the last ACK (TLP, RFC 8985 section 7).
    pub tail_loss_probe: bool,
    /// RACK: true if the sender looks for a spurious timeout before it retransmits more than one
    /// segment (F-RTO, RFC 5682).
    pub forward_rto: bool,
    /// RACK: true if a reduction that proves unnecessary is undone, by the echoed timestamp (RFC
    /// 4015) or by reports of duplicates (RFC 3708).
    pub undo: bool,
    /// True if the receiver reports duplicate segments in the first SACK block (RFC 2883).
    pub duplicate_sack: bool,
    /// Base of a multiplicative decrease.
    pub ssthresh_from: SsthreshFrom,
    /// True if a reduction cuts ssthresh to whole segments (ns-2); cwnd keeps the fraction. RFC
    /// 5681 counts in bytes.
    pub ssthresh_in_whole_segments: bool,
    /// Acknowledged data that an ACK counts for the growth of the congestion window.
    pub byte_counting: ByteCounting,
    /// Delayed ACKs of the receiver.
    pub delayed_ack: DelayedAck,
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
    /// True if the timeout follows the round-trip times. Otherwise it is always `rto_initial`,
    /// doubled on repeated timeouts, for comparison with models that have a constant timeout.
    pub rto_adaptive: bool,
    /// Data that is sent after a timeout.
    pub after_timeout: AfterTimeout,
    /// Effect on ssthresh of a repeated timeout of the same segment.
    pub repeated_timeout: RepeatedTimeout,
    /// Congestion window after an idle time.
    pub idle_restart: IdleRestart,
    /// Rule by which the congestion window grows only while it limits the sender.
    pub window_validation: WindowValidation,
    /// Arithmetic of Reno's and CUBIC's congestion window.
    pub arithmetic: Arithmetic,
    /// Largest random delay of a segment before it leaves (uniform, order is kept): breaks phase
    /// effects.
    pub send_jitter: Span,
    /// Most segments sent in response to one ACK; `"0 segments"` for no limit.
    pub max_burst: Segments,
    /// True if new data leaves in the bursts of Linux's segmentation offload. What does not fill a
    /// burst may wait for the next ACK (`tcp_tso_should_defer`). The last of two or more segments
    /// carries PSH, so that the receiver acknowledges it at once (since Linux 5.8).
    pub segmentation_offload: bool,
    /// Tick of the clock that timers wait for (Linux: 1/HZ). A timer expires at a tick, and one of
    /// 63 ticks or more at every eighth (`timer.c`). Zero for exact timers.
    pub timer_tick: Span,
    /// True if the receive buffer grows with what arrives in a round trip, as in Linux. While the
    /// advertised window grows, each segment is acknowledged at once (`tcp_grow_window`). The
    /// window itself never limits the sender.
    pub receive_buffer_growth: bool,
    /// Pacing of segments over the round trip.
    pub pacing: Pacing,
    /// True if segments are ECN-capable (RFC 3168).
    pub ecn: bool,
    /// Codepoint of ECN-capable packets. The default is the one that the control asks for, else
    /// the preset's.
    pub ecn_codepoint: EcnCodepoint,
    /// Feedback by which the receiver tells the sender of marks. The default is the one that the
    /// control asks for, else the preset's.
    pub ecn_feedback: EcnFeedback,
    /// Accurate ECN: the byte counters, and the decoding of the packet counter.
    pub accurate_ecn: AccurateEcn,
}

/// The feedback by which a receiver tells the sender of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EcnFeedback {
    /// An echo on every ACK from a mark until the sender has reduced its window (RFC 3168). Only
    /// new data is ECN-capable.
    #[default]
    Classic,
    /// An echo on the ACKs of marked data alone (DCTCP, RFC 8257 section 3.2). When marks begin or
    /// end, data whose ACK was delayed is acknowledged first. Retransmissions and ACKs are
    /// ECN-capable too.
    Dctcp,
    /// A count of marked packets modulo eight, in three flags of every ACK (accurate ECN, RFC
    /// 9768). Retransmissions and ACKs are ECN-capable too.
    Accurate,
}

/// Settings of accurate ECN (RFC 9768).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccurateEcn {
    /// True if ACKs also carry counters of bytes by codepoint (section 3.2.3). They tell a sender
    /// how often the packet counter has wrapped.
    pub option: bool,
    /// True if a sender believes the packet counter as it is where ACKs cover more than seven
    /// packets on average (Linux, February 2026). Otherwise it assumes the largest number of marks
    /// that fits (appendix A.2, Linux 6.18).
    pub thinning_estimate: bool,
}

/// The codepoint by which a packet says that it is ECN-capable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EcnCodepoint {
    /// ECT(0): marks are as rare as losses would be (RFC 3168).
    #[default]
    Ect0,
    /// ECT(1): marks are frequent, and each reaction is small (L4S, RFC 9331).
    Ect1,
}

impl EcnCodepoint {
    /// Returns the field of the IP header.
    pub const fn field(self) -> Ecn {
        match self {
            EcnCodepoint::Ect0 => Ecn::Capable,
            EcnCodepoint::Ect1 => Ecn::CapableL4s,
        }
    }
}

/// Named sets of TCP parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Preset {
    /// ns-2 with the one-way TCP agents, as the papers of 2002 used it: an ACK per segment, slow
    /// but steady NewReno, no handshake.
    #[serde(rename = "ns2-2002")]
    Ns2Of2002,
    /// The sender of Jacobson (1988) without fast retransmit, with the coarse timer of BSD at that
    /// time: every loss ends in a timeout.
    #[serde(rename = "jacobson1988")]
    Jacobson1988,
    /// The present RFCs.
    #[serde(rename = "rfc")]
    Rfc,
    /// The present RFCs with RACK, tail loss probes, proportional rate reduction, F-RTO and undo.
    #[serde(rename = "rfc-modern")]
    RfcModern,
    /// Linux as of 2012: SACK recovery of RFC 6675, and Linux's timer and delayed ACKs. For
    /// comparison with older results.
    #[serde(rename = "linux-2012")]
    Linux2012,
    /// Linux 6.18: RACK, tail loss probes, proportional rate reduction, F-RTO, undo, and Reno and
    /// CUBIC in whole segments.
    #[default]
    #[serde(rename = "linux")]
    Linux,
    /// Linux 6.18 with L4S: accurate ECN with ECT(1) (RFC 9330, RFC 9331).
    #[serde(rename = "l4s")]
    L4s,
}

impl Preset {
    /// All presets, the default first.
    pub const ALL: [Preset; 7] = [
        Preset::Linux,
        Preset::L4s,
        Preset::Linux2012,
        Preset::RfcModern,
        Preset::Rfc,
        Preset::Ns2Of2002,
        Preset::Jacobson1988,
    ];

    /// Returns the parameters of the preset.
    pub fn parameters(self) -> TcpParameters {
        match self {
            Preset::Rfc => rfc(),
            Preset::Ns2Of2002 => ns2_of_2002(),
            Preset::Jacobson1988 => jacobson_1988(),
            Preset::RfcModern => rfc_modern(),
            Preset::Linux2012 => linux_2012(),
            Preset::Linux => linux(),
            Preset::L4s => l4s(),
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
        recovery_window: RecoveryWindow::Ssthresh,
        tail_loss_probe: false,
        forward_rto: false,
        undo: false,
        duplicate_sack: false,
        ssthresh_from: SsthreshFrom::FlightSize,
        ssthresh_in_whole_segments: false,
        byte_counting: ByteCounting::AbcL2, // RFC 3465
        delayed_ack: DelayedAck {
            every: Segments(2),
            timeout: Span::from_millis(200),
            quickack_segments: Segments(0),
            beyond_hole: Span::ZERO,
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
        window_validation: WindowValidation::HalfUsed,
        arithmetic: Arithmetic::Exact,
        send_jitter: Span::ZERO,
        max_burst: Segments(0),
        segmentation_offload: false,
        timer_tick: Span::ZERO,
        receive_buffer_growth: false,
        pacing: Pacing::Control,
        ecn: false,
        ecn_codepoint: EcnCodepoint::Ect0,
        ecn_feedback: EcnFeedback::Classic,
        accurate_ecn: AccurateEcn {
            option: false,
            thinning_estimate: false,
        },
    }
}

/// Defaults of ns-2 before the changes of May 2003 and October 2004. The clock is fine and the
/// receive window unlimited where the papers need it. In the `shared` specification of the Westwood
/// experiments, 0.01 s is the tick after the change and 0.1 s the tick before.
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
            beyond_hole: Span::ZERO,
        },
        rtt_sampling: RttSampling::OncePerRoundTrip,
        clock_granularity: Span::from_millis(10),
        rto_initial: Span::from_millis(6000),
        after_timeout: AfterTimeout::GoBackN,
        repeated_timeout: RepeatedTimeout::Reduce,
        window_validation: WindowValidation::Off,
        pacing: Pacing::Off,
        ..rfc()
    }
}

/// Slow start, congestion avoidance and the timer of Jacobson (1988), with the numbers of 4.3BSD's
/// `tcp_timer.h` and `tcp_timer.c`. Ticks are 500 ms, timeouts range from 1 s to 64 s, and the
/// timeout before the first sample is 3 s (also RFC 1122 section 4.2.3.1). ssthresh is in whole
/// segments.
///
/// BSD delayed its ACKs and timed one segment per round trip. Here each segment is acknowledged and
/// timed (unless sent twice, Karn), as in the studies of rate feedback that this preset is for.
/// This gains 2 % goodput if their rate changes every few round trips.
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

/// Linux of 2012, before RACK: SACK with duplicate ACKs, and no probes.
fn linux_2012() -> TcpParameters {
    TcpParameters {
        mss: Bytes(1448),
        header: Bytes(52), // timestamps
        rtt_sampling: RttSampling::Timestamps,
        byte_counting: ByteCounting::All,
        ssthresh_from: SsthreshFrom::Window, // its controls halve snd_cwnd, not data in flight
        delayed_ack: DelayedAck {
            every: Segments(2),
            timeout: Span::from_millis(40),
            quickack_segments: Segments(16),
            beyond_hole: Span::ZERO,
        },
        rto_minimum: Span::from_millis(200),
        rto_floor: RtoFloor::Variance,
        rto_maximum: Span::from_millis(120_000),
        idle_restart: IdleRestart::Decay,
        ..rfc()
    }
}

/// Linux 6.18 with its default settings (`tcp_ipv4.c`, `tcp_input.c`, `tcp_output.c`).
fn linux() -> TcpParameters {
    TcpParameters {
        recovery: LossRecovery::Rack,
        recovery_window: RecoveryWindow::ProportionalToWindow,
        tail_loss_probe: true, // tcp_early_retrans = 3
        forward_rto: true,     // tcp_frto = 2
        undo: true,
        duplicate_sack: true, // tcp_dsack = 1
        byte_counting: ByteCounting::Delivered,
        rto_floor: RtoFloor::PeakVariance,
        window_validation: WindowValidation::Full,
        arithmetic: Arithmetic::Linux,
        delayed_ack: DelayedAck {
            beyond_hole: Span::from_millis(1), // tcp_comp_sack_delay_ns
            ..linux_2012().delayed_ack
        },
        segmentation_offload: true,
        timer_tick: Span::from_millis(4), // CONFIG_HZ=250, the kernel's default
        receive_buffer_growth: true,      // tcp_moderate_rcvbuf = 1
        ..linux_2012()
    }
}

/// Linux with the settings that L4S asks for.
fn l4s() -> TcpParameters {
    TcpParameters {
        ecn: true,
        ecn_codepoint: EcnCodepoint::Ect1,
        ecn_feedback: EcnFeedback::Accurate,
        accurate_ecn: AccurateEcn {
            option: true, // tcp_ecn_option = 2
            thinning_estimate: false,
        },
        ..linux()
    }
}

/// The present RFCs with those that Linux follows beside them: RACK and tail loss probes (RFC
/// 8985), proportional rate reduction (RFC 9937), F-RTO (RFC 5682), undo (RFC 4015, RFC 3708).
fn rfc_modern() -> TcpParameters {
    TcpParameters {
        header: Bytes(52), // undo needs timestamps
        mss: Bytes(1448),
        rtt_sampling: RttSampling::Timestamps,
        recovery: LossRecovery::Rack,
        recovery_window: RecoveryWindow::Proportional,
        tail_loss_probe: true,
        forward_rto: true,
        undo: true,
        duplicate_sack: true,
        ecn_feedback: EcnFeedback::Accurate, // if it has ECN
        accurate_ecn: AccurateEcn {
            option: true, // RFC 9768 section 3.2.3: a SHOULD
            thinning_estimate: false,
        },
        ..rfc()
    }
}

impl TcpParameters {
    /// Returns the ECN field of new data.
    pub fn ecn_of_new_data(&self) -> Ecn {
        match self.ecn {
            true => self.ecn_codepoint.field(),
            false => Ecn::NotCapable,
        }
    }

    /// Returns the ECN field of retransmissions and ACKs. With classic feedback they are not
    /// ECN-capable (RFC 3168 sections 6.1.4 and 6.1.5). RFC 9768 allows it, and Linux does so for
    /// DCTCP, too.
    pub fn ecn_of_the_rest(&self) -> Ecn {
        match self.ecn_feedback {
            EcnFeedback::Classic => Ecn::NotCapable,
            EcnFeedback::Dctcp | EcnFeedback::Accurate => self.ecn_of_new_data(),
        }
    }
}
