//! Size distributions: the amount that each instance of a finite transfer sends, drawn from the
//! instance's own stream. Each distribution has one file and one line in the list below. A plain
//! amount of data is not one of them: it draws nothing.

use ackclock_spec::prelude::*;
use ackclock_spec::registry::{Entry, Kind, NoFacts};
use ackclock_spec::schema::one_of;
use schemars::{Schema, SchemaGenerator, json_schema};

pub mod empirical;
pub mod lognormal;
pub mod pareto;
pub mod uniform;
pub mod web_search;

/// The registry of size distributions. A distribution makes a size from the draws of a stream.
#[derive(Debug)]
pub struct SizeKind;

impl Kind for SizeKind {
    type Product = Bytes;
    type Context<'a> = &'a mut Stream;
    type Facts = NoFacts;
    const NAME: &'static str = "size law";
    const PLURAL: &'static str = "sizes";
    const ENTRIES: &'static [Entry<Self>] = &[
        Entry::of::<uniform::Uniform>(),
        Entry::of::<lognormal::Lognormal>(),
        Entry::of::<pareto::Pareto>(),
        Entry::of::<empirical::Empirical>(),
        Entry::of::<web_search::WebSearch>(),
    ];
}

/// Returns the schema of a size: a plain amount of data, or a distribution.
pub(crate) fn schema(generator: &mut SchemaGenerator) -> Schema {
    let plain = generator.subschema_for::<Bytes>();
    json_schema!({ "anyOf": [plain, one_of::<SizeKind>(generator)] })
}

/// More bytes than any run can send; a heavy tail may draw more.
const LARGEST: f64 = 1e18;

/// Rounds a drawn number of bytes, to at least one.
fn whole(bytes: f64) -> Bytes {
    Bytes(libm::round(bytes).clamp(1.0, LARGEST) as u64)
}

/// Refuses a size of zero.
pub(crate) fn check_size(field: &str, size: Bytes) -> Result<()> {
    let remedy = "is too small; choose at least \"1 byte\"";
    in_range(size != Bytes::ZERO, field, &size, remedy)
}

#[cfg(test)]
mod tests;
