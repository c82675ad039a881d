//! Congestion controls compiled for BPF, run without a kernel.
//!
//! A control for Linux (`struct tcp_congestion_ops`) is compiled once by clang into an object. The
//! kernel loads it, and this crate runs the same bytes. [`Program::read`] reads an object and fits
//! it to the [`layout`] of the fields that the engine knows. A [`Machine`] calls it. No clock, I/O,
//! threads or globals.

mod btf;
mod calls;
mod instruction;
mod join;
pub mod layout;
pub mod machine;
mod memory;
mod object;
pub mod program;
mod refusal;
mod relocation;
pub mod twin;

pub use machine::{Argument, Machine};
pub use program::{Callback, Parameter, Program};
pub use refusal::{Fault, Refusal, SourceLine};

pub use object::kernel_control;

impl Program {
    /// Reads an object (`.bpf.o`).
    ///
    /// # Errors
    /// The first reason why it cannot be run, with the line of the source if that is known.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        object::read(bytes)
    }
}
