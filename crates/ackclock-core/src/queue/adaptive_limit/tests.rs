use super::super::early_detection::tests::{Fates, offer, waiting};
use super::super::{Discipline, QueueContext, QueueKind};
use super::*;
use crate::link::{LinkContext, LinkKind};
use crate::packet::Ecn;
use ackclock_spec::error::Code;
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::{StreamScope, choose};
use ackclock_spec::streams::Streams;
use proptest::prelude::*;
use serde_json::Value;

fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}
fn at(seconds: f64) -> Time {
    Time::from_seconds(seconds)
}

/// Builds the discipline from its parameters in a scenario.
fn built(tree: &Value) -> Box<dyn Admission> {
    let streams = &Streams::new(1, 0);
    let place = |name| StreamScope { streams, name };
    let link = json!({ "kind": "constant", "rate": "8 Mbit/s" });
    let link = choose::<LinkKind>(&link, &NoFiles).unwrap();
    let link = link.build(LinkContext::alone(place("hop/test/link")));
    let chosen = choose::<QueueKind>(tree, &NoFiles).unwrap();
    match chosen.build(QueueContext {
        measured: &|| None,
        labels: &crate::queue::FlowLabels::default(),
        place: place("hop/test/queue"),
        link: &*link,
    }) {
        Discipline::InOrder(admission) => admission,
        other => panic!("{other:?}"),
    }
}

/// Returns true if a packet is admitted that comes at that moment and finds that many waiting
/// behind the one in service.
fn admits(queue: &mut dyn Admission, now: Time, count: u64) -> bool {
    let mut fates = Fates::default();
    let admitted = offer(
        queue,
        (now, 0, Ecn::NotCapable),
        &waiting(count),
        &mut fates,
    );
    let expected = if admitted {
        vec![]
    } else {
        vec![(0, DropReason::QueueFull)]
    };
    assert_eq!(fates.drops, expected);
    admitted
}

#[test]
fn the_average_of_service_times_is_the_recursion() {
    let mut law = ServiceTimeLimit::new(ms(200), Segments(40), 0.001, Segments(400));
    assert_eq!(law.limit(), 400.0, "nothing has been served");
    let mut average = 0.004;
    law.note(ms(4));
    assert_eq!(
        law.limit(),
        0.2 / average + 40.0,
        "the first is the average"
    );
    for n in 0..3000_u64 {
        let service = Span::from_micros(500 + n * 7919 % 5000);
        average = 0.999 * average + 0.001 * service.as_seconds();
        law.note(service);
        assert_eq!(law.limit(), (0.2 / average + 40.0).min(400.0));
    }
    let mut quick = ServiceTimeLimit::new(ms(200), Segments(40), 0.001, Segments(400));
    quick.note(Span::from_micros(10));
    assert_eq!(quick.limit(), 400.0);
    quick.note(Span::ZERO);
    assert_eq!(quick.limit(), 400.0);
}

#[test]
fn when_services_take_twice_as_long_the_limit_halves_within_a_few_thousand_packets() {
    let mut law = ServiceTimeLimit::new(ms(200), Segments(0), 0.001, Segments(400));
    (0..10).for_each(|_| law.note(ms(1)));
    assert!((law.limit() - 200.0).abs() < 1e-9);
    for packet in 1..=10_000 {
        law.note(ms(2));
        // The remaining weight of the old service time: e^-1 after a thousand packets.
        let left = libm::pow(0.999, f64::from(packet));
        assert!((law.limit() * (2.0 - left) / 200.0 - 1.0).abs() < 1e-9);
        if packet == 1000 {
            assert!((law.limit() - 200.0 / (2.0 - libm::exp(-1.0))).abs() < 0.05);
        }
    }
    assert!((law.limit() - 100.0).abs() < 0.01);
}

fn tuned(initial: u32) -> IdleTimeLimit {
    let rates = [PacketRate(10.0), PacketRate(1.0)];
    IdleTimeLimit::new(
        ms(1000),
        rates,
        [Segments(5), Segments(1600)],
        Segments(initial),
    )
}

#[test]
fn the_limit_moves_once_an_interval_by_how_long_the_queue_was_empty() {
    let mut law = tuned(50);
    law.go_on(at(0.25), ms(250)); // empty so far
    law.go_on(at(0.999), Span::ZERO);
    assert_eq!(law.limit(), 50.0, "the interval is not over");
    law.go_on(at(1.0), Span::ZERO);
    assert_eq!(law.limit(), 50.0 + 2.5 - 0.75);
    law.go_on(at(1.5), ms(100)); // empty from 1.4
    law.go_on(at(2.75), ms(350)); // busy until 2.4, then empty
    assert_eq!(law.limit(), 51.75 + 1.0 - 0.9);
    law.go_on(at(3.0), Span::ZERO);
    assert!((law.limit() - (51.85 + 3.5 - 0.65)).abs() < 1e-12);
}

#[test]
fn what_was_known_already_is_not_counted_again() {
    // A packet came to an empty queue and was not admitted. The queue stays empty, and the idle
    // time reported next began before that packet.
    let mut law = tuned(50);
    law.go_on(at(0.5), ms(500));
    law.go_on(at(0.75), ms(750));
    law.go_on(at(1.0), Span::ZERO);
    assert_eq!(law.limit(), 50.0 + 7.5 - 0.25);
}

#[test]
fn without_arrivals_it_goes_on_as_if_it_were_looked_at_every_interval() {
    for (silence, expected) in [
        (1.0, 60.0),
        (7.3, 120.0),
        (154.9, 1590.0),
        (155.0, 1600.0),
        (1e9, 1600.0),
    ] {
        let mut law = tuned(50);
        law.go_on(at(silence), ms(1000) * 2_000_000_000);
        assert_eq!(law.limit(), expected, "empty for {silence} s");
    }
    for (silence, expected) in [(1.0, 49.0), (44.9, 6.0), (45.0, 5.0), (1e9, 5.0)] {
        let mut law = tuned(50);
        law.go_on(at(silence), Span::ZERO);
        assert_eq!(law.limit(), expected, "busy for {silence} s");
    }
    let mut law = tuned(50);
    law.go_on(Time::NEVER, ms(3));
    assert_eq!(law.limit(), 5.0, "the end of time");
}

/// Alternating busy and idle times, in milliseconds.
fn timeline() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let span = || prop_oneof![3 => 0..400_u64, 1 => 0..5000_u64];
    prop::collection::vec((span(), span()), 1..60)
}

proptest! {
    /// The limit is the same as if the law looked at every millisecond and computed every second,
    /// wherever packets come.
    #[test]
    fn looking_at_arrivals_alone_is_as_good_as_looking_always(
        periods in timeline(),
        looks in prop::collection::vec(1..300_u64, 1..20)
    ) {
        let mut law = tuned(50);
        let (mut limit, mut idle_ms, mut now) = (50.0_f64, 0, 0_u64);
        let mut gaps = looks.iter().cycle();
        let mut next = *gaps.next().unwrap();
        for (busy, idle) in periods {
            for step in 0..busy + idle {
                now += 1;
                idle_ms += u64::from(step >= busy);
                if now.is_multiple_of(1000) {
                    limit = (
                        limit + 0.01 * idle_ms as f64 - 0.001 * (1000 - idle_ms) as f64
                    ).clamp(5.0, 1600.0);
                    idle_ms = 0;
                }
                let is_empty = step >= busy;
                // In idle time, only its end has an arrival.
                let comes = if is_empty { step + 1 == busy + idle } else { now >= next };
                if comes {
                    law.go_on(Time::ZERO + ms(now), ms(if is_empty { idle } else { 0 }));
                    prop_assert!(
                        (law.limit() - limit).abs() < 1e-9,
                        "{} {limit} at {now} ms",
                        law.limit()
                    );
                    next = now + gaps.next().unwrap();
                }
            }
        }
    }

    /// Asking for the limit does not change it.
    #[test]
    fn a_look_at_the_limit_changes_nothing(
        times in prop::collection::vec((0..3000_u64, 0..3000_u64), 1..50)
    ) {
        let tree = json!({
            "kind": "a_star",
            "initial": "20 packets",
            "over_provision": "0 packets",
            "target_delay": "20 ms"
        });
        let [mut queue, mut other] = [(); 2].map(|()| built(&tree));
        let mut now = Time::ZERO;
        for (gap, look) in times {
            other.limit(now + ms(look.min(gap)), ms(look.min(gap)));
            now = now + ms(gap);
            for each in [&mut queue, &mut other] {
                admits(&mut **each, now, 10);
                each.note_service(now, now + ms(look));
            }
            prop_assert_eq!(queue.limit(now, Span::ZERO), other.limit(now, Span::ZERO));
        }
    }
}

#[test]
fn as_many_are_let_in_as_the_limit_says_and_the_packet_in_service_counts_if_told() {
    for (counts, room) in [(true, 29), (false, 30)] {
        let tree = json!({
            "kind": "ebdp",
            "over_provision": "10 packets",
            "weight": 1.0,
            "counts_packet_in_service": counts
        });
        let mut queue = built(&tree);
        queue.note_service(Time::ZERO, at(0.01)); // 200 ms / 10 ms + 10
        assert_eq!(queue.limit(at(0.01), Span::ZERO), Some(30.0));
        let fits = (0..100).filter(|count| admits(&mut *queue, at(0.01), *count));
        assert!(fits.eq(0..room), "{counts}");
        // Whatever the limit, an idle link takes a packet.
        queue.note_service(at(1.0), at(1e6));
        let idle = Occupancy {
            idle: ms(1),
            ..Occupancy::default()
        };
        assert!(offer(
            &mut *queue,
            (at(1e6), 0, Ecn::NotCapable),
            &idle,
            &mut Fates::default()
        ));
    }
}

#[test]
fn the_smaller_of_both_counts() {
    let common = json!({ "weight": 0.5, "initial": "30 packets", "minimum": "2 packets" });
    let built_as = |kind: &str| {
        let mut tree = json!({ "kind": kind });
        for field in match kind {
            "ebdp" => &["weight"][..],
            "alt" => &["initial", "minimum"][..],
            _ => &["weight", "initial", "minimum"][..],
        } {
            tree[*field] = common[*field].clone();
        }
        if kind == "ebdp" {
            tree["over_provision"] = "5 packets".into();
        }
        built(&tree)
    };
    let mut queues = ["ebdp", "alt", "a_star"].map(built_as);
    let mut which = [0, 0];
    for second in 0..200_u64 {
        let now = Time::ZERO + ms(1000) * second;
        let idle = if second % 70 < 20 {
            ms(200)
        } else {
            Span::ZERO
        };
        for queue in &mut queues {
            queue.note_service(now, now + ms(2 + second * 37 % 20));
        }
        let now = now + ms(1000);
        let mut limits = [0.0; 3];
        for (queue, limit) in queues.iter_mut().zip(&mut limits) {
            let occupancy = Occupancy {
                idle,
                ..Occupancy::default()
            };
            offer(
                &mut **queue,
                (now, 0, Ecn::NotCapable),
                &occupancy,
                &mut Fates::default(),
            );
            *limit = queue.limit(now, idle).unwrap();
        }
        let [by_service, by_idleness, both] = limits;
        assert_eq!(both, by_service.min(by_idleness));
        which[usize::from(by_service < by_idleness)] += 1;
    }
    assert!(which.iter().all(|times| *times > 20), "{which:?}");
}

#[test]
fn the_defaults_are_those_of_the_publications_or_marked_as_ours() {
    let limits = ["ebdp", "alt", "a_star"].map(|kind| {
        let mut queue = built(&json!({ "kind": kind }));
        let before = queue.limit(Time::ZERO, Span::ZERO);
        queue.note_service(Time::ZERO, at(0.02));
        (before, queue.limit(at(0.02), Span::ZERO))
    });
    assert_eq!(
        limits[0],
        (Some(400.0), Some(50.0)),
        "200 ms of 20 ms and 40"
    );
    assert_eq!(limits[1], (Some(50.0), Some(50.0)));
    assert_eq!(limits[2], (Some(50.0), Some(15.0)), "200 ms of 20 ms and 5");
}

#[test]
fn what_cannot_be_is_refused_by_name_in_one_line() {
    let service = [
        ("target_delay", json!("0 ms")),
        ("weight", json!(0)),
        ("weight", json!(1.001)),
        ("weight", json!(-0.1)),
        ("maximum", json!("0 packets")),
    ];
    let idleness = [
        ("interval", json!("0 s")),
        ("increase", json!("0 packets/s")),
        ("decrease", json!("0 packets/s")),
        ("minimum", json!("0 packets")),
        ("minimum", json!("2000 packets")),
        ("initial", json!("4 packets")),
        ("initial", json!("1601 packets")),
    ];
    let both = service.iter().chain(&idleness);
    let cases = service.iter().map(|case| ("ebdp", case));
    let cases = cases.chain(idleness.iter().map(|case| ("alt", case)));
    for (kind, (field, value)) in cases.chain(both.map(|case| ("a_star", case))) {
        let mut tree = json!({ "kind": kind });
        tree[*field] = value.clone();
        let error = choose::<QueueKind>(&tree, &NoFiles).unwrap_err();
        assert_eq!(error.field(), *field, "{kind}: {error}");
        let of_two = field == &"initial" || value == &json!("2000 packets");
        let code = if of_two {
            Code::Contradiction
        } else {
            Code::OutOfRange
        };
        assert_eq!(error.code(), code, "{kind}: {error}");
    }
    let named = json!({ "kind": "a_star", "minimum": "50 packets", "tuned_maximum": "40 packets" });
    let error = choose::<QueueKind>(&named, &NoFiles).unwrap_err();
    assert!(error.sentence().contains("tuned_maximum"), "{error}");
}
