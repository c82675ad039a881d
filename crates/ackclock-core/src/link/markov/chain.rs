//! The chain of a Markov link: checked, with everything computed that does not depend on the draws.

use super::{Markov, Sojourns};
use ackclock_spec::error::{Error, Result, all, both, every, in_range};
use ackclock_spec::units::{BitRate, Probability, Span};
use serde_json::json;

/// Largest number of states.
const MOST_STATES: usize = 1000;
/// Shortest sojourn and step, in nanoseconds: far above the clock's resolution.
const SHORTEST: u64 = 1_000;
/// Mean number of state changes in a block.
const CHANGES_PER_BLOCK: f64 = 64.0;
/// Largest mean number of state changes during the service of a packet of 1500 bytes.
const MOST_CHANGES_PER_PACKET: f64 = 1e6;
/// Largest deviation of the sum of a row from 1. A smaller probability to stay counts as zero.
const ROW_TOLERANCE: f64 = 1e-9;

/// The checked chain.
#[derive(Debug, Default)]
pub(super) struct Chain {
    pub rates: Vec<BitRate>,
    /// Per state: 1/ln(probability to stay one step), or minus the mean sojourn in nanoseconds.
    /// Minus infinity if it is never left.
    pub scale: Vec<f64>,
    /// One row per state: cumulative probabilities of the next state.
    pub next: Vec<f64>,
    /// Long-run shares of time.
    pub stationary: Vec<f64>,
    /// Per state: its cyclic class if it is recurrent. All are in one class unless every return
    /// takes a multiple of some number of steps.
    pub class: Vec<Option<u64>>,
    /// Number of cyclic classes.
    pub period: u64,
    /// True if all recurrent states have the same rate, so that it changes no more once one is
    /// reached.
    pub settled: bool,
    /// Step in nanoseconds; zero in continuous time.
    pub step: u64,
    /// Length of a block in nanoseconds.
    pub block: u64,
}

impl Chain {
    /// Refuses parameters that do not define a chain or that would take too long.
    pub fn new(parameters: &Markov) -> Result<Self> {
        let parts = states(parameters)
            .and_then(|n| Ok((n, both(rows(parameters, n), means(parameters, n))?)));
        let (step, (n, (rows, means))) = both(step(parameters), parts)?;
        let unit = if step == 0 { 1.0 } else { step as f64 };
        let flow = flow(rows, &means, unit);
        let recurs = recurrent(&flow, n)?;
        let leave: Vec<f64> = (0..n)
            .map(|i| flow[i * n..(i + 1) * n].iter().sum())
            .map(|p| {
                if step > 0 && p > 1.0 - ROW_TOLERANCE {
                    1.0
                } else {
                    p
                }
            })
            .collect();
        let stationary = stationary(&flow, n, &recurs);
        let (class, period) = if step == 0 {
            (recurs.iter().map(|recurs| recurs.then_some(0)).collect(), 1)
        } else {
            cyclic_classes(&flow, &leave, &recurs)
        };
        let changes: f64 = stationary
            .iter()
            .zip(&leave)
            .map(|(share, p)| share * p)
            .sum::<f64>()
            / unit;
        let mut recurring_rates = (0..n).filter(|&i| recurs[i]).map(|i| parameters.rates[i]);
        let first = recurring_rates.next();
        let settled = recurring_rates.all(|rate| Some(rate) == first);
        if !settled {
            check_changes(parameters, &stationary, changes)?;
        }
        Ok(Chain {
            settled,
            block: block_length(changes, step, period),
            scale: leave
                .iter()
                .map(|&p| {
                    if step == 0 {
                        -1.0 / p
                    } else {
                        1.0 / libm::log1p(-p)
                    }
                })
                .collect(),
            next: cumulative(&flow, &leave),
            rates: parameters.rates.clone(),
            stationary,
            class,
            period,
            step,
        })
    }
}

impl Chain {
    /// Returns the long-run mean rate.
    pub fn mean_bit_per_s(&self) -> f64 {
        let rates = self.rates.iter().map(|rate| rate.as_bit_per_s() as f64);
        rates
            .zip(&self.stationary)
            .map(|(rate, share)| rate * share)
            .sum()
    }
}

/// Returns the number of states.
fn states(parameters: &Markov) -> Result<usize> {
    let n = parameters.rates.len();
    if n == 0 || n > MOST_STATES {
        let remedy = format!("{n} rates listed; list 1 to {MOST_STATES}");
        return Err(Error::message("rates", remedy));
    }
    Ok(n)
}

/// Returns the length of a step in nanoseconds; zero in continuous time.
fn step(parameters: &Markov) -> Result<u64> {
    let nanos = parameters.step.map(Span::as_nanos);
    let remedy = "is too short; choose at least \"1 us\"";
    let long_enough = nanos.is_none_or(|nanos| nanos >= SHORTEST);
    in_range(long_enough, "step", &parameters.step, remedy)?;
    let steps = parameters.transition_matrix.is_some() && parameters.mean_sojourn.is_none();
    if steps && nanos.is_none() {
        let remedy = "a transition_matrix needs the length of a step; for example step = \"30 ms\"";
        return Err(Error::missing("step", remedy).comparing(&["mean_sojourn"]));
    }
    Ok(nanos.unwrap_or(0))
}

/// Returns, off the diagonal, the probability of each transition in `unit` nanoseconds, row by row.
fn flow(mut rows: Vec<f64>, means: &[f64], unit: f64) -> Vec<f64> {
    let n = means.len();
    for (i, mean) in means.iter().enumerate() {
        for p in &mut rows[i * n..(i + 1) * n] {
            *p *= unit / mean;
        }
    }
    (0..n).for_each(|i| rows[i * n + i] = 0.0);
    rows
}

/// Returns the probabilities of the next state, row by row: the matrix, or equal probabilities for
/// all other states.
fn rows(parameters: &Markov, n: usize) -> Result<Vec<f64>> {
    let Some(matrix) = &parameters.transition_matrix else {
        let each = if n > 1 { 1.0 / (n - 1) as f64 } else { 0.0 };
        return Ok(vec![each; n * n]);
    };
    if matrix.len() != n || matrix.iter().any(|row| row.len() != n) {
        let remedy = format!(
            "does not have a row and a column for each of the {n} rates: {n} lists of {n} \
            probabilities"
        );
        return Err(Error::message("transition_matrix", remedy));
    }
    let sums: Vec<f64> = matrix
        .iter()
        .map(|row| row.iter().map(|p| p.get()).sum())
        .collect();
    every(matrix.iter().enumerate().map(|(i, row)| {
        let (field, sum) = (format!("transition_matrix.{i}"), sums[i]);
        let leaves = parameters.mean_sojourn.is_none() || row[i] == Probability::ZERO;
        let off = "is the sum of the row; its probabilities must add up to 1";
        let stays = "is on the diagonal; with mean_sojourn the diagonal must be 0";
        every([
            in_range((sum - 1.0).abs() <= ROW_TOLERANCE, &field, &sum, off),
            in_range(leaves, &field, &row[i].get(), stays),
        ])
    }))?;
    let rows = matrix.iter().zip(sums);
    Ok(rows
        .flat_map(|(row, sum)| row.iter().map(move |p| p.get() / sum))
        .collect())
}

/// Returns the mean sojourn of each state in nanoseconds; the length of a step if the matrix is
/// that of single steps.
fn means(parameters: &Markov, n: usize) -> Result<Vec<f64>> {
    let shortest = parameters.step.unwrap_or(Span::from_nanos(SHORTEST));
    let checked = |field: &str, mean: Span| {
        let remedy = format!("is too short; choose at least {}", json!(shortest));
        in_range(mean >= shortest, field, &mean, &remedy)?;
        Ok(mean.as_nanos() as f64)
    };
    match (&parameters.mean_sojourn, parameters.step) {
        (Some(Sojourns::Equal(mean)), _) => Ok(vec![checked("mean_sojourn", *mean)?; n]),
        (Some(Sojourns::PerState(means)), _) if means.len() == n => {
            let each = means.iter().enumerate();
            all(each.map(|(i, mean)| checked(&format!("mean_sojourn.{i}"), *mean)))
        }
        (Some(Sojourns::PerState(means)), _) => {
            let remedy = format!(
                "{} times for {n} rates; give one for each, or a single one for all",
                means.len()
            );
            Err(Error::message("mean_sojourn", remedy))
        }
        (None, _) if parameters.transition_matrix.is_some() => {
            Ok(vec![shortest.as_nanos() as f64; n]) // a step, which is refused if it is missing
        }
        _ if n == 1 => Ok(vec![SHORTEST as f64]),
        _ => {
            let remedy = "for example mean_sojourn = \"2 s\"";
            Err(Error::missing("mean_sojourn", remedy))
        }
    }
}

/// Returns the states reachable from `start` (`forwards`) or those that reach it, itself included.
fn reach(flow: &[f64], n: usize, start: usize, forwards: bool) -> Vec<bool> {
    let mut reached = vec![false; n];
    reached[start] = true;
    let mut open = vec![start];
    while let Some(i) = open.pop() {
        for j in 0..n {
            let p = if forwards {
                flow[i * n + j]
            } else {
                flow[j * n + i]
            };
            if p > 0.0 && !reached[j] {
                reached[j] = true;
                open.push(j);
            }
        }
    }
    reached
}

/// Returns the recurrent states. They must form one class, or the long run would depend on the
/// initial state.
fn recurrent(flow: &[f64], n: usize) -> Result<Vec<bool>> {
    let mut candidate = 0;
    loop {
        let (to, from) = (
            reach(flow, n, candidate, true),
            reach(flow, n, candidate, false),
        );
        if let Some(below) = (0..n).find(|&j| to[j] && !from[j]) {
            candidate = below; // `below` does not lead back, so continue from there
            continue;
        }
        let Some(apart) = from.iter().position(|reaches| !reaches) else {
            return Ok(to);
        };
        let problem = format!(
            "states {apart} and {candidate} never reach each other; connect them, or use two links"
        );
        return Err(Error::message("transition_matrix", problem));
    }
}

/// Returns the long-run shares of time by the elimination of Grassmann, Taksar and Heyman (1985,
/// Operations Research 33). It subtracts nothing, so every share has nearly full precision however
/// far apart the sojourns are.
fn stationary(flow: &[f64], n: usize, recurs: &[bool]) -> Vec<f64> {
    let states: Vec<usize> = (0..n).filter(|&i| recurs[i]).collect();
    let m = states.len();
    let mut a: Vec<f64> = Vec::with_capacity(m * m);
    for &i in &states {
        a.extend(states.iter().map(|&j| flow[i * n + j]));
    }
    for k in (1..m).rev() {
        let out: f64 = a[k * m..k * m + k].iter().sum();
        for i in 0..k {
            a[i * m + k] /= out;
            let into = a[i * m + k];
            for j in (0..k).filter(|&j| j != i) {
                a[i * m + j] += into * a[k * m + j];
            }
        }
    }
    let mut share = vec![1.0; m];
    for k in 1..m {
        share[k] = (0..k).map(|i| share[i] * a[i * m + k]).sum();
    }
    let total: f64 = share.iter().sum();
    let mut all = vec![0.0; n];
    for (state, share) in states.into_iter().zip(share) {
        all[state] = share / total;
    }
    all
}

/// Returns the cyclic class of each recurrent state, and their number: the greatest common divisor
/// of the lengths of all return paths.
fn cyclic_classes(flow: &[f64], leave: &[f64], recurs: &[bool]) -> (Vec<Option<u64>>, u64) {
    let n = leave.len();
    let mut distance: Vec<Option<u64>> = vec![None; n];
    let Some(root) = recurs.iter().position(|&recurs| recurs) else {
        return (distance, 1);
    };
    distance[root] = Some(0);
    let mut open = std::collections::VecDeque::from([(root, 0)]);
    let mut period = 0;
    while let Some((i, steps)) = open.pop_front() {
        if leave[i] < 1.0 {
            period = 1; // a state may last several steps
        }
        for j in (0..n).filter(|&j| flow[i * n + j] > 0.0) {
            match distance[j] {
                None => {
                    distance[j] = Some(steps + 1);
                    open.push_back((j, steps + 1));
                }
                Some(other) => {
                    period = greatest_common_divisor(period, (steps + 1).abs_diff(other))
                }
            }
        }
    }
    let period = period.max(1);
    (
        distance
            .into_iter()
            .map(|steps| steps.map(|s| s % period))
            .collect(),
        period,
    )
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Refuses a chain that changes so often for its rate that sending one packet would take millions
/// of draws.
fn check_changes(parameters: &Markov, stationary: &[f64], changes_per_nano: f64) -> Result<()> {
    let rates = parameters
        .rates
        .iter()
        .map(|rate| rate.as_bit_per_s() as f64);
    let mean: f64 = rates
        .zip(stationary)
        .map(|(rate, share)| rate * share)
        .sum();
    let per_packet = changes_per_nano * 1e9 * 12_000.0 / mean;
    if per_packet > MOST_CHANGES_PER_PACKET {
        let problem = format!(
            "the mean rate of {mean:.3e} bit/s means {per_packet:.0e} changes of state per packet \
            of 1500 bytes; raise a rate or lengthen the sojourns"
        );
        return Err(Error::message("rates", problem));
    }
    Ok(())
}

/// Returns the length of a block in nanoseconds: a whole number of rounds through the cyclic
/// classes, so that all blocks begin in one class.
fn block_length(changes_per_nano: f64, step: u64, period: u64) -> u64 {
    let length = CHANGES_PER_BLOCK / changes_per_nano; // infinite if the state never changes
    let round = step.saturating_mul(period).max(1);
    let rounds = libm::ceil(length / round as f64) as u64;
    rounds.max(1).saturating_mul(round)
}

/// Returns the running sums of each row's probabilities of the next state; exactly 1 from the last
/// possible state on.
fn cumulative(flow: &[f64], leave: &[f64]) -> Vec<f64> {
    let n = leave.len();
    let mut all = Vec::with_capacity(n * n);
    for (i, total) in leave.iter().enumerate() {
        let row = &flow[i * n..(i + 1) * n];
        let last = row.iter().rposition(|&p| p > 0.0).unwrap_or(0);
        let mut sum = 0.0;
        all.extend(row.iter().enumerate().map(|(j, p)| {
            sum += p;
            if j >= last { 1.0 } else { sum / total }
        }));
    }
    all
}
