//! A packet as a capture shows it: what measuring needs of the headers, and nothing of the payload.

use ackclock_core::packet::Ecn;
use std::net::SocketAddr;

/// One packet of TCP or UDP over IPv4 or IPv6, read from a capture.
#[derive(Clone, Debug, PartialEq)]
pub struct CapturedPacket {
    /// When it was seen, in nanoseconds since the beginning of 1970. Not necessarily in order.
    pub at_ns: u64,
    /// Where it came from.
    pub source: SocketAddr,
    /// Where it went.
    pub destination: SocketAddr,
    /// Length of the whole IP packet in bytes, however little of it the capture holds.
    pub ip_bytes: u32,
    /// Identification of IPv4, 0 for IPv6: two records with the same one may be one packet seen
    /// twice.
    pub identification: u16,
    /// What the IP header says of congestion (RFC 3168).
    pub ecn: Ecn,
    /// What it carries.
    pub transport: Transport,
}

/// What a packet carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram with so many bytes of payload.
    Udp {
        /// Length of the payload.
        payload: u32,
    },
}

/// A TCP segment's header (RFC 9293 section 3.1). Sequence numbers are as on the wire, modulo 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Number of the first byte, or of the SYN.
    pub sequence: u32,
    /// The next byte expected from the other side, if `flags.ack`.
    pub acknowledgment: u32,
    /// Payload in bytes, by the lengths in the headers.
    pub payload: u32,
    /// As on the wire, not scaled.
    pub window: u16,
    /// The control bits.
    pub flags: Flags,
    /// The options; those that the capture cut off are missing.
    pub options: Options,
    /// Whether the capture holds less than the whole header, so that options may be missing.
    pub cut: bool,
}

/// The control bits of a TCP header (RFC 9293 section 3.1, RFC 3168 section 6.1).
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
}

/// The options that say something of how a connection goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Largest segment accepted, in bytes, of a SYN (RFC 9293 section 3.7.1).
    pub maximum_segment: Option<u16>,
    /// Shift of later windows, of a SYN (RFC 7323 section 2).
    pub window_scale: Option<u8>,
    /// Whether SACK blocks may be sent, of a SYN (RFC 2018 section 2).
    pub sack_permitted: bool,
    /// Value and echo (RFC 7323 section 3).
    pub timestamps: Option<(u32, u32)>,
    sacks: [(u32, u32); Self::MOST_SACKS],
    sack_count: u8,
}

impl Options {
    /// No more blocks fit into the 40 bytes of options (RFC 2018 section 3).
    pub const MOST_SACKS: usize = 4;

    /// Left and right edges of the SACK blocks (RFC 2018 section 3), in the order of the option;
    /// the first may report a duplicate (RFC 2883).
    pub fn sacks(&self) -> &[(u32, u32)] {
        &self.sacks[..usize::from(self.sack_count)]
    }

    /// Appends a block; what is more than there can be is left out.
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
