//! TCP endpoints that use neither a clock nor a socket.
//!
//! The driver calls `handle_…` with each event from outside and the current time. It then takes
//! segments with `poll_transmit` until `None`, and asks `poll_timeout` when to call again. The same
//! sender runs in the simulator and behind a socket.
//!
//! Sequence numbers count segments. Every segment of a connection carries exactly one MSS, except
//! the last of a finite transfer, and a retransmission has the same boundaries as the original.

use crate::packet::{AckOptions, SackBlocks};
use ackclock_spec::units::{Bytes, Span, Time};

pub mod accurate_ecn;
mod control_states;
pub mod delivery_rate;
mod pacing;
pub mod parameters;
pub mod receiver;
pub mod resume;
pub mod rtt;
mod scoreboard;
pub mod sender;
mod tcp_info;

pub use control_states::ControlRecord;
pub use parameters::TcpParameters;
pub use receiver::Receiver;
pub use rtt::RttEstimator;
pub use sender::Sender;
pub use tcp_info::TcpInfo;

/// A segment from the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// SYN, data, or a question for the window.
    pub kind: SegmentKind,
    /// Segment number; zero for the SYN. For a window probe the first unacknowledged segment, of
    /// which the header has the byte before.
    pub sequence: u64,
    /// Payload.
    pub length: Bytes,
    /// True if it was sent before.
    pub retransmission: bool,
    /// Sending time: the value of the timestamp option.
    pub stamp: Time,
    /// True if it carries CWR (RFC 3168).
    pub window_reduced: bool,
    /// True if it carries PSH.
    pub pushed: bool,
}

/// The kinds of [`Segment`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// Opens the connection.
    Syn,
    /// Carries data.
    Data,
    /// Carries nothing: it asks for the receive window (RFC 9293 section 3.8.6.1). As in Linux it
    /// is an old segment, which the receiver answers with an ACK (`tcp_xmit_probe_skb`).
    WindowProbe,
}

/// An acknowledgement from the receiver.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledgement<'a> {
    /// Answer to a SYN or to data.
    pub kind: AcknowledgementKind,
    /// Next segment expected.
    pub cumulative: u64,
    /// Echoed timestamp (RFC 7323 section 4.3); [`Time::NEVER`] for none.
    pub echo: Time,
    /// Blocks received beyond `cumulative`; `None` if there are none or SACK is off.
    pub sacks: Option<&'a SackBlocks>,
    /// Flags AE, CWR and ECE as a number ([`Packet::ace`](crate::packet::Packet::ace)).
    pub ace: u8,
    /// Fields that few ACKs have: counters of accurate ECN, or a window.
    pub options: Option<&'a AckOptions>,
}

impl Acknowledgement<'_> {
    /// Returns it without SACK blocks and options, which belong to the receiver.
    pub fn without_options(self) -> Acknowledgement<'static> {
        let Acknowledgement {
            kind,
            cumulative,
            echo,
            ace,
            ..
        } = self;
        Acknowledgement {
            kind,
            cumulative,
            echo,
            sacks: None,
            ace,
            options: None,
        }
    }
}

/// The kinds of [`Acknowledgement`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcknowledgementKind {
    /// Answers the SYN.
    SynAck,
    /// Acknowledges data.
    Ack,
}

/// One row of the `events` table: a reaction of the sender to congestion or to a closed window.
#[derive(Clone, Copy, Debug)]
pub struct SenderEvent {
    /// Time of the reaction.
    pub at: Time,
    /// Kind of reaction.
    pub kind: SenderEventKind,
    /// Congestion window before the reaction.
    pub cwnd_before: Bytes,
    /// Congestion window after the reaction.
    pub cwnd_after: Bytes,
    /// ssthresh after the reaction.
    pub ssthresh_after: Option<Bytes>,
    /// Data in flight, if it is known.
    pub in_flight: Option<Bytes>,
}

/// The kinds of [`SenderEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderEventKind {
    /// Fast recovery began (with Tahoe: slow start restarted) after duplicate ACKs or SACK.
    FastRetransmit,
    /// The retransmission timer expired.
    Timeout,
    /// The sender reacted to an ECN echo.
    EcnEcho,
    /// All data in flight at the last reaction is acknowledged.
    RecoveryEnd,
    /// The congestion window was reduced after idle time.
    IdleRestart,
    /// The congestion window was reduced because a tail loss probe repaired a loss.
    ProbeRecovery,
    /// A reduction proved unnecessary and was undone.
    Undo,
    /// The receive window has no room, nothing is in flight, and data waits.
    WindowClosed,
    /// The sender asked for the receive window.
    WindowProbe,
    /// The receive window has room again.
    WindowOpened,
    /// An implementation that others wrote reduced its congestion window. It does not say why.
    Reduction,
}

impl SenderEventKind {
    /// Returns the name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            SenderEventKind::FastRetransmit => "fast_retransmit",
            SenderEventKind::Timeout => "timeout",
            SenderEventKind::EcnEcho => "ecn_echo",
            SenderEventKind::RecoveryEnd => "recovery_end",
            SenderEventKind::IdleRestart => "idle_restart",
            SenderEventKind::ProbeRecovery => "probe_recovery",
            SenderEventKind::Undo => "undo",
            SenderEventKind::WindowClosed => "window_closed",
            SenderEventKind::WindowProbe => "window_probe",
            SenderEventKind::WindowOpened => "window_opened",
            SenderEventKind::Reduction => "reduction",
        }
    }
}

/// Counts of one sender since its creation.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderStatistics {
    /// Data segments sent, retransmissions included.
    pub sent_segments: u64,
    /// Retransmitted data segments.
    pub retransmitted_segments: u64,
    /// Reactions to duplicate ACKs or SACK.
    pub fast_retransmits: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Reactions to ECN echoes.
    pub ecn_reactions: u64,
    /// Segments marked as lost with SACK, lost retransmissions included.
    pub lost_segments: u64,
    /// Number of round-trip samples.
    pub rtt_samples: u64,
    /// Sum of the round-trip samples, in seconds.
    pub rtt_sum_s: f64,
    /// Smallest round-trip sample, in seconds; infinite before the first.
    pub rtt_min_s: f64,
    /// Largest round-trip sample, in seconds.
    pub rtt_max_s: f64,
}

/// Counts of a sender that finds losses with RACK, since its creation. In brackets: the counter of
/// `nstat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryCounts {
    /// Retransmissions marked as lost (TCPLostRetransmit).
    pub lost_retransmissions: u64,
    /// Tail loss probes (TCPLossProbes).
    pub loss_probes: u64,
    /// Tail loss probes that repaired a loss (TCPLossProbeRecovery).
    pub loss_probe_recoveries: u64,
    /// Timeouts that F-RTO found spurious (TCPSpuriousRTOs).
    pub spurious_timeouts: u64,
    /// Recoveries undone at their end by the echoed timestamp or by duplicates (TCPFullUndo).
    pub full_undos: u64,
    /// Recoveries undone before their end by the echoed timestamp (TCPPartialUndo).
    pub partial_undos: u64,
    /// Reductions undone by reports of duplicates (TCPDSACKUndo).
    pub duplicate_undos: u64,
    /// Timeouts undone (TCPLossUndo).
    pub loss_undos: u64,
    /// Duplicate segments that the receiver has reported (TCPDSACKRecv, in segments).
    pub duplicates_reported: u64,
    /// ACKs whose SACK blocks showed reordering (TCPSACKReorder).
    pub sack_reorderings: u64,
    /// ACKs whose echoed timestamp showed reordering (TCPTSReorder).
    pub timestamp_reorderings: u64,
}

/// Counts of a sender whose receiver advertises how much it can take, since its creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowControlCounts {
    /// Window probes sent (TCPWinProbe).
    pub probes: u64,
    /// Times that the window had no room while nothing was in flight and data waited.
    pub closings: u64,
    /// Time for which that lasted.
    pub closed: Span,
    /// Time in which the window kept data from leaving that the congestion window allowed.
    pub limited: Span,
}

/// Counts of a receiver whose application reads slowly, since its creation. In brackets: the
/// counter of `nstat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdvertisedCounts {
    /// ACKs that closed the window (TCPToZeroWindowAdv).
    pub to_zero: u64,
    /// ACKs that opened it again (TCPFromZeroWindowAdv).
    pub from_zero: u64,
    /// Window updates: ACKs that only the reader caused.
    pub updates: u64,
    /// Most bytes that waited for the application.
    pub most_unread: Bytes,
}

/// Counts of one receiver since its creation.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiverStatistics {
    /// Payload that has arrived in order, each byte once. It is the application's, which may not
    /// have read it yet.
    pub delivered: Bytes,
    /// Data segments that had arrived before.
    pub duplicate_segments: u64,
    /// Data segments that arrived, duplicates included.
    pub received_segments: u64,
    /// Data segments that arrived after a later one; retransmissions are not counted.
    pub reordered_segments: u64,
    /// ACKs sent.
    pub acks: u64,
}
