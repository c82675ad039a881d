//! Passage of real packets through the hops of a scenario. Reads no clock and no descriptor: a
//! test's clock, the real-time loop and a replay drive it alike, and get the same departures, drops
//! and marks.

use crate::ipv4::{self, Direction};
use crate::record::{ArrivalRow, Chunk};
use ackclock_core::hop::Hop;
use ackclock_core::observe::{FlowLosses, HopLosses};
use ackclock_core::packet::{FlowId, Packet, PacketId};
use ackclock_core::result::Table;
use ackclock_scenario::network::Network;
use ackclock_scenario::network::decision::Decision;
use ackclock_scenario::network::graph::{Graph, Listener};
use ackclock_spec::units::{Span, Time};

/// The bytes of the packets inside, by [`PacketId::index`]. The next packet in a slot reuses its
/// buffer.
#[derive(Debug, Default)]
struct Payloads(Vec<Vec<u8>>);

impl Payloads {
    fn store(&mut self, id: PacketId, bytes: &[u8]) {
        let buffer = self.slot(id);
        buffer.clear();
        buffer.extend_from_slice(bytes);
    }
    fn copy(&mut self, original: PacketId, copy: PacketId) {
        let mut buffer = std::mem::take(self.slot(copy));
        buffer.clear();
        buffer.extend_from_slice(self.slot(original));
        *self.slot(copy) = buffer;
    }
    fn slot(&mut self, id: PacketId) -> &mut Vec<u8> {
        if self.0.len() <= id.index() {
            self.0.resize_with(id.index() + 1, Vec::new);
        }
        &mut self.0[id.index()]
    }
}

/// Payloads and record of the packets inside.
#[derive(Debug, Default)]
struct Book {
    payloads: Payloads,
    chunk: Chunk,
}

impl Listener for Book {
    fn decided(&mut self, decision: Decision) {
        self.chunk.push_decision(&decision);
    }
    fn duplicated(&mut self, original: PacketId, copy: PacketId) {
        self.payloads.copy(original, copy);
    }
}

/// A packet that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure<'a> {
    /// Scheduled time of departure.
    pub at: Time,
    /// Flow of the packet.
    pub flow: FlowId,
    /// Direction of the packet.
    pub direction: Direction,
    /// The packet, with CE in its header if it was marked.
    pub bytes: &'a [u8],
}

/// Bytes of a flow delivered to the receiver, headers included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Total in bytes.
    pub bytes: u64,
    /// Part delivered by the end of the warm-up, in bytes.
    pub by_warmup_bytes: u64,
}

/// Passes real packets through the hops of a scenario.
#[derive(Debug)]
pub struct Driver {
    graph: Graph<Book>,
    /// The flow at each position in the scenario.
    written: Vec<FlowId>,
    /// By flow.
    delivered: Vec<Delivered>,
    warmup: Time,
}

impl Driver {
    /// Creates a driver with the empty hops of `network`. Shared hops are sampled every `interval`;
    /// rows of the table begin with `labels` (point and replicate).
    pub fn new(mut network: Network, interval: Span, labels: (i64, i64)) -> Self {
        let written = std::mem::take(&mut network.written);
        let graph = Graph::new(network, interval, labels, Book::default());
        Driver {
            written,
            delivered: vec![Delivered::default(); graph.flows()],
            warmup: Time::ZERO,
            graph,
        }
    }

    /// Sets the end of the warm-up for [`Delivered::by_warmup_bytes`]; the default is time zero.
    #[must_use]
    pub fn with_warmup(mut self, warmup: Time) -> Self {
        self.warmup = warmup;
        self
    }

    /// Takes a packet that has arrived: a whole IPv4 packet without padding. `stamp` is its time of
    /// arrival. If the driver has already advanced beyond it, the driver's time counts and is
    /// recorded.
    ///
    /// # Panics
    /// If there is no such flow, or the packet has more than 65,535 bytes.
    pub fn handle_packet(&mut self, stamp: Time, flow: FlowId, direction: Direction, bytes: &[u8]) {
        assert!(
            bytes.len() <= usize::from(u16::MAX),
            "no IP packet is longer"
        );
        let kind = ipv4::kind(bytes, direction);
        let mut packet = Packet::new(kind, flow, 0, bytes.len() as u16, stamp);
        packet.set_ecn(ipv4::ecn(bytes));
        self.graph
            .handle_packet(stamp, packet, |book, at, id, packet| {
                book.payloads.store(id, bytes);
                book.chunk.push_arrival(&ArrivalRow::of(at, packet));
            });
    }

    /// Returns the next packet that has left by `now`, in order of scheduled time.
    pub fn poll_departure(&mut self, now: Time) -> Option<Departure<'_>> {
        let (at, id) = self.graph.poll_departure(now)?;
        let packet = *self.graph.packet(id);
        self.graph.remove(id); // its bytes stay until the slot is reused
        if packet.is_forward() {
            let delivered = &mut self.delivered[packet.flow.0 as usize];
            delivered.bytes += u64::from(packet.size);
            if at <= self.warmup {
                delivered.by_warmup_bytes = delivered.bytes;
            }
        }
        let bytes = self.graph.listener_mut().payloads.slot(id);
        if packet.ecn() != ipv4::ecn(bytes) {
            ipv4::set_ecn(bytes, packet.ecn());
        }
        Some(Departure {
            at,
            flow: packet.flow,
            direction: if packet.is_forward() {
                Direction::Forward
            } else {
                Direction::Back
            },
            bytes,
        })
    }

    /// Returns the next time at which a packet may leave; [`Time::NEVER`] if there is nothing to
    /// wait for.
    pub fn poll_timeout(&self) -> Time {
        self.graph.poll_timeout()
    }

    /// Returns the record since it was last cleared. Everything due up to [`Driver::now`] has been
    /// carried out.
    pub fn poll_record(&mut self) -> &mut Chunk {
        let now = self.graph.now();
        self.graph.advance(now);
        let chunk = &mut self.graph.listener_mut().chunk;
        chunk.until = now;
        chunk
    }

    /// Ends the run at `end`: hops catch up and are sampled, and the record is closed. Packets
    /// inside stay there.
    pub fn finish(&mut self, end: Time) {
        self.graph.finish(end);
        self.graph.check_conservation();
        self.poll_record().last = true;
    }

    /// Returns the number of rows that [`Driver::poll_record`] would return.
    pub fn record_len(&self) -> usize {
        let chunk = &self.graph.listener().chunk;
        chunk.arrivals_len() + chunk.decisions_len()
    }
    /// Returns the time up to which everything has been carried out.
    pub const fn now(&self) -> Time {
        self.graph.now()
    }
    /// Returns the number of packets that have arrived.
    pub const fn arrivals(&self) -> u64 {
        self.graph.arrivals()
    }
    /// Returns the number of packets inside.
    pub const fn inside(&self) -> usize {
        self.graph.live()
    }
    /// Returns the flow at each position in the scenario.
    pub fn written(&self) -> &[FlowId] {
        &self.written
    }
    /// Returns the hops, in the network's order.
    pub fn hops(&self) -> &[Hop] {
        self.graph.hops()
    }
    /// Returns the drops and marks of each hop.
    pub fn losses(&self) -> &[HopLosses] {
        self.graph.losses()
    }
    /// Returns the losses of each flow.
    pub fn dropped(&self) -> &[FlowLosses] {
        self.graph.dropped()
    }
    /// Returns the bytes delivered to each flow's receiver.
    pub fn delivered(&self) -> &[Delivered] {
        &self.delivered
    }
    /// Takes out the table `hops` up to the last sample.
    pub fn take_table(&mut self) -> Table {
        self.graph.take_table()
    }
    /// Returns the table `delays`, if a hop records them; `flows` are the names of flow groups.
    pub fn delay_table(&self, labels: (i64, i64), flows: &[&str]) -> Option<Table> {
        self.graph.delay_table(labels, flows)
    }
    /// Returns the table `classes`, if a queue has classes.
    pub fn class_table(&self, labels: (i64, i64)) -> Option<Table> {
        self.graph.class_table(labels)
    }
}

#[cfg(test)]
mod tests;
