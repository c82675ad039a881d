//! Decoding of captured bytes into a [`CapturedPacket`].
//!
//! A capture may hold only the beginning of each packet. All lengths are those that the headers
//! claim; fields beyond the captured bytes are missing. A TCP header whose end is missing is marked
//! ([`Segment::cut`](crate::packet::Segment)). Checksums are not verified: a capture on the sending
//! host sees packets before the network card fills them in.

mod ip;
mod link;
mod tcp;
mod udp;

pub use link::LinkType;

use crate::CapturedPacket;
use crate::packet::Transport;
use crate::skipped::Skip;
use etherparse::ip_number;
use std::net::SocketAddr;

/// Decodes a packet seen at `at_ns` nanoseconds after the beginning of 1970. The captured
/// `bytes` begin with the link header. The packet had `original_length` bytes on the wire.
///
/// # Errors
/// The reason why it is not a TCP or UDP packet over IP, or cannot be decoded.
pub fn decode(
    at_ns: u64,
    link: LinkType,
    bytes: &[u8],
    original_length: u32,
) -> Result<CapturedPacket, Skip> {
    let packet = link.packet(bytes)?;
    let link_header = (bytes.len() - packet.len()) as u32;
    let ip = ip::decode(packet, original_length.saturating_sub(link_header))?;
    let (source, destination, transport) = match ip.protocol {
        ip_number::TCP => {
            let (source, destination, segment) = tcp::decode(ip.payload, ip.payload_bytes)?;
            (source, destination, Transport::Tcp(segment))
        }
        ip_number::UDP => udp::decode(ip.payload, ip.payload_bytes, ip.first_fragment)?,
        _ => return Err(Skip::OtherTransport),
    };
    Ok(CapturedPacket {
        at_ns,
        source: SocketAddr::new(ip.source, source),
        destination: SocketAddr::new(ip.destination, destination),
        ip_bytes: ip.bytes,
        identification: ip.identification,
        ecn: ip.ecn,
        transport,
    })
}

/// Returns the `N` bytes at `at`, which must exist.
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("a slice of N bytes")
}
