//! What a packet carries from one end of the path to the other and a simulated one does not know: the identification of its IP header, and
//! the timestamps (RFC 7323) that only its sender could write. Who captures at both ends asks here, so that both see the same packet.

use ackclock_core::packet::Packet;
use ackclock_core::units::Time;
use std::collections::VecDeque;

/// What a packet's headers say beyond the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Of the IP header: counts what the host has sent.
    pub identification: u16,
    /// Value of the timestamp option.
    pub value: u32,
    /// Its echo.
    pub echo: u32,
}

/// A packet that was sent and has not been found again.
#[derive(Clone, Copy, Debug)]
struct Underway {
    sequence: u64,
    stamp: Time,
    label: Label,
}

/// One way of a flow.
#[derive(Clone, Debug, Default)]
struct Way {
    sent: u16,
    underway: VecDeque<Underway>,
}

/// Packets sent so many before one that has arrived are lost: jitter overtakes fewer. Chosen here; what arrives all the same has no label.
const OVERTAKEN: usize = 4096;

/// The labels of one flow's packets on their way.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    forward: Way,
    back: Way,
    /// The receiver's timestamp that the sender has seen last.
    heard: u32,
}

impl Labels {
    /// A packet is sent at `at`.
    pub fn sent(&mut self, at: Time, packet: &Packet) -> Label {
        let own = microseconds(packet.stamp);
        // A data segment has its time of sending in it, an ACK what it echoes.
        let (value, echo) = if packet.is_forward() {
            (own, self.heard)
        } else {
            (microseconds(at), own)
        };
        let way = self.way(packet);
        way.sent = way.sent.wrapping_add(1).max(1); // 0 says nothing
        let label = Label {
            identification: way.sent,
            value,
            echo,
        };
        way.underway.push_back(Underway {
            sequence: packet.sequence,
            stamp: packet.stamp,
            label,
        });
        label
    }

    /// A packet arrives. `None` if it was not sent, or has arrived before as another copy of it.
    pub fn received(&mut self, packet: &Packet) -> Option<Label> {
        let underway = &mut self.way(packet).underway;
        let is_it = |one: &Underway| (one.sequence, one.stamp) == (packet.sequence, packet.stamp);
        let place = underway.iter().position(is_it)?;
        let label = underway.remove(place)?.label;
        underway.drain(..place.saturating_sub(OVERTAKEN));
        if !packet.is_forward() {
            self.heard = label.value;
        }
        Some(label)
    }

    fn way(&mut self, packet: &Packet) -> &mut Way {
        if packet.is_forward() {
            &mut self.forward
        } else {
            &mut self.back
        }
    }
}

/// Modulo 2^32; 0, which means "none" in an echo (RFC 7323 section 3.2), for a moment that does not come.
pub(crate) const fn microseconds(time: Time) -> u32 {
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
        assert_eq!(labels.received(&data(0, 10)), Some(first));
        let answer = labels.sent(at(60), &ack(1, 10));
        assert_eq!((answer.identification, answer.value, answer.echo), (1, 60, 10));
        let before = labels.sent(at(100), &data(1, 100));
        assert_eq!(before.echo, 0, "the answer is still underway");
        assert_eq!(labels.received(&ack(1, 10)), Some(answer));
        let after = labels.sent(at(111), &data(2, 111));
        assert_eq!(after.echo, 60);
        assert_eq!(
            labels.received(&data(2, 111)),
            Some(after),
            "number 1 is lost or late"
        );
        assert_eq!(labels.received(&data(1, 100)), Some(before), "it was late");
        assert_eq!(labels.received(&data(1, 100)), None, "a copy");
        assert_eq!(labels.received(&ack(7, 3)), None);
    }

    #[test]
    fn what_is_lost_is_forgotten() {
        let mut labels = Labels::default();
        for number in 0..3 * OVERTAKEN as u64 {
            labels.sent(at(number), &data(number, number));
        }
        let last = 3 * OVERTAKEN as u64 - 1;
        assert!(labels.received(&data(last, last)).is_some());
        assert_eq!(labels.forward.underway.len(), OVERTAKEN);
    }
}
