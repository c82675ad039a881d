//! IPv4 (RFC 791) and IPv6 (RFC 8200), with the headers between them and the transport header.

use crate::skipped::Skip;
use ackclock_core::packet::Ecn;
use etherparse::err::ipv4::HeaderSliceError;
use etherparse::ip_number::{AUTH, IPV6_DEST_OPTIONS, IPV6_FRAG, IPV6_HOP_BY_HOP, IPV6_ROUTE};
use etherparse::{
    IpAuthHeaderSlice, IpEcn, IpNumber, Ipv4HeaderSlice, Ipv6FragmentHeaderSlice, Ipv6HeaderSlice,
    Ipv6RawExtHeaderSlice,
};
use std::net::IpAddr;

/// An IP packet, decoded up to its transport header.
pub(super) struct IpPacket<'a> {
    pub source: IpAddr,
    pub destination: IpAddr,
    /// Length of the whole packet in bytes.
    pub bytes: u32,
    pub identification: u16,
    pub ecn: Ecn,
    /// Protocol of the payload.
    pub protocol: IpNumber,
    /// Captured bytes of the payload, without bytes that the link added behind it.
    pub payload: &'a [u8],
    /// Length of the whole payload in bytes.
    pub payload_bytes: u32,
    /// True if further fragments of the payload follow.
    pub first_fragment: bool,
}

/// Decodes the packet at the beginning of `bytes`, whose length on the wire was `on_wire` bytes.
/// Link padding may follow it.
pub(super) fn decode(bytes: &[u8], on_wire: u32) -> Result<IpPacket<'_>, Skip> {
    match bytes.first().ok_or(Skip::TooShort)? >> 4 {
        4 => ipv4(bytes, on_wire),
        6 => ipv6(bytes, on_wire),
        _ => Err(Skip::NotIp),
    }
}

fn ipv4(bytes: &[u8], on_wire: u32) -> Result<IpPacket<'_>, Skip> {
    let header = Ipv4HeaderSlice::from_slice(bytes).map_err(|error| match error {
        HeaderSliceError::Len(_) => Skip::TooShort,
        HeaderSliceError::Content(_) => Skip::Malformed,
    })?;
    if header.fragments_offset().value() != 0 {
        return Err(Skip::Fragment);
    }
    // A length of 0 marks a packet whose length does not fit into 16 bits; the network card
    // segments it later.
    let whole = match header.total_len() {
        0 => on_wire,
        length => u32::from(length),
    };
    let payload = Payload::behind(header.slice().len(), header.protocol(), bytes, whole)?;
    Ok(IpPacket {
        source: header.source_addr().into(),
        destination: header.destination_addr().into(),
        bytes: whole,
        identification: header.identification(),
        ecn: ecn_of(header.ecn()),
        protocol: payload.protocol,
        payload: payload.held,
        payload_bytes: payload.length,
        first_fragment: payload.first_fragment || header.more_fragments(),
    })
}

fn ipv6(bytes: &[u8], on_wire: u32) -> Result<IpPacket<'_>, Skip> {
    let header = Ipv6HeaderSlice::from_slice(bytes).map_err(|_| Skip::TooShort)?;
    let fixed = header.slice().len();
    // 0 as above, and in a jumbogram (RFC 2675), whose option repeats the length on the wire.
    let whole = match header.payload_length() {
        0 => on_wire,
        length => fixed as u32 + u32::from(length),
    };
    let payload = Payload::behind(fixed, header.next_header(), bytes, whole)?;
    Ok(IpPacket {
        source: header.source_addr().into(),
        destination: header.destination_addr().into(),
        bytes: whole,
        identification: 0,
        ecn: ecn_of(header.ecn()),
        protocol: payload.protocol,
        payload: payload.held,
        payload_bytes: payload.length,
        first_fragment: payload.first_fragment,
    })
}

/// The payload behind all IP headers.
struct Payload<'a> {
    protocol: IpNumber,
    /// Captured bytes.
    held: &'a [u8],
    /// Length in bytes.
    length: u32,
    first_fragment: bool,
}

impl<'a> Payload<'a> {
    /// Skips the extension headers (RFC 8200 section 4; IPv4 has only the authentication header)
    /// behind the first `fixed` bytes of a packet of `whole` bytes. `protocol` is the type of the
    /// first of them. Does not use etherparse's iterator, which reads beyond the end of a cut
    /// header.
    fn behind(
        fixed: usize,
        mut protocol: IpNumber,
        bytes: &'a [u8],
        whole: u32,
    ) -> Result<Self, Skip> {
        // Bytes that the link added behind the packet do not belong to it.
        let held = &bytes[..bytes.len().min(whole as usize)];
        let mut rest = held.get(fixed..).ok_or(Skip::Malformed)?;
        let mut first_fragment = false;
        let cut = if held.len() < whole as usize {
            Skip::TooShort
        } else {
            Skip::Malformed
        };
        loop {
            let length = match protocol {
                IPV6_HOP_BY_HOP | IPV6_ROUTE | IPV6_DEST_OPTIONS => {
                    let header = Ipv6RawExtHeaderSlice::from_slice(rest).map_err(|_| cut)?;
                    protocol = header.next_header();
                    header.slice().len()
                }
                AUTH => {
                    let header = IpAuthHeaderSlice::from_slice(rest).map_err(|_| cut)?;
                    protocol = header.next_header();
                    header.slice().len()
                }
                IPV6_FRAG => {
                    let header = Ipv6FragmentHeaderSlice::from_slice(rest).map_err(|_| cut)?;
                    if header.fragment_offset().value() != 0 {
                        return Err(Skip::Fragment);
                    }
                    first_fragment |= header.more_fragments();
                    protocol = header.next_header();
                    header.slice().len()
                }
                _ => break,
            };
            rest = &rest[length..];
        }
        let headers = (held.len() - rest.len()) as u32;
        Ok(Payload {
            protocol,
            held: rest,
            length: whole - headers,
            first_fragment,
        })
    }
}

const fn ecn_of(ecn: IpEcn) -> Ecn {
    match ecn {
        IpEcn::NotEct => Ecn::NotCapable,
        IpEcn::Ect0 => Ecn::Capable,
        IpEcn::Ect1 => Ecn::CapableL4s,
        IpEcn::CongestionExperienced => Ecn::Marked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an IPv6 header of 40 bytes with this next header and a payload length of 16 bytes,
    /// followed by `payload`.
    fn ipv6_behind(next: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 40];
        (packet[0], packet[5], packet[6]) = (0x60, 16, next);
        packet.extend(payload);
        packet
    }

    #[test]
    fn extensions_may_follow_each_other_and_be_cut_anywhere() {
        // The header of a whole fragment announces another header, which is missing or incomplete.
        for next in [0, 43, 44, 51, 60] {
            let whole = ipv6_behind(44, &[next, 0, 0, 0, 0, 0, 0, 1, 6, 0, 0, 0, 0, 0, 0, 2]);
            for held in 40..whole.len() {
                assert_eq!(
                    decode(&whole[..held], 56).err(),
                    Some(Skip::TooShort),
                    "{next} {held}"
                );
            }
            let payload = decode(&whole, 56);
            // The authentication header is longer than the remaining bytes: the packet itself ends
            // too early, not the capture.
            let expected = if next == 51 {
                Err(Skip::Malformed)
            } else {
                Ok(0)
            };
            assert_eq!(
                payload.map(|packet| packet.payload_bytes),
                expected,
                "{next}"
            );
        }
    }

    #[test]
    fn an_authentication_header_stands_behind_ipv4_too() {
        let mut packet = vec![
            0x45, 0, 0, 40, 0, 9, 0, 0, 64, 51, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2,
        ];
        packet.extend([17, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2]);
        packet.extend([0; 10]);
        let decoded = decode(&packet, 42).unwrap();
        assert_eq!(
            (decoded.protocol, decoded.payload_bytes),
            (IpNumber::UDP, 8)
        );
        assert_eq!(
            decoded.payload.len(),
            8,
            "the last two bytes are the link's"
        );
    }

    #[test]
    fn only_fragments_of_several_are_fragments() {
        let fragment = |field: [u8; 2]| {
            let packet = ipv6_behind(
                44,
                &[6, 0, field[0], field[1], 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
            );
            decode(&packet, 56).map(|packet| packet.first_fragment)
        };
        assert_eq!(fragment([0, 0]), Ok(false), "RFC 6946");
        assert_eq!(fragment([0, 1]), Ok(true));
        assert_eq!(fragment([0, 8]), Err(Skip::Fragment));
    }
}
