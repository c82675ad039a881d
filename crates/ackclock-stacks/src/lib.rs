//! Transports that others wrote, in virtual time: each is an
//! [`Endpoint`](ackclock_core::transport::endpoint::Endpoint), as it is.
//!
//! [`Bringing`] adds them to the files of a scenario, which is how an element of kind `quic` gets
//! its implementation. [`guard`] protects the engine from one that panics or never ends. The cargo
//! feature `quinn` is for the one in Rust.

use ackclock_core::transport::stack::Stack;
use ackclock_spec::files::Files;
use std::any::Any;
use std::sync::Arc;

pub mod guard;
#[cfg(feature = "quinn")]
pub mod quinn;

/// Names of the stacks of this build.
const NAMES: &[&str] = &[
    #[cfg(feature = "quinn")]
    "quinn",
];

/// Returns the stack of that name, if it is in this build.
fn stack(name: &str) -> Option<Arc<dyn Stack>> {
    match name {
        #[cfg(feature = "quinn")]
        "quinn" => Some(quinn::stack()),
        _ => None,
    }
}

/// Files, and the stacks of this build.
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
    fn stacks(&self) -> &[&str] {
        NAMES
    }
    fn stack(&self, name: &str) -> Option<Box<dyn Any>> {
        Some(Box::new(stack(name)?))
    }
}
