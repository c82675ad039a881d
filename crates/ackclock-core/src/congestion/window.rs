//! The congestion window of RFC 5681: cwnd and ssthresh, in fractional bytes.

use super::{Congestion, CongestionKind, ControlContext, Resumption};
use ackclock_spec::units::Bytes;

/// cwnd and ssthresh of a loss-based control. cwnd is at least one segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    cwnd: f64,
    ssthresh: f64,
    mss: f64,
    /// True if a reduction cuts ssthresh to whole segments.
    ssthresh_in_whole_segments: bool,
}

/// Largest window, one exbibyte: sums of a few windows still fit in 64 bits.
const LARGEST: f64 = (1_u64 << 60) as f64;

/// Smallest ssthresh, in segments (RFC 5681 equation 4).
const SSTHRESH_FLOOR: f64 = 2.0;

impl Window {
    pub fn new(context: &ControlContext<'_>) -> Self {
        let mss = context.mss.as_f64().max(1.0);
        Window {
            cwnd: context.initial_window.as_f64().clamp(mss, LARGEST.max(mss)),
            ssthresh: context
                .initial_ssthresh
                .map_or(f64::INFINITY, Bytes::as_f64),
            mss,
            ssthresh_in_whole_segments: context.ssthresh_in_whole_segments,
        }
    }

    /// cwnd, in bytes.
    pub fn cwnd(&self) -> f64 {
        self.cwnd
    }
    /// A full segment, in bytes.
    pub fn mss(&self) -> f64 {
        self.mss
    }
    /// Returns cwnd for [`CongestionControl::cwnd`](super::CongestionControl::cwnd).
    pub fn bytes(&self) -> Bytes {
        Bytes(self.cwnd as i64 as u64) // within LARGEST; a signed conversion is one instruction
    }
    /// Returns ssthresh for [`ControlState::ssthresh`](super::ControlState::ssthresh).
    pub fn ssthresh(&self) -> Option<Bytes> {
        self.ssthresh
            .is_finite()
            .then_some(Bytes(self.ssthresh as u64))
    }
    /// True if cwnd is below ssthresh. RFC 5681 section 3.1 leaves the choice when they are equal;
    /// here that is congestion avoidance, so that a reduction starts it.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Opens cwnd by `bytes`.
    pub fn grow(&mut self, bytes: f64) {
        self.cwnd = (self.cwnd + bytes).min(LARGEST).max(self.mss);
    }
    /// Raises cwnd to `cwnd`. Never lowers it.
    pub fn raise(&mut self, cwnd: f64) {
        self.cwnd = self.cwnd.max(cwnd).min(LARGEST).max(self.mss);
    }
    /// Opens cwnd in slow start by `credit`/`divisor`, at most to ssthresh. Returns the unused
    /// credit.
    pub fn grow_in_slow_start(&mut self, credit: f64, divisor: f64) -> f64 {
        let used = credit.min((self.ssthresh - self.cwnd) * divisor).max(0.0);
        self.grow(used / divisor);
        if used < credit {
            self.raise(self.ssthresh); // exactly, whatever the rounding
        }
        credit - used
    }
    /// Sets cwnd, at least one segment.
    pub fn set_cwnd(&mut self, cwnd: f64) {
        self.cwnd = cwnd.clamp(self.mss, LARGEST.max(self.mss));
    }
    /// Ends slow start: ssthresh becomes cwnd.
    pub fn end_slow_start(&mut self) {
        self.ssthresh = self.cwnd;
    }

    /// Reacts to congestion; `kept` is ssthresh after a reduction, in bytes. `undo` holds the
    /// window before the last reduction that may turn out to be unnecessary. Returns false if that
    /// was undone.
    pub fn react(
        &mut self,
        congestion: &Congestion,
        undo: &mut Option<Window>,
        kept: impl FnOnce() -> f64,
    ) -> bool {
        let before = *self;
        match congestion.kind {
            CongestionKind::Loss => self.reduce_after_loss(kept()),
            CongestionKind::Mark => self.reduce_after_mark(kept()),
            CongestionKind::Timeout => self.reduce_after_timeout(kept(), congestion.loss_window),
            CongestionKind::RepeatedTimeout => self.restart(congestion.loss_window),
            CongestionKind::SpuriousLoss => {
                // RFC 4015 section 3.2: restore the earlier window, unless the present one has
                // outgrown it.
                if let Some(undo) = undo.take().filter(|undo| undo.cwnd > self.cwnd) {
                    *self = undo;
                }
                return false;
            }
        }
        match congestion.kind {
            CongestionKind::Mark => *undo = None, // a mark is never spurious
            CongestionKind::RepeatedTimeout => {}
            _ => *undo = Some(before),
        }
        true
    }

    /// Reduces after a loss: ssthresh becomes `kept`, at least two segments, and cwnd at most that
    /// (RFC 5681 equation 4).
    pub fn reduce_after_loss(&mut self, kept: f64) {
        let ssthresh = self.set_threshold(kept);
        self.lower(ssthresh);
    }

    /// Reduces after an ECN mark: as after a loss, but cwnd may fall to one segment (RFC 3168
    /// section 6.1.2, RFC 9438 section 4.6).
    pub fn reduce_after_mark(&mut self, kept: f64) {
        self.set_threshold(kept);
        self.lower(kept);
    }

    /// Reduces after a timeout: ssthresh as after a loss, cwnd to the loss window (RFC 5681 section
    /// 3.1).
    pub fn reduce_after_timeout(&mut self, kept: f64, loss_window: Bytes) {
        self.set_threshold(kept);
        self.restart(loss_window);
    }

    /// Sets ssthresh to `kept`, at least two segments, and raises or lowers cwnd to it.
    pub fn set(&mut self, kept: f64) {
        let ssthresh = self.set_threshold(kept);
        self.cwnd = ssthresh.clamp(self.mss, LARGEST.max(self.mss));
    }

    /// Takes a step of a resumption.
    pub fn resume(&mut self, step: Resumption) {
        match step {
            Resumption::Window(cwnd) => self.set_cwnd(cwnd.as_f64()),
            Resumption::Retreat(cwnd) => self.set(cwnd.as_f64()),
            Resumption::Threshold(ssthresh) => {
                self.set_threshold(ssthresh.as_f64());
            }
        }
    }

    /// Reduces after a repeated timeout of the same segment: cwnd to the loss window, ssthresh kept
    /// (RFC 5681 section 3.1).
    pub fn restart(&mut self, loss_window: Bytes) {
        self.cwnd = loss_window.as_f64().max(self.mss);
    }
    /// Lowers cwnd to `limit`, at least one segment. Never raises it.
    pub fn lower(&mut self, limit: f64) {
        self.cwnd = self.cwnd.min(limit).max(self.mss);
    }

    /// Sets ssthresh. Returns its value before it is cut to whole segments.
    fn set_threshold(&mut self, kept: f64) -> f64 {
        let kept = kept.max(SSTHRESH_FLOOR * self.mss);
        self.ssthresh = if self.ssthresh_in_whole_segments {
            libm::floor(kept / self.mss) * self.mss
        } else {
            kept
        };
        kept
    }
}
