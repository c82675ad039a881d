//! One flow: its endpoints, its traffic and its timers.

use crate::events::{Alarm, EventQueue, Target};
use crate::prefetch::prefetch;
use ackclock_core::activity::Activity;
use ackclock_core::endpoint::{Acknowledgement, AcknowledgementKind, Segment, SegmentKind, Sender};
use ackclock_core::packet::{
    AckOptions, Ecn, FlowId, Options, Packet, PacketId, PacketKind, PacketPool, SackBlocks,
};
use ackclock_core::traffic::Traffic;
use ackclock_spec::units::{Bytes, Time};

mod dialogue;
mod protocol;

pub use dialogue::Dialogue;
pub use protocol::{Other, Protocol};

/// A flow instance of the run.
#[derive(Debug)]
pub struct Flow {
    /// Number of the flow.
    pub id: FlowId,
    /// Index of its group in the scenario's flows.
    pub group: u32,
    /// Number of the instance in its group.
    pub instance: u32,
    /// Endpoints.
    pub protocol: Protocol,
    /// Start and end.
    pub activity: Activity,
    /// Counts at the end of the warm-up.
    pub warm: FlowCounts,
    /// Bytes that arrived at the receiver, headers included.
    pub received_on_wire: Bytes,
    /// Sum of the congestion windows at the sampling times after the warm-up, and their number.
    pub cwnd_samples: (f64, u64),
    /// Wake-up of the sending side.
    pub sending: Alarm,
    /// Wake-up of the receiving side.
    pub acknowledging: Alarm,
    traffic: Box<dyn Traffic>,
    /// The client that asks for the data, and its requests on their way.
    pub dialogue: Option<Box<Dialogue>>,
    /// Payload delivered at which the application at the receiver hears of it: the last byte of a
    /// finite transfer, or what a client waits for.
    hear_at: Bytes,
    /// Time at which the flow starts or stops or the application writes next, whichever is first.
    next_own: Time,
    /// Total number of bytes that the application will write; `u64::MAX` if it does not end.
    total: Bytes,
    started: bool,
    stopped: bool,
}

/// Counts from which means over the measured interval are computed.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowCounts {
    /// Payload delivered.
    pub delivered: Bytes,
    /// Bytes that arrived, headers included.
    pub received_on_wire: Bytes,
    /// Number of round-trip samples.
    pub rtt_samples: u64,
    /// Sum of the round-trip samples in seconds.
    pub rtt_sum_s: f64,
}

impl Flow {
    /// Makes a flow that has not started.
    pub fn new(
        id: FlowId,
        (group, instance): (u32, u32),
        protocol: Protocol,
        mut traffic: Box<dyn Traffic>,
        active: std::ops::Range<Time>,
    ) -> Self {
        let total = traffic.total().unwrap_or(Bytes(u64::MAX));
        let opens_by_syn = match &protocol {
            Protocol::Tcp { sender, .. } => sender.parameters().connection.handshake,
            Protocol::Other(_) => false,
        };
        let begin = if opens_by_syn {
            Time::NEVER
        } else {
            active.start
        };
        let dialogue = traffic
            .take_client()
            .map(|client| Box::new(Dialogue::new(client, begin)));
        Flow {
            next_own: active.start,
            total,
            hear_at: if dialogue.is_some() {
                Bytes::ZERO
            } else {
                total
            },
            dialogue,
            sending: Alarm::default(),
            acknowledging: Alarm::default(),
            id,
            group,
            instance,
            protocol,
            activity: Activity {
                start: active.start,
                stop: active.end,
                completed: None,
            },
            warm: FlowCounts::default(),
            received_on_wire: Bytes::ZERO,
            cwnd_samples: (0.0, 0),
            traffic,
            started: false,
            stopped: false,
        }
    }

    /// Returns the TCP sender, if it is one.
    pub fn sender(&self) -> Option<&Sender> {
        match &self.protocol {
            Protocol::Tcp { sender, .. } => Some(sender),
            Protocol::Other(_) => None,
        }
    }
    /// Returns the TCP sender, if it is one.
    pub fn sender_mut(&mut self) -> Option<&mut Sender> {
        match &mut self.protocol {
            Protocol::Tcp { sender, .. } => Some(sender),
            Protocol::Other(_) => None,
        }
    }

    /// True if it has not been opened.
    pub const fn is_new(&self) -> bool {
        !self.started
    }
    /// Returns when it ended: all data arrived, or it was stopped.
    pub fn ended(&self) -> Option<Time> {
        let stopped = self.stopped.then_some(self.activity.stop);
        self.activity.completed.or(stopped)
    }

    /// True if it may fail.
    pub fn may_fail(&self) -> bool {
        match &self.protocol {
            Protocol::Tcp { sender, .. } => sender.may_fail(),
            Protocol::Other(other) => other.may_fail(),
        }
    }
    /// Returns the reason why it cannot go on.
    pub fn fault(&mut self) -> Option<String> {
        match &mut self.protocol {
            Protocol::Tcp { sender, .. } => sender.fault(),
            Protocol::Other(other) => other.fault(),
        }
    }

    /// Returns the time at which the sending side is to be woken.
    #[inline]
    pub fn poll_timeout(&self) -> Time {
        match &self.protocol {
            Protocol::Tcp { sender, .. } => sender.poll_timeout().min(self.next_own),
            Protocol::Other(other) => other.sender.poll_timeout().min(self.next_own),
        }
    }

    /// Ensures that the sending side, `target`, is woken in time.
    #[inline(always)]
    pub fn arm_sender(&mut self, target: Target, events: &mut EventQueue) {
        self.sending.set(self.poll_timeout(), target, events);
    }
    /// Ensures that the receiving side, `target`, is woken in time.
    #[inline(always)]
    pub fn arm_receiver(&mut self, target: Target, events: &mut EventQueue) {
        self.acknowledging
            .set(self.poll_receiver_timeout(), target, events);
    }

    /// Prefetches the sending side, whose address only the flow knows.
    #[inline(always)]
    pub fn prefetch_sender(&self) {
        match &self.protocol {
            Protocol::Tcp { sender, .. } => prefetch(sender.as_ref()),
            Protocol::Other(other) => prefetch(other.as_ref()),
        }
    }

    fn find_next_own(&mut self) {
        self.next_own = if self.stopped {
            Time::NEVER
        } else if self.started {
            self.next_write().min(self.activity.stop)
        } else {
            self.activity.start
        };
    }

    fn next_write(&self) -> Time {
        let offset = self.traffic.poll_timeout();
        if offset.is_never() {
            Time::NEVER
        } else {
            self.activity.start + offset.since(Time::ZERO)
        }
    }

    /// Handles everything due by `now`: start, stop, writes and timers of the sending side.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.next_own <= now {
            self.handle_own(now);
        }
        match &mut self.protocol {
            Protocol::Tcp { sender, .. } => sender.handle_timeout(now),
            Protocol::Other(other) => other.sender.handle_timeout(now),
        }
    }

    /// Handles the flow's own actions that are due: start, stop and writes.
    fn handle_own(&mut self, now: Time) {
        if !self.started {
            self.started = true;
            match &mut self.protocol {
                Protocol::Tcp { sender, .. } => sender.open(now),
                Protocol::Other(other) => other.sender.endpoint.open(now),
            }
        }
        if now >= self.activity.stop {
            self.stopped = true;
            match &mut self.protocol {
                Protocol::Tcp { sender, .. } => sender.stop(now),
                Protocol::Other(other) => other.sender.endpoint.stop(now),
            }
        } else if self.next_write() <= now {
            self.write_due(now);
        }
        self.find_next_own();
    }

    /// Hands the writes that are due to the transport.
    fn write_due(&mut self, now: Time) {
        while self.next_write() <= now {
            let Some(write) = self.traffic.poll_write() else {
                break;
            };
            match &mut self.protocol {
                Protocol::Tcp { sender, .. } => sender.write(write),
                Protocol::Other(other) => other.sender.endpoint.write(now, write),
            }
        }
        if self.traffic.poll_timeout().is_never() && self.total.0 != u64::MAX {
            match &mut self.protocol {
                Protocol::Tcp { sender, .. } => sender.close(),
                Protocol::Other(other) => other.sender.endpoint.close(now),
            }
        }
    }

    /// Returns the next packet of the sending side, for its first hop.
    #[inline(always)] // so that the packet is built in its slot
    pub fn poll_transmit(&mut self, now: Time, packets: &mut PacketPool) -> Option<PacketId> {
        match &mut self.protocol {
            Protocol::Tcp {
                sender,
                header,
                ecn,
                ..
            } => {
                let segment = sender.poll_transmit(now)?;
                Some(packets.insert(data_packet(self.id, &segment, *header, *ecn)))
            }
            Protocol::Other(other) => other.poll_transmit(now, self.id, packets),
        }
    }

    /// Handles a packet that has reached the receiving side. Returns true if other than one ACK may
    /// have to be sent after it.
    #[inline(always)]
    pub fn receive_data(&mut self, now: Time, id: PacketId, packets: &PacketPool) -> bool {
        let packet = &packets[id];
        self.received_on_wire += packet.bytes();
        let (delivered, answers_apart) = match &mut self.protocol {
            Protocol::Tcp {
                receiver, header, ..
            } => {
                let kind = match packet.kind() {
                    PacketKind::Syn => SegmentKind::Syn,
                    PacketKind::WindowProbe => SegmentKind::WindowProbe,
                    _ => SegmentKind::Data,
                };
                let segment = Segment {
                    kind,
                    sequence: packet.sequence,
                    length: Bytes(u64::from(packet.size - *header)),
                    retransmission: packet.is_retransmission(),
                    stamp: packet.stamp,
                    window_reduced: packet.has_window_reduced(),
                    pushed: packet.is_pushed(),
                };
                receiver.handle_segment(now, &segment, packet.ecn());
                (receiver.statistics().delivered, receiver.owes_two())
            }
            Protocol::Other(other) => {
                other.receiver.handle_packet(now, id, packets);
                (other.receiver.endpoint.delivered(), true)
            }
        };
        if delivered >= self.hear_at {
            self.hear(now, delivered);
            return true; // a client may ask at once
        }
        answers_apart
    }

    /// Tells the application at the receiver what has arrived: a client, or else who waits for the
    /// last byte. A transfer ends when the application has read it.
    #[cold]
    #[inline(never)]
    fn hear(&mut self, now: Time, delivered: Bytes) {
        if let Some(dialogue) = &mut self.dialogue {
            if !dialogue.open(now) {
                dialogue.client.on_received(dialogue.offset(now), delivered);
            }
            self.hear_at = dialogue.client.next_mark();
            if dialogue.client.is_over() {
                self.activity.completed.get_or_insert(now);
            }
            return;
        }
        self.hear_at = Bytes(u64::MAX);
        self.activity.completed = Some(match &self.protocol {
            Protocol::Tcp { receiver, .. } => receiver.read_at(now),
            Protocol::Other(_) => now,
        });
    }

    /// Returns when to wake the client; [`Time::NEVER`] if there is none, or if the flow is to have
    /// stopped by then.
    pub fn poll_client_timeout(&self) -> Time {
        let wake = self
            .dialogue
            .as_ref()
            .map(|dialogue| dialogue.poll_timeout());
        wake.filter(|at| *at < self.activity.stop)
            .unwrap_or(Time::NEVER)
    }

    /// Lets the client make the requests that are due by `now`.
    pub fn handle_client_timeout(&mut self, now: Time) {
        if let Some(dialogue) = &mut self.dialogue {
            dialogue.handle_timeout(now);
            self.hear_at = dialogue.client.next_mark();
        }
    }

    /// Returns the next request, for the first hop of the return route.
    pub fn poll_request(&mut self, packets: &mut PacketPool) -> Option<PacketId> {
        let header = match &self.protocol {
            Protocol::Tcp { header, .. } => *header,
            Protocol::Other(_) => 0,
        };
        let dialogue = self.dialogue.as_mut()?;
        dialogue.poll_transmit(self.id, header, packets)
    }

    /// Ensures that the client, `target`, is woken in time.
    #[cold]
    pub fn arm_client(&mut self, target: Target, events: &mut EventQueue) {
        let at = self.poll_client_timeout();
        if let Some(dialogue) = &mut self.dialogue {
            dialogue.wake.set(at, target, events);
        }
    }

    /// Handles what few packets of the return route are: the answer to a SYN, or a request.
    #[cold]
    #[inline(never)]
    fn receive_rare(&mut self, now: Time, packet: &Packet) {
        if packet.kind() != PacketKind::Request {
            if let Some(sender) = self.sender_mut() {
                let kind = AcknowledgementKind::SynAck;
                sender.handle_acknowledgement(now, &bare_acknowledgement(kind, packet));
            }
            return;
        }
        let Some(dialogue) = &mut self.dialogue else {
            return;
        };
        if let Some(request) = dialogue.take_arrived(packet.sequence) {
            let offset = Time::ZERO + now.since(self.activity.start);
            self.traffic.on_request(offset, &request);
            self.find_next_own();
            if self.next_own <= now {
                self.handle_own(now);
            }
        }
    }

    /// Returns the receiver's next ACK, for the first hop of the return route. It reuses the slot
    /// of the packet that has arrived, if there is one.
    #[inline(always)] // most calls return no packet
    pub fn poll_acknowledgement(
        &mut self,
        now: Time,
        arrived: Option<PacketId>,
        packets: &mut PacketPool,
    ) -> Option<PacketId> {
        let (receiver, header, ecn) = match &mut self.protocol {
            Protocol::Tcp {
                receiver,
                header,
                ecn,
                ..
            } => (receiver, *header, ecn.1),
            Protocol::Other(other) => return other.poll_answer(now, self.id, arrived, packets),
        };
        let ack = receiver.poll_transmit(now)?;
        let kind = match ack.kind {
            AcknowledgementKind::SynAck => PacketKind::SynAck,
            AcknowledgementKind::Ack => PacketKind::Ack,
        };
        let mut packet = Packet::new(kind, self.id, ack.cumulative, header, ack.echo);
        packet.set_ace(ack.ace);
        if kind == PacketKind::Ack {
            packet.set_ecn(ecn);
        }
        let id = packets.answer(arrived, packet);
        if let Some(options) = ack.options {
            set_options(packets, id, options, ack.sacks);
        } else if let Some(blocks) = ack.sacks {
            packets.set_options(id, Options::Sack(*blocks));
        }
        Some(id)
    }

    /// Handles an ACK that has come back.
    #[inline(always)]
    pub fn receive_acknowledgement(&mut self, now: Time, id: PacketId, packets: &PacketPool) {
        let sender = match &mut self.protocol {
            Protocol::Tcp { sender, .. } => sender,
            Protocol::Other(other) => return other.sender.handle_packet(now, id, packets),
        };
        let packet = &packets[id];
        if packet.kind() != PacketKind::Ack {
            return self.receive_rare(now, packet);
        }
        let (sacks, options) = packets.ack_options(id);
        sender.handle_acknowledgement(
            now,
            &Acknowledgement {
                sacks,
                options,
                ..bare_acknowledgement(AcknowledgementKind::Ack, packet)
            },
        );
    }

    /// Returns the time at which the receiving side is to be woken.
    #[inline]
    pub fn poll_receiver_timeout(&self) -> Time {
        match &self.protocol {
            Protocol::Tcp { receiver, .. } => receiver.poll_timeout(),
            Protocol::Other(other) => other.receiver.poll_timeout(),
        }
    }

    /// Handles the delayed-ACK timer or the timer of the receiver's reports, if due.
    pub fn handle_receiver_timeout(&mut self, now: Time) {
        match &mut self.protocol {
            Protocol::Tcp { receiver, .. } => receiver.handle_timeout(now),
            Protocol::Other(other) => other.receiver.handle_timeout(now),
        }
    }

    /// Returns the payload that the application has read.
    #[inline]
    pub fn delivered(&self, now: Time) -> Bytes {
        match &self.protocol {
            Protocol::Tcp { receiver, .. } => receiver.read(now),
            Protocol::Other(other) => other.receiver.endpoint.delivered(),
        }
    }

    /// Returns the total number of bytes that the application will write, if it ends.
    pub fn total(&self) -> Option<Bytes> {
        (self.total.0 != u64::MAX).then_some(self.total)
    }

    /// Returns the counts up to now.
    pub fn counts(&self, now: Time) -> FlowCounts {
        let (rtt_samples, rtt_sum_s) = match &self.protocol {
            Protocol::Tcp { sender, .. } => (
                sender.statistics().rtt_samples,
                sender.statistics().rtt_sum_s,
            ),
            Protocol::Other(other) => {
                let round_trips = other.progress().round_trips;
                (round_trips.samples, round_trips.sum_s)
            }
        };
        FlowCounts {
            delivered: self.delivered(now),
            received_on_wire: self.received_on_wire,
            rtt_samples,
            rtt_sum_s,
        }
    }
}

/// Returns what the header of an ACK says.
#[inline(always)]
fn bare_acknowledgement(kind: AcknowledgementKind, packet: &Packet) -> Acknowledgement<'static> {
    Acknowledgement {
        kind,
        cumulative: packet.sequence,
        echo: packet.stamp,
        sacks: None,
        ace: packet.ace(),
        options: None,
    }
}

/// Puts what few ACKs carry into one, beside its SACK blocks.
#[cold]
#[inline(never)]
fn set_options(
    packets: &mut PacketPool,
    id: PacketId,
    options: &AckOptions,
    sacks: Option<&SackBlocks>,
) {
    let blocks = sacks.copied().unwrap_or_default();
    packets.set_options(id, Options::Ack(*options, blocks));
}

#[inline(always)]
fn data_packet(flow: FlowId, segment: &Segment, header: u16, ecn: (Ecn, Ecn)) -> Packet {
    let kind = match segment.kind {
        SegmentKind::Syn => PacketKind::Syn,
        SegmentKind::Data => PacketKind::Data,
        SegmentKind::WindowProbe => PacketKind::WindowProbe,
    };
    let size = segment.length.0 as u16 + header;
    let mut packet = Packet::new(kind, flow, segment.sequence, size, segment.stamp);
    packet.set_retransmission(segment.retransmission);
    packet.set_window_reduced(segment.window_reduced);
    packet.set_pushed(segment.pushed);
    if segment.kind == SegmentKind::Data {
        packet.set_ecn(if segment.retransmission { ecn.1 } else { ecn.0 });
    }
    packet
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_core::endpoint::parameters::{EcnCodepoint, EcnFeedback, Preset};

    #[test]
    fn the_codepoint_is_on_new_data_and_on_the_rest_if_the_feedback_allows() {
        let segment = |kind, retransmission| Segment {
            kind,
            sequence: 0,
            length: Bytes(1448),
            retransmission,
            stamp: Time::ZERO,
            window_reduced: false,
            pushed: false,
        };
        for (ecn, feedback, rest) in [
            (false, EcnFeedback::Accurate, Ecn::NotCapable),
            (true, EcnFeedback::Classic, Ecn::NotCapable),
            (true, EcnFeedback::Dctcp, Ecn::CapableL4s),
            (true, EcnFeedback::Accurate, Ecn::CapableL4s),
        ] {
            let mut parameters = Preset::Linux.parameters();
            parameters.ecn.enabled = ecn;
            parameters.ecn.codepoint = EcnCodepoint::Ect1;
            parameters.ecn.feedback = feedback;
            let fields = (parameters.ecn.of_new_data(), parameters.ecn.of_the_rest());
            let sent =
                |kind, again| data_packet(FlowId(0), &segment(kind, again), 52, fields).ecn();
            let new = if ecn {
                Ecn::CapableL4s
            } else {
                Ecn::NotCapable
            };
            assert_eq!(sent(SegmentKind::Data, false), new);
            assert_eq!(sent(SegmentKind::Data, true), rest);
            assert_eq!(sent(SegmentKind::Syn, false), Ecn::NotCapable);
        }
    }
}
