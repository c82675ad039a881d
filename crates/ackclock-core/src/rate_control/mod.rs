//! Rate controls: one algorithm, one file, one line in the list below.
//!
//! Where a [congestion control](crate::congestion) says how much may be in flight, a rate control
//! says how fast packets leave, and nothing is sent again. It has two halves. The sender's is told
//! of what leaves and of what comes back; the receiver's is told of what arrives and decides when
//! to answer. Neither knows a clock or a socket: [`datagram`](crate::datagram) puts packets around
//! them, the same in the engine, in the emulator's hosts and over real sockets.

use self::facts::RateControlFacts;
use crate::registry::{Entry, Kind, StreamScope};
use crate::units::{Bytes, Span, Time};
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

/// The shortest round-trip time that is reckoned with: controls divide by it, and have timers of
/// its length, by which time must go on. No clock of a host is finer.
pub const SHORTEST_RTT: Span = Span::from_micros(1);

/// The slowest rate, in packets per second: one in 64 s (1/t_mbi in RFC 5348 section 4.3), or
/// nothing would ever tell that the path is there again.
const SLOWEST: f64 = 1.0 / 64.0;

/// A packet has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramSent {
    /// Its number: 0, 1, 2, …
    pub sequence: u64,
    /// Its payload.
    pub length: Bytes,
    /// Whether the application has nothing more to send now: it limits the rate, not the control.
    pub data_limited: bool,
}

/// A packet has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Its number.
    pub sequence: u64,
    /// When it was sent, by the sender's clock: only to be echoed.
    pub sent_at: Time,
    /// Its payload.
    pub length: Bytes,
    /// The sender's estimate of the round-trip time, once it has one.
    pub rtt: Option<Span>,
    /// Whether it carries Congestion Experienced (RFC 3168).
    pub marked: bool,
}

/// What the receiver says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Feedback {
    /// The packet that is answered.
    pub sequence: u64,
    /// When that packet was sent, by the sender's clock.
    pub echo: Time,
    /// How long it was held before the answer.
    pub held: Span,
    /// Which packets up to that one have arrived.
    pub received: Received,
    /// How many packets have arrived with Congestion Experienced, so far.
    pub marked: u64,
    /// What the receiver has reckoned, if it is the receiver who does.
    pub report: Option<Report>,
}

impl Feedback {
    /// The round-trip time that it measures, at least [`SHORTEST_RTT`].
    pub fn rtt(&self, now: Time) -> Span {
        now.since(self.echo + self.held).max(SHORTEST_RTT)
    }
}

/// Which packets have arrived: bit i stands for the packet numbered i less than the one that is
/// answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The bits.
    pub bits: u64,
    /// How many of them say something, at most 64; none where the receiver does the reckoning.
    pub width: u8,
}

impl Received {
    /// The numbers of the packets that it says have arrived, if `last` is the one that is answered;
    /// the latest first.
    pub fn numbers(self, last: u64) -> impl Iterator<Item = u64> {
        (0..u64::from(self.width))
            .filter(move |bit| self.bits >> bit & 1 == 1)
            .filter_map(move |bit| last.checked_sub(bit))
    }
}

/// What a receiver that measures loss itself reports (RFC 5348 section 3.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// X_recv: payload received per second since the last report, in bytes per second.
    pub receive_rate: f64,
    /// p: the loss event rate, from 0 to 1.
    pub loss_event_rate: f64,
}

/// When packets may leave: at `origin`, and then `packets_per_s` of them in a second. A control
/// that moves `origin` starts the clock anew; one that only changes the rate stretches or shortens
/// the gap that began with the last packet. Times are reckoned, not slept, so that nothing drifts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clocking {
    /// The first packet's moment; [`Time::NEVER`] before the start.
    pub origin: Time,
    /// Zero for none.
    pub packets_per_s: f64,
}

/// What a control shows of itself, for tables.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateState {
    /// Payload per second that it allows, in bytes per second.
    pub rate: f64,
    /// What it takes for the loss rate: by its own definition (packets lost, or loss events); not a
    /// number before it knows.
    pub loss_event_rate: f64,
    /// What it thinks it is doing.
    pub mode: &'static str,
    /// Packets it holds lost; nothing if it is the receiver who keeps count.
    pub lost: Option<u64>,
    /// Packets that it had held lost when news came that they had arrived; likewise.
    pub spurious_losses: Option<u64>,
    /// Expirations of the timer for want of feedback.
    pub timeouts: u64,
    /// The last round-trip time measured.
    pub rtt: Option<Span>,
    /// The smoothed one.
    pub smoothed_rtt: Option<Span>,
    /// The timeout that it reckons with.
    pub timeout: Option<Span>,
}

/// The sender's half. `now` never runs backwards.
pub trait RateControl: Debug + Send {
    /// The flow starts. Called once, before anything else.
    fn start(&mut self, now: Time);
    /// A packet has left.
    fn on_sent(&mut self, now: Time, sent: &DatagramSent);
    /// The receiver has answered.
    fn on_feedback(&mut self, now: Time, feedback: &Feedback);
    /// When it wants to be called: the end of a round, the timer for want of feedback.
    fn poll_timeout(&self) -> Time;
    /// Does what is due by `now`.
    fn handle_timeout(&mut self, now: Time);
    /// When packets may leave. It changes only in the calls that take `&mut self`.
    fn clocking(&self) -> Clocking;
    /// The estimate of the round-trip time that packets carry to the receiver, if it needs one; no
    /// more than a round trip's worth of packets leaves together then.
    fn carried_rtt(&self) -> Option<Span> {
        None
    }
    /// How long it takes to notice that something has changed and to react: its round where it has
    /// one, else a round-trip time; zero before it knows. Who must decide that the other side is
    /// gone waits for several.
    fn round(&self) -> Span {
        self.state().smoothed_rtt.unwrap_or(Span::ZERO)
    }
    /// For tables.
    fn state(&self) -> RateState;
}

/// The receiver's half. `now` never runs backwards.
pub trait RateReceiver: Debug + Send {
    /// A packet has arrived for the first time.
    fn on_data(&mut self, now: Time, data: &Arrived);
    /// When it wants to be called.
    fn poll_timeout(&self) -> Time {
        Time::NEVER
    }
    /// Does what is due by `now`.
    fn handle_timeout(&mut self, now: Time) {
        let _ = now;
    }
    /// The next answer, if there is one to be sent.
    fn poll_feedback(&mut self, now: Time) -> Option<Feedback>;
}

/// Both halves of one flow.
#[derive(Debug)]
pub struct Halves {
    /// The sender's.
    pub sender: Box<dyn RateControl>,
    /// The receiver's.
    pub receiver: Box<dyn RateReceiver>,
}

/// What a control is built with.
#[derive(Clone, Copy, Debug)]
pub struct RateContext<'a> {
    /// Where it stands (`flow/3/control`).
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
    fn entries() -> &'static [Entry<Self>] {
        const LIST: &[Entry<RateControlKind>] = &[
            Entry::of::<tfrcp::Tfrcp>(),
            Entry::of::<tfrc::Tfrc>(),
            Entry::of::<rap::Rap>(),
        ];
        LIST
    }
}
