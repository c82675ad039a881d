//! Properties of every feedback algorithm, and of EFFCAP for all M, N and sequences.

use super::*;
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::choose;
use ackclock_spec::registry::samples::samples;
use proptest::prelude::*;
use serde_json::{Value, json};

fn algorithm(tree: &Value) -> Box<dyn FeedbackAlgorithm> {
    choose::<FeedbackKind>(tree, &NoFiles).unwrap().build(())
}
fn effcap(m: usize, n: usize) -> Box<dyn FeedbackAlgorithm> {
    algorithm(&json!({ "kind": "effcap", "m": m, "n": n }))
}
fn feed(mut algorithm: Box<dyn FeedbackAlgorithm>, measured: &[u64]) -> Vec<u64> {
    let rates = measured.iter().map(|&rate| BitRate::from_bit_per_s(rate));
    rates
        .map(|rate| algorithm.feed_back(rate).as_bit_per_s())
        .collect()
}

/// Returns the last `n` means of `m` measurements, at measurement `i`, by the formula.
fn means(measured: &[u64], (m, n): (usize, usize), i: usize) -> Vec<u64> {
    let mean = |j: usize| {
        let window = &measured[(j + 1).saturating_sub(m)..=j];
        let sum: u128 = window.iter().map(|&rate| u128::from(rate)).sum();
        (sum / window.len() as u128) as u64
    };
    ((i + 1).saturating_sub(n)..=i).map(mean).collect()
}

/// Returns all sample parameters of all algorithms.
fn every() -> Vec<Value> {
    let samples_of = |entry: &Entry<FeedbackKind>| {
        let mut trees = samples(&(entry.schema)());
        trees
            .iter_mut()
            .for_each(|tree| tree["kind"] = entry.name.into());
        trees
    };
    FeedbackKind::ENTRIES.iter().flat_map(samples_of).collect()
}

fn rates() -> impl Strategy<Value = Vec<u64>> {
    let rate = prop_oneof![0..5_u64, 50_000_000..100_000_000_u64, any::<u64>()];
    prop::collection::vec(rate, 1..120)
}

proptest! {
    #[test]
    fn effcap_is_the_smallest_mean(measured in rates(), m in 1..20_usize, n in 1..60_usize) {
        let expected: Vec<u64> = (0..measured.len())
            .map(|i| means(&measured, (m, n), i).into_iter().min().unwrap())
            .collect();
        prop_assert_eq!(feed(effcap(m, n), &measured), expected);
    }

    #[test]
    fn a_percentile_is_the_mean_of_that_rank(
        measured in rates(),
        m in 1..6_usize,
        n in 1..30_usize,
        percent in 0..=100_usize,
    ) {
        let tree = json!({
            "kind": "percentile",
            "percentile": format!("{percent} %"),
            "m": m,
            "n": n,
        });
        for (i, fed) in feed(algorithm(&tree), &measured).into_iter().enumerate() {
            let mut all = means(&measured, (m, n), i);
            all.sort_unstable();
            prop_assert_eq!(fed, all[(percent * all.len()).div_ceil(100).max(1) - 1]);
        }
    }

    #[test]
    fn special_cases_are_those_of_other_names(
        measured in rates(),
        m in 1..20_usize,
        n in 1..60_usize,
    ) {
        let instcap = feed(algorithm(&json!({ "kind": "instcap" })), &measured);
        prop_assert_eq!(&instcap, &measured);
        prop_assert_eq!(feed(effcap(1, 1), &measured), instcap);
        let mean = feed(algorithm(&json!({ "kind": "mean", "m": m })), &measured);
        prop_assert_eq!(feed(effcap(m, 1), &measured), mean);
        let lowest = json!({ "kind": "percentile", "percentile": "0 %", "m": m, "n": n });
        prop_assert_eq!(feed(algorithm(&lowest), &measured), feed(effcap(m, n), &measured));
    }

    #[test]
    fn a_longer_memory_never_feeds_back_more(
        measured in rates(),
        m in 1..20_usize,
        n in 1..60_usize,
    ) {
        let (short, long) = (feed(effcap(m, n), &measured), feed(effcap(m, n + 1), &measured));
        prop_assert!(short.iter().zip(&long).all(|(short, long)| long <= short));
    }

    /// Checks that the rate lies between the smallest and the largest measurement, that a constant
    /// stays unchanged, that the memory bounds the dependence, and that a cleared algorithm is like
    /// a new one.
    #[test]
    fn every_algorithm_keeps_the_contract(measured in rates(), constant: u64) {
        for tree in every() {
            let fed = feed(algorithm(&tree), &measured);
            for (i, fed) in fed.iter().enumerate() {
                let so_far = &measured[..=i];
                prop_assert!(
                    so_far.iter().min() <= Some(fed) && Some(fed) <= so_far.iter().max(),
                    "{}",
                    tree
                );
            }
            prop_assert!(
                feed(algorithm(&tree), &[constant; 40]).iter().all(|&fed| fed == constant),
                "{}",
                tree
            );
            let mut again = algorithm(&tree);
            let memory = usize::try_from(again.memory()).unwrap();
            again.feed_back(BitRate::from_bit_per_s(constant));
            again.clear();
            let last = measured.len().saturating_sub(memory);
            let of_the_last = feed(again, &measured[last..]);
            prop_assert_eq!(of_the_last.last(), fed.last(), "{}", tree);
        }
    }
}

#[test]
fn numbers_of_measurements_are_checked() {
    let error = |tree: Value| choose::<FeedbackKind>(&tree, &NoFiles).unwrap_err().key();
    assert_eq!(
        error(json!({ "kind": "effcap", "m": 0, "n": 4 })),
        "out-of-range m"
    );
    assert_eq!(
        error(json!({ "kind": "effcap", "m": 7, "n": 0 })),
        "out-of-range n"
    );
    assert_eq!(
        error(json!({ "kind": "mean", "m": 2_000_000 })),
        "out-of-range m"
    );
}
