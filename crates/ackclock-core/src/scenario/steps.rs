//! Lists of values that change at given times.

use super::error::{Error, Result};
use crate::units::Span;
use serde_json::json;

/// Checks the times from which the entries of the field `steps` hold. There must be at least one,
/// and each must be after the one before. The error message contains `example`.
///
/// # Errors
/// The list, or the first time that is not after the one before.
pub fn check(moments: &[Span], example: &str) -> Result<()> {
    if moments.is_empty() {
        let remedy = format!("is empty; for example {example}");
        return Err(Error::new("steps", &json!([]), &remedy));
    }
    match moments.windows(2).position(|pair| pair[1] <= pair[0]) {
        None => Ok(()),
        Some(before) => Err(Error::new(
            &format!("steps.{}.from", before + 1),
            &json!(moments[before + 1]),
            "is not after the previous step; sort the steps and remove duplicates",
        )),
    }
}
