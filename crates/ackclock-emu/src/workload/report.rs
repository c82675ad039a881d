//! Reports of the hosts when a run is over. Times are nanoseconds of the run; `None` means unknown.

use super::counters::Counted;
use super::punctuality::Punctuality;
use super::tcp_info::TcpInfo;
use ackclock_core::transport::endpoint::Progress;
use ackclock_spec::units::Span;
use ackclock_transport::session::{self, SenderReport};
use ackclock_transport::wire::ErrorCode;
use serde::{Deserialize, Serialize};

/// Report of the sending host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendingReport {
    /// Flows in the plan's order.
    pub flows: Vec<SentFlow>,
    /// The kernel's counters of loss recovery, over all flows.
    pub counters: Vec<Counted>,
    /// Time of its end.
    pub ended_ns: u64,
    /// True if it was told to end before the end of the run.
    pub told_to_end: bool,
    /// Sampling times left out because the previous sampling took longer than the interval.
    pub missed_samples: u64,
    /// Delays of its thread.
    pub punctuality: Punctuality,
}

/// Report of the receiving host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceivingReport {
    /// Flows in the plan's order.
    pub flows: Vec<ReceivedFlow>,
    /// The kernel's counters of loss recovery, over all flows.
    pub counters: Vec<Counted>,
    /// Time of its end.
    pub ended_ns: u64,
    /// True if it was told to end.
    pub told_to_end: bool,
    /// Delays of its thread.
    pub punctuality: Punctuality,
}

/// The end of a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It never started: its time did not come, or at the receiver, there was no connection.
    #[default]
    NotStarted,
    /// All data was sent and received, and both sides have closed.
    Finished,
    /// The sender stopped at the flow's stop or at the end of the run: unsent data was dropped and
    /// the connection reset.
    Stopped,
    /// The run was over, and for the receiver its deadline too.
    EndOfRun,
    /// The host was told to end.
    Told,
    /// It failed, with this reason.
    Failed(String),
}

/// A socket setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SocketSetting {
    /// Its name, as in socket(7) and tcp(7).
    pub name: String,
    /// Requested value.
    pub asked: u64,
    /// The kernel's value, which may be less, if it was accepted.
    pub has: Option<u64>,
    /// The kernel's reason, if it was refused.
    pub refusal: Option<String>,
}

/// A flow at its sender.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SentFlow {
    /// Its number.
    pub number: u32,
    /// Its end.
    pub ending: Ending,
    /// Congestion control of the connected socket, or rate control of a session; `None` for UDP
    /// without one.
    pub control: Option<String>,
    /// Settings of its socket.
    pub settings: Vec<SocketSetting>,
    /// Time at which the connection was requested, or a source of datagrams began.
    pub started_ns: Option<u64>,
    /// Time at which it was established; for a session, at which the receiver had asked for it.
    pub connected_ns: Option<u64>,
    /// Time of its end.
    pub ended_ns: Option<u64>,
    /// Payload that the socket took, in bytes.
    pub written_bytes: u64,
    /// Payload that the receiver acknowledged, in bytes; `None` for UDP without control.
    pub acknowledged_bytes: Option<u64>,
    /// Segments retransmitted; `None` for UDP.
    pub retransmissions: Option<u32>,
    /// Last reading of the connection.
    pub last: Option<TcpInfo>,
    /// Datagrams of a UDP flow.
    pub datagrams: Option<SentDatagrams>,
    /// Session of a UDP flow under rate control, or connection of a transport that others wrote.
    pub session: Option<SentSession>,
}

/// A session as seen by its sender's control; a connection of a stack as seen by its sender.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SentSession {
    /// Packets sent again.
    pub retransmitted_packets: Option<u64>,
    /// Packets deemed lost; `None` if the receiver measures the loss.
    pub lost_packets: Option<u64>,
    /// Packets deemed lost that turned out to have arrived; `None` if the receiver measures the
    /// loss.
    pub spurious_losses: Option<u64>,
    /// Expirations of its timer for lack of feedback.
    pub timeouts: Option<u64>,
    /// Least round-trip time, in nanoseconds.
    pub rtt_min_ns: Option<u64>,
    /// Largest round-trip time, in nanoseconds.
    pub rtt_max_ns: Option<u64>,
}

impl SentSession {
    pub(super) fn of(report: &SenderReport) -> Self {
        let (state, counts) = (&report.state, &report.statistics);
        let nanos =
            |seconds: f64| (counts.rtt_samples > 0).then(|| Span::from_seconds(seconds).as_nanos());
        SentSession {
            retransmitted_packets: Some(0),
            lost_packets: state.lost,
            spurious_losses: state.spurious_losses,
            timeouts: Some(state.timeouts),
            rtt_min_ns: nanos(counts.rtt_min_s),
            rtt_max_ns: nanos(counts.rtt_max_s),
        }
    }

    pub(super) fn of_stack(progress: &Progress) -> Self {
        let range = progress.round_trips.range_s;
        let nanos = |seconds: f64| Span::from_seconds(seconds).as_nanos();
        SentSession {
            retransmitted_packets: progress.retransmitted,
            lost_packets: progress.lost,
            spurious_losses: progress.spurious_losses,
            timeouts: progress.timeouts,
            rtt_min_ns: range.map(|(low, _)| nanos(low)),
            rtt_max_ns: range.map(|(_, high)| nanos(high)),
        }
    }
}

impl From<session::Ending> for Ending {
    fn from(ending: session::Ending) -> Ending {
        use session::Ending as Of;
        let reason = match ending {
            Of::Finished { .. } => return Ending::Finished,
            Of::Stopped | Of::PeerStopped => return Ending::Stopped,
            Of::NoAnswer => "the other side did not answer".into(),
            Of::Silence(span) => format!(
                "the other side was silent for {} s, which ends a session",
                span.as_seconds()
            ),
            Of::Dishonest => "the receiver acknowledged data that was never sent".into(),
            Of::Refused(ErrorCode::Silence) => "the sender heard nothing for too long".into(),
            Of::Refused(code) => format!("the other side refused ({code:?})"),
        };
        Ending::Failed(reason)
    }
}

/// The datagrams of a flow at its sender.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SentDatagrams {
    /// Datagrams that the kernel accepted.
    pub sent: u64,
    /// Datagrams that the kernel refused: lost outside the model.
    pub refused: u64,
    /// The kernel's reason for the last of these.
    pub refusal: Option<String>,
    /// Lateness of sending.
    pub lateness: Delays,
    /// Log of the first datagrams, as many as the plan asks for.
    pub log: Vec<SentDatagram>,
}

/// A datagram that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentDatagram {
    /// Its number, from 0.
    pub number: u64,
    /// Time of sending according to its traffic.
    pub due_ns: u64,
    /// Actual time of sending.
    pub sent_ns: u64,
}

/// A flow at its receiver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReceivedFlow {
    /// Its number.
    pub number: u32,
    /// Its end.
    pub ending: Ending,
    /// Settings of its socket.
    pub settings: Vec<SocketSetting>,
    /// Time at which the connection was accepted.
    pub connected_ns: Option<u64>,
    /// Time at which the first payload arrived.
    pub first_ns: Option<u64>,
    /// Time at which the last payload arrived.
    pub last_ns: Option<u64>,
    /// Time at which all data of a finite transfer had arrived, if by the end of the run.
    pub completed_ns: Option<u64>,
    /// Payload that arrived, each byte once, in bytes.
    pub received_bytes: u64,
    /// Part of it that had arrived at the end of the warm-up.
    pub received_by_warmup_bytes: u64,
    /// Part of it that had arrived at the end of the run.
    pub received_by_end_bytes: u64,
    /// Datagrams of a UDP flow.
    pub datagrams: Option<ReceivedDatagrams>,
}

/// The datagrams of a flow at its receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReceivedDatagrams {
    /// Number of distinct datagrams that arrived; for a stack, of all.
    pub unique: u64,
    /// Number of duplicates that arrived.
    pub duplicate: u64,
    /// Number of distinct datagrams that arrived after a later one (RFC 4737 section 3).
    pub reordered: u64,
    /// Datagrams for which the socket had no buffer: lost outside the model. `None` if the kernel
    /// does not count them.
    pub overflowed: Option<u64>,
    /// Answers that the kernel refused, also lost outside the model.
    pub refused: u64,
    /// The kernel's reason for the last of these.
    pub refusal: Option<String>,
    /// One-way delay of the distinct ones, from the sending call to the receiving call.
    pub delay: Delays,
    /// Log of the first that arrived, as many as the plan asks for.
    pub log: Vec<ReceivedDatagram>,
}

/// A datagram that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceivedDatagram {
    /// Its number, from 0.
    pub number: u64,
    /// Time of sending, if its payload was long enough to hold it (16 bytes).
    pub sent_ns: Option<u64>,
    /// Time of receiving.
    pub received_ns: u64,
}

/// Summary of delays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delays {
    /// Number of delays.
    pub count: u64,
    /// Their sum.
    pub sum_ns: u64,
    /// The least; 0 if there is none.
    pub least_ns: u64,
    /// The largest; 0 if there is none.
    pub greatest_ns: u64,
}

impl Delays {
    pub(super) fn add(&mut self, delay_ns: u64) {
        self.least_ns = if self.count == 0 {
            delay_ns
        } else {
            self.least_ns.min(delay_ns)
        };
        self.greatest_ns = self.greatest_ns.max(delay_ns);
        self.sum_ns = self.sum_ns.saturating_add(delay_ns);
        self.count += 1;
    }
}
