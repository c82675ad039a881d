//! CAKE: a queue for each flow with COBALT, equal shares of hosts, classes of service, and a shaper
//! (Høiland-Jørgensen, Täht and Morton 2018; `sch_cake.c`).

use self::cobalt::Law;
use self::tin::Tin;
use super::buffer::check_limit;
use super::facts::QueueFacts;
use super::{Discipline, FlowLabels, Queue, QueueContext, QueueKind};
use crate::observe::Context;
use crate::packet::{Backlog, Dscp, PacketId};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::QueueLimit;
use serde_json::json;
use std::cmp::Reverse;

mod cobalt;
mod tin;

parameters! {
    /// Parameters.
    // Defaults: the values of Linux; the limit is the least that it chooses itself.
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
        pub rate: Option<BitRate> = None,
        /// Bytes that the shaper adds to each packet, for headers of the link behind it.
        pub overhead: Bytes = Bytes::ZERO,
        /// Least size of a packet, with overhead, for the shaper.
        pub least_size: Bytes = Bytes::ZERO,
        /// A usual round-trip time of the longest paths. The interval of the control law follows
        /// from it, and the target is a twentieth. At least 1 ms.
        pub rtt: Span = Span::from_millis(100),
        /// Most packets or bytes that may wait in all queues, without the packet in service. Beyond
        /// it, the queue with the most bytes drops its first packet.
        pub limit: QueueLimit = QueueLimit::Bytes(Bytes(4 << 20)),
        /// True if ECN-capable packets are marked instead of dropped. Linux has no choice.
        pub ecn: bool = true,
        /// The parties that get equal shares.
        pub isolation: Isolation = Isolation::Triple,
        /// The classes of service that packets are sorted into.
        pub classes: Classes = Classes::Diffserv3,
        /// Size of a full packet on the wire. Above 0.
        pub mtu: Bytes = Bytes(1514),
    }
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

/// The classes of service that packets are sorted into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Classes {
    /// One: a flow's codepoint (`dscp`) does not matter.
    Besteffort,
    /// Three: best effort, bulk (LE, CS1), and latency (VA, EF, CS6, CS7, 4). Bulk goes first for
    /// up to a sixteenth of the rate, latency before both for up to a quarter. Beyond that, a class
    /// has what the others leave.
    Diffserv3,
}

/// A class of service, by the shares of the rate and of the turns that it has, as powers of 1/2.
const BEST_EFFORT: u32 = 0;
const BULK: u32 = 4;
const LATENCY: u32 = 2;

impl Classes {
    /// Returns the classes; a later one has priority.
    const fn shifts(self) -> &'static [u32] {
        match self {
            Classes::Besteffort => &[BEST_EFFORT],
            Classes::Diffserv3 => &[BEST_EFFORT, BULK, LATENCY],
        }
    }

    /// Returns the place of a codepoint's class in [`Classes::shifts`].
    fn of(self, dscp: Dscp) -> usize {
        let shift = match dscp {
            Dscp::LE | Dscp::CS1 => BULK,
            Dscp::TOS_DELAY | Dscp::VA | Dscp::EF | Dscp::CS6 | Dscp::CS7 => LATENCY,
            _ => BEST_EFFORT,
        };
        let place = self.shifts().iter().position(|tin| *tin == shift);
        place.unwrap_or(0)
    }
}

impl Element<QueueKind> for Cake {
    const NAME: &'static str = "cake";
    const LABEL: &'static str = "CAKE";
    const SUMMARY: &'static str = "A queue for each flow with COBALT, equal shares of hosts, \
        classes of service, and a shaper; without ACK filter.";
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
            check_above_zero("mtu", self.mtu, "1514 bytes"),
            check_limit("limit", self.limit),
        ])
    }

    fn facts(&self) -> QueueFacts {
        QueueFacts {
            highest_bit_per_s: self.rate.map(BitRate::as_bit_per_s).into(),
            ..QueueFacts::head(self.limit, self.ecn)
        }
    }
}

impl Factory<QueueKind> for Cake {
    fn build(&self, context: QueueContext<'_>) -> Discipline {
        let (labels, stream) = (context.labels.clone(), context.place.stream());
        Discipline::Scheduled(Box::new(CakeQueue::new(self, labels, stream)))
    }
}

impl Cake {
    /// Returns the constants of the control law of a class with this rate.
    fn law(&self, rate: Option<BitRate>) -> Law {
        let mtu_time = rate.map_or(Span::ZERO, |rate| rate.serialization(self.mtu));
        let usual = self.rtt / 20;
        let target = usual.max(mtu_time * 3 / 2);
        Law {
            target,
            interval: (self.rtt + target - usual).max(target * 2),
            mtu_time,
        }
    }

    /// Returns the class that has this share of the rate and of the turns.
    fn tin(&self, shift: u32) -> Tin {
        let share = |rate: BitRate| BitRate::from_bit_per_s((rate.as_bit_per_s() >> shift).max(1));
        let rate = self.rate.map(share);
        Tin::new(rate, shift, self.law(rate), self.isolation)
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

/// All classes.
#[derive(Debug)]
struct CakeQueue {
    classes: Classes,
    tins: Vec<Tin>,
    /// The class that is served, without a shaper.
    turn: usize,
    limit: QueueLimit,
    ecn: bool,
    labels: FlowLabels,
    perturbation: u64,
    stream: Stream,
    shaper: Shaper,
    ready_at: Time,
}

impl CakeQueue {
    fn new(parameters: &Cake, labels: FlowLabels, mut stream: Stream) -> Self {
        let classes = parameters.classes;
        CakeQueue {
            classes,
            tins: (classes.shifts().iter())
                .map(|shift| parameters.tin(*shift))
                .collect(),
            turn: 0,
            limit: parameters.limit,
            ecn: parameters.ecn,
            labels,
            perturbation: stream.bits(),
            stream,
            shaper: Shaper {
                rate: parameters.rate,
                overhead: parameters.overhead,
                least_size: parameters.least_size,
                next: Time::ZERO,
            },
            ready_at: Time::NEVER,
        }
    }

    /// True if the packets that wait exceed the limit.
    fn is_over_limit(&self) -> bool {
        let waiting = self.backlog();
        match self.limit {
            QueueLimit::Packets(limit) => waiting.packets > limit,
            QueueLimit::Bytes(limit) => waiting.bytes > limit,
            QueueLimit::Time(_) | QueueLimit::Unlimited => false,
        }
    }

    /// Drops the first packet of the queue with the most bytes.
    fn drop_from_the_longest(&mut self, now: Time, context: &mut Context<'_>) {
        let waiting = self.tins.iter_mut().filter(|tin| tin.backlog.packets > 0);
        let longest = waiting.map(|tin| (tin.longest(), tin));
        if let Some(((number, _), tin)) = longest.max_by_key(|((_, bytes), _)| *bytes) {
            tin.overflow(now, number, context);
        }
    }

    /// Returns the class to serve. With a shaper it is the last one on schedule, else the one that
    /// is due first; without, classes take turns by their weights.
    fn class_to_serve(&mut self, now: Time) -> Option<usize> {
        if self.shaper.rate.is_none() {
            return self.next_in_turn();
        }
        let active = self
            .tins
            .iter()
            .enumerate()
            .filter(|(_, tin)| tin.is_active());
        // All that are on schedule are equal; of equals the last one is taken.
        let best = active.min_by_key(|(place, tin)| (tin.due().max(now), Reverse(*place)));
        best.map(|(place, _)| place)
    }

    fn next_in_turn(&mut self) -> Option<usize> {
        if !self.tins.iter().any(Tin::is_active) {
            return None;
        }
        while !self.tins[self.turn].has_turn() {
            self.tins[self.turn].grant_turn();
            self.turn = (self.turn + 1) % self.tins.len();
        }
        Some(self.turn)
    }
}

impl Queue for CakeQueue {
    fn enqueue(&mut self, now: Time, id: PacketId, in_service: Backlog, context: &mut Context<'_>) {
        let packet = &context.packets[id];
        let label = self.labels.of(packet.flow);
        let key = u64::from(packet.flow.0) << 1 | u64::from(packet.is_forward());
        let mut hosts = label.hosts;
        if !packet.is_forward() {
            hosts.reverse();
        }
        if self.backlog().packets == 0 {
            self.shaper.next = self.shaper.next.max(now);
        }
        let tin = &mut self.tins[self.classes.of(label.dscp)];
        tin.enqueue(now, id, (key ^ self.perturbation, hosts), context);
        // The only packet, if the link is idle, does not wait for it.
        let passes_through = in_service.packets == 0 && self.backlog().packets == 1;
        while !passes_through && self.is_over_limit() {
            self.drop_from_the_longest(now, context);
        }
    }

    fn dequeue(&mut self, now: Time, context: &mut Context<'_>) -> Option<PacketId> {
        self.ready_at = Time::NEVER;
        let mut first = true;
        while self.backlog().packets > 0 {
            if self.shaper.next > now {
                self.ready_at = self.shaper.next;
                return None;
            }
            let place = self.class_to_serve(now)?;
            let tin = &mut self.tins[place];
            let Some((number, id)) =
                tin.dequeue(now, &mut first, (self.ecn, &mut self.stream), context)
            else {
                continue;
            };
            let size = self.shaper.size(context.packets[id].bytes());
            self.shaper.charge(size);
            tin.charge(now, number, size);
            return Some(id);
        }
        None
    }

    fn backlog(&self) -> Backlog {
        let each = self.tins.iter().map(|tin| tin.backlog);
        each.fold(Backlog::default(), |all, one| Backlog {
            packets: all.packets + one.packets,
            bytes: all.bytes + one.bytes,
        })
    }

    fn ready_at(&self) -> Time {
        self.ready_at
    }
}

#[cfg(test)]
mod tests;
