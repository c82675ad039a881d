//! Recovery without SACK: duplicate ACKs are counted, and their number finds losses (`tcp_is_reno`
//! in Linux 6.18; RFC 6582).
//!
//! Every ACK of new data in fast recovery shows that the next segment is lost. Recovery ends with
//! the first ACK beyond the data that was in flight when it began, not with the ACK of just that.

use super::super::super::connection::Connection;
use super::ByTime;
use crate::congestion::RecoveryPhase;
use crate::endpoint::scoreboard::Advance;
use ackclock_spec::units::Time;

impl ByTime {
    /// Counts a duplicate ACK, or what an ACK of new data explains. `before` is the first
    /// unacknowledged segment before it. Returns the bytes that count as delivered: those of a
    /// forgotten duplicate count again, as in Linux.
    pub(super) fn count_without_sack(
        &mut self,
        connection: &mut Connection,
        advance: &Advance,
        before: u64,
        advanced: bool,
    ) -> u64 {
        let acked = connection.scoreboard.first() - before;
        let (delivered, too_many) = if advanced {
            let bytes = advance.acked;
            connection.scoreboard.explain_duplicates(acked, bytes)
        } else if self.counts_duplicates(connection) {
            connection.scoreboard.count_duplicate()
        } else {
            (0, false)
        };
        if too_many {
            let outstanding = connection.scoreboard.next() - connection.scoreboard.first();
            self.rack.set_reordering(outstanding + acked);
        }
        let in_recovery = connection.episode.phase() == RecoveryPhase::Recovery;
        let recovered = connection.scoreboard.first() >= connection.episode.point();
        if advanced && (!in_recovery || recovered) {
            connection.scoreboard.forget_duplicates();
        }
        connection.meter.delivered += delivered;
        delivered
    }

    /// True if a duplicate ACK counts as a segment that has arrived. After a timeout it does if new
    /// data was sent since, and not while recovery is [held](Self::is_held).
    fn counts_duplicates(&self, connection: &Connection) -> bool {
        let new = connection.scoreboard.highest() > connection.episode.point();
        match connection.episode.phase() {
            RecoveryPhase::Open | RecoveryPhase::Cwr => true,
            RecoveryPhase::Recovery => !self.is_held(connection),
            RecoveryPhase::Loss => new && !self.is_held(connection),
        }
    }

    /// True if recovery goes on although all data is acknowledged that was in flight when it began:
    /// duplicate ACKs that come now may be of its retransmissions
    /// (`tcp_is_non_sack_preventing_reopen`; RFC 6582 section 3.2 step 2).
    pub(super) fn is_held(&self, connection: &Connection) -> bool {
        !connection.sack && connection.scoreboard.first() == connection.episode.point()
    }

    /// Marks the first segment as lost if as many duplicate ACKs have come as reordering cannot
    /// explain, or at an ACK of new data in fast recovery (`tcp_newreno_mark_lost`).
    pub(super) fn detect_loss_by_count(
        &mut self,
        connection: &mut Connection,
        now: Time,
        advanced: bool,
    ) {
        let counted = connection.scoreboard.sacked_segments();
        let lost = match connection.episode.phase() {
            RecoveryPhase::Open | RecoveryPhase::Cwr => counted >= self.rack.reordering(),
            RecoveryPhase::Recovery => advanced,
            RecoveryPhase::Loss => false,
        };
        if lost && let Some(first) = connection.scoreboard.lose_first() {
            connection.count_lost(now, &[first]);
        }
    }
}
