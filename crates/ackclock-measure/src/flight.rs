//! Packets in flight: sent by one side and not acknowledged by the other.

use std::collections::VecDeque;

/// Most packets remembered: a hundred megabytes of full segments.
const MOST: usize = 65_536;

/// Most packets remembered before the first ACK. There may never be one if only one direction was
/// captured.
const MOST_WITHOUT_ACKS: usize = 256;

/// The sequence numbers of a packet. A SYN and a FIN have one number each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlightSegment {
    /// First number.
    pub low: u64,
    /// Number after the last.
    pub high: u64,
    /// Time at which it first passed, in nanoseconds.
    pub first_at: u64,
    /// Time at which it last passed, in nanoseconds.
    pub last_at: u64,
    /// Timestamp when it last passed, if any.
    pub stamp: Option<u32>,
    /// IP identification when it last passed.
    pub identification: u16,
    /// True if it was retransmitted.
    pub resent: bool,
}

/// The packets that an ACK covers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Covered {
    /// The first packet, without the part acknowledged before.
    pub oldest: Option<FlightSegment>,
    /// The last packet that is now acknowledged completely.
    pub newest: Option<FlightSegment>,
    /// True if any was retransmitted.
    pub resent: bool,
    /// Time of the last retransmission of any of them.
    pub resent_at: u64,
}

/// Packets in the order of their numbers, without overlap.
#[derive(Clone, Debug, Default)]
pub struct Flight {
    packets: VecDeque<FlightSegment>,
    acknowledged: bool,
}

impl Flight {
    /// Adds a packet, which must not overlap others. Most come last in order.
    pub fn push(&mut self, sent: FlightSegment) {
        let most = if self.acknowledged {
            MOST
        } else {
            MOST_WITHOUT_ACKS
        };
        if self.packets.len() >= most {
            self.packets.pop_front();
        }
        match self.packets.back() {
            Some(last) if sent.low < last.high => {
                let at = self
                    .packets
                    .partition_point(|packet| packet.high <= sent.low);
                self.packets.insert(at, sent);
            }
            _ => self.packets.push_back(sent),
        }
    }

    /// Returns the packets of which numbers below `number` are in flight.
    pub fn below(&self, number: u64) -> impl Iterator<Item = &FlightSegment> {
        self.packets
            .iter()
            .take_while(move |packet| packet.low < number)
    }

    /// Returns the packet that covers `number`.
    pub fn find(&self, number: u64) -> Option<&FlightSegment> {
        let at = self.packets.partition_point(|packet| packet.high <= number);
        self.packets.get(at).filter(|packet| packet.low <= number)
    }

    /// Records a retransmission of the numbers between `low` and `high`. Packets that it covers in
    /// part are split, so that each part has its own time.
    pub fn resend(
        &mut self,
        low: u64,
        high: u64,
        at: u64,
        stamp: Option<u32>,
        identification: u16,
    ) {
        self.cut(low);
        self.cut(high);
        let first = self.packets.partition_point(|packet| packet.high <= low);
        for packet in self
            .packets
            .range_mut(first..)
            .take_while(|packet| packet.low < high)
        {
            packet.last_at = at;
            packet.stamp = stamp;
            packet.identification = identification;
            packet.resent = true;
        }
    }

    fn cut(&mut self, number: u64) {
        let at = self.packets.partition_point(|packet| packet.high <= number);
        if let Some(packet) = self.packets.get_mut(at)
            && packet.low < number
        {
            let rest = FlightSegment {
                low: number,
                ..*packet
            };
            packet.high = number;
            self.packets.insert(at + 1, rest);
        }
    }

    /// Removes everything below `number`, which is acknowledged. Calls `each` with the packets that
    /// were retransmitted.
    pub fn acknowledge(&mut self, number: u64, mut each: impl FnMut(&FlightSegment)) -> Covered {
        self.acknowledged = true;
        let mut covered = Covered::default();
        while let Some(&packet) = self.packets.front()
            && packet.low < number
        {
            covered.oldest.get_or_insert(packet);
            if packet.resent {
                covered.resent = true;
                covered.resent_at = covered.resent_at.max(packet.last_at);
                each(&packet);
            }
            if packet.high > number {
                self.packets[0].low = number;
                break;
            }
            covered.newest = Some(packet);
            self.packets.pop_front();
        }
        covered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sent(low: u64, high: u64, at: u64) -> FlightSegment {
        FlightSegment {
            low,
            high,
            first_at: at,
            last_at: at,
            stamp: None,
            identification: 0,
            resent: false,
        }
    }

    fn flight(packets: &[(u64, u64)]) -> Flight {
        let mut flight = Flight::default();
        flight.acknowledge(0, |_| {});
        (1..)
            .zip(packets)
            .for_each(|(at, (low, high))| flight.push(sent(*low, *high, at)));
        flight
    }

    #[test]
    fn an_ack_covers_packets_in_whole_and_in_part() {
        let mut flight = flight(&[(0, 10), (10, 20), (20, 50)]);
        let covered = flight.acknowledge(25, |_| panic!("nothing was sent again"));
        assert_eq!(covered.oldest, Some(sent(0, 10, 1)));
        assert_eq!(covered.newest, Some(sent(10, 20, 2)));
        assert!(!covered.resent);
        let covered = flight.acknowledge(50, |_| {});
        assert_eq!(covered.oldest, Some(sent(25, 50, 3)));
        assert_eq!(flight.acknowledge(60, |_| {}).oldest, None);
    }

    #[test]
    fn what_is_sent_again_in_part_is_cut() {
        let mut flight = flight(&[(0, 100), (100, 200)]);
        flight.resend(50, 120, 9, Some(7), 3);
        let again = FlightSegment {
            last_at: 9,
            stamp: Some(7),
            identification: 3,
            resent: true,
            ..sent(50, 100, 1)
        };
        assert_eq!(flight.find(49), Some(&sent(0, 50, 1)));
        assert_eq!(flight.find(99), Some(&again));
        assert_eq!(flight.find(120), Some(&sent(120, 200, 2)));
        assert_eq!(flight.find(200), None);
        let mut covered_from = Vec::new();
        let covered = flight.acknowledge(200, |packet| covered_from.push(packet.low));
        assert_eq!((covered_from, covered.resent_at), (vec![50, 100], 9));
        assert_eq!(covered.newest.map(|packet| packet.low), Some(120));
    }

    #[test]
    fn late_packets_find_their_place() {
        let mut flight = flight(&[(0, 10), (20, 30), (10, 20)]);
        assert_eq!(flight.find(15), Some(&sent(10, 20, 3)));
        assert_eq!(flight.acknowledge(30, |_| {}).newest, Some(sent(20, 30, 2)));
    }

    #[test]
    fn without_acks_little_is_remembered() {
        let mut flight = Flight::default();
        (0..10_000).for_each(|n| flight.push(sent(n, n + 1, n)));
        assert_eq!(flight.packets.len(), MOST_WITHOUT_ACKS);
        assert_eq!(flight.find(5), None);
    }

    proptest! {
        #[test]
        fn packets_stay_in_order_without_overlap(
            again in prop::collection::vec((0..200_u64, 1..60_u64), 0..20),
            acks in prop::collection::vec(0..200_u64, 0..10),
        ) {
            let mut flight = flight(&[(0, 30), (30, 60), (60, 61), (61, 140), (140, 200)]);
            for (at, (low, length)) in (10..).zip(again) {
                flight.resend(low, low + length, at, None, 0);
                let mut sent_again = flight.packets.iter().filter(|packet| packet.last_at == at);
                let within = |packet: &FlightSegment| packet.resent
                    && low <= packet.low
                    && packet.high <= low + length;
                prop_assert!(sent_again.all(within));
            }
            let mut first = 0;
            for ack in acks {
                flight.acknowledge(ack, |_| {});
                first = first.max(ack);
            }
            let numbers: Vec<_> = flight
                .packets
                .iter()
                .flat_map(|packet| [packet.low, packet.high])
                .collect();
            prop_assert!(numbers.is_sorted());
            prop_assert_eq!(
                flight.packets.iter().map(|packet| packet.high - packet.low).sum::<u64>(),
                200 - first,
            );
        }
    }
}
