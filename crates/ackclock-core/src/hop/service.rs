//! How packets get from the queue to the link.

use crate::link::Link;
use crate::link::constant::ConstantLink;
use crate::observe::Context;
use crate::packet::{Backlog, PacketId};
use crate::queue::{Admission, Occupancy, Queue};
use crate::units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// How packets get from the queue to the link.
#[derive(Debug)]
pub(super) enum Service {
    InOrder(InOrder),
    Scheduled(Box<Scheduled>),
}

/// A packet's service: when it will have been sent, and its size.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sending {
    pub(super) done: Time,
    pub(super) size: u16,
}

/// Behind a discipline that keeps the order: what the link has been given and has not sent at the last catching up. With tens of
/// thousands of hops every cache line counts, and at most of them nothing waits: what is needed only then is elsewhere.
#[derive(Debug)]
pub(super) struct InOrder {
    /// The packet in service, if there is one.
    pub(super) serving: Sending,
    /// How many are waiting or in service.
    pub(super) unsent: u32,
    /// With fewer unsent packets than this the discipline need not be asked: it admits.
    pub(super) fits_below: u32,
    pub(super) line: Box<Line>,
}

/// Who decides who may wait, and those who do.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) admission: Box<dyn Admission>,
    pub(super) waiting: VecDeque<Sending>,
    pub(super) bytes: u64,
}

/// Behind a discipline that decides when the link asks.
#[derive(Debug)]
pub(super) struct Scheduled {
    pub(super) queue: Box<dyn Queue>,
    pub(super) serving: Option<(Time, PacketId, Backlog)>,
}

/// The link, and what it has been given.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) link: Serving,
    /// When it will have sent all it has been given, and the time that takes in all, waits not counted.
    pub(super) free_at: Time,
    pub(super) given: Span,
}

/// Almost every link is constant, and calling it through a pointer costs more than its division.
#[derive(Debug)]
pub(super) enum Serving {
    Constant(ConstantLink),
    Other(Box<dyn Link>),
}

impl Server {
    /// Gives the link a packet: when it will have been sent. What never will takes no time of `given`.
    #[inline(always)]
    pub(super) fn serve(&mut self, start: Time, size: Bytes) -> Time {
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
    pub(super) fn occupancy(&self, now: Time, free_at: Time) -> Occupancy {
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
    pub(super) fn pass(
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
    pub(super) fn ask(&mut self, now: Time, id: PacketId, free_at: Time, context: &mut Context<'_>) -> bool {
        let occupancy = self.occupancy(now, free_at);
        self.line.admission.admit(now, id, &occupancy, context)
    }

    pub(super) const fn is_busy(&self) -> bool {
        self.unsent > 0
    }

    #[inline(always)]
    pub(super) fn waiting(&self) -> Backlog {
        Backlog {
            packets: self.unsent.saturating_sub(1).into(),
            bytes: Bytes(self.line.bytes),
        }
    }

    /// The packet in service has been sent: the next one's turn.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.unsent -= 1;
        if let Some(next) = self.line.waiting.pop_front() {
            self.line.bytes -= u64::from(next.size);
            self.serving = next;
        }
    }

    /// Lets go what has been sent by `now`, when nobody is to judge it.
    #[inline(always)]
    pub(super) fn catch_up(&mut self, now: Time, free_at: Time) {
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
