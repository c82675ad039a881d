//! The sender's processing of ACKs and of the retransmission timer.

use super::super::delivery_rate::Known;
use super::super::loss_recovery::AckEffect;
use super::super::parameters::{
    AfterTimeout, ByteCounting, EcnFeedback, LossRecovery, RepeatedTimeout, RttSampling, SackEntry,
    SsthreshFrom, WindowValidation,
};
use super::super::scoreboard::Advance;
use super::super::{Acknowledgement, AcknowledgementKind, SenderEvent, SenderEventKind};
use super::marks::MarkNews;
use super::{Sender, State, Timer, stronger};
use crate::congestion::{
    Ack, Congestion, CongestionKind, Event, RateInfo, RateSample, RecoveryPhase, SendLimit,
    SocketState,
};
use ackclock_spec::units::{Bytes, Span, Time};

/// Values of an ACK for the control that differ between the kinds of recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// Bytes newly known to be delivered.
    pub newly_delivered: u64,
    /// Bytes that arrived marked.
    pub marked: u64,
    /// Bytes reported to have arrived again.
    pub repeated: u64,
    /// Round-trip times of the first and of the last segment.
    pub rtt: Option<Span>,
    pub newest_rtt: Option<Span>,
    /// Bytes in flight before the ACK, if the control wants rate samples; else zero.
    pub prior_in_flight: u64,
    /// True if the phase of recovery allows the window to open.
    pub opens: bool,
    /// Bytes newly known to be lost.
    pub newly_lost: u64,
    /// True if a round trip ends.
    pub round_start: bool,
}

impl Sender {
    /// Processes an ACK. Ignores an ACK of data never sent, and one that acknowledges less than
    /// before (RFC 9293 section 3.10.7.4).
    pub fn handle_acknowledgement(&mut self, now: Time, ack: &Acknowledgement<'_>) {
        if ack.kind == AcknowledgementKind::SynAck {
            return self.establish(now, ack);
        }
        let first = self.scoreboard.first();
        let stale = ack.cumulative < first || ack.cumulative > self.highest;
        if self.state != State::Established || stale || first == self.highest {
            return self.take_late(now, ack);
        }
        self.burst_left = self.max_burst;
        if self.rate.is_none() && self.is_plain(ack) {
            self.take::<true, false>(now, ack);
        } else {
            self.take_any(now, ack);
        }
    }

    /// True if an ACK only acknowledges new data, and nothing needs attention.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn is_plain(&self, ack: &Acknowledgement<'_>) -> bool {
        let plain = ack.cumulative > self.scoreboard.first() && ack.sacks.is_none() && ack.ace == 0;
        let quiet = self
            .by_time
            .as_ref()
            .is_none_or(|state| state.is_quiet() && self.is_open());
        plain && quiet && self.marks.is_none()
    }

    /// True if nothing in flight is SACKED, lost or sent again.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn is_open(&self) -> bool {
        self.recovery.phase() == RecoveryPhase::Open && !self.scoreboard.has_marks()
    }

    /// Processes an ACK that acknowledges less than before, or comes while nothing is in flight.
    /// RACK looks at its SACK blocks all the same.
    #[inline(never)] // rare: kept out of the path of every packet
    fn take_late(&mut self, now: Time, ack: &Acknowledgement<'_>) {
        let open = self.state == State::Established && ack.cumulative <= self.highest;
        if !open || ack.sacks.is_none() {
            return;
        }
        if self.scoreboard.first() == self.highest {
            self.take_idle_report(now, ack);
        } else {
            self.take_by_time(now, ack);
        }
    }

    /// The copies of the code for all ACKs that are not plain, or give a delivery-rate sample.
    #[inline(never)]
    fn take_any(&mut self, now: Time, ack: &Acknowledgement<'_>) {
        if self.rate.is_some() {
            self.check_application_limit();
            if self.is_plain(ack) {
                return self.take::<true, true>(now, ack);
            }
        }
        if self.by_time.is_some() {
            self.take_by_time(now, ack);
        } else {
            self.take::<false, true>(now, ack);
        }
    }

    /// Processes an ACK. A `PLAIN` one acknowledges new data and carries neither SACK blocks nor an
    /// ECN echo. One that is not `RATED` gives no delivery-rate sample. Nearly all ACKs are plain,
    /// so the compiler makes separate copies for them without the other code.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn take<const PLAIN: bool, const RATED: bool>(&mut self, now: Time, ack: &Acknowledgement<'_>) {
        let new = PLAIN || ack.cumulative > self.scoreboard.first();
        let lost = self.statistics.lost_segments;
        let prior_in_flight = if PLAIN { 0 } else { self.rated_in_flight() };
        let (advance, sacked) = if PLAIN {
            (self.advance::<RATED>(ack.cumulative), 0)
        } else {
            self.learn(now, ack)
        };
        let newly_delivered = self.count_delivered(&advance, sacked, new);
        let rtt = if PLAIN && self.by_time.is_some() {
            self.take_plain_by_time(now, ack.cumulative, &advance)
        } else if new {
            self.measure(now, ack, &advance)
        } else {
            None
        };
        let round_start = new && ack.cumulative >= self.round.end;
        if round_start {
            self.begin_round();
        }
        let recovering = self.recovery.phase() == RecoveryPhase::Recovery;
        let known = !advance.ambiguous && !advance.newest.is_never();
        let marks = if PLAIN {
            MarkNews::NONE
        } else {
            self.read_marks(now, ack, newly_delivered, round_start)
        };
        let told = Told {
            newly_delivered,
            marked: marks.bytes,
            repeated: 0,
            rtt,
            newest_rtt: known.then(|| now.since(advance.newest)),
            prior_in_flight: match (PLAIN, RATED) {
                (true, false) => 0,
                (true, true) => self.in_flight().0 + newly_delivered, // nothing is lost
                (false, _) => prior_in_flight,
            },
            opens: advance.acked > 0 && (!recovering || self.opens_at_recovery_end()),
            newly_lost: if PLAIN {
                0
            } else {
                (self.statistics.lost_segments - lost) * self.mss
            },
            round_start,
        };
        self.tell_control::<RATED>(now, &advance, &told);
        if PLAIN && self.by_time.is_some() {
            return self.arm_after_ack(now);
        }
        if new {
            self.progress(now, advance.acked);
        }
        self.infer_loss(now, new, sacked > 0, newly_delivered);
        if !PLAIN && marks.echo {
            self.react_to_mark(now, advance.acked);
        }
        self.reduce_in_proportion(newly_delivered, new && told.newly_lost == 0);
    }

    /// Handles the answer to the SYN (RFC 9293 section 3.10.7.3). Its round trip is the first
    /// sample, unless the SYN was retransmitted without timestamps (Karn). After a retransmitted
    /// SYN, cwnd is one segment (RFC 5681 section 3.1). The timeout without a sample is then three
    /// seconds (RFC 6298 (5.7)).
    fn establish(&mut self, now: Time, ack: &Acknowledgement<'_>) {
        let State::Opening { tries, sent_at, .. } = self.state else {
            return;
        };
        if tries == 0 {
            return;
        }
        self.state = State::Established;
        self.retransmit_at = Time::NEVER;
        let stamps = self.parameters.timer.rtt_sampling == RttSampling::Timestamps;
        if stamps && !ack.echo.is_never() {
            self.take_sample(now.since(ack.echo));
        } else if tries == 1 {
            self.take_sample(now.since(sent_at));
        }
        if tries > 1 {
            self.rtt.begin_after_lost_syn();
            let limit = Bytes(self.mss);
            self.control.on_event(now, &Event::IdleRestart { limit });
        }
        let rtt = self.rtt.smoothed();
        self.control.on_event(now, &Event::Open { rtt });
    }

    /// Acknowledges everything before `to`; if `RATED`, for the delivery rate too.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn advance<const RATED: bool>(&mut self, to: u64) -> Advance {
        let Some(rate) = self.rate.as_mut().filter(|_| RATED) else {
            return self.scoreboard.advance(to, |_| ());
        };
        let first = self.scoreboard.first();
        let advance = self.scoreboard.advance(to, |delivered| {
            rate.on_delivered(delivered.index, delivered.sent_at);
        });
        rate.pop(to - first);
        advance
    }

    /// Updates the scoreboard. Returns the data newly covered by the cumulative acknowledgement,
    /// and the number of newly SACKed bytes.
    fn learn(&mut self, now: Time, ack: &Acknowledgement<'_>) -> (Advance, u64) {
        let advance = self.advance::<true>(ack.cumulative);
        let rate = &mut self.rate;
        let mut sacked = 0;
        if self.sack
            && let Some(sacks) = ack.sacks
            && !sacks.is_empty()
        {
            for &block in sacks.held() {
                sacked += self.scoreboard.sack(block, |delivered| {
                    if let Some(rate) = rate {
                        rate.on_delivered(delivered.index, delivered.sent_at);
                    }
                });
            }
            let threshold = u64::from(self.parameters.recovery.duplicate_threshold.0);
            let mut lost = Vec::new();
            self.scoreboard
                .detect_losses(threshold, |sequence| lost.push(sequence));
            self.count_lost(now, &lost);
        }
        (advance, sacked)
    }

    /// Counts segments that were just found lost, and tells a control that samples the delivery
    /// rate of each.
    pub(super) fn count_lost(&mut self, now: Time, lost: &[u64]) {
        let before = self.statistics.lost_segments;
        self.statistics.lost_segments += lost.len() as u64;
        let Some(rate) = self.rate.as_ref().filter(|_| !lost.is_empty()) else {
            return;
        };
        for (number, &sequence) in (before + 1..).zip(lost) {
            let known = Known {
                delivered: self.delivered,
                lost: number,
                mss: self.mss,
            };
            let length = Bytes(self.scoreboard.length(sequence));
            if let Some(loss) = rate.loss(sequence, length, &known) {
                self.control.on_event(now, &Event::Lost(loss));
            }
        }
    }

    /// Returns the bytes that this ACK shows to be delivered, each byte once. Without SACK, a
    /// duplicate ACK counts as one segment, which is deducted from the next cumulative ACK.
    pub(super) fn count_delivered(&mut self, advance: &Advance, sacked: u64, new: bool) -> u64 {
        let mut news = advance.delivered + sacked;
        if !new && !self.sack {
            let first = self.scoreboard.first();
            let beyond_first = self.scoreboard.bytes(first + 1, self.highest);
            news = self
                .mss
                .min(beyond_first.saturating_sub(self.counted_ahead));
            self.counted_ahead += news;
        } else if self.counted_ahead > 0 {
            let known = news.min(self.counted_ahead);
            self.counted_ahead -= known;
            news -= known;
        }
        self.delivered += news;
        news
    }

    /// Takes a round-trip sample if this ACK of new data allows one.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn measure(&mut self, now: Time, ack: &Acknowledgement<'_>, advance: &Advance) -> Option<Span> {
        let rtt = match self.parameters.timer.rtt_sampling {
            RttSampling::Timestamps => {
                (!ack.echo.is_never() && ack.echo <= now).then(|| now.since(ack.echo))
            }
            RttSampling::EveryAck => (!advance.ambiguous && !advance.oldest.is_never())
                .then(|| now.since(advance.oldest)),
            RttSampling::OncePerRoundTrip => {
                let (sequence, sent_at) = self.timed;
                if sent_at.is_never() || sequence >= ack.cumulative {
                    return None;
                }
                self.timed.1 = Time::NEVER;
                Some(now.since(sent_at))
            }
        };
        if let Some(rtt) = rtt {
            self.take_sample(rtt);
        }
        rtt
    }

    #[inline(never)] // called from two places, with most settings once per round trip
    pub(super) fn take_sample(&mut self, rtt: Span) {
        self.rtt.sample(rtt);
        let seconds = rtt.as_seconds();
        let statistics = &mut self.statistics;
        statistics.rtt_samples += 1;
        statistics.rtt_sum_s += seconds;
        statistics.rtt_min_s = statistics.rtt_min_s.min(seconds);
        statistics.rtt_max_s = statistics.rtt_max_s.max(seconds);
    }

    #[inline(never)] // once per round trip: kept out of the path of every packet
    pub(super) fn begin_round(&mut self) {
        let in_flight = self.in_flight().0;
        let round = &mut self.round;
        round.end = self.highest;
        round.last_peak = round.peak;
        round.peak = in_flight;
        round.last_limited = round.limited;
        round.limited = SendLimit::Application;
    }

    /// Returns the bytes of this ACK that count for the growth of the congestion window.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn credit(&self, advance: &Advance, told: &Told, limited: SendLimit) -> u64 {
        if !told.opens || !self.window_was_used(limited) {
            return 0;
        }
        // After a timeout, data that was SACKED before does not count again. Without SACK all data
        // counts, even if it arrived long ago. Linux does the same, since it forgets the duplicate
        // ACKs then (tcp_timeout_mark_lost, tcp_remove_reno_sacks).
        let loss = self.recovery.phase() == RecoveryPhase::Loss;
        let news = if loss {
            advance.delivered
        } else {
            advance.acked
        };
        match self.parameters.growth.byte_counting {
            ByteCounting::PerAck => advance.acked.min(self.mss),
            ByteCounting::AbcL2 if loss => news.min(self.mss),
            ByteCounting::AbcL2 => news.min(2 * self.mss),
            ByteCounting::All => news,
            ByteCounting::Delivered => told.newly_delivered + told.repeated,
        }
    }

    /// True if the congestion window was used, so that it may grow.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn window_was_used(&self, limited: SendLimit) -> bool {
        match self.parameters.growth.window_validation {
            WindowValidation::Off => true,
            WindowValidation::HalfUsed => {
                let peak = self.round.peak.max(self.round.last_peak);
                limited == SendLimit::CongestionWindow
                    || peak.saturating_mul(2) >= self.control.cwnd().0
            }
            WindowValidation::Full => {
                self.usage.limited
                    || (self.control.cwnd().0 < 2 * self.usage.most && self.in_slow_start())
            }
        }
    }

    #[inline(never)] // only while the window is not full
    fn in_slow_start(&self) -> bool {
        if self.control.needs().replaces_recovery {
            return false; // nor does its window grow by what counts here
        }
        let ssthresh = self.control.get().state().ssthresh;
        ssthresh.is_none_or(|ssthresh| self.control.cwnd() < ssthresh)
    }

    /// True if this ACK ends fast recovery and still opens the congestion window.
    fn opens_at_recovery_end(&self) -> bool {
        self.parameters.recovery.growth_at_recovery_end
            && !self.sack
            && self.recovery.is_ended_by(self.scoreboard.first())
    }

    /// Returns the bytes in flight if the control wants rate samples, else zero.
    #[inline]
    pub(super) fn rated_in_flight(&self) -> u64 {
        self.rate.as_ref().map_or(0, |_| self.in_flight().0)
    }

    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub(super) fn tell_control<const RATED: bool>(
        &mut self,
        now: Time,
        advance: &Advance,
        told: &Told,
    ) {
        let acked = advance.acked;
        let min_rtt = self.rtt.minimum();
        let known = Known {
            delivered: self.delivered,
            lost: self.statistics.lost_segments,
            mss: self.mss,
        };
        let alone = |sample: &RateSample| sample.prior_delivered.0 + acked == self.delivered;
        let rate = match &mut self.rate {
            Some(rate) if RATED => {
                let sample = rate.sample(now, &known, min_rtt);
                Some(RateInfo {
                    sample,
                    prior_in_flight: Bytes(told.prior_in_flight),
                    delayed: acked > 0 && acked < self.mss && sample.as_ref().is_some_and(alone),
                    next_departure: self.pacer.next().max(now),
                })
            }
            _ => None,
        };
        let limited = stronger(self.round.limited, self.round.last_limited);
        let asks_for_socket = self.control.needs().socket;
        let signal = Ack {
            newly_acked: Bytes(acked),
            newly_delivered: Bytes(told.newly_delivered),
            credit: Bytes(self.credit(advance, told, limited)),
            delivered: Bytes(self.delivered),
            rtt: told.rtt,
            newest_rtt: told.newest_rtt,
            smoothed_rtt: self.rtt.smoothed(),
            min_rtt,
            in_flight: self.in_flight(),
            rate,
            socket: asks_for_socket.then(|| self.socket(told.opens)),
            limited,
            phase: self.recovery.phase(),
            newly_lost: Bytes(told.newly_lost),
            round_start: told.round_start,
            marked: Bytes(told.marked),
        };
        self.control.on_ack(now, &signal);
        if RATED && self.rate.is_some() && self.control.get().limits_rate_samples() {
            self.mark_application_limited();
        }
    }

    #[inline(never)] // few controls ask for it
    fn socket(&self, opens: bool) -> SocketState {
        let board = &self.scoreboard;
        SocketState {
            outstanding: Bytes(board.flight()),
            sacked: Bytes(board.flight() - board.unsacked()),
            lost: Bytes(board.lost()),
            resent: Bytes(board.resent()),
            opens,
        }
    }

    /// Handles newly acknowledged data: recovery continues or ends, and the timer restarts (RFC
    /// 6298 section 5.2 and 5.3).
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn progress(&mut self, now: Time, acked: u64) {
        let first = self.scoreboard.first();
        let mut restart_timer = true;
        match self
            .recovery
            .on_new(&self.parameters, first, acked, self.mss)
        {
            AckEffect::Plain => {}
            AckEffect::Partial {
                restart_timer: restart,
            } => restart_timer = restart,
            AckEffect::End => {
                let before = self.before();
                self.control.on_event(now, &Event::RecoveryEnd);
                self.note(now, SenderEventKind::RecoveryEnd, before);
            }
        }
        if first == self.highest {
            self.retransmit_at = Time::NEVER;
        } else if restart_timer {
            self.retransmit_at = now + self.rtt.rto();
        }
    }

    /// Starts fast recovery if duplicate ACKs or the scoreboard indicate a loss.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn infer_loss(&mut self, now: Time, new: bool, sack_news: bool, newly_delivered: u64) {
        let first = self.scoreboard.first();
        if first == self.highest {
            return;
        }
        if self.counts_pipe() {
            let gone = if new { 2 } else { 1 };
            self.recovery.counted_pipe = self.recovery.counted_pipe.saturating_sub(gone);
        }
        let duplicate = if self.sack { sack_news } else { !new };
        let flight = self.scoreboard.flight();
        let lost = duplicate && self.recovery.on_duplicate(first, flight, self.mss);
        let known = self.recovery.phase() == RecoveryPhase::Open && self.scoreboard.first_is_lost();
        if lost || (known && self.parameters.recovery.sack_entry == SackEntry::KnownLoss) {
            self.begin_recovery(now, newly_delivered);
        }
    }

    #[inline(never)] // rare: kept out of the path of every packet
    fn begin_recovery(&mut self, now: Time, newly_delivered: u64) {
        self.statistics.fast_retransmits += 1;
        let before = self.before();
        if !self.scoreboard.first_is_lost() {
            self.count_lost(now, &[self.scoreboard.first()]);
        }
        if self.parameters.recovery.algorithm == LossRecovery::Tahoe {
            self.reduce(now, CongestionKind::Timeout, self.ssthresh_base(0));
            self.recovery.restart(self.highest);
            self.go_back();
        } else {
            let base = self.base_of_proportion(newly_delivered);
            // A window that was reduced for an ECN echo is not reduced again (RFC 3168 section
            // 6.1.2).
            if self.scoreboard.first() >= self.marked {
                self.reduce(now, CongestionKind::Loss, self.ssthresh_base(0));
            }
            self.recovery.begin(self.highest, self.mss);
            self.begin_proportional(base);
            if self.sack {
                self.scoreboard.begin_recovery();
            }
            if self.counts_pipe() {
                let outstanding = self.highest - self.scoreboard.first();
                let duplicates = self.parameters.recovery.duplicate_threshold.0.into();
                self.recovery.counted_pipe = outstanding.saturating_sub(duplicates);
                self.burst_left = 1; // the fast retransmission, which does not count
            }
        }
        self.retransmit_at = now + self.rtt.rto();
        self.note(now, SenderEventKind::FastRetransmit, before);
    }

    /// Reacts to an ECN echo once per window of data (RFC 3168 section 6.1.2).
    ///
    /// The first segment sent after a reaction carries CWR, and the receiver echoes until it
    /// arrives. The ACK of all earlier data therefore still echoes the old congestion, and new
    /// congestion is known only from the ACK of the segment with CWR. Linux waits for the same ACK:
    /// `tcp_fastretrans_alert` leaves the state CWR when data above `high_seq` is acknowledged.
    fn react_to_mark(&mut self, now: Time, acked: u64) {
        let news =
            self.recovery.phase() == RecoveryPhase::Open && self.scoreboard.first() > self.reacted;
        if !news {
            return;
        }
        self.statistics.ecn_reactions += 1;
        let before = self.before();
        // FlightSize is the data in flight before this ACK: the room that the ACK made is not
        // filled yet.
        self.reduce(now, CongestionKind::Mark, self.ssthresh_base(acked));
        self.marked = self.highest;
        self.note(now, SenderEventKind::EcnEcho, before);
    }

    /// Tells the control of congestion.
    pub(super) fn tell_congestion(&mut self, now: Time, kind: CongestionKind, base: u64) {
        let in_flight = self.in_flight();
        let still = if self.parameters.recovery.algorithm == LossRecovery::Rack {
            in_flight
        } else {
            Bytes::ZERO
        };
        let congestion = Congestion {
            kind,
            base: Bytes(base),
            in_flight,
            min_rtt: self.rtt.minimum(),
            smoothed_rtt: self.rtt.smoothed(),
            loss_window: still + Bytes(self.mss),
        };
        self.control.on_congestion(now, &congestion);
    }

    /// Reduces the window.
    pub(super) fn reduce(&mut self, now: Time, kind: CongestionKind, base: u64) {
        self.tell_congestion(now, kind, base);
        self.reacted = self.highest;
        let echoes = self.parameters.ecn.feedback != EcnFeedback::Accurate;
        self.window_reduced = self.parameters.ecn.enabled && echoes;
    }

    /// Returns the base of a decrease. Counts `acked` bytes as still in flight.
    pub(super) fn ssthresh_base(&self, acked: u64) -> u64 {
        match self.parameters.growth.ssthresh_from {
            SsthreshFrom::Window => self.control.cwnd().0.min(self.receive_window),
            // While a scoreboard is resent after a timeout, segments it records as lost are not in
            // flight.
            SsthreshFrom::FlightSize if self.recovery.phase() == RecoveryPhase::Loss => {
                self.in_flight().0
            }
            SsthreshFrom::FlightSize => {
                let flight = self.scoreboard.flight() + acked;
                let flight = flight.saturating_sub(self.recovery.limited_transmitted);
                // SACKed data accumulates behind a lost retransmission. RFC 5681's FlightSize
                // counts it although it has left the network. A timeout during a recovery starts
                // from the window in use (docs/deviations.md).
                match self.recovery.phase() {
                    RecoveryPhase::Recovery => flight.min(self.control.cwnd().0),
                    _ => flight,
                }
            }
        }
    }

    fn go_back(&mut self) {
        self.counted_ahead += self.scoreboard.go_back();
        self.timed.1 = Time::NEVER;
        if let Some(rate) = &mut self.rate {
            rate.clear();
        }
    }

    /// Returns the congestion window and the data in flight before a reaction, for
    /// [`Sender::note`].
    pub(super) fn before(&self) -> (Bytes, Bytes) {
        (self.control.cwnd(), self.in_flight())
    }

    pub(super) fn note(&mut self, at: Time, kind: SenderEventKind, before: (Bytes, Bytes)) {
        let (cwnd_before, in_flight) = before;
        self.events.push(SenderEvent {
            at,
            kind,
            cwnd_before,
            cwnd_after: self.control.cwnd(),
            ssthresh_after: self.control.get().state().ssthresh,
            in_flight,
        });
    }

    /// Handles the timeout that [`Sender::poll_timeout`] announced. Has no effect at any other
    /// time.
    pub fn handle_timeout(&mut self, now: Time) {
        if now < self.retransmit_at || self.retransmit_at.is_never() {
            return;
        }
        if self.parameters.timer.timer_tick > Span::ZERO {
            let tick = self.tick_after(self.retransmit_at);
            if tick > now {
                self.retransmit_at = tick;
                return;
            }
        }
        self.expire_timer(now);
    }

    /// Handles the timer that has expired.
    pub(super) fn expire_timer(&mut self, now: Time) {
        if self.rate.is_some() && self.state == State::Established {
            self.check_application_limit();
        }
        match self.timer {
            Timer::Retransmission => {}
            Timer::Probe => return self.handle_probe_timeout(now),
            Timer::Reordering => return self.handle_reordering_timeout(now),
        }
        self.statistics.timeouts += 1;
        self.retransmit_at = Time::NEVER;
        self.rtt.back_off();
        self.burst_left = self.max_burst;
        if let State::Opening { due, .. } = &mut self.state {
            *due = true;
            return;
        }
        if self.by_time.is_some() {
            self.pacer.reset();
            return self.handle_timeout_by_time(now);
        }
        let before = self.before();
        let repeated = self.recovery.note_timeout(self.scoreboard.first());
        let kind = if repeated && self.parameters.recovery.repeated_timeout == RepeatedTimeout::Keep
        {
            CongestionKind::RepeatedTimeout
        } else {
            CongestionKind::Timeout
        };
        self.reduce(now, kind, self.ssthresh_base(0));
        self.recovery.restart(self.highest);
        if self.sack && self.parameters.recovery.after_timeout == AfterTimeout::Scoreboard {
            let mut lost = Vec::new();
            self.counted_ahead += self.scoreboard.lose_all(|sequence| lost.push(sequence));
            self.count_lost(now, &lost);
            self.timed.1 = Time::NEVER;
        } else {
            self.go_back();
        }
        self.pacer.reset();
        self.note(now, SenderEventKind::Timeout, before);
    }
}
