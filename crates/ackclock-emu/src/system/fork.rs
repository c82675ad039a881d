//! fork(2) as a function that never returns twice.
#![expect(
    unsafe_code,
    reason = "a namespace's first process can only be made by fork"
)]

use rustix::process::Pid;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a child exits with whose body panicked.
const PANICKED: i32 = 101;

/// Runs `child` in a new process, which ends with the status it returns. Returns the process to the
/// caller only.
///
/// # Errors
/// More than one thread runs (their locks would stay locked in the child for ever), or what fork(2)
/// says.
pub(crate) fn fork_into(child: impl FnOnce() -> i32) -> io::Result<Pid> {
    let threads = std::fs::read_dir("/proc/self/task")?.count();
    if threads != 1 {
        return Err(io::Error::other(format!(
            "{threads} threads run, and fork would copy one"
        )));
    }
    // SAFETY: the only thread forks, so that the child has all of this process's state in the order
    // this thread left it.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let status = catch_unwind(AssertUnwindSafe(child)).unwrap_or(PANICKED);
            // SAFETY: always sound; the caller's frames below are never returned to, so nothing of
            // them runs twice.
            unsafe { libc::_exit(status) }
        }
        id => Ok(Pid::from_raw(id).expect("fork gives a positive process id")),
    }
}
