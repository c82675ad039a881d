//! Errors as JSON for the page.

use ackclock_spec::error::{Code, Error};
use serde_json::{Value, json};

/// Result of a request.
pub type Answer = Result<Value, Error>;

/// Returns the answer, or `errors`: code, field, sentence and, if known, line and column of each.
pub fn written(answer: Answer) -> Value {
    let error = match answer {
        Ok(value) => return value,
        Err(error) => error,
    };
    let described = |error: &Error| {
        let place = error.position().map(|place| [place.line, place.column]);
        json!({
            "code": error.code().name(),
            "field": error.field(),
            "message": error.sentence(),
            "place": place,
        })
    };
    json!({ "errors": error.all().map(described).collect::<Vec<_>>() })
}

/// A request that the page should not have made.
pub fn unknown(thing: &str) -> Error {
    Error::message("", format!("the page asks for {thing}, which is not there"))
        .coded(Code::Unsupported)
}
