//! Size distributions: the amount that each instance of a finite transfer sends, drawn from the
//! instance's own stream. Each distribution has one file and one line in the list below. A plain
//! amount of data is not one of them: it draws nothing.

use crate::registry::{Entry, Kind, NoFacts};
use crate::scenario::error::{Error, Result};
use crate::streams::Stream;
use crate::units::Bytes;
use serde_json::json;

pub mod empirical;
pub mod lognormal;
pub mod pareto;
pub mod uniform;

/// The registry of size distributions. A distribution makes a size from the draws of a stream.
#[derive(Debug)]
pub struct SizeKind;

impl Kind for SizeKind {
    type Product = Bytes;
    type Context<'a> = &'a mut Stream;
    type Facts = NoFacts;
    const NAME: &'static str = "size law";
    const PLURAL: &'static str = "sizes";
    fn entries() -> &'static [Entry<Self>] {
        const LIST: &[Entry<SizeKind>] = &[
            Entry::of::<uniform::Uniform>(),
            Entry::of::<lognormal::Lognormal>(),
            Entry::of::<pareto::Pareto>(),
            Entry::of::<empirical::Empirical>(),
        ];
        LIST
    }
}

/// More bytes than any run can send; a heavy tail may draw more.
const LARGEST: f64 = 1e18;

/// Rounds a drawn number of bytes, to at least one.
fn whole(bytes: f64) -> Bytes {
    Bytes(libm::round(bytes).clamp(1.0, LARGEST) as u64)
}

/// Refuses a size of zero.
pub(crate) fn check_size(field: &str, size: Bytes) -> Result<()> {
    if size == Bytes::ZERO {
        let remedy = "is too small; choose at least \"1 byte\"";
        return Err(Error::new(field, &json!(size), remedy));
    }
    Ok(())
}

/// Refuses a parameter of a distribution that is not a positive number.
fn check_positive(field: &str, value: f64, example: &str) -> Result<()> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    let remedy = format!("is not a positive number; for example {example}");
    Err(Error::new(field, &json!(value), &remedy))
}

#[cfg(test)]
mod tests;
