//! Reno as in Linux (`tcp_reno_cong_avoid`, `tcp_reno_ssthresh`): whole segments.

use super::segments::SegmentWindow;
use super::{Ack, Congestion, CongestionControl, CongestionKind, ControlContext, ControlState};
use crate::units::{Bytes, Time};

/// The control. The kernel has α = 1 and β = 1/2.
#[derive(Debug)]
pub(super) struct RenoLinux {
    alpha: f64,
    /// β after a loss, and after a mark.
    beta: (f64, f64),
    window: SegmentWindow,
}

impl RenoLinux {
    pub fn new(context: &ControlContext<'_>, alpha: f64, beta: (f64, f64)) -> Self {
        RenoLinux {
            alpha,
            beta,
            window: SegmentWindow::new(context),
        }
    }
}

impl CongestionControl for RenoLinux {
    #[inline]
    fn on_ack(&mut self, _: Time, ack: &Ack) {
        if ack.credit == Bytes::ZERO {
            return;
        }
        let delivered = self.window.segments(ack.credit);
        let rest = self.window.grow_in_slow_start(delivered);
        if rest > 0 {
            let every = self.window.cwnd() as f64 / self.alpha;
            self.window.grow(every as u64, rest);
        }
    }

    fn on_congestion(&mut self, _: Time, congestion: &Congestion) {
        let beta = match congestion.kind {
            CongestionKind::Mark => self.beta.1,
            _ => self.beta.0,
        };
        self.window
            .react(congestion, |cwnd| (cwnd as f64 * beta) as u64);
    }

    fn on_idle_restart(&mut self, _: Time, limit: Bytes) {
        self.window.lower(limit);
    }

    fn cwnd(&self) -> Bytes {
        self.window.bytes()
    }

    fn wants_sent(&self) -> bool {
        false
    }

    fn state(&self) -> ControlState {
        ControlState {
            ssthresh: self.window.ssthresh(),
            mode: if self.window.in_slow_start() {
                "slow_start"
            } else {
                "congestion_avoidance"
            },
            rate_estimate: None,
        }
    }
}
