//! Transmission: the choice of the next segment, and the time at which it leaves.

use super::super::delivery_rate::Sending;
use super::super::pacing;
use super::super::parameters::{
    AfterTimeout, IdleRestart, LossRecovery, Pacing, RttSampling, SackPipe, WindowValidation,
};
use super::super::{Segment, SegmentKind, SenderEventKind};
use super::by_time::Retransmit;
use super::{Sender, State, Usage, stronger};
use crate::congestion::{Event, RecoveryPhase, SegmentSent, SendLimit};
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

impl Sender {
    /// Returns the next segment to send now; `None` if there is none, or if it waits for an event
    /// or for [`Sender::poll_timeout`].
    #[inline(always)] // so that the driver builds its packet without a segment in memory
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        self.release_at = Time::NEVER;
        // Checked first, because every other call ends here. Data in flight implies that the
        // connection is established and not idle.
        if self.window_is_full() && !self.recovery.resend_first && !self.probe_is_due() {
            self.wait_for_window();
            return None;
        }
        if self.state != State::Established {
            return self.poll_syn(now);
        }
        if self.scoreboard.first() == self.highest {
            self.restart_after_idling(now);
        }
        let Some(choice) = self.choose() else {
            if let Some(jitter) = &mut self.jitter {
                jitter.forget();
            }
            return None;
        };
        let in_bursts = self.burst.on && choice == Choice::Next;
        if !in_bursts || !self.is_within_burst(now) {
            let release = self.release(now);
            if release > now {
                self.release_at = release;
                return None;
            }
            if in_bursts && self.defers(now) {
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
        self.retransmit_at = now + self.rtt.rto();
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
        let rule = self.parameters.growth.idle_restart;
        if rule == IdleRestart::Off || self.control.needs().replaces_recovery {
            return;
        }
        if self.active_at.is_never() || self.available == self.highest {
            return;
        }
        let rto = self.rtt.rto().max(Span::from_nanos(1));
        let idle = now.since(self.active_at);
        if idle <= rto {
            return;
        }
        self.active_at = now;
        let before = self.before();
        let (Bytes(cwnd), _) = before;
        let initial = u64::from(self.parameters.growth.initial_window.0).saturating_mul(self.mss);
        let limit = if rule == IdleRestart::Decay {
            let halvings = (idle.as_nanos() / rto.as_nanos()).min(63);
            initial.max(cwnd >> halvings)
        } else {
            initial
        };
        if limit < cwnd {
            let limit = Bytes(limit.max(self.mss));
            self.control.on_event(now, &Event::IdleRestart { limit });
            self.note(now, SenderEventKind::IdleRestart, before);
        }
    }

    /// True if the congestion window has no room for another segment. One segment may always be in
    /// flight.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub(super) fn window_is_full(&self) -> bool {
        let used = self.used();
        used != 0 && used.saturating_add(self.mss) > self.recovery.window(self.control.cwnd().0)
    }

    /// True if a tail loss probe waits to be sent, whatever the window.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub(super) fn probe_is_due(&self) -> bool {
        self.by_time.as_ref().is_some_and(|state| state.probe_due)
    }

    /// Records that only an ACK can release the next segment.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn wait_for_window(&mut self) {
        if self.burst_left != 0
            && (self.scoreboard.next() < self.available || self.scoreboard.due() > 0)
        {
            self.round.limited = SendLimit::CongestionWindow;
        }
        if let Some(jitter) = &mut self.jitter {
            jitter.forget();
        }
    }

    /// Returns the segment to send next, given room in the congestion window: applies the other
    /// windows and the rules of recovery. With SACK this is NextSeg (RFC 6675 section 4).
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub(super) fn choose(&mut self) -> Option<Choice> {
        if self.burst_left == 0 {
            return None;
        }
        if self.probe_is_due() {
            let last = self.scoreboard.last();
            return match self.has_new_data() {
                true => Some(Choice::Next),
                false => last.map(Choice::Probe),
            };
        }
        if self.recovery.resend_first && !self.scoreboard.is_empty() {
            return Some(Choice::Again(self.scoreboard.first()));
        }
        if self.counts_pipe()
            && let Some(sequence) = self.scoreboard.next_unsacked()
        {
            return Some(Choice::Again(sequence));
        }
        let flight = self.scoreboard.flight();
        let phase = self.recovery.phase();
        let next = self.scoreboard.next();
        if self.follows_scoreboard(phase)
            && self.may_retransmit()
            && let Some(sequence) = self.scoreboard.next_lost()
        {
            return Some(Choice::Again(sequence));
        }
        if next < self.available {
            if flight == 0 || flight.saturating_add(self.mss) <= self.receive_window {
                return Some(Choice::Next);
            }
            self.round.limited = stronger(self.round.limited, SendLimit::ReceiveWindow);
        }
        if phase == RecoveryPhase::Recovery
            && self.parameters.recovery.algorithm == LossRecovery::Sack
        {
            return self.choose_speculatively();
        }
        None
    }

    /// True if what is lost may be retransmitted before the next ACK.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn may_retransmit(&self) -> bool {
        self.by_time
            .as_ref()
            .is_none_or(|state| state.retransmit == Retransmit::Lost)
    }

    /// Marks the samples of what is in flight if the application, not the path, limits the sender.
    /// It has no new data, nothing is due again, and the window is open (the draft's section 3.4,
    /// `tcp_rate_check_app_limited` of Linux).
    #[inline(never)] // few controls ask for it
    pub(super) fn check_application_limit(&mut self) {
        let waiting = self.scoreboard.next() < self.available || self.scoreboard.due() > 0;
        if !waiting && !self.window_is_full() {
            self.mark_application_limited();
        }
    }

    #[inline(never)] // few controls ask for it
    pub(super) fn mark_application_limited(&mut self) {
        let used = self.used();
        if let Some(rate) = &mut self.rate {
            rate.mark_application_limited(self.delivered, used);
        }
    }

    /// Applies rules 3 and 4 of NextSeg: no segment is known to be lost and there is no new data.
    #[inline(never)] // rare: kept out of the path of every packet
    fn choose_speculatively(&mut self) -> Option<Choice> {
        if let Some(sequence) = self.scoreboard.next_unsacked() {
            return Some(Choice::Again(sequence));
        }
        if !self.parameters.recovery.rescue_retransmission || self.recovery.rescued {
            return None;
        }
        self.scoreboard.highest_unsacked().map(Choice::Rescue)
    }

    /// Returns the bytes that count against the congestion window: with SACK the pipe, otherwise
    /// all unacknowledged bytes. Before recovery, the pipe implements limited transmit (RFC 6675
    /// section 5 step 3).
    pub(super) fn used(&self) -> u64 {
        let phase = self.recovery.phase();
        let limited_transmit =
            self.sack && self.parameters.recovery.limited_transmit && phase == RecoveryPhase::Open;
        if self.counts_pipe() {
            self.recovery.counted_pipe.saturating_mul(self.mss)
        } else if limited_transmit || self.follows_scoreboard(phase) {
            self.scoreboard.pipe()
        } else {
            self.scoreboard.flight()
        }
    }

    /// True during a SACK recovery that counts its pipe.
    #[inline(always)] // runs for every packet: one comparison, nearly always false
    pub(super) fn counts_pipe(&self) -> bool {
        self.recovery.phase() == RecoveryPhase::Recovery
            && self.sack
            && self.parameters.recovery.sack_pipe == SackPipe::Counted
    }

    /// True if the scoreboard determines the data in flight and the retransmissions. Go-back-N
    /// instead sends as if nothing were known about the data in flight at the timeout, and waits
    /// for the timer if it is lost again.
    fn follows_scoreboard(&self, phase: RecoveryPhase) -> bool {
        self.sack
            && match phase {
                RecoveryPhase::Open | RecoveryPhase::Cwr => {
                    self.parameters.recovery.algorithm == LossRecovery::Rack
                }
                RecoveryPhase::Recovery => true,
                RecoveryPhase::Loss => {
                    let rule = self.parameters.recovery.after_timeout;
                    rule == AfterTimeout::Scoreboard
                        || self.parameters.recovery.algorithm == LossRecovery::Rack
                }
            }
    }

    /// Returns when a permitted segment may leave.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn release(&mut self, now: Time) -> Time {
        let paced = self.pacer.next();
        if paced > now {
            return paced;
        }
        if self.jitter.is_none() {
            return now;
        }
        self.release_with_jitter(now)
    }

    #[inline(never)] // rare: kept out of the path of every packet
    fn release_with_jitter(&mut self, now: Time) -> Time {
        let ready = self.ready();
        match &mut self.jitter {
            Some(jitter) => jitter.release(now, ready),
            None => now,
        }
    }

    /// Returns the room in the congestion window, in bytes.
    pub(super) fn window_room(&self) -> u64 {
        let window = self.recovery.window(self.control.cwnd().0);
        window.saturating_sub(self.used())
    }

    /// Returns the room in the receive window, in bytes.
    pub(super) fn receive_room(&self) -> u64 {
        self.receive_window.saturating_sub(self.scoreboard.flight())
    }

    /// Returns the approximate number of segments that could leave now.
    pub(super) fn ready(&self) -> u64 {
        let room = self.window_room().min(self.receive_room());
        let waiting = self
            .available
            .saturating_sub(self.scoreboard.next())
            .saturating_add(self.scoreboard.due());
        (room / self.mss).min(waiting)
    }

    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub(super) fn send(&mut self, now: Time, choice: Choice) -> Segment {
        let (sequence, retransmission) = match choice {
            Choice::Next => (
                self.scoreboard.next(),
                self.scoreboard.next() < self.highest,
            ),
            Choice::Again(sequence) | Choice::Rescue(sequence) | Choice::Probe(sequence) => {
                (sequence, true)
            }
        };
        let length = self.scoreboard.length(sequence);
        let pushed = self.burst.on && choice == Choice::Next && self.ends_burst(now);
        if self.counts_pipe() && !self.recovery.resend_first {
            self.recovery.counted_pipe += 1;
        }
        if self.rate.is_some() {
            self.note_in_rate(now, choice, length);
        }
        if choice == Choice::Next {
            if self.recovery.duplicates() > 0 {
                self.note_limited_transmit(length);
            }
            self.scoreboard.push(now, length, retransmission);
            self.highest = self.highest.max(sequence + 1);
        } else {
            self.resend(now, choice, sequence);
        }
        let mut window_reduced = false;
        if retransmission {
            self.statistics.retransmitted_segments += 1;
            // The timed segment no longer gives a sample (Karn); the next new segment may be timed.
            self.timed.1 = Time::NEVER;
        } else {
            window_reduced = std::mem::take(&mut self.window_reduced);
            if self.parameters.timer.rtt_sampling == RttSampling::OncePerRoundTrip
                && self.timed.1.is_never()
            {
                self.timed = (sequence, now);
            }
        }
        if self.retransmit_at.is_never() {
            self.retransmit_at = now + self.rtt.rto();
        }
        if self.by_time.is_some() {
            self.arm_by_time(now, choice);
        }
        self.recovery.on_sent();
        self.active_at = now;
        self.burst_left -= 1;
        self.statistics.sent_segments += 1;
        self.account(now, length);
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

    /// Sets the timer of a sender with RACK after a segment was sent.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn arm_by_time(&mut self, now: Time, choice: Choice) {
        if self.probe_is_due() {
            self.note_probe(now, choice != Choice::Next);
        } else if choice == Choice::Next {
            self.arm_after_send(now);
        }
    }

    /// Updates all accounts after `length` bytes have been sent.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn account(&mut self, now: Time, length: u64) {
        let in_flight = self.in_flight();
        self.round.peak = self.round.peak.max(in_flight.0);
        if self.parameters.growth.window_validation == WindowValidation::Full {
            self.note_usage();
        }
        if self.control.needs().sent {
            self.tell_control_of_sent(now, length, in_flight);
        }
        if self.parameters.sending.pacing != Pacing::Off {
            let rate = pacing::rate(
                self.parameters.sending.pacing,
                self.control.get(),
                self.rtt.smoothed(),
            );
            if let Some(rate) = rate {
                self.pacer.on_sent(now, length, rate, self.rtt.rto());
            }
        }
        if let Some(jitter) = &mut self.jitter {
            jitter.on_sent();
        }
    }

    /// Records how the window is used after something was sent (`tcp_cwnd_validate` of Linux).
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn note_usage(&mut self) {
        let limited = self.window_is_full();
        let (flight, usage) = (self.scoreboard.flight(), &self.usage);
        let first = self.scoreboard.first();
        if limited || first >= usage.until || (!usage.limited && flight > usage.most) {
            self.usage = Usage {
                limited,
                most: flight,
                until: self.scoreboard.next(),
            };
        }
    }

    fn tell_control_of_sent(&mut self, now: Time, length: u64, in_flight: Bytes) {
        let limited = if self.scoreboard.next() >= self.available {
            SendLimit::Application
        } else if self.receive_window != u64::MAX && self.receive_window < self.control.cwnd().0 {
            SendLimit::ReceiveWindow
        } else {
            SendLimit::CongestionWindow
        };
        let sent = SegmentSent {
            bytes: Bytes(length),
            in_flight,
            limited,
        };
        self.control.on_event(now, &Event::Sent(sent));
    }

    #[inline(never)] // rare: kept out of the path of every packet
    fn resend(&mut self, now: Time, choice: Choice, sequence: u64) {
        let counted = matches!(choice, Choice::Again(_));
        self.scoreboard.resend(sequence, now, counted);
        self.recovery.rescued |= matches!(choice, Choice::Rescue(_));
        self.note_retransmission(now, sequence, !counted);
        if sequence == self.scoreboard.first() {
            self.recovery.resend_first = false;
        }
    }

    #[inline(never)] // few controls ask for it
    fn note_in_rate(&mut self, now: Time, choice: Choice, length: u64) {
        let sending = Sending {
            now,
            delivered: self.delivered,
            lost: self.statistics.lost_segments,
            in_flight: (self.in_flight().0 + length).div_ceil(self.mss),
            idle: self.scoreboard.is_empty(),
        };
        let Some(rate) = &mut self.rate else {
            return;
        };
        if sending.in_flight <= 1 && rate.is_limited() {
            self.control.on_event(now, &Event::SentAfterIdle);
        }
        match choice {
            Choice::Next => rate.on_sent(&sending),
            Choice::Again(sequence) | Choice::Rescue(sequence) | Choice::Probe(sequence) => {
                let index = (sequence - self.scoreboard.first()) as usize;
                rate.on_resent(index, &sending);
            }
        }
    }

    /// Excludes a segment beyond the window, sent by limited transmit, from FlightSize (RFC 5681
    /// section 3.2 step 2).
    #[inline(never)] // rare: kept out of the path of every packet
    fn note_limited_transmit(&mut self, length: u64) {
        let flight = self.scoreboard.flight();
        if self.recovery.phase() == RecoveryPhase::Open && flight + self.mss > self.control.cwnd().0
        {
            self.recovery.limited_transmitted += length;
        }
    }
}
