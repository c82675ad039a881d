//! Runs one replicate of a scenario and prints its counts: `engine FILE [PATH=VALUE]… [--trace]
//! [--digest]`.
//!
//! The script benches/run.py measures its CPU time and its instructions from outside. Two builds
//! whose digests of the tables are equal have computed the same to the bit.

use ackclock_core::result::{Column, Table};
use ackclock_scenario::Scenario;
use ackclock_scenario::job::Job;
use ackclock_sim::packet_log::PacketLog;
use ackclock_sim::run::{Run, RunStatistics, SimulationOutcome, Unattended};
use ackclock_sim::topology;
use ackclock_sim::trace::NoTrace;
use ackclock_spec::files::NoFiles;
use ackclock_stacks::Bringing;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut option = |name: &str| {
        let place = arguments.iter().position(|word| word == name);
        place.map(|at| arguments.remove(at)).is_some()
    };
    let (trace, wants_digest) = (option("--trace"), option("--digest"));
    let (file, assignments) = arguments
        .split_first()
        .ok_or("usage: engine FILE [PATH=VALUE]… [--trace] [--digest]")?;
    let text = std::fs::read_to_string(file)?;
    let scenario = Scenario::from_toml(&text, assignments, &Bringing(NoFiles))?;
    let job = Job {
        scenario: &scenario,
        point: 0,
        replicate: 0,
    };
    let topology = topology::build(&job);
    let (statistics, tables) = if trace {
        let log = PacketLog::new(&job, &topology);
        leave(Run::simulate(&job, topology, log, &Unattended))
    } else {
        leave(Run::simulate(&job, topology, NoTrace, &Unattended))
    };
    if wants_digest {
        let digest = tables
            .iter()
            .map(|(_, table)| table)
            .fold(FNV_OFFSET, digest);
        println!("{digest:016x}");
        return Ok(());
    }
    println!(
        "{}",
        serde_json::json!({
            "data_packets": statistics.data_packets,
            "events": statistics.events,
            "most_packets": statistics.most_packets,
            "peak_bytes": peak_memory(),
        })
    );
    Ok(())
}

fn leave<T>(outcome: SimulationOutcome<T>) -> (RunStatistics, Vec<(&'static str, Table)>) {
    (outcome.statistics, outcome.tables)
}

/// Returns the peak resident memory that Linux reports of this program alone. The value that a
/// parent gets includes its own memory at the fork.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// Computes FNV-1a over every cell.
fn digest(start: u64, table: &Table) -> u64 {
    let mix = |hash: u64, cell: u64| {
        cell.to_le_bytes().iter().fold(hash, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME)
        })
    };
    table
        .0
        .iter()
        .fold(start, |hash, (_, column)| match column {
            Column::Number(rows) => rows
                .iter()
                .fold(hash, |hash, cell| mix(hash, cell.to_bits())),
            Column::Integer(rows) => rows.iter().fold(hash, |hash, cell| mix(hash, *cell as u64)),
            Column::Text(words) => words
                .indices
                .iter()
                .fold(hash, |hash, cell| mix(hash, *cell as u64)),
        })
}
