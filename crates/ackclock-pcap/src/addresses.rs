//! IP addresses and ports of a flow, derived from its position in the scenario.

use std::net::{Ipv4Addr, SocketAddrV4};

/// Number of hosts in a /9, without the network address and the broadcast address.
const HOSTS: u32 = (1 << 23) - 2;
/// Network of the senders, 10.0.0.0/9; receivers are in 10.128.0.0/9 (RFC 1918).
const SENDERS: u32 = 10 << 24;
const RECEIVERS: u32 = SENDERS | (1 << 23);
/// First port of the senders. It is among the ephemeral ports of Linux (32768 to 60999), in a range
/// that no dissector of Wireshark claims; a dissector would call a payload of zeros malformed.
const FIRST_SENDER_PORT: u32 = 38_000;
const SENDER_PORTS: u32 = 2_000;
/// Port of the discard service (RFC 863), which takes everything and answers nothing.
const RECEIVER_PORT: u16 = 9;

/// Addresses and ports of a flow. Flow 0 is 10.0.0.1:38000 → 10.128.0.1:9, flow 1 is 10.0.0.2:38001
/// → 10.128.0.2:9, and so on. No two flows share all four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowAddresses {
    /// Address and port of the sender of data.
    pub sender: SocketAddrV4,
    /// Address and port of the receiver of data.
    pub receiver: SocketAddrV4,
}

impl FlowAddresses {
    /// Returns the addresses of the flow at a position in the scenario, from 0 on.
    pub fn of(position: u32) -> Self {
        let host = position % HOSTS;
        // Beyond eight million flows the hosts repeat; the port tells them apart.
        let port = FIRST_SENDER_PORT + host % SENDER_PORTS + position / HOSTS;
        FlowAddresses {
            sender: SocketAddrV4::new(Ipv4Addr::from(SENDERS + 1 + host), port as u16),
            receiver: SocketAddrV4::new(Ipv4Addr::from(RECEIVERS + 1 + host), RECEIVER_PORT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_first_flows_are_easy_to_recognise() {
        let text = |flow| {
            let FlowAddresses { sender, receiver } = FlowAddresses::of(flow);
            format!("{sender} {receiver}")
        };
        assert_eq!(text(0), "10.0.0.1:38000 10.128.0.1:9");
        assert_eq!(text(255), "10.0.1.0:38255 10.128.1.0:9");
        assert_eq!(text(HOSTS - 1).split(':').next(), Some("10.127.255.254"));
    }

    #[test]
    fn no_two_flows_share_their_addresses() {
        let few = (0..20_000).chain(HOSTS - 3_000..HOSTS + 3_000);
        let same_host = (0..=u32::MAX / HOSTS)
            .map(|round| 7 + round * HOSTS)
            .skip(2);
        let mut seen = HashSet::new();
        for flow in few.chain(same_host) {
            let addresses = FlowAddresses::of(flow);
            assert!(
                seen.insert((addresses.sender, addresses.receiver)),
                "flow {flow}"
            );
            assert!(!addresses.receiver.ip().is_broadcast());
            assert_ne!(addresses.sender.ip(), addresses.receiver.ip());
        }
    }
}
