//! A host's device as a veth pair with a packet socket on the emulator's end; it needs no device
//! node.
//!
//! The emulator's end is in a network namespace of its own without addresses, so that the kernel
//! does nothing with the packets that the socket reads.

use crate::device::{DeviceFacts, DeviceKind, IPV4, TRANSMIT_QUEUE};
use crate::netlink::Netlink;
use crate::settings;
use crate::system::interface_request::{Offload, switch_off};
use crate::system::{packet_address, socket_option, unshare};
use rustix::fs::{Mode, OFlags, open};
use rustix::net::sockopt::{
    set_socket_recv_buffer_size, set_socket_recv_buffer_size_force, socket_recv_buffer_size,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Requested receive buffer in bytes: some 10,000 packets of 1500 bytes with the kernel's overhead.
/// Without privileges in the initial namespace the kernel grants only `net.core.rmem_max`.
const RECEIVE_BUFFER: usize = 32 << 20;
/// All offloads that would pass packets longer than the MTU, or without their checksum.
const OFFLOADS: [Offload; 6] = [
    Offload::GenericReceive,
    Offload::GenericSegmentation,
    Offload::TcpSegmentation,
    Offload::ScatterGather,
    Offload::TransmitChecksum,
    Offload::ReceiveChecksum,
];
/// Name of the emulator's end.
pub(crate) const OTHER_END: &str = "emulator";

/// A pair whose first end, `name`, is in the calling thread's network namespace.
#[derive(Debug)]
pub(crate) struct Pair {
    /// Socket on the emulator's end.
    pub(crate) socket: OwnedFd,
    /// Facts for the emulator.
    pub(crate) facts: DeviceFacts,
    /// Netlink socket in the namespace of the emulator's end.
    pub(crate) other_namespace: Netlink,
}

/// Creates the pair. The calling thread moves into a new network namespace, which holds the host's
/// end (down). The emulator's end is in the namespace that it leaves.
///
/// # Errors
/// Errors of the kernel in any of the steps.
pub(crate) fn create(name: &str) -> io::Result<Pair> {
    let mut other_namespace = Netlink::open()?;
    // The socket receives nothing until it is bound.
    let socket = socket_with(
        AddressFamily::PACKET,
        SocketType::RAW,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    settings::forbid_ipv6()?;
    unshare::network_namespace()?;
    settings::forbid_ipv6()?;
    let here = open(
        "/proc/thread-self/ns/net",
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    other_namespace.add_pair(OTHER_END, name, here.as_fd())?;
    let mut namespace = Netlink::open()?;
    for offload in OFFLOADS {
        switch_off_if_there(&namespace, name, offload)?;
        switch_off_if_there(&other_namespace, OTHER_END, offload)?;
    }
    let (end, other) = (
        namespace.interface(name)?,
        other_namespace.interface(OTHER_END)?,
    );
    other_namespace.set_transmit_queue(other.index, TRANSMIT_QUEUE)?;
    other_namespace.set_up(other.index, false)?;
    // Since Linux 4.20; before that, a socket of one protocol does not see sent packets either.
    match socket_option::set_int(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1) {
        Err(error) if error.raw_os_error() != Some(libc::ENOPROTOOPT) => return Err(error),
        _ => {}
    }
    if set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER / 2).is_err() {
        // The kernel doubles the value, socket(7).
        set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER / 2)?;
    }
    packet_address::bind(&socket, other.index, IPV4)?;
    let addresses = [end.ethernet_address, other.ethernet_address];
    let [Some(host), Some(emulator)] = addresses else {
        return Err(io::Error::other(
            "a veth interface without an Ethernet address",
        ));
    };
    let facts = DeviceFacts {
        kind: DeviceKind::PacketSocket,
        ethernet: Some([host, emulator]),
        receive_buffer_bytes: Some(socket_recv_buffer_size(&socket)? as u64),
    };
    Ok(Pair {
        socket,
        facts,
        other_namespace,
    })
}

/// Switches an offload off. Drivers that cannot change it answer EOPNOTSUPP; packets are checked
/// against the MTU in any case.
fn switch_off_if_there(namespace: &Netlink, name: &str, offload: Offload) -> io::Result<()> {
    match switch_off(namespace, name, offload) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(()),
        done => done,
    }
}
