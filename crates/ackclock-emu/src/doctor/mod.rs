//! Checks of what this machine can do for an emulation, each by trying, and one remedy for each
//! failure.

#[cfg(target_os = "linux")]
mod facts;
#[cfg(target_os = "linux")]
mod findings;
#[cfg(target_os = "linux")]
mod l4s;

#[cfg(target_os = "linux")]
pub(crate) use facts::{kernel, registered_controls};

use crate::program::HostProgram;
use serde::Serialize;
use std::path::Path;

/// Availability of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Available.
    Yes,
    /// Available with a limitation.
    Partly,
    /// Not available.
    No,
}

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Name for programs.
    pub name: &'static str,
    /// Name for people.
    pub label: &'static str,
    /// Availability.
    pub state: State,
    /// Description.
    pub description: String,
    /// Remedy, if something is missing.
    pub remedy: Option<String>,
}

/// Results of all checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Examination {
    /// True if an emulation is possible with any device.
    pub emulation: bool,
    /// Results, the most necessary first.
    pub findings: Vec<Finding>,
}

/// Checks this machine. Starts two hosts for a moment, one with each kind of device. `loader` loads
/// controls into the kernel, if it is installed.
#[cfg(target_os = "linux")]
pub fn examine(program: &HostProgram, loader: Option<&Path>) -> Examination {
    findings::judge(&facts::Facts::gather(program, loader))
}

/// Checks if this machine's TCP can take part in an L4S experiment. Starts two hosts for a moment.
#[cfg(target_os = "linux")]
pub fn examine_l4s(program: &HostProgram) -> Examination {
    l4s::judge(&facts::Facts::gather(program, None))
}

/// Checks this machine, which is not Linux.
#[cfg(not(target_os = "linux"))]
pub fn examine_l4s(program: &HostProgram) -> Examination {
    examine(program, None)
}

/// Checks this machine, which is not Linux.
#[cfg(not(target_os = "linux"))]
pub fn examine(_program: &HostProgram, _loader: Option<&Path>) -> Examination {
    let finding = Finding {
        name: "system",
        label: "system",
        state: State::No,
        description: format!(
            "{}, but emulation needs Linux network namespaces",
            std::env::consts::OS
        ),
        remedy: Some(
            "use Linux, for example in a virtual machine; simulate and predict work here".into(),
        ),
    };
    Examination {
        emulation: false,
        findings: vec![finding],
    }
}
