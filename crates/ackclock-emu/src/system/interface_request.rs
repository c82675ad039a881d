//! ioctl(2) requests about network interfaces, netdevice(7).
#![expect(
    unsafe_code,
    reason = "an ioctl's argument is a pointer to whatever the request says"
)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Returns the argument of a request, with only a name of at most 15 bytes.
fn named(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all-zero bytes are a valid ifreq: integers, arrays of them, and a null pointer.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() || name.contains('\0') {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    Ok(request)
}

fn checked(result: i32) -> io::Result<()> {
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// TUNSETIFF: turns the open TUN node into an interface with this name, which carries whole IP
/// packets without a prefix.
///
/// # Errors
/// Errors of the driver: EPERM without CAP_NET_ADMIN in the network namespace, EBUSY if the name is
/// taken.
pub(crate) fn make_tun(node: impl AsFd, name: &str) -> io::Result<()> {
    let mut request = named(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes one ifreq, which is live.
    checked(unsafe {
        libc::ioctl(
            node.as_fd().as_raw_fd(),
            libc::TUNSETIFF as _,
            &raw mut request,
        )
    })
}

/// TUNSETOFFLOAD without flags: the kernel segments packets and computes checksums before it hands
/// them over.
///
/// # Errors
/// Errors of the driver.
pub(crate) fn refuse_tun_offloads(node: impl AsFd) -> io::Result<()> {
    // SAFETY: TUNSETOFFLOAD takes an integer, not a pointer.
    checked(unsafe {
        libc::ioctl(
            node.as_fd().as_raw_fd(),
            libc::TUNSETOFFLOAD as _,
            0 as libc::c_ulong,
        )
    })
}

/// Offloads of an interface, by their ethtool command (linux/ethtool.h, `ETHTOOL_S…`).
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(crate) enum Offload {
    ReceiveChecksum = 0x15,
    TransmitChecksum = 0x17,
    ScatterGather = 0x19,
    TcpSegmentation = 0x1f,
    GenericSegmentation = 0x24,
    GenericReceive = 0x2c,
}

/// SIOCETHTOOL: switches an offload off. The socket determines the network namespace of the
/// interface.
///
/// # Errors
/// Errors of the driver: EOPNOTSUPP if it cannot change this.
pub(crate) fn switch_off(socket: impl AsFd, name: &str, offload: Offload) -> io::Result<()> {
    let mut argument = [offload as u32, 0]; // struct ethtool_value: command, value
    let mut request = named(name)?;
    request.ifr_ifru.ifru_data = argument.as_mut_ptr().cast();
    // SAFETY: SIOCETHTOOL reads one ifreq and, for the commands in `Offload`, the two words of an
    // ethtool_value behind its pointer; both are live.
    checked(unsafe {
        libc::ioctl(
            socket.as_fd().as_raw_fd(),
            libc::SIOCETHTOOL as _,
            &raw mut request,
        )
    })
}
