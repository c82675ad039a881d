//! Timers: retransmission timeout, tail loss probe, reordering (`tcp_enter_loss`,
//! `tcp_schedule_loss_probe`, `tcp_rearm_rto` of Linux).

use super::super::super::connection::Connection;
use super::super::super::timer::{Purpose, in_ticks, tick_after, tick_beyond};
use super::{ByTime, Probe, Retransmit, TIMER_SLACK};
use crate::congestion::{CongestionKind, RecoveryPhase};
use crate::endpoint::SenderEventKind;
use crate::endpoint::parameters::LossRecovery;
use ackclock_spec::units::{Span, Time};

impl ByTime {
    /// Handles the reordering timer (RFC 8985 section 6.3).
    pub(super) fn handle_reordering_timeout(&mut self, connection: &mut Connection, now: Time) {
        let marked = self.mark_losses(connection, now);
        self.retransmit = Retransmit::Lost;
        if !marked.segments.is_empty() && connection.episode.phase() != RecoveryPhase::Recovery {
            let mss = connection.mss;
            self.enter_recovery(connection, now, false, mss);
            connection.reduce_in_proportion(mss, false);
        }
        connection.transmission.burst.held = true; // this timer of Linux sends no new data
        connection.rearm_from_head(now);
    }

    /// Handles the probe timer: a probe is to be sent, unless one is out (RFC 8985 section 7.3).
    pub(super) fn handle_probe_timeout(&mut self, connection: &mut Connection, now: Time) {
        self.probe_due |= self.probe.is_none();
        self.retransmit = Retransmit::Lost;
        connection.rearm_from_head(now);
    }

    /// Records that the probe has been sent: the retransmission timer starts again.
    pub(super) fn note_probe(
        &mut self,
        connection: &mut Connection,
        now: Time,
        retransmitted: bool,
    ) {
        self.counts.loss_probes += 1;
        self.probe_due = false;
        self.probe = Some(Probe {
            end: connection.scoreboard.highest(),
            retransmitted,
        });
        connection.restart_timer(now);
    }

    /// Handles the retransmission timer (`tcp_enter_loss`).
    pub(super) fn handle_timeout(&mut self, connection: &mut Connection, now: Time) {
        let before = connection.before();
        let (first, phase) = (connection.scoreboard.first(), connection.episode.phase());
        let (sacked, recent) = match connection.sack {
            true => (connection.scoreboard.sacked_segments(), self.rack.rtt()),
            false => {
                connection.scoreboard.forget_duplicates();
                (0, Span::ZERO) // all are lost
            }
        };
        let (cleared, marked) = connection.scoreboard.lose_older(recent, now);
        connection.meter.counted_ahead += cleared;
        self.counts.lost_retransmissions += marked.again;
        connection.count_lost(now, &marked.segments);
        let reduces = match phase {
            RecoveryPhase::Open => true,
            _ if first >= connection.episode.point() => true,
            RecoveryPhase::Loss => self.timeouts == 0,
            _ => false,
        };
        let kind = if reduces {
            CongestionKind::Timeout
        } else {
            CongestionKind::RepeatedTimeout
        };
        if reduces {
            self.begin_episode(connection, false);
        }
        let base = connection.ssthresh_base(0, 0);
        connection.reduce(now, kind, base);
        if phase == RecoveryPhase::Open {
            self.rack.forget_reordering(sacked);
        }
        connection.episode.end();
        let highest = connection.scoreboard.highest();
        connection.episode.begin(RecoveryPhase::Loss, highest);
        connection.episode.resend_first = true; // whatever window the control allows
        self.probe = None;
        self.probe_due = false;
        let first_of_episode = matches!(phase, RecoveryPhase::Open | RecoveryPhase::Cwr);
        self.forward_rto =
            connection.parameters.recovery.forward_rto && (first_of_episode || self.timeouts > 0);
        self.timeouts = self.timeouts.saturating_add(1);
        self.retransmit = Retransmit::Lost;
        connection.meter.stop_timing();
        connection.note(now, SenderEventKind::Timeout, before);
    }

    /// Records a retransmission, for undo and RACK.
    #[inline(never)] // rare: kept out of the path of every packet
    pub(super) fn note_retransmission(
        &mut self,
        connection: &mut Connection,
        now: Time,
        sequence: u64,
        is_probe: bool,
    ) {
        self.order.queue(sequence, now);
        if is_probe {
            return;
        }
        self.undo.on_retransmission(now);
        if sequence == connection.scoreboard.first()
            && connection.timer.purpose != Purpose::Reordering
        {
            connection.restart_timer(now);
        }
    }
}

impl Connection {
    /// Sets the timer after an ACK: to a probe if the phase allows one, else to a retransmission.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn arm_after_ack(&mut self, now: Time) {
        if self.scoreboard.is_empty() {
            self.timer.set(Purpose::Retransmission, Time::NEVER);
        } else if self.may_probe() {
            self.timer.set(
                Purpose::Probe,
                now + self.probe_timeout().min(self.meter.rtt.rto()),
            );
        } else if self.timer.purpose == Purpose::Retransmission {
            self.timer
                .set(Purpose::Retransmission, now + self.meter.rtt.rto());
        } else {
            self.rearm_from_head(now);
        }
    }

    /// Sets the timer after new data was sent.
    #[inline(never)] // a call per segment is less than the code in line
    pub fn arm_after_send(&mut self, now: Time) {
        if self.may_probe() {
            let head = self.scoreboard.head().map_or(now, |(sent_at, _)| sent_at);
            let rto = (head + self.meter.rtt.rto()).since(now);
            let timeout = self.probe_timeout();
            if rto > Span::ZERO && rto < timeout {
                return self.probe_at_timeout(now, head);
            }
            self.timer.set(Purpose::Probe, now + timeout);
        } else if self.timer.purpose == Purpose::Probe {
            self.rearm_from_head(now);
        }
    }

    /// Sets the timer of a probe to where the timeout would strike, which is earlier.
    #[cold]
    fn probe_at_timeout(&mut self, now: Time, head: Time) {
        let rto = (head + self.meter.rtt.rto_in_ticks(self.whole_ticks())).since(now);
        self.timer.purpose = Purpose::Probe;
        self.set_from_now(now, rto.min(self.probe_timeout()));
    }

    /// Starts the retransmission timer, counted from the last transmission of the first segment in
    /// flight.
    fn rearm_from_head(&mut self, now: Time) {
        self.timer.set(Purpose::Retransmission, Time::NEVER);
        if let Some((sent_at, _)) = self.scoreboard.head() {
            let rto = self.meter.rtt.rto_in_ticks(self.whole_ticks());
            let left = (sent_at + rto).since(now);
            self.set_from_now(now, left.max(Span::from_nanos(1)));
        }
    }

    /// Sets the deadline so far from now. Linux has what is left in whole ticks.
    fn set_from_now(&mut self, now: Time, left: Span) {
        let tick = self.whole_ticks();
        let left = in_ticks(left, tick);
        if tick == Span::ZERO {
            self.timer.deadline = now + left;
        } else {
            self.timer.put_off(tick_beyond(now + left, left, tick));
        }
    }

    /// Returns the tick in which timeouts are kept; zero if they are exact.
    fn whole_ticks(&self) -> Span {
        let by_time = self.parameters.recovery.algorithm == LossRecovery::Rack;
        match self.parameters.timer.timeouts_in_ticks && by_time {
            true => self.parameters.timer.timer_tick,
            false => Span::ZERO,
        }
    }

    /// Puts the timer off to a tick at which it can expire.
    pub fn put_off_timer(&mut self, tick: Time) {
        match self.whole_ticks() {
            Span::ZERO => self.timer.deadline = tick,
            _ => self.timer.put_off(tick),
        }
    }

    /// True if the timer may be that of a probe.
    fn may_probe(&self) -> bool {
        self.parameters.recovery.tail_loss_probe
            && match self.episode.phase() {
                RecoveryPhase::Open => !self.scoreboard.has_marks(),
                RecoveryPhase::Cwr => true,
                _ => false,
            }
    }

    /// Returns the time to a probe: two round trips, and the longest delay of an ACK if a single
    /// segment is in flight (RFC 8985 section 7.2).
    fn probe_timeout(&self) -> Span {
        let Some(smoothed) = self.meter.rtt.smoothed() else {
            return self.parameters.timer.rto_initial;
        };
        let slack = if self.scoreboard.flight() <= self.mss {
            self.parameters.recovery.longest_ack_delay
        } else {
            TIMER_SLACK
        };
        smoothed * 2 + slack
    }

    /// Returns the tick at which the timer expires.
    pub fn expiry(&self) -> Time {
        let (deadline, tick) = (self.timer.deadline, self.parameters.timer.timer_tick);
        let rtt = &self.meter.rtt;
        if self.whole_ticks() == Span::ZERO {
            let timeout = match self.timer.purpose {
                Purpose::Retransmission => rtt.rto(),
                Purpose::Probe => self.probe_timeout(),
                Purpose::Reordering => Span::ZERO,
                Purpose::Window => self.window_probe_timeout(),
            };
            return tick_after(deadline, timeout, tick);
        }
        let (timeout, whole) = match self.timer.purpose {
            Purpose::Retransmission => (rtt.rto(), rtt.rto_in_ticks(tick)),
            Purpose::Probe => {
                let timeout = self.probe_timeout().min(rtt.rto());
                (timeout, in_ticks(timeout, tick))
            }
            Purpose::Reordering => (Span::ZERO, Span::ZERO),
            Purpose::Window => {
                let timeout = self.window_probe_timeout();
                (timeout, in_ticks(timeout, tick))
            }
        };
        tick_beyond(deadline + (whole - timeout), whole, tick)
    }
}
