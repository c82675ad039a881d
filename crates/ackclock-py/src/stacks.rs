//! Stacks that a command or a program brings.

use crate::InputError;
use ackclock_stacks::brought::{self, Origin};
use ackclock_stacks::host;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// A library, a program with its arguments and the library that it serves, or the address of a
/// table.
#[derive(FromPyObject)]
pub enum Given {
    Table(usize),
    Program(Vec<OsString>, PathBuf),
    Library(PathBuf),
}

impl From<Given> for Origin {
    fn from(given: Given) -> Self {
        match given {
            Given::Library(path) => Origin::Library(path),
            Given::Program(command, library) => Origin::Program(command, library),
            Given::Table(address) => Origin::Table(address),
        }
    }
}

/// Brings a stack. Returns its name, version and controls, and whether its objects share state.
#[pyfunction]
pub fn bring_stack(
    py: Python<'_>,
    name: &str,
    origin: Given,
    digest: &str,
) -> PyResult<(String, String, Vec<String>, bool)> {
    let brought = py.detach(|| brought::bring(name, origin.into(), digest));
    let stack = brought.map_err(|reason| InputError::new_err(("file", name.to_owned(), reason)))?;
    Ok((
        stack.name,
        stack.version,
        stack.controls,
        stack.process_state,
    ))
}

/// Returns the names of the stacks in the engine.
#[pyfunction]
pub fn built_in_stacks() -> &'static [&'static str] {
    ackclock_stacks::NAMES
}

/// Serves the stack of a library on standard input.
#[pyfunction]
pub fn serve_stack(py: Python<'_>, library: PathBuf) -> PyResult<()> {
    py.detach(|| host::serve(&library))
        .map_err(|error| PyOSError::new_err(error.to_string()))
}
