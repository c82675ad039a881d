//! A hop: impairments, queue, link, propagation delay. One element, driven by a clock that jumps or by one that
//! sleeps and wakes late; it takes the same decisions to the nanosecond, because it acts at scheduled times.
//!
//! Service completions need no event of their own: whoever touches the hop at `now` first lets it catch up one completion
//! at a time, each at the moment it should have happened. A driver comes back for [`Hop::poll_timeout`], when the next packet
//! leaves.

use crate::impairment::{Impairment, Overtaking, Side, Verdict};
use crate::link::Link;
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, Fifo, PacketId};
use crate::queue::{Queue, Server};
use crate::units::{BitRate, Bytes, Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Counts of one hop since the run began. `arrivals = departures + queue drops + impairment drops − duplicates + inside`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopCounters {
    /// Packets that came to the hop.
    pub arrivals: u64,
    /// Packets the link has sent.
    pub served: u64,
    /// Bytes the link has sent.
    pub served_bytes: Bytes,
    /// Packets that left the hop.
    pub departures: u64,
    /// Packets that an impairment added.
    pub duplicates: u64,
    /// Time the link was busy until the last completed service.
    pub busy: Span,
}

/// See the module.
#[derive(Debug)]
pub struct Hop {
    queue: Box<dyn Queue>,
    link: Box<dyn Link>,
    before: Vec<Box<dyn Impairment>>,
    after: Vec<Box<dyn Impairment>>,
    delay: Span,
    in_service: Option<Service>,
    travelling: Travelling,
    counters: HopCounters,
}

#[derive(Clone, Copy, Debug)]
struct Service {
    start: Time,
    done: Time,
    packet: PacketId,
    backlog: Backlog,
}

/// Packets on their way over the propagation delay, each with its time of arrival in `Packet::at`.
#[derive(Debug, Default)]
struct Travelling {
    ordered: Fifo,
    /// Packets that may be overtaken: (arrival, tie-break, packet).
    overtakable: BinaryHeap<Reverse<(Time, u64, PacketId)>>,
    last: Time,
    serial: u64,
}

impl Travelling {
    fn push(&mut self, at: Time, overtaking: Overtaking, id: PacketId, context: &mut Context<'_>) {
        match overtaking {
            Overtaking::Forbidden => {
                self.last = self.last.max(at);
                context.packets[id].at = self.last;
                self.ordered.push_back(id, context.packets);
            }
            Overtaking::Allowed => {
                self.serial += 1;
                context.packets[id].at = at;
                self.overtakable.push(Reverse((at, self.serial, id)));
            }
        }
    }
    fn next(&self, context: &Context<'_>) -> Time {
        let ordered = self
            .ordered
            .front()
            .map_or(Time::NEVER, |id| context.packets[id].at);
        self.overtakable
            .peek()
            .map_or(ordered, |Reverse((at, ..))| ordered.min(*at))
    }
    fn pop_until(&mut self, now: Time, context: &mut Context<'_>) -> Option<PacketId> {
        let next = self.next(context);
        if next > now {
            return None;
        }
        if self
            .overtakable
            .peek()
            .is_some_and(|Reverse((at, ..))| *at == next)
        {
            return self.overtakable.pop().map(|Reverse((.., id))| id);
        }
        self.ordered.pop_front(context.packets)
    }
    fn len(&self) -> u64 {
        self.ordered.backlog().packets + self.overtakable.len() as u64
    }
}

impl Hop {
    /// A hop with nothing in it.
    pub fn new(
        queue: Box<dyn Queue>,
        link: Box<dyn Link>,
        impairments: Vec<Box<dyn Impairment>>,
        delay: Span,
    ) -> Self {
        let (before, after) = impairments
            .into_iter()
            .partition(|one| one.side() == Side::BeforeQueue);
        Hop {
            queue,
            link,
            before,
            after,
            delay,
            in_service: None,
            travelling: Travelling::default(),
            counters: HopCounters::default(),
        }
    }

    /// A packet has come to the hop at `now`.
    pub fn handle_packet(&mut self, now: Time, id: PacketId, context: &mut Context<'_>) {
        self.catch_up(now, context);
        self.counters.arrivals += 1;
        if self.before.is_empty() {
            return self.enqueue(now, id, context);
        }
        let (copies, _) = judge(&mut self.before, &mut self.counters, now, id, context);
        for id in copies.into_iter().flatten() {
            self.enqueue(now, id, context);
        }
    }

    /// The next packet that has left by `now`; the moment it left is in its `at`.
    pub fn poll_transmit(&mut self, now: Time, context: &mut Context<'_>) -> Option<PacketId> {
        self.catch_up(now, context);
        let id = self.travelling.pop_until(now, context)?;
        self.counters.departures += 1;
        Some(id)
    }

    /// When to ask [`Hop::poll_transmit`] again: not later than the next packet leaves, `Time::NEVER` if none will.
    pub fn poll_timeout(&self, context: &Context<'_>) -> Time {
        let travelling = self.travelling.next(context);
        match self.in_service {
            // With an impairment behind the link (jitter of several kinds, loss), the delay is a lower bound.
            Some(service) => travelling.min(service.done + self.delay),
            None => travelling,
        }
    }

    /// Completes every service due by `now`, each at its own time.
    pub fn catch_up(&mut self, now: Time, context: &mut Context<'_>) {
        while let Some(service) = self.in_service {
            if service.done > now {
                return;
            }
            debug_assert!(
                service.done >= service.start,
                "causality: a service ends after it starts"
            );
            self.in_service = None;
            self.counters.served += 1;
            self.counters.served_bytes += service.backlog.bytes;
            self.counters.busy = self.counters.busy + (service.done - service.start);
            self.depart(service.done, service.packet, context);
            self.start_service(service.done, context);
        }
    }

    /// Counts since the run began, up to the last [`Hop::catch_up`].
    pub fn counters(&self) -> &HopCounters {
        &self.counters
    }
    /// What waits in the queue, the packet in service not counted.
    pub fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
    /// The packet in service: one or none.
    pub fn in_service(&self) -> Backlog {
        self.in_service
            .map_or_else(Backlog::default, |service| service.backlog)
    }
    /// Time the link has been busy up to `now`, the packet in service included.
    pub fn busy(&self, now: Time) -> Span {
        let current = self
            .in_service
            .map_or(Span::ZERO, |service| now.min(service.done).since(service.start));
        self.counters.busy + current
    }
    /// The link's rate.
    pub fn rate(&self, now: Time) -> BitRate {
        self.link.rate(now)
    }
    /// Packets inside: queued, in service or travelling.
    pub fn inside(&self) -> u64 {
        self.queue.backlog().packets + u64::from(self.in_service.is_some()) + self.travelling.len()
    }

    fn enqueue(&mut self, now: Time, id: PacketId, context: &mut Context<'_>) {
        let server = Server {
            in_service: self.in_service(),
            link: &*self.link,
        };
        self.queue.enqueue(now, id, server, context);
        if self.in_service.is_none() {
            self.start_service(now, context);
        }
    }

    fn start_service(&mut self, start: Time, context: &mut Context<'_>) {
        let Some(packet) = self.queue.dequeue(start, context) else {
            return;
        };
        let bytes = context.packets[packet].bytes();
        let done = self.link.finish(start, bytes);
        self.in_service = Some(Service {
            start,
            done,
            packet,
            backlog: Backlog { packets: 1, bytes },
        });
    }

    fn depart(&mut self, done: Time, id: PacketId, context: &mut Context<'_>) {
        if self.after.is_empty() {
            return self
                .travelling
                .push(done + self.delay, Overtaking::Forbidden, id, context);
        }
        let (copies, (extra, overtaking)) = judge(&mut self.after, &mut self.counters, done, id, context);
        for id in copies.into_iter().flatten() {
            self.travelling
                .push(done + self.delay + extra, overtaking, id, context);
        }
    }
}

type Lateness = (Span, Overtaking);

/// Shows a packet to the impairments in their order: what is left of it (none, one or two), and how much later it arrives.
fn judge(
    impairments: &mut [Box<dyn Impairment>],
    counters: &mut HopCounters,
    now: Time,
    id: PacketId,
    context: &mut Context<'_>,
) -> ([Option<PacketId>; 2], Lateness) {
    let (mut copy, mut lateness) = (None, (Span::ZERO, Overtaking::Forbidden));
    for impairment in impairments {
        match impairment.judge(now, &context.packets[id]) {
            Verdict::Pass => {}
            Verdict::Drop => {
                context.drop_packet(now, id, DropReason::Impairment);
                return ([copy, None], lateness);
            }
            Verdict::Duplicate if copy.is_none() => {
                counters.duplicates += 1;
                copy = Some(context.packets.duplicate(id));
            }
            Verdict::Duplicate => {}
            Verdict::Delay { by, overtaken } => {
                lateness.0 = lateness.0 + by;
                if overtaken == Overtaking::Allowed {
                    lateness.1 = Overtaking::Allowed;
                }
            }
        }
    }
    ([Some(id), copy], lateness)
}
