//! What the hosts are to do in a run: plain data that crosses from one process to another.

use super::schedule::Schedule;
use ackclock_core::congestion::ControlKind;
use ackclock_core::datagram::DatagramParameters;
use ackclock_core::endpoint::TcpParameters;
use ackclock_core::endpoint::parameters::{LossRecovery, Pacing, RttSampling};
use ackclock_core::rate_control::RateControlKind;
use ackclock_core::registry::{self, Element, FACTS, Selection, StreamScope};
use ackclock_core::scenario::files::NoFiles;
use ackclock_core::scenario::{FlowDescription, Scenario, Transport};
use ackclock_core::streams::Streams;
use ackclock_core::traffic::transfer::Transfer;
use ackclock_core::traffic::{TrafficContext, TrafficKind, Transports};
use ackclock_core::units::{Bytes, Span, Time};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt;
use std::net::SocketAddrV4;

/// How long the receiving host waits for what is still on its way when the run is over.
const DRAINING_NS: u64 = 3_000_000_000;
/// Spacing of the `tcp_info` samples.
pub(crate) const SAMPLE_INTERVAL_NS: u64 = 10_000_000;
/// What the option of timestamps takes of every segment, padding included (RFC 7323 appendix A).
const TIMESTAMPS_BYTES: u64 = 12;
/// Headers of IPv4 and TCP without options.
const TCP_HEADER_BYTES: u64 = 40;
/// Header of every UDP datagram in the kernel: IPv4 without options, and UDP.
pub const UDP_HEADER_BYTES: u64 = 28;

/// The name of the kernel module of a control. One that states nothing about Linux is asked for by
/// its own name.
pub fn linux_name(control: &Selection<ControlKind>) -> &str {
    let linux = control.facts.linux.as_ref();
    linux.map_or(control.name, |linux| &linux.name)
}

/// One run, as both hosts get it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// When the run begins: an instant of CLOCK_MONOTONIC, in nanoseconds. All other times count
    /// from it.
    pub begin_ns: u64,
    /// When the run ends, in nanoseconds.
    pub duration_ns: u64,
    /// From when on averages are taken, in nanoseconds: what had arrived by then is reported on its
    /// own.
    pub warmup_ns: u64,
    /// How long after the end the receiving host still waits, in nanoseconds.
    pub draining_ns: u64,
    /// Spacing of the `tcp_info` samples, in nanoseconds; zero for the last sample of each
    /// connection only.
    pub sample_interval_ns: u64,
    /// A host that is kept from its work for no longer than this loses nothing, in nanoseconds: its
    /// buffers bridge it.
    #[serde(default)]
    pub bridged_ns: u64,
    /// How many datagrams of each flow are reported one by one, from the first on.
    pub logged_datagrams: u32,
    /// The root of the run's randomness.
    pub seed: u64,
    /// Which replicate.
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
    /// Its name and the prefix of its streams' names, `flow/NAME/INSTANCE`.
    pub place: String,
    /// Where it is sent from; port 0 lets the kernel choose one.
    pub sender: SocketAddrV4,
    /// Where it is received.
    pub receiver: SocketAddrV4,
    /// How it is sent.
    pub transport: TransportPlan,
    /// What is sent, as in a scenario.
    pub traffic: Value,
    /// Payload of a full packet, in bytes.
    pub mss_bytes: u64,
    /// When it starts, in nanoseconds.
    pub start_ns: u64,
    /// When it stops sending, in nanoseconds; `None` for the end of the run.
    pub stop_ns: Option<u64>,
}

/// How a flow is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TransportPlan {
    /// Over a connection.
    Tcp {
        /// The congestion control, by its name in the kernel.
        control: String,
        /// What else its sockets are set to.
        socket: TcpSocket,
    },
    /// In datagrams.
    Udp {
        /// What is added to the payload of each datagram so that it is as long on the wire as the
        /// scenario says, in bytes; negative where the scenario's header is shorter than the
        /// kernel's 28 bytes.
        padding_bytes: i64,
    },
    /// In a session of datagrams under rate control.
    Controlled(Session),
}

/// A session of datagrams under rate control: what both sides are told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// The rate control, as in a resolved scenario.
    pub control: Value,
    /// What else the sender is told. Sizes of headers and answers are those of the wire format.
    pub parameters: DatagramParameters,
}

impl Session {
    /// The rate control.
    pub(super) fn control(&self, flow: &FlowPlan) -> Result<Selection<RateControlKind>, Refused> {
        registry::choose(&self.control, &NoFiles)
            .map_err(|error| Refused::of_plan(flow, &format!("transport.control.{error}")))
    }

    /// What nobody else needs to know, of one side: the same in every run, since nobody else is
    /// there.
    pub(super) fn secret(&self, flow: &FlowPlan, streams: &Streams, side: &str) -> [u8; 32] {
        let mut stream = streams.stream(&format!("{}/{side}/secret", flow.place));
        std::array::from_fn(|_| (stream.uniform() * 256.0) as u8)
    }
}

/// What the sockets of a TCP flow are set to. What is absent is left to the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TcpSocket {
    /// TCP_MAXSEG on both sides: the MSS of the SYN option, which counts the payload of a full
    /// segment and the options in it, in bytes.
    pub maximum_segment_bytes: Option<u32>,
    /// SO_SNDBUF, in bytes. The kernel doubles it, for its own bookkeeping, and grows the buffer no
    /// more.
    pub send_buffer_bytes: Option<u32>,
    /// The largest window to offer, in bytes: TCP_WINDOW_CLAMP, and an SO_RCVBUF that holds it,
    /// without which the growing buffer would take the clamp along.
    pub receive_window_bytes: Option<u32>,
    /// Whether what has arrived is acknowledged at once, by TCP_QUICKACK after every reading. One
    /// reading may take several segments; only the route's metric `quickack` acknowledges each.
    pub acknowledge_at_once: bool,
    /// Whether duplicate ACKs are kept from the sender (SO_ATTACH_BPF), so that only its timer
    /// tells it of a loss.
    pub ignore_duplicate_acks: bool,
    /// SO_MAX_PACING_RATE, in bytes per second, which also switches pacing on for controls without
    /// a rate of their own.
    pub pacing_byte_per_s: Option<u64>,
}

/// The largest pacing rate that is one: the kernel takes all ones for none. With it the kernel
/// paces at 2 · cwnd/SRTT in slow start and 1.2 · cwnd/SRTT after (net.ipv4.tcp_pacing_ss_ratio,
/// tcp_pacing_ca_ratio).
const PACING_WITHOUT_LIMIT: u64 = u64::MAX - 1;

/// Whether TCP with these parameters sends timestamps (net.ipv4.tcp_timestamps), which shorten the
/// payload of a segment.
pub fn sends_timestamps(parameters: &TcpParameters) -> bool {
    parameters.rtt_sampling == RttSampling::Timestamps
}

/// What the kernel puts before the payload of a segment, SACK blocks aside, in bytes.
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
    /// What the parameters of a scenario imply for its sockets. What belongs to the route (initial
    /// window, smallest timeout, an ACK for each segment) or to the network namespace (SACK,
    /// timestamps, ECN) is not here; the rest the kernel does in its own way.
    pub fn of(parameters: &TcpParameters) -> Self {
        let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        TcpSocket {
            maximum_segment_bytes: Some(narrow(
                parameters.mss.0.saturating_add(option_bytes(parameters)),
            )),
            send_buffer_bytes: None,
            receive_window_bytes: parameters
                .receive_window
                .bytes(parameters.mss)
                .map(|window| narrow(window.0)),
            acknowledge_at_once: parameters.delayed_ack.every.0 <= 1,
            ignore_duplicate_acks: parameters.recovery == LossRecovery::TimeoutOnly,
            pacing_byte_per_s: (parameters.pacing == Pacing::Always)
                .then_some(PACING_WITHOUT_LIMIT),
        }
    }
}

impl Plan {
    /// A run of a scenario without flows yet, to begin at an instant of CLOCK_MONOTONIC.
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

    /// Adds an instance of the scenario's flow `group`, which starts when the scenario's streams
    /// say.
    pub fn add(
        &mut self,
        scenario: &Scenario,
        (group, instance): (usize, u32),
        start: Time,
        (mut sender, receiver): (SocketAddrV4, SocketAddrV4),
    ) {
        let description = &scenario.flows[group];
        let (transport, mss) = match &description.transport {
            Transport::Tcp {
                control,
                parameters,
            } => {
                let transport = TransportPlan::Tcp {
                    control: linux_name(control).into(),
                    socket: TcpSocket::of(parameters),
                };
                (transport, parameters.mss)
            }
            Transport::Udp { mss, header } => {
                let padding_bytes = header.0.cast_signed() - UDP_HEADER_BYTES.cast_signed();
                (TransportPlan::Udp { padding_bytes }, *mss)
            }
            Transport::Controlled {
                control,
                parameters,
            } => {
                // The receiver asks first, and so must know where the sender waits.
                sender.set_port(receiver.port());
                let session = Session {
                    control: control.resolved.clone(),
                    parameters: *parameters,
                };
                (TransportPlan::Controlled(session), parameters.mss)
            }
        };
        let place = format!("flow/{}/{instance}", description.name);
        self.flows.push(FlowPlan {
            number: self.flows.len() as u32,
            sender,
            receiver,
            transport,
            traffic: self.traffic_of(description, &place, mss),
            place,
            mss_bytes: mss.0,
            start_ns: start.as_nanos(),
            stop_ns: (!description.stop.is_never()).then(|| description.stop.as_nanos()),
        });
    }

    /// What a flow's instance sends, as in a scenario. The size of a transfer is drawn here: its
    /// law may be in a file, and hosts read none. Facts are left out: they were computed from the
    /// law.
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

    /// When the run ends.
    pub(super) fn end(&self) -> Time {
        Time::from_nanos(self.duration_ns)
    }
    /// When the receiving host ends at the latest.
    pub(super) fn deadline(&self) -> Time {
        self.end() + Span::from_nanos(self.draining_ns)
    }

    /// When a flow writes what: the same draws from the same named streams as in the engine.
    ///
    /// # Errors
    /// The traffic is none, or none for this transport.
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

/// The name of the stream of a flow's traffic.
fn traffic_place(flow: &str) -> String {
    format!("{flow}/traffic")
}

/// Why a run cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// The first flow that it is about, if it is about one.
    pub flow: Option<u32>,
    /// What was tried and what the kernel said.
    pub reason: String,
    /// What would help, one thing.
    pub remedy: String,
}

impl Refused {
    /// A plan that no checked scenario gives.
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
    use ackclock_core::scenario::quantity::{OptionalWindow, Segments};

    #[test]
    fn controls_are_asked_for_by_the_name_that_linux_has() {
        let name = |control: &str| {
            let chosen =
                registry::choose::<ControlKind>(&json!({ "kind": control }), &NoFiles).unwrap();
            linux_name(&chosen).to_owned()
        };
        assert_eq!(
            ["reno", "cubic", "westwood_plus", "westwood_be"].map(name),
            ["reno", "cubic", "westwood", "westwood_be"]
        );
    }

    #[test]
    fn sockets_of_the_presets() {
        let linux = TcpSocket::of(&Preset::Linux.parameters());
        // 1448 bytes of payload and 12 of timestamps: what an MTU of 1500 leaves.
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
        parameters.receive_window = OptionalWindow::Segments(20);
        parameters.pacing = Pacing::Always;
        parameters.delayed_ack.every = Segments(2);
        let socket = TcpSocket::of(&parameters);
        assert_eq!(socket.receive_window_bytes, Some(20 * 1460));
        // All ones would switch it off.
        assert!(socket.pacing_byte_per_s.is_some_and(|rate| rate < u64::MAX));
    }

    #[test]
    fn hosts_are_told_the_size_that_the_engine_draws_and_need_no_file() {
        use ackclock_core::job::Job;
        use ackclock_core::scenario::tree;
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
        let files = std::collections::BTreeMap::from([(
            "sizes".to_string(),
            "size\n1 kB\n20 kB\n3 MB\n".to_string(),
        )]);
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
