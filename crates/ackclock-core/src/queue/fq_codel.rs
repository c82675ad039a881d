//! FlowQueue-CoDel (FQ-CoDel, RFC 8290): a queue for each flow, as far as a hash keeps flows apart,
//! served in turn, with CoDel in each.

use super::arithmetic::Arithmetic;
use super::buffer::check_limit;
use super::controlled_delay::{ControlledDelay, Law, Line, check_times};
use super::facts::QueueFacts;
use super::{Discipline, Queue, QueueContext, QueueKind};
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, Packet, PacketId, TimedFifo};
use crate::registry::{Element, Factory};
use crate::scenario::error::{Result, every, in_range};
use crate::scenario::files::Files;
use crate::scenario::quantity::QueueLimit;
use crate::streams::{Stream, mix};
use crate::units::{Bytes, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::VecDeque;

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(example = json!({}))]
#[schemars(example = json!({
    "target": "2 ms",
    "interval": "20 ms",
    "limit": "60 kB",
    "ecn": false,
    "queues": 3,
    "quantum": "300 bytes"
}))]
pub struct FqCodel {
    /// Allowed standing queueing delay in a queue. Above 0 and below the interval.
    pub target: Span,
    /// Time for which the delay in a queue may exceed the target before the first drop.
    pub interval: Span,
    /// Most packets or bytes that may wait in all queues, without the packet in service. Beyond
    /// it, the queue with the most bytes drops from its head.
    pub limit: QueueLimit,
    /// True if ECN-capable packets are marked instead of dropped. Packets beyond the limit are
    /// still dropped.
    pub ecn: bool,
    /// Number of queues, from 1 to 65,536, the most of Linux. A hash of flow and direction, with a
    /// random number of the run, chooses the queue. So flows may share one.
    pub queues: u32,
    /// Bytes that a queue may send in its turn. From 256 bytes to 1 MiB, as in Linux.
    pub quantum: Bytes,
    /// Most packets dropped at a time when the limit is exceeded. Above 0.
    pub drop_batch: u32,
    /// Size of a full packet on the wire. With at most this many bytes waiting in all queues,
    /// nothing is dropped. Linux counts all queues as well; RFC 8289 knows only one.
    pub mtu: Bytes,
    /// Arithmetic of the control law. That of Linux has a clock of 1.024 µs and halves the second
    /// interval between drops, instead of dividing it by the square root of 2.
    pub arithmetic: Arithmetic,
}

impl Default for FqCodel {
    /// The values of RFC 8290, as Linux has them.
    fn default() -> Self {
        FqCodel {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            limit: QueueLimit::Packets(10_240),
            ecn: true,
            queues: 1024,
            quantum: Bytes(1514),
            drop_batch: 64,
            mtu: Bytes(1500),
            arithmetic: Arithmetic::Exact,
        }
    }
}

const MOST_QUEUES: u32 = 65_536;
const LEAST_QUANTUM: Bytes = Bytes(256);
const MOST_QUANTUM: Bytes = Bytes(1 << 20);

impl Element<QueueKind> for FqCodel {
    const NAME: &'static str = "fq_codel";
    const LABEL: &'static str = "FQ-CoDel";
    const SUMMARY: &'static str = "A queue for each flow, served in turn, with CoDel in each; \
        flows that send little go first.";
    const REFERENCE: &'static str = "RFC 8290; Shreedhar and Varghese (1996), Efficient Fair \
        Queuing Using Deficit Round Robin";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            check_times(self.target, self.interval),
            check_limit("limit", self.limit),
            in_range(
                (1..=MOST_QUEUES).contains(&self.queues),
                "queues",
                &self.queues,
                "is not between 1 and 65536; for example 1024",
            ),
            in_range(
                (LEAST_QUANTUM..=MOST_QUANTUM).contains(&self.quantum),
                "quantum",
                &self.quantum,
                "is not between 256 bytes and 1 MiB; for example \"1514 bytes\"",
            ),
            in_range(
                self.drop_batch > 0,
                "drop_batch",
                &self.drop_batch,
                "is too small; for example 64",
            ),
        ])
    }

    fn facts(&self) -> QueueFacts {
        QueueFacts::head(self.limit, self.ecn)
    }
}

impl Factory<QueueKind> for FqCodel {
    fn build(&self, context: QueueContext<'_>) -> Discipline {
        Discipline::Scheduled(Box::new(FqCodelQueue::new(self, context.place.stream())))
    }
}

/// The queue of the flows with one hash.
#[derive(Debug, Default)]
struct FlowQueue {
    waiting: TimedFifo,
    control: ControlledDelay,
    /// Bytes that it may still send in this turn.
    deficit: i64,
    /// True if it is in a list.
    listed: bool,
}

/// All queues. Their memory is bounded by the number of queues; packets are in the run's pool.
#[derive(Debug)]
struct FqCodelQueue {
    law: Law,
    limit: QueueLimit,
    quantum: i64,
    drop_batch: u32,
    /// The random number of the hash.
    perturbation: u64,
    queues: Box<[FlowQueue]>,
    /// Queues that have just become active, by number. They are served first.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    backlog: Backlog,
}

/// A queue under the control law, with the backlog of all queues.
struct Controlled<'a> {
    waiting: &'a mut TimedFifo,
    backlog: &'a mut Backlog,
}

impl Line for Controlled<'_> {
    fn take(&mut self, context: &mut Context<'_>) -> Option<(Time, PacketId)> {
        let (arrival, id) = self.waiting.pop_front(context.packets)?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= context.packets[id].bytes();
        Some((arrival, id))
    }
    fn bytes(&self) -> Bytes {
        self.backlog.bytes
    }
}

impl FqCodelQueue {
    fn new(parameters: &FqCodel, mut stream: Stream) -> Self {
        FqCodelQueue {
            law: Law {
                target: parameters.target,
                interval: parameters.interval,
                ecn: parameters.ecn,
                mtu: parameters.mtu,
                arithmetic: parameters.arithmetic,
            },
            limit: parameters.limit,
            quantum: parameters.quantum.0 as i64,
            drop_batch: parameters.drop_batch,
            perturbation: stream.bits(),
            queues: (0..parameters.queues)
                .map(|_| FlowQueue::default())
                .collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            backlog: Backlog::default(),
        }
    }

    /// Returns the number of a packet's queue. Flow and direction stand for the addresses, ports
    /// and protocol of RFC 8290 section 4.1.1.
    fn queue_of(&self, packet: &Packet) -> usize {
        let key = u64::from(packet.flow.0) << 1 | u64::from(packet.is_forward());
        let hash = mix(key ^ self.perturbation);
        (((hash >> 32) * self.queues.len() as u64) >> 32) as usize
    }

    /// Drops up to half of the bytes of the queue with the most, from its head, but at most a batch
    /// (RFC 8290 section 4.1). The drops count for the control law, as in Linux.
    fn drop_from_the_longest(&mut self, now: Time, context: &mut Context<'_>) {
        let bytes = |number: &usize| self.queues[*number].waiting.backlog().bytes;
        let Some(longest) = self.new.iter().chain(&self.old).copied().max_by_key(bytes) else {
            return;
        };
        let half = Bytes(bytes(&longest).0 / 2);
        let FlowQueue {
            waiting, control, ..
        } = &mut self.queues[longest];
        let before = waiting.backlog().bytes;
        let mut line = Controlled {
            waiting,
            backlog: &mut self.backlog,
        };
        for _ in 0..self.drop_batch {
            let Some((_, id)) = line.take(context) else {
                break;
            };
            context.drop_packet(now, id, DropReason::QueueFull);
            control.count_drop();
            if before - line.waiting.backlog().bytes >= half {
                break;
            }
        }
    }

    /// True if the packets that wait exceed the limit.
    fn is_over_limit(&self) -> bool {
        match self.limit {
            QueueLimit::Packets(limit) => self.backlog.packets > limit,
            QueueLimit::Bytes(limit) => self.backlog.bytes > limit,
            QueueLimit::Time(_) | QueueLimit::Unlimited => false,
        }
    }

    fn list(&mut self, new: bool) -> &mut VecDeque<usize> {
        if new { &mut self.new } else { &mut self.old }
    }

    /// Moves the first queue of a list to the end of the old ones.
    fn pass(&mut self, number: usize, from_new: bool) {
        self.list(from_new).pop_front();
        self.old.push_back(number);
    }
}

impl Queue for FqCodelQueue {
    fn enqueue(&mut self, now: Time, id: PacketId, in_service: Backlog, context: &mut Context<'_>) {
        let packet = &context.packets[id];
        let (number, size) = (self.queue_of(packet), packet.bytes());
        let queue = &mut self.queues[number];
        queue.waiting.push_back(now, id, context.packets);
        self.backlog.packets += 1;
        self.backlog.bytes += size;
        if !queue.listed {
            (queue.listed, queue.deficit) = (true, self.quantum);
            self.new.push_back(number);
        }
        // The only packet, if the link is idle, does not wait.
        let passes_through = in_service.packets == 0 && self.backlog.packets == 1;
        while !passes_through && self.is_over_limit() {
            self.drop_from_the_longest(now, context);
        }
    }

    /// Follows RFC 8290 section 4.2.
    fn dequeue(&mut self, now: Time, context: &mut Context<'_>) -> Option<PacketId> {
        loop {
            let from_new = !self.new.is_empty();
            let Some(&number) = self.new.front().or_else(|| self.old.front()) else {
                debug_assert_eq!(self.backlog, Backlog::default(), "who waits is in a list");
                return None;
            };
            let queue = &mut self.queues[number];
            if queue.deficit <= 0 {
                queue.deficit += self.quantum;
                self.pass(number, from_new);
                continue;
            }
            let mut line = Controlled {
                waiting: &mut queue.waiting,
                backlog: &mut self.backlog,
            };
            if let Some(id) = queue.control.dequeue(now, &self.law, &mut line, context) {
                queue.deficit -= i64::from(context.packets[id].size);
                return Some(id);
            }
            // A new queue becomes an old one before it is forgotten. Otherwise a flow could starve
            // the old ones by becoming active again and again.
            if from_new && !self.old.is_empty() {
                self.pass(number, from_new);
            } else {
                queue.listed = false;
                self.list(from_new).pop_front();
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

#[cfg(test)]
mod tests;
