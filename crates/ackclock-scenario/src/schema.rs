//! The valid scenarios, as JSON schema and as a catalogue: derived from the structs that read them
//! and from the registries.

use super::document::Document;
use crate::kinds::{ElementRecord, KINDS, KindRecord};
use ackclock_core::endpoint::parameters::Preset;
use ackclock_core::impairment::ImpairmentKind;
use ackclock_core::medium::MediumKind;
use ackclock_core::result::{COUNTERS, ColumnDescription, TABLES};
use ackclock_spec::registry::FACTS;
use ackclock_spec::registry::samples::{SampleFiles, samples};
use ackclock_spec::schema::{led_by, one_of};
use ackclock_spec::tree::{to_tree, with_kind};
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

/// Returns the JSON schema (draft 2020-12) of a whole scenario.
pub fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    unwrapped(generator.into_root_schema_for::<Document>().to_value())
}

/// Returns all choices: for each kind the list of its elements with the schema of their parameters
/// and the facts of a sample, and the presets with all their values. Also returns what tables and
/// counters a result has.
pub fn registry() -> Value {
    let kind = |kind: &KindRecord| {
        json!({
            "name": kind.name,
            "noun": kind.noun,
            "facts": unwrapped((kind.facts)())
        })
    };
    let mut all = Map::new();
    all.insert("kinds".into(), KINDS.iter().map(kind).collect());
    all.extend(KINDS.iter().map(|kind| (kind.name.into(), catalogue(kind))));
    all.insert("presets".into(), Preset::ALL.iter().map(preset).collect());
    all.insert("tables".into(), TABLES.iter().map(table).collect());
    all.insert("counters".into(), COUNTERS.iter().map(counter).collect());
    all.into()
}

fn counter((name, summary): &(&str, &str)) -> Value {
    json!({ "name": name, "summary": summary })
}

fn table((name, summary, columns): &(&str, &str, &[ColumnDescription])) -> Value {
    let column =
        |column: &ColumnDescription| json!({ "name": column.name, "summary": column.summary });
    json!({
        "name": name,
        "summary": summary,
        "columns": columns.iter().map(column).collect::<Vec<_>>()
    })
}

fn catalogue(kind: &KindRecord) -> Value {
    let record = |element: ElementRecord| {
        let parameters = (element.schema)();
        json!({
            "name": element.name,
            "label": element.label,
            "summary": element.summary,
            "reference": element.reference,
            "simulated": element.simulated,
            "facts": facts_of_a_sample(kind, element.name, &parameters),
            "parameters": unwrapped(parameters),
        })
    };
    (kind.elements)().into_iter().map(record).collect()
}

/// Returns the facts of an element with the first sample of its parameters; null for a kind without
/// facts.
fn facts_of_a_sample(kind: &KindRecord, name: &str, parameters: &Value) -> Value {
    let sample = samples(parameters).into_iter().next().unwrap_or_default();
    let resolved = (kind.resolve)(&with_kind(name, sample), &SampleFiles);
    resolved.map_or(Value::Null, |resolved| resolved[FACTS].clone())
}

/// Joins the lines of descriptions, which the doc comments wrap; keeps paragraphs.
fn unwrapped(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(map) => {
            for (key, value) in map {
                *value = match value.take() {
                    Value::String(text) if key == "description" => paragraphs(&text).into(),
                    other => unwrapped(other),
                };
            }
        }
        Value::Array(list) => list
            .iter_mut()
            .for_each(|value| *value = unwrapped(value.take())),
        _ => {}
    }
    schema
}

/// Joins lines, except those that begin an item of a list.
fn paragraphs(text: &str) -> String {
    let mut unwrapped = String::new();
    for line in text.lines() {
        let begins = line.is_empty() || line.starts_with("- ") || unwrapped.ends_with('\n');
        match (unwrapped.is_empty(), begins) {
            (true, _) => {}
            (false, true) => unwrapped.push('\n'),
            (false, false) => unwrapped.push(' '),
        }
        unwrapped.push_str(line.trim_start());
    }
    unwrapped
}

fn preset(preset: &Preset) -> (String, Value) {
    let name = to_tree(preset);
    (
        name.as_str().unwrap_or_default().into(),
        to_tree(&preset.parameters()),
    )
}

pub(super) fn impairments(generator: &mut SchemaGenerator) -> Schema {
    let items = one_of::<ImpairmentKind>(generator);
    json_schema!({ "type": "array", "items": items })
}

/// Returns the schema of the list of media: each has a name in addition to the fields of its kind.
pub(super) fn media(generator: &mut SchemaGenerator) -> Schema {
    let mut items = one_of::<MediumKind>(generator).to_value();
    let name = json!({
        "type": "string",
        "description": "Unique; not a number, and without `.`, `/`, `,` and `=`.",
        "examples": ["cell"],
    });
    for kind in items["oneOf"].as_array_mut().into_iter().flatten() {
        *kind = led_by(kind.take(), [("name", name.clone())]);
        if let Some(required) = kind["required"].as_array_mut() {
            required.insert(0, "name".into());
        }
        for example in kind["examples"].as_array_mut().into_iter().flatten() {
            example["name"] = "cell".into();
        }
    }
    json_schema!({ "type": "array", "items": items })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_and_paragraphs_and_lists_are_not() {
        assert_eq!(
            paragraphs("One\nsentence.\n\nAnother\none:\n- item\n  of two lines\n- item"),
            "One sentence.\n\nAnother one:\n- item of two lines\n- item"
        );
    }
}
