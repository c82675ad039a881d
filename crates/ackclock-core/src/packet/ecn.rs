//! The ECN field of the IP header, and the byte counters of accurate ECN.

/// The two ECN bits of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotCapable,
    /// ECN-capable transport, ECT(0).
    Capable,
    /// ECN-capable, low-latency identifier, ECT(1) (RFC 9331).
    CapableL4s,
    /// Congestion experienced (CE).
    Marked,
}

impl Ecn {
    /// Returns the bits in the IP header.
    pub const fn bits(self) -> u8 {
        match self {
            Ecn::NotCapable => 0b00,
            Ecn::CapableL4s => 0b01,
            Ecn::Capable => 0b10,
            Ecn::Marked => 0b11,
        }
    }

    /// Returns the codepoint of the two lower bits of a byte.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Ecn::NotCapable,
            0b01 => Ecn::CapableL4s,
            0b10 => Ecn::Capable,
            _ => Ecn::Marked,
        }
    }
}

/// Counters of payload bytes by the codepoint with which they arrived, each modulo 2^24 (RFC 9768
/// section 3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnCounters {
    /// Bytes with CE (ceb).
    pub ce_bytes: u32,
    /// Bytes with ECT(0) (e0b), from 1 on.
    pub ect0_bytes: u32,
    /// Bytes with ECT(1) (e1b), from 1 on.
    pub ect1_bytes: u32,
}

impl Default for EcnCounters {
    fn default() -> Self {
        EcnCounters {
            ce_bytes: 0,
            ect0_bytes: 1,
            ect1_bytes: 1,
        }
    }
}

impl EcnCounters {
    const MASK: u32 = (1 << 24) - 1;

    /// Counts `payload` bytes that arrived with this field.
    pub fn add(&mut self, ecn: Ecn, payload: u64) {
        let counter = match ecn {
            Ecn::NotCapable => return,
            Ecn::Capable => &mut self.ect0_bytes,
            Ecn::CapableL4s => &mut self.ect1_bytes,
            Ecn::Marked => &mut self.ce_bytes,
        };
        *counter = counter.wrapping_add(payload as u32) & Self::MASK;
    }

    /// Returns the bytes with CE since an earlier report.
    pub fn ce_since(&self, earlier: &EcnCounters) -> u64 {
        (self.ce_bytes.wrapping_sub(earlier.ce_bytes) & Self::MASK).into()
    }
}
