//! Plays records of the kernel (`make duel`) to our sender, and says how many are equal.
//!
//! `cargo run --release --example duel -- RECORD…`

use ackclock_measure::duel::replay;
use std::collections::BTreeMap;
use std::process::ExitCode;

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let (mut equal, mut first) = (0, BTreeMap::<&str, u32>::new());
    for file in &files {
        let outcome = std::fs::read_to_string(file)
            .map_err(|error| error.to_string())
            .and_then(|record| replay(&record));
        match outcome {
            Err(error) => {
                eprintln!("{file}: {error}");
                return ExitCode::from(2);
            }
            Ok(None) => equal += 1,
            Ok(Some(difference)) => {
                let (line, field) = (difference.line, difference.field);
                let (kernel, ours) = (difference.kernel, difference.ours);
                println!("{file}:{line}: {field}: kernel {kernel}, engine {ours}");
                *first.entry(field).or_default() += 1;
            }
        }
    }
    println!("\n| first difference | duels |\n|---|---:|");
    for (field, count) in first {
        println!("| {field} | {count} |");
    }
    println!("| none | {equal} of {} |", files.len());
    ExitCode::SUCCESS
}
