//! Looking ahead: with many flows the state of the next one is in no cache of the processor, so it is fetched some packets before.

use crate::flow::Flow;
use crate::prefetch::prefetch;
use crate::station::Station;
use ackclock_core::packet::{PacketId, PacketPool};
use ackclock_core::routes::Routes;
use std::ops::Range;

/// How many packets lie between a flow's turn and what is fetched for it, in two steps.
const FAR: usize = 24;
const NEAR: usize = 12;

/// A packet whose flow's turn comes.
pub trait Turn {
    /// The packet.
    fn packet(&self) -> PacketId;
    /// Its flow.
    fn flow(&self) -> usize;
}

/// Which hops are whose own, to know what a flow's turn will need.
#[derive(Debug)]
pub struct Lookahead {
    /// By flow: from its first own hop to behind its last, for they are numbered together.
    own: Vec<Range<usize>>,
}

impl Lookahead {
    /// For a run with these routes.
    pub fn new(routes: &Routes) -> Self {
        Lookahead {
            own: (0..routes.flows()).map(|flow| own_hops(routes, flow)).collect(),
        }
    }

    /// Begins to fetch what the packets after the first of `turns` will need: further off the packet, the flow and its hops, nearer what only these know
    /// the place of.
    #[inline(always)]
    pub fn fetch(&self, turns: &[impl Turn], stations: &[Station], flows: &[Flow], packets: &PacketPool) {
        if let Some(far) = turns.get(FAR) {
            prefetch(&packets[far.packet()]);
            if turns[FAR - 1].flow() != far.flow() {
                prefetch(&flows[far.flow()]);
                for station in &stations[self.own[far.flow()].clone()] {
                    prefetch(station);
                }
            }
        }
        if let Some(near) = turns.get(NEAR)
            && turns[NEAR - 1].flow() != near.flow()
        {
            flows[near.flow()].prefetch_sender();
            let own = &stations[self.own[near.flow()].clone()];
            for last in own.iter().filter_map(|station| station.hop.last(packets)) {
                prefetch(last);
            }
        }
    }
}

/// The hops of both ways that are the flow's own.
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
        assert_eq!(Lookahead::new(&routes).own, [1..4, 4..7, 0..0]);
    }
}
