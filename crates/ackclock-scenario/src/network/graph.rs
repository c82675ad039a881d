//! The hops of a network as a unit that takes packets and returns them. The caller passes the time,
//! and learns when to call again. Every decision is taken at its scheduled time, so a clock that
//! jumps and one that wakes late give the same result.
//!
//! Order, as in the engine: at the same nanosecond, hops come first, in their order, then arrivals
//! from outside, then the sampling of the hops.

use super::Network;
use super::decision::{Decision, Fate};
use ackclock_core::hop::{Arrival, Hop};
use ackclock_core::observe::{Context, DropReason, FlowLosses, HopLosses, Observer};
use ackclock_core::packet::{Packet, PacketId, PacketPool};
use ackclock_core::result::Table;
use ackclock_core::routes::Routes;
use ackclock_core::sampling::{HopSeries, class_table, delay_table};
use ackclock_spec::units::{Span, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Listener for what happens to packets inside.
pub trait Listener {
    /// Called for each decision. Decisions of one hop come in order of time. Those of several hops
    /// come as the hops catch up, in an order that depends only on the arrivals.
    fn decided(&mut self, decision: Decision);
    /// Called when `copy` has been made a second packet like `original`.
    fn duplicated(&mut self, original: PacketId, copy: PacketId);
}

/// Counts of drops and marks.
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

/// The hops of a network, with the packets inside.
#[derive(Debug)]
pub struct Graph<L> {
    hops: Vec<Hop>,
    /// Valid wake-up time by hop; `due` may also hold obsolete ones.
    wakes: Vec<Time>,
    due: BinaryHeap<Reverse<(Time, u32)>>,
    routes: Routes,
    packets: PacketPool,
    /// Packets that have left their route, with their times.
    departed: VecDeque<(Time, PacketId)>,
    ledger: Ledger<L>,
    series: HopSeries,
    interval: Span,
    /// Time of the next and of the last sample.
    next_sample: Time,
    last_sample: Option<Time>,
    /// Everything up to this time has been carried out.
    now: Time,
    arrivals: u64,
}

impl<L: Listener> Graph<L> {
    /// Creates the empty hops of `network`. Shared hops are sampled every `interval`; rows begin
    /// with `labels` (point and replicate).
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

    /// Takes a packet that arrives at the first hop of its route at `stamp`, or now if that is
    /// later. Sets its `sequence` to the number of its arrival. Calls `tell` with the listener
    /// before the packet enters a hop.
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

    /// Carries out everything due by `until`.
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

    /// Returns the next packet that has left its route by `now`, with its time. The caller frees it
    /// with [`Graph::remove`].
    pub fn poll_departure(&mut self, now: Time) -> Option<(Time, PacketId)> {
        self.advance(now);
        self.take_departed()
    }

    /// Returns the next packet that has left by [`Graph::now`], as [`Graph::poll_departure`] does.
    pub fn take_departed(&mut self) -> Option<(Time, PacketId)> {
        self.departed.pop_front()
    }

    /// Returns the next time at which a packet may leave; [`Time::NEVER`] if there is nothing to
    /// wait for.
    pub fn poll_timeout(&self) -> Time {
        let hops = self.due.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
        self.departed.front().map_or(hops, |(at, _)| hops.min(*at))
    }

    /// Frees a packet that has left.
    pub fn remove(&mut self, id: PacketId) {
        self.packets.remove(id);
    }

    /// Ends the run: carries out what is due, and takes a last sample.
    pub fn finish(&mut self, end: Time) {
        let end = end.max(self.now);
        self.advance(end);
        if self.last_sample != Some(end) {
            self.sample(end);
        }
    }

    /// Passes a packet to the next stop of its route.
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
            // The packet stays inside until the hop is polled, even if it could be released now.
            Arrival::Kept(next) | Arrival::Released(next) => self.wake(hop, next),
        }
    }

    /// Handles a packet at the end of its route.
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

    /// Ensures that the hop is polled by `at`. Polling early is harmless.
    fn wake(&mut self, hop: usize, at: Time) {
        if at < self.wakes[hop] {
            self.wakes[hop] = at;
            self.due.push(Reverse((at, hop as u32)));
        }
    }

    /// Forwards the packets that leave a hop now.
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

    /// Takes the samples due before `time`. A sample includes everything that happens at its own
    /// time.
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
        self.series.write(at, self.hops.iter(), &self.ledger.hops);
        if cfg!(debug_assertions) {
            self.check_conservation();
        }
    }

    /// Checks that packets are conserved at every hop; every live packet is in one or has left.
    ///
    /// # Panics
    /// If they are not conserved.
    pub fn check_conservation(&self) {
        let hops = self.hops.iter().zip(&self.ledger.hops);
        let inside: u64 = hops
            .map(|(hop, losses)| hop.check_conservation(losses.drops(), &self.packets))
            .sum();
        assert_eq!(
            inside + self.departed.len() as u64,
            self.packets.live() as u64,
            "every packet is in a hop or has left"
        );
    }

    /// Returns a packet that is inside, or has left and was not freed.
    pub fn packet(&self, id: PacketId) -> &Packet {
        &self.packets[id]
    }
    /// Returns the time up to which everything has been carried out.
    pub const fn now(&self) -> Time {
        self.now
    }
    /// Returns the number of packets that have arrived.
    pub const fn arrivals(&self) -> u64 {
        self.arrivals
    }
    /// Returns the number of packets inside, or that have left and were not freed.
    pub const fn live(&self) -> usize {
        self.packets.live()
    }
    /// Returns the number of flows.
    pub fn flows(&self) -> usize {
        self.routes.flows()
    }
    /// Returns the hops, in the network's order.
    pub fn hops(&self) -> &[Hop] {
        &self.hops
    }
    /// Returns the drops and marks of each hop.
    pub fn losses(&self) -> &[HopLosses] {
        &self.ledger.hops
    }
    /// Returns the losses of each flow.
    pub fn dropped(&self) -> &[FlowLosses] {
        &self.ledger.flows
    }
    /// Takes out the table `hops` up to the last sample.
    pub fn take_table(&mut self) -> Table {
        self.series.take_table()
    }
    /// Returns the table `delays`, if a hop records them; `flows` are the names of flow groups.
    pub fn delay_table(&self, labels: (i64, i64), flows: &[&str]) -> Option<Table> {
        delay_table(labels, self.series.names().zip(&self.hops), flows)
    }
    /// Returns the table `classes`, if a queue has classes.
    pub fn class_table(&self, labels: (i64, i64)) -> Option<Table> {
        class_table(labels, self.series.names().zip(&self.hops))
    }
    /// Returns the listener.
    pub const fn listener(&self) -> &L {
        &self.ledger.listener
    }
    /// Returns the listener.
    pub const fn listener_mut(&mut self) -> &mut L {
        &mut self.ledger.listener
    }
}
