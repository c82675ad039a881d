//! Timers: retransmission timeout, tail loss probe, reordering (`tcp_enter_loss`,
//! `tcp_schedule_loss_probe`, `tcp_rearm_rto` of Linux).

use super::super::super::SenderEventKind;
use super::super::{Sender, Timer};
use super::{Probe, Retransmit, TIMER_SLACK};
use crate::congestion::{CongestionKind, RecoveryPhase};
use ackclock_spec::units::{Span, Time};

/// Timers of fewer ticks expire at any tick, longer ones at each eighth (`LVL_SIZE - 1` and
/// `LVL_CLK_DIV` of `timer.c`; beyond 511 ticks each 64th, which is left out).
const EXACT_TICKS: u64 = 63;
const COARSE_TICKS: u64 = 8;

impl Sender {
    /// Handles the reordering timer (RFC 8985 section 6.3).
    pub(in super::super) fn handle_reordering_timeout(&mut self, now: Time) {
        let Some(mut state) = self.by_time.take() else {
            return;
        };
        let marked = self.mark_losses(now, &mut state);
        state.retransmit = Retransmit::Lost;
        if !marked.segments.is_empty() && self.recovery.phase() != RecoveryPhase::Recovery {
            self.enter_recovery(now, false, self.mss, &mut state);
            self.reduce_in_proportion(self.mss, false);
        }
        self.rearm_from_head(now);
        self.by_time = Some(state);
    }

    /// Handles the probe timer: a probe is to be sent, unless one is out (RFC 8985 section 7.3).
    pub(in super::super) fn handle_probe_timeout(&mut self, now: Time) {
        let Some(state) = &mut self.by_time else {
            return;
        };
        if state.probe.is_none() {
            state.probe_due = true;
        }
        state.retransmit = Retransmit::Lost;
        self.rearm_from_head(now);
    }

    /// Records that the probe has been sent: the retransmission timer starts again.
    pub(in super::super) fn note_probe(&mut self, now: Time, retransmitted: bool) {
        if let Some(state) = &mut self.by_time {
            state.counts.loss_probes += 1;
            state.probe_due = false;
            state.probe = Some(Probe {
                end: self.highest,
                retransmitted,
            });
        }
        self.timer = Timer::Retransmission;
        self.retransmit_at = now + self.rtt.rto();
    }

    /// Handles the retransmission timer (`tcp_enter_loss`).
    pub(in super::super) fn handle_timeout_by_time(&mut self, now: Time) {
        let Some(mut state) = self.by_time.take() else {
            return;
        };
        let before = self.before();
        let (first, phase) = (self.scoreboard.first(), self.recovery.phase());
        let sacked = self.scoreboard.sacked_segments();
        let (cleared, marked) = self.scoreboard.lose_older(state.rack.rtt(), now);
        self.counted_ahead += cleared;
        state.counts.lost_retransmissions += marked.again;
        self.count_lost(now, &marked.segments);
        let reduces = match phase {
            RecoveryPhase::Open => true,
            _ if first >= self.recovery.point() => true,
            RecoveryPhase::Loss => state.timeouts == 0,
            _ => false,
        };
        let kind = if reduces {
            CongestionKind::Timeout
        } else {
            CongestionKind::RepeatedTimeout
        };
        if reduces {
            self.begin_episode(false, &mut state);
        }
        self.reduce(now, kind, self.ssthresh_base(0));
        if phase == RecoveryPhase::Open {
            state.rack.forget_reordering(sacked);
        }
        self.recovery.restart(self.highest);
        self.recovery.resend_first = true; // whatever window the control allows
        state.probe = None;
        state.probe_due = false;
        let first_of_episode = matches!(phase, RecoveryPhase::Open | RecoveryPhase::Cwr);
        state.forward_rto =
            self.parameters.recovery.forward_rto && (first_of_episode || state.timeouts > 0);
        state.timeouts = state.timeouts.saturating_add(1);
        state.retransmit = Retransmit::Lost;
        self.timed.1 = Time::NEVER;
        self.by_time = Some(state);
        self.note(now, SenderEventKind::Timeout, before);
    }

    /// Sets the timer after an ACK: to a probe if the phase allows one, else to a retransmission.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub(in super::super) fn arm_after_ack(&mut self, now: Time) {
        if self.scoreboard.is_empty() {
            self.timer = Timer::Retransmission;
            self.retransmit_at = Time::NEVER;
        } else if self.may_probe() {
            self.timer = Timer::Probe;
            self.retransmit_at = now + self.probe_timeout().min(self.rtt.rto());
        } else if self.timer == Timer::Retransmission {
            self.retransmit_at = now + self.rtt.rto();
        } else {
            self.rearm_from_head(now);
        }
    }

    /// Sets the timer after new data was sent.
    #[inline(never)] // a call per segment is less than the code in line
    pub(in super::super) fn arm_after_send(&mut self, now: Time) {
        if self.may_probe() {
            let head = self.scoreboard.head().map_or(now, |(sent_at, _)| sent_at);
            let rto = (head + self.rtt.rto()).since(now);
            let mut timeout = self.probe_timeout();
            if rto > Span::ZERO {
                timeout = timeout.min(rto);
            }
            self.timer = Timer::Probe;
            self.retransmit_at = now + timeout;
        } else if self.timer == Timer::Probe {
            self.rearm_from_head(now);
        }
    }

    /// Starts the retransmission timer, counted from the last transmission of the first segment in
    /// flight.
    fn rearm_from_head(&mut self, now: Time) {
        self.timer = Timer::Retransmission;
        self.retransmit_at = match self.scoreboard.head() {
            Some((sent_at, _)) => (sent_at + self.rtt.rto()).max(now + Span::from_nanos(1)),
            None => Time::NEVER,
        };
    }

    /// Returns a timeout in whole ticks (`usecs_to_jiffies`).
    pub(super) fn in_ticks(&self, timeout: Span) -> Span {
        let tick = self.parameters.timer.timer_tick.as_nanos();
        match tick {
            0 => timeout,
            _ => Span::from_nanos(timeout.as_nanos().next_multiple_of(tick)),
        }
    }

    /// Returns the first tick at or after `deadline` at which the running timer can expire.
    pub(in super::super) fn tick_after(&self, deadline: Time) -> Time {
        let tick = self.parameters.timer.timer_tick;
        let timeout = match self.timer {
            Timer::Retransmission => self.rtt.rto(),
            Timer::Probe => self.probe_timeout(),
            Timer::Reordering => Span::ZERO,
        };
        let coarse = timeout >= tick * EXACT_TICKS;
        let granule = tick.as_nanos() * if coarse { COARSE_TICKS } else { 1 };
        Time::from_nanos(deadline.as_nanos().next_multiple_of(granule))
    }

    /// True if the timer may be that of a probe.
    fn may_probe(&self) -> bool {
        self.parameters.recovery.tail_loss_probe
            && match self.recovery.phase() {
                RecoveryPhase::Open => !self.scoreboard.has_marks(),
                RecoveryPhase::Cwr => true,
                _ => false,
            }
    }

    /// Returns the time to a probe: two round trips, and the longest delay of an ACK if a single
    /// segment is in flight (RFC 8985 section 7.2, with the values of Linux).
    fn probe_timeout(&self) -> Span {
        let Some(smoothed) = self.rtt.smoothed() else {
            return self.parameters.timer.rto_initial;
        };
        let slack = if self.scoreboard.flight() <= self.mss {
            self.parameters.timer.rto_minimum
        } else {
            TIMER_SLACK
        };
        smoothed * 2 + slack
    }

    /// Records a retransmission, for undo and RACK.
    pub(in super::super) fn note_retransmission(&mut self, now: Time, sequence: u64, probe: bool) {
        let Some(state) = &mut self.by_time else {
            return;
        };
        state.order.queue(sequence, now);
        if probe {
            return;
        }
        state.undo.on_retransmission(now);
        if sequence == self.scoreboard.first() && self.timer != Timer::Reordering {
            self.timer = Timer::Retransmission;
            self.retransmit_at = now + self.rtt.rto();
        }
    }
}
