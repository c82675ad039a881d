//! Laws of sizes: how much each instance of a finite transfer sends, drawn from the instance's own
//! stream. One law, one file, one line in the list below. A plain amount of data is no law: it
//! draws nothing.

use crate::registry::{Entry, Kind, NoFacts};
use crate::scenario::error::{Error, Result};
use crate::streams::Stream;
use crate::units::Bytes;
use serde_json::json;

pub mod empirical;
pub mod lognormal;
pub mod pareto;
pub mod uniform;

/// The registry of size laws. What one makes is a size, of the draws of a stream.
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

/// More than any run can send; a heavy tail may draw more.
const LARGEST: f64 = 1e18;

/// A drawn number of bytes, rounded; one at least.
fn whole(bytes: f64) -> Bytes {
    Bytes(libm::round(bytes).clamp(1.0, LARGEST) as u64)
}

/// Refuses a size that is nothing.
pub(crate) fn check_size(field: &str, size: Bytes) -> Result<()> {
    if size == Bytes::ZERO {
        let remedy = "is too small; choose at least \"1 byte\"";
        return Err(Error::new(field, &json!(size), remedy));
    }
    Ok(())
}

/// Refuses a parameter of a law that is no positive number.
fn check_positive(field: &str, value: f64, example: &str) -> Result<()> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    let remedy = format!("is not a positive number; for example {example}");
    Err(Error::new(field, &json!(value), &remedy))
}

#[cfg(test)]
mod tests;
