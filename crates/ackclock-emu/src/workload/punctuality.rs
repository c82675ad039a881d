//! Delays of the thread that runs a host's workload: runnable without a processor, or late after a
//! timer.
//!
//! Linux counts the first for each thread (proc(5), `/proc/PID/task/TID/schedstat`: time on a
//! processor, time in the run queue, turns). The second also includes delays that a thread cannot
//! see, such as a processor taken away by the machine's own host.

use rustix::io::pread;
use serde::{Deserialize, Serialize};
use std::fs::File;

/// Interval between readings of the run queue, in nanoseconds; a reading takes about a microsecond.
/// A wait may be overestimated by the short waits within one interval.
const SPACING_NS: u64 = 1_000_000;

/// Delays of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Punctuality {
    /// The reason why the thread has no real-time priority; `None` if it has.
    pub ordinary: Option<String>,
    /// True if this kernel counts a thread's waits.
    pub is_known: bool,
    /// The longest wait, in nanoseconds.
    pub longest_ns: u64,
    /// Sum of the excess of each wait over [`Plan::bridged_ns`](super::Plan::bridged_ns), in
    /// nanoseconds.
    pub unbridged_ns: u64,
}

/// Measures the delays of the calling thread.
#[derive(Debug)]
pub(super) struct Watch {
    schedstat: Option<File>,
    bridged_ns: u64,
    /// Time in its run queue up to the last reading.
    waited_ns: u64,
    read_ns: u64,
    measured: Punctuality,
}

impl Watch {
    /// Starts measuring; earlier waits do not count.
    pub(super) fn start(bridged_ns: u64, ordinary: Option<String>, now_ns: u64) -> Self {
        let schedstat = File::open("/proc/thread-self/schedstat").ok();
        let mut watch = Watch {
            schedstat,
            bridged_ns,
            waited_ns: 0,
            read_ns: now_ns,
            measured: Punctuality {
                ordinary,
                ..Punctuality::default()
            },
        };
        let waited = watch.waited();
        watch.measured.is_known = waited.is_some();
        watch.waited_ns = waited.unwrap_or(0);
        watch
    }

    fn waited(&self) -> Option<u64> {
        let mut text = [0; 96];
        let length = pread(self.schedstat.as_ref()?, &mut text, 0).ok()?;
        waited_of(&text[..length])
    }

    /// Records that the thread woke `late_ns` after the requested time.
    pub(super) fn note(&mut self, now_ns: u64, late_ns: u64) {
        let mut wait_ns = late_ns;
        if now_ns.saturating_sub(self.read_ns) >= SPACING_NS {
            self.read_ns = now_ns;
            if let Some(waited_ns) = self.waited() {
                wait_ns = wait_ns.max(waited_ns.saturating_sub(self.waited_ns));
                self.waited_ns = waited_ns;
            }
        }
        self.measured.longest_ns = self.measured.longest_ns.max(wait_ns);
        self.measured.unbridged_ns += wait_ns.saturating_sub(self.bridged_ns);
    }

    pub(super) const fn measured(&self) -> &Punctuality {
        &self.measured
    }
}

/// Parses the nanoseconds in a run queue, the second of three numbers.
pub(crate) fn waited_of(schedstat: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(schedstat).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(bridged_ns: u64) -> Watch {
        Watch {
            schedstat: None,
            bridged_ns,
            waited_ns: 0,
            read_ns: 0,
            measured: Punctuality::default(),
        }
    }

    #[test]
    fn what_buffers_bridge_is_no_loss() {
        let mut watch = watch(1000);
        for (now_ns, late_ns) in [(10, 400), (20, 1000), (30, 1500), (40, 3000)] {
            watch.note(now_ns, late_ns);
        }
        assert_eq!(
            (watch.measured().longest_ns, watch.measured().unbridged_ns),
            (3000, 2500)
        );
        assert!(!watch.measured().is_known);
    }

    #[test]
    fn the_second_number_is_the_wait() {
        assert_eq!(waited_of(b"1024 77 3\n"), Some(77));
        assert_eq!(waited_of(b"1024"), None);
        assert_eq!(waited_of(b""), None);
    }

    /// With more threads than processors some must wait, and the kernel shows it to the one that
    /// asks.
    #[test]
    fn a_thread_among_busy_ones_waits() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 * std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let begin = super::super::monotonic_ns();
            let mut watch = Watch::start(0, None, begin);
            while watch.measured().is_known && watch.measured().longest_ns == 0 {
                watch.note(super::super::monotonic_ns(), 0); // would not end otherwise
            }
            stop.store(true, Ordering::Relaxed);
            assert_eq!(watch.measured().unbridged_ns, watch.measured().longest_ns);
        });
    }
}
