//! The sender of a TCP connection: takes writes, ACKs and timeouts, and returns segments.
//!
//! This module has the states of the connection and the order of events. `recovery` decides with
//! the scoreboard what is lost. The [`CongestionControl`] decides how much may be in flight.
//! `transmit` chooses the next segment and the time at which it leaves. `meter` measures.
//!
//! The back-off of the timer ends only with a round-trip sample (Karn, RFC 6298 section 5).

use super::parameters::{RttSampling, TcpParameters};
use super::resume::Resuming;
use super::scoreboard::Scoreboard;
use super::{
    Acknowledgement, AcknowledgementKind, ControlRecord, RecoveryCounts, RttEstimator, SenderEvent,
    SenderStatistics,
};
use crate::congestion::steered::{Order, Steered};
use crate::congestion::{CongestionControl, Event, RecoveryPhase};
use crate::traffic::Write;
use ackclock_spec::streams::Stream;
use ackclock_spec::units::{Bytes, Span, Time};
use std::sync::Arc;

mod bursts;
mod connection;
mod control;
mod data;
mod flow_control;
mod follow;
mod growth;
mod marks;
mod meter;
mod more;
mod recovery;
#[cfg(test)]
mod tests;
mod timer;
mod transmission;
mod transmit;

use connection::Connection;
use recovery::{Algorithm, Recovery};
use timer::Purpose;

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

/// The sender of one connection. `now` must not decrease from call to call.
///
/// After each `handle_…`, [`Sender::write`], [`Sender::close`] or [`Sender::open`], take segments
/// with [`Sender::poll_transmit`] until `None`, then ask [`Sender::poll_timeout`] when to call
/// [`Sender::handle_timeout`].
#[derive(Debug)]
pub struct Sender {
    state: State,
    connection: Connection,
    recovery: Algorithm,
    retransmitted_syns: u32,
}

impl Sender {
    /// A sender that has not been opened. Draws from `jitter` only if the parameters set send
    /// jitter.
    pub fn new(
        parameters: Arc<TcpParameters>,
        control: Box<dyn CongestionControl>,
        jitter: Stream,
    ) -> Self {
        Sender {
            state: State::Closed,
            recovery: Algorithm::new(&parameters.recovery),
            connection: Connection::new(parameters, control, jitter),
            retransmitted_syns: 0,
        }
    }

    /// Adds data from the application. It is sent in full segments; a remainder waits for the next
    /// write or [`Sender::close`]. Has no effect once closed.
    pub fn write(&mut self, write: Write) {
        let data = &self.connection.data;
        if data.closed || self.state == State::Stopped || data.available == u64::MAX {
            return;
        }
        if self.connection.meter.rate.is_some() {
            self.check_application_limit();
        }
        self.connection.transmission.begin_event();
        self.connection.data.write(write, self.connection.mss);
    }

    /// Ends the data: the last, short segment may be sent.
    pub fn close(&mut self) {
        let connection = &mut self.connection;
        if !connection.data.closed {
            connection.transmission.begin_event();
            connection.data.close(&mut connection.scoreboard);
        }
    }

    /// Stops the flow: nothing more is sent, timers end, and the data in flight is forgotten.
    pub fn stop(&mut self, _now: Time) {
        self.state = State::Stopped;
        let connection = &mut self.connection;
        connection.scoreboard.go_back();
        connection.timer.deadline = Time::NEVER;
        connection.transmission.release_at = Time::NEVER;
        if let Some(rate) = &mut connection.meter.rate {
            rate.clear();
        }
        connection.transmission.forget_jitter();
    }

    /// Starts the flow, with a SYN or established at once.
    pub fn open(&mut self, now: Time) {
        if self.state != State::Closed {
            return;
        }
        if self.connection.parameters.connection.handshake {
            self.state = State::Opening {
                due: true,
                tries: 0,
                sent_at: now,
            };
        } else {
            self.state = State::Established;
            let event = Event::Open { rtt: None };
            self.connection.control.on_event(now, &event);
        }
    }

    /// Processes an ACK. Ignores an ACK of data never sent, and one that acknowledges less than
    /// before (RFC 9293 section 3.10.7.4).
    pub fn handle_acknowledgement(&mut self, now: Time, ack: &Acknowledgement<'_>) {
        if ack.kind == AcknowledgementKind::SynAck {
            return self.establish(now, ack);
        }
        let scoreboard = &self.connection.scoreboard;
        let (first, highest) = (scoreboard.first(), scoreboard.highest());
        let stale = ack.cumulative < first || ack.cumulative > highest;
        if self.state != State::Established || stale || first == highest {
            return self.process_late(now, ack);
        }
        self.connection.transmission.begin_event();
        if self.connection.meter.rate.is_none() && self.is_plain(ack) {
            self.recovery
                .on_plain_ack::<false>(&mut self.connection, now, ack);
        } else {
            self.process(now, ack);
        }
    }

    /// True if an ACK only acknowledges new data, and nothing needs attention.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn is_plain(&self, ack: &Acknowledgement<'_>) -> bool {
        let connection = &self.connection;
        let advances = ack.cumulative > connection.scoreboard.first();
        advances
            && ack.sacks.is_none()
            && ack.ace == 0
            && self.recovery.is_quiet(connection)
            && connection.more.is_none()
    }

    /// Processes an ACK that is not plain, or gives a delivery-rate sample.
    #[inline(never)] // the copies of the code for all ACKs but the usual ones
    fn process(&mut self, now: Time, ack: &Acknowledgement<'_>) {
        if self.connection.more.is_some() {
            self.connection.hear_window(now, ack);
        }
        if self.connection.meter.rate.is_some() {
            self.check_application_limit();
            if self.is_plain(ack) {
                return self
                    .recovery
                    .on_plain_ack::<true>(&mut self.connection, now, ack);
            }
        }
        self.recovery.on_ack(&mut self.connection, now, ack);
    }

    /// Processes an ACK that acknowledges less than before, or comes while nothing is in flight.
    #[inline(never)] // rare: kept out of the path of every packet
    fn process_late(&mut self, now: Time, ack: &Acknowledgement<'_>) {
        let sent = ack.cumulative <= self.connection.scoreboard.highest();
        self.connection.transmission.burst.held = false;
        if self.connection.more.is_some() {
            self.hear_window_late(now, ack);
        }
        if self.state == State::Established && sent && ack.sacks.is_some() {
            self.recovery.on_late_ack(&mut self.connection, now, ack);
        }
    }

    /// Handles the answer to the SYN (RFC 9293 section 3.10.7.3). Its round trip is the first
    /// sample, unless the SYN was retransmitted without timestamps (Karn). After more lost SYNs
    /// than are tolerated, cwnd is one segment (RFC 5681 section 3.1). After any lost SYN the
    /// timeout without a sample is three seconds (RFC 6298 (5.7)).
    fn establish(&mut self, now: Time, ack: &Acknowledgement<'_>) {
        let State::Opening { tries, sent_at, .. } = self.state else {
            return;
        };
        if tries == 0 {
            return;
        }
        self.state = State::Established;
        let connection = &mut self.connection;
        connection.timer.set(Purpose::Retransmission, Time::NEVER);
        let sampling = connection.parameters.timer.rtt_sampling;
        if sampling == RttSampling::Timestamps && !ack.echo.is_never() {
            connection.meter.sample(now.since(ack.echo));
        } else if tries == 1 {
            connection.meter.sample(now.since(sent_at));
        }
        if tries > 1 {
            connection.meter.rtt.begin_after_lost_syn();
        }
        if tries - 1 > connection.parameters.growth.tolerated_lost_syns {
            let limit = Bytes(connection.mss);
            let event = Event::IdleRestart { limit };
            connection.control.on_event(now, &event);
        }
        let rtt = connection.meter.rtt.smoothed();
        connection.control.on_event(now, &Event::Open { rtt });
    }

    /// Handles the timeout that [`Sender::poll_timeout`] announced. Has no effect at any other
    /// time.
    pub fn handle_timeout(&mut self, now: Time) {
        let deadline = self.connection.timer.deadline;
        if now < deadline || deadline.is_never() {
            return;
        }
        if self.connection.parameters.timer.timer_tick > Span::ZERO
            && !self.connection.timer.is_at_tick()
        {
            let expiry = self.connection.expiry();
            if expiry > now {
                self.connection.put_off_timer(expiry);
                return;
            }
        }
        self.expire_timer(now);
    }

    /// Handles the timer that has expired.
    fn expire_timer(&mut self, now: Time) {
        if self.connection.meter.rate.is_some() && self.state == State::Established {
            self.check_application_limit();
        }
        let connection = &mut self.connection;
        if connection.timer.purpose == Purpose::Window {
            return connection.ask_for_window(now);
        }
        if connection.timer.purpose != Purpose::Retransmission {
            return self.recovery.on_other_timer(connection, now);
        }
        connection.meter.statistics.timeouts += 1;
        connection.timer.set(Purpose::Retransmission, Time::NEVER);
        connection.transmission.begin_event();
        if let State::Opening { due, tries, .. } = &mut self.state {
            *due = true;
            if *tries > connection.parameters.timer.linear_syn_timeouts {
                connection.meter.rtt.back_off();
            }
            return;
        }
        connection.meter.rtt.back_off();
        connection.transmission.pacer.reset();
        self.recovery.on_timeout(connection, now);
    }

    /// Returns when to call [`Sender::handle_timeout`]: the earliest of retransmission timer,
    /// pacing and jitter; [`Time::NEVER`] if there is nothing to wait for.
    #[inline]
    pub fn poll_timeout(&self) -> Time {
        let release_at = self.connection.transmission.release_at;
        self.connection.timer.deadline.min(release_at)
    }
    /// True if it is closed and all written data is acknowledged.
    pub fn is_finished(&self) -> bool {
        let data = &self.connection.data;
        data.closed && self.connection.scoreboard.first() == data.available
    }
    /// Returns the data in flight: with a scoreboard the `pipe` of RFC 6675, otherwise what is sent
    /// and not acknowledged (FlightSize of RFC 5681).
    pub fn in_flight(&self) -> Bytes {
        self.connection.in_flight()
    }
    /// Returns the congestion window: the control's, without the inflation of fast recovery by
    /// duplicate ACKs, or that of a proportional reduction.
    pub fn cwnd(&self) -> Bytes {
        if self.connection.episode.is_proportional() {
            return Bytes(self.connection.window());
        }
        self.connection.control.cwnd()
    }
    /// Returns the parameters.
    pub fn parameters(&self) -> &TcpParameters {
        &self.connection.parameters
    }
    /// Returns the congestion control.
    pub fn control(&self) -> &dyn CongestionControl {
        self.connection.control.get()
    }
    /// Returns the round-trip time estimator.
    pub fn rtt(&self) -> &RttEstimator {
        &self.connection.meter.rtt
    }
    /// Returns the counts.
    pub fn statistics(&self) -> &SenderStatistics {
        &self.connection.meter.statistics
    }
    /// Returns the number of SYNs sent again.
    pub fn retransmitted_syns(&self) -> u32 {
        self.retransmitted_syns
    }
    /// Returns the counts of RACK; zeros without it.
    pub fn recovery_counts(&self) -> RecoveryCounts {
        self.recovery.counts()
    }
    /// Returns the degree of reordering seen; `None` if recovery does not count it.
    pub(super) fn reordering(&self) -> Option<u64> {
        self.recovery.reordering()
    }
    /// Returns the phase of recovery.
    pub(super) const fn phase(&self) -> RecoveryPhase {
        self.connection.episode.phase()
    }
    /// Returns the segments in flight.
    pub(super) const fn scoreboard(&self) -> &Scoreboard {
        &self.connection.scoreboard
    }
    /// Records the state of the control after each event from now on.
    pub fn record_control(&mut self) {
        self.connection.control.record();
    }
    /// Removes and returns the states of the control recorded since the last call.
    pub fn take_control_records(&mut self) -> Vec<ControlRecord> {
        self.connection.control.take_records()
    }
    /// Removes and returns the calls of the control's program that were kept since the last call
    /// ([`push_calls`](crate::programs::push_calls)).
    pub fn take_calls(&mut self) -> Vec<u8> {
        let program = self.connection.control.foreign();
        program.map_or_else(Vec::new, |program| program.take_calls())
    }
    /// Returns the resumption of the connection, if it may be resumed.
    pub fn resuming(&mut self) -> Option<&mut Resuming> {
        self.connection.control.resuming()
    }
    /// Returns the control that obeys orders from outside, if it does.
    pub fn steered(&mut self) -> Option<&mut Steered> {
        self.connection.control.steered()
    }
    /// Gives an order to a control that obeys. Returns true if more may be sent at once.
    pub fn obey(&mut self, order: &Order) -> bool {
        self.connection.control.obey(order)
    }
    /// True if [`Sender::fault`] may ever return something.
    pub fn may_fail(&self) -> bool {
        self.connection.control.is_foreign()
    }
    /// Returns the reason why the congestion control cannot go on.
    pub fn fault(&mut self) -> Option<String> {
        self.connection.control.foreign()?.fault()
    }
    /// Removes and returns the reactions since the last call. The driver must call it regularly, or
    /// they accumulate.
    pub fn take_events(&mut self) -> impl Iterator<Item = SenderEvent> + '_ {
        self.connection.events.drain(..)
    }
}
