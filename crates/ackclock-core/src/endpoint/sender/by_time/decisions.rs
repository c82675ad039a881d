//! Decisions on recovery at an ACK: what is lost, when recovery begins and ends, what is undone
//! (`tcp_fastretrans_alert`, `tcp_process_loss` of Linux).

use super::super::super::SenderEventKind;
use super::super::super::parameters::RecoveryWindow;
use super::super::super::scoreboard::MarkedLost;
use super::super::{Sender, Timer};
use super::{ByTime, News, Retransmit, TIMER_SLACK};
use crate::congestion::{CongestionKind, Event, RecoveryPhase};
use ackclock_spec::units::Time;

impl Sender {
    /// Ends the episode of a probe (RFC 8985 section 7.4.2).
    pub(super) fn process_probe(
        &mut self,
        now: Time,
        cumulative: u64,
        news: &News,
        state: &mut ByTime,
    ) {
        let Some(probe) = state.probe.filter(|probe| cumulative >= probe.end) else {
            return;
        };
        if !probe.retransmitted || news.probe_reported {
            state.probe = None;
        } else if cumulative > probe.end {
            // The probe repaired a loss: one reaction, without recovery.
            state.counts.loss_probe_recoveries += 1;
            let before = self.before();
            self.begin_reduction(now, CongestionKind::Loss, 0, state);
            self.keep_open();
            self.note(now, SenderEventKind::ProbeRecovery, before);
        } else if !news.advanced && !news.sacked {
            state.probe = None;
        }
    }

    /// Decides on recovery (`tcp_fastretrans_alert`). Returns true if the reordering timer was set.
    pub(super) fn follow(&mut self, now: Time, mut news: News, state: &mut ByTime) -> bool {
        let first = self.scoreboard.first();
        if news.ecn_echo {
            state.undo.forbid();
        }
        if news.was_open {
            state.undo.first_retransmission = Time::NEVER;
        }
        match self.recovery.phase() {
            RecoveryPhase::Cwr if first > self.recovery.point() => self.end_recovery(now),
            RecoveryPhase::Recovery if first >= self.recovery.point() => {
                self.end_or_undo(now, news.echo, state);
            }
            _ => {}
        }
        match self.recovery.phase() {
            RecoveryPhase::Recovery => self.continue_recovery(now, &news, state),
            RecoveryPhase::Loss => {
                self.continue_loss(now, &news, state);
                let waits = self.detect_losses(now, state, &mut news);
                if self.recovery.phase() == RecoveryPhase::Open || news.again {
                    return self.open_or_recover(now, &mut news, state) || waits;
                }
                waits
            }
            RecoveryPhase::Open | RecoveryPhase::Cwr => {
                if self.recovery.phase() == RecoveryPhase::Open {
                    self.try_undo_by_duplicates(now, state);
                }
                self.open_or_recover(now, &mut news, state)
            }
        }
    }

    /// Looks for losses outside recovery and enters it if there are any.
    fn open_or_recover(&mut self, now: Time, news: &mut News, state: &mut ByTime) -> bool {
        let waits = self.detect_losses(now, state, news);
        if self.scoreboard.lost() > 0 {
            self.enter_recovery(now, news.ecn_echo, news.delivered, state);
            state.retransmit = Retransmit::Lost;
        } else {
            self.try_to_open(now, news.ecn_echo, state);
        }
        waits
    }

    /// An ACK in fast recovery that does not end it.
    fn continue_recovery(&mut self, now: Time, news: &News, state: &mut ByTime) -> bool {
        let mut news = *news;
        if news.advanced && state.undo.by_timestamp(news.echo) && self.parameters.recovery.undo {
            // The hole was filled by the original, so it was only late.
            if state
                .rack
                .note_reordering(news.before, self.scoreboard.highest_sacked())
            {
                state.counts.timestamp_reorderings += 1;
            }
            if self.scoreboard.resent() > 0 {
                return false; // wait for the retransmissions: neither mark nor send anything
            }
            state.counts.partial_undos += 1;
            self.undo_reduction(now, true, state);
            self.keep_open();
        }
        if self.try_undo_by_duplicates(now, state) {
            self.try_to_open(now, news.ecn_echo, state);
        }
        let waits = self.detect_losses(now, state, &mut news);
        if self.recovery.phase() != RecoveryPhase::Recovery {
            if self.scoreboard.lost() == 0 {
                return waits;
            }
            self.enter_recovery(now, news.ecn_echo, news.delivered, state);
        }
        state.retransmit = Retransmit::Lost;
        waits
    }

    /// An ACK after a timeout (`tcp_process_loss`; F-RTO, RFC 5682 section 3.1).
    fn continue_loss(&mut self, now: Time, news: &News, state: &mut ByTime) {
        let point = self.recovery.point();
        let recovered = self.scoreboard.first() >= point;
        if news.advanced && self.may_undo(news.echo, state) {
            return self.undo_timeout(now, state);
        }
        if state.forward_rto {
            if news.original {
                // Step 3.b: what was not sent again has arrived.
                state.counts.spurious_timeouts += 1;
                return self.undo_timeout(now, state);
            }
            let duplicate = !news.advanced && !news.duplicate_reported;
            if self.highest > point {
                state.forward_rto = !(news.sacked || duplicate); // step 3.a
            } else if news.advanced && !recovered {
                self.recovery.move_point(self.highest);
                if self.has_new_data() {
                    state.retransmit = Retransmit::New; // step 2.b
                    return;
                }
                state.forward_rto = false;
            }
        }
        if recovered {
            self.end_or_undo(now, news.echo, state);
        } else {
            state.retransmit = Retransmit::Lost;
        }
    }

    /// True if there is new data that the receive window allows.
    pub(in super::super) fn has_new_data(&self) -> bool {
        let flight = self.scoreboard.flight();
        self.scoreboard.next() < self.available
            && (flight == 0 || flight.saturating_add(self.mss) <= self.receive_window)
    }

    fn may_undo(&self, echo: Time, state: &ByTime) -> bool {
        self.parameters.recovery.undo
            && (state.undo.by_duplicates() || state.undo.by_timestamp(echo))
    }

    /// Ends a recovery whose data has all been acknowledged, and undoes its reduction if that was
    /// unnecessary.
    fn end_or_undo(&mut self, now: Time, echo: Time, state: &mut ByTime) {
        if self.may_undo(echo, state) {
            let loss = self.recovery.phase() == RecoveryPhase::Loss;
            state.counts.loss_undos += u64::from(loss);
            state.counts.full_undos += u64::from(!loss);
            self.undo_reduction(now, false, state);
        } else {
            state.rack.on_recovery_end();
        }
        self.end_recovery(now);
    }

    /// Undoes a timeout that was spurious.
    fn undo_timeout(&mut self, now: Time, state: &mut ByTime) {
        state.counts.loss_undos += 1;
        self.undo_reduction(now, true, state);
        state.timeouts = 0;
        self.end_recovery(now);
    }

    /// Undoes a reduction if every retransmission has been reported as a duplicate.
    pub(super) fn try_undo_by_duplicates(&mut self, now: Time, state: &mut ByTime) -> bool {
        if !self.parameters.recovery.undo || !state.undo.by_duplicates() {
            return false;
        }
        state.rack.on_undo();
        state.counts.duplicate_undos += 1;
        self.undo_reduction(now, false, state);
        true
    }

    /// Restores the window. With `unlose`, nothing counts as lost any more.
    fn undo_reduction(&mut self, now: Time, unlose: bool, state: &mut ByTime) {
        if unlose {
            self.scoreboard.unlose();
        }
        if state.undo.restores() {
            let before = self.before();
            self.tell_congestion(now, CongestionKind::SpuriousLoss, 0);
            self.window_reduced = false;
            self.note(now, SenderEventKind::Undo, before);
        }
        state.undo.end();
        state.rack.advanced = true; // look again at what is outstanding
    }

    /// Ends recovery, a reduction or the phase after a timeout.
    fn end_recovery(&mut self, now: Time) {
        let before = self.before();
        self.recovery.end();
        self.control.on_event(now, &Event::RecoveryEnd);
        self.note(now, SenderEventKind::RecoveryEnd, before);
    }

    /// Returns to the open phase after something other than the ACK of all data.
    fn keep_open(&mut self) {
        if self.recovery.phase() != RecoveryPhase::Open || self.recovery.is_proportional() {
            self.recovery.end();
            self.recovery.move_point(self.highest);
        }
    }

    /// Nothing is lost: starts a reduction if the network has marked a packet, or stays open.
    fn try_to_open(&mut self, now: Time, ecn_echo: bool, state: &mut ByTime) {
        self.forget_retransmissions(state);
        let phase = self.recovery.phase();
        if ecn_echo && phase == RecoveryPhase::Open {
            self.statistics.ecn_reactions += 1;
            let before = self.before();
            state.undo.end();
            self.begin_reduction(now, CongestionKind::Mark, 0, state);
            self.recovery.begin_cwr(self.highest);
            self.marked = self.highest;
            self.note(now, SenderEventKind::EcnEcho, before);
        } else if phase != RecoveryPhase::Cwr {
            self.keep_open();
        }
    }

    /// Enters fast recovery (`tcp_enter_recovery`). `delivered` bytes are shown to have arrived by
    /// the ACK that made losses known.
    pub(super) fn enter_recovery(
        &mut self,
        now: Time,
        ecn_echo: bool,
        delivered: u64,
        state: &mut ByTime,
    ) {
        self.statistics.fast_retransmits += 1;
        let before = self.before();
        let reducing = self.recovery.phase() == RecoveryPhase::Cwr;
        self.forget_retransmissions(state);
        self.begin_episode(reducing || ecn_echo, state);
        if !reducing {
            self.begin_reduction(now, CongestionKind::Loss, delivered, state);
        }
        self.recovery.enter();
        self.note(now, SenderEventKind::FastRetransmit, before);
    }

    /// Forgets when the first retransmission was sent, unless one is in flight
    /// (`tcp_retrans_stamp_cleanup`). The ACK of one that is would otherwise look like that of an
    /// original.
    fn forget_retransmissions(&self, state: &mut ByTime) {
        let head = self.scoreboard.head().is_some_and(|(_, again)| again);
        if self.scoreboard.resent() == 0 && !head {
            state.undo.first_retransmission = Time::NEVER;
        }
    }

    pub(super) fn begin_episode(&mut self, forbidden: bool, state: &mut ByTime) {
        let probe = state.probe.is_some_and(|probe| probe.retransmitted);
        let resent = self.scoreboard.resent().div_ceil(self.mss) + u64::from(probe);
        state.undo.begin(self.scoreboard.first(), resent, forbidden);
    }

    /// Asks the control for a smaller window and begins to approach it.
    fn begin_reduction(
        &mut self,
        now: Time,
        kind: CongestionKind,
        delivered: u64,
        state: &mut ByTime,
    ) {
        state.probe = None;
        let base = self.base_of_proportion(delivered);
        self.reduce(now, kind, self.ssthresh_base(0));
        self.recovery.move_point(self.highest);
        self.begin_proportional(base);
    }

    /// Returns the base of a proportional reduction in bytes, before the control reduces the
    /// window. The ACK that causes it shows `delivered` bytes to have arrived.
    pub(in super::super) fn base_of_proportion(&self, delivered: u64) -> u64 {
        match self.parameters.recovery.recovery_window {
            RecoveryWindow::Ssthresh => 0,
            RecoveryWindow::Proportional => self.scoreboard.unsacked() + delivered,
            RecoveryWindow::ProportionalToWindow => self.control.cwnd().0,
        }
    }

    /// Begins a proportional reduction, if the parameters ask for one and the control leaves the
    /// window to it.
    pub(in super::super) fn begin_proportional(&mut self, base: u64) {
        let proportional = self.parameters.recovery.recovery_window != RecoveryWindow::Ssthresh;
        if proportional && !self.control.needs().replaces_recovery {
            self.recovery.begin_reduction(base / self.mss);
        }
    }

    /// Marks what RACK finds lost. Returns true if it waits for more with the reordering timer.
    fn detect_losses(&mut self, now: Time, state: &mut ByTime, news: &mut News) -> bool {
        if !std::mem::take(&mut state.rack.advanced) {
            return false;
        }
        let marked = self.mark_losses(now, state);
        news.again |= marked.again > 0;
        let Some(wait) = marked.wait else {
            return false;
        };
        self.retransmit_at = now + self.in_ticks(wait + TIMER_SLACK);
        self.timer = Timer::Reordering;
        true
    }

    pub(super) fn mark_losses(&mut self, now: Time, state: &mut ByTime) -> MarkedLost {
        let phase = self.recovery.phase();
        let window = state.rack.window(
            matches!(phase, RecoveryPhase::Recovery | RecoveryPhase::Loss),
            self.scoreboard.sacked_segments(),
            self.rtt.minimum(),
            self.rtt.smoothed(),
        );
        let limit = state.rack.rtt() + window;
        let marked = self.scoreboard.detect_losses_by_time(
            &mut state.order,
            state.rack.latest(),
            limit,
            now,
        );
        self.count_lost(now, &marked.segments);
        state.counts.lost_retransmissions += marked.again;
        marked
    }
}
