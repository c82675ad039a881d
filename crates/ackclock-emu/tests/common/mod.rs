//! Common parts of the tests that start hosts: the program that becomes a host, the report if this
//! machine cannot start one, and the second run of each test without privileges.

use ackclock_emu::program::HostProgram;
use ackclock_scenario::{Scenario, tree};
use ackclock_spec::files::NoFiles;
use rustix::process::geteuid;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The user and group that own nothing.
const NOBODY: u32 = 65534;

/// Returns the test program as a host that answers requests of this kind: `host` or `workload`.
pub fn program(kind: &str) -> HostProgram {
    HostProgram {
        program: env!("CARGO_BIN_EXE_ackclock-emu-test-host").into(),
        arguments: vec![kind.into()],
    }
}

/// Reports that a test is skipped, and why.
pub fn skip(reason: &str) {
    // Bypasses the test harness, which hides the `eprintln` output of tests that pass.
    let _ = writeln!(
        io::stderr(),
        "SKIPPED as user {}: {reason}",
        geteuid().as_raw()
    );
}

/// Parses a scenario that needs no files.
pub fn scenario(text: &str) -> Scenario {
    Scenario::from_tree(&tree::from_toml(text).unwrap(), &NoFiles).unwrap()
}

#[test]
fn everything_again_without_root() {
    if geteuid().as_raw() != 0 {
        return;
    }
    let again = Command::new(std::env::current_exe().unwrap())
        .args(["--skip", "everything_again_without_root"])
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .status();
    match again {
        Err(error) => skip(&format!(
            "this program cannot be run by user {NOBODY}: {error}"
        )),
        Ok(status) => assert!(status.success(), "as user {NOBODY}: {status}"),
    }
}
