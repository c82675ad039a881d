//! TCP endpoints that know no clock and no socket.
//!
//! The driver calls `handle_…` with what comes from outside and the time it should have come, then
//! takes what must go out with `poll_transmit` until `None`, then asks `poll_timeout` when to come
//! back. The same sender runs in the simulator and behind a socket.
//!
//! Sequence numbers count segments: every segment of a connection but the last of a finite transfer
//! carries exactly one MSS, and a segment is never cut anew when it is retransmitted.

use crate::packet::SackBlocks;
use crate::units::{Bytes, Time};

mod delivery_rate;
mod loss_recovery;
mod pacing;
pub mod parameters;
pub mod receiver;
pub mod rtt;
mod scoreboard;
pub mod sender;

pub use parameters::TcpParameters;
pub use receiver::Receiver;
pub use rtt::RttEstimator;
pub use sender::Sender;

/// What the sender puts on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Opens the connection or carries data.
    pub kind: SegmentKind,
    /// Its number; zero for the SYN.
    pub sequence: u64,
    /// Payload.
    pub length: Bytes,
    /// Whether it was sent before.
    pub retransmission: bool,
    /// When it was sent: the timestamp option's value.
    pub stamp: Time,
    /// Whether it carries CWR (RFC 3168).
    pub window_reduced: bool,
}

/// See [`Segment`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// Opens the connection.
    Syn,
    /// Carries data.
    Data,
}

/// What the receiver puts on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledgement<'a> {
    /// Whether it answers the SYN.
    pub kind: AcknowledgementKind,
    /// The next segment expected.
    pub cumulative: u64,
    /// The echoed timestamp (RFC 7323 section 4.3); [`Time::NEVER`] for none.
    pub echo: Time,
    /// What is held beyond `cumulative`; `None` if there is nothing or SACK is off.
    pub sacks: Option<&'a SackBlocks>,
    /// ECE (RFC 3168).
    pub ecn_echo: bool,
}

/// See [`Acknowledgement`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcknowledgementKind {
    /// Answers the SYN.
    SynAck,
    /// Acknowledges data.
    Ack,
}

/// One row of the `events` table: the sender reacted to congestion.
#[derive(Clone, Copy, Debug)]
pub struct SenderEvent {
    /// When.
    pub at: Time,
    /// What.
    pub kind: SenderEventKind,
    /// Congestion window before.
    pub cwnd_before: Bytes,
    /// Congestion window after.
    pub cwnd_after: Bytes,
    /// Threshold after.
    pub ssthresh_after: Option<Bytes>,
    /// Outstanding data.
    pub in_flight: Bytes,
}

/// See [`SenderEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderEventKind {
    /// Entered fast recovery (or, with Tahoe, restarted) after duplicate ACKs or SACK.
    FastRetransmit,
    /// The retransmission timer went off.
    Timeout,
    /// Reacted to an ECN echo.
    EcnEcho,
    /// Everything outstanding at the last reaction is acknowledged.
    RecoveryEnd,
    /// Restarted after idling.
    IdleRestart,
}

impl SenderEventKind {
    /// As written in tables.
    pub const fn name(self) -> &'static str {
        match self {
            SenderEventKind::FastRetransmit => "fast_retransmit",
            SenderEventKind::Timeout => "timeout",
            SenderEventKind::EcnEcho => "ecn_echo",
            SenderEventKind::RecoveryEnd => "recovery_end",
            SenderEventKind::IdleRestart => "idle_restart",
        }
    }
}

/// Counts of one sender since it was made.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderStatistics {
    /// Data segments sent, retransmissions included.
    pub sent_segments: u64,
    /// Data segments sent again.
    pub retransmitted_segments: u64,
    /// Reactions to duplicate ACKs or SACK.
    pub fast_retransmits: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Reactions to ECN echoes.
    pub ecn_reactions: u64,
    /// Round-trip samples taken.
    pub rtt_samples: u64,
    /// Their sum, in seconds.
    pub rtt_sum_s: f64,
    /// The smallest, in seconds; infinite before the first.
    pub rtt_min_s: f64,
    /// The largest, in seconds.
    pub rtt_max_s: f64,
}

/// Counts of one receiver since it was made.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiverStatistics {
    /// Payload handed to the application: in order, each byte once.
    pub delivered: Bytes,
    /// Data segments that had arrived before.
    pub duplicate_segments: u64,
    /// Data segments that arrived, duplicates included.
    pub received_segments: u64,
    /// Data segments, retransmissions not counted, that arrived behind a later one.
    pub reordered_segments: u64,
    /// ACKs sent.
    pub acks: u64,
}
