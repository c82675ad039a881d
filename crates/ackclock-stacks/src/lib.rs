//! Transports that others wrote, in virtual time: each is an
//! [`Endpoint`](ackclock_core::transport::endpoint::Endpoint), as it is.
//!
//! [`Bringing`] adds them to the files of a scenario, which is how an element of kind `quic` gets
//! its implementation. The cargo feature `quinn` is for the one in Rust; [`guard`] protects the
//! engine from one that panics or never ends. Any other comes through the border of
//! `include/ackclock_stack.h`: from a shared library, from a table that a program makes, or from a
//! process of its own ([`brought`]).

use ackclock_core::transport::stack::Stack;
use ackclock_spec::files::Files;
use std::any::Any;
use std::sync::Arc;

mod abi;
pub mod brought;
pub mod guard;
pub mod host;
mod library;
mod object;
#[cfg(feature = "quinn")]
pub mod quinn;
mod side;

/// Names of the stacks of this build.
pub const NAMES: &[&str] = &[
    #[cfg(feature = "quinn")]
    "quinn",
];

/// Returns the stack of that name, if it is in this build or has been brought.
fn stack(name: &str) -> Option<Arc<dyn Stack>> {
    match name {
        #[cfg(feature = "quinn")]
        "quinn" => Some(quinn::stack()),
        _ => brought::stack(name),
    }
}

/// Files, and the stacks that are here.
#[derive(Debug)]
pub struct Bringing<F>(pub F);

impl<F: Files> Files for Bringing<F> {
    fn read(&self, name: &str) -> Result<String, String> {
        self.0.read(name)
    }
    fn object(&self, name: &str) -> Result<Vec<u8>, String> {
        self.0.object(name)
    }
    fn class(&self, name: &str, class: &str) -> Result<Box<dyn Any>, String> {
        self.0.class(name, class)
    }
    fn stacks(&self) -> Vec<String> {
        let built_in = NAMES.iter().map(|name| String::from(*name));
        built_in.chain(brought::names()).collect()
    }
    fn stack(&self, name: &str) -> Option<Box<dyn Any>> {
        Some(Box::new(stack(name)?))
    }
}
