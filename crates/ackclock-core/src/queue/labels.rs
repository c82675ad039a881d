//! The hosts and the codepoint of a flow, which queues may know beside its packets.

use crate::packet::{Dscp, FlowId};
use std::sync::Arc;

/// The label of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLabel {
    /// The sender and the receiver, as numbers.
    pub hosts: [u32; 2],
    /// The codepoint of its packets, ACKs included.
    pub dscp: Dscp,
}

/// The labels of all flows. Flows that are not listed have hosts of their own and no codepoint.
#[derive(Clone, Debug, Default)]
pub struct FlowLabels(Arc<[FlowLabel]>);

/// Hosts with names have this bit.
const NAMED: u32 = 1 << 31;

impl FlowLabels {
    /// Lists the labels of the flows from 0 on.
    pub fn new(labels: impl IntoIterator<Item = FlowLabel>) -> Self {
        FlowLabels(labels.into_iter().collect())
    }

    /// Returns the number of a named host.
    pub const fn named_host(number: u32) -> u32 {
        number | NAMED
    }

    /// Returns the number of a flow's own sender or receiver.
    pub const fn own_host(flow: FlowId) -> u32 {
        flow.0 & !NAMED
    }

    /// Returns the label of a flow.
    pub fn of(&self, flow: FlowId) -> FlowLabel {
        let listed = self.0.get(flow.0 as usize);
        listed.copied().unwrap_or(FlowLabel {
            hosts: [FlowLabels::own_host(flow); 2],
            dscp: Dscp::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_without_named_hosts_has_its_own() {
        let labels = FlowLabels::new([FlowLabel {
            hosts: [FlowLabels::named_host(0), FlowLabels::own_host(FlowId(0))],
            dscp: Dscp::LE,
        }]);
        assert_eq!(labels.of(FlowId(0)).hosts, [NAMED, 0]);
        assert_eq!(labels.of(FlowId(0)).dscp, Dscp::LE);
        assert_eq!(labels.of(FlowId(7)).hosts, [7, 7]);
        assert_eq!(labels.of(FlowId(7)).dscp, Dscp::default());
    }
}
