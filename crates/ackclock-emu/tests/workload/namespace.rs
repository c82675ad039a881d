//! A network namespace for this process alone.
#![expect(
    unsafe_code,
    reason = "unshare is unsafe for the sake of a flag that is not used here"
)]

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};
use rustix::process::{Signal, getegid, geteuid, set_parent_process_death_signal};
use rustix::thread::{CpuSet, UnshareFlags, sched_getcpu, sched_setaffinity, unshare_unsafe};
use std::io;

/// Moves this process, which must have one thread, into a network namespace of its own and sets its
/// loopback interface up.
pub fn enter() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    if user == 0 {
        // SAFETY: file descriptors stay shared.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
    } else {
        // SAFETY: file descriptors stay shared.
        unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNET) }?;
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
        std::fs::write("/proc/self/gid_map", format!("0 {group} 1"))?;
    }
    set_up_loopback()
}

/// Keeps this thread and those that it starts on the current processor. Packets that different
/// processors hand to the loopback interface may overtake each other.
pub fn stay_on_this_processor() -> io::Result<()> {
    let mut processors = CpuSet::new();
    processors.set(sched_getcpu());
    Ok(sched_setaffinity(None, &processors)?)
}

/// Sends RTM_NEWLINK for interface 1 with IFF_UP (rtnetlink(7)), which also adds 127.0.0.1/8.
fn set_up_loopback() -> io::Result<()> {
    const RTM_NEWLINK: u16 = 16;
    const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None, // NETLINK_ROUTE is protocol 0,
    )?;
    let mut message = Vec::new();
    message.extend(32_u32.to_ne_bytes()); // length
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    message.extend([0; 8]); // sequence, sender
    message.extend([0; 4]); // family, type
    message.extend(1_i32.to_ne_bytes()); // interface
    message.extend(1_u32.to_ne_bytes()); // flags: IFF_UP
    message.extend(1_u32.to_ne_bytes()); // which flags to change
    sendto(
        &socket,
        &message,
        SendFlags::empty(),
        &SocketAddrNetlink::new(0, 0),
    )?;
    let mut answer = [0; 1024];
    recv(&socket, &mut answer[..], RecvFlags::empty())?;
    // The header's 16 bytes, then the error: negative, or 0 for none.
    match i32::from_ne_bytes([answer[16], answer[17], answer[18], answer[19]]) {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}
