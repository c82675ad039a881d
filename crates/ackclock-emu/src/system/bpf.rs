//! bpf(2): maps and programs of the kernel's virtual machine.
#![expect(
    unsafe_code,
    reason = "the call's argument holds pointers, and no library we use wraps it"
)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// One instruction, as in linux/bpf.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

impl Instruction {
    /// Creates an instruction; registers are 0 to 10.
    pub(crate) const fn new(code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> Self {
        // Bit fields: the first is in the low half on little-endian machines.
        let registers = if cfg!(target_endian = "little") {
            from << 4 | to
        } else {
            to << 4 | from
        };
        Instruction {
            code,
            registers,
            offset,
            immediate,
        }
    }
}

const MAP_CREATE: libc::c_long = 0;
const PROG_LOAD: libc::c_long = 5;
const MAP_TYPE_ARRAY: u32 = 2;
const PROG_TYPE_SOCKET_FILTER: u32 = 1;
/// Licence of the program, which calls no function that is reserved for programs under the GPL.
const LICENSE: &CStr = c"Apache-2.0";

/// Beginning of the call's argument; the kernel takes the rest as zeros.
#[repr(C)]
struct Map {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
}

#[repr(C)]
struct Program {
    kind: u32,
    instructions: u32,
    first: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
}

/// Creates an array of one value of `bytes` zeros, in which programs may keep state.
///
/// # Errors
/// Errors of bpf(2): EPERM without CAP_BPF in the initial user namespace, ENOSYS in a kernel
/// without it.
pub(crate) fn one_value(bytes: u32) -> io::Result<OwnedFd> {
    let map = Map {
        kind: MAP_TYPE_ARRAY,
        key_bytes: 4,
        value_bytes: bytes,
        entries: 1,
    };
    call(MAP_CREATE, &map)
}

/// Loads a program that returns for each packet to a socket how many bytes the socket gets.
///
/// # Errors
/// Errors of bpf(2): EPERM as for [`one_value`], EACCES or EINVAL if the kernel considers the
/// program unsafe.
pub(crate) fn socket_filter(instructions: &[Instruction]) -> io::Result<OwnedFd> {
    let program = Program {
        kind: PROG_TYPE_SOCKET_FILTER,
        instructions: instructions.len() as u32,
        first: instructions.as_ptr() as u64,
        license: LICENSE.as_ptr() as u64,
        log_level: 0,
        log_bytes: 0,
        log: 0,
    };
    call(PROG_LOAD, &program)
}

fn call<T>(command: libc::c_long, argument: &T) -> io::Result<OwnedFd> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes of the live argument, and the memory that its
    // pointers point to, which the callers keep alive: the counted instructions, and a string that
    // ends with a zero.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(argument),
            size_of::<T>(),
        )
    };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both commands return a new descriptor without another owner.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}
