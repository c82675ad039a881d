//! Bad input: a code, the field, the value, and a sentence with a remedy, on one line.

use crate::limits::{MESSAGE_CHARACTERS, MISTAKES, QUOTED_CHARACTERS};
use crate::tree::{to_tree, value};
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// The kind of an error, for programs and tests. It stays the same when the sentence is reworded.
///
/// `ackclock.errors` in Python has the same codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A required field is absent.
    Missing,
    /// A field or list item does not exist.
    UnknownField,
    /// A value names nothing that exists: a kind, a hop, a choice.
    UnknownName,
    /// A value has another type: a number instead of a table, a word instead of a quantity.
    WrongType,
    /// A quantity lacks its unit.
    NoUnit,
    /// A quantity has a unit of another quantity.
    WrongUnit,
    /// A value is of the right type but too small, too large or not allowed.
    OutOfRange,
    /// A value is valid alone but contradicts another field.
    Contradiction,
    /// Text is not in its format: TOML, JSON, an assignment.
    Syntax,
    /// A file cannot be read or has the wrong content.
    File,
    /// The description is valid, but the chosen method does not support it.
    Unsupported,
    /// A run began and failed.
    Failed,
}

/// All codes with their names.
const CODES: [(Code, &str); 12] = [
    (Code::Missing, "missing"),
    (Code::UnknownField, "unknown-field"),
    (Code::UnknownName, "unknown-name"),
    (Code::WrongType, "wrong-type"),
    (Code::NoUnit, "no-unit"),
    (Code::WrongUnit, "wrong-unit"),
    (Code::OutOfRange, "out-of-range"),
    (Code::Contradiction, "contradiction"),
    (Code::Syntax, "syntax"),
    (Code::File, "file"),
    (Code::Unsupported, "unsupported"),
    (Code::Failed, "failed"),
];

impl Code {
    /// Returns its name: `unknown-field`.
    pub fn name(self) -> &'static str {
        CODES
            .iter()
            .find(|(code, _)| *code == self)
            .map_or("", |(_, name)| name)
    }

    /// Returns the code with a name.
    pub fn named(name: &str) -> Option<Self> {
        CODES
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(code, _)| *code)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Separates a sentence from its code, because serde keeps only the text of an error.
const CODE_FOLLOWS: char = '\u{1f}';

/// A place in the text of a scenario: line and column, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// Bad input in a scenario: the first mistake, and all others that were found with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: Code,
    field: String,
    value: Option<Box<Value>>,
    message: Box<str>,
    position: Option<Position>,
    /// Fields whose values make this one wrong.
    compared: Box<[String]>,
    others: Vec<Error>,
}

/// Result of reading a part of a scenario.
pub type Result<T> = std::result::Result<T, Error>;

/// Both results, or the errors of both as [`all`] gathers them.
///
/// # Errors
/// Those of one, or of the first followed by those of the second.
pub fn both<A, B>(first: Result<A>, second: Result<B>) -> Result<(A, B)> {
    match (first, second) {
        (Ok(first), Ok(second)) => Ok((first, second)),
        (Ok(_), Err(error)) | (Err(error), Ok(_)) => Err(error),
        (Err(first), Err(second)) => Err(first.and(second).pruned()),
    }
}

/// All results, or the errors of all.
///
/// # Errors
/// Those of the results that are errors, in order; once there are as many as is reported at once,
/// no further result is asked for. Of a field that is wrong in itself the first one
/// is enough, and comparisons with it say nothing, so they are left out.
pub fn all<T>(results: impl IntoIterator<Item = Result<T>>) -> Result<Vec<T>> {
    let (mut list, mut errors) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(item) => list.push(item),
            Err(error) => errors.push(error),
        }
        if errors.len() as u64 >= MISTAKES {
            break;
        }
    }
    match errors.into_iter().reduce(Error::and) {
        None => Ok(list),
        Some(errors) => Err(errors.pruned()),
    }
}

/// Gathers checks as [`all`] does.
///
/// # Errors
/// Those of the checks that fail.
pub fn every(checks: impl IntoIterator<Item = Result<()>>) -> Result<()> {
    all(checks).map(drop)
}

/// Refuses a value that is out of range whatever the other fields are; `remedy` as for
/// [`Error::new`].
///
/// # Errors
/// Unless the condition holds.
pub fn in_range(
    condition: bool,
    field: &str,
    value: &(impl Serialize + ?Sized),
    remedy: &str,
) -> Result<()> {
    match condition {
        true => Ok(()),
        false => Err(Error::new(field, &to_tree(value), remedy)),
    }
}

/// Refuses a value that contradicts the fields `others`; `remedy` as for [`Error::new`].
///
/// # Errors
/// Unless the condition holds.
pub fn consistent(
    condition: bool,
    field: &str,
    value: &(impl Serialize + ?Sized),
    others: &[&str],
    remedy: &str,
) -> Result<()> {
    match condition {
        true => Ok(()),
        false => Err(Error::contradiction(field, &to_tree(value), remedy).comparing(others)),
    }
}

/// True if the path `inner` is `outer`, or leads into it.
fn is_within(inner: &str, outer: &str) -> bool {
    let rest = inner.strip_prefix(outer);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl Error {
    /// Returns the error that `value` is out of range in `field`. `remedy` completes the sentence
    /// after the value ("is less than 1; write 1 or more"). For other codes see [`Error::coded`].
    pub fn new(field: &str, value: &Value, remedy: &str) -> Self {
        Error::message(field, format!("{} {remedy}", shortened(value))).valued(value)
    }
    /// Returns the error that `value` in `field` contradicts another field; `remedy` as for
    /// [`Error::new`].
    pub fn contradiction(field: &str, value: &Value, remedy: &str) -> Self {
        Error::new(field, value, remedy).coded(Code::Contradiction)
    }
    /// Returns the error that the required `field` is absent.
    pub fn missing(field: &str, remedy: &str) -> Self {
        Error::message(field, format!("is missing; {remedy}")).coded(Code::Missing)
    }
    /// Returns an error that does not concern a single value. Its code is out-of-range unless
    /// [`Error::coded`] or the end of the message says otherwise. Line breaks become blanks.
    pub fn message(field: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let coded = message
            .rsplit_once(CODE_FOLLOWS)
            .and_then(|(text, name)| Some((text, Code::named(name)?)));
        let (text, code) = coded.unwrap_or((&message, Code::OutOfRange));
        Error {
            code,
            field: on_one_line(field),
            value: None,
            message: cut(&on_one_line(text)).into(),
            position: None,
            compared: Box::default(),
            others: Vec::new(),
        }
    }
    /// This error, and another found with it.
    #[must_use]
    pub fn and(mut self, mut other: Error) -> Self {
        let further = std::mem::take(&mut other.others);
        self.others.push(other);
        self.others.extend(further);
        self
    }
    /// The errors without those that follow from another one.
    fn pruned(self) -> Self {
        let errors: Vec<&Error> = self.all().collect();
        let wrong = |among: &[&Error], field: &str| {
            let mut alone = among.iter().filter(|error| error.compared.is_empty());
            alone.any(|error| is_within(&error.field, field) || is_within(field, &error.field))
        };
        let counts = |(at, error): &(usize, &&Error)| match error.compared.is_empty() {
            true => !wrong(&errors[..*at], &error.field),
            false => {
                let mut fields = error.compared.iter().chain([&error.field]);
                fields.all(|field| !wrong(&errors, field))
            }
        };
        let kept = errors.iter().enumerate().filter(counts);
        let kept = kept.map(|(_, error)| error.alone()).reduce(Error::and);
        kept.unwrap_or(self) // never empty: the first that compares nothing stays
    }
    /// This mistake without those found with it.
    #[must_use]
    pub fn alone(&self) -> Self {
        Error {
            others: Vec::new(),
            ..self.clone()
        }
    }
    /// The same error at a place of the text.
    #[must_use]
    pub fn at(mut self, position: Option<Position>) -> Self {
        self.position = position;
        self
    }
    /// Names the fields whose values make this one wrong.
    #[must_use]
    pub fn comparing(mut self, fields: &[&str]) -> Self {
        self.compared = fields.iter().map(|field| (*field).to_owned()).collect();
        self
    }
    /// Sets the code.
    #[must_use]
    pub fn coded(mut self, code: Code) -> Self {
        self.code = code;
        self
    }
    /// Sets the value that the error concerns.
    #[must_use]
    pub fn valued(mut self, value: &Value) -> Self {
        self.value = Some(Box::new(value.clone()));
        self
    }
    /// Returns the error that `field` does not exist, and suggests the nearest of the `names`.
    pub fn unknown_field(field: &str, names: &[&str]) -> Self {
        let last = field.rsplit('.').next().unwrap_or(field);
        let remedy = match (nearest(last, names), names) {
            (Some(name), _) => format!("did you mean \"{name}\"?"),
            (None, []) => "there are none here".into(),
            (None, names) => format!("choose from {}", names.join(", ")),
        };
        Error::message(field, format!("unknown field; {remedy}")).coded(Code::UnknownField)
    }
    /// Returns the error that `value` names no known `noun`, and suggests the nearest known name.
    pub fn unknown_name<'a>(
        field: &str,
        value: &Value,
        noun: &str,
        names: impl Iterator<Item = &'a str>,
    ) -> Self {
        let names: Vec<&str> = names.collect();
        let near = value.as_str().and_then(|name| nearest(name, &names));
        let remedy = match (near, &names[..]) {
            (Some(name), _) => format!("did you mean \"{name}\"?"),
            (None, []) => "there are none here".into(),
            (None, names) => format!("choose from {}", names.join(", ")),
        };
        Error::message(
            field,
            format!("unknown {noun} {}; {remedy}", shortened(value)),
        )
        .valued(value)
        .coded(Code::UnknownName)
    }
    /// Adds the name of the surrounding field: `prefix.field`.
    #[must_use]
    pub fn within(mut self, prefix: &str) -> Self {
        for other in std::mem::take(&mut self.others) {
            self.others.push(other.within(prefix));
        }
        let within = |field: String| match (prefix.is_empty(), field.is_empty()) {
            (true, _) => field,
            (_, true) => on_one_line(prefix),
            _ => format!("{}.{field}", on_one_line(prefix)),
        };
        self.compared = self.compared.into_iter().map(within).collect();
        self.field = within(self.field);
        self
    }
    /// Quotes values as they are written in the tree, each at the field of its error: "2 h", which
    /// was read as "7200 s".
    #[must_use]
    pub fn quoting(mut self, tree: &Value) -> Self {
        self.quote(tree);
        for other in &mut self.others {
            other.quote(tree);
        }
        self
    }
    fn quote(&mut self, tree: &Value) {
        let (Some(read), Some(written)) = (self.value(), value(tree, &self.field)) else {
            return;
        };
        let is_like = match read {
            Value::Array(_) => written.is_array(),
            Value::String(_) | Value::Number(_) => written.is_string() || written.is_number(),
            _ => false,
        };
        if is_like && let Some(rest) = self.message.strip_prefix(&shortened(read)) {
            self.message = format!("{}{rest}", shortened(written)).into();
            self.value = Some(Box::new(written.clone()));
        }
    }
    /// Returns the code.
    pub fn code(&self) -> Code {
        self.code
    }
    /// Returns the field; empty if the error concerns the whole.
    pub fn field(&self) -> &str {
        &self.field
    }
    /// Returns the value that is refused, if it is a single one.
    pub fn value(&self) -> Option<&Value> {
        self.value.as_deref()
    }
    /// The place in the text, if that is known.
    pub fn position(&self) -> Option<Position> {
        self.position
    }
    /// All mistakes, this one first.
    pub fn all(&self) -> impl Iterator<Item = &Error> {
        std::iter::once(self).chain(&self.others)
    }
    /// Returns code and field, which tests compare: `unknown-name hops.wired.queue.kind`.
    pub fn key(&self) -> String {
        format!("{} {}", self.code, self.field)
    }
    /// Returns the sentence that follows the field.
    pub fn sentence(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field.is_empty() {
            true => f.write_str(&self.message),
            false => f.write_str(&cut(&format!("{}: {}", self.field, self.message))),
        }
    }
}
impl std::error::Error for Error {}

/// Returns the text that carries a code through serde; [`Error::message`] splits it again.
pub fn with_code(code: Code, text: &str) -> String {
    format!("{text}{CODE_FOLLOWS}{code}")
}

/// Puts text on one line, because names and reasons come from outside and may contain anything.
fn on_one_line(text: &str) -> String {
    text.replace(
        |c: char| c.is_control() || c == '\u{2028}' || c == '\u{2029}',
        " ",
    )
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    // A whole number that was read as another one is written as people write it.
    let text = match (value, text.strip_suffix(".0")) {
        (Value::Number(_), Some(whole)) => whole.into(),
        _ => text,
    };
    // A text is cut between its quotes. A list or table may be cut within a text.
    let whole = match value {
        Value::String(_) => cut(&text),
        _ => begin_of(&text),
    };
    match is_open(&whole) {
        true => format!("{whole}\""),
        false => whole,
    }
}

/// Returns a value that is quoted, cut if it is too long.
fn begin_of(value: &str) -> String {
    let most = QUOTED_CHARACTERS as usize;
    match value.char_indices().nth(most) {
        // The sign of a cut takes the place of a character.
        Some((end, _)) if value[end..].chars().nth(1).is_some() => format!("{}…", &value[..end]),
        _ => value.into(),
    }
}

/// Returns a message that is not too long: values in double quotes are cut at a length, and what is
/// longer even so lacks its middle. Every message passes here, those of Python too.
pub fn cut(message: &str) -> String {
    let mut shorter = String::new();
    let mut rest = message;
    while let Some(begin) = rest.find('"') {
        let (before, quoted) = rest.split_at(begin + 1);
        let (value, after) = quoted.split_at(end_of_quoted(quoted));
        let (quote, after) = after.split_at(after.len().min(1));
        for part in [before, &begin_of(value), quote] {
            shorter.push_str(part);
        }
        rest = after;
    }
    shorter.push_str(rest);
    without_middle(shorter)
}

/// True if text in double quotes does not end.
fn is_open(text: &str) -> bool {
    let mut rest = text;
    while let Some(begin) = rest.find('"') {
        let quoted = &rest[begin + 1..];
        match quoted.get(end_of_quoted(quoted) + 1..) {
            Some(after) => rest = after,
            None => return true,
        }
    }
    false
}

/// Returns where text in double quotes ends; quotes after a backslash belong to it.
fn end_of_quoted(quoted: &str) -> usize {
    let mut escaped = false;
    let end = quoted.find(|character| {
        let ends = character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        ends
    });
    end.unwrap_or(quoted.len())
}

/// The end of a message has the remedy, so what is too long lacks what stands before it.
fn without_middle(message: String) -> String {
    let characters = message.chars().count();
    let half = (MESSAGE_CHARACTERS / 2) as usize;
    if characters <= 2 * half + 1 {
        return message;
    }
    let first = message.chars().take(half);
    let last = message.chars().skip(characters - half);
    first.chain(['…']).chain(last).collect()
}

/// Most names among which the nearest one is looked for.
const MOST_COMPARED: usize = 1_000;

/// Returns the known name that is a typing error away from `name`, if there is one. Ignores case,
/// `-` and `_`.
pub fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    if name.len() as u64 > QUOTED_CHARACTERS {
        return None; // the time for the distance grows with the length
    }
    let name = plain(name);
    names
        .iter()
        .take(MOST_COMPARED)
        .map(|candidate| (plain(candidate), *candidate))
        .map(|(text, candidate)| {
            (
                strsim::damerau_levenshtein(&name, &text),
                text.len(),
                candidate,
            )
        })
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
            long.chars().count() < 110 && long.ends_with("…\" is long"),
            "{long}"
        );
    }

    #[test]
    fn a_message_of_any_input_is_short_and_keeps_its_remedy() {
        let long = "x\"y ".repeat(300_000);
        for value in [json!(long), json!([long]), json!({ "a": [1, long] })] {
            let remedy = "is not a rate; for example \"45 Mbit/s\"";
            let error = Error::new("field", &value, remedy);
            let length = error.to_string().chars().count();
            assert!(
                length < 150 && error.sentence().ends_with(remedy),
                "{error}"
            );
            assert_eq!(cut(error.sentence()), error.sentence());
        }
        let wordy = Error::message(
            &long,
            format!("has the value \"{}\" and {long}; remove it", "é".repeat(81)),
        );
        assert!(wordy.sentence().ends_with("; remove it"));
        assert!(wordy.to_string().chars().count() as u64 <= MESSAGE_CHARACTERS + 1);
        assert!(wordy.sentence().contains(&"é".repeat(81)));
    }

    #[test]
    fn the_nearest_name_is_a_typing_error_away() {
        let names = ["cubic", "reno", "westwood_abse"];
        assert_eq!(nearest("CUBIC", &names), Some("cubic"));
        assert_eq!(nearest("rneo", &names), Some("reno"));
        assert_eq!(nearest("westwood-abse", &names), Some("westwood_abse"));
        assert_eq!(nearest("vegas", &names), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), &names), None);
        assert_eq!(nearest("x", &[]), None);
    }

    #[test]
    fn what_is_unknown_is_answered_with_what_is_known() {
        let error = Error::unknown_field("link.rat", &["kind", "rate"]);
        assert_eq!(
            (error.code(), error.field()),
            (Code::UnknownField, "link.rat")
        );
        assert!(error.sentence().contains(r#""rate""#), "{error}");
        let names = ["droptail", "red"];
        let error = Error::unknown_name("kind", &json!("codel"), "queue", names.into_iter());
        assert_eq!((error.code(), error.field()), (Code::UnknownName, "kind"));
        assert_eq!(error.value(), Some(&json!("codel")));
        assert!(error.sentence().ends_with("droptail, red"), "{error}");
        let error = Error::unknown_name("kind", &json!(3), "traffic", std::iter::empty());
        assert_eq!(error.value(), Some(&json!(3)));
    }

    #[test]
    fn errors_are_gathered_in_order() {
        let error = |field: &str| Error::message(field, "is odd");
        let fields = |error: &Error| -> Vec<String> {
            error.all().map(|error| error.field().to_owned()).collect()
        };
        let first = both::<(), ()>(Err(error("a")), Err(error("b"))).unwrap_err();
        let both = first.and(error("c").and(error("d"))).within("x");
        assert_eq!(fields(&both), ["x.a", "x.b", "x.c", "x.d"]);
        let list = all([Ok(1), Err(error("a")), Ok(2), Err(error("b"))]).unwrap_err();
        assert_eq!(fields(&list), ["a", "b"]);
        assert_eq!(all([Ok(1), Ok(2)]), Ok(vec![1, 2]));
    }

    #[test]
    fn a_comparison_with_what_is_wrong_in_itself_is_left_out() {
        let (low, high) = (
            |low| in_range(low > 0, "low", &low, "is odd"),
            |low, high| consistent(low < high, "high", &high, &["low"], "is odd"),
        );
        let keys = |checks: [Result<()>; 3]| -> Vec<String> {
            let error = every(checks).err();
            let keys = error.iter().flat_map(|error| error.all().map(Error::key));
            keys.collect()
        };
        assert!(keys([low(1), high(1, 2), Ok(())]).is_empty());
        assert_eq!(keys([high(5, 2), low(5), Ok(())]), ["contradiction high"]);
        assert_eq!(keys([high(0, 0), low(0), low(-1)]), ["out-of-range low"]);
        // A field is wrong if something in it is; one of that name elsewhere is another.
        let inside = || Err(Error::message("low.3", "is odd"));
        assert_eq!(keys([high(5, 2), inside(), Ok(())]), ["out-of-range low.3"]);
        let outside = high(5, 2).map_err(|error| error.within("x"));
        assert_eq!(
            keys([outside, low(0), Ok(())]),
            ["contradiction x.high", "out-of-range low"]
        );
    }

    #[test]
    fn a_code_survives_as_text() {
        for (code, name) in CODES {
            assert_eq!((code.name(), Code::named(name)), (name, Some(code)));
            let error = Error::message("field", with_code(code, "is odd"));
            assert_eq!((error.code(), error.sentence()), (code, "is odd"));
        }
        let error = Error::message("field", "of somebody who writes \u{1f}odd things");
        assert_eq!(
            (error.code(), error.sentence()),
            (Code::OutOfRange, "of somebody who writes  odd things")
        );
    }
}
