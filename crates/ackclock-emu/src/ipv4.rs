//! The part of IPv4 (RFC 791) that the hops need: addresses, length, and the ECN field (RFC 3168).

use ackclock_core::packet::{Ecn, PacketKind};
use std::fmt;
use std::net::Ipv4Addr;

/// Length of a header without options, in bytes.
const SHORTEST_HEADER: usize = 20;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Flags in the 14th byte of a TCP header (RFC 9293 section 3.1).
const SYN: u8 = 0b0000_0010;
const ACK: u8 = 0b0001_0000;
const ECN_MASK: u8 = 0b11;

/// Direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the sender of data to the receiver.
    Forward,
    /// Back to the sender.
    Back,
}

impl Direction {
    /// True for [`Direction::Forward`].
    pub const fn is_forward(self) -> bool {
        matches!(self, Direction::Forward)
    }
}

/// The reason why bytes are not an IPv4 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Another version of IP, or not IP.
    Version,
    /// Shorter than its header, or than the header says.
    Truncated,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::Version => "not IPv4",
            Malformed::Truncated => "shorter than its header says",
        })
    }
}
impl std::error::Error for Malformed {}

/// The needed fields of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Length with the header, in bytes.
    pub length: u16,
}

impl Header {
    /// Reads the header at the beginning of `packet`, which may be longer than the header says
    /// (Ethernet pads short frames).
    ///
    /// # Errors
    /// If it is not a whole IPv4 packet.
    pub fn read(packet: &[u8]) -> Result<Header, Malformed> {
        let header: &[u8; SHORTEST_HEADER] = packet.first_chunk().ok_or(Malformed::Truncated)?;
        if header[0] >> 4 != 4 {
            return Err(Malformed::Version);
        }
        let length = u16::from_be_bytes([header[2], header[3]]);
        if header_length(packet) < SHORTEST_HEADER
            || usize::from(length) < header_length(packet)
            || usize::from(length) > packet.len()
        {
            return Err(Malformed::Truncated);
        }
        let address =
            |at: usize| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
        Ok(Header {
            source: address(12),
            destination: address(16),
            length,
        })
    }
}

fn header_length(packet: &[u8]) -> usize {
    packet
        .first()
        .map_or(0, |first| usize::from(first & 0xf) * 4)
}

/// Returns the ECN field of a packet's header; bytes without a header count as not ECN-capable.
pub fn ecn(packet: &[u8]) -> Ecn {
    Ecn::from_bits(packet.get(1).copied().unwrap_or(0))
}

/// Returns the kind that the hops take a packet for.
pub fn kind(packet: &[u8], direction: Direction) -> PacketKind {
    let protocol = packet.get(9).copied();
    // The fragment offset: only the first fragment has a TCP header.
    let whole = packet
        .get(6..8)
        .is_some_and(|word| u16::from_be_bytes([word[0], word[1]]) & 0x1fff == 0);
    let flags = packet.get(header_length(packet) + 13).copied().unwrap_or(0);
    let opens = protocol == Some(TCP) && whole && flags & SYN != 0;
    match direction {
        Direction::Forward if protocol == Some(UDP) => PacketKind::Datagram,
        Direction::Forward if opens && flags & ACK == 0 => PacketKind::Syn,
        Direction::Forward => PacketKind::Data,
        Direction::Back if protocol == Some(UDP) => PacketKind::Feedback,
        Direction::Back if opens => PacketKind::SynAck,
        Direction::Back => PacketKind::Ack,
    }
}

/// Sets the ECN field and corrects the header's checksum (RFC 1624, equation 3). Bytes without a
/// header stay unchanged.
pub fn set_ecn(packet: &mut [u8], ecn: Ecn) {
    let Some(header) = packet.first_chunk_mut::<SHORTEST_HEADER>() else {
        return;
    };
    let before = u16::from_be_bytes([header[0], header[1]]);
    header[1] = (header[1] & !ECN_MASK) | ecn.bits();
    let after = u16::from_be_bytes([header[0], header[1]]);
    let checksum = u16::from_be_bytes([header[10], header[11]]);
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    header[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ipv4_packet;

    /// Sums all 16-bit words of a header, RFC 1071; true if the checksum is correct.
    fn is_correct(packet: &[u8]) -> bool {
        let words = packet[..header_length(packet)].chunks(2);
        let sum: u32 = words
            .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
            .sum();
        (sum & 0xffff) + (sum >> 16) == 0xffff
    }

    const SENDER: Ipv4Addr = Ipv4Addr::new(10, 66, 0, 1);
    const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

    #[test]
    fn the_ecn_field_is_written_with_its_checksum() {
        let fields = [Ecn::NotCapable, Ecn::Capable, Ecn::CapableL4s, Ecn::Marked];
        for (service, number) in (0..=255).flat_map(|s| (0..50).map(move |n| (s, n))) {
            for field in fields {
                let mut packet = ipv4_packet(SENDER, RECEIVER, UDP, 100 + number, service, number);
                assert!(is_correct(&packet));
                set_ecn(&mut packet, field);
                assert!(is_correct(&packet), "service {service}, number {number}");
                assert_eq!(
                    (packet[1] & !ECN_MASK, ecn(&packet)),
                    (service & !ECN_MASK, field)
                );
            }
        }
    }

    #[test]
    fn the_ecn_field_is_read_as_rfc_3168_numbers_it() {
        let field = |service| ecn(&ipv4_packet(SENDER, RECEIVER, TCP, 60, service, 0));
        let fields = [Ecn::NotCapable, Ecn::CapableL4s, Ecn::Capable, Ecn::Marked];
        assert_eq!([0, 1, 2, 3].map(field), fields);
        assert_eq!([0xfc, 0xfd, 0xfe, 0xff].map(field), fields);
    }

    #[test]
    fn what_is_no_whole_packet_is_refused() {
        let packet = ipv4_packet(SENDER, RECEIVER, TCP, 60, 0, 0);
        let header = Header::read(&packet).unwrap();
        assert_eq!(
            (header.source, header.destination, header.length),
            (SENDER, RECEIVER, 60)
        );
        for kept in 0..60 {
            assert_eq!(
                Header::read(&packet[..kept]),
                Err(Malformed::Truncated),
                "{kept} bytes"
            );
        }
        let padded = [&packet[..], &[0; 14]].concat();
        assert_eq!(Header::read(&padded).unwrap().length, 60);
        for first in [0x65, 0x05, 0xf5] {
            let mut other = packet.clone();
            other[0] = first;
            assert_eq!(Header::read(&other), Err(Malformed::Version));
        }
        for first in [0x44, 0x40] {
            let mut other = packet.clone();
            other[0] = first;
            assert_eq!(
                Header::read(&other),
                Err(Malformed::Truncated),
                "a header of less than 20 bytes"
            );
        }
    }

    #[test]
    fn kinds_follow_protocol_flags_and_direction() {
        let tcp = |flags: u8, fragment: u8| {
            let mut packet = ipv4_packet(SENDER, RECEIVER, TCP, 60, 0, 0);
            packet[33] = flags;
            packet[7] = fragment;
            packet
        };
        let udp = ipv4_packet(SENDER, RECEIVER, UDP, 60, 0, 0);
        use Direction::{Back, Forward};
        assert_eq!(kind(&tcp(SYN, 0), Forward), PacketKind::Syn);
        assert_eq!(kind(&tcp(ACK, 0), Forward), PacketKind::Data);
        assert_eq!(
            kind(&tcp(SYN, 9), Forward),
            PacketKind::Data,
            "no header in a later fragment"
        );
        assert_eq!(kind(&udp, Forward), PacketKind::Datagram);
        assert_eq!(kind(&tcp(SYN | ACK, 0), Back), PacketKind::SynAck);
        assert_eq!(kind(&tcp(ACK, 0), Back), PacketKind::Ack);
        assert_eq!(kind(&udp, Back), PacketKind::Feedback);
    }
}
