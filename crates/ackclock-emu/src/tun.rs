//! A host's device as a TUN interface.

use crate::device::{DeviceFacts, DeviceKind};
use crate::system::interface_request::{make_tun, refuse_tun_offloads};
use rustix::fs::{Mode, OFlags, open};
use std::io;
use std::os::fd::OwnedFd;

/// Where the driver is reached.
pub const NODE: &str = "/dev/net/tun";

/// Makes a TUN interface in the calling thread's network namespace, gone when the descriptor is
/// closed. It is down.
///
/// Offloads are refused, so that what is read are packets as they would be on a wire: of at most
/// the MTU, summed.
///
/// # Errors
/// What open(2) says about the node (EACCES, ENOENT), or the driver about the interface (EPERM).
pub(crate) fn create(name: &str) -> io::Result<(OwnedFd, DeviceFacts)> {
    let node = open(
        NODE,
        OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    make_tun(&node, name)?;
    refuse_tun_offloads(&node)?;
    Ok((
        node,
        DeviceFacts {
            kind: DeviceKind::Tun,
            ethernet: None,
            receive_buffer_bytes: None,
        },
    ))
}
