//! Addresses of the flows inside the hosts. Every flow has its own pair of addresses, for two
//! reasons. The kernel's settings can differ between flows (route metrics go by address), and the
//! emulator knows a packet's flow from its IP header alone.

use crate::ipv4::Direction;
use ackclock_core::packet::FlowId;
use std::net::Ipv4Addr;

/// Network of the senders, 10.66.0.0/16; receivers are in 10.77.0.0/16 (RFC 1918). Both are in
/// namespaces that nothing outside sees.
const SENDERS: u32 = 0x0a42_0000;
const RECEIVERS: u32 = 0x0a4d_0000;
const NETWORK: u32 = 0xffff_0000;

/// Number of flows that have addresses: a /16 without the network address and the broadcast
/// address.
pub const MOST_FLOWS: u32 = 65_534;

/// Returns the address of a flow's sender: 10.66.0.1 for flow 0.
///
/// # Panics
/// If the flow's number is not below [`MOST_FLOWS`].
pub fn sender(flow: FlowId) -> Ipv4Addr {
    host(SENDERS, flow)
}

/// Returns the address of a flow's receiver: 10.77.0.1 for flow 0.
///
/// # Panics
/// If the flow's number is not below [`MOST_FLOWS`].
pub fn receiver(flow: FlowId) -> Ipv4Addr {
    host(RECEIVERS, flow)
}

fn host(network: u32, flow: FlowId) -> Ipv4Addr {
    assert!(flow.0 < MOST_FLOWS, "a flow of that number has no address");
    Ipv4Addr::from(network + 1 + flow.0)
}

/// Returns flow and direction of a packet between these addresses; `None` if it belongs to no flow.
pub fn flow_of(source: Ipv4Addr, destination: Ipv4Addr) -> Option<(FlowId, Direction)> {
    let (source, destination) = (source.to_bits(), destination.to_bits());
    let direction = match (source & NETWORK, destination & NETWORK) {
        (SENDERS, RECEIVERS) => Direction::Forward,
        (RECEIVERS, SENDERS) => Direction::Back,
        _ => return None,
    };
    let (own, other) = (source & !NETWORK, destination & !NETWORK);
    let flow = own.checked_sub(1).filter(|flow| *flow < MOST_FLOWS)?;
    (own == other).then_some((FlowId(flow), direction))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flow_is_found_by_its_addresses() {
        assert_eq!(sender(FlowId(0)).to_string(), "10.66.0.1");
        assert_eq!(receiver(FlowId(256)).to_string(), "10.77.1.1");
        for flow in (0..MOST_FLOWS)
            .step_by(97)
            .chain([MOST_FLOWS - 1])
            .map(FlowId)
        {
            let (sender, receiver) = (sender(flow), receiver(flow));
            assert_eq!(flow_of(sender, receiver), Some((flow, Direction::Forward)));
            assert_eq!(flow_of(receiver, sender), Some((flow, Direction::Back)));
        }
    }

    #[test]
    fn strangers_are_nobodys() {
        let (one, two) = (FlowId(1), FlowId(2));
        let broadcast = |network: u8| Ipv4Addr::new(10, network, 255, 255);
        for (source, destination) in [
            (sender(one), receiver(two)),
            (sender(one), sender(one)),
            (receiver(one), receiver(one)),
            (Ipv4Addr::new(10, 66, 0, 0), Ipv4Addr::new(10, 77, 0, 0)),
            (broadcast(66), broadcast(77)),
            (Ipv4Addr::new(10, 65, 0, 1), receiver(FlowId(0))),
            (Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST),
        ] {
            assert_eq!(
                flow_of(source, destination),
                None,
                "{source} to {destination}"
            );
        }
    }
}
