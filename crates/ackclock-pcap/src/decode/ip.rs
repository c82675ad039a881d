//! IPv4 (RFC 791) and IPv6 (RFC 8200) with the headers between them and the transport's.

use crate::skipped::Skip;
use ackclock_core::packet::Ecn;
use etherparse::err::ip::{HeaderError, LaxHeaderSliceError};
use etherparse::{IpEcn, IpNumber, Ipv6ExtensionSlice, LaxIpSlice, LaxIpv4Slice, LaxIpv6Slice};
use std::net::IpAddr;

/// An IP packet down to its transport header.
pub(super) struct IpPacket<'a> {
    pub source: IpAddr,
    pub destination: IpAddr,
    /// Length of the whole packet.
    pub bytes: u32,
    pub identification: u16,
    pub ecn: Ecn,
    /// What it carries.
    pub protocol: IpNumber,
    /// What the capture holds of the payload, without what the link added behind it.
    pub payload: &'a [u8],
    /// Length of the whole payload.
    pub payload_bytes: u32,
    /// Whether the payload goes on in other packets.
    pub first_fragment: bool,
}

/// Decodes the packet that begins with `bytes` and had `on_wire` bytes, perhaps with something behind it.
pub(super) fn decode(bytes: &[u8], on_wire: u32) -> Result<IpPacket<'_>, Skip> {
    let (ip, stop) = LaxIpSlice::from_slice(bytes).map_err(|error| match error {
        LaxHeaderSliceError::Len(_) => Skip::TooShort,
        LaxHeaderSliceError::Content(HeaderError::UnsupportedIpVersion { .. }) => Skip::NotIp,
        LaxHeaderSliceError::Content(HeaderError::Ipv4HeaderLengthSmallerThanHeader { .. }) => {
            Skip::Malformed
        }
    })?;
    let lengths = match &ip {
        LaxIpSlice::Ipv4(packet) => ipv4(packet, on_wire)?,
        LaxIpSlice::Ipv6(packet) => ipv6(packet, on_wire)?,
    };
    let payload = ip.payload();
    if stop.is_some() {
        // In a header between IP's and the transport's.
        return Err(if payload.incomplete {
            Skip::TooShort
        } else {
            Skip::Malformed
        });
    }
    let (identification, ecn) = match &ip {
        LaxIpSlice::Ipv4(packet) => (packet.header().identification(), packet.header().ecn()),
        LaxIpSlice::Ipv6(packet) => (0, packet.header().ecn()),
    };
    Ok(IpPacket {
        source: ip.source_addr(),
        destination: ip.destination_addr(),
        bytes: lengths.whole,
        identification,
        ecn: ecn_of(ecn),
        protocol: payload.ip_number,
        payload: payload.payload,
        payload_bytes: lengths
            .whole
            .checked_sub(lengths.headers)
            .ok_or(Skip::Malformed)?,
        first_fragment: payload.fragmented,
    })
}

struct Lengths {
    /// Of the packet.
    whole: u32,
    /// Of all headers before the transport's.
    headers: u32,
}

fn ipv4(packet: &LaxIpv4Slice<'_>, on_wire: u32) -> Result<Lengths, Skip> {
    let header = packet.header();
    if header.fragments_offset().value() != 0 {
        return Err(Skip::Fragment);
    }
    // A length of 0 is what a packet has that is larger than 16 bits can say, before the network card segments it.
    let whole = match header.total_len() {
        0 => on_wire,
        length => u32::from(length),
    };
    let authentication = packet.extensions().auth.map_or(0, |header| header.slice().len());
    let headers = (header.slice().len() + authentication) as u32;
    Ok(Lengths { whole, headers })
}

fn ipv6(packet: &LaxIpv6Slice<'_>, on_wire: u32) -> Result<Lengths, Skip> {
    let is_later_fragment = |extension| match extension {
        Ipv6ExtensionSlice::Fragment(fragment) => fragment.fragment_offset().value() != 0,
        _ => false,
    };
    if packet.is_payload_fragmented() && packet.extensions().clone().into_iter().any(is_later_fragment) {
        return Err(Skip::Fragment);
    }
    let header = packet.header();
    let fixed = header.slice().len() as u32;
    // 0 as above, and in a jumbogram (RFC 2675), whose option says what the length on the wire says too.
    let whole = match header.payload_length() {
        0 => on_wire,
        length => fixed + u32::from(length),
    };
    let headers = fixed + packet.extensions().slice().len() as u32;
    Ok(Lengths { whole, headers })
}

const fn ecn_of(ecn: IpEcn) -> Ecn {
    match ecn {
        IpEcn::NotEct => Ecn::NotCapable,
        IpEcn::Ect0 => Ecn::Capable,
        IpEcn::Ect1 => Ecn::CapableL4s,
        IpEcn::CongestionExperienced => Ecn::Marked,
    }
}
