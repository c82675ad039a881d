//! Limits on what others wrote, and the files that are read within them.

use crate::InputError;
use ackclock_emu::files::{self, Unread};
use ackclock_spec::error;
use ackclock_spec::limits::{LIMITS, bytes};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io;
use std::path::{Path, PathBuf};

/// Name, number, number in words, and what is limited.
#[pyfunction]
pub fn limits() -> Vec<(&'static str, u64, String, &'static str)> {
    let row = |limit: &ackclock_spec::limits::Limit| {
        (limit.name, limit.most, limit.words(), limit.about())
    };
    LIMITS.iter().map(row).collect()
}

#[pyfunction]
pub fn cut(message: &str) -> String {
    error::cut(message)
}

#[pyfunction]
pub fn read_file(py: Python<'_>, path: PathBuf, most: u64) -> PyResult<Bound<'_, PyBytes>> {
    let content = py.detach(|| files::read(&path, most));
    let content = content.map_err(|why| refusal(py, &path, why))?;
    Ok(PyBytes::new(py, &content))
}

fn refusal(py: Python<'_>, path: &Path, why: Unread) -> PyErr {
    let remedy = match why {
        Unread::System(error) => return of_system(py, path, &error),
        Unread::NotRegular => "is not a regular file; save what it gives to one".to_owned(),
        Unread::TooLarge(most) => format!("is larger than {}, the most that is read", bytes(most)),
    };
    InputError::new_err(("file", path.display().to_string(), remedy))
}

/// Returns the exception that Python's own `open` raises.
fn of_system(py: Python<'_>, path: &Path, error: &io::Error) -> PyErr {
    let directory = || {
        let errno = py.import("errno")?;
        errno.getattr("EISDIR")?.extract::<i32>()
    };
    let made = || {
        let number = match error.raw_os_error() {
            None if error.kind() == io::ErrorKind::IsADirectory => directory()?,
            number => number.unwrap_or_default(),
        };
        let words = py.import("os")?.call_method1("strerror", (number,))?;
        Ok(PyOSError::new_err((
            number,
            words.unbind(),
            path.as_os_str().to_owned(),
        )))
    };
    made().unwrap_or_else(|failure: PyErr| failure)
}
