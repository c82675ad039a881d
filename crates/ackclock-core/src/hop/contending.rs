//! Passes packets from the queue to a shared medium. The packet at the head of the queue waits
//! until the medium has sent it or given it up.

use super::service::Service;
use super::{Cold, Hop};
use crate::medium::ContenderId;
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, Fifo, PacketId};
use crate::queue::{Admission, ClassCounts, Discipline, Occupancy, Queue};
use ackclock_spec::units::{Bytes, Span, Time};

/// A queue in front of a medium.
#[derive(Debug)]
pub(super) struct Contending {
    pub(super) contender: ContenderId,
    line: Line,
    head: Option<Head>,
    /// True if access to the medium has not yet been requested for the head.
    unrequested: bool,
    /// Total time that packets have spent at the head, without the current one.
    served: Span,
}

/// The packets behind the head, and their order.
#[derive(Debug)]
enum Line {
    InOrder {
        admission: Box<dyn Admission>,
        waiting: Fifo,
        /// Beginning of the current idle time; meaningful only while there is nothing to send.
        idle_since: Time,
    },
    Scheduled(Box<dyn Queue>),
}

/// The packet that contends.
#[derive(Clone, Copy, Debug)]
struct Head {
    id: PacketId,
    size: Bytes,
    since: Time,
}

impl Contending {
    pub(super) fn new(discipline: Discipline, contender: ContenderId) -> Self {
        let in_order = |admission| Line::InOrder {
            admission,
            waiting: Fifo::default(),
            idle_since: Time::ZERO,
        };
        let line = match discipline {
            Discipline::DropTail(admission) => in_order(Box::new(admission)),
            Discipline::InOrder(admission) => in_order(admission),
            Discipline::Scheduled(queue) => Line::Scheduled(queue),
            Discipline::Cells(_) => unreachable!("refused, as it does not state its rate"),
        };
        Contending {
            contender,
            line,
            head: None,
            unrequested: false,
            served: Span::ZERO,
        }
    }

    /// Returns the counts of each class of the queue.
    pub(super) fn classes(&self) -> Vec<(&'static str, ClassCounts)> {
        match &self.line {
            Line::InOrder { .. } => Vec::new(),
            Line::Scheduled(queue) => queue.classes(),
        }
    }

    /// Queues or drops a packet.
    pub(super) fn enqueue(&mut self, now: Time, id: PacketId, context: &mut Context<'_>) {
        let (in_service, idle) = (self.in_service(), self.idle(now));
        match &mut self.line {
            Line::InOrder {
                admission, waiting, ..
            } => {
                // The wait is unknown at a medium. These two are zero, and limits in time are
                // refused.
                let occupancy = Occupancy {
                    waiting: waiting.backlog(),
                    in_service,
                    residual_service: Span::ZERO,
                    wait: Span::ZERO,
                    idle,
                };
                if admission.admit(now, id, &occupancy, context) {
                    waiting.push_back(id, context.packets);
                }
            }
            Line::Scheduled(queue) => queue.enqueue(now, id, in_service, context),
        }
        if self.head.is_none() {
            self.unrequested = self.serve_next(now, context).is_some();
        }
    }

    /// Makes the next packet the head and returns its size.
    fn serve_next(&mut self, now: Time, context: &mut Context<'_>) -> Option<Bytes> {
        let next = match &mut self.line {
            Line::InOrder { waiting, .. } => waiting.pop_front(context.packets),
            Line::Scheduled(queue) => queue.dequeue(now, context),
        };
        self.head = next.map(|id| Head {
            id,
            size: context.packets[id].bytes(),
            since: now,
        });
        self.head.map(|head| head.size)
    }

    fn request_access(&mut self) -> Option<(ContenderId, Bytes)> {
        let head = self.head?;
        std::mem::take(&mut self.unrequested).then_some((self.contender, head.size))
    }

    /// Takes out the head. Reports its service, if it was sent, to a discipline that observes
    /// services.
    fn complete_exchange(&mut self, now: Time, sent: bool) -> Option<PacketId> {
        let head = self.head.take()?;
        self.served = self.served + now.since(head.since);
        if let Line::InOrder {
            admission,
            idle_since,
            ..
        } = &mut self.line
        {
            *idle_since = now;
            if sent && admission.observes_service() {
                admission.note_service(head.since, now);
            }
        }
        Some(head.id)
    }

    /// Returns the limit, if the queue adapts it.
    pub(super) fn limit(&self, now: Time) -> Option<f64> {
        match &self.line {
            Line::InOrder { admission, .. } => admission.limit(now, self.idle(now)),
            Line::Scheduled(_) => None,
        }
    }

    /// Returns for how long there has been nothing to send.
    fn idle(&self, now: Time) -> Span {
        match &self.line {
            Line::InOrder { idle_since, .. } if self.head.is_none() => now.since(*idle_since),
            _ => Span::ZERO,
        }
    }

    /// Returns the packets that wait behind the head.
    pub(super) fn backlog(&self) -> Backlog {
        match &self.line {
            Line::InOrder { waiting, .. } => waiting.backlog(),
            Line::Scheduled(queue) => queue.backlog(),
        }
    }
    pub(super) fn in_service(&self) -> Backlog {
        self.head.map_or_else(Backlog::default, |head| Backlog {
            packets: 1,
            bytes: head.size,
        })
    }
    /// Returns for how long there has been something to send, in total.
    pub(super) fn busy(&self, now: Time) -> Span {
        self.served + self.head.map_or(Span::ZERO, |head| now.since(head.since))
    }
}

impl Hop {
    /// Returns its contender at the medium, if the hop contends for one.
    pub fn contender(&self) -> Option<ContenderId> {
        match &self.cold.service {
            Service::Contending(contending) => Some(contending.contender),
            _ => None,
        }
    }

    /// Returns the size of a packet that came to an empty queue, if access to the medium has not
    /// been requested for it. Call this after each packet of a hop that is a
    /// [contender](Hop::contender).
    pub fn request_access(&mut self) -> Option<(ContenderId, Bytes)> {
        match &mut self.cold.service {
            Service::Contending(contending) => contending.request_access(),
            _ => None,
        }
    }

    /// Takes out the head at `now`, which the medium has sent or given up. Returns the time of the
    /// next poll, and the size of the next packet if there is one.
    pub fn complete_exchange(
        &mut self,
        now: Time,
        sent: bool,
        context: &mut Context<'_>,
    ) -> (Time, Option<Bytes>) {
        let Cold {
            service: Service::Contending(contending),
            counts,
            ..
        } = &mut *self.cold
        else {
            return (Time::NEVER, None);
        };
        let head = contending.complete_exchange(now, sent);
        match head {
            Some(id) if sent => {
                counts.given += 1;
                counts.given_bytes += context.packets[id].bytes().0;
                self.depart(now, id, context);
            }
            Some(id) => context.drop_packet(now, id, DropReason::Retries),
            None => {}
        }
        // As at a link, the next packet is chosen after this one has left.
        let following = match &mut self.cold.service {
            Service::Contending(contending) => contending.serve_next(now, context),
            _ => None,
        };
        (self.next_departure(), following)
    }
}
