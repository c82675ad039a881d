//! Parameters of the receiver.

use ackclock_spec::quantity::{OptionalWindow, Segments};
use ackclock_spec::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceiverParameters {
    /// Receive window, or `"unlimited"`.
    pub receive_window: OptionalWindow,
    /// True if the receive buffer grows with what arrives in a round trip, as in Linux. While the
    /// advertised window grows, each segment is acknowledged at once (`tcp_grow_window`). The
    /// window itself never limits the sender.
    pub receive_buffer_growth: bool,
    /// Delayed ACKs of the receiver.
    pub delayed_ack: DelayedAck,
    /// True if the receiver reports duplicate segments in the first SACK block (RFC 2883).
    pub duplicate_sack: bool,
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
