//! Controls that open the window as Reno does: slow start, then α segments per round trip. They
//! differ in what they keep of the window at a loss, and some in an α that depends on the window.

use super::slow_start::SlowStart;
use super::window::Window;
use super::{Ack, Congestion, CongestionControl, CongestionKind, ControlContext, ControlState};
use crate::units::{BitRate, Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// When congestion avoidance opens the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    /// At each ACK, by α MSS/cwnd of what it counts: a little less than α segments in a round trip
    /// (RFC 5681 equation 3).
    #[default]
    PerAck,
    /// By α segments whenever a whole window has been acknowledged (what RFC 5681 recommends;
    /// Linux's `snd_cwnd_cnt`).
    PerWindow,
}

/// How the window opens.
#[derive(Clone, Copy, Debug)]
pub(super) struct AdditiveGrowth {
    /// Segments per round trip.
    pub alpha: f64,
    /// When.
    pub growth: Growth,
    /// Whether the first slow start ends when the round-trip time grows (HyStart++, RFC 9406).
    pub hystart: bool,
}

/// How the window falls, and how it opens where that is not the same always.
pub(super) trait Decrease: Debug + Send {
    /// An ACK has arrived, before the window opens by it. `cwnd` in bytes.
    #[inline(always)]
    fn on_ack(&mut self, now: Time, ack: &Ack, cwnd: Bytes) {
        let _ = (now, ack, cwnd);
    }
    /// By how many segments a round trip opens a window of `cwnd` bytes; `alpha` is that of
    /// [`AdditiveGrowth`].
    #[inline(always)]
    fn alpha(&mut self, alpha: f64, cwnd: f64) -> f64 {
        let _ = cwnd;
        alpha
    }
    /// At a loss, a mark or a first timeout: ssthresh, in bytes. Two segments are kept anyway.
    fn kept(&mut self, now: Time, congestion: &Congestion) -> f64;
    /// At the end of fast recovery: what the window is set to, in bytes, larger or smaller. `None`
    /// leaves it alone.
    fn at_recovery_end(&mut self) -> Option<f64> {
        None
    }
    /// Rate that the decrease would come from, in bytes per second.
    fn rate_estimate(&self) -> Option<f64> {
        None
    }
}

/// Such a control.
#[derive(Debug)]
pub(super) struct AdditiveIncrease<R> {
    alpha: f64,
    decrease: R,
    window: Window,
    slow_start: SlowStart,
    /// For growth per window: what has been acknowledged of the present one, in bytes.
    counted: Option<f64>,
    /// The window before the last reduction for a loss.
    undo: Option<Window>,
}

impl<R: Decrease> AdditiveIncrease<R> {
    pub fn new(context: &ControlContext<'_>, growth: AdditiveGrowth, decrease: R) -> Self {
        AdditiveIncrease {
            alpha: growth.alpha,
            decrease,
            window: Window::new(context),
            slow_start: SlowStart::new(growth.hystart),
            counted: (growth.growth == Growth::PerWindow).then_some(0.0),
            undo: None,
        }
    }

    /// RFC 5681 section 3.1: once a window has been acknowledged, it opens by a segment; here by α.
    /// A window is the whole segments that cwnd holds, since no more than them is sent in a round.
    /// What was acknowledged beyond it counts for the next one, but an ACK never opens the window
    /// twice.
    fn grow_per_window(&mut self, mut counted: f64) {
        let mss = self.window.mss();
        // With less than that there is nothing to divide.
        if counted > self.window.cwnd() - mss {
            let whole = libm::floor(self.window.cwnd() / mss) * mss;
            if counted >= whole {
                let alpha = self.decrease.alpha(self.alpha, self.window.cwnd());
                self.window.grow(alpha * mss);
                counted = (counted - whole) % whole;
            }
        }
        self.counted = Some(counted);
    }

    /// The window has been lowered: a new one begins to be counted.
    fn count_anew(&mut self) {
        self.counted = self.counted.map(|_| 0.0);
    }
}

impl<R: Decrease> CongestionControl for AdditiveIncrease<R> {
    #[inline]
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.decrease.on_ack(now, ack, self.window.bytes());
        let credit = self.slow_start.grow(&mut self.window, ack);
        if credit > 0.0 {
            match self.counted {
                // RFC 5681 equation 3, and α of it: cwnd += α SMSS SMSS/cwnd for a credit of one
                // segment.
                None => {
                    let cwnd = self.window.cwnd();
                    let alpha = self.decrease.alpha(self.alpha, cwnd);
                    self.window.grow(alpha * self.window.mss() * credit / cwnd);
                }
                Some(counted) => self.grow_per_window(counted + credit),
            }
        }
    }

    fn on_congestion(&mut self, now: Time, congestion: &Congestion) {
        let before = self.window;
        match congestion.kind {
            CongestionKind::Loss => self
                .window
                .reduce_after_loss(self.decrease.kept(now, congestion)),
            CongestionKind::Mark => self
                .window
                .reduce_after_mark(self.decrease.kept(now, congestion)),
            CongestionKind::Timeout => self
                .window
                .reduce_after_timeout(self.decrease.kept(now, congestion)),
            CongestionKind::RepeatedTimeout => self.window.restart(),
            CongestionKind::SpuriousLoss => {
                // RFC 4015 section 3.2: back to what it was, unless it has grown beyond that since.
                if let Some(undo) = self.undo.take().filter(|undo| undo.cwnd() > before.cwnd()) {
                    self.window = undo;
                }
                return;
            }
        }
        self.slow_start.end();
        self.count_anew();
        match congestion.kind {
            CongestionKind::Mark => self.undo = None, // a mark is no mistake
            CongestionKind::RepeatedTimeout => {}
            _ => self.undo = Some(before),
        }
    }

    fn on_recovery_end(&mut self, _now: Time) {
        if let Some(kept) = self.decrease.at_recovery_end() {
            self.window.set(kept);
            self.count_anew();
        }
    }

    fn on_idle_restart(&mut self, _now: Time, limit: Bytes) {
        self.window.lower(limit.as_f64());
        self.count_anew();
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
                self.slow_start.mode()
            } else {
                "congestion_avoidance"
            },
            rate_estimate: self
                .decrease
                .rate_estimate()
                .map(|rate| BitRate::from_bit_per_s((8.0 * rate) as u64)),
        }
    }
}
