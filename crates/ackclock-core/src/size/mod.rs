//! Size distributions: the amount that each instance of a finite transfer sends, drawn from the
//! instance's own stream. Each distribution has one file and one line in the list below. A plain
//! amount of data is not one of them: it draws nothing.

use ackclock_spec::error::Error;
use ackclock_spec::prelude::*;
use ackclock_spec::registry::{Entry, Kind, NoFacts, Selection, choose};
use ackclock_spec::schema::one_of;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

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

/// A size in a scenario: a plain amount of data, or a distribution.
#[derive(Clone, Debug)]
pub enum Size {
    /// The same for all.
    Plain(Bytes),
    /// Drawn.
    Law(Selection<SizeKind>),
}

impl Size {
    /// Reads a size, and puts its resolved form in the place of what is written.
    ///
    /// # Errors
    /// It is neither an amount nor a distribution, or invalid.
    pub fn check(field: &str, written: &mut Value, files: &dyn Files) -> Result<Self> {
        let size = Size::read(written, files).map_err(|error| error.within(field))?;
        *written = match &size {
            Size::Plain(size) => json!(size),
            Size::Law(law) => law.resolved.clone(),
        };
        Ok(size)
    }

    fn read(tree: &Value, files: &dyn Files) -> Result<Self> {
        if tree.is_object() {
            return choose(tree, files).map(Size::Law);
        }
        let size: Bytes = serde_json::from_value(tree.clone())
            .map_err(|error| Error::message("", error.to_string()))?;
        check_size("", size).map(|()| Size::Plain(size))
    }

    /// Returns a size, drawn from the stream if it is a distribution.
    pub fn draw(&self, stream: &mut Stream) -> Bytes {
        match self {
            Size::Plain(size) => *size,
            Size::Law(law) => law.build(stream),
        }
    }

    /// True if it is a distribution.
    pub const fn draws(&self) -> bool {
        matches!(self, Size::Law(_))
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
    let remedy = "is too small; choose at least \"1 byte\"";
    in_range(size != Bytes::ZERO, field, &size, remedy)
}

#[cfg(test)]
mod tests;
