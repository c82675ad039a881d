//! Simulated runs and what a capture of them holds.

#![allow(dead_code, reason = "each test program uses its part")]

use ackclock_core::endpoint::TcpParameters;
use ackclock_core::endpoint::parameters::{LossRecovery, RttSampling};
use ackclock_core::job::Job;
use ackclock_core::packet::{FlowId, Packet, PacketKind, SackBlock};
use ackclock_core::result::{Column, Table};
use ackclock_core::scenario::{Scenario, Transport, files::NoFiles, tree};
use ackclock_core::units::Time;
use ackclock_measure::measurement::Naming;
use ackclock_measure::{Measurement, Parameters};
use ackclock_pcap::capture::DEFAULT_SNAP_LENGTH;
use ackclock_pcap::packet::{Flags, Options, Segment};
use ackclock_pcap::{Capture, CapturedPacket, FlowAddresses, Label, Labels, PacketEncoder, packet};
use ackclock_sim::run::{Run, Unattended};
use ackclock_sim::topology;
use ackclock_sim::trace::{Step, Trace};
use std::collections::HashMap;
use std::net::SocketAddr;

/// Just before the numbers wrap.
const SENDER_SYN: u32 = u32::MAX - 20_000;
const RECEIVER_SYN: u32 = 77;

/// The scenario in `text`, with assignments as the command line takes them.
pub fn scenario(text: &str, assignments: &[&str]) -> Scenario {
    let mut tree = tree::from_toml(text).unwrap();
    for assignment in assignments {
        let (path, value) = tree::parse_assignment(assignment).unwrap();
        tree::set(&mut tree, &path, value).unwrap();
    }
    Scenario::from_tree(&tree, &NoFiles).unwrap()
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
transport = { kind = "tcp", control = { kind = "reno" }, preset = "linux" }
traffic = { kind = "bulk" }
"#;

/// What a run leaves: its own tables, captures at the senders and at the receivers, and the data segments it lost.
pub struct Ran {
    pub tables: Vec<(&'static str, Table)>,
    pub at_senders: Vec<CapturedPacket>,
    pub at_receivers: Vec<CapturedPacket>,
    /// The capture at the senders that `simulate` would have written.
    pub file: Vec<u8>,
    /// Of each flow, the numbers of the data segments that were dropped, once for each drop.
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
    Ran {
        tables: outcome.tables,
        at_senders: outcome.trace.at_senders,
        at_receivers: outcome.trace.at_receivers,
        file: outcome.trace.file.finish().unwrap(),
        lost: outcome.trace.flows.into_iter().map(|flow| flow.lost).collect(),
        scenario: scenario.clone(),
    }
}

/// Listens to a run and captures like somebody who sees real headers.
struct Tap {
    flows: Vec<Wire>,
    at_senders: Vec<CapturedPacket>,
    at_receivers: Vec<CapturedPacket>,
    file: Capture<Vec<u8>>,
}

/// How one flow's packets look.
struct Wire {
    addresses: FlowAddresses,
    parameters: TcpParameters,
    total: Option<u64>,
    labels: Labels,
    lost: Vec<u64>,
}

impl Tap {
    fn new(scenario: &Scenario, topology: &topology::Topology) -> Self {
        let wire = |(number, flow): (u32, &ackclock_sim::flow::Flow)| Wire {
            addresses: FlowAddresses::of(FlowId(number)),
            parameters: *parameters(scenario, flow.group),
            total: flow.total().map(|total| total.0),
            labels: Labels::default(),
            lost: Vec::new(),
        };
        let encoder = |(number, flow): (u32, &ackclock_sim::flow::Flow)| {
            let addresses = FlowAddresses::of(FlowId(number));
            PacketEncoder::tcp(addresses, parameters(scenario, flow.group), flow.total())
        };
        let encoders = (0..).zip(&topology.flows).map(encoder).collect();
        Tap {
            file: Capture::new(Vec::new(), DEFAULT_SNAP_LENGTH, encoders).unwrap(),
            flows: (0..).zip(&topology.flows).map(wire).collect(),
            at_senders: Vec::new(),
            at_receivers: Vec::new(),
        }
    }
}

/// The transport of a group of flows.
pub fn parameters(scenario: &Scenario, group: u32) -> &TcpParameters {
    match &scenario.flows[group as usize].transport {
        Transport::Tcp { parameters, .. } => parameters,
        Transport::Udp { .. } => panic!("only TCP is measured"),
    }
}

impl Wire {
    fn number(&self, segment: u64) -> u32 {
        let offset = segment * self.parameters.mss.0;
        let offset = self.total.map_or(offset, |total| offset.min(total));
        SENDER_SYN.wrapping_add(1).wrapping_add(offset as u32)
    }

    fn options(&self, packet: &Packet, sacks: &[SackBlock], stamps: (u32, u32)) -> Options {
        let syn = matches!(packet.kind(), PacketKind::Syn | PacketKind::SynAck);
        let mut options = Options::default();
        if syn {
            let timestamps = if self.stamped() { 12 } else { 0 };
            options.maximum_segment = Some(self.parameters.mss.0 as u16 + timestamps);
            options.window_scale = Some(if packet.is_forward() { 0 } else { self.shift() });
            options.sack_permitted = self.parameters.recovery == LossRecovery::Sack;
        }
        options.timestamps = self.stamped().then_some(stamps);
        for block in sacks {
            options.push_sack(self.number(block.start), self.number(block.end));
        }
        options
    }

    fn stamped(&self) -> bool {
        self.parameters.rtt_sampling == RttSampling::Timestamps
    }

    fn window(&self) -> u64 {
        let window = self.parameters.receive_window.bytes(self.parameters.mss);
        window.map_or(u64::from(u16::MAX) << 14, |window| window.0)
    }

    fn shift(&self) -> u8 {
        (0..14)
            .find(|shift| self.window() >> shift <= u64::from(u16::MAX))
            .unwrap_or(14)
    }

    fn capture(&self, at: Time, packet: &Packet, sacks: &[SackBlock], label: Label) -> CapturedPacket {
        let (kind, forward) = (packet.kind(), packet.is_forward());
        let syn = matches!(kind, PacketKind::Syn | PacketKind::SynAck);
        let shift = if syn { 0 } else { self.shift() };
        let segment = Segment {
            sequence: match kind {
                PacketKind::Syn => SENDER_SYN,
                PacketKind::SynAck => RECEIVER_SYN,
                PacketKind::Data => self.number(packet.sequence),
                _ => RECEIVER_SYN + 1,
            },
            acknowledgment: match kind {
                PacketKind::Syn => 0,
                PacketKind::Ack => self.number(packet.sequence),
                PacketKind::SynAck => SENDER_SYN.wrapping_add(1),
                _ => RECEIVER_SYN + 1,
            },
            payload: match kind {
                PacketKind::Data => u32::from(packet.size) - self.parameters.header.0 as u32,
                _ => 0,
            },
            window: if forward {
                u16::MAX
            } else {
                (self.window() >> shift).min(65_535) as u16
            },
            flags: Flags {
                syn,
                ack: kind != PacketKind::Syn,
                ece: packet.has_ecn_echo() || (syn && self.parameters.ecn),
                cwr: packet.has_window_reduced() || (kind == PacketKind::Syn && self.parameters.ecn),
                ..Flags::default()
            },
            options: self.options(packet, sacks, (label.value, label.echo)),
            cut: false,
        };
        let FlowAddresses { sender, receiver } = self.addresses;
        let (source, destination) = if forward {
            (sender, receiver)
        } else {
            (receiver, sender)
        };
        CapturedPacket {
            at_ns: at.as_nanos(),
            source: source.into(),
            destination: destination.into(),
            ip_bytes: packet.size.into(),
            identification: label.identification,
            ecn: packet.ecn(),
            transport: packet::Transport::Tcp(segment),
        }
    }
}

impl Trace for Tap {
    fn record(&mut self, at: Time, step: Step, _: Option<usize>, packet: &Packet, sacks: &[SackBlock]) {
        let wire = &mut self.flows[packet.flow.0 as usize];
        let label = match step {
            Step::Send => wire.labels.sent(at, packet),
            Step::Receive => wire.labels.received(at, packet),
            Step::Drop => {
                wire.labels.dropped(packet);
                if packet.kind() == PacketKind::Data {
                    wire.lost.push(packet.sequence);
                }
                return;
            }
            Step::Arrive | Step::Mark => return,
        };
        let captured = wire.capture(at, packet, sacks, label);
        if packet.is_forward() == (step == Step::Send) {
            self.file.write(at, packet, sacks, label).unwrap();
            self.at_senders.push(captured);
        } else {
            self.at_receivers.push(captured);
        }
    }
}

/// A capture half way: what passes a point that each packet from a sender reaches `delay_ns` after it left, and each ACK that much before it arrives.
pub fn half_way(at_senders: &[CapturedPacket], delay_ns: u64) -> Vec<CapturedPacket> {
    let mut packets = at_senders.to_vec();
    for packet in &mut packets {
        let from_sender = packet.destination.port() == 9;
        packet.at_ns = if from_sender {
            packet.at_ns + delay_ns
        } else {
            packet.at_ns.saturating_sub(delay_ns)
        };
    }
    packets.sort_by_key(|packet| packet.at_ns);
    packets
}

/// Names as the scenario has them.
pub fn names(ran: &Ran) -> Naming {
    let job = Job {
        scenario: &ran.scenario,
        point: 0,
        replicate: 0,
    };
    let topology = topology::build(&job);
    let mut known: HashMap<(SocketAddr, SocketAddr), (String, i64)> = HashMap::new();
    for (number, flow) in (0..).zip(&topology.flows) {
        let FlowAddresses { sender, receiver } = FlowAddresses::of(FlowId(number));
        let name = (
            ran.scenario.flows[flow.group as usize].name.clone(),
            i64::from(flow.instance),
        );
        known.insert((sender.into(), receiver.into()), name);
    }
    Box::new(move |source, destination| known.get(&(source, destination)).cloned())
}

pub type Tables = Vec<(&'static str, Table)>;

/// The tables of a capture of ours.
pub fn measure(ran: &Ran, packets: &[CapturedPacket]) -> Tables {
    let parameters = Parameters {
        origin_ns: Some(0),
        warmup: ran.scenario.warmup,
        sample_interval: ran.scenario.sample_interval,
        ..Parameters::default()
    };
    tables(Measurement::with_names(parameters, names(ran)), packets)
}

/// The tables of a capture from anywhere.
pub fn measure_foreign(parameters: Parameters, packets: &[CapturedPacket]) -> Tables {
    tables(Measurement::new(parameters), packets)
}

/// All that a measurement has to say, chunk after chunk.
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
    &columns.iter().find(|(name, _)| *name == column).expect(column).1
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

/// The row of `connections` for data from a simulated sender.
pub fn row_of(tables: &Tables, flow: &str) -> usize {
    let flows = texts(tables, "connections", "flow");
    flows.iter().position(|name| name == flow).expect(flow)
}

/// One number of that row.
pub fn of(tables: &Tables, flow: &str, name: &str) -> f64 {
    numbers(tables, "connections", name)[row_of(tables, flow)]
}

/// One word of that row.
pub fn word_of(tables: &Tables, flow: &str, name: &str) -> String {
    texts(tables, "connections", name)[row_of(tables, flow)].clone()
}
