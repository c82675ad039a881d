//! Replaces the runs on systems without network namespaces.

use crate::LackingError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

fn lacking() -> PyErr {
    let sentence = "emulation needs Linux network namespaces; use Linux, or simulate";
    LackingError::new_err(("lacking", "", sentence))
}

#[pyfunction]
#[pyo3(signature = (*_arguments, **_options))]
pub fn prepare_emulation(
    _arguments: &Bound<'_, PyTuple>,
    _options: Option<&Bound<'_, PyDict>>,
) -> PyResult<String> {
    Err(lacking())
}

#[pyfunction]
#[pyo3(signature = (*_arguments, **_options))]
pub fn emulate(
    _arguments: &Bound<'_, PyTuple>,
    _options: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    Err(lacking())
}
