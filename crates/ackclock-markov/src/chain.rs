//! The stationary distribution of a chain that climbs one step at a time and falls by a
//! non-decreasing map.
//!
//! The probability that flows up across the cut between k and k+1 equals the probability that flows
//! down across it:
//!
//! ```text
//! pi_k s_k = D_k = sum of f_w pi_w over all w > k with down(w) <= k
//! ```
//!
//! As the down map is non-decreasing, these w are k+1 … hi(k). A fall may end between two states:
//! then a share `above` of it goes to down(w)+1. Of the falls with down(w) = k, only the other
//! share crosses the cut.
//!
//! The walk goes from the top downwards. It forms the sliding sum D without subtraction, so each
//! pi_k loses no more digits than a few roundings take. The range is split at an anchor. The part
//! below the anchor grows by addition; for the part above, all prefix sums are kept. When the range
//! has left the part above, the anchor moves to the position of the walk. Each state is summed at
//! most twice.
//!
//! Source: the cut equations are those of Bogoiavlenskaia, Kojo, Mutka and Alanko, "Analytical
//! Markovian model of TCP congestion avoidance algorithm performance", University of Helsinki,
//! C-2002-13; the sum is a queue of two stacks.

use crate::climb::{Refused, bottom, check_above, check_down, check_probabilities};

/// Masses below e^-760 (about 1e-330) times the lowest state's do not fit in a double, so the walk
/// starts below them.
const NEGLIGIBLE_LOG: f64 = -760.0;
/// Stored masses are divided by a mass that grows beyond this.
const LARGE: f64 = 1e200;

/// Working memory of a walk, reused from one set of parameters to the next.
#[derive(Debug, Default)]
pub struct Workspace {
    above: Vec<f64>,
}

/// Returns the stationary distributions of several chains with the same down map.
///
/// `survive` and `lose` hold one row of `down.len()` probabilities per chain; the index is the
/// state. From state k the chain climbs to k+1 with `survive[k]` (at the top it stays) and falls
/// with `lose[k]`. A share `above[k]` (below one) of the falls goes to `down[k] + 1`, the rest to
/// `down[k]`; `above` may be empty if no fall is shared. A state with zero survival probability is
/// the highest state reached. The result has the shape of `survive`, and each row sums to one.
///
/// # Errors
/// If lengths do not match, a value is not a probability, or the map is not as described.
pub fn stationary_of_many(
    survive: &[f64],
    lose: &[f64],
    down: &[usize],
    above: &[f64],
) -> Result<Vec<f64>, Refused> {
    check_down(down)?;
    let unshared = vec![0.0; if above.is_empty() { down.len() } else { 0 }];
    let above = if above.is_empty() { &unshared } else { above };
    check_above(down, above)?;
    let states = down.len();
    if lose.len() != survive.len() || !survive.len().is_multiple_of(states) {
        let expected = survive.len() - survive.len() % states;
        return Err(Refused::Length {
            expected,
            found: lose.len(),
        });
    }
    check_probabilities(survive)?;
    check_probabilities(lose)?;
    let mut laws = vec![0.0; survive.len()];
    let mut workspace = Workspace::default();
    let rows = survive.chunks_exact(states).zip(lose.chunks_exact(states));
    for (law, (survive, lose)) in laws.chunks_exact_mut(states).zip(rows) {
        walk(survive, lose, (down, above), law, &mut workspace);
    }
    Ok(laws)
}

/// Returns the stationary distribution of one chain whose falls are not shared; see
/// [`stationary_of_many`].
///
/// # Errors
/// As for [`stationary_of_many`].
pub fn stationary(survive: &[f64], lose: &[f64], down: &[usize]) -> Result<Vec<f64>, Refused> {
    if survive.len() != down.len() {
        return Err(Refused::Length {
            expected: down.len(),
            found: survive.len(),
        });
    }
    stationary_of_many(survive, lose, down, &[])
}

fn walk(
    survive: &[f64],
    lose: &[f64],
    (down, shared): (&[usize], &[f64]),
    law: &mut [f64],
    workspace: &mut Workspace,
) {
    let reached = survive
        .iter()
        .position(|&s| s == 0.0)
        .unwrap_or(survive.len() - 1);
    let bottom = bottom(down, reached);
    let top = start(survive, lose, (down, shared), bottom, reached);
    law.fill(0.0);
    law[top] = 1.0;
    // `near` is the sum over (k, anchor], `above[j]` the one over (anchor, anchor + 1 + j].
    let (mut anchor, mut near) = (top, 0.0);
    let above = &mut workspace.above;
    above.clear();
    let mut high = top;
    for k in (bottom..top).rev() {
        // First the states that fall to k or below it with their whole mass, then those with a part
        // of it.
        while down[high] > k || (down[high] == k && shared[high] > 0.0) {
            high -= 1;
        }
        let part: f64 = (high + 1..=top)
            .take_while(|&w| down[w] == k)
            .map(|w| (1.0 - shared[w]) * lose[w] * law[w])
            .sum();
        near += lose[k + 1] * law[k + 1];
        if high < anchor {
            anchor = k;
            near = 0.0;
            above.clear();
            above.extend((k + 1..=high).scan(0.0, |sum, w| {
                *sum += lose[w] * law[w];
                Some(*sum)
            }));
        }
        let far = if high > anchor {
            above[high - anchor - 1]
        } else {
            0.0
        };
        let flow = near + far + part;
        law[k] = flow / survive[k];
        if law[k] > LARGE {
            let scale = survive[k] / flow;
            law[k + 1..=top]
                .iter_mut()
                .chain(above.iter_mut())
                .for_each(|value| *value *= scale);
            near *= scale;
            law[k] = 1.0;
        }
    }
    let total: f64 = law[bottom..=top].iter().rev().sum();
    law[bottom..=top]
        .iter_mut()
        .for_each(|value| *value /= total);
}

/// Returns the state at which the walk starts. By the cut equation `pi_{k+1} / pi_k <= s_k /
/// f_{k+1}`, where f is the part that crosses the cut, and the product of these bounds may leave
/// the range of doubles.
fn start(
    survive: &[f64],
    lose: &[f64],
    (down, shared): (&[usize], &[f64]),
    bottom: usize,
    reached: usize,
) -> usize {
    let mut bound = 0.0;
    for k in bottom..reached {
        let crosses = if down[k + 1] == k {
            1.0 - shared[k + 1]
        } else {
            1.0
        };
        bound += survive[k].ln() - (crosses * lose[k + 1]).ln();
        if bound < NEGLIGIBLE_LOG {
            return k;
        }
    }
    reached
}
