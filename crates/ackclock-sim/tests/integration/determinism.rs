//! A run depends on the scenario and the replicate alone: it gives the same bytes with any number
//! of threads, and no draw depends on other elements' draws.

use crate::common::{CELL, DUMBBELL, cells, scenario};
use ackclock_core::result::{Column, Table};
use ackclock_scenario::Scenario;
use ackclock_scenario::job::{Job, jobs};
use ackclock_sim::batch::{BatchProgress, run_each};
use ackclock_sim::run::{Run, Unattended};
use ackclock_sim::topology;
use ackclock_sim::trace::NoTrace;
use std::collections::BTreeMap;
use std::sync::Mutex;

type Tables = Vec<(&'static str, Table)>;

fn lossy(more: &[&str]) -> Scenario {
    let loss = "hops.bottleneck.impairments=[{ kind = \"iid_loss\", probability = \"1 %\" }]";
    let jitter = "flows.bulk.transport.send_jitter=\"1 ms\"";
    scenario(
        DUMBBELL,
        &[&[loss, jitter, "duration=\"5 s\""], more].concat(),
    )
}

fn replicate(scenario: &Scenario, number: u32) -> Tables {
    let job = Job {
        scenario,
        point: 0,
        replicate: number,
    };
    Run::simulate(&job, topology::build(&job), NoTrace, &Unattended).tables
}

/// Returns the cells of every run's tables, in the order of the jobs.
fn batch(points: &[Scenario], threads: usize) -> Vec<Vec<(&'static str, &'static str, Vec<u64>)>> {
    let ended = Mutex::new(BTreeMap::new());
    run_each(
        &jobs(points),
        threads,
        &BatchProgress::default(),
        |job| (topology::build(job), NoTrace),
        |position, outcome| {
            ended
                .lock()
                .unwrap()
                .insert(position, cells(&outcome.tables));
        },
    );
    ended.into_inner().unwrap().into_values().collect()
}

fn column<'a>(tables: &'a Tables, table: &str, column: &str) -> &'a Column {
    let (_, Table(columns)) = tables.iter().find(|(name, _)| *name == table).unwrap();
    &columns.iter().find(|(name, _)| *name == column).unwrap().1
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let lossy = lossy(&["replicates=7"]);
    let cell = scenario(CELL, &["replicates=2", "duration=\"3 s\""]);
    let points = [lossy.clone(), lossy, cell];
    let alone = batch(&points, 1);
    assert_eq!(alone.len(), 16);
    for threads in [2, 5] {
        assert!(alone == batch(&points, threads), "{threads} threads");
    }
}

#[test]
fn a_replicate_does_not_depend_on_which_others_are_run() {
    let (few, many) = (lossy(&["replicates=2"]), lossy(&["replicates=9"]));
    assert_eq!(cells(&replicate(&few, 1)), cells(&replicate(&many, 1)));
    let alone = replicate(&many, 1);
    let points = [many];
    let together = batch(&points, 2);
    assert_eq!(together[1], cells(&alone));
    assert_ne!(together[1], together[2]);
}

#[test]
fn the_seed_matters() {
    assert_ne!(
        cells(&replicate(&lossy(&[]), 0)),
        cells(&replicate(&lossy(&["seed=2"]), 0))
    );
}

/// A second group of flows on its own hops does not change the first group's rows, though both
/// draw.
#[test]
fn adding_a_flow_moves_no_other_draw() {
    let more = format!(
        "{}\n[[flows]]\nname = \"other\"\ncount = 3\nroute = [\"access\"]\nreturn = [\"exit\"]\n\
         transport = {{ kind = \"tcp\", control = {{ kind = \"cubic\" }}, \
         send_jitter = \"1 ms\" }}\n\
         traffic = {{ kind = \"bulk\" }}\nstart = [\"0 s\", \"1 s\"]\n",
        DUMBBELL
    );
    let (one, two) = (
        replicate(&lossy(&[]), 3),
        replicate(
            &scenario(
                &more,
                &[
                    "hops.bottleneck.impairments=[{ kind = \"iid_loss\", probability = \"1 %\" }]",
                    "flows.bulk.transport.send_jitter=\"1 ms\"",
                    "duration=\"5 s\"",
                ],
            ),
            3,
        ),
    );
    for name in [
        "start_s",
        "delivered_bytes",
        "sent_packets",
        "dropped_packets",
        "rtt_mean_s",
    ] {
        match (column(&one, "flows", name), column(&two, "flows", name)) {
            (Column::Number(one), Column::Number(two)) => assert_eq!(one[..4], two[..4], "{name}"),
            (Column::Integer(one), Column::Integer(two)) => {
                assert_eq!(one[..4], two[..4], "{name}")
            }
            _ => unreachable!("{name} is a number in both"),
        }
    }
    // The converse is not asserted: flows that share the bottleneck do affect each other.
    let Column::Integer(delivered) = column(&two, "flows", "delivered_bytes") else {
        unreachable!("bytes are whole")
    };
    assert!(delivered.len() == 7 && delivered.iter().all(|&bytes| bytes > 0));
}

/// Instances keep their draws when their number grows: the start times are the same.
#[test]
fn more_instances_start_as_the_fewer_did() {
    let starts = |count: &str| match column(&replicate(&lossy(&[count]), 0), "flows", "start_s") {
        Column::Number(starts) => starts.clone(),
        _ => unreachable!("start_s is a number"),
    };
    let (few, many) = (starts("flows.bulk.count=3"), starts("flows.bulk.count=6"));
    assert_eq!(few[..], many[..3]);
    assert!(few[0] != few[1]);
}
