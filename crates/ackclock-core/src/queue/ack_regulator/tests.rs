use super::*;
use crate::packet::{FlowId, PacketKind};
use crate::queue::testing::{Bench, assert_refused};
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::choose;
use ackclock_spec::streams::Streams;

/// A server behind a hop's link that takes no time; its rate has `bytes_per_s` bytes a second from
/// each of some seconds on.
fn bench(bytes_per_s: &[(u64, u64)], limit: u64, hold_above: u32) -> Bench<AckRegulatorQueue> {
    let steps: Vec<Value> = bytes_per_s
        .iter()
        .map(|(from, rate)| (format!("{from} s"), format!("{} bit/s", rate * 8)))
        .map(|(from, rate)| json!({ "from": from, "rate": rate }))
        .collect();
    let server = json!({ "kind": "scheduled", "steps": steps });
    let chosen = choose::<LinkKind>(&server, &NoFiles).unwrap();
    let streams = &Streams::new(1, 0);
    let link = || {
        let name = "hop/test/queue/server";
        chosen.build(LinkContext::alone(StreamScope { streams, name }))
    };
    let parameters = AckRegulator {
        server,
        limit: QueueLimit::Packets(limit),
        hold_above,
        data_size: Bytes(1000),
        chosen: None,
    };
    let queue = AckRegulatorQueue::new(&parameters, [link(), link()]);
    Bench::new(queue, 0)
}

fn arrive(bench: &mut Bench<AckRegulatorQueue>, kind: PacketKind, seconds: f64, count: u32) {
    bench.kind = kind;
    let size = if kind == PacketKind::Data { 1000 } else { 40 };
    (0..count).for_each(|_| bench.arrive_of(seconds, FlowId(0), size));
}

/// When packets of a size left, in seconds.
fn left(bench: &Bench<AckRegulatorQueue>, size: u16) -> Vec<f64> {
    let served = bench.served.iter().zip(&bench.waits);
    let of_size = served.filter(|((_, _, length), _)| *length == size);
    of_size.map(|(_, (at, _))| *at).collect()
}

#[test]
fn data_leaves_at_the_rate_of_the_server() {
    let mut bench = bench(&[(0, 1000), (3, 500)], 9, 0);
    arrive(&mut bench, PacketKind::Data, 0.0, 5);
    bench.serve_until(Time::from_seconds(100.0));
    assert_eq!(left(&bench, 1000), [1.0, 2.0, 3.0, 5.0, 7.0]);
}

#[test]
fn acks_are_released_as_data_could_be_sent() {
    let mut bench = bench(&[(0, 1000), (3, 500)], 9, 0);
    arrive(&mut bench, PacketKind::Ack, 0.0, 6);
    bench.serve_until(Time::from_seconds(100.0));
    assert_eq!(left(&bench, 40), [0.0, 1.0, 2.0, 3.0, 5.0, 7.0]);
}

/// Four packets of data, of which one is at the server: two wait after a second, one after two.
#[test]
fn acks_are_held_while_more_data_waits() {
    let mut bench = bench(&[(0, 1000)], 9, 1);
    arrive(&mut bench, PacketKind::Data, 0.0, 4);
    arrive(&mut bench, PacketKind::Ack, 0.5, 2);
    bench.serve_until(Time::from_seconds(100.0));
    assert_eq!(left(&bench, 1000), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(left(&bench, 40), [2.0, 3.0]);
}

/// ACKs that come more slowly than they could be released do not wait.
#[test]
fn slow_acks_pass_at_once() {
    let mut bench = bench(&[(0, 1000)], 9, 0);
    for at in [0.25, 1.5, 2.75] {
        arrive(&mut bench, PacketKind::Ack, at, 1);
    }
    bench.serve_until(Time::from_seconds(100.0));
    assert_eq!(left(&bench, 40), [0.25, 1.5, 2.75]);
}

/// No packet leaves while the server's rate is zero, and the next slot begins in the outage.
#[test]
fn an_outage_holds_both() {
    let mut bench = bench(&[(0, 1000), (1, 0), (11, 1000)], 9, 9);
    arrive(&mut bench, PacketKind::Data, 0.0, 2);
    arrive(&mut bench, PacketKind::Ack, 0.0, 3);
    bench.serve_until(Time::from_seconds(100.0));
    assert_eq!(left(&bench, 1000), [1.0, 12.0]);
    assert_eq!(left(&bench, 40), [0.0, 1.0, 12.0]);
}

#[test]
fn data_that_does_not_fit_is_dropped_and_acks_are_not() {
    let mut bench = bench(&[(0, 1000)], 2, 0);
    arrive(&mut bench, PacketKind::Data, 0.0, 5);
    arrive(&mut bench, PacketKind::Ack, 0.0, 50);
    assert_eq!(bench.log.drops.len(), 2);
    let counts = |arrivals, drops| ClassCounts {
        arrivals,
        drops,
        marks: 0,
    };
    let expected = vec![("data", counts(5, 2)), ("acks", counts(50, 0))];
    assert_eq!(bench.queue.classes(), expected);
}

#[test]
fn impossible_parameters_are_refused_by_name() {
    assert_refused(
        &json!({
            "kind": "ack_regulator",
            "server": { "kind": "constant", "rate": "1 Mbit/s" },
            "limit": "9 packets"
        }),
        [("limit", json!("20 ms")), ("data_size", json!("0 bytes"))],
    );
    let contending = json!({
        "kind": "ack_regulator",
        "server": { "kind": "edca", "medium": "air", "rate": "54 Mbit/s" },
        "limit": "9 packets"
    });
    let error = choose::<QueueKind>(&contending, &NoFiles).unwrap_err();
    assert_eq!(error.field(), "server.kind");
}
