//! Sample parameters of an element, made from its JSON schema. The reference pages show them, and
//! contract tests try them.

use crate::files::Files;
use serde_json::{Map, Value};

/// Returns samples of the parameters that a schema describes, without `kind`. These are its
/// examples, or else one sample of the required fields, each filled in from its own example. Empty
/// if a required field has no example.
pub fn samples(schema: &Value) -> Vec<Value> {
    match schema["examples"].as_array() {
        Some(examples) => examples.clone(),
        None => sample(schema, schema).into_iter().collect(),
    }
}

/// Returns a sample of one part of the schema `root`.
fn sample(part: &Value, root: &Value) -> Option<Value> {
    if let Some(reference) = part["$ref"].as_str() {
        return sample(root.pointer(reference.trim_start_matches('#'))?, root);
    }
    let written = part["examples"].get(0).or(part["enum"].get(0));
    if let Some(value) = written.or(part.get("const")) {
        return Some(value.clone());
    }
    if let Some(first) = part["oneOf"].get(0).or(part["anyOf"].get(0)) {
        return sample(first, root);
    }
    if part["type"] != "object" {
        return None;
    }
    let required = part["required"].as_array().into_iter().flatten();
    let field = |name: &str| Some((name.to_owned(), sample(&part["properties"][name], root)?));
    let fields: Option<Map<_, _>> = required.filter_map(Value::as_str).map(field).collect();
    fields.map(Value::Object)
}

/// A short file for every name in a sample: sizes, a trace of rates (`.csv`) or a trace of
/// deliveries.
#[derive(Clone, Copy, Debug, Default)]
pub struct SampleFiles;

impl Files for SampleFiles {
    fn read(&self, name: &str) -> Result<String, String> {
        Ok(if name.contains("sizes") {
            "size\n1 kB\n20 kB\n".into()
        } else if name.contains("irtt") {
            "timestamp,rtt,uplink,downlink\n1000000,9,4,5\n21000000,0,-1,0\n".into()
        } else if name.contains("actions") {
            "time_s,cwnd_bytes,rate_bit_per_s\n0.5,28960,\n1.5,,4000000\n".into()
        } else if name.ends_with(".csv") {
            "time,rate\n0 s,10 Mbit/s\n500 ms,0 bit/s\n700 ms,2 Mbit/s\n".into()
        } else {
            "0\n3\n3\n4\n9\n".into()
        })
    }
}
