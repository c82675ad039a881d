//! Captures as another program, tshark, reads them.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// True if tshark is not installed, so that tests have to be skipped. Prints that it is.
pub fn tshark_is_missing() -> bool {
    // Looked for and not started: that takes a third of a second.
    static MISSING: LazyLock<bool> = LazyLock::new(|| {
        let folders = env::var_os("PATH").unwrap_or_default();
        !env::split_paths(&folders).any(|folder| folder.join("tshark").is_file())
    });
    if *MISSING {
        // Not eprintln!, which the test harness captures.
        let message = b"SKIPPED: tshark is not installed; on Debian: apt-get install tshark\n";
        std::io::stderr().write_all(message).unwrap();
    }
    *MISSING
}

/// A capture file next to the test program, deleted when the test ends.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        Scratch(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }
}
impl Drop for Scratch {
    fn drop(&mut self) {
        // The file may not exist.
        let _ = fs::remove_file(&self.0);
    }
}

/// Returns one row per packet with these fields, empty for a field that a packet does not have.
/// `preferences` are tshark's, as `name:value`.
pub fn tshark(file: &Path, preferences: &[&str], fields: &str) -> Vec<String> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(file);
    command.args(["-T", "fields", "-E", "separator= "]);
    for preference in preferences {
        command.args(["-o", preference]);
    }
    for field in fields.split(' ') {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}
