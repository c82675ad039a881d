//! The routes of all flows in one flat table, so that following one touches two small arrays and no flow.

/// Where a packet goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop(u32);

const ENDPOINT: u32 = 1 << 31;
const PRIVATE: u32 = 1 << 30;

impl Stop {
    /// A hop; `private` if it belongs to this flow alone.
    pub fn hop(index: usize, private: bool) -> Self {
        assert!(index < PRIVATE as usize, "more than 2^30 hops");
        Stop(index as u32 | if private { PRIVATE } else { 0 })
    }
    /// The endpoint at the route's end; `private` if what it sends enters a hop of its own.
    pub fn endpoint(private: bool) -> Self {
        Stop(ENDPOINT | if private { PRIVATE } else { 0 })
    }
    /// The hop, `None` at the endpoint.
    #[inline]
    pub fn as_hop(self) -> Option<usize> {
        (self.0 & ENDPOINT == 0).then_some((self.0 & !PRIVATE) as usize)
    }
    /// Whether nobody but this flow can tell when a packet gets there.
    #[inline]
    pub fn is_private(self) -> bool {
        self.0 & PRIVATE != 0
    }
}

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

/// See the module.
#[derive(Debug, Default)]
pub struct Routes {
    stops: Vec<Stop>,
    /// By flow: where its data's way begins in `stops`, and its ACKs' way.
    begin: Vec<[u32; 2]>,
}

impl Routes {
    /// Appends a flow: hops of the data's way and of the ACKs' way, each with whether it is the flow's own.
    pub fn push(&mut self, forward: &[Stop], back: &[Stop]) {
        let first = |route: &[Stop]| route.first().is_some_and(|stop| stop.is_private());
        let mut begin = [0; 2];
        for (place, route, answer) in [(0, forward, first(back)), (1, back, first(forward))] {
            begin[place] = self.stops.len() as u32;
            self.stops.extend_from_slice(route);
            self.stops.push(Stop::endpoint(answer));
        }
        self.begin.push(begin);
    }

    /// The number of a way's first [stop](Routes::stop); the others follow.
    #[inline]
    pub fn begin(&self, flow: usize, forward: bool) -> usize {
        self.begin[flow][usize::from(!forward)] as usize
    }

    /// The stop of that number.
    #[inline]
    pub fn stop(&self, index: usize) -> Stop {
        self.stops[index]
    }

    /// The first hop of a way.
    #[inline]
    pub fn first(&self, flow: usize, forward: bool) -> Stop {
        self.stop(self.begin(flow, forward))
    }

    /// By hop: whose own it is.
    pub fn owners(&self, hops: usize) -> Vec<Own> {
        let mut owners = vec![Own::NOBODY; hops];
        for flow in 0..self.begin.len() {
            let own: Vec<u32> = self.own_hops(flow).collect();
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
    fn own_hops(&self, flow: usize) -> impl Iterator<Item = u32> + '_ {
        let begin = self.begin[flow][0] as usize;
        let end = self
            .begin
            .get(flow + 1)
            .map_or(self.stops.len(), |next| next[0] as usize);
        let own = |stop: &&Stop| stop.is_private();
        self.stops[begin..end]
            .iter()
            .filter(own)
            .filter_map(|stop| stop.as_hop().map(|hop| hop as u32))
    }

    /// By hop: whether on every route through it a private stop follows.
    pub fn private_successors(&self, hops: usize) -> Vec<bool> {
        let mut private = vec![true; hops];
        for pair in self.stops.windows(2) {
            if let Some(hop) = pair[0].as_hop() {
                private[hop] &= pair[1].is_private();
            }
        }
        private
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
        let owners = routes.owners(7);
        assert_eq!(owners[0].flow, u32::MAX);
        assert!(owners[1..4].iter().all(|own| (own.flow, own.hops) == (0, (1, 4))));
        assert!(owners[4..7].iter().all(|own| (own.flow, own.hops) == (1, (4, 7))));
        let followed = routes.private_successors(7);
        assert_eq!(
            followed[..2],
            [true, false],
            "behind the shared hop each is on its own"
        );
    }
}
