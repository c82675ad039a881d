//! From a tree to parameters and back: what serde says of a mismatch becomes field, value and
//! remedy.

use super::error::{Error, Result};
use schemars::{JsonSchema, schema_for};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use serde_path_to_error::{Path, Segment};

/// Reads a struct from a tree. Errors name the field relative to `tree`; examples in them come from the struct's JSON schema.
pub fn from_tree<T: DeserializeOwned + JsonSchema>(tree: Value) -> Result<T> {
    serde_path_to_error::deserialize(&tree).map_err(|error| {
        let steps = steps(error.path());
        let message = error.inner().to_string();
        explain(&tree, &steps, &message, || schema_for!(T).to_value())
    })
}

/// Writes a struct as a tree. Nothing is lost: what a scenario holds is all valid JSON.
pub fn to_tree(part: &impl Serialize) -> Value {
    serde_json::to_value(part).unwrap_or_default()
}

/// The way from the root to the mistake: keys and indices.
fn steps(path: &Path) -> Vec<String> {
    path.iter()
        .filter_map(|segment| match segment {
            Segment::Seq { index } => Some(index.to_string()),
            Segment::Map { key } => Some(key.clone()),
            Segment::Enum { .. } | Segment::Unknown => None,
        })
        .collect()
}

/// Serde's wording (`serde::de::Error` documents it) into ours.
fn explain(tree: &Value, steps: &[String], message: &str, schema: impl Fn() -> Value) -> Error {
    let field = steps.join(".");
    let value = at(tree, steps);
    if message.starts_with("unknown field `") {
        return Error::unknown_field(&field, &expected_names(message));
    }
    if let Some(name) = quoted(message.strip_prefix("missing field ").unwrap_or_default()).first() {
        let mut way = steps.to_vec();
        way.push((*name).into());
        let remedy = match example(&schema(), &way) {
            Some(example) => format!("write for example {name} = {}", toml(&example)),
            None => format!("write {name} = …"),
        };
        return Error::missing(&way.join("."), &remedy);
    }
    let Some(value) = value else {
        return Error::message(&field, message);
    };
    if message.starts_with("unknown variant `") {
        return Error::unknown_name(&field, value, "choice", expected_names(message).into_iter());
    }
    if message.starts_with("invalid ")
        && let Some((_, expected)) = message.rsplit_once(", expected ")
    {
        let remedy = match example(&schema(), steps) {
            Some(example) => format!(", for example {}", toml(&example)),
            None => String::new(),
        };
        return Error::new(
            &field,
            value,
            &format!("does not fit; write {}{remedy}", in_words(expected)),
        );
    }
    Error::message(&field, message) // a quantity's: has the value in it already
}

/// What is at the end of the way, if the way is there.
fn at<'a>(tree: &'a Value, steps: &[String]) -> Option<&'a Value> {
    steps.iter().try_fold(tree, |tree, step| match tree {
        Value::Object(map) => map.get(step),
        Value::Array(list) => list.get(step.parse::<usize>().ok()?),
        _ => None,
    })
}

/// What stands between backquotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The names in "unknown …, expected one of `a`, `b`". What comes before "expected" may hold anything the user wrote.
fn expected_names(message: &str) -> Vec<&str> {
    message
        .rsplit_once(", expected ")
        .map(|(_, names)| quoted(names))
        .unwrap_or_default()
}

/// What serde calls a type, as its reader would.
fn in_words(expected: &str) -> String {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, not negative".into(),
        "i8" | "i16" | "i32" | "i64" => "a whole number".into(),
        "f32" | "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a string" => "a text in quotes".into(),
        "a sequence" => "a list [...]".into(),
        "a map" => "a table {...}".into(),
        other if other.starts_with("struct ") => "a table {...}".into(),
        other if other.contains("enum ") => "one of the choices' names".into(),
        other => other.into(),
    }
}

/// An example of the field at the end of the way, from the schema: its own, else its type's.
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

/// The first of an enumeration's names.
fn first_choice(schema: &Value) -> Option<Value> {
    schema
        .pointer("/enum/0")
        .or_else(|| schema.pointer("/oneOf/0/const"))
        .or_else(|| schema.pointer("/oneOf/0/enum/0"))
        .cloned()
}

/// What a `$ref` points to; of an optional type, the type.
fn resolve<'a>(schema: &'a Value, part: &'a Value) -> &'a Value {
    let is_null = |choice: &&Value| choice.get("type").is_some_and(|name| name == "null");
    let part = match part.get("anyOf").and_then(Value::as_array).map(Vec::as_slice) {
        Some([choice, null]) if is_null(&null) => choice,
        _ => part,
    };
    part.get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| schema.pointer(reference.strip_prefix('#')?))
        .unwrap_or(part)
}

/// As it would stand in the file.
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
    use crate::endpoint::parameters::LossRecovery;
    use crate::scenario::quantity::QueueLimit;
    use crate::units::{BitRate, Span};
    use serde::Deserialize;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Sample {
        rates: Vec<BitRate>,
        #[serde(default)]
        limit: Option<QueueLimit>,
        #[serde(default)]
        recovery: Option<LossRecovery>,
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

    fn error(tree: Value) -> String {
        from_tree::<Sample>(tree).unwrap_err().to_string()
    }

    #[test]
    fn every_mismatch_names_field_value_and_remedy() {
        for (tree, expected) in [
            (
                json!({}),
                r#"rates: is missing; write for example rates = ["45 Mbit/s"]"#,
            ),
            (
                json!({ "rates": [], "inner": {} }),
                r#"inner.delay: is missing; write for example delay = "35 ms""#,
            ),
            (
                json!({ "rates": ["1 Mbit/s", 5] }),
                r#"rates.1: 5 has no unit; write for example "45 Mbit/s""#,
            ),
            (
                json!({ "rats": [] }),
                r#"rats: no such field; did you mean "rates"?"#,
            ),
            (
                json!({ "rates": [], "inner": { "a `b`, expected `c": 1 } }),
                "inner.a `b`, expected `c: no such field; write one of delay, on",
            ),
            (
                json!({ "rates": [], "recovery": "snack" }),
                r#"recovery: "snack" is no choice; did you mean "sack"?"#,
            ),
            (
                json!({ "rates": [], "inner": { "delay": "1 s", "on": "yes" } }),
                r#"inner.on: "yes" does not fit; write true or false, for example false"#,
            ),
            (
                json!({ "rates": [], "count": -1 }),
                "count: -1 does not fit; write a whole number, not negative, for example 0",
            ),
            (
                json!({ "rates": "1 Mbit/s" }),
                r#"rates: "1 Mbit/s" does not fit; write a list [...], for example ["45 Mbit/s"]"#,
            ),
            (
                json!({ "rates": [], "inner": 3 }),
                "inner: 3 does not fit; write a table {...}",
            ),
        ] {
            assert_eq!(error(tree), expected);
        }
        assert!(error(json!(3)).starts_with("3 does not fit"));
    }
}
