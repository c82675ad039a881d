//! A decoded packet: the header fields that measurement needs, without the payload.

use ackclock_core::packet::Ecn;
use std::net::SocketAddr;

/// Latest capture time, in nanoseconds since the beginning of 1970: 11 April 2262. A time and the
/// difference of two times add up within 64 bits. A file may hold later times; readers return this
/// one.
pub const LATEST_NS: u64 = i64::MAX as u64;

/// A TCP or UDP packet over IPv4 or IPv6, read from a capture.
#[derive(Clone, Debug, PartialEq)]
pub struct CapturedPacket {
    /// Capture time, in nanoseconds since the beginning of 1970, at most [`LATEST_NS`]. Packets
    /// need not be in order of time.
    pub at_ns: u64,
    /// Source address and port.
    pub source: SocketAddr,
    /// Destination address and port.
    pub destination: SocketAddr,
    /// Length of the whole IP packet in bytes, even if the capture holds less of it.
    pub ip_bytes: u32,
    /// Identification field of IPv4; 0 for IPv6. Two records with the same identification may be
    /// one packet captured twice.
    pub identification: u16,
    /// ECN field of the IP header (RFC 3168).
    pub ecn: Ecn,
    /// Transport header.
    pub transport: Transport,
}

/// Transport header of a packet.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram.
    Udp {
        /// Payload length in bytes.
        payload: u32,
        /// The first bytes of the payload, `None` if it has fewer or the capture holds fewer. In a
        /// packet of QUIC they are its first byte, and the version of a long header (RFC 8999
        /// section 5).
        begin: Option<[u8; 5]>,
    },
}

/// The header of a TCP segment (RFC 9293 section 3.1). Sequence numbers are as on the wire, modulo
/// 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first byte, or of the SYN.
    pub sequence: u32,
    /// Next byte expected from the other side; valid only if `flags.ack`.
    pub acknowledgment: u32,
    /// Payload length in bytes, computed from the lengths in the headers.
    pub payload: u32,
    /// Window field as on the wire, not scaled.
    pub window: u16,
    /// The control bits.
    pub flags: Flags,
    /// Options that the capture holds. Options beyond the captured bytes are missing.
    pub options: Options,
    /// True if the capture holds only part of the header, so that options may be missing.
    pub cut: bool,
}

/// The control bits of a TCP header (RFC 9293 section 3.1, RFC 3168 section 6.1, RFC 9768).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the standard's")]
pub struct Flags {
    pub fin: bool,
    pub syn: bool,
    pub rst: bool,
    pub psh: bool,
    pub ack: bool,
    pub ece: bool,
    pub cwr: bool,
    pub ae: bool,
}

/// The TCP options that measurement needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size in bytes, from a SYN (RFC 9293 section 3.7.1).
    pub maximum_segment: Option<u16>,
    /// Window scale shift, from a SYN (RFC 7323 section 2).
    pub window_scale: Option<u8>,
    /// True if a SYN permits SACK blocks (RFC 2018 section 2).
    pub sack_permitted: bool,
    /// TSval and TSecr (RFC 7323 section 3).
    pub timestamps: Option<(u32, u32)>,
    /// AccECN option (RFC 9768 section 3.2.3).
    pub accurate_ecn: Option<AccurateEcn>,
    sacks: [(u32, u32); Self::MOST_SACKS],
    sack_count: u8,
}

/// An AccECN option: counters of payload bytes that arrived with a codepoint, modulo 2^24. None
/// stands for a counter that the option leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccurateEcn {
    /// Bytes with ECT(0): the field EE0B.
    pub ect0: Option<u32>,
    /// Bytes with CE: the field ECEB.
    pub ce: Option<u32>,
    /// Bytes with ECT(1): the field EE1B.
    pub ect1: Option<u32>,
    /// Its length.
    pub shape: AccurateEcnShape,
}

/// The length of an AccECN option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccurateEcnShape {
    /// A length that the RFC lists: 2, 5, 8 or 11.
    #[default]
    Listed,
    /// Another one. Whole counters count, the rest is padding.
    Odd,
    /// It ends behind the options, or behind what was captured. It has no counters.
    Cut,
}

impl Options {
    /// Largest number of SACK blocks that fit into the 40 bytes of options (RFC 2018 section 3).
    pub const MOST_SACKS: usize = 4;

    /// Returns the left and right edges of the SACK blocks (RFC 2018 section 3), in the order of
    /// the option. The first block may report a duplicate (RFC 2883).
    pub fn sacks(&self) -> &[(u32, u32)] {
        &self.sacks[..usize::from(self.sack_count)]
    }

    /// Appends a SACK block. Drops it if there are already [`Self::MOST_SACKS`] blocks.
    pub fn push_sack(&mut self, left: u32, right: u32) {
        if let Some(free) = self.sacks.get_mut(usize::from(self.sack_count)) {
            *free = (left, right);
            self.sack_count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_block_is_left_out() {
        let mut options = Options::default();
        (0..5).for_each(|block| options.push_sack(block, block + 1));
        assert_eq!(options.sacks(), [(0, 1), (1, 2), (2, 3), (3, 4)]);
    }
}
