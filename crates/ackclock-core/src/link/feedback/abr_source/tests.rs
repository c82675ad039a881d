//! The rules of a source, RM cell by RM cell, against closed forms.

use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

const PEAK: u64 = 1_000_000;
/// Bits from one RM cell to the next.
const BITS: f64 = 32.0 * 424.0;

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}
fn kbit(rate: u64) -> BitRate {
    BitRate::from_bit_per_s(rate * 1000)
}
fn rules(more: &Value) -> AbrSource {
    let mut tree = json!({ "peak_rate": "1 Mbit/s" });
    for (field, value) in more.as_object().unwrap() {
        tree[field] = value.clone();
    }
    serde_json::from_value(tree).unwrap()
}
/// Returns parameters of a source whose RM cells are as many cells apart at any rate.
fn evenly(more: &Value) -> Value {
    let mut tree = json!({ "message_interval": "10 s", "pause": "10 s" });
    for (field, value) in more.as_object().unwrap() {
        tree[field] = value.clone();
    }
    tree
}
/// Makes a source that begins at a rate and has its RM cells back after a round trip.
fn source(initial: BitRate, round_trip_ms: u64, more: &Value) -> Allowed {
    let bounds = Bounds {
        lowest: kbit(10),
        initial,
        round_trip: Span::from_millis(round_trip_ms),
    };
    Allowed::new(rules(more), bounds)
}
/// Sends a packet and returns its rate and its end.
fn send(source: &mut Allowed, start: Time, size: u64, fed_back: BitRate) -> (BitRate, Time) {
    let rate = source.begin(start, |_| fed_back);
    let takes = u128::from(size) * 8_000_000_000 / u128::from(rate.as_bit_per_s());
    let finish = start + Span::from_nanos(takes as u64);
    source.note_sent(rate, (start, finish), Bytes(size));
    (rate, finish)
}
/// Sends cells without a gap and returns the rate and the end of each.
fn send_cells(source: &mut Allowed, cells: usize, fed_back: BitRate) -> Vec<(f64, f64)> {
    let mut now = Time::ZERO;
    let mut send_next = || {
        let (rate, finish) = send(source, now, CELL.0, fed_back);
        now = finish;
        (rate.as_bit_per_s() as f64, finish.as_seconds())
    };
    (0..cells).map(|_| send_next()).collect()
}

/// TM 4.0, rule 8: the k-th RM cell has added k · RIF · PCR. So the n-th comes after the sum of
/// BITS over the rates before: about BITS/(RIF · PCR) times the logarithm of how far it has risen.
#[test]
fn a_source_rises_by_rif_for_each_rm_cell() {
    let mut source = source(kbit(100), 0, &evenly(&json!({ "increase_factor": 0.01 })));
    let sent = send_cells(&mut source, 1 + 32 * 100, kbit(1000));
    let step = 0.01 * PEAK as f64;
    let mut end = 424.0 / 100e3; // the first cell is an RM cell, and back at once
    for number in 1..=100_u32 {
        let rate = (100e3 + step * f64::from(number)).min(1e6);
        end += BITS / rate;
        let (last, finish) = sent[32 * number as usize];
        assert!((last - rate).abs() < 1.0, "{last} after {number}, {rate}");
        assert!(
            (finish - end).abs() < 1e-5,
            "{finish} after {number}, {end}"
        );
    }
    let reached = |rate: f64| sent.iter().find(|(now, _)| *now >= rate).unwrap().1;
    let doubling = BITS / step * 2.0_f64.ln();
    for (from, to) in [(200e3, 400e3), (400e3, 800e3)] {
        let took = reached(to) - reached(from);
        // A sum of a falling function exceeds its integral by at most the first term.
        assert!(
            took >= doubling - 1e-3 && took <= doubling + BITS / from,
            "{took}, {doubling}"
        );
    }
}

/// Δ slows the growth: dr/dt = g · r(t − Δ) grows as e^(λt) with λ = g e^(−λΔ).
#[test]
fn a_round_trip_slows_the_exponential_rise() {
    let more = json!({ "peak_rate": "100 Mbit/s", "increase_factor": 0.0003 });
    let mut source = source(kbit(200), 200, &more);
    let sent = send_cells(&mut source, 100_000, BitRate::from_mbit_per_s(100.0));
    let growth = 0.0003 * 100e6 / BITS;
    let exponent = (0..100).fold(growth, |exponent, _| growth * (-exponent * 0.2_f64).exp());
    let reached = |rate: f64| sent.iter().find(|(now, _)| *now >= rate).unwrap().1;
    let measured = 8.0_f64.ln() / (reached(16e6) - reached(2e6));
    // A step is 1.5 % of 2 Mbit/s.
    assert!(
        (measured / exponent - 1.0).abs() < 0.015,
        "{measured}, {exponent}"
    );
    assert!(exponent < 0.75 * growth, "the delay matters");
}

/// TM 4.0, rule 8: with CI, each RM cell takes RDF · ACR away.
#[test]
fn a_marked_source_falls_by_rdf_for_each_rm_cell_and_swings_about_the_rate() {
    let mut source = source(kbit(800), 0, &evenly(&json!({ "decrease_factor": 0.0625 })));
    let sent = send_cells(&mut source, 32 * 200, kbit(100));
    let mut rate = 800e3;
    let mut falls = 0;
    while rate > 100e3 {
        rate *= 1.0 - 0.0625;
        falls += 1;
        let (now, _) = sent[32 * falls];
        assert!((now - rate).abs() < 1.0, "{now} after {falls}, {rate}");
    }
    assert_eq!(falls, 33, "ln 8 over ln 16/15, rounded up");
    let late: Vec<f64> = sent[32 * 100..].iter().map(|(rate, _)| *rate).collect();
    assert!(late.iter().any(|&rate| rate > 100e3) && late.iter().any(|&rate| rate <= 100e3));
    let highest = 100e3 + PEAK as f64 / 16.0;
    assert!(late.iter().all(|&rate| rate >= 10e3 && rate <= highest));
}

#[test]
fn the_explicit_rate_holds_with_the_first_rm_cell_that_brings_it() {
    let mut source = source(kbit(800), 10, &json!({}));
    let mut now = Time::ZERO;
    let carried = |at_ms: u64| {
        move |back: Time| {
            if back < at(at_ms) {
                kbit(800)
            } else {
                kbit(50)
            }
        }
    };
    let mut rates = Vec::new();
    while now < at(300) {
        let rate = source.begin(now, carried(100));
        let finish = now + Span::from_nanos(424_000_000_000 / rate.as_bit_per_s());
        source.note_sent(rate, (now, finish), CELL);
        rates.push((now, rate));
        now = finish;
    }
    let low: Vec<Time> = rates
        .iter()
        .filter(|(_, rate)| *rate == kbit(50))
        .map(|(at, _)| *at)
        .collect();
    // At 800 kbit/s RM cells are 17 ms apart.
    assert!(low[0] >= at(100) && low[0] <= at(118), "{:?}", low[0]);
    assert!(
        rates
            .iter()
            .all(|(_, rate)| [kbit(800), kbit(50)].contains(rate))
    );
}

/// TM 4.0, rule 5.
#[test]
fn a_pause_of_more_than_adtf_returns_to_the_initial_rate() {
    let risen = |more: &Value| {
        let mut source = source(kbit(100), 100, more);
        let mut now = Time::ZERO;
        while now < at(2000) {
            now = send(&mut source, now, 500, kbit(900)).1;
        }
        assert_eq!(source.rate(now, |_| kbit(900)), kbit(900));
        source
    };
    let mut source = risen(&json!({}));
    let last = source.last_message;
    assert_eq!(
        source.rate(last + Span::from_millis(500), |_| kbit(900)),
        kbit(900)
    );
    let later = last + Span::from_millis(501);
    assert_eq!(source.rate(later, |_| kbit(900)), kbit(100));
    assert_eq!(
        source.next_change(last + Span::from_millis(400)),
        last + Span::from_nanos(500_000_001)
    );
    assert_eq!(send(&mut source, later, 500, kbit(900)).0, kbit(100));
    let wait = source.last_message.since(later);
    let cells = Span::from_nanos(2 * 53 * 8 * 10_000); // at most: two cells at 100 kbit/s
    assert!(source.last_message >= later && wait <= cells, "{wait:?}");
    let mut fallen = risen(&json!({ "pause": "3 s" }));
    fallen.begin(at(2500), |_| kbit(50));
    assert_eq!(
        fallen.rate(at(9000), |_| kbit(50)),
        kbit(50),
        "a pause raises no rate"
    );
}

/// TM 4.0, rule 3: Trm and Mrm.
#[test]
fn a_slow_source_sends_an_rm_cell_every_100_ms_if_two_cells_came_between() {
    let mut fast_enough = source(kbit(10), 60_000, &json!({}));
    let mut now = Time::ZERO;
    for _ in 0..30 {
        now = send(&mut fast_enough, now, CELL.0, kbit(10)).1; // 42.4 ms each
    }
    let sent: Vec<u64> = fast_enough
        .under_way
        .iter()
        .map(|(back, _)| back.as_nanos() - 60_000_000_000)
        .collect();
    let expected: Vec<u64> = (0..10).map(|number| number * 3 * 42_400_000).collect();
    assert_eq!(sent, expected);
}

/// No more is kept than was sent within a round trip, however long a source sends or pauses.
#[test]
fn what_is_kept_is_bounded_by_a_round_trip() {
    let mut source = source(kbit(1000), 200, &json!({}));
    let most = (1e6 * 0.2 / BITS).ceil() as usize + 1;
    let mut now = Time::ZERO;
    for number in 0..100_000 {
        now = send(&mut source, now, 500, kbit(1000)).1;
        assert!(
            source.under_way.len() <= most,
            "{} after {number}",
            source.under_way.len()
        );
    }
    let century = at(100 * 365 * 86_400 * 1000);
    assert_eq!(source.begin(century, |_| kbit(1000)), kbit(1000));
    assert!(source.under_way.is_empty());
}

#[test]
fn rates_and_factors_out_of_range_are_refused() {
    for (more, field) in [
        (json!({ "increase_factor": 0 }), "increase_factor"),
        (json!({ "increase_factor": 1.5 }), "increase_factor"),
        (json!({ "decrease_factor": 0 }), "decrease_factor"),
        (json!({ "cells_per_message": 1 }), "cells_per_message"),
        (json!({ "cells_per_message": 257 }), "cells_per_message"),
        (json!({ "peak_rate": "0 bit/s" }), "peak_rate"),
        (json!({ "peak_rate": "63 kbit/s" }), "peak_rate"),
        (json!({ "message_interval": "0 s" }), "message_interval"),
        (json!({ "pause": "99 ms" }), "pause"),
    ] {
        let error = rules(&more).check(kbit(64), None).unwrap_err();
        assert!(error.field().ends_with(field), "{field}: {error}");
    }
    let error = rules(&json!({}))
        .check(kbit(64), Some(kbit(1001)))
        .unwrap_err();
    assert_eq!(error.field(), "peak_rate");
    assert!(rules(&json!({})).check(kbit(64), Some(kbit(1000))).is_ok());
}

proptest! {
    /// The ends of packets do not matter: one of 32 cells' bytes begins an RM cell.
    #[test]
    fn rm_cells_are_evenly_spaced_whatever_the_packets(
        sizes in prop::collection::vec(40..20_000_u64, 1..40)
    ) {
        let mut source = source(kbit(1000), 1_000_000, &evenly(&json!({})));
        let mut now = Time::ZERO;
        for &size in &sizes {
            now = send(&mut source, now, size, kbit(1000)).1;
        }
        let bytes: u64 = sizes.iter().sum();
        prop_assert_eq!(source.under_way.len() as u64, bytes.div_ceil(32 * 53));
        for (number, (back, rate)) in (0_u64..).zip(&source.under_way) {
            let expected = 1_000_000_000_000 + number * 32 * 53 * 8000;
            prop_assert!(back.as_nanos().abs_diff(expected) <= 1, "{back:?}, {expected}");
            prop_assert_eq!(*rate, kbit(1000));
        }
    }
}
