//! Traces of capacity. A link's parameters come in as JSON; the trace's mean rates in successive
//! intervals go out as bytes.

use crate::{refuse, tree_of};
use ackclock_core::link::trace::Trace;
use ackclock_emu::files::Folder;
use ackclock_spec::error::Error;
use ackclock_spec::registry::Element;
use ackclock_spec::units::Span;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Returns the length of a trace in nanoseconds, and its mean rates in successive intervals in
/// bit/s. Without an interval there are no rates.
#[pyfunction]
#[pyo3(signature = (trace, folder, interval_ns=None))]
pub fn trace_rates<'py>(
    py: Python<'py>,
    trace: &str,
    folder: &str,
    interval_ns: Option<u64>,
) -> PyResult<(u64, Bound<'py, PyBytes>)> {
    let mut trace: Trace = serde_json::from_value(tree_of(trace)?)
        .map_err(|error| refuse(Error::message("", error.to_string())))?;
    trace.check(&Folder::new(folder)).map_err(refuse)?;
    let rates = |interval| {
        trace
            .mean_rates(interval)
            .map(|rate| rate.as_bit_per_s() as f64)
    };
    let bytes: Vec<u8> = py.detach(|| {
        let interval = interval_ns.filter(|&nanos| nanos > 0).map(Span::from_nanos);
        interval
            .into_iter()
            .flat_map(rates)
            .flat_map(f64::to_le_bytes)
            .collect()
    });
    Ok((trace.length().as_nanos(), PyBytes::new(py, &bytes)))
}
