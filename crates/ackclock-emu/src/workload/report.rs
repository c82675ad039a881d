//! What the hosts say when a run is over. Times are nanoseconds of the run; what is not known is
//! `None`.

use super::punctuality::Punctuality;
use super::tcp_info::TcpInfo;
use ackclock_core::units::Span;
use ackclock_transport::session::{self, SenderReport};
use ackclock_transport::wire::ErrorCode;
use serde::{Deserialize, Serialize};

/// What the sending host has done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendingReport {
    /// In the plan's order.
    pub flows: Vec<SentFlow>,
    /// When it was over.
    pub ended_ns: u64,
    /// Whether it was told to end before the end of the run.
    pub told: bool,
    /// Sampling times that were left out because the sampling before took longer than the spacing.
    pub missed_samples: u64,
    /// How it was kept from its work.
    pub punctuality: Punctuality,
}

/// What the receiving host has done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceivingReport {
    /// In the plan's order.
    pub flows: Vec<ReceivedFlow>,
    /// When it was over.
    pub ended_ns: u64,
    /// Whether it was told to end.
    pub told: bool,
    /// How it was kept from its work.
    pub punctuality: Punctuality,
}

/// How a flow came to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It never started: for the sender its time did not come, for the receiver nobody connected.
    #[default]
    NotStarted,
    /// All was sent and received, both sides have closed.
    Finished,
    /// The sender stopped at the flow's stop or at the end of the run: unsent data dropped, the
    /// connection reset.
    Stopped,
    /// The run was over, and for the receiver its deadline too.
    EndOfRun,
    /// The host was told to end.
    Told,
    /// It broke, for this reason.
    Failed(String),
}

/// A socket's setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SocketSetting {
    /// Its name, as in socket(7) and tcp(7).
    pub name: String,
    /// What it was asked to be.
    pub asked: u64,
    /// What the kernel has, if it took it; it may be less.
    pub has: Option<u64>,
    /// What the kernel says, if it did not.
    pub refusal: Option<String>,
}

/// A flow at its sender.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SentFlow {
    /// Its number.
    pub number: u32,
    /// How it ended.
    pub ending: Ending,
    /// The congestion control that the connected socket says it has, or the rate control of a
    /// session; `None` for UDP without one.
    pub control: Option<String>,
    /// What its socket was set to.
    pub settings: Vec<SocketSetting>,
    /// When the connection was asked for, or a source of datagrams began.
    pub started_ns: Option<u64>,
    /// When it was established: of a session, when the receiver had asked for it.
    pub connected_ns: Option<u64>,
    /// When it ended.
    pub ended_ns: Option<u64>,
    /// Payload that the socket took, in bytes.
    pub written_bytes: u64,
    /// Payload that the receiver acknowledged, in bytes; `None` for UDP without control.
    pub acknowledged_bytes: Option<u64>,
    /// Segments sent again; `None` for UDP.
    pub retransmissions: Option<u32>,
    /// The kernel's last word on the connection.
    pub last: Option<TcpInfo>,
    /// Of a UDP flow.
    pub datagrams: Option<SentDatagrams>,
    /// Of a UDP flow under rate control.
    pub session: Option<SentSession>,
}

/// A session as its sender's control saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SentSession {
    /// Packets that it holds lost; `None` where its receiver measures the loss.
    pub lost_packets: Option<u64>,
    /// Packets that it had held lost when news came that they had arrived; likewise.
    pub spurious_losses: Option<u64>,
    /// Expirations of its timer for want of feedback.
    pub timeouts: u64,
    /// The least round-trip time, in nanoseconds.
    pub rtt_min_ns: Option<u64>,
    /// The greatest, in nanoseconds.
    pub rtt_max_ns: Option<u64>,
}

impl SentSession {
    pub(super) fn of(report: &SenderReport) -> Self {
        let (state, counts) = (&report.state, &report.statistics);
        let nanos =
            |seconds: f64| (counts.rtt_samples > 0).then(|| Span::from_seconds(seconds).as_nanos());
        SentSession {
            lost_packets: state.lost,
            spurious_losses: state.spurious_losses,
            timeouts: state.timeouts,
            rtt_min_ns: nanos(counts.rtt_min_s),
            rtt_max_ns: nanos(counts.rtt_max_s),
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
    /// Those that the kernel took.
    pub sent: u64,
    /// Those that it did not: lost outside of the model.
    pub refused: u64,
    /// Why it did not take the last of these.
    pub refusal: Option<String>,
    /// How much later than due they were sent.
    pub lateness: Delays,
    /// The first of them, as many as the plan asks for.
    pub log: Vec<SentDatagram>,
}

/// A datagram that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentDatagram {
    /// Its number, from 0.
    pub number: u64,
    /// When its traffic says that it is sent.
    pub due_ns: u64,
    /// When it was.
    pub sent_ns: u64,
}

/// A flow at its receiver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReceivedFlow {
    /// Its number.
    pub number: u32,
    /// How it ended.
    pub ending: Ending,
    /// What its socket was set to.
    pub settings: Vec<SocketSetting>,
    /// When the connection was accepted.
    pub connected_ns: Option<u64>,
    /// When the first payload arrived.
    pub first_ns: Option<u64>,
    /// When the last payload arrived.
    pub last_ns: Option<u64>,
    /// When all had arrived, for a finite transfer, if that was by the end of the run.
    pub completed_ns: Option<u64>,
    /// Payload that arrived, each byte once, in bytes.
    pub received_bytes: u64,
    /// What of it had arrived when the warm-up ended.
    pub received_by_warmup_bytes: u64,
    /// What of it had arrived when the run ended.
    pub received_by_end_bytes: u64,
    /// Of a UDP flow.
    pub datagrams: Option<ReceivedDatagrams>,
}

/// The datagrams of a flow at its receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReceivedDatagrams {
    /// Different datagrams that came.
    pub unique: u64,
    /// Datagrams that came again.
    pub duplicate: u64,
    /// Of the different ones, those that came after a later one (RFC 4737 section 3).
    pub reordered: u64,
    /// Datagrams that the socket had no room for: lost outside of the model. `None` if the kernel
    /// does not say.
    pub overflowed: Option<u64>,
    /// Answers that the kernel did not take: likewise lost.
    pub refused: u64,
    /// Why it did not take the last of these.
    pub refusal: Option<String>,
    /// One-way delay of the different ones, from the call that sent to the call that received.
    pub delay: Delays,
    /// The first that came, as many as the plan asks for.
    pub log: Vec<ReceivedDatagram>,
}

/// A datagram that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceivedDatagram {
    /// Its number, from 0.
    pub number: u64,
    /// When it was sent, if it was long enough to say (16 bytes of payload).
    pub sent_ns: Option<u64>,
    /// When it was received.
    pub received_ns: u64,
}

/// A few numbers of many delays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delays {
    /// How many.
    pub count: u64,
    /// Their sum; with `count` the mean.
    pub sum_ns: u64,
    /// The least; zero if there is none.
    pub least_ns: u64,
    /// The greatest; zero if there is none.
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
    /// The mean; `None` of none.
    pub fn mean_ns(&self) -> Option<u64> {
        self.sum_ns.checked_div(self.count)
    }
}
