//! unshare(2) for namespaces.
#![expect(
    unsafe_code,
    reason = "unshare is unsafe for the sake of a flag that is not used here"
)]

use rustix::io;
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Moves the process into a user namespace of its own.
pub(crate) fn user_namespace() -> io::Result<()> {
    // SAFETY: file descriptors stay shared.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }
}

/// Moves the thread into a network namespace of its own.
pub(crate) fn network_namespace() -> io::Result<()> {
    // SAFETY: file descriptors stay shared.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }
}

/// Moves the thread into a network namespace of its own, and its next child into a PID namespace.
pub(crate) fn network_and_process_namespaces() -> io::Result<()> {
    // SAFETY: file descriptors stay shared.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET | UnshareFlags::NEWPID) }
}
