//! Rate controls: one algorithm, one file, one line in the list below.
//!
//! A [congestion control](crate::congestion) decides how much may be in flight. A rate control
//! decides how fast packets leave, and nothing is retransmitted. It has two halves. The sender's
//! half processes sent packets and feedback; the receiver's half processes arrivals and decides
//! when to answer. Neither uses a clock or a socket. [`datagram`](crate::datagram) builds the
//! packets, in the same way for the engine, the emulator's hosts and real sockets.

use self::facts::RateControlFacts;
use ackclock_spec::registry::{Entry, Kind, StreamScope};
use ackclock_spec::units::{Bytes, Span, Time};
use std::fmt::Debug;

pub mod acknowledging;
mod check;
pub mod equation;
pub mod facts;
#[cfg(test)]
mod laws;
mod log;
pub mod rap;
#[cfg(test)]
mod testing;
pub mod tfrc;
pub mod tfrcp;

/// The shortest round-trip time used. Controls divide by it and set timers to it, so it must not be
/// zero. No host clock is finer.
pub const SHORTEST_RTT: Span = Span::from_micros(1);

/// The slowest rate, in packets per second: one packet in 64 s (1/t_mbi in RFC 5348 section 4.3).
/// At zero, the sender would never learn that the path works again.
const SLOWEST: f64 = 1.0 / 64.0;

/// Event: a packet has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramSent {
    /// Sequence number: 0, 1, 2, …
    pub sequence: u64,
    /// Payload.
    pub length: Bytes,
    /// True if the application has no more data now: it limits the rate, not the control.
    pub data_limited: bool,
}

/// Event: a packet has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Sequence number.
    pub sequence: u64,
    /// Sending time by the sender's clock, which is only echoed.
    pub sent_at: Time,
    /// Payload.
    pub length: Bytes,
    /// The sender's estimate of the round-trip time; `None` before it has one.
    pub rtt: Option<Span>,
    /// True if it carries Congestion Experienced (RFC 3168).
    pub marked: bool,
}

/// Feedback from the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Feedback {
    /// Sequence number of the packet that is answered.
    pub sequence: u64,
    /// Sending time of that packet, by the sender's clock.
    pub echo: Time,
    /// Time from its arrival to this answer.
    pub held: Span,
    /// Arrivals among the packets up to that one.
    pub received: Received,
    /// Number of packets that have arrived with Congestion Experienced so far.
    pub marked: u64,
    /// The receiver's measurements, if the receiver measures.
    pub report: Option<Report>,
}

impl Feedback {
    /// Returns the round-trip time measured with this feedback, at least [`SHORTEST_RTT`].
    pub fn rtt(&self, now: Time) -> Span {
        now.since(self.echo + self.held).max(SHORTEST_RTT)
    }
}

/// Bit vector of arrivals: bit i is the packet whose number is i below that of the answered packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The bits.
    pub bits: u64,
    /// Number of valid bits, at most 64; zero if the receiver measures.
    pub width: u8,
}

impl Received {
    /// Returns the numbers of the arrived packets, the latest first. `last` is the number of the
    /// answered packet.
    pub fn numbers(self, last: u64) -> impl Iterator<Item = u64> {
        (0..u64::from(self.width))
            .filter(move |bit| self.bits >> bit & 1 == 1)
            .filter_map(move |bit| last.checked_sub(bit))
    }
}

/// Measurements of a receiver that measures loss itself (RFC 5348 section 3.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// X_recv: payload received since the last report over the time since then, in bytes per
    /// second.
    pub receive_rate: f64,
    /// p: the loss event rate, from 0 to 1.
    pub loss_event_rate: f64,
}

/// Sending times of packets: the first at `origin`, then at `packets_per_s`. A new `origin`
/// restarts the clock. A new rate alone stretches or shortens the gap that began with the last
/// packet. Sending times are computed, not slept for, so that they do not drift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clocking {
    /// Sending time of the first packet; [`Time::NEVER`] before the start.
    pub origin: Time,
    /// Rate; zero stops the clock.
    pub packets_per_s: f64,
}

/// The visible state of a control, for tables.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateState {
    /// Allowed rate of payload, in bytes per second.
    pub rate: f64,
    /// Loss rate by the control's own definition (packets lost, or loss events); NaN before it is
    /// known.
    pub loss_event_rate: f64,
    /// Name of the control's phase.
    pub mode: &'static str,
    /// Packets deemed lost; `None` if the receiver counts them.
    pub lost: Option<u64>,
    /// Packets deemed lost that were later reported to have arrived; `None` if the receiver counts
    /// them.
    pub spurious_losses: Option<u64>,
    /// Expirations of the timer that waits for feedback.
    pub timeouts: u64,
    /// Last measured round-trip time.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Option<Span>,
    /// Present timeout.
    pub timeout: Option<Span>,
}

/// The sender's half of a rate control. `now` never decreases.
pub trait RateControl: Debug + Send {
    /// Starts the flow. Called once, before any other method.
    fn start(&mut self, now: Time);
    /// Reports a sent packet.
    fn on_sent(&mut self, now: Time, sent: &DatagramSent);
    /// Reports feedback from the receiver.
    fn on_feedback(&mut self, now: Time, feedback: &Feedback);
    /// Returns when to call [`RateControl::handle_timeout`]: the end of a round, or the timer that
    /// waits for feedback.
    fn poll_timeout(&self) -> Time;
    /// Handles all timeouts due by `now`.
    fn handle_timeout(&mut self, now: Time);
    /// Returns the sending times of packets. They change only in calls that take `&mut self`.
    fn clocking(&self) -> Clocking;
    /// Returns the round-trip time that packets carry to the receiver, if the control needs that.
    /// At most one round trip's worth of packets then leaves together.
    fn carried_rtt(&self) -> Option<Span> {
        None
    }
    /// Returns the reaction time of the control: the length of its round, or a round-trip time if
    /// it has no rounds; zero before it is known. A caller should wait for several before it
    /// decides that the other side is gone.
    fn round(&self) -> Span {
        self.state().smoothed_rtt.unwrap_or(Span::ZERO)
    }
    /// Returns the state for tables.
    fn state(&self) -> RateState;
}

/// The receiver's half of a rate control. `now` never decreases.
pub trait RateReceiver: Debug + Send {
    /// Reports the first arrival of a packet.
    fn on_data(&mut self, now: Time, data: &Arrived);
    /// Returns when to call [`RateReceiver::handle_timeout`].
    fn poll_timeout(&self) -> Time {
        Time::NEVER
    }
    /// Handles all timeouts due by `now`.
    fn handle_timeout(&mut self, now: Time) {
        let _ = now;
    }
    /// Returns the next feedback, if one is to be sent.
    fn poll_feedback(&mut self, now: Time) -> Option<Feedback>;
}

/// Both halves of the rate control of one flow.
#[derive(Debug)]
pub struct Halves {
    /// The sender's half.
    pub sender: Box<dyn RateControl>,
    /// The receiver's half.
    pub receiver: Box<dyn RateReceiver>,
}

/// The context in which a control is built.
#[derive(Clone, Copy, Debug)]
pub struct RateContext<'a> {
    /// Location in the scenario, for random streams (`flow/3/control`).
    pub place: StreamScope<'a>,
    /// Payload of a full packet.
    pub mss: Bytes,
}

/// The registry of rate controls.
#[derive(Debug)]
pub struct RateControlKind;

impl Kind for RateControlKind {
    type Product = Halves;
    type Context<'a> = RateContext<'a>;
    type Facts = RateControlFacts;
    const NAME: &'static str = "rate control";
    const PLURAL: &'static str = "rate_controls";
    const ENTRIES: &'static [Entry<Self>] = &[
        Entry::of::<tfrcp::Tfrcp>(),
        Entry::of::<tfrc::Tfrc>(),
        Entry::of::<rap::Rap>(),
    ];
}
