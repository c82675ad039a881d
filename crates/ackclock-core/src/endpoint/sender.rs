//! The sender of a TCP connection: takes writes, ACKs and timeouts, and returns segments.
//!
//! `loss_recovery` and `scoreboard` decide what is lost. The [`CongestionControl`] decides how much
//! may be in flight. `pacing` decides when a permitted segment leaves. This module combines them.
//!
//! The back-off of the timer ends only with a round-trip sample (Karn, RFC 6298 section 5).

use super::delivery_rate::DeliveryRate;
use super::loss_recovery::Recovery;
use super::pacing::{Jitter, Pacer};
use super::parameters::{LossRecovery, TcpParameters};
use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use super::{ControlRecord, RecoveryCounts, SenderEvent, SenderStatistics};
use crate::congestion::{CongestionControl, Event, SendLimit};
use crate::traffic::Write;
use ackclock_spec::streams::Stream;
use ackclock_spec::units::{Bytes, Span, Time};
use std::sync::Arc;

mod acknowledge;
mod bursts;
mod by_time;
mod control;
mod follow;
mod marks;
#[cfg(test)]
mod tests;
mod transmit;

use by_time::ByTime;
use control::Control;
use marks::Marks;

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not opened yet.
    Closed,
    /// The SYN is `due`, or has been sent `tries` times, the last time at `sent_at`.
    Opening {
        due: bool,
        tries: u32,
        sent_at: Time,
    },
    /// Open for data.
    Established,
    /// The flow was stopped.
    Stopped,
}

/// The limit of the sender and its peak data in flight, per round trip (RFC 7661).
#[derive(Debug)]
struct Round {
    /// First segment after the round: the round ends when all segments before it are acknowledged.
    end: u64,
    /// Most bytes in flight in this round, and in the previous one.
    peak: u64,
    last_peak: u64,
    /// Limit of the sender in this round, and in the previous one.
    limited: SendLimit,
    last_limited: SendLimit,
}

/// Data in flight in the last window, for the rule of Linux on its growth (`tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    /// True if the window was full.
    limited: bool,
    /// Most bytes in flight if it was not.
    most: u64,
    /// First segment not sent when this was recorded.
    until: u64,
}

/// The purpose for which the timer is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    /// A retransmission timeout.
    Retransmission,
    /// A tail loss probe (RFC 8985 section 7).
    Probe,
    /// The end of RACK's reordering window (RFC 8985 section 6.3).
    Reordering,
}

/// Returns the stronger limit: a window that was full once in a round trip was used.
const fn stronger(a: SendLimit, b: SendLimit) -> SendLimit {
    match (a, b) {
        (SendLimit::CongestionWindow, _) | (_, SendLimit::CongestionWindow) => {
            SendLimit::CongestionWindow
        }
        (SendLimit::ReceiveWindow, _) | (_, SendLimit::ReceiveWindow) => SendLimit::ReceiveWindow,
        _ => SendLimit::Application,
    }
}

/// The sender of one connection. `now` must not decrease from call to call.
///
/// After each `handle_…`, [`Sender::write`], [`Sender::close`] or [`Sender::open`], take segments
/// with [`Sender::poll_transmit`] until `None`, then ask [`Sender::poll_timeout`] when to call
/// [`Sender::handle_timeout`].
#[derive(Debug)]
pub struct Sender {
    scoreboard: Scoreboard,
    mss: u64,
    receive_window: u64,
    /// First segment that the application has not filled; `u64::MAX` for unlimited traffic.
    available: u64,
    /// First segment never sent.
    highest: u64,
    recovery: Recovery,
    control: Control,
    rtt: RttEstimator,
    parameters: Arc<TcpParameters>,
    retransmit_at: Time,
    timer: Timer,
    /// State of RACK, if it finds the losses.
    by_time: Option<Box<ByTime>>,
    /// Time at which pacing or jitter releases the next segment; never if none waits.
    release_at: Time,
    /// Time of the last transmission or idle restart.
    active_at: Time,
    round: Round,
    usage: Usage,
    delivered: u64,
    /// Bytes counted as delivered by duplicate ACKs, or by SACKs discarded at a timeout, and not
    /// acknowledged yet.
    counted_ahead: u64,
    /// The segment whose round trip is measured, and its sending time; never if there is none.
    timed: (u64, Time),
    /// Number of segments that may still be sent before the next event, and its maximum.
    burst_left: u32,
    max_burst: u32,
    /// The burst of the last new segment, if the sender has bursts.
    burst: bursts::Burst,
    retransmitted_syns: u32,
    state: State,
    closed: bool,
    sack: bool,
    /// True if the next new segment carries CWR.
    window_reduced: bool,
    /// First segment not yet sent at the last reaction of any kind, and at the last one to an ECN
    /// echo.
    reacted: u64,
    marked: u64,
    /// Bytes that the application has written beyond the last full segment.
    rest: u64,
    pacer: Pacer,
    jitter: Option<Box<Jitter>>,
    rate: Option<Box<DeliveryRate>>,
    /// Present if the marks of every ACK are read.
    marks: Option<Box<Marks>>,
    statistics: SenderStatistics,
    events: Vec<SenderEvent>,
}

impl Sender {
    /// A sender that has not been opened. Draws from `jitter` only if the parameters set send
    /// jitter.
    pub fn new(
        parameters: Arc<TcpParameters>,
        control: Box<dyn CongestionControl>,
        jitter: Stream,
    ) -> Self {
        let mss = parameters.connection.mss.0.max(1);
        let max_burst = match parameters.sending.max_burst.0 {
            0 => u32::MAX,
            most => most,
        };
        let jitter = (parameters.sending.send_jitter > Span::ZERO)
            .then(|| Box::new(Jitter::new(jitter, parameters.sending.send_jitter)));
        let needs = control.needs();
        let rate = needs
            .rate_samples
            .then(|| Box::new(DeliveryRate::default()));
        let marks = Marks::new(&parameters, needs.marks).map(Box::new);
        Sender {
            scoreboard: Scoreboard::new(mss),
            mss,
            receive_window: parameters
                .receiver
                .receive_window
                .bytes(Bytes(mss))
                .map_or(u64::MAX, |bytes| bytes.0),
            available: 0,
            highest: 0,
            recovery: Recovery::new(&parameters),
            control: Control::new(control),
            rtt: RttEstimator::new(&parameters.timer),
            retransmit_at: Time::NEVER,
            timer: Timer::Retransmission,
            by_time: (parameters.recovery.algorithm == LossRecovery::Rack).then(|| {
                Box::new(ByTime::new(
                    parameters.recovery.duplicate_threshold.0.into(),
                ))
            }),
            release_at: Time::NEVER,
            active_at: Time::NEVER,
            round: Round {
                end: 0,
                peak: 0,
                last_peak: 0,
                limited: SendLimit::Application,
                last_limited: SendLimit::Application,
            },
            usage: Usage::default(),
            delivered: 0,
            counted_ahead: 0,
            timed: (0, Time::NEVER),
            burst_left: max_burst,
            max_burst,
            burst: bursts::Burst::new(parameters.sending.segmentation_offload),
            retransmitted_syns: 0,
            state: State::Closed,
            closed: false,
            sack: parameters.recovery.algorithm.uses_sack(),
            window_reduced: false,
            reacted: 0,
            marked: 0,
            rest: 0,
            pacer: Pacer::default(),
            jitter,
            rate,
            marks,
            statistics: SenderStatistics {
                rtt_min_s: f64::INFINITY,
                ..SenderStatistics::default()
            },
            events: Vec::new(),
            parameters,
        }
    }

    /// Adds data from the application. It is sent in full segments; a remainder waits for the next
    /// write or [`Sender::close`]. Has no effect once closed.
    pub fn write(&mut self, write: Write) {
        if self.closed || self.state == State::Stopped || self.available == u64::MAX {
            return;
        }
        if self.rate.is_some() {
            self.check_application_limit();
        }
        self.burst_left = self.max_burst;
        match write {
            Write::Unlimited => self.available = u64::MAX,
            Write::Bytes(Bytes(bytes)) => {
                let bytes = self.rest.saturating_add(bytes);
                self.available = self.available.saturating_add(bytes / self.mss);
                self.rest = bytes % self.mss;
            }
        }
    }

    /// Ends the data: the last, short segment may be sent.
    pub fn close(&mut self) {
        if self.closed {
            return;
        }
        self.closed = true;
        self.burst_left = self.max_burst;
        if self.rest > 0 && self.available != u64::MAX {
            self.scoreboard.set_short(self.available, self.rest);
            self.available += 1;
            self.rest = 0;
        }
    }

    /// Stops the flow: nothing more is sent, timers end, and the data in flight is forgotten.
    pub fn stop(&mut self, now: Time) {
        let _ = now;
        self.state = State::Stopped;
        self.scoreboard.go_back();
        self.retransmit_at = Time::NEVER;
        self.release_at = Time::NEVER;
        if let Some(rate) = &mut self.rate {
            rate.clear();
        }
        if let Some(jitter) = &mut self.jitter {
            jitter.forget();
        }
    }

    /// Starts the flow, with a SYN or established at once.
    pub fn open(&mut self, now: Time) {
        if self.state != State::Closed {
            return;
        }
        self.state = if self.parameters.connection.handshake {
            State::Opening {
                due: true,
                tries: 0,
                sent_at: now,
            }
        } else {
            State::Established
        };
        if !self.parameters.connection.handshake {
            self.control.on_event(now, &Event::Open { rtt: None });
        }
    }

    /// Returns when to call [`Sender::handle_timeout`]: the earliest of retransmission timer,
    /// pacing and jitter; [`Time::NEVER`] if there is nothing to wait for.
    #[inline]
    pub fn poll_timeout(&self) -> Time {
        self.retransmit_at.min(self.release_at)
    }
    /// True if it is closed and all written data is acknowledged.
    pub fn is_finished(&self) -> bool {
        self.closed && self.scoreboard.first() == self.available
    }
    /// Returns the data in flight: with SACK the `pipe` of RFC 6675, otherwise the data sent and
    /// not acknowledged (FlightSize of RFC 5681).
    pub fn in_flight(&self) -> Bytes {
        Bytes(if self.sack {
            self.scoreboard.pipe()
        } else {
            self.scoreboard.flight()
        })
    }
    /// Returns the congestion window: the control's, without the inflation of fast recovery by
    /// duplicate ACKs, or that of a proportional reduction.
    pub fn cwnd(&self) -> Bytes {
        let cwnd = self.control.cwnd();
        if self.recovery.is_proportional() {
            return Bytes(self.recovery.window(cwnd.0));
        }
        cwnd
    }
    /// Returns the parameters.
    pub fn parameters(&self) -> &TcpParameters {
        &self.parameters
    }
    /// Returns the congestion control.
    pub fn control(&self) -> &dyn CongestionControl {
        self.control.get()
    }
    /// Returns the round-trip time estimator.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }
    /// Returns the counts.
    pub fn statistics(&self) -> &SenderStatistics {
        &self.statistics
    }
    /// Returns the number of SYNs sent again.
    pub fn retransmitted_syns(&self) -> u32 {
        self.retransmitted_syns
    }
    /// Returns the counts of RACK; zeros without it.
    pub fn recovery_counts(&self) -> RecoveryCounts {
        self.by_time
            .as_ref()
            .map_or_else(RecoveryCounts::default, |state| state.counts)
    }
    /// Records the state of the control after each event from now on.
    pub fn record_control(&mut self) {
        self.control.record();
    }
    /// Removes and returns the states of the control recorded since the last call.
    pub fn take_control_records(&mut self) -> Vec<ControlRecord> {
        self.control.take_records()
    }
    /// Removes and returns the calls of the control's program that were kept since the last call
    /// ([`push_calls`](crate::programs::push_calls)).
    pub fn take_calls(&mut self) -> Vec<u8> {
        let program = self.control.foreign();
        program.map_or_else(Vec::new, |program| program.take_calls())
    }
    /// True if [`Sender::fault`] may ever return something.
    pub fn may_fail(&self) -> bool {
        self.control.is_foreign()
    }
    /// Returns the reason why the congestion control cannot go on.
    pub fn fault(&mut self) -> Option<String> {
        self.control.foreign()?.fault()
    }
    /// Removes and returns the reactions since the last call. The driver must call it regularly, or
    /// they accumulate.
    pub fn take_events(&mut self) -> impl Iterator<Item = SenderEvent> + '_ {
        self.events.drain(..)
    }
}
