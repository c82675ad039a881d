//! A hop is private by its use. A network whose access hops have the scope `per_flow`, and the same
//! network with each of them written by name, give equal tables and need equally many events.

use crate::ahead::agree;
use crate::common::scenario;
use ackclock_core::result::{Column, Table};
use ackclock_scenario::Scenario;
use ackclock_scenario::job::Job;
use ackclock_sim::run::{Run, RunStatistics, SimulationOutcome, Supervisor, Unattended};
use ackclock_sim::topology;
use ackclock_sim::trace::NoTrace;
use ackclock_spec::units::Time;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::fmt::Write;

/// Hops of a network: name, parameters, delay in nanoseconds, and whether all flows share it.
const HOPS: [(&str, &str, u64, bool); 4] = [
    (
        "access",
        "link = { kind = \"constant\", rate = \"31 Mbit/s\" }\nqueue = { kind = \"droptail\", \
         limit = \"40 packets\" }",
        3_000_000,
        false,
    ),
    (
        "bottleneck",
        "link = { kind = \"constant\", rate = \"6 Mbit/s\" }\nqueue = { kind = \"droptail\", limit \
         = \"25 packets\" }\nimpairments = [{ kind = \"iid_loss\", probability = \"0.3 %\", side = \
         \"before_queue\" }]",
        10_000_000,
        true,
    ),
    (
        "exit",
        "link = { kind = \"constant\", rate = \"20 Mbit/s\" }\nqueue = { kind = \"droptail\", \
         limit = \"20 ms\" }",
        1_000_000,
        false,
    ),
    (
        "back",
        "link = { kind = \"constant\", rate = \"6 Mbit/s\" }\nqueue = { kind = \"droptail\", limit \
         = \"60 packets\" }",
        9_000_000,
        true,
    ),
];

/// A network with one flow for each of `delays`.
#[derive(Clone, Debug)]
struct Shape {
    /// Extra delay of each flow, in nanoseconds.
    delays: Vec<u32>,
    /// Hops on the routes of data and of ACKs.
    routes: [&'static [&'static str]; 2],
    /// Parameters of the transports.
    transport: &'static str,
    /// Time between samples.
    interval: &'static str,
}

fn is_shared(name: &str) -> bool {
    HOPS.iter().any(|hop| hop.0 == name && hop.3)
}

fn write_hop(text: &mut String, kind: &str, name: &str, extra: u64, scope: &str) {
    let (_, parameters, delay, _) = HOPS.iter().find(|hop| hop.0 == kind).unwrap();
    let delay = delay + extra;
    writeln!(
        text,
        "[[hops]]\nname = \"{name}\"\nscope = \"{scope}\"\ndelay = \"{delay} ns\"\n{parameters}"
    )
    .unwrap();
}

impl Shape {
    /// Returns the scenario. With `by_name`, each hop of a single flow is written by name.
    fn scenario(&self, by_name: bool) -> Scenario {
        let duration = if self.delays.len() > 100 {
            "1.5 s"
        } else {
            "4 s"
        };
        let mut text = format!(
            "schema = 1\nduration = \"{duration}\"\nwarmup = \"500 ms\"\nsample_interval = \
             \"{}\"\n",
            self.interval
        );
        for (name, .., shared) in HOPS {
            if shared {
                write_hop(&mut text, name, name, 0, "shared");
            } else if !by_name && self.routes.iter().any(|route| route.contains(&name)) {
                write_hop(&mut text, name, name, 0, "per_flow");
            }
        }
        for (flow, extra) in self.delays.iter().enumerate() {
            self.write_flow(&mut text, flow, *extra, by_name);
        }
        scenario(&text, &[])
    }

    fn write_flow(&self, text: &mut String, flow: usize, extra: u32, by_name: bool) {
        // Before a hop of its own, a flow's extra delay is part of that hop's delay.
        let first_is_named = by_name && !is_shared(self.routes[0][0]);
        let access_delay = if first_is_named { 0 } else { extra };
        let routes = [0, 1].map(|way| -> Vec<String> {
            let stops = self.routes[way].iter().enumerate();
            let name = |(stop, kind): (usize, &&str)| {
                if is_shared(kind) || !by_name {
                    return kind.to_string();
                }
                let name = format!("{kind} {flow} {way} {stop}");
                let first = first_is_named && way == 0 && stop == 0;
                let extra = if first { extra.into() } else { 0 };
                write_hop(text, kind, &name, extra, "shared");
                name
            };
            stops.map(name).collect()
        });
        let (transport, [forward, back]) = (self.transport, routes);
        writeln!(
            text,
            "[[flows]]\nname = \"flow {flow}\"\nroute = {forward:?}\nreturn = {back:?}\ntraffic = \
             {{ kind = \"bulk\" }}\nstart = [\"0 s\", \"1 s\"]\naccess_delay = \"{access_delay} \
             ns\"\ntransport = {{ kind = \"tcp\", {transport} }}"
        )
        .unwrap();
    }
}

fn run(scenario: &Scenario, supervisor: &dyn Supervisor) -> SimulationOutcome<NoTrace> {
    let job = Job {
        scenario,
        point: 0,
        replicate: 0,
    };
    Run::simulate(&job, topology::build(&job), NoTrace, supervisor)
}

/// Returns every row as text, without the rows of hops that are not shared by all.
fn rows((name, Table(columns)): &(&'static str, Table)) -> Vec<String> {
    let cell = |column: &Column, row: usize| match column {
        Column::Number(cells) => format!("{:x}", cells[row].to_bits()),
        Column::Integer(cells) => cells[row].to_string(),
        Column::Text(words) => words.values[words.indices[row] as usize].clone(),
    };
    let count = match &columns[0].1 {
        Column::Integer(points) => points.len(),
        _ => unreachable!("a table begins with the number of its point"),
    };
    let hop = columns.iter().find(|(column, _)| *column == "hop");
    (0..count)
        .filter(|row| hop.is_none_or(|(_, names)| is_shared(&cell(names, *row))))
        .map(|row| {
            let cells = columns
                .iter()
                .map(|(column, cells)| (column, cell(cells, row)));
            format!("{name}: {:?}", cells.collect::<Vec<_>>())
        })
        .collect()
}

/// Asserts that both spellings agree, and that named hops agree with the reference path.
fn spellings_agree(shape: &Shape) {
    let [per_flow, by_name] = [false, true].map(|by_name| shape.scenario(by_name));
    let outcomes = [&per_flow, &by_name].map(|scenario| run(scenario, &Unattended));
    let [own, named] = outcomes
        .each_ref()
        .map(|outcome| outcome.tables.iter().flat_map(rows).collect::<Vec<_>>());
    assert_eq!(own.len(), named.len());
    for (row, other) in own.iter().zip(&named) {
        assert_eq!(row, other);
    }
    let [own, named] = outcomes.map(|outcome| outcome.statistics);
    assert!(own.data_packets > 100, "{own:?}");
    assert_eq!(own.data_packets, named.data_packets);
    assert_eq!(own.events, named.events, "as fast");
    assert_eq!(agree(&by_name), named.data_packets);
}

const DUMBBELL: [&[&str]; 2] = [
    &["access", "bottleneck", "exit"],
    &["exit", "back", "access"],
];

fn shapes() -> impl Strategy<Value = Shape> {
    let delay = || 0..18_000_000_u32;
    let delays = prop_oneof![
        6 => prop::collection::vec(delay(), 1..6),
        1 => prop::collection::vec(delay(), 200..206),
    ];
    let routes: Vec<[&'static [&'static str]; 2]> = vec![
        DUMBBELL,
        [&["access", "bottleneck"], &["back"]],
        [&["bottleneck", "exit"], &["back", "access"]],
        [&["access", "exit"], &["exit", "access"]],
        [
            &["access", "exit", "bottleneck", "exit", "back"],
            &["access"],
        ],
        [&["access", "bottleneck", "exit"], &["exit", "bottleneck"]],
    ];
    let transports = vec![
        "control = { kind = \"reno\" }, preset = \"ns2-2002\"",
        "control = { kind = \"cubic\" }, preset = \"linux\"",
        "control = { kind = \"bbr1\" }, preset = \"linux\"",
    ];
    (
        delays,
        prop::sample::select(routes),
        prop::sample::select(transports),
        prop::sample::select(vec!["100 ms", "7.3 ms", "5 s"]),
    )
        .prop_map(|(delays, routes, transport, interval)| Shape {
            interval: if delays.len() > 100 {
                "100 ms"
            } else {
                interval
            },
            delays,
            routes,
            transport,
        })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        // Two packets that reach a hop in the same nanosecond are served in the order of the file,
        // which the spellings do not share. One in hundreds of these networks has such a pair.
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]
    #[test]
    fn a_network_may_be_written_either_way(shape in shapes()) {
        spellings_agree(&shape);
    }
}

/// A flow that has the network for itself needs few events, and can be stopped all the same. Then
/// every hop and every flow is at the time of the last sample.
#[test]
fn a_lone_flow_can_be_stopped() {
    struct Impatient;
    impl Supervisor for Impatient {
        fn proceed(&self, now: Time) -> bool {
            now < Time::from_seconds(10.0)
        }
    }
    let text = "schema = 1\nduration = \"1000 s\"\nsample_interval = \"100 s\"\n[[hops]]\nname = \
                \"there\"\nlink = { kind = \"constant\", rate = \"50 Mbit/s\" }\nqueue = { kind = \
                \"droptail\", limit = \"40 packets\" }\ndelay = \"5 ms\"\n[[hops]]\nname = \
                \"back\"\nlink = { kind = \"constant\", rate = \"50 Mbit/s\" }\nqueue = { kind = \
                \"droptail\", limit = \"40 packets\" }\ndelay = \"5 ms\"\n[[flows]]\nname = \
                \"only\"\nroute = [\"there\"]\nreturn = [\"back\"]\ntransport = { kind = \"tcp\", \
                control = { kind = \"reno\" } }\ntraffic = { kind = \"bulk\" }\n";
    let scenario = scenario(text, &[]);
    let stopped = run(&scenario, &Impatient);
    assert!(!stopped.complete);
    let RunStatistics {
        events,
        data_packets,
        ..
    } = stopped.statistics;
    assert!(
        data_packets > 10_000 && events < data_packets / 10,
        "{events}, {data_packets}"
    );
    let last = |table: &str, column: &str| -> f64 {
        let (_, Table(columns)) = stopped
            .tables
            .iter()
            .find(|(name, _)| *name == table)
            .unwrap();
        match &columns.iter().find(|(name, _)| *name == column).unwrap().1 {
            Column::Number(cells) => *cells.last().unwrap(),
            Column::Integer(cells) => *cells.last().unwrap() as f64,
            Column::Text(_) => unreachable!("a number was asked for"),
        }
    };
    // It is asked at least once a second.
    let until = last("hops", "time_s");
    assert!((10.0..=12.0).contains(&until), "{until} s");
    assert_eq!(last("samples", "time_s"), until);
    assert!(last("hops", "busy_s") <= until);
    let goodput = last("samples", "delivered_bytes") * 8.0 / until;
    assert!((40e6..50e6).contains(&goodput), "{goodput} bit/s");
}
