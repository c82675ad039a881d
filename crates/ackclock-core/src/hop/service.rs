//! How packets get from the queue to the link.

use super::contending::Contending;
use crate::link::Link;
use crate::link::constant::ConstantLink;
use crate::observe::Context;
use crate::packet::{Backlog, PacketId};
use crate::queue::{Admission, Occupancy, Queue};
use crate::units::{BitRate, Bytes, Span, Time};
use std::collections::VecDeque;

/// How packets get from the queue to the link.
#[derive(Debug)]
pub(super) enum Service {
    InOrder(InOrder),
    Scheduled(Scheduled),
    Contending(Contending),
}

impl Service {
    /// When the packet in service will have been sent, where the link tells.
    pub(super) fn next_completion(&self) -> Option<Time> {
        match self {
            Service::InOrder(line) => line.is_busy().then_some(line.serving.done),
            Service::Scheduled(scheduled) => scheduled.serving.map(|(done, ..)| done),
            Service::Contending(_) => None,
        }
    }
    /// What waits, the packet in service not counted.
    pub(super) fn waiting(&self) -> Backlog {
        match self {
            Service::InOrder(line) => line.waiting(),
            Service::Scheduled(scheduled) => scheduled.queue.backlog(),
            Service::Contending(contending) => contending.backlog(),
        }
    }
    /// The packet in service: one or none.
    pub(super) fn in_service(&self) -> Backlog {
        match self {
            Service::InOrder(line) => line.in_service(),
            Service::Scheduled(scheduled) => scheduled.in_service(),
            Service::Contending(contending) => contending.in_service(),
        }
    }
    /// What the link has been given and has not sent.
    pub(super) fn unsent(&self) -> Backlog {
        match self {
            Service::InOrder(line) if line.is_busy() => Backlog {
                packets: line.unsent.into(),
                bytes: line.waiting().bytes + Bytes(line.serving.size.into()),
            },
            Service::InOrder(_) | Service::Contending(_) => Backlog::default(),
            Service::Scheduled(scheduled) => scheduled.in_service(),
        }
    }
    /// How many packets the line holds. Of one that keeps the order none: those it has admitted are
    /// on their way already.
    pub(super) fn held(&self) -> u64 {
        match self {
            Service::InOrder(_) => 0,
            _ => self.waiting().packets + self.in_service().packets,
        }
    }
    /// The queue's limit in packets, if it is one that moves.
    pub(super) fn limit(&self, now: Time, free_at: Time) -> Option<f64> {
        match self {
            Service::InOrder(line) => line.limit(now, free_at),
            Service::Scheduled(_) => None,
            Service::Contending(contending) => contending.limit(now),
        }
    }
}

/// A packet's service: when it will have been sent, and its size.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sending {
    pub(super) done: Time,
    pub(super) size: u16,
}

impl Sending {
    fn backlog(self) -> Backlog {
        Backlog {
            packets: 1,
            bytes: Bytes(self.size.into()),
        }
    }
}

/// Behind a discipline that keeps the order: what the link has been given and has not sent at the
/// last catching up.
#[derive(Debug)]
pub(super) struct InOrder {
    /// The packet in service, if there is one.
    pub(super) serving: Sending,
    /// How many are waiting or in service.
    pub(super) unsent: u32,
    /// With fewer unsent packets than this the discipline need not be asked: it admits.
    fits_below: u32,
    /// Who decides who may wait, those who do, and their bytes.
    admission: Box<dyn Admission>,
    waiting: VecDeque<Sending>,
    bytes: u64,
    /// Whether the discipline is told of every service, and since when then the packet in service
    /// has been the first.
    observed: bool,
    first_since: Time,
}

/// Behind a discipline that decides when the link asks.
#[derive(Debug)]
pub(super) struct Scheduled {
    pub(super) queue: Box<dyn Queue>,
    /// The packet in service: when it will have been sent, and how much it is.
    pub(super) serving: Option<(Time, PacketId, Backlog)>,
}

impl Scheduled {
    pub(super) fn in_service(&self) -> Backlog {
        self.serving.map_or_else(Backlog::default, |(.., one)| one)
    }
}

/// The link, and how long it takes in all for what it has been given, waits not counted.
#[derive(Debug)]
pub(super) struct Server {
    link: Serving,
    pub(super) given: Span,
    /// When a service has begun that never ends: what was given before has been sent by then.
    stuck_since: Time,
}

/// Almost every link is constant, and calling it through a pointer costs more than its division.
#[derive(Debug)]
enum Serving {
    Constant(ConstantLink),
    Other(Box<dyn Link>),
}

impl Server {
    pub(super) fn new(link: Box<dyn Link>) -> Self {
        Server {
            link: link
                .as_constant()
                .map_or_else(|| Serving::Other(link), Serving::Constant),
            given: Span::ZERO,
            stuck_since: Time::NEVER,
        }
    }

    /// Gives the link a packet: when it will have been sent, and be free. What never will takes no
    /// time of `given`.
    #[inline(always)]
    pub(super) fn serve(&mut self, free_at: &mut Time, start: Time, size: Bytes) -> Time {
        let done = match &mut self.link {
            Serving::Constant(link) => link.finish(start, size),
            Serving::Other(_) if start.is_never() => Time::NEVER,
            Serving::Other(link) => link.finish(start, size),
        };
        debug_assert!(done >= start, "causality: a service ends after it starts");
        if !done.is_never() {
            self.given = self.given + (done - start);
        } else if self.stuck_since.is_never() {
            self.stuck_since = start;
        }
        *free_at = done;
        done
    }

    /// How long the link has been sending up to `now`, what ends later not counted.
    pub(super) fn busy(&self, now: Time, free_at: Time) -> Span {
        let ends = free_at.min(self.stuck_since);
        self.given - ends.since(now)
    }

    /// What the link has sent up to `at` beyond the integral of its rate, in bytes.
    pub(super) fn excess(&self, at: Time) -> f64 {
        match &self.link {
            Serving::Constant(_) => 0.0,
            Serving::Other(link) => link.excess(at),
        }
    }

    /// Has the link keep what [`Server::excess`] needs.
    pub(super) fn keep_excess(&mut self) {
        if let Serving::Other(link) = &mut self.link {
            link.keep_excess();
        }
    }

    /// Whether the link sends, and at one rate for ever.
    pub(super) fn is_constant(&self) -> bool {
        matches!(&self.link, Serving::Constant(link) if link.rate(Time::ZERO) > BitRate::ZERO)
    }

    /// How long a packet of `size` takes from an idle link in whole nanoseconds, if the link is
    /// constant and 32 bits hold it.
    pub(super) fn whole_nanos(&mut self, size: u16) -> Option<u32> {
        match &mut self.link {
            Serving::Constant(link) => link.whole_nanos(size.into()),
            Serving::Other(_) => None,
        }
    }

    /// Packets of the size that [`Server::whole_nanos`] was asked for have passed the idle link,
    /// for `nanos` in all, the last one until `free_at`.
    pub(super) fn note_idle(&mut self, free_at: Time, nanos: u64) {
        self.given = self.given + Span::from_nanos(nanos);
        if let Serving::Constant(link) = &mut self.link {
            link.note_idle(free_at);
        }
    }
}

impl InOrder {
    pub(super) fn new(admission: Box<dyn Admission>, fits_below: u64) -> Self {
        InOrder {
            serving: Sending::default(),
            unsent: 0,
            fits_below: u32::try_from(fits_below).unwrap_or(u32::MAX),
            observed: admission.observes_service(),
            admission,
            waiting: VecDeque::new(),
            bytes: 0,
            first_since: Time::ZERO,
        }
    }

    /// All that was unsent has been sent; then one more has been given to the idle link, and
    /// nothing since.
    pub(super) fn note_last(&mut self, last: Sending) {
        self.waiting.clear();
        self.bytes = 0;
        self.serving = last;
        self.unsent = 1;
    }

    /// What a packet finds that comes now. A link that is free has sent all it has been given.
    pub(super) fn occupancy(&self, now: Time, free_at: Time) -> Occupancy {
        if free_at <= now {
            return Occupancy {
                idle: now.since(free_at),
                ..Occupancy::default()
            };
        }
        Occupancy {
            waiting: self.waiting(),
            in_service: self.serving.backlog(),
            residual_service: self.serving.done.since(now),
            wait: free_at.since(now),
            idle: Span::ZERO,
        }
    }

    /// Takes a packet in and gives it to the link: when it will have been sent, `None` if it has
    /// been dropped.
    #[inline(always)]
    pub(super) fn pass(
        &mut self,
        (server, free_at): (&mut Server, &mut Time),
        now: Time,
        (id, size): (PacketId, u16),
        context: &mut Context<'_>,
    ) -> Option<Time> {
        self.catch_up(now, *free_at);
        if self.unsent >= self.fits_below && !self.ask(now, id, *free_at, context) {
            return None;
        }
        let done = server.serve(free_at, now.max(*free_at), Bytes(size.into()));
        let sending = Sending { done, size };
        if self.unsent == 0 {
            self.serving = sending;
        } else {
            self.waiting.push_back(sending);
            self.bytes += u64::from(size);
        }
        self.unsent += 1;
        Some(done)
    }

    /// Not inlined, so that what a call through a pointer needs in memory stays off the common way.
    #[inline(never)]
    pub(super) fn ask(
        &mut self,
        now: Time,
        id: PacketId,
        free_at: Time,
        context: &mut Context<'_>,
    ) -> bool {
        let occupancy = self.occupancy(now, free_at);
        if self.unsent == 0 {
            self.first_since = now; // if it may
        }
        self.admission.admit(now, id, &occupancy, context)
    }

    /// Where a limit that moves is at `now`, up to which the line has caught up.
    pub(super) fn limit(&self, now: Time, free_at: Time) -> Option<f64> {
        self.admission.limit(now, self.occupancy(now, free_at).idle)
    }

    pub(super) const fn is_observed(&self) -> bool {
        self.observed
    }

    /// Completes one service; the discipline hears of it if it observes services.
    pub(super) fn complete(&mut self) {
        let done = self.serving.done;
        if self.observed {
            self.admission.note_service(self.first_since, done);
        }
        self.first_since = done;
        self.advance();
    }

    /// Completes what is due by `now`, one by one only if the discipline observes that.
    pub(super) fn complete_due(&mut self, now: Time, free_at: Time) {
        if !self.observed {
            return self.catch_up(now, free_at);
        }
        while self.is_busy() && self.serving.done <= now {
            self.complete();
        }
    }

    /// Whether the discipline admits whoever finds the link idle.
    pub(super) const fn always_admits_one(&self) -> bool {
        self.fits_below > 0
    }

    pub(super) const fn is_busy(&self) -> bool {
        self.unsent > 0
    }

    pub(super) fn in_service(&self) -> Backlog {
        if self.is_busy() {
            self.serving.backlog()
        } else {
            Backlog::default()
        }
    }

    #[inline(always)]
    pub(super) fn waiting(&self) -> Backlog {
        Backlog {
            packets: self.unsent.saturating_sub(1).into(),
            bytes: Bytes(self.bytes),
        }
    }

    /// The packet in service has been sent: the next one's turn.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.unsent -= 1;
        if let Some(next) = self.waiting.pop_front() {
            self.bytes -= u64::from(next.size);
            self.serving = next;
        }
    }

    /// Lets go what has been sent by `now`, when nobody is to judge it.
    #[inline(always)]
    pub(super) fn catch_up(&mut self, now: Time, free_at: Time) {
        if free_at <= now {
            // All of it: no need to look at each.
            if self.unsent > 1 {
                self.waiting.clear();
                self.bytes = 0;
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
