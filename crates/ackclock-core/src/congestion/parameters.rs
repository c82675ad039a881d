//! Range checks that several controls use.

use ackclock_spec::error::{Result, in_range};

/// Refuses a value that is not positive and finite.
pub(super) fn check_positive(field: &str, value: f64, example: &str) -> Result<()> {
    let remedy = format!("is not positive; for example {example}");
    in_range(value > 0.0 && value.is_finite(), field, &value, &remedy)
}

/// Refuses a value that is not a decrease factor, between 0 and 1.
pub(super) fn check_factor(field: &str, value: f64, example: &str) -> Result<()> {
    let remedy = format!("is not between 0 and 1 (both excluded); for example {example}");
    in_range(value > 0.0 && value < 1.0, field, &value, &remedy)
}
