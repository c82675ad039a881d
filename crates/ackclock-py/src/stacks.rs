//! Stacks that a command, a program or an installed package brings.

use crate::InputError;
use ackclock_spec::files::Files;
use ackclock_stacks::brought::{self, Origin};
use ackclock_stacks::host;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::any::Any;
use std::cell::RefCell;
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

/// Files, and the stacks of installed packages beside those that are here.
pub struct Installed<F> {
    files: F,
    /// The first error of a package.
    error: RefCell<Option<PyErr>>,
}

impl<F> Installed<F> {
    pub const fn new(files: F) -> Self {
        Installed {
            files,
            error: RefCell::new(None),
        }
    }

    /// Raises the first error of a package.
    pub fn finish(self) -> PyResult<()> {
        self.error.into_inner().map_or(Ok(()), Err)
    }

    /// Brings the stack that a package announces under that name, if there is one.
    fn find(&self, name: &str) {
        let looked = Python::attach(|py| {
            let module = py.import("ackclock.stacks")?;
            module.call_method1("find", (name,)).map(drop)
        });
        if let Err(error) = looked {
            self.error.borrow_mut().get_or_insert(error);
        }
    }
}

impl<F: Files> Files for Installed<F> {
    fn read(&self, name: &str) -> Result<String, String> {
        self.files.read(name)
    }
    fn object(&self, name: &str) -> Result<Vec<u8>, String> {
        self.files.object(name)
    }
    fn class(&self, name: &str, class: &str) -> Result<Box<dyn Any>, String> {
        self.files.class(name, class)
    }
    fn stacks(&self) -> Vec<String> {
        self.files.stacks()
    }
    fn stack(&self, name: &str) -> Option<Box<dyn Any>> {
        self.files.stack(name).or_else(|| {
            self.find(name);
            self.files.stack(name)
        })
    }
}
