//! A fact about a part that others of its kind have, such as a threshold.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::borrow::Cow;

/// A part, a rule or a value that an element may lack. It is null in JSON if it is not known,
/// `{"kind": "none"}` if the element has none, and else the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stated<T> {
    /// The element does not state whether it has one.
    #[default]
    Unknown,
    /// It has none.
    None,
    /// It has this one.
    Some(T),
}

impl<T> Stated<T> {
    /// Returns the value if it is stated; `None` if there is none, or if that is not known.
    pub fn some(&self) -> Option<&T> {
        match self {
            Stated::Some(value) => Some(value),
            Stated::Unknown | Stated::None => None,
        }
    }

    /// True if the value is stated.
    pub const fn is_some(&self) -> bool {
        matches!(self, Stated::Some(_))
    }
}

/// A parameter that may be left out says as much about the part that it describes.
impl<T> From<Option<T>> for Stated<T> {
    fn from(given: Option<T>) -> Self {
        given.map_or(Stated::None, Stated::Some)
    }
}

/// Returns what stands for "none" in JSON. False or a word could be mistaken for a value.
fn none() -> Value {
    json!({ "kind": "none" })
}

impl<T: Serialize> Serialize for Stated<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Stated::Unknown => serializer.serialize_none(),
            Stated::None => none().serialize(serializer),
            Stated::Some(value) => value.serialize(serializer),
        }
    }
}

impl<T: JsonSchema> JsonSchema for Stated<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Stated{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [value, { "const": none() }, { "type": "null" }] })
    }
}
