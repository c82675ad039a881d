//! Controlled Delay (CoDel, RFC 8289). Drops or marks at the head when packets have waited longer
//! than a target for a whole interval. Then it does so more and more often until they no longer
//! wait that long.

use super::arithmetic::Arithmetic;
use super::buffer::{Buffer, check_limit};
use super::controlled_delay::{ControlledDelay, Law, Line, Step, check_times};
use super::facts::{QueueFacts, SteeringLaw};
use super::{Discipline, Queue, QueueContext, QueueKind};
use crate::observe::Context;
use crate::packet::{Backlog, PacketId};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::QueueLimit;
use serde_json::json;

parameters! {
    /// Parameters.
    // Defaults: target and interval of RFC 8289 section 5.3; the rest is as in Linux.
    #[schemars(example = json!({}))]
    #[schemars(example = json!({
        "target": "2 ms",
        "interval": "20 ms",
        "limit": "60 kB",
        "ecn": true,
        "ce_threshold": "1 ms"
    }))]
    pub struct Codel {
        /// Allowed standing queueing delay. Above 0 and below the interval (RFC 8289 section 4.3).
        pub target: Span = Span::from_millis(5),
        /// Time for which the delay may exceed the target before the first drop: about the longest
        /// usual round-trip time (RFC 8289 section 4.2).
        pub interval: Span = Span::from_millis(100),
        /// Most packets or bytes that may wait, without the packet in service. RFC 8289 leaves it
        /// open; 1000 packets is the value of Linux.
        pub limit: QueueLimit = QueueLimit::Packets(1000),
        /// True if ECN-capable packets are marked instead of dropped. Packets that find the buffer
        /// full are still dropped.
        pub ecn: bool = false,
        /// Delay above which an ECN-capable packet is marked as it leaves, beside CoDel's marks and
        /// drops; without it, CoDel alone marks. A scalable control such as DCTCP needs it.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Span")]
        pub ce_threshold: Option<Span> = None,
        /// Size of a full packet on the wire. With at most this many bytes waiting, nothing is
        /// dropped (RFC 8289 section 5.6).
        pub mtu: Bytes = Bytes(1500),
        /// Arithmetic of the control law. That of Linux has a clock of 1.024 µs and halves the
        /// second interval between drops, instead of dividing it by the square root of 2.
        pub arithmetic: Arithmetic = Arithmetic::Exact,
    }
}

impl Element<QueueKind> for Codel {
    const NAME: &'static str = "codel";
    const LABEL: &'static str = "CoDel";
    const SUMMARY: &'static str = "First in, first out; drops or marks at the head, increasingly \
        often, while packets wait longer than a target.";
    const REFERENCE: &'static str =
        "RFC 8289; Nichols and Jacobson (2012), Controlling Queue Delay; Linux, `sch_codel.c`";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            check_times(self.target, self.interval),
            check_limit("limit", self.limit),
        ])
    }

    fn facts(&self) -> QueueFacts {
        let (law, interval) = (SteeringLaw::ControlledDelay, Some(self.interval));
        let marks = self.ecn || self.ce_threshold.is_some();
        let facts = QueueFacts::head(self.limit, marks).steered(law, self.target, interval);
        match self.ce_threshold {
            None => facts,
            // It marks at a step, and by another law above the target.
            Some(_) => QueueFacts {
                marking: Stated::Unknown,
                ..facts
            },
        }
    }
}

impl Factory<QueueKind> for Codel {
    fn build(&self, _: QueueContext<'_>) -> Discipline {
        Discipline::Scheduled(Box::new(CodelQueue::new(self)))
    }
}

/// A first-in first-out buffer under the control law.
#[derive(Debug)]
pub(super) struct CodelQueue {
    law: Law,
    state: ControlledDelay,
    buffer: Buffer,
}

impl CodelQueue {
    pub fn new(parameters: &Codel) -> Self {
        CodelQueue {
            law: Law {
                target: parameters.target,
                interval: parameters.interval,
                ecn: parameters.ecn,
                mtu: parameters.mtu,
                arithmetic: parameters.arithmetic,
                step: Step::of(parameters.ce_threshold, None),
            },
            state: ControlledDelay::default(),
            buffer: Buffer::new(parameters.limit),
        }
    }
}

impl Line for Buffer {
    fn take(&mut self, context: &mut Context<'_>) -> Option<(Time, PacketId)> {
        self.dequeue(context)
    }
    fn bytes(&self) -> Bytes {
        self.backlog().bytes
    }
}

impl Queue for CodelQueue {
    fn enqueue(&mut self, now: Time, id: PacketId, in_service: Backlog, context: &mut Context<'_>) {
        self.buffer.enqueue(now, id, in_service, context);
    }

    fn dequeue(&mut self, now: Time, context: &mut Context<'_>) -> Option<PacketId> {
        self.state
            .dequeue(now, &self.law, &mut self.buffer, context)
    }

    fn backlog(&self) -> Backlog {
        self.buffer.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::DropReason;
    use crate::packet::Ecn;
    use crate::queue::testing::Bench;
    use ackclock_spec::files::NoFiles;
    use ackclock_spec::registry::choose;

    const INTERVAL: f64 = 0.1;

    fn bench(parameters: &Codel, service_ms: u64) -> Bench<CodelQueue> {
        Bench::new(CodelQueue::new(parameters), service_ms)
    }

    fn unlimited() -> Codel {
        Codel {
            limit: QueueLimit::Unlimited,
            ..Codel::default()
        }
    }

    /// A load that does not react. The first drop comes an interval after the delay has exceeded
    /// the target. The n-th drop precedes the next by INTERVAL/sqrt(n), rounded up to the end of a
    /// service.
    #[test]
    fn the_interval_between_drops_shrinks_with_the_square_root_of_their_number() {
        let mut bench = bench(&unlimited(), 1);
        bench.load(0.0, 4.0, 0.000_5);
        let late = bench
            .waits
            .iter()
            .find(|(_, waited)| *waited >= 0.005)
            .unwrap();
        let drops = bench.early();
        assert!(
            (drops[0] - late.0 - INTERVAL).abs() < 1e-6,
            "{late:?} {}",
            drops[0]
        );
        assert!(drops.len() > 100);
        let mut due = drops[0];
        for (n, drop) in (1_u32..).zip(&drops[1..]) {
            due += INTERVAL / f64::from(n).sqrt();
            assert!(
                due <= drop + 1e-6 && *drop < due + 0.001 + 1e-6,
                "drop {n}: {due} {drop}"
            );
        }
    }

    /// In Linux's arithmetic, gaps are those of its reciprocal square root. The table is that of
    /// `controlled_delay.rs`.
    #[test]
    fn linux_drops_at_the_times_of_its_own_square_root() {
        let linux = Codel {
            arithmetic: Arithmetic::Linux,
            ..unlimited()
        };
        let mut bench = bench(&linux, 1);
        bench.load(0.0, 1.0, 0.000_5);
        let drops = bench.early();
        let gaps_ms = [
            99.998, 50.001, 56.249, 48.778, 44.151, 40.406, 37.517, 35.151, 33.181,
        ];
        let mut due = drops[0];
        for (gap, drop) in gaps_ms.iter().zip(&drops[1..]) {
            due += gap / 1e3;
            // The first dequeue at or after the time of the law, in a millisecond.
            assert!(
                due <= drop + 1e-5 && *drop < due + 0.001 + 1e-5,
                "{due} {drop}"
            );
        }
        assert!(drops.len() > 9);
    }

    #[test]
    fn the_delay_stays_near_the_target_under_a_load_that_reacts() {
        for ecn in [false, true] {
            let parameters = Codel {
                ecn,
                ..Codel::default()
            };
            let mut bench = bench(&parameters, 1);
            bench.ecn = Ecn::Capable;
            bench.load_that_reacts(60.0);
            let steady = bench.waits.iter().filter(|(at, _)| *at > 10.0);
            let mut waits: Vec<f64> = steady.map(|(_, waited)| *waited).collect();
            waits.sort_by(f64::total_cmp);
            let (median, served) = (waits[waits.len() / 2], waits.len());
            assert!(median < 0.010, "ecn {ecn}: {median}");
            assert!(served > 45_000, "ecn {ecn}: {served} of 50,000");
        }
    }

    #[test]
    fn a_burst_that_drains_within_an_interval_is_let_through() {
        let mut bench = bench(&unlimited(), 1);
        for burst in 0..20 {
            let at = f64::from(burst) * 0.3;
            (0..90).for_each(|_| bench.arrive(at));
        }
        assert!(bench.waits.iter().any(|(_, waited)| *waited > 0.08));
        assert_eq!(bench.log.drops, []);
    }

    /// Returns the gap between the first two drops of an overload that begins `pause` seconds after
    /// another.
    fn second_gap(pause: f64) -> f64 {
        let mut bench = bench(&unlimited(), 1);
        bench.load(0.0, 3.0, 0.000_8);
        let again = bench.early().last().unwrap() + pause;
        bench.serve_until(Time::from_seconds(again));
        assert!(bench.serving.is_none(), "the queue has drained meanwhile");
        let before = bench.early().len();
        bench.load(again, again + 2.0, 0.000_8);
        let drops = &bench.early()[before..];
        drops[1] - drops[0]
    }

    #[test]
    fn a_restart_is_quicker_than_a_cold_start_if_it_comes_soon() {
        let (soon, late) = (second_gap(1.3), second_gap(8.0));
        assert!((late - INTERVAL).abs() < 0.002, "{late}");
        assert!(soon < 0.5 * INTERVAL, "{soon}");
    }

    /// A slow link: each packet waits for ten times the target, but at most one packet waits.
    #[test]
    fn the_last_packet_is_never_dropped() {
        let mut bench = bench(&unlimited(), 50);
        (0..2).for_each(|_| bench.arrive(0.0));
        bench.load(0.001, 20.0, 0.05);
        let waits = bench.waits[2..].iter();
        assert!(waits.clone().count() > 300 && waits.clone().all(|(_, waited)| *waited > 0.04));
        assert_eq!(bench.log.drops, []);
    }

    #[test]
    fn capable_packets_are_marked_and_the_others_dropped() {
        let outcome = |ecn: bool, packets: Ecn| {
            let mut bench = bench(&Codel { ecn, ..unlimited() }, 1);
            bench.ecn = packets;
            bench.load(0.0, 2.0, 0.000_9);
            (bench.early().len(), bench.log.marks.len())
        };
        for (ecn, packets) in [(false, Ecn::Capable), (true, Ecn::NotCapable)] {
            let (drops, marks) = outcome(ecn, packets);
            assert!(
                drops > 10 && marks == 0,
                "{ecn} {packets:?}: {drops} {marks}"
            );
        }
        for packets in [Ecn::Capable, Ecn::CapableL4s] {
            let (drops, marks) = outcome(true, packets);
            assert!(drops == 0 && marks > 10, "{packets:?}: {drops} {marks}");
        }
    }

    /// A burst that CoDel lets pass: one packet leaves in a millisecond, the n-th has waited n ms.
    #[test]
    fn beyond_the_step_whatever_is_capable_is_marked_as_it_leaves() {
        for (packets, marks) in [
            (Ecn::Capable, 7),
            (Ecn::CapableL4s, 7),
            (Ecn::NotCapable, 0),
        ] {
            let step = Codel {
                ce_threshold: Some(Span::from_millis(2)),
                ..unlimited()
            };
            let mut bench = bench(&step, 1);
            bench.ecn = packets;
            (0..10).for_each(|_| bench.arrive(0.0));
            bench.serve_until(Time::from_seconds(1.0));
            assert_eq!(bench.log.marks.len(), marks);
            assert!(bench.log.marks.iter().all(|at| *at > 0.002));
            assert_eq!(bench.log.drops, []);
        }
    }

    /// The law goes on beside the step: it drops what is not capable at the same times.
    #[test]
    fn the_step_leaves_the_law_as_it_is() {
        let drops = |ce_threshold| {
            let codel = Codel {
                ce_threshold,
                ..unlimited()
            };
            let mut bench = bench(&codel, 1);
            bench.ecn = Ecn::Capable;
            bench.load(0.0, 2.0, 0.000_9);
            bench.early()
        };
        let with = drops(Some(Span::from_millis(1)));
        assert!(with.len() > 10);
        assert_eq!(with, drops(None));
    }

    #[test]
    fn what_does_not_fit_is_dropped_at_the_tail() {
        let limit = QueueLimit::Packets(10);
        let limited = Codel {
            limit,
            ..unlimited()
        };
        let mut bench = bench(&limited, 1);
        (0..50).for_each(|_| bench.arrive(0.0));
        assert_eq!(bench.queue.backlog().packets, 10);
        assert_eq!(bench.log.drops, [(0.0, DropReason::QueueFull); 39]);
    }

    #[test]
    fn impossible_parameters_are_refused_by_name() {
        for (field, value) in [
            ("target", "0 ms"),
            ("target", "100 ms"),
            ("limit", "0 packets"),
            ("limit", "20 ms"),
        ] {
            let mut tree = json!({ "kind": "codel" });
            tree[field] = value.into();
            let error = choose::<QueueKind>(&tree, &NoFiles).unwrap_err();
            let named = if value == "100 ms" { "interval" } else { field };
            assert_eq!(error.field(), named);
            assert!(error.to_string().contains("; "), "{error}");
        }
    }
}
