//! A hop: impairments, queue, link, propagation delay. One element, driven by a clock that jumps or by one that
//! sleeps and wakes late; it takes the same decisions to the nanosecond, because it acts at scheduled times.
//!
//! Service completions need no event of their own. Behind a discipline that keeps the order of arrival, the link is asked at
//! arrival when the packet will have been sent; other disciplines catch up one completion at a time, each at the moment it
//! should have happened, whenever somebody touches the hop. A driver comes back for [`Hop::poll_timeout`], when the next packet leaves.

use crate::impairment::{Impairment, Overtaking, Side, Verdict};
use crate::link::Link;
use crate::link::constant::ConstantLink;
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, Fifo, PacketId, PacketPool};
use crate::queue::droptail::DropTail;
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
    ordered: Fifo,
    /// `served` is what the link has been given.
    counters: HopCounters,
    /// Most hops have none, and with tens of thousands of hops every cache line counts.
    impairments: Option<Box<Impairments>>,
}

/// The impairments, and what there is to remember on their account.
#[derive(Debug, Default)]
struct Impairments {
    before: Vec<Box<dyn Impairment>>,
    after: Vec<Box<dyn Impairment>>,
    /// Packets that are to be judged when they have been sent.
    unjudged: Fifo,
    /// Packets on their way that may be overtaken: (arrival, tie-break, packet).
    overtakable: BinaryHeap<Reverse<(Time, u64, PacketId)>>,
    serial: u64,
    /// The latest arrival of those that keep their order.
    last: Time,
}

/// How packets get from the queue to the link.
#[derive(Debug)]
enum Service {
    InOrder(InOrder),
    Scheduled(Box<Scheduled>),
}

/// A packet's service: when it will have been sent, and its size.
#[derive(Clone, Copy, Debug, Default)]
struct Sending {
    done: Time,
    size: u16,
}

/// Behind a discipline that keeps the order: what the link has been given and has not sent at the last catching up.
#[derive(Debug)]
struct InOrder {
    admission: Admitting,
    /// The packet in service, if the link is `busy`.
    serving: Sending,
    busy: bool,
    waiting: VecDeque<Sending>,
    waiting_bytes: u64,
}

/// Drop-tail stands at almost every hop, and calling it through a pointer costs more than its decision.
#[derive(Debug)]
enum Admitting {
    DropTail(DropTail),
    Other(Box<dyn Admission>),
}

/// Behind a discipline that decides when the link asks.
#[derive(Debug)]
struct Scheduled {
    queue: Box<dyn Queue>,
    serving: Option<(Time, PacketId, Backlog)>,
}

/// The link, and what it has been given.
#[derive(Debug)]
struct Server {
    link: Serving,
    /// When it will have sent all it has been given, and the time that takes in all, waits not counted.
    free_at: Time,
    given: Span,
}

/// Almost every link is constant, and calling it through a pointer costs more than its division.
#[derive(Debug)]
enum Serving {
    Constant(ConstantLink),
    Other(Box<dyn Link>),
}

/// Puts a packet on its way behind those that keep their order, which arrive no later than `at`.
#[inline(always)]
fn append(ordered: &mut Fifo, at: Time, id: PacketId, packets: &mut PacketPool) {
    packets[id].at = at;
    ordered.push_back(id, packets);
}

impl Impairments {
    /// Puts a packet on its way that has been judged.
    fn append(
        &mut self,
        ordered: &mut Fifo,
        (at, overtaking): (Time, Overtaking),
        id: PacketId,
        packets: &mut PacketPool,
    ) {
        match overtaking {
            Overtaking::Forbidden => {
                self.last = self.last.max(at);
                append(ordered, self.last, id, packets);
            }
            Overtaking::Allowed => {
                self.serial += 1;
                packets[id].at = at;
                self.overtakable.push(Reverse((at, self.serial, id)));
            }
        }
    }
    fn next_overtakable(&self) -> Time {
        self.overtakable
            .peek()
            .map_or(Time::NEVER, |Reverse((at, ..))| *at)
    }
}

impl Server {
    /// Gives the link a packet: when it will have been sent. What never will takes no time of `given`.
    #[inline(always)]
    fn serve(&mut self, start: Time, size: Bytes) -> Time {
        if start.is_never() {
            return Time::NEVER;
        }
        let done = match &mut self.link {
            Serving::Constant(link) => link.finish(start, size),
            Serving::Other(link) => link.finish(start, size),
        };
        debug_assert!(done >= start, "causality: a service ends after it starts");
        if !done.is_never() {
            self.given = self.given + (done - start);
        }
        self.free_at = done;
        done
    }
}

impl InOrder {
    /// What a packet finds that comes now. A link that is free has sent all it has been given.
    #[inline(always)]
    fn occupancy(&self, now: Time, free_at: Time) -> Occupancy {
        if free_at <= now {
            return Occupancy::default();
        }
        Occupancy {
            waiting: self.waiting(),
            in_service: Backlog {
                packets: 1,
                bytes: Bytes(self.serving.size.into()),
            },
            residual_service: self.serving.done.since(now),
            wait: free_at.since(now),
        }
    }

    /// Asks a discipline that is not drop-tail. Not inlined, so that what it needs in memory stays off the common way.
    #[inline(never)]
    fn admit(&mut self, now: Time, id: PacketId, free_at: Time, context: &mut Context<'_>) -> bool {
        let occupancy = self.occupancy(now, free_at);
        match &mut self.admission {
            Admitting::DropTail(_) => true,
            Admitting::Other(admission) => admission.admit(now, id, &occupancy, context),
        }
    }

    #[inline(always)]
    fn waiting(&self) -> Backlog {
        Backlog {
            packets: self.waiting.len() as u64,
            bytes: Bytes(self.waiting_bytes),
        }
    }

    /// The packet in service has been sent: the next one's turn.
    #[inline]
    fn advance(&mut self) {
        match self.waiting.pop_front() {
            Some(next) => {
                self.waiting_bytes -= u64::from(next.size);
                self.serving = next;
            }
            None => self.busy = false,
        }
    }

    /// Lets go what has been sent by `now`, when nobody is to judge it.
    #[inline(always)]
    fn catch_up(&mut self, now: Time, free_at: Time) {
        if free_at <= now {
            // All of it: no need to look at each.
            self.busy = false;
            self.waiting.clear();
            self.waiting_bytes = 0;
        } else {
            while self.busy && self.serving.done <= now {
                self.advance();
            }
        }
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
        let in_order = |admission| {
            Service::InOrder(InOrder {
                admission,
                serving: Sending::default(),
                busy: false,
                waiting: VecDeque::new(),
                waiting_bytes: 0,
            })
        };
        let service = match discipline {
            Discipline::DropTail(admission) => in_order(Admitting::DropTail(admission)),
            Discipline::InOrder(admission) => in_order(Admitting::Other(admission)),
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
            ordered: Fifo::default(),
            counters: HopCounters::default(),
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
        self.counters.arrivals += 1;
        if self.impairments.is_none() {
            self.enqueue(now, (id, size), until, context)
        } else {
            self.handle_impaired(now, (id, size), until, context)
        }
    }

    /// What leaves next, if it leaves by `until`. A hop that [knows ahead](Hop::knows_ahead) may be asked for what leaves later than now.
    #[inline(always)]
    pub fn poll_transmit(&mut self, until: Time, context: &mut Context<'_>) -> Departure {
        if !self.knows_ahead() {
            self.catch_up(until, context);
            if let Some(id) = self.pop_overtakable(until, context) {
                self.counters.departures += 1;
                return Departure::Packet(context.packets[id].at, id);
            }
        }
        let Some(id) = self.ordered.front() else {
            return Departure::NotBefore(self.next_departure(Time::NEVER));
        };
        let at = context.packets[id].at;
        if at > until {
            return Departure::NotBefore(self.next_departure(at));
        }
        self.ordered.pop_front(context.packets);
        self.counters.departures += 1;
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
            Service::InOrder(line) => line.busy.then_some(line.serving.done),
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
            Service::InOrder(line) if line.busy => Backlog {
                packets: 1 + line.waiting.len() as u64,
                bytes: Bytes(line.waiting_bytes + u64::from(line.serving.size)),
            },
            Service::InOrder(_) => Backlog::default(),
            Service::Scheduled(scheduled) => scheduled.serving.map_or_else(Backlog::default, |(.., one)| one),
        };
        HopCounters {
            served: self.counters.served - unsent.packets,
            served_bytes: self.counters.served_bytes - unsent.bytes,
            ..self.counters
        }
    }
    /// What waits in the queue, the packet in service not counted.
    pub fn backlog(&self) -> Backlog {
        match &self.service {
            Service::InOrder(line) => line.waiting(),
            Service::Scheduled(scheduled) => scheduled.queue.backlog(),
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
            impairments.unjudged.backlog().packets + impairments.overtakable.len() as u64
        });
        waiting + impaired + self.ordered.backlog().packets
    }

    /// Past the impairments in front of the queue.
    #[inline(never)]
    fn handle_impaired(
        &mut self,
        now: Time,
        (id, size): (PacketId, u16),
        until: Time,
        context: &mut Context<'_>,
    ) -> Arrival {
        self.catch_up(now, context);
        let copies = match &mut self.impairments {
            Some(impairments) if !impairments.before.is_empty() => {
                judge(&mut impairments.before, &mut self.counters, now, id, context).0
            }
            _ => return self.enqueue(now, (id, size), until, context),
        };
        for id in copies.into_iter().flatten() {
            let size = context.packets[id].size;
            self.enqueue(now, (id, size), Time::ZERO, context);
        }
        Arrival::Kept(self.next_departure(self.next_ordered(context)))
    }

    #[inline(always)]
    fn enqueue(
        &mut self,
        now: Time,
        (id, size): (PacketId, u16),
        until: Time,
        context: &mut Context<'_>,
    ) -> Arrival {
        if self.judges_after() {
            self.complete_unjudged(now, context);
        }
        let Service::InOrder(line) = &mut self.service else {
            return self.enqueue_scheduled(now, id, context);
        };
        let free_at = self.server.free_at;
        line.catch_up(now, free_at);
        let admitted = match &line.admission {
            Admitting::DropTail(admission) => {
                admission.fits(Bytes(size.into()), &line.occupancy(now, free_at))
            }
            Admitting::Other(_) => line.admit(now, id, free_at, context),
        };
        if !admitted {
            if matches!(line.admission, Admitting::DropTail(_)) {
                context.drop_packet(now, id, DropReason::QueueFull);
            }
            return Arrival::Kept(Time::NEVER);
        }
        let done = self.server.serve(now.max(free_at), Bytes(size.into()));
        self.counters.served += 1;
        self.counters.served_bytes += Bytes(size.into());
        let sending = Sending { done, size };
        if line.busy {
            line.waiting.push_back(sending);
            line.waiting_bytes += u64::from(size);
        } else {
            line.serving = sending;
            line.busy = true;
        }
        let first = line.serving.done;
        if let Some(impairments) = &mut self.impairments
            && !impairments.after.is_empty()
        {
            impairments.unjudged.push_back(id, context.packets);
            return Arrival::Kept(first + self.delay);
        }
        let at = done + self.delay;
        if at <= until && self.ordered.is_empty() {
            self.counters.departures += 1;
            return Arrival::Released(at);
        }
        append(&mut self.ordered, at, id, context.packets);
        Arrival::Kept(at)
    }

    #[inline(never)]
    fn complete_unjudged(&mut self, now: Time, context: &mut Context<'_>) {
        while let Service::InOrder(line) = &mut self.service
            && let Some(impairments) = &mut self.impairments
            && line.busy
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
        let (copies, (extra, overtaking)) =
            judge(&mut impairments.after, &mut self.counters, done, id, context);
        for id in copies.into_iter().flatten() {
            impairments.append(&mut self.ordered, (at + extra, overtaking), id, context.packets);
        }
    }

    #[inline(never)]
    fn enqueue_scheduled(&mut self, now: Time, id: PacketId, context: &mut Context<'_>) -> Arrival {
        self.complete_scheduled(now, context);
        if let Service::Scheduled(scheduled) = &mut self.service {
            let in_service = scheduled
                .serving
                .map_or_else(Backlog::default, |(.., backlog)| backlog);
            scheduled.queue.enqueue(now, id, in_service, context);
            if scheduled.serving.is_none() {
                self.start_scheduled(now, context);
            }
        }
        Arrival::Kept(self.next_departure(self.next_ordered(context)))
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
        self.counters.served += 1;
        self.counters.served_bytes += bytes;
        scheduled.serving = Some((done, id, Backlog { packets: 1, bytes }));
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
