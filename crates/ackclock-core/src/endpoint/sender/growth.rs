//! The report of an ACK to the congestion control, and the share of it that lets the window grow.

use super::super::parameters::{ByteCounting, WindowValidation};
use super::super::scoreboard::Advance;
use super::connection::Connection;
use crate::congestion::{Ack, RateInfo, RateSample, RecoveryPhase, SendLimit, SocketState};
use ackclock_spec::units::{Bytes, Span, Time};

/// The effect of an ACK on the connection, as far as the control hears of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckEffect {
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
    /// Congestion window in use before it, if it is not the control's.
    pub window: Option<u64>,
}

impl Connection {
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn tell_control<const RATED: bool>(
        &mut self,
        now: Time,
        advance: &Advance,
        effect: &AckEffect,
    ) {
        let acked = advance.acked;
        let meter = &mut self.meter;
        let min_rtt = meter.rtt.minimum();
        let counts = meter.counts(self.mss);
        let alone = |sample: &RateSample| sample.prior_delivered.0 + acked == counts.delivered;
        let rate = match &mut meter.rate {
            Some(rate) if RATED => {
                let sample = rate.sample(now, &counts, min_rtt);
                Some(RateInfo {
                    sample,
                    prior_in_flight: Bytes(effect.prior_in_flight),
                    delayed: acked > 0 && acked < self.mss && sample.as_ref().is_some_and(alone),
                    next_departure: self.transmission.pacer.next().max(now),
                })
            }
            _ => None,
        };
        let limited = self.meter.round.limit();
        let asks_for_socket = self.control.needs().socket;
        let credit = self.credit(advance, effect, limited);
        let signal = Ack {
            newly_acked: Bytes(acked),
            newly_delivered: Bytes(effect.newly_delivered),
            credit: Bytes(credit),
            delivered: Bytes(self.meter.delivered),
            rtt: effect.rtt,
            newest_rtt: effect.newest_rtt,
            smoothed_rtt: self.meter.rtt.smoothed(),
            min_rtt,
            in_flight: self.in_flight(),
            rate,
            socket: asks_for_socket.then(|| self.socket(effect.opens)),
            limited,
            phase: self.episode.phase(),
            newly_lost: Bytes(effect.newly_lost),
            round_start: effect.round_start,
            first: self.scoreboard.first(),
            next: self.scoreboard.highest(),
            window: effect.window.map(Bytes),
            marked: Bytes(effect.marked),
        };
        self.control.on_ack(now, &signal);
    }

    /// True if the control marks its rate samples by its own window (`limits_rate_samples`).
    pub fn limits_rate_samples(&self) -> bool {
        self.meter.rate.is_some() && self.control.get().limits_rate_samples()
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

    /// Returns the bytes of this ACK that count for the growth of the congestion window.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn credit(&mut self, advance: &Advance, effect: &AckEffect, limited: SendLimit) -> u64 {
        if !effect.opens {
            return 0;
        }
        let most = self.most_credit(effect, limited);
        if most == 0 {
            return 0;
        }
        // After a timeout, data that was SACKED before does not count again. Without SACK all data
        // counts, even if it arrived long ago. Linux does the same, since it forgets the duplicate
        // ACKs then (tcp_timeout_mark_lost, tcp_remove_reno_sacks).
        let loss = self.episode.phase() == RecoveryPhase::Loss;
        let news = if loss {
            advance.delivered
        } else {
            advance.acked
        };
        let counted = match self.parameters.growth.byte_counting {
            ByteCounting::PerAck => advance.acked.min(self.mss),
            ByteCounting::AbcL2 if loss => news.min(self.mss),
            ByteCounting::AbcL2 => news.min(2 * self.mss),
            ByteCounting::All => news,
            ByteCounting::Delivered => effect.newly_delivered + effect.repeated,
        };
        counted.min(most)
    }

    /// Returns the most bytes that may count, by how the congestion window was used.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn most_credit(&mut self, effect: &AckEffect, limited: SendLimit) -> u64 {
        let Bytes(cwnd) = self.control.cwnd();
        let was_used = match self.parameters.growth.window_validation {
            WindowValidation::Off => true,
            WindowValidation::HalfUsed => {
                limited == SendLimit::CongestionWindow
                    || self.meter.round.most().saturating_mul(2) >= cwnd
            }
            WindowValidation::Full => {
                let usage = &self.meter.usage;
                usage.limited || (cwnd < 2 * usage.most && self.in_slow_start())
            }
            WindowValidation::RateLimitedIncrease => {
                return self.room_above_flight(effect, limited);
            }
        };
        if was_used { u64::MAX } else { 0 }
    }

    /// Returns the bytes by which the window may grow above the most data in flight since its last
    /// reduction (draft-ietf-ccwg-ratelimited-increase-10 section 3). A window that is full counts
    /// as in flight, though a burst may not fit into the rest of it.
    #[inline(never)] // only with that validation
    fn room_above_flight(&mut self, effect: &AckEffect, limited: SendLimit) -> u64 {
        let Bytes(cwnd) = self.control.cwnd();
        let before = self.in_flight().0 + effect.newly_delivered + effect.newly_lost;
        let flight = match limited {
            SendLimit::CongestionWindow => before.max(cwnd),
            _ => before,
        };
        let most = self.meter.usage.raise(cwnd, flight);
        self.control.note_most_in_flight(Bytes(most));
        match self.in_slow_start() {
            true => most.saturating_mul(2).saturating_sub(cwnd),
            false if cwnd < most + self.mss => u64::MAX,
            false => 0,
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
}
