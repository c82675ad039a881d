//! Fair queueing as in Linux's `sch_fq.c`, at a hop that forwards: a queue for each flow, served
//! in turn, limits for all and for each, and marks above a threshold of the delay.
//!
//! On a sender, `fq` also paces: a packet carries the time at which its socket wants it to leave.
//! A packet that is forwarded belongs to no socket here, and its time was cleared on the way. So
//! nothing is paced.

use super::buffer::check_limit;
use super::controlled_delay::Step;
use super::droptail::DropTail;
use super::facts::{Marking, QueueFacts};
use super::flow_queues::{FlowQueues, check_queues};
use super::{Discipline, Queue, QueueContext, QueueKind};
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, PacketId};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::QueueLimit;
use serde_json::json;

parameters! {
    /// Parameters.
    // Defaults: the values of Linux, for packets of 1514 bytes.
    #[schemars(example = json!({}))]
    #[schemars(example = json!({
        "limit": "60 kB",
        "flow_limit": "20 kB",
        "queues": 3,
        "quantum": "300 bytes",
        "initial_quantum": "600 bytes",
        "ce_threshold": "1 ms"
    }))]
    pub struct Fq {
        /// Most packets or bytes that may wait in all queues, without the packet in service.
        /// Packets that arrive beyond it are dropped.
        pub limit: QueueLimit = QueueLimit::Packets(10_000),
        /// Most packets or bytes that may wait in one queue.
        pub flow_limit: QueueLimit = QueueLimit::Packets(100),
        /// Number of queues, from 1 to 65,536. A hash of flow and direction, with a random number
        /// of the run, chooses the queue of a forwarded packet. So flows may share one. Linux calls
        /// the number less one `orphan_mask`.
        pub queues: u32 = 1024,
        /// Bytes that a queue may send in its turn. From 256 bytes to 1 MiB.
        pub quantum: Bytes = Bytes(3028),
        /// Bytes that a queue may send in its very first turn. At least a quantum.
        pub initial_quantum: Bytes = Bytes(15_140),
        /// Time that a queue has to be empty for a new quantum. One that becomes active earlier
        /// goes on with what was left of its turn.
        pub refill_delay: Span = Span::from_millis(40),
        /// Delay above which an ECN-capable packet is marked as it leaves. Without it, nothing is
        /// marked.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Span")]
        pub ce_threshold: Option<Span> = None,
    }
}

impl Element<QueueKind> for Fq {
    const NAME: &'static str = "fq";
    const LABEL: &'static str = "FQ";
    const SUMMARY: &'static str = "A queue for each flow, served in turn; drops packets that do \
        not fit, and may mark above a threshold of the delay. Paces nothing at a hop.";
    const REFERENCE: &'static str = "Linux, `sch_fq.c`; Shreedhar and Varghese (1996), Efficient \
        Fair Queuing Using Deficit Round Robin";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            check_limit("limit", self.limit),
            check_limit("flow_limit", self.flow_limit),
            check_queues(self.queues, self.quantum),
            consistent(
                self.initial_quantum >= self.quantum,
                "initial_quantum",
                &self.initial_quantum,
                &["quantum"],
                "is less than the quantum; for example five times as much",
            ),
        ])
    }

    /// The capacity is that of all queues; one queue may have less. With a single queue, the
    /// threshold is that of all packets.
    fn facts(&self) -> QueueFacts {
        let step = Marking::step(self.ce_threshold);
        let (marking, flow_marking) = match self.queues {
            1 => (step, Stated::None),
            _ => (Stated::None, step),
        };
        QueueFacts {
            marks: Some(self.ce_threshold.is_some()),
            marking,
            flow_marking,
            ..QueueFacts::fixed(self.limit)
        }
    }
}

impl Factory<QueueKind> for Fq {
    fn build(&self, context: QueueContext<'_>) -> Discipline {
        Discipline::Scheduled(Box::new(FqQueue::new(self, context.place.stream())))
    }
}

/// The bytes of a turn when a queue becomes active.
#[derive(Clone, Copy, Debug)]
struct Turn {
    quantum: i64,
    initial_quantum: i64,
    refill_delay: Span,
}

impl Turn {
    /// Returns the bytes of a queue that became empty at a time, `None` if it is new.
    fn renewed(self, now: Time, empty_from: Option<Time>, left: i64) -> i64 {
        match empty_from {
            None => self.initial_quantum,
            Some(from) if now.since(from) > self.refill_delay => left.max(self.quantum),
            Some(_) => left,
        }
    }
}

/// All queues.
#[derive(Debug)]
struct FqQueue {
    all: DropTail,
    each: DropTail,
    turn: Turn,
    step: Option<Step>,
    /// Each with the time at which it became empty; `None` before its first packet.
    flows: FlowQueues<Option<Time>>,
}

impl FqQueue {
    fn new(parameters: &Fq, mut stream: Stream) -> Self {
        let quanta = [parameters.quantum, parameters.initial_quantum];
        FqQueue {
            all: parameters.limit.into(),
            each: parameters.flow_limit.into(),
            turn: Turn {
                quantum: parameters.quantum.0 as i64,
                initial_quantum: parameters.initial_quantum.0 as i64,
                refill_delay: parameters.refill_delay,
            },
            step: Step::of(parameters.ce_threshold, None),
            flows: FlowQueues::new(parameters.queues, quanta, &mut stream, || None),
        }
    }
}

impl Queue for FqQueue {
    fn enqueue(&mut self, now: Time, id: PacketId, in_service: Backlog, context: &mut Context<'_>) {
        let packet = &context.packets[id];
        let (number, size) = (self.flows.queue_of(packet), packet.bytes());
        let limits = [&self.all, &self.each];
        if !self.flows.has_room(number, size, in_service, limits) {
            return context.drop_packet(now, id, DropReason::QueueFull);
        }
        let turn = self.turn;
        let renew = |empty_from: &mut _, left| turn.renewed(now, *empty_from, left);
        self.flows.push_renewed(now, number, id, context, renew);
    }

    fn dequeue(&mut self, now: Time, context: &mut Context<'_>) -> Option<PacketId> {
        let mut arrival = now;
        let next = self.flows.pop(context, |mut own, context| {
            let Some((joined, id)) = own.pop(context) else {
                *own.state = Some(now);
                return None;
            };
            arrival = joined;
            Some(id)
        });
        if let (Some(step), Some(id)) = (self.step, next) {
            step.apply(now.since(arrival) > step.threshold, now, id, context);
        }
        next
    }

    fn backlog(&self) -> Backlog {
        self.flows.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Ecn, FlowId};
    use crate::queue::testing::{Bench, assert_refused};
    use ackclock_spec::streams::Streams;

    /// Returns a bench that sends 1500 bytes in a millisecond, and whose first two flows have
    /// queues of their own if there are several.
    fn bench(parameters: &Fq) -> Bench<FqQueue> {
        let stream = Streams::new(5, 0).stream("hop/test/queue");
        Bench::new(FqQueue::new(parameters, stream), 1)
    }

    fn roomy() -> Fq {
        Fq {
            flow_limit: QueueLimit::Packets(10_000),
            ..Fq::default()
        }
    }

    /// Returns the flows in the order in which their packets were served.
    fn order(bench: &Bench<FqQueue>) -> Vec<u32> {
        bench.served.iter().map(|(flow, ..)| flow.0).collect()
    }

    /// Offers packets of flow 0 all the time, and some of flow 1 at given times.
    fn beside_a_greedy_flow(parameters: &Fq, bursts: &[(f64, usize)]) -> Bench<FqQueue> {
        let mut bench = bench(parameters);
        let mut bursts = bursts.iter().peekable();
        for round in 0..400_u32 {
            let at = f64::from(round) * 0.001;
            bench.arrive_of(at, FlowId(0), 1500);
            if let Some((_, n)) = bursts.next_if(|(from, _)| *from <= at) {
                (0..*n).for_each(|_| bench.arrive_of(at + 0.000_5, FlowId(1), 1500));
            }
        }
        bench.serve_until(Time::from_seconds(2.0));
        bench
    }

    /// Returns how many packets of flow 1 left in a row, run by run.
    fn runs(bench: &Bench<FqQueue>) -> Vec<usize> {
        let order = order(bench);
        let runs = order.chunk_by(|flow, next| flow == next);
        let own = runs.filter(|run| run[0] == 1);
        own.map(<[u32]>::len).collect()
    }

    /// 15,140 bytes are eleven packets of 1500 bytes, as the turn ends below zero; then two or
    /// three for each turn of 3028 bytes.
    #[test]
    fn the_first_turn_of_a_flow_is_the_initial_quantum() {
        let runs = runs(&beside_a_greedy_flow(&roomy(), &[(0.1, 20)]));
        assert_eq!(runs[0], 11, "{runs:?}");
        assert!(runs[1..].iter().all(|n| (1..=3).contains(n)), "{runs:?}");
    }

    /// After the delay a queue has a quantum, but never another initial one; before, what was left.
    #[test]
    fn a_queue_has_a_quantum_again_after_the_refill_delay() {
        let turn = bench(&roomy()).queue.turn;
        let after = |pause, left| {
            let from = Time::from_seconds(1.0);
            turn.renewed(from + Span::from_millis(pause), Some(from), left)
        };
        assert_eq!(turn.renewed(Time::ZERO, None, 0), 15_140);
        assert_eq!([after(40, -1360), after(40, 200)], [-1360, 200]);
        assert_eq!([after(41, -1360), after(41, 5000)], [3028, 5000]);
        let runs = |refill_delay| {
            let parameters = Fq {
                refill_delay,
                ..roomy()
            };
            runs(&beside_a_greedy_flow(&parameters, &[(0.05, 11), (0.2, 6)]))
        };
        let (refilled, left) = (runs(Span::from_millis(40)), runs(Span::from_millis(200)));
        assert!(refilled[0] == 11 && left[0] == 11);
        assert!(refilled[1] > left[1], "{refilled:?} {left:?}");
    }

    #[test]
    fn greedy_flows_get_equal_shares_whatever_their_packets() {
        let mut bench = bench(&roomy());
        for round in 0..2000_u32 {
            let at = f64::from(round) * 0.001;
            bench.arrive_of(at, FlowId(0), 1500);
            (0..5).for_each(|_| bench.arrive_of(at, FlowId(1), 300));
        }
        let bytes = [0, 1].map(|flow| {
            let served = bench
                .served
                .iter()
                .filter(|(flow_id, ..)| flow_id.0 == flow);
            served.map(|(.., size)| i64::from(*size)).sum::<i64>()
        });
        assert!(bytes[0] > 900_000, "{bytes:?}");
        assert!(
            (bytes[0] - bytes[1]).abs() < 15_140 + 3028 + 2 * 1500,
            "{bytes:?}"
        );
    }

    #[test]
    fn limits_hold_for_all_and_for_each() {
        let mut bench = bench(&Fq {
            limit: QueueLimit::Packets(120),
            ..Fq::default()
        });
        bench.arrive_of(0.0, FlowId(9), 1500); // goes into service
        (0..150).for_each(|_| bench.arrive_of(0.0, FlowId(0), 1500));
        assert_eq!(bench.log.drops, [(0.0, DropReason::QueueFull); 50]);
        (0..50).for_each(|_| bench.arrive_of(0.0, FlowId(1), 1500));
        assert_eq!(bench.log.drops.len(), 50 + 30);
    }

    /// Packets arrive at once and leave one in a millisecond: the n-th has waited n ms.
    #[test]
    fn what_has_waited_longer_than_the_threshold_is_marked() {
        for (packets, marks) in [
            (Ecn::Capable, 4),
            (Ecn::CapableL4s, 4),
            (Ecn::NotCapable, 0),
        ] {
            let mut bench = bench(&Fq {
                ce_threshold: Some(Span::from_millis(5)),
                queues: 1,
                ..Fq::default()
            });
            bench.ecn = packets;
            (0..10).for_each(|_| bench.arrive(0.0));
            bench.serve_until(Time::from_seconds(1.0));
            assert_eq!(bench.log.marks.len(), marks);
            assert!(bench.log.marks.iter().all(|at| *at > 0.005));
            assert_eq!(bench.log.drops, []);
        }
    }

    #[test]
    fn impossible_parameters_are_refused_by_name() {
        assert_refused(
            &json!({ "kind": "fq" }),
            [
                ("limit", json!("0 packets")),
                ("flow_limit", json!("20 ms")),
                ("queues", json!(0)),
                ("quantum", json!("255 bytes")),
                ("initial_quantum", json!("3027 bytes")),
            ],
        );
    }
}
