//! The floor under every element: what a parameter is made of, and how one is read, checked,
//! described and refused.
//!
//! * [`units`] are quantities with their unit in the type; [`quantity`] reads and writes them
//!   (`"45 Mbit/s"`), [`expression`] computes with them, [`unit_spelling`] guesses what was meant.
//! * [`parameters!`] defines a struct of parameters with their defaults. [`parse`] reads one from a
//!   tree and names every mistake in it ([`error`]), [`bounds`] checks values.
//!   [`tree`] finds values in trees, [`schema`] describes valid ones, [`files`] gives the text of
//!   the files that they name.
//! * A [`registry`] lists the elements of one kind. An element states facts, each of which may be
//!   unknown ([`stated`]).
//! * [`streams`] are the random numbers of a run, by name.
//! * [`limits`] are those on the size of what others wrote.
//!
//! Nothing here knows a packet, a hop or a scenario.

pub mod bounds;
pub mod error;
pub mod expression;
pub mod files;
pub mod limits;
pub mod parameters;
pub mod parse;
pub mod prelude;
pub mod quantity;
pub mod registry;
pub mod schema;
pub mod stated;
pub mod steps;
pub mod streams;
pub mod tree;
pub mod unit_spelling;
pub mod unit_table;
pub mod units;
