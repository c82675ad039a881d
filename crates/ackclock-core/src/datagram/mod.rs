//! UDP endpoints that use neither a clock nor a socket. They are driven like the [TCP
//! endpoints](crate::endpoint).
//!
//! Datagrams are numbered and never retransmitted. Without a control, each write of the application
//! leaves at once. Under a [rate control](crate::rate_control), the sender holds the application's
//! data until the control's clock releases it, and the receiver answers.

use crate::rate_control::Arrived;
use ackclock_spec::parameters;
use ackclock_spec::quantity::Segments;
use ackclock_spec::units::{Bytes, Span, Time};

mod clock;
mod once;
mod receiver;
mod sender;

pub use once::Once;
pub use receiver::{DatagramReceiver, DatagramReceiverStatistics};
pub use sender::{DatagramSender, DatagramSenderStatistics};

parameters! {
    /// Parameters of a UDP flow under rate control, in addition to those of the control.
    #[derive(Copy, PartialEq, Eq)]
    pub struct DatagramParameters {
        /// Payload of a full datagram.
        pub mss: Bytes = Bytes(1000),
        /// Size of the headers of each datagram: IP, UDP and everything else before the payload.
        pub header: Bytes = Bytes(28), // IPv4 20, UDP 8
        /// Size of the receiver's answers, headers included.
        pub feedback_size: Bytes = Bytes(40), // what ns-2 gives its acknowledgements
        /// True if datagrams are ECN-capable: ECT(0) (RFC 3168).
        pub ecn: bool = false,
        /// Largest random delay of a packet before it leaves (uniform from zero, order is kept).
        /// Breaks the phase effects of simulated paths.
        pub send_jitter: Span = Span::ZERO,
        /// Tick of the sender's timer, for systems without fine timers: all packets that are due
        /// leave at a whole tick. Zero is exact.
        pub granularity: Span = Span::ZERO,
        /// Packets that may leave together at a tick even if fewer are due in one tick. All packets
        /// that are due in a tick may always leave.
        pub burst: Segments = Segments(2),
    }
}

/// A datagram from the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Sequence number: 0, 1, 2, …
    pub sequence: u64,
    /// Payload.
    pub length: Bytes,
    /// Sending time.
    pub stamp: Time,
    /// The control's estimate of the round-trip time, if the receiver needs it.
    pub rtt: Option<Span>,
}

impl Datagram {
    /// Returns the arrival of this datagram.
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
