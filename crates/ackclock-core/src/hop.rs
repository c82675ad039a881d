//! A hop: impairments, queue, link, propagation delay. One element, driven by a clock that jumps or by one that
//! sleeps and wakes late; it takes the same decisions to the nanosecond, because it acts at scheduled times.
//!
//! Service completions need no event of their own. Behind a discipline that keeps the order of arrival, the link is asked at
//! arrival when the packet will have been sent; other disciplines catch up one completion at a time, each at the moment it
//! should have happened, whenever somebody touches the hop. A driver comes back for [`Hop::poll_transmit`], when the next packet leaves.

use crate::impairment::Impairment;
use crate::link::Link;
use crate::medium::Seat;
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, Packet, PacketId, PacketPool, Timeline};
use crate::queue::Discipline;
use crate::units::{Bytes, Span, Time};
use contending::Contending;
use impaired::{Impairments, judge};
use service::{InOrder, Scheduled, Sending, Server, Service};
use std::cmp::Reverse;

mod contending;
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

/// What leaves a hop: the next packet and when, if it has left; and when to ask again, [`Time::NEVER`] if there is nothing to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The packet, and the moment it left.
    pub packet: Option<(Time, PacketId)>,
    /// Nothing (more) leaves before that moment.
    pub not_before: Time,
}

/// See the module. What nearly every packet needs is here, in 56 bytes, so that a driver with tens of thousands of hops finds it in
/// one cache line; all else is one step further.
#[derive(Debug)]
pub struct Hop {
    /// When the link will have sent all it has been given.
    free_at: Time,
    delay: Span,
    /// Packets on their way over the propagation delay that keep their order, and when they leave.
    ordered: Timeline,
    /// Packets that have passed the idle link, and those that have left however they came, since [`Hop::settle`] wrote both where they belong.
    /// `passed` is [`CLOSED`] where more matters to a packet than its size.
    passed: u32,
    departed: u32,
    /// How many nanoseconds the link takes for a packet of `size`.
    whole: u32,
    size: u16,
    knows_ahead: bool,
    followed: bool,
    rest: Box<Rest>,
}

const _: () = assert!(size_of::<Hop>() <= 56);

/// No packet passes any more.
const CLOSED: u32 = u32::MAX;

/// What is not needed for nearly every packet.
#[derive(Debug)]
struct Rest {
    service: Service,
    server: Server,
    counts: Counts,
    impairments: Option<Impairments>,
    /// Drop-tail that lets at least one packet in, a constant link, no impairments: what finds the link idle may pass.
    plain: bool,
    /// Impairments, or a discipline that observes services: there is more to do than to ask and to give.
    elaborate: bool,
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

impl Hop {
    /// A hop with nothing in it.
    pub fn new(
        discipline: Discipline,
        link: Box<dyn Link>,
        impairments: Vec<Box<dyn Impairment>>,
        delay: Span,
    ) -> Self {
        let (service, fits_below) = match discipline {
            Discipline::DropTail(admission) => {
                let fits_below = admission.fits_below();
                let line = InOrder::new(Box::new(admission), fits_below);
                (Service::InOrder(line), fits_below)
            }
            Discipline::InOrder(admission) => (Service::InOrder(InOrder::new(admission, 0)), 0),
            Discipline::Scheduled(queue) => (Service::Scheduled(Scheduled { queue, serving: None }), 0),
        };
        Hop::with((service, fits_below), link, impairments, delay)
    }

    /// A hop with nothing in it that contends for a medium. Nobody is served by the link.
    pub fn contending(
        discipline: Discipline,
        (seat, link): (Seat, Box<dyn Link>),
        impairments: Vec<Box<dyn Impairment>>,
        delay: Span,
    ) -> Self {
        let service = Service::Contending(Contending::new(discipline, seat));
        Hop::with((service, 0), link, impairments, delay)
    }

    fn with(
        (service, fits_below): (Service, u64),
        link: Box<dyn Link>,
        impairments: Vec<Box<dyn Impairment>>,
        delay: Span,
    ) -> Self {
        let impairments = (!impairments.is_empty()).then(|| Impairments::new(impairments));
        let server = Server::new(link);
        let plain = fits_below > 0 && server.is_constant() && impairments.is_none();
        let judges_after = impairments.as_ref().is_some_and(|all| !all.after.is_empty());
        let observed = matches!(&service, Service::InOrder(line) if line.is_observed());
        Hop {
            free_at: Time::ZERO,
            delay,
            ordered: Timeline::default(),
            passed: if plain { 0 } else { CLOSED },
            departed: 0,
            whole: 0,
            size: 0,
            knows_ahead: matches!(service, Service::InOrder(_)) && !judges_after,
            followed: false,
            rest: Box::new(Rest {
                service,
                server,
                counts: Counts::default(),
                elaborate: impairments.is_some() || observed,
                impairments,
                plain,
            }),
        }
    }

    /// Whether it is settled at arrival when and in what order packets leave: nothing that comes later changes it.
    #[inline]
    pub const fn knows_ahead(&self) -> bool {
        self.knows_ahead
    }

    /// The propagation delay: nothing leaves sooner after it has come.
    pub const fn delay(&self) -> Span {
        self.delay
    }

    /// The driver's note that nobody can tell when it takes what leaves here, so that it need not wait; only if the hop
    /// [knows ahead](Hop::knows_ahead). Kept here because that is what the driver has at hand.
    pub const fn follow(&mut self) {
        self.followed = self.knows_ahead;
    }
    /// See [`Hop::follow`].
    #[inline]
    pub const fn is_followed(&self) -> bool {
        self.followed
    }

    /// Whether more of a packet may matter here than its size.
    #[inline(always)]
    pub const fn looks_at_packets(&self) -> bool {
        self.passed == CLOSED
    }

    /// [`Hop::handle_packet`] for a packet that finds the link idle, if nothing else matters: nearly always, and then the packet itself is not
    /// looked at. `None` if it has to be, and nothing has happened.
    #[inline(always)] // once for each hop on a packet's way: the call would cost as much as the work
    pub fn pass_idle(
        &mut self,
        now: Time,
        (id, size): (PacketId, u16),
        until: Option<Time>,
        packets: &mut PacketPool,
    ) -> Option<Arrival> {
        if self.free_at >= now || size != self.size || self.passed == CLOSED {
            return None;
        }
        self.passed += 1;
        let done = now + Span::from_nanos(self.whole.into());
        self.free_at = done;
        let at = done + self.delay;
        if until.is_some_and(|until| at <= until) && self.ordered.is_empty() && self.departed != u32::MAX {
            self.departed += 1;
            return Some(Arrival::Released(at));
        }
        self.ordered.push_back(at, id, packets);
        Some(Arrival::Kept(at))
    }

    /// A packet of `size` bytes has come to the hop at `now`. If it is known already to be the next to leave, and by `until`, it is released at
    /// once; without `until` it is kept.
    #[inline(never)] // and would be in the way of those that find the link idle
    pub fn handle_packet(
        &mut self,
        now: Time,
        (id, size): (PacketId, u16),
        until: Option<Time>,
        context: &mut Context<'_>,
    ) -> Arrival {
        if self.passed != 0 {
            self.settle();
        }
        self.rest.counts.arrivals += 1;
        if self.rest.elaborate || !matches!(self.rest.service, Service::InOrder(_)) {
            return self.handle_otherwise(now, id, context);
        }
        let Some(done) = self.pass(now, (id, size), context) else {
            return Arrival::Kept(Time::NEVER);
        };
        let at = done + self.delay;
        if until.is_some_and(|until| at <= until) && self.ordered.is_empty() {
            self.rest.counts.departures += 1;
            return Arrival::Released(at);
        }
        self.ordered.push_back(at, id, context.packets);
        Arrival::Kept(at)
    }

    /// Takes a packet into a line that keeps the order of arrival, and gives it to the link: when it will have been sent, `None` if it has been
    /// dropped.
    #[inline(always)]
    fn pass(&mut self, now: Time, (id, size): (PacketId, u16), context: &mut Context<'_>) -> Option<Time> {
        let rest = &mut *self.rest;
        let Service::InOrder(line) = &mut rest.service else {
            return None;
        };
        let done = line.pass((&mut rest.server, &mut self.free_at), now, (id, size), context)?;
        rest.counts.given += 1;
        rest.counts.given_bytes += u64::from(size);
        if size != self.size && rest.plain {
            self.learn_size(size);
        }
        Some(done)
    }

    /// From now on packets of `size`, the size given to the link last, may pass if they find it idle; if one takes too long to note, none may.
    #[inline(never)]
    fn learn_size(&mut self, size: u16) {
        if let Some(whole) = self.rest.server.whole_nanos(size) {
            (self.size, self.whole) = (size, whole);
        } else {
            self.rest.plain = false;
            self.passed = CLOSED;
        }
    }

    /// Writes down where it belongs what [`Hop::pass_idle`] and [`Hop::poll_transmit`] have counted.
    fn settle(&mut self) {
        let rest = &mut *self.rest;
        rest.counts.departures += u64::from(std::mem::take(&mut self.departed));
        if !rest.plain || self.passed == 0 {
            return;
        }
        let passed = u64::from(std::mem::take(&mut self.passed));
        rest.counts.arrivals += passed;
        rest.counts.given += passed;
        rest.counts.given_bytes += passed * u64::from(self.size);
        rest.server
            .note_idle(self.free_at, passed * u64::from(self.whole));
        if let Service::InOrder(line) = &mut rest.service {
            line.note_last(Sending {
                done: self.free_at,
                size: self.size,
            });
        }
    }

    /// The packet that leaves next, as far as the order is kept: for a driver that fetches ahead.
    #[inline(always)]
    pub fn first<'a>(&self, packets: &'a PacketPool) -> Option<&'a Packet> {
        self.ordered.front(packets)
    }
    /// The packet that leaves last, behind which the next will be put.
    #[inline(always)]
    pub fn last<'a>(&self, packets: &'a PacketPool) -> Option<&'a Packet> {
        self.ordered.back(packets)
    }

    /// What leaves next, if it leaves by `until`. A hop that [knows ahead](Hop::knows_ahead) may be asked for what leaves later than now.
    #[inline]
    pub fn poll_transmit(&mut self, until: Time, context: &mut Context<'_>) -> Departure {
        if self.knows_ahead {
            self.poll_ahead(until, context.packets)
        } else {
            self.poll_otherwise(until, context)
        }
    }

    /// [`Hop::poll_transmit`] of a hop that [knows ahead](Hop::knows_ahead).
    #[inline(always)]
    pub fn poll_ahead(&mut self, until: Time, packets: &mut PacketPool) -> Departure {
        debug_assert!(self.knows_ahead);
        let at = self.ordered.first_at();
        if at > until {
            return Departure {
                packet: None,
                not_before: at,
            };
        }
        if self.departed == u32::MAX {
            self.settle();
        }
        let packet = self.ordered.pop_front(packets).map(|id| (at, id));
        self.departed += u32::from(packet.is_some());
        Departure {
            packet,
            not_before: self.ordered.first_at(),
        }
    }

    /// What [`Hop::poll_transmit`] answers where it is not known ahead.
    #[inline(never)]
    fn poll_otherwise(&mut self, until: Time, context: &mut Context<'_>) -> Departure {
        self.catch_up(until, context);
        let packet = self.pop_overtakable(until).or_else(|| {
            let at = self.ordered.first_at();
            let id = (at <= until).then(|| self.ordered.pop_front(context.packets))?;
            id.map(|id| (at, id))
        });
        self.rest.counts.departures += u64::from(packet.is_some());
        Departure {
            packet,
            not_before: self.next_departure(),
        }
    }

    /// The first of those that may be overtaken, if it arrives by `until` and not after the first of those that keep their order.
    fn pop_overtakable(&mut self, until: Time) -> Option<(Time, PacketId)> {
        let ordered = self.ordered.first_at();
        let impairments = self.rest.impairments.as_mut()?;
        let next = impairments.next_overtakable();
        if next > until || next > ordered {
            return None;
        }
        impairments.overtakable.pop().map(|Reverse((at, _, id))| (at, id))
    }

    /// When the next packet leaves. With an impairment behind the link (loss, jitter), it is a lower bound.
    fn next_departure(&self) -> Time {
        if self.knows_ahead {
            return self.ordered.first_at();
        }
        let serving = match &self.rest.service {
            Service::InOrder(line) => line.is_busy().then_some(line.serving.done),
            Service::Scheduled(scheduled) => scheduled.serving.map(|(done, ..)| done),
            Service::Contending(_) => None,
        };
        let sent = serving.map_or(Time::NEVER, |done| done + self.delay);
        let overtakable = self
            .rest
            .impairments
            .as_ref()
            .map_or(Time::NEVER, |impairments| impairments.next_overtakable());
        self.ordered.first_at().min(sent).min(overtakable)
    }

    /// Completes every service due by `now`, each at its own time.
    pub fn catch_up(&mut self, now: Time, context: &mut Context<'_>) {
        self.settle();
        match &mut self.rest.service {
            Service::InOrder(line) if self.knows_ahead && line.is_observed() => line.complete_all(now),
            Service::InOrder(line) if self.knows_ahead => line.catch_up(now, self.free_at),
            Service::InOrder(_) => self.complete_unjudged(now, context),
            Service::Scheduled(_) => self.complete_scheduled(now, context),
            Service::Contending(_) => {} // the medium says when
        }
    }

    /// Counts since the run began, those of service up to the last [`Hop::catch_up`].
    pub fn counters(&self) -> HopCounters {
        let Rest {
            service,
            counts,
            impairments,
            plain,
            ..
        } = &*self.rest;
        let passed = if *plain { self.passed.into() } else { 0 };
        let unsent = match service {
            Service::InOrder(line) if line.is_busy() => Backlog {
                packets: line.unsent.into(),
                bytes: line.waiting().bytes + Bytes(line.serving.size.into()),
            },
            Service::InOrder(_) => Backlog::default(),
            Service::Scheduled(scheduled) => scheduled.serving.map_or_else(Backlog::default, |(.., one)| one),
            Service::Contending(_) => Backlog::default(),
        };
        HopCounters {
            arrivals: counts.arrivals + passed,
            served: counts.given - unsent.packets,
            served_bytes: Bytes(counts.given_bytes) - unsent.bytes,
            departures: counts.departures + u64::from(self.departed),
            duplicates: impairments.as_ref().map_or(0, |all| all.duplicates),
        }
    }
    /// What waits in the queue, the packet in service not counted.
    pub fn backlog(&self) -> Backlog {
        match &self.rest.service {
            Service::InOrder(line) => line.waiting(),
            Service::Scheduled(scheduled) => scheduled.queue.backlog(),
            Service::Contending(contending) => contending.backlog(),
        }
    }
    /// The queue's limit in packets, if it is one that moves: at `now`, up to which the hop has [caught up](Hop::catch_up).
    pub fn limit(&self, now: Time) -> Option<f64> {
        match &self.rest.service {
            Service::InOrder(line) => line.limit(now, self.free_at),
            Service::Scheduled(_) => None,
            Service::Contending(contending) => contending.limit(now),
        }
    }
    /// The packet in service: one or none.
    pub fn in_service(&self) -> Backlog {
        match &self.rest.service {
            Service::InOrder(line) if line.is_busy() => Backlog {
                packets: 1,
                bytes: Bytes(line.serving.size.into()),
            },
            Service::InOrder(_) => Backlog::default(),
            Service::Scheduled(scheduled) => scheduled.serving.map_or_else(Backlog::default, |(.., one)| one),
            Service::Contending(contending) => contending.in_service(),
        }
    }
    /// Time the link has been busy up to `now`, which is not before the last [`Hop::catch_up`]. A service that never ends does not count. Who contends is busy
    /// as long as there is something to send.
    pub fn busy(&self, now: Time) -> Span {
        if let Service::Contending(contending) = &self.rest.service {
            return contending.busy(now);
        }
        let given = self.rest.server.given;
        if self.free_at.is_never() {
            given
        } else {
            given - self.free_at.since(now)
        }
    }
    /// Packets inside: queued, in service or travelling; counted one by one.
    pub fn inside(&self, packets: &PacketPool) -> u64 {
        let waiting = match &self.rest.service {
            Service::InOrder(_) => 0,
            Service::Scheduled(scheduled) => {
                scheduled.queue.backlog().packets + u64::from(scheduled.serving.is_some())
            }
            Service::Contending(contending) => contending.backlog().packets + contending.in_service().packets,
        };
        let impaired = self.rest.impairments.as_ref().map_or(0, |impairments| {
            impairments.unjudged.count(packets) + impairments.overtakable.len() as u64
        });
        waiting + impaired + self.ordered.count(packets)
    }

    /// A packet has come to an elaborate hop, or to a discipline that decides when the link asks.
    #[inline(never)]
    fn handle_otherwise(&mut self, now: Time, id: PacketId, context: &mut Context<'_>) -> Arrival {
        self.catch_up(now, context);
        let copies = match &mut self.rest.impairments {
            Some(all) => judge(&mut all.before, &mut all.duplicates, now, id, context).0,
            None => [Some(id), None],
        };
        let [first, copy] = copies;
        if let Some(id) = first {
            self.enqueue(now, id, context);
        }
        if let Some(id) = copy {
            self.catch_up(now, context); // the first may have taken no time
            self.enqueue(now, id, context);
        }
        if matches!(self.rest.service, Service::Contending(_)) {
            return Arrival::Kept(Time::NEVER); // see `take_request`
        }
        Arrival::Kept(self.next_departure())
    }

    fn enqueue(&mut self, now: Time, id: PacketId, context: &mut Context<'_>) {
        match &mut self.rest.service {
            Service::InOrder(_) => {}
            Service::Scheduled(_) => return self.enqueue_scheduled(now, id, context),
            Service::Contending(contending) => return contending.enqueue(now, id, context),
        }
        let size = context.packets[id].size;
        let Some(done) = self.pass(now, (id, size), context) else {
            return;
        };
        match &mut self.rest.impairments {
            Some(impairments) if !impairments.after.is_empty() => {
                impairments.unjudged.push_back(id, context.packets);
            }
            _ => self.ordered.push_back(done + self.delay, id, context.packets),
        }
    }

    #[inline(never)]
    fn complete_unjudged(&mut self, now: Time, context: &mut Context<'_>) {
        while let Rest {
            service: Service::InOrder(line),
            impairments: Some(impairments),
            ..
        } = &mut *self.rest
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

    /// A packet has been sent at `done`: past the impairments behind the link and on its way.
    fn depart(&mut self, done: Time, id: PacketId, context: &mut Context<'_>) {
        let at = done + self.delay;
        let Some(impairments) = &mut self.rest.impairments else {
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
            impairments.append(&mut self.ordered, (at + extra, overtaking), id, context.packets);
        }
    }

    fn enqueue_scheduled(&mut self, now: Time, id: PacketId, context: &mut Context<'_>) {
        if let Service::Scheduled(scheduled) = &mut self.rest.service {
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
        while let Service::Scheduled(scheduled) = &mut self.rest.service
            && let Some((done, id, _)) = scheduled.serving
            && done <= now
        {
            scheduled.serving = None;
            self.depart(done, id, context);
            self.start_scheduled(done, context);
        }
    }

    /// Where the hop contends, if it does.
    pub fn seat(&self) -> Option<Seat> {
        match &self.rest.service {
            Service::Contending(contending) => Some(contending.seat),
            _ => None,
        }
    }

    /// The size of a packet that has come to an empty line and that its medium has not been told of yet. To be asked after each packet for a hop that has
    /// a [seat](Hop::seat).
    pub fn take_request(&mut self) -> Option<(Seat, Bytes)> {
        match &mut self.rest.service {
            Service::Contending(contending) => contending.take_request(),
            _ => None,
        }
    }

    /// What stands at the head of a contending hop's line is over at `now`: sent, or given up by the medium. When the hop is to be polled, and the
    /// size of the packet behind, if there is one.
    pub fn conclude(&mut self, now: Time, sent: bool, context: &mut Context<'_>) -> (Time, Option<Bytes>) {
        let Rest {
            service: Service::Contending(contending),
            counts,
            ..
        } = &mut *self.rest
        else {
            return (Time::NEVER, None);
        };
        let over = contending.conclude(now, sent);
        let following = contending.serve_next(now, context);
        match over {
            Some(id) if sent => {
                counts.given += 1;
                counts.given_bytes += context.packets[id].bytes().0;
                self.depart(now, id, context);
            }
            Some(id) => context.drop_packet(now, id, DropReason::Retries),
            None => {}
        }
        (self.next_departure(), following)
    }

    fn start_scheduled(&mut self, start: Time, context: &mut Context<'_>) {
        let Rest {
            service: Service::Scheduled(scheduled),
            server,
            counts,
            ..
        } = &mut *self.rest
        else {
            return;
        };
        let Some(id) = scheduled.queue.dequeue(start, context) else {
            return;
        };
        let bytes = context.packets[id].bytes();
        let done = server.serve(&mut self.free_at, start, bytes);
        counts.given += 1;
        counts.given_bytes += bytes.0;
        scheduled.serving = Some((done, id, Backlog { packets: 1, bytes }));
    }
}

#[cfg(test)]
mod tests;
