//! The emulator's end of a host's network device: whole IP packets out and in, over either kind of
//! device.

use rustix::io::{Errno, read, readv, write, writev};
use serde::{Deserialize, Serialize};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Name of a host's device inside the host.
pub const NAME: &str = "ackclock";
/// Length of a device's transmit queue in packets. That of a TUN is the ring between host and
/// emulator. The windows of all flows may be in it at once, since a packet in it no longer counts
/// against the sender's socket.
pub const TRANSMIT_QUEUE: u32 = 10_000;
/// Length of an Ethernet header: destination, source, EtherType.
pub(crate) const ETHERNET_HEADER: usize = 14;
/// EtherType of IPv4.
pub(crate) const IPV4: u16 = 0x0800;

/// Kind of device that carries a host's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A TUN interface, tun.rst in the kernel's documentation.
    Tun,
    /// A veth pair; a packet socket, packet(7), reads and writes on the emulator's end.
    PacketSocket,
}

/// Facts about a device for the emulator, besides its descriptor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceFacts {
    /// Kind of the device.
    pub kind: DeviceKind,
    /// Ethernet addresses of the host's interface and of the emulator's, if any.
    pub ethernet: Option<[[u8; 6]; 2]>,
    /// Size of the socket's receive buffer in bytes, as the kernel counts them; `None` for a TUN.
    pub receive_buffer_bytes: Option<u64>,
}

/// A host's network device. Reading and writing never block.
///
/// The network namespace lives as long as this device, even without the host.
#[derive(Debug)]
pub struct Device {
    descriptor: OwnedFd,
    facts: DeviceFacts,
    /// Header prepended to each packet written.
    header: Option<[u8; ETHERNET_HEADER]>,
    lost: u64,
}

impl Device {
    pub(crate) fn new(descriptor: OwnedFd, facts: DeviceFacts) -> Device {
        let header = facts.ethernet.map(|[host, emulator]| {
            let mut header = [0; ETHERNET_HEADER];
            header[..6].copy_from_slice(&host);
            header[6..12].copy_from_slice(&emulator);
            header[12..].copy_from_slice(&IPV4.to_be_bytes());
            header
        });
        Device {
            descriptor,
            facts,
            header,
            lost: 0,
        }
    }

    /// Returns facts about the device.
    pub fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    /// Reads the next IP packet that the host has sent and returns its length; `None` if there is
    /// none.
    ///
    /// Bytes that do not fit into `buffer` are silently lost. Pass 65,535 bytes, or the MTU and one
    /// byte more to detect packets that are too long.
    ///
    /// # Errors
    /// Errors of read(2); ENETDOWN or EBADFD once the interface is gone.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let received = match self.header {
            None => read(&self.descriptor, buffer),
            Some(_) => {
                let mut header = [0; ETHERNET_HEADER];
                let mut parts = [IoSliceMut::new(&mut header), IoSliceMut::new(buffer)];
                readv(&self.descriptor, &mut parts)
                    .map(|length| length.saturating_sub(ETHERNET_HEADER))
            }
        };
        match received {
            Ok(length) => Ok(Some(length)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends an IP packet to the host; returns `false` if the kernel had no room for it. The host's
    /// whole receive path may run inside this call.
    ///
    /// # Errors
    /// Errors of write(2): EINVAL if it is not an IP packet, EMSGSIZE if it exceeds the MTU of a
    /// packet socket, EIO or ENETDOWN while the interface is down.
    pub fn write(&self, packet: &[u8]) -> io::Result<bool> {
        loop {
            let sent = match &self.header {
                None => write(&self.descriptor, packet),
                Some(header) => writev(
                    &self.descriptor,
                    &[IoSlice::new(header), IoSlice::new(packet)],
                ),
            };
            match sent {
                Ok(_) => return Ok(true),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::NOBUFS) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns the packets sent by the host and lost since the beginning because they were not read
    /// in time. Always 0 for a TUN, whose interface counts them itself, as `send_drops`.
    ///
    /// # Errors
    /// Errors of getsockopt(2).
    pub fn lost(&mut self) -> io::Result<u64> {
        if self.facts.kind == DeviceKind::PacketSocket {
            // struct tpacket_stats: packets, drops; reading resets both.
            let [_, drops] = crate::system::socket_option::words::<2>(
                &self.descriptor,
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
            )?;
            self.lost += u64::from(drops);
        }
        Ok(self.lost)
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
