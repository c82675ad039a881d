//! The stationary distribution of a chain that climbs by a few states at once and falls anywhere.
//!
//! States are censored one by one from the top downwards: transitions into the highest state
//! continue to where that state leads. This needs no subtraction. A state is entered only from the
//! `up` states below it, so at most `up` rows are open at a time. Time grows with the square of the
//! number of states, memory with their number.
//!
//! Source: Grassmann, Taksar and Heyman, "Regenerative analysis and steady state distributions for
//! Markov chains", Operations Research 33(5), 1985.

use crate::climb::Refused;
use crate::epochs::normalised;

/// Masses are divided by a mass that grows beyond this.
const LARGE: f64 = 1e200;

/// Returns the stationary distribution; the arguments are those of [`crate::epochs::stationary`].
///
/// # Errors
/// As there, and if the stationary distribution is not unique.
pub fn stationary(
    offsets: &[usize],
    targets: &[usize],
    probabilities: &[f64],
) -> Result<Vec<f64>, Refused> {
    let sparse = normalised(offsets, targets, probabilities)?;
    let states = offsets.len() - 1;
    let row = |state: usize| offsets[state]..offsets[state + 1];
    let up = (0..states)
        .flat_map(|state| row(state).map(move |j| targets[j].saturating_sub(state)))
        .max()
        .unwrap_or(0);
    let open = |state: usize| {
        let mut dense = vec![0.0; states.min(state + up + 1)];
        row(state).for_each(|j| dense[targets[j]] += sparse[j]);
        dense
    };
    // Rows of the states below the one that is censored next, the highest first.
    let mut rows: Vec<Vec<f64>> = (0..states).rev().take(up + 1).map(open).collect();
    // Mean entries into the state per visit to each of the `up` states below it, the highest first.
    let mut entered = vec![0.0; states * up];
    for state in (1..states).rev() {
        let censored = rows.remove(0);
        let leaving: f64 = censored[..state].iter().sum();
        if leaving <= 0.0 {
            return Err(Refused::Reducible);
        }
        let first = censored
            .iter()
            .position(|&chance| chance > 0.0)
            .unwrap_or(0);
        for (back, below) in rows.iter_mut().enumerate().take(up.min(state)) {
            let share = below[state] / leaving;
            if share > 0.0 {
                entered[state * up + back] = share;
                for (sum, chance) in below[first..state].iter_mut().zip(&censored[first..state]) {
                    *sum += share * chance;
                }
            }
        }
        if let Some(next) = state.checked_sub(up + 1) {
            rows.push(open(next));
        }
    }
    Ok(law_of(&entered, states, up))
}

/// Returns masses from the lowest state upwards, with a total of one.
fn law_of(entered: &[f64], states: usize, up: usize) -> Vec<f64> {
    let mut law = vec![0.0; states];
    law[0] = 1.0;
    for state in 1..states {
        let shares = &entered[state * up..(state + 1) * up];
        law[state] = (0..state)
            .rev()
            .zip(shares)
            .map(|(below, share)| law[below] * share)
            .sum();
        if law[state] > LARGE {
            let scale = law[state];
            law[..=state].iter_mut().for_each(|mass| *mass /= scale);
        }
    }
    let total: f64 = law.iter().sum();
    law.iter_mut().for_each(|mass| *mass /= total);
    law
}
