//! Congestion controls: one algorithm, one file, one entry in the list below.
//!
//! The transport reports events to a control through structs with named fields, so that a new field
//! breaks no control. A control answers with a congestion window and optionally a pacing rate. It
//! does no loss recovery: [`endpoint`](crate::endpoint) decides what is lost, what is
//! retransmitted, and how the window is inflated during recovery.

use self::facts::ControlFacts;
use self::steered::Steered;
use crate::endpoint::resume::Resuming;
use crate::programs::{Kernel, Python};
use ackclock_spec::registry::{Entry, Kind, StreamScope};
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use std::fmt::Debug;

mod additive_increase;
pub mod bbr1;
pub mod bbr3;
pub mod copa;
pub mod cuback;
pub mod cubic;
mod cubic_linux;
pub mod dctcp;
pub mod external;
pub mod facts;
pub mod highspeed;
mod hoe;
pub mod htcp;
mod hystart_linux;
mod hystart_plus_plus;
pub mod illinois;
pub mod ledbat;
pub mod ledbat_plus_plus;
pub mod prague;
mod rapid_start;
pub mod reno;
mod reno_linux;
mod rounds;
pub mod scripted;
mod search;
mod segments;
mod slow_start;
mod smallest_delay;
pub mod steered;
#[cfg(test)]
pub(crate) mod testing;
pub mod vegas;
mod westwood;
pub mod westwood_abse;
pub mod westwood_be;
pub mod westwood_crb;
pub mod westwood_plus;
pub mod westwood_re;
mod window;
mod windowed_maximum;

/// Most segments of an initial window, or of one that a program asks for. They may all leave at one
/// moment, and each takes memory.
pub(crate) const LARGEST_WINDOW: u32 = 10_000_000;

/// Event: a segment has been sent.
#[derive(Clone, Copy, Debug)]
pub struct SegmentSent {
    /// Payload of the segment.
    pub bytes: Bytes,
    /// Data in flight, this segment included.
    pub in_flight: Bytes,
    /// First segment that was not sent yet.
    pub next: u64,
    /// Limit that kept the sender from having more in flight when it sent this segment.
    pub limited: SendLimit,
}

/// Event: a segment was found lost.
#[derive(Clone, Copy, Debug)]
pub struct SegmentLost {
    /// Number of the segment.
    pub sequence: u64,
    /// Payload of the segment.
    pub bytes: Bytes,
    /// Data in flight when it was sent last, itself included.
    pub tx_in_flight: Bytes,
    /// Data found lost since then, itself included.
    pub lost: Bytes,
    /// All data delivered so far.
    pub delivered: Bytes,
    /// [`SendLimit::Application`] if rate samples of it are application-limited.
    pub limited: SendLimit,
}

/// The limit that kept the sender from sending more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendLimit {
    /// The congestion window.
    CongestionWindow,
    /// The receive window.
    ReceiveWindow,
    /// The application had nothing to send.
    Application,
}

/// State of the sender's loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryPhase {
    /// No loss is known.
    Open,
    /// The window is being reduced after an ECN echo; nothing is lost.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout, until all data in flight at the timeout is acknowledged.
    Loss,
}

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Data delivered over the sampling interval.
    pub delivered: Bytes,
    /// The longer of the send interval and the ACK interval.
    pub interval: Span,
    /// Time over which the sampled data was sent.
    pub send_elapsed: Span,
    /// Time over which its delivery became known.
    pub ack_elapsed: Span,
    /// Data in flight when the sampled segment was sent, itself included.
    pub tx_in_flight: Bytes,
    /// Data found lost since the sampled segment was sent.
    pub lost: Bytes,
    /// All data that was delivered when the sampled segment was sent.
    pub prior_delivered: Bytes,
    /// [`SendLimit::Application`] if the application, not the path, limited the sampled flight.
    pub limited: SendLimit,
}

impl RateSample {
    /// Returns the delivery rate: `delivered` over `interval`.
    pub fn rate(&self) -> BitRate {
        BitRate::average(self.delivered, self.interval)
    }
}

/// Values of an ACK for controls that ask for rate samples ([`Needs::rate_samples`]).
#[derive(Clone, Copy, Debug)]
pub struct RateInfo {
    /// Sample of the delivery rate, if this ACK gives one.
    pub sample: Option<RateSample>,
    /// Data in flight before this ACK, and before what it shows to be lost.
    pub prior_in_flight: Bytes,
    /// True if the receiver may have delayed this ACK: it acknowledges one segment alone, which
    /// was not full.
    pub delayed: bool,
    /// Time from which pacing lets the next segment leave: now, or later.
    pub next_departure: Time,
}

/// State of the sender after an ACK, as a socket of Linux shows it.
#[derive(Clone, Copy, Debug, Default)]
pub struct SocketState {
    /// Data that was sent and is not acknowledged cumulatively (FlightSize of RFC 5681).
    pub outstanding: Bytes,
    /// Data of it that is acknowledged selectively.
    pub sacked: Bytes,
    /// Data of it that is deemed lost.
    pub lost: Bytes,
    /// Data of it that was sent again and is in flight.
    pub resent: Bytes,
    /// True if the phase of recovery lets the window grow, were it full.
    pub opens: bool,
}

/// Event: an ACK, new or duplicate, has arrived. The scoreboard and the estimate of the round-trip
/// time are already up to date.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Data cumulatively acknowledged for the first time; none by a duplicate ACK (RFC 5681 section
    /// 2).
    pub newly_acked: Bytes,
    /// Data newly known to be delivered: newly acknowledged or newly SACKed, each byte once.
    /// Without SACK, a duplicate ACK counts as one segment, which is deducted from the next
    /// cumulative ACK.
    pub newly_delivered: Bytes,
    /// Acknowledged data that may open the congestion window, by the transport's rule
    /// ([`ByteCounting`](crate::endpoint::parameters::ByteCounting)). Zero in fast recovery, except
    /// for its last ACK if the transport allows that, and zero if the window was not used. For a
    /// control that replaces recovery, a window was used if it was full.
    pub credit: Bytes,
    /// All data delivered so far.
    pub delivered: Bytes,
    /// Round-trip time measured with this ACK: of the segment sent first among those it
    /// acknowledges.
    pub rtt: Option<Span>,
    /// Round-trip time of the segment sent last among those that this ACK shows to have arrived.
    /// Delayed ACKs do not add to it.
    pub newest_rtt: Option<Span>,
    /// Smoothed round-trip time (RFC 6298).
    pub smoothed_rtt: Option<Span>,
    /// Smallest round-trip time so far.
    pub min_rtt: Option<Span>,
    /// Data in flight after this ACK.
    pub in_flight: Bytes,
    /// Values for rate samples; present if [`Needs::rate_samples`].
    pub rate: Option<RateInfo>,
    /// State of the sender; present if [`Needs::socket`].
    pub socket: Option<SocketState>,
    /// Limit of the sender over the last round trip.
    pub limited: SendLimit,
    /// State of the loss recovery.
    pub phase: RecoveryPhase,
    /// Data that this ACK shows to be lost, retransmissions included.
    pub newly_lost: Bytes,
    /// True if a round trip ends with this ACK: it covers the first segment sent since the last
    /// one ended.
    pub round_start: bool,
    /// First segment that is not acknowledged (SND.UNA).
    pub first: u64,
    /// First segment that was never sent (SND.NXT).
    pub next: u64,
    /// Congestion window in use before this ACK, if it is not the control's: with recovery by time
    /// this ACK may have reduced that, and a proportional reduction has another (RFC 6937).
    pub window: Option<Bytes>,
    /// Data that arrived marked, as far as the feedback tells: with an echo all that this ACK shows
    /// to be delivered, with accurate ECN the full segments that were marked.
    pub marked: Bytes,
}

impl Ack {
    /// Returns the delivery-rate sample, if there is one.
    pub fn rate_sample(&self) -> Option<&RateSample> {
        self.rate.as_ref()?.sample.as_ref()
    }
}

/// Report: the marks of newly delivered data. It comes before any reaction to the same ACK.
#[derive(Clone, Copy, Debug)]
pub struct MarkReport {
    /// [`Ack::newly_delivered`].
    pub delivered: Bytes,
    /// [`Ack::marked`]; with accurate ECN it may be more than was delivered.
    pub marked: Bytes,
    /// [`Ack::round_start`].
    pub round_start: bool,
}

/// Reason to reduce the congestion window, or to undo a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionKind {
    /// Loss inferred from duplicate ACKs or SACK; at most once per window of data. The control sets
    /// the window with which recovery is to end; the transport decides how it gets there.
    Loss,
    /// Marks are known, by an ECN echo or by accurate ECN; at most once per window of data.
    Mark,
    /// Expiry of the retransmission timer, or Tahoe's reaction to duplicate ACKs: cwnd becomes
    /// [`Congestion::loss_window`].
    Timeout,
    /// Expiry of the timer after a reduction for the same window: cwnd becomes
    /// [`Congestion::loss_window`], and ssthresh may be kept (RFC 5681 section 3.1).
    RepeatedTimeout,
    /// The last reduction was unnecessary: restore cwnd and ssthresh.
    SpuriousLoss,
}

/// Event: congestion, reported at most once per window of data.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// Reason.
    pub kind: CongestionKind,
    /// Base of a multiplicative decrease: FlightSize (RFC 5681 equation 4) or the congestion
    /// window, by the transport's rule
    /// ([`SsthreshFrom`](crate::endpoint::parameters::SsthreshFrom)).
    pub base: Bytes,
    /// Data in flight.
    pub in_flight: Bytes,
    /// Smallest round-trip time so far.
    pub min_rtt: Option<Span>,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Option<Span>,
    /// Congestion window after a timeout: one segment (RFC 5681 section 3.1), or one more than what
    /// is still in flight (Linux).
    pub loss_window: Bytes,
}

/// Event other than an ACK and congestion.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The connection is open. `rtt` is the round trip of the handshake, if there was one and it
    /// was measured.
    Open {
        /// Round-trip time.
        rtt: Option<Span>,
    },
    /// The sender was idle. The transport asks for a congestion window no larger than `limit` (RFC
    /// 5681 section 4.1), which may be above the present one.
    IdleRestart {
        /// Largest window.
        limit: Bytes,
    },
    /// All data in flight at the last [`CongestionKind::Loss`] or [`CongestionKind::Timeout`] is
    /// acknowledged.
    RecoveryEnd,
    /// A segment has been sent ([`Needs::sent`]).
    Sent(SegmentSent),
    /// A segment is about to be sent after the application had left nothing in flight, and is not
    /// paced yet ([`Needs::rate_samples`]).
    SentAfterIdle,
    /// A segment was found lost ([`Needs::rate_samples`]). The congestion or the ACK that goes with
    /// it follows. Without SACK, only the first segment of a recovery is reported.
    Lost(SegmentLost),
    /// Marks of newly delivered data are known ([`Needs::marks`]), before any reaction to them.
    Marks(MarkReport),
}

/// Requests of a control to the transport, and the part of it that the control replaces. The
/// transport neither computes nor reports anything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// [`Ack::rate`], [`Event::Lost`] and [`Event::SentAfterIdle`]. Costs memory for each segment
    /// in flight.
    pub rate_samples: bool,
    /// [`Event::Marks`], on flows with ECN.
    pub marks: bool,
    /// [`Event::Sent`].
    pub sent: bool,
    /// [`Ack::socket`].
    pub socket: bool,
    /// True if [`CongestionControl::pace`] is read. Without a pace that costs a call for each
    /// segment.
    pub paces: bool,
    /// True if the window holds during recovery too, without a proportional reduction, and after
    /// idling. Linux does so for modules with `cong_control`.
    pub replaces_recovery: bool,
}

/// A step of a resumption (RFC 9959) that sets the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumption {
    /// cwnd becomes this, larger or smaller; the slow start goes on.
    Window(Bytes),
    /// Both cwnd and ssthresh become this, and what is known of the path is forgotten.
    Retreat(Bytes),
    /// ssthresh becomes this, at least two segments.
    Threshold(Bytes),
}

/// The pace of a control; the transport paces by its own rules where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Pacing rate.
    pub rate: Option<BitRate>,
    /// Most data that leaves at one instant, at least one segment.
    pub burst: Option<Bytes>,
}

/// The visible state of a control, for time series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ControlState {
    /// Slow-start threshold, if the control has one and it has been set.
    pub ssthresh: Option<Bytes>,
    /// Name of the control's phase: `"slow_start"`, `"congestion_avoidance"`, `"probe_bw"`.
    pub mode: &'static str,
    /// Estimated rate of the path, if the control estimates one.
    pub rate_estimate: Option<BitRate>,
}

impl ControlState {
    /// Returns the state of a control with the two phases of RFC 5681.
    pub fn of_phase(in_slow_start: bool, ssthresh: Option<Bytes>) -> Self {
        ControlState {
            ssthresh,
            mode: match in_slow_start {
                true => "slow_start",
                false => "congestion_avoidance",
            },
            rate_estimate: None,
        }
    }
}

/// The model of the path by which a control decides, for the table `control_states`. `None` or an
/// empty name if the control has no such quantity, or does not know it yet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathModel {
    /// Phase within the mode ([`ControlState::mode`]).
    pub phase: &'static str,
    /// Mode before this one. One event may pass through several.
    pub previous_mode: &'static str,
    /// Largest bandwidth measured lately.
    pub max_bw: Option<BitRate>,
    /// Bandwidth in use, after all bounds.
    pub bw: Option<BitRate>,
    /// Bound on the bandwidth by recent losses.
    pub bw_shortterm: Option<BitRate>,
    /// Bound on the data in flight that the path has shown to bear.
    pub inflight_longterm: Option<Bytes>,
    /// Bound on the data in flight by recent losses.
    pub inflight_shortterm: Option<Bytes>,
    /// Smallest round-trip time measured lately.
    pub min_rtt: Option<Span>,
    /// Data that arrives beyond what the bandwidth explains.
    pub extra_acked: Option<Bytes>,
    /// Pacing rate over bandwidth.
    pub pacing_gain: Option<f64>,
    /// Congestion window over the bandwidth-delay product.
    pub cwnd_gain: Option<f64>,
    /// Number of round trips so far.
    pub round_count: Option<u64>,
    /// Bandwidth above which the pipe is not full yet, and rounds without enough growth.
    pub full_bw: Option<BitRate>,
    /// Rounds in which the bandwidth has not grown.
    pub full_bw_count: Option<u64>,
    /// True if the bandwidth has stopped growing since the probe began.
    pub full_bw_now: Option<bool>,
    /// True if it has ever stopped growing.
    pub full_bw_reached: Option<bool>,
    /// True from sending after an idle time until the first ACK.
    pub idle_restart: Option<bool>,
    /// Mode to which an undo returns.
    pub undo_mode: &'static str,
}

/// The congestion control of one connection. `now` never decreases.
pub trait CongestionControl: Debug + Send {
    /// Returns what the control asks for; read once.
    fn needs(&self) -> Needs {
        Needs::default()
    }
    /// Reports an ACK.
    fn on_ack(&mut self, now: Time, ack: &Ack);
    /// Reports congestion, before any retransmission. With RACK, [`CongestionControl::on_ack`]
    /// follows for the ACK that revealed it; otherwise it has been called.
    fn on_congestion(&mut self, now: Time, congestion: &Congestion);
    /// Reports another event.
    fn on_event(&mut self, now: Time, event: &Event);
    /// Returns the congestion window: at least one segment, including fractions of a segment. It
    /// changes only in calls that take `&mut self`; the sender reads it after each of them.
    fn cwnd(&self) -> Bytes;
    /// Returns the pace, which only a control whose needs say so has.
    fn pace(&self) -> Pace {
        Pace::default()
    }
    /// True if rate samples of what is in flight are to count as application-limited. Asked after
    /// each ACK, if the control asks for samples.
    fn limits_rate_samples(&self) -> bool {
        false
    }
    /// Returns the state for time series.
    fn state(&self) -> ControlState;
    /// Returns the model of the path; nothing is known of a control without one.
    fn model(&self) -> PathModel {
        PathModel::default()
    }
    /// Returns the program that decides, if a program does.
    fn foreign(&mut self) -> Option<&mut dyn Foreign> {
        None
    }
    /// Sets the window for a transport that resumes a connection. Only those controls have it that
    /// say so ([`ControlFacts::resumes`]).
    fn resume(&mut self, _: Resumption) {}
    /// Returns the resumption of the connection, if it may be resumed.
    fn resuming(&mut self) -> Option<&mut Resuming> {
        None
    }
    /// Returns what obeys orders from outside, if the control does.
    fn steered(&mut self) -> Option<&mut Steered> {
        None
    }
    /// True if the window is to hold during the recovery that begins now, without a proportional
    /// reduction.
    fn holds_in_recovery(&self) -> bool {
        false
    }
}

/// A program that stands in for a control.
pub trait Foreign {
    /// Returns the reason why it cannot go on. It then keeps its window, and the run ends soon.
    fn fault(&self) -> Option<String>;
    /// Removes and returns the calls that were kept ([`ControlContext::keeps_calls`]), as
    /// [`push_calls`](crate::programs::push_calls) reads them.
    fn take_calls(&mut self) -> Vec<u8>;
}

/// The context in which a control is built.
#[derive(Clone, Copy, Debug)]
pub struct ControlContext<'a> {
    /// Location in the scenario, for random streams (`flow/3/control`).
    pub place: StreamScope<'a>,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// The transport's initial congestion window.
    pub initial_window: Bytes,
    /// The transport's initial slow-start threshold; `None` for arbitrarily high.
    pub initial_ssthresh: Option<Bytes>,
    /// True if a reduction cuts ssthresh to whole segments.
    pub ssthresh_in_whole_segments: bool,
    /// True if the transport paces segments, whether or not the control sets a rate.
    pub paced: bool,
    /// True if acknowledgements are selective (SACK).
    pub selective_acks: bool,
    /// True if the feedback tells how much data was marked, not only that some was.
    pub counts_marks: bool,
    /// True if the calls of a program are kept until they are taken.
    pub keeps_calls: bool,
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
    const ENTRIES: &'static [Entry<Self>] = &[
        Entry::of::<reno::Reno>(),
        Entry::of::<cubic::Cubic>(),
        Entry::of::<cuback::Cuback>(),
        Entry::of::<highspeed::HighSpeed>(),
        Entry::of::<htcp::Htcp>(),
        Entry::of::<illinois::Illinois>(),
        Entry::of::<vegas::Vegas>(),
        Entry::of::<copa::Copa>(),
        Entry::of::<ledbat::Ledbat>(),
        Entry::of::<ledbat_plus_plus::LedbatPlusPlus>(),
        Entry::of::<dctcp::Dctcp>(),
        Entry::of::<prague::Prague>(),
        Entry::of::<bbr1::parameters::Bbr1>(),
        Entry::of::<bbr3::parameters::Bbr3>(),
        Entry::of::<westwood_be::WestwoodBe>(),
        Entry::of::<westwood_re::WestwoodRe>(),
        Entry::of::<westwood_crb::WestwoodCrb>(),
        Entry::of::<westwood_abse::WestwoodAbse>(),
        Entry::of::<westwood_plus::WestwoodPlus>(),
        Entry::of_optional::<external::External>(),
        Entry::of_optional::<scripted::Scripted>(),
        Entry::of_optional::<Kernel>(),
        Entry::of_optional::<Python>(),
    ];
}
