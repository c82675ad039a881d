//! Queues of flows, served in turn by deficit round robin (RFC 8290 section 4). Each has a state of
//! the discipline's own.

use super::Occupancy;
use super::droptail::DropTail;
use crate::observe::Context;
use crate::packet::{Backlog, Packet, PacketId, TimedFifo};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::QueueLimit;
use ackclock_spec::streams::mix;
use std::collections::VecDeque;

/// Most queues, as in Linux.
const MOST_QUEUES: u32 = 65_536;
const LEAST_QUANTUM: Bytes = Bytes(256);
const MOST_QUANTUM: Bytes = Bytes(1 << 20);

/// The queue of the flows with one hash.
#[derive(Debug, Default)]
pub(super) struct FlowQueue<S> {
    pub waiting: TimedFifo,
    /// State of the discipline.
    pub state: S,
    /// Bytes that it may still send in this turn.
    deficit: i64,
    /// True if it is in a list.
    listed: bool,
}

/// All queues. Their memory is bounded by the number of queues; packets are in the run's pool.
#[derive(Debug)]
pub(super) struct FlowQueues<S> {
    quantum: i64,
    /// Bytes that a queue may send in its first turn.
    first_quantum: i64,
    /// The random number of the hash.
    perturbation: u64,
    queues: Box<[FlowQueue<S>]>,
    /// Queues that have just become active, by number. They are served first.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    backlog: Backlog,
}

/// One queue, with the backlog of all.
#[derive(Debug)]
pub(super) struct Own<'a, S> {
    waiting: &'a mut TimedFifo,
    pub state: &'a mut S,
    all: &'a mut Backlog,
}

impl<S> Own<'_, S> {
    /// Removes the first packet and returns it with its arrival time.
    pub fn pop(&mut self, context: &mut Context<'_>) -> Option<(Time, PacketId)> {
        pop(self.waiting, self.all, context)
    }

    /// Returns the queue's own packets.
    pub const fn waiting(&self) -> &TimedFifo {
        self.waiting
    }

    /// Splits it into the packets with the backlog of all, and the state.
    pub fn split(&mut self) -> (OwnLine<'_>, &mut S) {
        let line = OwnLine {
            waiting: self.waiting,
            all: self.all,
        };
        (line, self.state)
    }
}

/// The packets of one queue, with the backlog of all.
#[derive(Debug)]
pub(super) struct OwnLine<'a> {
    waiting: &'a mut TimedFifo,
    all: &'a mut Backlog,
}

impl OwnLine<'_> {
    /// Removes the first packet and returns it with its arrival time.
    pub fn pop(&mut self, context: &mut Context<'_>) -> Option<(Time, PacketId)> {
        pop(self.waiting, self.all, context)
    }
    /// Returns the packets of all queues.
    pub const fn all(&self) -> Backlog {
        *self.all
    }
}

fn pop(
    waiting: &mut TimedFifo,
    all: &mut Backlog,
    context: &mut Context<'_>,
) -> Option<(Time, PacketId)> {
    let (arrival, id) = waiting.pop_front(context.packets)?;
    all.packets -= 1;
    all.bytes -= context.packets[id].bytes();
    Some((arrival, id))
}

impl<S> FlowQueues<S> {
    /// Makes empty queues with states that `make` makes.
    pub fn new(
        queues: u32,
        [quantum, first_quantum]: [Bytes; 2],
        stream: &mut Stream,
        make: impl Fn() -> S,
    ) -> Self {
        FlowQueues {
            quantum: quantum.0 as i64,
            first_quantum: first_quantum.0 as i64,
            perturbation: stream.bits(),
            queues: (0..queues)
                .map(|_| FlowQueue {
                    waiting: TimedFifo::default(),
                    state: make(),
                    deficit: 0,
                    listed: false,
                })
                .collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            backlog: Backlog::default(),
        }
    }

    /// Returns the number of a packet's queue. Flow and direction stand for the addresses, ports
    /// and protocol of RFC 8290 section 4.1.1.
    pub fn queue_of(&self, packet: &Packet) -> usize {
        let key = u64::from(packet.flow.0) << 1 | u64::from(packet.is_forward());
        let hash = mix(key ^ self.perturbation);
        (((hash >> 32) * self.queues.len() as u64) >> 32) as usize
    }

    /// Returns a queue with the backlog of all.
    pub fn own(&mut self, number: usize) -> Own<'_, S> {
        let FlowQueue { waiting, state, .. } = &mut self.queues[number];
        Own {
            waiting,
            state,
            all: &mut self.backlog,
        }
    }

    /// True if limits of all queues and of each leave room for a packet in a queue.
    pub fn has_room(
        &self,
        number: usize,
        size: Bytes,
        in_service: Backlog,
        [all, each]: [&DropTail; 2],
    ) -> bool {
        let with = |waiting| Occupancy {
            waiting,
            in_service,
            ..Occupancy::default()
        };
        let own = self.queues[number].waiting.backlog();
        all.fits(size, &with(self.backlog)) && each.fits(size, &with(own))
    }

    /// Appends a packet to its queue. One that becomes active has a first turn.
    pub fn push(&mut self, now: Time, number: usize, id: PacketId, context: &mut Context<'_>) {
        let first = self.first_quantum;
        self.push_renewed(now, number, id, context, |_, _| first);
    }

    /// Appends a packet to its queue. If that becomes active, `renew` makes the bytes of its turn
    /// from the state and the bytes that were left.
    pub fn push_renewed(
        &mut self,
        now: Time,
        number: usize,
        id: PacketId,
        context: &mut Context<'_>,
        renew: impl FnOnce(&mut S, i64) -> i64,
    ) {
        let queue = &mut self.queues[number];
        queue.waiting.push_back(now, id, context.packets);
        self.backlog.packets += 1;
        self.backlog.bytes += context.packets[id].bytes();
        if !queue.listed {
            queue.listed = true;
            queue.deficit = renew(&mut queue.state, queue.deficit);
            self.new.push_back(number);
        }
    }

    /// Returns the next packet: `take` takes it from the queue whose turn it is (RFC 8290 section
    /// 4.2), or returns `None` if that queue has none left.
    pub fn pop(
        &mut self,
        context: &mut Context<'_>,
        mut take: impl FnMut(Own<'_, S>, &mut Context<'_>) -> Option<PacketId>,
    ) -> Option<PacketId> {
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
            let own = Own {
                waiting: &mut queue.waiting,
                state: &mut queue.state,
                all: &mut self.backlog,
            };
            if let Some(id) = take(own, context) {
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

    /// Returns the number of the queue with the most bytes.
    pub fn longest(&self) -> Option<usize> {
        let bytes = |number: &usize| self.queues[*number].waiting.backlog().bytes;
        self.new.iter().chain(&self.old).copied().max_by_key(bytes)
    }

    /// True if the packets that wait exceed the limit.
    pub const fn exceeds(&self, limit: QueueLimit) -> bool {
        match limit {
            QueueLimit::Packets(limit) => self.backlog.packets > limit,
            QueueLimit::Bytes(limit) => self.backlog.bytes.0 > limit.0,
            QueueLimit::Time(_) | QueueLimit::Unlimited => false,
        }
    }

    /// Returns the packets of all queues.
    pub const fn backlog(&self) -> Backlog {
        self.backlog
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

/// Refuses impossible numbers of queues and quanta.
///
/// # Errors
/// With the name of the field, `queues` or `quantum`.
pub(super) fn check_queues(queues: u32, quantum: Bytes) -> Result<()> {
    every([
        check_between("queues", queues, 1..=MOST_QUEUES, "1024"),
        in_range(
            (LEAST_QUANTUM..=MOST_QUANTUM).contains(&quantum),
            "quantum",
            &quantum,
            "is not between 256 bytes and 1 MiB; for example \"1514 bytes\"",
        ),
    ])
}
