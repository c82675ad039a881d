//! The valid scenarios, as JSON schema and as a catalogue: derived from the structs that read them
//! and from the registries.

use super::document::{Document, UdpDocument};
use super::parse::to_tree;
use super::transport::{TRANSPORTS, with_kind};
use crate::congestion::ControlKind;
use crate::datagram::DatagramParameters;
use crate::endpoint::TcpParameters;
use crate::endpoint::parameters::Preset;
use crate::feedback::FeedbackKind;
use crate::impairment::ImpairmentKind;
use crate::kinds::{ElementRecord, KINDS, KindRecord};
use crate::link::LinkKind;
use crate::medium::MediumKind;
use crate::queue::QueueKind;
use crate::rate_control::RateControlKind;
use crate::registry::samples::{SampleFiles, samples};
use crate::registry::{Entry, FACTS, Kind};
use crate::result::{COUNTERS, ColumnDescription, TABLES};
use crate::size::SizeKind;
use crate::traffic::TrafficKind;
use crate::units::Bytes;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
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

pub(super) fn link(generator: &mut SchemaGenerator) -> Schema {
    one_of::<LinkKind>(generator)
}
pub(crate) fn feedback(generator: &mut SchemaGenerator) -> Schema {
    one_of::<FeedbackKind>(generator)
}
pub(super) fn queue(generator: &mut SchemaGenerator) -> Schema {
    one_of::<QueueKind>(generator)
}
pub(super) fn traffic(generator: &mut SchemaGenerator) -> Schema {
    one_of::<TrafficKind>(generator)
}
pub(crate) fn size(generator: &mut SchemaGenerator) -> Schema {
    let (plain, law) = (
        generator.subschema_for::<Bytes>(),
        one_of::<SizeKind>(generator),
    );
    json_schema!({ "anyOf": [plain, law] })
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

pub(super) fn transport(generator: &mut SchemaGenerator) -> Schema {
    let [tcp, udp] = TRANSPORTS;
    let of_tcp = adopt(generator, tcp, optional(schema_of::<TcpParameters>()));
    let control = described(
        one_of::<ControlKind>(generator),
        "Congestion control, which limits the data in flight.",
    );
    let preset = generator.subschema_for::<Preset>();
    let mut preset = described(
        preset,
        "Preset that sets the parameters that are not given.",
    );
    preset["default"] = to_tree(&Preset::default());
    let of_tcp = led_by(of_tcp, [("control", control), ("preset", preset)]);
    let of_udp = adopt(generator, udp, schema_of::<UdpDocument>());
    let controlled = adopt(generator, udp, schema_of::<DatagramParameters>());
    let control = described(
        one_of::<RateControlKind>(generator),
        "Rate control, which sets the rate at which datagrams leave.",
    );
    let controlled = led_by(controlled, [("control", control)]);
    let [of_tcp, of_udp, controlled] = [
        tagged(of_tcp, tcp, &["control"]),
        tagged(of_udp, udp, &[]),
        tagged(controlled, udp, &["control"]),
    ];
    json_schema!({ "oneOf": [of_tcp, of_udp, controlled] })
}

/// Returns the schema of a table with these fields before its own.
fn led_by<const N: usize>(mut table: Value, fields: [(&str, Value); N]) -> Value {
    if let Some(properties) = table.get_mut("properties").and_then(Value::as_object_mut) {
        let mut all: Map<_, _> = fields
            .map(|(name, field)| (name.into(), field))
            .into_iter()
            .collect();
        all.append(properties);
        *properties = all;
    }
    table
}

fn described(schema: Schema, description: &str) -> Value {
    let mut value = schema.to_value();
    if let Some(map) = value.as_object_mut() {
        map.insert("description".into(), description.into());
    }
    value
}

fn has_fields<T: JsonSchema>() -> bool {
    schema_of::<T>().get("properties").is_some()
}

fn schema_of<T: JsonSchema>() -> Value {
    schemars::schema_for!(T).to_value()
}

/// Returns the schema of one of the registered elements, by its `kind`. A resolved element has its
/// facts.
fn one_of<K: Kind>(generator: &mut SchemaGenerator) -> Schema {
    let facts = has_fields::<K::Facts>().then(|| {
        let facts = generator.subschema_for::<K::Facts>();
        let mut facts = described(facts, "Computed from the parameters; do not write it.");
        facts["readOnly"] = true.into();
        facts
    });
    let mut one = |entry: &Entry<K>| {
        let mut element = tagged(
            adopt(generator, entry.name, (entry.schema)()),
            entry.name,
            &[],
        );
        if let (Some(facts), Some(properties)) = (&facts, element["properties"].as_object_mut()) {
            properties.insert(FACTS.into(), facts.clone());
        }
        if let Some(map) = element.as_object_mut() {
            map.insert("title".into(), entry.label.into());
            map.insert("description".into(), entry.summary.into());
        }
        element
    };
    let all: Vec<Value> = K::entries().iter().map(&mut one).collect();
    match all.is_empty() {
        true => json_schema!({ "not": {} }), // there is no choice
        false => json_schema!({ "oneOf": all }),
    }
}

/// Puts `kind` first among the properties. Makes it required, together with `required` and the
/// fields required so far.
fn tagged(mut schema: Value, kind: &str, required: &[&str]) -> Value {
    let Some(map) = schema.as_object_mut() else {
        return schema;
    };
    let mut properties = Map::new();
    properties.insert("kind".into(), json!({ "const": kind }));
    if let Some(Value::Object(rest)) = map.shift_remove("properties") {
        properties.extend(rest);
    }
    if let Some(Value::Array(examples)) = map.get_mut("examples") {
        examples
            .iter_mut()
            .for_each(|example| *example = with_kind(kind, example.take()));
    }
    let mut names: Vec<Value> = vec!["kind".into()];
    names.extend(required.iter().map(|&name| name.into()));
    if let Some(Value::Array(rest)) = map.shift_remove("required") {
        names.extend(rest);
    }
    map.insert("properties".into(), properties.into());
    map.insert("required".into(), names.into());
    schema
}

/// Makes all fields optional, also in the tables within, because a preset has them all.
fn optional(mut schema: Value) -> Value {
    if let Some(map) = schema.as_object_mut() {
        map.shift_remove("required");
        if let Some(Value::Object(tables)) = map.get_mut("$defs") {
            for table in tables.values_mut().filter_map(Value::as_object_mut) {
                table.shift_remove("required");
            }
        }
    }
    schema
}

/// Adds a separate schema to the generator. Its definitions move to the generator's, under another
/// name (`Markov.Mode`) if the name is already taken by a different one.
fn adopt(generator: &mut SchemaGenerator, name: &str, mut schema: Value) -> Value {
    let Some(map) = schema.as_object_mut() else {
        return schema;
    };
    map.shift_remove("$schema");
    let definitions = match map.shift_remove("$defs") {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    let mut renamed = Vec::new();
    for (key, definition) in &definitions {
        match generator.definitions().get(key) {
            Some(known) if known != definition => {
                renamed.push((key.clone(), format!("{name}.{key}")))
            }
            _ => {}
        }
    }
    for (key, mut definition) in definitions {
        rename(&mut definition, &renamed);
        let key = renamed
            .iter()
            .find(|(old, _)| *old == key)
            .map_or(key, |(_, new)| new.clone());
        generator.definitions_mut().insert(key, definition);
    }
    rename(&mut schema, &renamed);
    schema
}

/// Points references to the moved definitions.
fn rename(schema: &mut Value, renamed: &[(String, String)]) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get_mut("$ref")
                && let Some((_, new)) = renamed
                    .iter()
                    .find(|(old, _)| *reference == format!("#/$defs/{old}"))
            {
                *reference = format!("#/$defs/{new}");
            }
            map.values_mut().for_each(|value| rename(value, renamed));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| rename(value, renamed)),
        _ => {}
    }
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

    #[test]
    fn definitions_of_one_name_and_two_meanings_are_told_apart() {
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        let element = |meaning: &str| {
            json!({
                "properties": {
                    "mode": { "$ref": "#/$defs/Mode" },
                    "list": { "items": { "$ref": "#/$defs/Mode" } }
                },
                "$defs": { "Mode": { "const": meaning }, "Same": true },
            })
        };
        let first = adopt(&mut generator, "first", element("a"));
        let second = adopt(&mut generator, "second", element("b"));
        let again = adopt(&mut generator, "third", element("a"));
        assert_eq!(first["properties"]["mode"]["$ref"], "#/$defs/Mode");
        assert_eq!(second["properties"]["mode"]["$ref"], "#/$defs/second.Mode");
        assert_eq!(
            second["properties"]["list"]["items"]["$ref"],
            "#/$defs/second.Mode"
        );
        assert_eq!(again, first);
        let names: Vec<&String> = generator.definitions().keys().collect();
        assert_eq!(names, ["Mode", "Same", "second.Mode"]);
        assert_eq!(
            generator.definitions()["second.Mode"],
            json!({ "const": "b" })
        );
    }
}
