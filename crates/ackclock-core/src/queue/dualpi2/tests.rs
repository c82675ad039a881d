use super::*;
use crate::packet::FlowId;
use crate::queue::testing::{Bench, assert_refused};
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::Element;
use ackclock_spec::streams::Streams;

fn stream() -> Stream {
    Streams::new(7, 0).stream("hop/test/queue")
}

/// Returns the parameters with their defaults filled in.
fn parameters(arithmetic: Arithmetic) -> DualPi2 {
    let mut parameters = DualPi2 {
        arithmetic,
        limit: QueueLimit::Unlimited,
        ..DualPi2::default()
    };
    parameters.check(&NoFiles).unwrap();
    parameters
}

fn bench(parameters: &DualPi2, service_ms: u64) -> Bench<DualPi2Queue> {
    Bench::new(DualPi2Queue::new(parameters, stream()), service_ms)
}

/// Returns a bench whose base probability stays where it is, with many packets of both classes.
fn loaded(arithmetic: Arithmetic, probability: f64) -> Bench<DualPi2Queue> {
    let mut bench = bench(
        &DualPi2 {
            // No update within the run.
            update_interval: Span::from_seconds(1e6),
            threshold: Some(Span::from_seconds(1e6)),
            ..parameters(arithmetic)
        },
        1,
    );
    for ecn in [Ecn::CapableL4s, Ecn::NotCapable] {
        bench.ecn = ecn;
        (0..20_000).for_each(|_| bench.arrive_of(0.0, FlowId(ecn as u32), 1500));
    }
    bench.queue.controller.set_probability(probability);
    bench
}

/// `recur` of RFC 9332: the sum passes 1 at the fourth and seventh packet, where rounding plays no
/// role.
#[test]
fn sums_of_probabilities_strike_where_they_pass_one() {
    let mut chance = Chance {
        stream: stream(),
        sums: Some([0.0; 2]),
    };
    let strikes: Vec<usize> = (1..=10)
        .filter(|_| chance.strikes(Class::LowLatency, 0.3))
        .collect();
    assert_eq!(strikes, [4, 7]);
}

#[test]
fn the_ramp_rises_from_the_threshold_to_one() {
    let exact = DualPi2Queue::new(&parameters(Arithmetic::Exact), stream());
    let linux = DualPi2Queue::new(&parameters(Arithmetic::Linux), stream());
    for (micros, ramp, step) in [
        (800, 0.0, 0.0),
        (1000, 0.5, 0.0),
        (1001, 0.5025, 1.0),
        (1200, 1.0, 1.0),
        (9000, 1.0, 1.0),
    ] {
        let delay = Span::from_micros(micros);
        assert!(
            (exact.ramp.probability(delay) - ramp).abs() < 1e-9,
            "{micros}"
        );
        assert_eq!(linux.ramp.probability(delay), step, "{micros}");
    }
}

/// A class gets its share of the bytes while both wait: 1/16 and 10 %.
#[test]
fn the_classic_queue_has_its_share_while_both_wait() {
    for (arithmetic, share) in [(Arithmetic::Exact, 1.0 / 16.0), (Arithmetic::Linux, 0.1)] {
        let mut bench = loaded(arithmetic, 0.0);
        bench.serve_until(Time::from_seconds(10.0));
        let classic = bench.served.iter().filter(|(flow, ..)| flow.0 == 0).count();
        let classic_share = classic as f64 / bench.served.len() as f64;
        // The credit at the beginning is worth a few packets of 10,000.
        assert!((classic_share - share).abs() < 2e-3, "{classic_share}");
    }
}

/// Returns the share of each class that is marked or dropped while 10,000 packets are served.
fn signals(arithmetic: Arithmetic, probability: f64) -> [f64; 3] {
    let mut bench = loaded(arithmetic, probability);
    bench.serve_until(Time::from_seconds(10.0));
    let of = |flow: u32| {
        let served = bench
            .served
            .iter()
            .filter(|(one, ..)| one.0 == flow)
            .count();
        let dropped = bench.log.dropped.iter().filter(|(one, _)| one.0 == flow);
        (served, dropped.count())
    };
    let scalable = Ecn::CapableL4s as u32;
    let ((low_latency, lost), (classic, dropped)) = (of(scalable), of(0));
    [
        bench.log.marks.len() as f64 / low_latency as f64,
        lost as f64 / (low_latency + lost) as f64,
        dropped as f64 / (classic + dropped) as f64,
    ]
}

/// L is marked with k p′, and C dropped with p′². From k p′ = 1 on, L is dropped with p′² as well
/// and the rest marked.
#[test]
fn both_classes_have_their_coupled_probabilities() {
    for arithmetic in [Arithmetic::Exact, Arithmetic::Linux] {
        for p in [0.1, 0.3, 0.6, 0.8] {
            let [marked, lost, dropped] = signals(arithmetic, p);
            // Five standard errors of 600 packets in C, and of 9000 in L.
            assert!(
                (dropped - p * p).abs() < 0.1,
                "{arithmetic:?} {p}: {dropped}"
            );
            let expected = if p < 0.5 {
                (2.0 * p, 0.0)
            } else {
                (1.0, p * p)
            };
            assert!(
                (marked - expected.0).abs() < 0.03,
                "{arithmetic:?} {p}: {marked}"
            );
            assert!(
                (lost - expected.1).abs() < 0.03,
                "{arithmetic:?} {p}: {lost}"
            );
        }
    }
}

#[test]
fn capable_classic_packets_are_marked_unless_overload() {
    for arithmetic in [Arithmetic::Exact, Arithmetic::Linux] {
        for (p, marks) in [(0.4, true), (0.6, false)] {
            let mut bench = loaded(arithmetic, p);
            bench.ecn = Ecn::Capable;
            (0..100).for_each(|_| bench.arrive_of(0.0, FlowId(9), 1500));
            // All of the others go first in their queue, so drain everything.
            bench.serve_until(Time::from_seconds(60.0));
            let capable = bench.log.dropped.iter().filter(|(flow, _)| flow.0 == 9);
            assert_eq!(capable.count() == 0, marks, "{arithmetic:?} {p}");
        }
    }
}

/// Without drops on overload, p′ stays below 1/k, and L loses nothing.
#[test]
fn without_drops_on_overload_the_probability_is_bounded() {
    let mut bench = bench(
        &DualPi2 {
            drops_on_overload: false,
            ..parameters(Arithmetic::Linux)
        },
        1,
    );
    bench.ecn = Ecn::CapableL4s;
    bench.load(0.0, 3.0, 0.000_5);
    assert_eq!(bench.queue.controller.probability(), 0.5);
    assert!(bench.early().is_empty() && bench.log.marks.len() > 2000);
}

/// An overload of scalable packets that do not react: Linux's controller sees their delay, and
/// drops; that of the RFC sees an empty classic queue.
#[test]
fn only_linux_looks_at_the_low_latency_queue() {
    for arithmetic in [Arithmetic::Exact, Arithmetic::Linux] {
        let mut bench = bench(&parameters(arithmetic), 1);
        bench.ecn = Ecn::CapableL4s;
        bench.load(0.0, 3.0, 0.000_5);
        let linux = arithmetic == Arithmetic::Linux;
        assert_eq!(bench.queue.controller.probability() > 0.5, linux);
        assert_eq!(bench.early().is_empty(), !linux);
    }
}

/// A packet alone is not marked by the coupling. RFC 9332's queue does not mark it by itself, and
/// Linux's does if it has waited.
#[test]
fn a_short_queue_is_spared() {
    for (arithmetic, marks) in [(Arithmetic::Exact, 0), (Arithmetic::Linux, 1)] {
        let mut bench = bench(&parameters(arithmetic), 10);
        bench.ecn = Ecn::CapableL4s;
        (0..2).for_each(|_| bench.arrive(0.0));
        bench.queue.controller.set_probability(0.5);
        bench.serve_until(Time::from_seconds(1.0));
        assert_eq!(bench.log.marks.len(), marks, "{arithmetic:?}");
    }
}

#[test]
fn the_ecn_field_chooses_the_queue() {
    let of = |low_latency, ecn| {
        let queue = DualPi2Queue::new(
            &DualPi2 {
                low_latency,
                ..parameters(Arithmetic::Exact)
            },
            stream(),
        );
        let kind = crate::packet::PacketKind::Data;
        let mut packet = Packet::new(kind, FlowId(0), 0, 1500, Time::ZERO);
        packet.set_ecn(ecn);
        queue.class(&packet)
    };
    for classifier in [Classifier::L4s, Classifier::AnyEct] {
        assert_eq!(of(classifier, Ecn::NotCapable), "classic");
        assert_eq!(of(classifier, Ecn::CapableL4s), "low_latency");
        assert_eq!(of(classifier, Ecn::Marked), "low_latency");
    }
    assert_eq!(of(Classifier::L4s, Ecn::Capable), "classic");
    assert_eq!(of(Classifier::AnyEct, Ecn::Capable), "low_latency");
}

#[test]
fn the_limit_counts_both_queues() {
    let mut bench = bench(
        &DualPi2 {
            limit: QueueLimit::Packets(10),
            ..parameters(Arithmetic::Exact)
        },
        1,
    );
    for number in 0..50 {
        bench.ecn = [Ecn::NotCapable, Ecn::CapableL4s][number % 2];
        bench.arrive(0.0);
    }
    assert_eq!(bench.queue.backlog().packets, 10);
    assert_eq!(bench.log.drops, [(0.0, DropReason::QueueFull); 39]);
}

#[test]
fn impossible_parameters_are_refused_by_name() {
    assert_refused(
        &json!({ "kind": "dualpi2", "arithmetic": "linux" }),
        [
            ("target", json!("0 ms")),
            ("update_interval", json!("999 us")),
            ("alpha", json!(0)),
            ("beta", json!(-1)),
            ("coupling", json!(0)),
            ("classic_share", json!("100 %")),
            ("classic_share", json!(0)),
            ("range", json!("400 us")),
            ("limit", json!("0 packets")),
            ("limit", json!("20 ms")),
        ],
    );
}
