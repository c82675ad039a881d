//! The scenario from outside: a text gives a checked scenario or an error of one line.

use ackclock_core::endpoint::TcpParameters;
use ackclock_core::endpoint::parameters::{AfterTimeout, LossRecovery, Preset};
use ackclock_core::transport::{Tcp, Udp};
use ackclock_scenario::tree::{Point, expand, from_toml, set};
use ackclock_scenario::{Instances, Scenario, Scope, schema};
use ackclock_spec::error::Error;
use ackclock_spec::files::NoFiles;
use ackclock_spec::units::{Bytes, Span, Time};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The leaky pipe, with a second flow of another transport and route.
const TEXT: &str = r#"
schema = 1
name = "leaky pipe"
duration = "100 s"
warmup = "10 s"
seed = 1
replicates = 5

[[hops]]
name = "wired"
link = { kind = "constant", rate = "45 Mbit/s" }
queue = { kind = "droptail", limit = "378 packets" }
delay = "35 ms"

[[hops]]
name = "wireless"
link = { kind = "constant", rate = "11 Mbit/s" }
queue = { kind = "droptail", limit = "93 packets" }
impairments = [{ kind = "iid_loss", probability = "0.5 %" }]

[[hops]]
name = "return"
link = { kind = "constant", rate = "45 Mbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "35 ms"

[[flows]]
name = "abse"
count = 1
route = ["wired", "wireless"]
return = ["return"]
transport = { kind = "tcp", control = { kind = "reno" }, preset = "ns2-2002", mss = "1000 bytes" }
traffic = { kind = "bulk" }
start = "0 s"

[[flows]]
name = "cross"
count = 3
route = ["wired", "wireless", "wired"]
transport = { kind = "udp" }
traffic = { kind = "cbr", rate = "1 Mbit/s" }
start = ["1 s", "2 s"]
stop = "50 s"
access_delay = ["0 ms", "10 ms"]

[sweep]
"hops.wireless.impairments.0.probability" = ["0 %", "0.1 %", "0.5 %", "1 %", "5 %"]
"#;

/// Returns the sample without its sweep.
fn sample() -> Value {
    let mut tree = from_toml(TEXT).unwrap();
    tree.as_object_mut().unwrap().shift_remove("sweep");
    tree
}

fn read(tree: &Value) -> Result<Scenario, Error> {
    Scenario::from_tree(tree, &NoFiles)
}

/// Returns the sample with one value set.
fn changed(path: &str, value: Value) -> Value {
    let mut tree = sample();
    set(&mut tree, path, value).unwrap();
    tree
}

fn tcp(scenario: &Scenario, flow: usize) -> &TcpParameters {
    let tcp: Option<&Tcp> = scenario.flows[flow].transport.parameters();
    &tcp.unwrap().parameters
}

#[test]
fn the_example_is_read() {
    let scenario = read(&sample()).unwrap();
    assert_eq!(scenario.name, "leaky pipe");
    assert_eq!(scenario.duration, Span::from_seconds(100.0));
    assert_eq!(scenario.warmup, Span::from_seconds(10.0));
    assert_eq!(scenario.sample_interval, Span::from_millis(100));
    assert_eq!((scenario.seed, scenario.replicates), (1, 5));
    let names: Vec<&str> = scenario.hops.iter().map(|hop| hop.name.as_str()).collect();
    assert_eq!(names, ["wired", "wireless", "return"]);
    assert_eq!(scenario.hops[1].delay, Span::ZERO);
    assert_eq!(scenario.hops[1].scope, Scope::Shared);
    assert_eq!(scenario.hops[1].impairments[0].name, "iid_loss");

    let [abse, cross] = &scenario.flows[..] else {
        panic!("two flows")
    };
    assert_eq!(
        (&abse.route[..], &abse.return_route[..]),
        (&[0, 1][..], &[2][..])
    );
    assert!(abse.stop.is_never() && abse.start.high == Span::ZERO);
    let mut expected = Preset::Ns2Of2002.parameters();
    expected.connection.mss = Bytes(1000);
    assert_eq!(*tcp(&scenario, 0), expected);

    assert_eq!(cross.route, [0, 1, 0], "the same hop twice");
    assert_eq!(
        (cross.instances, cross.stop),
        (Instances::Count(3), Time::from_seconds(50.0))
    );
    assert_eq!(cross.start.low, Span::from_seconds(1.0));
    assert_eq!(cross.access_delay.high, Span::from_millis(10));
    let Some(Udp::Plain(udp)) = cross.transport.parameters() else {
        panic!("cross is not UDP")
    };
    assert_eq!((udp.mss, udp.header), (Bytes(1000), Bytes(28)));
}

#[test]
fn the_resolved_tree_has_everything_in_a_stable_order() {
    let resolved = read(&sample()).unwrap().resolved;
    let keys = |part: &Value| {
        let keys = part.as_object().unwrap().keys();
        keys.map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        keys(&resolved),
        "schema name duration warmup seed replicates vary sample_interval hops flows"
    );
    let wired = json!({
        "name": "wired",
        "scope": "shared",
        "link": { "kind": "constant", "rate": "45 Mbit/s" },
        "queue": { "kind": "droptail", "limit": "378 packets", "counts_packet_in_service": false },
        "delay": "35 ms",
        "impairments": [],
    });
    let mut hop = resolved["hops"][0].clone();
    for element in ["link", "queue"] {
        let element = hop[element].as_object_mut().unwrap();
        assert_eq!(
            element.keys().next_back().unwrap(),
            "facts",
            "they come last"
        );
        element.remove("facts");
    }
    assert_eq!(hop.to_string(), wired.to_string(), "the order too");
    assert_eq!(
        resolved["hops"][1]["impairments"][0]["probability"],
        "0.5 %"
    );
    let flow = &resolved["flows"][0];
    assert_eq!(
        keys(flow),
        "name count route return transport traffic start stop access_delay"
    );
    assert!(keys(&flow["transport"]).starts_with("kind control preset mss header "));
    assert_eq!(flow["transport"]["rto_initial"], "6 s");
    assert_eq!(flow["stop"], "end");
    assert_eq!(resolved["flows"][1]["start"], json!(["1 s", "2 s"]));
}

#[test]
fn the_sweep_is_expanded_and_each_point_is_a_scenario() {
    let tree = from_toml(TEXT).unwrap();
    let probability = |point: &Value| {
        let resolved = read(point).unwrap().resolved;
        assert!(resolved.get("sweep").is_none());
        resolved["hops"][1]["impairments"][0]["probability"].clone()
    };
    let points = expand(&tree).unwrap();
    let probabilities: Vec<Value> = points
        .iter()
        .map(|point| probability(&point.tree))
        .collect();
    assert_eq!(probabilities, ["0 %", "0.1 %", "0.5 %", "1 %", "5 %"]);
    assert_eq!(
        read(&tree).unwrap_err().field(),
        "sweep",
        "is never left out silently"
    );
}

#[test]
fn little_is_enough() {
    let scenario = read(&json!({ "schema": 1, "duration": "1 s" })).unwrap();
    assert!(scenario.hops.is_empty() && scenario.flows.is_empty());
    let mut tree = sample();
    for flow in tree["flows"].as_array_mut().unwrap() {
        flow.as_object_mut().unwrap().shift_remove("name");
    }
    tree["flows"][0]
        .as_object_mut()
        .unwrap()
        .shift_remove("traffic");
    let scenario = read(&tree).unwrap();
    assert_eq!(scenario.flows[0].name, "flow-1");
    assert_eq!(scenario.flows[1].name, "flow-2");
    assert_eq!(scenario.flows[0].traffic.name, "bulk");
}

#[test]
fn odd_but_possible_scenarios_are_allowed() {
    for (path, value) in [
        ("flows.abse.start", json!("1000 s")), // after the end
        ("flows.abse.route", json!(["wired", "wired"])),
        ("flows.abse.route", json!(vec!["wired"; 254])),
        ("hops.wired.scope", json!("per_flow")),
        ("hops.wired.link.rate", json!("0 bit/s")), // down for ever
        ("hops.wired.queue.limit", json!("0 packets")),
        ("hops.wireless.impairments.0.probability", json!(1)),
        ("flows.abse.transport.mss", json!("1 byte")),
        ("flows.cross.return", json!(["return"])),
        ("duration", json!("36525 d")), // a century
        ("seed", json!("18446744073709551615")),
        ("sample_interval", json!("1000 s")),
    ] {
        let scenario = read(&changed(path, value)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            read(&scenario.resolved).unwrap().resolved,
            scenario.resolved
        );
    }
}

#[test]
fn the_time_series_stays_small_whatever_the_number_of_flows() {
    for (count, seconds) in [(1, 0.1), (900, 0.1), (10_000, 1.0), (1_000_000, 10.0)] {
        let scenario = read(&changed("flows.abse.count", json!(count))).unwrap();
        let interval = scenario.sample_interval.as_seconds();
        assert!(
            (interval / seconds - 1.0).abs() < 0.02,
            "{count} flows: {interval} s"
        );
    }
    let short = read(&json!({ "schema": 1, "duration": "5 ns" })).unwrap();
    assert_eq!(short.sample_interval, Span::from_nanos(1));
}

#[test]
fn recovery_alone_may_be_changed() {
    let transport = json!({
        "kind": "tcp",
        "control": { "kind": "reno" },
        "preset": "rfc",
        "recovery": "newreno"
    });
    let mut tree = changed("flows.abse.transport", transport);
    let scenario = read(&tree).unwrap();
    assert_eq!(tcp(&scenario, 0).recovery.algorithm, LossRecovery::Newreno);
    assert_eq!(
        tcp(&scenario, 0).recovery.after_timeout,
        AfterTimeout::GoBackN
    );
    set(
        &mut tree,
        "flows.abse.transport.after_timeout",
        json!("scoreboard"),
    )
    .unwrap();
    assert_eq!(
        read(&tree).unwrap_err().key(),
        "contradiction flows.abse.transport.after_timeout"
    );
}

/// Checks cases: a path, the value set there, and the code and field of the error.
fn refuses(cases: &[(&str, Value, &str)]) {
    for (path, value, expected) in cases {
        let error = read(&changed(path, value.clone())).expect_err(path);
        assert_eq!(error.key(), *expected, "{error}");
    }
}

#[test]
fn mistakes_in_hops_have_a_code_and_a_field() {
    refuses(&[
        (
            "hops.wired.link.rate",
            json!("45"),
            "no-unit hops.wired.link.rate",
        ),
        (
            "hops.wired.link.rate",
            json!("45 ms"),
            "wrong-unit hops.wired.link.rate",
        ),
        (
            "hops.wired.link.rte",
            json!("45 Mbit/s"),
            "unknown-field hops.wired.link.rte",
        ),
        (
            "hops.wired.link",
            json!({ "kind": "constant" }),
            "missing hops.wired.link.rate",
        ),
        (
            "hops.wired.link",
            json!({ "rate": "45 Mbit/s" }),
            "missing hops.wired.link.kind",
        ),
        (
            "hops.wired.link.kind",
            json!("constnat"),
            "unknown-name hops.wired.link.kind",
        ),
        (
            "hops.wired.link",
            json!("45 Mbit/s"),
            "wrong-type hops.wired.link",
        ),
        (
            "hops.wired.dealy",
            json!("1 ms"),
            "unknown-field hops.wired.dealy",
        ),
        ("hops.wired.delay", json!(35), "no-unit hops.wired.delay"),
        (
            "hops.wired.scope",
            json!("per-flow"),
            "unknown-name hops.wired.scope",
        ),
        ("hops.wired.name", json!("a.b"), "out-of-range hops.0.name"),
        ("hops.wired.name", json!("7"), "out-of-range hops.0.name"),
        (
            "hops.wired.name",
            json!("return"),
            "contradiction hops.2.name",
        ),
        ("hops.wired", json!({}), "missing hops.0.name"),
        (
            "hops.wired",
            json!({ "name": "wired" }),
            "missing hops.wired.link",
        ),
        (
            "hops.wireless.impairments.0.probability",
            json!("101 %"),
            "out-of-range hops.wireless.impairments.0.probability",
        ),
    ]);
}

#[test]
fn mistakes_in_flows_have_a_code_and_a_field() {
    refuses(&[
        (
            "flows.abse.route",
            json!(["wired", "wirless"]),
            "unknown-name flows.abse.route.1",
        ),
        (
            "flows.abse.return",
            json!(["nowhere"]),
            "unknown-name flows.abse.return.0",
        ),
        (
            "flows.abse.route",
            json!([]),
            "out-of-range flows.abse.route",
        ),
        (
            "flows.abse.return",
            json!([]),
            "contradiction flows.abse.return",
        ),
        (
            "flows.abse.return",
            json!(vec!["return"; 255]),
            "out-of-range flows.abse.return",
        ),
        (
            "flows.abse.route",
            json!(vec!["wired"; 255]),
            "out-of-range flows.abse.route",
        ),
        (
            "flows.abse.route",
            json!("wired"),
            "wrong-type flows.abse.route",
        ),
        (
            "flows.cross.name",
            json!("abse"),
            "contradiction flows.1.name",
        ),
        (
            "flows.abse.count",
            json!(0),
            "out-of-range flows.abse.count",
        ),
        (
            "flows.abse.count",
            json!(10_000_001),
            "out-of-range flows.abse.count",
        ),
        ("flows.abse.count", json!(-1), "wrong-type flows.abse.count"),
        ("flows.abse.count", json!(10_000_000), "out-of-range flows"),
        (
            "flows.cross.stop",
            json!("2 s"),
            "contradiction flows.cross.stop",
        ),
        (
            "flows.cross.start",
            json!(["2 s", "1 s"]),
            "out-of-range flows.cross.start",
        ),
        (
            "flows.cross.traffic",
            json!({ "kind": "bulk" }),
            "contradiction flows.cross.traffic.kind",
        ),
        (
            "flows.cross.traffic",
            json!({ "kind": "transfer", "size": "1 MB" }),
            "contradiction flows.cross.traffic.kind",
        ),
    ]);
}

#[test]
fn mistakes_in_transports_have_a_code_and_a_field() {
    refuses(&[
        (
            "flows.abse.transport.kind",
            json!("tpc"),
            "unknown-name flows.abse.transport.kind",
        ),
        (
            "flows.abse.transport",
            json!({ "kind": "tcp" }),
            "missing flows.abse.transport.control",
        ),
        (
            "flows.abse.transport.control.kind",
            json!("rneo"),
            "unknown-name flows.abse.transport.control.kind",
        ),
        (
            "flows.abse.transport.preset",
            json!("ns2"),
            "unknown-name flows.abse.transport.preset",
        ),
        (
            "flows.abse.transport.preset",
            json!("Linux"),
            "unknown-name flows.abse.transport.preset",
        ),
        (
            "flows.abse.transport.recovry",
            json!("sack"),
            "unknown-field flows.abse.transport.recovry",
        ),
        (
            "flows.abse.transport.recovery",
            json!("new_reno"),
            "unknown-name flows.abse.transport.recovery",
        ),
        (
            "flows.abse.transport.mss",
            json!("0 bytes"),
            "out-of-range flows.abse.transport.mss",
        ),
        (
            "flows.abse.transport.mss",
            json!("65496 bytes"),
            "out-of-range flows.abse.transport.mss",
        ),
        (
            "flows.cross.transport.mss",
            json!("1 MB"),
            "out-of-range flows.cross.transport.mss",
        ),
        (
            "flows.cross.transport.control",
            json!({ "kind": "reno" }),
            "unknown-name flows.cross.transport.control.kind",
        ),
        (
            "flows.cross.transport.send_jitter",
            json!("1 ms"),
            "contradiction flows.cross.transport.send_jitter",
        ),
        (
            "flows.cross.transport",
            json!({ "kind": "udp", "control": { "kind": "rap" } }),
            "contradiction flows.cross.return",
        ),
        (
            "flows.abse.transport",
            json!({ "kind": "udp", "control": { "kind": "rap" }, "feedback_size": "0 bytes" }),
            "out-of-range flows.abse.transport.feedback_size",
        ),
        (
            "flows.abse.transport",
            json!({ "kind": "udp", "control": { "kind": "rap" }, "burst": "0 packets" }),
            "out-of-range flows.abse.transport.burst",
        ),
        (
            "flows.abse.transport.delayed_ack.every",
            json!("0 packets"),
            "out-of-range flows.abse.transport.delayed_ack.every",
        ),
        (
            "flows.abse.transport.initial_window",
            json!("4000000000 packets"),
            "out-of-range flows.abse.transport.initial_window",
        ),
        (
            "flows.abse.transport.rto_minimum",
            json!("0 s"),
            "out-of-range flows.abse.transport.rto_minimum",
        ),
        (
            "flows.abse.transport.receive_window",
            json!("999 bytes"),
            "contradiction flows.abse.transport.receive_window",
        ),
        (
            "flows.abse.transport.ecn",
            json!("yes"),
            "wrong-type flows.abse.transport.ecn",
        ),
    ]);
}

/// The keys of all mistakes of an element in its place of a scenario.
fn keys(path: &str, element: Value) -> Vec<String> {
    let error = read(&changed(path, element)).unwrap_err();
    let prefix = format!(" {path}.");
    error
        .all()
        .map(|error| error.key().replace(&prefix, " "))
        .collect()
}

#[test]
fn every_mistake_of_an_element_is_told_at_once() {
    let (link, queue, traffic) = ("hops.wired.link", "hops.wired.queue", "flows.abse.traffic");
    let control = "flows.abse.transport.control";
    for (path, element, expected) in [
        (
            queue,
            json!({
                "kind": "red", "limit": "5 packets", "minimum_threshold": "15 packets",
                "maximum_threshold": "9 packets", "weight": 7, "typical_packet": "0 bytes",
            }),
            &[
                "contradiction maximum_threshold",
                "contradiction maximum_threshold",
                "out-of-range weight",
                "out-of-range typical_packet",
            ][..],
        ),
        (
            queue,
            json!({ "kind": "codel", "limit": "10 ms", "target": "5 ms", "interval": "4 ms" }),
            &["contradiction interval", "out-of-range limit"],
        ),
        (
            control,
            json!({ "kind": "vegas", "alpha": 5, "beta": 4, "gamma": -1 }),
            &["out-of-range gamma", "contradiction beta"],
        ),
        (
            control,
            json!({ "kind": "vegas", "alpha": 0, "beta": -1 }),
            &["out-of-range alpha", "out-of-range beta"],
        ),
        (
            // A value that cannot be read hides no other mistake.
            link,
            json!({
                "kind": "markov", "rates": ["5 Mbit/s", "1 Mbit/s"], "mean_sojourn": "7",
                "transition_matrix": [[1, 0.5], [1, 0]], "initial": 2,
            }),
            &[
                "no-unit mean_sojourn",
                "out-of-range transition_matrix.0",
                "contradiction initial",
            ],
        ),
        (
            link,
            json!({
                "kind": "scheduled",
                "steps": [
                    { "from": "1 s", "rate": "1 Mbit/s" },
                    { "from": "9 s", "rate": "1 Mbit/s" },
                    { "from": "8 s", "rate": "1 Mbit/s" },
                    { "from": "8 s", "rate": "1 Mbit/s" },
                ],
            }),
            &[
                "contradiction steps.2.from",
                "contradiction steps.3.from",
                "out-of-range steps.0.from",
            ],
        ),
        (
            traffic,
            json!({
                "kind": "transfer",
                "size": { "kind": "pareto", "mean": "20 kB", "shape": -1, "maximum": "9 kB" },
            }),
            &["out-of-range size.shape", "contradiction size.maximum"],
        ),
        (
            "flows.abse.transport",
            json!({
                "kind": "tcp", "control": { "kind": "cubic", "beta": 2 },
                "initial_window": "0 packets", "mms": "1 kB",
                "rto_minimum": "9 s", "rto_maximum": "8 s",
            }),
            &[
                "out-of-range control.beta",
                "unknown-field mms",
                "out-of-range initial_window",
                "contradiction rto_minimum",
            ],
        ),
    ] {
        assert_eq!(keys(path, element), expected);
    }
}

#[test]
fn mistakes_at_the_top_have_a_code_and_a_field() {
    refuses(&[
        ("schema", json!(2), "unsupported schema"),
        ("duration", json!("0 s"), "out-of-range duration"),
        ("duration", json!("100"), "no-unit duration"),
        ("durration", json!("1 s"), "unknown-field durration"),
        ("warmup", json!("100 s"), "contradiction warmup"),
        ("replicates", json!(0), "out-of-range replicates"),
        ("seed", json!(-1), "out-of-range seed"),
        (
            "sample_interval",
            json!("0 s"),
            "out-of-range sample_interval",
        ),
        (
            "sample_interval",
            json!("1 ns"),
            "out-of-range sample_interval",
        ),
        ("name", json!(""), "out-of-range name"),
        ("hops", json!({}), "wrong-type hops"),
    ]);
    let error = |tree| read(&tree).unwrap_err().key();
    assert_eq!(error(json!({ "duration": "1 s" })), "missing schema");
    assert_eq!(error(json!({ "schema": 1 })), "missing duration");
}

#[test]
fn values_are_quoted_as_they_are_written() {
    let quoted = |path: &str, value: Value| {
        let error = read(&changed(path, value)).expect_err(path);
        (error.to_string(), error.value().cloned())
    };
    let (message, value) = quoted("warmup", json!("2 h"));
    assert!(message.starts_with("warmup: \"2 h\" leaves"), "{message}");
    assert_eq!(value, Some(json!("2 h")));
    let (message, _) = quoted("flows.abse.transport.mss", json!("70 kB"));
    assert!(
        message.starts_with("flows.abse.transport.mss: \"70 kB\" makes packets of 70040 bytes"),
        "{message}"
    );
    let (message, _) = quoted("flows.cross.start", json!(["2 min", "1000 ms"]));
    let times = r#"flows.cross.start: ["2 min","1000 ms"] has"#;
    assert!(message.starts_with(times), "{message}");
    let (message, _) = quoted("warmup", json!("2 * 1 h"));
    assert!(
        message.starts_with("warmup: \"2 * 1 h\" leaves"),
        "{message}"
    );
}

#[test]
fn arrivals_stand_in_the_place_of_a_count() {
    let with = |changes: &[(&str, Value)]| {
        let mut tree = sample();
        tree["flows"][0].as_object_mut().unwrap().remove("count");
        for (path, value) in changes {
            set(&mut tree, path, value.clone()).unwrap();
        }
        read(&tree)
    };
    let every = |interval: &str| json!({ "kind": "poisson", "mean_interval": interval });
    let arriving = ("flows.abse.arrivals", every("200 ms"));
    let scenario = with(&[
        arriving.clone(),
        ("flows.abse.stop", json!("61 s")),
        ("flows.abse.start", json!("1 s")),
    ])
    .unwrap();
    assert!(matches!(
        scenario.flows[0].instances,
        Instances::Arriving(_)
    ));
    assert_eq!(
        scenario.flows[0].expected_instances(scenario.duration),
        300.0
    );
    assert_eq!(scenario.resolved["flows"][0]["arrivals"], every("200 ms"));
    assert!(scenario.resolved["flows"][0].get("count").is_none());
    assert_eq!(
        read(&scenario.resolved).unwrap().resolved,
        scenario.resolved
    );

    let error = |changes: &[(&str, Value)]| with(changes).unwrap_err().key();
    assert_eq!(
        error(&[arriving, ("flows.abse.count", json!(3))]),
        "contradiction flows.abse.count"
    );
    assert_eq!(
        error(&[("flows.abse.arrivals", every("0 s"))]),
        "out-of-range flows.abse.arrivals.mean_interval"
    );
    assert_eq!(
        error(&[("flows.abse.arrivals", every("1 us"))]),
        "out-of-range flows.abse.arrivals.mean_interval"
    );
    assert_eq!(
        error(&[(
            "flows.abse.arrivals",
            json!({ "kind": "poison", "mean_interval": "1 s" })
        )]),
        "unknown-name flows.abse.arrivals.kind"
    );
    assert_eq!(
        error(&[("flows.abse.arrivals", json!({ "kind": "fixed" }))]),
        "missing flows.abse.arrivals.mean_interval"
    );
}

#[test]
fn every_example_is_a_scenario() {
    for (text, points, flows) in [
        (include_str!("../../../../examples/first.toml"), 1, 1),
        (include_str!("../../../../examples/leaky-pipe.toml"), 14, 1),
        (include_str!("../../../../examples/leaky-pipes.toml"), 2, 16),
        (include_str!("../../../../examples/dumbbell.toml"), 1, 10),
        (include_str!("../../../../examples/markov-link.toml"), 5, 1),
        (include_str!("../../../../examples/on-off-udp.toml"), 1, 2),
        (include_str!("../../../../examples/arrivals.toml"), 1, 481), // on average
    ] {
        let all = expand(&from_toml(text).unwrap()).unwrap();
        assert_eq!(all.len(), points);
        for point in all {
            let scenario = read(&point.tree).unwrap();
            let instances = scenario
                .flows
                .iter()
                .map(|flow| flow.expected_instances(scenario.duration));
            assert_eq!(instances.sum::<f64>(), f64::from(flows));
            assert_eq!(
                read(&scenario.resolved).unwrap().resolved,
                scenario.resolved
            );
        }
    }
}

/// Collects all references of a schema.
fn references<'a>(part: &'a Value, collected: &mut Vec<&'a str>) {
    match part {
        Value::Object(map) => {
            collected.extend(map.get("$ref").and_then(Value::as_str));
            map.values().for_each(|value| references(value, collected));
        }
        Value::Array(list) => list.iter().for_each(|value| references(value, collected)),
        _ => {}
    }
}

#[test]
fn the_schema_is_whole() {
    let schema = schema::schema();
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    let mut all = Vec::new();
    references(&schema, &mut all);
    assert!(all.len() > 20);
    for reference in all {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(
            schema.pointer(pointer).is_some(),
            "{reference} leads nowhere"
        );
    }
    let hop = &schema["$defs"]["Hop"];
    assert_eq!(hop["additionalProperties"], false);
    assert_eq!(hop["required"], json!(["name", "link", "queue"]));
    let tcp = &schema["$defs"]["Flow"]["properties"]["transport"]["oneOf"][0];
    assert_eq!(tcp["required"], json!(["kind", "control"]));
    assert_eq!(tcp["additionalProperties"], false);
    assert_eq!(tcp["properties"]["kind"], json!({ "const": "tcp" }));
    let delayed_ack = schema["$defs"]["DelayedAck"].as_object().unwrap();
    assert!(
        !delayed_ack.contains_key("required"),
        "a preset fills in the rest"
    );
}

#[test]
fn the_schema_and_the_catalogue_name_every_element() {
    let (schema, registry) = (schema::schema(), schema::registry());
    for (list, place) in [
        ("links", "/$defs/Hop/properties/link"),
        ("queues", "/$defs/Hop/properties/queue"),
        ("impairments", "/$defs/Hop/properties/impairments/items"),
        ("transports", "/$defs/Flow/properties/transport"),
        ("traffic", "/$defs/Flow/properties/traffic"),
        (
            "controls",
            "/$defs/Flow/properties/transport/oneOf/0/properties/control",
        ),
        (
            "rate_controls",
            "/$defs/Flow/properties/transport/oneOf/1/properties/control",
        ),
    ] {
        let choices = schema.pointer(place).unwrap()["oneOf"].as_array().unwrap();
        let kinds: Vec<&Value> = choices
            .iter()
            .map(|choice| &choice["properties"]["kind"]["const"])
            .collect();
        let elements = registry[list].as_array().unwrap();
        let names: Vec<&Value> = elements.iter().map(|element| &element["name"]).collect();
        assert_eq!(kinds, names);
        for choice in choices {
            assert_eq!(choice["additionalProperties"], false, "{choice}");
            assert_eq!(choice["required"][0], "kind");
        }
    }
}

#[test]
fn the_catalogue_has_every_preset_as_it_is_resolved() {
    let (schema, registry) = (schema::schema(), schema::registry());
    let presets = registry["presets"].as_object().unwrap();
    let named: Vec<&str> = schema["$defs"]["Preset"]["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|choice| choice["const"].as_str().unwrap())
        .collect();
    assert_eq!(presets.len(), named.len(), "Preset::ALL has all");
    for (name, parameters) in presets {
        assert!(named.contains(&name.as_str()));
        let transport = json!({ "kind": "tcp", "control": { "kind": "reno" }, "preset": name });
        let scenario = read(&changed("flows.abse.transport", transport)).unwrap();
        assert_eq!(
            *parameters,
            serde_json::to_value(tcp(&scenario, 0)).unwrap(),
            "{name}"
        );
    }
}

fn time() -> impl Strategy<Value = Value> {
    let units = prop::sample::select(vec!["ns", "us", "ms", "s"]);
    (1_u64..1_000_000, units).prop_map(|(number, unit)| json!(format!("{number} {unit}")))
}

fn one_of(names: &[&'static str]) -> impl Strategy<Value = Value> + use<> {
    prop::sample::select(names.to_vec()).prop_map(Value::from)
}

/// Valid values for some paths of the sample.
fn assignment() -> impl Strategy<Value = (&'static str, Value)> {
    let hops = || one_of(&["wired", "wireless", "return"]);
    prop_oneof![
        time().prop_map(|value| ("duration", value)),
        time().prop_map(|value| ("hops.wired.delay", value)),
        time().prop_map(|value| ("hops.return.queue.limit", value)),
        time().prop_map(|value| ("flows.abse.start", value)),
        (time(), time()).prop_map(|(low, high)| ("flows.cross.access_delay", json!([low, high]))),
        (0.0..=1.0).prop_map(|p: f64| ("hops.wireless.impairments.0.probability", json!(p))),
        (1_000_u64..400_000_000_000)
            .prop_map(|rate| ("hops.wired.link.rate", json!(format!("{rate} bit/s")))),
        any::<u64>().prop_map(|seed| ("seed", json!(seed.to_string()))),
        (1_u32..2000).prop_map(|count| ("flows.abse.count", json!(count))),
        prop::collection::vec(hops(), 1..20).prop_map(|route| ("flows.cross.route", json!(route))),
        one_of(&[
            "linux",
            "linux-2012",
            "rfc-modern",
            "rfc",
            "ns2-2002",
            "jacobson1988"
        ])
        .prop_map(|preset| ("flows.abse.transport.preset", preset)),
        one_of(&["timeout_only", "tahoe", "reno", "newreno", "sack"])
            .prop_map(|recovery| ("flows.abse.transport.recovery", recovery)),
        (1_u32..9).prop_map(|n| (
            "flows.abse.transport.delayed_ack.every",
            json!(format!("{n} segments"))
        )),
        (1_u64..65_000).prop_map(|n| ("flows.abse.transport.mss", json!(format!("{n} bytes")))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The resolved tree is complete: reading it, or its text, gives the same scenario.
    #[test]
    fn resolved_reads_back(assignments in prop::collection::vec(assignment(), 1..6)) {
        let mut tree = sample();
        tree["warmup"] = json!("0 s");
        for (path, value) in assignments {
            set(&mut tree, path, value).unwrap();
        }
        if let Ok(scenario) = read(&tree) {
            let text = scenario.resolved.to_string();
            let again = read(&serde_json::from_str(&text).unwrap()).unwrap();
            prop_assert_eq!(&again.resolved, &scenario.resolved);
            prop_assert_eq!(format!("{again:?}"), format!("{scenario:?}"));
        }
    }

    /// Any text gives a scenario or an error of at most one line, without a panic.
    #[test]
    fn any_text_ends_in_a_scenario_or_in_one_line(
        at in 0..TEXT.len(),
        length in 0_usize..12,
        inserted in r#"[ -~\n"=.\[\]{}]{0,6}"#,
    ) {
        let text = format!("{}{inserted}{}", &TEXT[..at], &TEXT[(at + length).min(TEXT.len())..]);
        let read_all = |points: Vec<_>| -> Result<(), Error> {
            points.iter().try_for_each(|point: &Point| read(&point.tree).map(drop))
        };
        if let Err(error) = from_toml(&text).and_then(|tree| expand(&tree)).and_then(read_all) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }
}

const CELL: &str = r#"
schema = 1
duration = "1 s"

[[shared_media]]
name = "cell"
kind = "edca"
profile = "802.11b"
slot = "9 us"

[[hops]]
name = "up"
scope = "per_flow"
link = { kind = "edca", medium = "cell", rate = "11 Mbit/s", cw_min = 7, cw_max = 7 }
queue = { kind = "droptail", limit = "9 packets" }

[[flows]]
name = "talk"
route = ["up"]
transport = { kind = "udp", mss = "1000 bytes" }
traffic = { kind = "cbr", rate = "64 kbit/s" }
"#;

#[test]
fn mistakes_in_media_hops_and_flows_are_told_together() {
    let mut tree = from_toml(CELL).unwrap();
    for (path, value) in [
        ("shared_media.cell.slot", json!("0 s")),
        ("shared_media.cell.basic_rate", json!("0 bit/s")),
        ("flows.talk.transport.mss", json!("70 kB")),
        ("flows.talk.traffic", json!({ "kind": "bulk" })),
        ("flows.talk.stop", json!("0 s")),
        ("sample_interval", json!("0 s")),
    ] {
        set(&mut tree, path, value).unwrap();
    }
    let keys = |tree: &Value| -> Vec<String> {
        let error = read(tree).unwrap_err();
        error.all().map(Error::key).collect()
    };
    assert_eq!(
        keys(&tree),
        [
            "out-of-range sample_interval",
            "out-of-range shared_media.cell.slot",
            "out-of-range shared_media.cell.basic_rate",
            "contradiction flows.talk.stop",
            "out-of-range flows.talk.transport.mss",
        ]
    );
    // Hops are compared with the media, and the traffic with the transport, once both are read.
    let mut tree = from_toml(CELL).unwrap();
    for (path, value) in [
        ("hops.up.link.cw_min", json!(40_000)),
        ("hops.up.link.aifsn", json!(0)),
        ("hops.up.queue.limit", json!("9 ms")),
        ("flows.talk.traffic", json!({ "kind": "bulk" })),
        ("flows.talk.stop", json!("0 s")),
    ] {
        set(&mut tree, path, value).unwrap();
    }
    assert_eq!(
        keys(&tree),
        [
            "out-of-range hops.up.link.aifsn",
            "out-of-range hops.up.link.cw_min",
            "contradiction hops.up.queue.limit",
            "contradiction flows.talk.stop",
            "contradiction flows.talk.traffic.kind",
        ]
    );
}

#[test]
fn a_medium_is_written_with_what_its_profile_says() {
    let scenario = Scenario::from_toml(CELL, &["shared_media.cell.sifs=16 us"], &NoFiles).unwrap();
    let medium = &scenario.resolved["shared_media"][0];
    let given = [
        ("name", json!("cell")),
        ("kind", json!("edca")),
        ("slot", json!("9 us")),
        ("sifs", json!("16 us")),
    ];
    for (field, value) in given
        .iter()
        .chain(&[("preamble", json!("192 us")), ("retry_limit", json!(6))])
    {
        assert_eq!(medium[*field], *value, "{field}");
    }
    let again = Scenario::from_tree(&scenario.resolved, &NoFiles).unwrap();
    assert_eq!(again.resolved, scenario.resolved);
    // Without media, the resolved form does not mention them.
    let without = Scenario::from_toml(
        CELL,
        &[
            "shared_media=[]",
            "hops.up.link={ kind = \"constant\", rate = \"1 Mbit/s\" }",
        ],
        &NoFiles,
    )
    .unwrap();
    assert!(without.resolved.get("shared_media").is_none());
}

#[test]
fn mistakes_in_media_and_contenders_have_a_code_and_a_field() {
    let mistakes = [
        (
            "shared_media.cell.name=a.b",
            "out-of-range shared_media.0.name",
        ),
        (
            "shared_media.cell.kind=token_ring",
            "unknown-name shared_media.cell.kind",
        ),
        (
            "shared_media.cell.profile=OFDM",
            "unknown-name shared_media.cell.profile",
        ),
        (
            "shared_media.cell.retry_limit=-1",
            "wrong-type shared_media.cell.retry_limit",
        ),
        (
            "shared_media.cell.slot=0 s",
            "out-of-range shared_media.cell.slot",
        ),
        (
            "hops.up.link.medium=cel",
            "unknown-name hops.up.link.medium",
        ),
        ("shared_media=[]", "unknown-name hops.up.link.medium"),
        (
            "hops.up.link.rate=0 bit/s",
            "out-of-range hops.up.link.rate",
        ),
        ("hops.up.link.aifsn=0", "out-of-range hops.up.link.aifsn"),
        ("hops.up.link.cw_max=3", "contradiction hops.up.link.cw_max"),
        (
            "hops.up.queue.limit=20 ms",
            "contradiction hops.up.queue.limit",
        ),
        (
            "hops.up.link={ kind = \"feedback\", from = \"up\", algorithm = { kind = \"instcap\" \
             }, delay = \"5 ms\", period = \"3 ms\" }",
            "contradiction hops.up.link.from",
        ),
    ];
    let keys = mistakes.map(|(assignment, _)| {
        Scenario::from_toml(CELL, &[assignment], &NoFiles)
            .unwrap_err()
            .key()
    });
    assert_eq!(keys, mistakes.map(|(_, key)| key));
}

const TWO_HOPS: &str = r#"
schema = 1
duration = "10 s"
[[hops]]
name = "host"
queue = { kind = "droptail", limit = "unlimited" }
[hops.link]
kind = "feedback"
from = "bottleneck"
algorithm = { kind = "effcap", m = 7, n = 49 }
delay = "200 ms"
period = "30 ms"
[[hops]]
name = "bottleneck"
link = { kind = "markov", rates = ["100 kB/s", "50 kB/s"], mean_sojourn = "1 s", step = "30 ms" }
queue = { kind = "droptail", limit = "10 packets" }
delay = "200 ms"
"#;

#[test]
fn who_cannot_be_measured_is_refused_with_one_line() {
    let error = |assignments: &[&str]| {
        Scenario::from_toml(TWO_HOPS, assignments, &NoFiles)
            .unwrap_err()
            .key()
    };
    assert!(Scenario::from_toml(TWO_HOPS, &[""; 0], &NoFiles).is_ok());
    for (assignment, expected) in [
        (
            "hops.host.link.from=botleneck",
            "unknown-name hops.host.link.from",
        ),
        (
            "hops.host.link.from=host",
            "contradiction hops.host.link.from",
        ),
        (
            "hops.bottleneck.scope=per_flow",
            "contradiction hops.host.link.from",
        ),
        (
            "hops.host.link.period=0 s",
            "out-of-range hops.host.link.period",
        ),
        (
            "hops.host.link.sessions=0",
            "out-of-range hops.host.link.sessions",
        ),
        (
            "hops.host.link.target_utilisation=0 %",
            "out-of-range hops.host.link.target_utilisation",
        ),
        (
            "hops.host.link.minimum_rate=0 bit/s",
            "out-of-range hops.host.link.minimum_rate",
        ),
        (
            "hops.host.link.algorithm.n=0",
            "out-of-range hops.host.link.algorithm.n",
        ),
        (
            "hops.host.link.algorithm.kind=efcap",
            "unknown-name hops.host.link.algorithm.kind",
        ),
    ] {
        assert_eq!(error(&[assignment]), expected);
    }
    let at_an_edge = |from: &str| {
        format!(
            "hops.host.queue={{ kind = \"ack_regulator\", limit = \"9 packets\", server = {{ \
                kind = \"feedback\", from = \"{from}\", algorithm = {{ kind = \"instcap\" }}, \
                delay = \"1 ms\", period = \"1 ms\" }} }}"
        )
    };
    for (from, expected) in [
        ("botleneck", "unknown-name hops.host.queue.server.from"),
        ("host", "contradiction hops.host.queue.server.from"),
    ] {
        assert_eq!(error(&[&at_an_edge(from)]), expected);
    }
    assert!(Scenario::from_toml(TWO_HOPS, &[at_an_edge("bottleneck")], &NoFiles).is_ok());
    let circle = "hops.bottleneck.link={ kind = \"feedback\", from = \"host\", \
        algorithm = { kind = \"instcap\" }, delay = \"1 ms\", period = \"1 ms\" }";
    assert_eq!(error(&[circle]), "contradiction hops.host.link.from");
}
