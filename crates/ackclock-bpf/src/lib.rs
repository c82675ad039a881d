//! Congestion controls compiled for BPF, run without a kernel.
//!
//! A control for Linux (`struct tcp_congestion_ops`) is compiled once by clang into an object. The
//! kernel loads it, and this crate runs the same bytes. [`Program::read`] reads an object and fits
//! it to the [`layout`] of the fields that the engine knows. A [`Machine`] calls it. No clock, I/O,
//! threads or globals.

mod btf;
mod calls;
mod elf;
mod instruction;
mod join;
pub mod layout;
pub mod limits;
mod lines;
pub mod machine;
mod maps;
mod memory;
mod notes;
mod object;
pub mod program;
mod reader;
mod refusal;
mod relocation;
mod strings;
pub mod twin;

pub use machine::{Argument, Machine};
pub use program::{Callback, Parameter, Program};
pub use refusal::{Fault, Refusal, SourceLine};

pub use object::kernel_control;

/// Checks that an object is whole and within the [`limits`], so that whoever loads it can rely on
/// that. Whether the engine can run it is another question ([`Program::read`]).
///
/// # Errors
/// The first reason against it.
pub fn check(bytes: &[u8]) -> Result<(), Refusal> {
    object::Whole::read(bytes).map(drop)
}

impl Program {
    /// Reads an object (`.bpf.o`).
    ///
    /// # Errors
    /// The first reason why it cannot be run, with the line of the source if that is known.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        object::read(bytes)
    }
}
