//! Deficit round robin (Shreedhar and Varghese 1996): a queue for each flow, as far as a hash keeps
//! flows apart, served in turn, without active queue management. [`super::fq`] has the turns of
//! Linux and marks.

use super::buffer::check_limit;
use super::droptail::DropTail;
use super::facts::QueueFacts;
use super::flow_queues::{FlowQueues, check_queues};
use super::{Discipline, Queue, QueueContext, QueueKind};
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, PacketId};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::QueueLimit;
use serde_json::json;

parameters! {
    /// Parameters.
    // Defaults: the values of `fq` in Linux, for packets of 1514 bytes.
    #[schemars(example = json!({}))]
    #[schemars(example = json!({
        "limit": "60 kB",
        "flow_limit": "20 kB",
        "queues": 3,
        "quantum": "300 bytes",
        "first_quantum": "600 bytes"
    }))]
    pub struct Drr {
        /// Most packets or bytes that may wait in all queues, without the packet in service.
        /// Packets that arrive beyond it are dropped.
        pub limit: QueueLimit = QueueLimit::Packets(10_000),
        /// Most packets or bytes that may wait in one queue.
        pub flow_limit: QueueLimit = QueueLimit::Packets(100),
        /// Number of queues, from 1 to 65,536. A hash of flow and direction, with a random number
        /// of the run, chooses the queue. So flows may share one; those of Linux do not.
        pub queues: u32 = 1024,
        /// Bytes that a queue may send in its turn. From 256 bytes to 1 MiB.
        pub quantum: Bytes = Bytes(3028),
        /// Bytes that a queue may send in its first turn after it was empty. At least a quantum.
        pub first_quantum: Bytes = Bytes(15_140),
    }
}

impl Element<QueueKind> for Drr {
    const NAME: &'static str = "drr";
    const LABEL: &'static str = "DRR";
    const SUMMARY: &'static str = "A queue for each flow, served in turn; drops packets that do \
        not fit.";
    const REFERENCE: &'static str = "Shreedhar and Varghese (1996), Efficient Fair Queuing Using \
        Deficit Round Robin; Linux, `sch_fq.c` (its round robin, not its pacing)";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            check_limit("limit", self.limit),
            check_limit("flow_limit", self.flow_limit),
            check_queues(self.queues, self.quantum),
            consistent(
                self.first_quantum >= self.quantum,
                "first_quantum",
                &self.first_quantum,
                &["quantum"],
                "is less than the quantum; for example five times as much",
            ),
        ])
    }

    /// The capacity is that of all queues; one queue may have less.
    fn facts(&self) -> QueueFacts {
        QueueFacts::fixed(self.limit)
    }
}

impl Factory<QueueKind> for Drr {
    fn build(&self, context: QueueContext<'_>) -> Discipline {
        Discipline::Scheduled(Box::new(DrrQueue::new(self, context.place.stream())))
    }
}

/// All queues.
#[derive(Debug)]
struct DrrQueue {
    all: DropTail,
    each: DropTail,
    flows: FlowQueues<()>,
}

impl DrrQueue {
    fn new(parameters: &Drr, mut stream: Stream) -> Self {
        let quanta = [parameters.quantum, parameters.first_quantum];
        DrrQueue {
            all: parameters.limit.into(),
            each: parameters.flow_limit.into(),
            flows: FlowQueues::new(parameters.queues, quanta, &mut stream, || ()),
        }
    }
}

impl Queue for DrrQueue {
    fn enqueue(&mut self, now: Time, id: PacketId, in_service: Backlog, context: &mut Context<'_>) {
        let packet = &context.packets[id];
        let (number, size) = (self.flows.queue_of(packet), packet.bytes());
        let limits = [&self.all, &self.each];
        if self.flows.has_room(number, size, in_service, limits) {
            self.flows.push(now, number, id, context);
        } else {
            context.drop_packet(now, id, DropReason::QueueFull);
        }
    }

    fn dequeue(&mut self, _: Time, context: &mut Context<'_>) -> Option<PacketId> {
        self.flows
            .pop(context, |mut own, context| Some(own.pop(context)?.1))
    }

    fn backlog(&self) -> Backlog {
        self.flows.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;
    use crate::queue::testing::{Bench, assert_refused};

    use ackclock_spec::streams::Streams;

    fn bench(parameters: &Drr) -> Bench<DrrQueue> {
        let stream = Streams::new(5, 0).stream("hop/test/queue");
        Bench::new(DrrQueue::new(parameters, stream), 1)
    }

    /// Bytes of two flows that always have packets differ by less than a quantum and two packets
    /// (Shreedhar and Varghese 1996), and by the first quantum.
    #[test]
    fn greedy_flows_get_equal_shares_whatever_their_packets() {
        let mut bench = bench(&Drr {
            flow_limit: QueueLimit::Packets(10_000),
            ..Drr::default()
        });
        for round in 0..2000_u32 {
            let at = f64::from(round) * 0.001;
            bench.arrive_of(at, FlowId(0), 1500);
            (0..5).for_each(|_| bench.arrive_of(at, FlowId(1), 300));
        }
        let bytes = [0, 1].map(|flow| {
            let served = bench.served.iter().filter(|(one, ..)| one.0 == flow);
            served.map(|(.., size)| i64::from(*size)).sum::<i64>()
        });
        assert!(bytes[0] > 900_000, "{bytes:?}");
        assert!(
            (bytes[0] - bytes[1]).abs() < 15_140 + 3028 + 2 * 1500,
            "{bytes:?}"
        );
    }

    #[test]
    fn a_flow_beyond_its_limit_loses_only_its_own_packets() {
        let mut bench = bench(&Drr::default());
        bench.arrive_of(0.0, FlowId(9), 1500); // goes into service
        (0..150).for_each(|_| bench.arrive_of(0.0, FlowId(0), 1500));
        (0..50).for_each(|_| bench.arrive_of(0.0, FlowId(1), 1500));
        assert_eq!(bench.log.drops, [(0.0, DropReason::QueueFull); 50]);
        assert!(bench.log.dropped.iter().all(|(flow, _)| flow.0 == 0));
    }

    #[test]
    fn impossible_parameters_are_refused_by_name() {
        assert_refused(
            &json!({ "kind": "drr" }),
            [
                ("limit", json!("0 packets")),
                ("flow_limit", json!("20 ms")),
                ("queues", json!(0)),
                ("quantum", json!("255 bytes")),
                ("first_quantum", json!("3027 bytes")),
            ],
        );
    }
}
