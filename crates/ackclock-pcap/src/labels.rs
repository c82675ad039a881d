//! Labels: header fields that a real packet carries from sender to receiver and a simulated packet
//! lacks. They are the identification of the IP header, and the timestamps (RFC 7323) that only the
//! sender can write. The caller reports each packet that is sent, dropped or received, so that
//! captures at both ends show the same packet.

use ackclock_core::packet::Packet;
use ackclock_spec::units::Time;
use std::collections::VecDeque;

/// Header fields that a simulated packet lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Identification of the IP header; counts the packets that the host has sent.
    pub identification: u16,
    /// TSval of the timestamp option.
    pub value: u32,
    /// TSecr of the timestamp option.
    pub echo: u32,
}

/// A packet that was sent, with its label.
#[derive(Clone, Copy, Debug)]
struct LabelledPacket {
    sequence: u64,
    stamp: Time,
    label: Label,
}

/// One direction of a flow.
#[derive(Clone, Debug, Default)]
struct Way {
    sent: u16,
    underway: VecDeque<LabelledPacket>,
    /// Packets that arrived or were dropped last; a duplicate may still arrive.
    gone: VecDeque<LabelledPacket>,
}

/// Number of later packets for which a packet is remembered, in case a duplicate arrives.
/// Duplicates follow the original closely; we chose the number for those that jitter separates.
const BEFORE_COPY: usize = 128;

impl Way {
    fn send(&mut self, packet: &Packet, label: Label) {
        self.underway.push_back(LabelledPacket {
            sequence: packet.sequence,
            stamp: packet.stamp,
            label,
        });
    }

    /// Removes the packet at this index, which has arrived or was dropped.
    fn remove(&mut self, place: usize) -> Option<Label> {
        let sent = self.underway.remove(place)?;
        if self.gone.len() == BEFORE_COPY {
            self.gone.pop_front();
        }
        self.gone.push_back(sent);
        Some(sent.label)
    }

    fn arrive(&mut self, packet: &Packet) -> Option<Label> {
        match self.underway.iter().position(|sent| sent.is(packet)) {
            Some(place) => self.remove(place),
            None => self
                .gone
                .iter()
                .rfind(|sent| sent.is(packet))
                .map(|sent| sent.label),
        }
    }

    /// Removes a dropped packet. Searches from the back, because most drops happen soon after
    /// sending.
    fn drop(&mut self, packet: &Packet) {
        if let Some(place) = self.underway.iter().rposition(|sent| sent.is(packet)) {
            self.remove(place);
        }
    }
}

impl LabelledPacket {
    /// True if this is the packet. ACKs with the same number and echo are interchangeable.
    fn is(&self, packet: &Packet) -> bool {
        (self.sequence, self.stamp) == (packet.sequence, packet.stamp)
    }
}

/// The labels of one flow's packets in transit.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    forward: Way,
    back: Way,
    /// The latest timestamp of the receiver that the sender has seen.
    heard: Option<u32>,
}

impl Labels {
    /// Records that a packet is sent at `at`, and returns its label.
    pub fn sent(&mut self, at: Time, packet: &Packet) -> Label {
        let way = self.way(packet);
        way.sent = way.sent.wrapping_add(1).max(1); // 0 means unknown
        let identification = way.sent;
        let label = self.label(at, packet, identification);
        self.way(packet).send(packet, label);
        label
    }

    /// Records that a packet, or a duplicate of it, arrives at `at`, and returns its label. If the
    /// packet was not sent or the duplicate comes too late, the label is made up at arrival and its
    /// identification is 0.
    pub fn received(&mut self, at: Time, packet: &Packet) -> Label {
        let label = self.way(packet).arrive(packet);
        let label = label.unwrap_or_else(|| self.label(at, packet, 0));
        // RFC 7323 section 4.3: an old timestamp that arrives late is not echoed.
        let is_later = |heard: u32| label.value.wrapping_sub(heard).cast_signed() > 0;
        if !packet.is_forward() && self.heard.is_none_or(is_later) {
            self.heard = Some(label.value);
        }
        label
    }

    /// Records that a packet is dropped.
    pub fn dropped(&mut self, packet: &Packet) {
        self.way(packet).drop(packet);
    }

    /// Makes a label. A data segment carries its time of sending, an ACK the time that it echoes.
    fn label(&self, at: Time, packet: &Packet, identification: u16) -> Label {
        let own = microseconds(packet.stamp);
        let (value, echo) = if packet.is_forward() {
            (own, self.heard.unwrap_or(0))
        } else {
            (microseconds(at), own)
        };
        Label {
            identification,
            value,
            echo,
        }
    }

    fn way(&mut self, packet: &Packet) -> &mut Way {
        if packet.is_forward() {
            &mut self.forward
        } else {
            &mut self.back
        }
    }
}

/// Microseconds modulo 2^32; 0 for a time that never comes, since 0 in an echo means "none"
/// (RFC 7323 section 3.2).
const fn microseconds(time: Time) -> u32 {
    if time.is_never() {
        return 0;
    }
    (time.as_nanos() / 1_000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_core::packet::{FlowId, PacketKind};

    fn at(us: u64) -> Time {
        Time::from_nanos(us * 1_000)
    }
    fn data(number: u64, us: u64) -> Packet {
        Packet::new(PacketKind::Data, FlowId(0), number, 1500, at(us))
    }
    fn ack(number: u64, echo_us: u64) -> Packet {
        Packet::new(PacketKind::Ack, FlowId(0), number, 52, at(echo_us))
    }

    #[test]
    fn both_ends_see_the_same_packet() {
        let mut labels = Labels::default();
        let first = labels.sent(at(10), &data(0, 10));
        assert_eq!((first.identification, first.value, first.echo), (1, 10, 0));
        assert_eq!(labels.received(at(50), &data(0, 10)), first);
        let answer = labels.sent(at(60), &ack(1, 10));
        assert_eq!(
            (answer.identification, answer.value, answer.echo),
            (1, 60, 10)
        );
        let before = labels.sent(at(100), &data(1, 100));
        assert_eq!(before.echo, 0, "the answer is still underway");
        assert_eq!(labels.received(at(110), &ack(1, 10)), answer);
        let after = labels.sent(at(111), &data(2, 111));
        assert_eq!(after.echo, 60);
        assert_eq!(
            labels.received(at(151), &data(2, 111)),
            after,
            "number 1 is lost or late"
        );
        assert_eq!(
            labels.received(at(160), &data(1, 100)),
            before,
            "it was late"
        );
    }

    #[test]
    fn a_copy_is_the_same_packet_wherever_the_other_is() {
        let mut labels = Labels::default();
        let [first, second, third] =
            [0, 1, 2].map(|number| labels.sent(at(number), &data(number, number)));
        let receive = |labels: &mut Labels, number| labels.received(at(90), &data(number, number));
        assert_eq!(receive(&mut labels, 0), first);
        labels.dropped(&data(1, 1));
        assert_eq!(
            [receive(&mut labels, 2), receive(&mut labels, 2)],
            [third; 2]
        );
        assert_eq!(
            [receive(&mut labels, 0), receive(&mut labels, 1)],
            [first, second]
        );
        assert!(labels.forward.underway.is_empty());
    }

    #[test]
    fn what_is_late_is_not_echoed() {
        let mut labels = Labels::default();
        let old = labels.sent(at(60), &ack(1, 10));
        labels.sent(at(70), &ack(2, 20));
        labels.received(at(100), &ack(2, 20));
        assert_eq!(labels.received(at(101), &ack(1, 10)), old);
        assert_eq!(labels.sent(at(102), &data(5, 102)).echo, 70);
        // The first timestamp counts as new whatever it is: a flow may begin late.
        let mut labels = Labels::default();
        labels.received(at(3_000_000_000), &ack(1, 10));
        assert_eq!(
            labels.sent(at(3_000_000_001), &data(1, 5)).echo,
            3_000_000_000
        );
    }

    #[test]
    fn what_was_not_sent_has_no_identification() {
        let mut labels = Labels::default();
        let stranger = labels.received(at(9), &ack(7, 3));
        assert_eq!(
            (stranger.identification, stranger.value, stranger.echo),
            (0, 9, 3)
        );
    }

    #[test]
    fn identifications_count_each_way_and_pass_over_zero() {
        let mut labels = Labels::default();
        for number in 1..=70_000_u64 {
            let label = labels.sent(at(number), &data(number, number));
            let expected = if number > 65_535 {
                number - 65_535
            } else {
                number
            };
            assert_eq!(u64::from(label.identification), expected);
            labels.dropped(&data(number, number));
        }
        assert_eq!(labels.sent(at(1), &ack(1, 1)).identification, 1);
    }

    #[test]
    fn what_is_gone_is_forgotten() {
        let mut labels = Labels::default();
        let number = |number: u64| data(number, number);
        for last in 0..3 * BEFORE_COPY as u64 {
            labels.sent(at(last), &number(last));
            match last % 2 {
                0 => labels.dropped(&number(last)),
                _ => drop(labels.received(at(last), &number(last))),
            }
        }
        assert!(labels.forward.underway.is_empty());
        assert_eq!(labels.forward.gone.len(), BEFORE_COPY);
        assert_eq!(labels.received(at(9), &number(0)).identification, 0);
    }
}
