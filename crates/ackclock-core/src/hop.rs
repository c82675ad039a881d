//! A hop: impairments, queue, link, propagation delay. One element, driven by a clock that jumps or by one that
//! sleeps and wakes late; it takes the same decisions to the nanosecond, because it acts at scheduled times.
//!
//! Service completions need no event of their own. Behind a discipline that keeps the order of arrival, the link is asked at
//! arrival when the packet will have been sent; other disciplines catch up one completion at a time, each at the moment it
//! should have happened, whenever somebody touches the hop. A driver comes back for [`Hop::poll_timeout`], when the next packet leaves.

use crate::impairment::{Impairment, Overtaking, Side, Verdict};
use crate::link::Link;
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, Fifo, PacketId};
use crate::queue::{Admission, Discipline, Occupancy, Queue};
use crate::units::{Bytes, Span, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Counts of one hop since the run began. `arrivals + duplicates = departures + queue drops + impairment drops + inside`.
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
}

/// See the module.
#[derive(Debug)]
pub struct Hop {
    service: Service,
    link: Box<dyn Link>,
    before: Vec<Box<dyn Impairment>>,
    after: Vec<Box<dyn Impairment>>,
    delay: Span,
    travelling: Travelling,
    counters: HopCounters,
    /// When the link will have sent all it has been given, and the time that takes in all, waits not counted.
    free_at: Time,
    given: Span,
}

/// How packets get from the queue to the link.
#[derive(Debug)]
enum Service {
    InOrder {
        admission: Box<dyn Admission>,
        /// What is waiting or in service, first the packet in service: when each will have been sent, and its size.
        line: VecDeque<(Time, u16)>,
        bytes: u64,
        /// The packets themselves, if an impairment is to judge them when they have been sent; else they travel already.
        unjudged: Fifo,
    },
    Scheduled {
        queue: Box<dyn Queue>,
        serving: Option<(Time, PacketId, Backlog)>,
    },
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
        discipline: Discipline,
        link: Box<dyn Link>,
        impairments: Vec<Box<dyn Impairment>>,
        delay: Span,
    ) -> Self {
        let (before, after) = impairments
            .into_iter()
            .partition(|one| one.side() == Side::BeforeQueue);
        let service = match discipline {
            Discipline::InOrder(admission) => Service::InOrder {
                admission,
                line: VecDeque::new(),
                bytes: 0,
                unjudged: Fifo::default(),
            },
            Discipline::Scheduled(queue) => Service::Scheduled { queue, serving: None },
        };
        Hop {
            service,
            link,
            before,
            after,
            delay,
            travelling: Travelling::default(),
            counters: HopCounters::default(),
            free_at: Time::ZERO,
            given: Span::ZERO,
        }
    }

    /// A packet has come to the hop at `now`.
    #[inline]
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

    /// The next packet that leaves by `until`; the moment it leaves is in its `at`. A hop that [knows ahead](Hop::knows_ahead) may be asked
    /// for what leaves later than now.
    #[inline]
    pub fn poll_transmit(&mut self, until: Time, context: &mut Context<'_>) -> Option<PacketId> {
        if !self.knows_ahead() {
            self.catch_up(until, context);
        }
        let id = self.travelling.pop_until(until, context)?;
        self.counters.departures += 1;
        Some(id)
    }

    /// Whether it is settled at arrival when and in what order packets leave: nothing that comes later changes it.
    #[inline]
    pub fn knows_ahead(&self) -> bool {
        matches!(self.service, Service::InOrder { .. }) && self.after.is_empty()
    }

    /// The next packet to leave a hop that [knows ahead](Hop::knows_ahead).
    #[inline]
    pub fn next_packet(&self) -> Option<PacketId> {
        self.travelling.ordered.front()
    }

    /// When to ask [`Hop::poll_transmit`] again: not later than the next packet leaves, `Time::NEVER` if none will.
    #[inline]
    pub fn poll_timeout(&self, context: &Context<'_>) -> Time {
        let travelling = self.travelling.next(context);
        // With an impairment behind the link (loss, jitter), the delay is a lower bound.
        match &self.service {
            Service::InOrder { .. } if self.after.is_empty() => travelling,
            Service::InOrder { line, .. } => line
                .front()
                .map_or(travelling, |(done, _)| travelling.min(*done + self.delay)),
            Service::Scheduled { serving, .. } => {
                serving.map_or(travelling, |(done, ..)| travelling.min(done + self.delay))
            }
        }
    }

    /// Completes every service due by `now`, each at its own time.
    #[inline]
    pub fn catch_up(&mut self, now: Time, context: &mut Context<'_>) {
        match &mut self.service {
            Service::InOrder { line, .. } => {
                if line.front().is_some_and(|(done, _)| *done <= now) {
                    self.complete_in_order(now, context);
                }
            }
            Service::Scheduled { .. } => self.complete_scheduled(now, context),
        }
    }

    /// Counts since the run began, up to the last [`Hop::catch_up`].
    pub fn counters(&self) -> &HopCounters {
        &self.counters
    }
    /// What waits in the queue, the packet in service not counted.
    pub fn backlog(&self) -> Backlog {
        match &self.service {
            Service::InOrder { line, bytes, .. } => occupancy(line, *bytes).0,
            Service::Scheduled { queue, .. } => queue.backlog(),
        }
    }
    /// Time the link has been busy up to `now`, which is not before the last [`Hop::catch_up`]. A service that never ends does not count.
    pub fn busy(&self, now: Time) -> Span {
        if self.free_at.is_never() {
            self.given
        } else {
            self.given - self.free_at.since(now)
        }
    }
    /// Packets inside: queued, in service or travelling.
    pub fn inside(&self) -> u64 {
        let waiting = match &self.service {
            Service::InOrder { unjudged, .. } => unjudged.backlog().packets,
            Service::Scheduled { queue, serving } => queue.backlog().packets + u64::from(serving.is_some()),
        };
        waiting + self.travelling.len()
    }

    fn enqueue(&mut self, now: Time, id: PacketId, context: &mut Context<'_>) {
        let size = context.packets[id].size;
        match &mut self.service {
            Service::InOrder {
                admission,
                line,
                bytes,
                unjudged,
            } => {
                let (waiting, in_service) = occupancy(line, *bytes);
                let occupancy = Occupancy {
                    waiting,
                    in_service,
                    residual_service: line.front().map_or(Span::ZERO, |(done, _)| done.since(now)),
                    wait: self.free_at.since(now),
                };
                if !admission.admit(now, id, &occupancy, context) {
                    return;
                }
                let start = now.max(self.free_at);
                let done = serve(&mut *self.link, start, Bytes(size.into()), &mut self.given);
                self.free_at = done;
                line.push_back((done, size));
                *bytes += u64::from(size);
                if self.after.is_empty() {
                    self.travelling
                        .push(done + self.delay, Overtaking::Forbidden, id, context);
                } else {
                    unjudged.push_back(id, context.packets);
                }
            }
            Service::Scheduled { queue, serving } => {
                let in_service = serving.map_or_else(Backlog::default, |(.., backlog)| backlog);
                queue.enqueue(now, id, in_service, context);
                if serving.is_none() {
                    self.start_scheduled(now, context);
                }
            }
        }
    }

    fn complete_in_order(&mut self, now: Time, context: &mut Context<'_>) {
        let Service::InOrder {
            line,
            bytes,
            unjudged,
            ..
        } = &mut self.service
        else {
            return;
        };
        while let Some(&(done, size)) = line.front() {
            if done > now {
                return;
            }
            line.pop_front();
            *bytes -= u64::from(size);
            self.counters.served += 1;
            self.counters.served_bytes += Bytes(size.into());
            if let Some(id) = unjudged.pop_front(context.packets) {
                depart(
                    &mut self.after,
                    &mut self.counters,
                    &mut self.travelling,
                    (done, self.delay),
                    id,
                    context,
                );
            }
        }
    }

    fn complete_scheduled(&mut self, now: Time, context: &mut Context<'_>) {
        while let Service::Scheduled { serving, .. } = &mut self.service
            && let Some((done, id, backlog)) = *serving
            && done <= now
        {
            *serving = None;
            self.counters.served += 1;
            self.counters.served_bytes += backlog.bytes;
            depart(
                &mut self.after,
                &mut self.counters,
                &mut self.travelling,
                (done, self.delay),
                id,
                context,
            );
            self.start_scheduled(done, context);
        }
    }

    fn start_scheduled(&mut self, start: Time, context: &mut Context<'_>) {
        let Service::Scheduled { queue, serving } = &mut self.service else {
            return;
        };
        let Some(id) = queue.dequeue(start, context) else {
            return;
        };
        let bytes = context.packets[id].bytes();
        self.free_at = serve(&mut *self.link, start, bytes, &mut self.given);
        *serving = Some((self.free_at, id, Backlog { packets: 1, bytes }));
    }
}

/// Waiting and in service, of a line whose first is in service.
#[inline]
fn occupancy(line: &VecDeque<(Time, u16)>, bytes: u64) -> (Backlog, Backlog) {
    match line.front() {
        None => (Backlog::default(), Backlog::default()),
        Some(&(_, first)) => {
            let first = u64::from(first);
            (
                Backlog {
                    packets: line.len() as u64 - 1,
                    bytes: Bytes(bytes - first),
                },
                Backlog {
                    packets: 1,
                    bytes: Bytes(first),
                },
            )
        }
    }
}

/// Gives the link a packet: when it will have been sent. What never will takes no time of `given`.
#[inline]
fn serve(link: &mut dyn Link, start: Time, size: Bytes, given: &mut Span) -> Time {
    if start.is_never() {
        return Time::NEVER;
    }
    let done = link.finish(start, size);
    debug_assert!(done >= start, "causality: a service ends after it starts");
    if !done.is_never() {
        *given = *given + (done - start);
    }
    done
}

/// A packet has been sent at `done`: past the impairments behind the link and on its way.
fn depart(
    after: &mut [Box<dyn Impairment>],
    counters: &mut HopCounters,
    travelling: &mut Travelling,
    (done, delay): (Time, Span),
    id: PacketId,
    context: &mut Context<'_>,
) {
    let (copies, (extra, overtaking)) = judge(after, counters, done, id, context);
    for id in copies.into_iter().flatten() {
        travelling.push(done + delay + extra, overtaking, id, context);
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
