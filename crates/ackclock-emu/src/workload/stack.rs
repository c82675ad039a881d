//! One side of a transport that others wrote, on a UDP socket.

use super::event_loop::Waiting;
use super::plan::{FlowPlan, Refused, UDP_HEADER_BYTES};
use super::settings::{enlarge_receive_buffer, overflowed, socket_refused};
use ackclock_core::packet::{Dscp, Ecn, FlowId, Packet, PacketKind};
use ackclock_core::transport::endpoint::{Arrived, Endpoint};
use ackclock_spec::units::Time;
use ackclock_transport::driver::Port;
use rustix::event::epoll::EventFlags;
use rustix::io::retry_on_intr;
use rustix::net::{SendFlags, sendto, sockopt};
use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd};

/// A side with its socket.
#[derive(Debug)]
pub(super) struct SocketSide {
    port: Port,
    end: End,
}

/// The side, and what its socket needs for sending.
#[derive(Debug)]
struct End {
    endpoint: Box<dyn Endpoint>,
    peer: SocketAddrV4,
    dscp: Dscp,
    /// Byte of the IP header with codepoint and ECN field, as the socket has it.
    service: u8,
    payload: Vec<u8>,
    sent: u64,
    refused: u64,
    refusal: Option<io::Error>,
}

/// Datagrams that a socket did not carry: lost outside the model.
#[derive(Debug, Default)]
pub(super) struct NotCarried {
    /// Datagrams that the kernel refused to send.
    pub(super) refused: u64,
    /// Its reason for the last of these.
    pub(super) refusal: Option<String>,
    /// Datagrams for which there was no buffer, if the kernel counts them.
    pub(super) overflowed: Option<u64>,
}

impl SocketSide {
    /// Creates the side of `flow` at the address `own`, with a bound socket.
    pub(super) fn prepare(
        flow: &FlowPlan,
        endpoint: Box<dyn Endpoint>,
        (own, peer): (SocketAddrV4, SocketAddrV4),
    ) -> Result<Self, Refused> {
        let bound = || -> io::Result<Port> {
            let port = Port::bind(SocketAddr::V4(own), None)?;
            enlarge_receive_buffer(&port)?;
            sockopt::set_ip_tos(&port, flow.dscp.bits() << 2)?;
            Ok(port)
        };
        let port = bound().map_err(|error| {
            let attempt = format!("cannot send and receive at {own}");
            socket_refused(flow.number, &attempt, &error)
        })?;
        Ok(SocketSide {
            port,
            end: End {
                endpoint,
                peer,
                dscp: flow.dscp,
                service: flow.dscp.bits() << 2,
                payload: Vec::new(),
                sent: 0,
                refused: 0,
                refusal: None,
            },
        })
    }

    pub(super) fn watch(&self, index: u64, waiting: &Waiting) -> io::Result<()> {
        waiting.add(&self.port, index, EventFlags::IN)
    }
    pub(super) fn endpoint(&self) -> &dyn Endpoint {
        &*self.end.endpoint
    }
    pub(super) fn endpoint_mut(&mut self) -> &mut dyn Endpoint {
        &mut *self.end.endpoint
    }
    /// Returns the number of datagrams that were sent.
    pub(super) const fn sent(&self) -> u64 {
        self.end.sent
    }

    /// Lets the side do what is due, and sends.
    pub(super) fn handle_timeout(&mut self, now: Time) {
        if self.end.endpoint.poll_timeout() <= now {
            self.end.endpoint.handle_timeout(now);
        }
        self.end.transmit(now, self.port.as_fd());
    }

    /// Hands over the datagrams that have arrived, and sends what they lead to. Returns their
    /// number.
    ///
    /// All that one wake-up finds have arrived at its time, as in the event loop of quinn. With
    /// times of their own, ACKs that waited together would seem to follow one another within
    /// microseconds.
    pub(super) fn receive(&mut self, now: Time) -> io::Result<u64> {
        let (end, mut arrived) = (&mut self.end, 0);
        self.port.receive(
            || now,
            |port, _from, ecn, datagram| {
                arrived += 1;
                end.handle(now, ecn, datagram);
                end.transmit(now, port.as_fd());
                Ok(())
            },
        )?;
        Ok(arrived)
    }

    /// Returns what its socket did not carry.
    pub(super) fn not_carried(&self) -> NotCarried {
        NotCarried {
            refused: self.end.refused,
            refusal: self.end.refusal.as_ref().map(ToString::to_string),
            overflowed: overflowed(&self.port).ok(),
        }
    }
}

impl End {
    fn handle(&mut self, now: Time, ecn: Ecn, datagram: &[u8]) {
        let size = datagram.len() as u64 + UDP_HEADER_BYTES;
        let size = u16::try_from(size).unwrap_or(u16::MAX);
        // Number and time of sending are of the engine's own transports alone.
        let mut packet = Packet::new(PacketKind::Datagram, FlowId(0), 0, size, now);
        packet.set_ecn(ecn);
        let arrived = Arrived {
            packet: &packet,
            options: None,
            payload: datagram,
        };
        self.endpoint.handle_packet(now, &arrived);
    }

    /// Sends what the side has to send. Datagrams that the kernel refuses are lost as on the path,
    /// and counted.
    fn transmit(&mut self, now: Time, socket: BorrowedFd<'_>) {
        loop {
            self.payload.clear();
            let Some(packet) = self.endpoint.poll_transmit(now, &mut self.payload) else {
                return;
            };
            match self.send(packet.ecn, socket) {
                Ok(()) => self.sent += 1,
                Err(error) => {
                    self.refused += 1;
                    self.refusal = Some(error);
                }
            }
        }
    }

    fn send(&mut self, ecn: Ecn, socket: BorrowedFd<'_>) -> io::Result<()> {
        let service = self.dscp.bits() << 2 | ecn.bits();
        if service != self.service {
            sockopt::set_ip_tos(socket, service)?;
            self.service = service;
        }
        let send = || sendto(socket, &self.payload, SendFlags::NOSIGNAL, &self.peer);
        retry_on_intr(send)?;
        Ok(())
    }
}
