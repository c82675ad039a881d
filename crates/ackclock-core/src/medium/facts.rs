//! The facts of a medium.

use ackclock_spec::prelude::*;

/// The facts that a medium states about itself. A field that is not known is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct MediumFacts {
    /// Timing of a medium whose stations contend as in IEEE 802.11.
    pub timing: Option<Timing>,
}

/// Durations of frames and pauses of IEEE 802.11, and the number of retries.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Timing {
    /// Slot of the backoff, in seconds.
    pub slot_s: f64,
    /// Pause between the frames of an exchange (SIFS), in seconds.
    pub sifs_s: f64,
    /// Preamble of a data frame, in seconds.
    pub preamble_s: f64,
    /// Preamble of a control frame, in seconds.
    pub control_preamble_s: f64,
    /// Symbol, which is sent as a whole, in seconds; zero if bits are sent one by one.
    pub symbol_s: f64,
    /// Silence after each frame, in seconds.
    pub signal_extension_s: f64,
    /// Bits of a frame in addition to its bytes.
    pub service_and_tail_bits: u32,
    /// Rate of control frames, in bit/s.
    pub basic_bit_per_s: u64,
    /// Bytes of a data frame in addition to the packet.
    pub header_bytes: u64,
    /// Size of the acknowledgement of the MAC, in bytes.
    pub ack_bytes: u64,
    /// Most retransmissions of a packet.
    pub retries: u32,
    /// True if all stations wait after a collision as if it had been answered.
    pub eifs: bool,
    /// Size, header included, from which on RTS and CTS precede a frame, in bytes; none for never.
    pub rts_bytes: Stated<u64>,
    /// Smallest contention window of the physical layer (aCWmin).
    pub cw_min: u32,
    /// Largest contention window of the physical layer (aCWmax).
    pub cw_max: u32,
}
