//! A scenario's tree as text: reads TOML or JSON, writes TOML.

use super::tree::from_toml;
use ackclock_spec::error::{Code, Error, Position, Result};
use ackclock_spec::registry::FACTS;
use serde_json::{Map, Value};

/// A longer table is written under a header of its own, a longer list on several lines.
const COLUMNS: usize = 100;

/// Reads a scenario: JSON if it begins with a brace, which no TOML does, else TOML.
///
/// # Errors
/// Text that is neither, with line and column.
pub fn read(text: &str) -> Result<Value> {
    if !text.trim_start().starts_with('{') {
        return from_toml(text);
    }
    serde_json::from_str(text).map_err(|error| {
        let position = Position {
            line: error.line(),
            column: error.column(),
        };
        // Without its own " at line 3 column 4".
        let words = error.to_string();
        let reason = words.split(" at line ").next().unwrap_or(&words);
        Error::message("", format!("is not JSON: {reason}"))
            .coded(Code::Syntax)
            .at(Some(position))
    })
}

/// Writes a tree as TOML, which [`read`] reads back. Facts, which are computed, and nulls are left
/// out.
pub fn to_toml(tree: &Value) -> String {
    let mut text = String::new();
    if let Value::Object(map) = tree {
        section(&mut text, "", map);
    }
    text
}

/// True for a list of tables, which is written as sections.
fn is_sections(value: &Value) -> bool {
    let items = value.as_array().filter(|items| !items.is_empty());
    items.is_some_and(|items| items.iter().all(Value::is_object))
}

/// Writes the fields of a table: first those on a line, then those with a header of their own.
fn section(text: &mut String, path: &str, map: &Map<String, Value>) {
    let of_root = path.is_empty();
    let stated = || {
        map.iter()
            .filter(|(key, value)| *key != FACTS && !value.is_null())
    };
    let has_header = |key: &str, value: &Value| match value {
        Value::Object(_) => of_root || line(key, value).len() > COLUMNS,
        value => is_sections(value) && (of_root || line(key, value).len() > COLUMNS),
    };
    for (name, value) in stated().filter(|(name, value)| !has_header(name, value)) {
        let written = line(name, value);
        match value {
            Value::Array(items) if written.len() > COLUMNS => {
                text.push_str(&format!("{} = [\n", key(name)));
                for item in items {
                    text.push_str(&format!("    {},\n", inline(item)));
                }
                text.push_str("]\n");
            }
            _ => text.push_str(&format!("{written}\n")),
        }
    }
    for (name, value) in stated().filter(|(name, value)| has_header(name, value)) {
        let path = match of_root {
            true => key(name),
            false => format!("{path}.{}", key(name)),
        };
        let mut tables = Vec::new();
        match value {
            Value::Object(table) => tables.push((format!("[{path}]"), table)),
            Value::Array(items) => {
                let items = items.iter().filter_map(Value::as_object);
                tables.extend(items.map(|table| (format!("[[{path}]]"), table)));
            }
            _ => {}
        }
        for (header, table) in tables {
            text.push_str(&format!("\n{header}\n"));
            section(text, &path, table);
        }
    }
}

fn line(name: &str, value: &Value) -> String {
    format!("{} = {}", key(name), inline(value))
}

fn key(name: &str) -> String {
    let is_bare =
        |character: char| character.is_ascii_alphanumeric() || character == '_' || character == '-';
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.into(),
        false => quoted(name),
    }
}

/// A basic string: JSON's escapes are among TOML's, but for the control character DEL.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

fn inline(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let stated = map
                .iter()
                .filter(|(key, value)| *key != FACTS && !value.is_null());
            let fields: Vec<String> = stated.map(|(key, value)| line(key, value)).collect();
            match fields.is_empty() {
                true => "{}".into(),
                false => format!("{{ {} }}", fields.join(", ")),
            }
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// Any tree without nulls and facts, whose root is a table.
    fn trees() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e12..1e12).prop_map(|number: f64| json!(number)),
            any::<String>().prop_map(Value::from),
        ];
        let table = |inner: BoxedStrategy<Value>| {
            prop::collection::vec(("[a-z. \"é]{0,8}", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect()))
        };
        let value = leaf.prop_recursive(4, 40, 4, move |inner| {
            let inner = inner.boxed();
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                table(inner),
            ]
        });
        table(value.boxed())
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(tree in trees()) {
            let text = to_toml(&tree);
            prop_assert_eq!(read(&text).unwrap(), tree, "{}", text);
        }
    }

    #[test]
    fn sections_stand_as_people_write_them() {
        let tree = json!({
            "schema": 1,
            "hops": [{
                "name": "b",
                "link": { "kind": "constant", "rate": "1 Mbit/s", "facts": {} },
            }],
            "duration": "1 s",
            "sweep": { "hops.b.delay": ["1 ms", "2 ms"] },
        });
        let expected = concat!(
            "schema = 1\nduration = \"1 s\"\n",
            "\n[[hops]]\nname = \"b\"\nlink = { kind = \"constant\", rate = \"1 Mbit/s\" }\n",
            "\n[sweep]\n\"hops.b.delay\" = [\"1 ms\", \"2 ms\"]\n",
        );
        assert_eq!(to_toml(&tree), expected);
    }

    #[test]
    fn json_is_known_by_its_brace() {
        assert_eq!(read(" \n{\"a\": 1}").unwrap(), json!({ "a": 1 }));
        assert_eq!(read("a = 1").unwrap(), json!({ "a": 1 }));
        let error = read("{\n \"a\": }").unwrap_err();
        assert_eq!(error.key(), "syntax ");
        assert_eq!(error.position(), Some(Position { line: 2, column: 7 }));
    }
}
