//! UDP endpoints that know no clock and no socket, driven as TCP's are
//! ([`endpoint`](crate::endpoint)).
//!
//! Datagrams are numbered, and nothing is sent again. Without control each write of the application
//! leaves at once; under a [rate control](crate::rate_control) the sender keeps the application's
//! data until the control's clock says, and the receiver answers.

use crate::rate_control::Arrived;
use crate::scenario::quantity::Segments;
use crate::units::{Bytes, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod clock;
mod once;
mod receiver;
mod sender;

pub use once::Once;
pub use receiver::{DatagramReceiver, DatagramReceiverStatistics};
pub use sender::{DatagramSender, DatagramSenderStatistics};

/// What a UDP flow under rate control can be told beside its control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DatagramParameters {
    /// Payload of a full datagram.
    pub mss: Bytes,
    /// IP and UDP headers, and what else is in front of the payload, on the wire with every
    /// datagram.
    pub header: Bytes,
    /// Length on the wire of the receiver's answers, headers included.
    pub feedback_size: Bytes,
    /// Whether datagrams are ECN-capable: ECT(0) (RFC 3168).
    pub ecn: bool,
    /// Most that a packet leaves late by chance, uniformly from zero on; order is kept. Breaks the
    /// phase effects of simulated paths.
    pub send_jitter: Span,
    /// Tick of the sender's timer: packets leave at whole ticks only, as many as are due, like
    /// those of a system without fine timers. Zero is exact.
    pub granularity: Span,
    /// Packets that may leave together at a tick even if fewer are due in one. What a tick owes may
    /// leave at any rate.
    pub burst: Segments,
}

impl Default for DatagramParameters {
    fn default() -> Self {
        DatagramParameters {
            mss: Bytes(1000),
            header: Bytes(28),        // IPv4 20, UDP 8
            feedback_size: Bytes(40), // what ns-2 gives its acknowledgements
            ecn: false,
            send_jitter: Span::ZERO,
            granularity: Span::ZERO,
            burst: Segments(2),
        }
    }
}

/// What the sender puts on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Its number: 0, 1, 2, …
    pub sequence: u64,
    /// Payload.
    pub length: Bytes,
    /// When it is sent.
    pub stamp: Time,
    /// The control's estimate of the round-trip time, if it wants the receiver to know.
    pub rtt: Option<Span>,
}

impl Datagram {
    /// As it arrives.
    pub const fn arrived(&self, marked: bool) -> Arrived {
        Arrived {
            sequence: self.sequence,
            sent_at: self.stamp,
            length: self.length,
            rtt: self.rtt,
            marked,
        }
    }
}
