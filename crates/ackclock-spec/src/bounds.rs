//! Checks of a number or a quantity against its bounds.

use crate::error::{Result, in_range};
use crate::units::{BitRate, Bytes, Probability, Span};
use serde::Serialize;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// A quantity of which some elements need more than none.
pub trait HasZero: Serialize {
    /// Word for a value that is too small: "short" for a time.
    const TOO_SMALL: &'static str;
    /// True if there is none of it.
    fn is_zero(&self) -> bool;
}

impl HasZero for Span {
    const TOO_SMALL: &'static str = "short";
    fn is_zero(&self) -> bool {
        *self == Span::ZERO
    }
}
impl HasZero for Bytes {
    const TOO_SMALL: &'static str = "small";
    fn is_zero(&self) -> bool {
        *self == Bytes::ZERO
    }
}
impl HasZero for BitRate {
    const TOO_SMALL: &'static str = "low";
    fn is_zero(&self) -> bool {
        *self == BitRate::ZERO
    }
}
impl HasZero for Probability {
    const TOO_SMALL: &'static str = "low";
    fn is_zero(&self) -> bool {
        *self == Probability::ZERO
    }
}
/// An absent quantity has no bounds.
impl<T: HasZero> HasZero for Option<T> {
    const TOO_SMALL: &'static str = T::TOO_SMALL;
    fn is_zero(&self) -> bool {
        self.as_ref().is_some_and(T::is_zero)
    }
}

/// Refuses a quantity of zero; `example` is one that is valid.
///
/// # Errors
/// If it is zero.
pub fn check_above_zero<T: HasZero>(field: &str, value: T, example: &str) -> Result<()> {
    let remedy = format!("is too {}; for example \"{example}\"", T::TOO_SMALL);
    in_range(!value.is_zero(), field, &value, &remedy)
}

/// Refuses a number of zero; `example` is one that is valid.
///
/// # Errors
/// If it is zero.
pub fn check_at_least_one(field: &str, value: u32, example: &str) -> Result<()> {
    let remedy = format!("is less than 1; for example {example}");
    in_range(value > 0, field, &value, &remedy)
}

/// Refuses a number outside a range; `example` is one within.
///
/// # Errors
/// Unless it is in the range.
pub fn check_between<T: PartialOrd + Serialize + Display>(
    field: &str,
    value: T,
    range: RangeInclusive<T>,
    example: &str,
) -> Result<()> {
    let (least, most) = (range.start(), range.end());
    let remedy = format!("is not between {least} and {most}; for example {example}");
    in_range(range.contains(&value), field, &value, &remedy)
}

/// Refuses a number that is negative or infinite; `example` is one that is not.
///
/// # Errors
/// Unless it is finite and at least 0.
pub fn check_not_negative(field: &str, value: f64, example: &str) -> Result<()> {
    let remedy = format!("is negative; for example {example}");
    in_range(value >= 0.0 && value.is_finite(), field, &value, &remedy)
}

/// Refuses a number that is not positive and finite; `example` is one that is.
///
/// # Errors
/// Unless it is positive and finite.
pub fn check_positive(field: &str, value: f64, example: &str) -> Result<()> {
    let remedy = format!("is not positive; for example {example}");
    in_range(value > 0.0 && value.is_finite(), field, &value, &remedy)
}

/// Refuses a number that is not a factor between 0 and 1; `example` is one that is.
///
/// # Errors
/// Unless it is between 0 and 1, both excluded.
pub fn check_factor(field: &str, value: f64, example: &str) -> Result<()> {
    let remedy = format!("is not between 0 and 1 (both excluded); for example {example}");
    in_range(value > 0.0 && value < 1.0, field, &value, &remedy)
}

/// Refuses a number that is not a weight above 0 and at most 1; `example` is one that is.
///
/// # Errors
/// Unless it is above 0 and at most 1.
pub fn check_weight(field: &str, value: f64, example: &str) -> Result<()> {
    let remedy = format!("is not between 0 (excluded) and 1; for example {example}");
    in_range(value > 0.0 && value <= 1.0, field, &value, &remedy)
}
