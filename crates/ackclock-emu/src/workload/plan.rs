//! Plan of a run for the hosts: plain data that can be passed between processes.

use super::schedule::Schedule;
use ackclock_core::congestion::ControlKind;
use ackclock_core::congestion::facts::ControlProgram;
use ackclock_core::datagram::DatagramParameters;
use ackclock_core::endpoint::TcpParameters;
use ackclock_core::endpoint::parameters::{LossRecovery, Pacing, RttSampling};
use ackclock_core::packet::Dscp;
use ackclock_core::rate_control::RateControlKind;
use ackclock_core::traffic::transfer::Transfer;
use ackclock_core::traffic::{TrafficContext, TrafficKind, Transports};
use ackclock_core::transport::endpoint::Endpoint;
use ackclock_core::transport::{
    EndpointContext, Endpoints, PlainUdp, Quic, Recording, Tcp, TransportKind, Udp,
};
use ackclock_scenario::{FlowDescription, Scenario};
use ackclock_spec::error::Error;
use ackclock_spec::files::{Files, NoFiles};
use ackclock_spec::registry::{self, Element, FACTS, Selection, StreamScope};
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddrV4;

/// Time for which the receiving host waits for packets in flight when the run is over.
const DRAINING_NS: u64 = 3_000_000_000;
/// Interval between `tcp_info` samples.
pub(crate) const SAMPLE_INTERVAL_NS: u64 = 10_000_000;
/// Bytes of the timestamp option in every segment, padding included (RFC 7323 appendix A).
const TIMESTAMPS_BYTES: u64 = 12;
/// Headers of IPv4 and TCP without options, in bytes.
const TCP_HEADER_BYTES: u64 = 40;
/// Headers of every UDP datagram of the kernel in bytes: IPv4 without options, and UDP.
pub const UDP_HEADER_BYTES: u64 = 28;

/// Names of the programs that a run has loaded into the kernel as controls.
pub type LoadedNames = BTreeMap<ControlProgram, String>;

/// Returns the name that a control states for Linux. `None` if it states none, and for a program,
/// whose name the run that loads it chooses.
pub fn linux_name(control: &Selection<ControlKind>) -> Option<&str> {
    let linux = control.facts.linux.some();
    let own = linux.filter(|linux| !linux.program.is_some());
    own.map(|linux| &*linux.name)
}

/// Returns the name by which a socket chooses a control.
fn socket_name(control: &Selection<ControlKind>, loaded: &LoadedNames) -> String {
    let linux = control.facts.linux.some();
    let program = linux.and_then(|linux| linux.program.some());
    let name = program.and_then(|program| loaded.get(program).map(String::as_str));
    name.or(linux_name(control)).unwrap_or(control.name).into()
}

/// One run, as both hosts get it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Beginning of the run, a time of CLOCK_MONOTONIC in nanoseconds. All other times count from
    /// it.
    pub begin_ns: u64,
    /// End of the run, in nanoseconds.
    pub duration_ns: u64,
    /// Length of the warm-up in nanoseconds. Bytes that arrived during it are reported separately.
    pub warmup_ns: u64,
    /// Time for which the receiving host waits after the end, in nanoseconds.
    pub draining_ns: u64,
    /// Interval between `tcp_info` samples in nanoseconds; 0 for only the last sample of each
    /// connection.
    pub sample_interval_ns: u64,
    /// Longest delay of a host's thread, in nanoseconds, that its buffers bridge without effect.
    #[serde(default)]
    pub bridged_ns: u64,
    /// Number of datagrams of each flow that are logged individually, from the first on.
    pub logged_datagrams: u32,
    /// Seed of the run.
    pub seed: u64,
    /// Number of the replicate.
    pub replicate: u32,
    /// The flows.
    pub flows: Vec<FlowPlan>,
}

/// One flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowPlan {
    /// Its number in the run.
    pub number: u32,
    /// Its name, which is also the prefix of its streams' names: `flow/NAME/INSTANCE`.
    pub place: String,
    /// Address of the sender; with port 0 the kernel chooses one.
    pub sender: SocketAddrV4,
    /// Address of the receiver.
    pub receiver: SocketAddrV4,
    /// Transport.
    pub transport: TransportPlan,
    /// Differentiated services codepoint of the packets of its sockets.
    pub dscp: Dscp,
    /// Traffic, as in a scenario.
    pub traffic: Value,
    /// Payload of a full packet in bytes.
    pub mss_bytes: u64,
    /// Start in nanoseconds.
    pub start_ns: u64,
    /// Time at which it stops sending, in nanoseconds; `None` for the end of the run.
    pub stop_ns: Option<u64>,
}

/// Transport of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TransportPlan {
    /// A TCP connection.
    Tcp {
        /// The kernel's name of the congestion control.
        control: String,
        /// Other settings of its sockets.
        socket: TcpSocket,
    },
    /// UDP datagrams.
    Udp {
        /// Bytes added to the payload of each datagram so that its length on the wire is the
        /// scenario's. Negative if the scenario's header is shorter than the kernel's 28 bytes.
        padding_bytes: i64,
    },
    /// A session of datagrams under rate control.
    Controlled(Session),
    /// An implementation that others wrote, on UDP sockets.
    Stack {
        /// The transport, as in a resolved scenario.
        transport: Value,
    },
}

/// Parameters of a session of datagrams under rate control, for both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Rate control, as in a resolved scenario.
    pub control: Value,
    /// Parameters of the sender. Sizes of headers and answers are those of the wire format.
    pub parameters: DatagramParameters,
}

impl Session {
    /// Returns the rate control.
    pub(super) fn control(&self, flow: &FlowPlan) -> Result<Selection<RateControlKind>, Refused> {
        registry::choose(&self.control, &NoFiles)
            .map_err(|error| Refused::of_plan(flow, &format!("transport.control.{error}")))
    }

    /// Returns the secret of one side. It is the same in every run, which is safe because there are
    /// no other hosts.
    pub(super) fn secret(&self, flow: &FlowPlan, streams: &Streams, side: &str) -> [u8; 32] {
        let mut stream = streams.stream(&format!("{}/{side}/secret", flow.place));
        std::array::from_fn(|_| (stream.uniform() * 256.0) as u8)
    }
}

/// Socket settings of a TCP flow. `None` keeps the kernel's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TcpSocket {
    /// TCP_MAXSEG on both sides in bytes: the MSS of the SYN option, which includes the options of
    /// a full segment.
    pub maximum_segment_bytes: Option<u32>,
    /// SO_SNDBUF in bytes. The kernel doubles it, for its own bookkeeping, and stops growing the
    /// buffer.
    pub send_buffer_bytes: Option<u32>,
    /// Largest window to advertise, in bytes: TCP_WINDOW_CLAMP, and an SO_RCVBUF that holds it.
    /// Without the latter the buffer would grow and raise the clamp.
    pub receive_window_bytes: Option<u32>,
    /// Rate at which the receiving program reads, in bit/s; at once if it is not given. The window
    /// is then that of the buffer, which fills.
    pub read_bit_per_s: Option<u64>,
    /// True to acknowledge after every read, by TCP_QUICKACK. One read may take several segments;
    /// only the route metric `quickack` acknowledges each.
    pub acknowledge_at_once: bool,
    /// True to hide duplicate ACKs from the sender (SO_ATTACH_BPF), so that only its timer detects
    /// losses.
    pub ignore_duplicate_acks: bool,
    /// SO_MAX_PACING_RATE in bytes per second, which also enables pacing for controls without a
    /// rate of their own.
    pub pacing_byte_per_s: Option<u64>,
}

/// Largest pacing rate that counts as one: for the kernel, all ones mean none. With it the kernel
/// paces at 2 · cwnd/SRTT in slow start and 1.2 · cwnd/SRTT after it (net.ipv4.tcp_pacing_ss_ratio,
/// tcp_pacing_ca_ratio).
const PACING_WITHOUT_LIMIT: u64 = u64::MAX - 1;

/// True if TCP with these parameters sends timestamps (net.ipv4.tcp_timestamps), which shorten the
/// payload of a segment.
pub fn sends_timestamps(parameters: &TcpParameters) -> bool {
    parameters.timer.rtt_sampling == RttSampling::Timestamps
}

/// Returns the header length of a segment in the kernel in bytes, without SACK blocks.
pub fn header_bytes(parameters: &TcpParameters) -> u64 {
    TCP_HEADER_BYTES + option_bytes(parameters)
}

fn option_bytes(parameters: &TcpParameters) -> u64 {
    if sends_timestamps(parameters) {
        TIMESTAMPS_BYTES
    } else {
        0
    }
}

impl TcpSocket {
    /// Returns the socket settings for the parameters of a scenario. Parameters of the route
    /// (initial window, least timeout, an ACK for each segment) and of the network namespace (SACK,
    /// timestamps, ECN) are set elsewhere. The kernel does not take the others from a scenario.
    pub fn of(parameters: &TcpParameters) -> Self {
        let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        TcpSocket {
            maximum_segment_bytes: Some(narrow(
                parameters
                    .connection
                    .mss
                    .0
                    .saturating_add(option_bytes(parameters)),
            )),
            send_buffer_bytes: None,
            receive_window_bytes: parameters
                .receiver
                .receive_window
                .bytes(parameters.connection.mss)
                .map(|window| narrow(window.0)),
            read_bit_per_s: parameters.receiver.read_rate.map(BitRate::as_bit_per_s),
            acknowledge_at_once: parameters.receiver.delayed_ack.every.0 <= 1,
            ignore_duplicate_acks: parameters.recovery.algorithm == LossRecovery::TimeoutOnly,
            pacing_byte_per_s: (parameters.sending.pacing == Pacing::Always)
                .then_some(PACING_WITHOUT_LIMIT),
        }
    }
}

impl Plan {
    /// Creates a plan without flows for a run of a scenario, to begin at a time of CLOCK_MONOTONIC.
    pub fn of(scenario: &Scenario, replicate: u32, begin_ns: u64) -> Self {
        Plan {
            begin_ns,
            duration_ns: scenario.duration.as_nanos(),
            warmup_ns: scenario.warmup.as_nanos(),
            draining_ns: DRAINING_NS,
            sample_interval_ns: SAMPLE_INTERVAL_NS,
            bridged_ns: 0,
            logged_datagrams: 0,
            seed: scenario.seed,
            replicate,
            flows: Vec::new(),
        }
    }

    /// Adds an instance of the scenario's flow `group`, which begins at `start`. Programs among the
    /// controls have been loaded.
    pub fn add(
        &mut self,
        scenario: &Scenario,
        (group, instance): (usize, u32),
        start: Time,
        (mut sender, receiver): (SocketAddrV4, SocketAddrV4),
        loaded: &LoadedNames,
    ) {
        let description = &scenario.flows[group];
        let chosen = &description.transport;
        let parameters = (
            chosen.parameters(),
            chosen.parameters(),
            chosen.parameters(),
        );
        let (transport, mss) = match parameters {
            (Some(tcp @ Tcp { parameters, .. }), _, _) => {
                let transport = TransportPlan::Tcp {
                    control: socket_name(&tcp.control, loaded),
                    socket: TcpSocket::of(parameters),
                };
                (transport, parameters.connection.mss)
            }
            (_, Some(Udp::Plain(PlainUdp { mss, header })), _) => {
                let padding_bytes = header.0.cast_signed() - UDP_HEADER_BYTES.cast_signed();
                (TransportPlan::Udp { padding_bytes }, *mss)
            }
            (
                _,
                Some(Udp::Controlled {
                    control,
                    parameters,
                }),
                _,
            ) => {
                // The receiver asks first, so it must know where the sender waits.
                sender.set_port(receiver.port());
                let session = Session {
                    control: control.resolved.clone(),
                    parameters: *parameters,
                };
                (TransportPlan::Controlled(session), parameters.mss)
            }
            (_, _, Some(Quic { .. })) => {
                sender.set_port(receiver.port()); // each side knows where the other is
                let transport = chosen.resolved.clone();
                let stack = TransportPlan::Stack { transport };
                (stack, chosen.facts.full_write())
            }
            (None, None, None) => unreachable!("the description of the hosts refuses others"),
        };
        let place = format!("flow/{}/{instance}", description.name);
        self.flows.push(FlowPlan {
            number: self.flows.len() as u32,
            sender,
            receiver,
            transport,
            dscp: description.dscp,
            traffic: self.traffic_of(description, &place, mss),
            place,
            mss_bytes: mss.0,
            start_ns: start.as_nanos(),
            stop_ns: (!description.stop.is_never()).then(|| description.stop.as_nanos()),
        });
    }

    /// Returns the traffic of a flow instance, as in a scenario. The size of a transfer is drawn
    /// here, since its distribution may be in a file, and hosts read no files. Facts, which are
    /// computed from the distribution, are removed.
    fn traffic_of(&self, description: &FlowDescription, place: &str, mss: Bytes) -> Value {
        let mut tree = description.traffic.resolved.clone();
        if description.traffic.name == Transfer::NAME {
            let streams = Streams::new(self.seed, self.replicate);
            let traffic = description.traffic.build(TrafficContext {
                place: StreamScope {
                    streams: &streams,
                    name: &traffic_place(place),
                },
                mss,
            });
            tree["size"] = json!(traffic.total());
        }
        if let Some(fields) = tree.as_object_mut() {
            fields.remove(FACTS);
        }
        tree
    }

    /// Makes both sides of a stack's connection, the sender first, with the streams that they have
    /// in a simulation. Each host keeps its own side.
    pub(super) fn sides(
        &self,
        flow: &FlowPlan,
        transport: &Value,
        files: &dyn Files,
    ) -> Result<[Box<dyn Endpoint>; 2], Refused> {
        let refused = |error: Error| Refused::of_plan(flow, &format!("transport.{error}"));
        let chosen = registry::choose::<TransportKind>(transport, files).map_err(refused)?;
        if let Some(error) = chosen.refusal() {
            return Err(refused(error));
        }
        let place = StreamScope {
            streams: &Streams::new(self.seed, self.replicate),
            name: &flow.place,
        };
        let recording = Recording::default();
        match chosen.build(EndpointContext { place, recording }) {
            Endpoints::Other { sender, receiver } => Ok([sender, receiver]),
            Endpoints::Tcp { .. } => Err(Refused::of_plan(flow, "TCP is the kernel's here")),
        }
    }

    /// Returns the end of the run.
    pub(super) fn end(&self) -> Time {
        Time::from_nanos(self.duration_ns)
    }
    /// Returns the latest time at which the receiving host ends.
    pub(super) fn deadline(&self) -> Time {
        self.end() + Span::from_nanos(self.draining_ns)
    }

    /// Returns the writes of a flow: the same draws from the same named streams as in the engine.
    ///
    /// # Errors
    /// The traffic is invalid, or not possible for this transport.
    pub fn schedule(&self, flow: &FlowPlan) -> Result<Schedule, Refused> {
        let traffic = registry::choose::<TrafficKind>(&flow.traffic, &NoFiles)
            .map_err(|error| Refused::of_plan(flow, &format!("traffic.{error}")))?
            .build(TrafficContext {
                place: StreamScope {
                    streams: &Streams::new(self.seed, self.replicate),
                    name: &traffic_place(&flow.place),
                },
                mss: Bytes(flow.mss_bytes),
            });
        if traffic.transports() == Transports::Controlled
            && matches!(flow.transport, TransportPlan::Udp { .. })
        {
            return Err(Refused::of_plan(flow, "this traffic has no rate for UDP"));
        }
        let stop = flow.stop_ns.map_or(Time::NEVER, Time::from_nanos);
        Ok(Schedule::new(
            traffic,
            Time::from_nanos(flow.start_ns),
            stop,
            self.end(),
        ))
    }
}

/// Returns the name of the stream of a flow's traffic.
fn traffic_place(flow: &str) -> String {
    format!("{flow}/traffic")
}

/// The reason why a run is impossible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// Number of the first flow concerned, if any.
    pub flow: Option<u32>,
    /// The attempt and the kernel's answer.
    pub reason: String,
    /// One remedy.
    pub remedy: String,
}

impl Refused {
    /// Creates a refusal for a plan that cannot come from a checked scenario.
    fn of_plan(flow: &FlowPlan, reason: &str) -> Self {
        Refused {
            flow: Some(flow.number),
            reason: format!("{}: {reason}", flow.place),
            remedy: "make the plan from a checked scenario".into(),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}; {}", self.reason, self.remedy)
    }
}

impl std::error::Error for Refused {}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_core::endpoint::parameters::Preset;
    use ackclock_spec::quantity::{OptionalWindow, Segments};

    #[test]
    fn controls_are_asked_for_by_the_name_that_linux_has() {
        let name = |control: &str| {
            let chosen =
                registry::choose::<ControlKind>(&json!({ "kind": control }), &NoFiles).unwrap();
            linux_name(&chosen).map(str::to_owned)
        };
        assert_eq!(
            ["reno", "cubic", "westwood_plus"].map(name),
            ["reno", "cubic", "westwood"].map(|linux| Some(linux.into()))
        );
        assert_eq!(name("westwood_be"), None);
        let named = json!({ "kind": "kernel", "name": "bbr" });
        let chosen = registry::choose::<ControlKind>(&named, &NoFiles).unwrap();
        assert_eq!(linux_name(&chosen), Some("bbr"));
    }

    #[test]
    fn a_program_is_asked_for_by_the_name_that_its_run_chose() {
        let of = |parameters: Value| {
            let tree = json!({ "kind": "kernel", "shipped": "aimd", "parameters": parameters });
            registry::choose::<ControlKind>(&tree, &NoFiles).unwrap()
        };
        let (one, other) = (of(json!({ "alpha": 1 })), of(json!({ "alpha": 2 })));
        let program = |chosen: &Selection<ControlKind>| {
            chosen
                .facts
                .linux
                .some()
                .unwrap()
                .program
                .some()
                .unwrap()
                .as_ref()
                .clone()
        };
        let names = [&one, &other]
            .map(program)
            .into_iter()
            .zip(["acc_1", "acc_2"]);
        let loaded = names
            .map(|(program, name)| (program, name.to_owned()))
            .collect();
        assert_eq!((linux_name(&one), linux_name(&other)), (None, None));
        assert_eq!(socket_name(&one, &loaded), "acc_1");
        assert_eq!(socket_name(&other, &loaded), "acc_2");
    }

    #[test]
    fn sockets_of_the_presets() {
        let linux = TcpSocket::of(&Preset::Linux.parameters());
        // 1448 bytes of payload and 12 of timestamps: an MTU of 1500.
        assert_eq!(linux.maximum_segment_bytes, Some(1460));
        assert_eq!(
            (linux.receive_window_bytes, linux.pacing_byte_per_s),
            (None, None)
        );
        assert!(!linux.acknowledge_at_once);
        let of_2002 = TcpSocket::of(&Preset::Ns2Of2002.parameters());
        assert_eq!(of_2002.maximum_segment_bytes, Some(1000), "no timestamps");
        assert!(of_2002.acknowledge_at_once);
        let ignoring = [Preset::Linux, Preset::Ns2Of2002, Preset::Jacobson1988]
            .map(|preset| TcpSocket::of(&preset.parameters()).ignore_duplicate_acks);
        assert_eq!(ignoring, [false, false, true]);
    }

    #[test]
    fn windows_in_segments_are_bytes_and_pacing_has_no_limit() {
        let mut parameters = Preset::Rfc.parameters();
        parameters.receiver.receive_window = OptionalWindow::Segments(20);
        parameters.sending.pacing = Pacing::Always;
        parameters.receiver.delayed_ack.every = Segments(2);
        let socket = TcpSocket::of(&parameters);
        assert_eq!(socket.receive_window_bytes, Some(20 * 1460));
        // All ones would switch it off.
        assert!(socket.pacing_byte_per_s.is_some_and(|rate| rate < u64::MAX));
    }

    #[test]
    fn hosts_are_told_the_size_that_the_engine_draws_and_need_no_file() {
        use ackclock_scenario::job::Job;
        use ackclock_scenario::tree;
        let text = r#"
schema = 1
duration = "10 s"
[[hops]]
name = "both"
link = { kind = "constant", rate = "1 Mbit/s" }
queue = { kind = "droptail", limit = "10 packets" }
[[flows]]
name = "short"
arrivals = { kind = "poisson", mean_interval = "1 s" }
route = ["both"]
return = ["both"]
transport = { kind = "tcp", control = { kind = "reno" } }
traffic = { kind = "transfer", size = { kind = "empirical", file = "sizes" } }
"#;
        let files =
            BTreeMap::from([("sizes".to_string(), "size\n1 kB\n20 kB\n3 MB\n".to_string())]);
        let scenario = Scenario::from_tree(&tree::from_toml(text).unwrap(), &files).unwrap();
        let job = Job {
            scenario: &scenario,
            point: 0,
            replicate: 3,
        };
        let mut plan = Plan::of(&scenario, job.replicate, 0);
        let address = SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 0);
        for instance in job.instances() {
            plan.add(
                &scenario,
                (0, instance.number),
                instance.start,
                (address, address),
                &LoadedNames::new(),
            );
        }
        assert!(plan.flows.len() > 2);
        for flow in &plan.flows {
            let streams = job.streams();
            let place = format!("{}/traffic", flow.place);
            let place = StreamScope {
                streams: &streams,
                name: &place,
            };
            let context = TrafficContext {
                place,
                mss: Bytes(flow.mss_bytes),
            };
            let engines = scenario.flows[0].traffic.build(context).total();
            assert_eq!(plan.schedule(flow).unwrap().total(), engines);
        }
    }
}
