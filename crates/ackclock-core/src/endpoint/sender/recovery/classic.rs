//! Recovery by duplicate ACKs and SACK blocks: Tahoe, Reno (RFC 5681), NewReno (RFC 6582), SACK
//! (RFC 6675), or by the retransmission timer alone.

use super::super::super::parameters::{
    AfterTimeout, AvoidMultipleFastRetransmits, LossRecovery, PartialAck, RecoveryParameters,
    RepeatedTimeout, SackEntry, SackPipe,
};
use super::super::super::scoreboard::Advance;
use super::super::super::{Acknowledgement, SenderEventKind};
use super::super::connection::Connection;
use super::super::growth::AckEffect;
use super::super::marks::MarkNews;
use super::super::transmit::Choice;
use super::{Episode, Recovery};
use crate::congestion::{CongestionKind, RecoveryPhase};
use ackclock_spec::units::Time;

#[cfg(test)]
mod tests;

/// The effect of an ACK of new data on the episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// There is no recovery, or it continues unchanged.
    Unchanged,
    /// It acknowledges part of the data in flight when fast recovery began.
    Partial {
        /// True if the retransmission timer restarts.
        restart_timer: bool,
    },
    /// Recovery ends.
    End,
}

/// The state of recovery by duplicate ACKs.
#[derive(Debug)]
pub(in super::super) struct Classic {
    algorithm: LossRecovery,
    avoid_multiple_fast_retransmits: AvoidMultipleFastRetransmits,
    limited_transmit: bool,
    /// NewReno: true after a partial ACK in this recovery.
    partial_seen: bool,
    /// SACK: true after the rescue retransmission of this recovery.
    rescued: bool,
    duplicates: u32,
    threshold: u32,
    /// Duplicate ACKs for a segment below this one indicate no loss: it was sent before the last
    /// event after which the sender [avoids multiple fast
    /// retransmits](RecoveryParameters::avoid_multiple_fast_retransmits).
    ignore_losses_below: u64,
    /// First unacknowledged segment at the last timeout; `u64::MAX` before the first one.
    timed_out: u64,
    /// SACK with a [counted](SackPipe::Counted) pipe: the pipe, in segments.
    counted_pipe: u64,
    /// Bytes sent by limited transmit since the last ACK of new data.
    limited_transmitted: u64,
}

impl Classic {
    pub fn new(parameters: &RecoveryParameters) -> Self {
        Classic {
            algorithm: parameters.algorithm,
            avoid_multiple_fast_retransmits: parameters.avoid_multiple_fast_retransmits,
            limited_transmit: parameters.limited_transmit,
            partial_seen: false,
            rescued: false,
            duplicates: 0,
            threshold: parameters.duplicate_threshold.0.max(1),
            ignore_losses_below: 0,
            timed_out: u64::MAX,
            counted_pipe: 0,
            limited_transmitted: 0,
        }
    }

    /// True if an ACK of new data, up to before `first`, ends the recovery.
    fn is_ended_by(&self, episode: &Episode, first: u64) -> bool {
        // Reno ends recovery with any new ACK (RFC 5681 section 3.2 step 6).
        let reno = self.algorithm == LossRecovery::Reno;
        (reno && episode.phase() == RecoveryPhase::Recovery) || episode.is_over(first)
    }

    /// Processes an ACK of `acked` bytes of new data, up to before `first`.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn on_new(
        &mut self,
        episode: &mut Episode,
        parameters: &RecoveryParameters,
        first: u64,
        acked: u64,
        mss: u64,
    ) -> Step {
        self.duplicates = 0;
        self.limited_transmitted = 0;
        if episode.phase() == RecoveryPhase::Open {
            episode.inflation = 0;
            return Step::Unchanged;
        }
        if self.is_ended_by(episode, first) {
            return Step::End;
        }
        if episode.phase() == RecoveryPhase::Loss {
            return Step::Unchanged;
        }
        let first_partial = !self.partial_seen;
        self.partial_seen = true;
        if self.algorithm.has_scoreboard() {
            return Step::Partial {
                restart_timer: true,
            };
        }
        episode.resend_first = true;
        if parameters.partial_window_deflation {
            // RFC 6582 section 3.2 step 3, partial acknowledgements.
            episode.inflation = episode.inflation.saturating_sub_unsigned(acked);
            if acked >= mss {
                episode.inflation = episode.inflation.saturating_add_unsigned(mss);
            }
        } else {
            // ns-2 removes all of the inflation.
            episode.inflation = 0;
        }
        Step::Partial {
            restart_timer: first_partial || parameters.partial_ack == PartialAck::SlowButSteady,
        }
    }

    /// Processes a duplicate ACK while `flight` bytes are in flight from `first` on; with SACK,
    /// only one with new information (RFC 6675 section 2). Returns true if a fast retransmit is
    /// due.
    fn on_duplicate(&mut self, episode: &mut Episode, first: u64, flight: u64, mss: u64) -> bool {
        self.duplicates = self.duplicates.saturating_add(1);
        let sack = self.algorithm.has_scoreboard();
        match episode.phase() {
            RecoveryPhase::Recovery => {
                // Each duplicate ACK means that a segment has left the network, so they cannot
                // outnumber the segments in flight (RFC 5681 section 3.2 step 4).
                let most = i64::try_from(flight).unwrap_or(i64::MAX);
                if !sack && episode.inflation < most {
                    episode.inflation = episode.inflation.saturating_add_unsigned(mss);
                }
                false
            }
            RecoveryPhase::Open => {
                let lost = self.is_loss(episode.phase(), first);
                if !lost && self.limited_transmit && !sack {
                    // RFC 3042: at most cwnd plus two segments. With SACK the pipe does this (RFC
                    // 6675 section 5 step 3).
                    let extra = u64::from(self.duplicates.min(2));
                    episode.inflation = extra.saturating_mul(mss) as i64;
                }
                lost
            }
            RecoveryPhase::Loss => self.is_loss(episode.phase(), first),
            RecoveryPhase::Cwr => false,
        }
    }

    /// True if the duplicate ACKs so far indicate a loss.
    fn is_loss(&self, phase: RecoveryPhase, first: u64) -> bool {
        match self.algorithm {
            LossRecovery::TimeoutOnly | LossRecovery::Rack => false,
            // RFC 6675 section 5.1: not before the data in flight at a timeout is acknowledged.
            LossRecovery::Sack => phase == RecoveryPhase::Open && self.duplicates >= self.threshold,
            // RFC 6582 section 3.2 step 2: only if the ACK covers more than `recover`.
            _ => self.duplicates == self.threshold && first >= self.ignore_losses_below,
        }
    }

    /// Begins fast recovery; `next` is the first segment not sent yet.
    fn begin(&mut self, episode: &mut Episode, next: u64, mss: u64) {
        episode.begin(RecoveryPhase::Recovery, next);
        if self.avoid_multiple_fast_retransmits == AvoidMultipleFastRetransmits::Always {
            self.ignore_losses_below = next + 1;
        }
        self.partial_seen = false;
        self.rescued = false;
        episode.resend_first = true;
        episode.inflation = if self.algorithm.has_scoreboard() {
            0
        } else {
            u64::from(self.threshold).saturating_mul(mss) as i64
        };
    }

    /// Begins slow start from the first unacknowledged segment, after a timeout or Tahoe's
    /// duplicate ACKs. `next` is the first segment not sent yet.
    fn restart(&mut self, episode: &mut Episode, next: u64) {
        episode.end();
        episode.begin(RecoveryPhase::Loss, next);
        if self.avoid_multiple_fast_retransmits != AvoidMultipleFastRetransmits::Never {
            self.ignore_losses_below = next + 1;
        }
        self.duplicates = 0;
        self.limited_transmitted = 0;
    }

    /// Records a timeout while `first` is the first unacknowledged segment. Returns true if the
    /// last timeout was for the same segment.
    fn note_timeout(&mut self, first: u64) -> bool {
        std::mem::replace(&mut self.timed_out, first) == first
    }

    /// Processes an ACK. A `PLAIN` one acknowledges new data and carries neither SACK blocks nor an
    /// ECN echo.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn process<const PLAIN: bool, const RATED: bool>(
        &mut self,
        connection: &mut Connection,
        now: Time,
        ack: &Acknowledgement<'_>,
    ) {
        let new = PLAIN || ack.cumulative > connection.scoreboard.first();
        let lost = connection.meter.statistics.lost_segments;
        let prior_in_flight = if PLAIN {
            0
        } else {
            connection.rated_in_flight()
        };
        let (advance, sacked) = if PLAIN {
            (connection.advance::<RATED>(ack.cumulative), 0)
        } else {
            learn(connection, now, ack)
        };
        let newly_delivered = connection.count_delivered(&advance, sacked, new);
        let sampling = connection.parameters.timer.rtt_sampling;
        let rtt = if new {
            connection.meter.measure(now, sampling, ack, &advance)
        } else {
            None
        };
        let round_start = new && ack.cumulative >= connection.meter.round.end;
        if round_start {
            connection.begin_round();
        }
        let recovering = connection.episode.phase() == RecoveryPhase::Recovery;
        let marks = if PLAIN {
            MarkNews::NONE
        } else {
            connection.read_marks(now, ack, newly_delivered, round_start)
        };
        let effect = AckEffect {
            newly_delivered,
            marked: marks.bytes,
            repeated: 0,
            rtt,
            newest_rtt: advance.newest_rtt(now),
            prior_in_flight: match (PLAIN, RATED) {
                (true, false) => 0,
                (true, true) => connection.in_flight().0 + newly_delivered, // nothing is lost
                (false, _) => prior_in_flight,
            },
            opens: advance.acked > 0 && (!recovering || self.opens_at_recovery_end(connection)),
            newly_lost: if PLAIN {
                0
            } else {
                (connection.meter.statistics.lost_segments - lost) * connection.mss
            },
            round_start,
            window: None,
        };
        self.tell_control::<RATED>(connection, now, &advance, &effect);
        if new {
            self.progress(connection, now, advance.acked);
        }
        self.infer_loss(connection, now, new, sacked > 0, newly_delivered);
        if !PLAIN && marks.echo {
            self.react_to_mark(connection, now, advance.acked);
        }
        connection.reduce_in_proportion(newly_delivered, new && effect.newly_lost == 0);
    }

    /// True if this ACK ends fast recovery and still opens the congestion window.
    fn opens_at_recovery_end(&self, connection: &Connection) -> bool {
        connection.parameters.recovery.growth_at_recovery_end
            && !connection.sack
            && self.is_ended_by(&connection.episode, connection.scoreboard.first())
    }

    /// Handles newly acknowledged data: recovery continues or ends, and the timer restarts (RFC
    /// 6298 section 5.2 and 5.3).
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn progress(&mut self, connection: &mut Connection, now: Time, acked: u64) {
        let first = connection.scoreboard.first();
        let mut restarts = true;
        let parameters = &connection.parameters.recovery;
        match self.on_new(
            &mut connection.episode,
            parameters,
            first,
            acked,
            connection.mss,
        ) {
            Step::Unchanged => {}
            Step::Partial { restart_timer } => restarts = restart_timer,
            Step::End => connection.end_recovery(now),
        }
        if first == connection.scoreboard.highest() {
            connection.timer.deadline = Time::NEVER;
        } else if restarts {
            connection.timer.deadline = now + connection.meter.rtt.rto();
        }
    }

    /// Starts fast recovery if duplicate ACKs or the scoreboard indicate a loss.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn infer_loss(
        &mut self,
        connection: &mut Connection,
        now: Time,
        new: bool,
        sack_news: bool,
        newly_delivered: u64,
    ) {
        let first = connection.scoreboard.first();
        if first == connection.scoreboard.highest() {
            return;
        }
        if self.counts_pipe(connection) {
            let gone = if new { 2 } else { 1 };
            self.counted_pipe = self.counted_pipe.saturating_sub(gone);
        }
        let duplicate = if connection.sack { sack_news } else { !new };
        let flight = connection.scoreboard.flight();
        let lost =
            duplicate && self.on_duplicate(&mut connection.episode, first, flight, connection.mss);
        let shown = connection.episode.phase() == RecoveryPhase::Open
            && connection.scoreboard.first_is_lost();
        if lost || (shown && connection.parameters.recovery.sack_entry == SackEntry::KnownLoss) {
            self.begin_recovery(connection, now, newly_delivered);
        }
    }

    #[inline(never)] // rare: kept out of the path of every packet
    fn begin_recovery(&mut self, connection: &mut Connection, now: Time, newly_delivered: u64) {
        connection.meter.statistics.fast_retransmits += 1;
        let before = connection.before();
        let first = connection.scoreboard.first();
        if !connection.scoreboard.first_is_lost() {
            connection.count_lost(now, &[first]);
        }
        let highest = connection.scoreboard.highest();
        if self.algorithm == LossRecovery::Tahoe {
            self.reduce(connection, now, CongestionKind::Timeout, 0);
            self.restart(&mut connection.episode, highest);
            connection.go_back();
        } else {
            let base = connection.base_of_proportion(newly_delivered);
            // A window that was reduced for an ECN echo is not reduced again (RFC 3168 section
            // 6.1.2).
            if first >= connection.marks.marked {
                self.reduce(connection, now, CongestionKind::Loss, 0);
            }
            self.begin(&mut connection.episode, highest, connection.mss);
            connection.begin_proportional(base);
            if connection.sack {
                connection.scoreboard.begin_recovery();
            }
            if self.counts_pipe(connection) {
                self.counted_pipe = (highest - first).saturating_sub(self.threshold.into());
                // The fast retransmission, which does not count.
                connection.transmission.burst_left = 1;
            }
        }
        connection.timer.deadline = now + connection.meter.rtt.rto();
        connection.note(now, SenderEventKind::FastRetransmit, before);
    }

    /// Reacts to an ECN echo once per window of data (RFC 3168 section 6.1.2).
    ///
    /// The first segment sent after a reaction carries CWR, and the receiver echoes until it
    /// arrives. The ACK of all earlier data therefore still echoes the old congestion, and new
    /// congestion is known only from the ACK of the segment with CWR. Linux waits for the same ACK:
    /// `tcp_fastretrans_alert` leaves the state CWR when data above `high_seq` is acknowledged.
    fn react_to_mark(&mut self, connection: &mut Connection, now: Time, acked: u64) {
        let news = connection.episode.phase() == RecoveryPhase::Open
            && connection.scoreboard.first() > connection.marks.reacted;
        if !news {
            return;
        }
        connection.meter.statistics.ecn_reactions += 1;
        let before = connection.before();
        // FlightSize is the data in flight before this ACK: the room that the ACK made is not
        // filled yet.
        self.reduce(connection, now, CongestionKind::Mark, acked);
        connection.marks.marked = connection.scoreboard.highest();
        connection.note(now, SenderEventKind::EcnEcho, before);
    }

    /// Reduces the window. Counts `acked` bytes as still in flight.
    fn reduce(&self, connection: &mut Connection, now: Time, kind: CongestionKind, acked: u64) {
        let base = connection.ssthresh_base(acked, self.limited_transmitted);
        connection.reduce(now, kind, base);
    }

    /// True during a SACK recovery that counts its pipe.
    #[inline(always)] // runs for every packet: one comparison, nearly always false
    fn counts_pipe(&self, connection: &Connection) -> bool {
        connection.episode.phase() == RecoveryPhase::Recovery
            && connection.sack
            && connection.parameters.recovery.sack_pipe == SackPipe::Counted
    }

    /// True if the scoreboard determines the data in flight and the retransmissions. Go-back-N
    /// instead sends as if nothing were known about the data in flight at the timeout, and waits
    /// for the timer if it is lost again.
    fn follows_scoreboard(&self, connection: &Connection) -> bool {
        let rule = || connection.parameters.recovery.after_timeout;
        connection.sack
            && match connection.episode.phase() {
                RecoveryPhase::Open | RecoveryPhase::Cwr => false,
                RecoveryPhase::Recovery => true,
                RecoveryPhase::Loss => rule() == AfterTimeout::Scoreboard,
            }
    }

    /// Excludes a segment beyond the window, sent by limited transmit, from FlightSize (RFC 5681
    /// section 3.2 step 2).
    #[inline(never)] // rare: kept out of the path of every packet
    fn note_limited_transmit(&mut self, connection: &Connection, length: u64) {
        let beyond = connection.scoreboard.flight() + connection.mss > connection.control.cwnd().0;
        if connection.episode.phase() == RecoveryPhase::Open && beyond {
            self.limited_transmitted += length;
        }
    }

    /// Applies rules 3 and 4 of NextSeg: no segment is known to be lost and there is no new data.
    #[inline(never)] // rare: kept out of the path of every packet
    fn choose_speculatively(&self, connection: &mut Connection) -> Option<Choice> {
        if let Some(sequence) = connection.scoreboard.next_unsacked() {
            return Some(Choice::Again(sequence));
        }
        if !connection.parameters.recovery.rescue_retransmission || self.rescued {
            return None;
        }
        connection.scoreboard.highest_unsacked().map(Choice::Rescue)
    }
}

impl Recovery for Classic {
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn is_quiet(&self, _: &Connection) -> bool {
        true
    }

    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn on_plain_ack<const RATED: bool>(
        &mut self,
        connection: &mut Connection,
        now: Time,
        ack: &Acknowledgement<'_>,
    ) {
        self.process::<true, RATED>(connection, now, ack);
    }

    fn on_ack(&mut self, connection: &mut Connection, now: Time, ack: &Acknowledgement<'_>) {
        self.process::<false, true>(connection, now, ack);
    }

    fn on_timeout(&mut self, connection: &mut Connection, now: Time) {
        let before = connection.before();
        let repeated = self.note_timeout(connection.scoreboard.first());
        let rules = connection.parameters.recovery;
        let kind = if repeated && rules.repeated_timeout == RepeatedTimeout::Keep {
            CongestionKind::RepeatedTimeout
        } else {
            CongestionKind::Timeout
        };
        self.reduce(connection, now, kind, 0);
        self.restart(&mut connection.episode, connection.scoreboard.highest());
        if connection.sack && rules.after_timeout == AfterTimeout::Scoreboard {
            let mut lost = Vec::new();
            let cleared = connection
                .scoreboard
                .lose_all(|sequence| lost.push(sequence));
            connection.meter.counted_ahead += cleared;
            connection.count_lost(now, &lost);
            connection.meter.stop_timing();
        } else {
            connection.go_back();
        }
        connection.note(now, SenderEventKind::Timeout, before);
    }

    /// With SACK the pipe, otherwise all unacknowledged bytes. Before recovery, the pipe implements
    /// limited transmit (RFC 6675 section 5 step 3).
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn used(&self, connection: &Connection) -> u64 {
        let limited_transmit = connection.sack
            && self.limited_transmit
            && connection.episode.phase() == RecoveryPhase::Open;
        if self.counts_pipe(connection) {
            self.counted_pipe.saturating_mul(connection.mss)
        } else if limited_transmit || self.follows_scoreboard(connection) {
            connection.scoreboard.pipe()
        } else {
            connection.scoreboard.flight()
        }
    }

    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn is_urgent(&self, connection: &Connection) -> bool {
        connection.episode.resend_first
    }

    /// Applies rule 1 of NextSeg (RFC 6675 section 4).
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn choose_before_new(&mut self, connection: &mut Connection) -> Option<Choice> {
        let scoreboard = &connection.scoreboard;
        if connection.episode.resend_first && !scoreboard.is_empty() {
            return Some(Choice::Again(scoreboard.first()));
        }
        if self.counts_pipe(connection)
            && let Some(sequence) = connection.scoreboard.next_unsacked()
        {
            return Some(Choice::Again(sequence));
        }
        if self.follows_scoreboard(connection) {
            return connection.scoreboard.next_lost().map(Choice::Again);
        }
        None
    }

    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn choose_after_new(&mut self, connection: &mut Connection) -> Option<Choice> {
        let recovering = connection.episode.phase() == RecoveryPhase::Recovery;
        if recovering && self.algorithm == LossRecovery::Sack {
            return self.choose_speculatively(connection);
        }
        None
    }

    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn before_sending(&mut self, connection: &Connection, choice: Choice, length: u64) {
        if self.counts_pipe(connection) && !connection.episode.resend_first {
            self.counted_pipe += 1;
        }
        if choice == Choice::Next && self.duplicates > 0 {
            self.note_limited_transmit(connection, length);
        }
    }

    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn on_sent(&mut self, _: &mut Connection, _: Time, choice: Choice) {
        self.rescued |= matches!(choice, Choice::Rescue(_));
    }
}

/// Updates the scoreboard. Returns the data newly covered by the cumulative acknowledgement, and
/// the number of newly SACKed bytes.
fn learn(connection: &mut Connection, now: Time, ack: &Acknowledgement<'_>) -> (Advance, u64) {
    let advance = connection.advance::<true>(ack.cumulative);
    let mut sacked = 0;
    if connection.sack
        && let Some(sacks) = ack.sacks
        && !sacks.is_empty()
    {
        let rate = &mut connection.meter.rate;
        for &block in sacks.held() {
            sacked += connection.scoreboard.sack(block, |delivered| {
                if let Some(rate) = rate {
                    rate.on_delivered(delivered.index, delivered.sent_at);
                }
            });
        }
        let threshold = connection.parameters.recovery.duplicate_threshold;
        let mut lost = Vec::new();
        connection
            .scoreboard
            .detect_losses(threshold.0.into(), |sequence| lost.push(sequence));
        connection.count_lost(now, &lost);
    }
    (advance, sacked)
}
