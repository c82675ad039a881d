//! From the bytes of a captured packet to a [`CapturedPacket`].
//!
//! A capture may hold only the beginning of each packet. All lengths are those that the headers
//! claim; what is not there is missing, and a TCP header of which the end is missing says so
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

/// Decodes a packet seen at `at_ns` nanoseconds after the beginning of 1970. `bytes` is what the
/// capture holds of it, from the link's header on; `original_length` is how many bytes it had on
/// the wire.
///
/// # Errors
/// Why it is not one of TCP or UDP over IP, or cannot be decoded.
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
        ip_number::UDP => {
            let (source, destination, payload) =
                udp::decode(ip.payload, ip.payload_bytes, ip.first_fragment)?;
            (source, destination, Transport::Udp { payload })
        }
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

/// The `N` bytes at `at`, which must be there.
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("a slice of N bytes")
}
