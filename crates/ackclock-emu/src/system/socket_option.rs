//! setsockopt(2) and getsockopt(2) for options that are integers.
#![expect(unsafe_code, reason = "the libraries in use wrap only the options they know")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Sets an option whose value is an `int`.
///
/// # Errors
/// What setsockopt(2) says.
pub(crate) fn set(socket: impl AsFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    let length = size_of::<i32>() as libc::socklen_t;
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads no more than `length` bytes, which the live `value` has.
    match unsafe { libc::setsockopt(descriptor, level, option, (&raw const value).cast(), length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Reads an option whose value is `N` 32-bit words; words that the kernel does not fill are zero.
///
/// # Errors
/// What getsockopt(2) says.
pub(crate) fn words<const N: usize>(socket: impl AsFd, level: i32, option: i32) -> io::Result<[u32; N]> {
    let mut words = [0; N];
    let mut length = size_of_val(&words) as libc::socklen_t;
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes no more than `length` bytes, which the live `words` has; any bits are an integer.
    match unsafe {
        libc::getsockopt(
            descriptor,
            level,
            option,
            words.as_mut_ptr().cast(),
            &raw mut length,
        )
    } {
        0 => Ok(words),
        _ => Err(io::Error::last_os_error()),
    }
}
