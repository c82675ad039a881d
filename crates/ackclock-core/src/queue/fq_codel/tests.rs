use super::*;
use crate::packet::{Ecn, FlowId, Packet, PacketKind};
use crate::queue::codel::{Codel, CodelQueue};
use crate::queue::testing::{Bench, assert_refused};
use ackclock_spec::streams::Streams;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn stream(seed: u64) -> Stream {
    Streams::new(seed, 0).stream("hop/test/queue")
}

fn queue(parameters: &FqCodel, seed: u64) -> FqCodelQueue {
    FqCodelQueue::new(parameters, stream(seed))
}

/// Returns a bench whose first ten flows have queues of their own.
fn bench(parameters: &FqCodel, service_ms: u64) -> Bench<FqCodelQueue> {
    let apart = |seed: &u64| {
        let numbers = queues_of(&queue(parameters, *seed), 10);
        numbers.iter().collect::<BTreeSet<_>>().len() == 10
    };
    let seed = (0..).find(apart).unwrap();
    Bench::new(queue(parameters, seed), service_ms)
}

fn unlimited() -> FqCodel {
    FqCodel {
        limit: QueueLimit::Unlimited,
        ..FqCodel::default()
    }
}

/// Returns the numbers of the queues of that many flows.
fn queues_of(queue: &FqCodelQueue, flows: u32) -> Vec<usize> {
    let of = |flow| Packet::new(PacketKind::Data, FlowId(flow), 0, 1500, Time::ZERO);
    (0..flows)
        .map(|flow| queue.flows.queue_of(&of(flow)))
        .collect()
}

/// Offers every flow a packet of its size every `gap` seconds.
fn load<Q: Queue>(bench: &mut Bench<Q>, sizes: &[u16], until: f64, gap: f64) {
    for round in 0..(until / gap) as u32 {
        for (flow, size) in (0..).zip(sizes) {
            bench.arrive_of(f64::from(round) * gap, FlowId(flow), *size);
        }
    }
}

/// Returns the bytes of each flow whose service began after `from`, in seconds.
fn sent<Q: Queue>(bench: &Bench<Q>, flows: u32, from: f64) -> Vec<f64> {
    let of = |flow| {
        let served = bench.served.iter().zip(&bench.waits);
        let later = served.filter(|((of, ..), (at, _))| of.0 == flow && *at > from);
        later.map(|((.., size), _)| f64::from(*size)).sum()
    };
    (0..flows).map(of).collect()
}

/// Served in turn, a single queue is always served, so all drops and marks are CoDel's.
#[test]
fn a_single_flow_has_codel() {
    for (ecn, arithmetic) in [
        (false, Arithmetic::Exact),
        (true, Arithmetic::Exact),
        (false, Arithmetic::Linux),
    ] {
        let codel = Codel {
            limit: QueueLimit::Unlimited,
            ecn,
            arithmetic,
            ..Codel::default()
        };
        let fq_codel = FqCodel {
            ecn,
            arithmetic,
            ..unlimited()
        };
        let mut single = Bench::new(CodelQueue::new(&codel), 1);
        let mut other = bench(&fq_codel, 1);
        (single.ecn, other.ecn) = (Ecn::Capable, Ecn::Capable);
        load(&mut single, &[1500], 3.0, 0.000_7);
        load(&mut other, &[1500], 3.0, 0.000_7);
        assert!(single.early().len() + single.log.marks.len() > 100);
        assert_eq!(single.log.drops, other.log.drops);
        assert_eq!(single.log.marks, other.log.marks);
        assert_eq!(single.waits, other.waits);
    }
}

/// Deficit round robin: in any interval, the bytes of two flows that always have packets differ by
/// less than a quantum and two packets (Shreedhar and Varghese 1996).
#[test]
fn greedy_flows_get_equal_shares_whatever_their_packets() {
    for sizes in [&[1500, 300][..], &[1500; 8], &[1500, 700, 40]] {
        let mut bench = bench(&unlimited(), 1);
        let gap = 0.000_8 * f64::from(*sizes.iter().min().unwrap()) / 1500.0;
        load(&mut bench, sizes, 2.0, gap);
        let sent = sent(&bench, sizes.len() as u32, 0.5);
        let [most, least] = [f64::max, f64::min].map(|of| sent.iter().copied().reduce(of).unwrap());
        assert!(least > 80_000.0, "{sent:?}");
        assert!(most - least < 1514.0 + 2.0 * 1500.0, "{sent:?}");
    }
}

/// A packet every 37.5 ms beside eight greedy flows, whose turns take 8 ms.
#[test]
fn a_sparse_flow_waits_for_the_packet_in_service_only() {
    let mut bench = bench(&unlimited(), 1);
    for round in 0..3000_u32 {
        let at = f64::from(round) * 0.001;
        (0..8).for_each(|flow| bench.arrive_of(at, FlowId(flow), 1500));
        if round % 75 == 40 {
            bench.arrive_of(at + 0.000_3, FlowId(8), 300);
        }
    }
    let waits = bench.served.iter().zip(&bench.waits);
    let sparse: Vec<f64> = waits
        .filter(|((flow, ..), _)| flow.0 == 8)
        .map(|(_, (_, waited))| *waited)
        .collect();
    assert_eq!(sparse.len(), 40);
    assert!(sparse.iter().all(|waited| *waited < 0.001), "{sparse:?}");
    assert!(bench.log.dropped.iter().all(|(flow, _)| flow.0 < 8));
    assert!(bench.early().len() > 100);
}

/// A flow whose only packet always comes when the previous one has left.
#[test]
fn a_flow_that_comes_and_goes_does_not_starve_the_others() {
    let mut bench = bench(&unlimited(), 1);
    (0..500).for_each(|_| bench.arrive_of(0.0, FlowId(0), 1500));
    for round in 0..400_u32 {
        // Just before the link is free again: the packet is the only one of its flow.
        bench.arrive_of(f64::from(round) * 0.001 + 0.000_9, FlowId(1), 1500);
    }
    let sent = sent(&bench, 2, 0.01);
    assert!((sent[0] / sent[1] - 1.0).abs() < 0.05, "{sent:?}");
}

#[test]
fn beyond_the_limit_the_longest_queue_drops_a_batch_from_its_head() {
    let parameters = FqCodel {
        limit: QueueLimit::Packets(200),
        drop_batch: 64,
        ..FqCodel::default()
    };
    for (thin, expected) in [(10, 64), (120, 41)] {
        let mut bench = bench(&parameters, 1000);
        bench.arrive_of(0.0, FlowId(9), 1500); // goes into service
        (0..thin).for_each(|_| bench.arrive_of(0.0, FlowId(1), 300));
        (0..200 - thin).for_each(|_| bench.arrive_of(0.0, FlowId(0), 1500));
        assert_eq!(bench.log.drops, []);
        bench.arrive_of(0.0, FlowId(1), 300);
        // Half of the long queue, or a batch: its oldest packets.
        let first = 1 + thin;
        let oldest: Vec<(FlowId, u64)> = (first..first + expected.min((200 - thin) / 2))
            .map(|number| (FlowId(0), number))
            .collect();
        assert_eq!(bench.log.dropped, oldest);
        assert!(
            bench
                .log
                .drops
                .iter()
                .all(|(_, reason)| *reason == DropReason::QueueFull)
        );
    }
}

#[test]
fn the_limit_holds_under_overload() {
    let limited = FqCodel {
        limit: QueueLimit::Packets(100),
        ..FqCodel::default()
    };
    let mut bench = bench(&limited, 1);
    load(&mut bench, &[1500], 1.0, 0.000_1);
    let over = bench.log.drops.iter();
    let over = over.filter(|(_, reason)| *reason == DropReason::QueueFull);
    assert!(over.count() > 1000);
    assert!(bench.queue.backlog().packets <= 100);
}

/// 100 flows in 1024 queues: 100 · 99/2/1024 pairs are expected to share one.
#[test]
fn the_hash_spreads_flows_and_the_seed_perturbs_it() {
    let pairs = |seed| {
        let numbers = queues_of(&queue(&FqCodel::default(), seed), 100);
        let same = |(index, one): (usize, &usize)| {
            numbers[..index]
                .iter()
                .filter(|other| *other == one)
                .count()
        };
        numbers.iter().enumerate().map(same).sum::<usize>()
    };
    let runs = 400;
    let mean = (0..runs).map(pairs).sum::<usize>() as f64 / runs as f64;
    let expected = 100.0 * 99.0 / 2.0 / 1024.0;
    // The number of pairs is nearly Poisson; four standard errors.
    let tolerance = 4.0 * (expected / runs as f64).sqrt();
    assert!((mean - expected).abs() < tolerance, "{mean}");
    let numbers = |seed| queues_of(&queue(&FqCodel::default(), seed), 100);
    assert_eq!(numbers(3), numbers(3));
    assert_ne!(numbers(3), numbers(4));
}

#[test]
fn data_and_acks_of_a_flow_have_queues_of_their_own() {
    let queue = queue(&FqCodel::default(), 7);
    let of = |kind| {
        queue
            .flows
            .queue_of(&Packet::new(kind, FlowId(0), 0, 40, Time::ZERO))
    };
    assert_eq!(of(PacketKind::Data), of(PacketKind::Syn));
    assert_eq!(of(PacketKind::Ack), of(PacketKind::SynAck));
    assert_ne!(of(PacketKind::Data), of(PacketKind::Ack));
}

proptest! {
    /// The bench checks after every arrival that each packet is in one place.
    #[test]
    fn flows_keep_their_order_and_no_packet_is_lost_silently(
        seed: u64,
        queues in 1_u32..9,
        limit in prop_oneof![
            (1_u64..20).prop_map(QueueLimit::Packets),
            (1_u64..20_000).prop_map(|bytes| QueueLimit::Bytes(Bytes(bytes))),
        ],
        arrivals in prop::collection::vec((0_u32..6, 40_u16..1501, 0_u32..4), 1..300),
    ) {
        let parameters = FqCodel {
            queues, limit, quantum: Bytes(256), drop_batch: 3, target: Span::from_millis(1),
            interval: Span::from_millis(5), ..FqCodel::default()
        };
        let mut bench = Bench::new(queue(&parameters, seed), 1);
        let mut at = 0.0;
        for (flow, size, gap) in arrivals {
            at += f64::from(gap) * 0.000_4;
            bench.arrive_of(at, FlowId(flow), size);
            let held = bench.queue.backlog();
            match limit {
                QueueLimit::Bytes(limit) => prop_assert!(held.bytes <= limit),
                QueueLimit::Packets(limit) => prop_assert!(held.packets <= limit),
                QueueLimit::Time(_) | QueueLimit::Unlimited => {}
            }
        }
        bench.serve_until(Time::from_seconds(at + 10.0));
        prop_assert_eq!(bench.pool.live(), 0);
        for flow in 0..6 {
            let of = bench.served.iter().filter(|(of, ..)| of.0 == flow);
            prop_assert!(of.map(|(_, number, _)| *number).is_sorted());
        }
    }
}

#[test]
fn impossible_parameters_are_refused_by_name() {
    assert_refused(
        &json!({ "kind": "fq_codel" }),
        [
            ("target", json!("0 ms")),
            ("interval", json!("5 ms")),
            ("limit", json!("0 packets")),
            ("limit", json!("20 ms")),
            ("queues", json!(0)),
            ("queues", json!(65_537)),
            ("quantum", json!("255 bytes")),
            ("quantum", json!("1048577 bytes")),
            ("drop_batch", json!(0)),
        ],
    );
}

/// Linux's selector 0x01/0x01: ECT(1) is marked beyond the step, ECT(0) by CoDel alone.
#[test]
fn the_selector_chooses_what_the_step_marks() {
    let marks = |selector, packets| {
        let step = FqCodel {
            ce_threshold: Some(Span::from_millis(2)),
            ce_threshold_selector: selector,
            ..unlimited()
        };
        let mut bench = bench(&step, 1);
        bench.ecn = packets;
        (0..10).for_each(|_| bench.arrive(0.0));
        bench.serve_until(Time::from_seconds(1.0));
        assert_eq!(bench.log.drops, []);
        bench.log.marks.len()
    };
    for (selector, capable, l4s) in [
        (None, 7, 7),
        (Some(Classifier::AnyEct), 7, 7),
        (Some(Classifier::L4s), 0, 7),
    ] {
        assert_eq!(marks(selector, Ecn::Capable), capable, "{selector:?}");
        assert_eq!(marks(selector, Ecn::CapableL4s), l4s, "{selector:?}");
        assert_eq!(marks(selector, Ecn::NotCapable), 0);
    }
}

/// Each flow's own wait counts: a sparse flow is not marked beside a greedy one.
#[test]
fn the_step_knows_the_wait_in_the_flows_own_queue() {
    let step = FqCodel {
        ce_threshold: Some(Span::from_millis(2)),
        ..unlimited()
    };
    let mut bench = bench(&step, 1);
    bench.ecn = Ecn::CapableL4s;
    for round in 0..90_u32 {
        let at = f64::from(round) * 0.001;
        (0..2).for_each(|_| bench.arrive_of(at, FlowId(0), 1500));
        if round % 10 == 5 {
            bench.arrive_of(at, FlowId(1), 300);
        }
    }
    bench.serve_until(Time::from_seconds(0.09));
    let late = bench.waits.iter().filter(|(_, waited)| *waited > 0.002);
    assert_eq!(bench.log.marks.len(), late.count());
    let sparse = bench.served.iter().zip(&bench.waits);
    let waits: Vec<f64> = sparse
        .filter(|((flow, ..), _)| flow.0 == 1)
        .map(|(_, (_, waited))| *waited)
        .collect();
    assert!(waits.len() == 9 && waits.iter().all(|waited| *waited < 0.002));
}
