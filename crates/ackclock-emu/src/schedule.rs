//! Punctuality of the emulator's thread: real-time priority, and processors that stay awake.

use crate::system::real_time;
use std::fs::{self, File};
use std::io::{self, Write};

/// Priority, from 1 to 99, of a host's workload: above all ordinary threads. It sleeps until there
/// is something to write or read, and the hops limit how much that is.
const HOST_PRIORITY: i32 = 1;
/// Priority of the emulator: above the hosts. Packets that arrive at the hops must be stamped
/// first.
const LOOP_PRIORITY: i32 = 2;

/// Gives the calling thread, the emulator's, real-time priority (SCHED_FIFO, sched(7)). Threads and
/// processes that it starts later have ordinary priority.
///
/// Call it before entering a user namespace: inside one even root is refused.
///
/// # Errors
/// Errors of sched_setscheduler(2): EPERM without CAP_SYS_NICE in the initial user namespace and
/// without RLIMIT_RTPRIO, or in a control group without real-time budget.
pub fn become_real_time() -> io::Result<()> {
    // With a limit of priority 1 (RLIMIT_RTPRIO) it takes turns with the hosts.
    real_time::first_in_first_out(LOOP_PRIORITY)
        .or_else(|_| real_time::first_in_first_out(HOST_PRIORITY))
}

/// Gives the calling thread the real-time priority of a host's workload. A host in a user namespace
/// is refused.
///
/// # Errors
/// As [`become_real_time`].
pub fn become_real_time_host() -> io::Result<()> {
    real_time::first_in_first_out(HOST_PRIORITY)
}

/// Tests if a thread may get real-time priority, in a new thread that ends afterwards.
///
/// # Errors
/// Errors of [`become_real_time`], as a sentence.
pub fn try_real_time() -> Result<(), String> {
    let asked = std::thread::spawn(become_real_time);
    asked
        .join()
        .map_err(|_| "the thread panicked".to_owned())?
        .map_err(|error| error.to_string())
}

/// A request that keeps all processors of this machine out of idle states while it lives (Linux,
/// "PM QoS interface": a bound on the wake-up latency). Waking a processor takes tens of
/// microseconds. Waking one of a virtual machine sometimes takes milliseconds, since it first has
/// to get a processor of its host.
#[derive(Debug)]
pub struct Wakefulness(
    #[expect(dead_code, reason = "the kernel forgets the request when it is closed")] File,
);

impl Wakefulness {
    const DEVICE: &str = "/dev/cpu_dma_latency";

    /// Makes the request.
    ///
    /// # Errors
    /// Errors of opening and writing the device, which belongs to root.
    pub fn request() -> io::Result<Self> {
        let mut device = File::options().write(true).open(Self::DEVICE)?;
        device.write_all(&0_i32.to_ne_bytes())?; // microseconds
        Ok(Wakefulness(device))
    }
}

/// Returns the share of a period for which the real-time threads of a processor may run, sched(7);
/// for the rest they are stopped. Returns 1 if they never are; `None` if this kernel does not tell.
pub fn real_time_share() -> Option<f64> {
    let number = |name: &str| -> Option<i64> {
        fs::read_to_string(format!("/proc/sys/kernel/sched_rt_{name}_us"))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    share_of(number("runtime")?, number("period")?)
}

fn share_of(runtime: i64, period: i64) -> Option<f64> {
    match runtime {
        -1 => Some(1.0),
        _ if period > 0 => Some((runtime as f64 / period as f64).min(1.0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        assert_eq!(share_of(950_000, 1_000_000), Some(0.95));
        assert_eq!(share_of(-1, 1_000_000), Some(1.0));
        assert_eq!(share_of(0, 0), None);
    }
}
