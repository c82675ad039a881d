//! The end of children as a descriptor to poll: signalfd(2).
#![expect(unsafe_code, reason = "no library in use wraps signalfd")]

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};

/// Blocks SIGCHLD in this thread and returns a non-blocking descriptor that is readable while one
/// is pending.
///
/// # Errors
/// Errors of sigprocmask(2) and signalfd(2).
pub(crate) fn open() -> io::Result<File> {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set before anything reads it, and all pointers are to
    // live locals.
    let descriptor = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        if libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    };
    if descriptor == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: signalfd has just created the descriptor, which has no other owner.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(descriptor) }))
}
