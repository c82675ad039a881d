//! A FIFO queue that makes room for arriving packets by dropping the oldest.

use super::buffer::check_limit;
use super::droptail::DropTail;
use super::facts::QueueFacts;
use super::{Discipline, Occupancy, Queue, QueueContext, QueueKind};
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, PacketId, TimedFifo};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::QueueLimit;

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeadDrop {
    /// Most packets or bytes that may wait, without the packet in service.
    pub limit: QueueLimit,
}

impl Element<QueueKind> for HeadDrop {
    const NAME: &'static str = "headdrop";
    const LABEL: &'static str = "head drop";
    const SUMMARY: &'static str = "First in, first out; a packet that does not fit replaces the \
        oldest, so that senders hear of a loss a queueing delay earlier.";
    const REFERENCE: &'static str = "Lakshman, Neidhardt and Ott (1996), The Drop from Front \
        Strategy in TCP and in TCP over ATM; Linux, `pfifo_head_drop`";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        check_limit("limit", self.limit)
    }

    fn facts(&self) -> QueueFacts {
        QueueFacts::head(self.limit, false)
    }
}

impl Factory<QueueKind> for HeadDrop {
    fn build(&self, _: QueueContext<'_>) -> Discipline {
        Discipline::Scheduled(Box::new(HeadDropQueue {
            room: self.limit.into(),
            waiting: TimedFifo::default(),
        }))
    }
}

#[derive(Debug)]
struct HeadDropQueue {
    room: DropTail,
    waiting: TimedFifo,
}

impl Queue for HeadDropQueue {
    /// Drops from the head until the packet fits. A packet larger than the limit is dropped itself.
    fn enqueue(&mut self, now: Time, id: PacketId, in_service: Backlog, context: &mut Context<'_>) {
        let size = context.packets[id].bytes();
        loop {
            let occupancy = Occupancy {
                waiting: self.waiting.backlog(),
                in_service,
                ..Occupancy::default()
            };
            if self.room.fits(size, &occupancy) {
                return self.waiting.push_back(now, id, context.packets);
            }
            let oldest = self.waiting.pop_front(context.packets);
            let dropped = oldest.map_or(id, |(_, oldest)| oldest);
            context.drop_packet(now, dropped, DropReason::QueueFull);
            if dropped == id {
                return;
            }
        }
    }

    fn dequeue(&mut self, _: Time, context: &mut Context<'_>) -> Option<PacketId> {
        self.waiting.pop_front(context.packets).map(|(_, id)| id)
    }

    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;
    use crate::queue::testing::Bench;

    fn bench(limit: QueueLimit) -> Bench<HeadDropQueue> {
        let queue = HeadDropQueue {
            room: limit.into(),
            waiting: TimedFifo::default(),
        };
        Bench::new(queue, 1)
    }

    #[test]
    fn the_oldest_make_room() {
        let mut bench = bench(QueueLimit::Packets(3));
        (0..6).for_each(|_| bench.arrive(0.0));
        // Number 0 is in service; 1 and 2 were the oldest.
        let numbers: Vec<u64> = bench
            .log
            .dropped
            .iter()
            .map(|(_, number)| *number)
            .collect();
        assert_eq!(numbers, [1, 2]);
        assert_eq!(bench.log.drops, [(0.0, DropReason::QueueFull); 2]);
        bench.serve_until(Time::from_seconds(1.0));
        let served: Vec<u64> = bench.served.iter().map(|(_, number, _)| *number).collect();
        assert_eq!(served, [0, 3, 4, 5]);
    }

    #[test]
    fn a_packet_larger_than_the_limit_is_dropped_itself() {
        let mut bench = bench(QueueLimit::Bytes(Bytes(1000)));
        bench.arrive(0.0);
        bench.arrive_of(0.0, FlowId(0), 600);
        bench.arrive_of(0.0, FlowId(0), 1200);
        let numbers: Vec<u64> = bench
            .log
            .dropped
            .iter()
            .map(|(_, number)| *number)
            .collect();
        assert_eq!(numbers, [1, 2]);
    }
}
