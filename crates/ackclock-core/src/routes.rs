//! The routes of all flows in one flat table. Following a route touches two small arrays and no
//! flow.

/// One stop on a route: a hop or an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop(u32);

const ENDPOINT: u32 = 1 << 31;
const PRIVATE: u32 = 1 << 30;

impl Stop {
    /// Returns a hop; `private` if it belongs to this flow alone.
    pub fn hop(index: usize, private: bool) -> Self {
        assert!(index < PRIVATE as usize, "more than 2^30 hops");
        Stop(index as u32 | if private { PRIVATE } else { 0 })
    }
    /// Returns the endpoint of a route; `private` if the packets that it sends enter a private hop.
    pub fn endpoint(private: bool) -> Self {
        Stop(ENDPOINT | if private { PRIVATE } else { 0 })
    }
    /// Returns the hop, `None` for an endpoint.
    #[inline]
    pub fn as_hop(self) -> Option<usize> {
        (self.0 & ENDPOINT == 0).then_some((self.0 & !PRIVATE) as usize)
    }
    /// True if only this flow can observe when a packet gets there.
    #[inline]
    pub fn is_private(self) -> bool {
        self.0 & PRIVATE != 0
    }
}

/// The routes of all flows.
#[derive(Debug, Default)]
pub struct Routes {
    stops: Vec<Stop>,
    /// Index into `stops` of each flow's forward route and return route.
    begin: Vec<[u32; 2]>,
}

impl Routes {
    /// Appends the forward route and the return route of a flow.
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

    /// Returns the index of a route's first [stop](Routes::stop); the others follow.
    #[inline]
    pub fn begin(&self, flow: usize, forward: bool) -> usize {
        self.begin[flow][usize::from(!forward)] as usize
    }

    /// Returns the stop with that index.
    #[inline]
    pub fn stop(&self, index: usize) -> Stop {
        self.stops[index]
    }

    /// Returns the first stop of a route.
    #[inline]
    pub fn first(&self, flow: usize, forward: bool) -> Stop {
        self.stop(self.begin(flow, forward))
    }

    /// Renumbers the hops: hop `n` becomes `numbers[n]`.
    pub fn renumber(&mut self, numbers: &[u32]) {
        for stop in &mut self.stops {
            if let Some(hop) = stop.as_hop() {
                *stop = Stop::hop(numbers[hop] as usize, stop.is_private());
            }
        }
    }

    /// Returns the number of flows.
    pub fn flows(&self) -> usize {
        self.begin.len()
    }

    /// Returns the number of hops up to the last that is not private; private hops follow.
    pub fn shared_hops(&self) -> usize {
        let shared = self.stops.iter().filter(|stop| !stop.is_private());
        let last = shared.filter_map(|stop| stop.as_hop()).max();
        last.map_or(0, |hop| hop + 1)
    }

    /// Returns the hops of a route in the order in which a packet visits them.
    pub fn way(&self, flow: usize, forward: bool) -> impl Iterator<Item = Stop> + '_ {
        let stops = &self.stops[self.begin(flow, forward)..];
        stops
            .iter()
            .copied()
            .take_while(|stop| stop.as_hop().is_some())
    }

    /// Returns, for each hop, true if a private stop follows it on every route.
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
    fn a_way_ends_where_it_ends_and_who_comes_next_is_known() {
        let mut routes = Routes::default();
        for first in [1, 4] {
            let forward = [
                Stop::hop(first, true),
                Stop::hop(0, false),
                Stop::hop(first + 1, true),
            ];
            routes.push(&forward, &[Stop::hop(first + 2, true)]);
        }
        let way = |flow, forward| -> Vec<usize> {
            routes.way(flow, forward).filter_map(Stop::as_hop).collect()
        };
        assert_eq!(routes.flows(), 2);
        assert_eq!((way(0, true), way(0, false)), (vec![1, 0, 2], vec![3]));
        assert_eq!((way(1, true), way(1, false)), (vec![4, 0, 5], vec![6]));
        assert_eq!(routes.shared_hops(), 1);
        assert_eq!(routes.stop(routes.begin(1, false) + 1).as_hop(), None);
        let followed = routes.private_successors(7);
        assert_eq!(
            followed[..2],
            [true, false],
            "behind the shared hop each is on its own"
        );
    }
}
