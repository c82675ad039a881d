//! Programs that stand in for congestion controls: objects for the Linux kernel, classes in Python.
//!
//! The file `control.rs` tells a program what the kernel would. `shadow.rs` compares a control of
//! the engine with the recorded calls of a program. A build without the cargo feature `programs`
//! knows such controls by name and refuses them (`stubs.rs`).

#[cfg(not(feature = "programs"))]
pub use self::stubs::{Kernel, Python, push_calls};
#[cfg(feature = "programs")]
pub use self::{calls::push_calls, kernel::Kernel, python::Python};

#[cfg(feature = "programs")]
mod calls;
#[cfg(feature = "programs")]
pub mod control;
#[cfg(feature = "programs")]
pub mod kernel;
#[cfg(feature = "programs")]
pub mod python;
#[cfg(feature = "programs")]
pub mod shadow;
#[cfg(any(test, not(feature = "programs")))]
mod stubs;
