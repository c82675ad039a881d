//! A bench for the tests of disciplines: a queue and a link of constant rate that serves it.

use super::{Queue, QueueKind};
use crate::observe::{Context, DropReason, Observer};
use crate::packet::{Backlog, Ecn, FlowId, Packet, PacketId, PacketKind, PacketPool};
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::choose;
use ackclock_spec::units::{Bytes, Span, Time};
use serde_json::Value;

/// Asserts that a queue refuses each of some values by the name of its field, with a remedy.
pub(super) fn assert_refused<const N: usize>(queue: &Value, values: [(&str, Value); N]) {
    for (field, value) in values {
        let mut tree = queue.clone();
        tree[field] = value;
        let error = choose::<QueueKind>(&tree, &NoFiles).unwrap_err();
        assert_eq!(error.field(), field);
        assert!(error.to_string().contains("; "), "{error}");
    }
}

/// Drops and marks, in seconds.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub drops: Vec<(f64, DropReason)>,
    pub marks: Vec<f64>,
    /// Flow and number of each packet dropped.
    pub dropped: Vec<(FlowId, u64)>,
}

impl Observer for Log {
    fn dropped(&mut self, now: Time, packet: &Packet, reason: DropReason) {
        self.drops.push((now.as_seconds(), reason));
        self.dropped.push((packet.flow, packet.sequence));
    }
    fn marked(&mut self, now: Time, _: &Packet) {
        self.marks.push(now.as_seconds());
    }
}

/// A queue and a link that serves it.
pub(super) struct Bench<Q> {
    pub queue: Q,
    pub pool: PacketPool,
    pub log: Log,
    /// Service time of a packet of 1500 bytes.
    service: Span,
    pub ecn: Ecn,
    /// Kind of the packets that arrive.
    pub kind: PacketKind,
    pub serving: Option<(Time, PacketId)>,
    /// Time at which a queue that holds its packets back is asked again.
    wake: Time,
    /// Start of each packet's service, and the packet's wait, in seconds.
    pub waits: Vec<(f64, f64)>,
    /// Flow, number and size of each packet served.
    pub served: Vec<(FlowId, u64, u16)>,
    arrived: u64,
}

impl<Q: Queue> Bench<Q> {
    pub fn new(queue: Q, service_ms: u64) -> Self {
        Bench {
            queue,
            pool: PacketPool::new(),
            log: Log::default(),
            service: Span::from_millis(service_ms),
            ecn: Ecn::NotCapable,
            kind: PacketKind::Data,
            serving: None,
            wake: Time::NEVER,
            waits: Vec::new(),
            served: Vec::new(),
            arrived: 0,
        }
    }

    /// Returns the mean wait of the packets served after a time, in seconds.
    pub fn mean_wait_after(&self, seconds: f64) -> f64 {
        let steady = self.waits.iter().filter(|(at, _)| *at > seconds);
        let waits: Vec<f64> = steady.map(|(_, waited)| *waited).collect();
        waits.iter().sum::<f64>() / waits.len() as f64
    }

    /// Offers a packet of 1500 bytes of flow 0.
    pub fn arrive(&mut self, seconds: f64) {
        self.arrive_of(seconds, FlowId(0), 1500);
    }

    /// Offers a packet of a flow and a size. Its number counts all packets.
    pub fn arrive_of(&mut self, seconds: f64, flow: FlowId, size: u16) {
        let now = Time::from_seconds(seconds);
        self.serve_until(now);
        let mut packet = Packet::new(self.kind, flow, self.arrived, size, now);
        self.arrived += 1;
        packet.set_ecn(self.ecn);
        let id = self.pool.insert(packet);
        let in_service = self
            .serving
            .map_or_else(Backlog::default, |(_, id)| Backlog {
                packets: 1,
                bytes: self.pool[id].bytes(),
            });
        let mut context = Context {
            packets: &mut self.pool,
            observer: &mut self.log,
        };
        self.queue.enqueue(now, id, in_service, &mut context);
        if self.serving.is_none() {
            self.start(now);
        }
        self.check();
    }

    fn start(&mut self, now: Time) {
        let mut context = Context {
            packets: &mut self.pool,
            observer: &mut self.log,
        };
        self.serving = self.queue.dequeue(now, &mut context).map(|id| {
            let packet = &self.pool[id];
            let waited = now.since(packet.stamp);
            self.waits.push((now.as_seconds(), waited.as_seconds()));
            self.served
                .push((packet.flow, packet.sequence, packet.size));
            (now + self.service * packet.bytes().0 / 1500, id)
        });
        self.wake = self.queue.ready_at();
    }

    pub fn serve_until(&mut self, now: Time) {
        loop {
            let due = self.serving.map_or(self.wake, |(done, _)| done);
            if due > now || due.is_never() {
                break;
            }
            if let Some((_, id)) = self.serving {
                self.pool.remove(id);
            }
            self.start(due);
        }
    }

    /// Offers a packet every `gap` seconds.
    pub fn load(&mut self, from: f64, until: f64, gap: f64) {
        let packets = ((until - from) / gap) as u32;
        (0..packets).for_each(|n| self.arrive(from + f64::from(n) * gap));
        self.serve_until(Time::from_seconds(until));
    }

    /// Offers a load, of 1000 packets a second at first, that slows down by a third at each drop or
    /// mark, and speeds up gradually.
    pub fn load_that_reacts(&mut self, until: f64) {
        let (mut now, mut rate, mut seen) = (0.0, 1000.0, 0);
        while now < until {
            now += 1.0 / rate;
            self.arrive(now);
            rate = if self.signals() > seen {
                rate / 1.5
            } else {
                rate + 400.0 / rate
            };
            seen = self.signals();
        }
    }

    /// Offers a load like that of many flows: it slows down by an eighth at each drop or mark, and
    /// is back within 16 ms. So about one packet in sixteen has to have a signal.
    pub fn load_of_many(&mut self, until: f64) {
        let (mut now, mut rate, mut seen) = (0.0, 1000.0, 0);
        while now < until {
            now += 1.0 / rate;
            self.arrive(now);
            for _ in seen..self.signals() {
                rate *= 0.875;
            }
            rate += 8000.0 / rate;
            seen = self.signals();
        }
    }

    /// Returns the number of drops and marks.
    pub fn signals(&self) -> usize {
        self.log.drops.len() + self.log.marks.len()
    }

    /// Returns the times of the early drops.
    pub fn early(&self) -> Vec<f64> {
        let drops = self.log.drops.iter();
        let early = drops.filter(|(_, why)| *why == DropReason::Aqm);
        early.map(|(at, _)| *at).collect()
    }

    /// Checks that every packet is in exactly one place.
    fn check(&self) {
        let (backlog, serving) = (self.queue.backlog(), self.serving.iter().count());
        assert_eq!(self.pool.live() as u64, backlog.packets + serving as u64);
        assert_eq!(backlog.packets == 0, backlog.bytes == Bytes::ZERO);
        let gone = self.served.len() - serving + self.log.drops.len();
        assert_eq!(self.arrived, (gone + self.pool.live()) as u64);
    }
}
