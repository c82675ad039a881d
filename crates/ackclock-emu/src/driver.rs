//! Real packets through the hops of a scenario. Reads no clock and no descriptor: a test's clock, a
//! loop that sleeps and a replay drive it alike, and get the same departures, drops and marks.

use crate::decision::Decision;
use crate::graph::{Graph, Listener};
use crate::ipv4::{self, Direction};
use crate::record::{ArrivalRow, Chunk};
use ackclock_core::hop::Hop;
use ackclock_core::network::Network;
use ackclock_core::observe::{FlowLosses, HopLosses};
use ackclock_core::packet::{Ecn, FlowId, Packet, PacketId};
use ackclock_core::result::Table;
use ackclock_core::units::{Span, Time};

/// The bytes of the packets inside, by [`PacketId::index`]. A buffer is used again by whatever
/// packet has its slot next.
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

/// What is kept of packets besides what the hops know.
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
    /// When it left, or should have: its scheduled time.
    pub at: Time,
    /// Whose it is.
    pub flow: FlowId,
    /// Which way.
    pub direction: Direction,
    /// The packet, with "congestion experienced" in its header if it was marked.
    pub bytes: &'a [u8],
}

/// What of a flow's packets has been given to the receiver, headers included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// In all, in bytes.
    pub bytes: u64,
    /// By the end of the warm-up, in bytes.
    pub by_warmup_bytes: u64,
}

/// See the module.
#[derive(Debug)]
pub struct Driver {
    graph: Graph<Book>,
    /// By flow.
    delivered: Vec<Delivered>,
    warmup: Time,
}

impl Driver {
    /// The hops of `network`, empty. Shared hops are sampled every `interval`; rows of the table
    /// begin with `labels` (point and replicate).
    pub fn new(network: Network, interval: Span, labels: (i64, i64)) -> Self {
        let graph = Graph::new(network, interval, labels, Book::default());
        Driver {
            delivered: vec![Delivered::default(); graph.flows()],
            warmup: Time::ZERO,
            graph,
        }
    }

    /// Says what counts as [`Delivered::by_warmup_bytes`]; else it is what comes at time zero.
    #[must_use]
    pub fn with_warmup(mut self, warmup: Time) -> Self {
        self.warmup = warmup;
        self
    }

    /// A packet has come: a whole IPv4 packet and nothing behind it. `stamp` is when; if the driver
    /// has been told of a later moment already, that counts, and is recorded.
    ///
    /// # Panics
    /// If there is no such flow, or a packet of more than 65,535 bytes.
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

    /// The next packet that has left by `now`, in order of scheduled time.
    pub fn poll_departure(&mut self, now: Time) -> Option<Departure<'_>> {
        let (at, id) = self.graph.poll_departure(now)?;
        let packet = *self.graph.packet(id);
        self.graph.remove(id); // its bytes stay until its slot is used again
        if packet.is_forward() {
            let delivered = &mut self.delivered[packet.flow.0 as usize];
            delivered.bytes += u64::from(packet.size);
            if at <= self.warmup {
                delivered.by_warmup_bytes = delivered.bytes;
            }
        }
        let bytes = self.graph.listener_mut().payloads.slot(id);
        if packet.ecn() == Ecn::Marked && ipv4::ecn(bytes) != Ecn::Marked {
            ipv4::mark(bytes);
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

    /// When to come back: nothing leaves before. [`Time::NEVER`] if there is nothing to wait for.
    pub fn poll_timeout(&self) -> Time {
        self.graph.poll_timeout()
    }

    /// The record since it was last cleared. What is due has been carried out up to
    /// [`Driver::now`].
    pub fn poll_record(&mut self) -> &mut Chunk {
        let now = self.graph.now();
        self.graph.advance(now);
        let chunk = &mut self.graph.listener_mut().chunk;
        chunk.until = now;
        chunk
    }

    /// The end of the run at `end`: hops catch up and are sampled, and the record is closed.
    /// Packets inside stay there.
    pub fn finish(&mut self, end: Time) {
        self.graph.finish(end);
        self.graph.check_conservation();
        self.poll_record().last = true;
    }

    /// Rows of the record that [`Driver::poll_record`] would give.
    pub fn record_len(&self) -> usize {
        let chunk = &self.graph.listener().chunk;
        chunk.arrivals_len() + chunk.decisions_len()
    }
    /// Up to when everything has been carried out.
    pub const fn now(&self) -> Time {
        self.graph.now()
    }
    /// How many packets have come.
    pub const fn arrivals(&self) -> u64 {
        self.graph.arrivals()
    }
    /// How many packets are inside.
    pub const fn inside(&self) -> usize {
        self.graph.live()
    }
    /// How many flows there are.
    pub fn flows(&self) -> usize {
        self.graph.flows()
    }
    /// The hops, in the network's order.
    pub fn hops(&self) -> &[Hop] {
        self.graph.hops()
    }
    /// What each hop has dropped and marked.
    pub fn losses(&self) -> &[HopLosses] {
        self.graph.losses()
    }
    /// What each flow has lost.
    pub fn dropped(&self) -> &[FlowLosses] {
        self.graph.dropped()
    }
    /// What each flow's receiver has been given.
    pub fn delivered(&self) -> &[Delivered] {
        &self.delivered
    }
    /// The table `hops` up to the last sample, which is taken out.
    pub fn take_table(&mut self) -> Table {
        self.graph.take_table()
    }
}

#[cfg(test)]
mod tests;
