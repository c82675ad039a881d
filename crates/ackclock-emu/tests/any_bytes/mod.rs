//! Properties that hold for any bytes as a record. The fuzz target tries new bytes; `records.rs`
//! damages records and reads those that were kept.

use ackclock_emu::record::{Chunks, MAGIC, write_body};
use ackclock_emu::replay::replay;
use ackclock_scenario::Scenario;
use ackclock_scenario::job::jobs;
use ackclock_scenario::tree::from_toml;
use ackclock_spec::files::NoFiles;
use ackclock_spec::units::Time;
use std::slice;

/// The run whose records are replayed: two hops with timers of their own, two flows.
pub const SCENARIO: &str = r#"
schema = 1
duration = "1 s"
sample_interval = "10 ms"
[[hops]]
name = "access"
link = { kind = "constant", rate = "20 Mbit/s" }
queue = { kind = "droptail", limit = "100 packets" }
delay = "5 ms"
impairments = [{ kind = "jitter", distribution = { kind = "uniform", maximum = "3 ms" } }]
[[hops]]
name = "bottleneck"
link = { kind = "constant", rate = "5 Mbit/s" }
queue = { kind = "pie", limit = "50 packets" }
[[hops]]
name = "return"
link = { kind = "constant", rate = "20 Mbit/s" }
queue = { kind = "droptail", limit = "100 packets" }
[[flows]]
name = "upstream"
route = ["access", "bottleneck"]
return = ["return"]
transport = { kind = "tcp", control = { kind = "cubic" } }
[[flows]]
name = "direct"
route = ["bottleneck"]
return = ["return"]
transport = { kind = "tcp", control = { kind = "cubic" } }
"#;

/// Returns the run of [`SCENARIO`].
pub fn scenario() -> Scenario {
    Scenario::from_tree(&from_toml(SCENARIO).unwrap(), &NoFiles).unwrap()
}

/// Replays any bytes. They are refused in one line, or the replay ends within the run. A digest
/// keeps damage from the decoder, so the chunks are also read with right digests.
pub fn record(data: &[u8]) {
    let chunks = data.strip_prefix(&MAGIC).unwrap_or(data);
    replay_any(&[&MAGIC, chunks].concat());
    replay_any(&with_digests(chunks));
}

/// Returns a record whose chunks have the bodies of `chunks` and their digests.
fn with_digests(mut chunks: &[u8]) -> Vec<u8> {
    let mut record = MAGIC.to_vec();
    while let Some((head, rest)) = chunks.split_first_chunk::<12>() {
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let (body, others) = rest.split_at(length.min(rest.len()));
        write_body(&mut record, body).unwrap();
        chunks = others;
    }
    record
}

fn replay_any(record: &[u8]) {
    let scenario = scenario();
    let end = Time::ZERO + scenario.duration;
    let job = &jobs(slice::from_ref(&scenario))[0];
    let chunks = Chunks::new(record).unwrap();
    match replay(job.network(), scenario.sample_interval, end, chunks) {
        Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error:?}"),
        Ok(replayed) => {
            assert!(replayed.until <= end, "{replayed:?}");
            let difference = replayed.difference.map_or(String::new(), |d| d.to_string());
            assert!(difference.lines().count() <= 1, "{difference}");
        }
    }
}
