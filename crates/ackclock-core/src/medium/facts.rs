//! What a medium states about itself.

use schemars::JsonSchema;
use serde::Serialize;

/// What a medium states about itself with its parameters. A field that is not known is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct MediumFacts {
    /// The timing of a medium whose stations contend as in IEEE 802.11.
    pub timing: Option<Timing>,
}

/// How long frames and pauses of IEEE 802.11 last, and how often they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Timing {
    /// A slot of the backoff, in seconds.
    pub slot_s: f64,
    /// The pause between the frames of an exchange, in seconds.
    pub sifs_s: f64,
    /// The preamble of a data frame, in seconds.
    pub preamble_s: f64,
    /// The preamble of a control frame, in seconds.
    pub control_preamble_s: f64,
    /// A symbol, which is sent whole, in seconds; zero if bits are sent one by one.
    pub symbol_s: f64,
    /// The silence behind each frame, in seconds.
    pub signal_extension_s: f64,
    /// Bits of a frame besides its bytes.
    pub service_and_tail_bits: u32,
    /// The rate of control frames, in bit/s.
    pub basic_bit_per_s: u64,
    /// What a data frame has besides the packet, in bytes.
    pub header_bytes: u64,
    /// The acknowledgement of the MAC, in bytes.
    pub ack_bytes: u64,
    /// How often a packet is sent again at most.
    pub retries: u32,
    /// Whether after a collision everybody waits as if it had been answered.
    pub eifs: bool,
    /// The size, header included, from which on RTS and CTS come first, in bytes; null for never.
    pub rts_bytes: Option<u64>,
    /// aCWmin: the smallest contention window of the physical layer.
    pub cw_min: u32,
    /// aCWmax: the largest contention window of the physical layer.
    pub cw_max: u32,
}
