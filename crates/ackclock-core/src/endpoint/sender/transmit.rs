//! Transmission: the choice of the next segment, and the time at which it leaves.

use super::super::delivery_rate::Sending;
use super::super::pacing;
use super::super::parameters::{IdleRestart, Pacing, WindowValidation};
use super::super::{Segment, SegmentKind, SenderEventKind};
use super::connection::Connection;
use super::recovery::Recovery;
use super::{Sender, State};
use crate::congestion::{Event, SegmentSent, SendLimit};
use ackclock_spec::units::{Bytes, Span, Time};

/// The segment to send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// The next segment in order: new data, or data that go-back-N sends as if new.
    Next,
    /// A retransmission of that segment.
    Again(u64),
    /// A rescue retransmission of that segment (RFC 6675 section 4 rule 4).
    Rescue(u64),
    /// A tail loss probe that retransmits that segment (RFC 8985 section 7.3).
    Probe(u64),
}

impl Choice {
    /// Returns the segment that is retransmitted, if it is one.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub const fn again(self) -> Option<u64> {
        match self {
            Choice::Next => None,
            Choice::Again(sequence) | Choice::Rescue(sequence) | Choice::Probe(sequence) => {
                Some(sequence)
            }
        }
    }
}

impl Sender {
    /// Returns the next segment to send now; `None` if there is none, or if it waits for an event
    /// or for [`Sender::poll_timeout`].
    #[inline(always)] // so that the driver builds its packet without a segment in memory
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        self.connection.transmission.release_at = Time::NEVER;
        // Checked first, because every other call ends here. Data in flight implies that the
        // connection is established and not idle.
        if self.window_is_full() && !self.recovery.is_urgent(&self.connection) {
            self.wait_for_window();
            return None;
        }
        if self.state != State::Established {
            return self.poll_syn(now);
        }
        if self.connection.scoreboard.first() == self.connection.scoreboard.highest() {
            self.restart_after_idling(now);
        }
        let Some(choice) = self.choose() else {
            self.connection.transmission.forget_jitter();
            return self.poll_window(now);
        };
        let in_bursts = self.connection.transmission.burst.on && choice == Choice::Next;
        if !in_bursts || !self.is_within_burst(now) {
            let release = self.release(now);
            if release > now {
                self.connection.transmission.release_at = release;
                return None;
            }
            if in_bursts && self.holds_back(now) {
                return None;
            }
        }
        Some(self.send(now, choice))
    }

    #[cold]
    fn poll_syn(&mut self, now: Time) -> Option<Segment> {
        let State::Opening {
            due: true, tries, ..
        } = self.state
        else {
            return None;
        };
        self.state = State::Opening {
            due: false,
            tries: tries.saturating_add(1),
            sent_at: now,
        };
        self.connection.timer.deadline = now + self.connection.meter.rtt.rto();
        self.retransmitted_syns += u32::from(tries > 0);
        Some(Segment {
            kind: SegmentKind::Syn,
            sequence: 0,
            length: Bytes::ZERO,
            retransmission: tries > 0,
            stamp: now,
            window_reduced: false,
            pushed: false,
        })
    }

    /// Applies the idle rule before sending with nothing in flight: the congestion window may have
    /// to shrink (RFC 5681 section 4.1).
    #[inline(never)] // rare: kept out of the path of every packet
    pub(super) fn restart_after_idling(&mut self, now: Time) {
        let connection = &mut self.connection;
        let parameters = connection.parameters.growth;
        let rule = parameters.idle_restart;
        if rule == IdleRestart::Off || connection.control.needs().replaces_recovery {
            return;
        }
        if connection.waited_for_receiver() {
            return;
        }
        let active_at = connection.transmission.active_at;
        let waits = connection.data.available != connection.scoreboard.highest();
        if active_at.is_never() || !waits {
            return;
        }
        let rto = connection.meter.rtt.rto().max(Span::from_nanos(1));
        let idle = now.since(active_at);
        if idle <= rto {
            return;
        }
        connection.transmission.active_at = now;
        let initial = u64::from(parameters.initial_window.0).saturating_mul(connection.mss);
        let before = connection.before();
        let (Bytes(cwnd), _) = before;
        let limit = if rule == IdleRestart::Decay {
            let halvings = (idle.as_nanos() / rto.as_nanos()).min(63);
            initial.max(cwnd >> halvings)
        } else {
            initial
        };
        let event = Event::IdleRestart {
            limit: Bytes(limit.max(connection.mss)),
        };
        connection.control.on_event(now, &event);
        if limit < cwnd {
            connection.note(now, SenderEventKind::IdleRestart, before);
        }
    }

    /// Returns the bytes that count against the congestion window.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub(super) fn used(&self) -> u64 {
        self.recovery.used(&self.connection)
    }

    /// True if the congestion window has no room for another segment. One segment may always be in
    /// flight.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub(super) fn window_is_full(&self) -> bool {
        let used = self.used();
        used != 0 && used.saturating_add(self.connection.mss) > self.connection.window()
    }

    /// Records that only an ACK can release the next segment.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn wait_for_window(&mut self) {
        let Connection {
            data, scoreboard, ..
        } = &mut self.connection;
        data.fill_buffers(scoreboard);
        if self.connection.transmission.burst_left != 0 && self.has_data_waiting() {
            self.connection.meter.round.limited = SendLimit::CongestionWindow;
            if self.validates_window() && self.has_new_data_waiting() {
                let connection = &mut self.connection;
                connection.meter.usage.note(true, &connection.scoreboard);
            }
        }
        self.connection.transmission.forget_jitter();
    }

    /// True if the window grows only where new data has filled it (`tcp_cwnd_validate`, which
    /// Linux calls for new data alone).
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn validates_window(&self) -> bool {
        self.connection.parameters.growth.window_validation == WindowValidation::Full
    }

    /// True if there is new data, or lost data that is to be sent again.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn has_data_waiting(&self) -> bool {
        self.has_new_data_waiting() || self.connection.scoreboard.due() > 0
    }

    /// True if there is data that was never sent.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn has_new_data_waiting(&self) -> bool {
        self.connection.scoreboard.next() < self.connection.data.available
    }

    /// Returns the segment to send next, given room in the congestion window: applies the other
    /// windows and the rules of recovery. With SACK this is NextSeg (RFC 6675 section 4).
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub(super) fn choose(&mut self) -> Option<Choice> {
        let connection = &mut self.connection;
        if connection.transmission.burst_left == 0 {
            return None;
        }
        if let Some(choice) = self.recovery.choose_before_new(connection) {
            return Some(choice);
        }
        if connection.scoreboard.next() < connection.data.available {
            let flight = connection.scoreboard.flight();
            if connection.data.fits(flight, connection.mss) {
                return Some(Choice::Next);
            }
            if connection.next_fits() {
                return Some(Choice::Next);
            }
            connection.meter.round.note(SendLimit::ReceiveWindow);
        }
        self.recovery.choose_after_new(connection)
    }

    /// Marks the samples of what is in flight if the application, not the path, limits the sender.
    /// It has no new data, nothing is due again, and the window is open (the draft's section 3.4,
    /// `tcp_rate_check_app_limited` of Linux).
    #[inline(never)] // few controls ask for it
    pub(super) fn check_application_limit(&mut self) {
        if !self.has_data_waiting() && !self.window_is_full() {
            let used = self.used();
            self.connection.meter.mark_application_limited(used);
        }
    }

    /// Returns when a permitted segment may leave.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn release(&mut self, now: Time) -> Time {
        let paced = self.connection.transmission.pacer.next();
        if paced > now {
            return paced;
        }
        if self.connection.transmission.jitter.is_none() {
            return now;
        }
        self.release_with_jitter(now)
    }

    #[inline(never)] // rare: kept out of the path of every packet
    fn release_with_jitter(&mut self, now: Time) -> Time {
        let ready = self.ready();
        match &mut self.connection.transmission.jitter {
            Some(jitter) => jitter.release(now, ready),
            None => now,
        }
    }

    /// Returns the room in the congestion window, in bytes.
    pub(super) fn window_room(&self) -> u64 {
        self.connection.window().saturating_sub(self.used())
    }

    /// Returns the room in the receive window, in bytes.
    pub(super) fn receive_room(&self) -> u64 {
        let flight = self.connection.scoreboard.flight();
        self.connection.data.receive_window.saturating_sub(flight)
    }

    /// Returns the approximate number of segments that could leave now.
    pub(super) fn ready(&self) -> u64 {
        let connection = &self.connection;
        let room = self.window_room().min(self.receive_room());
        let new = connection.data.available;
        let waiting = new
            .saturating_sub(connection.scoreboard.next())
            .saturating_add(connection.scoreboard.due());
        (room / connection.mss).min(waiting)
    }

    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub(super) fn send(&mut self, now: Time, choice: Choice) -> Segment {
        let (next, highest) = {
            let scoreboard = &self.connection.scoreboard;
            (scoreboard.next(), scoreboard.highest())
        };
        let (sequence, retransmission) = match choice.again() {
            None => (next, next < highest),
            Some(sequence) => (sequence, true),
        };
        let length = self.connection.scoreboard.length(sequence);
        let bursts = self.connection.transmission.burst.on;
        let pushed = bursts && choice == Choice::Next && self.ends_burst(now);
        if self.connection.meter.rate.is_some() {
            self.note_in_rate(now, choice, length);
        }
        let connection = &mut self.connection;
        self.recovery.before_sending(connection, choice, length);
        match choice {
            Choice::Next => connection.scoreboard.push(now, length, retransmission),
            _ => connection.resend(now, choice, sequence),
        }
        let mut window_reduced = false;
        if retransmission {
            connection.meter.statistics.retransmitted_segments += 1;
            // The timed segment no longer gives a sample (Karn); the next new segment may be timed.
            connection.meter.stop_timing();
        } else {
            window_reduced = std::mem::take(&mut connection.marks.window_reduced);
            let sampling = connection.parameters.timer.rtt_sampling;
            connection.meter.time(now, sampling, sequence);
        }
        if connection.timer.deadline.is_never() {
            connection.timer.deadline = now + connection.meter.rtt.rto();
        }
        self.recovery.on_sent(connection, now, choice);
        connection.episode.on_sent();
        connection.transmission.active_at = now;
        connection.transmission.burst_left -= 1;
        connection.meter.statistics.sent_segments += 1;
        self.account(now, choice, length);
        Segment {
            kind: SegmentKind::Data,
            sequence,
            length: Bytes(length),
            retransmission,
            stamp: now,
            window_reduced,
            pushed,
        }
    }

    /// Updates all accounts after `length` bytes have been sent.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn account(&mut self, now: Time, choice: Choice, length: u64) {
        let in_flight = self.connection.in_flight();
        let round = &mut self.connection.meter.round;
        round.peak = round.peak.max(in_flight.0);
        if self.validates_window() && choice == Choice::Next {
            let limited = self.window_is_full();
            let connection = &mut self.connection;
            connection.meter.usage.note(limited, &connection.scoreboard);
        }
        let connection = &mut self.connection;
        if connection.control.needs().sent {
            connection.tell_control_of_sent(now, length, in_flight);
        }
        let paced = match connection.parameters.sending.pacing {
            Pacing::Control => connection.control.needs().paces,
            Pacing::Always => true,
            Pacing::Off => false,
        };
        if paced {
            connection.pace(now, length);
        }
        if let Some(jitter) = &mut connection.transmission.jitter {
            jitter.on_sent();
        }
    }

    #[inline(never)] // few controls ask for it
    fn note_in_rate(&mut self, now: Time, choice: Choice, length: u64) {
        let connection = &mut self.connection;
        let sending = Sending {
            now,
            delivered: connection.meter.delivered,
            lost: connection.meter.statistics.lost_segments,
            in_flight: (connection.in_flight().0 + length).div_ceil(connection.mss),
            idle: connection.scoreboard.is_empty(),
        };
        let Some(rate) = &mut connection.meter.rate else {
            return;
        };
        if sending.in_flight <= 1 && rate.is_limited() {
            connection.control.on_event(now, &Event::SentAfterIdle);
        }
        match choice.again() {
            None => rate.on_sent(&sending),
            Some(sequence) => {
                let index = (sequence - connection.scoreboard.first()) as usize;
                rate.on_resent(index, &sending);
            }
        }
    }
}

impl Connection {
    #[inline(never)] // rare: kept out of the path of every packet
    fn resend(&mut self, now: Time, choice: Choice, sequence: u64) {
        let counted = matches!(choice, Choice::Again(_));
        self.scoreboard.resend(sequence, now, counted);
        if sequence == self.scoreboard.first() {
            self.episode.resend_first = false;
        }
    }

    /// Keeps the next segment apart from one of `length` bytes, unless that is one of the first.
    #[inline(never)] // few flows are paced
    fn pace(&mut self, now: Time, length: u64) {
        let (window, sending) = (self.rated_window(), &self.parameters.sending);
        let rtt = &self.meter.rtt;
        let pacer = &mut self.transmission.pacer;
        if self.meter.statistics.sent_segments < u64::from(sending.unpaced_segments.0) {
            return pacer.on_unpaced(now);
        }
        if let Some(rate) = pacing::rate(sending.pacing, self.control.get(), window, rtt.smoothed())
        {
            if sending.pacing_credit {
                pacer.give_credit(now);
            }
            pacer.on_sent(now, length, rate, rtt.rto());
        }
    }

    fn tell_control_of_sent(&mut self, now: Time, length: u64, in_flight: Bytes) {
        let window = self.data.receive_window;
        let limited = if self.scoreboard.next() >= self.data.available {
            SendLimit::Application
        } else if window != u64::MAX && window < self.control.cwnd().0 {
            SendLimit::ReceiveWindow
        } else {
            SendLimit::CongestionWindow
        };
        let sent = SegmentSent {
            bytes: Bytes(length),
            in_flight,
            next: self.scoreboard.next(),
            limited,
        };
        self.control.on_event(now, &Event::Sent(sent));
    }
}
