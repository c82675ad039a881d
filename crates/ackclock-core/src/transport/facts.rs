//! Facts that a transport states about itself.

use crate::endpoint::parameters::{EcnCodepoint, EcnFeedback, LossRecovery, RtoFloor};
use ackclock_spec::prelude::*;

/// Facts that a transport states about itself for its parameters. A field that is not known is
/// null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TransportFacts {
    /// Name of its control in tables; none if nothing limits what it sends.
    pub control_name: Stated<String>,
    /// Payload of a full packet, in bytes.
    pub mss_bytes: Option<u64>,
    /// Headers of each packet of data, in bytes.
    pub header_bytes: Option<u64>,
    /// Size of an ACK or of other feedback, headers included, in bytes; none if the receiver sends
    /// nothing.
    pub answer_bytes: Stated<u64>,
    /// True if what is lost is sent again, so that all data arrives in order.
    pub reliable: Option<bool>,
    /// True if an exchange opens the connection before data is sent.
    pub handshake: Option<bool>,
    /// True if data leaves and is acknowledged in bursts, as by segmentation offload.
    pub bursts: Option<bool>,
    /// ECN of its packets of data; none if they are not ECN-capable.
    pub sent_ecn: Stated<SentEcn>,
    /// Delayed ACKs; none if the receiver sends no ACKs.
    pub delayed_acks: Stated<DelayedAcks>,
    /// Congestion window; none if it has no such window.
    pub congestion_window: Stated<WindowFacts>,
    /// Retransmission timer; none if nothing is sent again.
    pub timer: Stated<TimerFacts>,
    /// Reaction to a lost packet; none if nothing is sent again.
    pub loss_recovery: Stated<LossRecovery>,
}

impl TransportFacts {
    /// Returns what an application writes at once if nothing else is said: the payload of a full
    /// packet. If that is not stated, it is 1200 bytes, the smallest datagram that every path of
    /// QUIC carries (RFC 9000 section 14).
    pub fn full_write(&self) -> Bytes {
        Bytes(self.mss_bytes.unwrap_or(1200))
    }
}

/// ECN of the packets of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SentEcn {
    /// Codepoint of packets with new data.
    pub codepoint: EcnCodepoint,
    /// Feedback of marks; none if it is that of a rate control.
    pub feedback: Stated<EcnFeedback>,
}

/// Delayed ACKs of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DelayedAcks {
    /// Full segments per ACK; 1 if each is acknowledged.
    pub segments: u32,
    /// Longest wait for the next segment, in seconds.
    pub timeout_s: f64,
    /// Segments at the start that are acknowledged at once.
    pub first_segments: u32,
}

/// The congestion window of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WindowFacts {
    /// Initial window, in segments.
    pub initial_segments: u32,
    /// Initial slow-start threshold, in whole segments; none without a limit.
    pub initial_threshold_segments: Stated<u64>,
    /// Most that the receiver permits to be in flight, in whole segments; none without a limit.
    pub receive_segments: Stated<u64>,
    /// Rate at which the receiver's application reads, in bit/s, so that the window may close; none
    /// if it reads at once.
    pub read_bit_per_s: Stated<u64>,
    /// True if it may begin with the window of an earlier connection. Absent if not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumes: Option<bool>,
    /// Segments that an ACK acknowledges for each segment that it counts for the growth of the
    /// window; b of the throughput equations.
    pub segments_per_growth: f64,
    /// True if the window and its threshold are whole segments, as in Linux.
    pub linux_arithmetic: bool,
    /// True if a reduction leaves a threshold of whole segments.
    pub whole_threshold: bool,
}

/// The retransmission timer of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimerFacts {
    /// Timeout before the first round-trip sample, in seconds.
    pub initial_s: f64,
    /// Shortest timeout, in seconds.
    pub minimum_s: f64,
    /// Quantity that the minimum bounds.
    pub floor: RtoFloor,
    /// Longest timeout, in seconds.
    pub maximum_s: f64,
    /// Tick of the clock, in seconds.
    pub tick_s: f64,
}
