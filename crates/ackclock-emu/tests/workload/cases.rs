//! The cases. None asserts a duration, and none needs a processor within some time: where data must
//! have moved, an event ends the run.

use crate::namespace::stay_on_this_processor;
use ackclock_core::traffic::TrafficContext;
use ackclock_emu::workload::{
    Ending, LoadedNames, Plan, Readings, Receiving, ReceivingReport, Sending, SendingReport,
    TransportPlan, monotonic_ns,
};
use ackclock_scenario::{Scenario, tree};
use ackclock_spec::files::{Files, NoFiles};
use ackclock_spec::registry::StreamScope;
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{Bytes, Time};
use ackclock_stacks::Bringing;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};

/// All cases by name.
pub const CASES: &[(&str, fn())] = &[
    (
        "bulk_moves_data_until_it_is_told_and_says_how_much",
        bulk_moves_data,
    ),
    ("the_end_of_the_run_ends_a_bulk_flow", the_end_ends),
    ("a_transfer_completes_to_the_byte", a_transfer_completes),
    ("two_controls_run_side_by_side", two_controls),
    ("an_unknown_control_is_refused", an_unknown_control),
    ("an_address_that_is_not_there_is_refused", a_missing_address),
    (
        "datagrams_leave_at_the_times_of_the_traffic",
        datagrams_leave_on_time,
    ),
    ("duplicates_count_once", duplicates_count_once),
    ("short_datagrams_are_numbered_too", short_datagrams),
    ("a_stop_ends_a_bulk_flow", a_stop_ends),
    (
        "steady_traffic_over_tcp_is_written_in_full_segments",
        steady_traffic,
    ),
    ("the_deadline_ends_a_stuck_receiver", the_deadline),
    (
        "what_came_before_the_deadline_is_read_after_it",
        late_readings,
    ),
    ("nobody_listening_is_a_failed_flow", nobody_listening),
    ("samples_are_filled_and_counts_grow", samples),
    ("settings_reach_the_sockets", settings),
    (
        "a_sender_without_duplicate_acks_moves_all_the_same",
        without_duplicate_acks,
    ),
    ("fifty_flows", fifty_flows),
];

pub(super) const MILLISECOND: u64 = 1_000_000;

pub(super) fn scenario(duration: &str, flows: &str) -> Scenario {
    let text = format!(
        r#"
schema = 1
name = "loopback"
duration = "{duration}"

[[hops]]
name = "wire"
link = {{ kind = "constant", rate = "1 Gbit/s" }}
queue = {{ kind = "droptail", limit = "100 packets" }}
{flows}"#
    );
    Scenario::from_tree(&tree::from_toml(&text).unwrap(), &Bringing(NoFiles)).unwrap()
}

fn tcp(name: &str, more: &str, traffic: &str) -> String {
    format!(
        r#"
[[flows]]
name = "{name}"
route = ["wire"]
return = ["wire"]
transport = {{ kind = "tcp", control = {{ kind = "reno" }}{more} }}
traffic = {traffic}
"#
    )
}

fn udp(name: &str, traffic: &str) -> String {
    format!(
        r#"
[[flows]]
name = "{name}"
route = ["wire"]
transport = {{ kind = "udp" }}
traffic = {traffic}
"#
    )
}

pub(super) const BULK: &str = r#"{ kind = "bulk" }"#;

pub(super) fn address(network: u8, number: usize) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(127, network, 0, number as u8 + 1), 5001)
}

/// Returns a plan with one instance of every flow, which begins when both hosts had time to get
/// ready.
pub(super) fn plan(scenario: &Scenario) -> Plan {
    let mut plan = Plan::of(scenario, 0, monotonic_ns() + 100 * MILLISECOND);
    for group in 0..scenario.flows.len() {
        let addresses = (address(66, group), address(77, group));
        plan.add(
            scenario,
            (group, 0),
            Time::ZERO,
            addresses,
            &LoadedNames::new(),
        );
    }
    // As it is passed to a host.
    serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap()
}

/// Runs both hosts. If `tell`, the receiving host is told to end when the sending one has ended.
pub(super) fn run(plan: &Plan, tell: bool) -> (SendingReport, ReceivingReport, Readings) {
    run_with(plan, tell, &NoFiles)
}

/// Does the same with the implementations of transports in `files`.
pub(super) fn run_with(
    plan: &Plan,
    tell: bool,
    files: &dyn Files,
) -> (SendingReport, ReceivingReport, Readings) {
    let receiving = Receiving::prepare(plan.clone(), files).unwrap();
    let sending = Sending::prepare(plan.clone(), files).unwrap();
    let (stop, teller) = io::pipe().unwrap();
    let readings = Arc::new(Mutex::new(Readings::default()));
    let gathering = |readings: &Arc<Mutex<Readings>>| {
        let readings = Arc::clone(readings);
        move |block| {
            readings.lock().unwrap().append(block);
            Ok(())
        }
    };
    let mut take = gathering(&readings);
    let receiver =
        std::thread::spawn(move || receiving.run(Some(stop.as_fd()), &mut take).unwrap());
    let sent = sending.run(None, &mut gathering(&readings)).unwrap();
    let teller = (!tell).then_some(teller);
    let received = receiver.join().unwrap();
    drop(teller);
    let readings = std::mem::take(&mut *readings.lock().unwrap());
    let text = serde_json::to_string(&(&sent, &received, &readings)).unwrap();
    assert_eq!(
        serde_json::from_str::<(SendingReport, ReceivingReport, Readings)>(&text).unwrap(),
        (sent.clone(), received.clone(), readings.clone()),
        "reports cross to the supervisor as they are"
    );
    (sent, received, readings)
}

/// Readings after which a run is told to end: a tenth of a second on a machine that keeps up.
const ENOUGH: usize = 2000;

/// Runs both hosts until there are enough readings, however long that takes. Then tells both to
/// end.
fn run_until_enough(plan: &mut Plan) -> (SendingReport, ReceivingReport, Readings) {
    plan.sample_interval_ns = 50_000;
    let receiving = Receiving::prepare(plan.clone(), &NoFiles).unwrap();
    let sending = Sending::prepare(plan.clone(), &NoFiles).unwrap();
    let (stop, teller) = io::pipe().unwrap();
    let again = stop.try_clone().unwrap();
    let receiver =
        std::thread::spawn(move || receiving.run(Some(again.as_fd()), &mut |_| Ok(())).unwrap());
    let (mut teller, mut readings) = (Some(teller), Readings::default());
    let mut take = |block: Readings| {
        readings.append(block);
        if readings.len() >= ENOUGH {
            drop(teller.take());
        }
        Ok(())
    };
    let sent = sending.run(Some(stop.as_fd()), &mut take).unwrap();
    let received = receiver.join().unwrap();
    assert!(sent.told_to_end && received.told_to_end);
    (sent, received, readings)
}

fn bulk_moves_data() {
    let (sent, received, readings) =
        run_until_enough(&mut plan(&scenario("1 h", &tcp("bulk", "", BULK))));
    assert!(sent.ended_ns < 3_600_000 * MILLISECOND && readings.len() >= ENOUGH);
    let (sent, received) = (&sent.flows[0], &received.flows[0]);
    assert_eq!(sent.ending, Ending::Told);
    assert_eq!(sent.control.as_deref(), Some("reno"));
    let acknowledged = sent.acknowledged_bytes.unwrap();
    assert!(acknowledged > 0 && acknowledged <= sent.written_bytes);
    // Data that the receiver's kernel acknowledges after the last reading does not count.
    assert!(received.received_bytes > 0 && received.received_bytes <= sent.written_bytes);
    assert!(received.received_by_warmup_bytes <= received.received_by_end_bytes);
    assert_eq!(received.received_by_end_bytes, received.received_bytes);
    assert!(sent.started_ns <= sent.connected_ns && sent.connected_ns < sent.ended_ns);
    assert!(received.first_ns <= received.last_ns && received.completed_ns.is_none());
    // The scenario's payload, although timestamps take part of each segment.
    assert_eq!(sent.last.as_ref().unwrap().mss_bytes, 1448);
}

fn the_end_ends() {
    let (sent, received, _) = run(&plan(&scenario("200 ms", &tcp("bulk", "", BULK))), false);
    let (sent, received) = (&sent.flows[0], &received.flows[0]);
    assert_eq!(sent.ending, Ending::EndOfRun, "{sent:?}");
    assert!(sent.ended_ns >= Some(200 * MILLISECOND));
    // A sender that begins when everything is over may give up before the kernel has a connection
    // to accept.
    let accepted = received
        .connected_ns
        .map_or(Ending::NotStarted, |_| Ending::Stopped);
    assert_eq!(received.ending, accepted, "{received:?}");
    assert!(received.received_by_end_bytes <= received.received_bytes);
    assert!(received.received_bytes <= sent.written_bytes && received.completed_ns.is_none());
}

fn a_transfer_completes() {
    let transfer = r#"{ kind = "transfer", size = "3000001 bytes" }"#;
    let (sent, received, readings) =
        run(&plan(&scenario("60 s", &tcp("file", "", transfer))), false);
    let (sent, received) = (&sent.flows[0], &received.flows[0]);
    assert_eq!(
        (&sent.ending, &received.ending),
        (&Ending::Finished, &Ending::Finished)
    );
    assert_eq!(sent.written_bytes, 3_000_001);
    assert_eq!(sent.acknowledged_bytes, Some(3_000_001));
    assert_eq!(received.received_bytes, 3_000_001);
    assert!(received.completed_ns.is_some() && received.completed_ns == received.last_ns);
    // The kernel's counter in the readings includes SYN and FIN.
    assert_eq!(
        readings.tcp_info.acknowledged_bytes.last(),
        Some(&Some(3_000_003))
    );
}

fn two_controls() {
    let listed =
        std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    let controls: Vec<&str> = listed.split_whitespace().take(2).collect();
    let transfer = r#"{ kind = "transfer", size = "300 kB" }"#;
    let flows: String = controls
        .iter()
        .map(|name| tcp(name, "", transfer))
        .collect();
    let mut plan = plan(&scenario("60 s", &flows));
    for (flow, name) in plan.flows.iter_mut().zip(&controls) {
        let TransportPlan::Tcp { control, .. } = &mut flow.transport else {
            panic!("all are TCP")
        };
        *control = (*name).into();
    }
    let (sent, _, _) = run(&plan, false);
    let used: Vec<Option<&str>> = sent
        .flows
        .iter()
        .map(|flow| flow.control.as_deref())
        .collect();
    assert_eq!(used, controls.into_iter().map(Some).collect::<Vec<_>>());
    assert!(
        sent.flows
            .iter()
            .all(|flow| flow.acknowledged_bytes == Some(300_000))
    );
}

fn an_unknown_control() {
    let mut plan = plan(&scenario(
        "1 s",
        &(tcp("known", "", BULK) + &tcp("unknown", "", BULK)),
    ));
    if let TransportPlan::Tcp { control, .. } = &mut plan.flows[1].transport {
        *control = "no_such_one".into();
    }
    let refused = Sending::prepare(plan, &NoFiles).unwrap_err();
    let listed =
        std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    assert_eq!(refused.flow, Some(1));
    assert_eq!(
        refused.to_string(),
        format!(
            "congestion control \"no_such_one\" is not in this kernel, which has {}; load the \
             module tcp_no_such_one as root, or simulate",
            listed.trim()
        )
    );
}

fn a_missing_address() {
    let mut plan = plan(&scenario("1 s", &tcp("bulk", "", BULK)));
    plan.flows[0].sender = SocketAddrV4::new(Ipv4Addr::new(10, 66, 0, 1), 5001);
    plan.flows[0].receiver = SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, 1), 5001);
    let sending = Sending::prepare(plan.clone(), &NoFiles)
        .unwrap_err()
        .to_string();
    assert!(
        sending.starts_with("cannot send from 10.66.0.1:5001 (")
            && sending.ends_with("give the host this address first")
    );
    let receiving = Receiving::prepare(plan, &NoFiles).unwrap_err().to_string();
    assert!(
        receiving.starts_with("cannot listen at 10.77.0.1:5001 ("),
        "{receiving}"
    );
}

/// Returns the times at which the scenario's traffic writes, up to the end of the run, directly
/// from core.
fn times_of_traffic(scenario: &Scenario, group: usize, start: Time) -> Vec<u64> {
    let flow = &scenario.flows[group];
    let mut traffic = flow.traffic.build(TrafficContext {
        place: StreamScope {
            streams: &Streams::new(scenario.seed, 0),
            name: &format!("flow/{}/0/traffic", flow.name),
        },
        mss: Bytes(1000),
    });
    let mut times = Vec::new();
    loop {
        let at = start + traffic.poll_timeout().since(Time::ZERO);
        if at >= flow.stop || at > Time::ZERO + scenario.duration {
            return times;
        }
        traffic.poll_write().unwrap();
        times.push(at.as_nanos());
    }
}

fn datagrams_leave_on_time() {
    stay_on_this_processor().unwrap();
    // At most what the smallest socket buffer holds, in case the receiver never gets a processor:
    // Linux has room for 185 of these.
    let cbr = r#"{ kind = "cbr", rate = "3 Mbit/s", packet_size = "1000 bytes" }"#;
    let on_off = r#"{ kind = "on_off", rate = "2 Mbit/s", mean_on = "20 ms", mean_off = "10 ms" }"#;
    let flows =
        udp("cbr", cbr) + &udp("on_off", on_off) + &udp("stopped", cbr) + "stop = \"200 ms\"\n";
    let scenario = scenario("400 ms", &flows);
    let mut plan = plan(&scenario);
    plan.logged_datagrams = u32::MAX;
    let start = Time::from_nanos(30 * MILLISECOND);
    plan.flows[1].start_ns = start.as_nanos();
    let (sent, received, readings) = run(&plan, true);
    assert!(received.told_to_end && readings.is_empty());
    for (group, start) in [(0, Time::ZERO), (1, start), (2, Time::ZERO)] {
        let expected = times_of_traffic(&scenario, group, start);
        let (flow, arrived) = (&sent.flows[group], &received.flows[group]);
        let datagrams = flow.datagrams.as_ref().unwrap();
        let due: Vec<u64> = datagrams
            .log
            .iter()
            .map(|datagram| datagram.due_ns)
            .collect();
        assert!(expected.len() > 10);
        assert_eq!(due, expected);
        assert!(
            datagrams
                .log
                .iter()
                .all(|datagram| datagram.sent_ns >= datagram.due_ns),
            "none before its time"
        );
        assert_eq!(
            (datagrams.sent, datagrams.refused),
            (expected.len() as u64, 0)
        );
        assert_eq!(datagrams.lateness.count, datagrams.sent);
        let counts = arrived.datagrams.as_ref().unwrap();
        assert_eq!(
            (counts.unique, counts.duplicate, counts.reordered),
            (datagrams.sent, 0, 0)
        );
        assert_eq!(
            (counts.overflowed, counts.delay.count),
            (Some(0), counts.unique)
        );
        assert_eq!(arrived.received_bytes, 1000 * counts.unique);
        let stamps: Vec<Option<u64>> = counts.log.iter().map(|datagram| datagram.sent_ns).collect();
        let sent_at: Vec<Option<u64>> = datagrams
            .log
            .iter()
            .map(|datagram| Some(datagram.sent_ns))
            .collect();
        assert_eq!(stamps, sent_at);
        assert!(
            counts
                .log
                .iter()
                .all(|datagram| datagram.sent_ns <= Some(datagram.received_ns))
        );
    }
    assert_eq!(sent.flows[0].ending, Ending::EndOfRun);
    assert_eq!(sent.flows[2].ending, Ending::Stopped);
}

fn duplicates_count_once() {
    stay_on_this_processor().unwrap();
    let cbr = r#"{ kind = "cbr", rate = "1 Mbit/s" }"#;
    let mut plan = plan(&scenario("50 ms", &udp("cbr", cbr)));
    plan.draining_ns = 50 * MILLISECOND;
    plan.logged_datagrams = 4;
    let receiving = Receiving::prepare(plan.clone(), &NoFiles).unwrap();
    let socket = UdpSocket::bind((*plan.flows[0].sender.ip(), 0)).unwrap();
    let mut payload = [0; 100];
    for number in [0_u64, 1, 1, 4, 3, 4] {
        payload[..8].copy_from_slice(&number.to_le_bytes());
        payload[8..16].copy_from_slice(&plan.begin_ns.to_le_bytes());
        socket.send_to(&payload, plan.flows[0].receiver).unwrap();
    }
    let report = receiving.run(None, &mut |_| Ok(())).unwrap();
    let flow = &report.flows[0];
    let counts = flow.datagrams.as_ref().unwrap();
    assert_eq!(
        (counts.unique, counts.duplicate, counts.reordered),
        (4, 2, 1)
    );
    assert_eq!(flow.received_bytes, 400);
    assert_eq!(flow.ending, Ending::EndOfRun);
    assert_eq!(
        counts
            .log
            .iter()
            .map(|datagram| datagram.number)
            .collect::<Vec<_>>(),
        [0, 1, 1, 4]
    );
}

fn short_datagrams() {
    // More datagrams than one byte can number, so that the numbers wrap, but no more than any
    // socket's buffer holds.
    let flow = |name, size| {
        let rate = 1200 * size;
        let traffic =
            format!(r#"{{ kind = "cbr", rate = "{rate} kbit/s", packet_size = "{size} bytes" }}"#);
        udp(name, &traffic)
    };
    let scenario = scenario("2 ms", &(flow("one", 1) + &flow("nine", 9)));
    let mut plan = plan(&scenario);
    // The length on the wire of a scenario with a header of 20 bytes.
    plan.flows[1].transport = TransportPlan::Udp { padding_bytes: -8 };
    let (sent, received, _) = run(&plan, true);
    for (flow, size) in [(0, 1), (1, 9)] {
        let sent = sent.flows[flow].datagrams.as_ref().unwrap().sent;
        let counts = received.flows[flow].datagrams.as_ref().unwrap();
        assert_eq!(
            sent,
            times_of_traffic(&scenario, flow, Time::ZERO).len() as u64
        );
        assert!(sent > 256, "{sent}");
        assert_eq!(
            (counts.unique, counts.duplicate, counts.delay.count),
            (sent, 0, 0)
        );
        assert_eq!(received.flows[flow].received_bytes, size * sent);
    }
}

fn late_readings() {
    let cbr = r#"{ kind = "cbr", rate = "1 Mbit/s" }"#;
    let file = r#"{ kind = "transfer", size = "5 bytes" }"#;
    let flows = udp("cbr", cbr) + &tcp("file", "", file);
    let mut plan = plan(&scenario("50 ms", &flows));
    // As if the host got no processor before the deadline.
    plan.begin_ns = monotonic_ns() - 60_000 * MILLISECOND;
    let receiving = Receiving::prepare(plan.clone(), &NoFiles).unwrap();
    let socket = UdpSocket::bind((*plan.flows[0].sender.ip(), 0)).unwrap();
    socket.send_to(&[0; 100], plan.flows[0].receiver).unwrap();
    let mut stream = TcpStream::connect(plan.flows[1].receiver).unwrap();
    stream.write_all(b"there").unwrap();
    drop(stream);
    let report = receiving.run(None, &mut |_| Ok(())).unwrap();
    let received: Vec<u64> = report
        .flows
        .iter()
        .map(|flow| flow.received_bytes)
        .collect();
    assert_eq!(received, [100, 5]);
    assert_eq!(report.flows[1].ending, Ending::Finished);
    // The data counts, but not for the run.
    assert!(
        report
            .flows
            .iter()
            .all(|flow| flow.received_by_end_bytes == 0)
    );
    assert!(report.flows.iter().all(|flow| flow.completed_ns.is_none()));
}

fn a_stop_ends() {
    let flows = tcp("stopped", "", BULK) + "stop = \"500 ms\"\n";
    let (sent, received, _) = run(&plan(&scenario("30 s", &flows)), false);
    let flow = &sent.flows[0];
    assert_eq!(flow.ending, Ending::Stopped);
    assert_eq!(received.flows[0].ending, Ending::Stopped);
    assert!(flow.ended_ns >= Some(500 * MILLISECOND));
    assert!(received.flows[0].received_bytes <= flow.written_bytes);
    // Both hosts have ended by themselves, long before the run's end: nothing was left to do.
    assert!(!sent.told_to_end && !received.told_to_end);
    assert!(sent.ended_ns < 30_000 * MILLISECOND && received.ended_ns < 30_000 * MILLISECOND);
}

fn steady_traffic() {
    let cbr = r#"{ kind = "cbr", rate = "8 Mbit/s", packet_size = "700 bytes" }"#;
    let scenario = scenario("60 s", &tcp("cbr", "", cbr));
    let (sent, received, _) = run_until_enough(&mut plan(&scenario));
    let due = |at: &u64| Some(*at) <= sent.flows[0].ended_ns;
    let writes = times_of_traffic(&scenario, 0, Time::ZERO)
        .into_iter()
        .filter(due)
        .count() as u64;
    // However late the last of them came.
    let written = sent.flows[0].written_bytes;
    assert!(
        written > 0 && written <= 700 * writes,
        "{:?}",
        sent.flows[0]
    );
    assert_eq!(written % 1448, 0);
    assert!(received.flows[0].received_bytes <= written);
}

fn the_deadline() {
    let mut plan = plan(&scenario(
        "50 ms",
        &(tcp("stuck", "", BULK) + &tcp("absent", "", BULK)),
    ));
    plan.draining_ns = 100 * MILLISECOND;
    let receiving = Receiving::prepare(plan.clone(), &NoFiles).unwrap();
    let stuck = TcpStream::connect(plan.flows[0].receiver).unwrap();
    let report = receiving.run(None, &mut |_| Ok(())).unwrap();
    drop(stuck);
    assert_eq!(report.flows[0].ending, Ending::EndOfRun);
    assert_eq!(report.flows[1].ending, Ending::NotStarted);
    assert!(report.ended_ns >= 150 * MILLISECOND && !report.told_to_end);
}

fn nobody_listening() {
    let plan = plan(&scenario("5 s", &tcp("bulk", "", BULK)));
    let sending = Sending::prepare(plan, &NoFiles).unwrap();
    let report = sending.run(None, &mut |_| Ok(())).unwrap();
    let Ending::Failed(reason) = &report.flows[0].ending else {
        panic!("{report:?}")
    };
    assert!(reason.starts_with("cannot connect: "), "{reason}");
    assert!(report.flows[0].connected_ns.is_none() && report.flows[0].ended_ns.is_some());
}

fn samples() {
    let flows = tcp("one", "", BULK) + &tcp("two", "", BULK);
    let (sent, _, readings) = run_until_enough(&mut plan(&scenario("60 s", &flows)));
    assert!(readings.tcp_info.time_ns.is_sorted());
    let mut rows: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (row, flow) in readings.tcp_info.flow.iter().enumerate() {
        rows.entry(*flow).or_default().push(row);
    }
    assert_eq!(rows.keys().copied().collect::<Vec<_>>(), [0, 1]);
    for (flow, rows) in rows {
        assert!(rows.len() > 2, "{rows:?}");
        let grows = |name: &str, column: &dyn Fn(usize) -> u64| {
            assert!(
                rows.iter().map(|row| column(*row)).is_sorted(),
                "{name} of flow {flow}"
            );
        };
        grows("acknowledged", &|row| {
            readings.tcp_info.acknowledged_bytes[row].unwrap()
        });
        grows("sent", &|row| readings.tcp_info.sent_bytes[row].unwrap());
        grows("retransmissions", &|row| {
            u64::from(readings.tcp_info.retransmissions[row])
        });
        grows("retransmitted", &|row| {
            readings.tcp_info.retransmitted_bytes[row].unwrap()
        });
        grows("busy", &|row| readings.tcp_info.busy_us[row].unwrap());
        let last = *rows.last().unwrap();
        assert!(
            readings.tcp_info.cwnd_segments[last] > 0
                && readings.tcp_info.smoothed_rtt_us[last].is_some()
        );
        assert!(readings.tcp_info.min_rtt_us[last] <= readings.tcp_info.smoothed_rtt_us[last]);
        assert!(readings.tcp_info.delivery_rate_byte_per_s[last] > Some(0));
        let end = sent.flows[flow as usize].last.as_ref().unwrap();
        assert_eq!(
            readings.tcp_info.acknowledged_bytes[last], end.acknowledged_bytes,
            "the last row is the last sample"
        );
    }
}

fn settings() {
    let more = r#", receive_window = "4000 bytes", mss = "1000 bytes", pacing = "always""#;
    let transfer = r#"{ kind = "transfer", size = "200 kB" }"#;
    let (sent, received, readings) = run(
        &plan(&scenario("60 s", &tcp("small", more, transfer))),
        false,
    );
    let (sent, received) = (&sent.flows[0], &received.flows[0]);
    let outcome = |settings: &[ackclock_emu::workload::SocketSetting]| -> Vec<(String, bool)> {
        settings
            .iter()
            .map(|setting| (setting.name.clone(), setting.has == Some(setting.asked)))
            .collect()
    };
    let expected = |names: &[&str]| {
        names
            .iter()
            .map(|name| ((*name).to_owned(), true))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        outcome(&sent.settings),
        expected(&["TCP_MAXSEG", "SO_MAX_PACING_RATE"])
    );
    assert_eq!(
        outcome(&received.settings),
        expected(&["TCP_MAXSEG", "SO_RCVBUF", "TCP_WINDOW_CLAMP"])
    );
    assert_eq!(sent.last.as_ref().unwrap().mss_bytes, 1000);
    assert_eq!(sent.acknowledged_bytes, Some(200_000), "fifty windows");
    let widest = readings
        .tcp_info
        .receive_window_bytes
        .iter()
        .flatten()
        .max();
    // Between two reads the kernel may change the clamp, as it does if the receiving thread has to
    // wait for a processor. It keeps the buffer of eight windows, which it doubles (socket(7)).
    // Without the clamp the window would be 65 kB.
    assert!(
        widest > Some(&2_000) && widest <= Some(&64_000),
        "{widest:?}"
    );
}

/// Data passes the program at the socket, and windows open.
fn without_duplicate_acks() {
    let transfer = r#"{ kind = "transfer", size = "3 MB" }"#;
    let more = r#", preset = "jacobson1988", receive_window = "20 packets""#;
    let (sent, received, _) = run(&plan(&scenario("60 s", &tcp("old", more, transfer))), false);
    let settings = &sent.flows[0].settings;
    let filter = settings
        .iter()
        .find(|setting| setting.name == "SO_ATTACH_BPF")
        .expect("it was asked for");
    match &filter.refusal {
        None => assert_eq!(filter.has, Some(1)),
        Some(refusal) => {
            // It is not permitted, or not in this kernel. If the kernel found the program unsafe,
            // it would be our fault.
            let endings = ["(os error 1)", "(os error 38)"];
            assert!(
                endings.iter().any(|ending| refusal.ends_with(ending)),
                "{refusal}"
            );
            eprintln!("duplicate ACKs are not kept from sockets here: {refusal}");
        }
    }
    assert_eq!(received.flows[0].received_by_end_bytes, 3_000_000);
    assert_eq!(
        sent.flows[0].ending,
        Ending::Finished,
        "{:?}",
        sent.flows[0]
    );
}

fn fifty_flows() {
    let transfer = r#"{ kind = "transfer", size = "200 kB" }"#;
    let flows: String = (0..50)
        .map(|number| tcp(&format!("file{number}"), "", transfer))
        .collect();
    let (sent, received, readings) = run(&plan(&scenario("60 s", &flows)), false);
    assert_eq!((sent.flows.len(), received.flows.len()), (50, 50));
    for (sent, received) in sent.flows.iter().zip(&received.flows) {
        assert_eq!(
            (&sent.ending, &received.ending),
            (&Ending::Finished, &Ending::Finished)
        );
        assert_eq!(
            (sent.acknowledged_bytes, received.received_bytes),
            (Some(200_000), 200_000)
        );
    }
    let flows: std::collections::BTreeSet<u32> = readings.tcp_info.flow.into_iter().collect();
    assert_eq!(
        flows.len(),
        50,
        "each connection has its last sample at least"
    );
}
