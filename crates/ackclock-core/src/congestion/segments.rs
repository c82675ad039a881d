//! The congestion window of Linux: whole segments, in integers (`tcp_cong.c` of 6.18).

use super::{Congestion, CongestionKind, ControlContext, Resumption};
use ackclock_spec::units::Bytes;

/// Smallest ssthresh, in segments.
const LEAST_SSTHRESH: u64 = 2;

/// Largest window, in segments: sums and products of a few windows still fit in 64 bits.
const LARGEST: u64 = 1 << 30;

/// cwnd and ssthresh, in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentWindow {
    cwnd: u64,
    ssthresh: u64,
    /// Segments delivered since the window last grew (`snd_cwnd_cnt`).
    counted: u64,
    /// cwnd and ssthresh before the last reduction for a loss (`prior_cwnd`, `prior_ssthresh`).
    prior: Option<(u64, u64)>,
    mss: u64,
}

impl SegmentWindow {
    pub fn new(context: &ControlContext<'_>) -> Self {
        let mss = context.mss.0.max(1);
        SegmentWindow {
            cwnd: (context.initial_window.0 / mss).clamp(1, LARGEST),
            ssthresh: context
                .initial_ssthresh
                .map_or(u64::MAX, |bytes| bytes.0 / mss),
            counted: 0,
            prior: None,
            mss,
        }
    }

    /// cwnd, in segments.
    pub const fn cwnd(&self) -> u64 {
        self.cwnd
    }
    /// Returns cwnd in bytes.
    pub const fn bytes(&self) -> Bytes {
        Bytes(self.cwnd * self.mss)
    }
    /// Returns ssthresh in bytes; `None` before it is set.
    pub fn ssthresh(&self) -> Option<Bytes> {
        (self.ssthresh != u64::MAX).then(|| Bytes(self.ssthresh.saturating_mul(self.mss)))
    }
    /// True if cwnd is below ssthresh.
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
    /// Returns a number of bytes in segments, rounded up, at most the largest window.
    pub fn segments(&self, bytes: Bytes) -> u64 {
        bytes.0.div_ceil(self.mss).min(LARGEST)
    }
    /// Returns a number of bytes in whole segments.
    pub const fn whole_segments(&self, bytes: Bytes) -> u64 {
        bytes.0 / self.mss
    }
    /// True if ssthresh is above a window of `cwnd` segments.
    pub const fn is_above(&self, cwnd: u64) -> bool {
        cwnd < self.ssthresh
    }
    /// Ends slow start: ssthresh becomes the window in use, and cwnd is no larger.
    pub fn end_slow_start(&mut self, cwnd: u64) {
        self.ssthresh = cwnd;
        self.cwnd = self.cwnd.min(cwnd);
    }

    /// Opens cwnd in slow start by the delivered segments, at most to ssthresh. Returns the rest
    /// (`tcp_slow_start`).
    pub fn grow_in_slow_start(&mut self, delivered: u64) -> u64 {
        if !self.in_slow_start() {
            return delivered;
        }
        let cwnd = (self.cwnd + delivered).min(self.ssthresh).min(LARGEST);
        let used = cwnd - self.cwnd;
        self.cwnd = cwnd;
        delivered - used
    }

    /// Opens cwnd by a segment for each `every` delivered ones (`tcp_cong_avoid_ai`).
    pub fn grow(&mut self, every: u64, delivered: u64) {
        let every = every.max(1);
        if self.counted >= every {
            self.counted = 0;
            self.cwnd += 1;
        }
        self.counted += delivered;
        if self.counted >= every {
            self.cwnd += self.counted / every;
            self.counted %= every;
        }
        self.cwnd = self.cwnd.min(LARGEST);
    }

    /// Reacts to congestion; `kept` is ssthresh after a reduction, in segments.
    pub fn react(&mut self, congestion: &Congestion, kept: impl FnOnce(u64) -> u64) {
        let reduces = congestion.kind != CongestionKind::RepeatedTimeout;
        match congestion.kind {
            CongestionKind::SpuriousLoss => {
                if let Some((cwnd, ssthresh)) = self.prior.take() {
                    self.cwnd = self.cwnd.max(cwnd);
                    self.ssthresh = self.ssthresh.max(ssthresh);
                }
                return;
            }
            CongestionKind::Mark => self.prior = None, // a mark is never spurious
            CongestionKind::RepeatedTimeout => {}
            CongestionKind::Loss | CongestionKind::Timeout => {
                self.prior = Some((self.cwnd, self.remembered()));
            }
        }
        if reduces {
            self.ssthresh = kept(self.cwnd).max(LEAST_SSTHRESH);
        }
        self.counted = 0;
        self.cwnd = match congestion.kind {
            CongestionKind::Timeout | CongestionKind::RepeatedTimeout => {
                (congestion.loss_window.0 / self.mss).clamp(1, LARGEST)
            }
            _ => self.cwnd.min(self.ssthresh),
        };
    }

    /// Takes a step of a resumption, in whole segments.
    pub fn resume(&mut self, step: Resumption) {
        let segments = |bytes: Bytes| (bytes.0 / self.mss).clamp(1, LARGEST);
        match step {
            Resumption::Window(cwnd) => self.cwnd = segments(cwnd),
            Resumption::Retreat(cwnd) => {
                self.cwnd = segments(cwnd);
                self.ssthresh = self.cwnd.max(LEAST_SSTHRESH);
                (self.counted, self.prior) = (0, None);
            }
            Resumption::Threshold(ssthresh) => {
                self.ssthresh = segments(ssthresh).max(LEAST_SSTHRESH);
            }
        }
    }

    /// Returns the ssthresh that an idle time or an undo leaves: at least three quarters of cwnd
    /// (`tcp_current_ssthresh`).
    fn remembered(&self) -> u64 {
        self.ssthresh.max(self.cwnd / 2 + self.cwnd / 4)
    }

    /// Lowers cwnd to `limit`, at least one segment, after an idle time. It grows back in slow
    /// start: ssthresh remembers the window, and the count of delivered segments goes on
    /// (`tcp_cwnd_restart`).
    pub fn restart(&mut self, limit: Bytes) {
        self.ssthresh = self.remembered();
        self.cwnd = self.cwnd.min(limit.0 / self.mss).max(1);
    }
}
