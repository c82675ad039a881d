//! Datagrams are the same in every run, on any number of threads, and not by chance.

use super::*;
use ackclock_core::packet::Ecn;
use ackclock_core::result::{Column, Table};
use ackclock_core::traffic::Write;
use ackclock_core::transport::endpoint::{Arrived, Progress, Transmit};
use ackclock_core::transport::facts::TransportFacts;
use ackclock_core::transport::{EndpointContext, Endpoints, TransportKind};
use ackclock_scenario::Scenario;
use ackclock_scenario::job::Job;
use ackclock_sim::batch::{BatchProgress, run_each};
use ackclock_sim::topology;
use ackclock_sim::trace::NoTrace;
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::{Element, Factory, Selection};
use ackclock_spec::units::{Bytes, Time};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Mutex;

const PATH: &str = r#"
schema = 1
duration = "3 s"
[[hops]]
name = "there"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "30 packets" }
delay = "20 ms"
impairments = [{ kind = "iid_loss", probability = "0.5 %" }]
[[hops]]
name = "back"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "100 packets" }
delay = "20 ms"
[[flows]]
name = "main"
route = ["there"]
return = ["back"]
transport = { kind = "quic", stack = "quinn", control = "cubic" }
traffic = { kind = "cbr", rate = "1 Mbit/s" }
"#;

/// Datagrams that a run sent and received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Heard {
    /// Hash of time, size, direction and ECN field of each datagram that was sent.
    shape: u64,
    /// Hash of the bytes.
    bytes: u64,
    datagrams: u64,
    /// Packets that arrived at the receiver with CE.
    marked: u64,
    /// ECN field of the sender's packets, each time it changed.
    fields: Vec<Ecn>,
    /// The last count of CE that an ACK reported; only without encryption.
    reported: u64,
    delivered: u64,
}

fn mix(hash: &mut u64, bytes: &[u8]) {
    for byte in bytes {
        *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
}

/// A connection of quinn that is listened to. Each run adds what was heard when it ends.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Listened {
    #[serde(skip)]
    #[schemars(skip)]
    quic: Option<Quic>,
    /// True if the seed of the endpoints' randomness is left out.
    unseeded: bool,
    #[serde(skip)]
    #[schemars(skip)]
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Element<TransportKind> for Listened {
    const NAME: &'static str = "listened";
    const LABEL: &'static str = "listened";
    const SUMMARY: &'static str = "Is quinn, and somebody listens.";
    const REFERENCE: &'static str = "none";

    fn facts(&self) -> TransportFacts {
        self.quic.as_ref().map(Element::facts).unwrap_or_default()
    }
}

impl Factory<TransportKind> for Listened {
    fn build(&self, context: EndpointContext<'_>) -> Endpoints {
        let stack = Quinn::new();
        let quic = self.quic.as_ref().unwrap();
        let unseeded = self.unseeded;
        let [sender, receiver] = stack.pair(quic, context, |config| {
            if unseeded {
                config.rng_seed(None);
            }
        });
        let run = Arc::new(Mutex::new(Heard::default()));
        let ear = |side, forward| Ear {
            side,
            forward,
            run: Arc::clone(&run),
            all: forward.then(|| Arc::clone(&self.heard)),
        };
        Endpoints::Other {
            sender: Box::new(ear(sender, true)),
            receiver: Box::new(ear(receiver, false)),
        }
    }
}

#[derive(Debug)]
struct Ear {
    side: Box<dyn Endpoint>,
    forward: bool,
    run: Arc<Mutex<Heard>>,
    all: Option<Arc<Mutex<Vec<Heard>>>>,
}

impl Drop for Ear {
    fn drop(&mut self) {
        if let Some(all) = &self.all {
            all.lock().unwrap().push(self.run.lock().unwrap().clone());
        }
    }
}

impl Endpoint for Ear {
    fn open(&mut self, now: Time) {
        self.side.open(now);
    }
    fn write(&mut self, now: Time, write: Write) {
        self.side.write(now, write);
    }
    fn close(&mut self, now: Time) {
        self.side.close(now);
    }
    fn stop(&mut self, now: Time) {
        self.side.stop(now);
    }
    fn handle_packet(&mut self, now: Time, arrived: &Arrived<'_>) {
        let mut run = self.run.lock().unwrap();
        if !self.forward {
            run.marked += u64::from(arrived.packet.ecn() == Ecn::Marked);
        } else if let Some(marked) = reported_marks(arrived.payload) {
            run.reported = marked;
        }
        drop(run);
        self.side.handle_packet(now, arrived);
        if !self.forward {
            self.run.lock().unwrap().delivered = self.side.delivered().0;
        }
    }
    fn handle_timeout(&mut self, now: Time) {
        self.side.handle_timeout(now);
    }
    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Transmit> {
        let sent = self.side.poll_transmit(now, payload)?;
        let mut run = self.run.lock().unwrap();
        let field = sent.ecn as u8;
        mix(&mut run.shape, &now.as_nanos().to_le_bytes());
        mix(&mut run.shape, &sent.size.to_le_bytes());
        mix(&mut run.shape, &[u8::from(self.forward), field]);
        mix(&mut run.bytes, payload);
        run.datagrams += 1;
        if self.forward && run.fields.last() != Some(&sent.ecn) {
            run.fields.push(sent.ecn);
        }
        Some(sent)
    }
    fn poll_timeout(&self) -> Time {
        self.side.poll_timeout()
    }
    fn delivered(&self) -> Bytes {
        self.side.delivered()
    }
    fn progress(&self) -> Progress {
        self.side.progress()
    }
    fn may_fail(&self) -> bool {
        self.side.may_fail()
    }
    fn fault(&self) -> Option<String> {
        self.side.fault()
    }
}

/// Reads the count of CE in the ACK that is the first frame of a packet of data without encryption
/// (RFC 9000 sections 17.3.1 and 19.3).
fn reported_marks(datagram: &[u8]) -> Option<u64> {
    let first = *datagram.first()?;
    let has_short_header = first & 0x80 == 0;
    let frames = 1 + seeds::ID_BYTES + usize::from(first & 3) + 1;
    let mut rest = datagram.get(frames..)?;
    let mut number = || -> Option<u64> {
        let (length, first) = (1 << (rest.first()? >> 6), u64::from(rest.first()? & 0x3f));
        let (bytes, after) = rest.split_at_checked(length)?;
        rest = after;
        Some(
            bytes[1..]
                .iter()
                .fold(first, |sum, byte| sum << 8 | u64::from(*byte)),
        )
    };
    if !has_short_header || number()? != 3 {
        return None;
    }
    let [_largest, _delay, ranges, _first] = [number()?, number()?, number()?, number()?];
    for _ in 0..2 * ranges {
        number()?;
    }
    let [_ect0, _ect1, marked] = [number()?, number()?, number()?];
    Some(marked)
}

/// Controls of quinn, and some of the engine's inside it.
fn controls() -> Vec<Value> {
    let own = CONTROLS.iter().map(|name| json!(name));
    let ours = ["cubic", "westwood_abse", "bbr3"].map(|name| json!({ "kind": name }));
    own.chain(ours).collect()
}

fn quinn(control: impl Into<Value>, crypto: Crypto) -> Quic {
    let control: Value = control.into();
    let tree = json!({ "kind": "quic", "stack": "quinn", "control": control,
        "crypto": crypto });
    let files = crate::Bringing(NoFiles);
    let chosen = ackclock_spec::registry::choose::<TransportKind>(&tree, &files).unwrap();
    chosen.parameters::<Quic>().unwrap().clone()
}

/// Returns what was heard in so many runs of a replicate.
fn listen(
    text: &str,
    quic: Quic,
    unseeded: bool,
    (replicate, runs, threads): (u32, usize, usize),
) -> Vec<Heard> {
    let mut scenario = Scenario::from_toml(text, &[""; 0], &crate::Bringing(NoFiles)).unwrap();
    let heard = Arc::default();
    scenario.flows[0].transport = Selection::of(Listened {
        quic: Some(quic),
        unseeded,
        heard: Arc::clone(&heard),
    });
    let job = Job {
        scenario: &scenario,
        point: 0,
        replicate,
    };
    let jobs = vec![job; runs];
    let progress = BatchProgress::default();
    run_each(
        &jobs,
        threads,
        &progress,
        |job| (topology::build(job), NoTrace),
        |_, outcome| {
            assert!(
                outcome.complete && outcome.fault.is_none(),
                "{:?}",
                outcome.fault
            );
        },
    );
    drop(scenario);
    let heard = heard.lock().unwrap();
    heard.clone()
}

fn bulk() -> String {
    PATH.replace(
        r#"{ kind = "cbr", rate = "1 Mbit/s" }"#,
        r#"{ kind = "bulk" }"#,
    )
}

fn shapes(heard: &[Heard]) -> BTreeSet<(u64, u64, u64)> {
    let shape = |run: &Heard| (run.shape, run.datagrams, run.delivered);
    heard.iter().map(shape).collect()
}

#[test]
fn times_and_sizes_are_the_same_in_every_run_on_any_number_of_threads() {
    for control in controls() {
        let quic = quinn(control.clone(), Crypto::Tls);
        let mut heard = listen(&bulk(), quic.clone(), false, (0, 8, 8));
        heard.extend(listen(&bulk(), quic.clone(), false, (0, 2, 1)));
        assert_eq!((heard.len(), shapes(&heard).len()), (10, 1), "{control}");
        assert!(heard[0].delivered > 1_000_000, "{control}: {heard:?}");
        let other = listen(&bulk(), quic, false, (1, 1, 1));
        assert_ne!(
            other[0].shape, heard[0].shape,
            "{control}: another replicate"
        );
    }
}

#[test]
fn bytes_are_the_same_without_encryption() {
    for control in controls() {
        let quic = quinn(control.clone(), Crypto::Null);
        let mut heard = listen(&bulk(), quic.clone(), false, (0, 8, 8));
        heard.extend(listen(&bulk(), quic, false, (0, 2, 1)));
        assert_eq!(heard, vec![heard[0].clone(); 10], "{control}");
        assert!(heard[0].delivered > 1_000_000, "{control}: {heard:?}");
    }
}

#[test]
fn a_seed_that_is_left_out_is_noticed() {
    for crypto in [Crypto::Tls, Crypto::Null] {
        let heard = listen(&bulk(), quinn("cubic", crypto), true, (0, 4, 1));
        assert_eq!(shapes(&heard).len(), 4, "{crypto:?}");
    }
}

#[test]
fn data_arrives_once_and_whole() {
    let sized = r#"{ kind = "transfer", size = "500 kB" }"#;
    let transfer = PATH.replace(r#"{ kind = "cbr", rate = "1 Mbit/s" }"#, sized);
    for crypto in [Crypto::Tls, Crypto::Null] {
        let heard = listen(&transfer, quinn("cubic", crypto), false, (0, 1, 1));
        assert_eq!(heard[0].delivered, 500_000, "{crypto:?}");
    }
}

/// Data that an application writes at a rate below that of the path arrives at that rate: 1 Mbit/s
/// in writes of 1200 bytes, but for those that are on their way at the end.
#[test]
fn an_application_sets_the_rate() {
    let quiet = PATH.replace("0.5 %", "0 %");
    let heard = listen(&quiet, quinn("new_reno", Crypto::Tls), false, (0, 1, 1));
    let (whole, last) = (3.0 * 1e6 / 8.0, 0.1 * 1e6 / 8.0);
    let delivered = heard[0].delivered as f64;
    assert!(
        (whole - last..=whole + 1200.0).contains(&delivered),
        "{delivered}"
    );
}

/// The receiver reports each mark that arrives, and the sender then sends less. On a path that
/// clears the field, quinn stops to set it (RFC 9000 section 13.4.2).
#[test]
fn marks_reach_the_control_and_a_path_that_clears_them_is_noticed() {
    let marking = r#"{ kind = "step_marking", limit = "200 packets", threshold = "10 packets" }"#;
    let quiet = bulk().replace("0.5 %", "0 %");
    let marked = quiet.replace(r#"{ kind = "droptail", limit = "30 packets" }"#, marking);
    let finite = marked.replace(
        r#"{ kind = "bulk" }"#,
        r#"{ kind = "transfer", size = "1 MB" }"#,
    );
    let heard = listen(&finite, quinn("cubic", Crypto::Null), false, (0, 1, 1));
    let run = &heard[0];
    assert_eq!(run.delivered, 1_000_000);
    assert_eq!(run.fields, [Ecn::Capable]);
    assert!(run.marked > 0);
    assert_eq!(run.reported, run.marked);

    let cleared = r#"kind = "ecn_rewrite", side = "before_queue""#;
    let bleached = marked.replace(r#"kind = "iid_loss", probability = "0 %""#, cleared);
    let heard = listen(&bleached, quinn("cubic", Crypto::Null), false, (0, 1, 1));
    let run = &heard[0];
    assert_eq!((run.marked, run.reported), (0, 0));
    assert_eq!(run.fields, [Ecn::Capable, Ecn::NotCapable]);
    assert!(run.delivered > 1_000_000);
}

/// Two connections of quinn, TCP of Linux with and without marks, and UDP, in one queue that marks
/// and drops, on a path that loses, duplicates and reorders.
const TOGETHER: &str = r#"
schema = 1
duration = "2 s"
[[hops]]
name = "there"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "dualpi2", limit = "100 packets" }
delay = "10 ms"
impairments = [
  { kind = "duplicate", probability = "1 %" },
  { kind = "jitter", distribution = { kind = "uniform", maximum = "2 ms" } },
  { kind = "iid_loss", probability = "0.5 %" },
]
[[hops]]
name = "back"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "50 packets" }
delay = "10 ms"
impairments = [
  { kind = "duplicate", probability = "1 %", applies = "all" },
  { kind = "iid_loss", probability = "0.5 %", applies = "all" },
]
[[flows]]
name = "encrypted"
route = ["there"]
return = ["back"]
transport = { kind = "quic", stack = "quinn", control = "new_reno", trains = "4 packets" }
[[flows]]
name = "null"
count = 2
start = ["0 s", "1 s"]
stop = "1.8 s"
route = ["there"]
return = ["back"]
transport = { kind = "quic", stack = "quinn", control = "cubic", crypto = "null" }
[[flows]]
name = "tcp"
route = ["there"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "cubic" }, preset = "linux" }
[[flows]]
name = "prague"
route = ["there"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "prague" }, preset = "linux" }
[[flows]]
name = "udp"
route = ["there"]
transport = { kind = "udp" }
traffic = { kind = "cbr", rate = "500 kbit/s" }
"#;

/// Each run of the engine asserts that packets are conserved, in hops and in the pool, if it is
/// built with debug assertions, as the profile of tests is.
#[test]
fn packets_are_conserved_beside_tcp_and_udp() {
    for (seed, limit, control) in [
        (1, "100 packets", r#""cubic""#),
        (2, "10 packets", r#""bbr""#),
        (3, "20 kB", r#""new_reno""#),
        (4, "1000 packets", r#""cubic""#),
        (5, "20 packets", r#"{ kind = "cubic" }"#),
        (6, "10 packets", r#"{ kind = "bbr3" }"#),
    ] {
        let changes = [
            format!("seed={seed}"),
            format!(r#"hops.there.queue.limit="{limit}""#),
            format!("flows.null.transport.control={control}"),
        ];
        let files = crate::Bringing(NoFiles);
        let scenario = Scenario::from_toml(TOGETHER, &changes, &files).unwrap();
        let job = Job {
            scenario: &scenario,
            point: 0,
            replicate: 0,
        };
        run_each(
            &[job],
            1,
            &BatchProgress::default(),
            |job| (topology::build(job), NoTrace),
            |_, outcome| {
                assert!(
                    outcome.complete && outcome.fault.is_none(),
                    "{:?}",
                    outcome.fault
                );
                let (_, flows) = &outcome.tables[0];
                let Column::Integer(delivered) = column(flows, "delivered_bytes") else {
                    unreachable!("it is a count")
                };
                assert!(
                    delivered.iter().all(|bytes| *bytes > 10_000),
                    "{seed}: {delivered:?}"
                );
            },
        );
    }
}

fn column<'a>(table: &'a Table, name: &str) -> &'a Column {
    let Table(columns) = table;
    &columns
        .iter()
        .find(|(column, _)| *column == name)
        .unwrap()
        .1
}

/// The version is part of a result's address: it must be the one that is compiled.
#[test]
fn the_version_is_that_of_the_workspace() {
    let pinned = format!("version = \"={}\"", VERSION.split_once(' ').unwrap().1);
    let manifest = include_str!("../../../../Cargo.toml");
    let line = manifest
        .lines()
        .find(|line| line.starts_with("quinn-proto"))
        .unwrap();
    assert!(line.contains(&pinned), "{line}");
}
