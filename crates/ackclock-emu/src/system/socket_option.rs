//! setsockopt(2) and getsockopt(2) for options of any size.
#![expect(
    unsafe_code,
    reason = "the libraries in use wrap only the options they know"
)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Sets an option.
///
/// # Errors
/// Errors of setsockopt(2).
pub(crate) fn set(socket: impl AsFd, level: i32, option: i32, value: &[u8]) -> io::Result<()> {
    let length = value.len() as libc::socklen_t;
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads at most `length` bytes, which the live `value` has.
    match unsafe { libc::setsockopt(descriptor, level, option, value.as_ptr().cast(), length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Reads an option into the beginning of `value`; returns the number of bytes that the kernel has
/// filled.
///
/// # Errors
/// Errors of getsockopt(2).
pub(crate) fn get(
    socket: impl AsFd,
    level: i32,
    option: i32,
    value: &mut [u8],
) -> io::Result<usize> {
    let mut length = value.len() as libc::socklen_t;
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `length` bytes, which the live `value` has; any bytes are a
    // valid `u8`.
    match unsafe {
        libc::getsockopt(
            descriptor,
            level,
            option,
            value.as_mut_ptr().cast(),
            &raw mut length,
        )
    } {
        0 => Ok((length as usize).min(value.len())),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets an `int` option.
///
/// # Errors
/// As [`set`].
pub(crate) fn set_int(socket: impl AsFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    set(socket, level, option, &value.to_ne_bytes())
}

/// Reads an option of `N` 32-bit words; words that the kernel does not fill are zero.
///
/// # Errors
/// As [`get`].
pub(crate) fn words<const N: usize>(
    socket: impl AsFd,
    level: i32,
    option: i32,
) -> io::Result<[u32; N]> {
    let mut bytes = [[0; 4]; N];
    get(socket, level, option, bytes.as_flattened_mut())?;
    Ok(bytes.map(u32::from_ne_bytes))
}
