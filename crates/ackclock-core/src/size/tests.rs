use super::*;
use ackclock_spec::files::{Files, NoFiles};
use ackclock_spec::registry::Selection;
use ackclock_spec::streams::Streams;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn law(tree: Value) -> Selection<SizeKind> {
    choose(&tree, &NoFiles).unwrap()
}

fn refused(tree: Value, files: &dyn Files) -> String {
    choose::<SizeKind>(&tree, files).unwrap_err().key()
}

/// Draws that many sizes from one stream, in bytes.
fn draws(law: &Selection<SizeKind>, seed: u64, number: usize) -> Vec<f64> {
    let mut stream = Streams::new(seed, 0).stream("sizes");
    (0..number)
        .map(|_| law.build(&mut stream).as_f64())
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the share of sizes up to that many bytes.
fn share_up_to(values: &[f64], size: f64) -> f64 {
    values.iter().filter(|value| **value <= size).count() as f64 / values.len() as f64
}

const NUMBER: usize = 200_000;

/// Returns true if a share is within four standard deviations of the expected one.
fn within(share: f64, expected: f64) -> bool {
    (share - expected).abs() < 4.0 * libm::sqrt(expected * (1.0 - expected) / NUMBER as f64)
}

#[test]
fn uniform_sizes_have_their_bounds_and_their_mean() {
    let sizes = draws(
        &law(json!({ "kind": "uniform", "low": "10 kB", "high": "30 kB" })),
        1,
        NUMBER,
    );
    assert!(
        sizes
            .iter()
            .all(|size| (10_000.0..=30_000.0).contains(size))
    );
    let sigma = 20_000.0 / libm::sqrt(12.0 * NUMBER as f64);
    assert!((mean(&sizes) - 20_000.0).abs() < 4.0 * sigma);
    // Two sizes, both bounds, equally likely.
    let two = draws(
        &law(json!({ "kind": "uniform", "low": "1 byte", "high": "2 bytes" })),
        2,
        NUMBER,
    );
    assert!(within(share_up_to(&two, 1.0), 0.5));
    let constant = draws(
        &law(json!({ "kind": "uniform", "low": "7 bytes", "high": "7 bytes" })),
        2,
        100,
    );
    assert!(constant.iter().all(|size| *size == 7.0));
}

#[test]
fn lognormal_sizes_have_their_mean_and_their_median() {
    let sigma: f64 = 1.3;
    let sizes = draws(
        &law(json!({ "kind": "lognormal", "mean": "1 MB", "sigma": sigma })),
        3,
        NUMBER,
    );
    let deviation = 1e6 * libm::sqrt(libm::expm1(sigma * sigma));
    assert!((mean(&sizes) - 1e6).abs() < 4.0 * deviation / libm::sqrt(NUMBER as f64));
    let median = 1e6 * libm::exp(-sigma * sigma / 2.0);
    assert!(within(share_up_to(&sizes, median), 0.5));
    // One sigma up: Φ(1) = 0.841 344 746.
    assert!(within(
        share_up_to(&sizes, median * libm::exp(sigma)),
        0.841_344_746
    ));
}

/// The numbers of 3GPP's embedded objects: 7,758 bytes without bounds, 8,212 with them.
#[test]
fn lognormal_sizes_are_drawn_again_beyond_their_bounds() {
    let tree = json!({
        "kind": "lognormal", "mean": "7758 bytes", "sigma": 2.3625,
        "minimum": "50 bytes", "maximum": "2 MB"
    });
    let sizes = draws(&law(tree), 10, NUMBER);
    assert!(sizes.iter().all(|size| (50.0..=2e6).contains(size)));
    let own = mean(&sizes);
    let squares: Vec<f64> = sizes.iter().map(|size| (size - own).powi(2)).collect();
    let standard_error = libm::sqrt(mean(&squares) / NUMBER as f64);
    assert!((own - 8212.0).abs() < 4.0 * standard_error, "{own}");
    for (minimum, maximum) in [("1 GB", "2 GB"), ("2 kB", "1 kB"), ("5 kB", "5001 bytes")] {
        let tree = json!({
            "kind": "lognormal", "mean": "5 kB", "sigma": 1.3,
            "minimum": minimum, "maximum": maximum
        });
        assert_eq!(refused(tree, &NoFiles), "contradiction maximum");
    }
}

#[test]
fn pareto_sizes_have_the_tail_of_their_shape() {
    let sizes = draws(
        &law(json!({ "kind": "pareto", "mean": "6 MB", "shape": 1.2 })),
        4,
        NUMBER,
    );
    // k = 6 MB · 0.2/1.2 = 1 MB.
    assert!(sizes.iter().all(|size| *size >= 1e6));
    for multiple in [2.0, 10.0, 100.0] {
        assert!(within(
            1.0 - share_up_to(&sizes, multiple * 1e6),
            libm::pow(multiple, -1.2)
        ));
    }
}

#[test]
fn a_bound_is_kept_and_the_mean_too() {
    for shape in [0.8, 1.0, 1.2, 2.5] {
        let tree = json!({ "kind": "pareto", "mean": "20 kB", "shape": shape, "maximum": "1 MB" });
        let sizes = draws(&law(tree), 5, NUMBER);
        assert!(sizes.iter().all(|size| *size <= 1e6));
        let own = mean(&sizes);
        let squares: Vec<f64> = sizes.iter().map(|size| (size - own).powi(2)).collect();
        let sigma = libm::sqrt(mean(&squares) / NUMBER as f64);
        // Rounding to whole bytes, and up to one, moves the mean by less than a byte.
        assert!(
            (own - 20_000.0).abs() < 4.0 * sigma + 1.0,
            "shape {shape}: {own}, sigma {sigma}"
        );
    }
}

#[test]
fn empirical_sizes_come_as_often_as_their_weights_say() {
    let tree = json!({ "kind": "empirical", "values": [["10 kB", 3], ["5 kB", 0], ["1 MB", 1]] });
    let sizes = draws(&law(tree), 6, NUMBER);
    assert!(sizes.iter().all(|size| [1e4, 1e6].contains(size)));
    assert!(within(share_up_to(&sizes, 1e4), 0.75));
}

#[test]
fn web_search_sizes_have_the_shares_of_the_table_and_its_mean() {
    let sizes = draws(&law(json!({ "kind": "web_search" })), 9, NUMBER);
    for (kilobytes, percent) in [
        (10.0, 15.0),
        (20.0, 20.0),
        (30.0, 30.0),
        (50.0, 40.0),
        (80.0, 53.0),
        (200.0, 60.0),
        (1_000.0, 70.0),
        (2_000.0, 80.0),
        (5_000.0, 90.0),
        (10_000.0, 97.0),
    ] {
        let share = share_up_to(&sizes, kilobytes * 1e3);
        assert!(within(share, percent / 100.0), "{kilobytes} kB: {share}");
    }
    assert!(sizes.iter().all(|size| *size <= 30e6));
    let own = mean(&sizes);
    let squares: Vec<f64> = sizes.iter().map(|size| (size - own).powi(2)).collect();
    let standard_error = libm::sqrt(mean(&squares) / NUMBER as f64);
    assert!((own - 1_711_250.0).abs() < 4.0 * standard_error, "{own}");
}

#[test]
fn a_file_says_what_a_list_says() {
    let listed = law(json!({ "kind": "empirical", "values": [["10 kB", 3], ["1 MB", 0.5]] }));
    for text in [
        "size,weight\n10 kB, 3\n1 MB,0.5\n",
        "size_bytes,weight\r\n10000,3\r\n1000000,0.5\r\n",
    ] {
        let files = BTreeMap::from([("sizes.csv".to_string(), text.to_string())]);
        let read: Selection<SizeKind> =
            choose(&json!({ "kind": "empirical", "file": "sizes.csv" }), &files).unwrap();
        assert_eq!(draws(&read, 7, 1000), draws(&listed, 7, 1000));
        // The resolved form has the digest, and is refused with another file.
        let again = choose::<SizeKind>(&read.resolved, &files).unwrap();
        assert_eq!(again.resolved, read.resolved);
        let other = BTreeMap::from([("sizes.csv".to_string(), "size\n1 kB\n".to_string())]);
        assert_eq!(refused(read.resolved, &other), "file digest");
    }
    let files = BTreeMap::from([(
        "measured".to_string(),
        "size_bytes\n700\n700\n9\n".to_string(),
    )]);
    let measured: Selection<SizeKind> =
        choose(&json!({ "kind": "empirical", "file": "measured" }), &files).unwrap();
    assert!(within(
        share_up_to(&draws(&measured, 8, NUMBER), 9.0),
        1.0 / 3.0
    ));
}

#[test]
fn what_is_no_law_is_refused_in_a_line() {
    for (tree, expected) in [
        (
            json!({ "kind": "uniform", "low": "0 bytes", "high": "1 kB" }),
            "out-of-range low",
        ),
        (
            json!({ "kind": "lognormal", "mean": "1 kB", "sigma": 0 }),
            "out-of-range sigma",
        ),
        (
            json!({ "kind": "pareto", "mean": "1 kB", "shape": 1.0 }),
            "contradiction shape",
        ),
        (
            json!({ "kind": "pareto", "mean": "1 kB", "maximum": "1 kB" }),
            "contradiction maximum",
        ),
        (json!({ "kind": "empirical" }), "missing values"),
        (
            json!({ "kind": "empirical", "values": [["1 kB", 1], ["1 kB", -1]] }),
            "out-of-range values.1",
        ),
        (
            json!({ "kind": "empirical", "values": [["1 kB", 0]] }),
            "out-of-range values",
        ),
        (
            json!({ "kind": "empirical", "values": [["1 kB", 1]], "file": "x" }),
            "contradiction file",
        ),
    ] {
        assert_eq!(refused(tree, &NoFiles), expected);
    }
    for (text, expected) in [
        ("sizes\n", "file file"),
        ("size\n1 kB,2\n", "file file"),
        ("size_bytes,weight\n10,1\n20,x\n", "file file"),
        ("size_bytes\n0\n", "file file"),
        ("size\n", "out-of-range file"),
    ] {
        let files = BTreeMap::from([("f".to_string(), text.to_string())]);
        assert_eq!(
            refused(json!({ "kind": "empirical", "file": "f" }), &files),
            expected
        );
    }
}

proptest! {
    #[test]
    fn every_law_draws_a_size(
        seed: u64,
        mean in 1_u64..1 << 40,
        shape in 0.05_f64..20.0,
        multiple in 2_u64..1000
    ) {
        let bytes = |amount: u64| format!("{amount} bytes");
        for tree in [
            json!({ "kind": "uniform", "low": bytes(mean), "high": bytes(mean * multiple) }),
            json!({ "kind": "lognormal", "mean": bytes(mean), "sigma": shape }),
            json!({ "kind": "pareto", "mean": bytes(mean), "shape": 1.0 + shape }),
            json!({
                "kind": "pareto",
                "mean": bytes(mean),
                "shape": shape,
                "maximum": bytes(mean * multiple)
            }),
        ] {
            for size in draws(&law(tree), seed, 20) {
                prop_assert!((1.0..=LARGEST).contains(&size));
            }
        }
    }
}
