//! Derived values: quantities of a scenario that are written as an expression, with the names of
//! `[values]` or in units of the path. All become plain quantities before anything else is read.

use super::path_units::{self, RoundTrips};
use super::schema::schema;
use super::values::{Derived, VALUES, Values};
use ackclock_spec::error::{Error, Result};
use ackclock_spec::expression::{Expression, Fault, PATH_UNITS};
use ackclock_spec::files::Files;
use ackclock_spec::limits::MISTAKES;
use ackclock_spec::quantity::{self, Quantity};
use ackclock_spec::registry::FACTS;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::LazyLock;

/// The schema says which fields are quantities. It never changes.
static SCHEMA: LazyLock<Value> = LazyLock::new(schema);

/// A scenario's tree with plain quantities only.
pub(super) struct Plain<'a> {
    /// The tree, without the table of values. What could not be computed is an example.
    pub tree: Cow<'a, Value>,
    /// The results: first values, then fields on which the path depends, then others.
    pub derived: Vec<Derived>,
    /// The mistakes in fields.
    pub mistakes: Option<Error>,
}

/// A text in a scenario where a quantity is expected.
struct Place {
    /// Keys and indices from the root.
    steps: Vec<String>,
    /// The path in errors, with names of hops and flows.
    field: String,
    quantity: Quantity,
    written: String,
}

/// Computes all derived values of a tree without a sweep.
///
/// # Errors
/// Mistakes in `[values]`, as every field may depend on one; and too many mistakes in fields.
pub(super) fn plain<'a>(tree: &'a Value, files: &dyn Files) -> Result<Plain<'a>> {
    let mut tree = Cow::Borrowed(tree);
    let has_values = tree.get(VALUES).is_some();
    let map = has_values.then(|| tree.to_mut().as_object_mut()).flatten();
    let table = map.and_then(|map| map.shift_remove(VALUES));
    let mut places = Vec::new();
    if table.is_some() || may_derive(&tree) {
        let (steps, field) = (&mut Vec::new(), &mut String::new());
        find(&tree, &SCHEMA, steps, field, &mut places);
    }
    let (values, mut derived, mistakes) = Values::read(table);
    if let Some(mistakes) = mistakes.into_iter().reduce(Error::and) {
        return Err(mistakes);
    }
    let expressions = places.into_iter().filter(|place| {
        let text = place.written.trim();
        is_expression(text) || values.may_be(text)
    });
    // First what round-trip times depend on.
    let (of_path, others): (Vec<Place>, Vec<Place>) =
        expressions.partition(|place| path_units::is_of_path(&place.steps));
    let mut mistakes = Vec::new();
    let path = RoundTrips::default();
    replace(
        of_path,
        &mut tree,
        &mut derived,
        &mut mistakes,
        |place, read| compute(place, read, &values, &path, files),
    )?;
    if !others.is_empty() {
        let path = RoundTrips::of(&tree);
        replace(
            others,
            &mut tree,
            &mut derived,
            &mut mistakes,
            |place, read| compute(place, read, &values, &path, files),
        )?;
    }
    Ok(Plain {
        tree,
        derived,
        mistakes: mistakes.into_iter().reduce(Error::and),
    })
}

/// Replaces expressions in their places by the quantities that they stand for, or by examples.
///
/// # Errors
/// The mistakes, if there are too many.
fn replace(
    places: Vec<Place>,
    tree: &mut Cow<'_, Value>,
    derived: &mut Vec<Derived>,
    mistakes: &mut Vec<Error>,
    compute: impl Fn(&Place, &Expression) -> std::result::Result<Derived, Fault>,
) -> Result<()> {
    for place in places {
        let read = Expression::read(place.written.trim());
        let text = match read.and_then(|read| compute(&place, &read)) {
            Ok(one) => {
                let text = one.value.clone();
                derived.push(one);
                text
            }
            Err(fault) => {
                let written = place.written.as_str().into();
                let mistake = Error::new(&place.field, &written, &fault.sentence);
                mistakes.push(mistake.coded(fault.code));
                place.quantity.example().into()
            }
        };
        if let Some(here) = at(tree.to_mut(), &place.steps) {
            *here = text.into();
        }
        if mistakes.len() as u64 >= MISTAKES {
            return match mistakes.drain(..).reduce(Error::and) {
                Some(mistakes) => Err(mistakes),
                None => Ok(()),
            };
        }
    }
    Ok(())
}

/// Computes the quantity of an expression in its place.
fn compute(
    place: &Place,
    read: &Expression,
    values: &Values,
    path: &RoundTrips,
    files: &dyn Files,
) -> std::result::Result<Derived, Fault> {
    let mut sources = values.sources_of(read);
    let mut of_path = Vec::new();
    for unit in read.names() {
        if PATH_UNITS.contains(&unit) {
            let (amount, source) = path.quantity(&place.steps, unit, files)?;
            sources.push(source);
            of_path.push((unit, amount));
        }
    }
    let amount_of = |name: &str| match of_path.iter().find(|(unit, _)| *unit == name) {
        Some((_, amount)) => Ok(*amount),
        None => values.get(name),
    };
    Ok(Derived {
        field: place.field.clone(),
        written: place.written.clone(),
        value: place.quantity.written(&read.value(&amount_of)?)?,
        sources,
    })
}

/// True if some text in the tree might be an expression.
fn may_derive(tree: &Value) -> bool {
    match tree {
        Value::String(text) => is_expression(text),
        Value::Array(list) => list.iter().any(may_derive),
        Value::Object(map) => map
            .iter()
            .any(|(key, value)| key != FACTS && may_derive(value)),
        _ => false,
    }
}

/// True for text with a sign between quantities, or in a unit of the path. A number with a unit,
/// right or misspelled, is none: the `/` of `10 Mb/s` stands between letters.
fn is_expression(text: &str) -> bool {
    let (digits, unit) = quantity::cut(text);
    let divides = |at: usize| {
        let next = unit[at + 1..].chars().next();
        digits.is_empty()
            || unit[..at].ends_with(char::is_whitespace)
            || next.is_none_or(|next| !next.is_ascii_alphabetic())
    };
    PATH_UNITS.contains(&unit)
        || unit.char_indices().any(|(at, sign)| match sign {
            '+' | '*' | '×' | '·' | '÷' | '−' | '(' => true,
            '-' | '/' => divides(at),
            _ => false,
        })
}

/// Collects the texts where the schema has a quantity.
fn find(
    tree: &Value,
    schema: &Value,
    steps: &mut Vec<String>,
    field: &mut String,
    places: &mut Vec<Place>,
) {
    let Some((quantity, schema)) = fitting(schema, tree) else {
        return;
    };
    let mut within = |step: String, name: &str, value: &Value, schema: &Value| {
        let length = field.len();
        field.push_str(if length == 0 { "" } else { "." });
        field.push_str(name);
        steps.push(step);
        find(value, schema, steps, field, places);
        steps.pop();
        field.truncate(length);
    };
    match (tree, quantity) {
        (Value::String(text), Some(quantity)) => places.push(Place {
            steps: steps.clone(),
            field: field.clone(),
            quantity,
            written: text.clone(),
        }),
        (Value::Array(list), _) => {
            let items = schema.get("items").unwrap_or(schema);
            for (at, item) in list.iter().enumerate() {
                let name = item.get("name").and_then(Value::as_str);
                let at = at.to_string();
                within(at.clone(), name.unwrap_or(&at), item, items);
            }
        }
        (Value::Object(map), _) => {
            for (key, value) in map.iter().filter(|(key, _)| *key != FACTS) {
                if let Some(schema) = schema.get("properties").and_then(|all| all.get(key)) {
                    within(key.clone(), key, value, schema);
                }
            }
        }
        _ => {}
    }
}

/// The part of a schema that fits a value: the quantity, if it is one, and the schema of its parts.
fn fitting<'a>(schema: &'a Value, value: &Value) -> Option<(Option<Quantity>, &'a Value)> {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let quantity = name.strip_prefix("#/$defs/").and_then(Quantity::named);
        return match quantity {
            Some(quantity) if !value.is_object() => Some((Some(quantity), schema)),
            Some(_) => None,
            None => fitting(SCHEMA.pointer(name.strip_prefix('#')?)?, value),
        };
    }
    if let Some(Value::Array(choices)) = schema.get("anyOf").or_else(|| schema.get("oneOf")) {
        let matching = || choices.iter().filter(|choice| is_kind(choice, value));
        let complete = |choice: &&Value| states_all(choice, value);
        let choice = matching().find(complete).or_else(|| matching().next())?;
        return fitting(choice, value);
    }
    let is_container = match value {
        Value::Object(_) => schema.get("properties").is_some(),
        Value::Array(_) => schema.get("items").is_some(),
        _ => false,
    };
    is_container.then_some((None, schema))
}

/// True if a choice of a schema is for this value: of the same `kind` if it has one.
fn is_kind(choice: &Value, value: &Value) -> bool {
    match choice.pointer("/properties/kind/const") {
        Some(kind) => value.get("kind") == Some(kind),
        None => fitting(choice, value).is_some(),
    }
}

/// True if a choice of a schema has every field of a value.
fn states_all(choice: &Value, value: &Value) -> bool {
    let fields = value.as_object().into_iter().flat_map(Map::keys);
    match choice.get("properties") {
        Some(properties) => fields.into_iter().all(|key| properties.get(key).is_some()),
        None => true,
    }
}

fn at<'a>(tree: &'a mut Value, steps: &[String]) -> Option<&'a mut Value> {
    steps.iter().try_fold(tree, |here, step| match here {
        Value::Object(map) => map.get_mut(step),
        Value::Array(list) => list.get_mut(step.parse::<usize>().ok()?),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use crate::tree::from_toml;
    use ackclock_spec::files::NoFiles;

    /// Two flows of 40 ms and 100 ms over a link of 10 Mbit/s.
    const TWO_FLOWS: &str = r#"
        schema = 1
        duration = "300 RTT"
        warmup = "10 * ms_of_warmup"
        [values]
        half = "rtt / 2"
        rtt = "40 ms"
        ms_of_warmup = "100 ms"
        buffer = 0.5
        [[hops]]
        name = "b"
        link = { kind = "constant", rate = "10 Mbit/s" }
        queue = { kind = "droptail", limit = "0.5 BDP" }
        delay = "half"
        [[hops]]
        name = "back"
        link = { kind = "constant", rate = "100 Mbit/s" }
        queue = { kind = "droptail", limit = "unlimited" }
        delay = "20 ms"
        [[flows]]
        name = "near"
        route = ["b"]
        return = ["back"]
        start = "5 RTT"
        transport = { kind = "tcp", control = { kind = "cubic" } }
        [[flows]]
        name = "far"
        route = ["b"]
        return = ["back"]
        access_delay = ["40 ms", "rtt + half"]
        count = 2
        transport = { kind = "tcp", control = { kind = "reno" } }
    "#;

    fn read(text: &str, assignments: &[&str]) -> Result<Scenario> {
        Scenario::from_toml(text, assignments, &NoFiles)
    }

    #[test]
    fn quantities_of_the_path_are_of_the_path() {
        let scenario = read(TWO_FLOWS, &[]).unwrap();
        let resolved = |pointer: &str| scenario.resolved.pointer(pointer).unwrap();
        // The queue: 10 Mbit/s times the smaller 40 ms, halved.
        assert_eq!(resolved("/hops/0/queue/limit"), "25000 bytes");
        assert_eq!(resolved("/hops/0/delay"), "20 ms");
        // The run: 300 times the longest, 40 ms + 60 ms.
        assert_eq!(resolved("/duration"), "30 s");
        assert_eq!(resolved("/warmup"), "1 s");
        assert_eq!(resolved("/flows/0/start"), "200 ms");
        assert_eq!(
            resolved("/flows/1/access_delay"),
            &serde_json::json!(["40 ms", "60 ms"])
        );
        assert_eq!(scenario.resolved.get("values"), None);
        let derived: Vec<(&str, &str)> = scenario
            .derived
            .iter()
            .map(|derived| (derived.field.as_str(), derived.value.as_str()))
            .collect();
        assert_eq!(
            derived,
            [
                ("values.half", "20 ms"),
                ("hops.b.delay", "20 ms"),
                ("flows.far.access_delay.1", "60 ms"),
                ("duration", "30 s"),
                ("warmup", "1 s"),
                ("hops.b.queue.limit", "25000 bytes"),
                ("flows.near.start", "200 ms"),
            ]
        );
        let of_queue = &scenario.derived[5];
        assert_eq!(of_queue.written, "0.5 BDP");
        assert_eq!(of_queue.sources, ["BDP = 10 Mbit/s × 40 ms (flow near)"]);
    }

    #[test]
    fn the_resolved_form_needs_no_derivation() {
        let scenario = read(TWO_FLOWS, &[]).unwrap();
        let again = Scenario::from_tree(&scenario.resolved, &NoFiles).unwrap();
        assert_eq!(again.resolved, scenario.resolved);
        assert_eq!(again.derived, []);
    }

    #[test]
    fn values_are_assigned_like_fields() {
        for (assignment, limit) in [
            ("values.rtt=80 ms", "\"37500 bytes\""), // half of 10 Mbit/s times (40 + 20) ms
            ("hops.b.queue.limit=2 BDP", "\"100000 bytes\""),
            ("hops.b.queue.limit=buffer * 30 packets", "\"15 packets\""),
            ("hops.b.queue.limit=2 RTT", "\"80 ms\""),
            ("hops.b.queue.limit=(1 BDP + 1 kB) / 2", "\"25500 bytes\""),
            ("hops.b.queue.limit=rtt", "\"40 ms\""),
        ] {
            let scenario = read(TWO_FLOWS, &[assignment]).unwrap();
            let limit_read = scenario.resolved.pointer("/hops/0/queue/limit").unwrap();
            assert_eq!(limit_read.to_string(), limit, "{assignment}");
        }
    }

    #[test]
    fn what_has_no_meaning_is_refused_by_name() {
        for (assignment, key) in [
            ("hops.b.delay=0.5 RTT", "contradiction hops.b.delay"),
            ("hops.b.link.rate=1 BDP", "contradiction hops.b.link.rate"),
            (
                "flows.far.access_delay=1 RTT",
                "contradiction flows.far.access_delay",
            ),
            ("flows.far.start=1 RTT", "contradiction flows.far.start"),
            ("duration=3 BDP", "contradiction duration"),
            ("values.rtt=1 RTT", "contradiction values.rtt"),
            ("values.rtt=2 * half", "contradiction values.half"),
            ("values.ms=1 s", "contradiction values.ms"),
            ("values.rtt=true", "wrong-type values.rtt"),
            ("values.rtt=40 msec / 2", "wrong-unit values.rtt"),
            ("values=3", "wrong-type values"),
            ("hops.b.queue.limit=1 bdp", "wrong-unit hops.b.queue.limit"),
            (
                "hops.b.queue.limit=2 * bufer",
                "unknown-name hops.b.queue.limit",
            ),
            (
                "hops.b.queue.limit=bufer",
                "unknown-name hops.b.queue.limit",
            ),
            (
                "hops.b.queue.limit=2 * buffer",
                "no-unit hops.b.queue.limit",
            ),
            (
                "hops.b.queue.limit=1 BDP / 1 s",
                "wrong-unit hops.b.queue.limit",
            ),
            ("hops.b.delay=rtt - 1 s", "out-of-range hops.b.delay"),
            ("hops.b.delay=rtt / 0", "out-of-range hops.b.delay"),
            ("hops.b.delay=(rtt", "syntax hops.b.delay"),
        ] {
            let error = read(TWO_FLOWS, &[assignment]).unwrap_err();
            assert_eq!(error.key(), key, "{assignment}: {error}");
        }
    }

    #[test]
    fn mistakes_are_told_together_and_once() {
        let keys = |assignments: &[&str]| -> Vec<String> {
            let error = read(TWO_FLOWS, assignments).unwrap_err();
            error.all().map(Error::key).collect()
        };
        assert_eq!(
            keys(&["hops.b.queue.limit=2 * x", "hops.back.delay=3", "seed=-1"]),
            [
                "unknown-name hops.b.queue.limit",
                "out-of-range seed",
                "no-unit hops.back.delay"
            ]
        );
        // A value on which others depend is told alone.
        let wrong = ["values.rtt=40 Msec * 1", "values.other=3 x", "seed=-1"];
        assert_eq!(
            keys(&wrong),
            ["wrong-unit values.rtt", "wrong-unit values.other"]
        );
    }

    #[test]
    fn a_hop_that_nothing_answers_over_has_no_bdp() {
        let text = r#"
            schema = 1
            duration = "1 s"
            [[hops]]
            name = "b"
            link = { kind = "constant", rate = "10 Mbit/s" }
            queue = { kind = "droptail", limit = "1 BDP" }
            [[flows]]
            route = ["b"]
            transport = { kind = "udp" }
            traffic = { kind = "cbr", rate = "1 Mbit/s" }
        "#;
        let error = read(text, &[]).unwrap_err();
        assert_eq!(error.key(), "contradiction hops.b.queue.limit", "{error}");
        let error = read(text, &["hops.b.queue.limit=9 packets", "duration=9 RTT"]).unwrap_err();
        assert_eq!(error.key(), "contradiction duration", "{error}");
    }

    #[test]
    fn only_text_with_signs_or_names_is_computed() {
        assert!(from_toml(TWO_FLOWS).is_ok_and(|tree| may_derive(&tree)));
        for text in [
            "10 Mb/s",
            "45 Mbit/s",
            "-5 ms",
            "1e-3 s",
            "0.5 %",
            "unlimited",
            "traces",
            "1 bdp",
        ] {
            assert!(!is_expression(text), "{text}");
        }
        for text in [
            "1 BDP",
            "RTT",
            "rate/rtt",
            "40 ms/2",
            "40 ms - 1 ms",
            "2*x",
            "(x)",
            "1 kB + 2 kB",
        ] {
            assert!(is_expression(text), "{text}");
        }
    }
}
