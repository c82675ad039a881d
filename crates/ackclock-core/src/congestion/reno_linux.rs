//! Growth of Reno as in Linux, in whole segments (`tcp_reno_cong_avoid`), and its reductions.

use super::segments::SegmentWindow;
use super::{
    Ack, Congestion, CongestionControl, CongestionKind, ControlContext, ControlState, Event,
    MarkReport, Needs, Resumption,
};
use ackclock_spec::units::{Bytes, Time};
use std::fmt::Debug;

/// The share of a window that a reduction leaves.
pub(super) trait SegmentDecrease: Debug + Send {
    /// Returns ssthresh after a loss or a mark, in segments, before its floor.
    fn kept(&self, kind: CongestionKind, cwnd: u64) -> u64;
    /// Returns what it asks for.
    fn needs(&self) -> Needs {
        Needs::default()
    }
    /// Reports the marks of newly delivered data ([`Needs::marks`]), for the window that counts it.
    fn on_mark_report(&mut self, report: &MarkReport, window: &SegmentWindow) {
        let _ = (report, window);
    }
}

/// Constant shares (`tcp_reno_ssthresh`). The kernel has 1/2 for both.
#[derive(Debug)]
pub(super) struct Shares {
    pub after_loss: f64,
    pub after_mark: f64,
}

impl SegmentDecrease for Shares {
    fn kept(&self, kind: CongestionKind, cwnd: u64) -> u64 {
        let share = match kind {
            CongestionKind::Mark => self.after_mark,
            _ => self.after_loss,
        };
        (cwnd as f64 * share) as u64
    }
}

/// The control. The kernel has α = 1.
#[derive(Debug)]
pub(super) struct RenoLinux<D> {
    alpha: f64,
    decrease: D,
    window: SegmentWindow,
}

impl<D> RenoLinux<D> {
    pub fn new(context: &ControlContext<'_>, alpha: f64, decrease: D) -> Self {
        RenoLinux {
            alpha,
            decrease,
            window: SegmentWindow::new(context),
        }
    }
}

impl<D: SegmentDecrease> CongestionControl for RenoLinux<D> {
    fn needs(&self) -> Needs {
        self.decrease.needs()
    }

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
        self.window
            .react(congestion, |cwnd| self.decrease.kept(congestion.kind, cwnd));
    }

    fn on_event(&mut self, _: Time, event: &Event) {
        match event {
            Event::Marks(report) => self.decrease.on_mark_report(report, &self.window),
            Event::IdleRestart { limit } => self.window.restart(*limit),
            _ => {}
        }
    }

    fn cwnd(&self) -> Bytes {
        self.window.bytes()
    }

    fn resume(&mut self, step: Resumption) {
        self.window.resume(step);
    }

    fn state(&self) -> ControlState {
        ControlState::of_phase(self.window.in_slow_start(), self.window.ssthresh())
    }
}
