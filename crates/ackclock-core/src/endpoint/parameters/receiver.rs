//! Parameters of the receiver.

use ackclock_spec::quantity::{OptionalWindow, Segments};
use ackclock_spec::units::{BitRate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceiverParameters {
    /// Receive window, or `"unlimited"`. With a `read_rate` it is the receiver's buffer.
    pub receive_window: OptionalWindow,
    /// Rate at which the receiver's application reads. What it has not read fills the buffer, and
    /// the advertised window shrinks until it closes. If it is not given, the application reads
    /// everything at once, and the window is always `receive_window`.
    pub read_rate: Option<BitRate>,
    /// Rule by which the advertised window follows the free space, and by which a sender asks for a
    /// closed one. Only with `read_rate`.
    pub window_rule: WindowRule,
    /// True if the receive buffer grows with what arrives in a round trip, as in Linux. While the
    /// advertised window grows, each segment is acknowledged at once (`tcp_grow_window`). The
    /// window itself never limits the sender.
    pub receive_buffer_growth: bool,
    /// Delayed ACKs of the receiver.
    pub delayed_ack: DelayedAck,
    /// True if the receiver reports duplicate segments in the first SACK block (RFC 2883).
    pub duplicate_sack: bool,
}

/// Rule by which an advertised window follows the free space of the buffer. Both avoid the silly
/// window syndrome, and neither takes back what was advertised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WindowRule {
    /// The window grows by at least a segment or half the buffer (RFC 9293 section 3.8.6.2.2). The
    /// receiver says so unasked if less than a segment was left. The sender asks after a
    /// retransmission timeout.
    Rfc9293,
    /// The window closes if the free space is less than a segment or a sixteenth of the buffer
    /// (`__tcp_select_window`). The receiver says unasked that it has doubled
    /// (`tcp_cleanup_rbuf`). The sender asks after a retransmission timeout or 200 ms, whichever
    /// is later; the receiver answers once in 500 ms (`tcp_invalid_ratelimit`).
    Linux,
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
