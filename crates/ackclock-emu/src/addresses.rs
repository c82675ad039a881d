//! Addresses of the flows inside the hosts. Every flow has its own pair of addresses, for two
//! reasons. The kernel's settings can differ between flows (route metrics go by address), and the
//! emulator knows a packet's flow from its IP header alone.

use crate::ipv4::Direction;
use std::net::Ipv4Addr;

/// Network of the senders, 10.66.0.0/16; receivers are in 10.77.0.0/16 (RFC 1918). Both are in
/// namespaces that nothing outside sees.
const SENDERS: u32 = 0x0a42_0000;
const RECEIVERS: u32 = 0x0a4d_0000;
const NETWORK: u32 = 0xffff_0000;

/// Number of flows that have addresses: a /16 without the network address and the broadcast
/// address.
pub const MOST_FLOWS: u32 = 65_534;

/// Returns the address of a flow's sender: 10.66.0.1 for the first flow of the scenario, at
/// position 0.
///
/// # Panics
/// If the flow's position is not below [`MOST_FLOWS`].
pub fn sender(position: u32) -> Ipv4Addr {
    host(SENDERS, position)
}

/// Returns the address of a flow's receiver: 10.77.0.1 for the first flow of the scenario, at
/// position 0.
///
/// # Panics
/// If the flow's position is not below [`MOST_FLOWS`].
pub fn receiver(position: u32) -> Ipv4Addr {
    host(RECEIVERS, position)
}

fn host(network: u32, position: u32) -> Ipv4Addr {
    assert!(
        position < MOST_FLOWS,
        "a flow at that position has no address"
    );
    Ipv4Addr::from(network + 1 + position)
}

/// Returns the position of the flow and the direction of a packet between these addresses; `None`
/// if it belongs to no flow.
pub fn flow_of(source: Ipv4Addr, destination: Ipv4Addr) -> Option<(u32, Direction)> {
    let (source, destination) = (source.to_bits(), destination.to_bits());
    let direction = match (source & NETWORK, destination & NETWORK) {
        (SENDERS, RECEIVERS) => Direction::Forward,
        (RECEIVERS, SENDERS) => Direction::Back,
        _ => return None,
    };
    let (own, other) = (source & !NETWORK, destination & !NETWORK);
    let flow = own.checked_sub(1).filter(|flow| *flow < MOST_FLOWS)?;
    (own == other).then_some((flow, direction))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flow_is_found_by_its_addresses() {
        assert_eq!(sender(0).to_string(), "10.66.0.1");
        assert_eq!(receiver(256).to_string(), "10.77.1.1");
        for flow in (0..MOST_FLOWS).step_by(97).chain([MOST_FLOWS - 1]) {
            let (sender, receiver) = (sender(flow), receiver(flow));
            assert_eq!(flow_of(sender, receiver), Some((flow, Direction::Forward)));
            assert_eq!(flow_of(receiver, sender), Some((flow, Direction::Back)));
        }
    }

    #[test]
    fn strangers_are_nobodys() {
        let (one, two) = (1, 2);
        let broadcast = |network: u8| Ipv4Addr::new(10, network, 255, 255);
        for (source, destination) in [
            (sender(one), receiver(two)),
            (sender(one), sender(one)),
            (receiver(one), receiver(one)),
            (Ipv4Addr::new(10, 66, 0, 0), Ipv4Addr::new(10, 77, 0, 0)),
            (broadcast(66), broadcast(77)),
            (Ipv4Addr::new(10, 65, 0, 1), receiver(0)),
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
