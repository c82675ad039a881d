//! Prefetches the state of flows. With many flows, the state of the next one is in no cache of the
//! processor, so it is fetched some packets before its turn.

use crate::flow::Flow;
use crate::hop_slot::HopSlot;
use crate::prefetch::prefetch;
use ackclock_core::packet::{PacketId, PacketPool};
use ackclock_core::routes::{Routes, Stop};

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
    /// Numbers of the private hops, flow by flow.
    hops: Vec<u32>,
    /// End of each flow's hops in `hops`.
    ends: Vec<u32>,
}

impl PrefetchPipeline {
    /// Makes the pipeline of a run with these routes.
    pub fn new(routes: &Routes) -> Self {
        let (mut hops, mut ends) = (Vec::new(), Vec::with_capacity(routes.flows()));
        for flow in 0..routes.flows() {
            let ways = [true, false].map(|forward| routes.way(flow, forward));
            let private = ways.into_iter().flatten().filter(|stop| stop.is_private());
            hops.extend(private.filter_map(Stop::as_hop).map(|hop| hop as u32));
            ends.push(hops.len() as u32);
        }
        PrefetchPipeline { hops, ends }
    }

    /// Returns the private hops of a flow in both directions.
    fn own<'a>(&'a self, flow: usize, slots: &'a [HopSlot]) -> impl Iterator<Item = &'a HopSlot> {
        let begin = flow.checked_sub(1).map_or(0, |before| self.ends[before]);
        let own = &self.hops[begin as usize..self.ends[flow] as usize];
        own.iter().map(|hop| &slots[*hop as usize])
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
                self.own(far.flow(), slots).for_each(prefetch);
            }
        }
        if let Some(near) = turns.get(NEAR)
            && turns[NEAR - 1].flow() != near.flow()
        {
            flows[near.flow()].prefetch_sender();
            let own = self.own(near.flow(), slots);
            own.filter_map(|slot| slot.hop.last(packets))
                .for_each(prefetch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let PrefetchPipeline { hops, ends } = PrefetchPipeline::new(&routes);
        assert_eq!((hops, ends), (vec![1, 2, 3, 4, 5, 6], vec![3, 6, 6]));
    }
}
