//! fork(2) as a function that returns only in the parent.
#![expect(
    unsafe_code,
    reason = "a namespace's first process can only be made by fork"
)]

use rustix::process::Pid;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Exit status of a child that panicked.
const PANICKED: i32 = 101;

/// Runs `child` in a new process, which exits with the status that it returns. Returns only in the
/// parent, with the child's id.
///
/// # Errors
/// More than one thread runs (their locks would stay locked in the child for ever), or an error of
/// fork(2).
pub(crate) fn fork_into(child: impl FnOnce() -> i32) -> io::Result<Pid> {
    let threads = std::fs::read_dir("/proc/self/task")?.count();
    if threads != 1 {
        return Err(io::Error::other(format!(
            "{threads} threads run, and fork would copy one"
        )));
    }
    // SAFETY: the only thread forks, so the child has a consistent copy of this process's state.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let status = catch_unwind(AssertUnwindSafe(child)).unwrap_or(PANICKED);
            // SAFETY: always sound; the caller's frames are never returned to, so nothing in them
            // runs twice.
            unsafe { libc::_exit(status) }
        }
        id => Ok(Pid::from_raw(id).expect("fork gives a positive process id")),
    }
}
