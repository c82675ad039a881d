//! Controls that open the window as Reno does: slow start, then α segments per round trip. They
//! differ in the window that they keep after a loss, and some have an α that depends on the window.

use super::rapid_start::RapidStart;
use super::slow_start::{SlowStart, SlowStartExit, Slower};
use super::window::Window;
use super::{
    Ack, Congestion, CongestionControl, CongestionKind, ControlContext, ControlState, Event,
    MarkReport, Needs, Pace, Resumption,
};
use ackclock_spec::units::{BitRate, Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// The moment at which congestion avoidance opens the congestion window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    /// At each ACK, by α MSS/cwnd of the acknowledged data: slightly less than α segments per round
    /// trip (RFC 5681 equation 3).
    #[default]
    PerAck,
    /// By α segments once a whole window has been acknowledged (recommended by RFC 5681; Linux's
    /// `snd_cwnd_cnt`).
    PerWindow,
}

/// Growth of the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct AdditiveGrowth {
    /// α: segments per round trip.
    pub alpha: f64,
    /// Per ACK or per window.
    pub growth: Growth,
    /// The sign that ends the first slow start before a loss.
    pub slow_start_exit: SlowStartExit,
}

/// Decrease of the window, and its growth if α is not constant.
pub(super) trait Decrease: Debug + Send {
    /// Reports an ACK, before it opens the window. `cwnd` is in bytes.
    #[inline(always)]
    fn on_ack(&mut self, now: Time, ack: &Ack, cwnd: Bytes) {
        let _ = (now, ack, cwnd);
    }
    /// Returns what it asks for.
    fn needs(&self) -> Needs {
        Needs::default()
    }
    /// Reports the marks of newly delivered data ([`Needs::marks`]).
    fn on_mark_report(&mut self, report: &MarkReport) {
        let _ = report;
    }
    /// Returns the growth of a window of `cwnd` bytes, in segments per round trip. `alpha` is
    /// [`AdditiveGrowth::alpha`].
    #[inline(always)]
    fn alpha(&mut self, alpha: f64, cwnd: f64) -> f64 {
        let _ = cwnd;
        alpha
    }
    /// Returns ssthresh in bytes after a loss, a mark or a first timeout. The caller keeps at least
    /// two segments.
    fn kept(&mut self, now: Time, congestion: &Congestion) -> f64;
    /// Returns the window to set at the end of fast recovery, in bytes; it may be larger or
    /// smaller. `None` leaves the window unchanged.
    fn at_recovery_end(&mut self) -> Option<f64> {
        None
    }
    /// Returns the rate that determines the decrease, in bytes per second.
    fn rate_estimate(&self) -> Option<f64> {
        None
    }
}

/// A control with additive increase and the decrease `R`.
#[derive(Debug)]
pub(super) struct AdditiveIncrease<R> {
    alpha: f64,
    decrease: R,
    window: Window,
    slow_start: SlowStart,
    /// Bytes acknowledged of the present window, if growth is per window.
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
            slow_start: SlowStart::new(growth.slow_start_exit, context),
            counted: (growth.growth == Growth::PerWindow).then_some(0.0),
            undo: None,
        }
    }

    /// Makes the first slow start rapid, if there are parameters for it.
    pub fn starting(
        mut self,
        rapid: Option<RapidStart>,
        exit: SlowStartExit,
        context: &ControlContext<'_>,
    ) -> Self {
        if rapid.is_some() {
            self.slow_start = SlowStart::rapid(rapid, exit, context);
        }
        self
    }

    /// Slows the first slow start down from some window on; nothing then ends it early.
    pub fn slowing(mut self, slower: Option<Slower>) -> Self {
        if let Some(slower) = slower {
            self.slow_start = SlowStart::slowing(slower);
        }
        self
    }

    /// Opens the window below ssthresh. Credit that slow start leaves is for congestion avoidance.
    #[inline(never)] // keeps its registers out of congestion avoidance, where most ACKs come
    fn on_ack_in_slow_start(&mut self, now: Time, ack: &Ack) {
        let credit = self.slow_start.grow(&mut self.window, now, ack);
        self.avoid_congestion(credit);
    }

    /// Opens the window by α segments per window of acknowledged data; `credit` is in bytes.
    #[inline(always)]
    fn avoid_congestion(&mut self, credit: f64) {
        if credit > 0.0 {
            match self.counted {
                // RFC 5681 equation 3, times α: cwnd += α SMSS SMSS/cwnd for a credit of one
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

    /// Growth per window (RFC 5681 section 3.1): a fully acknowledged window opens by one segment,
    /// here by α. A window is the number of whole segments in cwnd, since a round sends no more.
    /// Data acknowledged beyond it counts towards the next window, but one ACK never opens the
    /// window twice.
    fn grow_per_window(&mut self, mut counted: f64) {
        let mss = self.window.mss();
        // Below this threshold the window cannot be complete, so the division is skipped.
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

    /// Lets a rapid start handle congestion. Returns false if it is to be handled as usual.
    #[inline(never)] // only with a rapid start, at congestion
    fn converge(&mut self, now: Time, congestion: &Congestion) -> bool {
        let before = self.window;
        let converged = self.slow_start.converges();
        let beta = self.decrease.kept(now, congestion) / congestion.base.as_f64().max(1.0);
        let converges = self
            .slow_start
            .converge(&mut self.window, now, congestion, beta);
        if converges && !converged {
            self.undo = (congestion.kind == CongestionKind::Loss).then_some(before);
        }
        if congestion.kind == CongestionKind::SpuriousLoss {
            self.slow_start.end();
        }
        converges
    }

    /// Starts to count a new window after a reduction.
    fn count_anew(&mut self) {
        self.counted = self.counted.map(|_| 0.0);
    }
}

impl<R: Decrease> CongestionControl for AdditiveIncrease<R> {
    fn needs(&self) -> Needs {
        let needs = self.decrease.needs();
        Needs {
            paces: needs.paces || self.slow_start.is_rapid(),
            ..needs
        }
    }

    #[inline]
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.decrease.on_ack(now, ack, self.window.bytes());
        if self.window.in_slow_start() {
            self.on_ack_in_slow_start(now, ack);
        } else {
            self.avoid_congestion(ack.credit.as_f64());
        }
    }

    fn on_congestion(&mut self, now: Time, congestion: &Congestion) {
        if self.slow_start.is_rapid() && self.converge(now, congestion) {
            return;
        }
        let kept = || self.decrease.kept(now, congestion);
        if self.window.react(congestion, &mut self.undo, kept) {
            self.slow_start.end();
            self.count_anew();
        }
    }

    fn on_event(&mut self, _: Time, event: &Event) {
        match event {
            Event::Marks(report) => self.decrease.on_mark_report(report),
            Event::RecoveryEnd if self.slow_start.end_convergence(&mut self.window) => {}
            Event::Open { rtt } => self.slow_start.open(*rtt),
            Event::RecoveryEnd => {
                if let Some(kept) = self.decrease.at_recovery_end() {
                    self.window.set(kept);
                    self.count_anew();
                }
            }
            Event::IdleRestart { limit } if *limit < self.window.bytes() => {
                self.window.lower(limit.as_f64());
                self.count_anew();
            }
            _ => {}
        }
    }

    fn cwnd(&self) -> Bytes {
        self.window.bytes()
    }

    fn pace(&self) -> Pace {
        Pace {
            rate: self.slow_start.pace(&self.window),
            burst: None,
        }
    }

    fn holds_in_recovery(&self) -> bool {
        self.slow_start.converges()
    }

    fn resume(&mut self, step: Resumption) {
        self.window.resume(step);
        if let Resumption::Retreat(_) = step {
            self.slow_start.end();
            self.undo = None;
        }
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
