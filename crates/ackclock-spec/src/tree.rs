//! Trees of JSON values: writing a struct as one, and finding a value by its path.

use serde::Serialize;
use serde_json::{Map, Value};

/// Writes a struct as a tree. Nothing is lost, because everything in a scenario is valid JSON.
pub fn to_tree(part: &(impl Serialize + ?Sized)) -> Value {
    serde_json::to_value(part).unwrap_or_default()
}

/// Returns the value at a path, names or positions joined by dots; `None` if the tree states none.
pub fn value<'a>(tree: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(tree, |here, step| match here {
        Value::Array(list) => find(list, step).and_then(|at| list.get(at)),
        Value::Object(map) => map.get(step),
        _ => None,
    })
}

/// Returns the position of the item with that name or position. A flow without a name has a default
/// name.
pub fn find(list: &[Value], step: &str) -> Option<usize> {
    let position = || step.parse().ok().filter(|&at: &usize| at < list.len());
    let named = |name: &str| {
        list.iter()
            .position(|item| item.get("name").is_some_and(|it| it == name))
    };
    let unnamed =
        || (0..list.len()).find(|&at| list[at].get("name").is_none() && default_name(at) == step);
    named(step).or_else(position).or_else(unnamed)
}

/// Returns the default name of the flow at that position of the list: the first is "flow-1".
pub fn default_name(position: usize) -> String {
    format!("flow-{}", position + 1)
}

/// Returns the table with `kind` as its first field.
pub fn with_kind(kind: &str, tree: Value) -> Value {
    let mut map = Map::new();
    map.insert("kind".into(), kind.into());
    if let Value::Object(rest) = tree {
        map.extend(rest);
    }
    Value::Object(map)
}
