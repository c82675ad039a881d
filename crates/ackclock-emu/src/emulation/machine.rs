//! Requirements of an emulation, and the properties of the machine.

use super::description::Description;
use super::host_pair::Pair;
use super::{Failure, Options};
use crate::device::DeviceKind;
use crate::doctor::{kernel, registered_controls};
use crate::kernel_control;
use crate::schedule::try_real_time;
use crate::settings::KernelAnswer;
use crate::workload::linux_name;
use ackclock_core::congestion::ControlKind;
use ackclock_core::transport::Tcp;
use ackclock_scenario::job::jobs;
use ackclock_scenario::{FlowDescription, Scenario};
use ackclock_spec::error::{Code, Error};
use ackclock_spec::registry::Selection;
use serde::Serialize;
use std::collections::BTreeSet;

/// Properties of a machine that emulates.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Name and release of the kernel.
    pub kernel: String,
    /// Device that carries packets.
    pub device: DeviceKind,
    /// `SCHED_FIFO`, or the reason why the emulator's thread has ordinary priority.
    pub priority: String,
    /// Number of processors.
    pub processors: usize,
    /// Warnings, one line each.
    pub warnings: Vec<String>,
}

/// Checks if this machine can emulate these points, by starting two hosts for a moment.
///
/// # Errors
/// Anything that no machine can do, or that this machine lacks.
pub fn check(points: &[Scenario], options: &Options) -> Result<Machine, Failure> {
    for job in jobs(points) {
        Description::of(job.scenario, &job.instances())?;
    }
    let mut pair = Pair::start(options)?;
    kernel_control::check(points, options)?;
    let controls: BTreeSet<&str> = points.iter().flat_map(controls_of).collect();
    let controls: Vec<String> = controls.into_iter().map(str::to_owned).collect();
    if let Some((name, outcome)) = pair.missing_controls(&controls)?.first() {
        return Err(missing_control(points, name, outcome));
    }
    let refused = try_real_time().err();
    let mut warnings = Vec::new();
    warnings.extend(
        pair.tun_refused()
            .map(|reason| format!("{reason}; a packet socket is used instead")),
    );
    warnings.extend(refused.as_ref().map(|reason| {
        format!(
            "real-time priority refused ({reason}); packets may leave milliseconds late when the \
            machine is busy"
        )
    }));
    let machine = Machine {
        kernel: kernel(),
        device: pair.device(),
        priority: refused.unwrap_or_else(|| "SCHED_FIFO".into()),
        processors: std::thread::available_parallelism().map_or(1, usize::from),
        warnings,
    };
    pair.exit()?;
    Ok(machine)
}

/// Yields the TCP flows with their controls.
fn tcp_flows(
    scenario: &Scenario,
) -> impl Iterator<Item = (&FlowDescription, &Selection<ControlKind>)> {
    let flows = scenario.flows.iter();
    flows.filter_map(|flow| {
        let tcp: &Tcp = flow.transport.parameters()?;
        Some((flow, &tcp.control))
    })
}

/// Yields the kernel's names of the controls that it must have. Programs that a run loads are not
/// among them.
fn controls_of(scenario: &Scenario) -> impl Iterator<Item = &str> {
    tcp_flows(scenario).filter_map(|(_, control)| linux_name(control))
}

/// Returns the reason why the kernel has no control `name`. If the scenario names a control of the
/// kernel, that is a mistake in the scenario; if it names one of the engine, this machine lacks it.
fn missing_control(points: &[Scenario], name: &str, outcome: &KernelAnswer) -> Failure {
    let named = points.iter().flat_map(tcp_flows);
    let mut of_kernel =
        named.filter(|(_, control)| !control.is_simulated() && linux_name(control) == Some(name));
    if let (Some((flow, _)), KernelAnswer::NotInThisKernel) = (of_kernel.next(), outcome) {
        let remedy = format!(
            "is not a control that this kernel offers; choose from {}, or load the module \
            tcp_{name} as root",
            registered_controls().join(", ")
        );
        let field = format!("flows.{}.transport.control.name", flow.name);
        let error = Error::new(&field, &name.into(), &remedy).coded(Code::UnknownName);
        return Failure::Scenario(error);
    }
    Failure::Lacking(format!(
        "the kernel lacks the congestion control \"{name}\" ({}); load the module tcp_{name} as \
        root, or simulate",
        outcome.reason()
    ))
}
