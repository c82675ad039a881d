//! Compares the kernels with elimination without subtraction (Grassmann, Taksar and Heyman 1985),
//! component by component.

use ackclock_markov::{chain, channel, epochs, jumps};
use proptest::prelude::*;

/// Returns the stationary distribution of a dense chain, given row by row.
fn eliminated(mut p: Vec<Vec<f64>>) -> Vec<f64> {
    let n = p.len();
    for k in (1..n).rev() {
        let leaving: f64 = p[k][..k].iter().sum();
        for i in 0..k {
            p[i][k] /= leaving;
            for j in 0..k {
                let through = p[i][k] * p[k][j];
                p[i][j] += through;
            }
        }
    }
    let mut law = vec![1.0];
    while law.len() < n {
        law.push(
            law.iter()
                .zip(&p)
                .map(|(mass, row)| mass * row[law.len()])
                .sum(),
        );
    }
    let total: f64 = law.iter().sum();
    law.iter().map(|mass| mass / total).collect()
}

fn climbing(survive: &[f64], lose: &[f64], down: &[usize]) -> Vec<Vec<f64>> {
    let n = down.len();
    let mut p = vec![vec![0.0; n]; n];
    for k in 0..n {
        p[k][(k + 1).min(n - 1)] += survive[k];
        p[k][down[k]] += lose[k];
    }
    p
}

/// Returns the largest relative deviation from the reference, without components that are not
/// normal doubles.
fn worst(law: &[f64], reference: &[f64]) -> f64 {
    assert_eq!(law.len(), reference.len());
    law.iter()
        .zip(reference)
        .filter(|(_, reference)| **reference > 1e-290)
        .map(|(law, reference)| ((law - reference) / reference).abs())
        .fold(0.0, f64::max)
}

fn halving(states: usize) -> Vec<usize> {
    (2..states + 2).map(|w| (w / 2).max(2) - 2).collect()
}

fn bernoulli(p: f64, states: usize) -> (Vec<f64>, Vec<f64>) {
    let log = |w: usize| w as f64 * (-p).ln_1p();
    let windows = 2..states + 2;
    (
        windows.clone().map(|w| log(w).exp()).collect(),
        windows.map(|w| -log(w).exp_m1()).collect(),
    )
}

#[test]
fn every_component_of_the_window_chain() {
    for p in [1e-8, 1e-6, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9] {
        for top in [2, 3, 4, 5, 10, 31, 64, 119, 120] {
            let (survive, lose) = bernoulli(p, top - 1);
            let down = halving(top - 1);
            let law = chain::stationary(&survive, &lose, &down).expect("a chain");
            let error = worst(&law, &eliminated(climbing(&survive, &lose, &down)));
            assert!(error <= 1e-12, "p = {p}, top = {top}: {error}");
        }
    }
}

#[test]
fn five_windows_by_hand() {
    let (survive, lose) = bernoulli(0.1, 4);
    let law = chain::stationary(&survive, &lose, &halving(4)).expect("a chain");
    let by_hand = [0.2988153158, 0.2420404058, 0.1764474558, 0.2826968225];
    assert!(
        law.iter()
            .zip(by_hand)
            .all(|(law, by_hand)| (law - by_hand).abs() < 5e-11),
        "{law:?}"
    );
}

#[test]
fn upper_half_in_closed_form() {
    let (survive, lose) = bernoulli(3e-4, 99);
    let law = chain::stationary(&survive, &lose, &halving(99)).expect("a chain");
    // Windows 50 … 99, below a top of 100.
    for w in 50..100_usize {
        let climbed: f64 = survive[w - 2..98].iter().product();
        let expected = lose[98] * law[98] / climbed;
        assert!((law[w - 2] / expected - 1.0).abs() < 1e-13, "{w}");
    }
}

#[test]
fn limits_of_loss() {
    for states in [1, 2, 50] {
        let down = halving(states);
        let all = vec![1.0; states];
        let none = vec![0.0; states];
        let top = chain::stationary(&all, &none, &down).expect("a chain");
        assert_eq!(top[states - 1], 1.0);
        let bottom = chain::stationary(&none, &all, &down).expect("a chain");
        assert_eq!(bottom[0], 1.0);
    }
}

#[test]
fn masses_far_beyond_the_range_of_doubles() {
    let down = halving(9_999);
    for p in [0.0, 1e-300, 1e-60, 1e-12, 0.9, 0.999_999, 1.0] {
        let (survive, lose) = bernoulli(p, 9_999);
        let law = chain::stationary(&survive, &lose, &down).expect("a chain");
        assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{p}");
        assert!(law.iter().all(|mass| *mass >= 0.0), "{p}");
    }
    // From e^-600 up in one step: stored masses must be scaled before they overflow.
    let (mut survive, lose) = bernoulli(1e-9, 999);
    survive[500] = 1e-260;
    survive[200] = 1e-260;
    let law = chain::stationary(&survive, &lose, &halving(999)).expect("a chain");
    assert!(law.iter().all(|mass| mass.is_finite()));
}

#[test]
fn a_window_that_nobody_survives_is_the_top() {
    let (mut survive, mut lose) = bernoulli(0.01, 40);
    let short = chain::stationary(
        &[&survive[..19], &[0.0]].concat(),
        &[&lose[..19], &[1.0]].concat(),
        &halving(20),
    );
    survive[19] = 0.0;
    lose[19] = 1.0;
    let long = chain::stationary(&survive, &lose, &halving(40)).expect("a chain");
    assert_eq!(long[..20], short.expect("a chain"));
    assert!(long[20..].iter().all(|mass| *mass == 0.0));
}

#[test]
fn what_is_no_chain_is_refused() {
    let two = [0.5, 0.5];
    assert!(chain::stationary(&[], &[], &[]).is_err());
    assert!(chain::stationary(&two, &two, &[0, 2]).is_err());
    assert!(chain::stationary(&two, &two, &[0]).is_err());
    assert!(chain::stationary(&two, &[0.5], &[0, 0]).is_err());
    assert!(chain::stationary(&[f64::NAN, 0.5], &two, &[0, 0]).is_err());
    assert!(chain::stationary(&[-0.5, 0.5], &two, &[0, 0]).is_err());
    assert!(
        channel::stationary(
            &[[0.5, 0.0, 0.0, 0.5]; 2],
            &[[0.5, 0.0, 0.0, 0.5]; 2],
            &[0, 0]
        )
        .is_err()
    );
    for (down, above) in [
        ([0, 0], [0.0, 1.0]),
        ([0, 1], [0.0, 0.5]),
        ([0, 0], [0.5, 0.0]),
        ([0, 0], [0.0, -0.1]),
    ] {
        assert!(chain::stationary_of_many(&two, &two, &down, &above).is_err());
    }
    assert!(chain::stationary_of_many(&two, &two, &[0, 0], &[0.0]).is_err());
    assert!(jumps::stationary(&[0, 1, 2], &[0, 1], &[1.0, 1.0]).is_err());
    assert!(jumps::stationary(&[0], &[], &[]).is_err());
    assert!(epochs::stationary(&[0], &[], &[]).is_err());
    assert!(epochs::stationary(&[0, 1, 1], &[0], &[1.0]).is_err());
    assert!(epochs::stationary(&[0, 1], &[1], &[1.0]).is_err());
}

/// A non-decreasing map in which every state but the lowest falls.
fn down_maps(states: usize) -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(0.0..1.0_f64, states).prop_map(|shares| {
        let mut lowest = 0;
        let fall = |(state, share): (usize, f64)| {
            lowest = lowest
                .max((share * state as f64) as usize)
                .min(state.saturating_sub(1));
            lowest
        };
        shares.into_iter().enumerate().map(fall).collect()
    })
}

/// Returns the ends of falls in a chain with evenly spaced states, as the state below and the share
/// above it.
fn shared_falls(states: usize, kept: f64, least: f64) -> (Vec<usize>, Vec<f64>) {
    let ends: Vec<f64> = (0..states)
        .map(|state| (kept * state as f64 - least).max(0.0))
        .collect();
    (
        ends.iter().map(|end| *end as usize).collect(),
        ends.iter().map(|end| end.fract()).collect(),
    )
}

/// Loss probabilities of any size, from almost zero.
fn losses(states: usize) -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec(
        (-9.0..-0.02_f64).prop_map(|exponent| 10.0_f64.powf(exponent)),
        states,
    )
}

/// Per level: the loss probability in each channel state, and the transitions of the channel.
fn channels(states: usize) -> impl Strategy<Value = Vec<[f64; 4]>> {
    proptest::collection::vec(
        [1e-6..0.9_f64, 1e-6..0.9_f64, 0.01..0.99_f64, 0.01..0.99_f64],
        states,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_map_and_any_loss(
        (down, lose) in (1..60_usize).prop_flat_map(|n| (down_maps(n), losses(n)))
    ) {
        let survive: Vec<f64> = lose.iter().map(|f| 1.0 - f).collect();
        let law = chain::stationary(&survive, &lose, &down).expect("a chain");
        prop_assert!(worst(&law, &eliminated(climbing(&survive, &lose, &down))) < 1e-12);
    }

    #[test]
    fn falls_that_are_shared(
        kept in 0.0..0.999_f64,
        least in 0.0..3.0_f64,
        lose in (1..60_usize).prop_flat_map(losses)
    ) {
        let survive: Vec<f64> = lose.iter().map(|f| 1.0 - f).collect();
        let (down, above) = shared_falls(lose.len(), kept, least);
        let law = chain::stationary_of_many(&survive, &lose, &down, &above).expect("a chain");
        let mut dense = climbing(&survive, &vec![0.0; lose.len()], &down);
        for (state, row) in dense.iter_mut().enumerate() {
            row[down[state]] += (1.0 - above[state]) * lose[state];
            if above[state] > 0.0 {
                row[down[state] + 1] += above[state] * lose[state];
            }
        }
        prop_assert!(worst(&law, &eliminated(dense)) < 1e-11);
    }

    #[test]
    fn climbs_by_several(
        rows in (2..30_usize).prop_flat_map(
            |n| proptest::collection::vec(
                (proptest::collection::vec(0.0..1.0_f64, n), 0.01..1.0_f64),
                n
            )
        ),
        up in 1..5_usize
    ) {
        let n = rows.len();
        let (mut dense, mut offsets, mut targets, mut chances) =
            (vec![vec![0.0; n]; n], vec![0], vec![], vec![]);
        for (state, (falls, climb)) in rows.iter().enumerate() {
            let whole: f64 = falls[..=state].iter().sum::<f64>() + climb;
            for (target, chance) in
                (0..=state).zip(falls).chain([((state + up).min(n - 1), climb)])
            {
                dense[state][target] += chance / whole;
                targets.push(target);
                chances.push(*chance);
            }
            offsets.push(targets.len());
        }
        let law = jumps::stationary(&offsets, &targets, &chances).expect("a chain");
        prop_assert!(worst(&law, &eliminated(dense)) < 1e-12);
    }

    #[test]
    fn many_chains_are_each_alone(
        (down, a, b) in (1..40_usize).prop_flat_map(|n| (down_maps(n), losses(n), losses(n)))
    ) {
        let survive = |lose: &[f64]| lose.iter().map(|f| 1.0 - f).collect::<Vec<f64>>();
        let both = chain::stationary_of_many(
            &[survive(&a), survive(&b)].concat(),
            &[a.clone(), b.clone()].concat(),
            &down,
            &[]
        );
        let alone = [
            chain::stationary(&survive(&a), &a, &down),
            chain::stationary(&survive(&b), &b, &down)
        ];
        prop_assert_eq!(both.expect("chains"), alone.map(|law| law.expect("a chain")).concat());
    }

    #[test]
    fn any_channel((down, rows) in (1..40_usize).prop_flat_map(|n| (down_maps(n), channels(n)))) {
        let moves = |share: [f64; 2], to: [f64; 2]| {
            [share[0] * (1.0 - to[0]), share[0] * to[0], share[1] * to[1], share[1] * (1.0 - to[1])]
        };
        let survive: Vec<_> = rows
            .iter()
            .map(|r| moves([1.0 - r[0], 1.0 - r[1]], [r[2], r[3]]))
            .collect();
        let lose: Vec<_> = rows.iter().map(|r| moves([r[0], r[1]], [r[3], r[2]])).collect();
        let law = channel::stationary(&survive, &lose, &down).expect("a chain");
        let n = down.len();
        let mut dense = vec![vec![0.0; 2 * n]; 2 * n];
        for level in 0..n {
            for entry in 0..4 {
                let (from, to) = (entry / 2, entry % 2);
                dense[2 * level + from][2 * (level + 1).min(n - 1) + to] += survive[level][entry];
                dense[2 * level + from][2 * down[level] + to] += lose[level][entry];
            }
        }
        prop_assert!(worst(law.as_flattened(), &eliminated(dense)) < 1e-12);
    }

    #[test]
    fn any_rows(
        rows in (1..20_usize).prop_flat_map(
            |n| proptest::collection::vec(proptest::collection::vec(0.001..1.0_f64, n), n)
        )
    ) {
        let n = rows.len();
        let offsets: Vec<usize> = (0..=n).map(|state| state * n).collect();
        let targets: Vec<usize> = (0..n * n).map(|j| j % n).collect();
        let normalised: Vec<Vec<f64>> =
            rows.iter()
                .map(|row| row.iter().map(|value| value / row.iter().sum::<f64>()).collect())
                .collect();
        let law = epochs::stationary(&offsets, &targets, &rows.concat()).expect("a chain");
        prop_assert!(worst(&law, &eliminated(normalised)) < 1e-12);
    }
}

#[test]
fn a_chain_that_alternates_settles() {
    let law = epochs::stationary(&[0, 1, 2], &[1, 0], &[1.0, 1.0]).expect("a chain");
    assert!((law[0] - 0.5).abs() < 1e-12);
}
