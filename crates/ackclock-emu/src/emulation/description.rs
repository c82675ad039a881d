//! Configuration of the two hosts for a scenario: addresses, routes, kernel settings. Lists the
//! parameters that the kernel does not take from a scenario.

use crate::addresses::{self, MOST_FLOWS};
use crate::netlink::{Metrics, Route};
use crate::protocol::Configuration;
use crate::settings::{EcnSetting, Setting, TcpSettings};
use crate::workload::{UDP_HEADER_BYTES, header_bytes, sends_timestamps};
use ackclock_core::congestion::ControlKind;
use ackclock_core::datagram::DatagramParameters;
use ackclock_core::endpoint::TcpParameters;
use ackclock_core::endpoint::parameters::{
    DelayedAck, EcnFeedback, IdleRestart, LossRecovery, Pacing, Preset, RttSampling,
};
use ackclock_core::transport::quic::LONGEST_DATAGRAM;
use ackclock_core::transport::{Quic, Tcp, Udp};
use ackclock_scenario::network::Instance;
use ackclock_scenario::{FlowDescription, Scenario};
use ackclock_spec::error::{Code, Error};
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::choose;
use ackclock_spec::units::{Bytes, Span};
use ackclock_transport::wire::{Acknowledgement, Data, LONGEST, LONGEST_PAYLOAD, Report};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Largest socket buffer: more than any window needs in a scenario for one machine.
const BUFFER_BYTES: u64 = 64 << 20;
/// Least MTU used: the kernel does not accept a path MTU below net.ipv4.route.min_pmtu, 552.
const LEAST_MTU: u64 = 576;
/// Largest IPv4 packet in bytes.
const MOST_MTU: u64 = 65_535;

/// Configuration of the hosts, and its limits.
#[derive(Clone, Debug)]
pub struct Description {
    /// Configuration of the sending host.
    pub senders: Configuration,
    /// Configuration of the receiving host.
    pub receivers: Configuration,
    /// Largest packet in bytes.
    pub mtu: u32,
    /// Parameters in which the kernel differs from the scenario.
    pub different: Vec<Different>,
}

/// A parameter that the kernel does not take from a scenario.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Different {
    /// Path in the scenario, such as `flows.main.transport.rto_initial`.
    pub name: String,
    /// Value in the scenario.
    pub asked: String,
    /// Behaviour of the kernel.
    pub reason: String,
}

impl Description {
    /// Describes the hosts for a scenario, with an address at either end for each flow instance of
    /// a run.
    ///
    /// # Errors
    /// Anything that no host on any machine can do.
    pub fn of(scenario: &Scenario, instances: &[Instance]) -> Result<Self, Error> {
        if instances.len() > MOST_FLOWS as usize {
            let remedy = format!(
                "flow instances are too many for an emulation; the most is {MOST_FLOWS} in all"
            );
            return Err(Error::new("flows", &json!(instances.len()), &remedy));
        }
        if let Some(medium) = scenario.media.first() {
            let remedy = "is a shared medium, which cannot be emulated; run ackclock simulate, or \
                emulate measured rates with a link of kind \"trace\"";
            let name = format!("shared_media.{}", medium.name);
            return Err(
                Error::new(&name, &medium.medium.resolved["kind"], remedy).coded(Code::Unsupported)
            );
        }
        let mut mtu = LEAST_MTU;
        for flow in &scenario.flows {
            check_control(flow)?;
            check_stack(flow)?;
            check_traffic(flow)?;
            mtu = mtu.max(largest_packet(flow)?);
        }
        let settings = settings_of(scenario);
        let sides = (0..).zip(instances).map(|(position, instance)| {
            let (metrics, back) = metrics_of(&scenario.flows[instance.group as usize]);
            let (sender, receiver) = (addresses::sender(position), addresses::receiver(position));
            (
                route(receiver, sender, metrics),
                route(sender, receiver, back),
            )
        });
        let (forward, back): (Vec<Route>, Vec<Route>) = sides.unzip();
        let configuration = |routes: Vec<Route>| Configuration {
            settings: settings.clone(),
            mtu_bytes: Some(mtu as u32),
            addresses: routes.iter().filter_map(|route| route.source).collect(),
            routes,
        };
        Ok(Description {
            senders: configuration(forward),
            receivers: configuration(back),
            mtu: mtu as u32,
            different: different(scenario),
        })
    }
}

fn route(destination: std::net::Ipv4Addr, source: std::net::Ipv4Addr, metrics: Metrics) -> Route {
    Route {
        destination,
        prefix: 32,
        source: Some(source),
        metrics,
    }
}

/// Refuses a congestion control that is not known to be in Linux.
fn check_control(flow: &FlowDescription) -> Result<(), Error> {
    let Some(Tcp { control, .. }) = flow.transport.parameters() else {
        return Ok(());
    };
    if control.facts.linux.is_some() {
        return Ok(());
    }
    let remedy = "states no control of Linux; run ackclock simulate, or name a control of the \
        kernel: control = { kind = \"kernel\", name = \"cubic\" }";
    let field = format!("flows.{}.transport.control", flow.name);
    Err(Error::new(&field, &control.name.into(), remedy).coded(Code::Unsupported))
}

/// Refuses an implementation of a transport that is not here, and a control inside it that needs a
/// file, which no host reads.
fn check_stack(flow: &FlowDescription) -> Result<(), Error> {
    let Some(quic) = flow.transport.parameters::<Quic>() else {
        return Ok(());
    };
    let field = format!("flows.{}.transport", flow.name);
    if let Some(error) = flow.transport.refusal() {
        return Err(error.within(&field));
    }
    let reads_no_file = || choose::<ControlKind>(&quic.control, &NoFiles).is_ok();
    if quic.ours.is_none() || reads_no_file() {
        return Ok(());
    }
    let remedy = "needs a file, which the hosts of an emulation do not read; run ackclock simulate";
    let error = Error::new("control.kind", &quic.control["kind"], remedy);
    Err(error.coded(Code::Unsupported).within(&field))
}

/// Refuses traffic that a client asks for: the receiving host only reads.
fn check_traffic(flow: &FlowDescription) -> Result<(), Error> {
    if flow.traffic.facts.closed_loop != Some(true) {
        return Ok(());
    }
    let remedy = "is a closed loop, which emulations do not run yet; run ackclock simulate, or \
        choose traffic that nobody asks for, for example kind \"transfer\" with arrivals";
    let field = format!("flows.{}.traffic.kind", flow.name);
    Err(Error::new(&field, &flow.traffic.name.into(), remedy).coded(Code::Unsupported))
}

/// Returns the length of the IP packet of a full segment or datagram, in bytes.
fn largest_packet(flow: &FlowDescription) -> Result<u64, Error> {
    let chosen = &flow.transport;
    let parameters = (
        chosen.parameters(),
        chosen.parameters(),
        chosen.parameters(),
    );
    let (payload, header) = match parameters {
        (Some(Tcp { parameters, .. }), _, _) => {
            (parameters.connection.mss, header_bytes(parameters))
        }
        (_, Some(Udp::Plain(plain)), _) => (plain.mss, plain.header.0),
        (_, Some(Udp::Controlled { parameters, .. }), _) => {
            return session_packet(flow, parameters.mss);
        }
        (_, _, Some(Quic { .. })) => (Bytes(LONGEST_DATAGRAM), UDP_HEADER_BYTES),
        (None, None, None) => {
            let remedy = "cannot be emulated; run ackclock simulate";
            let field = format!("flows.{}.transport.kind", flow.name);
            let error = Error::new(&field, &flow.transport.name.into(), remedy);
            return Err(error.coded(Code::Unsupported));
        }
    };
    let bytes = payload.0.saturating_add(header);
    if bytes <= MOST_MTU {
        return Ok(bytes);
    }
    let remedy = format!(
        "and its header exceed an IPv4 packet of {MOST_MTU} bytes; for example \"1448 bytes\""
    );
    Err(wrong_mss(flow, payload, &remedy))
}

/// Returns the length of the longest packet of a session. The datagram that opens one is as long as
/// any in it (no amplification), whatever its payload.
fn session_packet(flow: &FlowDescription, mss: Bytes) -> Result<u64, Error> {
    if mss.0 <= LONGEST_PAYLOAD as u64 {
        return Ok(LONGEST as u64 + UDP_HEADER_BYTES);
    }
    let remedy =
        format!("is too large for this transport; the most is \"{LONGEST_PAYLOAD} bytes\"");
    Err(wrong_mss(flow, mss, &remedy))
}

fn wrong_mss(flow: &FlowDescription, mss: Bytes, remedy: &str) -> Error {
    Error::new(
        &format!("flows.{}.transport.mss", flow.name),
        &json!(mss),
        remedy,
    )
}

/// Returns the bytes around the payload of a full packet of a session, including IP and UDP
/// headers.
fn session_header(mss: Bytes) -> Bytes {
    Bytes(Data::length(mss.0 as usize) as u64 + UDP_HEADER_BYTES - mss.0)
}

/// Yields the TCP flows with their parameters.
fn tcp_flows(
    scenario: &Scenario,
) -> impl Iterator<Item = (usize, &FlowDescription, &TcpParameters)> {
    let flows = scenario.flows.iter().enumerate();
    flows.filter_map(|(number, flow)| {
        let tcp: &Tcp = flow.transport.parameters()?;
        Some((number, flow, &*tcp.parameters))
    })
}

/// Returns the settings of a whole host, which follow the first TCP flow.
fn settings_of(scenario: &Scenario) -> Vec<Setting> {
    let first = tcp_flows(scenario).next();
    let mut settings = first.map_or_else(TcpSettings::default, |(_, _, parameters)| {
        tcp_settings(parameters)
    });
    settings.receive_buffer_max_bytes = Some(BUFFER_BYTES);
    settings.send_buffer_max_bytes = Some(BUFFER_BYTES);
    settings.settings()
}

/// Reordering threshold for flows without fast retransmit. Duplicate ACKs are hidden from their
/// sockets; where the kernel refuses that, so many duplicates indicate the first loss. The kernel
/// refuses higher values (`tcp_max_reordering`).
const NO_FAST_RETRANSMIT: u32 = 300;

fn tcp_settings(parameters: &TcpParameters) -> TcpSettings {
    TcpSettings {
        sack: Some(parameters.recovery.uses_sack()),
        timestamps: Some(sends_timestamps(parameters)),
        ecn: Some(match (parameters.ecn.enabled, parameters.ecn.feedback) {
            (false, _) => EcnSetting::Off,
            (true, EcnFeedback::Accurate) => EcnSetting::Accurate,
            (true, _) => EcnSetting::Classic,
        }),
        reordering_segments: Some(match parameters.recovery.algorithm {
            LossRecovery::TimeoutOnly => NO_FAST_RETRANSMIT,
            _ => parameters.recovery.duplicate_threshold.0,
        }),
        slow_start_after_idle: Some(parameters.growth.idle_restart != IdleRestart::Off),
        duplicate_sack: Some(parameters.receiver.duplicate_sack),
        rack: Some(parameters.recovery.algorithm == LossRecovery::Rack),
        tail_loss_probe: Some(parameters.recovery.tail_loss_probe),
        frto: Some(parameters.recovery.forward_rto),
        ..TcpSettings::default()
    }
}

/// Returns the metrics of the route to a flow's receiver, and of the return route.
fn metrics_of(flow: &FlowDescription) -> (Metrics, Metrics) {
    let Some(Tcp { parameters, .. }) = flow.transport.parameters() else {
        return Default::default();
    };
    let millis = |span: Span| span.as_nanos().div_ceil(1_000_000);
    let forward = Metrics {
        rto_min_ms: u32::try_from(millis(parameters.timer.rto_minimum))
            .ok()
            .filter(|least| *least > 0),
        initial_cwnd: Some(parameters.growth.initial_window.0),
        ..Metrics::default()
    };
    let back = Metrics {
        quick_ack: acknowledges_each(parameters).then_some(true),
        ..Metrics::default()
    };
    (forward, back)
}

fn acknowledges_each(parameters: &TcpParameters) -> bool {
    parameters.receiver.delayed_ack.every.0 <= 1
}

/// Parameters that a host takes as they are, or that the rules below judge.
const TAKEN: [&str; 19] = [
    "mss",
    "header",
    "initial_window",
    "receive_window",
    "read_rate",
    "recovery",
    "sack",
    "tail_loss_probe",
    "longest_ack_delay",
    "forward_rto",
    "duplicate_sack",
    "duplicate_threshold",
    "delayed_ack",
    "rtt_sampling",
    "rto_minimum",
    "idle_restart",
    "pacing",
    "ecn",
    "tcp_ecn",
];

/// Parameters that a control of the kernel sets by itself if it needs ECN.
const OF_ECN: [&str; 2] = ["ecn_codepoint", "ecn_feedback"];

/// True if the kernel has the flow's control, which brings the ECN that it asks for.
fn brings_ecn(flow: &FlowDescription) -> bool {
    let Some(Tcp {
        control,
        parameters,
        ..
    }) = flow.transport.parameters()
    else {
        return false;
    };
    let is_in_linux = control.facts.linux.is_some();
    let asked = control.facts.ecn.some().filter(|_| is_in_linux);
    asked.is_some_and(|asked| {
        asked.codepoint == parameters.ecn.codepoint && asked.feedback == parameters.ecn.feedback
    })
}

/// Returns the parameters in which the kernel differs from the scenario, each once.
fn different(scenario: &Scenario) -> Vec<Different> {
    let mut differences = BTreeSet::new();
    let first = tcp_flows(scenario).next();
    for (number, flow, parameters) in tcp_flows(scenario) {
        let note = |name: &str, asked: &Value, reason: &str| Different {
            name: format!("flows.{}.transport.{name}", flow.name),
            asked: asked
                .as_str()
                .map_or_else(|| asked.to_string(), str::to_owned),
            reason: reason.into(),
        };
        differences.extend(of_parameters(parameters, brings_ecn(flow), &note));
        differences.extend(of_control(flow, &note));
        if let Some((_, name, others)) = first
            && tcp_settings(parameters) != tcp_settings(others)
        {
            let reason = format!(
                "SACK, timestamps, ECN and RACK are set for the whole host, as in flow {}",
                name.name
            );
            differences.insert(note(
                "preset",
                &scenario.resolved["flows"][number]["transport"]["preset"],
                &reason,
            ));
        }
    }
    for flow in &scenario.flows {
        if let Some(Udp::Controlled { parameters, .. }) = flow.transport.parameters() {
            differences.extend(of_session(&flow.name, parameters));
        }
        if let Some(quic) = flow.transport.parameters::<Quic>() {
            let sent = Bytes(UDP_HEADER_BYTES);
            let reason = format!("the kernel's has {UDP_HEADER_BYTES} bytes");
            let differs = quic.header != sent;
            differences.extend(differs.then(|| of_size(&flow.name, "header", quic.header, reason)));
        }
    }
    differences.into_iter().collect()
}

/// Returns the differences of a session; its wire format determines the packet lengths.
fn of_session(flow: &str, parameters: &DatagramParameters) -> Vec<Different> {
    let note = |name, asked, reason| of_size(flow, name, asked, reason);
    let header = session_header(parameters.mss);
    let answers =
        [Acknowledgement::LENGTH, Report::LENGTH].map(|length| length as u64 + UDP_HEADER_BYTES);
    let mut differences = Vec::new();
    if parameters.header != header {
        differences.push(note(
            "header",
            parameters.header,
            format!("the transport's has {} bytes", header.0),
        ));
    }
    if !answers.contains(&parameters.feedback_size.0) {
        let [plain, report] = answers;
        let reason = format!("the transport's feedback has {plain} bytes, {report} with a report");
        differences.push(note("feedback_size", parameters.feedback_size, reason));
    }
    differences
}

/// Returns the difference of a number of bytes.
fn of_size(flow: &str, name: &str, Bytes(asked): Bytes, reason: String) -> Different {
    Different {
        name: format!("flows.{flow}.transport.{name}"),
        asked: format!("{asked} bytes"),
        reason,
    }
}

/// Returns the differences in the parameters of one flow.
fn of_parameters(
    parameters: &TcpParameters,
    brings_ecn: bool,
    note: &impl Fn(&str, &Value, &str) -> Different,
) -> Vec<Different> {
    let linux = Preset::Linux.parameters();
    let (given, kernel) = (json!(parameters), json!(linux));
    let mut differences = Vec::new();
    for (name, value) in given.as_object().into_iter().flatten() {
        let taken = TAKEN.contains(&name.as_str()) || brings_ecn && OF_ECN.contains(&name.as_str());
        if !taken && *value != kernel[name] {
            differences.push(note(name, value, "the kernel has its own way"));
        }
    }
    let mut judge = |name: &str, differs: bool, reason: String| {
        if differs {
            differences.push(note(name, &given[name], &reason));
        }
    };
    let header = header_bytes(parameters);
    judge(
        "header",
        parameters.connection.header != Bytes(header),
        format!("the kernel's has {header} bytes"),
    );
    let recovery = match parameters.recovery.algorithm {
        LossRecovery::Tahoe | LossRecovery::Reno => "without SACK the kernel recovers as NewReno",
        LossRecovery::Sack => "from Linux 6.17 on, the kernel detects losses by time all the same",
        _ => "",
    };
    judge("recovery", !recovery.is_empty(), recovery.into());
    let sampling = parameters.timer.rtt_sampling == RttSampling::OncePerRoundTrip;
    judge(
        "rtt_sampling",
        sampling,
        "the kernel measures at every ACK".into(),
    );
    let probes = parameters.recovery.tail_loss_probe;
    judge(
        "longest_ack_delay",
        probes && parameters.recovery.longest_ack_delay != parameters.timer.rto_minimum,
        "in the kernel it is rto_minimum".into(),
    );
    let restart = parameters.growth.idle_restart == IdleRestart::InitialWindow;
    judge(
        "idle_restart",
        restart,
        "the kernel decays the window".into(),
    );
    let pacing = parameters.sending.pacing == Pacing::Off;
    judge(
        "pacing",
        pacing,
        "the kernel paces if the control gives a rate".into(),
    );
    let others = DelayedAck {
        every: linux.receiver.delayed_ack.every,
        ..parameters.receiver.delayed_ack
    };
    let delayed = !acknowledges_each(parameters)
        && (parameters.receiver.delayed_ack != others || others != linux.receiver.delayed_ack);
    judge(
        "delayed_ack",
        delayed,
        "the kernel delays ACKs in its own way".into(),
    );
    differences
}

/// Returns the differences in its congestion control: a socket takes a name, but no parameters, and
/// the kernel's control may have other rules.
fn of_control(
    flow: &FlowDescription,
    note: &impl Fn(&str, &Value, &str) -> Different,
) -> Vec<Different> {
    let Some(Tcp { control, .. }) = flow.transport.parameters() else {
        return Vec::new();
    };
    let linux = control.facts.linux.some();
    let differences = linux.into_iter().flat_map(|linux| &linux.differences);
    let rules = linux.into_iter().flat_map(|linux| &linux.other_rules);
    let differences = differences.map(|name| {
        note(
            &format!("control.{name}"),
            &control.resolved[name],
            "the kernel's control has its own parameters",
        )
    });
    let kind = Value::from(control.name);
    let rules = rules.map(|rule| note("control.kind", &kind, &format!("in the kernel, {rule}")));
    differences.chain(rules).collect()
}

/// Returns the shortest round trip that the delays allow, over all flows with a return route. In a
/// scenario without one, returns the shortest one-way delay.
pub(super) fn base_rtt(scenario: &Scenario) -> Span {
    let along = |route: &[usize]| {
        let delays = route.iter().map(|hop| scenario.hops[*hop].delay);
        delays.fold(Span::ZERO, |sum, delay| sum + delay)
    };
    let shortest = |with_return: bool| {
        let flows = scenario
            .flows
            .iter()
            .filter(|flow| !with_return || !flow.return_route.is_empty());
        let trips = flows
            .map(|flow| flow.access_delay.low + along(&flow.route) + along(&flow.return_route));
        trips.min()
    };
    shortest(true).or(shortest(false)).unwrap_or(Span::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_scenario::network::instances;
    use ackclock_scenario::tree;
    use ackclock_spec::streams::Streams;

    fn scenario(flows: &str) -> Scenario {
        let text = format!(
            r#"
schema = 1
name = "delays"
duration = "1 s"
[[hops]]
name = "there"
link = {{ kind = "constant", rate = "1 Gbit/s" }}
queue = {{ kind = "droptail", limit = "10 packets" }}
delay = "10 ms"
[[hops]]
name = "back"
link = {{ kind = "constant", rate = "1 Gbit/s" }}
queue = {{ kind = "droptail", limit = "10 packets" }}
delay = "7 ms"
{flows}"#
        );
        Scenario::from_tree(&tree::from_toml(&text).unwrap(), &NoFiles).unwrap()
    }

    const ONE_WAY: &str = r#"
[[flows]]
name = "voice"
route = ["there"]
transport = { kind = "udp", mss = "160 bytes" }
traffic = { kind = "cbr", rate = "64 kbit/s" }
"#;
    const BOTH_WAYS: &str = r#"
[[flows]]
name = "bulk"
count = 2
route = ["there"]
return = ["back"]
access_delay = ["1 ms", "5 ms"]
transport.kind = "tcp"
transport.control = { kind = "reno" }
transport.preset = "rfc"
transport.initial_window = "4 segments"
"#;

    fn of(scenario: &Scenario) -> Result<Description, Error> {
        Description::of(scenario, &instances(scenario, &Streams::new(1, 0)))
    }

    #[test]
    fn a_round_trip_has_two_ways() {
        let both = scenario(&format!("{ONE_WAY}{BOTH_WAYS}"));
        assert_eq!(base_rtt(&both), Span::from_millis(18));
        assert_eq!(base_rtt(&scenario(ONE_WAY)), Span::from_millis(10));
        assert_eq!(base_rtt(&scenario("")), Span::ZERO);
    }

    #[test]
    fn a_control_must_be_known_to_be_in_linux() {
        let with = |control: &str| of(&scenario(&BOTH_WAYS.replace("\"reno\"", control)));
        assert!(with("\"vegas\"").is_ok());
        let refused = with("\"copa\"").unwrap_err();
        assert_eq!(refused.key(), "unsupported flows.bulk.transport.control");
    }

    #[test]
    fn each_instance_has_its_addresses_and_metrics() {
        let scenario = scenario(&format!("{ONE_WAY}{BOTH_WAYS}"));
        let description = of(&scenario).unwrap();
        assert_eq!(description.mtu, 1500);
        let sender = &description.senders;
        assert_eq!(sender.addresses.len(), 3);
        let initial = sender.routes.iter().map(|route| route.metrics.initial_cwnd);
        assert_eq!(initial.collect::<Vec<_>>(), [None, Some(4), Some(4)]);
        assert_eq!(
            sender.routes[2].destination,
            description.receivers.addresses[2]
        );
        // A route takes the initial window; nothing takes the largest timeout.
        let names: Vec<&str> = description
            .different
            .iter()
            .map(|parameter| parameter.name.as_str())
            .collect();
        assert!(
            names.contains(&"flows.bulk.transport.rto_maximum"),
            "{names:?}"
        );
        assert!(
            !names.iter().any(|name| name.ends_with("initial_window")),
            "{names:?}"
        );
    }

    #[test]
    fn without_fast_retransmit_the_kernel_is_told_to_wait_for_the_timer_as_long_as_it_can() {
        let text = BOTH_WAYS.replace(
            "preset = \"rfc\"\ntransport.initial_window = \"4 segments\"",
            "preset = \"jacobson1988\"",
        );
        let description = of(&scenario(&text)).unwrap();
        let settings = &description.senders.settings;
        let reordering = settings
            .iter()
            .find(|(name, _)| name == "net.ipv4.tcp_reordering");
        assert_eq!(reordering.map(|(_, value)| value.as_str()), Some("300"));
        let differs = |ending: &str| {
            description
                .different
                .iter()
                .any(|parameter| parameter.name.ends_with(ending))
        };
        assert!(!differs("transport.recovery"), "its sockets see to it");
        assert!(differs("transport.rto_maximum"));
    }

    #[test]
    fn the_longest_delay_of_an_ack_is_the_smallest_timeout_in_the_kernel() {
        let differs = |preset: &str| {
            let text = BOTH_WAYS.replace("preset = \"rfc\"", preset);
            let description = of(&scenario(&text)).unwrap();
            let mut names = description
                .different
                .iter()
                .map(|different| &different.name);
            names.any(|name| name.ends_with("longest_ack_delay"))
        };
        assert!(!differs(
            "preset = \"linux\"\ntransport.rto_minimum = \"100 ms\""
        ));
        assert!(differs("preset = \"rfc-modern\""));
    }

    #[test]
    fn westwood_of_linux_is_what_the_kernel_does_and_that_of_the_papers_is_not() {
        let different = |control: &str| {
            let text = BOTH_WAYS.replace(r#"{ kind = "reno" }"#, control);
            let description = of(&scenario(&text)).unwrap();
            let names = description
                .different
                .into_iter()
                .map(|parameter| parameter.name);
            names
                .filter_map(|name| {
                    name.strip_prefix("flows.bulk.transport.control.")
                        .map(str::to_owned)
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(
            different(r#"{ kind = "westwood_plus" }"#),
            ["cut", "estimator", "growth"]
        );
        let linux = "{ kind = \"westwood_plus\", estimator = { kind = \"westwood_linux\" }, \
                     cut = \"at_recovery_end\", growth = \"per_window\" }";
        assert!(different(linux).is_empty());
        // Linux's Vegas has three rules that the paper's has not.
        assert_eq!(different(r#"{ kind = "vegas" }"#), ["kind"; 3]);
    }

    const CONTROLLED: &str = r#"
[[flows]]
name = "media"
route = ["there"]
return = ["back"]
transport = { kind = "udp", control = { kind = "tfrc" }, mss = "1000 bytes" }
traffic = { kind = "bulk" }
"#;

    #[test]
    fn sessions_have_the_headers_of_their_wire_format() {
        let reasons = |more: &str| {
            let text = CONTROLLED.replace(r#""1000 bytes" "#, &format!(r#""1000 bytes"{more} "#));
            let description = of(&scenario(&text)).unwrap();
            assert_eq!(
                description.mtu, 1228,
                "a session is opened by the longest packet there is"
            );
            let different = description.different.into_iter();
            different
                .map(|parameter| (parameter.name, parameter.reason))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            reasons(""),
            [
                (
                    "flows.media.transport.feedback_size".into(),
                    "the transport's feedback has 116 bytes, 128 with a report".into()
                ),
                (
                    "flows.media.transport.header".into(),
                    "the transport's has 84 bytes".into()
                ),
            ]
        );
        assert_eq!(
            reasons(r#", header = "84 bytes", feedback_size = "128 bytes""#),
            []
        );
    }

    #[test]
    fn a_payload_that_fits_no_packet_of_the_transport_is_refused() {
        let text = CONTROLLED.replace("1000 bytes", "1145 bytes");
        assert_eq!(
            of(&scenario(&text)).unwrap_err().key(),
            "out-of-range flows.media.transport.mss"
        );
        assert!(of(&scenario(&CONTROLLED.replace("1000 bytes", "1144 bytes"))).is_ok());
    }

    #[test]
    fn a_medium_is_refused_in_one_line() {
        let text = format!("{BOTH_WAYS}\n[[shared_media]]\nname = \"cell\"\nkind = \"edca\"\n");
        assert_eq!(
            of(&scenario(&text)).unwrap_err().key(),
            "unsupported shared_media.cell"
        );
    }

    #[test]
    fn more_flows_than_addresses_are_refused() {
        let many = |count: u32| {
            of(&scenario(
                &BOTH_WAYS.replace("count = 2", &format!("count = {count}")),
            ))
        };
        assert_eq!(
            many(MOST_FLOWS).unwrap().senders.addresses.len(),
            MOST_FLOWS as usize
        );
        assert_eq!(
            many(MOST_FLOWS + 1).unwrap_err().key(),
            "out-of-range flows"
        );
    }
}
