//! PI2 (De Schepper et al. 2016): one queue whose drop probability is the square of a probability
//! that a proportional-integral controller adapts.

use super::arithmetic::Arithmetic;
use super::buffer::{Buffer, check_limit};
use super::facts::{QueueFacts, SteeringLaw};
use super::pi_controller::{Controller, Gains};
use super::{Discipline, Queue, QueueContext, QueueKind};
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, Ecn, PacketId};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::QueueLimit;
use serde_json::json;

parameters! {
    /// Parameters.
    // Defaults: constants of RFC 9332 appendix A.1 for its classic queue; the limit is that of PIE
    // in Linux.
    #[schemars(example = json!({}))]
    #[schemars(example = json!({
        "target": "5 ms",
        "limit": "60 kB",
        "ecn": true,
        "arithmetic": "linux"
    }))]
    pub struct Pi2 {
        /// Queueing delay to which the probability is adapted. Above 0.
        pub target: Span = Span::from_millis(15),
        /// Time from one update of the probability to the next. At least 1 ms.
        pub update_interval: Span = Span::from_millis(16),
        /// Weight of the delay's distance from the target, per second: the probability that a
        /// second above the target adds at an update. Above 0.
        pub alpha: f64 = 0.16,
        /// Weight of the delay's change since the last update, per second. Above 0.
        pub beta: f64 = 3.2,
        /// Ratio of the marking probability of ECT(1) packets to the base probability, k. Above 0.
        pub coupling: f64 = 2.0,
        /// Most packets or bytes that may wait, without the packet in service.
        pub limit: QueueLimit = QueueLimit::Packets(1000),
        /// True if ECN-capable packets are marked instead of dropped, and ECT(1) packets by their
        /// own law. Packets that find the buffer full are still dropped.
        pub ecn: bool = false,
        /// Size of a full packet on the wire. With less than two of them waiting, nothing is
        /// dropped or marked.
        pub mtu: Bytes = Bytes(1500),
        /// Arithmetic of the probability.
        pub arithmetic: Arithmetic = Arithmetic::Exact,
    }
}

impl Element<QueueKind> for Pi2 {
    const NAME: &'static str = "pi2";
    const LABEL: &'static str = "PI2";
    const SUMMARY: &'static str = "First in, first out; drops or marks arrivals at random, with \
        the square of a probability that is adapted until the delay meets a target.";
    const REFERENCE: &'static str = "De Schepper, Bondarenko, Tsang and Briscoe (2016), PI2: A \
        Linearized AQM for both Classic and Scalable TCP; RFC 9332 appendix A";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            self.gains().check(self.arithmetic),
            check_coupling(self.coupling),
            check_limit("limit", self.limit),
        ])
    }

    fn facts(&self) -> QueueFacts {
        QueueFacts::early(self.limit, self.ecn).steered(SteeringLaw::Random, self.target, None)
    }
}

/// Refuses a coupling that is not positive.
pub(super) fn check_coupling(coupling: f64) -> Result<()> {
    check_positive("coupling", coupling, "2")
}

impl Pi2 {
    const fn gains(&self) -> Gains {
        Gains {
            target: self.target,
            update_interval: self.update_interval,
            alpha: self.alpha,
            beta: self.beta,
        }
    }
}

impl Factory<QueueKind> for Pi2 {
    fn build(&self, context: QueueContext<'_>) -> Discipline {
        Discipline::Scheduled(Box::new(Pi2Queue::new(self, context.place.stream())))
    }

    fn draws(&self) -> bool {
        true
    }
}

/// A first-in first-out buffer under the controller.
#[derive(Debug)]
struct Pi2Queue {
    buffer: Buffer,
    controller: Controller,
    stream: Stream,
    coupling: f64,
    ecn: bool,
    /// Nothing is dropped with less than this waiting.
    spared: Bytes,
}

impl Pi2Queue {
    fn new(parameters: &Pi2, stream: Stream) -> Self {
        Pi2Queue {
            buffer: Buffer::new(parameters.limit),
            controller: Controller::new(parameters.gains(), parameters.arithmetic, 1.0),
            stream,
            coupling: parameters.coupling,
            ecn: parameters.ecn,
            spared: parameters.mtu * 2,
        }
    }

    fn catch_up(&mut self, now: Time) {
        let first = self.buffer.first_at();
        self.controller.catch_up(now, |at| {
            first.map_or(Span::ZERO, |arrival| at.since(arrival))
        });
    }

    /// Lets an arriving packet pass, or marks it, and returns true; or drops it.
    fn admits(&mut self, now: Time, id: PacketId, context: &mut Context<'_>) -> bool {
        if self.buffer.backlog().bytes < self.spared {
            return true;
        }
        let probability = self.controller.probability();
        let scalable = self.ecn && context.packets[id].ecn() == Ecn::CapableL4s;
        // Two draws that both strike have the square of the probability.
        let strikes = if scalable {
            self.stream.uniform() < self.coupling * probability
        } else {
            self.stream.uniform() < probability && self.stream.uniform() < probability
        };
        if !strikes || self.ecn && context.mark_packet(now, id) {
            return true;
        }
        context.drop_packet(now, id, DropReason::Aqm);
        false
    }
}

impl Queue for Pi2Queue {
    fn enqueue(&mut self, now: Time, id: PacketId, in_service: Backlog, context: &mut Context<'_>) {
        self.catch_up(now);
        if !self.buffer.fits(id, in_service, context) || self.admits(now, id, context) {
            self.buffer.enqueue(now, id, in_service, context);
        }
    }

    fn dequeue(&mut self, now: Time, context: &mut Context<'_>) -> Option<PacketId> {
        self.catch_up(now);
        self.buffer.dequeue(context).map(|(_, id)| id)
    }

    fn backlog(&self) -> Backlog {
        self.buffer.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::{Bench, assert_refused};

    use ackclock_spec::streams::Streams;

    fn bench(parameters: &Pi2) -> Bench<Pi2Queue> {
        let stream = Streams::new(7, 0).stream("hop/test/queue");
        Bench::new(Pi2Queue::new(parameters, stream), 1)
    }

    /// Returns the share of packets signalled at a base probability of 0.3, with many waiting.
    fn signalled(ecn: bool, packets: Ecn, coupling: f64) -> f64 {
        let mut bench = bench(&Pi2 {
            limit: QueueLimit::Unlimited,
            ecn,
            coupling,
            ..Pi2::default()
        });
        bench.ecn = packets;
        (0..10).for_each(|_| bench.arrive(0.0));
        // With a target of a second nothing changes in the instant of the arrivals.
        bench.queue.controller = Controller::new(
            Gains {
                target: Span::from_millis(1000),
                ..Pi2::default().gains()
            },
            Arithmetic::Exact,
            1.0,
        );
        bench.queue.controller.set_probability(0.3);
        let arrivals = 40_000;
        (0..arrivals).for_each(|_| bench.arrive(0.0));
        bench.signals() as f64 / f64::from(arrivals)
    }

    /// Classic packets have p′², scalable ones k p′. Four standard errors.
    #[test]
    fn the_signal_is_the_square_or_the_multiple_of_the_base_probability() {
        for (ecn, packets, coupling, expected) in [
            (false, Ecn::CapableL4s, 2.0, 0.09),
            (true, Ecn::NotCapable, 2.0, 0.09),
            (true, Ecn::Capable, 2.0, 0.09),
            (true, Ecn::CapableL4s, 2.0, 0.6),
            (true, Ecn::CapableL4s, 1.0, 0.3),
        ] {
            let share = signalled(ecn, packets, coupling);
            let tolerance = 4.0 * (expected * (1.0 - expected) / 40_000.0_f64).sqrt();
            assert!((share - expected).abs() < tolerance, "{packets:?}: {share}");
        }
    }

    #[test]
    fn the_mean_delay_meets_the_target_under_a_load_that_reacts() {
        for (ecn, arithmetic) in [
            (false, Arithmetic::Exact),
            (true, Arithmetic::Exact),
            (false, Arithmetic::Linux),
        ] {
            let mut bench = bench(&Pi2 {
                ecn,
                arithmetic,
                ..Pi2::default()
            });
            bench.ecn = Ecn::Capable;
            bench.load_of_many(120.0);
            let mean = bench.mean_wait_after(20.0);
            // The controller integrates the distance from the target. As for PIE: half the target
            // to twice it.
            assert!((0.0075..0.030).contains(&mean), "{mean}");
            assert_eq!(bench.log.marks.is_empty(), !ecn);
            assert!(bench.signals() > 100, "{}", bench.signals());
        }
    }

    #[test]
    fn two_packets_are_spared() {
        let mut bench = bench(&Pi2::default());
        bench.queue.controller.set_probability(1.0);
        (0..4).for_each(|_| bench.arrive(0.0));
        // One is served, two wait, and the fourth finds two waiting.
        assert_eq!(bench.log.drops, [(0.0, DropReason::Aqm)]);
    }

    #[test]
    fn impossible_parameters_are_refused_by_name() {
        assert_refused(
            &json!({ "kind": "pi2", "arithmetic": "linux" }),
            [
                ("target", json!("0 ms")),
                ("update_interval", json!("999 us")),
                ("alpha", json!(0)),
                ("beta", json!(-1)),
                ("beta", json!(0.001)),
                ("coupling", json!(0)),
                ("limit", json!("0 packets")),
                ("limit", json!("20 ms")),
            ],
        );
    }
}
