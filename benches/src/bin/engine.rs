//! Runs one replicate of a scenario and prints what it did: `engine FILE [PATH=VALUE]… [--trace]`.
//!
//! It measures nothing itself: benches/run.py counts its CPU time, its memory and its instructions from outside.

use ackclock_core::scenario::{Scenario, files::NoFiles, tree};
use ackclock_sim::packet_log::PacketLog;
use ackclock_sim::run::{Run, RunStatistics, Unattended};
use ackclock_sim::topology;
use ackclock_sim::trace::NoTrace;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let trace = arguments
        .iter()
        .position(|word| word == "--trace")
        .map(|at| arguments.remove(at))
        .is_some();
    let (file, assignments) = arguments
        .split_first()
        .ok_or("usage: engine FILE [PATH=VALUE]… [--trace]")?;
    let mut scenario = tree::from_toml(&std::fs::read_to_string(file)?)?;
    for assignment in assignments {
        let (path, value) = tree::parse_assignment(assignment)?;
        tree::set(&mut scenario, &path, value)?;
    }
    let scenario = Scenario::from_tree(&scenario, &NoFiles)?;
    let topology = topology::build(&scenario, 0);
    let statistics: RunStatistics = if trace {
        let log = PacketLog::new(&scenario, &topology, (0, 0));
        Run::simulate(&scenario, topology, (0, 0), log, &Unattended).statistics
    } else {
        Run::simulate(&scenario, topology, (0, 0), NoTrace, &Unattended).statistics
    };
    println!(
        "{}",
        serde_json::json!({
            "data_packets": statistics.data_packets,
            "events": statistics.events,
            "most_packets": statistics.most_packets,
        })
    );
    Ok(())
}
