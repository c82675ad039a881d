//! Range checks that several controls use.

use crate::scenario::error::{Error, Result};

/// Returns an error unless `value` is positive and finite.
pub(super) fn check_positive(field: &str, value: f64, example: &str) -> Result<()> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    let remedy = format!("is not positive; for example {example}");
    Err(Error::new(field, &value.into(), &remedy))
}

/// Returns an error unless `value` is a decrease factor, between 0 and 1.
pub(super) fn check_factor(field: &str, value: f64, example: &str) -> Result<()> {
    if value > 0.0 && value < 1.0 {
        return Ok(());
    }
    let remedy = format!("is not between 0 and 1 (both excluded); for example {example}");
    Err(Error::new(field, &value.into(), &remedy))
}
