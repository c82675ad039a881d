//! The emulator's functions for Python: a program that becomes a host, an examination of this
//! machine, and runs in real time.

#[cfg(target_os = "linux")]
pub mod runs;
#[cfg(not(target_os = "linux"))]
pub mod unsupported;

#[cfg(not(target_os = "linux"))]
pub use unsupported as runs;

use ackclock_emu::doctor::{examine, examine_l4s};
use ackclock_emu::program::HostProgram;
use ackclock_spec::files::NoFiles;
use ackclock_stacks::Bringing;
use ackclock_stacks::brought::{self, Origin};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// Becomes a host, with the stacks of these libraries: name, path and digest of each. Returns the
/// exit status after the host has ended.
///
/// A host is a process of its own already, so it calls every library itself.
#[pyfunction]
#[cfg(target_os = "linux")]
pub fn serve_host(libraries: Vec<String>) -> i32 {
    let mut workload = ackclock_emu::workload::WorkloadService::default();
    let mut missing = libraries.chunks_exact(3);
    ackclock_emu::host_process::serve_standard_input(&mut |request| {
        for library in missing.by_ref() {
            let [name, path, digest] = library else {
                break;
            };
            brought::bring(name, Origin::Library(path.into()), digest)?;
        }
        workload.answer(request, &Bringing(NoFiles))
    })
}

/// Reports that there are no hosts on this system. Returns the exit status.
#[pyfunction]
#[cfg(not(target_os = "linux"))]
pub fn serve_host(_libraries: Vec<String>) -> i32 {
    eprintln!("ackclock: hosts are made of Linux's network namespaces");
    3
}

/// Examines whether this machine can emulate; `host_command` becomes a host, and `loader` loads
/// controls into the kernel.
#[pyfunction]
pub fn doctor(
    py: Python<'_>,
    host_command: Vec<String>,
    loader: Option<PathBuf>,
) -> PyResult<String> {
    let program = program_of(&host_command)?;
    let examination = py.detach(|| examine(&program, loader.as_deref()));
    serde_json::to_string(&examination).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Examines whether this machine's TCP can take part in an L4S experiment; `host_command` becomes a
/// host.
#[pyfunction]
pub fn doctor_l4s(py: Python<'_>, host_command: Vec<String>) -> PyResult<String> {
    let program = program_of(&host_command)?;
    let examination = py.detach(|| examine_l4s(&program));
    serde_json::to_string(&examination).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Yields name, path and digest of each library that a host brings.
fn stacks() -> impl Iterator<Item = OsString> {
    let libraries = brought::libraries().into_iter();
    libraries.flat_map(|library| {
        [
            library.name.into(),
            library.path.into(),
            library.digest.into(),
        ]
    })
}

fn program_of(command: &[String]) -> PyResult<HostProgram> {
    match command {
        [program, arguments @ ..] => Ok(HostProgram {
            program: program.into(),
            arguments: arguments.iter().map(Into::into).chain(stacks()).collect(),
        }),
        [] => Err(PyValueError::new_err("the command of a host is empty")),
    }
}
