//! One registry per kind of element: a list somebody can read from top to bottom.
//!
//! The parameters of an element are one struct. Its serde derive is the parser, its serialisation the resolved
//! form with all defaults, its JSON schema the reference page. [`Entry::of`] makes the record from the struct.

use crate::link::contender::Contender;
use crate::scenario::error::{Code, Error, Result};
use crate::scenario::files::Files;
use crate::streams::Streams;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::fmt::Debug;
use std::sync::Arc;

/// A kind of element: what its recipes make, and what they need for it.
pub trait Kind: 'static {
    /// What is made.
    type Product;
    /// What is needed to make one.
    type Context<'a>;
    /// As in an error message: "link", "queue".
    const NAME: &'static str;
    /// Everything registered, in reading order.
    fn entries() -> &'static [Entry<Self>]
    where
        Self: Sized;
}

/// The parameters of one element, and how to make it.
pub trait Recipe<K: Kind>: Debug + Send + Sync {
    /// Makes one.
    fn build(&self, context: K::Context<'_>) -> K::Product;
    /// The name of the hop whose link it measures, if it does.
    fn measures(&self) -> Option<&str> {
        None
    }
    /// How it contends for a medium, if it does.
    fn contends(&self) -> Option<&Contender> {
        None
    }
}

/// What a parameter struct says of its element.
pub trait Element<K: Kind>: Recipe<K> + Serialize + DeserializeOwned + JsonSchema + Clone + 'static {
    /// As written in a scenario's `kind`.
    const NAME: &'static str;
    /// As written in a figure.
    const LABEL: &'static str;
    /// One sentence.
    const SUMMARY: &'static str;
    /// RFC or paper.
    const REFERENCE: &'static str;

    /// Refuses what cannot be (fields relative to the struct), and reads the files it names.
    fn check(&mut self, files: &dyn Files) -> Result<()> {
        let _ = files;
        Ok(())
    }
}

/// The record of one element.
pub struct Entry<K: Kind> {
    /// As written in a scenario's `kind`.
    pub name: &'static str,
    /// As written in a figure.
    pub label: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// RFC or paper.
    pub reference: &'static str,
    /// JSON schema of the parameters, without `kind`.
    pub schema: fn() -> Value,
    parse: fn(Value, &dyn Files) -> Result<Chosen<K>>,
}

/// An element chosen in a scenario, with all its parameters.
pub struct Chosen<K: Kind> {
    /// Its registered name.
    pub name: &'static str,
    /// Its parameters, defaults filled in, `kind` included.
    pub resolved: Value,
    recipe: Arc<dyn Recipe<K>>,
}

impl<K: Kind> Clone for Chosen<K> {
    fn clone(&self) -> Self {
        Chosen {
            name: self.name,
            resolved: self.resolved.clone(),
            recipe: Arc::clone(&self.recipe),
        }
    }
}
impl<K: Kind> Debug for Chosen<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.resolved)
    }
}

impl<K: Kind> Chosen<K> {
    /// Makes one.
    pub fn build(&self, context: K::Context<'_>) -> K::Product {
        self.recipe.build(context)
    }
    /// See [`Recipe::measures`].
    pub fn measures(&self) -> Option<&str> {
        self.recipe.measures()
    }
    /// See [`Recipe::contends`].
    pub fn contends(&self) -> Option<&Contender> {
        self.recipe.contends()
    }
}

impl<K: Kind> Entry<K> {
    /// The record of the element whose parameters are `P`.
    pub const fn of<P: Element<K>>() -> Self {
        Entry {
            name: P::NAME,
            label: P::LABEL,
            summary: P::SUMMARY,
            reference: P::REFERENCE,
            schema: || schemars::schema_for!(P).to_value(),
            parse: |tree, files| {
                let mut parameters: P = crate::scenario::parse::from_tree(tree)?;
                parameters.check(files)?;
                let mut resolved = serde_json::Map::new();
                resolved.insert("kind".into(), P::NAME.into());
                if let Ok(Value::Object(rest)) = serde_json::to_value(&parameters) {
                    resolved.extend(rest);
                }
                Ok(Chosen {
                    name: P::NAME,
                    resolved: Value::Object(resolved),
                    recipe: Arc::new(parameters),
                })
            },
        }
    }
}

/// Reads `{ kind = "…", … }`. Errors name fields relative to `tree`.
pub fn choose<K: Kind>(tree: &Value, files: &dyn Files) -> Result<Chosen<K>> {
    let names = || K::entries().iter().map(|entry| entry.name);
    let Value::Object(map) = tree else {
        return Err(Error::new(
            "",
            tree,
            &format!(
                "is no {}; write a table, for example {{ kind = \"{}\" }}",
                K::NAME,
                names().next().unwrap_or("…")
            ),
        )
        .coded(Code::WrongType));
    };
    let mut map = map.clone();
    let kind = map.remove("kind").ok_or_else(|| {
        Error::missing(
            "kind",
            &format!(
                "say which {}: one of {}",
                K::NAME,
                names().collect::<Vec<_>>().join(", ")
            ),
        )
    })?;
    let entry = kind
        .as_str()
        .and_then(|name| K::entries().iter().find(|entry| entry.name == name))
        .ok_or_else(|| Error::unknown_name("kind", &kind, K::NAME, names()))?;
    (entry.parse)(Value::Object(map), files)
}

/// What the builder of a random element gets: the run's streams and the name of the place it is built for
/// (`hop/bottleneck/link`), which is also the prefix of its streams' names.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// All randomness of the run.
    pub streams: &'a Streams,
    /// Where the element stands.
    pub name: &'a str,
}

impl Place<'_> {
    /// The stream of this place.
    pub fn stream(&self) -> crate::streams::Stream {
        self.streams.stream(self.name)
    }
}
