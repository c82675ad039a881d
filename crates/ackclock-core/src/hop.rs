//! A hop: impairments, queue, link, propagation delay. One element, driven by a clock that jumps or by one that
//! sleeps and wakes late; it takes the same decisions to the nanosecond, because it acts at scheduled times.
//!
//! Service completions need no event of their own. Behind a discipline that keeps the order of arrival, the link is asked at
//! arrival when the packet will have been sent; other disciplines catch up one completion at a time, each at the moment it
//! should have happened, whenever somebody touches the hop. A driver comes back for [`Hop::poll_transmit`], when the next packet leaves.

use crate::impairment::{Impairment, Side};
use crate::link::Link;
use crate::observe::Context;
use crate::packet::{Backlog, Chain, PacketId, PacketPool};
use crate::queue::Discipline;
use crate::units::{Bytes, Span, Time};
use impaired::{Impairments, judge};
use service::{InOrder, Line, Scheduled, Sending, Server, Service, Serving};
use std::cmp::Reverse;
use std::collections::VecDeque;

mod impaired;
mod service;

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

/// What has become of a packet that came to a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is settled that it leaves at that moment, and it is out already.
    Released(Time),
    /// It is inside or dropped. On its account [`Hop::poll_transmit`] is to be asked at that moment or before, `Time::NEVER` if need not be.
    Kept(Time),
}

/// What leaves a hop next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// That packet, at that moment.
    Packet(Time, PacketId),
    /// Nothing before that moment; ask again then.
    NotBefore(Time),
}

/// See the module.
#[derive(Debug)]
pub struct Hop {
    service: Service,
    server: Server,
    delay: Span,
    /// Packets on their way over the propagation delay that keep their order, each with its time of arrival in `Packet::at`.
    ordered: Chain,
    counts: Counts,
    /// Most hops have none, and with tens of thousands of hops every cache line counts.
    impairments: Option<Box<Impairments>>,
}

/// Counts since the run began. `given` and `given_bytes` are apart, so that the compiler does not make a vector of them: that costs more.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Packets the link has been given.
    given: u64,
    arrivals: u64,
    departures: u64,
    /// Bytes the link has been given.
    given_bytes: u64,
}

/// Puts a packet on its way behind those that keep their order, which arrive no later than `at`.
#[inline(always)]
fn append(ordered: &mut Chain, at: Time, id: PacketId, packets: &mut PacketPool) {
    packets[id].at = at;
    ordered.push_back(id, packets);
}

impl Hop {
    /// A hop with nothing in it.
    pub fn new(
        discipline: Discipline,
        link: Box<dyn Link>,
        impairments: Vec<Box<dyn Impairment>>,
        delay: Span,
    ) -> Self {
        let impairments = (!impairments.is_empty()).then(|| {
            let (before, after) = impairments
                .into_iter()
                .partition(|one| one.side() == Side::BeforeQueue);
            Box::new(Impairments {
                before,
                after,
                ..Impairments::default()
            })
        });
        let in_order = |admission, fits_below: u64| {
            Service::InOrder(InOrder {
                serving: Sending::default(),
                unsent: 0,
                fits_below: u32::try_from(fits_below).unwrap_or(u32::MAX),
                line: Box::new(Line {
                    admission,
                    waiting: VecDeque::new(),
                    bytes: 0,
                }),
            })
        };
        let service = match discipline {
            Discipline::DropTail(admission) => {
                let fits_below = admission.fits_below();
                in_order(Box::new(admission), fits_below)
            }
            Discipline::InOrder(admission) => in_order(admission, 0),
            Discipline::Scheduled(queue) => Service::Scheduled(Box::new(Scheduled { queue, serving: None })),
        };
        Hop {
            service,
            server: Server {
                link: link
                    .as_constant()
                    .map_or_else(|| Serving::Other(link), Serving::Constant),
                free_at: Time::ZERO,
                given: Span::ZERO,
            },
            delay,
            ordered: Chain::default(),
            counts: Counts::default(),
            impairments,
        }
    }

    /// A packet of `size` bytes has come to the hop at `now`. If it is known already to be the next to leave, and by `until`, it is released at once.
    #[inline(always)] // once for each hop on a packet's way: the call would cost a third of the work
    pub fn handle_packet(
        &mut self,
        now: Time,
        (id, size): (PacketId, u16),
        until: Time,
        context: &mut Context<'_>,
    ) -> Arrival {
        self.counts.arrivals += 1;
        let (Service::InOrder(line), None) = (&mut self.service, &self.impairments) else {
            return self.handle_otherwise(now, id, context);
        };
        let Some(done) = line.pass(&mut self.server, now, (id, size), context) else {
            return Arrival::Kept(Time::NEVER);
        };
        self.counts.given += 1;
        self.counts.given_bytes += u64::from(size);
        let at = done + self.delay;
        if at <= until && self.ordered.is_empty() {
            self.counts.departures += 1;
            return Arrival::Released(at);
        }
        append(&mut self.ordered, at, id, context.packets);
        Arrival::Kept(at)
    }

    /// What leaves next, if it leaves by `until`. A hop that [knows ahead](Hop::knows_ahead) may be asked for what leaves later than now.
    #[inline(always)]
    pub fn poll_transmit(&mut self, until: Time, context: &mut Context<'_>) -> Departure {
        let knows_ahead = self.knows_ahead();
        if !knows_ahead {
            self.catch_up(until, context);
            if let Some(id) = self.pop_overtakable(until, context) {
                self.counts.departures += 1;
                return Departure::Packet(context.packets[id].at, id);
            }
        }
        let Some(id) = self.ordered.front() else {
            return Departure::NotBefore(self.next_departure(Time::NEVER));
        };
        let at = context.packets[id].at;
        if at > until {
            let next = if knows_ahead { at } else { self.next_departure(at) };
            return Departure::NotBefore(next);
        }
        self.ordered.pop_front(context.packets);
        self.counts.departures += 1;
        Departure::Packet(at, id)
    }

    /// Whether it is settled at arrival when and in what order packets leave: nothing that comes later changes it.
    #[inline]
    pub fn knows_ahead(&self) -> bool {
        matches!(self.service, Service::InOrder(_)) && !self.judges_after()
    }

    /// Whether there is an impairment behind the link.
    #[inline(always)]
    fn judges_after(&self) -> bool {
        self.impairments
            .as_ref()
            .is_some_and(|impairments| !impairments.after.is_empty())
    }

    /// The first of those that may be overtaken, if it arrives by `until` and not after the first of those that keep their order.
    fn pop_overtakable(&mut self, until: Time, context: &Context<'_>) -> Option<PacketId> {
        let ordered = self.next_ordered(context);
        let impairments = self.impairments.as_mut()?;
        let next = impairments.next_overtakable();
        if next > until || next > ordered {
            return None;
        }
        impairments.overtakable.pop().map(|Reverse((.., id))| id)
    }

    fn next_ordered(&self, context: &Context<'_>) -> Time {
        self.ordered
            .front()
            .map_or(Time::NEVER, |id| context.packets[id].at)
    }

    /// When the next packet leaves, if the first of those that keep their order does at `ordered`. With an impairment behind the link (loss,
    /// jitter), it is a lower bound.
    #[inline(always)]
    fn next_departure(&self, ordered: Time) -> Time {
        if self.knows_ahead() {
            return ordered;
        }
        let serving = match &self.service {
            Service::InOrder(line) => line.is_busy().then_some(line.serving.done),
            Service::Scheduled(scheduled) => scheduled.serving.map(|(done, ..)| done),
        };
        let sent = serving.map_or(Time::NEVER, |done| done + self.delay);
        let overtakable = self
            .impairments
            .as_ref()
            .map_or(Time::NEVER, |impairments| impairments.next_overtakable());
        ordered.min(sent).min(overtakable)
    }

    /// Completes every service due by `now`, each at its own time.
    #[inline]
    pub fn catch_up(&mut self, now: Time, context: &mut Context<'_>) {
        let judges_after = self.judges_after();
        match &mut self.service {
            Service::InOrder(_) if judges_after => self.complete_unjudged(now, context),
            Service::InOrder(line) => line.catch_up(now, self.server.free_at),
            Service::Scheduled(_) => self.complete_scheduled(now, context),
        }
    }

    /// Counts since the run began, up to the last [`Hop::catch_up`].
    pub fn counters(&self) -> HopCounters {
        let unsent = match &self.service {
            Service::InOrder(line) if line.is_busy() => Backlog {
                packets: line.unsent.into(),
                bytes: line.waiting().bytes + Bytes(line.serving.size.into()),
            },
            Service::InOrder(_) => Backlog::default(),
            Service::Scheduled(scheduled) => scheduled.serving.map_or_else(Backlog::default, |(.., one)| one),
        };
        HopCounters {
            arrivals: self.counts.arrivals,
            served: self.counts.given - unsent.packets,
            served_bytes: Bytes(self.counts.given_bytes) - unsent.bytes,
            departures: self.counts.departures,
            duplicates: self.impairments.as_ref().map_or(0, |all| all.duplicates),
        }
    }
    /// What waits in the queue, the packet in service not counted.
    pub fn backlog(&self) -> Backlog {
        match &self.service {
            Service::InOrder(line) => line.waiting(),
            Service::Scheduled(scheduled) => scheduled.queue.backlog(),
        }
    }
    /// The packet in service: one or none.
    pub fn in_service(&self) -> Backlog {
        match &self.service {
            Service::InOrder(line) if line.is_busy() => Backlog {
                packets: 1,
                bytes: Bytes(line.serving.size.into()),
            },
            Service::InOrder(_) => Backlog::default(),
            Service::Scheduled(scheduled) => scheduled.serving.map_or_else(Backlog::default, |(.., one)| one),
        }
    }
    /// Time the link has been busy up to `now`, which is not before the last [`Hop::catch_up`]. A service that never ends does not count.
    pub fn busy(&self, now: Time) -> Span {
        let Server { free_at, given, .. } = self.server;
        if free_at.is_never() {
            given
        } else {
            given - free_at.since(now)
        }
    }
    /// Packets inside: queued, in service or travelling.
    pub fn inside(&self) -> u64 {
        let waiting = match &self.service {
            Service::InOrder(_) => 0,
            Service::Scheduled(scheduled) => {
                scheduled.queue.backlog().packets + u64::from(scheduled.serving.is_some())
            }
        };
        let impaired = self.impairments.as_ref().map_or(0, |impairments| {
            impairments.unjudged.len() + impairments.overtakable.len() as u64
        });
        waiting + impaired + self.ordered.len()
    }

    /// A packet has come to a hop with impairments, or with a discipline that decides when the link asks.
    #[inline(never)]
    fn handle_otherwise(&mut self, now: Time, id: PacketId, context: &mut Context<'_>) -> Arrival {
        self.catch_up(now, context);
        let copies = match &mut self.impairments {
            Some(all) => judge(&mut all.before, &mut all.duplicates, now, id, context).0,
            None => [Some(id), None],
        };
        for id in copies.into_iter().flatten() {
            self.enqueue(now, id, context);
        }
        Arrival::Kept(self.next_departure(self.next_ordered(context)))
    }

    fn enqueue(&mut self, now: Time, id: PacketId, context: &mut Context<'_>) {
        let Service::InOrder(line) = &mut self.service else {
            return self.enqueue_scheduled(now, id, context);
        };
        let size = context.packets[id].size;
        let Some(done) = line.pass(&mut self.server, now, (id, size), context) else {
            return;
        };
        self.counts.given += 1;
        self.counts.given_bytes += u64::from(size);
        match &mut self.impairments {
            Some(impairments) if !impairments.after.is_empty() => {
                impairments.unjudged.push_back(id, context.packets);
            }
            _ => append(&mut self.ordered, done + self.delay, id, context.packets),
        }
    }

    #[inline(never)]
    fn complete_unjudged(&mut self, now: Time, context: &mut Context<'_>) {
        while let Service::InOrder(line) = &mut self.service
            && let Some(impairments) = &mut self.impairments
            && line.is_busy()
            && line.serving.done <= now
        {
            let done = line.serving.done;
            line.advance();
            if let Some(id) = impairments.unjudged.pop_front(context.packets) {
                self.depart(done, id, context);
            }
        }
    }

    /// A packet has been sent at `done`: past the impairments behind the link and on its way.
    fn depart(&mut self, done: Time, id: PacketId, context: &mut Context<'_>) {
        let at = done + self.delay;
        let Some(impairments) = &mut self.impairments else {
            return append(&mut self.ordered, at, id, context.packets);
        };
        let (copies, (extra, overtaking)) = judge(
            &mut impairments.after,
            &mut impairments.duplicates,
            done,
            id,
            context,
        );
        for id in copies.into_iter().flatten() {
            impairments.append(&mut self.ordered, (at + extra, overtaking), id, context.packets);
        }
    }

    fn enqueue_scheduled(&mut self, now: Time, id: PacketId, context: &mut Context<'_>) {
        if let Service::Scheduled(scheduled) = &mut self.service {
            let in_service = scheduled
                .serving
                .map_or_else(Backlog::default, |(.., backlog)| backlog);
            scheduled.queue.enqueue(now, id, in_service, context);
            if scheduled.serving.is_none() {
                self.start_scheduled(now, context);
            }
        }
    }

    #[inline(never)]
    fn complete_scheduled(&mut self, now: Time, context: &mut Context<'_>) {
        while let Service::Scheduled(scheduled) = &mut self.service
            && let Some((done, id, _)) = scheduled.serving
            && done <= now
        {
            scheduled.serving = None;
            self.depart(done, id, context);
            self.start_scheduled(done, context);
        }
    }

    fn start_scheduled(&mut self, start: Time, context: &mut Context<'_>) {
        let Service::Scheduled(scheduled) = &mut self.service else {
            return;
        };
        let Some(id) = scheduled.queue.dequeue(start, context) else {
            return;
        };
        let bytes = context.packets[id].bytes();
        let done = self.server.serve(start, bytes);
        self.counts.given += 1;
        self.counts.given_bytes += bytes.0;
        scheduled.serving = Some((done, id, Backlog { packets: 1, bytes }));
    }
}

#[cfg(test)]
mod tests;
