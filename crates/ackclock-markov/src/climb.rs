//! The common parts of chains that climb one step at a time: down maps and the checks of input.

use std::fmt;

/// Reason for which an input does not describe a chain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refused {
    /// There is no state.
    Empty,
    /// An array does not have the length that the number of states requires.
    Length {
        /// Length required.
        expected: usize,
        /// Length found.
        found: usize,
    },
    /// A probability is negative or not a number.
    Probability(f64),
    /// The state at this index falls upwards, or lower than the state below it does.
    Down(usize),
    /// Not all states can be reached from one another, so the stationary distribution is not
    /// unique.
    Reducible,
    /// A target of the row is not a state, or the row is empty.
    Row(usize),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Empty => write!(f, "there is no state"),
            Refused::Length { expected, found } => {
                write!(f, "{found} values where {expected} are needed")
            }
            Refused::Probability(value) => write!(f, "{value} is not a probability"),
            Refused::Reducible => write!(f, "there is more than one stationary law"),
            Refused::Row(state) => write!(
                f,
                "state {state} leads nowhere, or to a state that is not there"
            ),
            Refused::Down(state) => {
                write!(
                    f,
                    "state {state} falls upwards, or lower than the state below it"
                )
            }
        }
    }
}

impl std::error::Error for Refused {}

/// Checks that all values are probabilities; rounding may have put them a little above one.
pub(crate) fn check_probabilities(values: &[f64]) -> Result<(), Refused> {
    match values
        .iter()
        .find(|value| !(0.0..=1.0 + 1e-9).contains(*value))
    {
        Some(&value) => Err(Refused::Probability(value)),
        None => Ok(()),
    }
}

/// Checks a down map: no state falls upwards, and a higher state falls no lower.
pub(crate) fn check_down(down: &[usize]) -> Result<(), Refused> {
    if down.is_empty() {
        return Err(Refused::Empty);
    }
    let bad =
        |state: &usize| down[*state] > *state || (*state > 0 && down[*state] < down[*state - 1]);
    (0..down.len())
        .find(bad)
        .map_or(Ok(()), |state| Err(Refused::Down(state)))
}

/// Checks the shares of falls that end one state above the down map. They are below one, and no
/// fall ends above its start. Among falls to the same state, those that are not shared come first.
pub(crate) fn check_above(down: &[usize], above: &[f64]) -> Result<(), Refused> {
    if above.len() != down.len() {
        return Err(Refused::Length {
            expected: down.len(),
            found: above.len(),
        });
    }
    if let Some(&share) = above.iter().find(|share| !(0.0..1.0).contains(*share)) {
        return Err(Refused::Probability(share));
    }
    let whole_after_part = |state: usize| {
        state > 0 && down[state] == down[state - 1] && above[state] == 0.0 && above[state - 1] > 0.0
    };
    let bad =
        |state: &usize| (above[*state] > 0.0 && down[*state] == *state) || whole_after_part(*state);
    (0..down.len())
        .find(bad)
        .map_or(Ok(()), |state| Err(Refused::Down(state)))
}

/// Returns the lowest state to which the chain ever returns: no state above it falls below it.
pub(crate) fn bottom(down: &[usize], top: usize) -> usize {
    (0..=top)
        .rev()
        .find(|&state| down[state] == state)
        .unwrap_or(0)
}
