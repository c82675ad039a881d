//! Runs the floor and prints its counts: `floor FLOWS PACKETS`.
//!
//! The script benches/run.py measures its CPU time from outside.

use ackclock_sim::floor;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .map(|word| word.parse())
        .collect::<Result<_, _>>()?;
    let [flows, packets] = numbers[..] else {
        return Err("usage: floor FLOWS PACKETS".into());
    };
    let (delivered, events) = floor::run(flows as usize, packets);
    println!(
        "{}",
        serde_json::json!({ "data_packets": delivered, "events": events })
    );
    Ok(())
}
