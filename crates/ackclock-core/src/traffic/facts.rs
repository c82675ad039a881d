//! The facts of a source.

use schemars::JsonSchema;
use serde::Serialize;

/// The facts that a source states about itself. An unknown field is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TrafficFacts {
    /// True if there is always more to send.
    pub greedy: Option<bool>,
    /// True if it ends by itself.
    pub finite: Option<bool>,
    /// Total payload in bytes; null also if the source does not end, or if the size is drawn.
    pub size_bytes: Option<u64>,
    /// Rate of the payload in bit/s if it is constant; null if it depends on the transport or on
    /// draws.
    pub steady_bit_per_s: Option<u64>,
    /// Long-run rate of the payload in bit/s; null if it depends on the transport.
    pub mean_bit_per_s: Option<f64>,
    /// Payload of each packet in bytes; null if the transport decides.
    pub packet_bytes: Option<u64>,
}
