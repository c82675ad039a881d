//! BBR over a bottleneck, by what follows from its constants.

#[expect(dead_code, reason = "other tests use the rest")]
mod common;

use ackclock_core::job::Job;
use ackclock_core::result::{Column, Table};
use ackclock_sim::run::{Run, Unattended};
use ackclock_sim::topology;
use ackclock_sim::trace::NoTrace;
use common::{DUMBBELL, scenario};

/// Runs the bulk flow with BBR alone for 30 s; returns its goodput in bit/s.
fn goodput(buffer: &str) -> f64 {
    let limit = format!("hops.bottleneck.queue.limit=\"{buffer}\"");
    let changes = [
        "flows.bulk.transport.control={ kind = \"bbr1\" }",
        "flows.bulk.transport.preset=\"linux\"",
        "flows.bulk.count=1",
        "flows.bulk.start=\"0 s\"",
        "flows.bulk.access_delay=\"0 ms\"",
        "duration=\"30 s\"",
        limit.as_str(),
    ];
    let scenario = scenario(DUMBBELL, &changes);
    let job = Job {
        scenario: &scenario,
        point: 0,
        replicate: 0,
    };
    let run = Run::simulate(&job, topology::build(&job), NoTrace, &Unattended);
    let (_, Table(columns)) = run
        .tables
        .iter()
        .find(|(name, _)| *name == "flows")
        .unwrap();
    let (_, values) = columns
        .iter()
        .find(|(name, _)| *name == "goodput_bit_per_s")
        .unwrap();
    match values {
        Column::Number(values) => values[0],
        _ => unreachable!("a rate is a number"),
    }
}

/// A share of 0.96 of 6 Mbit/s is payload. With a probe of 200 ms in ten seconds 0.98 of it remain,
/// and 0.99 of that with the margin of pacing: 5.6 Mbit/s. A tenth less is allowed for losses.
#[test]
fn a_link_is_filled_with_a_deep_buffer_and_with_a_shallow_one() {
    for buffer in ["100 packets", "10 packets"] {
        let found = goodput(buffer);
        assert!((5.0e6..=5.8e6).contains(&found), "{buffer}: {found}");
    }
}
