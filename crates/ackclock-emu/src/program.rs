//! Which program becomes a host.

use std::ffi::OsString;
use std::path::PathBuf;

/// The program that becomes a host: it calls `host_process::serve_standard_input` as soon as it
/// can, with one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostProgram {
    /// The executable.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}
