//! The stationary distribution of a window observed only at losses; the transitions to the next
//! loss are the rows of a sparse matrix.
//!
//! Such a chain (CUBIC's) does not climb step by step, so there is no recursion over cuts. But it
//! forgets quickly, because every loss reduces the window by a share. Its distribution is found by
//! power iteration, with additions and products of non-negative numbers only. Each step is averaged
//! with the previous distribution, so that a periodic chain converges, too.

use crate::climb::{Refused, check_probabilities};

/// The iteration ends when a step moves less than this mass.
const SETTLED: f64 = 1e-15;
/// Steps after which a chain is assumed not to converge.
const PATIENCE: usize = 100_000;

/// Returns the stationary distribution.
///
/// State k leads to `targets[j]` with `probabilities[j]` for j in `offsets[k]..offsets[k + 1]`.
/// Rows need not be normalised.
///
/// # Errors
/// If there is no state, a row is empty or leads out of the states, a value is not a probability,
/// or the chain does not converge.
pub fn stationary(
    offsets: &[usize],
    targets: &[usize],
    probabilities: &[f64],
) -> Result<Vec<f64>, Refused> {
    let rows = normalised(offsets, targets, probabilities)?;
    let states = offsets.len() - 1;
    let mut law = vec![1.0 / states as f64; states];
    let mut next = vec![0.0; states];
    for _ in 0..PATIENCE {
        next.fill(0.0);
        for (state, &mass) in law.iter().enumerate() {
            for j in offsets[state]..offsets[state + 1] {
                next[targets[j]] += mass * rows[j];
            }
        }
        let total: f64 = next.iter().sum();
        let mut moved = 0.0;
        for (mass, next) in law.iter_mut().zip(&next) {
            let stepped = 0.5 * (*mass + next / total);
            moved += (stepped - *mass).abs();
            *mass = stepped;
        }
        if moved < SETTLED {
            return Ok(law);
        }
    }
    Err(Refused::Reducible)
}

pub(crate) fn normalised(
    offsets: &[usize],
    targets: &[usize],
    probabilities: &[f64],
) -> Result<Vec<f64>, Refused> {
    let states = offsets.len().saturating_sub(1);
    if states == 0 {
        return Err(Refused::Empty);
    }
    if targets.len() != probabilities.len() || offsets[states] != targets.len() {
        return Err(Refused::Length {
            expected: offsets[states],
            found: probabilities.len(),
        });
    }
    check_probabilities(probabilities)?;
    let mut rows = probabilities.to_vec();
    for state in 0..states {
        let range = offsets[state]..offsets[state + 1];
        let Some(row) = rows.get_mut(range.clone()) else {
            return Err(Refused::Row(state));
        };
        let total: f64 = row.iter().sum();
        if total <= 0.0 || targets[range].iter().any(|&target| target >= states) {
            return Err(Refused::Row(state));
        }
        row.iter_mut().for_each(|value| *value /= total);
    }
    Ok(rows)
}
