//! Converts a tree to parameters and back. Turns a serde error into field, value and remedy.

use crate::error::{Code, Error, Result, every};
use schemars::{JsonSchema, schema_for};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use serde_path_to_error::{Path, Segment};
use std::borrow::Cow;
use std::mem;

/// A struct with more mistakes than this is another struct.
const MOST_MISTAKES: usize = 20;

/// Reads a struct from a tree. Errors name the field relative to `tree`; their examples come from
/// the struct's JSON schema.
pub fn from_tree<T: DeserializeOwned + JsonSchema>(tree: Value) -> Result<T> {
    match leniently(&tree)? {
        (read, None) => Ok(read),
        (_, Some(mistakes)) => Err(mistakes),
    }
}

/// Reads a struct as [`from_tree`] does, and checks it; whatever cannot be read, the rest is
/// checked, too.
///
/// # Errors
/// Those of reading, and those of the check.
pub fn checked<T: DeserializeOwned + JsonSchema>(
    tree: Value,
    check: impl FnOnce(&mut T) -> Result<()>,
) -> Result<T> {
    let (mut read, mistakes) = leniently(&tree)?;
    every([mistakes.map_or(Ok(()), Err), check(&mut read)])?;
    Ok(read)
}

/// Reads a struct from a tree, with every mistake in it: what is wrong is replaced by an example of
/// the schema, or removed, and the rest is read again. The struct is for finding further mistakes.
///
/// # Errors
/// The mistakes, if one of them leaves nothing to read.
pub fn leniently<T: DeserializeOwned + JsonSchema>(tree: &Value) -> Result<(T, Option<Error>)> {
    let mut reading = Reading {
        tree: Cow::Borrowed(tree),
        mistakes: Vec::new(),
    };
    loop {
        match serde_path_to_error::deserialize::<_, T>(&*reading.tree) {
            Ok(read) => return Ok((read, gathered(reading.mistakes))),
            Err(error) => {
                let schema = schema_for!(T).to_value();
                reading.take_out(steps(error.path()), &error.inner().to_string(), &schema)?;
            }
        }
    }
}

fn gathered(mistakes: Vec<Error>) -> Option<Error> {
    mistakes.into_iter().reduce(Error::and)
}

/// A tree that is read until nothing is wrong. Whatever the type, this is compiled once.
struct Reading<'a> {
    /// Copied at the first mistake.
    tree: Cow<'a, Value>,
    mistakes: Vec<Error>,
}

impl Reading<'_> {
    /// Notes the mistake that serde met at `path`, and takes it out of the tree.
    ///
    /// # Errors
    /// All mistakes, if this one leaves nothing to read.
    fn take_out(&mut self, path: Vec<String>, message: &str, schema: &Value) -> Result<()> {
        let mistake = explain(&self.tree, &path, message, schema);
        let way: Vec<String> = match mistake.code() {
            Code::Missing => mistake.field().split('.').map(String::from).collect(),
            _ => path,
        };
        let is_new = self
            .mistakes
            .iter()
            .all(|earlier| earlier.field() != mistake.field());
        let is_unknown = mistake.code() == Code::UnknownField;
        self.mistakes.push(mistake);
        let replacement = example(schema, &way).filter(|_| !is_unknown);
        if is_new
            && self.mistakes.len() < MOST_MISTAKES
            && mend(self.tree.to_mut(), &way, replacement)
        {
            return Ok(());
        }
        // There is one at least: the one that was just pushed.
        let mistakes = gathered(mem::take(&mut self.mistakes));
        Err(mistakes.unwrap_or_else(|| Error::message("", message)))
    }
}

/// Puts `value` at the end of the way, or removes what is there if there is none; whether it could.
fn mend(tree: &mut Value, way: &[String], value: Option<Value>) -> bool {
    let Some((last, way)) = way.split_last() else {
        return false;
    };
    let parent = way.iter().try_fold(tree, |tree, step| match tree {
        Value::Object(map) => map.get_mut(step),
        Value::Array(list) => list.get_mut(step.parse::<usize>().ok()?),
        _ => None,
    });
    match (parent, value) {
        (Some(Value::Object(map)), Some(value)) => {
            map.insert(last.clone(), value);
            true
        }
        (Some(Value::Object(map)), None) => map.shift_remove(last).is_some(),
        (Some(Value::Array(list)), Some(value)) => last
            .parse::<usize>()
            .ok()
            .and_then(|at| list.get_mut(at))
            .map(|item| *item = value)
            .is_some(),
        _ => false,
    }
}

/// Returns the path from the root to the error: keys and indices.
fn steps(path: &Path) -> Vec<String> {
    path.iter()
        .filter_map(|segment| match segment {
            Segment::Seq { index } => Some(index.to_string()),
            Segment::Map { key } => Some(key.clone()),
            Segment::Enum { .. } | Segment::Unknown => None,
        })
        .collect()
}

/// The name of a list in messages of serde.
const SEQUENCE: &str = "a sequence";

/// The remedy for one table where a list of tables belongs.
const ONE_TABLE: &str = "; put [ ] around it, or [[ ]] around the name of its section";

/// Converts a message of serde (`serde::de::Error` documents them) to an [`Error`].
fn explain(tree: &Value, steps: &[String], message: &str, schema: &Value) -> Error {
    let field = steps.join(".");
    let value = at(tree, steps);
    if message.starts_with("unknown field `") {
        return Error::unknown_field(&field, &expected_names(message));
    }
    if let Some(name) = quoted(message.strip_prefix("missing field ").unwrap_or_default()).first() {
        let mut way = steps.to_vec();
        way.push((*name).into());
        let remedy = match example(schema, &way) {
            Some(example) => format!("for example {name} = {}", toml(&example)),
            None => format!("add {name} = …"),
        };
        return Error::missing(&way.join("."), &remedy);
    }
    let Some(value) = value else {
        return Error::message(&field, message); // impossible: serde has read the value
    };
    if message.starts_with("unknown variant `") {
        let names = expected_names(message);
        return Error::unknown_name(&field, value, &noun(steps, schema), names.into_iter());
    }
    if message.starts_with("invalid ")
        && let Some((_, expected)) = message.rsplit_once(", expected ")
    {
        let remedy = match example(schema, steps) {
            _ if expected == SEQUENCE && value.is_object() => ONE_TABLE.into(),
            Some(example) => format!("; for example {}", toml(&example)),
            None => String::new(),
        };
        return Error::new(
            &field,
            value,
            &format!("is not {}{remedy}", in_words(expected)),
        )
        .coded(Code::WrongType);
    }
    Error::message(&field, message).valued(value) // of a quantity: the message contains the value
}

/// The noun for a field, from its name, or from its type's for the whole: "after timeout".
fn noun(steps: &[String], schema: &Value) -> String {
    let named = |step: &&String| step.parse::<usize>().is_err();
    let title = schema.get("title").and_then(Value::as_str);
    let last = steps.iter().rev().find(named).map(String::as_str);
    last.or(title)
        .map_or("value".into(), |name| name.replace('_', " ").to_lowercase())
}

/// Returns the value at the end of the path, if there is one.
fn at<'a>(tree: &'a Value, steps: &[String]) -> Option<&'a Value> {
    steps.iter().try_fold(tree, |tree, step| match tree {
        Value::Object(map) => map.get(step),
        Value::Array(list) => list.get(step.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Returns the texts between backquotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Returns the names in "unknown …, expected one of `a`, `b`". The text before "expected" may
/// contain any user input.
fn expected_names(message: &str) -> Vec<&str> {
    message
        .rsplit_once(", expected ")
        .map(|(_, names)| quoted(names))
        .unwrap_or_default()
}

/// Describes a type as the reader would, given serde's name for it.
fn in_words(expected: &str) -> String {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0".into(),
        "i8" | "i16" | "i32" | "i64" => "a whole number".into(),
        "f32" | "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a string" => "text in quotes".into(),
        SEQUENCE => "a list [...]".into(),
        "a map" => "a table {...}".into(),
        other if other.starts_with("struct ") => "a table {...}".into(),
        other if other.contains("enum ") => "a name in quotes".into(),
        other => match other.strip_prefix("a tuple of size ") {
            Some(size) => format!("a list of {size} values"),
            None => other.into(),
        },
    }
}

/// Returns an example of the field at the end of the path, from the schema: its own, or else that
/// of its type.
fn example(schema: &Value, steps: &[String]) -> Option<Value> {
    let mut here = schema;
    for step in steps {
        here = resolve(schema, here);
        here = here
            .pointer(&format!(
                "/properties/{}",
                step.replace('~', "~0").replace('/', "~1")
            ))
            .or_else(|| here.get("items"))?;
    }
    example_of(schema, here)
}

fn example_of(schema: &Value, part: &Value) -> Option<Value> {
    let resolved = resolve(schema, part);
    let written = |part: &Value| {
        let example = part.pointer("/examples/0").or_else(|| part.get("default"));
        example.filter(|example| !example.is_null()).cloned()
    };
    let of_items = || Some(json!([example_of(schema, resolved.get("items")?)?]));
    written(part)
        .or_else(|| written(resolved))
        .or_else(|| first_choice(resolved))
        .or_else(of_items)
}

/// Returns the first name of an enumeration.
fn first_choice(schema: &Value) -> Option<Value> {
    schema
        .pointer("/enum/0")
        .or_else(|| schema.pointer("/oneOf/0/const"))
        .or_else(|| schema.pointer("/oneOf/0/enum/0"))
        .cloned()
}

/// Returns the target of a `$ref`; for an optional type, the type.
fn resolve<'a>(schema: &'a Value, part: &'a Value) -> &'a Value {
    let is_null = |choice: &&Value| choice.get("type").is_some_and(|name| name == "null");
    let part = match part
        .get("anyOf")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
    {
        Some([choice, null]) if is_null(&null) => choice,
        _ => part,
    };
    part.get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| schema.pointer(reference.strip_prefix('#')?))
        .unwrap_or(part)
}

/// Formats a value as in a TOML file.
fn toml(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("[{}]", list.iter().map(toml).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let fields: Vec<_> = map
                .iter()
                .map(|(key, value)| format!("{key} = {}", toml(value)))
                .collect();
            format!("{{ {} }}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::QueueLimit;
    use crate::units::{BitRate, Span};
    use serde::Deserialize;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Recovery {
        Reno,
        Sack,
    }
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Sample {
        rates: Vec<BitRate>,
        #[serde(default)]
        limit: Option<QueueLimit>,
        #[serde(default)]
        recovery: Option<Recovery>,
        #[serde(default)]
        inner: Option<Inner>,
        #[serde(default)]
        count: u32,
    }
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Inner {
        delay: Span,
        #[serde(default)]
        on: bool,
    }

    #[test]
    fn every_mismatch_has_code_field_and_value() {
        let with = |field: &str, value: Value| json!({ "rates": [], field: value });
        for (tree, code, field) in [
            (json!({}), Code::Missing, "rates"),
            (with("inner", json!({})), Code::Missing, "inner.delay"),
            (json!({ "rates": ["1 Mbit/s", 5] }), Code::NoUnit, "rates.1"),
            (json!({ "rats": [] }), Code::UnknownField, "rats"),
            (
                with("inner", json!({ "a `b`, expected `c": 1 })),
                Code::UnknownField,
                "inner.a `b`, expected `c",
            ),
            (
                with("recovery", json!("snack")),
                Code::UnknownName,
                "recovery",
            ),
            (
                with("inner", json!({ "delay": "1 s", "on": "yes" })),
                Code::WrongType,
                "inner.on",
            ),
            (with("count", json!(-1)), Code::WrongType, "count"),
            (json!({ "rates": "1 Mbit/s" }), Code::WrongType, "rates"),
            (with("inner", json!(3)), Code::WrongType, "inner"),
            (json!(3), Code::WrongType, ""),
        ] {
            let error = from_tree::<Sample>(tree.clone()).unwrap_err();
            assert_eq!((error.code(), error.field()), (code, field), "{error}");
            let refused = at(
                &tree,
                &field.split('.').map(String::from).collect::<Vec<_>>(),
            );
            if !field.is_empty() && refused.is_some() && code != Code::UnknownField {
                assert_eq!(error.value(), refused, "{error}");
            }
        }
    }

    #[test]
    fn a_remedy_has_an_example_from_the_schema() {
        let remedy = |tree| from_tree::<Sample>(tree).unwrap_err().sentence().to_owned();
        assert!(remedy(json!({})).ends_with(r#"rates = ["45 Mbit/s"]"#));
        assert!(remedy(json!({ "rates": [], "inner": {} })).ends_with(r#"delay = "35 ms""#));
        assert!(remedy(json!({ "rates": "1 Mbit/s" })).ends_with(r#"["45 Mbit/s"]"#));
        assert!(remedy(json!({ "rates": [], "recovery": "snack" })).contains(r#""sack""#));
    }
}
