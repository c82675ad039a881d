//! What this machine can do of an emulation, found out by trying, and the one remedy for what it
//! cannot.

#[cfg(target_os = "linux")]
mod facts;
#[cfg(target_os = "linux")]
mod findings;

#[cfg(target_os = "linux")]
pub(crate) use facts::kernel;

use crate::program::HostProgram;
use serde::Serialize;

/// Whether something can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It can.
    Yes,
    /// It can, with a limitation.
    Partly,
    /// It cannot.
    No,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its name, for machines.
    pub name: &'static str,
    /// Its name, for people.
    pub label: &'static str,
    /// Whether it can be had.
    pub state: State,
    /// What was found.
    pub found: String,
    /// What would help, where something is missing.
    pub remedy: Option<String>,
}

/// Everything that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Examination {
    /// Whether an emulation is possible in some way.
    pub emulation: bool,
    /// What was found, the most necessary first.
    pub findings: Vec<Finding>,
}

/// Looks at this machine. Starts two hosts for a moment, one with each kind of device.
#[cfg(target_os = "linux")]
pub fn examine(program: &HostProgram) -> Examination {
    findings::judge(&facts::Facts::gather(program))
}

/// Looks at this machine, which is not Linux.
#[cfg(not(target_os = "linux"))]
pub fn examine(_program: &HostProgram) -> Examination {
    let finding = Finding {
        name: "system",
        label: "system",
        state: State::No,
        found: format!(
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
