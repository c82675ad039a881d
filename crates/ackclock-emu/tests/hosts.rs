//! Hosts on this machine: they reach each other through a loop in the test, the kernel accepts
//! their configuration, and nothing remains after any process is killed.
//!
//! Tests that this machine does not permit are skipped, and reported on standard error. As root
//! every test runs a second time as an unprivileged user.
#![cfg(target_os = "linux")]

mod common;

use ackclock_emu::background::Output;
use ackclock_emu::clock::Clock;
use ackclock_emu::device::{self, Device, DeviceKind};
use ackclock_emu::driver::Driver;
use ackclock_emu::fidelity::Verdict;
use ackclock_emu::host::{Host, HostError};
use ackclock_emu::netlink::{Metrics, Route};
use ackclock_emu::program::HostProgram;
use ackclock_emu::protocol::{Configuration, DeviceChoice, ReportEntry, Step};
use ackclock_emu::real_time::{Outputs, RealTime};
use ackclock_emu::record::Chunks;
use ackclock_emu::replay::replay;
use ackclock_emu::settings::{KernelAnswer, TcpSettings};
use ackclock_emu::wait::Stop;
use ackclock_scenario::network::{self, Network};
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{Span, Time};
use common::{program, scenario, skip};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, kill_process, pidfd_open};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, PipeWriter, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

const SENDER: Ipv4Addr = Ipv4Addr::new(10, 66, 0, 1);
const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const BOTH: [DeviceChoice; 2] = [DeviceChoice::Tun, DeviceChoice::PacketSocket];
/// A limit that suits any machine; nothing is asserted about time.
const PATIENCE: Timespec = Timespec {
    tv_sec: 30,
    tv_nsec: 0,
};

/// Starts a host; returns `None`, and reports why, if this machine cannot start one of that kind.
fn start(choice: DeviceChoice) -> Option<(Host, Device)> {
    match Host::start(&program("host"), choice) {
        Ok(started) => Some(started),
        Err(HostError::Refused(refusal))
            if matches!(
                refusal.error,
                Some(libc::EPERM | libc::EACCES | libc::ENOENT | libc::EOPNOTSUPP)
            ) =>
        {
            skip(&format!("no host with {choice:?}: {refusal}"));
            None
        }
        Err(error) => panic!("no host with {choice:?}: {error}"),
    }
}

/// Starts two hosts with an address each and a route to the other's.
fn two(choice: DeviceChoice) -> Option<[(Host, Device); 2]> {
    let mut hosts = [start(choice)?, start(choice)?];
    for ((host, _), (own, other)) in hosts
        .iter_mut()
        .zip([(SENDER, RECEIVER), (RECEIVER, SENDER)])
    {
        let route = Route {
            destination: other,
            prefix: 32,
            source: Some(own),
            metrics: Metrics::default(),
        };
        let configuration = Configuration {
            addresses: vec![own],
            routes: vec![route],
            mtu_bytes: Some(1500),
            ..Configuration::default()
        };
        let report = host.configure(configuration).unwrap();
        assert_eq!(report.len(), 3);
        assert!(report.iter().all(ReportEntry::is_as_asked), "{report:?}");
    }
    Some(hosts)
}

fn ask(host: &mut Host, request: Value) -> Value {
    host.call(request.clone(), None)
        .unwrap_or_else(|error| panic!("{request}: {error}"))
}

/// The simplest emulator: passes packets between two devices, changed by `alter`.
struct Forwarder {
    stop: PipeWriter,
    thread: JoinHandle<(Forwarded, [Device; 2])>,
}

#[derive(Debug, Default, PartialEq)]
struct Forwarded {
    packets: u64,
    largest: usize,
    without_room: u64,
}

impl Forwarder {
    fn start(devices: [Device; 2], mut alter: impl FnMut(&mut [u8]) + Send + 'static) -> Forwarder {
        let (stopped, stop) = io::pipe().unwrap();
        let thread = std::thread::spawn(move || {
            let mut forwarded = Forwarded::default();
            let mut buffer = vec![0; 65_535];
            loop {
                let mut polled = [
                    PollFd::new(&devices[0], PollFlags::IN),
                    PollFd::new(&devices[1], PollFlags::IN),
                    PollFd::new(&stopped, PollFlags::IN),
                ];
                poll(&mut polled, None).unwrap();
                if !polled[2].revents().is_empty() {
                    return (forwarded, devices);
                }
                for (from, to) in [(0, 1), (1, 0)] {
                    while let Some(length) = devices[from].read(&mut buffer).unwrap() {
                        alter(&mut buffer[..length]);
                        forwarded.packets += 1;
                        forwarded.largest = forwarded.largest.max(length);
                        forwarded.without_room +=
                            u64::from(!devices[to].write(&buffer[..length]).unwrap());
                    }
                }
            }
        });
        Forwarder { stop, thread }
    }

    fn finish(self) -> (Forwarded, [Device; 2]) {
        drop(self.stop);
        self.thread.join().unwrap()
    }
}

fn split([(sender, first), (receiver, second)]: [(Host, Device); 2]) -> (Host, Host, [Device; 2]) {
    (sender, receiver, [first, second])
}

#[test]
fn a_datagram_there_and_back() {
    for choice in BOTH {
        let Some((mut sender, mut receiver, devices)) = two(choice).map(split) else {
            continue;
        };
        let forwarder = Forwarder::start(devices, |_| {});
        ask(
            &mut sender,
            json!({"do": "udp_bind", "address": "10.66.0.1:4000"}),
        );
        ask(
            &mut receiver,
            json!({"do": "udp_bind", "address": "10.77.0.1:5000"}),
        );
        ask(
            &mut sender,
            json!({"do": "udp_send", "to": "10.77.0.1:5000", "text": "there"}),
        );
        assert_eq!(
            ask(&mut receiver, json!({"do": "udp_receive"})),
            json!(["there", "10.66.0.1:4000"])
        );
        ask(
            &mut receiver,
            json!({"do": "udp_send", "to": "10.66.0.1:4000", "text": "and back"}),
        );
        assert_eq!(
            ask(&mut sender, json!({"do": "udp_receive"})),
            json!(["and back", "10.77.0.1:5000"])
        );
        let statistics = receiver.statistics().unwrap();
        assert_eq!(
            (
                statistics[0].counters.received_packets,
                statistics[0].counters.sent_packets
            ),
            (1, 1)
        );
        assert_eq!(
            statistics.len(),
            if choice == DeviceChoice::Tun { 1 } else { 2 }
        );
        // Neither host has sent an unrequested packet.
        let expected = Forwarded {
            packets: 2,
            largest: 20 + 8 + 8,
            without_room: 0,
        };
        let (forwarded, _devices) = forwarder.finish();
        assert_eq!(forwarded, expected, "{choice:?}");
        sender.exit().unwrap();
        receiver.exit().unwrap();
    }
}

#[test]
fn damage_is_noticed_by_the_receiving_host() {
    for choice in BOTH {
        let Some((mut sender, mut receiver, devices)) = two(choice).map(split) else {
            continue;
        };
        let forwarder = Forwarder::start(devices, |packet| {
            let last = packet.len() - 1;
            if packet[last] == b'!' {
                packet[last] ^= 1;
            }
        });
        ask(
            &mut sender,
            json!({"do": "udp_bind", "address": "10.66.0.1:4000"}),
        );
        ask(
            &mut receiver,
            json!({"do": "udp_bind", "address": "10.77.0.1:5000"}),
        );
        for text in ["damaged!", "whole"] {
            ask(
                &mut sender,
                json!({"do": "udp_send", "to": "10.77.0.1:5000", "text": text}),
            );
        }
        let received = ask(&mut receiver, json!({"do": "udp_receive"}));
        assert_eq!(received[0], json!("whole"), "{choice:?}");
        forwarder.finish();
    }
}

#[test]
fn a_connection_in_packets_of_at_most_the_mtu() {
    const BYTES: u64 = 8_000_000;
    for choice in BOTH {
        let Some((mut sender, mut receiver, devices)) = two(choice).map(split) else {
            continue;
        };
        let settings = TcpSettings {
            send_buffer_max_bytes: Some(1 << 22),
            ..TcpSettings::default()
        }
        .settings();
        sender
            .configure(Configuration {
                settings,
                ..Configuration::default()
            })
            .unwrap();
        let forwarder = Forwarder::start(devices, |_| {});
        ask(
            &mut receiver,
            json!({"do": "tcp_listen", "address": "10.77.0.1:6000"}),
        );
        let sending = std::thread::scope(|scope| {
            let sending = scope.spawn(|| {
                ask(
                    &mut sender,
                    json!({"do": "tcp_send", "to": "10.77.0.1:6000", "bytes": BYTES}),
                );
            });
            assert_eq!(ask(&mut receiver, json!({"do": "tcp_count"})), json!(BYTES));
            sending.join()
        });
        sending.unwrap();
        let (forwarded, mut devices) = forwarder.finish();
        assert_eq!(forwarded.largest, 1500, "{choice:?}");
        assert!(forwarded.packets >= BYTES / 1460);
        let statistics = sender.statistics().unwrap();
        assert!(statistics[0].counters.sent_packets >= BYTES / 1460);
        let lost: Vec<u64> = devices
            .iter_mut()
            .map(|device| device.lost().unwrap())
            .collect();
        let _ = writeln!(
            io::stderr(),
            "{choice:?} as user {}: {forwarded:?}, lost {lost:?}, drops {}, discipline {:?}, {:?}",
            geteuid().as_raw(),
            statistics[0].counters.send_drops,
            statistics[0].discipline,
            devices[0].facts(),
        );
    }
}

/// A buffer written by another thread.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for Shared {}

const INTERVAL: Span = Span::from_millis(100);

/// One flow over a queue shorter than the first window, which any transfer overflows.
fn short_queue() -> Network {
    let text = r#"
schema = 1
name = "short queue"
duration = "60 s"
[[hops]]
name = "forward"
link = { kind = "constant", rate = "20 Mbit/s" }
queue = { kind = "droptail", limit = "4 packets" }
delay = "5 ms"
[[hops]]
name = "back"
link = { kind = "constant", rate = "20 Mbit/s" }
queue = { kind = "droptail", limit = "500 packets" }
delay = "5 ms"
[[flows]]
name = "main"
route = ["forward"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "reno" } }
traffic = { kind = "bulk" }
"#;
    let scenario = scenario(text);
    network::build(&scenario, &Streams::new(scenario.seed, 0))
}

/// The kernel's own TCP through the engine's hops. All data arrives, every packet is accounted for,
/// and the engine, given the same arrivals, takes the same decisions to the nanosecond. Punctuality
/// is printed, not asserted.
#[test]
fn a_connection_through_the_hops_of_a_scenario_replays() {
    const BYTES: u64 = 3_000_000;
    for choice in BOTH {
        let Some((mut sender, mut receiver, [first, second])) = two(choice).map(split) else {
            continue;
        };
        let (record, stop) = (Shared::default(), Stop::new().unwrap());
        let outputs = Outputs {
            record: Some(Box::new(record.clone())),
            ..Outputs::default()
        };
        let driver = Driver::new(short_queue(), INTERVAL, (0, 0));
        let real_time = RealTime::new(driver, (first, second), outputs).unwrap();
        ask(
            &mut receiver,
            json!({"do": "tcp_listen", "address": "10.77.0.1:6000"}),
        );
        let report = std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                // A limit in case the test fails.
                let end = Time::from_seconds(120.0);
                real_time.run(&Clock::start(), end, &stop).unwrap()
            });
            let sending = scope.spawn(|| {
                let request = json!({"do": "tcp_send", "to": "10.77.0.1:6000", "bytes": BYTES});
                ask(&mut sender, request)
            });
            assert_eq!(ask(&mut receiver, json!({"do": "tcp_count"})), json!(BYTES));
            sending.join().unwrap();
            stop.give();
            running.join().unwrap()
        });

        let (traffic, dropped) = (report.traffic, report.driver.dropped()[0].drops());
        assert_eq!(
            traffic.taken.iter().sum::<u64>(),
            traffic.written.iter().sum::<u64>()
                + traffic.not_written
                + dropped
                + report.driver.inside() as u64,
            "{choice:?}: every packet is accounted for: {traffic:?}"
        );
        assert!(
            report.driver.losses()[0].queue > 0 && dropped == report.driver.losses()[0].queue,
            "the queue overflows, and nothing else drops"
        );
        assert_eq!(
            (traffic.largest, traffic.malformed),
            (1500, 0),
            "{choice:?}"
        );
        let chunks = record.0.lock().unwrap().clone();
        let chunks = Chunks::new(&chunks[..]).unwrap();
        let replayed = replay(short_queue(), INTERVAL, Time::NEVER, chunks).unwrap();
        assert_eq!(replayed.difference, None, "{choice:?}");
        assert_eq!(
            (replayed.complete, replayed.arrivals),
            (true, traffic.taken.iter().sum())
        );
        let verdict = Verdict::of(&report.measured(0, Span::from_millis(10), 1500, None));
        let _ = writeln!(
            io::stderr(),
            "{choice:?} as user {}: {verdict}",
            geteuid().as_raw()
        );
    }
}

fn outcome<'a>(report: &'a [ReportEntry], name: &str) -> &'a KernelAnswer {
    &report
        .iter()
        .find(|entry| entry.name == name)
        .unwrap_or_else(|| panic!("{name} in {report:?}"))
        .outcome
}

#[test]
fn the_kernel_takes_what_it_knows_and_the_rest_is_reported() {
    for choice in BOTH {
        let Some((mut host, _device)) = start(choice) else {
            continue;
        };
        let tcp = TcpSettings {
            sack: Some(false),
            rack: Some(false),
            send_buffer_max_bytes: Some(64 << 20),
            ..TcpSettings::default()
        };
        let mut settings = tcp.settings();
        settings.push(("net.ipv4.tcp_no_such_thing".into(), "1".into()));
        settings.push(("net.ipv4.tcp_timestamps".into(), "perhaps".into()));
        settings.push(("kernel.hostname".into(), "elsewhere".into()));
        let metrics = Metrics {
            rto_min_ms: Some(17),
            initial_cwnd: Some(3),
            advertised_mss: Some(999),
            quick_ack: Some(true),
            congestion_control: Some("reno".into()),
        };
        let unknown = Metrics {
            congestion_control: Some("nosuchcontrol".into()),
            ..metrics.clone()
        };
        let route = |last: u8, metrics: Metrics| Route {
            destination: Ipv4Addr::new(10, 77, 0, last),
            prefix: 32,
            source: Some(SENDER),
            metrics,
        };
        let configuration = Configuration {
            settings,
            mtu_bytes: Some(9000),
            addresses: vec![SENDER, SENDER],
            routes: vec![route(1, metrics), route(2, unknown)],
        };
        let report = host.configure(configuration).unwrap();
        let accepted = |value: &str| KernelAnswer::Accepted {
            value: value.into(),
        };
        for (name, value) in [
            ("net.ipv4.tcp_sack", "0"),
            ("net.ipv4.tcp_recovery", "0"),
            ("net.ipv4.tcp_wmem", "4096 16384 67108864"),
            ("mtu_bytes", "9000"),
            ("address 10.66.0.1", "10.66.0.1/32"),
            ("route 10.77.0.1/32", "from 10.66.0.1"),
            ("route 10.77.0.1/32 rto_min_ms", "17"),
            ("route 10.77.0.1/32 initial_cwnd", "3"),
            ("route 10.77.0.1/32 advertised_mss", "999"),
            ("route 10.77.0.1/32 quick_ack", "true"),
            ("route 10.77.0.1/32 congestion_control", "reno"),
            ("route 10.77.0.2/32 rto_min_ms", "17"),
        ] {
            assert_eq!(*outcome(&report, name), accepted(value), "{name}");
        }
        assert_eq!(
            *outcome(&report, "net.ipv4.tcp_no_such_thing"),
            KernelAnswer::NotInThisKernel
        );
        for name in [
            "net.ipv4.tcp_timestamps",
            "kernel.hostname",
            "route 10.77.0.2/32 congestion_control",
        ] {
            assert!(
                matches!(outcome(&report, name), KernelAnswer::Refused { .. }),
                "{name}: {:?}",
                outcome(&report, name)
            );
        }
        let KernelAnswer::Refused { reason } = &report
            .iter()
            .filter(|entry| entry.name.starts_with("address"))
            .nth(1)
            .unwrap()
            .outcome
        else {
            panic!("the second time is refused: {report:?}")
        };
        assert!(!reason.is_empty());
        // Everything since the beginning, in order.
        let all = host.report().unwrap();
        assert_eq!(
            *outcome(&all, "net.ipv4.tcp_no_metrics_save"),
            accepted("1")
        );
        assert_eq!(all[all.len() - report.len()..], report[..]);
        host.exit().unwrap();
    }
}

/// Returns the MSS option of a SYN.
fn segment_size_of_syn(packet: &[u8]) -> Option<u16> {
    let tcp = packet.get(usize::from(packet[0] & 15) * 4..)?;
    if packet[9] != libc::IPPROTO_TCP as u8 || tcp[13] & 0x12 != 0x02 {
        return None;
    }
    let options = &tcp[20..usize::from(tcp[12] >> 4) * 4];
    (options[0] == 2).then(|| u16::from_be_bytes([options[2], options[3]])) // Linux writes it first
}

#[test]
fn metrics_of_a_route_reach_its_connections() {
    let Some((mut sender, mut receiver, devices)) = two(DeviceChoice::Automatic).map(split) else {
        return;
    };
    let (seen, sizes) = std::sync::mpsc::channel();
    let forwarder = Forwarder::start(devices, move |packet| {
        if let Some(size) = segment_size_of_syn(packet) {
            seen.send(size).unwrap();
        }
    });
    ask(
        &mut receiver,
        json!({"do": "tcp_listen", "address": "10.77.0.1:6000"}),
    );
    let controls: Vec<String> = ["reno", "cubic"].map(String::from).into();
    for (name, outcome) in sender.congestion_controls(&controls).unwrap() {
        if outcome
            != (KernelAnswer::Accepted {
                value: name.clone(),
            })
        {
            skip(&format!("this kernel has no {name}"));
            continue;
        }
        let size = 500 + name.len() as u32;
        let metrics = Metrics {
            advertised_mss: Some(size),
            congestion_control: Some(name.clone()),
            ..Metrics::default()
        };
        let route = Route {
            destination: RECEIVER,
            prefix: 32,
            source: Some(SENDER),
            metrics,
        };
        // Replaces the existing route.
        let report = sender
            .configure(Configuration {
                routes: vec![route],
                ..Configuration::default()
            })
            .unwrap();
        assert!(
            report.len() == 3 && report.iter().all(ReportEntry::is_as_asked),
            "{report:?}"
        );
        std::thread::scope(|scope| {
            let sending = scope.spawn(|| {
                ask(
                    &mut sender,
                    json!({"do": "tcp_send", "to": "10.77.0.1:6000", "bytes": 5000}),
                )
            });
            assert_eq!(ask(&mut receiver, json!({"do": "tcp_count"})), json!(5000));
            assert_eq!(sending.join().unwrap(), json!(name));
        });
        // All packets that the sender sent before its data have passed by now; on a slow machine a
        // SYN is retransmitted.
        let of_syns: BTreeSet<u32> = sizes.try_iter().map(u32::from).collect();
        assert_eq!(of_syns, BTreeSet::from([size]));
    }
    forwarder.finish();
}

#[test]
fn a_host_is_alone_in_its_namespaces() {
    for choice in BOTH {
        let Some((mut host, device)) = start(choice) else {
            continue;
        };
        let kind = if choice == DeviceChoice::Tun {
            DeviceKind::Tun
        } else {
            DeviceKind::PacketSocket
        };
        assert_eq!(device.facts().kind, kind);
        assert_eq!(host.facts().device, *device.facts());
        assert_eq!(host.facts().tun_refused, None);
        assert_eq!(host.facts().user_namespace, geteuid().as_raw() != 0);
        assert!(host.facts().no_new_privileges);
        assert_eq!(ask(&mut host, json!({"do": "process_id"})), json!(1));
        let list = ask(&mut host, json!({"do": "interfaces"}));
        let names: BTreeSet<&str> = list
            .as_str()
            .unwrap()
            .lines()
            .filter_map(|line| Some(line.split_once(':')?.0.trim()))
            .collect();
        assert!(
            names.contains("lo") && names.contains(device::NAME) && !names.contains("emulator"),
            "{names:?}"
        );
        let controls = host
            .congestion_controls(&["reno".into(), "nosuchcontrol".into()])
            .unwrap();
        assert_eq!(
            controls[0].1,
            KernelAnswer::Accepted {
                value: "reno".into()
            }
        );
        assert_eq!(controls[1].1, KernelAnswer::NotInThisKernel);
        let refused = host.call(json!({"do": "magic"}), None).unwrap_err();
        assert!(
            matches!(&refused, HostError::Failed(reason) if reason.contains("magic")),
            "{refused}"
        );
        host.exit().unwrap();
    }
}

#[test]
fn a_tun_interface_goes_with_its_descriptor() {
    let Some((mut host, device)) = start(DeviceChoice::Tun) else {
        return;
    };
    assert_eq!(host.statistics().unwrap()[0].name, device::NAME);
    drop(device);
    let error = host.statistics().unwrap_err();
    assert!(
        matches!(&error, HostError::Failed(reason) if reason.contains("No such device")),
        "{error}"
    );
    host.exit().unwrap();
}

#[test]
fn the_first_process_reaps_what_others_leave() {
    let Some((mut host, _device)) = start(DeviceChoice::Automatic) else {
        return;
    };
    let child = ask(&mut host, json!({"do": "leave_child"}));
    assert!(child.as_i64().unwrap() > 1);
    let children = host.call(json!({"do": "count_children"}), None);
    if let Err(HostError::Failed(reason)) = children {
        return skip(&format!("this kernel does not list children: {reason}"));
    }
    // With each answer the host reaps children that have ended. If a child is never reaped, this
    // loops for ever.
    while ask(&mut host, json!({"do": "count_children"})) != json!(0) {
        std::thread::yield_now();
    }
    host.exit().unwrap();
}

#[test]
fn a_program_that_is_no_host_is_refused() {
    for (program, argument) in [("/does/not/exist", ""), ("true", ""), ("sleep", "0")] {
        let program = HostProgram {
            program: program.into(),
            arguments: vec![argument.into()],
        };
        let error = Host::start(&program, DeviceChoice::Automatic).unwrap_err();
        let HostError::Refused(refusal) = &error else {
            panic!("{error}");
        };
        assert!(refusal.reason.contains("did not start"), "{error}");
    }
}

#[test]
fn a_host_without_supervisor_says_what_it_is() {
    let output = Command::new(program("host").program)
        .arg("host")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("ackclock starts it by itself")
    );
}

/// A process is in a user, a network and a PID namespace, and its children are in a PID namespace.
const NAMESPACES: [&str; 4] = ["user", "net", "pid", "pid_for_children"];

/// Returns the namespaces of a process.
fn namespaces(process: &str) -> BTreeSet<PathBuf> {
    NAMESPACES
        .iter()
        .filter_map(|kind| fs::read_link(format!("/proc/{process}/ns/{kind}")).ok())
        .collect()
}

/// True if a process has ended and only its status remains, for the system's init to reap.
fn has_ended(process: &str) -> bool {
    // proc_pid_stat(5): id, name in parentheses, state.
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    status
        .rsplit(") ")
        .next()
        .is_none_or(|rest| rest.starts_with(['Z', 'X']))
}

/// Returns all processes that are in one of these namespaces.
fn inhabitants(of: &BTreeSet<PathBuf>) -> Vec<String> {
    let processes = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    processes
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|name| !namespaces(name).is_disjoint(of) && !has_ended(name))
        .collect()
}

fn handle_of(process: &str) -> OwnedFd {
    pidfd_open(
        Pid::from_raw(process.parse().unwrap()).unwrap(),
        PidfdFlags::empty(),
    )
    .unwrap()
}

fn wait_for_end(process: &OwnedFd) {
    let ended = poll(
        &mut [PollFd::new(&process.as_fd(), PollFlags::IN)],
        Some(&PATIENCE),
    )
    .unwrap();
    assert_eq!(ended, 1, "a process has not ended");
}

/// A supervisor in a process of its own, with two hosts.
struct Supervised {
    supervisor: Child,
    stdout: BufReader<std::process::ChildStdout>,
    /// Ids of the started process and of the first process, of each host.
    hosts: Vec<[i32; 2]>,
    namespaces: [BTreeSet<PathBuf>; 2],
    /// Keeps the kernel from reusing the numbers of these namespaces for another test's host as
    /// soon as they are empty.
    _held: Vec<File>,
}

impl Supervised {
    fn start(choice: DeviceChoice) -> Supervised {
        let mut supervisor = Command::new(program("host").program)
            .args([
                "supervise",
                serde_json::to_value(choice).unwrap().as_str().unwrap(),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(supervisor.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let hosts: Vec<[i32; 2]> = serde_json::from_str(&line).unwrap();
        let held = hosts.iter().flatten().flat_map(|id| {
            NAMESPACES
                .iter()
                .map(move |kind| File::open(format!("/proc/{id}/ns/{kind}")).unwrap())
        });
        let held = held.collect();
        let own = namespaces("self");
        let namespaces = [0, 1].map(|host: usize| {
            let all = hosts[host]
                .iter()
                .flat_map(|id| namespaces(&id.to_string()));
            all.filter(|namespace| !own.contains(namespace)).collect()
        });
        Supervised {
            supervisor,
            stdout,
            hosts,
            namespaces,
            _held: held,
        }
    }

    fn answers(&mut self) -> Vec<String> {
        self.supervisor
            .stdin
            .as_mut()
            .unwrap()
            .write_all(b"?\n")
            .unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        let _ = self.supervisor.kill();
        let _ = self.supervisor.wait();
    }
}

#[derive(Clone, Copy, Debug)]
enum Victim {
    Nobody,
    Supervisor,
    StartedProcess,
    FirstProcess,
}

/// Starts two hosts with an orphan each and kills one process. Everything that depends on it must
/// be gone, and everything else when the supervisor ends.
fn nothing_is_left_after(victim: Victim, choice: DeviceChoice) {
    let mut supervised = Supervised::start(choice);
    // PID, network, perhaps that of a pair's other end, and perhaps user.
    let count = 2
        + usize::from(choice == DeviceChoice::PacketSocket)
        + usize::from(geteuid().as_raw() != 0);
    for host in &supervised.namespaces {
        assert_eq!(host.len(), count, "{host:?}");
        // The started process, the first process, the orphan.
        assert_eq!(inhabitants(host).len(), 3, "{choice:?}");
    }
    let handles = supervised.namespaces.clone().map(|host| {
        inhabitants(&host)
            .iter()
            .map(|id| handle_of(id))
            .collect::<Vec<_>>()
    });
    let kill = |id: i32| kill_process(Pid::from_raw(id).unwrap(), Signal::KILL).unwrap();
    let [started, first] = supervised.hosts[0];
    match victim {
        Victim::Nobody => assert_eq!(supervised.answers(), ["here", "here"]),
        Victim::Supervisor => kill(supervised.supervisor.id().cast_signed()),
        Victim::StartedProcess => kill(started),
        Victim::FirstProcess => kill(first),
    }
    if matches!(victim, Victim::StartedProcess | Victim::FirstProcess) {
        handles[0].iter().for_each(wait_for_end);
        assert_eq!(
            inhabitants(&supervised.namespaces[0]),
            [""; 0],
            "{victim:?} {choice:?}"
        );
        assert_eq!(supervised.answers(), ["the host has ended", "here"]);
    }
    drop(supervised.supervisor.stdin.take());
    let status = supervised.supervisor.wait().unwrap();
    assert_eq!(
        status.success(),
        matches!(victim, Victim::Nobody),
        "{victim:?}"
    );
    handles.iter().flatten().for_each(wait_for_end);
    for host in &supervised.namespaces {
        assert_eq!(inhabitants(host), [""; 0], "{victim:?} {choice:?}");
    }
    let interfaces = fs::read_to_string("/proc/self/net/dev").unwrap();
    assert!(
        !interfaces.contains(device::NAME) && !interfaces.contains("emulator"),
        "{interfaces}"
    );
}

#[test]
fn nothing_is_left_whatever_is_killed() {
    for choice in BOTH {
        if start(choice).is_none() {
            continue;
        }
        for victim in [
            Victim::Nobody,
            Victim::Supervisor,
            Victim::StartedProcess,
            Victim::FirstProcess,
        ] {
            nothing_is_left_after(victim, choice);
        }
    }
}

#[test]
fn a_host_that_was_killed_is_noticed_and_its_device_stays_silent() {
    for choice in BOTH {
        let Some((mut host, device)) = start(choice) else {
            continue;
        };
        let first_process = Pid::from_raw(host.first_process_id()).unwrap();
        let mut polled = [PollFd::new(&host, PollFlags::IN)];
        assert_eq!(
            poll(&mut polled, Some(&Timespec::default())).unwrap(),
            0,
            "it says something unasked"
        );
        kill_process(first_process, Signal::KILL).unwrap();
        let mut polled = [PollFd::new(&host, PollFlags::IN)];
        assert_eq!(poll(&mut polled, Some(&PATIENCE)).unwrap(), 1);
        let error = host.statistics().unwrap_err();
        assert_eq!(error.to_string(), "the host has ended");
        // The device keeps the namespace alive without any process in it.
        assert_eq!(device.read(&mut [0; 2000]).unwrap(), None);
    }
}

/// A host whose TUN node is another device, in a mount namespace of its own.
#[test]
fn without_the_tun_node_a_packet_socket_does() {
    let script = "mount --bind /dev/null /dev/net/tun && exec \"$0\" host";
    let namespaces = if geteuid().as_raw() == 0 {
        "--mount"
    } else {
        "--map-root-user --mount"
    };
    let arguments = [namespaces.split(' ').collect(), vec!["sh", "-c", script]].concat();
    let program = HostProgram {
        program: "unshare".into(),
        arguments: arguments
            .into_iter()
            .map(Into::into)
            .chain([program("host").program.into()])
            .collect(),
    };
    let (host, device) = match Host::start(&program, DeviceChoice::Automatic) {
        Err(HostError::Refused(refusal)) if refusal.step == Step::Program => {
            return skip(&format!("the TUN node cannot be hidden: {refusal}"));
        }
        started => started.unwrap(),
    };
    assert_eq!(device.facts().kind, DeviceKind::PacketSocket);
    let reason = host.facts().tun_refused.clone().unwrap();
    assert!(
        reason.starts_with("/dev/net/tun gives no interface ("),
        "{reason}"
    );
    host.exit().unwrap();
    let error = Host::start(&program, DeviceChoice::Tun).unwrap_err();
    assert!(
        matches!(&error, HostError::Refused(refusal) if refusal.step == Step::Device),
        "{error}"
    );
}
