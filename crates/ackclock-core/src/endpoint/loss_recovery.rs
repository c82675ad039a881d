//! State machine of loss detection and recovery: Tahoe, Reno (RFC 5681), NewReno (RFC 6582), SACK
//! (RFC 6675), RACK (RFC 8985). The [`Sender`](super::sender::Sender) carries out its decisions.
//!
//! The inflation of the window by duplicate ACKs is kept here and added to the congestion control's
//! window, so that controls need not know of it. At the end of a recovery it is removed, and the
//! control's own window holds. This is RFC 6582 section 3.2 step 3 option 2 (cwnd = ssthresh), as
//! in ns-2. It allows bursts, which `max_burst` can limit.

use super::parameters::{AvoidMultipleFastRetransmits, LossRecovery, PartialAck, TcpParameters};
use super::prr::{Prr, PrrAck};
use crate::congestion::RecoveryPhase;

/// The effect of an ACK of new data on recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckEffect {
    /// There is no recovery, or it continues unchanged.
    Plain,
    /// It acknowledges part of the data in flight when fast recovery began.
    Partial {
        /// True if the retransmission timer restarts.
        restart_timer: bool,
    },
    /// Recovery ends.
    End,
}

/// The state of recovery.
#[derive(Debug)]
pub(super) struct Recovery {
    phase: RecoveryPhase,
    kind: LossRecovery,
    avoid_multiple_fast_retransmits: AvoidMultipleFastRetransmits,
    limited_transmit: bool,
    /// NewReno: true after a partial ACK in this recovery.
    partial_seen: bool,
    /// SACK: true after the rescue retransmission of this recovery.
    pub rescued: bool,
    /// True if the first unacknowledged segment is to be retransmitted at once, regardless of the
    /// window.
    pub resend_first: bool,
    duplicates: u32,
    threshold: u32,
    /// First segment not yet sent when the last recovery or timeout began (`recover` of RFC 6582
    /// and RecoveryPoint of RFC 6675, plus one); `None` before the first.
    point: Option<u64>,
    /// The same point, for the last event after which the sender [avoids multiple fast
    /// retransmits](TcpParameters::avoid_multiple_fast_retransmits): up to here duplicate ACKs do
    /// not indicate a loss.
    heedless_up_to: Option<u64>,
    /// First unacknowledged segment at the last timeout.
    timed_out: Option<u64>,
    /// Bytes that duplicate and partial ACKs, or a proportional reduction, have added to the
    /// control's window; may be negative.
    inflation: i64,
    /// Proportional reduction in progress.
    prr: Option<Prr>,
    /// SACK with a [counted](super::parameters::SackPipe::Counted) pipe: the pipe, in segments.
    pub counted_pipe: u64,
    /// Bytes sent by limited transmit since the last ACK of new data.
    pub limited_transmitted: u64,
}

impl Recovery {
    pub fn new(parameters: &TcpParameters) -> Self {
        Recovery {
            phase: RecoveryPhase::Open,
            kind: parameters.recovery.algorithm,
            avoid_multiple_fast_retransmits: parameters.recovery.avoid_multiple_fast_retransmits,
            limited_transmit: parameters.recovery.limited_transmit,
            partial_seen: false,
            rescued: false,
            resend_first: false,
            duplicates: 0,
            threshold: parameters.recovery.duplicate_threshold.0.max(1),
            point: None,
            heedless_up_to: None,
            timed_out: None,
            inflation: 0,
            prr: None,
            counted_pipe: 0,
            limited_transmitted: 0,
        }
    }

    pub const fn phase(&self) -> RecoveryPhase {
        self.phase
    }
    pub const fn duplicates(&self) -> u32 {
        self.duplicates
    }
    /// Returns the first segment not sent yet when the last recovery, reduction or timeout began.
    pub const fn point(&self) -> u64 {
        match self.point {
            Some(point) => point,
            None => 0,
        }
    }
    /// Moves that point to `next`.
    pub fn move_point(&mut self, next: u64) {
        self.point = Some(next);
    }
    /// True during a proportional reduction.
    pub const fn is_proportional(&self) -> bool {
        self.prr.is_some()
    }
    /// Returns the control's window plus the inflation.
    #[inline]
    pub const fn window(&self, cwnd: u64) -> u64 {
        if self.inflation == 0 {
            return cwnd; // the usual case, and cheaper than the sum
        }
        cwnd.saturating_add_signed(self.inflation)
    }

    /// True if an ACK of new data, up to before `first`, ends the recovery.
    pub fn is_ended_by(&self, first: u64) -> bool {
        // Reno ends recovery with any new ACK (RFC 5681 section 3.2 step 6).
        let reno = self.phase == RecoveryPhase::Recovery && self.kind == LossRecovery::Reno;
        reno || self.point.is_none_or(|point| first >= point)
    }

    /// Processes an ACK of `acked` bytes of new data, up to before `first`.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn on_new(
        &mut self,
        parameters: &TcpParameters,
        first: u64,
        acked: u64,
        mss: u64,
    ) -> AckEffect {
        self.duplicates = 0;
        self.limited_transmitted = 0;
        if self.phase == RecoveryPhase::Open {
            self.inflation = 0;
            return AckEffect::Plain;
        }
        if self.is_ended_by(first) {
            self.end();
            return AckEffect::End;
        }
        if self.phase == RecoveryPhase::Loss {
            return AckEffect::Plain;
        }
        let first_partial = !self.partial_seen;
        self.partial_seen = true;
        if self.kind.uses_sack() {
            return AckEffect::Partial {
                restart_timer: true,
            };
        }
        self.resend_first = true;
        if parameters.recovery.partial_window_deflation {
            // RFC 6582 section 3.2 step 3, partial acknowledgements.
            self.inflation = self.inflation.saturating_sub_unsigned(acked);
            if acked >= mss {
                self.inflation = self.inflation.saturating_add_unsigned(mss);
            }
        } else {
            // ns-2 removes all of the inflation.
            self.inflation = 0;
        }
        AckEffect::Partial {
            restart_timer: first_partial
                || parameters.recovery.partial_ack == PartialAck::SlowButSteady,
        }
    }

    /// Processes a duplicate ACK while `flight` bytes are in flight from `first` on; with SACK,
    /// only one with new information (RFC 6675 section 2). Returns true if a fast retransmit is
    /// due.
    pub fn on_duplicate(&mut self, first: u64, flight: u64, mss: u64) -> bool {
        self.duplicates = self.duplicates.saturating_add(1);
        match self.phase {
            RecoveryPhase::Recovery => {
                if !self.kind.uses_sack() {
                    // Each duplicate ACK means that a segment has left the network, so they cannot
                    // outnumber the segments in flight (RFC 5681 section 3.2 step 4).
                    let most = i64::try_from(flight).unwrap_or(i64::MAX);
                    if self.inflation < most {
                        self.inflation = self.inflation.saturating_add_unsigned(mss);
                    }
                }
                false
            }
            RecoveryPhase::Open => {
                if self.is_loss(first) {
                    return true;
                }
                if self.limited_transmit && !self.kind.uses_sack() {
                    // RFC 3042: at most cwnd plus two segments. With SACK the pipe does this (RFC
                    // 6675 section 5 step 3).
                    self.inflation = (u64::from(self.duplicates.min(2)).saturating_mul(mss)) as i64;
                }
                false
            }
            RecoveryPhase::Loss => self.is_loss(first),
            RecoveryPhase::Cwr => false,
        }
    }

    /// True if the duplicate ACKs so far indicate a loss.
    fn is_loss(&self, first: u64) -> bool {
        match self.kind {
            LossRecovery::TimeoutOnly | LossRecovery::Rack => false,
            // RFC 6675 section 5.1: not before the data in flight at a timeout is acknowledged.
            LossRecovery::Sack => {
                self.phase == RecoveryPhase::Open && self.duplicates >= self.threshold
            }
            // RFC 6582 section 3.2 step 2: only if the ACK covers more than `recover`.
            _ => {
                self.duplicates == self.threshold
                    && self.heedless_up_to.is_none_or(|point| first > point)
            }
        }
    }

    /// Begins fast recovery; `next` is the first segment not sent yet.
    pub fn begin(&mut self, next: u64, mss: u64) {
        self.phase = RecoveryPhase::Recovery;
        self.point = Some(next);
        if self.avoid_multiple_fast_retransmits == AvoidMultipleFastRetransmits::Always {
            self.heedless_up_to = Some(next);
        }
        self.partial_seen = false;
        self.rescued = false;
        self.resend_first = true;
        self.inflation = if self.kind.uses_sack() {
            0
        } else {
            u64::from(self.threshold).saturating_mul(mss) as i64
        };
    }

    /// Begins a proportional reduction with that base, in segments. The window is the control's
    /// until the next [`Recovery::reduce_in_proportion`].
    pub fn begin_reduction(&mut self, base: u64) {
        self.prr = Some(Prr::new(base));
    }

    /// Processes an ACK during a proportional reduction. `cwnd` is the control's window.
    pub fn reduce_in_proportion(&mut self, ack: &PrrAck, cwnd: u64, mss: u64) {
        let Some(window) = self.prr.as_mut().and_then(|prr| prr.on_ack(ack)) else {
            return;
        };
        self.inflation = window.saturating_mul(mss) as i64 - cwnd as i64;
    }

    /// Records a segment sent during a recovery or reduction.
    pub fn on_sent(&mut self) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent();
        }
    }

    /// Begins the phase after an ECN echo, in which the window is reduced in proportion. `next` is
    /// the first segment not sent yet.
    pub fn begin_cwr(&mut self, next: u64) {
        self.phase = RecoveryPhase::Cwr;
        self.point = Some(next);
    }

    /// Enters fast recovery with RACK, which keeps the point of a reduction in progress.
    pub fn enter(&mut self) {
        self.phase = RecoveryPhase::Recovery;
    }

    /// Begins slow start from the first unacknowledged segment, after a timeout or Tahoe's
    /// duplicate ACKs. `next` is the first segment not sent yet.
    pub fn restart(&mut self, next: u64) {
        self.end();
        self.phase = RecoveryPhase::Loss;
        self.point = Some(next);
        if self.avoid_multiple_fast_retransmits != AvoidMultipleFastRetransmits::Never {
            self.heedless_up_to = Some(next);
        }
        self.duplicates = 0;
        self.limited_transmitted = 0;
    }

    /// Records a timeout while `first` is the first unacknowledged segment. Returns true if the
    /// last timeout was for the same segment.
    pub fn note_timeout(&mut self, first: u64) -> bool {
        self.timed_out.replace(first) == Some(first)
    }

    /// Returns to the open phase. Keeps `point`, which prevents a second reaction to the same
    /// window.
    pub fn end(&mut self) {
        self.phase = RecoveryPhase::Open;
        self.prr = None;
        self.inflation = 0;
        self.resend_first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::parameters::Preset;

    const MSS: u64 = 1000;

    fn parameters(kind: LossRecovery) -> TcpParameters {
        let mut parameters = Preset::Rfc.parameters();
        parameters.connection.mss = ackclock_spec::units::Bytes(MSS);
        parameters.recovery.algorithm = kind;
        parameters
    }
    fn in_recovery(parameters: &TcpParameters) -> Recovery {
        let mut recovery = Recovery::new(parameters);
        assert!(!recovery.on_duplicate(10, 20 * MSS, MSS));
        assert!(!recovery.on_duplicate(10, 20 * MSS, MSS));
        assert!(recovery.on_duplicate(10, 20 * MSS, MSS));
        recovery.begin(30, MSS);
        recovery
    }

    #[test]
    fn limited_transmit_adds_two_segments_at_most_and_only_before_recovery() {
        let mut recovery = Recovery::new(&parameters(LossRecovery::Newreno));
        recovery.on_duplicate(10, 20 * MSS, MSS);
        assert_eq!(recovery.window(5 * MSS), 6 * MSS);
        recovery.on_duplicate(10, 20 * MSS, MSS);
        assert_eq!(recovery.window(5 * MSS), 7 * MSS);
        recovery.on_new(&parameters(LossRecovery::Newreno), 11, MSS, MSS);
        assert_eq!(recovery.window(5 * MSS), 5 * MSS);
    }

    #[test]
    fn duplicates_inflate_but_not_beyond_what_is_outstanding() {
        let mut recovery = in_recovery(&parameters(LossRecovery::Reno));
        assert_eq!(recovery.window(10 * MSS), 13 * MSS);
        recovery.on_duplicate(10, 20 * MSS, MSS);
        assert_eq!(recovery.window(10 * MSS), 14 * MSS);
        for _ in 0..1000 {
            recovery.on_duplicate(10, 20 * MSS, MSS);
        }
        assert_eq!(recovery.window(10 * MSS), 30 * MSS);
    }

    #[test]
    fn a_partial_ack_deflates_by_what_it_acknowledges_less_one_segment() {
        let parameters = parameters(LossRecovery::Newreno);
        let mut recovery = in_recovery(&parameters);
        for _ in 0..8 {
            recovery.on_duplicate(10, 20 * MSS, MSS);
        }
        assert_eq!(recovery.window(10 * MSS), 21 * MSS);
        assert_eq!(
            recovery.on_new(&parameters, 15, 5 * MSS, MSS),
            AckEffect::Partial {
                restart_timer: true
            }
        );
        assert_eq!(recovery.window(10 * MSS), 17 * MSS);
        // Impatient: the second partial ACK does not restart the timer.
        assert_eq!(
            recovery.on_new(&parameters, 16, MSS, MSS),
            AckEffect::Partial {
                restart_timer: false
            }
        );
        assert_eq!(
            recovery.on_new(&parameters, 30, 14 * MSS, MSS),
            AckEffect::End
        );
        assert_eq!(recovery.window(10 * MSS), 10 * MSS);
    }

    #[test]
    fn without_deflation_a_partial_ack_ends_the_inflation() {
        let mut parameters = parameters(LossRecovery::Newreno);
        parameters.recovery.partial_window_deflation = false;
        parameters.recovery.partial_ack = PartialAck::SlowButSteady;
        let mut recovery = in_recovery(&parameters);
        for first in [15, 16, 17] {
            assert_eq!(
                recovery.on_new(&parameters, first, MSS, MSS),
                AckEffect::Partial {
                    restart_timer: true
                }
            );
            assert_eq!(recovery.window(10 * MSS), 10 * MSS);
        }
    }

    #[test]
    fn the_careful_do_not_react_twice_to_one_window() {
        for (avoid_multiple_fast_retransmits, again) in [
            (AvoidMultipleFastRetransmits::Always, false),
            (AvoidMultipleFastRetransmits::AfterTimeout, false),
            (AvoidMultipleFastRetransmits::Never, true),
        ] {
            let mut parameters = parameters(LossRecovery::Newreno);
            parameters.recovery.avoid_multiple_fast_retransmits = avoid_multiple_fast_retransmits;
            let mut recovery = Recovery::new(&parameters);
            recovery.restart(30);
            let reacts = (0..3).any(|_| recovery.on_duplicate(20, 20 * MSS, MSS));
            assert_eq!(reacts, again);
            recovery.on_new(&parameters, 31, 11 * MSS, MSS);
            assert!((0..3).any(|_| recovery.on_duplicate(31, 20 * MSS, MSS)));
        }
    }

    #[test]
    fn a_second_timeout_of_one_segment_is_known_as_such() {
        let mut recovery = Recovery::new(&parameters(LossRecovery::Sack));
        assert!(!recovery.note_timeout(3));
        assert!(recovery.note_timeout(3));
        assert!(!recovery.note_timeout(4));
    }
}
