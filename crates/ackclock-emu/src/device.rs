//! The emulator's end of a host's network device: whole IP packets out and in, whatever carries
//! them.

use rustix::io::{Errno, read, readv, write, writev};
use serde::{Deserialize, Serialize};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The name of a host's device, in the host.
pub const NAME: &str = "ackclock";
/// Packets a device's transmit queue holds: that of a TUN is the ring between host and emulator,
/// and the window of every flow may be in it at once, since a packet in it no longer counts against
/// the sender's socket.
pub const TRANSMIT_QUEUE: u32 = 10_000;
/// An Ethernet header: destination, source, EtherType.
pub(crate) const ETHERNET_HEADER: usize = 14;
/// EtherType of IPv4.
pub(crate) const IPV4: u16 = 0x0800;

/// What carries a host's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A TUN interface, tun.rst in the kernel's documentation.
    Tun,
    /// A veth pair, the emulator's end of which is read and written by a packet socket, packet(7).
    PacketSocket,
}

/// What the emulator must know of a device besides its descriptor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceFacts {
    /// What it is.
    pub kind: DeviceKind,
    /// Ethernet addresses of the host's interface and of the emulator's, if it has any.
    pub ethernet: Option<[[u8; 6]; 2]>,
    /// Bytes that the socket's receive buffer may hold, as the kernel counts them; of a TUN
    /// nothing.
    pub receive_buffer_bytes: Option<u64>,
}

/// A host's network device. Reading and writing never wait.
///
/// The network namespace lives as long as this does, even without the host.
#[derive(Debug)]
pub struct Device {
    descriptor: OwnedFd,
    facts: DeviceFacts,
    /// What stands before a packet that is written.
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

    /// What it is.
    pub fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    /// Reads the next IP packet that the host has sent, and says how long it is; `None` while there
    /// is none.
    ///
    /// What does not fit into `buffer` is lost without notice: take 65,535 bytes, or the MTU and
    /// one byte more to see a packet that is too long.
    ///
    /// # Errors
    /// What read(2) says; ENETDOWN or EBADFD once the interface is gone.
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

    /// Gives an IP packet to the host; `false` if the kernel had no room for it. The host's whole
    /// input path may run inside of this call.
    ///
    /// # Errors
    /// What write(2) says: EINVAL for what is no IP packet, EMSGSIZE for more than the MTU of a
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

    /// Packets the host has sent that were lost since the beginning because nobody read them in
    /// time. Always 0 for a TUN, whose interface counts them itself, as `send_drops`.
    ///
    /// # Errors
    /// What getsockopt(2) says.
    pub fn lost(&mut self) -> io::Result<u64> {
        if self.facts.kind == DeviceKind::PacketSocket {
            // struct tpacket_stats: packets, drops; both begin anew at every reading.
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
