//! A hop: impairments, queue, link and propagation delay. The same element serves a simulated
//! clock, which jumps, and the real clock, which sleeps and wakes up late.
//!
//! This file follows a packet through a hop. [`Hop::handle_packet`] passes it through the
//! impairments before the queue. `enqueue` queues or drops it. `serve` gives it to the link.
//! `depart` passes it through the impairments after the link and starts its propagation delay.
//! [`Hop::poll_transmit`] hands it over when that delay has passed.
//!
//! A hop acts at scheduled times, whenever it is called: [`Hop::catch_up`] carries out each service
//! completion at the moment when it was due. So completions need no events, and both clocks lead to
//! the same decisions, to the nanosecond. With a discipline that keeps the order of arrival, the
//! hop computes at arrival when the link will have sent a packet.
//!
//! The file `fast.rs` does the same in fewer steps for packets to which little can happen. A
//! property test shows that both are equal.

use crate::impairment::Impairment;
use crate::link::Link;
use crate::medium::ContenderId;
use crate::observe::Context;
use crate::packet::{Backlog, Packet, PacketId, PacketPool, Timeline};
use crate::queue::{ClassCounts, Discipline};
use ackclock_spec::units::{Bytes, Span, Time};
use cells::CellService;
use contending::Contending;
use delays::Delays;
use fast::Path;
use impaired::{Impairments, judge};
use service::{InOrder, Scheduled, Server, Service};
use std::cmp::Reverse;

pub use delays::DelayHistogram;

mod cells;
mod contending;
mod delays;
mod fast;
mod impaired;
mod service;

/// Counts of one hop since the run began.
/// `arrivals + duplicates = departures + queue drops + impairment drops + inside`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopCounters {
    /// Packets that arrived at the hop.
    pub arrivals: u64,
    /// Packets that the link has sent.
    pub served: u64,
    /// Bytes that the link has sent.
    pub served_bytes: Bytes,
    /// Packets that left the hop.
    pub departures: u64,
    /// Packets that an impairment added.
    pub duplicates: u64,
}

/// Result of a packet's arrival at a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The hop has handed the packet over; it leaves at that moment, which nothing can change.
    Released(Time),
    /// The packet is inside or was dropped. Call [`Hop::poll_transmit`] no later than at this
    /// moment; `Time::NEVER` if no call is needed.
    Kept(Time),
}

/// The next packet that leaves a hop, and the time of the next poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The packet and the moment at which it left, if one has left.
    pub packet: Option<(Time, PacketId)>,
    /// No other packet leaves before that moment; [`Time::NEVER`] if there is nothing to wait for.
    pub not_before: Time,
}

/// The flows that can observe when a packet leaves a hop.
#[derive(Clone, Copy, Debug)]
enum Observers {
    All,
    /// The only flow that uses the hop.
    OneFlow,
    /// The packet's flow. Others use the hop.
    OneFlowFromHere,
}

/// A hop. These 56 bytes are what nearly every packet needs. So a driver with tens of thousands of
/// hops finds them in one cache line; the rest is behind a pointer.
#[derive(Debug)]
pub struct Hop {
    /// Time at which the link will have sent all that it was given.
    free_at: Time,
    delay: Span,
    /// Packets in propagation that keep their order, with their departure times.
    ordered: Timeline,
    path: Path,
    /// Departures not yet added to [`Counts`].
    departed: u16,
    knows_ahead: bool,
    observers: Observers,
    cold: Box<Cold>,
}

const _: () = assert!(size_of::<Hop>() <= 56);

/// The parts of a hop that most packets do not need.
#[derive(Debug)]
struct Cold {
    service: Service,
    server: Server,
    counts: Counts,
    impairments: Option<Impairments>,
    /// Delays of packets, if the hop records them.
    delays: Option<Delays>,
}

/// Counts since the run began. The order of fields keeps `given` and `given_bytes` apart, so that
/// the compiler does not merge them into a vector, which would cost more.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Packets given to the link.
    given: u64,
    arrivals: u64,
    departures: u64,
    /// Bytes given to the link.
    given_bytes: u64,
}

impl Cold {
    /// Gives a packet to the link, behind those that wait in order. Returns the time at which it
    /// will have been sent, `None` if the discipline drops it.
    #[inline(always)]
    fn serve_in_order(
        &mut self,
        free_at: &mut Time,
        now: Time,
        (id, size): (PacketId, u16),
        context: &mut Context<'_>,
    ) -> Option<Time> {
        let Service::InOrder(line) = &mut self.service else {
            unreachable!("other services give the link its packets themselves");
        };
        let done = line.pass((&mut self.server, free_at), now, (id, size), context)?;
        self.counts.given += 1;
        self.counts.given_bytes += u64::from(size);
        Some(done)
    }
}

impl Hop {
    /// Makes an empty hop.
    pub fn new(
        discipline: Discipline,
        link: Box<dyn Link>,
        impairments: Vec<Box<dyn Impairment>>,
        delay: Span,
    ) -> Self {
        let service = match discipline {
            Discipline::DropTail(admission) => {
                let fits_below = admission.fits_below();
                Service::InOrder(InOrder::new(Box::new(admission), fits_below))
            }
            Discipline::InOrder(admission) => Service::InOrder(InOrder::new(admission, 0)),
            Discipline::Scheduled(queue) => Service::Scheduled(Scheduled {
                queue,
                serving: None,
                wake: Time::NEVER,
            }),
            Discipline::Cells(cells) => Service::Cells(CellService::new(cells)),
        };
        Hop::with(service, link, impairments, delay)
    }

    /// Makes an empty hop that contends for a medium. The medium serves its packets instead of the
    /// link.
    pub fn contending(
        discipline: Discipline,
        (contender, link): (ContenderId, Box<dyn Link>),
        impairments: Vec<Box<dyn Impairment>>,
        delay: Span,
    ) -> Self {
        let service = Service::Contending(Contending::new(discipline, contender));
        Hop::with(service, link, impairments, delay)
    }

    fn with(
        service: Service,
        link: Box<dyn Link>,
        impairments: Vec<Box<dyn Impairment>>,
        delay: Span,
    ) -> Self {
        let impairments = (!impairments.is_empty()).then(|| Impairments::new(impairments));
        let server = Server::new(link);
        let judges_after = impairments
            .as_ref()
            .is_some_and(|all| !all.after.is_empty());
        Hop {
            free_at: Time::ZERO,
            delay,
            ordered: Timeline::default(),
            path: Path::new(&service, &server, impairments.is_some()),
            departed: 0,
            knows_ahead: matches!(service, Service::InOrder(_)) && !judges_after,
            observers: Observers::All,
            cold: Box::new(Cold {
                service,
                server,
                counts: Counts::default(),
                impairments,
                delays: None,
            }),
        }
    }

    /// Returns the number of bytes that a hop takes in addition to its own size, at least.
    pub const fn boxed() -> usize {
        size_of::<Cold>()
    }

    /// True if the departure times and the order of packets are settled at arrival, and nothing
    /// that comes later changes them.
    #[inline]
    pub const fn knows_ahead(&self) -> bool {
        self.knows_ahead
    }

    /// Returns the propagation delay: the shortest time from arrival to departure.
    pub const fn delay(&self) -> Span {
        self.delay
    }

    /// Records that only one flow can observe when the driver takes a packet from here, so that the
    /// driver need not wait; `alone` if only that flow uses the hop, too. Has no effect unless the
    /// hop [knows ahead](Hop::knows_ahead). This belongs to the driver and is stored here because
    /// the driver has the hop at hand.
    pub const fn mark_private(&mut self, alone: bool) {
        if self.knows_ahead {
            self.observers = if alone {
                Observers::OneFlow
            } else {
                Observers::OneFlowFromHere
            };
        }
    }
    /// True if [`Hop::mark_private`] was called and had an effect.
    #[inline]
    pub const fn is_private(&self) -> bool {
        !matches!(self.observers, Observers::All)
    }
    /// True if the hop [is private](Hop::is_private) and others use it, too.
    #[inline]
    pub const fn is_last_shared(&self) -> bool {
        matches!(self.observers, Observers::OneFlowFromHere)
    }

    /// Returns the counts of each class of its queue; none if the queue has no classes.
    pub fn classes(&self) -> Vec<(&'static str, ClassCounts)> {
        match &self.cold.service {
            Service::Scheduled(scheduled) => scheduled.queue.classes(),
            Service::Contending(contending) => contending.classes(),
            Service::InOrder(_) | Service::Cells(_) => Vec::new(),
        }
    }

    /// Takes in a packet of `size` bytes at `now`. Releases it at once if it is certain to be the
    /// next to leave, and by `until`. Without `until`, keeps it.
    #[inline(never)] // inlined, it would slow down packets that find the link idle
    pub fn handle_packet(
        &mut self,
        now: Time,
        (id, size): (PacketId, u16),
        until: Option<Time>,
        context: &mut Context<'_>,
    ) -> Arrival {
        if let Path::Reference = self.path {
            self.handle_by_stages(now, id, context)
        } else {
            self.handle_in_order(now, (id, size), until, context)
        }
    }

    /// The reference path: through the impairments before the queue, then into the queue; a
    /// duplicate follows its original.
    #[inline(never)]
    fn handle_by_stages(&mut self, now: Time, id: PacketId, context: &mut Context<'_>) -> Arrival {
        self.cold.counts.arrivals += 1;
        self.catch_up(now, context);
        let [first, copy] = match &mut self.cold.impairments {
            Some(all) => judge(&mut all.before, &mut all.duplicates, now, id, context).0,
            None => [Some(id), None],
        };
        if let Some(id) = first {
            self.enqueue(now, id, context);
        }
        if let Some(id) = copy {
            self.catch_up(now, context); // the service of the first may have taken no time
            self.enqueue(now, id, context);
        }
        if matches!(self.cold.service, Service::Contending(_)) {
            return Arrival::Kept(Time::NEVER); // `complete_exchange` returns the time
        }
        Arrival::Kept(self.next_departure())
    }

    /// Queues or drops a packet. An idle link begins to serve it.
    fn enqueue(&mut self, now: Time, id: PacketId, context: &mut Context<'_>) {
        match &mut self.cold.service {
            Service::InOrder(_) => self.enqueue_in_order(now, id, context),
            Service::Scheduled(scheduled) => {
                if let Some(delays) = &mut self.cold.delays {
                    let class = scheduled.queue.class(&context.packets[id]);
                    delays.note_arrival(now, id, class);
                }
                scheduled
                    .queue
                    .enqueue(now, id, scheduled.in_service(), context);
                if scheduled.serving.is_none() {
                    self.serve(now, context);
                }
            }
            Service::Contending(contending) => contending.enqueue(now, id, context),
            Service::Cells(cells) => {
                if let Some(delays) = &mut self.cold.delays {
                    delays.note_arrival(now, id, "");
                }
                cells.enqueue(now, id, context);
                self.complete_cells(now, context);
            }
        }
    }

    /// [`Hop::enqueue`] with a discipline that keeps the order, where the time at which the packet
    /// will have been sent is known at once.
    fn enqueue_in_order(&mut self, now: Time, id: PacketId, context: &mut Context<'_>) {
        let Packet { size, flow, .. } = context.packets[id];
        let start = now.max(self.free_at);
        let Some(done) = self
            .cold
            .serve_in_order(&mut self.free_at, now, (id, size), context)
        else {
            return;
        };
        if let Some(delays) = &mut self.cold.delays {
            delays.note(now, start, flow);
        }
        match &mut self.cold.impairments {
            Some(impairments) if !impairments.after.is_empty() => {
                impairments.unjudged.push_back(id, context.packets);
            }
            _ => self
                .ordered
                .push_back(done + self.delay, id, context.packets),
        }
    }

    /// Gives the idle link the packet that the queue chooses at `start`, if there is one. If the
    /// queue holds its packets back, asks it again when it is ready.
    fn serve(&mut self, start: Time, context: &mut Context<'_>) {
        let Cold {
            service: Service::Scheduled(scheduled),
            server,
            counts,
            delays,
            ..
        } = &mut *self.cold
        else {
            return;
        };
        let Some(id) = scheduled.queue.dequeue(start, context) else {
            scheduled.wake = scheduled.queue.ready_at();
            return;
        };
        if let Some(delays) = delays {
            delays.note_service(start, id, context.packets);
        }
        let bytes = context.packets[id].bytes();
        let done = server.serve(&mut self.free_at, start, bytes);
        counts.given += 1;
        counts.given_bytes += bytes.0;
        scheduled.serving = Some((done, id, Backlog { packets: 1, bytes }));
    }

    /// Completes every service due by `now`, each at its own time.
    pub fn catch_up(&mut self, now: Time, context: &mut Context<'_>) {
        self.flush_counters();
        match &mut self.cold.service {
            Service::InOrder(line) if self.knows_ahead => line.complete_due(now, self.free_at),
            Service::InOrder(_) => self.complete_in_order(now, context),
            Service::Scheduled(_) => self.complete_scheduled(now, context),
            Service::Cells(_) => self.complete_cells(now, context),
            Service::Contending(_) => {} // the medium decides
        }
    }

    #[inline(never)]
    fn complete_in_order(&mut self, now: Time, context: &mut Context<'_>) {
        while let Cold {
            service: Service::InOrder(line),
            impairments: Some(impairments),
            ..
        } = &mut *self.cold
            && line.is_busy()
            && line.serving.done <= now
        {
            let done = line.serving.done;
            line.complete();
            if let Some(id) = impairments.unjudged.pop_front(context.packets) {
                self.depart(done, id, context);
            }
        }
    }

    #[inline(never)]
    fn complete_scheduled(&mut self, now: Time, context: &mut Context<'_>) {
        while let Service::Scheduled(scheduled) = &mut self.cold.service
            && let Some(at) = scheduled.next_action()
            && at <= now
        {
            scheduled.wake = Time::NEVER;
            if let Some((_, id, _)) = scheduled.serving.take() {
                self.depart(at, id, context);
            }
            self.serve(at, context);
        }
    }

    /// Starts the propagation delay of a packet sent at `done`, if the impairments after the link
    /// let it pass.
    fn depart(&mut self, done: Time, id: PacketId, context: &mut Context<'_>) {
        let at = done + self.delay;
        let Some(impairments) = &mut self.cold.impairments else {
            return self.ordered.push_back(at, id, context.packets);
        };
        let (copies, (extra, overtaking)) = judge(
            &mut impairments.after,
            &mut impairments.duplicates,
            done,
            id,
            context,
        );
        for id in copies.into_iter().flatten() {
            impairments.append(
                &mut self.ordered,
                (at + extra, overtaking),
                id,
                context.packets,
            );
        }
    }

    /// Hands over the next packet if it leaves by `until`. A hop that [knows
    /// ahead](Hop::knows_ahead) may be asked for packets that leave later than now.
    #[inline]
    pub fn poll_transmit(&mut self, until: Time, context: &mut Context<'_>) -> Departure {
        if self.knows_ahead {
            self.poll_ahead(until, context.packets)
        } else {
            self.poll_by_stages(until, context)
        }
    }

    #[inline(never)]
    fn poll_by_stages(&mut self, until: Time, context: &mut Context<'_>) -> Departure {
        self.catch_up(until, context);
        let packet = self.pop_overtakable(until).or_else(|| {
            let at = self.ordered.first_at();
            let id = (at <= until).then(|| self.ordered.pop_front(context.packets))?;
            id.map(|id| (at, id))
        });
        self.cold.counts.departures += u64::from(packet.is_some());
        Departure {
            packet,
            not_before: self.next_departure(),
        }
    }

    /// Returns the first packet that may be overtaken, if it leaves by `until` and not after the
    /// first packet that keeps its order.
    fn pop_overtakable(&mut self, until: Time) -> Option<(Time, PacketId)> {
        let ordered = self.ordered.first_at();
        let impairments = self.cold.impairments.as_mut()?;
        let next = impairments.next_overtakable();
        if next > until || next > ordered {
            return None;
        }
        impairments
            .overtakable
            .pop()
            .map(|Reverse((at, _, id))| (at, id))
    }

    /// Returns the time at which the next packet leaves. With an impairment after the link (loss,
    /// jitter), it is a lower bound.
    fn next_departure(&self) -> Time {
        if self.knows_ahead {
            return self.ordered.first_at();
        }
        let sent = self
            .cold
            .service
            .next_completion()
            .map_or(Time::NEVER, |done| done + self.delay);
        let overtakable = self
            .cold
            .impairments
            .as_ref()
            .map_or(Time::NEVER, |impairments| impairments.next_overtakable());
        self.ordered.first_at().min(sent).min(overtakable)
    }

    /// Returns the counts since the run began. Counts of service are up to the last
    /// [`Hop::catch_up`].
    pub fn counters(&self) -> HopCounters {
        let Cold {
            service,
            counts,
            impairments,
            ..
        } = &*self.cold;
        let unsent = service.unsent();
        HopCounters {
            arrivals: counts.arrivals + u64::from(self.path.passed()),
            served: counts.given - unsent.packets,
            served_bytes: Bytes(counts.given_bytes) - unsent.bytes,
            departures: counts.departures + u64::from(self.departed),
            duplicates: impairments.as_ref().map_or(0, |all| all.duplicates),
        }
    }

    /// Returns the packets that wait in the queue, without the one in service.
    pub fn backlog(&self) -> Backlog {
        self.cold.service.waiting()
    }

    /// Returns the packet in service: one or none.
    pub fn in_service(&self) -> Backlog {
        self.cold.service.in_service()
    }

    /// Returns the queue's limit in packets at `now`, if the queue adapts it. The hop must have
    /// [caught up](Hop::catch_up) to `now`.
    pub fn limit(&self, now: Time) -> Option<f64> {
        self.cold.service.limit(now, self.free_at)
    }

    /// Returns the time for which the link has been busy up to `now`, which is not before the last
    /// [`Hop::catch_up`]. A service that never ends does not count. A hop that contends is busy
    /// while it has a packet to send.
    pub fn busy(&self, now: Time) -> Span {
        if let Service::Contending(contending) = &self.cold.service {
            return contending.busy(now);
        }
        let busy = self.cold.server.busy(now, self.free_at);
        debug_assert!(
            busy <= now.since(Time::ZERO),
            "a link is busy no longer than time has passed"
        );
        busy
    }

    /// Returns the bytes that the link has sent up to `at` beyond the integral of its rate; zero
    /// unless [`Hop::keep_excess`] was called before the run.
    pub fn excess(&self, at: Time) -> f64 {
        self.cold.server.excess(at)
    }

    /// Makes the link record what [`Hop::excess`] needs.
    pub fn keep_excess(&mut self) {
        self.cold.server.keep_excess();
    }

    /// Counts the packets inside one by one: queued, in service or in propagation.
    pub fn inside(&self, packets: &PacketPool) -> u64 {
        let impaired = self.cold.impairments.as_ref().map_or(0, |impairments| {
            impairments.unjudged.count(packets) + impairments.overtakable.len() as u64
        });
        self.cold.service.held() + impaired + self.ordered.count(packets)
    }

    /// Returns the number of packets inside, of which arrivals and duplicates leave as many as have
    /// neither departed nor been dropped.
    ///
    /// # Panics
    /// If they do not.
    pub fn check_conservation(&self, drops: u64, packets: &PacketPool) -> u64 {
        let (counters, inside) = (self.counters(), self.inside(packets));
        assert_eq!(
            counters.arrivals + counters.duplicates,
            counters.departures + drops + inside,
            "packets are conserved"
        );
        inside
    }
}

#[cfg(test)]
mod tests;
