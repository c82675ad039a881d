//! Decisions on recovery at an ACK: what is lost, when recovery begins and ends, what is undone
//! (`tcp_fastretrans_alert`, `tcp_process_loss` of Linux).

use super::super::super::connection::Connection;
use super::super::super::timer::{Purpose, in_ticks};
use super::{ByTime, News, Retransmit, TIMER_SLACK};
use crate::congestion::{CongestionKind, RecoveryPhase};
use crate::endpoint::SenderEventKind;
use crate::endpoint::scoreboard::MarkedLost;
use ackclock_spec::units::Time;

impl ByTime {
    /// Ends the episode of a probe (RFC 8985 section 7.4.2).
    pub(super) fn process_probe(
        &mut self,
        connection: &mut Connection,
        now: Time,
        cumulative: u64,
        news: &News,
    ) {
        let Some(probe) = self.probe.filter(|probe| cumulative >= probe.end) else {
            return;
        };
        if !probe.retransmitted || news.probe_reported {
            self.probe = None;
        } else if cumulative > probe.end {
            // The probe repaired a loss: one reaction, without recovery.
            self.counts.loss_probe_recoveries += 1;
            let before = connection.before();
            self.begin_reduction(connection, now, CongestionKind::Loss, 0);
            keep_open(connection);
            connection.note(now, SenderEventKind::ProbeRecovery, before);
        } else if !news.advanced && !news.sacked {
            self.probe = None;
        }
    }

    /// Decides on recovery (`tcp_fastretrans_alert`). Returns true if the reordering timer was set.
    pub(super) fn follow(
        &mut self,
        connection: &mut Connection,
        now: Time,
        mut news: News,
    ) -> bool {
        let first = connection.scoreboard.first();
        if news.ecn_echo {
            self.undo.forbid();
        }
        if news.was_open {
            self.undo.first_retransmission = Time::NEVER;
        }
        match connection.episode.phase() {
            RecoveryPhase::Cwr if first > connection.episode.point() => {
                connection.end_recovery(now)
            }
            RecoveryPhase::Recovery if self.is_held(connection) => {
                self.undo_and_hold(connection, now, news.echo);
                return false;
            }
            RecoveryPhase::Recovery if first >= connection.episode.point() => {
                self.end_or_undo(connection, now, news.echo);
            }
            _ => {}
        }
        match connection.episode.phase() {
            RecoveryPhase::Recovery => self.continue_recovery(connection, now, &news),
            RecoveryPhase::Loss => {
                self.continue_loss(connection, now, &news);
                let waits = self.detect_losses(connection, now, &mut news);
                if connection.episode.phase() == RecoveryPhase::Open || news.again {
                    return self.open_or_recover(connection, now, &mut news) || waits;
                }
                waits
            }
            RecoveryPhase::Open | RecoveryPhase::Cwr => {
                if connection.episode.phase() == RecoveryPhase::Open {
                    self.try_undo_by_duplicates(connection, now);
                }
                self.open_or_recover(connection, now, &mut news)
            }
        }
    }

    /// Looks for losses outside recovery and enters it if there are any.
    fn open_or_recover(&mut self, connection: &mut Connection, now: Time, news: &mut News) -> bool {
        let waits = self.detect_losses(connection, now, news);
        if connection.scoreboard.lost() > 0 {
            self.enter_recovery(connection, now, news.ecn_echo, news.delivered);
            self.retransmit = Retransmit::Lost;
        } else {
            self.try_to_open(connection, now, news.ecn_echo);
        }
        waits
    }

    /// An ACK in fast recovery that does not end it.
    fn continue_recovery(&mut self, connection: &mut Connection, now: Time, news: &News) -> bool {
        let mut news = *news;
        if news.advanced && self.undo.by_timestamp(news.echo) && connection.parameters.recovery.undo
        {
            // The hole was filled by the original, so it was only late.
            let end = connection.scoreboard.sacked_end();
            if self.rack.note_reordering(news.before, end) {
                self.counts.timestamp_reorderings += 1;
            }
            if connection.scoreboard.resent() > 0 {
                return false; // wait for the retransmissions: neither mark nor send anything
            }
            self.counts.partial_undos += 1;
            self.undo_reduction(connection, now, true);
            keep_open(connection);
        }
        if self.try_undo_by_duplicates(connection, now) {
            self.try_to_open(connection, now, news.ecn_echo);
        }
        let waits = self.detect_losses(connection, now, &mut news);
        if connection.episode.phase() != RecoveryPhase::Recovery {
            if connection.scoreboard.lost() == 0 {
                return waits;
            }
            self.enter_recovery(connection, now, news.ecn_echo, news.delivered);
        }
        self.retransmit = Retransmit::Lost;
        waits
    }

    /// An ACK after a timeout (`tcp_process_loss`; F-RTO, RFC 5682 section 3.1).
    fn continue_loss(&mut self, connection: &mut Connection, now: Time, news: &News) {
        let point = connection.episode.point();
        let recovered = connection.scoreboard.first() >= point;
        if news.advanced && self.may_undo(connection, news.echo) {
            return self.undo_timeout(connection, now, connection.sack);
        }
        if self.forward_rto {
            if news.original {
                // Step 3.b: what was not sent again has arrived.
                self.counts.spurious_timeouts += 1;
                return self.undo_timeout(connection, now, true);
            }
            let duplicate = !news.advanced && !news.duplicate_reported;
            if connection.scoreboard.highest() > point {
                self.forward_rto = !(news.sacked || duplicate); // step 3.a
            } else if news.advanced && !recovered {
                connection
                    .episode
                    .move_point(connection.scoreboard.highest());
                if connection.has_new_data() {
                    self.retransmit = Retransmit::New; // step 2.b
                    return;
                }
                self.forward_rto = false;
            }
        }
        if self.is_held(connection) {
            self.undo_and_hold(connection, now, news.echo);
        } else if recovered {
            self.end_or_undo(connection, now, news.echo);
        } else {
            self.retransmit = Retransmit::Lost;
        }
    }

    fn may_undo(&self, connection: &Connection, echo: Time) -> bool {
        // Without SACK the time of the first retransmission is forgotten while recovery is held.
        let unknown = !connection.sack
            && self.undo.first_retransmission.is_never()
            && connection.scoreboard.first() >= connection.episode.point();
        connection.parameters.recovery.undo
            && (self.undo.by_duplicates() || (self.undo.by_timestamp(echo) && !unknown))
    }

    /// Undoes a reduction that was unnecessary, without the end of recovery.
    fn undo_and_hold(&mut self, connection: &mut Connection, now: Time, echo: Time) {
        if self.may_undo(connection, echo) {
            self.undo_reduction(connection, now, false);
        }
        self.forget_retransmissions(connection);
    }

    /// Ends a recovery whose data has all been acknowledged, and undoes its reduction if that was
    /// unnecessary.
    fn end_or_undo(&mut self, connection: &mut Connection, now: Time, echo: Time) {
        if self.may_undo(connection, echo) {
            let loss = connection.episode.phase() == RecoveryPhase::Loss;
            self.counts.loss_undos += u64::from(loss);
            self.counts.full_undos += u64::from(!loss);
            self.undo_reduction(connection, now, false);
        } else {
            self.rack.on_recovery_end();
        }
        connection.end_recovery(now);
    }

    /// Undoes a timeout that was spurious, and `ends` recovery unless it is held.
    fn undo_timeout(&mut self, connection: &mut Connection, now: Time, ends: bool) {
        self.counts.loss_undos += 1;
        self.undo_reduction(connection, now, true);
        self.timeouts = 0;
        if ends && !self.is_held(connection) {
            connection.end_recovery(now);
        }
    }

    /// Undoes a reduction if every retransmission has been reported as a duplicate.
    pub(super) fn try_undo_by_duplicates(
        &mut self,
        connection: &mut Connection,
        now: Time,
    ) -> bool {
        if !connection.parameters.recovery.undo || !self.undo.by_duplicates() {
            return false;
        }
        self.rack.on_undo();
        self.counts.duplicate_undos += 1;
        self.undo_reduction(connection, now, false);
        true
    }

    /// Restores the window. With `unlose`, nothing counts as lost any more.
    fn undo_reduction(&mut self, connection: &mut Connection, now: Time, unlose: bool) {
        if unlose {
            connection.scoreboard.unlose();
        }
        if self.undo.restores() {
            let before = connection.before();
            connection.tell_congestion(now, CongestionKind::SpuriousLoss, 0);
            connection.marks.window_reduced = false;
            connection.note(now, SenderEventKind::Undo, before);
        }
        self.undo.end();
        self.rack.advanced = true; // look again at what is outstanding
    }

    /// Nothing is lost: starts a reduction if the network has marked a packet, or stays open.
    fn try_to_open(&mut self, connection: &mut Connection, now: Time, ecn_echo: bool) {
        self.forget_retransmissions(connection);
        let phase = connection.episode.phase();
        if ecn_echo && phase == RecoveryPhase::Open {
            connection.meter.statistics.ecn_reactions += 1;
            let before = connection.before();
            self.undo.end();
            self.begin_reduction(connection, now, CongestionKind::Mark, 0);
            connection
                .episode
                .begin(RecoveryPhase::Cwr, connection.scoreboard.highest());
            connection.marks.marked = connection.scoreboard.highest();
            connection.note(now, SenderEventKind::EcnEcho, before);
        } else if phase != RecoveryPhase::Cwr {
            keep_open(connection);
        }
    }

    /// Enters fast recovery (`tcp_enter_recovery`). `delivered` bytes are shown to have arrived by
    /// the ACK that made losses known.
    pub(super) fn enter_recovery(
        &mut self,
        connection: &mut Connection,
        now: Time,
        ecn_echo: bool,
        delivered: u64,
    ) {
        connection.meter.statistics.fast_retransmits += 1;
        let before = connection.before();
        let reducing = connection.episode.phase() == RecoveryPhase::Cwr;
        self.forget_retransmissions(connection);
        self.begin_episode(connection, reducing || ecn_echo);
        if !reducing {
            self.begin_reduction(connection, now, CongestionKind::Loss, delivered);
        }
        connection.episode.enter_recovery();
        connection.note(now, SenderEventKind::FastRetransmit, before);
    }

    /// Forgets when the first retransmission was sent, unless one is in flight
    /// (`tcp_retrans_stamp_cleanup`). The ACK of one that is would otherwise look like that of an
    /// original.
    fn forget_retransmissions(&mut self, connection: &Connection) {
        let head = connection.scoreboard.head().is_some_and(|(_, again)| again);
        if connection.scoreboard.resent() == 0 && !head {
            self.undo.first_retransmission = Time::NEVER;
        }
    }

    pub(super) fn begin_episode(&mut self, connection: &Connection, forbidden: bool) {
        let probe = self.probe.is_some_and(|probe| probe.retransmitted);
        let resent = connection.scoreboard.resent().div_ceil(connection.mss) + u64::from(probe);
        self.undo
            .begin(connection.scoreboard.first(), resent, forbidden);
    }

    /// Asks the control for a smaller window and begins to approach it.
    fn begin_reduction(
        &mut self,
        connection: &mut Connection,
        now: Time,
        kind: CongestionKind,
        delivered: u64,
    ) {
        self.probe = None;
        let base = connection.base_of_proportion(delivered);
        connection.reduce(now, kind, connection.ssthresh_base(0, 0));
        connection
            .episode
            .move_point(connection.scoreboard.highest());
        connection.begin_proportional(base);
    }

    /// Marks what RACK finds lost. Returns true if it waits for more with the reordering timer.
    fn detect_losses(&mut self, connection: &mut Connection, now: Time, news: &mut News) -> bool {
        if !connection.sack {
            self.detect_loss_by_count(connection, now, news.advanced);
            return false;
        }
        if !std::mem::take(&mut self.rack.advanced) {
            return false;
        }
        let marked = self.mark_losses(connection, now);
        news.again |= marked.again > 0;
        let Some(wait) = marked.wait else {
            return false;
        };
        let tick = connection.parameters.timer.timer_tick;
        let deadline = now + in_ticks(wait + TIMER_SLACK, tick);
        connection.timer.set(Purpose::Reordering, deadline);
        true
    }

    pub(super) fn mark_losses(&mut self, connection: &mut Connection, now: Time) -> MarkedLost {
        let phase = connection.episode.phase();
        let window = self.rack.window(
            matches!(phase, RecoveryPhase::Recovery | RecoveryPhase::Loss),
            connection.scoreboard.sacked_segments(),
            connection.meter.rtt.minimum(),
            connection.meter.rtt.smoothed(),
        );
        let limit = self.rack.rtt() + window;
        let marked = connection.scoreboard.detect_losses_by_time(
            &mut self.order,
            self.rack.latest(),
            limit,
            now,
        );
        connection.count_lost(now, &marked.segments);
        self.counts.lost_retransmissions += marked.again;
        marked
    }
}

/// Returns to the open phase after something other than the ACK of all data.
fn keep_open(connection: &mut Connection) {
    let episode = &mut connection.episode;
    if episode.phase() != RecoveryPhase::Open || episode.is_proportional() {
        episode.end();
        episode.move_point(connection.scoreboard.highest());
    }
}
