//! Which hops are a flow's own, so that its state can be fetched ahead of its events.

use ackclock_core::routes::Routes;

/// Whose own a hop is.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// The flow; `u32::MAX` for a shared hop.
    pub flow: u32,
    /// From its first hop to behind its last: they are numbered together.
    pub hops: (u32, u32),
}

impl Own {
    const NOBODY: Own = Own {
        flow: u32::MAX,
        hops: (0, 0),
    };
}

/// By hop: whose own it is.
pub fn owners(routes: &Routes, hops: usize) -> Vec<Own> {
    let mut owners = vec![Own::NOBODY; hops];
    for flow in 0..routes.flows() {
        let own: Vec<u32> = own_hops(routes, flow).collect();
        if let (Some(&first), Some(&last)) = (own.iter().min(), own.iter().max()) {
            for &hop in &own {
                owners[hop as usize] = Own {
                    flow: flow as u32,
                    hops: (first, last + 1),
                };
            }
        }
    }
    owners
}

/// The hops that are a flow's own.
fn own_hops(routes: &Routes, flow: usize) -> impl Iterator<Item = u32> + '_ {
    let stops = routes.way(flow, true).chain(routes.way(flow, false));
    stops
        .filter(|stop| stop.is_private())
        .filter_map(|stop| stop.as_hop().map(|hop| hop as u32))
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
    }
}
