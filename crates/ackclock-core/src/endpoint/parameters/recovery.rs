//! Parameters of loss recovery.

use ackclock_spec::quantity::Segments;
use ackclock_spec::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecoveryParameters {
    /// Reaction to a lost segment.
    #[serde(rename = "recovery")]
    pub algorithm: LossRecovery,
    /// SACK and RACK: true if the receiver reports what it holds beyond a hole (RFC 2018). RACK
    /// without that counts duplicate ACKs in its place, and finds losses by their number (Linux
    /// with `tcp_sack` off).
    pub sack: bool,
    /// Number of duplicate ACKs that indicates a loss.
    pub duplicate_threshold: Segments,
    /// True if the first two duplicate ACKs send new data (RFC 3042).
    pub limited_transmit: bool,
    /// Reno and NewReno: duplicate ACKs that are ignored because their data was sent before the
    /// last recovery or timeout (RFC 6582 section 6.1; ns-2 `bugFix_`).
    pub avoid_multiple_fast_retransmits: AvoidMultipleFastRetransmits,
    /// NewReno: partial ACKs that restart the retransmission timer.
    pub partial_ack: PartialAck,
    /// NewReno: true if a partial ACK deflates the congestion window by the data it acknowledges
    /// (RFC 6582 section 3.2 step 5).
    pub partial_window_deflation: bool,
    /// Reno and NewReno: true if the ACK that ends fast recovery also opens the congestion window
    /// (ns-2). RFC 6582 section 3.2 step 3 only sets cwnd to ssthresh. At 1 % loss this gains 1 %
    /// goodput.
    pub growth_at_recovery_end: bool,
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
    /// RACK: longest delay of an ACK (WCDelAckT, RFC 8985 section 7.2). A probe of a single segment
    /// in flight waits so much longer. In Linux it is `rto_minimum`, and by default follows it.
    pub longest_ack_delay: Span,
    /// RACK: true if the sender looks for a spurious timeout before it retransmits more than one
    /// segment (F-RTO, RFC 5682).
    pub forward_rto: bool,
    /// RACK: true if a reduction that proves unnecessary is undone, by the echoed timestamp (RFC
    /// 4015) or by reports of duplicates (RFC 3708).
    pub undo: bool,
    /// Data that is sent after a timeout.
    pub after_timeout: AfterTimeout,
    /// Effect on ssthresh of a repeated timeout of the same segment.
    pub repeated_timeout: RepeatedTimeout,
}

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

impl RecoveryParameters {
    /// True if the sender follows the SACK blocks of the receiver.
    pub const fn uses_sack(&self) -> bool {
        self.sack && self.algorithm.has_scoreboard()
    }
}

impl LossRecovery {
    /// True if it keeps a scoreboard.
    pub const fn has_scoreboard(self) -> bool {
        matches!(self, LossRecovery::Sack | LossRecovery::Rack)
    }
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

/// Partial ACKs that restart the retransmission timer (RFC 6582 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartialAck {
    /// Only the first partial ACK of a recovery.
    Impatient,
    /// Each partial ACK.
    SlowButSteady,
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
