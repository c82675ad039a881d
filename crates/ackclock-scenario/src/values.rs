//! The table `[values]` of a scenario: quantities by name, for expressions in its fields.

use ackclock_spec::error::{Code, Error, nearest};
use ackclock_spec::expression::{Amount, Expression, Fault, PATH_UNITS};
use ackclock_spec::limits::MISTAKES;
use ackclock_spec::quantity::{self, shown};
use serde::Serialize;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};

/// Name of the table.
pub(super) const VALUES: &str = "values";

/// A quantity that was computed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Derived {
    /// Path of the field.
    pub field: String,
    /// The text in the scenario.
    pub written: String,
    /// The quantity that it stands for.
    pub value: String,
    /// The quantity of each name in it, and where that comes from.
    pub sources: Vec<String>,
}

/// Words that fields accept in place of a quantity.
const WORDS: [&str; 2] = ["unlimited", "end"];

/// The quantities of the table.
#[derive(Default)]
pub(super) struct Values {
    computed: BTreeMap<String, Amount>,
    /// Names whose quantity could not be computed.
    broken: BTreeSet<String>,
}

/// A value that is not computed yet: its name, as written, and as an expression.
type Waiting = (String, Value, Expression);

/// Values in an order in which each can be computed from those before it.
struct Order {
    /// Number of values that each one names and that are not computed.
    lacking: Vec<usize>,
    /// Positions of the values that name each one.
    dependents: Vec<Vec<usize>>,
    /// Values that lack none; the first of the table comes first.
    ready: BinaryHeap<Reverse<usize>>,
}

impl Order {
    fn of(waiting: &[Option<Waiting>]) -> Self {
        let places: HashMap<&str, usize> = (0..)
            .zip(waiting.iter().flatten())
            .map(|(at, (name, ..))| (name.as_str(), at))
            .collect();
        let mut order = Order {
            lacking: vec![0; waiting.len()],
            dependents: vec![Vec::new(); waiting.len()],
            ready: BinaryHeap::new(),
        };
        for (at, (.., read)) in waiting.iter().flatten().enumerate() {
            for needed in read.names().iter().filter_map(|name| places.get(name)) {
                order.dependents[*needed].push(at);
                order.lacking[at] += 1;
            }
            if order.lacking[at] == 0 {
                order.ready.push(Reverse(at));
            }
        }
        order
    }

    /// The next value; the one before it has been computed.
    fn next(&mut self, before: Option<usize>) -> Option<usize> {
        for &dependent in before.into_iter().flat_map(|at| &self.dependents[at]) {
            self.lacking[dependent] -= 1;
            if self.lacking[dependent] == 0 {
                self.ready.push(Reverse(dependent));
            }
        }
        self.ready.pop().map(|Reverse(at)| at)
    }
}

impl Values {
    /// Reads the table; returns what was computed, and the mistakes.
    pub(super) fn read(table: Option<Value>) -> (Self, Vec<Derived>, Vec<Error>) {
        let (mut values, mut derived, mut mistakes) = (Values::default(), Vec::new(), Vec::new());
        let table = match table {
            None => return (values, derived, mistakes),
            Some(Value::Object(table)) => table,
            Some(other) => {
                let remedy = "is not a table; for example { rtt = \"40 ms\" }";
                let mistake = Error::new(VALUES, &other, remedy).coded(Code::WrongType);
                return (values, derived, vec![mistake]);
            }
        };
        let mut waiting: Vec<Option<Waiting>> = Vec::new();
        for (name, value) in table {
            match check_name(&name).and_then(|()| expression(&value)) {
                Ok(read) => waiting.push(Some((name, value, read))),
                Err(fault) => {
                    mistakes.push(refusal(&name, &value, &fault));
                    values.broken.insert(name);
                }
            }
        }
        let mut order = Order::of(&waiting);
        let mut computed = None;
        while let Some(ready) = order.next(computed)
            && let Some((name, value, read)) = waiting[ready].take()
        {
            computed = Some(ready);
            match values.compute(&read) {
                Ok(amount) => {
                    derived.extend(values.derived(&name, &value, &read, &amount));
                    values.computed.insert(name, amount);
                }
                Err(fault) => {
                    if !values.is_spoilt(&read) && (mistakes.len() as u64) < MISTAKES {
                        mistakes.push(refusal(&name, &value, &fault));
                    }
                    values.broken.insert(name);
                }
            }
        }
        for (name, value, _) in waiting.into_iter().flatten() {
            let sentence = "depends on itself; give one of the values a quantity";
            let fault = Fault::new(Code::Contradiction, sentence);
            mistakes.push(refusal(&name, &value, &fault));
            values.broken.insert(name);
        }
        mistakes.truncate(MISTAKES as usize);
        (values, derived, mistakes)
    }

    /// The quantity of a name, or why there is none.
    pub(super) fn get(&self, name: &str) -> Result<Amount, Fault> {
        if let Some(amount) = self.computed.get(name) {
            return Ok(*amount);
        }
        // Where many are wrong, not all are reported.
        let is_reported = (self.broken.len() as u64) < MISTAKES;
        let names = self.computed.keys().filter(|_| is_reported);
        let names: Vec<&str> = names.map(String::as_str).collect();
        let remedy = match (nearest(name, &names), &names[..]) {
            (Some(near), _) => format!("did you mean \"{near}\"?"),
            (None, []) => format!("give it a quantity under [values]: {name} = \"40 ms\""),
            (None, names) => format!("choose from {}, BDP, RTT", names.join(", ")),
        };
        let sentence = format!("has the unknown value \"{name}\"; {remedy}");
        Err(Fault::new(Code::UnknownName, sentence))
    }

    /// True if a name of the table could not be computed.
    pub(super) fn is_broken(&self) -> bool {
        !self.broken.is_empty()
    }

    /// True for text that may be the name of a value: a word, if there are values at all.
    pub(super) fn may_be(&self, text: &str) -> bool {
        let any = !self.computed.is_empty() || self.is_broken();
        any && is_name(text) && !WORDS.contains(&text)
    }

    /// The quantity of each name of an expression.
    pub(super) fn sources_of(&self, read: &Expression) -> Vec<String> {
        let of = |name: &str| Some(format!("{name} = {}", shown(self.computed.get(name)?)));
        read.names().into_iter().filter_map(of).collect()
    }

    /// True if an expression has a name that could not be computed.
    fn is_spoilt(&self, read: &Expression) -> bool {
        read.names().iter().any(|name| self.broken.contains(*name))
    }

    fn compute(&self, read: &Expression) -> Result<Amount, Fault> {
        read.value(&|name| match PATH_UNITS.contains(&name) {
            true => {
                let sentence = format!(
                    "is in {name}, but a value belongs to no hop or flow; write {name} in the field"
                );
                Err(Fault::new(Code::Contradiction, sentence))
            }
            false => self.get(name),
        })
    }

    /// A value of the table that is an expression of others.
    fn derived(
        &self,
        name: &str,
        value: &Value,
        read: &Expression,
        amount: &Amount,
    ) -> Option<Derived> {
        let written = value.as_str().filter(|_| !read.is_plain())?;
        Some(Derived {
            field: format!("{VALUES}.{name}"),
            written: written.into(),
            value: shown(amount),
            sources: self.sources_of(read),
        })
    }
}

fn refusal(name: &str, value: &Value, fault: &Fault) -> Error {
    Error::new(&format!("{VALUES}.{name}"), value, &fault.sentence).coded(fault.code)
}

fn is_name(text: &str) -> bool {
    let of_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    !text.is_empty()
        && text.chars().all(of_name)
        && !text.starts_with(|character: char| character.is_ascii_digit())
}

/// Refuses a name that could be taken for something else in an expression.
fn check_name(name: &str) -> Result<(), Fault> {
    let is_unit = PATH_UNITS.contains(&name) || quantity::unit_at(name).is_some();
    let sentence = if !is_name(name) {
        "has a name with other characters than letters, digits and _; for example base_rtt"
    } else if is_unit || WORDS.contains(&name) {
        "has a name that is a unit or a word of scenarios; choose another"
    } else {
        return Ok(());
    };
    Err(Fault::new(Code::Contradiction, sentence))
}

/// Reads a value of the table: text, or a plain number.
fn expression(value: &Value) -> Result<Expression, Fault> {
    match value {
        Value::String(text) => Expression::read(text),
        Value::Number(number) => Expression::read(&number.to_string()),
        _ => {
            let sentence = "is not a quantity; for example \"40 ms\"";
            Err(Fault::new(Code::WrongType, sentence))
        }
    }
}
