//! CAKE without its classes of service: a queue for each flow with COBALT, equal shares of hosts,
//! and a shaper (Høiland-Jørgensen, Täht and Morton 2018; `sch_cake.c`).

use self::cobalt::{Cobalt, Law};
use super::buffer::check_limit;
use super::facts::QueueFacts;
use super::{Discipline, Hosts, Queue, QueueContext, QueueKind};
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, Packet, PacketId, TimedFifo};
use crate::registry::{Element, Factory};
use crate::scenario::error::{Result, every, in_range};
use crate::scenario::files::Files;
use crate::scenario::quantity::QueueLimit;
use crate::streams::{Stream, mix};
use crate::units::{BitRate, Bytes, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeMap, VecDeque};

mod cobalt;

/// Parameters. Packets have no class of service here: all are best effort.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(example = json!({}))]
#[schemars(example = json!({
    "rate": "1 Mbit/s",
    "overhead": "18 bytes",
    "least_size": "64 bytes",
    "limit": "60 kB",
    "isolation": "flows"
}))]
pub struct Cake {
    /// Rate of the shaper, below that of the link. Without it, the link alone limits the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BitRate")]
    pub rate: Option<BitRate>,
    /// Bytes that the shaper adds to each packet, for headers of the link behind it.
    pub overhead: Bytes,
    /// Least size of a packet, with overhead, for the shaper.
    pub least_size: Bytes,
    /// A usual round-trip time of the longest paths. The interval of the control law follows from
    /// it, and the target is a twentieth. At least 1 ms.
    pub rtt: Span,
    /// Most packets or bytes that may wait in all queues, without the packet in service. Beyond
    /// it, the queue with the most bytes drops its first packet.
    pub limit: QueueLimit,
    /// True if ECN-capable packets are marked instead of dropped. Linux has no choice.
    pub ecn: bool,
    /// The parties that get equal shares.
    pub isolation: Isolation,
    /// Size of a full packet on the wire. Above 0.
    pub mtu: Bytes,
}

/// The parties that get equal shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Hosts, and flows of a host: a flow's share is divided by the number of greedy flows of its
    /// source or destination, whichever has more. A scenario's flows name their hosts (`source`,
    /// `destination`).
    Triple,
    /// Flows alone.
    Flows,
}

impl Default for Cake {
    /// The values of Linux; the limit is the least that it chooses itself.
    fn default() -> Self {
        Cake {
            rate: None,
            overhead: Bytes::ZERO,
            least_size: Bytes::ZERO,
            rtt: Span::from_millis(100),
            limit: QueueLimit::Bytes(Bytes(4 << 20)),
            ecn: true,
            isolation: Isolation::Triple,
            mtu: Bytes(1514),
        }
    }
}

impl Element<QueueKind> for Cake {
    const NAME: &'static str = "cake";
    const LABEL: &'static str = "CAKE";
    const SUMMARY: &'static str = "A queue for each flow with COBALT, equal shares of hosts, and a \
        shaper; without classes of service and ACK filter.";
    const REFERENCE: &'static str = "Høiland-Jørgensen, Täht and Morton (2018), Piece of CAKE: A \
        Comprehensive Queue Management Solution for Home Gateways; Linux, `sch_cake.c`";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            in_range(
                self.rate != Some(BitRate::ZERO),
                "rate",
                &self.rate,
                "sends nothing; for example \"10 Mbit/s\"",
            ),
            in_range(
                self.rtt >= Span::from_millis(1),
                "rtt",
                &self.rtt,
                "is shorter than 1 ms; for example \"100 ms\"",
            ),
            in_range(
                self.mtu != Bytes::ZERO,
                "mtu",
                &self.mtu,
                "is too small; for example \"1514 bytes\"",
            ),
            check_limit("limit", self.limit),
        ])
    }

    fn facts(&self) -> QueueFacts {
        QueueFacts {
            highest_bit_per_s: self.rate.map(BitRate::as_bit_per_s),
            ..QueueFacts::head(self.limit, self.ecn)
        }
    }
}

impl Factory<QueueKind> for Cake {
    fn build(&self, context: QueueContext<'_>) -> Discipline {
        let hosts = match self.isolation {
            Isolation::Triple => Some(context.hosts.clone()),
            Isolation::Flows => None,
        };
        let stream = context.place.stream();
        Discipline::Scheduled(Box::new(CakeQueue::new(self, hosts, stream)))
    }
}

impl Cake {
    /// Returns the constants of the control law at the shaper's rate.
    fn law(&self) -> Law {
        let mtu_time = self
            .rate
            .map_or(Span::ZERO, |rate| rate.serialization(self.mtu));
        let usual = self.rtt / 20;
        let target = usual.max(mtu_time * 3 / 2);
        Law {
            target,
            interval: (self.rtt + target - usual).max(target * 2),
            mtu_time,
        }
    }

    /// Returns the bytes that a flow may send in its turn: 0.24 ms of the rate, from 300 to 1514.
    fn quantum(&self) -> i64 {
        const RANGE: (u64, u64) = (300, 1514);
        let of_rate = |rate: BitRate| (rate.as_bit_per_s() / 8) >> 12;
        self.rate.map_or(RANGE.1, of_rate).clamp(RANGE.0, RANGE.1) as i64
    }
}

/// Number of queues, in sets of eight. A flow's hash chooses a set, and a place in it that is free
/// if there is one.
const QUEUES: usize = 1024;
const WAYS: usize = 8;

/// The rotation that a queue is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Rotation {
    /// None: it holds no packets and its control is at rest.
    #[default]
    Rest,
    /// New: it goes first.
    Sparse,
    /// Old, but empty when its first turn ended; it still counts as sparse.
    SparseWait,
    /// Old: it counts as a greedy flow of its hosts.
    Bulk,
    /// Empty, until its control is at rest.
    Decaying,
}

/// The queue of a flow.
#[derive(Debug, Default)]
struct FlowQueue {
    waiting: TimedFifo,
    cobalt: Cobalt,
    rotation: Rotation,
    /// Hash of the flow.
    tag: u64,
    hosts: [u32; 2],
    deficit: i64,
}

/// Numbers of greedy flows of each source and each destination.
#[derive(Debug)]
struct Loads {
    hosts: Option<Hosts>,
    bulk: BTreeMap<(usize, u32), i64>,
}

impl Loads {
    /// Returns the source and the destination of a packet.
    fn of(&self, packet: &Packet) -> [u32; 2] {
        let Some(hosts) = &self.hosts else {
            return [0; 2];
        };
        let [sender, receiver] = hosts.of(packet.flow);
        match packet.is_forward() {
            true => [sender, receiver],
            false => [receiver, sender],
        }
    }

    fn add(&mut self, hosts: [u32; 2], change: i64) {
        if self.hosts.is_some() {
            for end in hosts.into_iter().enumerate() {
                *self.bulk.entry(end).or_default() += change;
            }
        }
    }

    /// Returns the number of greedy flows of the busier host, at least 1.
    fn most(&self, hosts: [u32; 2]) -> i64 {
        let ends = hosts.into_iter().enumerate();
        let loads = ends.map(|end| self.bulk.get(&end).copied().unwrap_or(0));
        loads.max().unwrap_or(1).max(1)
    }
}

/// The deficit shaper: a packet may leave once those before it have been sent at the rate.
#[derive(Debug)]
struct Shaper {
    rate: Option<BitRate>,
    overhead: Bytes,
    least_size: Bytes,
    next: Time,
}

impl Shaper {
    /// Returns the size that counts.
    fn size(&self, packet: Bytes) -> Bytes {
        (packet + self.overhead).max(self.least_size)
    }

    fn charge(&mut self, size: Bytes) {
        if let Some(rate) = self.rate {
            self.next = self.next + rate.serialization(size);
        }
    }
}

/// All queues.
#[derive(Debug)]
struct CakeQueue {
    law: Law,
    quantum: i64,
    limit: QueueLimit,
    ecn: bool,
    perturbation: u64,
    stream: Stream,
    queues: Box<[FlowQueue]>,
    loads: Loads,
    shaper: Shaper,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    decaying: VecDeque<usize>,
    backlog: Backlog,
    ready_at: Time,
}

/// A list of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    New,
    Old,
    Decaying,
}

impl CakeQueue {
    fn new(parameters: &Cake, hosts: Option<Hosts>, mut stream: Stream) -> Self {
        CakeQueue {
            law: parameters.law(),
            quantum: parameters.quantum(),
            limit: parameters.limit,
            ecn: parameters.ecn,
            perturbation: stream.bits(),
            stream,
            queues: (0..QUEUES).map(|_| FlowQueue::default()).collect(),
            loads: Loads {
                hosts,
                bulk: BTreeMap::new(),
            },
            shaper: Shaper {
                rate: parameters.rate,
                overhead: parameters.overhead,
                least_size: parameters.least_size,
                next: Time::ZERO,
            },
            new: VecDeque::new(),
            old: VecDeque::new(),
            decaying: VecDeque::new(),
            backlog: Backlog::default(),
            ready_at: Time::NEVER,
        }
    }

    /// Returns the number of a packet's queue: the one that its flow has, else one at rest in the
    /// set of its hash, else the one of its hash.
    fn queue_of(&self, hash: u64) -> usize {
        let first = (((hash >> 32) * QUEUES as u64) >> 32) as usize;
        let set = first - first % WAYS;
        let places = (0..WAYS).map(|step| set + (first + step) % WAYS);
        let in_use = |number: &usize| self.queues[*number].rotation != Rotation::Rest;
        places
            .clone()
            .find(|number| in_use(number) && self.queues[*number].tag == hash)
            .or_else(|| places.clone().find(|number| !in_use(number)))
            .unwrap_or(first)
    }

    /// Returns the bytes of a turn of a flow between these hosts; `dither` from 0 to 65,535 makes
    /// the mean exact.
    fn turn(&self, hosts: [u32; 2], dither: i64) -> i64 {
        (self.quantum * (65_535 / self.loads.most(hosts)) + dither) >> 16
    }

    /// Puts the queue of an arriving packet into its rotation.
    fn activate(&mut self, number: usize) {
        let hosts = self.queues[number].hosts;
        match self.queues[number].rotation {
            Rotation::Rest | Rotation::Decaying => {
                if self.queues[number].rotation == Rotation::Decaying {
                    self.decaying.retain(|other| *other != number);
                }
                self.new.push_back(number);
                self.queues[number].deficit = self.turn(hosts, 0);
                self.queues[number].rotation = Rotation::Sparse;
            }
            Rotation::SparseWait => {
                self.queues[number].rotation = Rotation::Bulk;
                self.loads.add(hosts, 1);
            }
            Rotation::Sparse | Rotation::Bulk => {}
        }
    }

    fn list(&mut self, list: List) -> &mut VecDeque<usize> {
        match list {
            List::New => &mut self.new,
            List::Old => &mut self.old,
            List::Decaying => &mut self.decaying,
        }
    }

    /// Returns the list that is served: once the decaying ones, then new, old and decaying queues.
    fn served(&self, first: bool) -> Option<(List, usize)> {
        let front = |list, queue: &VecDeque<usize>| queue.front().map(|number| (list, *number));
        let decaying = front(List::Decaying, &self.decaying);
        let before = if first { decaying } else { None };
        before
            .or_else(|| front(List::New, &self.new))
            .or_else(|| front(List::Old, &self.old))
            .or(decaying)
    }

    /// Ends a turn: the queue gets its next quantum and goes to the end of the old ones.
    fn end_turn(&mut self, list: List, number: usize) {
        let queue = &mut self.queues[number];
        if queue.rotation == Rotation::Sparse {
            if queue.waiting.backlog().packets > 0 {
                queue.rotation = Rotation::Bulk;
                let hosts = queue.hosts;
                self.loads.add(hosts, 1);
            } else {
                queue.rotation = Rotation::SparseWait;
            }
        }
        let dither = (self.stream.bits() >> 48) as i64;
        let turn = self.turn(self.queues[number].hosts, dither);
        self.queues[number].deficit += turn;
        self.list(list).pop_front();
        self.old.push_back(number);
    }

    /// Takes an empty queue out of its rotation.
    fn retire(&mut self, now: Time, list: List, number: usize) {
        let queue = &mut self.queues[number];
        queue.cobalt.note_empty(now, &self.law);
        let (was_bulk, hosts) = (queue.rotation == Rotation::Bulk, queue.hosts);
        let active = queue.cobalt.is_active(now);
        queue.rotation = if active {
            Rotation::Decaying
        } else {
            Rotation::Rest
        };
        if was_bulk {
            self.loads.add(hosts, -1);
        }
        self.list(list).pop_front();
        if active {
            self.decaying.push_back(number);
        }
    }

    fn pop(&mut self, number: usize, context: &mut Context<'_>) -> Option<(Time, PacketId)> {
        let (arrival, id) = self.queues[number].waiting.pop_front(context.packets)?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= context.packets[id].bytes();
        Some((arrival, id))
    }

    /// Takes the next packet of a queue, after drops and marks. The last one is not dropped.
    fn take(&mut self, now: Time, number: usize, context: &mut Context<'_>) -> Option<PacketId> {
        while let Some((arrival, id)) = self.pop(number, context) {
            let queue = &mut self.queues[number];
            let (law, ecn) = (&self.law, self.ecn);
            let random = (law, &mut self.stream);
            let drops = queue.cobalt.judge(now, now.since(arrival), random, || {
                !(ecn && context.mark_packet(now, id))
            });
            if !drops || queue.waiting.backlog().packets == 0 {
                return Some(id);
            }
            context.drop_packet(now, id, DropReason::Aqm);
        }
        None
    }

    /// True if the packets that wait exceed the limit.
    const fn is_over_limit(&self) -> bool {
        match self.limit {
            QueueLimit::Packets(limit) => self.backlog.packets > limit,
            QueueLimit::Bytes(limit) => self.backlog.bytes.0 > limit.0,
            QueueLimit::Time(_) | QueueLimit::Unlimited => false,
        }
    }

    /// Drops the first packet of the queue with the most bytes.
    fn drop_from_the_longest(&mut self, now: Time, context: &mut Context<'_>) {
        let bytes = |number: &usize| self.queues[*number].waiting.backlog().bytes;
        let Some(longest) = (0..QUEUES).max_by_key(bytes) else {
            return;
        };
        self.queues[longest].cobalt.note_overflow(now, &self.law);
        if let Some((_, id)) = self.pop(longest, context) {
            context.drop_packet(now, id, DropReason::QueueFull);
        }
    }
}

impl Queue for CakeQueue {
    fn enqueue(&mut self, now: Time, id: PacketId, in_service: Backlog, context: &mut Context<'_>) {
        let packet = &context.packets[id];
        let key = u64::from(packet.flow.0) << 1 | u64::from(packet.is_forward());
        let (hash, hosts) = (mix(key ^ self.perturbation), self.loads.of(packet));
        let size = packet.bytes();
        let number = self.queue_of(hash);
        if self.queues[number].rotation == Rotation::Rest {
            (self.queues[number].tag, self.queues[number].hosts) = (hash, hosts);
        }
        if self.backlog.packets == 0 {
            self.shaper.next = self.shaper.next.max(now);
        }
        self.queues[number]
            .waiting
            .push_back(now, id, context.packets);
        self.backlog.packets += 1;
        self.backlog.bytes += size;
        self.activate(number);
        // The only packet, if the link is idle, does not wait for it.
        let passes_through = in_service.packets == 0 && self.backlog.packets == 1;
        while !passes_through && self.is_over_limit() {
            self.drop_from_the_longest(now, context);
        }
    }

    fn dequeue(&mut self, now: Time, context: &mut Context<'_>) -> Option<PacketId> {
        self.ready_at = Time::NEVER;
        let mut first = true;
        while self.backlog.packets > 0 {
            if self.shaper.next > now {
                self.ready_at = self.shaper.next;
                return None;
            }
            let (list, number) = self.served(first)?;
            first = false;
            if self.queues[number].deficit <= 0 {
                self.end_turn(list, number);
                continue;
            }
            let Some(id) = self.take(now, number, context) else {
                self.retire(now, list, number);
                continue;
            };
            let size = self.shaper.size(context.packets[id].bytes());
            self.shaper.charge(size);
            self.queues[number].deficit -= size.0 as i64;
            return Some(id);
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn ready_at(&self) -> Time {
        self.ready_at
    }
}

#[cfg(test)]
mod tests;
