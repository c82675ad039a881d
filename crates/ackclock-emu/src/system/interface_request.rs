//! ioctl(2) requests about network interfaces, netdevice(7).
#![expect(
    unsafe_code,
    reason = "an ioctl's argument is a pointer to whatever the request says"
)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The argument of the requests, with a name of at most 15 bytes and nothing else.
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

/// TUNSETIFF: makes the open TUN node an interface of that name, of whole IP packets with nothing
/// before them.
///
/// # Errors
/// What the driver says: EPERM without CAP_NET_ADMIN in the network namespace, EBUSY if the name is
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

/// TUNSETOFFLOAD with no flag: the kernel shall segment and sum before it hands packets over.
///
/// # Errors
/// What the driver says.
pub(crate) fn refuse_tun_offloads(node: impl AsFd) -> io::Result<()> {
    // SAFETY: TUNSETOFFLOAD takes an integer, no pointer.
    checked(unsafe {
        libc::ioctl(
            node.as_fd().as_raw_fd(),
            libc::TUNSETOFFLOAD as _,
            0 as libc::c_ulong,
        )
    })
}

/// What an interface can be told to leave to the kernel, by its ethtool command (linux/ethtool.h,
/// `ETHTOOL_S…`).
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

/// SIOCETHTOOL: switches an offload off. The socket says in which network namespace the interface
/// is.
///
/// # Errors
/// What the driver says: EOPNOTSUPP if it cannot change this.
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
