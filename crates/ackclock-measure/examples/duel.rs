//! Plays records of the kernel (`make duel`) to our sender, and says how many are equal.
//!
//! `cargo run --release --example duel -- [--least SHARE] RECORD…` exits with 1 if a smaller share
//! is equal. A record whose writer the machine has stopped is in no count.

use ackclock_measure::duel::{Settings, replay};
use ackclock_spec::units::Span;
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Longest time for which the writer of a record may have stood still.
const STOPPED: Span = Span::from_millis(2);

/// Number of duels, and of those that are equal.
#[derive(Default)]
struct Count {
    all: u32,
    equal: u32,
}

fn main() -> ExitCode {
    let mut files: Vec<String> = std::env::args().skip(1).collect();
    let least = match files.first().map(String::as_str) {
        Some("--least") => files.drain(..2).nth(1).and_then(|share| share.parse().ok()),
        _ => Some(0.0),
    };
    let Some(least) = least else {
        eprintln!("--least: a share of the duels, for example 0.9");
        return ExitCode::from(2);
    };
    match compare(&files) {
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::from(2)
        }
        Ok(all) if f64::from(all.equal) < least * f64::from(all.all) => {
            eprintln!("{} of {} are equal, fewer than {least}", all.equal, all.all);
            ExitCode::FAILURE
        }
        Ok(_) => ExitCode::SUCCESS,
    }
}

/// Compares all records and writes the tables. Returns the counts.
fn compare(files: &[String]) -> Result<Count, String> {
    let mut controls = BTreeMap::<String, Count>::new();
    let mut first = BTreeMap::<&str, u32>::new();
    let (mut all, mut stopped) = (Count::default(), 0);
    for file in files {
        let refused = |error: String| format!("{file}: {error}");
        let record = std::fs::read_to_string(file).map_err(|error| refused(error.to_string()))?;
        let settings = Settings::read(&record).map_err(refused)?;
        if settings.stopped > STOPPED {
            stopped += 1;
            continue;
        }
        let difference = replay(&record).map_err(refused)?;
        let equal = u32::from(difference.is_none());
        for count in [&mut all, controls.entry(settings.control).or_default()] {
            count.all += 1;
            count.equal += equal;
        }
        if let Some(difference) = difference {
            let (line, field) = (difference.line, difference.field);
            let (kernel, ours) = (difference.kernel, difference.ours);
            println!("{file}:{line}: {field}: kernel {kernel}, engine {ours}");
            *first.entry(field).or_default() += 1;
        }
    }
    println!("\n| control | equal | duels |\n|---|---:|---:|");
    controls.insert("all".into(), all);
    for (control, count) in &controls {
        println!("| {control} | {} | {} |", count.equal, count.all);
    }
    println!("\n| first difference | duels |\n|---|---:|");
    for (field, count) in first {
        println!("| {field} | {count} |");
    }
    println!("\nNot counted, as the machine stopped who wrote them: {stopped}");
    Ok(controls.remove("all").unwrap_or_default())
}
