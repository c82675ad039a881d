//! Per-packet tracing, on request. The engine is compiled once for [`NoTrace`] and once for any
//! other, so that tracing costs nothing when it is off.

use ackclock_core::packet::{Packet, SackBlock};
use ackclock_core::units::Time;

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An endpoint put it on the wire.
    Send,
    /// It came to a hop.
    Arrive,
    /// A hop dropped it.
    Drop,
    /// A hop marked it.
    Mark,
    /// It reached the endpoint it was sent to.
    Receive,
}

impl Step {
    /// As written in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Step::Send => "send",
            Step::Arrive => "arrive",
            Step::Drop => "drop",
            Step::Mark => "mark",
            Step::Receive => "receive",
        }
    }
}

/// Told of every step of every packet. `hop` is an index into
/// [`Topology::hops`](crate::topology::Topology), `None` at the endpoints. Drops and marks inside a
/// hop are told when the hop catches up, at the time they happened.
pub trait Trace: Send {
    /// Whether anybody listens.
    const ON: bool = true;
    /// One step.
    fn record(
        &mut self,
        at: Time,
        step: Step,
        hop: Option<usize>,
        packet: &Packet,
        sacks: &[SackBlock],
    );
}

/// Nobody listens.
#[derive(Debug, Default)]
pub struct NoTrace;

impl Trace for NoTrace {
    const ON: bool = false;
    #[inline(always)]
    fn record(&mut self, _: Time, _: Step, _: Option<usize>, _: &Packet, _: &[SackBlock]) {}
}
