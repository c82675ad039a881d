//! Real IP and UDP headers for datagrams of real sockets, which the system delivers without
//! headers.

use crate::encode::ip_ecn;
use ackclock_core::packet::Ecn;
use etherparse::{
    IpHeaders, IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header, PacketBuilder, UdpHeader,
};
use std::net::{IpAddr, SocketAddr};

/// The TTL or hop limit that Linux sends with. The value on arrival is not known here.
const HOPS: u8 = 64;

/// Replaces the content of `buffer` by the IP packet of the datagram, checksums included. Returns
/// false and leaves `buffer` empty if there is no such packet: the addresses are of different
/// families, or the payload is too long.
pub fn encode_datagram(
    from: SocketAddr,
    to: SocketAddr,
    ecn: Ecn,
    payload: &[u8],
    buffer: &mut Vec<u8>,
) -> bool {
    buffer.clear();
    let length = UdpHeader::LEN + payload.len();
    let builder = match (from.ip().to_canonical(), to.ip().to_canonical()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let Ok(length) = u16::try_from(length) else {
                return false;
            };
            let header = Ipv4Header::new(
                length,
                HOPS,
                IpNumber::UDP,
                source.octets(),
                destination.octets(),
            );
            let Ok(mut header) = header else { return false };
            header.ecn = ip_ecn(ecn);
            PacketBuilder::ip(IpHeaders::Ipv4(header, Default::default()))
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => PacketBuilder::ip(IpHeaders::Ipv6(
            Ipv6Header {
                traffic_class: ip_ecn(ecn).value(),
                flow_label: Ipv6FlowLabel::ZERO,
                payload_length: 0, // set by the builder
                next_header: IpNumber::UDP,
                hop_limit: HOPS,
                source: source.octets(),
                destination: destination.octets(),
            },
            Default::default(),
        )),
        _ => return false,
    };
    let is_written = builder
        .udp(from.port(), to.port())
        .write(buffer, payload)
        .is_ok();
    if !is_written {
        buffer.clear();
    }
    is_written
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{NetSlice, SlicedPacket, TransportSlice};

    fn addresses(from: &str, to: &str) -> (SocketAddr, SocketAddr) {
        (from.parse().unwrap(), to.parse().unwrap())
    }

    #[test]
    fn what_is_encoded_is_a_packet_of_these_addresses() {
        let pairs = [
            ("127.0.0.1:1", "10.0.0.1:7400"),
            ("[::1]:1", "[fe80::1]:7400"),
            ("[::ffff:127.0.0.1]:1", "10.0.0.1:7400"),
        ];
        for (from, to) in pairs.map(|(from, to)| addresses(from, to)) {
            let mut buffer = vec![9; 9];
            assert!(encode_datagram(
                from,
                to,
                Ecn::Capable,
                b"hello",
                &mut buffer
            ));
            let packet = SlicedPacket::from_ip(&buffer).unwrap();
            let ecn = match packet.net.unwrap() {
                NetSlice::Ipv4(ip) => ip.header().ecn().value(),
                NetSlice::Ipv6(ip) => ip.header().traffic_class(),
                NetSlice::Arp(_) => unreachable!(),
            };
            assert_eq!(ecn, 2, "ECT(0)");
            let Some(TransportSlice::Udp(udp)) = packet.transport else {
                panic!("no UDP")
            };
            assert_eq!(
                (udp.source_port(), udp.destination_port(), udp.payload()),
                (1, 7400, &b"hello"[..])
            );
        }
    }

    #[test]
    fn what_cannot_be_is_not_encoded() {
        let (four, six) = addresses("127.0.0.1:1", "[::1]:1");
        let mut buffer = vec![9; 9];
        assert!(!encode_datagram(
            four,
            six,
            Ecn::NotCapable,
            b"",
            &mut buffer
        ));
        assert!(buffer.is_empty());
        assert!(!encode_datagram(
            four,
            four,
            Ecn::NotCapable,
            &[0; 65_530],
            &mut buffer
        ));
    }
}
