//! What a source states about itself.

use schemars::JsonSchema;
use serde::Serialize;

/// What a source states about itself with its parameters. A field that is not known is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TrafficFacts {
    /// Whether there is always more to send.
    pub greedy: Option<bool>,
    /// Whether it ends by itself.
    pub finite: Option<bool>,
    /// Bytes of payload in all; null also if it does not end, or if the size is drawn.
    pub size_bytes: Option<u64>,
    /// Rate of the payload in bit/s where it is the same all the time; null if the transport or
    /// chance decides.
    pub steady_bit_per_s: Option<u64>,
    /// Rate of the payload in bit/s in the long run; null if the transport decides.
    pub mean_bit_per_s: Option<f64>,
    /// Payload of each packet in bytes; null where packets are as large as the transport makes
    /// them.
    pub packet_bytes: Option<u64>,
}
