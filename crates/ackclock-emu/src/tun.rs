//! A host's device as a TUN interface.

use crate::device::{DeviceFacts, DeviceKind};
use crate::system::interface_request::{make_tun, refuse_tun_offloads};
use rustix::fs::{Mode, OFlags, open};
use std::io;
use std::os::fd::OwnedFd;

/// Device node of the driver.
pub const NODE: &str = "/dev/net/tun";

/// Creates a TUN interface in the calling thread's network namespace. It is down, and vanishes when
/// the descriptor is closed.
///
/// Offloads are refused. So packets have at most the length of the MTU, and checksums.
///
/// # Errors
/// Errors of open(2) about the node (EACCES, ENOENT), or of the driver about the interface (EPERM).
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
