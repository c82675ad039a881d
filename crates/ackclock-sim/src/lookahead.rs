//! Looking ahead: with many flows the state of the next one is in no cache of the processor, so it is fetched some events before.

use crate::events::{EventQueue, Target};
use crate::flow::Flow;
use crate::prefetch::prefetch;
use crate::station::Station;
use ackclock_core::packet::PacketPool;
use ackclock_core::routes::Routes;

/// From so many flows on their state is fetched ahead of their events.
const MANY_FLOWS: usize = 200;

/// How many days with events lie between an event and what is fetched for it, in two steps.
const FAR: u32 = 4;
const NEAR: u32 = 1;

/// Whose own a hop is, and what a packet that leaves it will touch.
#[derive(Clone, Copy, Debug)]
struct Own {
    /// The flow; `u32::MAX` for a shared hop.
    flow: u32,
    /// From the flow's first hop to behind its last: they are numbered together.
    hops: (u32, u32),
    /// The hop that what answers the packet enters first, if it is the flow's own; else the flow's first.
    answers: u32,
    /// Whether the packet goes to the sender.
    back: bool,
}

impl Own {
    const NOBODY: Own = Own {
        flow: u32::MAX,
        hops: (0, 0),
        answers: u32::MAX,
        back: false,
    };
}

/// Whose own each hop is, to know what its events will need.
#[derive(Debug)]
pub struct Lookahead {
    /// By hop; empty if all flows fit the processor's caches.
    owners: Vec<Own>,
}

impl Lookahead {
    /// For a run with these routes.
    pub fn new(routes: &Routes, hops: usize) -> Self {
        let owners = if routes.flows() < MANY_FLOWS {
            Vec::new()
        } else {
            owners(routes, hops)
        };
        Lookahead { owners }
    }

    /// Begins to fetch what the next events will need, if flows are many.
    #[inline(always)]
    pub fn fetch(&self, events: &EventQueue, stations: &[Station], flows: &[Flow], packets: &PacketPool) {
        if self.owners.is_empty() {
            return;
        }
        let soon = events.soon();
        for far in events.of_day(&soon.after(FAR)) {
            self.fetch_known(far, stations, flows);
        }
        for near in events.of_day(&soon.after(NEAR)) {
            self.fetch_found(near, stations, flows, packets);
        }
    }

    /// Of an event some way off the hop, its neighbours and the flow.
    #[inline(always)]
    fn fetch_known(&self, target: Target, stations: &[Station], flows: &[Flow]) {
        let Some(own) = self.owners.get(target as usize) else {
            return;
        };
        if let Some(flow) = flows.get(own.flow as usize) {
            prefetch(flow);
        }
        for hop in own.hops.0..own.hops.1 {
            prefetch(&stations[hop as usize]);
        }
    }

    /// Of a nearer event what only these know the place of.
    #[inline(always)]
    fn fetch_found(&self, target: Target, stations: &[Station], flows: &[Flow], packets: &PacketPool) {
        let Some(own) = self.owners.get(target as usize) else {
            return;
        };
        if let Some(leaves) = stations[target as usize].hop.first(packets) {
            prefetch(leaves);
        }
        let answers = stations.get(own.answers as usize);
        if let Some(last) = answers.and_then(|station| station.hop.last(packets)) {
            prefetch(last);
        }
        if own.back
            && let Some(flow) = flows.get(own.flow as usize)
        {
            flow.prefetch_sender();
        }
    }
}

/// By hop: whose own it is.
fn owners(routes: &Routes, hops: usize) -> Vec<Own> {
    let mut owners = vec![Own::NOBODY; hops];
    for flow in 0..routes.flows() {
        let own = [true, false].map(|forward| own_hops(routes, flow, forward));
        let all = || own.iter().flatten().copied();
        let (Some(first), Some(last)) = (all().min(), all().max()) else {
            continue;
        };
        for (back, hops, answers) in [(false, &own[0], &own[1]), (true, &own[1], &own[0])] {
            for &hop in hops {
                owners[hop as usize] = Own {
                    flow: flow as u32,
                    hops: (first, last + 1),
                    answers: answers.first().copied().unwrap_or(first),
                    back,
                };
            }
        }
    }
    owners
}

/// The hops of a way that are the flow's own.
fn own_hops(routes: &Routes, flow: usize, forward: bool) -> Vec<u32> {
    let own = routes.way(flow, forward).filter(|stop| stop.is_private());
    own.filter_map(|stop| stop.as_hop().map(|hop| hop as u32))
        .collect()
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
        let owners = owners(&routes, 7);
        assert_eq!(owners[0].flow, u32::MAX);
        assert!(owners[1..4].iter().all(|own| (own.flow, own.hops) == (0, (1, 4))));
        assert!(owners[4..7].iter().all(|own| (own.flow, own.hops) == (1, (4, 7))));
        let ahead = |own: &Own| (own.answers, own.back);
        assert_eq!(
            owners.iter().skip(1).map(ahead).collect::<Vec<_>>(),
            [
                (3, false),
                (3, false),
                (1, true),
                (6, false),
                (6, false),
                (4, true)
            ]
        );
    }
}
