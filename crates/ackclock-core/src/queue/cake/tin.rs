//! One class of service of CAKE: the queues of its flows, and its place beside other classes.

use super::Isolation;
use super::cobalt::{Cobalt, Law};
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, PacketId, TimedFifo};
use ackclock_spec::streams::{Stream, mix};
use ackclock_spec::units::{BitRate, Bytes, Time};
use std::collections::{BTreeMap, VecDeque};

/// Number of queues, in sets of eight. A flow's hash chooses a set, and a place in it that is free
/// if there is one.
const QUEUES: usize = 1024;
const WAYS: usize = 8;

/// Bytes of a flow's turn: 0.24 ms of the rate, within this range.
const TURN: (u64, u64) = (300, 1514);
/// Bytes of a turn of the class with the largest share, without a shaper.
const CLASS_TURN: i64 = 1024;

/// The rotation that a queue is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rotation {
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
pub(super) struct FlowQueue {
    pub waiting: TimedFifo,
    cobalt: Cobalt,
    pub rotation: Rotation,
    /// Hash of the flow.
    tag: u64,
    hosts: [u32; 2],
    deficit: i64,
}

/// Numbers of greedy flows of each source and each destination.
#[derive(Debug)]
pub(super) struct Loads {
    isolation: Isolation,
    pub bulk: BTreeMap<(usize, u32), i64>,
}

impl Loads {
    fn add(&mut self, hosts: [u32; 2], change: i64) {
        if self.isolation == Isolation::Triple {
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

/// A list of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    New,
    Old,
    Decaying,
}

/// A class of service.
#[derive(Debug)]
pub(super) struct Tin {
    law: Law,
    quantum: i64,
    pub queues: Box<[FlowQueue]>,
    pub loads: Loads,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    decaying: VecDeque<usize>,
    pub backlog: Backlog,
    /// Its share of the shaper's rate, and the time from which its next packet is due.
    rate: Option<BitRate>,
    due: Time,
    /// Its turn without a shaper, in bytes, and what is left of the present one.
    class_turn: i64,
    class_deficit: i64,
}

impl Tin {
    /// Creates the class that has 2^-`shift` of the turns.
    pub fn new(rate: Option<BitRate>, shift: u32, law: Law, isolation: Isolation) -> Self {
        Tin {
            law,
            quantum: quantum(rate),
            queues: (0..QUEUES).map(|_| FlowQueue::default()).collect(),
            loads: Loads {
                isolation,
                bulk: BTreeMap::new(),
            },
            new: VecDeque::new(),
            old: VecDeque::new(),
            decaying: VecDeque::new(),
            backlog: Backlog::default(),
            rate,
            due: Time::ZERO,
            class_turn: CLASS_TURN >> shift,
            class_deficit: 0,
        }
    }

    /// True if flows have or await a turn.
    pub fn is_active(&self) -> bool {
        !self.new.is_empty() || !self.old.is_empty()
    }

    /// Returns the time from which its next packet is due.
    pub const fn due(&self) -> Time {
        self.due
    }

    /// True if it has packets and a turn is under way.
    pub fn has_turn(&self) -> bool {
        self.class_deficit >= 0 && self.is_active()
    }

    /// Grants its next turn if the last one is used up.
    pub const fn grant_turn(&mut self) {
        if self.class_deficit <= 0 {
            self.class_deficit += self.class_turn;
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

    /// Takes a packet of the flow with this key, between these hosts.
    pub fn enqueue(
        &mut self,
        now: Time,
        id: PacketId,
        (key, hosts): (u64, [u32; 2]),
        context: &mut Context<'_>,
    ) {
        let hash = mix(key);
        let number = self.queue_of(hash);
        let queue = &mut self.queues[number];
        if queue.rotation == Rotation::Rest {
            (queue.tag, queue.hosts) = (hash, hosts);
        }
        if self.backlog.packets == 0 {
            self.due = self.due.max(now);
        }
        self.backlog.packets += 1;
        self.backlog.bytes += context.packets[id].bytes();
        queue.waiting.push_back(now, id, context.packets);
        self.activate(number);
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
    fn end_turn(&mut self, list: List, number: usize, stream: &mut Stream) {
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
        let dither = (stream.bits() >> 48) as i64;
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
    fn take(
        &mut self,
        now: Time,
        number: usize,
        (ecn, stream): (bool, &mut Stream),
        context: &mut Context<'_>,
    ) -> Option<PacketId> {
        while let Some((arrival, id)) = self.pop(number, context) {
            let queue = &mut self.queues[number];
            let random = (&self.law, &mut *stream);
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

    /// Takes the next packet, after drops and marks, with the number of its queue. Without a packet
    /// in the queue whose turn it is, returns nothing; a class is to be chosen again. The flag
    /// `first` is true until a queue had its turn.
    pub fn dequeue(
        &mut self,
        now: Time,
        first: &mut bool,
        (ecn, stream): (bool, &mut Stream),
        context: &mut Context<'_>,
    ) -> Option<(usize, PacketId)> {
        loop {
            let (list, number) = self.served(std::mem::take(first))?;
            if self.queues[number].deficit <= 0 {
                self.end_turn(list, number, stream);
                continue;
            }
            let taken = self.take(now, number, (ecn, stream), context);
            if taken.is_none() {
                self.retire(now, list, number);
            }
            return taken.map(|id| (number, id));
        }
    }

    /// Charges a packet of a queue, with its size for the shaper. Time that the class did not use
    /// before now is lost, but for one packet.
    pub fn charge(&mut self, now: Time, number: usize, size: Bytes) {
        let bytes = size.0 as i64;
        self.queues[number].deficit -= bytes;
        self.class_deficit -= bytes;
        if let Some(rate) = self.rate {
            let taken = rate.serialization(size);
            self.due = if self.due < now {
                self.due + taken
            } else {
                self.due.max(now + taken)
            };
        }
    }

    /// Returns the number of the queue with the most bytes, and its bytes.
    pub fn longest(&self) -> (usize, Bytes) {
        let bytes = |number: usize| self.queues[number].waiting.backlog().bytes;
        let all = (0..QUEUES).map(|number| (number, bytes(number)));
        all.max_by_key(|(_, bytes)| *bytes).unwrap_or_default()
    }

    /// Drops the first packet of a queue, as all of them together are too long.
    pub fn overflow(&mut self, now: Time, number: usize, context: &mut Context<'_>) {
        self.queues[number].cobalt.note_overflow(now, &self.law);
        if let Some((_, id)) = self.pop(number, context) {
            context.drop_packet(now, id, DropReason::QueueFull);
        }
    }
}

/// Returns the bytes that a flow of a class with this rate may send in its turn.
pub(super) fn quantum(rate: Option<BitRate>) -> i64 {
    let of_rate = |rate: BitRate| (rate.as_bit_per_s() / 8) >> 12;
    rate.map_or(TURN.1, of_rate).clamp(TURN.0, TURN.1) as i64
}
