//! Bad input: which field, which value, what to do. One line.

use serde_json::Value;
use std::fmt;

/// Bad input in a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    field: String,
    message: String,
}

/// The result of reading something.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// `value` cannot stand in `field`; `remedy` says what can ("has no unit; write for example \"45 Mbit/s\"").
    pub fn new(field: &str, value: &Value, remedy: &str) -> Self {
        Error {
            field: field.into(),
            message: format!("{value} {remedy}"),
        }
    }
    /// `field` is not there but must be.
    pub fn missing(field: &str, remedy: &str) -> Self {
        Error {
            field: field.into(),
            message: format!("is missing; {remedy}"),
        }
    }
    /// A problem that is not a single value's.
    pub fn message(field: &str, message: impl Into<String>) -> Self {
        Error {
            field: field.into(),
            message: message.into(),
        }
    }
    /// `value` names no known `what`; the nearest known name is offered.
    pub fn unknown_name<'a>(
        field: &str,
        value: &Value,
        what: &str,
        known: impl Iterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<&str> = known.collect();
        let remedy = match value.as_str().and_then(|name| nearest(name, &known)) {
            Some(name) => format!("is no {what}; did you mean \"{name}\"?"),
            None => format!("is no {what}; write one of {}", known.join(", ")),
        };
        Error::new(field, value, &remedy)
    }
    /// The same problem seen from outside: `prefix.field`.
    #[must_use]
    pub fn within(mut self, prefix: &str) -> Self {
        self.field = match (prefix.is_empty(), self.field.is_empty()) {
            (true, _) => self.field,
            (_, true) => prefix.into(),
            _ => format!("{prefix}.{}", self.field),
        };
        self
    }
    /// Which field.
    pub fn field(&self) -> &str {
        &self.field
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.field, self.message)
        }
    }
}
impl std::error::Error for Error {}

/// The known name a typing error away from `name`, if one is near.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), *candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().max(3) / 3)
        .min()
        .map(|(_, candidate)| candidate)
}
