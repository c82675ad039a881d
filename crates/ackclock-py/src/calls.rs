//! Recorded calls of a kernel's control, given to its object or to a control of the engine.

use crate::scenario_of;
use ackclock_bpf::twin as calls;
use ackclock_bpf::{Program, Refusal};
use ackclock_core::congestion::ControlContext;
use ackclock_core::endpoint::parameters::TcpParameters;
use ackclock_core::programs::shadow::{self, Begun, ShadowControl};
use ackclock_core::transport::Tcp;
use ackclock_spec::registry::StreamScope;
use ackclock_spec::streams::Streams;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Gives the recorded calls of a control to its object, with the parameters of the run. Returns the
/// comparison as JSON, or raises `ValueError` with the reason why there is none.
#[pyfunction]
pub fn twin_calls(
    py: Python<'_>,
    control: &[u8],
    parameters: HashMap<String, i128>,
    record: &[u8],
) -> PyResult<String> {
    let work = || -> Result<Value, String> {
        let mut program = Program::read(control).map_err(|refusal| format!("object {refusal}"))?;
        program.set_recording(false);
        for (name, value) in &parameters {
            let parameter = program
                .parameters()
                .find(|parameter| parameter.name == *name)
                .cloned();
            let parameter = parameter.ok_or_else(|| format!("object has no parameter {name}"))?;
            program.set(&parameter, *value);
        }
        let compared = calls::compare(&Arc::new(program), record);
        let compared = compared.map_err(|refusal| format!("record {refusal}"))?;
        Ok(compared_calls_in_json(&compared))
    };
    let compared = py.detach(work).map_err(PyValueError::new_err)?;
    Ok(compared.to_string())
}

/// Returns the name of the control of the kernel whose functions an object calls; `None` for an
/// object that is a control by itself.
#[pyfunction]
pub fn kernel_control(control: &[u8]) -> Option<String> {
    ackclock_bpf::kernel_control(control)
}

/// Gives the recorded calls of a control that the kernel has to the control of a scenario's first
/// flow. What the kernel drew at random becomes the parameter `draws`. Returns the comparison as
/// JSON, or raises `ValueError` with the reason why there is none.
#[pyfunction]
pub fn twin_of_kernel(
    py: Python<'_>,
    tree_json: &str,
    folder: &str,
    draws: Option<&str>,
    record: &[u8],
) -> PyResult<String> {
    let tree: Value = serde_json::from_str(tree_json)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let make = |begun: &[calls::Call]| {
        let mut tree = tree.clone();
        let place = tree.pointer_mut("/flows/0/transport/control");
        if let (Some(name), Some(control)) = (draws, place) {
            control[name] = json!(calls::draws(begun));
        }
        let scenario = scenario_of(&tree.to_string(), folder)
            .map_err(|error| Refusal::new(format!("asks for another control ({error})")))?;
        let first = scenario.flows.first();
        let Some(Tcp {
            control,
            parameters,
            ..
        }) = first.and_then(|flow| flow.transport.parameters())
        else {
            return Err(Refusal::new(
                "is compared with a scenario without a TCP flow",
            ));
        };
        let streams = Streams::new(scenario.seed, 0);
        let control = control.build(context_of(&streams, parameters, Begun::of(&begun[0])));
        Ok(ShadowControl::new(control, &begun[0]))
    };
    let compared = py.detach(|| calls::compare_with(record, make));
    let compared =
        compared.map_err(|refusal| PyValueError::new_err(format!("record {refusal}")))?;
    Ok(compared_calls_in_json(&compared).to_string())
}

/// Returns the context of a control that begins in the middle of a connection.
fn context_of<'a>(
    streams: &'a Streams,
    parameters: &TcpParameters,
    begun: Begun,
) -> ControlContext<'a> {
    ControlContext {
        place: StreamScope {
            streams,
            name: "flow/0/control",
        },
        mss: begun.mss,
        initial_window: begun.cwnd,
        initial_ssthresh: begun.ssthresh,
        ssthresh_in_whole_segments: parameters.growth.ssthresh_in_whole_segments,
        paced: false,
        selective_acks: true,
        counts_marks: false,
        keeps_calls: false,
    }
}

fn compared_calls_in_json(compared: &calls::Comparison) -> Value {
    json!({
        "calls": compared.calls,
        "equal": compared.equal,
        "equal_windows": compared.equal_windows,
        "equal_answers": compared.equal_answers,
        "draws": compared.draws,
        "connections": compared.connections,
        "moved": compared.moved,
        "skipped": compared.skipped,
        "kinds": compared.kinds.iter().copied().collect::<HashMap<_, _>>(),
        "first": compared.first.as_ref().map(difference_in_json),
    })
}

/// Gives the recorded calls of a program to the control of a scenario's first flow, and compares
/// their windows. Returns JSON.
#[pyfunction]
pub fn calls_beside(
    py: Python<'_>,
    tree_json: &str,
    folder: &str,
    record: &[u8],
) -> PyResult<String> {
    let scenario = scenario_of(tree_json, folder)?;
    let first = scenario.flows.first();
    let Some(Tcp {
        control,
        parameters,
        ..
    }) = first.and_then(|flow| flow.transport.parameters())
    else {
        return Err(PyValueError::new_err("the scenario has no TCP flow"));
    };
    let record = record
        .strip_prefix(calls::MAGIC)
        .ok_or_else(|| PyValueError::new_err("record is not a record of calls"))?;
    let streams = Streams::new(scenario.seed, 0);
    let make = |begun| control.build(context_of(&streams, parameters, begun));
    let agreement = py.detach(|| shadow::compare(record, make));
    Ok(json!({
        "connections": agreement.connections,
        "cong_avoid": comparison_in_json(&agreement.growth),
        "cong_control": comparison_in_json(&agreement.controlled),
        "ssthresh": comparison_in_json(&agreement.reductions),
        "undo_cwnd": comparison_in_json(&agreement.undos),
    })
    .to_string())
}

fn comparison_in_json(comparison: &shadow::Comparison) -> Value {
    let divergence = |divergence: &shadow::Divergence| {
        json!({
            "number": divergence.number,
            "now_ns": divergence.now_ns,
            "theirs_segments": divergence.theirs,
            "ours_segments": divergence.ours,
        })
    };
    json!({
        "calls": comparison.calls,
        "mean_segments": comparison.sum / comparison.calls.max(1) as f64,
        "largest_share": comparison.relative,
        "largest": comparison.largest.as_ref().map(divergence),
        "first": comparison.first.as_ref().map(divergence),
    })
}

fn difference_in_json(difference: &calls::Difference) -> Value {
    json!({
        "call": call_in_json(&difference.call),
        "window": window_in_json(difference.window),
        "result": difference.result,
        "before": difference.before.iter().map(call_in_json).collect::<Vec<_>>(),
    })
}

fn call_in_json(call: &calls::Call) -> Value {
    let (address, port) = call.local;
    json!({
        "number": call.number,
        "now_ns": call.now_ns,
        "local": format!("{}:{port}", Ipv4Addr::from(address)),
        "kind": call.callback().map_or("unknown", |callback| callback.name()),
        "state": call.state,
        "limited": call.limited,
        "arguments": call.arguments,
        "rtt_us": call.rtt_us,
        "result": call.result,
        "before": window_in_json(call.before),
        "after": window_in_json(call.after),
    })
}

fn window_in_json(window: calls::Window) -> Value {
    json!({
        "cwnd": window.cwnd,
        "cwnd_cnt": window.cwnd_cnt,
        "ssthresh": window.ssthresh,
    })
}
