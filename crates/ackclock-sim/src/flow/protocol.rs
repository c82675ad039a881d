//! The endpoints of a flow: TCP, UDP, or UDP under rate control.

use ackclock_core::datagram::{DatagramReceiver, DatagramSender, Once};
use ackclock_core::endpoint::{Receiver, Sender};
use ackclock_core::packet::{Ecn, FlowId, Options, Packet, PacketId, PacketKind, PacketPool};
use ackclock_core::rate_control::Arrived;
use ackclock_core::transport::Endpoints;
use ackclock_spec::units::{Bytes, Time};

/// The endpoints. Their kind is needed several times for each packet. So it is a separate number,
/// which is quick to compare with zero, where the compiler would hide it in the spare values of a
/// field.
#[derive(Debug)]
#[repr(u8)]
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
    /// UDP.
    Udp(Datagrams),
    /// UDP under rate control.
    Controlled(Box<Controlled>),
}

impl Protocol {
    /// Takes the endpoints of a transport.
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
            Endpoints::Udp { header } => Protocol::Udp(Datagrams {
                header: header.0 as u16,
                ..Datagrams::default()
            }),
            Endpoints::Controlled {
                sender,
                receiver,
                parameters,
            } => Protocol::Controlled(Box::new(Controlled {
                sender,
                receiver,
                header: parameters.header.0 as u16,
                feedback_size: parameters.feedback_size.0 as u16,
                ecn: parameters.ecn,
            })),
        }
    }
}

/// A UDP sender and receiver without control: datagrams are numbered, and each counts once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Datagrams {
    pub(super) header: u16,
    /// Datagrams sent.
    pub sent: u64,
    /// Payload received, each datagram once.
    pub delivered: Bytes,
    once: Once,
}

impl Datagrams {
    pub(super) fn receive(&mut self, packet: &Packet) {
        if self.once.is_new(packet.sequence) {
            self.delivered += packet.bytes().saturating_sub(Bytes(self.header.into()));
        }
    }
}

/// A UDP sender and receiver under rate control. Its methods are not inlined and marked as cold, so
/// that they do not lengthen the path of a TCP segment.
#[derive(Debug)]
pub struct Controlled {
    /// Sends datagrams.
    pub sender: DatagramSender,
    /// Sends feedback.
    pub receiver: DatagramReceiver,
    header: u16,
    feedback_size: u16,
    ecn: bool,
}

impl Controlled {
    #[cold]
    #[inline(never)]
    pub(super) fn receive(&mut self, now: Time, id: PacketId, packets: &PacketPool) {
        let packet = &packets[id];
        let rtt = match packets.options(id) {
            Some(Options::RoundTrip(rtt)) => Some(*rtt),
            _ => None,
        };
        let data = Arrived {
            sequence: packet.sequence,
            sent_at: packet.stamp,
            length: Bytes(u64::from(packet.size - self.header)),
            rtt,
            marked: packet.ecn() == Ecn::Marked,
        };
        self.receiver.handle_datagram(now, &data);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn receive_feedback(&mut self, now: Time, id: PacketId, packets: &PacketPool) {
        if let Some(Options::Feedback(feedback)) = packets.options(id) {
            self.sender.handle_feedback(now, feedback);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn poll_timeout(&self) -> Time {
        self.sender.poll_timeout()
    }

    #[cold]
    #[inline(never)]
    pub(super) fn poll_transmit(
        &mut self,
        now: Time,
        flow: FlowId,
        packets: &mut PacketPool,
    ) -> Option<PacketId> {
        let datagram = self.sender.poll_transmit(now)?;
        let size = datagram.length.0 as u16 + self.header;
        let mut packet = Packet::new(PacketKind::Datagram, flow, datagram.sequence, size, now);
        if self.ecn {
            packet.set_ecn(Ecn::Capable);
        }
        let id = packets.insert(packet);
        if let Some(rtt) = datagram.rtt {
            packets.set_options(id, Options::RoundTrip(rtt));
        }
        Some(id)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn poll_feedback(
        &mut self,
        now: Time,
        flow: FlowId,
        arrived: Option<PacketId>,
        packets: &mut PacketPool,
    ) -> Option<PacketId> {
        let feedback = self.receiver.poll_feedback(now)?;
        let (number, echo) = (feedback.sequence, feedback.echo);
        let packet = Packet::new(PacketKind::Feedback, flow, number, self.feedback_size, echo);
        let id = packets.answer(arrived, packet);
        packets.set_options(id, Options::Feedback(feedback));
        Some(id)
    }
}
