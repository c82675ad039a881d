//! Cases of datagrams under rate control: sessions of ackclock's transport between the two hosts.
//! Like the others, they end by events, not by the clock. They do not assert that there is no loss
//! on loopback, since a socket's buffer may overflow.

use crate::cases::{BULK, MILLISECOND, plan, run, scenario};
use ackclock_emu::workload::{Ending, Plan, RateReading, Sending, TransportPlan, monotonic_ns};
use ackclock_spec::files::NoFiles;
use serde_json::json;

/// All cases by name.
pub const CASES: &[(&str, fn())] = &[
    ("sessions_of_every_control_finish", every_control),
    ("what_a_session_says_of_itself_is_so", readings),
    ("the_end_of_the_run_ends_a_session", the_end_ends),
    ("a_stop_ends_a_session_on_both_sides", a_stop_ends),
    ("a_source_that_pauses_keeps_its_session", pauses),
    ("a_session_nobody_asks_for_is_no_failure", nobody_asks),
    ("sessions_and_connections_run_side_by_side", side_by_side),
    ("a_control_that_is_none_is_refused", an_unknown_control),
];

fn controlled(name: &str, control: &str, more: &str) -> String {
    format!(
        r#"
[[flows]]
name = "{name}"
route = ["wire"]
return = ["wire"]
transport = {{ kind = "udp", control = {control} }}
{more}
"#
    )
}

/// The three rate controls, fast from the first packet on.
const CONTROLS: [(&str, &str); 3] = [
    ("rap", r#"{ kind = "rap", initial_rtt = "1 ms" }"#),
    (
        "tfrcp",
        r#"{ kind = "tfrcp", initial_rate = "1000 packets/s" }"#,
    ),
    ("tfrc", r#"{ kind = "tfrc" }"#),
];

fn transfer(size: &str) -> String {
    format!(r#"traffic = {{ kind = "transfer", size = "{size}" }}"#)
}

fn bulk() -> String {
    format!("traffic = {BULK}")
}

fn every_control() {
    let flows: String = CONTROLS
        .iter()
        .map(|(name, control)| controlled(name, control, &transfer("100500 bytes")))
        .collect();
    let (sent, received, _) = run(&plan(&scenario("60 s", &flows)), false);
    for ((name, _), (sent, received)) in CONTROLS.iter().zip(sent.flows.iter().zip(&received.flows))
    {
        assert_eq!(sent.control.as_deref(), Some(*name));
        assert_eq!(
            (&sent.ending, &received.ending),
            (&Ending::Finished, &Ending::Finished)
        );
        assert_eq!(sent.written_bytes, 100_500, "{name}");
        let datagrams = sent.datagrams.as_ref().unwrap();
        // A packet may be empty: the one that begins a session.
        assert!(
            datagrams.sent == 101 || datagrams.sent == 102,
            "{name}: {datagrams:?}"
        );
        let arrived = received.datagrams.as_ref().unwrap();
        assert!(arrived.unique <= datagrams.sent && arrived.unique > 0);
        assert!(received.received_bytes <= sent.written_bytes);
        assert!(sent.acknowledged_bytes.unwrap() <= received.received_bytes);
        assert!(sent.started_ns <= sent.connected_ns && sent.connected_ns < sent.ended_ns);
        let all_came = arrived.unique == datagrams.sent;
        assert_eq!(
            received.received_bytes == 100_500,
            all_came,
            "{name}: {received:?}"
        );
        assert_eq!(received.completed_ns.is_some(), all_came);
    }
}

fn readings() {
    let text = scenario("60 s", &controlled("one", CONTROLS[0].1, &transfer("1 MB")));
    let mut plan = plan(&text);
    plan.sample_interval_ns = 10_000;
    let (sent, received, readings) = run(&plan, false);
    let (sent, received, rates) = (&sent.flows[0], &received.flows[0], &readings.rates);
    assert!(readings.tcp_info.is_empty() && !rates.is_empty());
    assert!(rates.is_sorted_by_key(|reading| reading.time_ns));
    let grows = |of: fn(&RateReading) -> u64| assert!(rates.is_sorted_by_key(of));
    grows(|reading| reading.sent_packets);
    grows(|reading| reading.delivered_bytes.unwrap());
    let last = rates.last().unwrap();
    assert_eq!(Some(last.time_ns), sent.ended_ns, "the last row is the end");
    assert_eq!(last.delivered_bytes, sent.acknowledged_bytes);
    assert_eq!(last.sent_packets, sent.datagrams.as_ref().unwrap().sent);
    let delivered = last.delivered_bytes.unwrap();
    assert!(delivered > 0 && delivered <= received.received_bytes);
    assert!(
        last.rate_byte_per_s > Some(0.0) && last.rtt_ns.is_some() && last.smoothed_rtt_ns.is_some()
    );
    let session = sent.session.as_ref().unwrap();
    let (least, greatest) = (session.rtt_min_ns.unwrap(), session.rtt_max_ns.unwrap());
    assert!(
        rates
            .iter()
            .filter_map(|reading| reading.rtt_ns)
            .all(|rtt| (least..=greatest).contains(&rtt))
    );
}

fn the_end_ends() {
    let text = scenario("300 ms", &controlled("bulk", CONTROLS[1].1, &bulk()));
    let (sent, received, _) = run(&plan(&text), false);
    let (sent, received) = (&sent.flows[0], &received.flows[0]);
    assert_eq!(sent.ending, Ending::EndOfRun, "{sent:?}");
    assert!(sent.ended_ns >= Some(300 * MILLISECOND));
    // On a machine that was always busy, no packet may have arrived.
    let ending = received
        .connected_ns
        .map_or(Ending::NotStarted, |_| Ending::EndOfRun);
    assert_eq!(received.ending, ending, "{received:?}");
    assert!(
        received.received_by_end_bytes <= received.received_bytes
            && received.completed_ns.is_none()
    );
    assert!(received.received_bytes <= sent.written_bytes);
}

fn a_stop_ends() {
    let more = format!("stop = \"2 s\"\n{}", bulk());
    let (sent, received, _) = run(
        &plan(&scenario("60 s", &controlled("bulk", CONTROLS[0].1, &more))),
        false,
    );
    let (sent, received) = (&sent.flows[0], &received.flows[0]);
    assert_eq!(
        (&sent.ending, &received.ending),
        (&Ending::Stopped, &Ending::Stopped)
    );
    assert!(sent.ended_ns >= Some(2000 * MILLISECOND));
    assert!(received.received_bytes > 0 && received.received_bytes <= sent.written_bytes);
}

/// Three writes, far enough apart that the session has to send keep-alives in between.
fn pauses() {
    let traffic = r#"stop = "7 s"
traffic.kind = "on_off"
traffic.mean_on = "10 ms"
traffic.mean_off = "3 s"
traffic.on_distribution = "constant"
traffic.off_distribution = "constant"
traffic.rate = "2 Mbit/s""#;
    let (sent, received, _) = run(
        &plan(&scenario(
            "60 s",
            &controlled("talk", CONTROLS[0].1, traffic),
        )),
        false,
    );
    let (sent, received) = (&sent.flows[0], &received.flows[0]);
    assert_eq!(
        (&sent.ending, &received.ending),
        (&Ending::Stopped, &Ending::Stopped)
    );
    assert!(sent.written_bytes > 0 && received.received_bytes <= sent.written_bytes);
    assert_eq!(
        sent.written_bytes % 1000,
        0,
        "full packets alone, as in the engine"
    );
    let datagrams = sent.datagrams.as_ref().unwrap();
    assert!(
        datagrams.sent > sent.written_bytes / 1000,
        "packets without payload keep it alive"
    );
}

fn nobody_asks() {
    let plan = plan(&scenario(
        "200 ms",
        &controlled("bulk", CONTROLS[0].1, &bulk()),
    ));
    let sending = Sending::prepare(plan, &NoFiles).unwrap();
    let sent = sending.run(None, &mut |_| Ok(())).unwrap();
    let sent = &sent.flows[0];
    assert_eq!(sent.ending, Ending::EndOfRun, "{sent:?}");
    assert_eq!(
        (sent.written_bytes, sent.connected_ns, &sent.session),
        (0, None, &None)
    );
}

fn side_by_side() {
    let tcp = r#"
[[flows]]
name = "file"
route = ["wire"]
return = ["wire"]
transport = { kind = "tcp", control = { kind = "reno" } }
traffic = { kind = "transfer", size = "100 kB" }
"#;
    let flows: String = (0..20)
        .map(|number| {
            controlled(
                &format!("session{number}"),
                CONTROLS[number % 3].1,
                &transfer("50 kB"),
            )
        })
        .collect();
    let (sent, received, readings) = run(&plan(&scenario("60 s", &format!("{flows}{tcp}"))), false);
    for (sent, received) in sent.flows.iter().zip(&received.flows) {
        assert_eq!(
            (&sent.ending, &received.ending),
            (&Ending::Finished, &Ending::Finished)
        );
    }
    assert_eq!(received.flows[20].received_bytes, 100_000);
    assert!(sent.flows[20].session.is_none() && sent.flows[19].session.is_some());
    let flows: std::collections::BTreeSet<u32> =
        readings.rates.iter().map(|reading| reading.flow).collect();
    assert_eq!(
        flows.len(),
        20,
        "each session has its last reading at least"
    );
    assert!(readings.tcp_info.flow.iter().all(|flow| *flow == 20));
}

fn an_unknown_control() {
    let text = scenario("1 s", &controlled("bulk", CONTROLS[0].1, &bulk()));
    let mut plan = Plan {
        begin_ns: monotonic_ns(),
        ..plan(&text)
    };
    let TransportPlan::Controlled(session) = &mut plan.flows[0].transport else {
        panic!("it is under rate control")
    };
    session.control = json!({ "kind": "no_such_one" });
    let refused = Sending::prepare(plan, &NoFiles).unwrap_err().to_string();
    assert!(
        refused.starts_with(
            "flow/bulk/0: transport.control.kind: unknown rate control \"no_such_one\""
        ) && refused.ends_with("make the plan from a checked scenario"),
        "{refused}"
    );
}
