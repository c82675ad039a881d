//! bind(2) with the address of a packet socket, packet(7).
#![expect(unsafe_code, reason = "no library in use has sockaddr_ll")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Binds a packet socket to one protocol (an EtherType) on one interface.
///
/// # Errors
/// Errors of bind(2).
pub(crate) fn bind(socket: impl AsFd, interface: u32, ether_type: u16) -> io::Result<()> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: ether_type.to_be(),
        sll_ifindex: interface.cast_signed(),
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let length = size_of_val(&address) as libc::socklen_t;
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: pointer and length are those of a live sockaddr_ll, which the call only reads.
    match unsafe { libc::bind(descriptor, (&raw const address).cast(), length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
