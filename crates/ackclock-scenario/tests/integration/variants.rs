//! Variants of a registered element's parameters, without knowing their meaning.

use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::{Entry, Kind, choose};
use serde_json::{Value, json};

/// Returns the defaults, each switch inverted, and each choice of a word made.
pub fn variants<K: Kind>(entry: &Entry<K>) -> Vec<Value> {
    let defaults = json!({ "kind": entry.name });
    let resolved = choose::<K>(&defaults, &NoFiles).unwrap().resolved;
    let fields = resolved.as_object().unwrap().iter();
    let other = fields.flat_map(|(field, value)| match value {
        Value::Bool(on) => vec![(field, json!(!on))],
        Value::String(word) => choices(entry, field)
            .into_iter()
            .filter(|choice| field != "kind" && choice != word)
            .map(|choice| (field, choice))
            .collect(),
        _ => Vec::new(),
    });
    let other = other.map(|(field, value)| {
        let mut tree = defaults.clone();
        tree[field] = value;
        tree
    });
    std::iter::once(defaults.clone()).chain(other).collect()
}

/// Returns the words that a field may be, by the schema.
fn choices<K: Kind>(entry: &Entry<K>, field: &str) -> Vec<Value> {
    let schema = (entry.schema)();
    let field = &schema["properties"][field];
    // An optional one is a choice between its type and null.
    let field = field["anyOf"].get(0).unwrap_or(field);
    let named = field["$ref"]
        .as_str()
        .and_then(|path| path.strip_prefix('#'));
    let field = named.map_or(Some(field), |path| schema.pointer(path));
    let words = field.and_then(|field| field["oneOf"].as_array());
    words
        .into_iter()
        .flatten()
        .map(|word| word["const"].clone())
        .filter(|word| !word.is_null())
        .collect()
}
