//! Stationary distributions of Markov chains. Arrays come in as buffers and go out as bytes.

use ackclock_markov::climb::Refused;
use ackclock_markov::{chain, channel, epochs, jumps};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

fn values<T: Element>(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    PyBuffer::get(array)?.to_vec(py)
}

fn indices(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let negative = |_| PyValueError::new_err("an index is negative");
    values::<i64>(py, array)?
        .into_iter()
        .map(|index| usize::try_from(index).map_err(negative))
        .collect()
}

/// Solves for the distribution without the interpreter's lock.
fn solved<'py>(
    py: Python<'py>,
    solve: impl Send + FnOnce() -> Result<Vec<f64>, Refused>,
) -> PyResult<Bound<'py, PyBytes>> {
    let refuse = |refused: Refused| PyValueError::new_err(refused.to_string());
    let law = py.detach(solve).map_err(refuse)?;
    PyBytes::new_with(py, size_of_val(law.as_slice()), |bytes| {
        for (place, value) in bytes.chunks_exact_mut(size_of::<f64>()).zip(&law) {
            place.copy_from_slice(&value.to_ne_bytes());
        }
        Ok(())
    })
}

#[pyfunction]
pub fn climbing_chains<'py>(
    py: Python<'py>,
    survive: &Bound<'py, PyAny>,
    lose: &Bound<'py, PyAny>,
    down: &Bound<'py, PyAny>,
    above: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (survive, lose, down) = (values(py, survive)?, values(py, lose)?, indices(py, down)?);
    let above: Vec<f64> = values(py, above)?;
    solved(py, || {
        chain::stationary_of_many(&survive, &lose, &down, &above)
    })
}

#[pyfunction]
pub fn climbing_chain_with_channel<'py>(
    py: Python<'py>,
    survive: &Bound<'py, PyAny>,
    lose: &Bound<'py, PyAny>,
    down: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (survive, lose): (Vec<f64>, Vec<f64>) = (values(py, survive)?, values(py, lose)?);
    let down = indices(py, down)?;
    let (survive, _) = survive.as_chunks();
    let (lose, _) = lose.as_chunks();
    solved(py, || {
        channel::stationary(survive, lose, &down).map(Vec::into_flattened)
    })
}

#[pyfunction]
pub fn epoch_chain<'py>(
    py: Python<'py>,
    offsets: &Bound<'py, PyAny>,
    targets: &Bound<'py, PyAny>,
    probabilities: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    of_sparse(py, (offsets, targets, probabilities), epochs::stationary)
}

#[pyfunction]
pub fn jumping_chain<'py>(
    py: Python<'py>,
    offsets: &Bound<'py, PyAny>,
    targets: &Bound<'py, PyAny>,
    probabilities: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    of_sparse(py, (offsets, targets, probabilities), jumps::stationary)
}

/// Solves a chain given by sparse rows: the offsets of the rows, and targets and probabilities of
/// the jumps.
fn of_sparse<'py>(
    py: Python<'py>,
    (offsets, targets, probabilities): (&Bound<'py, PyAny>, &Bound<'py, PyAny>, &Bound<'py, PyAny>),
    stationary: impl Fn(&[usize], &[usize], &[f64]) -> Result<Vec<f64>, Refused> + Send + Sync,
) -> PyResult<Bound<'py, PyBytes>> {
    let (offsets, targets) = (indices(py, offsets)?, indices(py, targets)?);
    let probabilities: Vec<f64> = values(py, probabilities)?;
    solved(py, || stationary(&offsets, &targets, &probabilities))
}
