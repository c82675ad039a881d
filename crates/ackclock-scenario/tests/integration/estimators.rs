//! The contract of every registered rate estimator.

use ackclock_core::estimator::{AckSample, EstimatorContext, EstimatorKind, RateEstimator};
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::{Entry, Kind, choose};
use ackclock_spec::units::{Bytes, Span, Time};
use proptest::prelude::*;
use serde_json::{Value, json};

fn entries() -> impl Iterator<Item = &'static Entry<EstimatorKind>> {
    EstimatorKind::ENTRIES.iter()
}

fn build(tree: &Value, mss: u64) -> Box<dyn RateEstimator> {
    let context = EstimatorContext { mss: Bytes(mss) };
    choose::<EstimatorKind>(tree, &NoFiles)
        .unwrap()
        .build(context)
}

/// Returns the defaults, and the other values of each switch.
fn variants() -> Vec<Value> {
    let others = [
        json!({ "kind": "be", "low_pass": { "filter": "ns2_type_0" } }),
        json!({
            "kind": "be",
            "low_pass": { "filter": "ns2_type_1" },
            "observation": { "at_most": 2 }
        }),
        json!({
            "kind": "be",
            "low_pass": { "filter": "ns2_type_2", "tau": "1 s", "virtual_samples": 5 }
        }),
        json!({
            "kind": "be",
            "low_pass": { "zeros_at_timeout": true },
            "observation": { "delivered": "sack" }
        }),
        json!({ "kind": "re", "interval": "100 ms", "observation": { "tick": "10 ms" } }),
        json!({ "kind": "crb", "compared": "be", "after_timeout": "re", "theta": 2.0 }),
        json!({ "kind": "abse", "compared": "estimate" }),
        json!({ "kind": "abse", "edge": "literal" }),
        json!({ "kind": "abse", "sampling": "ack_pair", "tau": "300 ms" }),
        json!({ "kind": "abse", "horizon": 1000, "step": "sampling_interval" }),
        json!({
            "kind": "abse",
            "round_trip": "latest",
            "beta": 0.0,
            "stretch": 0.0,
            "observation": { "tick": "100 ms" }
        }),
        json!({ "kind": "westwood_plus", "kept": 0.0, "shortest": "50 ms" }),
        json!({ "kind": "westwood_linux", "hz": 100 }),
        json!({ "kind": "westwood_linux", "hz": 1_000_000 }),
    ];
    let defaults = entries().map(|entry| json!({ "kind": entry.name }));
    defaults.chain(others).collect()
}

#[test]
fn resolved_parameters_read_back_are_the_same() {
    for tree in variants() {
        let first = choose::<EstimatorKind>(&tree, &NoFiles).unwrap();
        let second = choose::<EstimatorKind>(&first.resolved, &NoFiles).unwrap();
        assert_eq!(first.resolved, second.resolved);
        for (field, value) in tree.as_object().unwrap() {
            let taken = match value {
                Value::Object(within) => within
                    .iter()
                    .all(|(name, value)| first.resolved[field][name] == *value),
                _ => first.resolved[field] == *value,
            };
            assert!(taken, "{tree}: {field}");
        }
    }
}

#[test]
fn impossible_parameters_are_refused_by_name() {
    for (tree, field) in [
        (
            json!({ "kind": "be", "low_pass": { "tau": "0 s" } }),
            "low_pass.tau",
        ),
        (
            json!({ "kind": "be", "low_pass": { "virtual_samples": 1 } }),
            "low_pass.virtual_samples",
        ),
        (
            json!({ "kind": "be", "low_pass": { "shortest_step": "0 s" } }),
            "low_pass.shortest_step",
        ),
        (
            json!({ "kind": "be", "observation": { "at_most": 0 } }),
            "observation.at_most",
        ),
        (
            json!({ "kind": "re", "observation": { "tick": "0 s" } }),
            "observation.tick",
        ),
        (json!({ "kind": "re", "interval": "0 s" }), "interval"),
        (json!({ "kind": "crb", "theta": 0.9 }), "theta"),
        (
            json!({ "kind": "crb", "re": { "interval": "0 s" } }),
            "re.interval",
        ),
        (json!({ "kind": "abse", "horizon": 0 }), "horizon"),
        (json!({ "kind": "abse", "tau": "0 s" }), "tau"),
        (json!({ "kind": "abse", "beta": 1.0 }), "beta"),
        (json!({ "kind": "abse", "stretch": -1.0 }), "stretch"),
        (json!({ "kind": "westwood_plus", "kept": 1.0 }), "kept"),
        (json!({ "kind": "westwood_linux", "hz": 0 }), "hz"),
    ] {
        let error = choose::<EstimatorKind>(&tree, &NoFiles).unwrap_err();
        assert_eq!(error.key(), format!("out-of-range {field}"), "{error}");
    }
}

/// Returns the largest relative bias, low and high, of the estimate of a steady stream. RE and the
/// literal reading of ABSE count the ACK at the edge of their interval fully, which adds the share
/// of a gap in the interval (for ABSE, in the queueing delay). Linux cuts off up to 14 bytes per
/// jiffy.
fn bias(tree: &Value, gap: Span, rate: f64) -> (f64, f64) {
    let share = |interval_ms: u64| gap.as_seconds() / Span::from_millis(interval_ms).as_seconds();
    let hz = tree["hz"].as_f64().unwrap_or(1000.0);
    match tree["kind"].as_str().unwrap() {
        "re" | "crb" => (1e-6, share(70) + 1e-6),
        "abse_literal" => (1e-6, share(30) + 1e-6),
        "abse" if tree["edge"] == "literal" => (1e-6, share(30) + 1e-6),
        "westwood_linux" => ((14.0 + 1.0) * hz / rate, 1e-6),
        _ => (1e-6, 1e-6),
    }
}

#[test]
fn a_steady_stream_is_found() {
    const MSS: u64 = 1448;
    let rtt_min = Span::from_millis(70);
    for gap_us in [300, 1_000, 3_300] {
        let gap = Span::from_micros(gap_us);
        let rate = MSS as f64 / gap.as_seconds();
        // A window that fills the path and 30 ms of queue.
        let rtt = rtt_min + Span::from_millis(30);
        let cwnd = Bytes((rate * rtt.as_seconds()) as u64);
        for tree in variants() {
            let mut estimator = build(&tree, MSS);
            // Twelve seconds.
            for n in 0..12_000_000 / gap_us {
                let rtt = if n == 0 { rtt_min } else { rtt };
                let sample = AckSample {
                    newly_acked: Bytes(MSS),
                    newly_delivered: Bytes(MSS),
                    rtt: Some(rtt),
                    smoothed_rtt: Some(rtt),
                    cwnd,
                };
                estimator.on_ack(Time::from_nanos(gap.as_nanos() * n), &sample);
            }
            let (low, high) = bias(&tree, gap, rate);
            let error = estimator.rate() / rate - 1.0;
            assert!(
                -low <= error && error <= high,
                "{tree}: {error} at {gap_us} us"
            );
        }
    }
}

/// Any input of an estimator, sensible or not.
#[derive(Clone, Debug)]
enum Signal {
    Ack(AckSample),
    Timeout,
}

fn any_span() -> impl Strategy<Value = Option<Span>> {
    prop_oneof![
        2 => Just(None),
        1 => Just(Some(Span::ZERO)),
        1 => Just(Some(Span::FOREVER)),
        8 => (1..2_000_000_000_u64).prop_map(|nanos| Some(Span::from_nanos(nanos))),
    ]
}

fn any_size() -> impl Strategy<Value = Bytes> {
    prop_oneof![3 => Just(0), 6 => 0..200_000_u64, 1 => Just(u64::MAX), 1 => 0..1_u64 << 50]
        .prop_map(Bytes)
}

fn any_signal() -> impl Strategy<Value = Signal> {
    let ack = (any_size(), any_size(), any_span(), any_span(), any_size()).prop_map(
        |(newly_acked, newly_delivered, rtt, smoothed_rtt, cwnd)| {
            Signal::Ack(AckSample {
                newly_acked,
                newly_delivered,
                rtt,
                smoothed_rtt,
                cwnd,
            })
        },
    );
    prop_oneof![8 => ack, 1 => Just(Signal::Timeout)]
}

/// Time between signals: none, usual, years.
fn any_step() -> impl Strategy<Value = u64> {
    prop_oneof![2 => Just(0), 1 => 1..10_u64, 8 => 0..200_000_000_u64, 1 => 0..1_u64 << 57]
}

proptest! {
    #[test]
    fn no_sequence_of_acks_breaks_an_estimator(
        signals in prop::collection::vec((any_step(), any_signal()), 1..80),
        mss in 1..=65_000_u64,
    ) {
        for tree in variants() {
            let mut estimator = build(&tree, mss);
            let mut now = Time::ZERO;
            for (step, signal) in &signals {
                now = now + Span::from_nanos(*step);
                match signal {
                    Signal::Ack(ack) => estimator.on_ack(now, ack),
                    Signal::Timeout => estimator.on_timeout(now),
                }
                let windows = [estimator.window(), estimator.window_after_timeout()];
                for value in windows
                    .into_iter()
                    .flatten()
                    .chain([estimator.rate()])
                    .chain(estimator.rtt_min())
                {
                    prop_assert!(value.is_finite() && value >= 0.0, "{}: {}", tree, value);
                }
            }
        }
    }

    /// The same ACKs give the same estimates: nothing is drawn, read or remembered outside.
    #[test]
    fn estimators_are_deterministic(
        signals in prop::collection::vec((any_step(), any_signal()), 1..40)
    ) {
        for tree in variants() {
            let rates = || {
                let (mut estimator, mut now) = (build(&tree, 1448), Time::ZERO);
                let mut rates = Vec::new();
                for (step, signal) in &signals {
                    now = now + Span::from_nanos(*step);
                    match signal {
                        Signal::Ack(ack) => estimator.on_ack(now, ack),
                        Signal::Timeout => estimator.on_timeout(now),
                    }
                    rates.push(estimator.rate().to_bits());
                }
                rates
            };
            prop_assert_eq!(rates(), rates());
        }
    }
}
