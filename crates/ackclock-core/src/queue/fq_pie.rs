//! FQ-PIE: a queue for each flow, as far as a hash keeps flows apart, served in turn, with PIE in
//! each (Ramakrishnan et al. 2019, `sch_fq_pie.c`).

use super::arithmetic::Arithmetic;
use super::buffer::check_limit;
use super::droptail::DropTail;
use super::facts::QueueFacts;
use super::flow_queues::{FlowQueues, Own, check_queues};
use super::pie::{Control, DelayMeasure, Departing, Exact, Line, Linux, Pie, admits};
use super::{Discipline, Occupancy, Queue, QueueContext, QueueKind};
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, PacketId};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::QueueLimit;
use serde_json::json;

parameters! {
    /// Parameters. Those of the control are explained at `pie`; each queue has its own.
    // Defaults: the values of Linux; the control has those of `pie`.
    #[schemars(example = json!({}))]
    #[schemars(example = json!({
        "target": "5 ms",
        "limit": "60 kB",
        "ecn": true,
        "queues": 3,
        "quantum": "300 bytes",
        "arithmetic": "linux"
    }))]
    pub struct FqPie {
        /// Queueing delay in a queue to which its drop probability is adapted. Above 0.
        pub target: Span = Pie::default().target,
        /// Time from one update of the drop probabilities to the next. At least 1 ms.
        pub update_interval: Span = Pie::default().update_interval,
        /// Weight of the delay's distance from the target, per second. Above 0.
        pub alpha: f64 = Pie::default().alpha,
        /// Weight of the delay's change since the last update, per second. At least 0.
        pub beta: f64 = Pie::default().beta,
        /// Time for which a queue drops nothing after it has been short.
        pub burst_allowance: Span = Pie::default().burst_allowance,
        /// Most packets or bytes that may wait in all queues, without the packet in service.
        /// Packets that arrive beyond it are dropped.
        pub limit: QueueLimit = QueueLimit::Packets(10_240),
        /// True if ECN-capable packets are marked instead of dropped, up to `mark_up_to`.
        pub ecn: bool = Pie::default().ecn,
        /// Drop probability above which ECN-capable packets are dropped as well.
        pub mark_up_to: Probability = Pie::default().mark_up_to,
        /// Size of a usual packet on the wire. With at most two of them waiting in its queue, a
        /// packet is not dropped at random.
        pub mean_packet: Bytes = Pie::default().mean_packet,
        /// True if random drops are spaced.
        pub derandomise: bool = Pie::default().derandomise,
        /// Number of queues, from 1 to 65,536. A hash of flow and direction, with a random number
        /// of the run, chooses the queue. So flows may share one.
        pub queues: u32 = 1024,
        /// Bytes that a queue may send in its turn. From 256 bytes to 1 MiB, as for `fq_codel`.
        pub quantum: Bytes = Bytes(1514),
        /// Arithmetic of the drop probabilities.
        pub arithmetic: Arithmetic = Pie::default().arithmetic,
    }
}

impl Element<QueueKind> for FqPie {
    const NAME: &'static str = "fq_pie";
    const LABEL: &'static str = "FQ-PIE";
    const SUMMARY: &'static str = "A queue for each flow, served in turn, with PIE in each; flows \
        that send little go first.";
    const REFERENCE: &'static str = "Ramakrishnan et al. (2019), FQ-PIE Queue Discipline in the \
        Linux Kernel; RFC 8033";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            self.pie().check_control(),
            check_limit("limit", self.limit),
            check_queues(self.queues, self.quantum),
        ])
    }

    fn facts(&self) -> QueueFacts {
        QueueFacts::early(self.limit, self.ecn)
    }
}

impl FqPie {
    /// Returns the parameters of a queue's control.
    fn pie(&self) -> Pie {
        Pie {
            target: self.target,
            update_interval: self.update_interval,
            alpha: self.alpha,
            beta: self.beta,
            burst_allowance: self.burst_allowance,
            limit: self.limit,
            ecn: self.ecn,
            mark_up_to: self.mark_up_to,
            mean_packet: self.mean_packet,
            derandomise: self.derandomise,
            delay_measure: DelayMeasure::Timestamps,
            arithmetic: self.arithmetic,
            ..Pie::default()
        }
    }
}

impl Factory<QueueKind> for FqPie {
    fn build(&self, context: QueueContext<'_>) -> Discipline {
        let stream = context.place.stream();
        Discipline::Scheduled(match self.arithmetic {
            Arithmetic::Exact => Box::new(FqPieQueue::<Exact>::new(self, stream)),
            Arithmetic::Linux => Box::new(FqPieQueue::<Linux>::new(self, stream)),
        })
    }

    fn draws(&self) -> bool {
        true
    }
}

/// All queues, each with its control.
#[derive(Debug)]
struct FqPieQueue<C> {
    tail: DropTail,
    flows: FlowQueues<C>,
    stream: Stream,
    ecn: bool,
}

fn line_of<C>(own: &Own<'_, C>) -> Line {
    let waiting = own.waiting();
    let first = waiting.first_at();
    Line {
        first_at: (!first.is_never()).then_some(first),
        bytes: waiting.backlog().bytes,
    }
}

impl<C: Control> FqPieQueue<C> {
    fn new(parameters: &FqPie, mut stream: Stream) -> Self {
        let pie = parameters.pie();
        FqPieQueue {
            tail: parameters.limit.into(),
            flows: FlowQueues::new(
                parameters.queues,
                [parameters.quantum; 2],
                &mut stream,
                || C::new(&pie),
            ),
            stream,
            ecn: parameters.ecn,
        }
    }
}

impl<C: Control> Queue for FqPieQueue<C> {
    fn enqueue(&mut self, now: Time, id: PacketId, in_service: Backlog, context: &mut Context<'_>) {
        let packet = &context.packets[id];
        let (number, size) = (self.flows.queue_of(packet), packet.bytes());
        let occupancy = Occupancy {
            waiting: self.flows.backlog(),
            in_service,
            ..Occupancy::default()
        };
        let fits = self.tail.fits(size, &occupancy);
        let own = self.flows.own(number);
        let line = line_of(&own);
        own.state.catch_up(now, line);
        if !fits {
            own.state.note_drop();
            context.drop_packet(now, id, DropReason::QueueFull);
            return;
        }
        let random = (&mut self.stream, &mut *context);
        if admits(own.state, (self.ecn, line), (now, id), random) {
            self.flows.push(now, number, id, context);
        }
    }

    fn dequeue(&mut self, now: Time, context: &mut Context<'_>) -> Option<PacketId> {
        self.flows.pop(context, |mut own, context| {
            own.state.catch_up(now, line_of(&own));
            let (arrival, id) = own.pop(context)?;
            let size = context.packets[id].bytes();
            let left = line_of(&own);
            own.state
                .note_departure(now, Departing { arrival, size }, left);
            Some(id)
        })
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

    fn bench<C: Control>(parameters: &FqPie) -> Bench<FqPieQueue<C>> {
        let stream = Streams::new(5, 0).stream("hop/test/queue");
        Bench::new(FqPieQueue::new(parameters, stream), 1)
    }

    /// A flow alone has a queue alone, whose mean delay meets the target.
    fn check_mean_delay<C: Control>(arithmetic: Arithmetic) {
        let mut bench = bench::<C>(&FqPie {
            arithmetic,
            ..FqPie::default()
        });
        bench.load_that_reacts(120.0);
        let mean = bench.mean_wait_after(20.0);
        // As for PIE: half the target to twice it.
        assert!((0.0075..0.030).contains(&mean), "{arithmetic:?}: {mean}");
        assert!(bench.signals() > 100);
    }

    #[test]
    fn the_mean_delay_of_a_flow_meets_the_target() {
        check_mean_delay::<Exact>(Arithmetic::Exact);
        check_mean_delay::<Linux>(Arithmetic::Linux);
    }

    /// Only the flow that overloads its queue has drops.
    #[test]
    fn each_flow_has_its_own_probability() {
        let mut bench = bench::<Exact>(&FqPie {
            limit: QueueLimit::Unlimited,
            burst_allowance: Span::ZERO,
            ..FqPie::default()
        });
        for round in 0..4000_u32 {
            let at = f64::from(round) * 0.001;
            (0..2).for_each(|_| bench.arrive_of(at, FlowId(0), 1500));
            bench.arrive_of(at, FlowId(1), 300);
        }
        let numbers = [0, 1].map(|flow| {
            bench
                .log
                .dropped
                .iter()
                .filter(|(one, _)| one.0 == flow)
                .count()
        });
        assert!(numbers[0] > 500 && numbers[1] == 0, "{numbers:?}");
    }

    #[test]
    fn what_does_not_fit_is_dropped_on_arrival() {
        let mut bench = bench::<Linux>(&FqPie {
            limit: QueueLimit::Packets(10),
            arithmetic: Arithmetic::Linux,
            ..FqPie::default()
        });
        (0..50).for_each(|number| bench.arrive_of(0.0, FlowId(number % 5), 1500));
        assert_eq!(bench.queue.backlog().packets, 10);
        assert_eq!(bench.log.drops, [(0.0, DropReason::QueueFull); 39]);
    }

    #[test]
    fn capable_packets_are_marked() {
        let mut bench = bench::<Exact>(&FqPie {
            ecn: true,
            mark_up_to: Probability::ONE,
            ..FqPie::default()
        });
        bench.ecn = Ecn::CapableL4s;
        bench.load(0.0, 3.0, 0.000_9);
        assert!(bench.early().is_empty() && bench.log.marks.len() > 10);
    }

    #[test]
    fn impossible_parameters_are_refused_by_name() {
        assert_refused(
            &json!({ "kind": "fq_pie", "arithmetic": "linux" }),
            [
                ("target", json!("0 ms")),
                ("alpha", json!(0.1)),
                ("limit", json!("20 ms")),
                ("queues", json!(0)),
                ("quantum", json!("255 bytes")),
            ],
        );
    }
}
