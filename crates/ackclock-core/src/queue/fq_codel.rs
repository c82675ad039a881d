//! FlowQueue-CoDel (FQ-CoDel, RFC 8290): a queue for each flow, as far as a hash keeps flows apart,
//! served in turn, with CoDel in each.

use super::arithmetic::Arithmetic;
use super::buffer::check_limit;
use super::controlled_delay::{ControlledDelay, Law, Line, Step, check_times};
use super::facts::{Classifier, Marking, QueueFacts};
use super::flow_queues::{FlowQueues, OwnLine, check_queues};
use super::{Discipline, Queue, QueueContext, QueueKind};
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, PacketId};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::QueueLimit;
use serde_json::json;

parameters! {
    /// Parameters.
    // Defaults: the values of RFC 8290, as Linux has them.
    #[schemars(example = json!({}))]
    #[schemars(example = json!({
        "target": "2 ms",
        "interval": "20 ms",
        "limit": "60 kB",
        "ecn": false,
        "queues": 3,
        "quantum": "300 bytes",
        "ce_threshold": "1 ms",
        "ce_threshold_selector": "l4s"
    }))]
    pub struct FqCodel {
        /// Allowed standing queueing delay in a queue. Above 0 and below the interval.
        pub target: Span = Span::from_millis(5),
        /// Time for which the delay in a queue may exceed the target before the first drop.
        pub interval: Span = Span::from_millis(100),
        /// Most packets or bytes that may wait in all queues, without the packet in service. Beyond
        /// it, the queue with the most bytes drops from its head.
        pub limit: QueueLimit = QueueLimit::Packets(10_240),
        /// True if ECN-capable packets are marked instead of dropped. Packets beyond the limit are
        /// still dropped.
        pub ecn: bool = true,
        /// Delay above which an ECN-capable packet is marked as it leaves, beside CoDel's marks and
        /// drops; without it, CoDel alone marks.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Span")]
        pub ce_threshold: Option<Span> = None,
        /// Packets that `ce_threshold` may mark: `any_ect` unless it says otherwise. With `l4s` it
        /// marks ECT(1) only, as Linux does with its selector 0x01/0x01, for L4S flows.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Classifier")]
        pub ce_threshold_selector: Option<Classifier> = None,
        /// Number of queues, from 1 to 65,536, the most of Linux. A hash of flow and direction,
        /// with a random number of the run, chooses the queue. So flows may share one.
        pub queues: u32 = 1024,
        /// Bytes that a queue may send in its turn. From 256 bytes to 1 MiB, as in Linux.
        pub quantum: Bytes = Bytes(1514),
        /// Most packets dropped at a time when the limit is exceeded. Above 0.
        pub drop_batch: u32 = 64,
        /// Size of a full packet on the wire. With at most this many bytes waiting in all queues,
        /// nothing is dropped. Linux counts all queues as well; RFC 8289 knows only one.
        pub mtu: Bytes = Bytes(1500),
        /// Arithmetic of the control law. That of Linux has a clock of 1.024 µs and halves the
        /// second interval between drops, instead of dividing it by the square root of 2.
        pub arithmetic: Arithmetic = Arithmetic::Exact,
    }
}

impl Element<QueueKind> for FqCodel {
    const NAME: &'static str = "fq_codel";
    const LABEL: &'static str = "FQ-CoDel";
    const SUMMARY: &'static str = "A queue for each flow, served in turn, with CoDel in each; \
        flows that send little go first.";
    const REFERENCE: &'static str = "RFC 8290; Shreedhar and Varghese (1996), Efficient Fair \
        Queuing Using Deficit Round Robin; Linux, `sch_fq_codel.c`";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            check_times(self.target, self.interval),
            check_limit("limit", self.limit),
            check_queues(self.queues, self.quantum),
            consistent(
                self.ce_threshold.is_some() || self.ce_threshold_selector.is_none(),
                "ce_threshold_selector",
                &self.ce_threshold_selector,
                &["ce_threshold"],
                "selects nothing without ce_threshold; for example \"1 ms\"",
            ),
            in_range(
                self.drop_batch > 0,
                "drop_batch",
                &self.drop_batch,
                "is too small; for example 64",
            ),
        ])
    }

    fn facts(&self) -> QueueFacts {
        QueueFacts {
            flow_marking: Marking::step(self.ce_threshold),
            ..QueueFacts::head(self.limit, self.ecn || self.ce_threshold.is_some())
        }
    }
}

impl Factory<QueueKind> for FqCodel {
    fn build(&self, context: QueueContext<'_>) -> Discipline {
        Discipline::Scheduled(Box::new(FqCodelQueue::new(self, context.place.stream())))
    }
}

/// All queues, each with CoDel.
#[derive(Debug)]
struct FqCodelQueue {
    law: Law,
    limit: QueueLimit,
    drop_batch: u32,
    flows: FlowQueues<ControlledDelay>,
}

/// CoDel compares the backlog of all queues with its `mtu`.
impl Line for OwnLine<'_> {
    fn take(&mut self, context: &mut Context<'_>) -> Option<(Time, PacketId)> {
        self.pop(context)
    }
    fn bytes(&self) -> Bytes {
        self.all().bytes
    }
}

impl FqCodelQueue {
    fn new(parameters: &FqCodel, mut stream: Stream) -> Self {
        FqCodelQueue {
            law: Law {
                target: parameters.target,
                interval: parameters.interval,
                ecn: parameters.ecn,
                mtu: parameters.mtu,
                arithmetic: parameters.arithmetic,
                step: Step::of(parameters.ce_threshold, parameters.ce_threshold_selector),
            },
            limit: parameters.limit,
            drop_batch: parameters.drop_batch,
            flows: FlowQueues::new(
                parameters.queues,
                [parameters.quantum; 2],
                &mut stream,
                ControlledDelay::default,
            ),
        }
    }

    /// Drops until the limit holds.
    #[cold] // in the path of every packet, its registers cost more than the rest of the call
    #[inline(never)]
    fn enforce_limit(&mut self, now: Time, context: &mut Context<'_>) {
        while self.flows.exceeds(self.limit) {
            self.drop_from_the_longest(now, context);
        }
    }

    /// Drops up to half of the bytes of the queue with the most, from its head, but at most a batch
    /// (RFC 8290 section 4.1). The drops count for the control law, as in Linux.
    fn drop_from_the_longest(&mut self, now: Time, context: &mut Context<'_>) {
        let Some(longest) = self.flows.longest() else {
            return;
        };
        let mut own = self.flows.own(longest);
        let before = own.waiting().backlog().bytes;
        for _ in 0..self.drop_batch {
            let Some((_, id)) = own.pop(context) else {
                break;
            };
            context.drop_packet(now, id, DropReason::QueueFull);
            own.state.count_drop();
            if before - own.waiting().backlog().bytes >= Bytes(before.0 / 2) {
                break;
            }
        }
    }
}

impl Queue for FqCodelQueue {
    fn enqueue(&mut self, now: Time, id: PacketId, in_service: Backlog, context: &mut Context<'_>) {
        let number = self.flows.queue_of(&context.packets[id]);
        self.flows.push(now, number, id, context);
        // The only packet, if the link is idle, does not wait.
        let passes_through = in_service.packets == 0 && self.flows.backlog().packets == 1;
        if !passes_through && self.flows.exceeds(self.limit) {
            self.enforce_limit(now, context);
        }
    }

    fn dequeue(&mut self, now: Time, context: &mut Context<'_>) -> Option<PacketId> {
        let law = &self.law;
        self.flows.pop(context, |mut own, context| {
            let (mut line, state) = own.split();
            state.dequeue(now, law, &mut line, context)
        })
    }

    fn backlog(&self) -> Backlog {
        self.flows.backlog()
    }
}

#[cfg(test)]
mod tests;
