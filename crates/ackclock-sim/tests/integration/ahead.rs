//! Working ahead changes no table. A traced run takes every step in the order of time; an untraced
//! one executes in advance the steps that only one flow can observe. Both fill the same tables.

use crate::common::{CELL, DUMBBELL, cells, scenario};
use ackclock_core::packet::{Content, Packet};
use ackclock_scenario::Scenario;
use ackclock_scenario::job::Job;
use ackclock_sim::run::{Run, Simulation, Supervisor, Unattended};
use ackclock_sim::topology;
use ackclock_sim::trace::{NoTrace, Step, Trace};
use ackclock_spec::units::Time;
use proptest::prelude::*;

fn first(scenario: &Scenario) -> Job<'_> {
    Job {
        scenario,
        point: 0,
        replicate: 0,
    }
}

/// A trace that keeps nothing. Its run takes every step in the order of time all the same.
struct Watching;

impl Trace for Watching {
    fn record(&mut self, _: Time, _: Step, _: Option<usize>, _: &Packet, _: Content<'_>) {}
}

/// Asserts that both runs of a scenario agree. Returns the number of data packets, so that a test
/// can assert that the run was not empty.
pub fn agree(scenario: &Scenario) -> u64 {
    let job = first(scenario);
    let step_by_step = Run::simulate(&job, topology::build(&job), Watching, &Unattended);
    let ahead = Run::simulate(&job, topology::build(&job), NoTrace, &Unattended);
    for (one, other) in cells(&step_by_step.tables)
        .iter()
        .zip(&cells(&ahead.tables))
    {
        assert_eq!(one, other, "{}.{}", one.0, one.1);
    }
    assert_eq!(
        step_by_step.statistics.data_packets,
        ahead.statistics.data_packets
    );
    ahead.statistics.data_packets
}

fn agrees(assignments: &[&str]) {
    let packets = agree(&scenario(DUMBBELL, assignments));
    assert!(packets > 500, "{packets} data packets in {assignments:?}");
}

const SHARED_ONLY: [&str; 2] = [
    "flows.bulk.route=[\"bottleneck\"]",
    "flows.bulk.return=[\"back\"]",
];
const ALL_PRIVATE: [&str; 2] = [
    "flows.bulk.route=[\"access\", \"exit\"]",
    "flows.bulk.return=[\"exit\", \"access\"]",
];

fn with<'a>(route: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [route, more].concat()
}

#[test]
fn every_kind_of_route() {
    for route in [
        &[][..],
        &SHARED_ONLY,
        &ALL_PRIVATE,
        &["flows.bulk.route=[\"bottleneck\", \"exit\"]"],
        &["flows.bulk.return=[\"back\"]"],
        &["flows.bulk.return=[\"exit\", \"access\"]"],
        &["flows.bulk.route=[\"access\", \"access\", \"exit\"]"],
    ] {
        agrees(route);
        agrees(&with(route, &["flows.bulk.count=1"]));
    }
}

/// With an extra delay before a shared hop, the path is one hop longer than the route.
#[test]
fn the_longest_route() {
    let route = |field, hop| format!("flows.bulk.{field}={:?}", vec![hop; 254]);
    let packets = agree(&scenario(
        DUMBBELL,
        &[
            "duration=\"12 s\"",
            &route("route", "bottleneck"),
            &route("return", "back"),
            "hops.bottleneck.delay=\"0 ms\"",
            "hops.back.delay=\"0 ms\"",
        ],
    ));
    assert!(packets > 20, "{packets} data packets");
}

#[test]
fn every_sampling_interval() {
    for interval in ["1 ms", "7.3 ms", "1 s", "100 s"] {
        let interval = format!("sample_interval=\"{interval}\"");
        for route in [&[][..], &SHARED_ONLY, &ALL_PRIVATE] {
            agrees(&with(route, &[&interval, "duration=\"4 s\""]));
        }
    }
}

/// All flows can observe a contender for a medium, even at a hop that only one flow uses. Hops
/// before and after it may be a flow's own.
#[test]
fn a_cell() {
    let private = [
        "flows.upload.route=[\"server\", \"station-data\", \"to-server\", \"server\"]",
        "flows.upload.return=[\"server\", \"to-cell\", \"ap-acks\", \"server\"]",
        "flows.download.route=[\"server\", \"to-cell\", \"ap-data\", \"server\"]",
        "flows.upload.access_delay=[\"0 ms\", \"18 ms\"]",
    ];
    let many = [
        "duration=\"2 s\"",
        "flows.upload.count=210",
        "flows.upload.start=\"0 s\"",
    ];
    for more in [
        &[][..],
        &private,
        &many,
        &[&many[..], &private].concat(),
        &["sample_interval=\"7.3 ms\"", private[0], private[1]],
        &["sample_interval=\"100 s\"", private[0], private[2]],
        &[
            "hops.station-data.delay=\"3 ms\"",
            "hops.ap-acks.delay=\"1 ns\"",
            private[0],
        ],
        &[
            "hops.ap-data.impairments=[{ kind = \"iid_loss\", probability = \"5 %\" }, { kind = \
             \"jitter\", distribution = { kind = \"uniform\", maximum = \"5 ms\" }, reordering = \
             \"allowed\" }]",
        ],
        &["flows.upload.route=[\"station-data\", \"station-data\", \"ap-data\", \"server\"]"],
    ] {
        let packets = agree(&scenario(CELL, more));
        assert!(packets > 500, "{packets} data packets in {more:?}");
    }
}

/// Many flows are executed flow by flow, in windows of time.
#[test]
fn many_flows() {
    let many = [
        "duration=\"2 s\"",
        "flows.bulk.count=210",
        "hops.bottleneck.link.rate=\"60 Mbit/s\"",
        "hops.bottleneck.queue.limit=\"250 packets\"",
    ];
    for more in [
        "sample_interval=\"100 s\"",
        "sample_interval=\"7.3 ms\"",
        "hops.bottleneck.delay=\"0 ms\"",
        "hops.bottleneck.delay=\"1 ns\"",
        "hops.access.delay=\"0 ms\"",
        "flows.bulk.route=[\"bottleneck\", \"exit\"]",
        "flows.bulk.route=[\"access\", \"bottleneck\", \"exit\", \"bottleneck\", \"exit\"]",
        "flows.bulk.return=[\"back\"]",
        "flows.bulk.transport.pacing=\"always\"",
        "flows.bulk.transport.send_jitter=\"2 ms\"",
        "flows.bulk.transport.preset=\"linux\"",
        "flows.bulk.traffic={ kind = \"transfer\", size = \"50 kB\" }",
        "hops.exit.impairments=[{ kind = \"iid_loss\", probability = \"1 %\", side = \
         \"after_link\" }]",
        "hops.access.impairments=[{ kind = \"iid_loss\", probability = \"1 %\", side = \
         \"after_link\" }]",
    ] {
        agrees(&with(&many, &[more]));
    }
}

/// Pauses change no table: every step begun is complete, and the next one follows later.
#[test]
fn a_simulation_in_steps() {
    struct Pausing;
    impl Supervisor for Pausing {
        fn proceed(&self, _now: Time) -> bool {
            false
        }
    }
    let many = [
        "flows.bulk.count=210",
        "duration=\"2 s\"",
        "hops.bottleneck.link.rate=\"60 Mbit/s\"",
    ];
    for assignments in [&["duration=\"12 s\""][..], &many] {
        let scenario = scenario(DUMBBELL, assignments);
        let job = first(&scenario);
        let whole = Run::simulate(&job, topology::build(&job), NoTrace, &Unattended);
        let mut steps = Simulation::new(&job, topology::build(&job), NoTrace);
        let mut pauses = 0;
        while !steps.proceed(&Pausing) {
            pauses += 1;
        }
        assert!(pauses > 1, "{pauses} pauses");
        let steps = steps.finish();
        assert!(steps.complete);
        assert_eq!(steps.statistics.events, whole.statistics.events);
        assert_eq!(cells(&steps.tables), cells(&whole.tables));
    }
}

/// A stop lies between windows: every step executed by then is complete.
#[test]
fn many_flows_can_be_stopped() {
    struct Impatient;
    impl Supervisor for Impatient {
        fn proceed(&self, now: Time) -> bool {
            now < Time::from_seconds(1.0)
        }
    }
    let many = scenario(
        DUMBBELL,
        &[
            "flows.bulk.count=210",
            "hops.bottleneck.link.rate=\"60 Mbit/s\"",
        ],
    );
    let job = first(&many);
    let stopped = Run::simulate(&job, topology::build(&job), NoTrace, &Impatient);
    assert!(!stopped.complete && stopped.statistics.data_packets > 500);
}

#[test]
fn impairments_before_and_after_the_link() {
    for hop in ["access", "bottleneck", "exit"] {
        for side in ["before_queue", "after_link"] {
            for kind in [
                "{ kind = \"iid_loss\", probability = \"1 %\"",
                "{ kind = \"duplicate\", probability = \"1 %\"",
                "{ kind = \"iid_loss\", applies = \"acks\", probability = \"5 %\"",
            ] {
                agrees(&[&format!(
                    "hops.{hop}.impairments=[{kind}, side = \"{side}\" }}]"
                )]);
            }
        }
        for reordering in ["allowed", "forbidden"] {
            let jitter = "distribution = { kind = \"uniform\", maximum = \"4 ms\" }";
            agrees(&[&format!(
                "hops.{hop}.impairments=[{{ kind = \"jitter\", {jitter}, reordering = \
                 \"{reordering}\" }}]"
            )]);
        }
    }
}

#[test]
fn every_kind_of_sender_and_receiver() {
    for transport in [
        "preset=\"rfc\"",
        "preset=\"linux\"",
        "delayed_ack={ every = \"2 packets\", timeout = \"40 ms\", quickack_segments = \"0 \
         packets\" }",
        "pacing=\"always\"",
        "send_jitter=\"2 ms\"",
        "handshake=true",
        "recovery=\"sack\"",
        "max_burst=\"3 packets\"",
    ] {
        let transport = format!("flows.bulk.transport.{transport}");
        for route in [&[][..], &SHARED_ONLY, &ALL_PRIVATE] {
            agrees(&with(route, &[&transport]));
        }
    }
    agrees(&["flows.bulk.transport.control={ kind = \"cubic\" }"]);
}

#[test]
fn every_kind_of_traffic() {
    let udp = "flows.bulk.transport={ kind = \"udp\", mss = \"1000 bytes\" }";
    for route in [&[][..], &SHARED_ONLY, &ALL_PRIVATE] {
        agrees(&with(
            route,
            &["flows.bulk.traffic={ kind = \"transfer\", size = \"0.6789 MB\" }"],
        ));
        agrees(&with(
            route,
            &["flows.bulk.traffic={ kind = \"cbr\", rate = \"3 Mbit/s\" }"],
        ));
        agrees(&with(route, &["flows.bulk.stop=\"4.99 s\""]));
        let on_off = "flows.bulk.traffic={ kind = \"on_off\", rate = \"3 Mbit/s\", mean_on = \"500 \
            ms\", mean_off = \"300 ms\" }";
        agrees(&with(route, &[on_off]));
        let mut datagrams = route.to_vec();
        datagrams.retain(|assignment| !assignment.contains("return"));
        datagrams.extend([on_off, udp]);
        let tree = DUMBBELL.replace("return = [\"exit\", \"back\", \"access\"]\n", "");
        assert!(agree(&scenario(&tree, &datagrams)) > 500);
    }
}

#[test]
fn links_that_change_and_links_that_take_no_time() {
    let markov =
        "{ kind = \"markov\", rates = [\"6 Mbit/s\", \"1 Mbit/s\"], mean_sojourn = \"200 ms\" }";
    let instant = "{ kind = \"constant\", rate = \"400 Gbit/s\" }";
    for hop in ["access", "bottleneck", "exit"] {
        agrees(&[&format!("hops.{hop}.link={markov}")]);
        agrees(&[
            &format!("hops.{hop}.link={instant}"),
            &format!("hops.{hop}.delay=\"0 ms\""),
        ]);
    }
    agrees(&["hops.bottleneck.queue.limit=\"20 ms\""]);
    agrees(&[
        "hops.bottleneck.queue.limit=\"30 kB\"",
        "hops.bottleneck.queue.counts_packet_in_service=true",
    ]);
}

/// Flows clocked by one bottleneck whose round trips differ by whole service times. Their packets
/// come to it at the same nanosecond again and again, some from a hop that is entered ahead of
/// time.
#[test]
fn ties_at_a_shared_hop() {
    let ties = [
        "flows.bulk.count=3",
        "hops.bottleneck.queue.limit=\"2 packets\"",
        "hops.bottleneck.delay=\"8 ms\"",
        "flows.bulk.route=[\"access\", \"bottleneck\"]",
        "flows.bulk.return=[\"back\"]",
        "flows.bulk.transport.preset=\"linux\"",
        "sample_interval=\"5 s\"",
    ];
    agrees(&ties);
    for side in ["before_queue", "after_link"] {
        let lossless = format!(
            "hops.access.impairments=[{{ kind = \"iid_loss\", probability = \"0 %\", side = \
             \"{side}\" }}]"
        );
        agrees(&with(&ties, &[&lossless]));
    }
}

/// An ACK that a receiver's timer sent leads to a segment which arrives after the one that the
/// receiver is about to handle, although the timer was due long before that.
#[test]
fn an_ack_by_a_timer_and_what_it_leads_to() {
    for flow in 80..120 {
        let delay = format!(
            "flows.bulk.access_delay=\"{} ns\"",
            18_000_000_u64 * flow / 199
        );
        let assignments = [
            "duration=\"4 s\"",
            "flows.bulk.count=1",
            "flows.bulk.start=\"0 s\"",
            "flows.bulk.route=[\"access\", \"exit\"]",
            "flows.bulk.return=[\"access\"]",
            "flows.bulk.transport.preset=\"linux\"",
            "flows.bulk.traffic={ kind = \"transfer\", size = \"200 kB\" }",
            &delay,
        ];
        assert!(agree(&scenario(DUMBBELL, &assignments)) > 100);
    }
}

/// A small scenario with random values of everything.
fn anything() -> impl Strategy<Value = Vec<String>> {
    let choose = |all: &'static [&'static str]| prop::sample::select(all);
    (
        (prop_oneof![1..5_u32, 200..220_u32], 1..40_u32, 1..60_u32),
        choose(&[
            "[\"access\", \"bottleneck\", \"exit\"]",
            "[\"bottleneck\"]",
            "[\"access\", \"exit\"]",
            "[\"access\", \"bottleneck\"]",
            "[\"bottleneck\", \"exit\"]",
        ]),
        choose(&[
            "[\"back\"]",
            "[\"exit\", \"back\", \"access\"]",
            "[\"access\"]",
            "[\"back\", \"exit\"]"
        ]),
        choose(&["ns2-2002", "rfc", "linux"]),
        choose(&["100 ms", "3 ms", "5 s"]),
        choose(&["before_queue", "after_link"]),
        choose(&["access", "bottleneck", "exit", "back"]),
        choose(&[
            "{ kind = \"bulk\" }",
            "{ kind = \"transfer\", size = \"200 kB\" }",
            "{ kind = \"voip\" }",
            "{ kind = \"rpc\", response = \"30 kB\", outstanding = 3, mean_idle = \"20 ms\" }",
            "{ kind = \"rpc\", mean_think = \"50 ms\", requests = 5 }",
            "{ kind = \"chunks\", chunk = \"200 ms\", buffer = \"1 s\", wait_step = \"0 s\" }",
            "{ kind = \"pages\", outstanding = 4, mean_reading = \"100 ms\" }",
            "{ kind = \"short_tcp\", mean_idle = \"100 ms\", starts_on = false }",
        ]),
        (0..3_u32, 0..3_u32),
    )
        .prop_map(|(
            (flows, limit, delay),
            route,
            back,
            preset,
            interval,
            side,
            lossy,
            traffic,
            (loss, jitter)
        )| {
            // Samples of all these flows and of their hops each 3 ms would take most of the time of
            // the test. In 1.5 s all flows start, packets are lost and timers expire; what comes
            // later is seen with the other intervals. Links of their own at 20 Mbit/s would carry
            // 200,000 packets.
            let (duration, interval) = match interval {
                "3 ms" if flows >= 200 => ("1.5 s", "7 ms"),
                other => ("4 s", other),
            };
            let exit = if flows >= 200 { 4 } else { 20 };
            vec![
                format!("duration=\"{duration}\""),
                format!("flows.bulk.count={flows}"),
                format!("hops.bottleneck.queue.limit=\"{limit} packets\""),
                format!("hops.bottleneck.delay=\"{delay} ms\""),
                format!("hops.exit.link.rate=\"{exit} Mbit/s\""),
                format!("flows.bulk.route={route}"),
                format!("flows.bulk.return={back}"),
                format!("flows.bulk.transport.preset=\"{preset}\""),
                format!("flows.bulk.transport.send_jitter=\"{jitter} ms\""),
                format!("flows.bulk.traffic={traffic}"),
                format!("sample_interval=\"{interval}\""),
                format!(
                    "hops.{lossy}.impairments=[{{ kind = \"iid_loss\", probability = \"{loss} %\", \
                     side = \"{side}\" }}]"
                ),
            ]
        })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn anything_agrees(assignments in anything()) {
        let assignments: Vec<&str> = assignments.iter().map(String::as_str).collect();
        prop_assert!(agree(&scenario(DUMBBELL, &assignments)) > 0);
    }
}
