//! Congestion controls: one algorithm, one file, one entry in the list below.
//!
//! A control is told of what happened through structs with named fields, so that a new signal
//! breaks nobody, and answers with a window and perhaps a pacing rate. It does no loss recovery:
//! [`endpoint`](crate::endpoint) decides what is lost, what is retransmitted, and how the window is
//! inflated meanwhile.

use self::facts::ControlFacts;
use crate::registry::{Entry, Kind, StreamScope};
use crate::units::{BitRate, Bytes, Span, Time};
use std::fmt::Debug;

mod additive_increase;
pub mod cubic;
pub mod facts;
pub mod highspeed;
mod parameters;
pub mod reno;
mod rounds;
mod slow_start;
#[cfg(test)]
mod testing;
pub mod vegas;
mod westwood;
pub mod westwood_abse;
pub mod westwood_be;
pub mod westwood_crb;
pub mod westwood_plus;
pub mod westwood_re;
mod window;

/// A segment has been sent.
#[derive(Clone, Copy, Debug)]
pub struct SegmentSent {
    /// Its payload.
    pub bytes: Bytes,
    /// Outstanding data, this segment included.
    pub in_flight: Bytes,
    /// What kept the sender from having more in flight when it sent this.
    pub limited: SendLimit,
}

/// What kept the sender from sending more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendLimit {
    /// The congestion window.
    CongestionWindow,
    /// The receiver's window.
    ReceiveWindow,
    /// The application had nothing to send.
    Application,
}

/// What the sender is doing about losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryPhase {
    /// Nothing is known to be lost.
    Open,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout, until what was outstanding then is acknowledged.
    Loss,
}

/// What an ACK says about the order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckKind {
    /// It acknowledges new data.
    New,
    /// It acknowledges nothing new while data is outstanding (RFC 5681 section 2).
    Duplicate,
}

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Delivered per time.
    pub rate: BitRate,
    /// Data delivered over the sampling interval.
    pub delivered: Bytes,
    /// The longer of the send and the ACK interval.
    pub interval: Span,
    /// All data delivered when the sampled segment was sent.
    pub prior_delivered: Bytes,
    /// Whether the application limited the sampled flight ([`SendLimit::Application`]) rather than
    /// the path.
    pub limited: SendLimit,
}

/// An ACK has arrived; every one, duplicates too. The scoreboard has been brought up to date
/// before, and the estimate of the round-trip time.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Duplicate or not.
    pub kind: AckKind,
    /// Cumulatively acknowledged for the first time.
    pub newly_acked: Bytes,
    /// Learnt to have been delivered: newly acked or newly SACKed, each byte once. Without SACK a
    /// duplicate ACK counts one segment, and the cumulative ACK that follows is reduced by what was
    /// counted.
    pub newly_delivered: Bytes,
    /// How much the window may count for growth by the transport's rule
    /// ([`ByteCounting`](crate::endpoint::parameters::ByteCounting)); zero outside
    /// [`RecoveryPhase::Open`] unless slow start after a timeout, and zero when the window was not
    /// used.
    pub credit: Bytes,
    /// Everything delivered so far.
    pub delivered: Bytes,
    /// Round-trip time measured by this ACK.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time (RFC 6298).
    pub smoothed_rtt: Option<Span>,
    /// Smallest round-trip time so far.
    pub min_rtt: Option<Span>,
    /// Outstanding data after this ACK.
    pub in_flight: Bytes,
    /// Delivery-rate sample, for controls that ask ([`CongestionControl::wants_delivery_rate`]).
    pub rate_sample: Option<RateSample>,
    /// What limited the sender over the last round trip.
    pub limited: SendLimit,
    /// What the sender is doing.
    pub phase: RecoveryPhase,
    /// Data whose ACK carried an ECN echo.
    pub marked: Bytes,
}

/// Why the window should shrink (or was shrunk in error).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionKind {
    /// Loss learnt from duplicate ACKs or SACK: once per window of data.
    Loss,
    /// ECN echo: once per window of data.
    Mark,
    /// The retransmission timer went off, or Tahoe's reaction to duplicate ACKs: back to one
    /// segment.
    Timeout,
    /// The timer went off again for the same segment: the window is one segment already, ssthresh
    /// may be kept (RFC 5681 section 3.1).
    RepeatedTimeout,
    /// The last reduction was for nothing: restore what was there before.
    SpuriousLoss,
}

/// Congestion, reported once per window of data.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// Why.
    pub kind: CongestionKind,
    /// What a multiplicative decrease starts from: FlightSize (RFC 5681 equation 4) or the window,
    /// by the transport's rule ([`SsthreshFrom`](crate::endpoint::parameters::SsthreshFrom)).
    pub base: Bytes,
    /// Outstanding data.
    pub in_flight: Bytes,
    /// Smallest round-trip time so far.
    pub min_rtt: Option<Span>,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Option<Span>,
}

/// What a control shows of itself, for time series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ControlState {
    /// Slow-start threshold, if it has one and it has been set.
    pub ssthresh: Option<Bytes>,
    /// What it thinks it is doing: `"slow_start"`, `"congestion_avoidance"`, `"probe_bw"`.
    pub mode: &'static str,
    /// Rate that it believes the path gives, if it estimates one.
    pub rate_estimate: Option<BitRate>,
}

/// One congestion control of one connection. `now` never runs backwards.
pub trait CongestionControl: Debug + Send {
    /// A segment has been sent. Not called if [`CongestionControl::wants_sent`] says so.
    fn on_sent(&mut self, now: Time, sent: &SegmentSent) {
        let _ = (now, sent);
    }
    /// An ACK has arrived.
    fn on_ack(&mut self, now: Time, ack: &Ack);
    /// Congestion, before any retransmission. The ACK that revealed it has been given to
    /// [`CongestionControl::on_ack`] first.
    fn on_congestion(&mut self, now: Time, congestion: &Congestion);
    /// Everything outstanding at the last [`CongestionKind::Loss`] or [`CongestionKind::Timeout`]
    /// is acknowledged.
    fn on_recovery_end(&mut self, now: Time) {
        let _ = now;
    }
    /// The sender was idle and its transport asks for a window no larger than `limit` (RFC 5681
    /// section 4.1).
    fn on_idle_restart(&mut self, now: Time, limit: Bytes);
    /// The congestion window: at least one segment, fractions of a segment included. It changes
    /// only in the calls that take `&mut self`; the sender asks after each of them.
    fn cwnd(&self) -> Bytes;
    /// At what rate to send; `None` leaves it to the transport.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }
    /// Whether [`Ack::rate_sample`] is to be filled in (it costs memory per segment in flight).
    fn wants_delivery_rate(&self) -> bool {
        false
    }
    /// Whether [`CongestionControl::on_sent`] is to be called, asked once. A control that does
    /// nothing there may say no: it saves a call per segment.
    fn wants_sent(&self) -> bool {
        true
    }
    /// For time series.
    fn state(&self) -> ControlState;
}

/// What a control is built with.
#[derive(Clone, Copy, Debug)]
pub struct ControlContext<'a> {
    /// Where it stands (`flow/3/control`).
    pub place: StreamScope<'a>,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// The transport's initial window.
    pub initial_window: Bytes,
    /// The transport's initial slow-start threshold, `None` for arbitrarily high.
    pub initial_ssthresh: Option<Bytes>,
    /// Whether the transport wants ssthresh cut to whole segments at a reduction.
    pub ssthresh_in_whole_segments: bool,
}

/// The registry of congestion controls.
#[derive(Debug)]
pub struct ControlKind;

impl Kind for ControlKind {
    type Product = Box<dyn CongestionControl>;
    type Context<'a> = ControlContext<'a>;
    type Facts = ControlFacts;
    const NAME: &'static str = "congestion control";
    const PLURAL: &'static str = "controls";
    fn entries() -> &'static [Entry<Self>] {
        const LIST: &[Entry<ControlKind>] = &[
            Entry::of::<reno::Reno>(),
            Entry::of::<cubic::Cubic>(),
            Entry::of::<highspeed::HighSpeed>(),
            Entry::of::<vegas::Vegas>(),
            Entry::of::<westwood_be::WestwoodBe>(),
            Entry::of::<westwood_re::WestwoodRe>(),
            Entry::of::<westwood_crb::WestwoodCrb>(),
            Entry::of::<westwood_abse::WestwoodAbse>(),
            Entry::of::<westwood_plus::WestwoodPlus>(),
        ];
        LIST
    }
}
