//! Lists of values that change at given times.

use crate::error::{Result, consistent, every, in_range};
use crate::units::Span;

/// Checks the times from which the entries of the field `steps` hold. There must be at least one,
/// and each must be after the one before. The error message contains `example`.
///
/// # Errors
/// The list, or every time that is not after the one before.
pub fn check(moments: &[Span], example: &str) -> Result<()> {
    let remedy = format!("is empty; for example {example}");
    let given = in_range(!moments.is_empty(), "steps", &moments, &remedy);
    let sorted = moments.windows(2).enumerate().map(|(before, pair)| {
        let remedy = "is not after the previous step; sort the steps and remove duplicates";
        let [field, previous] = [before + 1, before].map(|at| format!("steps.{at}.from"));
        consistent(pair[1] > pair[0], &field, &pair[1], &[&previous], remedy)
    });
    every([given].into_iter().chain(sorted))
}
