//! Losses: what they tell of a probe, and how a spurious recovery is undone (sections 5.5.10,
//! 5.5.11 and 5.6.4.4).

use super::parameters::{EcnReaction, InflightAtLoss, LimitedLoss, UndoState};
use super::{Control, Sample, State, Undo};
use crate::congestion::{RecoveryPhase, SegmentLost};
use ackclock_spec::units::Time;

impl Control {
    /// Counts a lost segment that does not continue the last range of lost ones.
    pub(super) fn note_range(&mut self, sequence: u64) {
        let round = &mut self.loss_round;
        let continues = round.ranges > 0 && sequence == round.after_lost;
        round.ranges += u64::from(!continues);
        round.after_lost = sequence.saturating_add(1);
    }

    /// `NoteLoss`.
    fn note_loss(&mut self) {
        if !self.loss_round.has_loss {
            self.loss_round.end = self.delivered;
            self.save_state();
        }
        self.loss_round.has_loss = true;
    }

    /// `HandleLostPacket`.
    pub(super) fn handle_lost(&mut self, now: Time, lost: &SegmentLost) {
        use crate::congestion::SendLimit::Application;
        self.note_loss();
        if !self.cycle.is_sample {
            return;
        }
        let sample = Sample {
            tx_in_flight: lost.tx_in_flight.as_f64(),
            lost: lost.lost.as_f64(),
            limited: lost.limited == Application,
            ..Sample::default()
        };
        if self.is_too_high(&sample) {
            let tx_in_flight = self.inflight_at_loss(&sample, lost.bytes.as_f64());
            let sample = Sample {
                tx_in_flight,
                ..sample
            };
            self.handle_too_high(now, &sample);
        }
    }

    /// True if more was lost than a probe may lose (`IsInflightTooHigh`).
    pub(super) fn is_too_high(&self, sample: &Sample) -> bool {
        let threshold = self.parameters.loss_threshold;
        sample.lost > sample.tx_in_flight * threshold || (sample.lost > 0.0 && !self.selective_acks)
    }

    /// Returns the data in flight at which losses crossed the threshold, within the lost segment of
    /// `size` bytes (`InflightAtLoss`).
    pub(super) fn inflight_at_loss(&self, sample: &Sample, size: f64) -> f64 {
        let threshold = self.parameters.loss_threshold;
        let before = sample.tx_in_flight - size;
        let lost_before = sample.lost - size;
        let prefix = (threshold * before - lost_before) / (1.0 - threshold);
        before
            + match self.parameters.inflight_at_loss {
                InflightAtLoss::Clamped => prefix.clamp(0.0, size),
                InflightAtLoss::Unclamped => prefix,
            }
    }

    /// Takes the data in flight as the long-term bound, and ends the probe
    /// (`HandleInflightTooHigh`).
    pub(super) fn handle_too_high(&mut self, now: Time, sample: &Sample) {
        self.cycle.too_high = true;
        self.cycle.is_sample = false;
        if !sample.limited || self.parameters.limited_loss == LimitedLoss::Lowered {
            let least = self.target_inflight() * self.parameters.beta;
            self.bounds.inflight_longterm = sample.tx_in_flight.max(least);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now);
        }
    }

    /// Reacts to an ECN echo: a guess, as the draft specifies nothing.
    pub(super) fn handle_mark(&mut self, now: Time) {
        let longest = self.parameters.ecn_max_rtt;
        if longest
            .zip(self.min_rtt.value)
            .is_some_and(|(longest, rtt)| rtt > longest)
        {
            return;
        }
        if !self.loss_round.has_loss {
            self.loss_round.end = self.delivered;
        }
        self.loss_round.has_loss = true;
        let sample = Sample {
            lost: self.last.lost + self.mss,
            ..self.last
        };
        let much = self.parameters.ecn == EcnReaction::ExcessLoss;
        if self.cycle.is_sample && (much || self.is_too_high(&sample)) {
            self.handle_too_high(now, &sample);
        } else if much && self.state == State::Startup {
            self.leave_startup_on_losses();
        }
    }

    /// `OnEnterFastRecovery`. A loss that a tail loss probe has repaired was not reported.
    pub(super) fn enter_fast_recovery(&mut self) {
        if !self.undo.is_saved {
            self.note_loss();
        }
        self.save_state();
        self.recovery = RecoveryPhase::Recovery;
        self.recovery_start = self.delivered;
    }

    /// Notes the phase of recovery at an ACK. A phase that ended without notice ends here.
    pub(super) fn follow_recovery(&mut self, phase: RecoveryPhase) {
        let recovers = |phase| matches!(phase, RecoveryPhase::Recovery | RecoveryPhase::Loss);
        if recovers(self.recovery) && !recovers(phase) {
            self.end_recovery();
        }
        self.recovery = phase;
    }

    /// Leaves loss recovery.
    pub(super) fn end_recovery(&mut self) {
        self.restore_cwnd();
        self.recovery = RecoveryPhase::Open;
        self.undo.is_saved = false;
    }

    /// Notes the window to return to (`SaveCwnd`).
    pub(super) fn save_cwnd(&mut self) {
        let recovers = matches!(self.recovery, RecoveryPhase::Recovery | RecoveryPhase::Loss);
        self.prior_cwnd = if recovers || self.state == State::ProbeRtt {
            self.prior_cwnd.max(self.cwnd)
        } else {
            self.cwnd
        };
    }

    /// `RestoreCwnd`.
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// Saves what an undo restores (`SaveStateUponLoss`).
    pub(super) fn save_state(&mut self) {
        self.save_cwnd();
        if self.undo.is_saved && self.parameters.undo_state == UndoState::Recovery {
            return;
        }
        self.undo = Undo {
            state: None,
            bounds: self.bounds,
            is_saved: true,
        };
    }

    /// `HandleSpuriousLossDetection`.
    pub(super) fn handle_spurious_loss(&mut self) {
        self.restore_cwnd();
        self.loss_round.has_loss = false;
        self.reset_full_bw(0.0);
        let (bounds, saved) = (&mut self.bounds, &self.undo.bounds);
        bounds.bw_shortterm = bounds.bw_shortterm.max(saved.bw_shortterm);
        bounds.inflight_shortterm = bounds.inflight_shortterm.max(saved.inflight_shortterm);
        bounds.inflight_longterm = bounds.inflight_longterm.max(saved.inflight_longterm);
        let in_probe_rtt = self.state == State::ProbeRtt;
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full.reached = false;
                if !in_probe_rtt {
                    self.enter(State::Startup);
                }
            }
            Some(State::Up) if self.state != State::Up && !in_probe_rtt => self.start_refill(),
            _ => {}
        }
        self.undo.is_saved = false;
    }
}
