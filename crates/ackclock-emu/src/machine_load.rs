//! Load of the machine: waits of the kernel's packet processing, and pressure on the processors.
//!
//! Packets are mostly processed by the thread that sends them. Excess work is left to a thread per
//! processor, `ksoftirqd`, which has ordinary priority. While it waits, the packets and timers of
//! that processor wait too.

use crate::workload::waited_of;
use ackclock_spec::units::Span;
use std::fs;
use std::path::PathBuf;

const KSOFTIRQD: &str = "ksoftirqd/";

/// The `ksoftirqd` threads of this machine.
#[derive(Debug)]
pub(crate) struct Softirqs(Vec<PathBuf>);

impl Softirqs {
    /// Finds them; none are visible from within a container.
    pub(crate) fn find() -> Self {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let is_one = |folder: &PathBuf| {
            fs::read_to_string(folder.join("comm")).is_ok_and(|name| name.starts_with(KSOFTIRQD))
        };
        let numbered = processes.filter(|entry| {
            let name = entry.file_name();
            name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
        });
        let folders = numbered.map(|entry| entry.path()).filter(is_one);
        Softirqs(folders.map(|folder| folder.join("schedstat")).collect())
    }

    /// Returns the total time that they have waited for a processor since the machine was started;
    /// `None` if it cannot be seen.
    pub(crate) fn waited(&self) -> Option<Span> {
        let waited = |file: &PathBuf| waited_of(&fs::read(file).ok()?);
        let all: Option<Vec<u64>> = self.0.iter().map(waited).collect();
        all.filter(|all| !all.is_empty())
            .map(|all| Span::from_nanos(all.iter().sum()))
    }
}

/// Returns the time for which some process on this machine has waited for a processor since the
/// machine was started (Linux, "Pressure Stall Information"); `None` if this kernel does not count
/// it.
pub(crate) fn pressure() -> Option<Span> {
    pressure_of(&fs::read_to_string("/proc/pressure/cpu").ok()?)
}

fn pressure_of(text: &str) -> Option<Span> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    let total = some
        .split_ascii_whitespace()
        .find_map(|word| word.strip_prefix("total="))?;
    total.parse().ok().map(Span::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_is_the_total_of_some() {
        let text =
            "some avg10=98.34 avg60=99.08 avg300=98.84 total=2290351759\nfull avg10=0.00 total=5\n";
        assert_eq!(pressure_of(text), Some(Span::from_micros(2_290_351_759)));
        assert_eq!(pressure_of("full total=5\n"), None);
        assert_eq!(pressure_of(""), None);
    }

    #[test]
    fn what_was_waited_never_shrinks() {
        let softirqs = Softirqs::find();
        let (before, after) = (softirqs.waited(), softirqs.waited());
        assert!(before <= after);
        assert!(pressure() <= pressure());
    }
}
