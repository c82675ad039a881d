//! A UDP socket that sends and receives many datagrams per call (GSO, GRO, recvmmsg), without IP
//! fragmentation and with ECN bits.

use crate::background::{Background, Output};
use ackclock_core::packet::Ecn;
use ackclock_pcap::{PcapWriter, encode_datagram};
use ackclock_spec::units::Time;
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use std::fmt;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// Requested socket buffer in bytes, to hold what arrives while other code runs. The system may
/// give less (`net.core.rmem_max`).
const BUFFER: usize = 1 << 22;
/// The largest datagram in bytes, and so the most that the system may coalesce (GRO).
const LARGEST: usize = 1 << 16;
/// Bytes of IP and UDP headers, which count towards the largest.
const ROOM_FOR_HEADERS: usize = 100;

/// A UDP socket for batches of datagrams, with an optional capture.
pub struct Port {
    socket: UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
    capture: Option<PcapWriter<Background>>,
    packet: Vec<u8>,
    batch: Batch,
    buffers: [Vec<u8>; BATCH_SIZE],
    unsent: (u64, Option<io::Error>),
}

/// Datagrams to one address, all of the same length except the last.
#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    to: Option<SocketAddr>,
    /// Length of the first datagram in bytes.
    segment: usize,
    count: usize,
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Port({})", self.local)
    }
}

impl Port {
    /// Opens a socket at that address; port 0 chooses any. Writes a capture of everything sent and
    /// received there to `capture`, if given.
    ///
    /// # Errors
    /// Errors of creating the socket and of writing to the file.
    pub fn bind(address: SocketAddr, capture: Option<File>) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        let state = UdpSocketState::new((&socket).into())?;
        // Larger buffers are better, but smaller ones do.
        let _ = state.set_recv_buffer_size((&socket).into(), BUFFER);
        let _ = state.set_send_buffer_size((&socket).into(), BUFFER);
        let capture = match capture {
            Some(file) => Some(PcapWriter::new(Background::new(file)?, 0)?),
            None => None,
        };
        Ok(Port {
            local: socket.local_addr()?,
            socket,
            state,
            capture,
            packet: Vec::new(),
            batch: Batch::default(),
            buffers: std::array::from_fn(|_| vec![0; LARGEST]),
            unsent: (0, None),
        })
    }

    /// Returns the local address. Once a datagram has arrived, the host is that datagram's
    /// destination.
    pub const fn local(&self) -> SocketAddr {
        self.local
    }

    /// Sends the datagrams that `poll` appends to its buffer, until it returns `None`.
    pub fn send_all(
        &mut self,
        now: Time,
        ecn: bool,
        poll: impl FnMut(&mut Vec<u8>) -> Option<SocketAddr>,
    ) -> io::Result<()> {
        self.gather(now, ecn, poll)?;
        self.send_batch(now, ecn)
    }

    /// Does the same as [`Port::send_all`], except that the last batch may wait for further
    /// datagrams, or for [`Port::send_all`], to leave in one call with them.
    pub fn gather(
        &mut self,
        now: Time,
        ecn: bool,
        mut poll: impl FnMut(&mut Vec<u8>) -> Option<SocketAddr>,
    ) -> io::Result<()> {
        loop {
            let begin = self.batch.bytes.len();
            let Some(to) = poll(&mut self.batch.bytes) else {
                return Ok(());
            };
            let length = self.batch.bytes.len() - begin;
            if self.batch.count > 0 && (self.batch.to != Some(to) || length > self.batch.segment) {
                let last = self.batch.bytes.split_off(begin);
                self.send_batch(now, ecn)?;
                self.batch.bytes.extend_from_slice(&last);
            }
            if self.batch.count == 0 {
                (self.batch.to, self.batch.segment) = (Some(to), length);
            }
            self.batch.count += 1;
            let is_full = self.batch.count >= self.state.max_gso_segments()
                || self.batch.bytes.len() + self.batch.segment > LARGEST - ROOM_FOR_HEADERS;
            if length < self.batch.segment || is_full {
                self.send_batch(now, ecn)?;
            }
        }
    }

    fn send_batch(&mut self, now: Time, ecn: bool) -> io::Result<()> {
        let batch = std::mem::take(&mut self.batch);
        if let Some(to) = batch.to {
            self.put(now, to, ecn, &batch.bytes, batch.segment)?;
        }
        self.batch.bytes = batch.bytes;
        self.batch.bytes.clear();
        Ok(())
    }

    /// Sends one datagram.
    pub fn send(
        &mut self,
        now: Time,
        to: SocketAddr,
        ecn: bool,
        datagram: &[u8],
    ) -> io::Result<()> {
        self.put(now, to, ecn, datagram, datagram.len())
    }

    /// Sends a batch. Datagrams that the system refuses are lost as on the path, and counted.
    fn put(
        &mut self,
        now: Time,
        to: SocketAddr,
        ecn: bool,
        bytes: &[u8],
        segment: usize,
    ) -> io::Result<()> {
        let source = Some(self.local.ip()).filter(|ip| !ip.is_unspecified());
        let transmit = Transmit {
            destination: to,
            ecn: ecn.then_some(EcnCodepoint::Ect0),
            contents: bytes,
            segment_size: (segment < bytes.len()).then_some(segment),
            src_ip: source,
        };
        let sent = loop {
            match self.state.try_send((&self.socket).into(), &transmit) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                sent => break sent,
            }
        };
        if let Err(error) = sent {
            self.unsent.0 += bytes.len().div_ceil(segment) as u64;
            self.unsent.1 = Some(error);
            return Ok(());
        }
        let ecn = if ecn { Ecn::Capable } else { Ecn::NotCapable };
        let local = self.local;
        bytes
            .chunks(segment)
            .try_for_each(|datagram| self.keep(now, local, to, ecn, datagram))
    }

    /// Passes on all datagrams that have arrived: source, ECN field, bytes.
    pub fn receive(
        &mut self,
        now: impl Fn() -> Time,
        mut handle: impl FnMut(&mut Self, SocketAddr, Ecn, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut buffers = std::mem::take(&mut self.buffers);
        let result = self.receive_into(&mut buffers, now, &mut handle);
        self.buffers = buffers;
        result
    }

    fn receive_into(
        &mut self,
        buffers: &mut [Vec<u8>; BATCH_SIZE],
        now: impl Fn() -> Time,
        handle: &mut impl FnMut(&mut Self, SocketAddr, Ecn, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let count = {
            let mut slices = buffers.each_mut().map(|buffer| IoSliceMut::new(buffer));
            match self
                .state
                .recv((&self.socket).into(), &mut slices, &mut metas)
            {
                Ok(count) => count,
                // There is no datagram; or an ICMP message has come, which anybody can forge.
                Err(_) => return Ok(()),
            }
        };
        for (buffer, meta) in buffers.iter().zip(&metas[..count]) {
            if let Some(ip) = meta.dst_ip {
                self.local.set_ip(ip);
            }
            let ecn = match meta.ecn {
                Some(EcnCodepoint::Ce) => Ecn::Marked,
                Some(EcnCodepoint::Ect0) => Ecn::Capable,
                Some(EcnCodepoint::Ect1) => Ecn::CapableL4s,
                None => Ecn::NotCapable,
            };
            let from = canonical(meta.addr);
            for datagram in buffer[..meta.len].chunks(meta.stride.max(1)) {
                if self.capture.is_some() {
                    self.keep(now(), from, self.local, ecn, datagram)?;
                }
                handle(self, from, ecn, datagram)?;
            }
        }
        Ok(())
    }

    fn keep(
        &mut self,
        now: Time,
        from: SocketAddr,
        to: SocketAddr,
        ecn: Ecn,
        datagram: &[u8],
    ) -> io::Result<()> {
        let Some(capture) = &mut self.capture else {
            return Ok(());
        };
        if encode_datagram(from, to, ecn, datagram, &mut self.packet) {
            capture.write(now, &self.packet, self.packet.len() as u32)?;
        }
        Ok(())
    }

    /// Passes what was captured so far to the writer's thread, so that a killed session keeps it.
    ///
    /// # Errors
    /// Errors of writing the capture.
    pub fn hand_over(&mut self) -> io::Result<()> {
        match &mut self.capture {
            Some(capture) => capture.output_mut().hand_over(),
            None => Ok(()),
        }
    }

    /// Closes the capture. Returns the number of datagrams that could not be sent, and the last
    /// error.
    ///
    /// # Errors
    /// Errors of writing the capture.
    pub fn finish(mut self) -> io::Result<(u64, Option<io::Error>)> {
        if let Some(capture) = self.capture.take() {
            capture.finish()?;
        }
        Ok(self.unsent)
    }
}

/// Converts an IPv4 address mapped to IPv6 to plain IPv4.
fn canonical(address: SocketAddr) -> SocketAddr {
    match (address, address.ip().to_canonical()) {
        (SocketAddr::V6(_), IpAddr::V4(ip)) => SocketAddr::from((ip, address.port())),
        _ => address,
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::time::Duration;

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "the file is written by another thread"
    )]
    fn a_capture_that_is_handed_over_is_in_its_file_before_the_end() {
        let path = std::env::temp_dir().join(format!("ackclock-port-{}", std::process::id()));
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut port = Port::bind(here, Some(File::create(&path).unwrap())).unwrap();
        let to = UdpSocket::bind(here).unwrap().local_addr().unwrap();
        port.send(Time::ZERO, to, false, &[7; 100]).unwrap();
        port.hand_over().unwrap();
        // Headers of the file, the packet record, IP and UDP precede the payload. Another thread
        // writes them.
        let whole = || std::fs::metadata(&path).unwrap().len() > 24 + 16 + 28 + 99;
        let written = (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            whole()
        });
        std::fs::remove_file(&path).unwrap();
        assert!(written);
    }
}
