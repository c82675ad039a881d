use super::tin::{Rotation, quantum};
use super::*;
use crate::packet::{Ecn, FlowId};
use crate::queue::FlowLabel;
use crate::queue::testing::{Bench, assert_refused};
use ackclock_spec::streams::Streams;

fn bench(parameters: &Cake, service_ms: u64) -> Bench<CakeQueue> {
    labelled(parameters, FlowLabels::default(), service_ms)
}

fn labelled(parameters: &Cake, labels: FlowLabels, service_ms: u64) -> Bench<CakeQueue> {
    let stream = Streams::new(5, 0).stream("hop/test/queue");
    Bench::new(CakeQueue::new(parameters, labels, stream), service_ms)
}

/// Labels of flows with hosts of their own and these codepoints.
fn with_codepoints(codepoints: &[Dscp]) -> FlowLabels {
    FlowLabels::new((0..).zip(codepoints).map(|(flow, dscp)| FlowLabel {
        hosts: [flow; 2],
        dscp: *dscp,
    }))
}

fn at_rate(mbit: f64) -> Cake {
    Cake {
        rate: Some(BitRate::from_mbit_per_s(mbit)),
        ..Cake::default()
    }
}

/// Bytes of each flow whose service began after `from`, in seconds.
fn sent(bench: &Bench<CakeQueue>, flows: u32, from: f64) -> Vec<f64> {
    let of = |flow| {
        let served = bench.served.iter().zip(&bench.waits);
        let later = served.filter(|((of, ..), (at, _))| of.0 == flow && *at > from);
        later.map(|((.., size), _)| f64::from(*size)).sum()
    };
    (0..flows).map(of).collect()
}

/// Full packets take 1.2112 ms at 10 Mbit/s and 12.112 ms at 1 Mbit/s.
#[test]
fn the_law_and_the_quantum_follow_from_the_rate() {
    let micros =
        |law: Law| [law.mtu_time, law.target, law.interval].map(|span| span.as_nanos() / 1000);
    let of = |mbit: f64| Cake::default().law(Some(BitRate::from_mbit_per_s(mbit)));
    assert_eq!(micros(of(10.0)), [1211, 5000, 100_000]);
    assert_eq!(micros(of(1.0)), [12_112, 18_168, 113_168]);
    let quanta = [1.0, 10.0, 100.0].map(|mbit| quantum(at_rate(mbit).rate));
    assert_eq!(quanta, [300, 305, 1514]);
    assert_eq!(quantum(None), 1514);
    assert_eq!(Cake::default().law(None).mtu_time, Span::ZERO);
}

/// Packets leave at the rate, with the overhead, and no burst after a pause.
#[test]
fn the_shaper_spaces_packets() {
    let parameters = Cake {
        overhead: Bytes(250),
        ..at_rate(10.0)
    };
    let mut bench = bench(&parameters, 0);
    for start in [0.0, 1.0] {
        (0..3).for_each(|_| bench.arrive_of(start, FlowId(0), 1000));
    }
    bench.serve_until(Time::from_seconds(2.0));
    let starts: Vec<f64> = bench.waits.iter().map(|(at, _)| *at).collect();
    assert_eq!(starts, [0.0, 0.001, 0.002, 1.0, 1.001, 1.002]);
    let small = Cake {
        least_size: Bytes(1250),
        ..at_rate(10.0)
    };
    let mut other = self::bench(&small, 0);
    (0..3).for_each(|_| other.arrive_of(0.0, FlowId(0), 40));
    other.serve_until(Time::from_seconds(2.0));
    let starts: Vec<f64> = other.waits.iter().map(|(at, _)| *at).collect();
    assert_eq!(starts, [0.0, 0.001, 0.002]);
}

/// Offers every flow a packet each millisecond for 4 s, which is as much as the link carries.
fn greedy(bench: &mut Bench<CakeQueue>, flows: u32) {
    for round in 0..4000_u32 {
        let at = f64::from(round) * 0.001;
        (0..flows).for_each(|flow| bench.arrive_of(at, FlowId(flow), 1500));
    }
}

/// Host A has one flow and host B nine, all to different destinations: half of the link for each
/// host. Without isolation of hosts, a tenth for each flow.
#[test]
fn hosts_share_the_link_equally_whatever_their_flows() {
    let labels = FlowLabels::new((0..10).map(|flow| FlowLabel {
        hosts: [u32::from(flow > 0), 100 + flow],
        dscp: Dscp::default(),
    }));
    for (isolation, share) in [(Isolation::Triple, 0.5), (Isolation::Flows, 0.1)] {
        let parameters = Cake {
            isolation,
            ..Cake::default()
        };
        let mut bench = labelled(&parameters, labels.clone(), 1);
        greedy(&mut bench, 10);
        let sent = sent(&bench, 10, 1.0);
        let first = sent[0] / sent.iter().sum::<f64>();
        // One in fifty: dither of the quanta.
        assert!((first - share).abs() < 0.02, "{sent:?}");
        let rest = &sent[1..];
        let mean = rest.iter().sum::<f64>() / 9.0;
        assert!(
            rest.iter().all(|rate| (rate / mean - 1.0).abs() < 0.1),
            "{sent:?}"
        );
    }
}

/// With a shaper at 10 Mbit/s, latency has a quarter and bulk a sixteenth whatever best effort
/// offers; without one, turns of 1024, 64 and 256 bytes. One class alone has all.
#[test]
fn classes_share_the_rate_by_their_weights() {
    let codepoints = [Dscp::default(), Dscp::LE, Dscp::EF];
    let shares = |parameters: &Cake, codepoints: &[Dscp]| {
        let mut bench = labelled(parameters, with_codepoints(codepoints), 1);
        greedy(&mut bench, codepoints.len() as u32);
        let sent = sent(&bench, codepoints.len() as u32, 1.0);
        let all: f64 = sent.iter().sum();
        sent.iter().map(|rate| rate / all).collect::<Vec<f64>>()
    };
    let near = |actual: &[f64], expected: &[f64]| {
        let pairs = actual.iter().zip(expected);
        pairs.clone().all(|(one, other)| (one - other).abs() < 0.01)
    };
    let shaped = shares(&at_rate(10.0), &codepoints);
    assert!(
        near(&shaped, &[11.0 / 16.0, 1.0 / 16.0, 0.25]),
        "{shaped:?}"
    );
    let turns = shares(&Cake::default(), &codepoints);
    assert!(
        near(&turns, &[16.0 / 21.0, 1.0 / 21.0, 4.0 / 21.0]),
        "{turns:?}"
    );
    assert_eq!(shares(&at_rate(10.0), &[Dscp::EF]), [1.0]);
    let single = Cake {
        classes: Classes::Besteffort,
        ..at_rate(10.0)
    };
    let equal = shares(&single, &codepoints);
    assert!(near(&equal, &[1.0 / 3.0; 3]), "{equal:?}");
}

/// Codepoints of `sch_cake.c`: bulk has LE and CS1, latency 4, VA, EF, CS6 and CS7.
#[test]
fn codepoints_choose_a_class() {
    let class = |number: u32| {
        let dscp = serde_json::from_value(json!(number)).unwrap();
        Classes::Diffserv3.of(dscp)
    };
    let of = |wanted| (0..64).filter(|number| class(*number) == wanted).collect();
    let [_, bulk, latency]: [Vec<u32>; 3] = [0, 1, 2].map(of);
    assert_eq!(bulk, [1, 8]);
    assert_eq!(latency, [4, 44, 46, 48, 56]);
    assert_eq!(Classes::Besteffort.of(Dscp::EF), 0);
}

/// A packet of the latency class every 20 ms, a third of its share, beside greedy flows: it waits
/// for the packet in service and for the shaper, a packet's time each.
#[test]
fn latency_goes_first_within_its_share() {
    let labels = with_codepoints(&[Dscp::default(), Dscp::CS1, Dscp::EF]);
    let mut bench = labelled(&at_rate(10.0), labels, 1);
    for round in 0..3000_u32 {
        let at = f64::from(round) * 0.001;
        (0..2).for_each(|flow| bench.arrive_of(at, FlowId(flow), 1500));
        if round % 20 == 7 {
            bench.arrive_of(at + 0.000_3, FlowId(2), 1500);
        }
    }
    let waits = bench.served.iter().zip(&bench.waits);
    let urgent = waits.filter(|((flow, ..), _)| flow.0 == 2);
    let urgent: Vec<f64> = urgent.map(|(_, (_, waited))| *waited).collect();
    assert!(urgent.len() > 140);
    assert!(urgent.iter().all(|waited| *waited < 0.0025), "{urgent:?}");
}

/// A packet every 37.5 ms beside eight greedy flows.
#[test]
fn a_sparse_flow_waits_for_the_packet_in_service_only() {
    let mut bench = bench(&Cake::default(), 1);
    for round in 0..3000_u32 {
        let at = f64::from(round) * 0.001;
        (0..8).for_each(|flow| bench.arrive_of(at, FlowId(flow), 1500));
        if round % 75 == 40 {
            bench.arrive_of(at + 0.000_3, FlowId(8), 300);
        }
    }
    let waits = bench.served.iter().zip(&bench.waits);
    let sparse = waits.filter(|((flow, ..), _)| flow.0 == 8);
    let sparse: Vec<f64> = sparse.map(|(_, (_, waited))| *waited).collect();
    assert_eq!(sparse.len(), 40);
    assert!(sparse.iter().all(|waited| *waited < 0.001), "{sparse:?}");
    assert!(bench.early().len() > 100);
}

#[test]
fn capable_packets_are_marked_and_blue_drops_them_all_the_same() {
    let mut marking = bench(&Cake::default(), 1);
    marking.ecn = Ecn::Capable;
    marking.load(0.0, 2.0, 0.000_9);
    assert!(marking.early().is_empty() && marking.log.marks.len() > 10);
    let tight = Cake {
        limit: QueueLimit::Packets(20),
        ..Cake::default()
    };
    let mut overflowing = bench(&tight, 1);
    overflowing.ecn = Ecn::Capable;
    overflowing.load(0.0, 4.0, 0.000_5);
    assert!(overflowing.early().len() > 10, "BLUE drops");
    assert!(overflowing.queue.backlog().packets <= 20);
}

/// A set has eight places. So flows whose hashes meet still have queues of their own.
#[test]
fn flows_of_one_set_have_places_of_their_own() {
    let mut bench = bench(&Cake::default(), 1000);
    (0..100).for_each(|flow| bench.arrive_of(0.0, FlowId(flow), 1500));
    let queues = bench.queue.tins[0].queues.iter();
    let used = queues
        .filter(|queue| queue.waiting.backlog().packets > 0)
        .count();
    // One is in service. A hash without sets would lead to five pairs (100 · 99/2/1024).
    assert_eq!(used, 99);
}

/// A sparse flow keeps the rotation going, which retires the queues of the others.
#[test]
fn everything_comes_to_rest() {
    let mut bench = bench(&at_rate(10.0), 1);
    for round in 0..500_u32 {
        let at = f64::from(round) * 0.001;
        (0..3).for_each(|flow| bench.arrive_of(at, FlowId(flow), 1500));
    }
    bench.serve_until(Time::from_seconds(100.0));
    assert_eq!(bench.pool.live(), 0);
    for tick in 0..4000 {
        bench.arrive_of(100.0 + f64::from(tick) * 0.01, FlowId(50), 100);
    }
    bench.serve_until(Time::from_seconds(200.0));
    let queues = bench.queue.tins[0].queues.iter();
    let active = queues
        .filter(|queue| queue.rotation != Rotation::Rest)
        .count();
    let loads: i64 = bench.queue.tins[0].loads.bulk.values().sum();
    assert!(active <= 1 && loads <= 2, "{active} {loads}");
}

#[test]
fn impossible_parameters_are_refused_by_name() {
    assert_refused(
        &json!({ "kind": "cake" }),
        [
            ("rate", json!("0 bit/s")),
            ("rtt", json!("0 ms")),
            ("mtu", json!("0 bytes")),
            ("limit", json!("0 packets")),
            ("limit", json!("20 ms")),
        ],
    );
}
