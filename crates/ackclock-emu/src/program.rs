//! The program that becomes a host.

use std::ffi::OsString;
use std::path::PathBuf;

/// The program that becomes a host. It calls `host_process::serve_standard_input` as soon as it
/// can, with one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostProgram {
    /// Path of the executable.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}
