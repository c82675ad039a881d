//! A transport from elsewhere: numbered packets with bytes in them, and an echo of each. It is in
//! this file alone. The engine runs it like its own, and what a packet carries arrives unchanged.

use crate::common::{cells, scenario};
use ackclock_core::packet::Ecn;
use ackclock_core::result::{Column, Table};
use ackclock_core::transport::endpoint::{Arrived, Endpoint, Progress, RoundTrips, Transmit};
use ackclock_core::transport::facts::TransportFacts;
use ackclock_core::transport::{EndpointContext, Endpoints, TransportKind};
use ackclock_scenario::Scenario;
use ackclock_scenario::job::Job;
use ackclock_sim::run::{Run, SimulationOutcome, Unattended};
use ackclock_sim::topology;
use ackclock_sim::trace::NoTrace;
use ackclock_spec::registry::{Element, Factory, Selection};
use ackclock_spec::stated::Stated;
use ackclock_spec::units::{Bytes, Span, Time};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

const HEADER: u16 = 28;

/// A window of packets, each answered by an echo. What is not echoed in time is sent again.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Echo {
    /// Packets in flight.
    window: usize,
    /// Packets in all.
    packets: u64,
    /// Payload of a packet, in bytes.
    payload: u16,
    /// Echoes of each packet.
    echoes: u32,
    /// Number of the packet that the receiver cannot take.
    poison: Option<u64>,
}

const SMALL: Echo = Echo {
    window: 16,
    packets: 2000,
    payload: 972,
    echoes: 1,
    poison: None,
};

impl Element<TransportKind> for Echo {
    const NAME: &'static str = "echo";
    const LABEL: &'static str = "echo";
    const SUMMARY: &'static str = "Sends numbered packets, and each comes back.";
    const REFERENCE: &'static str = "RFC 862";

    fn facts(&self) -> TransportFacts {
        TransportFacts {
            mss_bytes: Some(self.payload.into()),
            header_bytes: Some(HEADER.into()),
            answer_bytes: Stated::Some(u64::from(HEADER + self.payload)),
            reliable: Some(true),
            ..TransportFacts::default() // unknown
        }
    }
}

impl Factory<TransportKind> for Echo {
    fn build(&self, _: EndpointContext<'_>) -> Endpoints {
        Endpoints::Other {
            sender: Box::new(Sender {
                own: self.clone(),
                next: 0,
                waiting: BTreeMap::new(),
                due: BTreeSet::new(),
                progress: Progress::default(),
                open: false,
            }),
            receiver: Box::new(Receiver {
                own: self.clone(),
                seen: BTreeSet::new(),
                echoes: Vec::new(),
                fault: None,
            }),
        }
    }
}

/// The bytes of a packet: its number, then a pattern that follows from it.
fn bytes_of(number: u64, length: u16) -> Vec<u8> {
    let pattern = (0..u64::from(length)).map(|at| (number.wrapping_mul(31) ^ at) as u8);
    let head = number.to_be_bytes().into_iter();
    head.chain(pattern.skip(8)).collect()
}

fn number_of(payload: &[u8]) -> u64 {
    u64::from_be_bytes(payload[..8].try_into().unwrap())
}

#[derive(Debug)]
struct Sender {
    own: Echo,
    next: u64,
    /// Numbers without an echo, with the time of the last sending.
    waiting: BTreeMap<u64, Time>,
    /// Numbers to send again.
    due: BTreeSet<u64>,
    progress: Progress,
    open: bool,
}

impl Sender {
    const PATIENCE: Span = Span::from_millis(500);
}

impl Endpoint for Sender {
    fn open(&mut self, _: Time) {
        self.open = true;
    }
    fn stop(&mut self, _: Time) {
        self.open = false;
    }
    fn handle_packet(&mut self, now: Time, arrived: &Arrived<'_>) {
        let number = number_of(arrived.payload);
        assert_eq!(arrived.payload, bytes_of(number, self.own.payload));
        self.due.remove(&number);
        if self.waiting.remove(&number).is_some() {
            let rtt = now.since(arrived.packet.stamp).as_seconds();
            let trips = &mut self.progress.round_trips;
            let (low, high) = trips.range_s.unwrap_or((rtt, rtt));
            *trips = RoundTrips {
                samples: trips.samples + 1,
                sum_s: trips.sum_s + rtt,
                range_s: Some((low.min(rtt), high.max(rtt))),
            };
        }
    }
    fn handle_timeout(&mut self, now: Time) {
        let late = self
            .waiting
            .iter()
            .filter(|(_, sent)| **sent + Self::PATIENCE <= now);
        self.due.extend(late.map(|(number, _)| number));
    }
    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Transmit> {
        if !self.open {
            return None;
        }
        let again = self.due.pop_first();
        let has_room = self.waiting.len() < self.own.window && self.next < self.own.packets;
        let number = again.or_else(|| has_room.then_some(self.next))?;
        self.next = self.next.max(number + 1);
        self.waiting.insert(number, now);
        self.progress.sent += 1;
        *self.progress.retransmitted.get_or_insert(0) += u64::from(again.is_some());
        payload.extend(bytes_of(number, self.own.payload));
        Some(Transmit {
            number,
            size: HEADER + self.own.payload,
            stamp: now,
            ecn: Ecn::NotCapable,
            options: None,
        })
    }
    fn poll_timeout(&self) -> Time {
        let first = self.waiting.values().min().filter(|_| self.open);
        first.map_or(Time::NEVER, |sent| *sent + Self::PATIENCE)
    }
    fn progress(&self) -> Progress {
        self.progress
    }
}

#[derive(Debug)]
struct Receiver {
    own: Echo,
    seen: BTreeSet<u64>,
    /// Packets to echo: number and stamp.
    echoes: Vec<(u64, Time)>,
    fault: Option<String>,
}

impl Endpoint for Receiver {
    fn handle_packet(&mut self, _: Time, arrived: &Arrived<'_>) {
        let number = number_of(arrived.payload);
        assert_eq!(arrived.payload, bytes_of(number, self.own.payload));
        assert_eq!(number, arrived.packet.sequence);
        if self.own.poison == Some(number) {
            self.fault = Some("choked".into());
        }
        self.seen.insert(number);
        for _ in 0..self.own.echoes {
            self.echoes.push((number, arrived.packet.stamp));
        }
    }
    fn handle_timeout(&mut self, _: Time) {}
    fn poll_transmit(&mut self, _: Time, payload: &mut Vec<u8>) -> Option<Transmit> {
        let (number, stamp) = self.echoes.pop()?;
        payload.extend(bytes_of(number, self.own.payload));
        Some(Transmit {
            number,
            size: HEADER + self.own.payload,
            stamp,
            ecn: Ecn::NotCapable,
            options: None,
        })
    }
    fn poll_timeout(&self) -> Time {
        Time::NEVER
    }
    fn delivered(&self) -> Bytes {
        Bytes(self.seen.len() as u64 * u64::from(self.own.payload))
    }
    fn may_fail(&self) -> bool {
        true
    }
    fn fault(&self) -> Option<String> {
        self.fault.clone()
    }
}

/// Losses, copies and reordering on the way there, losses on the way back, and a short queue.
const ROUGH: &str = r#"
schema = 1
duration = "20 s"
warmup = "1 s"
[[hops]]
name = "there"
link = { kind = "constant", rate = "5 Mbit/s" }
queue = { kind = "droptail", limit = "12 packets" }
delay = "20 ms"
impairments = [
  { kind = "iid_loss", probability = "2 %" },
  { kind = "duplicate", probability = "3 %" },
  { kind = "jitter", distribution = { kind = "uniform", maximum = "5 ms" } },
]
[[hops]]
name = "back"
link = { kind = "constant", rate = "5 Mbit/s" }
queue = { kind = "droptail", limit = "100 packets" }
delay = "20 ms"
impairments = [{ kind = "iid_loss", probability = "1 %", applies = "all" }]
[[flows]]
name = "echo"
count = 2
route = ["there"]
return = ["back"]
transport = { kind = "udp", control = { kind = "tfrc" } }
traffic = { kind = "bulk" }
"#;

fn over(echo: &Echo) -> Scenario {
    let mut scenario = scenario(ROUGH, &[]);
    scenario.flows[0].transport = Selection::of(echo.clone());
    scenario.check().unwrap();
    scenario
}

fn run(scenario: &Scenario) -> SimulationOutcome<NoTrace> {
    topology::check(scenario).unwrap();
    let job = Job {
        scenario,
        point: 0,
        replicate: 0,
    };
    Run::simulate(&job, topology::build(&job), NoTrace, &Unattended)
}

fn column<'a>(tables: &'a [(&str, Table)], table: &str, name: &str) -> &'a Column {
    let (_, Table(columns)) = tables.iter().find(|(known, _)| *known == table).unwrap();
    &columns.iter().find(|(known, _)| *known == name).unwrap().1
}

fn sum(tables: &[(&str, Table)], table: &str, name: &str) -> f64 {
    match column(tables, table, name) {
        Column::Number(values) => values.iter().sum(),
        Column::Integer(values) => values.iter().sum::<i64>() as f64,
        Column::Text(_) => unreachable!("{name} is a number"),
    }
}

/// All runs assert that packets are conserved, in hops and in the pool.
#[test]
fn a_transport_of_another_crate_delivers_everything() {
    let scenario = over(&SMALL);
    let outcome = run(&scenario);
    assert!(outcome.complete && outcome.fault.is_none());
    let of_flows = |name| sum(&outcome.tables, "flows", name);
    let all = 2.0 * (SMALL.packets * u64::from(SMALL.payload)) as f64;
    assert_eq!(of_flows("delivered_bytes"), all);
    assert!(of_flows("dropped_packets") > 50.0, "the path is rough");
    let (sent, again) = (of_flows("sent_packets"), of_flows("retransmitted_packets"));
    assert_eq!(sent - again, 2.0 * SMALL.packets as f64);
    assert!(again > 0.0, "what is lost is sent again");
    let least = 2.0 * (0.04 + 2.0 * 8.0 * 1000.0 / 5e6);
    assert!(of_flows("rtt_min_s") >= least && of_flows("rtt_mean_s") > least);
    let Column::Text(controls) = column(&outcome.tables, "flows", "control") else {
        unreachable!("a name")
    };
    assert_eq!(controls.values, ["echo"]);
    assert_eq!(cells(&outcome.tables), cells(&run(&scenario).tables));
}

#[test]
fn a_receiver_may_answer_more_than_once_and_not_at_all() {
    for echoes in [0, 3] {
        let outcome = run(&over(&Echo {
            echoes,
            packets: 200,
            ..SMALL
        }));
        assert!(outcome.complete && outcome.fault.is_none());
        let of_hops = |name| sum(&outcome.tables, "hops", name);
        let samples = sum(&outcome.tables, "flows", "rtt_min_s");
        assert_eq!(samples.is_nan(), echoes == 0, "{samples}");
        assert!(of_hops("departures") > 0.0);
    }
}

#[test]
fn a_side_that_cannot_go_on_ends_the_run() {
    let poisoned = Echo {
        poison: Some(7),
        packets: 1_000_000,
        ..SMALL
    };
    let outcome = run(&over(&poisoned));
    let fault = outcome.fault.unwrap();
    assert_eq!((fault.group, fault.reason.as_str()), (0, "choked"));
    assert!(!outcome.complete);
}
