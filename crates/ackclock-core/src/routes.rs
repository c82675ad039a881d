//! The routes of all flows in one flat table. Following a route touches two small arrays and no
//! flow.

/// One stop on a route: a hop or an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop(u32);

const ENDPOINT: u32 = 1 << 31;
const PRIVATE: u32 = 1 << 30;

impl Stop {
    /// Returns a hop; `private` if this flow alone uses it.
    pub fn hop(index: usize, private: bool) -> Self {
        assert!(index < PRIVATE as usize, "more than 2^30 hops");
        Stop(index as u32 | if private { PRIVATE } else { 0 })
    }
    /// Returns the endpoint of a route; `private` if it sends no packets, or into a private hop.
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
        let begin = [forward, back].map(|route| {
            let begin = self.stops.len() as u32;
            self.stops.extend_from_slice(route);
            self.stops.push(Stop::endpoint(false));
            begin
        });
        self.begin.push(begin);
        self.look_behind_endpoints(self.flows() - 1);
    }

    /// Makes a hop private if it is `eligible` and has one stop on all routes. So one flow uses it,
    /// in one direction, and no other can observe what happens there.
    pub fn find_private(&mut self, hops: usize, eligible: impl Fn(usize) -> bool) {
        let mut uses = vec![0_u32; hops];
        for hop in self.stops.iter().filter_map(|stop| stop.as_hop()) {
            uses[hop] += 1;
        }
        for stop in &mut self.stops {
            if let Some(hop) = stop.as_hop()
                && uses[hop] == 1
                && eligible(hop)
            {
                *stop = Stop::hop(hop, true);
            }
        }
        (0..self.flows()).for_each(|flow| self.look_behind_endpoints(flow));
    }

    /// Makes the endpoints of a flow private if they send no packets, or into a private hop.
    fn look_behind_endpoints(&mut self, flow: usize) {
        for forward in [true, false] {
            let answer = self.first(flow, !forward);
            let end = self.begin(flow, forward) + self.way(flow, forward).count();
            self.stops[end] = Stop::endpoint(answer.as_hop().is_none() || answer.is_private());
        }
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

    /// Returns the number of hops up to the last that is not private. All behind it are private,
    /// and some before it may be.
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

    /// Returns, for each hop, true if it is private. A hop of no route is.
    pub fn private(&self, hops: usize) -> Vec<bool> {
        let mut private = vec![true; hops];
        for stop in &self.stops {
            if let Some(hop) = stop.as_hop() {
                private[hop] &= stop.is_private();
            }
        }
        private
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

    #[test]
    fn a_hop_with_one_stop_is_private() {
        let mut routes = Routes::default();
        // Hop 0 has two flows, hop 1 both directions of one, hop 2 one direction, and 3 contends.
        routes.push(
            &[0, 1, 3].map(|hop| Stop::hop(hop, false)),
            &[2, 1].map(|hop| Stop::hop(hop, false)),
        );
        routes.push(&[Stop::hop(0, false)], &[]);
        assert_eq!(
            routes.private_successors(5),
            [false, false, false, false, true]
        );
        routes.find_private(5, |hop| hop != 3);
        let private: Vec<bool> = routes.stops.iter().map(|stop| stop.is_private()).collect();
        let endpoint = 3;
        assert!(private[endpoint], "the receiver answers into hop 2");
        assert_eq!(
            private,
            [
                false, false, false, true, true, false, false, false, true, false
            ]
        );
        // Behind hop 3 comes the receiver.
        assert_eq!(routes.private_successors(4), [false, false, false, true]);
    }
}
