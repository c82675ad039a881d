//! The hosts of flows, for queues that give hosts equal shares.

use crate::packet::FlowId;
use std::sync::Arc;

/// The sender and the receiver of each flow, as numbers. Flows that are not listed have hosts of
/// their own.
#[derive(Clone, Debug, Default)]
pub struct Hosts(Arc<[[u32; 2]]>);

/// Hosts with names have this bit.
const NAMED: u32 = 1 << 31;

impl Hosts {
    /// Lists the hosts of the flows from 0 on.
    pub fn new(hosts: impl IntoIterator<Item = [u32; 2]>) -> Self {
        Hosts(hosts.into_iter().collect())
    }

    /// Returns the number of a named host.
    pub const fn named(number: u32) -> u32 {
        number | NAMED
    }

    /// Returns the number of a flow's own sender or receiver.
    pub const fn own(flow: FlowId) -> u32 {
        flow.0 & !NAMED
    }

    /// Returns the sender and the receiver of a flow.
    pub fn of(&self, flow: FlowId) -> [u32; 2] {
        let listed = self.0.get(flow.0 as usize);
        listed.copied().unwrap_or([Hosts::own(flow); 2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_without_named_hosts_has_its_own() {
        let hosts = Hosts::new([[Hosts::named(0), Hosts::own(FlowId(0))]]);
        assert_eq!(hosts.of(FlowId(0)), [NAMED, 0]);
        assert_eq!(hosts.of(FlowId(7)), [7, 7]);
    }
}
