//! Prefetches the state of flows. With many flows, the state of the next one is in no cache of the
//! processor, so it is fetched some packets before its turn.

use crate::flow::Flow;
use crate::hop_slot::HopSlot;
use crate::prefetch::prefetch;
use ackclock_core::packet::{PacketId, PacketPool};
use ackclock_core::routes::Routes;
use std::ops::Range;

/// Number of packets before a flow's turn at which its state is fetched, in two steps.
const FAR: usize = 24;
const NEAR: usize = 12;

/// A packet that waits for its flow's turn.
pub trait Turn {
    /// Returns the packet.
    fn packet(&self) -> PacketId;
    /// Returns the number of its flow.
    fn flow(&self) -> usize;
}

/// The hops that each flow's turn will need.
#[derive(Debug)]
pub struct PrefetchPipeline {
    /// Numbers of each flow's private hops, which are consecutive.
    own: Vec<Range<usize>>,
}

impl PrefetchPipeline {
    /// Makes the pipeline of a run with these routes.
    pub fn new(routes: &Routes) -> Self {
        PrefetchPipeline {
            own: (0..routes.flows())
                .map(|flow| own_hops(routes, flow))
                .collect(),
        }
    }

    /// Prefetches the state that the packets after the first of `turns` will need. For a far
    /// packet, these are the packet, its flow and its hops; for a near one, the state whose address
    /// only these know.
    #[inline(always)]
    pub fn fetch(
        &self,
        turns: &[impl Turn],
        slots: &[HopSlot],
        flows: &[Flow],
        packets: &PacketPool,
    ) {
        if let Some(far) = turns.get(FAR) {
            prefetch(&packets[far.packet()]);
            if turns[FAR - 1].flow() != far.flow() {
                prefetch(&flows[far.flow()]);
                for slot in &slots[self.own[far.flow()].clone()] {
                    prefetch(slot);
                }
            }
        }
        if let Some(near) = turns.get(NEAR)
            && turns[NEAR - 1].flow() != near.flow()
        {
            flows[near.flow()].prefetch_sender();
            let own = &slots[self.own[near.flow()].clone()];
            for last in own.iter().filter_map(|slot| slot.hop.last(packets)) {
                prefetch(last);
            }
        }
    }
}

/// Returns the private hops of a flow in both directions.
fn own_hops(routes: &Routes, flow: usize) -> Range<usize> {
    let both = [true, false]
        .into_iter()
        .flat_map(|forward| routes.way(flow, forward));
    let own = both
        .filter(|stop| stop.is_private())
        .filter_map(|stop| stop.as_hop());
    let (first, last) = own.fold((usize::MAX, 0), |(first, last), hop| {
        (first.min(hop), last.max(hop))
    });
    if first > last { 0..0 } else { first..last + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_core::routes::Stop;

    #[test]
    fn a_flow_owns_its_private_hops_and_nobody_the_shared_ones() {
        let mut routes = Routes::default();
        for first in [1, 4] {
            let forward = [
                Stop::hop(first, true),
                Stop::hop(0, false),
                Stop::hop(first + 1, true),
            ];
            routes.push(&forward, &[Stop::hop(first + 2, true)]);
        }
        routes.push(&[Stop::hop(0, false)], &[Stop::hop(0, false)]);
        assert_eq!(PrefetchPipeline::new(&routes).own, [1..4, 4..7, 0..0]);
    }
}
