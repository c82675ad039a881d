//! Simulated runs and their captures.

#![allow(dead_code, reason = "each test program uses its part")]

use ackclock_core::endpoint::TcpParameters;
use ackclock_core::packet::{Content, Packet, PacketKind};
use ackclock_core::result::{Column, Table};
use ackclock_core::transport::Tcp;
use ackclock_measure::measurement::Naming;
use ackclock_measure::{Measurement, Parameters};
use ackclock_pcap::capture::DEFAULT_SNAP_LENGTH;
use ackclock_pcap::packet::{self, Options};
use ackclock_pcap::{Capture, CapturedPacket, FlowAddresses, Labels, PacketEncoder, Reader};
use ackclock_scenario::Scenario;
use ackclock_scenario::job::Job;
use ackclock_sim::run::{Run, Unattended};
use ackclock_sim::topology;
use ackclock_sim::trace::{Step, Trace};
use ackclock_spec::files::NoFiles;
use ackclock_spec::units::Time;
use std::collections::HashMap;
use std::net::SocketAddr;

/// Initial sequence numbers; the sender's is just before the wrap.
const SENDER_SYN: u32 = u32::MAX - 20_000;
const RECEIVER_SYN: u32 = 77;

/// Parses the scenario in `text`, with assignments as on the command line.
pub fn scenario(text: &str, assignments: &[&str]) -> Scenario {
    Scenario::from_toml(text, assignments, &NoFiles).unwrap()
}

/// A sender, a lossy link of 20 Mbit/s and 40 ms, a receiver.
pub const PIPE: &str = r#"
schema = 1
name = "pipe"
duration = "30 s"

[[hops]]
name = "forth"
link = { kind = "constant", rate = "20 Mbit/s" }
queue = { kind = "droptail", limit = "100 packets" }
delay = "20 ms"

[[hops]]
name = "back"
link = { kind = "constant", rate = "20 Mbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "20 ms"

[[flows]]
name = "one"
route = ["forth"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "reno" }, preset = "linux-2012" }
traffic = { kind = "bulk" }
"#;

/// Results of a run: its own tables, captures at the senders and at the receivers with sequence
/// numbers that wrap early, and the data segments it lost.
pub struct Ran {
    pub tables: Vec<(&'static str, Table)>,
    pub at_senders: Vec<CapturedPacket>,
    pub at_receivers: Vec<CapturedPacket>,
    /// The capture at the senders as `simulate` writes it.
    pub file: Vec<u8>,
    /// Numbers of the data segments dropped, by flow, once for each drop.
    pub lost: Vec<Vec<u64>>,
    pub scenario: Scenario,
}

pub fn run(scenario: &Scenario, replicate: u32) -> Ran {
    let job = Job {
        scenario,
        point: 0,
        replicate,
    };
    let topology = topology::build(&job);
    let tap = Tap::new(scenario, &topology);
    let outcome = Run::simulate(&job, topology, tap, &Unattended);
    let captures = [outcome.trace.at_senders, outcome.trace.at_receivers];
    let [file, at_receivers] = captures.map(|capture| capture.finish().unwrap());
    Ran {
        tables: outcome.tables,
        at_senders: read(&file).into_iter().map(moved).collect(),
        at_receivers: read(&at_receivers).into_iter().map(moved).collect(),
        file,
        lost: outcome.trace.lost,
        scenario: scenario.clone(),
    }
}

/// Listens to a run and captures it as `simulate` does.
struct Tap {
    labels: Vec<Labels>,
    at_senders: Capture<Vec<u8>>,
    at_receivers: Capture<Vec<u8>>,
    lost: Vec<Vec<u64>>,
}

impl Tap {
    fn new(scenario: &Scenario, topology: &topology::Topology) -> Self {
        let encoder = |(number, flow): (u32, &ackclock_sim::flow::Flow)| {
            let addresses = FlowAddresses::of(number);
            PacketEncoder::tcp(addresses, parameters(scenario, flow.group), flow.total())
        };
        let capture = || {
            let encoders = (0..).zip(&topology.flows).map(encoder).collect();
            Capture::new(Vec::new(), DEFAULT_SNAP_LENGTH, encoders).unwrap()
        };
        Tap {
            labels: vec![Labels::default(); topology.flows.len()],
            at_senders: capture(),
            at_receivers: capture(),
            lost: vec![Vec::new(); topology.flows.len()],
        }
    }
}

/// Returns the transport parameters of a group of flows.
pub fn parameters(scenario: &Scenario, group: u32) -> &TcpParameters {
    let tcp: Option<&Tcp> = scenario.flows[group as usize].transport.parameters();
    &tcp.expect("only TCP is measured").parameters
}

impl Trace for Tap {
    fn record(
        &mut self,
        at: Time,
        step: Step,
        _: Option<usize>,
        packet: &Packet,
        content: Content<'_>,
    ) {
        let flow = packet.flow.0 as usize;
        let labels = &mut self.labels[flow];
        let label = match step {
            Step::Send => labels.sent(at, packet),
            Step::Receive => labels.received(at, packet),
            Step::Drop => {
                labels.dropped(packet);
                if packet.kind() == PacketKind::Data {
                    self.lost[flow].push(packet.sequence);
                }
                return;
            }
            Step::Arrive | Step::Mark => return,
        };
        let capture = if packet.is_forward() == (step == Step::Send) {
            &mut self.at_senders
        } else {
            &mut self.at_receivers
        };
        capture.write(at, packet, content, label).unwrap();
    }
}

/// Reads the packets of a capture.
pub fn read(file: &[u8]) -> Vec<CapturedPacket> {
    Reader::new(file).unwrap().map(Result::unwrap).collect()
}

/// Moves the sequence numbers, since simulated connections begin with 0 on both sides and others do
/// not.
fn moved(mut packet: CapturedPacket) -> CapturedPacket {
    let (own, other) = match is_from_sender(&packet) {
        true => (SENDER_SYN, RECEIVER_SYN),
        false => (RECEIVER_SYN, SENDER_SYN),
    };
    let packet::Transport::Tcp(segment) = &mut packet.transport else {
        panic!("only TCP is measured")
    };
    segment.sequence = segment.sequence.wrapping_add(own);
    if segment.flags.ack {
        segment.acknowledgment = segment.acknowledgment.wrapping_add(other);
    }
    let options = segment.options;
    let mut moved = Options::default();
    moved.maximum_segment = options.maximum_segment;
    moved.window_scale = options.window_scale;
    moved.sack_permitted = options.sack_permitted;
    moved.timestamps = options.timestamps;
    for (left, right) in options.sacks() {
        moved.push_sack(left.wrapping_add(other), right.wrapping_add(other));
    }
    segment.options = moved;
    packet
}

/// True if it travels in the direction of the data.
pub fn is_from_sender(packet: &CapturedPacket) -> bool {
    packet.destination.port() == FlowAddresses::of(0).receiver.port()
}

/// Returns a capture on the path, at a point that each packet from a sender reaches `delay_ns`
/// after it left, and each ACK as long before it arrives.
pub fn half_way(at_senders: &[CapturedPacket], delay_ns: u64) -> Vec<CapturedPacket> {
    let mut packets = at_senders.to_vec();
    for packet in &mut packets {
        packet.at_ns = if is_from_sender(packet) {
            packet.at_ns + delay_ns
        } else {
            packet.at_ns.saturating_sub(delay_ns)
        };
    }
    packets.sort_by_cached_key(|packet| packet.at_ns); // moves each of these large values once
    packets
}

/// Returns the names of the scenario.
pub fn names(ran: &Ran) -> Naming {
    let job = Job {
        scenario: &ran.scenario,
        point: 0,
        replicate: 0,
    };
    let topology = topology::build(&job);
    let mut names: HashMap<(SocketAddr, SocketAddr), (String, i64)> = HashMap::new();
    for (number, flow) in (0..).zip(&topology.flows) {
        let FlowAddresses { sender, receiver } = FlowAddresses::of(number);
        let name = (
            ran.scenario.flows[flow.group as usize].name.clone(),
            i64::from(flow.instance),
        );
        names.insert((sender.into(), receiver.into()), name);
    }
    Box::new(move |source, destination| names.get(&(source, destination)).cloned())
}

pub type Tables = Vec<(&'static str, Table)>;

/// Measures a capture of ours.
pub fn measure(ran: &Ran, packets: &[CapturedPacket]) -> Tables {
    let parameters = Parameters {
        origin_ns: Some(0),
        warmup: ran.scenario.warmup,
        sample_interval: ran.scenario.sample_interval,
        ..Parameters::default()
    };
    tables(Measurement::with_names(parameters, names(ran)), packets)
}

/// Measures a capture from anywhere.
pub fn measure_foreign(parameters: Parameters, packets: &[CapturedPacket]) -> Tables {
    tables(Measurement::new(parameters), packets)
}

/// Returns all tables of a measurement, with their chunks joined.
pub fn tables(mut measurement: Measurement, packets: &[CapturedPacket]) -> Tables {
    let mut all: Tables = Vec::new();
    let mut take = |measurement: &mut Measurement| {
        while let Some(chunk) = measurement.poll_tables() {
            for (name, table) in chunk {
                match all.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, rows)) => rows.append(table),
                    None => all.push((name, table)),
                }
            }
        }
    };
    for packet in packets {
        measurement.handle_packet(packet);
        take(&mut measurement);
    }
    measurement.finish();
    take(&mut measurement);
    all
}

pub fn column<'a>(tables: &'a Tables, table: &str, column: &str) -> &'a Column {
    let (_, Table(columns)) = tables.iter().find(|(name, _)| *name == table).expect(table);
    &columns
        .iter()
        .find(|(name, _)| *name == column)
        .expect(column)
        .1
}

pub fn numbers(tables: &Tables, table: &str, name: &str) -> Vec<f64> {
    match column(tables, table, name) {
        Column::Number(rows) => rows.clone(),
        Column::Integer(rows) => rows.iter().map(|value| *value as f64).collect(),
        Column::Text(_) => panic!("{name} is text"),
    }
}

pub fn texts(tables: &Tables, table: &str, name: &str) -> Vec<String> {
    let Column::Text(words) = column(tables, table, name) else {
        panic!("{name} is no text")
    };
    words
        .indices
        .iter()
        .map(|index| words.values[*index as usize].clone())
        .collect()
}

/// Returns the row of `connections` for data from a simulated sender.
pub fn row_of(tables: &Tables, flow: &str) -> usize {
    let flows = texts(tables, "connections", "flow");
    flows.iter().position(|name| name == flow).expect(flow)
}

/// Returns a number of that row.
pub fn of(tables: &Tables, flow: &str, name: &str) -> f64 {
    numbers(tables, "connections", name)[row_of(tables, flow)]
}

/// Returns a text of that row.
pub fn word_of(tables: &Tables, flow: &str, name: &str) -> String {
    texts(tables, "connections", name)[row_of(tables, flow)].clone()
}
