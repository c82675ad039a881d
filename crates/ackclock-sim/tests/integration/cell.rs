//! A cell of 802.11e in the engine: the throughput of TCP, consistent tables, and no effect of
//! working ahead or of windows of time.

use crate::common::{CELL, DUMBBELL, cells, scenario};
use ackclock_core::result::{Column, Table};
use ackclock_scenario::Scenario;
use ackclock_scenario::job::Job;
use ackclock_sim::run::{Run, SimulationOutcome, Unattended};
use ackclock_sim::topology;
use ackclock_sim::trace::NoTrace;

fn simulate(scenario: &Scenario, replicate: u32) -> SimulationOutcome<NoTrace> {
    let job = Job {
        scenario,
        point: 0,
        replicate,
    };
    Run::simulate(&job, topology::build(&job), NoTrace, &Unattended)
}

fn column<'a>(outcome: &'a SimulationOutcome<NoTrace>, table: &str, name: &str) -> &'a Column {
    let (_, Table(columns)) = outcome
        .tables
        .iter()
        .find(|entry| entry.0 == table)
        .unwrap();
    &columns.iter().find(|column| column.0 == name).unwrap().1
}
fn numbers<'a>(outcome: &'a SimulationOutcome<NoTrace>, table: &str, name: &str) -> &'a [f64] {
    match column(outcome, table, name) {
        Column::Number(rows) => rows,
        other => panic!("{name}: {other:?}"),
    }
}
fn integers<'a>(outcome: &'a SimulationOutcome<NoTrace>, table: &str, name: &str) -> &'a [i64] {
    match column(outcome, table, name) {
        Column::Integer(rows) => rows,
        other => panic!("{name}: {other:?}"),
    }
}
fn words<'a>(outcome: &'a SimulationOutcome<NoTrace>, table: &str, name: &str) -> Vec<&'a str> {
    match column(outcome, table, name) {
        Column::Text(words) => words
            .indices
            .iter()
            .map(|index| words.values[*index as usize].as_str())
            .collect(),
        other => panic!("{name}: {other:?}"),
    }
}

/// Time is conserved at every sampling time. Media and contenders have the same counts, and the
/// packets of the hops are those of the medium.
#[test]
fn the_tables_of_a_cell_agree() {
    for more in [
        &[][..],
        &[
            "shared_media.cell.retry_limit=0",
            "shared_media.cell.rts_threshold=\"500 bytes\"",
        ],
    ] {
        let outcome = simulate(&scenario(CELL, &[&["warmup=\"2 s\""], more].concat()), 0);
        let media = |name| integers(&outcome, "media", name);
        let spent: Vec<i64> = (0..media("idle_ns").len())
            .map(|row| {
                ["idle_ns", "success_ns", "collision_ns"]
                    .iter()
                    .map(|name| media(name)[row])
                    .sum()
            })
            .collect();
        let time: Vec<i64> = numbers(&outcome, "media", "time_s")
            .iter()
            .map(|time| (time * 1e9).round() as i64)
            .collect();
        assert_eq!(spent, time);
        let last = |name| *media(name).last().unwrap();
        let all = |name| integers(&outcome, "contenders", name).iter().sum::<i64>();
        let happened = (last("successes"), last("collisions"));
        assert!(happened.0 > 5000 && happened.1 > 20, "{happened:?}");
        for (medium, contenders) in [
            ("successes", "successes"),
            ("attempts", "attempts"),
            ("internal_collisions", "internal_collisions"),
            ("retry_drops", "retry_drops"),
        ] {
            assert_eq!(last(medium), all(contenders), "{medium}");
        }
        assert!(all("collisions") >= 2 * last("collisions"));
        assert_eq!(last("retry_drops") > 0, !more.is_empty());

        assert_eq!(
            words(&outcome, "contenders", "hop")[..3],
            ["ap-data", "ap-acks", "station-acks"]
        );
        assert_eq!(
            words(&outcome, "contenders", "flow")[..3],
            ["", "", "download"]
        );
        assert_eq!(integers(&outcome, "contenders", "station")[..3], [0, 0, 1]);
        let hops = words(&outcome, "hops", "hop");
        let of_ap = |name| {
            let row = hops.iter().rposition(|hop| *hop == "ap-data").unwrap();
            integers(&outcome, "hops", name)[row]
        };
        // One of them is a SYN of 40 bytes.
        let packets = integers(&outcome, "contenders", "successes")[0];
        assert_eq!(of_ap("served_bytes"), 1000 * (packets - 1) + 40);
        assert_eq!(
            of_ap("drops_retries"),
            integers(&outcome, "contenders", "retry_drops")[0]
        );
        assert!(
            of_ap("arrivals")
                >= of_ap("departures") + of_ap("drops_queue") + of_ap("drops_retries")
        );
    }
}

/// A single download has no collisions, and the service times of its AP vary by little more than
/// the backoff.
#[test]
fn service_times_are_those_after_warm_up() {
    let long = [
        "duration=\"30 s\"",
        "warmup=\"15 s\"",
        "hops.ap-data.queue.limit=\"338 packets\"",
    ];
    let outcome = simulate(&scenario(CELL, &[&[ALONE], &long[..]].concat()), 0);
    let [mean, sd] = ["service_time_mean_s", "service_time_sd_s"]
        .map(|name| numbers(&outcome, "contenders", name)[0]);
    // 306 us for the data, 139.5 us for the ACK behind them, 15.5 slots of backoff: the mean of a
    // single download, which matches 13.675 Mbit/s.
    assert!((mean / 585e-6 - 1.0).abs() < 0.01, "{mean}");
    assert!((sd / mean - 0.143).abs() < 0.005, "{sd}");
    assert_eq!(
        integers(&outcome, "contenders", "collisions")
            .iter()
            .sum::<i64>(),
        0
    );
    assert!(
        numbers(&outcome, "contenders", "service_time_mean_s")[1].is_nan(),
        "the AP has no ACKs to send"
    );
}

#[test]
fn the_same_run_gives_the_same_bytes_and_another_replicate_others() {
    let scenario = scenario(CELL, &[]);
    let tables = |replicate| cells(&simulate(&scenario, replicate).tables);
    assert_eq!(tables(0), tables(0));
    assert_ne!(tables(0), tables(1));
}

#[test]
fn a_run_without_media_has_no_tables_of_them() {
    let names = |outcome: &SimulationOutcome<NoTrace>| {
        outcome
            .tables
            .iter()
            .map(|table| table.0)
            .collect::<Vec<_>>()
    };
    let without = simulate(&scenario(DUMBBELL, &["duration=\"2 s\""]), 0);
    let always = ["flows", "samples", "hops", "events", "counters"];
    assert_eq!(names(&without), always);
    let with = simulate(&scenario(CELL, &["duration=\"2 s\""]), 0);
    assert_eq!(names(&with)[always.len()..], ["media", "contenders"]);
}

/// Each contender draws from its own stream: another that sends nothing changes no draw.
#[test]
fn a_contender_that_is_silent_changes_nothing_for_others() {
    let silent = r#"
[[hops]]
name = "silent"
link = { kind = "edca", medium = "cell", rate = "54 Mbit/s" }
queue = { kind = "droptail", limit = "4 packets" }
"#;
    let alone = simulate(&scenario(CELL, &[]), 0);
    let more = simulate(&scenario(&format!("{CELL}{silent}"), &[]), 0);
    assert_eq!(cells(&alone.tables[..1]), cells(&more.tables[..1]), "flows");
    assert_eq!(integers(&more, "contenders", "attempts")[2], 0);
}

/// Returns the throughput of the download with headers, averaged over some runs.
fn download_mbit_per_s(runs: u32, more: &[&str]) -> f64 {
    let sensitive = [
        "duration=\"60 s\"",
        "warmup=\"20 s\"",
        "hops.ap-data.queue.limit=\"338 packets\"",
        "sample_interval=\"10 s\"",
    ];
    let scenario = scenario(CELL, &[&sensitive, more].concat());
    let rate = |replicate| {
        numbers(
            &simulate(&scenario, replicate),
            "flows",
            "throughput_bit_per_s",
        )[0] / 1e6
    };
    (0..runs).map(rate).sum::<f64>() / f64::from(runs)
}

const ALONE: &str = "flows.upload.start=\"1000 s\"";
const TEN: &str = "flows.upload.count=10";

/// Fixes how to interpret the study's classes: 13.67 and 1.35 Mbit/s, without and with ten uploads.
/// With data in the class of the acknowledgements, 2 and 31, a single download has 14.4. With ten
/// uploads, another simulation then has 2.3, which results if data go first where the two collide
/// within the access point. Here the smaller windows go first, which gives 1.3.
#[test]
fn a_download_gets_what_the_study_reports() {
    let one_class = [
        "hops.ap-data.link.aifsn=2",
        "hops.station-data.link.aifsn=2",
    ];
    // Runs of a single download differ by 0.1 %, those with uploads by 2 %.
    for (reading, who, runs, expected) in [
        (&[][..], ALONE, 1, 13.67),
        (&[], TEN, 3, 1.35),
        (&one_class, ALONE, 1, 14.4),
    ] {
        let rate = download_mbit_per_s(runs, &[&[who], reading].concat());
        println!("{reading:?} {who}: {rate:.3}");
        assert!(
            (rate / expected - 1.0).abs() < 0.05,
            "{rate} beside {expected}, {reading:?} {who}"
        );
    }
}

/// A queue that observes services is told how long each packet contended. So eBDP holds 200 ms of
/// them and 40 packets. The study's reproduction has limits of 382 packets for a single download
/// and 72 with ten uploads.
#[test]
fn a_limit_that_moves_follows_the_service_times() {
    let adaptive = [
        "duration=\"60 s\"",
        "warmup=\"20 s\"",
        "sample_interval=\"1 s\"",
        "hops.ap-data.queue={ kind = \"ebdp\" }",
    ];
    for (who, expected, bound) in [(ALONE, 382.0, 5.0), (TEN, 72.0, 8.0)] {
        let outcome = simulate(&scenario(CELL, &[&adaptive[..], &[who]].concat()), 0);
        let rows = words(&outcome, "hops", "hop").into_iter().zip(numbers(
            &outcome,
            "hops",
            "limit_packets",
        ));
        let limits: Vec<f64> = rows
            .filter(|row| row.0 == "ap-data")
            .map(|row| *row.1)
            .skip(20)
            .collect();
        let mean = limits.iter().sum::<f64>() / limits.len() as f64;
        println!("{who}: {mean:.1}");
        assert!((mean - expected).abs() < bound, "{mean}, {who}");
        let served = numbers(&outcome, "contenders", "service_time_mean_s")[0];
        assert!((0.2 / served + 40.0 - mean).abs() < bound, "{served}");
    }
}
