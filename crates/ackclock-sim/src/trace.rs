//! Per-packet tracing, on request. The engine is compiled once for [`NoTrace`] and once for any
//! other trace, so that tracing costs nothing when it is off.

use ackclock_core::packet::{Content, Packet};
use ackclock_spec::units::Time;

/// A step of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An endpoint put it on the wire.
    Send,
    /// It arrived at a hop.
    Arrive,
    /// A hop dropped it.
    Drop,
    /// A hop marked it.
    Mark,
    /// It reached the endpoint it was sent to.
    Receive,
}

impl Step {
    /// Returns the name in tables.
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

/// Records every step of every packet. `hop` is an index into
/// [`Topology::hops`](crate::topology::Topology), `None` at the endpoints. Drops and marks inside a
/// hop are reported when the hop catches up, with the time at which they happened.
pub trait Trace: Send {
    /// True if steps are recorded.
    const ON: bool = true;
    /// Records one step.
    fn record(
        &mut self,
        at: Time,
        step: Step,
        hop: Option<usize>,
        packet: &Packet,
        content: Content<'_>,
    );
}

/// Records nothing.
#[derive(Debug, Default)]
pub struct NoTrace;

impl Trace for NoTrace {
    const ON: bool = false;
    #[inline(always)]
    fn record(&mut self, _: Time, _: Step, _: Option<usize>, _: &Packet, _: Content<'_>) {}
}
