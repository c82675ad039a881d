//! The hops of a network as one thing that packets are put into and come out of. It is told the
//! time, and says when it wants to be told again; every decision is taken at its scheduled time, so
//! a clock that jumps and one that wakes late see the same.
//!
//! Order, as in the engine: of several things at the same nanosecond hops come first, in their
//! order, then arrivals from outside, then the sampling of the hops.

use crate::decision::{Decision, Fate};
use ackclock_core::hop::{Arrival, Hop};
use ackclock_core::network::Network;
use ackclock_core::observe::{Context, DropReason, FlowLosses, HopLosses, Observer};
use ackclock_core::packet::{Packet, PacketId, PacketPool};
use ackclock_core::result::Table;
use ackclock_core::routes::Routes;
use ackclock_core::sampling::HopSeries;
use ackclock_core::units::{Span, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Told of what happens to packets inside.
pub trait Listener {
    /// A decision has been taken. Decisions of one hop are told in order of time; those of several
    /// are told as the hops catch up, in an order that depends on the arrivals alone.
    fn decided(&mut self, decision: Decision);
    /// `copy` is now a second packet like `original`.
    fn duplicated(&mut self, original: PacketId, copy: PacketId);
}

/// Who dropped and marked what.
#[derive(Debug)]
struct Ledger<L> {
    /// By hop.
    hops: Vec<HopLosses>,
    /// By flow.
    flows: Vec<FlowLosses>,
    /// The hop at work.
    hop: usize,
    listener: L,
}

impl<L: Listener> Ledger<L> {
    fn tell(&mut self, at: Time, packet: &Packet, outcome: Fate) {
        self.listener.decided(Decision {
            at,
            hop: self.hop as u32,
            packet: packet.sequence,
            outcome,
        });
    }
}

impl<L: Listener> Observer for Ledger<L> {
    fn dropped(&mut self, now: Time, packet: &Packet, reason: DropReason) {
        self.hops[self.hop].count(reason);
        self.flows[packet.flow.0 as usize].count(packet);
        self.tell(now, packet, reason.into());
    }
    fn marked(&mut self, now: Time, packet: &Packet) {
        self.hops[self.hop].marks += 1;
        self.tell(now, packet, Fate::Marked);
    }
    fn duplicated(&mut self, original: PacketId, copy: PacketId) {
        self.listener.duplicated(original, copy);
    }
}

/// See the module.
#[derive(Debug)]
pub struct Graph<L> {
    hops: Vec<Hop>,
    /// By hop: the wake-up that counts; there may be obsolete ones in `due`.
    wakes: Vec<Time>,
    due: BinaryHeap<Reverse<(Time, u32)>>,
    routes: Routes,
    packets: PacketPool,
    /// What has left its route, and when.
    departed: VecDeque<(Time, PacketId)>,
    ledger: Ledger<L>,
    series: HopSeries,
    interval: Span,
    /// When the hops are sampled next, and when they have been last.
    next_sample: Time,
    last_sample: Option<Time>,
    /// Everything up to here has been carried out.
    now: Time,
    arrivals: u64,
}

impl<L: Listener> Graph<L> {
    /// The hops of `network`, empty. Its shared hops are sampled every `interval`, `labels` (point
    /// and replicate) in front.
    pub fn new(network: Network, interval: Span, labels: (i64, i64), listener: L) -> Self {
        let Network {
            hops,
            shared,
            meters,
            routes,
            ..
        } = network;
        Graph {
            wakes: vec![Time::NEVER; hops.len()],
            due: BinaryHeap::new(),
            packets: PacketPool::new(),
            departed: VecDeque::new(),
            ledger: Ledger {
                hops: vec![HopLosses::default(); hops.len()],
                flows: vec![FlowLosses::default(); routes.flows()],
                hop: 0,
                listener,
            },
            series: HopSeries::new(labels, shared, meters),
            interval,
            next_sample: Time::ZERO,
            last_sample: None,
            now: Time::ZERO,
            arrivals: 0,
            routes,
            hops,
        }
    }

    /// A packet comes to the first hop of its route at `stamp`, or now if that is earlier. It is
    /// given the number of its arrival as its `sequence`, and `listener` is told before the hops
    /// are.
    ///
    /// # Panics
    /// If the network has no such flow.
    pub fn handle_packet(
        &mut self,
        stamp: Time,
        mut packet: Packet,
        tell: impl FnOnce(&mut L, Time, PacketId, &Packet),
    ) {
        let at = stamp.max(self.now);
        self.advance(at);
        packet.sequence = self.arrivals;
        packet.stamp = at;
        packet.position = 0;
        self.arrivals += 1;
        let id = self.packets.insert(packet);
        tell(&mut self.ledger.listener, at, id, &self.packets[id]);
        self.enter(at, id);
    }

    /// Carries out what is due by `until`.
    pub fn advance(&mut self, until: Time) {
        while let Some(&Reverse((at, hop))) = self.due.peek()
            && at <= until
        {
            self.due.pop();
            let wake = &mut self.wakes[hop as usize];
            if *wake == at {
                *wake = Time::NEVER;
                self.sample_before(at);
                self.now = at;
                self.empty(hop as usize);
            }
        }
        self.sample_before(until);
        self.now = self.now.max(until);
    }

    /// The next packet that has left its route by `now`, and when it did. The caller lets it go
    /// with [`Graph::remove`].
    pub fn poll_departure(&mut self, now: Time) -> Option<(Time, PacketId)> {
        self.advance(now);
        self.take_departed()
    }

    /// The next packet that has left by [`Graph::now`], as [`Graph::poll_departure`].
    pub fn take_departed(&mut self) -> Option<(Time, PacketId)> {
        self.departed.pop_front()
    }

    /// When to come back: no packet leaves before. [`Time::NEVER`] if there is nothing to wait for.
    pub fn poll_timeout(&self) -> Time {
        let hops = self.due.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
        self.departed.front().map_or(hops, |(at, _)| hops.min(*at))
    }

    /// Lets a packet go that has left.
    pub fn remove(&mut self, id: PacketId) {
        self.packets.remove(id);
    }

    /// The end of the run: what is due, and a last sample.
    pub fn finish(&mut self, end: Time) {
        let end = end.max(self.now);
        self.advance(end);
        if self.last_sample != Some(end) {
            self.sample(end);
        }
    }

    /// A packet has come to the stop of its route that it is to enter next.
    fn enter(&mut self, at: Time, id: PacketId) {
        let packet = &self.packets[id];
        let begin = self
            .routes
            .begin(packet.flow.0 as usize, packet.is_forward());
        let (position, size) = (usize::from(packet.position), packet.size);
        let Some(hop) = self.routes.stop(begin + position).as_hop() else {
            return self.depart(at, id, begin, position);
        };
        self.ledger.hop = hop;
        let mut context = Context {
            packets: &mut self.packets,
            observer: &mut self.ledger,
        };
        match self.hops[hop].handle_packet(at, (id, size), None, &mut context) {
            // Nothing is asked to be released: it is in there until the hop is looked at.
            Arrival::Kept(next) | Arrival::Released(next) => self.wake(hop, next),
        }
    }

    /// A packet has come to the end of its route.
    fn depart(&mut self, at: Time, id: PacketId, begin: usize, position: usize) {
        let last = position.checked_sub(1);
        let hop = last.and_then(|last| self.routes.stop(begin + last).as_hop());
        debug_assert!(
            self.departed.back().is_none_or(|(last, _)| *last <= at),
            "departures are in order of time"
        );
        self.departed.push_back((at, id));
        self.ledger.listener.decided(Decision {
            at,
            hop: hop.map_or(Decision::NOWHERE, |hop| hop as u32),
            packet: self.packets[id].sequence,
            outcome: Fate::Departed,
        });
    }

    /// Sees to it that the hop is looked at by `at`. Looking early is harmless.
    fn wake(&mut self, hop: usize, at: Time) {
        if at < self.wakes[hop] {
            self.wakes[hop] = at;
            self.due.push(Reverse((at, hop as u32)));
        }
    }

    /// Moves on what leaves a hop now.
    fn empty(&mut self, hop: usize) {
        loop {
            self.ledger.hop = hop;
            let mut context = Context {
                packets: &mut self.packets,
                observer: &mut self.ledger,
            };
            let departure = self.hops[hop].poll_transmit(self.now, &mut context);
            let done = departure.not_before > self.now;
            if done {
                self.wake(hop, departure.not_before);
            }
            let Some((at, id)) = departure.packet else {
                return;
            };
            self.packets[id].position += 1;
            self.enter(at, id);
            if done {
                return;
            }
        }
    }

    /// Takes the samples due before `time`: whatever happens at the moment of a sample, it sees.
    fn sample_before(&mut self, time: Time) {
        while self.next_sample < time {
            let at = self.next_sample;
            self.sample(at);
        }
    }

    fn sample(&mut self, at: Time) {
        self.last_sample = Some(at);
        self.next_sample = at + self.interval;
        for (number, hop) in self.hops.iter_mut().enumerate() {
            self.ledger.hop = number;
            let mut context = Context {
                packets: &mut self.packets,
                observer: &mut self.ledger,
            };
            hop.catch_up(at, &mut context);
        }
        for number in 0..self.series.hops() {
            self.series
                .write(at, number, &self.hops[number], &self.ledger.hops[number]);
        }
        if cfg!(debug_assertions) {
            self.check_conservation();
        }
    }

    /// Packets are conserved: arrivals + duplicates = departures + drops + inside, at every hop;
    /// and every live packet is in a hop or has left.
    ///
    /// # Panics
    /// If they are not.
    pub fn check_conservation(&self) {
        let mut inside = self.departed.len() as u64;
        for (hop, losses) in self.hops.iter().zip(&self.ledger.hops) {
            let counters = hop.counters();
            assert_eq!(
                counters.arrivals + counters.duplicates,
                counters.departures + losses.drops() + hop.inside(&self.packets),
                "packets are conserved"
            );
            inside += hop.inside(&self.packets);
        }
        assert_eq!(
            inside,
            self.packets.live() as u64,
            "every packet is in a hop or has left"
        );
    }

    /// A packet that is inside or has left and was not let go.
    pub fn packet(&self, id: PacketId) -> &Packet {
        &self.packets[id]
    }
    /// Up to when everything has been carried out.
    pub const fn now(&self) -> Time {
        self.now
    }
    /// How many packets have come.
    pub const fn arrivals(&self) -> u64 {
        self.arrivals
    }
    /// How many packets are inside, or have left and were not let go.
    pub const fn live(&self) -> usize {
        self.packets.live()
    }
    /// How many flows there are.
    pub fn flows(&self) -> usize {
        self.routes.flows()
    }
    /// The hops, in the network's order.
    pub fn hops(&self) -> &[Hop] {
        &self.hops
    }
    /// What each hop has dropped and marked.
    pub fn losses(&self) -> &[HopLosses] {
        &self.ledger.hops
    }
    /// What each flow has lost.
    pub fn dropped(&self) -> &[FlowLosses] {
        &self.ledger.flows
    }
    /// The table `hops` up to the last sample, which is taken out.
    pub fn take_table(&mut self) -> Table {
        self.series.take_table()
    }
    /// Who is told.
    pub const fn listener(&self) -> &L {
        &self.ledger.listener
    }
    /// Who is told.
    pub const fn listener_mut(&mut self) -> &mut L {
        &mut self.ledger.listener
    }
}
