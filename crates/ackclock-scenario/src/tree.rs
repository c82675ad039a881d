//! Functions on the scenario's tree, before it is typed: reading text, setting a value by its path,
//! expanding a sweep.

use super::source::{Source, remedied};
use super::values::VALUES;
use ackclock_spec::error::{Code, Error, Result, all, both, every, nearest};
use ackclock_spec::limits::{PATHS, POINTS, POINTS_BYTES, bytes};
use ackclock_spec::registry::FACTS;
use ackclock_spec::tree::{find, value};
use serde_json::{Map, Number, Value};

/// One point of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Paths and values that were set, in order.
    pub assignments: Vec<(String, Value)>,
    /// The tree with these values, without `sweep`.
    pub tree: Value,
}

/// Tables that a scenario may leave out, since their fields have defaults. They may be missing on
/// the path to a field.
const TABLES_WITH_DEFAULTS: [&str; 3] = ["traffic", "delayed_ack", VALUES];

/// Reads TOML.
///
/// # Errors
/// Invalid TOML, with line and column ("3:14"); a date; and a number that is not finite.
pub fn from_toml(text: &str) -> Result<Value> {
    let source = Source::read(text)?;
    let table: toml::Table = toml::from_str(text)
        .map_err(|error| Error::message("", remedied(error.message())).coded(Code::Syntax))?;
    plain(toml::Value::Table(table)).map_err(|error| source.place_in(error))
}

/// Converts a TOML value to JSON, which has no dates.
fn plain(value: toml::Value) -> Result<Value> {
    Ok(match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Boolean(truth) => truth.into(),
        toml::Value::Float(number) => {
            Number::from_f64(number).map(Value::Number).ok_or_else(|| {
                Error::message(
                    "",
                    format!("{number} is not finite; choose a finite number"),
                )
                .coded(Code::OutOfRange)
            })?
        }
        toml::Value::Datetime(date) => {
            let message = format!(
                "{date} is a date; give a time since the start of the run, for example \"10 s\""
            );
            return Err(Error::message("", message).coded(Code::WrongType));
        }
        toml::Value::Array(list) => all(list
            .into_iter()
            .enumerate()
            .map(|(at, item)| plain(item).map_err(|error| error.within(&at.to_string()))))?
        .into(),
        toml::Value::Table(table) => {
            let items = all(table.into_iter().map(|(key, item)| match plain(item) {
                Ok(item) => Ok((key, item)),
                Err(error) => Err(error.within(&key)),
            }))?;
            Value::Object(items.into_iter().collect())
        }
    })
}

/// Sets the value at `path`: steps joined by dots ("hops.wireless.impairments.0.probability"). A
/// step is a field name or, for an item of a list, its name or its position from 0.
///
/// The last field may be missing so far, and so may tables with defaults on the path. Facts of
/// elements on the path are removed, because they were computed from the values that change.
///
/// # Errors
/// A step that does not exist, with the nearest known one. The value itself is not checked;
/// [`Scenario::from_tree`](super::Scenario::from_tree) does that.
pub fn set(tree: &mut Value, path: &str, value: Value) -> Result<()> {
    let steps: Vec<&str> = path.split('.').collect();
    let mut here = tree;
    for (depth, step) in steps.iter().enumerate() {
        let field = steps[..=depth].join(".");
        let last = depth + 1 == steps.len();
        here = match here {
            Value::Object(map) => {
                map.shift_remove(FACTS);
                enter(map, step, &field, last)?
            }
            Value::Array(list) => {
                let at = find(list, step).ok_or_else(|| unknown_item(&field, step, list))?;
                &mut list[at]
            }
            other => return Err(no_fields(&steps[..depth], other, step)),
        };
    }
    *here = value;
    Ok(())
}

/// Refuses a path at which [`set`] cannot set a value.
///
/// # Errors
/// As for [`set`].
pub fn reach(tree: &Value, path: &str) -> Result<()> {
    let steps: Vec<&str> = path.split('.').collect();
    let mut here = Some(tree);
    for (depth, step) in steps.iter().enumerate() {
        let field = || steps[..=depth].join(".");
        let last = depth + 1 == steps.len();
        here = match here {
            None => None, // in a table that has its defaults
            Some(Value::Object(map)) => {
                let next = map.get(*step);
                if next.is_none() && !may_be_missing(step, last) {
                    return Err(unknown_field(map, &field()));
                }
                next
            }
            Some(Value::Array(list)) => {
                let at = find(list, step).ok_or_else(|| unknown_item(&field(), step, list))?;
                list.get(at)
            }
            Some(other) => return Err(no_fields(&steps[..depth], other, step)),
        };
    }
    Ok(())
}

/// Sets the value at `path` as [`set`] does, and removes the path from the sweep, because an
/// explicit value overrides it. Paths that were swept together with it keep their values. A table
/// or list as value removes the fields that it states from the sweep.
///
/// # Errors
/// As for [`set`], and a path within a table that the sweep sets as a whole. The tree is then
/// unchanged.
pub fn assign(tree: &mut Value, path: &str, value: Value) -> Result<()> {
    let mut changed = tree.clone();
    set(&mut changed, path, value)?;
    if path.split('.').next() != Some("sweep") {
        unsweep(&mut changed, tree, path)?;
    }
    *tree = changed;
    Ok(())
}

/// Removes the paths that `path` sets from the sweep of `changed`; `before` is the tree without the
/// change.
fn unsweep(changed: &mut Value, before: &Value, path: &str) -> Result<()> {
    let mut axes = Vec::new();
    match changed.get("sweep") {
        // An invalid sweep is refused when it is expanded.
        Some(sweep) if flatten("", sweep, &mut axes).is_ok() => {}
        _ => return Ok(()),
    }
    let given = places(before, path);
    let mut stated = Vec::new();
    for (swept, _) in axes.iter().filter_map(|axis| axis.first()).flatten() {
        let place = places(before, swept);
        if given.len() > place.len() && given.starts_with(&place) {
            let remedy = format!(
                "belongs to {swept}, which the sweep sets; set {swept} itself, or remove it from \
                the sweep"
            );
            return Err(Error::message(path, remedy).coded(Code::Contradiction));
        }
        if place.starts_with(&given) && holds(changed, swept) {
            stated.push(swept.clone());
        }
    }
    if stated.is_empty() {
        return Ok(());
    }
    let mut kept = Map::new();
    for axis in axes {
        let paths: Vec<&str> = axis[0].iter().map(|(swept, _)| swept.as_str()).collect();
        let stays: Vec<bool> = paths
            .iter()
            .map(|swept| !stated.iter().any(|field| field == swept))
            .collect();
        let key: Vec<&str> = paths
            .iter()
            .zip(&stays)
            .filter(|(_, stays)| **stays)
            .map(|(path, _)| *path)
            .collect();
        if key.is_empty() {
            continue;
        }
        let values = axis.iter().map(|step| {
            let mut left: Vec<Value> = step
                .iter()
                .zip(&stays)
                .filter(|(_, stays)| **stays)
                .map(|((_, value), _)| value.clone())
                .collect();
            if left.len() == 1 {
                left.remove(0)
            } else {
                left.into()
            }
        });
        kept.insert(key.join(","), values.collect());
    }
    if let Some(map) = changed.as_object_mut() {
        if kept.is_empty() {
            map.shift_remove("sweep");
        } else {
            map.insert("sweep".into(), kept.into());
        }
    }
    Ok(())
}

/// Returns the steps of a path with positions instead of names of list items, as far as the path
/// exists.
fn places(tree: &Value, path: &str) -> Vec<String> {
    let mut here = Some(tree);
    path.split('.')
        .map(|step| {
            let (place, next) = match here {
                Some(Value::Array(list)) => match find(list, step) {
                    Some(at) => (at.to_string(), list.get(at)),
                    None => (step.into(), None),
                },
                Some(Value::Object(map)) => (step.into(), map.get(step)),
                _ => (step.into(), None),
            };
            here = next;
            place
        })
        .collect()
}

/// True if the tree states a value there.
fn holds(tree: &Value, path: &str) -> bool {
    value(tree, path).is_some()
}

/// Returns a field of a table; adds it if it is the last step or a table with defaults.
fn enter<'a>(
    map: &'a mut Map<String, Value>,
    step: &str,
    field: &str,
    last: bool,
) -> Result<&'a mut Value> {
    if !may_be_missing(step, last) && !map.contains_key(step) {
        return Err(unknown_field(map, field));
    }
    let empty = if last { Value::Null } else { Map::new().into() };
    Ok(map.entry(step).or_insert(empty))
}

/// True for a step to what a table may lack: its last field, or a table with defaults.
fn may_be_missing(step: &str, last: bool) -> bool {
    (last && !step.is_empty()) || TABLES_WITH_DEFAULTS.contains(&step)
}

fn unknown_field(map: &Map<String, Value>, field: &str) -> Error {
    let names: Vec<&str> = map.keys().map(String::as_str).collect();
    Error::unknown_field(field, &names)
}

fn no_fields(before: &[&str], value: &Value, step: &str) -> Error {
    let remedy = format!("has no fields; remove \".{step}\"");
    Error::new(&before.join("."), value, &remedy).coded(Code::UnknownField)
}

fn unknown_item(field: &str, step: &str, list: &[Value]) -> Error {
    let names: Vec<&str> = list
        .iter()
        .filter_map(|item| item.get("name")?.as_str())
        .collect();
    let remedy = match (nearest(step, &names), &names[..], list.len()) {
        (Some(name), ..) => format!("did you mean \"{name}\"?"),
        (None, _, 0) => "the list is empty".into(),
        (None, [], length) => format!("choose a number from 0 to {}", length - 1),
        (None, names, _) => format!("choose from {}", names.join(", ")),
    };
    Error::message(field, format!("unknown item \"{step}\"; {remedy}")).coded(Code::UnknownField)
}

/// Reads `path=value` as on a command line. The value is read as TOML if it is a TOML value, else
/// as text, so that `1 %` and `45 Mbit/s` need no quotes.
///
/// # Errors
/// Text without `=`, or without a path before it.
pub fn parse_assignment(text: &str) -> Result<(String, Value)> {
    let Some((path, value)) = text
        .split_once('=')
        .filter(|(path, _)| !path.trim().is_empty())
    else {
        let remedy = "is not an assignment; expected PATH=VALUE, for example duration=\"10 s\"";
        return Err(Error::new("", &text.into(), remedy).coded(Code::Syntax));
    };
    let value = value.trim();
    let typed = value
        .parse::<toml::Value>()
        .ok()
        .and_then(|value| plain(value).ok());
    Ok((path.trim().into(), typed.unwrap_or_else(|| value.into())))
}

/// Returns all points of the sweep: every combination of the values, in the order written, where
/// the first path varies slowest.
///
/// A key of several paths joined by commas sweeps them together: each of its values is a list with
/// one value for each path. Nested tables within `sweep` are equivalent to dots. Without a sweep
/// there is one point.
///
/// # Errors
/// A path that does not exist, a value that is not a list, a list that is empty or of the wrong
/// length, too many points.
pub fn expand(tree: &Value) -> Result<Vec<Point>> {
    let mut base = tree.clone();
    let sweep = base
        .as_object_mut()
        .and_then(|map| map.shift_remove("sweep"));
    let mut axes = Vec::new();
    if let Some(sweep) = sweep {
        flatten("", &sweep, &mut axes)
            .map_err(|error| with_wrong_paths(error.within("sweep"), &base, &axes))?;
    }
    let points = axes
        .iter()
        .try_fold(1_usize, |points, axis| points.checked_mul(axis.len()))
        .filter(|&points| points as u64 <= POINTS)
        .ok_or_else(|| {
            let remedy = format!("has too many points; the most is {POINTS}");
            Error::message("sweep", remedy)
        })?;
    // Each holds the whole tree.
    let text = base.to_string().len() as u64;
    if text.saturating_mul(points as u64) > POINTS_BYTES {
        let message = format!(
            "has {points} points of {text} bytes each; the most is {} in all",
            bytes(POINTS_BYTES)
        );
        return Err(Error::message("sweep", message));
    }
    (0..points)
        .map(|number| point(&base, &axes, number))
        .collect::<Result<_>>()
        .map_err(|error| with_wrong_paths(error, &base, &axes))
}

/// Returns the error, and one for each path of the sweep that does not exist. A path that another
/// one makes is not among them in a sweep that is right, so this is only for one that is not.
fn with_wrong_paths(error: Error, base: &Value, axes: &[Vec<Step>]) -> Error {
    let firsts = axes.iter().filter_map(|axis| axis.first()).flatten();
    let paths =
        every(firsts.map(|(path, _)| reach(base, path).map_err(|error| error.within("sweep"))));
    both(Err::<(), _>(error.clone()), paths)
        .err()
        .unwrap_or(error)
}

/// Paths and values set together at one value of an axis.
type Step = Vec<(String, Value)>;

/// Returns the point with that number. Its digits, in a mixed-radix system with the axes' lengths
/// as bases, are the values of the axes; the last axis is the units.
fn point(base: &Value, axes: &[Vec<Step>], mut number: usize) -> Result<Point> {
    let mut chosen: Vec<&Step> = Vec::with_capacity(axes.len());
    for axis in axes.iter().rev() {
        chosen.push(&axis[number % axis.len()]);
        number /= axis.len();
    }
    let mut point = Point {
        assignments: chosen.into_iter().rev().flatten().cloned().collect(),
        tree: base.clone(),
    };
    for (path, value) in &point.assignments {
        set(&mut point.tree, path, value.clone()).map_err(|error| error.within("sweep"))?;
    }
    Ok(point)
}

/// Returns a tree without its sweep, with the first value of each path of it that can be set. It is
/// for finding further mistakes.
pub fn without_sweep(tree: &Value) -> Value {
    let mut base = tree.clone();
    let map = base.as_object_mut();
    let sweep = map
        .and_then(|map| map.shift_remove("sweep"))
        .unwrap_or_default();
    let mut axes = Vec::new();
    // What is wrong with the sweep, `expand` says.
    let _ = flatten("", &sweep, &mut axes);
    for (path, value) in axes.iter().filter_map(|axis| axis.first()).flatten() {
        let _ = set(&mut base, path, value.clone());
    }
    base
}

/// Collects the axes of a sweep's table and of its nested tables.
fn flatten(path: &str, sweep: &Value, axes: &mut Vec<Vec<Step>>) -> Result<()> {
    if axes.len() as u64 >= PATHS {
        let message = format!("has too many paths; the most is {PATHS}");
        return Err(Error::message("", message));
    }
    match sweep {
        Value::Object(map) => every(map.iter().map(|(key, value)| {
            let path = if path.is_empty() {
                key.clone()
            } else {
                format!("{path}.{key}")
            };
            flatten(&path, value, axes)
        })),
        Value::Array(values) if !path.is_empty() => {
            if values.is_empty() {
                return Err(Error::new(path, sweep, "is empty; list at least one value"));
            }
            let paths: Vec<&str> = path.split(',').map(str::trim).collect();
            axes.push(all(values.iter().map(|value| step(path, &paths, value)))?);
            Ok(())
        }
        other => {
            let remedy = format!("is not a list of values; for example [{other}]");
            Err(Error::new(path, other, &remedy).coded(Code::WrongType))
        }
    }
}

fn step(key: &str, paths: &[&str], value: &Value) -> Result<Step> {
    let of = |(path, value): (&&str, &Value)| ((*path).to_string(), value.clone());
    match (paths, value) {
        ([path], value) => Ok(vec![of((path, value))]),
        (paths, Value::Array(values)) if values.len() == paths.len() => {
            Ok(paths.iter().zip(values).map(of).collect())
        }
        _ => {
            let remedy = format!(
                "does not have one value for each path; give a list of {} values",
                paths.len()
            );
            Err(Error::new(key, value, &remedy).coded(Code::WrongType))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sample() -> Value {
        json!({
            "duration": "1 s",
            "hops": [
                { "name": "wired" },
                { "name": "wireless", "impairments": [{ "kind": "iid_loss", "probability": 0 }] }
            ],
            "flows": [{ "transport": { "kind": "tcp" } }, { "name": "abse", "transport": {} }],
        })
    }

    #[test]
    fn text_is_read_in_the_order_written() {
        let tree = from_toml(
            "b = 1\na = { z = 1.5, y = [true, \"x\"] }\n[sweep]\n\"z\" = [1]\n\"a\" = [2]",
        )
        .unwrap();
        assert_eq!(
            tree,
            json!({ "b": 1, "a": { "z": 1.5, "y": [true, "x"] }, "sweep": { "z": [1], "a": [2] } })
        );
        let keys: Vec<&String> = tree["sweep"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["z", "a"]);
    }

    #[test]
    fn what_is_no_toml_is_answered_with_line_and_column() {
        for (text, key, place) in [
            ("a = 1\nbc = = 2", "syntax ", (2, 6)),
            ("a = 45 Mbit/s", "syntax ", (1, 5)),
            ("a = 1\na = 2", "syntax ", (2, 1)),
            ("µ = ", "syntax ", (1, 1)),
            ("[a]\nb = [{ c = nan }]", "out-of-range a.b.0.c", (2, 12)),
            ("a = 1979-05-27", "wrong-type a", (1, 5)),
        ] {
            let error = from_toml(text).unwrap_err();
            assert_eq!(error.key(), key, "{error}");
            let place_found = error
                .position()
                .map(|place_found| (place_found.line, place_found.column));
            assert_eq!(place_found, Some(place), "{text}");
        }
    }

    #[test]
    fn paths_lead_by_name_and_by_position() {
        for (path, pointer) in [
            ("duration", "/duration"),
            ("warmup", "/warmup"),
            (
                "hops.wireless.impairments.0.probability",
                "/hops/1/impairments/0/probability",
            ),
            ("hops.0.delay", "/hops/0/delay"),
            ("flows.abse.transport.mss", "/flows/1/transport/mss"),
            (
                "flows.flow-1.transport.delayed_ack.every",
                "/flows/0/transport/delayed_ack/every",
            ),
            ("flows.abse", "/flows/1"),
        ] {
            let mut tree = sample();
            set(&mut tree, path, json!("new")).unwrap();
            assert_eq!(tree.pointer(pointer), Some(&json!("new")), "{path}");
        }
    }

    #[test]
    fn a_value_that_is_given_is_not_swept() {
        let loss = "hops.wireless.impairments.0.probability";
        let swept = |sweep: Value| {
            let mut tree = sample();
            tree["sweep"] = sweep;
            tree
        };
        let given = |sweep: Value, path: &str, value: Value| {
            let mut tree = swept(sweep);
            assign(&mut tree, path, value).map(|()| tree)
        };
        // Both may be written in any form: by name or position, with dots or as tables.
        for (key, path) in [
            (loss, loss),
            (loss, "hops.1.impairments.0.probability"),
            ("hops.1.impairments.0.probability", loss),
        ] {
            let tree = given(json!({ "warmup": [1, 2], key: [0, 1] }), path, json!(7)).unwrap();
            assert_eq!(tree["sweep"], json!({ "warmup": [1, 2] }));
            assert_eq!(
                tree.pointer("/hops/1/impairments/0/probability"),
                Some(&json!(7))
            );
        }
        let nested = json!({ "flows": { "flow-1": { "transport": { "kind": ["tcp"] } } } });
        assert_eq!(
            given(nested, "flows.0.transport.kind", json!("udp"))
                .unwrap()
                .get("sweep"),
            None
        );
        // Of two paths that vary together, the other still varies.
        let pair = json!({ "warmup, duration": [[1, "a"], [2, "b"]] });
        assert_eq!(
            given(pair.clone(), "warmup", json!(9)).unwrap()["sweep"],
            json!({ "duration": ["a", "b"] })
        );
        assert_eq!(
            given(pair.clone(), "duration", json!("c")).unwrap()["sweep"],
            json!({ "warmup": [1, 2] })
        );
        // A table states only the fields that it has.
        let hop = json!({ "name": "wireless", "impairments": [{ "probability": 3 }] });
        assert_eq!(
            given(json!({ loss: [0, 1] }), "hops.wireless", hop)
                .unwrap()
                .get("sweep"),
            None
        );
        let bare = json!({ "name": "wireless", "impairments": [] });
        assert_eq!(
            given(json!({ loss: [0, 1] }), "hops.wireless", bare).unwrap()["sweep"],
            json!({ loss: [0, 1] })
        );
        // A path that is not swept leaves the sweep as it was written, and the sweep itself may be
        // given.
        assert_eq!(
            given(pair.clone(), "hops.wired.name", json!("x")).unwrap()["sweep"],
            pair
        );
        assert_eq!(
            given(pair, "sweep", json!({ "warmup": [5] })).unwrap()["sweep"],
            json!({ "warmup": [5] })
        );
        // Within a table that is swept as a whole, a value would be overwritten.
        let whole = json!({ "flows.abse.transport": [{ "kind": "tcp" }, { "kind": "udp" }] });
        let error = given(whole, "flows.1.transport.kind", json!("tcp")).unwrap_err();
        assert_eq!(
            error.key(),
            "contradiction flows.1.transport.kind",
            "{error}"
        );
    }

    #[test]
    fn a_step_that_leads_nowhere_is_named() {
        for (path, expected) in [
            ("hops.wirless.delay", "unknown-field hops.wirless"),
            ("hops.2", "unknown-field hops.2"),
            ("hop.wired.delay", "unknown-field hop"),
            (
                "hops.wireless.impairments.1.probability",
                "unknown-field hops.wireless.impairments.1",
            ),
            ("duration.seconds", "unknown-field duration"),
            ("hops.wired.linc.rate", "unknown-field hops.wired.linc"),
            ("", "unknown-field "),
        ] {
            let mut tree = sample();
            let message = set(&mut tree, path, json!(1)).unwrap_err().key();
            assert_eq!(message, expected);
            assert_eq!(tree, sample(), "nothing is changed");
        }
    }

    #[test]
    fn an_assignment_needs_no_quotes() {
        for (text, path, value) in [
            ("duration=10 s", "duration", json!("10 s")),
            ("duration=\"10 s\"", "duration", json!("10 s")),
            (" a.b = 1 % ", "a.b", json!("1 %")),
            ("a=45 Mbit/s", "a", json!("45 Mbit/s")),
            ("a=0.5", "a", json!(0.5)),
            ("a=7", "a", json!(7)),
            ("a=true", "a", json!(true)),
            ("a=reno", "a", json!("reno")),
            (
                "a={ kind = \"reno\", alpha = 1 }",
                "a",
                json!({ "kind": "reno", "alpha": 1 }),
            ),
            ("a=[\"0 s\", \"1 s\"]", "a", json!(["0 s", "1 s"])),
            ("a=", "a", json!("")),
            ("a=b=c", "a", json!("b=c")),
            ("a=nan", "a", json!("nan")),
            ("a=1979-05-27", "a", json!("1979-05-27")),
            ("a=1\nb=2", "a", json!("1\nb=2")),
        ] {
            assert_eq!(parse_assignment(text), Ok((path.into(), value)), "{text}");
        }
        for text in ["duration", "=1", " =1", ""] {
            assert_eq!(parse_assignment(text).unwrap_err().code(), Code::Syntax);
        }
    }

    #[test]
    fn a_sweep_is_the_product_in_written_order() {
        let mut tree = sample();
        tree["sweep"] = json!({ "warmup": [3, 1], "duration": ["a", "b"] });
        let points = expand(&tree).unwrap();
        let seen: Vec<_> = points
            .iter()
            .map(|point| (point.tree["warmup"].clone(), point.tree["duration"].clone()))
            .collect();
        let expected = [(3, "a"), (3, "b"), (1, "a"), (1, "b")];
        assert_eq!(
            seen,
            expected.map(|(warmup, duration)| (json!(warmup), json!(duration)))
        );
        assert_eq!(
            points[1].assignments,
            [("warmup".into(), json!(3)), ("duration".into(), json!("b"))]
        );
        assert!(points.iter().all(|point| point.tree.get("sweep").is_none()));
    }

    #[test]
    fn paths_joined_by_a_comma_vary_together() {
        let mut tree = sample();
        tree["sweep"] = json!({
            "warmup, duration": [[1, "a"], [2, "b"]],
            "hops": { "wired": { "delay": [5] } }
        });
        let points = expand(&tree).unwrap();
        assert_eq!(points.len(), 2);
        assert_eq!(points[1].tree["warmup"], 2);
        assert_eq!(points[1].tree["duration"], "b");
        assert_eq!(
            points[1].assignments[2],
            ("hops.wired.delay".into(), json!(5))
        );
    }

    #[test]
    fn without_a_sweep_there_is_one_point() {
        let points = expand(&sample()).unwrap();
        assert_eq!(
            points,
            [Point {
                assignments: vec![],
                tree: sample()
            }]
        );
        let mut tree = sample();
        tree["sweep"] = json!({});
        assert_eq!(expand(&tree).unwrap(), points);
    }

    #[test]
    fn a_sweep_that_is_none_is_named() {
        for (sweep, expected) in [
            (json!(3), "wrong-type sweep"),
            (json!([1]), "wrong-type sweep"),
            (json!({ "warmup": "1 s" }), "wrong-type sweep.warmup"),
            (json!({ "warmup": [] }), "out-of-range sweep.warmup"),
            (
                json!({ "warmup, duration": [[1]] }),
                "wrong-type sweep.warmup, duration",
            ),
            (
                json!({ "hops.wirless.delay": [1] }),
                "unknown-field sweep.hops.wirless",
            ),
        ] {
            let mut tree = sample();
            tree["sweep"] = sweep;
            let error = expand(&tree).unwrap_err();
            assert_eq!(error.key(), expected, "{error}");
        }
        let mut tree = sample();
        let values: Vec<u32> = (0..1000).collect();
        tree["sweep"] = json!({ "warmup": values, "duration": values });
        assert_eq!(expand(&tree).unwrap_err().key(), "out-of-range sweep");
    }
}
