//! Common parts of tests.

use crate::background::Output;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

/// A buffer that a test can read while other code writes to it.
#[derive(Clone, Debug, Default)]
pub struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    /// Returns the bytes written so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for Shared {}

/// Returns a packet of `length` bytes (at least 20) with a correct header. The payload holds
/// `number`.
pub fn ipv4_packet(
    source: Ipv4Addr,
    destination: Ipv4Addr,
    protocol: u8,
    length: u16,
    service: u8,
    number: u16,
) -> Vec<u8> {
    let mut packet = vec![0; usize::from(length)];
    packet[0] = 0x45;
    packet[1] = service;
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet[4..6].copy_from_slice(&number.to_be_bytes());
    packet[8] = 64;
    packet[9] = protocol;
    packet[12..16].copy_from_slice(&source.octets());
    packet[16..20].copy_from_slice(&destination.octets());
    let words = packet[..20].chunks(2);
    let sum: u32 = words
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
        .sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    for (place, byte) in packet[20..].iter_mut().enumerate() {
        *byte = number.to_be_bytes()[place % 2];
    }
    if protocol == 6 && length >= 34 {
        packet[33] = 0; // no flags
    }
    packet
}

/// Random scenarios with four hops, random arrivals, and drivers of them.
pub mod networks {
    use super::ipv4_packet;
    use crate::driver::Driver;
    use crate::ipv4::Direction;
    use ackclock_core::hop::{Hop, HopCounters};
    use ackclock_core::impairment::ImpairmentKind;
    use ackclock_core::link::LinkKind;
    use ackclock_core::observe::{Context, DropReason};
    use ackclock_core::packet::{Backlog, Fifo, FlowId, PacketId};
    use ackclock_core::queue::{Discipline, Queue, QueueKind};
    use ackclock_scenario::network::{self, Network};
    use ackclock_scenario::{Scenario, tree};
    use ackclock_spec::files::Files;
    use ackclock_spec::registry::samples::{SampleFiles, samples};
    use ackclock_spec::registry::{Entry, Kind, Selection, choose};
    use ackclock_spec::streams::Streams;
    use ackclock_spec::units::{Span, Time};
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use std::net::Ipv4Addr;

    /// A packet that arrives from outside.
    #[derive(Clone, Debug)]
    pub struct Coming {
        pub at: Time,
        pub flow: FlowId,
        pub direction: Direction,
        pub bytes: Vec<u8>,
    }

    /// A scenario; `marks` is true if its second hop has a queue that marks.
    #[derive(Clone)]
    pub struct Description {
        scenario: Scenario,
        marks: bool,
    }
    impl std::fmt::Debug for Description {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{}, marks: {}", self.scenario.resolved, self.marks)
        }
    }

    /// Number of flows of every description: near/0, near/1, far, datagrams.
    pub const FLOWS: u32 = 4;
    /// A time long after the last arrival, which is within 1.6 s. At 400 kbit/s, the slowest rate
    /// that lasts, queues that fill by then take more than 5 s to empty.
    pub const END: Time = Time::from_nanos(10_000_000_000);
    pub const INTERVAL: Span = Span::from_millis(700);

    /// The sample files, and the recorded trace of a link with a varying rate.
    struct Traces;
    impl Files for Traces {
        fn read(&self, name: &str) -> Result<String, String> {
            match name {
                "rates" => Ok(include_str!("../../../traces/swinging-downlink.csv").into()),
                "deliveries" => {
                    Ok(include_str!("../../../traces/swinging-downlink.mahimahi").into())
                }
                other => SampleFiles.read(other),
            }
        }
    }

    /// Returns samples of every registered element of a kind, and those in `more`, which affect
    /// many of the few packets of a test.
    fn every<K: Kind>(more: Value) -> Vec<Selection<K>> {
        let of_entry = |entry: &'static Entry<K>| {
            let mut trees = samples(&(entry.schema)());
            trees
                .iter_mut()
                .for_each(|tree| tree["kind"] = entry.name.into());
            trees
        };
        let trees = K::ENTRIES.iter().flat_map(of_entry);
        let more = more.as_array().cloned().unwrap_or_default();
        let choose = |tree: Value| {
            choose::<K>(&tree, &Traces).unwrap_or_else(|error| panic!("{tree}: {error}"))
        };
        trees.chain(more).map(choose).collect()
    }

    /// Returns links without a shared medium, which no emulation has.
    fn links() -> Vec<Value> {
        let more = json!([
            { "kind": "constant", "rate": "7 Mbit/s" },
            { "kind": "constant", "rate": "90 Mbit/s" },
            { "kind": "constant", "rate": "400 Gbit/s" },
            { "kind": "constant", "rate": "0 bit/s" },
            {
                "kind": "markov", "rates": ["20 Mbit/s", "1 Mbit/s", "0 bit/s"],
                "mean_sojourn": "2 ms",
            },
            {
                "kind": "markov", "rates": ["20 Mbit/s", "1 Mbit/s"], "mean_sojourn": "9 ms",
                "step": "3 ms",
            },
            { "kind": "trace", "file": "deliveries", "format": "mahimahi" },
            { "kind": "trace", "file": "rates", "format": "csv" },
            {
                "kind": "feedback", "from": "bottleneck", "algorithm": { "kind": "instcap" },
                "delay": "5 ms", "period": "3 ms",
            },
            {
                "kind": "feedback", "from": "bottleneck",
                "algorithm": { "kind": "effcap", "m": 2, "n": 9 }, "delay": "20 ms",
                "period": "2 ms", "sessions": 2,
            },
            {
                "kind": "scheduled",
                "steps": [
                    { "from": "0 s", "rate": "20 Mbit/s" },
                    { "from": "15 ms", "rate": "0 bit/s" },
                    { "from": "40 ms", "rate": "3 Mbit/s" },
                ],
            },
        ]);
        let all = every::<LinkKind>(more).into_iter();
        all.filter(|link| !link.facts.contends.is_some())
            .map(|link| link.resolved)
            .collect()
    }

    fn queues() -> Vec<Value> {
        let more = json!([
            { "kind": "droptail", "limit": "4 packets" },
            { "kind": "droptail", "limit": "9 kB", "counts_packet_in_service": true },
            { "kind": "droptail", "limit": "6 ms" },
            { "kind": "droptail", "limit": "unlimited" },
            {
                "kind": "red", "limit": "9 packets", "minimum_threshold": "1 packet",
                "maximum_threshold": "3 packets", "weight": 0.3, "ecn": true,
            },
            {
                "kind": "red", "limit": "9 kB", "minimum_threshold": "1 ms",
                "maximum_threshold": "4 ms", "weight": 0.1, "gentle": true, "rate": "7 Mbit/s",
            },
            { "kind": "adaptive_red", "limit": "15 packets", "ecn": true },
        ]);
        every::<QueueKind>(more)
            .into_iter()
            .map(|queue| queue.resolved)
            .collect()
    }

    fn impairments() -> Vec<Value> {
        let more = json!([
            { "kind": "iid_loss", "probability": "20 %", "applies": "all" },
            { "kind": "iid_loss", "probability": "20 %", "applies": "all", "side": "before_queue" },
            { "kind": "gilbert_elliott", "good_to_bad": "10 %", "bad_to_good": "30 %" },
            {
                "kind": "gilbert_elliott", "good_to_bad": "10 %", "bad_to_good": "30 %",
                "side": "before_queue",
            },
            {
                "kind": "jitter", "distribution": { "kind": "uniform", "maximum": "5 ms" },
                "reordering": "allowed",
            },
            { "kind": "duplicate", "probability": "30 %" },
            { "kind": "duplicate", "probability": "30 %", "side": "before_queue" },
            {
                "kind": "scheduled_loss",
                "steps": [
                    { "from": "0 s", "probability": "20 %" },
                    { "from": "20 ms", "probability": "0 %" },
                ],
            },
            {
                "kind": "scheduled_loss", "steps": [{ "from": "20 ms", "probability": "30 %" }],
                "applies": "all", "side": "before_queue",
            },
        ]);
        every::<ImpairmentKind>(more)
            .into_iter()
            .map(|impairment| impairment.resolved)
            .collect()
    }

    /// Generates a hop without name and scope.
    fn hop() -> impl Strategy<Value = Value> {
        let choose = |all: Vec<Value>| prop::sample::select(all);
        let impairments = prop::collection::vec(choose(impairments()), 0..3);
        let delays = prop::sample::select(vec!["0 ms", "3 ms", "12.345678 ms"]);
        (choose(links()), choose(queues()), impairments, delays)
            .prop_map(|(link, queue, impairments, delay)| {
            json!({ "link": link, "queue": queue, "impairments": impairments, "delay": delay })
        })
    }

    pub fn descriptions() -> impl Strategy<Value = Description> {
        let hops = (hop(), hop(), hop(), hop());
        let flows = tree::from_toml(SCENARIO_OF_FOUR_FLOWS).unwrap();
        (hops, any::<u32>(), any::<bool>()).prop_map(
            move |((first, second, access, back), seed, marks)| {
                let named = |name: &str, scope: &str, mut hop: Value| {
                    hop["name"] = name.into();
                    hop["scope"] = scope.into();
                    hop
                };
                let measured = json!({
                    "name": "bottleneck",
                    "link": {
                        "kind": "markov", "rates": ["30 Mbit/s", "2 Mbit/s", "0 bit/s"],
                        "mean_sojourn": "9 ms",
                    },
                    "queue": { "kind": "droptail", "limit": "unlimited" },
                });
                let hops = [
                    named("first", "shared", first),
                    named("second", "shared", second),
                    named("access", "per_flow", access),
                    named("back", "shared", back),
                    measured,
                ];
                let mut tree = flows.clone();
                tree["hops"] = hops.into_iter().collect();
                tree["seed"] = seed.into();
                Description::of(&tree, marks)
            },
        )
    }

    /// A scenario without its hops.
    const SCENARIO_OF_FOUR_FLOWS: &str = r#"
schema = 1
name = "anything"
duration = "20 s"
[[flows]]
name = "near"
count = 2
route = ["access", "first", "second"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "reno" } }
traffic = { kind = "bulk" }
access_delay = ["0 ms", "2 ms"]
[[flows]]
name = "far"
route = ["second"]
return = ["second", "access"]
transport = { kind = "tcp", control = { kind = "reno" } }
traffic = { kind = "bulk" }
access_delay = "1 ms"
[[flows]]
name = "datagrams"
route = ["first"]
transport = { kind = "udp", mss = "1000 bytes" }
traffic = { kind = "cbr", rate = "3 Mbit/s" }
"#;

    impl Description {
        /// Returns one hop of 12 Mbit/s, a millisecond for 1500 bytes, and one flow with both
        /// directions through it.
        pub fn one_hop(impairments: &str) -> Self {
            let text = format!(
                r#"
schema = 1
name = "one hop"
duration = "1 s"
[[hops]]
name = "only"
link = {{ kind = "constant", rate = "12 Mbit/s" }}
queue = {{ kind = "droptail", limit = "100 packets" }}
impairments = [{impairments}]
[[flows]]
name = "one"
route = ["only"]
return = ["only"]
transport = {{ kind = "tcp", control = {{ kind = "reno" }} }}
traffic = {{ kind = "bulk" }}
"#
            );
            Self::of(&tree::from_toml(&text).unwrap(), false)
        }
        /// Reads the scenario, once for all networks that a test builds from it.
        fn of(tree: &Value, marks: bool) -> Self {
            let scenario = Scenario::from_tree(tree, &Traces).unwrap();
            Description { scenario, marks }
        }
        /// True if an impairment may change the ECN field.
        pub fn rewrites_ecn(&self) -> bool {
            let hops = self.scenario.hops.iter();
            hops.flat_map(|hop| &hop.impairments)
                .any(|impairment| impairment.facts.rewrites_ecn != Some(false))
        }
        pub fn network(&self) -> Network {
            let scenario = &self.scenario;
            let streams = Streams::new(scenario.seed, 0);
            let mut network = network::build(scenario, &streams);
            if self.marks {
                let link = network::build_link(scenario, &scenario.hops[1], &streams, "hop/second");
                let marker = Discipline::Scheduled(Box::new(Marker::default()));
                network.hops[1] = Hop::new(marker, link, Vec::new(), Span::from_millis(1));
            }
            network
        }
        pub fn driver(&self) -> Driver {
            Driver::new(self.network(), INTERVAL, (0, 0))
        }
    }

    /// Marks every second packet when the link asks for it. Drops every fifth, and those that
    /// cannot be marked.
    #[derive(Debug, Default)]
    struct Marker {
        waiting: Fifo,
        asked: u32,
    }
    impl Queue for Marker {
        fn enqueue(
            &mut self,
            _now: Time,
            id: PacketId,
            _in_service: Backlog,
            context: &mut Context<'_>,
        ) {
            self.waiting.push_back(id, context.packets);
        }
        fn dequeue(&mut self, now: Time, context: &mut Context<'_>) -> Option<PacketId> {
            loop {
                let id = self.waiting.pop_front(context.packets)?;
                self.asked += 1;
                let drop = self.asked.is_multiple_of(5)
                    || (self.asked.is_multiple_of(2) && !context.mark_packet(now, id));
                if !drop {
                    return Some(id);
                }
                context.drop_packet(now, id, DropReason::Aqm);
            }
        }
        fn backlog(&self) -> Backlog {
            self.waiting.backlog()
        }
    }

    /// Generates bursts and pauses of every flow, in both directions.
    pub fn arrivals() -> impl Strategy<Value = Vec<Coming>> {
        let gap = prop_oneof![3 => Just(0_u64), 3 => 0..500_000_u64, 1 => 0..20_000_000_u64];
        let arrival = (gap, 0..FLOWS, any::<bool>(), 40..1501_u16, 0..4_u8);
        prop::collection::vec(arrival, 1..80).prop_map(|rows| {
            let mut at = Time::ZERO;
            let rows = (0..).zip(rows);
            rows.map(|(number, (gap, flow, forward, size, ecn))| {
                at = at + Span::from_nanos(gap);
                let (sender, receiver) = (Ipv4Addr::new(10, 66, 0, 1), Ipv4Addr::new(10, 77, 0, 1));
                let (source, destination) = if forward {
                    (sender, receiver)
                } else {
                    (receiver, sender)
                };
                let direction = if forward {
                    Direction::Forward
                } else {
                    Direction::Back
                };
                Coming {
                    at,
                    flow: FlowId(flow),
                    direction,
                    bytes: ipv4_packet(source, destination, 6, size, ecn, number),
                }
            })
            .collect()
        })
    }

    pub fn lateness() -> impl Strategy<Value = Vec<Span>> {
        let wait = prop_oneof![Just(0_u64), 0..100_000_u64, 0..30_000_000_u64];
        prop::collection::vec(wait.prop_map(Span::from_nanos), 1..20)
    }

    /// Departures: time, flow, true if forward, bytes.
    pub type Left = Vec<(Time, FlowId, bool, Vec<u8>)>;

    /// Drives packets through with a clock that jumps to the next due time. If `lateness` is not
    /// empty, each wake-up is late by the next value of it.
    pub fn drive(
        driver: &mut Driver,
        arrivals: &[Coming],
        lateness: &[Span],
        mut at_each: impl FnMut(&mut Driver),
    ) -> Left {
        let (mut coming, mut late) = (arrivals.iter().peekable(), lateness.iter().cycle());
        let mut left = Vec::new();
        loop {
            let next = coming.peek().map_or(Time::NEVER, |coming| coming.at);
            let due = next.min(driver.poll_timeout());
            if due > END {
                driver.finish(END);
                return left;
            }
            let now = due + late.next().copied().unwrap_or_default();
            while let Some(packet) = coming.next_if(|coming| coming.at <= now) {
                driver.handle_packet(packet.at, packet.flow, packet.direction, &packet.bytes);
            }
            while let Some(departure) = driver.poll_departure(now.min(END)) {
                assert!(departure.at <= now, "nothing leaves before its time");
                assert!(
                    departure.at == now || !lateness.is_empty(),
                    "a punctual clock misses nothing"
                );
                let direction = departure.direction.is_forward();
                left.push((
                    departure.at,
                    departure.flow,
                    direction,
                    departure.bytes.to_vec(),
                ));
            }
            at_each(driver);
        }
    }

    pub fn counters(hops: &[Hop]) -> Vec<HopCounters> {
        hops.iter().map(Hop::counters).collect()
    }
}
