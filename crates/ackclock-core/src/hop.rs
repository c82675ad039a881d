//! A hop: impairments, queue, link, propagation delay. One element, driven by a clock that jumps or by one that
//! sleeps and wakes late; it takes the same decisions to the nanosecond, because it acts at scheduled times.
//!
//! Service completions need no event of their own. Behind a discipline that keeps the order of arrival, the link is asked at
//! arrival when the packet will have been sent; other disciplines catch up one completion at a time, each at the moment it
//! should have happened, whenever somebody touches the hop. A driver comes back for [`Hop::poll_transmit`], when the next packet leaves.

use crate::impairment::{Impairment, Overtaking, Side, Verdict};
use crate::link::Link;
use crate::link::constant::ConstantLink;
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, Chain, PacketId, PacketPool};
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

/// The impairments, and what there is to remember on their account.
#[derive(Debug, Default)]
struct Impairments {
    before: Vec<Box<dyn Impairment>>,
    after: Vec<Box<dyn Impairment>>,
    /// Packets that are to be judged when they have been sent.
    unjudged: Chain,
    /// Packets on their way that may be overtaken: (arrival, tie-break, packet).
    overtakable: BinaryHeap<Reverse<(Time, u64, PacketId)>>,
    serial: u64,
    /// The latest arrival of those that keep their order.
    last: Time,
    duplicates: u64,
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

/// Behind a discipline that keeps the order: what the link has been given and has not sent at the last catching up. With tens of
/// thousands of hops every cache line counts, and at most of them nothing waits: what is needed only then is elsewhere.
#[derive(Debug)]
struct InOrder {
    /// The packet in service, if there is one.
    serving: Sending,
    /// How many are waiting or in service.
    unsent: u32,
    /// With fewer unsent packets than this the discipline need not be asked: it admits.
    fits_below: u32,
    line: Box<Line>,
}

/// Who decides who may wait, and those who do.
#[derive(Debug)]
struct Line {
    admission: Box<dyn Admission>,
    waiting: VecDeque<Sending>,
    bytes: u64,
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
fn append(ordered: &mut Chain, at: Time, id: PacketId, packets: &mut PacketPool) {
    packets[id].at = at;
    ordered.push_back(id, packets);
}

impl Impairments {
    /// Puts a packet on its way that has been judged.
    fn append(
        &mut self,
        ordered: &mut Chain,
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
        let done = match &mut self.link {
            Serving::Constant(link) => link.finish(start, size),
            Serving::Other(_) if start.is_never() => Time::NEVER,
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

    /// Takes a packet in and gives it to the link: when it will have been sent, `None` if it has been dropped.
    #[inline(always)]
    fn pass(
        &mut self,
        server: &mut Server,
        now: Time,
        (id, size): (PacketId, u16),
        context: &mut Context<'_>,
    ) -> Option<Time> {
        let free_at = server.free_at;
        self.catch_up(now, free_at);
        if self.unsent >= self.fits_below && !self.ask(now, id, free_at, context) {
            return None;
        }
        let done = server.serve(now.max(free_at), Bytes(size.into()));
        let sending = Sending { done, size };
        if self.unsent == 0 {
            self.serving = sending;
        } else {
            self.line.waiting.push_back(sending);
            self.line.bytes += u64::from(size);
        }
        self.unsent += 1;
        Some(done)
    }

    /// Not inlined, so that what a call through a pointer needs in memory stays off the common way.
    #[inline(never)]
    fn ask(&mut self, now: Time, id: PacketId, free_at: Time, context: &mut Context<'_>) -> bool {
        let occupancy = self.occupancy(now, free_at);
        self.line.admission.admit(now, id, &occupancy, context)
    }

    const fn is_busy(&self) -> bool {
        self.unsent > 0
    }

    #[inline(always)]
    fn waiting(&self) -> Backlog {
        Backlog {
            packets: self.unsent.saturating_sub(1).into(),
            bytes: Bytes(self.line.bytes),
        }
    }

    /// The packet in service has been sent: the next one's turn.
    #[inline]
    fn advance(&mut self) {
        self.unsent -= 1;
        if let Some(next) = self.line.waiting.pop_front() {
            self.line.bytes -= u64::from(next.size);
            self.serving = next;
        }
    }

    /// Lets go what has been sent by `now`, when nobody is to judge it.
    #[inline(always)]
    fn catch_up(&mut self, now: Time, free_at: Time) {
        if free_at <= now {
            // All of it: no need to look at each.
            if self.unsent > 1 {
                self.line.waiting.clear();
                self.line.bytes = 0;
            }
            self.unsent = 0;
        } else {
            // The last one is done at `free_at`, so this ends, and with the link busy.
            while self.serving.done <= now {
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

type Lateness = (Span, Overtaking);

/// Shows a packet to the impairments in their order: what is left of it (none, one or two), and how much later it arrives.
fn judge(
    impairments: &mut [Box<dyn Impairment>],
    duplicates: &mut u64,
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
                *duplicates += 1;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impairment::ImpairmentKind;
    use crate::link::LinkKind;
    use crate::observe::Observer;
    use crate::packet::{Fifo, FlowId, Packet, PacketKind, PacketPool};
    use crate::queue::QueueKind;
    use crate::registry::{self, Place};
    use crate::scenario::files::NoFiles;
    use crate::streams::Streams;
    use crate::units::BitRate;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// A hop as a scenario would describe it.
    #[derive(Clone, Debug)]
    struct Description {
        link: Value,
        queue: Value,
        impairments: Vec<Value>,
        delay: Span,
    }

    impl Description {
        fn new(link: Value, queue: Value, impairments: Vec<Value>, delay: Span) -> Self {
            Description {
                link,
                queue,
                impairments,
                delay,
            }
        }
        fn link(&self) -> Box<dyn Link> {
            let streams = &Streams::new(1, 0);
            let link = registry::choose::<LinkKind>(&self.link, &NoFiles).unwrap();
            link.build(Place {
                streams,
                name: "hop/test/link",
            })
        }
        fn impairments(&self) -> Vec<Box<dyn Impairment>> {
            let streams = &Streams::new(1, 0);
            let build = |(index, tree): (usize, &Value)| {
                let chosen = registry::choose::<ImpairmentKind>(tree, &NoFiles).unwrap();
                chosen.build(Place {
                    streams,
                    name: &format!("hop/test/impairment/{index}"),
                })
            };
            self.impairments.iter().enumerate().map(build).collect()
        }
        fn build(&self) -> Hop {
            let streams = &Streams::new(1, 0);
            let queue = registry::choose::<QueueKind>(&self.queue, &NoFiles).unwrap();
            let queue = queue.build(Place {
                streams,
                name: "hop/test/queue",
            });
            Hop::new(queue, self.link(), self.impairments(), self.delay)
        }
    }

    fn constant(rate: &str) -> Value {
        json!({ "kind": "constant", "rate": rate })
    }
    fn droptail(limit: &str, counts: bool) -> Value {
        json!({ "kind": "droptail", "limit": limit, "counts_packet_in_service": counts })
    }

    #[derive(Debug, Default, PartialEq)]
    struct Drops(Vec<(Time, u64, DropReason)>);
    impl Observer for Drops {
        fn dropped(&mut self, now: Time, packet: &Packet, reason: DropReason) {
            self.0.push((now, packet.sequence, reason));
        }
        fn marked(&mut self, _now: Time, _packet: &Packet) {}
    }

    /// (when, size)
    type Arrivals = Vec<(Time, u16)>;

    /// A hop under test, what has left it (when, which) and what it has dropped.
    struct Bench {
        hop: Hop,
        pool: PacketPool,
        drops: Drops,
        departures: Vec<(Time, u64)>,
        /// When to come back.
        alarm: Time,
    }

    impl Bench {
        fn new(hop: Hop) -> Self {
            Bench {
                hop,
                pool: PacketPool::new(),
                drops: Drops::default(),
                departures: Vec::new(),
                alarm: Time::NEVER,
            }
        }
        fn context<'a>(pool: &'a mut PacketPool, drops: &'a mut Drops) -> Context<'a> {
            Context {
                packets: pool,
                observer: drops,
            }
        }
        fn arrive(&mut self, now: Time, sequence: u64, size: u16) {
            let packet = Packet::new(PacketKind::Data, FlowId(0), sequence, size, now);
            let id = self.pool.insert(packet);
            let mut context = Self::context(&mut self.pool, &mut self.drops);
            match self.hop.handle_packet(now, (id, size), Time::ZERO, &mut context) {
                Arrival::Kept(until) => self.alarm = self.alarm.min(until),
                Arrival::Released(at) => panic!("released at {at:?} though nobody asked"),
            }
            self.hop
                .catch_up(now, &mut Self::context(&mut self.pool, &mut self.drops));
            self.check(now);
        }
        /// Takes out all that has left by `now`.
        fn take(&mut self, now: Time) {
            loop {
                let mut context = Self::context(&mut self.pool, &mut self.drops);
                let (at, id) = match self.hop.poll_transmit(now, &mut context) {
                    Departure::Packet(at, id) => (at, id),
                    Departure::NotBefore(next) => {
                        self.alarm = next;
                        break;
                    }
                };
                let packet = self.pool[id];
                assert!(at == packet.at && at <= now, "it is there when it is taken out");
                self.departures.push((packet.at, packet.sequence));
                self.pool.remove(id);
                self.check(now);
            }
        }
        fn wake(&self) -> Time {
            self.alarm
        }
        /// Packets are conserved, and the packets of the pool are the ones inside.
        fn check(&self, now: Time) {
            let counters = self.hop.counters();
            let drops = self.drops.0.len() as u64;
            assert_eq!(
                counters.arrivals + counters.duplicates,
                counters.departures + drops + self.hop.inside(),
                "conservation at {now:?}"
            );
            assert_eq!(self.pool.live() as u64, self.hop.inside());
            assert_eq!(counters.departures, self.departures.len() as u64);
            assert!(self.hop.busy(now) <= now.since(Time::ZERO));
        }
    }

    /// Drives a hop until nothing more will happen, waking up late by `lateness` (in turn). Without lateness: the clock that jumps.
    /// `at_each` is called after every event.
    fn drive(
        description: &Description,
        arrivals: &Arrivals,
        lateness: &[Span],
        at_each: impl FnMut(&Bench, Time),
    ) -> Bench {
        drive_hop(description.build(), arrivals, lateness, at_each)
    }

    fn drive_hop(
        hop: Hop,
        arrivals: &Arrivals,
        lateness: &[Span],
        mut at_each: impl FnMut(&Bench, Time),
    ) -> Bench {
        let mut bench = Bench::new(hop);
        let mut coming = (0..).zip(arrivals).peekable();
        let mut late = lateness.iter().cycle();
        loop {
            let next = coming.peek().map_or(Time::NEVER, |(_, (at, _))| *at);
            let due = next.min(bench.wake());
            if due.is_never() {
                let end = Time::from_nanos(u64::MAX - 1);
                bench
                    .hop
                    .catch_up(end, &mut Bench::context(&mut bench.pool, &mut bench.drops));
                return bench;
            }
            let now = due + late.next().copied().unwrap_or_default();
            // What came meanwhile, each at its own time; then what is due.
            while let Some((sequence, (at, size))) = coming.next_if(|(_, (at, _))| *at <= now) {
                bench.arrive(*at, sequence, *size);
                at_each(&bench, *at);
            }
            let taken = bench.departures.len();
            bench.take(now);
            let on_time = bench.departures[taken..].iter().all(|(at, _)| *at == now);
            assert!(
                on_time || !lateness.is_empty(),
                "who comes when asked to misses nothing"
            );
            at_each(&bench, now);
        }
    }

    fn jump(description: &Description, arrivals: &Arrivals) -> Bench {
        drive(description, arrivals, &[], |_, _| {})
    }

    /// So many packets of 1500 bytes at once.
    fn burst(n: usize) -> Arrivals {
        vec![(Time::ZERO, 1500); n]
    }

    fn links() -> impl Strategy<Value = Value> {
        prop_oneof![
            (1_u64..100).prop_map(|mbit| constant(&format!("{mbit} Mbit/s"))),
            Just(
                json!({ "kind": "markov", "rates": ["20 Mbit/s", "1 Mbit/s", "0 bit/s"], "mean_sojourn": "2 ms" })
            ),
            Just(
                json!({ "kind": "markov", "rates": ["20 Mbit/s", "1 Mbit/s"], "mean_sojourn": "9 ms", "step": "3 ms" })
            ),
        ]
    }
    fn queues() -> impl Strategy<Value = Value> {
        let limits = prop_oneof![
            (0..20_u32).prop_map(|n| format!("{n} packets")),
            (0..30_000_u32).prop_map(|n| format!("{n} bytes")),
            (0..20_u32).prop_map(|n| format!("{n} ms")),
            Just("unlimited".to_owned()),
        ];
        (limits, any::<bool>()).prop_map(|(limit, counts)| droptail(&limit, counts))
    }
    fn impairments(with_reordering: bool) -> impl Strategy<Value = Vec<Value>> {
        let sides = || prop_oneof![Just("before_queue"), Just("after_link")];
        let orders = if with_reordering {
            prop_oneof![Just("allowed"), Just("forbidden")].boxed()
        } else {
            Just("forbidden").boxed()
        };
        let one = prop_oneof![
            (0..=100_u32, sides()).prop_map(
                |(p, side)| json!({ "kind": "iid_loss", "probability": format!("{p} %"), "side": side })
            ),
            sides().prop_map(
                |side| json!({ "kind": "gilbert_elliott", "good_to_bad": "10 %", "bad_to_good": "30 %",
                "side": side })
            ),
            (0..=100_u32, sides()).prop_map(
                |(p, side)| json!({ "kind": "duplicate", "probability": format!("{p} %"), "side": side })
            ),
            (0..=5_u32, orders).prop_map(|(ms, order)| json!({ "kind": "jitter", "reordering": order,
                "distribution": { "kind": "uniform", "maximum": format!("{ms} ms") } })),
        ];
        prop::collection::vec(one, 0..4)
    }
    fn hops(with_reordering: bool) -> impl Strategy<Value = Description> {
        let delays = prop_oneof![Just(Span::ZERO), (0..20_000_u64).prop_map(Span::from_micros)];
        (links(), queues(), impairments(with_reordering), delays)
            .prop_map(|(link, queue, impairments, delay)| Description::new(link, queue, impairments, delay))
    }
    /// Bursts and pauses.
    fn arrivals() -> impl Strategy<Value = Arrivals> {
        let gap = prop_oneof![3 => Just(0_u64), 3 => 0..500_000_u64, 1 => 0..20_000_000_u64];
        prop::collection::vec((gap, 40..1501_u16), 0..80).prop_map(|gaps| {
            let mut at = Time::ZERO;
            let arrive = |(gap, size)| {
                at = at + Span::from_nanos(gap);
                (at, size)
            };
            gaps.into_iter().map(arrive).collect()
        })
    }

    /// First in, first out with room for so many packets, as a discipline that decides when the link asks.
    #[derive(Debug)]
    struct Shelf(Fifo, u64);
    impl Queue for Shelf {
        fn enqueue(&mut self, now: Time, id: PacketId, in_service: Backlog, context: &mut Context<'_>) {
            if in_service.packets > 0 && self.0.backlog().packets >= self.1 {
                context.drop_packet(now, id, DropReason::QueueFull);
            } else {
                self.0.push_back(id, context.packets);
            }
        }
        fn dequeue(&mut self, _now: Time, context: &mut Context<'_>) -> Option<PacketId> {
            self.0.pop_front(context.packets)
        }
        fn backlog(&self) -> Backlog {
            self.0.backlog()
        }
    }

    proptest! {
        /// A discipline that decides when the link asks, but keeps the order, is served like one that decides on arrival: the two ways
        /// through a hop give the same departures, drops and counts, under a punctual and under a late clock.
        #[test]
        fn both_ways_through_a_hop_agree(
            hop in hops(true),
            limit in 0_u64..20,
            arrivals in arrivals(),
            lateness in prop::collection::vec(0..30_000_000_u64, 1..20),
        ) {
            let hop = Description { queue: droptail(&format!("{limit} packets"), false), ..hop };
            let lateness: Vec<Span> = lateness.into_iter().map(Span::from_nanos).collect();
            let in_order = jump(&hop, &arrivals);
            let scheduled = || Hop::new(Discipline::Scheduled(Box::new(Shelf(Fifo::default(), limit))), hop.link(), hop.impairments(), hop.delay);
            for lateness in [&[][..], &lateness] {
                let other = drive_hop(scheduled(), &arrivals, lateness, |_, _| {});
                prop_assert_eq!(&in_order.drops, &other.drops);
                prop_assert_eq!(&in_order.departures, &other.departures);
                prop_assert_eq!(in_order.hop.counters(), other.hop.counters());
            }
        }

        /// Conservation (checked at every event by the bench); whatever came has left or was dropped in the end.
        #[test]
        fn packets_are_conserved(hop in hops(true), arrivals in arrivals()) {
            let bench = jump(&hop, &arrivals);
            let counters = bench.hop.counters();
            prop_assert_eq!(bench.hop.inside(), 0);
            prop_assert_eq!(counters.arrivals, arrivals.len() as u64);
            prop_assert_eq!(bench.drops.0.len() as u64 + counters.departures, counters.arrivals + counters.duplicates);
        }

        /// One element, two clocks: who wakes up late sees the same departures and drops, to the nanosecond.
        #[test]
        fn a_late_clock_changes_nothing(
            hop in hops(true),
            arrivals in arrivals(),
            lateness in prop::collection::vec(prop_oneof![Just(0_u64), 0..100_000_u64, 0..30_000_000_u64], 1..20),
        ) {
            let lateness: Vec<Span> = lateness.into_iter().map(Span::from_nanos).collect();
            let (jumping, sleeping) = (jump(&hop, &arrivals), drive(&hop, &arrivals, &lateness, |_, _| {}));
            prop_assert_eq!(jumping.drops, sleeping.drops);
            prop_assert_eq!(jumping.departures, sleeping.departures);
            prop_assert_eq!(jumping.hop.counters(), sleeping.hop.counters());
        }

        /// Nothing leaves before it can have been sent and have travelled; without reordering, in the order of arrival.
        #[test]
        fn causes_come_before_effects_and_order_is_kept(hop in hops(false), arrivals in arrivals()) {
            let mut last_polled = Time::ZERO;
            let bench = drive(&hop, &arrivals, &[], |_, now| {
                assert!(now >= last_polled, "time is monotone");
                last_polled = now;
            });
            let fastest = match hop.link["rate"].as_str() {
                Some(rate) => BitRate::from_mbit_per_s(rate.trim_end_matches(" Mbit/s").parse().unwrap()),
                None => BitRate::from_mbit_per_s(20.0),
            };
            for (at, sequence) in &bench.departures {
                let (arrived, size) = arrivals[*sequence as usize];
                prop_assert!(*at >= arrived + fastest.serialization(Bytes(size.into())) + hop.delay);
            }
            prop_assert!(bench.departures.is_sorted(), "first in, first out");
        }

        /// The queue never holds more than its limit.
        #[test]
        fn the_limit_holds(mbit in 1_u64..100, limit in 0_u64..20, unit in 0..3_usize, counts: bool, arrivals in arrivals()) {
            let rate = BitRate::from_mbit_per_s(mbit as f64);
            let unit = ["packets", "kB", "ms"][unit];
            let hop = Description::new(
                constant(&format!("{mbit} Mbit/s")), droptail(&format!("{limit} {unit}"), counts), vec![], Span::ZERO,
            );
            drive(&hop, &arrivals, &[], |bench, now| {
                let mut held = bench.hop.backlog();
                if counts {
                    held.packets += bench.hop.in_service().packets;
                    held.bytes += bench.hop.in_service().bytes;
                }
                let within = match unit {
                    "packets" => held.packets <= limit,
                    "kB" => held.bytes <= Bytes(limit * 1000),
                    // What waits in front of the last packet is sent within the limit (and what is left of the one in service).
                    _ => {
                        let in_front = held.bytes.saturating_sub(Bytes(1500 * (1 + u64::from(counts))));
                        rate.serialization(in_front) <= Span::from_millis(limit)
                    }
                };
                assert!(within, "{held:?} at {now:?}");
            });
        }

        /// A link without pauses is busy whenever something is there: a burst leaves back to back.
        #[test]
        fn the_link_does_not_rest_while_there_is_work(sizes in prop::collection::vec(40..1501_u16, 1..50)) {
            let hop = Description::new(constant("8 Mbit/s"), droptail("unlimited", false), vec![], Span::from_millis(3));
            let burst: Arrivals = sizes.iter().map(|size| (Time::ZERO, *size)).collect();
            let bench = jump(&hop, &burst);
            let mut sent = 0;
            for ((at, _), size) in bench.departures.iter().zip(&sizes) {
                sent += u64::from(*size);
                prop_assert_eq!(*at, Time::from_nanos(sent * 1000 + 3_000_000));
            }
            prop_assert_eq!(bench.hop.busy(Time::NEVER), Span::from_nanos(sent * 1000));
            prop_assert_eq!(bench.hop.counters().served_bytes, Bytes(sent));
        }
    }

    #[test]
    fn a_link_that_is_down_for_ever_fills_the_queue_and_stays() {
        let hop = Description::new(
            constant("0 bit/s"),
            droptail("5 packets", false),
            vec![],
            Span::ZERO,
        );
        let mut bench = jump(&hop, &burst(10));
        assert!(bench.wake().is_never());
        assert_eq!((bench.hop.inside(), bench.drops.0.len()), (6, 4));
        bench.take(Time::from_seconds(3e9));
        assert!(bench.departures.is_empty());
    }

    #[test]
    fn a_queue_of_nothing_leaves_the_packet_in_service_or_nobody() {
        for (counts, served) in [(false, 1), (true, 0)] {
            let hop = Description::new(
                constant("1 Mbit/s"),
                droptail("0 packets", counts),
                vec![],
                Span::ZERO,
            );
            let bench = jump(&hop, &burst(5));
            assert_eq!(
                (bench.departures.len(), bench.drops.0.len()),
                (served, 5 - served)
            );
            assert!(
                bench
                    .drops
                    .0
                    .iter()
                    .all(|(.., reason)| *reason == DropReason::QueueFull)
            );
        }
    }

    #[test]
    fn without_delay_a_packet_leaves_when_it_has_been_sent() {
        let hop = Description::new(
            constant("12 Mbit/s"),
            droptail("9 packets", false),
            vec![],
            Span::ZERO,
        );
        let bench = jump(&hop, &burst(3));
        let expected = [1, 2, 3].map(|ms| Time::ZERO + Span::from_millis(ms));
        assert_eq!(
            bench.departures.iter().map(|(at, _)| *at).collect::<Vec<_>>(),
            expected
        );
    }

    #[test]
    fn what_is_lost_behind_the_link_has_used_it_and_before_the_queue_not() {
        for (side, served) in [("after_link", 3), ("before_queue", 0)] {
            let loss = json!({ "kind": "iid_loss", "probability": "100 %", "side": side });
            let hop = Description::new(
                constant("12 Mbit/s"),
                droptail("9 packets", false),
                vec![loss],
                Span::ZERO,
            );
            let bench = jump(&hop, &burst(3));
            assert_eq!((bench.departures.len(), bench.hop.counters().served), (0, served));
            assert_eq!(bench.hop.busy(Time::NEVER), Span::from_millis(served));
            let reasons: Vec<DropReason> = bench.drops.0.iter().map(|(.., reason)| *reason).collect();
            assert_eq!(reasons, [DropReason::Impairment; 3]);
        }
    }

    #[test]
    fn a_copy_follows_its_original_and_uses_the_link_if_made_before_it() {
        for (side, last) in [("before_queue", 4), ("after_link", 2)] {
            let copies = json!({ "kind": "duplicate", "probability": "100 %", "side": side });
            let hop = Description::new(
                constant("12 Mbit/s"),
                droptail("9 packets", false),
                vec![copies],
                Span::ZERO,
            );
            let bench = jump(&hop, &burst(2));
            assert_eq!(
                bench.departures.iter().map(|(_, n)| *n).collect::<Vec<_>>(),
                [0, 0, 1, 1]
            );
            assert_eq!(bench.departures[3].0, Time::ZERO + Span::from_millis(last));
            assert_eq!(bench.hop.counters().duplicates, 2);
        }
    }

    #[test]
    fn jitter_reorders_only_where_it_may() {
        let order = |reordering: &str| {
            let jitter = json!({ "kind": "jitter", "reordering": reordering,
                "distribution": { "kind": "exponential", "mean": "20 ms" } });
            let queue = droptail("unlimited", false);
            let hop = Description::new(constant("12 Mbit/s"), queue, vec![jitter], Span::from_millis(5));
            let bench = jump(&hop, &burst(100));
            assert!(bench.departures.is_sorted_by_key(|(at, _)| *at));
            bench.departures.iter().map(|(_, n)| *n).collect::<Vec<_>>()
        };
        assert!(order("forbidden").is_sorted());
        let mut allowed = order("allowed");
        assert!(!allowed.is_sorted());
        allowed.sort_unstable();
        assert!(allowed.into_iter().eq(0..100), "each once");
    }
}
