//! Whole runs on this machine: the kernel's TCP through the hops of a scenario, and the tables.
//! Nothing is asserted about time or about the verdict on this machine.
//!
//! Tests that this machine does not permit are skipped, and reported on standard error. As root
//! every test runs a second time as an unprivileged user.
#![cfg(target_os = "linux")]

mod common;

use ackclock_core::result::{Column, Table};
use ackclock_emu::capture::Point;
use ackclock_emu::emulation::{self, EmulationOutcome, Failure, Options, Watch};
use ackclock_emu::files;
use ackclock_emu::program::HostProgram;
use ackclock_emu::protocol::DeviceChoice;
use ackclock_emu::record::{self, Chunks};
use ackclock_emu::replay::{Replay, replay};
use ackclock_scenario::Scenario;
use ackclock_scenario::job::Job;
use ackclock_spec::units::Time;
use common::{program, scenario, skip};
use rustix::process::geteuid;
use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const MIXED: &str = r#"
schema = 1
name = "mixed"
duration = "1500 ms"
warmup = "300 ms"
seed = "7"

[[hops]]
name = "access"
scope = "per_flow"
link = { kind = "constant", rate = "50 Mbit/s" }
queue = { kind = "droptail", limit = "500 packets" }
delay = "1 ms"

[[hops]]
name = "bottleneck"
link = { kind = "markov", rates = ["4 Mbit/s", "12 Mbit/s"], mean_sojourn = "100 ms" }
queue = { kind = "droptail", limit = "30 packets" }
delay = "5 ms"
impairments = [
    { kind = "iid_loss", probability = 0.02 },
    { kind = "duplicate", probability = 0.01 },
]

[[hops]]
name = "back"
link = { kind = "constant", rate = "20 Mbit/s" }
queue = { kind = "droptail", limit = "100 packets" }
delay = "5 ms"

[[flows]]
name = "bulk"
count = 2
route = ["access", "bottleneck"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "reno" } }

[[flows]]
name = "file"
route = ["access", "bottleneck"]
return = ["back"]
start = "100 ms"
transport = { kind = "tcp", control = { kind = "cubic" } }
traffic = { kind = "transfer", size = "40000 bytes" }

[[flows]]
name = "voice"
route = ["bottleneck"]
transport = { kind = "udp", mss = "160 bytes" }
traffic = { kind = "cbr", rate = "64 kbit/s" }
"#;

/// A folder that is deleted when the test ends, however it ends.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!(
            "ackclock-emulation-{}-{number}",
            std::process::id()
        ));
        fs::create_dir(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The condition for ending a run.
#[derive(Clone, Copy)]
enum Enough {
    /// The receivers got this many bytes, headers and duplicates included.
    Carried(u64),
    /// The sender of a finished connection reported this many bytes acknowledged.
    Acknowledged(u64),
}

/// Counts rows, and ends the run when its condition holds.
struct Watched {
    rows: usize,
    acknowledged_bytes: f64,
    enough: Enough,
}

impl Watch for Watched {
    fn take_tcp_info(&mut self, rows: Table) -> io::Result<()> {
        let acknowledged = numbers(&rows, "acknowledged_bytes");
        self.rows += acknowledged.len();
        self.acknowledged_bytes = acknowledged
            .into_iter()
            .fold(self.acknowledged_bytes, f64::max);
        Ok(())
    }
    fn proceed(&mut self, _elapsed: Time, delivered_bytes: u64) -> bool {
        match self.enough {
            Enough::Carried(bytes) => delivered_bytes < bytes,
            // The kernel counts the SYN as well.
            Enough::Acknowledged(bytes) => self.acknowledged_bytes < 1.0 + bytes as f64,
        }
    }
}

struct Ran {
    outcome: EmulationOutcome,
    tcp_info_rows: usize,
    replay: Replay,
    /// Length of each capture in bytes.
    captures: [u64; 4],
}

/// Runs until the receivers got this many bytes.
fn run(scenario: &Scenario, device: DeviceChoice, enough_bytes: u64) -> Option<Ran> {
    run_until(scenario, device, Enough::Carried(enough_bytes))
}

/// Runs and replays, which must take the same decisions; `None` if this machine cannot, which is
/// reported.
fn run_until(scenario: &Scenario, device: DeviceChoice, enough: Enough) -> Option<Ran> {
    let folder = Folder::new();
    let options = Options {
        program: program("workload"),
        loader: None,
        files: files::Folder::new(&folder.0),
        device,
        folder: folder.0.clone(),
        captures: true,
        stop: Arc::default(),
    };
    if let Err(failure) = emulation::check(std::slice::from_ref(scenario), &options) {
        assert!(matches!(failure, Failure::Lacking(_)), "{failure}");
        skip(&format!("no emulation with {device:?}: {failure}"));
        return None;
    }
    let job = Job {
        scenario,
        point: 3,
        replicate: 1,
    };
    let mut watch = Watched {
        rows: 0,
        acknowledged_bytes: 0.0,
        enough,
    };
    let outcome = emulation::emulate(&job, &options, &mut watch)
        .unwrap_or_else(|failure| panic!("{failure}"));
    let record = BufReader::new(File::open(record::file_of(&folder.0, &job)).unwrap());
    let replay = replay(
        job.network(),
        scenario.sample_interval,
        Time::ZERO + scenario.duration,
        Chunks::new(record).unwrap(),
    )
    .unwrap();
    assert_eq!(replay.difference, None, "{device:?}");
    assert!(replay.complete && replay.decisions > 0);
    let captures = Point::ALL.map(|point| {
        let name = format!("{}-{}", job.name(), point.file_name());
        fs::metadata(folder.0.join("pcap").join(name))
            .unwrap()
            .len()
    });
    Some(Ran {
        outcome,
        tcp_info_rows: watch.rows,
        replay,
        captures,
    })
}

fn table<'a>(outcome: &'a EmulationOutcome, name: &str) -> &'a Table {
    &outcome
        .tables
        .iter()
        .find(|(known, _)| *known == name)
        .unwrap()
        .1
}

fn column<'a>(table: &'a Table, name: &str) -> &'a Column {
    &table.0.iter().find(|(known, _)| *known == name).unwrap().1
}

fn numbers(table: &Table, name: &str) -> Vec<f64> {
    match column(table, name) {
        Column::Number(rows) => rows.clone(),
        Column::Integer(rows) => rows.iter().map(|value| *value as f64).collect(),
        Column::Text(_) => panic!("{name} is text"),
    }
}

fn words(table: &Table, name: &str) -> Vec<String> {
    let Column::Text(words) = column(table, name) else {
        panic!("{name} is no text")
    };
    words
        .indices
        .iter()
        .map(|index| words.values[*index as usize].clone())
        .collect()
}

#[test]
fn flows_of_every_kind_and_what_is_said_of_them() {
    let scenario = scenario(MIXED);
    for device in [DeviceChoice::Tun, DeviceChoice::PacketSocket] {
        let Some(ran) = run(&scenario, device, u64::MAX) else {
            continue;
        };
        let outcome = &ran.outcome;
        assert!(outcome.complete);
        // A machine that is short of time takes fewer readings, and warns; there must be no other
        // warning.
        let others = |warning: &&String| !warning.contains(" tcp_info skipped for lack of time");
        let warnings: Vec<&String> = outcome.warnings.iter().filter(others).collect();
        assert_eq!(warnings, [""; 0]);
        let flows = table(outcome, "flows");
        assert_eq!(words(flows, "flow"), ["bulk", "bulk", "file", "voice"]);
        assert_eq!(words(flows, "control"), ["reno", "reno", "cubic", "udp"]);
        assert_eq!(numbers(flows, "point"), [3.0; 4]);
        let delivered = numbers(flows, "delivered_bytes");
        // The random numbers decide which segments are lost, perhaps a SYN or the file's last, and
        // wait for timeouts beyond the end.
        assert!(
            delivered[0] + delivered[1] > 0.0 && delivered[3] > 0.0,
            "{delivered:?}"
        );
        assert!(delivered[2] <= 40_000.0, "the file, each byte once at most");
        let completion = numbers(flows, "completion_time_s");
        assert_eq!(
            completion[2] > 0.0,
            delivered[2] == 40_000.0,
            "done if all is there"
        );
        assert!(completion[0].is_nan() && completion[3].is_nan());
        // A datagram has 28 more bytes on the wire. Data of a connection that arrived out of order
        // waits for its turn.
        let (goodput, throughput) = (
            numbers(flows, "goodput_bit_per_s"),
            numbers(flows, "throughput_bit_per_s"),
        );
        assert!(goodput[3] > 0.0 && goodput[3] < throughput[3]);
        // The file may be complete before the warm-up is over, or soon after; these two share the
        // link all the time.
        let shared = throughput[0] + throughput[1];
        assert!(shared > 0.0 && shared < 12e6, "{throughput:?}");
        let rtt = numbers(flows, "rtt_min_s");
        assert!(
            rtt[..3].iter().all(|rtt| *rtt >= 0.011 || rtt.is_nan()) && rtt[3].is_nan(),
            "{rtt:?}"
        );

        let drops = |name: &str| {
            numbers(table(outcome, "hops"), name)
                .iter()
                .fold(0.0, |most: f64, count| most.max(*count))
        };
        assert!(drops("drops_impairment") > 0.0);
        let dropped: f64 = numbers(flows, "dropped_packets").iter().sum();
        assert_eq!(
            drops("drops_queue") + drops("drops_impairment"),
            dropped,
            "only the bottleneck drops"
        );

        assert!(
            ran.tcp_info_rows > 3,
            "{} readings of three connections, more than their last ones",
            ran.tcp_info_rows
        );
        let samples = table(outcome, "samples");
        assert!(
            numbers(samples, "cwnd_bytes")
                .iter()
                .all(|cwnd| *cwnd >= 1448.0)
        );
        let fidelity = table(outcome, "fidelity");
        assert_eq!(numbers(fidelity, "probes_sent"), [20.0]);
        assert!(numbers(fidelity, "probe_extra_p50_s")[0] > 0.0);
        assert_eq!(numbers(fidelity, "largest_packet_bytes"), [1500.0]);
        assert_eq!(numbers(fidelity, "outside_drops"), [0.0]);
        let written: f64 = numbers(table(outcome, "lateness"), "packets").iter().sum();
        assert!(written > 0.0 && written <= ran.replay.decisions as f64);
        assert!(
            ran.captures.iter().all(|bytes| *bytes > 1000),
            "{:?}",
            ran.captures
        );
        let _ = writeln!(
            io::stderr(),
            "{device:?} as user {}: {}",
            geteuid().as_raw(),
            words(fidelity, "verdict")[0]
        );
    }
}

/// The run ends when the sender knows that the receiver has the file, however long it takes.
#[test]
fn a_file_arrives_each_byte_once() {
    let mut scenario = scenario(&MIXED.replace("1500 ms", "1 h"));
    scenario.flows.retain(|group| group.name == "file");
    let Some(ran) = run_until(
        &scenario,
        DeviceChoice::Automatic,
        Enough::Acknowledged(40_000),
    ) else {
        return;
    };
    let flows = table(&ran.outcome, "flows");
    assert_eq!(numbers(flows, "delivered_bytes"), [40_000.0]);
    assert!(numbers(flows, "completion_time_s")[0] > 0.0);
}

#[test]
fn a_run_that_is_stopped_says_so_and_can_be_replayed() {
    let scenario = scenario(&MIXED.replace("1500 ms", "1 h"));
    let Some(ran) = run(&scenario, DeviceChoice::Automatic, 100_000) else {
        return;
    };
    assert!(!ran.outcome.complete);
    let measured = numbers(table(&ran.outcome, "flows"), "measured_s");
    assert!(measured.iter().all(|span| *span < 3000.0), "{measured:?}");
}

#[test]
fn what_the_kernel_does_in_its_own_way_is_named() {
    let text = MIXED.replace("1500 ms", "500 ms").replacen(
        r#"control = { kind = "reno" } }"#,
        "control = { kind = \"reno\", alpha = 2.0 }, preset = \"ns2-2002\", \
         mss = \"900 bytes\", recovery = \"tahoe\" }",
        1,
    );
    let Some(ran) = run(&scenario(&text), DeviceChoice::Automatic, u64::MAX) else {
        return;
    };
    let settings = table(&ran.outcome, "settings");
    let (names, asked) = (words(settings, "name"), words(settings, "asked"));
    let (has, refusals) = (words(settings, "has"), words(settings, "refusal"));
    let row = |name: &str| {
        let at = names.iter().position(|other| other == name);
        at.map(|at| (asked[at].as_str(), has[at].as_str(), refusals[at].as_str()))
    };
    assert_eq!(row("net.ipv4.tcp_sack"), Some(("0", "0", "")));
    assert_eq!(row("net.ipv4.tcp_recovery"), Some(("0", "0", "")));
    assert_eq!(row("flow bulk/0 TCP_MAXSEG"), Some(("900", "900", "")));
    for (name, asked) in [
        ("flows.bulk.transport.control.alpha", "2.0"),
        ("flows.bulk.transport.recovery", "tahoe"),
        ("flows.bulk.transport.rto_initial", "6 s"),
        ("flows.file.transport.preset", "linux"),
    ] {
        let parameter = row(name).unwrap_or_else(|| panic!("{name} is not among {names:?}"));
        assert_eq!((parameter.0, parameter.1), (asked, ""), "{name}");
        assert!(!parameter.2.is_empty(), "{name}");
    }
    assert_eq!(row("flows.bulk.transport.mss"), None, "the sockets take it");
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_written() {
    let folder = Folder::new();
    let options = Options {
        program: HostProgram {
            program: "/does/not/exist".into(),
            arguments: Vec::new(),
        },
        loader: None,
        files: files::Folder::new(&folder.0),
        device: DeviceChoice::Automatic,
        folder: folder.0.clone(),
        captures: true,
        stop: Arc::default(),
    };
    let long = r#"control = { kind = "cubic" }, mss = "65500 bytes", header = "20 bytes" }"#;
    let long = scenario(&MIXED.replace(r#"control = { kind = "cubic" } }"#, long));
    let Err(Failure::Scenario(error)) = emulation::check(&[long], &options) else {
        panic!("no IPv4 packet is that long")
    };
    assert_eq!(error.key(), "out-of-range flows.file.transport.mss");
    let Err(Failure::Lacking(text)) = emulation::check(&[scenario(MIXED)], &options) else {
        panic!("there is no such program")
    };
    assert!(text.contains("/does/not/exist did not start"), "{text}");
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
}
