//! UDP flows: what headers and times of their datagrams tell, encrypted or not.
//!
//! A packet of QUIC shows its first byte, and a long header its version (RFC 8999 section 5). So
//! rates, gaps and sizes are known of any flow, and of QUIC the round trips of the spin bit
//! (RFC 9000 section 17.4). Packet numbers and acknowledgements are encrypted: what was lost or
//! sent again is not known.

use crate::connection::Side;
use crate::measurement::Pair;
use ackclock_core::packet::Ecn;
use ackclock_pcap::CapturedPacket;
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::net::SocketAddr;

/// Most pairs of addresses that are followed. Datagrams of others are counted alone.
const MOST_FLOWS: usize = 65_536;
/// Bits of the first byte of a packet of QUIC: a long header, and the spin bit of a short one. The
/// fixed bit tells nothing, as either side may have greased it (RFC 9287).
const LONG: u8 = 0x80;
const SPIN: u8 = 0x20;
/// Versions of QUIC that are recognised: 1 (RFC 9000), 2 (RFC 9369), and all drafts.
const VERSIONS: [u32; 2] = [1, 0x6b33_43cf];
const DRAFTS: u32 = 0xff00_0000;
/// Least packets with short headers by which the spin bit is judged, and least packets on average
/// from one change of it to the next, in both directions. An endpoint that does not spin may draw
/// each bit (RFC 9000 section 17.4), so that every other packet is a change. Of 128 drawn bits at
/// most a third change with a probability below one in five thousand. The other side repeats a
/// drawn bit in all packets until the next one arrives, so one direction alone does not tell.
const LEAST_PACKETS: u64 = 128;
const LEAST_RUN: u64 = 3;

/// The flows of a capture.
#[derive(Debug, Default)]
pub struct Datagrams {
    flows: HashMap<Pair, Box<Flow>, FixedState>,
    unfollowed: u64,
}

/// Both directions between two addresses.
#[derive(Debug)]
pub struct Flow {
    /// Addresses of the lower side and of the higher.
    pub addresses: [SocketAddr; 2],
    /// Datagrams of the lower side, and of the higher.
    pub ways: [Way; 2],
}

/// The datagrams of one direction. Times are those of the capture, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// Time of the first.
    pub first: u64,
    /// Time of the last.
    pub last: u64,
    /// Their number.
    pub count: u64,
    /// Their payload, in bytes.
    pub payload: u64,
    /// Smallest and largest payload, in bytes.
    pub sizes: (u32, u32),
    /// Bytes of IP packets after the first.
    pub later_bytes: u64,
    /// Longest time between two.
    pub longest_gap: u64,
    /// Those with the mark CE.
    pub marked: u64,
    /// Version of the first long header that is recognised.
    pub version: Option<u32>,
    spin: Spin,
}

/// The spin bit of packets with short headers.
#[derive(Clone, Copy, Debug, Default)]
struct Spin {
    packets: u64,
    bit: Option<bool>,
    changed: Option<u64>,
    changes: u64,
    trips: Trips,
}

/// Times between changes of the spin bit, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trips {
    /// Changes of the bit.
    pub changes: u64,
    /// Number of times between two of them.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The shortest; 0 if there is none.
    pub least: u64,
    /// The longest.
    pub most: u64,
}

impl Datagrams {
    /// Takes a datagram.
    pub fn handle(&mut self, packet: &CapturedPacket, payload: u32, begin: Option<[u8; 5]>) {
        let (pair, side) = Pair::of(packet.source, packet.destination);
        if self.flows.len() >= MOST_FLOWS && !self.flows.contains_key(&pair) {
            self.unfollowed += 1;
            return;
        }
        let flow = self.flows.entry(pair).or_insert_with(|| {
            let addresses = match side {
                Side::Low => [packet.source, packet.destination],
                Side::High => [packet.destination, packet.source],
            };
            Box::new(Flow {
                addresses,
                ways: Default::default(),
            })
        });
        flow.ways[side as usize].handle(packet, payload, begin);
    }

    /// Returns the number of datagrams beyond the flows that are followed.
    pub const fn unfollowed(&self) -> u64 {
        self.unfollowed
    }

    /// Takes all flows, in the order in which they began.
    pub fn take(&mut self) -> Vec<Flow> {
        let mut flows: Vec<_> = self.flows.drain().collect();
        flows.sort_unstable_by_key(|(pair, flow)| (flow.begin(), *pair));
        flows.into_iter().map(|(_, flow)| *flow).collect()
    }
}

impl Flow {
    fn begin(&self) -> Option<u64> {
        let sending = self.ways.iter().filter(|way| way.count > 0);
        sending.map(|way| way.first).min()
    }

    /// True if a long header of either side has a version of QUIC. A capture that begins midway may
    /// have none.
    pub fn is_quic(&self) -> bool {
        self.ways.iter().any(|way| way.version.is_some())
    }

    /// Returns the round trips of the spin bit in one direction, if the flow is of QUIC and spins.
    pub fn trips(&self, side: usize) -> Option<Trips> {
        let spin = &self.ways[side].spin;
        let spins = self.is_quic() && self.ways.iter().all(|way| way.spin.is_spinning());
        spins.then_some(Trips {
            changes: spin.changes,
            ..spin.trips
        })
    }
}

impl Way {
    fn handle(&mut self, packet: &CapturedPacket, payload: u32, begin: Option<[u8; 5]>) {
        let at = packet.at_ns;
        if self.count == 0 {
            (self.first, self.sizes) = (at, (payload, payload));
        } else {
            self.longest_gap = self.longest_gap.max(at.saturating_sub(self.last));
            self.later_bytes += u64::from(packet.ip_bytes);
        }
        self.count += 1;
        self.last = self.last.max(at);
        self.payload += u64::from(payload);
        self.sizes = (self.sizes.0.min(payload), self.sizes.1.max(payload));
        self.marked += u64::from(packet.ecn == Ecn::Marked);
        match begin {
            Some([first, version @ ..]) if first & LONG != 0 => {
                let version = u32::from_be_bytes(version);
                let is_quic = VERSIONS.contains(&version) || version & DRAFTS == DRAFTS;
                self.version = self.version.or(is_quic.then_some(version));
            }
            Some([first, ..]) => self.spin.handle(at, first & SPIN != 0),
            None => {}
        }
    }
}

impl Spin {
    const fn is_spinning(&self) -> bool {
        self.packets >= LEAST_PACKETS
            && self.changes > 0
            && self.packets >= LEAST_RUN * self.changes
    }

    fn handle(&mut self, at: u64, bit: bool) {
        self.packets += 1;
        if self.bit.replace(bit).is_none_or(|before| before == bit) {
            return;
        }
        self.changes += 1;
        if let Some(changed) = self.changed.replace(at) {
            self.trips.add(at.saturating_sub(changed));
        }
    }
}

impl Trips {
    fn add(&mut self, trip: u64) {
        self.least = match self.count {
            0 => trip,
            _ => self.least.min(trip),
        };
        self.most = self.most.max(trip);
        self.sum += trip;
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_pcap::packet::Transport;

    const VERSION_1: [u8; 5] = [0xc3, 0, 0, 0, 1];

    fn packet(at_ms: u64, back: bool) -> CapturedPacket {
        let (source, destination) = match back {
            false => ("10.0.0.1:5000", "10.0.0.2:443"),
            true => ("10.0.0.2:443", "10.0.0.1:5000"),
        };
        CapturedPacket {
            at_ns: at_ms * 1_000_000,
            source: source.parse().unwrap(),
            destination: destination.parse().unwrap(),
            ip_bytes: 1_228,
            identification: 0,
            ecn: Ecn::NotCapable,
            transport: Transport::Udp {
                payload: 1_200,
                begin: None,
            },
        }
    }

    /// A packet each millisecond in both directions, whose spin bits are `bits(millisecond)`, after
    /// a long header.
    fn flow(count: u64, begin: [u8; 5], bits: impl Fn(u64) -> [bool; 2]) -> Flow {
        let mut datagrams = Datagrams::default();
        datagrams.handle(&packet(0, true), 1_200, Some(begin));
        for at in 0..count {
            // A greased fixed bit changes nothing.
            let fixed = if at % 3 == 0 { 0x40 } else { 0 };
            for (bit, back) in bits(at).into_iter().zip([false, true]) {
                let first = fixed | if bit { SPIN } else { 0 };
                datagrams.handle(&packet(at, back), 1_200, Some([first, 9, 9, 9, 9]));
            }
        }
        datagrams.take().remove(0)
    }

    /// The bit of a path of 20 ms.
    fn spinning(at: u64) -> [bool; 2] {
        [(at / 20) % 2 == 1; 2]
    }

    #[test]
    fn a_bit_that_spins_tells_round_trips() {
        let flow = flow(200, VERSION_1, spinning);
        assert!(flow.is_quic());
        let trips = Trips {
            changes: 9,
            count: 8,
            sum: 160_000_000,
            least: 20_000_000,
            most: 20_000_000,
        };
        assert_eq!([flow.trips(0), flow.trips(1)], [Some(trips); 2]);
    }

    #[test]
    fn bits_that_are_drawn_stand_still_or_are_few_tell_nothing() {
        // A generator of one's own: bits of a multiplicative sequence.
        let drawn = |at: u64| {
            let mixed = (at ^ (at >> 3) ^ 0x5bd1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 63 == 1
        };
        assert_eq!(flow(500, VERSION_1, |at| [drawn(at); 2]).trips(0), None);
        assert_eq!(flow(500, VERSION_1, |_| [true; 2]).trips(0), None);
        assert_eq!(flow(127, VERSION_1, spinning).trips(0), None);
        // One side draws, and the other repeats each bit in four packets.
        let repeated = flow(500, VERSION_1, |at| [!drawn(at / 4), drawn(at)]);
        assert_eq!([repeated.trips(0), repeated.trips(1)], [None; 2]);
    }

    #[test]
    fn a_flow_without_a_version_of_quic_does_not_spin() {
        let other = flow(200, [0xc3, 0x12, 0x34, 0, 1], spinning);
        assert!(!other.is_quic());
        assert_eq!(other.trips(0), None);
        let draft = flow(200, [0xc3, 0xff, 0, 0, 29], spinning);
        assert_eq!(draft.ways[1].version, Some(0xff00_001d));
        assert!(draft.trips(0).is_some());
    }

    #[test]
    fn sizes_gaps_and_rates_are_those_of_the_datagrams() {
        let mut datagrams = Datagrams::default();
        for (at, payload) in [(5, 900), (6, 1_200), (16, 20)] {
            datagrams.handle(&packet(at, false), payload, None);
        }
        let flow = datagrams.take().remove(0);
        let way = &flow.ways[0];
        assert_eq!((way.count, way.payload), (3, 2_120));
        assert_eq!(way.sizes, (20, 1_200));
        assert_eq!((way.first, way.last), (5_000_000, 16_000_000));
        assert_eq!((way.longest_gap, way.later_bytes), (10_000_000, 2 * 1_228));
        assert_eq!(flow.ways[1].count, 0);
    }
}
