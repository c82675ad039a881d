//! Emulation of a scenario: its flows run on the kernel's own sockets in two hosts, and its hops
//! run between them in real time.

mod description;
mod drive;
mod host_pair;
mod machine;
mod run;
mod self_test;
mod tables;
mod telemetry;

use crate::files::Folder;
use crate::program::HostProgram;
use crate::protocol::DeviceChoice;
use ackclock_spec::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use machine::{Machine, check};
pub use run::{EmulationOutcome, Started, Watch, emulate, start};
pub use tables::empty_tables;

/// Options of runs, whatever the scenario.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program that becomes a host.
    pub program: HostProgram,
    /// The program that loads controls into the kernel, if it is installed.
    pub loader: Option<PathBuf>,
    /// Folder of the files that the scenario names.
    pub files: Folder,
    /// The device that carries packets between the hosts and the emulator.
    pub device: DeviceChoice,
    /// Folder of records, in `record`, and captures, in `pcap`.
    pub folder: PathBuf,
    /// True to write captures.
    pub captures: bool,
    /// Becomes true if what goes on is to end soon.
    pub stop: Arc<AtomicBool>,
}

/// The reason why there is no run.
#[derive(Debug)]
pub enum Failure {
    /// No machine can emulate this scenario.
    Scenario(Error),
    /// This machine cannot emulate it: what is missing, and the remedy.
    Lacking(String),
    /// The run failed.
    Broken(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Scenario(error) => error.fmt(f),
            Failure::Lacking(text) | Failure::Broken(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Scenario(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Broken(error.to_string())
    }
}
