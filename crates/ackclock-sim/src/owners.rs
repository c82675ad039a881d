//! Which hops are a flow's own, so that its state can be fetched ahead of its events.

use ackclock_core::routes::Routes;

/// Whose own a hop is, and what a packet that leaves it will touch.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// The flow; `u32::MAX` for a shared hop.
    pub flow: u32,
    /// From the flow's first hop to behind its last: they are numbered together.
    pub hops: (u32, u32),
    /// The hop that what answers the packet enters first, if it is the flow's own; else the flow's first.
    pub answers: u32,
    /// Whether the packet goes to the sender.
    pub back: bool,
}

impl Own {
    const NOBODY: Own = Own {
        flow: u32::MAX,
        hops: (0, 0),
        answers: u32::MAX,
        back: false,
    };
}

/// By hop: whose own it is.
pub fn owners(routes: &Routes, hops: usize) -> Vec<Own> {
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
