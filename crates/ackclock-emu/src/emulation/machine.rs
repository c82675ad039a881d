//! Requirements of an emulation, and the properties of the machine.

use super::description::Description;
use super::host_pair::Pair;
use super::{Failure, Options};
use crate::device::DeviceKind;
use crate::doctor::kernel;
use crate::schedule::try_real_time;
use crate::workload::linux_name;
use ackclock_core::job::jobs;
use ackclock_core::scenario::{Scenario, Transport};
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
    let controls: BTreeSet<String> = points.iter().flat_map(controls_of).collect();
    let missing = pair.missing_controls(&Vec::from_iter(controls))?;
    if let Some((name, outcome)) = missing.first() {
        let text = format!(
            "the kernel lacks the congestion control \"{name}\" ({}); load the module tcp_{name} \
            as root, or simulate",
            outcome.reason()
        );
        return Err(Failure::Lacking(text));
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

fn controls_of(scenario: &Scenario) -> impl Iterator<Item = String> {
    scenario
        .flows
        .iter()
        .filter_map(|flow| match &flow.transport {
            Transport::Tcp { control, .. } => Some(linux_name(control).to_owned()),
            Transport::Udp { .. } | Transport::Controlled { .. } => None,
        })
}
