//! JSON schemas of registered elements, and what makes one schema of several.

use crate::registry::{Entry, FACTS, Kind};
use crate::tree::with_kind;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

/// Returns the schema of a table with these fields before its own.
pub fn led_by<const N: usize>(mut table: Value, fields: [(&str, Value); N]) -> Value {
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

/// Returns a schema with another description.
pub fn described(schema: Schema, description: &str) -> Value {
    let mut value = schema.to_value();
    if let Some(map) = value.as_object_mut() {
        map.insert("description".into(), description.into());
    }
    value
}

/// True if a struct has fields.
pub fn has_fields<T: JsonSchema>() -> bool {
    schema_of::<T>().get("properties").is_some()
}

/// Returns the schema of a type, with its definitions.
pub fn schema_of<T: JsonSchema>() -> Value {
    schemars::schema_for!(T).to_value()
}

/// Returns the schema of one of the registered elements, by its `kind`. A resolved element has its
/// facts.
pub fn one_of<K: Kind>(generator: &mut SchemaGenerator) -> Schema {
    let facts = has_fields::<K::Facts>().then(|| {
        let facts = generator.subschema_for::<K::Facts>();
        let mut facts = described(facts, "Computed from the parameters; do not write it.");
        facts["readOnly"] = true.into();
        facts
    });
    let mut schema_of = |entry: &Entry<K>| {
        let mut element = tagged(adopt(generator, entry.name, (entry.schema)()), entry.name);
        if let (Some(facts), Some(properties)) = (&facts, element["properties"].as_object_mut()) {
            properties.insert(FACTS.into(), facts.clone());
        }
        if let Some(map) = element.as_object_mut() {
            map.insert("title".into(), entry.label.into());
            map.insert("description".into(), entry.summary.into());
        }
        element
    };
    let all: Vec<Value> = K::ENTRIES.iter().map(&mut schema_of).collect();
    match all.is_empty() {
        true => json_schema!({ "not": {} }), // there is no choice
        false => json_schema!({ "oneOf": all }),
    }
}

/// Puts `kind` first among the properties, and first among those that are required.
fn tagged(mut schema: Value, kind: &str) -> Value {
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
    if let Some(Value::Array(rest)) = map.shift_remove("required") {
        names.extend(rest);
    }
    map.insert("properties".into(), properties.into());
    map.insert("required".into(), names.into());
    schema
}

/// Makes all fields optional, also in the tables within, because a preset has them all.
pub fn optional(mut schema: Value) -> Value {
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
pub fn adopt(generator: &mut SchemaGenerator, name: &str, mut schema: Value) -> Value {
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
    use schemars::generate::SchemaSettings;

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
