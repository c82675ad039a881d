//! Closed loops: requests are packets of the return route, and responses come when they have
//! arrived.

use crate::ahead::agree;
use crate::common::{cells, scenario};
use ackclock_core::result::{Column, Table};
use ackclock_scenario::job::Job;
use ackclock_sim::run::{Run, Unattended};
use ackclock_sim::topology;
use ackclock_sim::trace::NoTrace;
use proptest::prelude::*;

/// A client and a server, 20 ms apart, without a handshake: a full segment of 1460 bytes takes
/// 1.2 ms there at 10 Mbit/s, and a request of 328 bytes 0.2944 ms back.
const PAIR: &str = r#"
schema = 1
name = "pair"
duration = "60 s"
sample_interval = "1 s"

[[hops]]
name = "there"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "10 ms"

[[hops]]
name = "back"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "10 ms"

[[flows]]
name = "client"
route = ["there"]
return = ["back"]
traffic = { kind = "rpc", response = "1460 bytes" }

[flows.transport]
kind = "tcp"
control = { kind = "reno" }
preset = "rfc"
mss = "1460 bytes"
header = "40 bytes"
handshake = false
"#;

type Cells = Vec<(&'static str, Table)>;

fn tables(assignments: &[&str]) -> Cells {
    let scenario = scenario(PAIR, assignments);
    let job = Job {
        scenario: &scenario,
        point: 0,
        replicate: 0,
    };
    let outcome = Run::simulate(&job, topology::build(&job), NoTrace, &Unattended);
    assert!(outcome.complete);
    outcome.tables
}

/// Returns a numeric column of a table.
fn column(tables: &Cells, table: &str, column: &str) -> Vec<f64> {
    let (_, Table(columns)) = tables.iter().find(|(name, _)| *name == table).unwrap();
    match &columns.iter().find(|(name, _)| *name == column).unwrap().1 {
        Column::Number(cells) => cells.clone(),
        Column::Integer(cells) => cells.iter().map(|cell| *cell as f64).collect(),
        Column::Text(_) => unreachable!("a number was asked for"),
    }
}

fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 1e-9
}

#[test]
fn a_call_takes_a_round_trip_and_both_transmissions() {
    let tables = tables(&[]);
    let [asked, begun, answered] =
        ["asked_s", "begun_s", "answered_s"].map(|name| column(&tables, "requests", name));
    assert_eq!(asked[0], 0.0);
    // A request of 368 bytes and a segment of 1500.
    let call = 0.0002944 + 0.010 + 0.0012 + 0.010;
    for number in 0..1000 {
        // Every second response is acknowledged at once, by 40 bytes ahead of the next request.
        let ahead = if number > 0 && number % 2 == 0 {
            0.000_032
        } else {
            0.0
        };
        let taken = answered[number] - asked[number];
        assert!(near(taken, call + ahead), "{number}: {taken}");
        assert_eq!(begun[number], answered[number], "one segment");
        assert!(near(asked[number + 1], answered[number]));
    }
}

/// The SYN of 40 bytes takes 10.032 ms, and the answer to it leaves ahead of the request.
#[test]
fn the_client_begins_when_the_connection_is_open_to_it() {
    let tables = tables(&["flows.client.transport.handshake=true"]);
    let [asked, answered] = ["asked_s", "answered_s"].map(|name| column(&tables, "requests", name));
    assert!(near(asked[0], 0.010_032), "{}", asked[0]);
    let call = 0.000_032 + 0.000_294_4 + 0.010 + 0.0012 + 0.010;
    assert!(
        near(answered[0] - asked[0], call),
        "{}",
        answered[0] - asked[0]
    );
}

#[test]
fn think_and_idle_times_add_up() {
    let tables = tables(&[
        "flows.client.traffic.mean_think=\"7 ms\"",
        "flows.client.traffic.think_distribution=\"constant\"",
        "flows.client.traffic.mean_idle=\"11 ms\"",
        "flows.client.traffic.idle_distribution=\"constant\"",
        "flows.client.traffic.requests=100",
    ]);
    let [asked, answered] = ["asked_s", "answered_s"].map(|name| column(&tables, "requests", name));
    assert_eq!(asked.len(), 100);
    for number in 0..99 {
        assert!(near(answered[number] - asked[number], 0.0214944 + 0.007));
        assert!(near(asked[number + 1], answered[number] + 0.011));
    }
    let completion = column(&tables, "flows", "completion_time_s")[0];
    assert!(near(completion, answered[99]), "{completion}");
}

#[test]
fn a_lost_request_is_sent_again_after_a_second() {
    let tables = tables(&[
        "hops.back.impairments=[{ kind = \"iid_loss\", probability = \"20 %\", applies = \"all\" \
         }]",
        "duration=\"600 s\"",
    ]);
    let [asked, answered, again] =
        ["asked_s", "answered_s", "sent_again"].map(|name| column(&tables, "requests", name));
    let whole = asked.len() - 1;
    let share = |n: f64| again[..whole].iter().filter(|times| **times == n).count() as f64;
    assert!(share(1.0) > 100.0 && share(2.0) > 10.0, "{whole}");
    for number in 0..whole {
        let waited = again[number].exp2() - 1.0; // 1 s, 2 s, 4 s …
        let taken = answered[number] - asked[number];
        // Lost ACKs of the responses before may cost retransmissions beside.
        assert!(taken > waited + 0.0214, "{number}: {taken} after {waited}");
        assert!(
            taken < waited + 0.0216 || taken > waited + 0.2,
            "{number}: {taken}"
        );
    }
    assert!(column(&tables, "flows", "dropped_acks")[0] > 100.0);
}

/// With so many requests under way that the link is never idle.
#[test]
fn requests_under_way_fill_the_link() {
    let tables = tables(&["flows.client.traffic.outstanding=40"]);
    let goodput = column(&tables, "flows", "goodput_bit_per_s")[0];
    assert!(goodput > 0.99 * 10e6 * 1460.0 / 1500.0, "{goodput}");
    let request = column(&tables, "requests", "request");
    assert!(
        request
            .iter()
            .enumerate()
            .all(|(number, cell)| number as f64 == *cell)
    );
}

/// 4 s minus the download for each chunk, once the buffer is full.
#[test]
fn a_video_over_a_fast_link_is_idle() {
    let tables = tables(&[
        "hops.there.link.rate=\"100 Gbit/s\"",
        "hops.back.link.rate=\"100 Gbit/s\"",
        "hops.there.queue.limit=\"unlimited\"",
        "hops.there.delay=\"1 us\"",
        "hops.back.delay=\"1 us\"",
        "flows.client.traffic={ kind = \"chunks\", abr = \"fixed\", fixed_rate = \"1850 kbit/s\", \
         wait_step = \"0 s\" }",
        "duration=\"200 s\"",
    ]);
    let [asked, answered, buffer, stall] = ["asked_s", "answered_s", "buffer_s", "stall_s"]
        .map(|name| column(&tables, "requests", name));
    assert_eq!(asked.len(), 48);
    assert!(stall.iter().all(|stall| *stall == 0.0));
    assert!(
        (buffer[14] - 60.0).abs() < 0.05,
        "15 chunks fill it: {}",
        buffer[14]
    );
    for number in 17..47 {
        let idle = asked[number + 1] - answered[number];
        let download = answered[number] - asked[number];
        assert!(
            (idle - (4.0 - download)).abs() < 1e-6,
            "{number}: {idle}, {download}"
        );
        assert!(download < 0.01);
    }
    assert!(near(
        column(&tables, "flows", "completion_time_s")[0],
        answered[47]
    ));
}

#[test]
fn a_video_over_a_slow_link_stalls() {
    let tables = tables(&[
        "hops.there.link.rate=\"1 Mbit/s\"",
        "flows.client.traffic={ kind = \"chunks\", abr = \"fixed\", fixed_rate = \"1850 kbit/s\" }",
        "duration=\"200 s\"",
    ]);
    let [answered, stall] = ["answered_s", "stall_s"].map(|name| column(&tables, "requests", name));
    let arrived = answered.iter().filter(|at| !at.is_nan()).count();
    // After the first chunk, time is either playing, 4 s a chunk, or standing still.
    let stalled: f64 = stall[..arrived].iter().sum();
    let playing = 4.0 * (arrived - 1) as f64;
    assert!(near(answered[arrived - 1] - answered[0], stalled + playing));
    assert!(stalled > 30.0);
}

#[test]
fn pages_have_their_objects_one_after_the_other() {
    let tables = tables(&[
        "flows.client.traffic={ kind = \"pages\", mean_reading = \"1 s\", pages = 20 }",
        "duration=\"400 s\"",
    ]);
    let [asked, answered, page, time] = ["asked_s", "answered_s", "page", "page_time_s"]
        .map(|name| column(&tables, "requests", name));
    let times: Vec<f64> = time.iter().copied().filter(|time| !time.is_nan()).collect();
    assert_eq!(times.len(), 20);
    for number in 0..20 {
        let objects: Vec<usize> = (0..page.len())
            .filter(|&row| page[row] == number as f64)
            .collect();
        let (first, last) = (objects[0], *objects.last().unwrap());
        assert!(near(time[last], answered[last] - asked[first]));
        assert!(
            objects
                .windows(2)
                .all(|two| asked[two[1]] >= answered[two[0]])
        );
    }
}

/// A client of a flow that stops asks for nothing more.
#[test]
fn a_flow_that_stops_asks_no_more() {
    let tables = tables(&["flows.client.start=\"3 s\"", "flows.client.stop=\"5 s\""]);
    let asked = column(&tables, "requests", "asked_s");
    assert_eq!(asked[0], 3.0);
    assert!(asked.iter().all(|at| (3.0..5.0).contains(at)));
    assert!(asked.len() > 90);
}

#[test]
fn a_seed_fixes_every_row() {
    let pages = "flows.client.traffic={ kind = \"pages\", mean_reading = \"1 s\" }";
    let first = tables(&[pages]);
    assert_eq!(cells(&first), cells(&tables(&[pages])));
    assert_ne!(cells(&first), cells(&tables(&[pages, "seed=2"])));
}

fn closed_loops() -> impl Strategy<Value = Vec<String>> {
    let traffic = prop_oneof![
        (1_u32..20, 1_u64..200_000, 0_u32..200, 0_u32..200).prop_map(
            |(outstanding, response, think, idle)| {
                format!(
                    "{{ kind = \"rpc\", outstanding = {outstanding}, response = \"{response} \
                     bytes\", mean_think = \"{think} ms\", mean_idle = \"{idle} ms\" }}"
                )
            }
        ),
        (
            1_u32..3000,
            1_u32..8000,
            prop::sample::select(vec!["buffer_based", "rate_based"])
        )
            .prop_map(|(chunk, buffer, abr)| format!(
                "{{ kind = \"chunks\", chunk = \"{chunk} ms\", buffer = \"{buffer} ms\", \
                 reservoir = \"200 ms\", cushion = \"1 s\", abr = \"{abr}\", number = 0 }}"
            )),
        (1_u32..8, 0_u32..500, 0_u32..300).prop_map(|(outstanding, reading, parsing)| format!(
            "{{ kind = \"pages\", outstanding = {outstanding}, mean_reading = \"{reading} ms\", \
             mean_parsing = \"{parsing} ms\" }}"
        )),
        (0_u32..500, any::<bool>()).prop_map(|(idle, on)| format!(
            "{{ kind = \"short_tcp\", mean_idle = \"{idle} ms\", starts_on = {on} }}"
        )),
    ];
    (
        traffic,
        1_u32..12,
        prop::sample::select(vec!["ns2-2002", "rfc", "linux"]),
        prop::sample::select(vec!["reno", "cubic", "bbr1"]),
        (2_u32..60, 100_u32..20_000, 0_u32..80),
        (0_u32..10, 0_u32..10, 0_u32..4),
        any::<u32>(),
    )
        .prop_map(
            |(
                traffic,
                count,
                preset,
                control,
                (limit, rate, delay),
                (there, back, copies),
                seed,
            )| {
                vec![
                    "duration=\"3 s\"".into(),
                    "sample_interval=\"100 ms\"".into(),
                    format!("seed={seed}"),
                    format!(
                        "flows.client.transport={{ kind = \"tcp\", preset = \"{preset}\", control \
                         = {{ kind = \"{control}\" }} }}"
                    ),
                    format!("flows.client.traffic={traffic}"),
                    format!("flows.client.count={count}"),
                    "flows.client.start=[\"0 s\", \"1 s\"]".into(),
                    "flows.client.stop=\"2.5 s\"".into(),
                    format!("hops.there.link.rate=\"{rate} kbit/s\""),
                    format!("hops.there.queue.limit=\"{limit} packets\""),
                    format!("hops.back.queue.limit=\"{limit} packets\""),
                    format!("hops.back.delay=\"{delay} ms\""),
                    format!(
                        "hops.there.impairments=[{{ kind = \"iid_loss\", probability = \"{there} \
                         %\", side = \"before_queue\" }}]"
                    ),
                    format!(
                        "hops.back.impairments=[{{ kind = \"iid_loss\", probability = \"{back} \
                         %\", applies = \"all\" }}, {{ kind = \"duplicate\", probability = \
                         \"{copies} %\", applies = \"all\" }}]"
                    ),
                ]
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 600,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    /// Debug builds check at every sample that packets are conserved.
    #[test]
    fn any_closed_loop_conserves_packets(assignments in closed_loops()) {
        let assignments: Vec<&str> = assignments.iter().map(String::as_str).collect();
        agree(&scenario(PAIR, &assignments));
    }
}
