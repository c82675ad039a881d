//! All TCP parameters that change the outcome of an experiment, and their presets.

use ackclock_spec::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod ecn;
mod growth;
mod presets;
mod receiver;
mod recovery;
mod resume;
mod sending;
mod timer;

pub(crate) use ecn::LARGEST_TCP_ECN;
pub use ecn::{AccurateEcn, EcnCodepoint, EcnFeedback, EcnParameters, TcpEcn};
pub use growth::{
    Arithmetic, ByteCounting, GrowthParameters, IdleRestart, SsthreshFrom, WindowValidation,
};
pub use presets::Preset;
pub use receiver::{DelayedAck, ReceiverParameters, WindowRule};
pub use recovery::{
    AfterTimeout, AvoidMultipleFastRetransmits, LossRecovery, PartialAck, RecoveryParameters,
    RecoveryWindow, RepeatedTimeout, SackEntry, SackPipe,
};
pub use resume::{ResumeFrom, ResumeParameters};
pub use sending::{Pacing, SendingParameters};
pub use timer::{RtoFloor, RttSampling, TimerParameters};

/// The TCP parameters. A scenario writes the fields of all records into one table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct TcpParameters {
    /// The connection and its segments.
    #[serde(flatten)]
    pub connection: ConnectionParameters,
    /// The receiver: ACKs and receive window.
    #[serde(flatten)]
    pub receiver: ReceiverParameters,
    /// The congestion window.
    #[serde(flatten)]
    pub growth: GrowthParameters,
    /// Loss recovery.
    #[serde(flatten)]
    pub recovery: RecoveryParameters,
    /// Round-trip times and timeouts.
    #[serde(flatten)]
    pub timer: TimerParameters,
    /// Times at which permitted segments leave.
    #[serde(flatten)]
    pub sending: SendingParameters,
    /// Explicit congestion notification.
    #[serde(flatten)]
    pub ecn: EcnParameters,
}

/// Parameters of the connection and its segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionParameters {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Size of the IP and TCP headers of each segment, options included; also the size of an ACK.
    pub header: Bytes,
    /// True if a SYN exchange opens the connection.
    pub handshake: bool,
}
