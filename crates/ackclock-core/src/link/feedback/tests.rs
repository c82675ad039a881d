//! The rate fed back follows the measured link, period by period, with the delay.

use super::*;
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::{StreamScope, choose};
use ackclock_spec::streams::Streams;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * MS)
}
fn kbit(rate: u64) -> BitRate {
    BitRate::from_bit_per_s(rate * 1000)
}
fn build(tree: &Value, measured: Option<Box<dyn Link>>, seed: u64) -> Box<dyn Link> {
    let place = StreamScope {
        streams: &Streams::new(seed, 0),
        name: "hop/bottleneck/link",
    };
    let chosen = choose::<LinkKind>(tree, &NoFiles).unwrap();
    chosen.build(LinkContext { place, measured })
}
/// Alternates between two rates every 100 ms: the rate of each step differs from the one before.
fn alternating() -> Box<dyn Link> {
    let matrix = json!([[0, 1], [1, 0]]);
    let tree = json!({
        "kind": "markov", "rates": ["800 kbit/s", "400 kbit/s"],
        "transition_matrix": matrix, "step": "100 ms", "initial": 0,
    });
    build(&tree, None, 1)
}
fn feedback(more: &Value) -> Value {
    let mut tree = json!({
        "kind": "feedback",
        "from": "bottleneck",
        "algorithm": { "kind": "instcap" },
        "delay": "30 ms",
        "period": "50 ms"
    });
    for (field, value) in more.as_object().unwrap() {
        tree[field] = value.clone();
    }
    tree
}
fn follower(more: &Value) -> Box<dyn Link> {
    build(&feedback(more), Some(alternating()), 1)
}

#[test]
fn the_rate_follows_after_the_measurement_and_the_delay() {
    let link = follower(&json!({ "initial_rate": "100 kbit/s" }));
    // Measured 0 to 50 and 50 to 100 ms: 800; then 400. Known 30 ms after the measurement's end.
    for (ms, expected) in [
        (0, 100),
        (79, 100),
        (80, 800),
        (179, 800),
        (180, 400),
        (279, 400),
        (280, 800),
        (80, 800),
    ] {
        assert_eq!(link.rate(at(ms)), kbit(expected), "at {ms} ms");
    }
    // 80 ms of 800, then 20 of 400.
    assert_eq!(link.mean_rate(at(100), at(200)), kbit(720));
    let means = follower(&json!({ "period": "150 ms", "delay": "0 s" }));
    assert_eq!(
        means.rate(at(150)).as_bit_per_s(),
        666_666,
        "two thirds of it at 800"
    );
}

#[test]
fn a_packet_keeps_the_rate_that_its_service_began_with() {
    let mut link = follower(&json!({}));
    // 1000 bytes at 800 kbit/s take 10 ms; the rate falls at 180 ms.
    assert_eq!(link.finish(at(175), Bytes(1000)), at(185));
    assert_eq!(link.finish(at(185), Bytes(1000)), at(205));
}

#[test]
fn sessions_and_utilisation_take_their_part_and_the_minimum_stays() {
    let rate = |more: Value| follower(&more).rate(at(100));
    assert_eq!(rate(json!({ "sessions": 2 })), kbit(400));
    assert_eq!(rate(json!({ "target_utilisation": "75 %" })), kbit(600));
    assert_eq!(
        rate(json!({ "sessions": 3, "minimum_rate": "500 kbit/s" })),
        kbit(500)
    );
    assert_eq!(
        follower(&json!({ "sessions": 2 })).rate(Time::ZERO),
        kbit(400),
        "the session's part at the beginning"
    );
}

/// S(t) = R(t − Δ) for all t, as in the renewal model.
#[test]
fn a_period_of_one_round_trip_and_no_delay_is_the_rate_of_one_round_trip_ago() {
    let tree = json!({
        "kind": "markov",
        "rates": ["800 kbit/s", "400 kbit/s"],
        "mean_sojourn": "600 ms",
        "step": "200 ms"
    });
    let moving = build(&tree, None, 7);
    let source = build(
        &feedback(&json!({ "period": "200 ms", "delay": "0 s" })),
        Some(build(&tree, None, 7)),
        7,
    );
    let same = (2000..200_000)
        .step_by(50)
        .all(|ms| source.rate(at(ms)) == moving.rate(at(ms - 200)));
    assert!(same);
    assert!(
        (0..200).any(|n| moving.rate(at(n * 200)) != moving.rate(at(n * 200 + 200))),
        "it moves"
    );
}

proptest! {
    /// A packet keeps its rate, and the bytes that it gains by that are capacity. No more than the
    /// capacity is ever sent, and exactly as much if there is always a packet.
    #[test]
    fn no_more_is_sent_than_could_have_been(
        seed: u64,
        period_ms in 1..60_u64,
        packets in prop::collection::vec(
            (prop_oneof![4 => Just(0_u64), 1 => 0..50_000_000_u64], 40..9000_u64),
            1..60
        ),
    ) {
        let tree = json!({
            "kind": "markov",
            "rates": ["800 kbit/s", "500 kbit/s", "100 kbit/s"],
            "mean_sojourn": "90 ms"
        });
        let more = json!({ "period": format!("{period_ms} ms"), "minimum_rate": "150 kbit/s" });
        let [mut link, meter] = [(); 2].map(
            |()| build(&feedback(&more), Some(build(&tree, None, seed)), seed)
        );
        link.keep_excess();
        let (mut free, mut done, mut always) = (Time::ZERO, Vec::new(), true);
        for (gap, size) in packets {
            let start = free + Span::from_nanos(gap);
            always &= gap == 0;
            free = link.finish(start, Bytes(size));
            done.push((start, free, size, always));
        }
        let mut sent = 0;
        for (start, finish, size, always) in done {
            for at in [start, start + (finish - start) / 3, finish] {
                let integral = meter.mean_rate(Time::ZERO, at).as_byte_per_s() * at.as_seconds();
                let capacity = integral + link.excess(at);
                let rounding = at.as_seconds() / 8.0 + 1e-3; // means are whole bits per second
                let now = sent + if at == finish { size } else { 0 };
                prop_assert!(now as f64 <= capacity + rounding, "{now} of {capacity} at {at:?}");
                let part = if at == start || at == finish { 0.0 } else { size as f64 / 3.0 };
                prop_assert!(
                    !always || (now as f64 + part - capacity).abs() <= rounding + 1e-3,
                    "{now} + {part} of {capacity} at {at:?}"
                );
            }
            sent += size;
        }
    }

    /// The rate depends on nothing that happens later. It is that of measurements that ended at
    /// least the delay ago, and each lies within the measured link's rates.
    #[test]
    fn causality(
        seed: u64,
        delay_ms in 0..300_u64,
        period_ms in 1..100_u64,
        times in prop::collection::vec(0..60_000_u64, 1..30)
    ) {
        let tree = json!({
            "kind": "markov",
            "rates": ["800 kbit/s", "500 kbit/s", "100 kbit/s"],
            "mean_sojourn": "90 ms"
        });
        let more = json!({
            "delay": format!("{delay_ms} ms"),
            "period": format!("{period_ms} ms"),
            "initial_rate": "1 Mbit/s"
        });
        let link = build(&feedback(&more), Some(build(&tree, None, seed)), seed);
        let measured = build(&tree, None, seed);
        for ms in times {
            let measurements = ms.saturating_sub(delay_ms) / period_ms;
            let expected = match measurements {
                0 => kbit(1000),
                _ => measured
                    .mean_rate(at((measurements - 1) * period_ms), at(measurements * period_ms)),
            };
            prop_assert_eq!(link.rate(at(ms)), expected, "at {} ms", ms);
        }
    }

    /// The answer after any silence is the same as if the link had been asked all the time.
    #[test]
    fn silence_changes_nothing(seed: u64, steps in prop::collection::vec(1..20_000_u64, 1..8)) {
        let tree = json!({
            "kind": "markov",
            "rates": ["800 kbit/s", "400 kbit/s"],
            "mean_sojourn": "200 ms",
            "step": "30 ms"
        });
        let more = json!({
            "algorithm": { "kind": "effcap", "m": 3, "n": 11 },
            "period": "30 ms",
            "delay": "100 ms"
        });
        let [rarely, often] = [(); 2].map(
            |()| build(&feedback(&more), Some(build(&tree, None, seed)), seed)
        );
        let mut now = 0;
        for step in steps {
            (now..now + step).step_by(10).for_each(|ms| {
                often.rate(at(ms));
            });
            now += step;
            prop_assert_eq!(rarely.rate(at(now)), often.rate(at(now)));
        }
    }
}
