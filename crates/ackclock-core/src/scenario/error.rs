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

/// A value longer than this is cut in a message.
const LONGEST_VALUE: usize = 80;

impl Error {
    /// `value` cannot stand in `field`; `remedy` says what can ("has no unit; write for example \"45 Mbit/s\"").
    pub fn new(field: &str, value: &Value, remedy: &str) -> Self {
        Error::message(field, format!("{} {remedy}", shortened(value)))
    }
    /// `field` is not there but must be.
    pub fn missing(field: &str, remedy: &str) -> Self {
        Error::message(field, format!("is missing; {remedy}"))
    }
    /// A problem that is not a single value's. Line breaks in it become blanks.
    pub fn message(field: &str, message: impl Into<String>) -> Self {
        Error {
            field: on_one_line(field),
            message: on_one_line(&message.into()),
        }
    }
    /// `field` does not exist; the nearest of the `known` ones is offered.
    pub fn unknown_field(field: &str, known: &[&str]) -> Self {
        let last = field.rsplit('.').next().unwrap_or(field);
        let remedy = match (nearest(last, known), known) {
            (Some(name), _) => format!("did you mean \"{name}\"?"),
            (None, []) => "there are none here".into(),
            (None, known) => format!("write one of {}", known.join(", ")),
        };
        Error::message(field, format!("no such field; {remedy}"))
    }
    /// `value` names no known `what`; the nearest known name is offered.
    pub fn unknown_name<'a>(
        field: &str,
        value: &Value,
        what: &str,
        known: impl Iterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<&str> = known.collect();
        let remedy = match (value.as_str().and_then(|name| nearest(name, &known)), &known[..]) {
            (Some(name), _) => format!("is no {what}; did you mean \"{name}\"?"),
            (None, []) => format!("is no {what}; there is none"),
            (None, known) => format!("is no {what}; write one of {}", known.join(", ")),
        };
        Error::new(field, value, &remedy)
    }
    /// The same problem seen from outside: `prefix.field`.
    #[must_use]
    pub fn within(mut self, prefix: &str) -> Self {
        self.field = match (prefix.is_empty(), self.field.is_empty()) {
            (true, _) => self.field,
            (_, true) => on_one_line(prefix),
            _ => format!("{}.{}", on_one_line(prefix), self.field),
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

/// Names and reasons come from outside: they may hold anything.
fn on_one_line(text: &str) -> String {
    text.replace(
        |c: char| c.is_control() || c == '\u{2028}' || c == '\u{2029}',
        " ",
    )
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONGEST_VALUE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The known name a typing error away from `name`, if one is near. Case, `-` and `_` are not looked at.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    if name.len() > LONGEST_VALUE {
        return None; // the distance takes time in proportion to the length
    }
    let name = plain(name);
    known
        .iter()
        .map(|candidate| (plain(candidate), *candidate))
        .map(|(text, candidate)| (strsim::damerau_levenshtein(&name, &text), text.len(), candidate))
        .filter(|(distance, length, _)| *distance <= (*length).max(3) / 3)
        .min()
        .map(|(.., candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_error_is_one_line_whatever_it_is_made_of() {
        let error = Error::new("a\nb", &json!("c\nd"), "is\r\nodd\u{2028}").within("e\nf");
        assert_eq!(error.to_string(), r#"e f.a b: "c\nd" is  odd "#);
        let long = Error::new("field", &json!("é".repeat(1000)), "is long").to_string();
        assert!(
            long.chars().count() < 110 && long.ends_with("… is long"),
            "{long}"
        );
    }

    #[test]
    fn the_nearest_name_is_a_typing_error_away() {
        let known = ["cubic", "reno", "westwood_abse"];
        assert_eq!(nearest("CUBIC", &known), Some("cubic"));
        assert_eq!(nearest("rneo", &known), Some("reno"));
        assert_eq!(nearest("westwood-abse", &known), Some("westwood_abse"));
        assert_eq!(nearest("vegas", &known), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), &known), None);
        assert_eq!(nearest("x", &[]), None);
    }

    #[test]
    fn what_is_unknown_is_answered_with_what_is_known() {
        let error = Error::unknown_field("link.rat", &["kind", "rate"]);
        assert_eq!(
            error.to_string(),
            r#"link.rat: no such field; did you mean "rate"?"#
        );
        let known = ["droptail", "red"];
        let error = Error::unknown_name("kind", &json!("codel"), "queue", known.into_iter());
        assert_eq!(
            error.to_string(),
            r#"kind: "codel" is no queue; write one of droptail, red"#
        );
        let error = Error::unknown_name("kind", &json!(3), "traffic", std::iter::empty());
        assert_eq!(error.to_string(), "kind: 3 is no traffic; there is none");
    }
}
