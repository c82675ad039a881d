//! What makes the emulator's thread punctual: real-time priority, and processors that stay awake.

use crate::system::real_time;
use std::fs::{self, File};
use std::io::{self, Write};

/// Of 1 to 99, of a host's workload: above everything ordinary. It sleeps until there is something
/// to write or to read, which is as much as the hops let pass.
const HOST_PRIORITY: i32 = 1;
/// Of the emulator: above the hosts. What comes to the hops must be stamped first.
const LOOP_PRIORITY: i32 = 2;

/// Makes the calling thread, the emulator's, real-time (SCHED_FIFO, sched(7)). Threads and
/// processes it starts from then on are ordinary ones.
///
/// Ask before entering a user namespace: within one even root is refused.
///
/// # Errors
/// What sched_setscheduler(2) says: EPERM without CAP_SYS_NICE in the initial user namespace and
/// without RLIMIT_RTPRIO, or in a control group without real-time budget.
pub fn become_real_time() -> io::Result<()> {
    // Who may have one priority alone (RLIMIT_RTPRIO) takes turns with the hosts.
    real_time::first_in_first_out(LOOP_PRIORITY)
        .or_else(|_| real_time::first_in_first_out(HOST_PRIORITY))
}

/// Makes the calling thread real-time as that of a host's workload. A host in a user namespace is
/// refused.
///
/// # Errors
/// As [`become_real_time`].
pub fn become_real_time_host() -> io::Result<()> {
    real_time::first_in_first_out(HOST_PRIORITY)
}

/// Whether a thread may become real-time: asks in one of its own, which ends with what it got.
///
/// # Errors
/// Those of [`become_real_time`], as a sentence.
pub fn try_real_time() -> Result<(), String> {
    let asked = std::thread::spawn(become_real_time);
    asked
        .join()
        .map_err(|_| "the thread panicked".to_owned())?
        .map_err(|error| error.to_string())
}

/// While it lives no processor of this machine enters an idle state (Linux, "PM QoS interface": a
/// bound on the latency of waking). Waking a processor takes tens of microseconds, that of a
/// virtual machine sometimes milliseconds: it has to get a processor of its host first.
#[derive(Debug)]
pub struct Wakefulness(
    #[expect(dead_code, reason = "the kernel forgets the request when it is closed")] File,
);

impl Wakefulness {
    const DEVICE: &str = "/dev/cpu_dma_latency";

    /// Asks for it.
    ///
    /// # Errors
    /// Those of opening and writing the device, which is root's.
    pub fn request() -> io::Result<Self> {
        let mut device = File::options().write(true).open(Self::DEVICE)?;
        device.write_all(&0_i32.to_ne_bytes())?; // microseconds
        Ok(Wakefulness(device))
    }
}

/// The share of a second that all real-time threads of a processor may have, sched(7); the rest
/// they are stopped. 1 if they never are; `None` if this kernel does not say.
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
