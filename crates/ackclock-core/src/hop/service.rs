//! Passes packets from the queue to the link.

use super::cells::CellService;
use super::contending::Contending;
use crate::link::Link;
use crate::link::constant::ConstantLink;
use crate::observe::Context;
use crate::packet::{Backlog, PacketId};
use crate::queue::{Admission, Occupancy, Queue};
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use std::collections::VecDeque;

/// A queue together with the service of its packets.
#[derive(Debug)]
pub(super) enum Service {
    InOrder(InOrder),
    Scheduled(Scheduled),
    Contending(Contending),
    Cells(CellService),
}

impl Service {
    /// Returns the time at which the packet in service will have been sent, if the link knows it,
    /// or a time before that.
    pub(super) fn next_completion(&self) -> Option<Time> {
        match self {
            Service::InOrder(line) => line.is_busy().then_some(line.serving.done),
            Service::Scheduled(scheduled) => scheduled.next_action(),
            Service::Contending(_) => None,
            Service::Cells(cells) => cells.next_action(),
        }
    }
    /// Returns the packets that wait, without the one in service.
    pub(super) fn waiting(&self) -> Backlog {
        match self {
            Service::InOrder(line) => line.waiting(),
            Service::Scheduled(scheduled) => scheduled.queue.backlog(),
            Service::Contending(contending) => contending.backlog(),
            Service::Cells(cells) => cells.backlog(),
        }
    }
    /// Returns the packet in service: one or none.
    pub(super) fn in_service(&self) -> Backlog {
        match self {
            Service::InOrder(line) => line.in_service(),
            Service::Scheduled(scheduled) => scheduled.in_service(),
            Service::Contending(contending) => contending.in_service(),
            Service::Cells(cells) => cells.in_service(),
        }
    }
    /// Returns the packets that the link has been given and has not sent.
    pub(super) fn unsent(&self) -> Backlog {
        match self {
            Service::InOrder(line) if line.is_busy() => Backlog {
                packets: line.unsent.into(),
                bytes: line.waiting().bytes + Bytes(line.serving.size.into()),
            },
            Service::InOrder(_) | Service::Contending(_) => Backlog::default(),
            Service::Scheduled(scheduled) => scheduled.in_service(),
            Service::Cells(cells) => cells.unsent(),
        }
    }
    /// Returns the number of packets held. `InOrder` holds none: the packets that it admitted are
    /// in propagation already.
    pub(super) fn held(&self) -> u64 {
        match self {
            Service::InOrder(_) => 0,
            _ => self.waiting().packets + self.in_service().packets,
        }
    }
    /// Returns the queue's limit in packets, if the queue adapts it.
    pub(super) fn limit(&self, now: Time, free_at: Time) -> Option<f64> {
        match self {
            Service::InOrder(line) => line.limit(now, free_at),
            Service::Scheduled(_) | Service::Cells(_) => None,
            Service::Contending(contending) => contending.limit(now),
        }
    }
}

/// The service of a packet: the time at which it will have been sent, and its size.
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

/// Service with a discipline that keeps the order: the packets that the link was given and had not
/// sent at the last catching up.
#[derive(Debug)]
pub(super) struct InOrder {
    /// The packet in service, if there is one.
    pub(super) serving: Sending,
    /// Number of packets waiting or in service.
    pub(super) unsent: u32,
    /// With fewer unsent packets than this, the discipline is certain to admit a packet and need
    /// not be asked.
    fits_below: u32,
    /// The discipline that admits packets, the packets that wait, and their bytes.
    admission: Box<dyn Admission>,
    waiting: VecDeque<Sending>,
    bytes: u64,
    /// True if every service is reported to the discipline; then, the time since which the packet
    /// in service has been the first.
    observed: bool,
    first_since: Time,
}

/// Service with a discipline that decides when the link asks.
#[derive(Debug)]
pub(super) struct Scheduled {
    pub(super) queue: Box<dyn Queue>,
    /// The packet in service: the time at which it will have been sent, and its size.
    pub(super) serving: Option<(Time, PacketId, Backlog)>,
    /// Time at which a queue that holds its packets back is asked again; meaningful while nothing
    /// is in service.
    pub(super) wake: Time,
}

impl Scheduled {
    pub(super) fn in_service(&self) -> Backlog {
        self.serving.map_or_else(Backlog::default, |(.., one)| one)
    }
    /// Returns the end of the service, or else the time at which the queue is asked again.
    pub(super) fn next_action(&self) -> Option<Time> {
        match self.serving {
            Some((done, ..)) => Some(done),
            None => (!self.wake.is_never()).then_some(self.wake),
        }
    }
}

/// The link, and the total service time of the packets that it was given, without waits.
#[derive(Debug)]
pub(super) struct Server {
    link: Serving,
    pub(super) given: Span,
    /// Start of a service that never ends. Everything given before has been sent by then.
    stuck_since: Time,
}

/// A constant link is called directly: almost every link is constant, and a call through a pointer
/// costs more than its division.
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

    /// Gives the link a packet and returns the time at which it will have been sent. A service that
    /// never ends adds nothing to `given`.
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

    /// Returns the time for which the link has been sending up to `now`.
    pub(super) fn busy(&self, now: Time, free_at: Time) -> Span {
        let ends = free_at.min(self.stuck_since);
        self.given - ends.since(now)
    }

    /// Returns the bytes that the link has sent up to `at` beyond the integral of its rate.
    pub(super) fn excess(&self, at: Time) -> f64 {
        match &self.link {
            Serving::Constant(_) => 0.0,
            Serving::Other(link) => link.excess(at),
        }
    }

    /// Makes the link record what [`Server::excess`] needs.
    pub(super) fn keep_excess(&mut self) {
        if let Serving::Other(link) = &mut self.link {
            link.keep_excess();
        }
    }

    /// True if the link has one rate for ever, above zero.
    pub(super) fn is_constant(&self) -> bool {
        matches!(&self.link, Serving::Constant(link) if link.rate(Time::ZERO) > BitRate::ZERO)
    }

    /// Returns the service time of a packet of `size` on an idle link in whole nanoseconds. `None`
    /// if the link is not constant or 32 bits are too few.
    pub(super) fn whole_nanos(&mut self, size: u16) -> Option<u32> {
        match &mut self.link {
            Serving::Constant(link) => link.whole_nanos(size.into()),
            Serving::Other(_) => None,
        }
    }

    /// Records that packets of the size last given to [`Server::whole_nanos`] passed the idle link.
    /// They took `nanos` in total, and the last one ended at `free_at`.
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

    /// Records that all unsent packets were sent, then one more was given to the idle link, and
    /// nothing since.
    pub(super) fn note_last(&mut self, last: Sending) {
        self.waiting.clear();
        self.bytes = 0;
        self.serving = last;
        self.unsent = 1;
    }

    /// Returns the occupancy that a packet finds now. A free link has sent all that it was given.
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

    /// Gives a packet to the link. Returns the time at which it will have been sent, `None` if it
    /// was dropped.
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

    /// Asks the discipline. Not inlined, so that the common path does not pay for the registers of
    /// a call through a pointer.
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
            self.first_since = now; // if it is admitted
        }
        self.admission.admit(now, id, &occupancy, context)
    }

    /// Returns the adapted limit at `now`, up to which the queue has caught up.
    pub(super) fn limit(&self, now: Time, free_at: Time) -> Option<f64> {
        self.admission.limit(now, self.occupancy(now, free_at).idle)
    }

    pub(super) const fn is_observed(&self) -> bool {
        self.observed
    }

    /// Completes one service and reports it to a discipline that observes services.
    pub(super) fn complete(&mut self) {
        let done = self.serving.done;
        if self.observed {
            self.admission.note_service(self.first_since, done);
        }
        self.first_since = done;
        self.advance();
    }

    /// Completes the services due by `now`, one by one only if the discipline observes them.
    pub(super) fn complete_due(&mut self, now: Time, free_at: Time) {
        if !self.observed {
            return self.catch_up(now, free_at);
        }
        while self.is_busy() && self.serving.done <= now {
            self.complete();
        }
    }

    /// True if the discipline admits every packet that finds the link idle.
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

    /// Removes the packet in service, which has been sent; the next one follows.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.unsent -= 1;
        if let Some(next) = self.waiting.pop_front() {
            self.bytes -= u64::from(next.size);
            self.serving = next;
        }
    }

    /// Removes the packets sent by `now`, when no impairment judges them.
    #[inline(always)]
    pub(super) fn catch_up(&mut self, now: Time, free_at: Time) {
        if free_at <= now {
            // All were sent, so a look at each is not needed.
            if self.unsent > 1 {
                self.waiting.clear();
                self.bytes = 0;
            }
            self.unsent = 0;
        } else {
            // The last one is done at `free_at`, so this ends with the link busy.
            while self.serving.done <= now {
                self.advance();
            }
        }
    }
}
