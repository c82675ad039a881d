//! Rate estimators. Named trees come in as JSON and traces of ACKs as buffers; estimates go out as
//! bytes.

use crate::{refuse, tree_of};
use ackclock_core::estimator::trace::{TracedAck, rates};
use ackclock_core::estimator::{EstimatorContext, EstimatorKind};
use ackclock_measure::rate_estimates::AskedEstimator;
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::choose;
use ackclock_spec::units::{Bytes, Span, Time};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// Reads estimators, each with its name in the request.
pub fn asked(estimators: Vec<(String, String)>) -> PyResult<Vec<AskedEstimator>> {
    let read = |(name, tree): (String, String)| {
        let chosen = choose::<EstimatorKind>(&tree_of(&tree)?, &NoFiles);
        let chosen = chosen.map_err(|error| refuse(error.within(&name).within("estimators")))?;
        Ok(AskedEstimator { name, chosen })
    };
    estimators.into_iter().map(read).collect()
}

#[pyfunction]
pub fn check_estimators(estimators: Vec<(String, String)>) -> PyResult<Vec<(String, String)>> {
    let resolved =
        |estimator: AskedEstimator| (estimator.name, estimator.chosen.resolved.to_string());
    Ok(asked(estimators)?.into_iter().map(resolved).collect())
}

/// Returns the estimate of each estimator after each ACK of a trace, in bit/s, as `{name: ("f8",
/// bytes)}`. Unknown values are NaN.
#[pyfunction]
#[pyo3(signature = (
    estimators, mss, *, time_s, ack, rtt_s, smoothed_rtt_s, cwnd_bytes, delivered_bytes
))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn rate_estimates<'py>(
    py: Python<'py>,
    estimators: Vec<(String, String)>,
    mss: u64,
    time_s: &Bound<'py, PyAny>,
    ack: &Bound<'py, PyAny>,
    rtt_s: &Bound<'py, PyAny>,
    smoothed_rtt_s: &Bound<'py, PyAny>,
    cwnd_bytes: &Bound<'py, PyAny>,
    delivered_bytes: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let asked = asked(estimators)?;
    let columns = Columns {
        time: values(py, time_s)?,
        ack: values(py, ack)?,
        rtt: values(py, rtt_s)?,
        smoothed_rtt: values(py, smoothed_rtt_s)?,
        cwnd: values(py, cwnd_bytes)?,
        delivered: values(py, delivered_bytes)?,
    };
    let context = EstimatorContext { mss: Bytes(mss) };
    let estimates = PyDict::new(py);
    for estimator in asked {
        let rates = py.detach(|| rates(estimator.chosen.build(context).as_mut(), columns.acks()));
        let bytes: Vec<u8> = rates
            .iter()
            .flat_map(|rate| (8.0 * rate).to_le_bytes())
            .collect();
        estimates.set_item(estimator.name, ("f8", PyBytes::new(py, &bytes)))?;
    }
    Ok(estimates)
}

/// A trace, column by column.
struct Columns {
    time: Vec<f64>,
    ack: Vec<u32>,
    rtt: Vec<f64>,
    smoothed_rtt: Vec<f64>,
    cwnd: Vec<f64>,
    delivered: Vec<f64>,
}

impl Columns {
    fn acks(&self) -> impl Iterator<Item = TracedAck> {
        let finite = |value: f64| (!value.is_nan()).then_some(value);
        (0..self.time.len()).map(move |row| TracedAck {
            at: Time::from_seconds(self.time[row]),
            number: self.ack[row],
            delivered: finite(self.delivered[row]).map(|bytes| Bytes(bytes as u64)),
            rtt: finite(self.rtt[row]).map(Span::from_seconds),
            smoothed_rtt: finite(self.smoothed_rtt[row]).map(Span::from_seconds),
            cwnd: Bytes(self.cwnd[row] as u64),
        })
    }
}

fn values<T: Element>(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    PyBuffer::get(array)?.to_vec(py)
}
