//! One chain of 10 000 windows at loss rates from the lowest to the highest, and a thousand chains
//! of 1000 windows.

use ackclock_markov::chain;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use std::hint::black_box;

fn bernoulli(p: f64, w_max: usize) -> (Vec<f64>, Vec<f64>) {
    let log = |w: usize| w as f64 * (-p).ln_1p();
    (2..=w_max)
        .map(|w| (log(w).exp(), -log(w).exp_m1()))
        .unzip()
}

fn halving(w_max: usize) -> Vec<usize> {
    (2..=w_max).map(|w| (w / 2).max(2) - 2).collect()
}

fn single_chain(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("w_max 10000");
    let down = halving(10_000);
    for p in [1e-8, 1e-6, 1e-4, 0.01, 0.9] {
        let (survive, lose) = bernoulli(p, 10_000);
        group.bench_function(BenchmarkId::from_parameter(p), |bencher| {
            bencher.iter(|| chain::stationary(black_box(&survive), &lose, &down));
        });
    }
    group.finish();
}

fn many(criterion: &mut Criterion) {
    let down = halving(1_000);
    let loss_rates = (0..1_000).map(|i| 10.0_f64.powf(-8.0 + 7.95 * f64::from(i) / 999.0));
    let (survive, lose): (Vec<_>, Vec<_>) = loss_rates.map(|p| bernoulli(p, 1_000)).unzip();
    let (survive, lose) = (survive.concat(), lose.concat());
    criterion.bench_function("w_max 1000, 1000 loss rates", |bencher| {
        bencher.iter(|| chain::stationary_of_many(black_box(&survive), &lose, &down, &[]));
    });
}

criterion_group!(benches, single_chain, many);
criterion_main!(benches);
