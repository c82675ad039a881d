//! The routes of all flows in one flat table, so that following one touches two small arrays and no
//! flow.

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

/// See the module.
#[derive(Debug, Default)]
pub struct Routes {
    stops: Vec<Stop>,
    /// By flow: where its data's way begins in `stops`, and its ACKs' way.
    begin: Vec<[u32; 2]>,
}

impl Routes {
    /// Appends a flow: hops of the data's way and of the ACKs' way, each with whether it is the
    /// flow's own.
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

    /// Gives hops other numbers: hop `n` becomes `numbers[n]`.
    pub fn renumber(&mut self, numbers: &[u32]) {
        for stop in &mut self.stops {
            if let Some(hop) = stop.as_hop() {
                *stop = Stop::hop(numbers[hop] as usize, stop.is_private());
            }
        }
    }

    /// How many flows have routes.
    pub fn flows(&self) -> usize {
        self.begin.len()
    }

    /// How many hops there are up to the last that is not a single flow's own; those that are come
    /// behind.
    pub fn shared_hops(&self) -> usize {
        let shared = self.stops.iter().filter(|stop| !stop.is_private());
        let last = shared.filter_map(|stop| stop.as_hop()).max();
        last.map_or(0, |hop| hop + 1)
    }

    /// The hops of a way, in the order in which a packet comes to them.
    pub fn way(&self, flow: usize, forward: bool) -> impl Iterator<Item = Stop> + '_ {
        let stops = &self.stops[self.begin(flow, forward)..];
        stops
            .iter()
            .copied()
            .take_while(|stop| stop.as_hop().is_some())
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
