//! sched_setscheduler(2).
#![expect(unsafe_code, reason = "no library in use wraps sched_setscheduler")]

use std::io;

/// Makes the calling thread SCHED_FIFO with this priority (1 to 99); its children and new threads
/// have ordinary priority.
///
/// # Errors
/// Errors of sched_setscheduler(2): EPERM without CAP_SYS_NICE in the initial user namespace and
/// without RLIMIT_RTPRIO.
pub(crate) fn first_in_first_out(priority: i32) -> io::Result<()> {
    let parameter = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: the pointer is to a live local, which the call only reads.
    match unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &parameter)
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
