//! The Python binding and nothing else. Trees, tables and arrays are passed as JSON text and raw
//! columns.

mod calls;
mod capture;
mod captures;
mod emulate;
mod environments;
mod estimators;
mod inputs;
mod key;
mod markov;
mod measure;
mod python_control;
mod qlog;
mod replay;
mod simulate;
mod stacks;
mod tables;
mod traces;
#[cfg(target_os = "linux")]
mod transport;
mod twin;
mod waiting;
mod watch;

use ackclock_core::transport::Tcp;
use ackclock_emu::files::Folder;
use ackclock_scenario::source::Source;
use ackclock_scenario::{Scenario, schema, text, tree};
use ackclock_sim::topology;
use ackclock_spec::error;
use ackclock_spec::unit_spelling::{self, Dimension};
use ackclock_stacks::Bringing;
use pyo3::PyErrArguments;
use pyo3::import_exception;
use pyo3::prelude::*;
use python_control::Scripts;
use serde_json::Value;
use stacks::Installed;
use std::collections::BTreeSet;
use std::path::PathBuf;

import_exception!(ackclock.errors, InputError);
import_exception!(ackclock.errors, ScenarioError);
import_exception!(ackclock.errors, LackingError);
import_exception!(ackclock.errors, CaptureError);

fn refuse(error: error::Error) -> PyErr {
    ScenarioError::new_err(Refusal(error))
}

/// The arguments of Python's error: code, field, sentence, value, place ("12:9"), and those of
/// every error found with it.
struct Refusal(error::Error);

impl PyErrArguments for Refusal {
    fn arguments(self, py: Python<'_>) -> Py<PyAny> {
        let described = |error: &error::Error| {
            let value = error.value().and_then(|value| as_python(py, value).ok());
            (
                error.code().name(),
                error.field().to_owned(),
                error.sentence().to_owned(),
                value,
                error.position().map(written).unwrap_or_default(),
            )
        };
        let Refusal(error) = self;
        let (code, field, sentence, value, place) = described(&error);
        let others: Vec<_> = error.all().skip(1).map(described).collect();
        (code, field, sentence, value, place, others)
            .into_pyobject(py)
            .map_or_else(|_| py.None(), |tuple| tuple.into_any().unbind())
    }
}

/// `12:9`, as compilers write a place.
fn written(position: error::Position) -> String {
    format!("{}:{}", position.line, position.column)
}

/// Converts a tree to Python data.
fn as_python(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    let json = py.import("json")?;
    Ok(json.call_method1("loads", (value.to_string(),))?.unbind())
}

fn tree_of(text: &str) -> PyResult<Value> {
    serde_json::from_str(text).map_err(|error| {
        refuse(
            error::Error::message("", format!("cannot read the JSON: {error}"))
                .coded(error::Code::Syntax),
        )
    })
}

/// The place of the files that a scenario names.
#[derive(FromPyObject)]
enum Place {
    /// A folder.
    Folder(PathBuf),
    /// A folder, and the names of the only files that may be read.
    Only(PathBuf, BTreeSet<String>),
}

impl From<Place> for Folder {
    fn from(place: Place) -> Self {
        match place {
            Place::Folder(path) => Folder::new(path),
            Place::Only(path, names) => Folder::only(path, names),
        }
    }
}

fn scenario_in(text: &str, folder: Folder) -> PyResult<Scenario> {
    let files = Installed::new(Bringing(Scripts(folder)));
    let scenario = Scenario::from_tree(&tree_of(text)?, &files);
    files.finish()?;
    scenario.map_err(refuse)
}

fn scenario_of(text: &str, folder: &str) -> PyResult<Scenario> {
    scenario_in(text, Folder::new(folder))
}

#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

#[pyfunction]
fn is_checking() -> bool {
    cfg!(debug_assertions)
}

#[pyfunction]
fn floor(py: Python<'_>, flows: usize, packets: u64) -> (u64, u64) {
    py.detach(|| ackclock_sim::floor::run(flows, packets))
}

#[pyfunction]
fn parse_scenario(text: &str) -> PyResult<String> {
    text::read(text)
        .map(|tree| tree.to_string())
        .map_err(refuse)
}

#[pyfunction]
fn to_toml(tree_json: &str) -> PyResult<String> {
    Ok(text::to_toml(&tree_of(tree_json)?))
}

#[pyfunction]
fn places(text: &str, fields: Vec<(String, String)>) -> Vec<String> {
    let Ok(source) = Source::read(text) else {
        return vec![String::new(); fields.len()];
    };
    let place = |(code, field): &(String, String)| {
        let code = error::Code::named(code).unwrap_or(error::Code::OutOfRange);
        source.place(field, code).map(written).unwrap_or_default()
    };
    fields.iter().map(place).collect()
}

#[pyfunction]
fn unit_remedy(number: &str, unit: &str, dimensions: Vec<String>) -> Option<String> {
    let dimensions: Vec<Dimension> = dimensions
        .iter()
        .filter_map(|base| match base.as_str() {
            "s" => Some(Dimension::Time),
            "bit/s" => Some(Dimension::Rate),
            "bytes" => Some(Dimension::Data),
            "packets" => Some(Dimension::Count),
            "packets/s" => Some(Dimension::PacketRate),
            "" => Some(Dimension::Share),
            _ => None,
        })
        .collect();
    unit_spelling::remedy(number, unit, &dimensions)
}

#[pyfunction]
fn parse_assignment(text: &str) -> PyResult<(String, String)> {
    tree::parse_assignment(text)
        .map(|(path, value)| (path, value.to_string()))
        .map_err(refuse)
}

#[pyfunction]
fn set(tree_json: &str, changes: Vec<(String, String)>) -> PyResult<String> {
    let mut tree = tree_of(tree_json)?;
    for (path, value_json) in changes {
        tree::assign(&mut tree, &path, tree_of(&value_json)?).map_err(refuse)?;
    }
    Ok(tree.to_string())
}

#[pyfunction]
fn without_sweep(tree_json: &str) -> PyResult<String> {
    Ok(tree::without_sweep(&tree_of(tree_json)?).to_string())
}

#[pyfunction]
fn expand(tree_json: &str) -> PyResult<Vec<(String, String)>> {
    let points = tree::expand(&tree_of(tree_json)?).map_err(refuse)?;
    let assignments = |point: &tree::Point| {
        Value::Array(
            point
                .assignments
                .iter()
                .map(|(path, value)| serde_json::json!([path, value]))
                .collect(),
        )
    };
    Ok(points
        .iter()
        .map(|point| (assignments(point).to_string(), point.tree.to_string()))
        .collect())
}

#[pyfunction]
fn resolve(tree_json: &str, place: Place) -> PyResult<String> {
    Ok(scenario_in(tree_json, place.into())?.resolved.to_string())
}

/// Refuses a scenario that the simulator cannot run.
#[pyfunction]
fn check_simulation(tree_json: &str, folder: &str) -> PyResult<()> {
    topology::check(&scenario_of(tree_json, folder)?).map_err(refuse)
}

/// Returns the object of the program that is the control of a scenario's first flow.
#[pyfunction]
fn control_object(tree_json: &str, folder: &str) -> PyResult<Vec<u8>> {
    let scenario = scenario_of(tree_json, folder)?;
    let program = scenario.flows.iter().find_map(|flow| {
        let tcp: &Tcp = flow.transport.parameters()?;
        tcp.control.facts.linux.some()?.program.some()
    });
    let missing = || error::Error::missing("control", "the scenario has no control of a program");
    let program = program.ok_or_else(missing).map_err(refuse)?;
    program
        .object(&Scripts(Folder::new(folder)))
        .map_err(refuse)
}

#[pyfunction]
fn derived(tree_json: &str, place: Place) -> PyResult<String> {
    let derived = scenario_in(tree_json, place.into())?.derived;
    Ok(serde_json::json!(derived).to_string())
}

#[pyfunction(name = "schema")]
fn json_schema() -> String {
    schema::schema().to_string()
}

#[pyfunction]
fn registry() -> String {
    schema::registry().to_string()
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(is_checking, module)?)?;
    module.add_function(wrap_pyfunction!(floor, module)?)?;
    module.add_function(wrap_pyfunction!(inputs::limits, module)?)?;
    module.add_function(wrap_pyfunction!(inputs::cut, module)?)?;
    module.add_function(wrap_pyfunction!(inputs::read_file, module)?)?;
    module.add_function(wrap_pyfunction!(parse_scenario, module)?)?;
    module.add_function(wrap_pyfunction!(to_toml, module)?)?;
    module.add_function(wrap_pyfunction!(places, module)?)?;
    module.add_function(wrap_pyfunction!(unit_remedy, module)?)?;
    module.add_function(wrap_pyfunction!(parse_assignment, module)?)?;
    module.add_function(wrap_pyfunction!(set, module)?)?;
    module.add_function(wrap_pyfunction!(expand, module)?)?;
    module.add_function(wrap_pyfunction!(without_sweep, module)?)?;
    module.add_function(wrap_pyfunction!(resolve, module)?)?;
    module.add_function(wrap_pyfunction!(derived, module)?)?;
    module.add_function(wrap_pyfunction!(json_schema, module)?)?;
    module.add_function(wrap_pyfunction!(registry, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::simulate, module)?)?;
    module.add_class::<environments::Environments>()?;
    module.add_function(wrap_pyfunction!(environments::observed_columns, module)?)?;
    module.add_function(wrap_pyfunction!(stacks::bring_stack, module)?)?;
    module.add_function(wrap_pyfunction!(stacks::built_in_stacks, module)?)?;
    module.add_function(wrap_pyfunction!(stacks::serve_stack, module)?)?;
    module.add_function(wrap_pyfunction!(emulate::serve_host, module)?)?;
    module.add_function(wrap_pyfunction!(emulate::doctor, module)?)?;
    module.add_function(wrap_pyfunction!(emulate::doctor_l4s, module)?)?;
    module.add_function(wrap_pyfunction!(emulate::runs::prepare_emulation, module)?)?;
    module.add_function(wrap_pyfunction!(emulate::runs::emulate, module)?)?;
    module.add_function(wrap_pyfunction!(replay::replay, module)?)?;
    module.add_function(wrap_pyfunction!(measure::measure, module)?)?;
    module.add_function(wrap_pyfunction!(twin::twin, module)?)?;
    module.add_function(wrap_pyfunction!(calls::twin_calls, module)?)?;
    module.add_function(wrap_pyfunction!(calls::twin_of_kernel, module)?)?;
    module.add_function(wrap_pyfunction!(calls::kernel_control, module)?)?;
    module.add_function(wrap_pyfunction!(calls::calls_beside, module)?)?;
    module.add_function(wrap_pyfunction!(check_simulation, module)?)?;
    module.add_function(wrap_pyfunction!(control_object, module)?)?;
    module.add_function(wrap_pyfunction!(estimators::check_estimators, module)?)?;
    module.add_function(wrap_pyfunction!(estimators::rate_estimates, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_rates, module)?)?;
    #[cfg(target_os = "linux")]
    {
        module.add_function(wrap_pyfunction!(transport::send, module)?)?;
        module.add_function(wrap_pyfunction!(transport::receive, module)?)?;
    }
    module.add_function(wrap_pyfunction!(markov::climbing_chains, module)?)?;
    module.add_function(wrap_pyfunction!(
        markov::climbing_chain_with_channel,
        module
    )?)?;
    module.add_function(wrap_pyfunction!(markov::jumping_chain, module)?)?;
    module.add_function(wrap_pyfunction!(markov::epoch_chain, module)?)?;
    Ok(())
}
