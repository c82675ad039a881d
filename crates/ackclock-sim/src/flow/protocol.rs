//! The two sides of a flow: TCP, or any other transport.

use ackclock_core::endpoint::{Receiver, Sender, SenderEvent};
use ackclock_core::packet::{Ecn, FlowId, Packet, PacketId, PacketKind, PacketPool};
use ackclock_core::transport::Endpoints;
use ackclock_core::transport::endpoint::{Arrived, Endpoint, Progress};
use ackclock_spec::units::{Span, Time};

/// The two sides. Their kind is needed several times for each packet. So it is a separate number,
/// which is quick to compare with zero, where the compiler would hide it in the spare values of a
/// field.
#[derive(Debug)]
#[repr(u8)]
#[expect(clippy::large_enum_variant, reason = "TCP is what runs are made of")]
pub enum Protocol {
    /// TCP.
    Tcp {
        /// Size of the headers of every packet, and of an ACK.
        header: u16,
        /// ECN field of new data, and of retransmissions and ACKs.
        ecn: (Ecn, Ecn),
        /// Sends data.
        sender: Box<Sender>,
        /// Acknowledges data.
        receiver: Receiver,
    },
    /// Any other transport.
    Other(Box<Other>),
}

impl Protocol {
    /// Takes the sides of a transport.
    pub fn of(endpoints: Endpoints) -> Self {
        match endpoints {
            Endpoints::Tcp {
                sender,
                receiver,
                parameters,
            } => Protocol::Tcp {
                sender,
                receiver,
                header: parameters.connection.header.0 as u16,
                ecn: (parameters.ecn.of_new_data(), parameters.ecn.of_the_rest()),
            },
            Endpoints::Other { sender, receiver } => Protocol::Other(Box::new(Other {
                sender: Side::new(sender, PacketKind::Datagram),
                receiver: Side::new(receiver, PacketKind::Feedback),
                payload: Vec::new(),
            })),
        }
    }
}

/// The sides of a transport that is not TCP. The methods that packets need are not inlined and
/// marked as cold, so that they do not lengthen the path of a TCP segment.
#[derive(Debug)]
pub struct Other {
    /// Sends data.
    pub(super) sender: Side,
    /// Takes data.
    pub(super) receiver: Side,
    /// Bytes of the packet that is made, and room for the next.
    payload: Vec<u8>,
}

/// One side, and when to wake it.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) endpoint: Box<dyn Endpoint>,
    /// Kind of the packets that it sends.
    kind: PacketKind,
    wake: Time,
    /// Time at which it was last woken.
    woken: Time,
}

impl Side {
    fn new(endpoint: Box<dyn Endpoint>, kind: PacketKind) -> Self {
        Side {
            endpoint,
            kind,
            wake: Time::NEVER,
            woken: Time::ZERO,
        }
    }

    #[inline]
    pub(super) const fn poll_timeout(&self) -> Time {
        self.wake
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        if self.wake <= now {
            self.woken = now;
            self.endpoint.handle_timeout(now);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn handle_packet(&mut self, now: Time, id: PacketId, packets: &PacketPool) {
        let arrived = Arrived {
            packet: &packets[id],
            options: packets.options(id),
            payload: packets.payload(id),
        };
        self.endpoint.handle_packet(now, &arrived);
    }

    /// Returns the next packet of this side. It reuses the slot of the packet that has arrived, if
    /// there is one.
    fn poll(
        &mut self,
        now: Time,
        flow: FlowId,
        arrived: Option<PacketId>,
        (packets, payload): (&mut PacketPool, &mut Vec<u8>),
    ) -> Option<PacketId> {
        let Some(sent) = self.endpoint.poll_transmit(now, payload) else {
            self.wake = self.endpoint.poll_timeout();
            if self.wake <= now && self.woken == now {
                self.wake = now + Span::from_nanos(1); // a timer that stands still stops the run
            }
            return None;
        };
        let mut packet = Packet::new(self.kind, flow, sent.number, sent.size, sent.stamp);
        packet.set_ecn(sent.ecn);
        let id = packets.answer(arrived, packet);
        if let Some(options) = sent.options {
            packets.set_options(id, options);
        } else if !payload.is_empty() {
            packets.set_payload(id, payload);
            payload.clear();
        }
        Some(id)
    }
}

impl Other {
    #[cold]
    #[inline(never)]
    pub(super) fn poll_transmit(
        &mut self,
        now: Time,
        flow: FlowId,
        packets: &mut PacketPool,
    ) -> Option<PacketId> {
        let pool = (packets, &mut self.payload);
        self.sender.poll(now, flow, None, pool)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn poll_answer(
        &mut self,
        now: Time,
        flow: FlowId,
        arrived: Option<PacketId>,
        packets: &mut PacketPool,
    ) -> Option<PacketId> {
        let pool = (packets, &mut self.payload);
        self.receiver.poll(now, flow, arrived, pool)
    }

    /// Returns the state and the counts of the sending side.
    pub fn progress(&self) -> Progress {
        self.sender.endpoint.progress()
    }

    /// Returns the reactions of the sending side to congestion since the last call.
    pub fn take_events(&mut self) -> Vec<SenderEvent> {
        self.sender.endpoint.take_events()
    }

    fn sides(&self) -> [&dyn Endpoint; 2] {
        [&*self.sender.endpoint, &*self.receiver.endpoint]
    }

    /// True if a side may fail.
    pub fn may_fail(&self) -> bool {
        self.sides().iter().any(|side| side.may_fail())
    }

    /// Returns the reason why a side cannot go on.
    pub fn fault(&self) -> Option<String> {
        self.sides().iter().find_map(|side| side.fault())
    }
}
