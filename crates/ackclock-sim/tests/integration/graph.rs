//! The engine's loop and the graph of emulations move packets alike: what an open loop sends in the
//! engine leaves the graph at the same times, and the same packets are lost.

use crate::common::scenario;
use ackclock_core::packet::{Content, Ecn, FlowId, Packet, PacketId, PacketKind};
use ackclock_scenario::job::Job;
use ackclock_scenario::network::decision::Decision;
use ackclock_scenario::network::graph::{Graph, Listener};
use ackclock_sim::run::{Run, Unattended};
use ackclock_sim::topology;
use ackclock_sim::trace::{Step, Trace};
use ackclock_spec::units::{Span, Time};

/// Datagrams that nobody answers, over hops that drop, mark, lose, copy and delay.
const OPEN: &str = r#"
schema = 1
duration = "8 s"
[[hops]]
name = "access"
scope = "per_flow"
link = { kind = "constant", rate = "8 Mbit/s" }
queue = { kind = "droptail", limit = "20 packets" }
delay = "1 ms"
[[hops]]
name = "middle"
link = { kind = "markov", rates = ["6 Mbit/s", "2 Mbit/s"], mean_sojourn = "200 ms" }
queue = { kind = "codel", limit = "60 packets" }
delay = "7 ms"
impairments = [
  { kind = "iid_loss", probability = "2 %" },
  { kind = "duplicate", probability = "2 %" },
  { kind = "jitter", distribution = { kind = "uniform", maximum = "3 ms" } },
]
[[hops]]
name = "last"
link = { kind = "constant", rate = "4 Mbit/s" }
[hops.queue]
kind = "red"
limit = "50 packets"
minimum_threshold = "5 packets"
maximum_threshold = "15 packets"
[[flows]]
name = "bursts"
count = 3
route = ["access", "middle", "last", "access"]
transport = { kind = "udp" }
traffic = { kind = "on_off", rate = "3 Mbit/s", mean_on = "100 ms", mean_off = "80 ms" }
[[flows]]
name = "steady"
route = ["middle"]
transport = { kind = "udp", mss = "300 bytes" }
traffic = { kind = "cbr", rate = "700 kbit/s" }
"#;

/// A packet at an end: time, flow, size.
type Seen = (Time, u32, u16);

#[derive(Debug, Default)]
struct Ends {
    sent: Vec<Seen>,
    received: Vec<Seen>,
}

impl Trace for Ends {
    fn record(&mut self, at: Time, step: Step, _: Option<usize>, packet: &Packet, _: Content<'_>) {
        let seen = (at, packet.flow.0, packet.size);
        match step {
            Step::Send => self.sent.push(seen),
            Step::Receive => self.received.push(seen),
            _ => {}
        }
    }
}

#[derive(Debug)]
struct Deaf;

impl Listener for Deaf {
    fn decided(&mut self, _: Decision) {}
    fn duplicated(&mut self, _: PacketId, _: PacketId) {}
}

#[test]
fn the_engine_and_the_graph_move_packets_alike() {
    let scenario = scenario(OPEN, &[]);
    let job = Job {
        scenario: &scenario,
        point: 0,
        replicate: 0,
    };
    let end = Time::ZERO + scenario.duration;
    let ends = Run::simulate(&job, topology::build(&job), Ends::default(), &Unattended).trace;
    let mut graph = Graph::new(job.network(), Span::from_seconds(1.0), (0, 0), Deaf);
    let mut received = Vec::new();
    let mut take = |graph: &mut Graph<Deaf>, until: Time| {
        while let Some((at, id)) = graph.poll_departure(until) {
            let packet = graph.packet(id);
            received.push((at, packet.flow.0, packet.size));
            graph.remove(id);
        }
    };
    for (at, flow, size) in &ends.sent {
        take(&mut graph, *at);
        let mut packet = Packet::new(PacketKind::Datagram, FlowId(*flow), 0, *size, *at);
        packet.set_ecn(Ecn::NotCapable);
        graph.handle_packet(*at, packet, |_, _, _, _| {});
    }
    take(&mut graph, end);
    graph.finish(end);
    graph.check_conservation();
    let mut of_engine = ends.received;
    of_engine.sort_unstable();
    received.sort_unstable();
    assert!(of_engine.len() > 2000, "{} packets", of_engine.len());
    assert!(of_engine.len() + 200 < ends.sent.len(), "some are lost");
    assert_eq!(of_engine, received);
}
