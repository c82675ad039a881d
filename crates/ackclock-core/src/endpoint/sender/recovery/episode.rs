//! The phase of recovery, and the congestion window while it lasts.
//!
//! The inflation of the window by duplicate ACKs is kept here and added to the congestion control's
//! window, so that controls need not know of it. At the end of a recovery it is removed, and the
//! control's own window holds. This is RFC 6582 section 3.2 step 3 option 2 (cwnd = ssthresh), as
//! in ns-2. It allows bursts, which `max_burst` can limit.

use super::prr::{Prr, PrrAck};
use crate::congestion::RecoveryPhase;

/// The phase of recovery and its window.
#[derive(Debug)]
pub(in super::super) struct Episode {
    phase: RecoveryPhase,
    /// First segment not yet sent when the last recovery or timeout began (`recover` of RFC 6582
    /// and RecoveryPoint of RFC 6675, plus one); zero before the first.
    point: u64,
    /// True if the first unacknowledged segment is to be retransmitted at once, regardless of the
    /// window.
    pub resend_first: bool,
    /// Bytes that duplicate and partial ACKs, or a proportional reduction, have added to the
    /// control's window; may be negative.
    pub inflation: i64,
    /// Proportional reduction in progress.
    prr: Option<Prr>,
}

impl Default for Episode {
    fn default() -> Self {
        Episode {
            phase: RecoveryPhase::Open,
            point: 0,
            resend_first: false,
            inflation: 0,
            prr: None,
        }
    }
}

impl Episode {
    pub const fn phase(&self) -> RecoveryPhase {
        self.phase
    }
    /// Returns the first segment not sent yet when the last recovery, reduction or timeout began.
    pub const fn point(&self) -> u64 {
        self.point
    }
    /// Moves that point to `next`.
    pub fn move_point(&mut self, next: u64) {
        self.point = next;
    }
    /// True if `first` is the first segment after all that were sent when the episode began.
    pub const fn is_over(&self, first: u64) -> bool {
        first >= self.point
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

    /// Begins a phase; `next` is the first segment not sent yet.
    pub fn begin(&mut self, phase: RecoveryPhase, next: u64) {
        self.phase = phase;
        self.point = next;
    }

    /// Enters fast recovery but keeps the point of a reduction in progress.
    pub fn enter_recovery(&mut self) {
        self.phase = RecoveryPhase::Recovery;
    }

    /// Returns to the open phase. Keeps `point`, which prevents a second reaction to the same
    /// window.
    pub fn end(&mut self) {
        self.phase = RecoveryPhase::Open;
        self.prr = None;
        self.inflation = 0;
        self.resend_first = false;
    }

    /// Begins a proportional reduction with that base, in segments. The window is the control's
    /// until the next [`Episode::reduce_in_proportion`].
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

    /// Records a sent segment.
    pub fn on_sent(&mut self) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent();
        }
    }
}
