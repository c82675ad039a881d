//! One registry per kind of element: a list that can be read from top to bottom.
//!
//! The parameters of an element are one struct. Its serde derive is the parser, its serialisation
//! the resolved form with all defaults, and its JSON schema the reference page. [`Entry::of`] makes
//! the record from the struct.
//!
//! An element also states facts about itself, on which other code may rely without knowing its
//! parameters. The facts are computed from the parameters and stand next to them in the resolved
//! form, under [`FACTS`].

use crate::error::{Code, Error, Result};
use crate::files::Files;
use crate::parse;
use crate::streams::Streams;
use crate::tree::to_tree;
use schemars::JsonSchema;
use serde::{Serialize, Serializer, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

pub mod samples;

/// Name of the field of an element's resolved form that holds its facts.
pub const FACTS: &str = "facts";

/// The facts that elements of one kind state about themselves. In the default, every field is
/// unknown.
pub trait Facts: Serialize + JsonSchema + Clone + Debug + Default + Send + Sync + 'static {}
impl<T: Serialize + JsonSchema + Clone + Debug + Default + Send + Sync + 'static> Facts for T {}

/// The facts of a kind whose elements have nothing to state. The resolved form leaves them out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NoFacts {}

/// A kind of element: the type that its factories make, and the context that they need.
pub trait Kind: Sized + 'static {
    /// Type that a factory makes.
    type Product;
    /// Context that a factory needs.
    type Context<'a>;
    /// Facts that an element states about itself.
    type Facts: Facts;
    /// Name in an error message: "link", "queue".
    const NAME: &'static str;
    /// Name in the catalogue and on the command line: "links", "queues".
    const PLURAL: &'static str;
    /// All registered elements, in reading order.
    const ENTRIES: &'static [Entry<Self>];
}

/// The parameters of one element, which can make it.
pub trait Factory<K: Kind>: Any + Debug + Send + Sync {
    /// Makes the element, which [`Factory::refusal`] does not refuse.
    fn build(&self, context: K::Context<'_>) -> K::Product;
    /// Returns the reason why the engine cannot make the element with these parameters, relative to
    /// them; `None` if it can.
    fn refusal(&self) -> Option<Error> {
        None
    }
    /// Returns true if what it makes acts on random numbers, so that replicates differ by it. A
    /// hash that only spreads flows over queues does not count, and a program is not asked.
    fn draws(&self) -> bool {
        false
    }
}

/// An element as its parameter struct describes it.
pub trait Element<K: Kind>: Serialize + JsonSchema + Clone + Debug + Send + Sync + 'static {
    /// Name in a scenario's `kind`.
    const NAME: &'static str;
    /// Label in a figure.
    const LABEL: &'static str;
    /// One sentence.
    const SUMMARY: &'static str;
    /// RFC or paper.
    const REFERENCE: &'static str;

    /// Refuses invalid parameters, all that there are ([`every`](crate::error::every)),
    /// and reads the files that they name. Errors name fields relative to the struct.
    fn check(&mut self, files: &dyn Files) -> Result<()> {
        let _ = files;
        Ok(())
    }

    /// Returns the facts of an element with these parameters, which have been checked. A fact that
    /// is not stated is unknown.
    fn facts(&self) -> K::Facts {
        K::Facts::default()
    }
}

/// An element whose parameters serde alone cannot read, because some set the defaults of others.
pub trait ReadParameters<K: Kind>: Element<K> {
    /// Reads and checks parameters, without `kind` and facts.
    ///
    /// # Errors
    /// Every field that is missing, unknown or invalid, relative to `tree`.
    fn read(tree: Value, files: &dyn Files) -> Result<Self>;
}

/// The record of one element.
pub struct Entry<K: Kind> {
    /// Name in a scenario's `kind`.
    pub name: &'static str,
    /// Label in a figure.
    pub label: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// RFC or paper.
    pub reference: &'static str,
    /// True if the engine can make it whatever its parameters; otherwise a real system runs it.
    pub simulated: bool,
    /// Returns the JSON schema of the parameters, without `kind`.
    pub schema: fn() -> Value,
    parse: Parse<K>,
}

/// Reads the parameters of an element and checks them.
type Parse<K> = fn(Value, &dyn Files) -> Result<Selection<K>>;

/// An element chosen in a scenario, with all its parameters.
pub struct Selection<K: Kind> {
    /// Its registered name.
    pub name: &'static str,
    /// Its parameters, defaults filled in, `kind` and [`FACTS`] included.
    pub resolved: Value,
    /// Facts that it states about itself.
    pub facts: K::Facts,
    recipe: Arc<dyn Factory<K>>,
}

impl<K: Kind> Clone for Selection<K> {
    fn clone(&self) -> Self {
        Selection {
            name: self.name,
            resolved: self.resolved.clone(),
            facts: self.facts.clone(),
            recipe: self.recipe.clone(),
        }
    }
}
impl<K: Kind> Debug for Selection<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.resolved)
    }
}

impl<K: Kind> Serialize for Selection<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.resolved.serialize(serializer)
    }
}

impl<K: Kind> Selection<K> {
    /// Chooses an element with parameters that have been checked.
    pub fn of<P: Element<K> + Factory<K>>(parameters: P) -> Self {
        let facts = parameters.facts();
        Selection {
            name: P::NAME,
            resolved: resolved(P::NAME, to_tree(&parameters), to_tree(&facts)),
            facts,
            recipe: Arc::new(parameters),
        }
    }

    /// Returns its parameters if it is the element whose parameters are `P`.
    pub fn parameters<P: Element<K>>(&self) -> Option<&P> {
        let parameters: &dyn Any = &*self.recipe;
        parameters.downcast_ref()
    }

    /// Makes the element, which must be [simulated](Selection::is_simulated).
    pub fn build(&self, context: K::Context<'_>) -> K::Product {
        self.recipe.build(context)
    }

    /// True if the engine can make it; otherwise only a real system runs it.
    pub fn is_simulated(&self) -> bool {
        self.refusal().is_none()
    }

    /// Returns the reason why the engine cannot make it, relative to its parameters; `None` if it
    /// can.
    pub fn refusal(&self) -> Option<Error> {
        self.recipe.refusal()
    }

    /// True if it may act on random numbers: see [`Factory::draws`].
    pub fn draws(&self) -> bool {
        self.recipe.draws()
    }
}

impl<K: Kind> Entry<K> {
    /// Reads the parameters of this element, without `kind` and facts. Errors name fields relative
    /// to `parameters`.
    ///
    /// # Errors
    /// Every field that is missing, unknown or invalid.
    pub fn read(&self, parameters: Value, files: &dyn Files) -> Result<Selection<K>> {
        (self.parse)(parameters, files)
    }

    /// Returns the record of the element whose parameters are `P`.
    pub const fn of<P: Element<K> + Factory<K> + DeserializeOwned>() -> Self {
        Entry::parsed_by::<P>(selected::<K, P>)
    }

    /// Returns the record of an element that reads its parameters `P` itself.
    pub const fn of_reading<P: ReadParameters<K> + Factory<K>>() -> Self {
        Entry::parsed_by::<P>(|tree, files| P::read(tree, files).map(Selection::of))
    }

    const fn parsed_by<P: Element<K>>(parse: Parse<K>) -> Self {
        Entry {
            name: P::NAME,
            label: P::LABEL,
            summary: P::SUMMARY,
            reference: P::REFERENCE,
            simulated: true,
            schema: || schemars::schema_for!(P).to_value(),
            parse,
        }
    }

    /// Returns the record of an element that the engine can make with some parameters
    /// ([`Factory::refusal`]).
    pub const fn of_optional<P: Element<K> + Factory<K> + DeserializeOwned>() -> Self {
        Entry {
            simulated: false,
            ..Entry::of::<P>()
        }
    }
}

/// Reads parameters and checks them.
fn selected<K: Kind, P: Element<K> + Factory<K> + DeserializeOwned>(
    tree: Value,
    files: &dyn Files,
) -> Result<Selection<K>> {
    parse::checked(tree, |read: &mut P| read.check(files)).map(Selection::of)
}

/// Returns the resolved form of an element. Facts are the last field, unless the kind has none.
fn resolved(name: &str, parameters: Value, facts: Value) -> Value {
    let mut resolved = Map::new();
    resolved.insert("kind".into(), name.into());
    if let Value::Object(rest) = parameters {
        resolved.extend(rest);
    }
    if facts.as_object().is_some_and(|facts| !facts.is_empty()) {
        resolved.insert(FACTS.into(), facts);
    }
    resolved.into()
}

/// Reads `{ kind = "…", … }`. Also reads a resolved form, including its facts.
///
/// # Errors
/// Every field that is missing, unknown or invalid, relative to `tree`; and facts that differ from
/// the computed ones.
pub fn choose<K: Kind>(tree: &Value, files: &dyn Files) -> Result<Selection<K>> {
    let names = || K::ENTRIES.iter().map(|entry| entry.name);
    let Value::Object(map) = tree else {
        return Err(Error::new(
            "",
            tree,
            &format!(
                "is not a table; for example {{ kind = \"{}\", … }}",
                names().next().unwrap_or("…")
            ),
        )
        .coded(Code::WrongType));
    };
    let mut map = map.clone();
    let stated = map.shift_remove(FACTS);
    let kind = map.remove("kind").ok_or_else(|| {
        Error::missing(
            "kind",
            &format!("choose from {}", names().collect::<Vec<_>>().join(", ")),
        )
    })?;
    let entry = kind
        .as_str()
        .and_then(|name| K::ENTRIES.iter().find(|entry| entry.name == name))
        .ok_or_else(|| Error::unknown_name("kind", &kind, K::NAME, names()))?;
    let chosen = entry.read(Value::Object(map), files)?;
    if stated.is_some() && stated.as_ref() != chosen.resolved.get(FACTS) {
        return Err(Error::message(
            FACTS,
            "is computed from the parameters; remove it",
        ));
    }
    Ok(chosen)
}

/// Calls [`choose`] and names errors relative to the table that holds `tree` as `field`.
///
/// # Errors
/// Those of [`choose`].
pub fn choose_within<K: Kind>(
    field: &str,
    tree: &Value,
    files: &dyn Files,
) -> Result<Selection<K>> {
    choose(tree, files).map_err(|error| error.within(field))
}

/// Context of the factory of a random element: the run's streams and the place of the element
/// (`hop/bottleneck/link`). The place is the prefix of its streams' names.
#[derive(Clone, Copy, Debug)]
pub struct StreamScope<'a> {
    /// All random streams of the run.
    pub streams: &'a Streams,
    /// Place of the element.
    pub name: &'a str,
}

impl StreamScope<'_> {
    /// Returns the stream of this place.
    pub fn stream(&self) -> crate::streams::Stream {
        self.streams.stream(self.name)
    }
}
