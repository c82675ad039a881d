//! CUBIC (RFC 9438).

use super::cubic_linux::{CubicLinux, LONGEST_TICK, USUAL_TICK};
use super::facts::{ControlFacts, GrowthLaw, KeptShare, LinuxControl};
use super::rapid_start::{GROWTH, RapidStart};
use super::slow_start::{SlowStart, SlowStartExit};
use super::window::Window;
use super::{
    Ack, Congestion, CongestionControl, CongestionKind, ControlContext, ControlKind, ControlState,
    Event, Needs, Pace, Resumption, SendLimit,
};
use crate::endpoint::parameters::Arithmetic;
use ackclock_spec::prelude::*;

parameters! {
    /// Parameters.
    pub struct Cubic {
        /// C: steepness of the window growth, in segments per cubic second. Larger than 0.
        pub c: f64 = 0.4,
        /// β: factor by which the congestion window is multiplied after a loss. Between 0 and 1.
        pub beta: f64 = 0.7,
        /// β after an ECN mark; absent: that after a loss. Between 0 and 1. RFC 8511 (ABE) has
        /// 0.85, for queues that mark early.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub beta_after_mark: Option<f64> = None,
        /// True if a flow with a loss below its last maximum lowers the maximum further, to make
        /// room for others.
        pub fast_convergence: bool = true,
        /// True if the Reno-friendly window grows as fast as Reno's once it reaches the window
        /// before the last loss (RFC 9438). Otherwise its slower growth continues (RFC 8312,
        /// Linux). The default is true with exact arithmetic, and false with that of Linux, which
        /// has no other.
        pub friendly_speedup: Option<bool> = None,
        /// The sign that ends the first slow start before a loss. The default is `"none"` with
        /// exact arithmetic, and `"hystart"` with that of Linux, which has no HyStart++.
        pub slow_start_exit: Option<SlowStartExit> = None,
        /// Rapid Start in the place of the first slow start; absent: none. Needs exact arithmetic
        /// and `slow_start_exit` `"none"` or `"hystart++"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub rapid_start: Option<RapidStart> = None,
        /// Tick of the kernel's clock, with the arithmetic of Linux: 4 ms if the kernel was built
        /// with `CONFIG_HZ=250`, the default there and here, and 1 ms with 1000. At most 30 ms.
        pub tick: Option<Span> = None,
        /// Arithmetic of the window; the default is the transport's.
        pub arithmetic: Arithmetic = Arithmetic::Exact,
    }
}

impl Element<ControlKind> for Cubic {
    const NAME: &'static str = "cubic";
    const LABEL: &'static str = "CUBIC";
    const SUMMARY: &'static str = "Grows the window as a cubic function of the time since the last \
        loss, at least as fast as Reno.";
    const REFERENCE: &'static str = "RFC 9438";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let linux = self.arithmetic == Arithmetic::Linux;
        let speedup = consistent(
            !linux || self.friendly_speedup != Some(true),
            "friendly_speedup",
            &self.friendly_speedup,
            &["arithmetic"],
            "is not in Linux; choose false, or arithmetic = \"exact\"",
        );
        let tick = consistent(
            linux || self.tick.is_none(),
            "tick",
            &self.tick,
            &["arithmetic"],
            "needs arithmetic = \"linux\"; exact time has no ticks",
        );
        let bounded = consistent(
            self.tick
                .is_none_or(|tick| Span::ZERO < tick && tick <= LONGEST_TICK),
            "tick",
            &self.tick,
            &[],
            "must be above 0 and at most 30 ms; for example 4 ms",
        );
        if linux {
            self.tick.get_or_insert(USUAL_TICK);
        }
        self.friendly_speedup.get_or_insert(!linux);
        let exact = [SlowStartExit::HyStartPlusPlus, SlowStartExit::SearchDrain];
        let exit = consistent(
            !linux
                || self
                    .slow_start_exit
                    .is_none_or(|exit| !exact.contains(&exit)),
            "slow_start_exit",
            &self.slow_start_exit,
            &["arithmetic"],
            "is not in Linux; choose \"hystart\", or arithmetic = \"exact\"",
        );
        let exit_taken = *self.slow_start_exit.get_or_insert(usual_exit(linux));
        every([
            check_positive("c", self.c, "0.4"),
            check_factor("beta", self.beta, "0.7"),
            self.beta_after_mark
                .map_or(Ok(()), |beta| check_factor("beta_after_mark", beta, "0.85")),
            speedup,
            tick,
            bounded,
            exit,
            RapidStart::check(self.rapid_start, exit_taken, linux),
        ])
    }

    fn facts(&self) -> ControlFacts {
        let is_linux = self.arithmetic == Arithmetic::Linux;
        let kernel = Cubic {
            friendly_speedup: Some(!is_linux),
            slow_start_exit: Some(usual_exit(is_linux)),
            tick: self.tick,
            arithmetic: self.arithmetic,
            ..Cubic::default()
        };
        let linux = LinuxControl {
            slow_start_ends_early: Some(true),
            ..LinuxControl::new("cubic", self, &kernel)
        };
        ControlFacts {
            growth: Some(GrowthLaw::Cubic {
                c: Some(self.c),
                reno_friendly_speedup: self.friendly_speedup,
                fast_convergence: Some(self.fast_convergence),
            }),
            kept_after_mark: Some(KeptShare::Constant {
                share: self.after_mark(),
            }),
            slow_start_ends_early: self.slow_start_exit.map(SlowStartExit::is_early),
            early_end: self.slow_start_exit.and_then(SlowStartExit::early_end),
            start_growth: self.rapid_start.map(|_| GROWTH),
            resumes: Some(true),
            linux: Stated::Some(linux),
            ..ControlFacts::loss_based(KeptShare::Constant { share: self.beta })
        }
    }
}

/// Returns what ends slow start early by default.
fn usual_exit(linux: bool) -> SlowStartExit {
    if linux {
        SlowStartExit::HyStart
    } else {
        SlowStartExit::None
    }
}

impl Cubic {
    /// Returns β after a mark.
    pub(super) fn after_mark(&self) -> f64 {
        self.beta_after_mark.unwrap_or(self.beta)
    }
}

impl Factory<ControlKind> for Cubic {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        match self.arithmetic {
            Arithmetic::Exact => Box::new(CubicControl::new(self, &context)),
            Arithmetic::Linux => Box::new(CubicLinux::new(self, &context)),
        }
    }
}

/// The control, with windows in bytes. Symbols of RFC 9438:
///
/// * C, in bytes per cubic second, is `c`; β_cubic is `beta`.
/// * α_cubic is `friendly_alpha` below cwnd_prior and `regained_alpha` from there on.
/// * cwnd_prior is `curve.cwnd_prior`, W_max is `curve.w_max`.
/// * t_epoch is `Epoch::start`, K is `Epoch::k`, W_est is `Epoch::w_est`.
#[derive(Debug)]
struct CubicControl {
    c: f64,
    beta: f64,
    beta_after_mark: f64,
    fast_convergence: bool,
    friendly_alpha: f64,
    regained_alpha: f64,
    window: Window,
    slow_start: SlowStart,
    /// True from the recovery of a rapid start to the first growth after it.
    converged: bool,
    curve: Curve,
    /// Time of the flow's last event. Time that is application-limited or idle after it does not
    /// count.
    last_event: Time,
    /// Window and curve before the last reduction for a loss (section 4.9.2).
    undo: Option<Box<(Window, Curve)>>,
}

#[derive(Clone, Copy, Debug)]
struct Curve {
    /// cwnd before the last reduction, or where slow start ended without one; zero before both.
    cwnd_prior: f64,
    /// cwnd at the last reduction, perhaps lowered by fast convergence. Zero before the first
    /// reduction and after a timeout: the curve then starts on its plateau (sections 4.8 and 4.10).
    w_max: f64,
    /// Congestion avoidance stage: from its first growth to the next congestion or idle restart.
    epoch: Option<Epoch>,
}

impl Curve {
    const NONE: Curve = Curve {
        cwnd_prior: 0.0,
        w_max: 0.0,
        epoch: None,
    };
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Start of the stage, moved forward by the time that must not count.
    start: Time,
    k: f64,
    w_est: f64,
    region: Region,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    RenoFriendly,
    Concave,
    Convex,
}

/// Returns Reno's increase per round trip at which a decrease by `beta` is as fair (section 4.3).
pub(super) const fn reno_friendly_increase(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

/// Returns the maximum to remember at a reduction from `cwnd` (sections 4.6 and 4.7): lower than
/// that if fast convergence is on and the flow did not get back to its last maximum.
pub(super) fn converging_maximum(cwnd: f64, last: f64, beta: f64, fast_convergence: bool) -> f64 {
    if fast_convergence && cwnd < last {
        cwnd * (1.0 + beta) / 2.0
    } else {
        cwnd
    }
}

/// Converts to seconds with a multiplication, since this is the hot path.
fn seconds(span: Span) -> f64 {
    span.as_nanos() as f64 * 1e-9
}

impl CubicControl {
    fn new(parameters: &Cubic, context: &ControlContext<'_>) -> Self {
        let window = Window::new(context);
        let beta = parameters.beta;
        let friendly_alpha = reno_friendly_increase(beta);
        CubicControl {
            c: parameters.c * window.mss(),
            beta,
            beta_after_mark: parameters.after_mark(),
            fast_convergence: parameters.fast_convergence,
            friendly_alpha,
            regained_alpha: if parameters.friendly_speedup.unwrap_or(true) {
                1.0
            } else {
                friendly_alpha
            },
            window,
            slow_start: SlowStart::rapid(
                parameters.rapid_start,
                parameters.slow_start_exit.unwrap_or_default(),
                context,
            ),
            converged: false,
            curve: Curve::NONE,
            last_event: Time::ZERO,
            undo: None,
        }
    }

    /// Excludes the time since the last event from the curve (section 5.8).
    fn exclude_time_until(&mut self, now: Time) {
        if let Some(epoch) = &mut self.curve.epoch {
            epoch.start = epoch.start + now.since(self.last_event);
        }
    }

    /// Starts a congestion avoidance stage (section 4.2 equation 2).
    #[inline(never)]
    fn begin_epoch(&mut self, now: Time) {
        let cwnd = self.window.cwnd();
        let curve = &mut self.curve;
        if self.converged {
            self.converged = false;
            // The window is β times what has arrived.
            curve.cwnd_prior = cwnd / self.beta;
            curve.w_max = 2.0 * curve.cwnd_prior;
        }
        if curve.cwnd_prior == 0.0 {
            curve.cwnd_prior = cwnd; // section 4.10: slow start ended without congestion
        }
        // Sections 4.8 and 4.10: there is no maximum to return to, so K = 0.
        curve.w_max = curve.w_max.max(cwnd);
        curve.epoch = Some(Epoch {
            start: now,
            k: libm::cbrt((curve.w_max - cwnd) / self.c),
            w_est: cwnd,
            region: Region::Concave,
        });
    }

    /// Opens the window in congestion avoidance (sections 4.2 to 4.5), for `credit` acknowledged
    /// bytes.
    #[inline]
    fn grow(&mut self, now: Time, credit: f64, smoothed_rtt: Option<Span>) {
        if self.curve.epoch.is_none() {
            self.begin_epoch(now);
        }
        let Curve {
            cwnd_prior,
            w_max,
            epoch: Some(epoch),
        } = &mut self.curve
        else {
            return;
        };
        let cwnd = self.window.cwnd();
        let share = credit / cwnd; // segments_acked/cwnd
        let alpha = if epoch.w_est >= *cwnd_prior {
            self.regained_alpha
        } else {
            self.friendly_alpha
        };
        epoch.w_est += alpha * self.window.mss() * share;
        // W_cubic(t) = C (t − K)³ + W_max (equation 1).
        let w_cubic = |t_less_k: f64| self.c * (t_less_k * t_less_k * t_less_k) + *w_max;
        let t_less_k = seconds(now.since(epoch.start)) - epoch.k;
        if w_cubic(t_less_k) < epoch.w_est {
            epoch.region = Region::RenoFriendly;
        } else {
            epoch.region = if cwnd < *w_max {
                Region::Concave
            } else {
                Region::Convex
            };
            let rtt = seconds(smoothed_rtt.unwrap_or(Span::ZERO));
            let target = w_cubic(t_less_k + rtt).max(cwnd).min(1.5 * cwnd);
            self.window.grow((target - cwnd) * share);
        }
        // The larger of the two, in each region: an ACK never shrinks the window.
        self.window.raise(epoch.w_est);
    }

    /// Lets a rapid start handle congestion. Returns false if it is to be handled as usual.
    #[inline(never)] // only with a rapid start, at congestion
    fn converge(&mut self, now: Time, congestion: &Congestion) -> bool {
        let before = (self.window, self.curve);
        let converged = self.slow_start.converges();
        let beta = match congestion.kind {
            CongestionKind::Mark => self.beta_after_mark,
            _ => self.beta,
        };
        let converges = self
            .slow_start
            .converge(&mut self.window, now, congestion, beta);
        if converges && !converged {
            let is_loss = congestion.kind == CongestionKind::Loss;
            self.undo = is_loss.then(|| Box::new(before));
            self.converged = true;
        }
        if congestion.kind == CongestionKind::SpuriousLoss {
            self.slow_start.end();
            self.converged = false;
        }
        converges
    }

    /// Records the window at a reduction (sections 4.6 and 4.7).
    fn remember_maximum(&mut self) {
        let cwnd = self.window.cwnd();
        self.curve.cwnd_prior = cwnd;
        self.curve.w_max =
            converging_maximum(cwnd, self.curve.w_max, self.beta, self.fast_convergence);
        self.curve.epoch = None;
    }
}

impl CongestionControl for CubicControl {
    fn needs(&self) -> Needs {
        Needs {
            sent: true,
            paces: self.slow_start.is_rapid(),
            ..Needs::default()
        }
    }

    #[inline]
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        let credit = self.slow_start.grow(&mut self.window, now, ack);
        if credit > 0.0 {
            self.grow(now, credit, ack.smoothed_rtt);
        } else if ack.limited != SendLimit::CongestionWindow {
            self.exclude_time_until(now);
        }
        self.last_event = now;
    }

    fn on_congestion(&mut self, now: Time, congestion: &Congestion) {
        self.last_event = now;
        let before = (self.window, self.curve);
        if (self.slow_start.is_rapid() || self.converged) && self.converge(now, congestion) {
            return;
        }
        match congestion.kind {
            CongestionKind::Loss => {
                self.remember_maximum();
                self.window
                    .reduce_after_loss(congestion.base.as_f64() * self.beta);
                self.undo = Some(Box::new(before));
            }
            CongestionKind::Mark => {
                self.remember_maximum();
                self.window
                    .reduce_after_mark(congestion.base.as_f64() * self.beta_after_mark);
                self.undo = None; // a mark is never spurious
            }
            CongestionKind::Timeout => {
                self.remember_maximum();
                self.curve.w_max = 0.0; // section 4.8: the next stage starts on its plateau
                self.window.reduce_after_timeout(
                    congestion.base.as_f64() * self.beta,
                    congestion.loss_window,
                );
                self.undo = Some(Box::new(before));
            }
            CongestionKind::RepeatedTimeout => {
                self.window.restart(congestion.loss_window);
                self.curve.epoch = None;
            }
            CongestionKind::SpuriousLoss => {
                // Section 4.9.2: only if the window is still below its earlier value.
                if let Some(undo) = self.undo.take()
                    && self.window.cwnd() < undo.0.cwnd()
                {
                    (self.window, self.curve) = *undo;
                }
                return;
            }
        }
        self.slow_start.end();
    }

    #[inline]
    fn on_event(&mut self, now: Time, event: &Event) {
        match event {
            Event::Sent(sent) if sent.in_flight <= sent.bytes => {
                self.exclude_time_until(now); // nothing was in flight: the flow was idle
                self.last_event = now;
            }
            Event::Open { rtt } => self.slow_start.open(*rtt),
            Event::RecoveryEnd => {
                self.slow_start.end_convergence(&mut self.window);
            }
            Event::IdleRestart { limit } => {
                let before = self.window.cwnd();
                self.window.lower(limit.as_f64());
                if self.window.cwnd() < before {
                    self.curve.epoch = None; // a new curve starts where slow start ends
                }
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
            self.curve = Curve::NONE; // section 4.10: the next stage starts on its plateau
            self.undo = None;
        }
    }

    fn state(&self) -> ControlState {
        let mode = if self.window.in_slow_start() {
            self.slow_start.mode()
        } else {
            match self.curve.epoch.map(|epoch| epoch.region) {
                None => "congestion_avoidance",
                Some(Region::RenoFriendly) => "reno_friendly",
                Some(Region::Concave) => "concave",
                Some(Region::Convex) => "convex",
            }
        };
        ControlState {
            ssthresh: self.window.ssthresh(),
            mode,
            rate_estimate: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::SegmentSent;
    use super::super::testing::{AckClock, MSS, context};
    use super::*;
    use ackclock_spec::files::NoFiles;
    use ackclock_spec::registry::choose;
    use ackclock_spec::streams::Streams;
    use serde_json::{Value, json};

    const RTT: Span = Span::from_millis(100);

    fn tree(fast_convergence: bool) -> Value {
        json!({ "kind": "cubic", "fast_convergence": fast_convergence })
    }
    fn clock(window: u64) -> AckClock {
        AckClock::new(&tree(true), RTT, window, Some(1))
    }
    /// A control in congestion avoidance whose state a test can inspect.
    fn control(window: u64) -> CubicControl {
        CubicControl::new(
            &Cubic::default(),
            &context(&Streams::new(1, 0), window, Some(1)),
        )
    }
    fn ack(segments: u64) -> Ack {
        AckClock::new(&tree(true), RTT, 1, None).ack_of(segments * MSS)
    }
    fn congestion(kind: CongestionKind, segments: u64) -> Congestion {
        Congestion {
            kind,
            base: Bytes(segments * MSS),
            in_flight: Bytes(segments * MSS),
            min_rtt: Some(RTT),
            smoothed_rtt: Some(RTT),
            loss_window: Bytes(MSS),
        }
    }

    #[test]
    fn k_is_the_time_back_to_the_maximum() {
        let mut cubic = control(1000);
        cubic.on_congestion(Time::ZERO, &congestion(CongestionKind::Loss, 1000));
        assert_eq!(cubic.cwnd(), Bytes(700 * MSS));
        cubic.on_ack(Time::ZERO, &ack(1));
        // K = cbrt((1000 − 700)/0.4) s
        let k = cubic.curve.epoch.unwrap().k;
        assert!((k - 9.085_602_964).abs() < 1e-8, "{k}");
        assert_eq!(cubic.curve.w_max, 1000.0 * MSS as f64);
    }

    #[test]
    fn the_window_follows_the_curve() {
        let mut clock = clock(1000);
        clock.congestion(CongestionKind::Loss);
        let k = libm::cbrt(300.0 / 0.4);
        let mut previous = 0.0;
        for (seconds, region) in [
            (3.0, "concave"),
            (6.0, "concave"),
            (k, "concave"),
            (14.0, "convex"),
        ] {
            while clock.now.as_seconds() < seconds {
                clock.ack(MSS);
            }
            let expected = 1000.0 + 0.4 * libm::pow(seconds - k, 3.0);
            assert!(
                (clock.cwnd() / expected - 1.0).abs() < 1e-3,
                "{} {expected}",
                clock.cwnd()
            );
            assert!(clock.cwnd() > previous);
            assert!(seconds == k || clock.control.state().mode == region);
            previous = clock.cwnd();
        }
    }

    #[test]
    fn growth_is_at_most_half_a_window_a_round() {
        let mut clock = AckClock::new(&json!({ "kind": "cubic", "c": 1e9 }), RTT, 100, Some(1));
        clock.congestion(CongestionKind::Loss);
        for _ in 0..20 {
            let before = clock.cwnd();
            clock.round();
            let ratio = clock.cwnd() / before;
            assert!(ratio <= libm::exp(0.5) && ratio > 1.4, "{ratio}");
        }
    }

    #[test]
    fn fast_convergence_lowers_the_maximum() {
        let maxima = |fast_convergence| {
            let parameters = Cubic {
                fast_convergence,
                ..Cubic::default()
            };
            let mut cubic =
                CubicControl::new(&parameters, &context(&Streams::new(1, 0), 100, Some(1)));
            [(); 2].map(|()| {
                let flight = cubic.cwnd().0 / MSS;
                cubic.on_congestion(Time::ZERO, &congestion(CongestionKind::Loss, flight));
                cubic.curve.w_max / MSS as f64
            })
        };
        let [first, second] = maxima(true);
        assert!((first - 100.0).abs() < 1e-9 && (second - 70.0 * 0.85).abs() < 1e-9);
        let [first, second] = maxima(false);
        assert!((first - 100.0).abs() < 1e-9 && (second - 70.0).abs() < 1e-9);
    }

    /// RFC 9438 tables 1 and 2, columns C = 0.04, 0.4, 4: the larger of equation 6 and Reno's
    /// 1.2/sqrt(p). The control takes the larger at each moment, which is slightly more on average
    /// where the two are close. Reno's exact sawtooth gives sqrt(1.5/p).
    ///
    /// The test starts in the steady state (W_max = 4/(3 + β) of the average). A deviation from it
    /// decays only as 1/sqrt(losses), since the curve is flat at t = K.
    #[test]
    fn average_windows_are_those_of_the_tables() {
        const TABLES: [(f64, [[f64; 3]; 7]); 2] = [
            (
                0.1,
                [
                    [12.0, 12.0, 12.0],
                    [38.0, 38.0, 59.0],
                    [120.0, 187.0, 333.0],
                    [593.0, 1054.0, 1874.0],
                    [3332.0, 5926.0, 10_538.0],
                    [18_740.0, 33_325.0, 59_261.0],
                    [105_383.0, 187_400.0, 333_250.0],
                ],
            ),
            (
                0.01,
                [
                    [12.0, 12.0, 12.0],
                    [38.0, 38.0, 38.0],
                    [120.0, 120.0, 120.0],
                    [379.0, 379.0, 379.0],
                    [1200.0, 1200.0, 1874.0],
                    [3795.0, 5926.0, 10_538.0],
                    [18_740.0, 33_325.0, 59_261.0],
                ],
            ),
        ];
        for (rtt, rows) in TABLES {
            for (row, windows) in rows.iter().enumerate() {
                for (c, expected) in [0.04, 0.4, 4.0].into_iter().zip(windows) {
                    let p = libm::pow(10.0, -(row as f64) - 2.0);
                    let tree = json!({ "kind": "cubic", "c": c, "fast_convergence": false });
                    let start = *expected * 4.0 / (3.0 + 0.7);
                    let mut clock =
                        AckClock::new(&tree, Span::from_seconds(rtt), start as u64, Some(1));
                    clock.congestion(CongestionKind::Loss);
                    let average = clock.periodic_loss(p, 4);
                    let cubic = libm::pow(c * 3.7 / 1.2, 0.25) * libm::pow(rtt / p, 0.75);
                    let (table, reno) = ((1.2 / libm::sqrt(p)).max(cubic), libm::sqrt(1.5 / p));
                    assert!(
                        (table - expected).abs() <= 1.0,
                        "the table's own formula: {table} {expected}"
                    );
                    let error = average / reno.max(cubic) - 1.0;
                    let are_near = reno.min(cubic) > 0.6 * reno.max(cubic);
                    let most = if are_near { 0.035 } else { 0.02 };
                    assert!(
                        -0.02 < error && error < most,
                        "{rtt} {p} {c}: {average}, not {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_window_is_never_smaller_than_that_of_the_friendly_aimd() {
        let beta = 0.7;
        let alpha = 3.0 * (1.0 - beta) / (1.0 + beta);
        let reno = json!({ "kind": "reno", "alpha": alpha, "beta": beta });
        for rtt in [1, 10, 100, 1000].map(Span::from_millis) {
            let mut cubic = AckClock::new(&tree(false), rtt, 30, Some(1));
            let mut reno = AckClock::new(&reno, rtt, 30, Some(1));
            let mut was_friendly = false;
            for step in 0..5000_u64 {
                if step % 1000 == 0 {
                    cubic.congestion(CongestionKind::Loss);
                    reno.congestion(CongestionKind::Loss);
                }
                for clock in [&mut cubic, &mut reno] {
                    while clock.now < Time::ZERO + rtt / 20 * step {
                        // A large window, far above the other, is acknowledged in fifty parts.
                        clock.ack((clock.control.cwnd().0 / 50).max(MSS));
                    }
                }
                let one_ack = alpha / reno.cwnd(); // the two clocks' ACKs differ in time
                assert!(
                    cubic.cwnd() + one_ack >= reno.cwnd(),
                    "{} {}",
                    cubic.cwnd(),
                    reno.cwnd()
                );
                was_friendly |= cubic.control.state().mode == "reno_friendly";
            }
            assert_eq!(was_friendly, rtt <= Span::from_millis(100));
        }
    }

    #[test]
    fn the_friendly_window_grows_as_reno_beyond_the_last_maximum_or_as_before() {
        for (speedup, expected) in [(true, 1.0), (false, 0.9 / 1.7)] {
            let tree =
                json!({ "kind": "cubic", "fast_convergence": false, "friendly_speedup": speedup });
            let mut clock = AckClock::new(&tree, Span::from_millis(1), 100, Some(1));
            clock.congestion(CongestionKind::Loss);
            let slope = |clock: &mut AckClock, until: f64| {
                while clock.cwnd() < until {
                    clock.round();
                }
                let before = clock.cwnd();
                (0..5).for_each(|_| clock.round());
                (clock.cwnd() - before) / 5.0
            };
            let below = slope(&mut clock, 80.0);
            assert!((below - 0.9 / 1.7).abs() < 0.02, "{below}");
            let beyond = slope(&mut clock, 101.0);
            assert!((beyond - expected).abs() < 0.02, "{beyond} with {speedup}");
        }
    }

    #[test]
    fn after_a_timeout_the_curve_starts_on_its_plateau() {
        let mut clock = clock(100);
        clock.congestion(CongestionKind::Timeout);
        assert_eq!((clock.cwnd(), clock.ssthresh()), (1.0, Some(70.0)));
        while clock.control.state().mode == "slow_start" {
            clock.ack(MSS);
        }
        let (start, from) = (clock.now, clock.cwnd());
        while clock.now.since(start) < Span::from_millis(10_000) {
            clock.ack(MSS);
        }
        // K = 0, W_max = 70: W_cubic(10 s) = 70 + 0.4 · 1000.
        let expected = from + 400.0;
        assert!(
            (clock.cwnd() / expected - 1.0).abs() < 0.01,
            "{}",
            clock.cwnd()
        );
    }

    #[test]
    fn slow_start_that_ends_without_loss_leads_to_the_plateau() {
        let mut cubic = control(1);
        cubic.window = Window::new(&context(&Streams::new(1, 0), 50, Some(100)));
        while cubic.curve.epoch.is_none() {
            cubic.on_ack(Time::ZERO, &ack(1));
        }
        let (curve, epoch) = (cubic.curve, cubic.curve.epoch.unwrap());
        let start = 100.0 * MSS as f64;
        assert!(epoch.k == 0.0 && curve.w_max == start && curve.cwnd_prior == start);
        assert!(
            (epoch.w_est - start - MSS as f64 / 100.0).abs() < 1e-9,
            "alpha is 1 from here"
        );
    }

    #[test]
    fn idle_and_limited_time_does_not_count() {
        let grown = |pause: &dyn Fn(&mut AckClock)| {
            let mut clock = clock(1000);
            clock.congestion(CongestionKind::Loss);
            (0..10).for_each(|_| clock.round());
            pause(&mut clock);
            (0..5).for_each(|_| clock.round());
            clock.cwnd()
        };
        let without = grown(&|_| {});
        let idle = grown(&|clock| {
            clock.now = clock.now + Span::from_millis(5_000);
            let sent = SegmentSent {
                bytes: Bytes(MSS),
                in_flight: Bytes(MSS),
                next: 0,
                limited: SendLimit::Application,
            };
            clock.event(&Event::Sent(sent));
        });
        let limited = grown(&|clock| {
            for _ in 0..50 {
                clock.now = clock.now + RTT;
                let mut ack = clock.ack_of(MSS);
                (ack.credit, ack.limited) = (Bytes::ZERO, SendLimit::Application);
                clock.control.on_ack(clock.now, &ack);
            }
        });
        assert!((idle - without).abs() < 0.01 && (limited - without).abs() < 0.01);
        let waited = grown(&|clock| {
            clock.now = clock.now + Span::from_millis(5_000);
            let mut ack = clock.ack_of(MSS);
            ack.credit = Bytes::ZERO;
            clock.control.on_ack(clock.now, &ack);
        });
        assert!(waited > without + 50.0, "time in use does count");
    }

    #[test]
    fn a_spurious_loss_restores_window_and_curve() {
        let mut cubic = control(1000);
        cubic.on_congestion(Time::ZERO, &congestion(CongestionKind::Loss, 1000));
        for ms in 0..500 {
            cubic.on_ack(Time::ZERO + Span::from_millis(ms), &ack(7));
        }
        let (window, epoch) = (cubic.window.cwnd(), cubic.curve.epoch.unwrap());
        let now = Time::from_seconds(1.0);
        cubic.on_congestion(now, &congestion(CongestionKind::Loss, 700));
        assert!(cubic.curve.epoch.is_none() && cubic.window.cwnd() < window);
        cubic.on_congestion(now, &congestion(CongestionKind::SpuriousLoss, 700));
        let restored = cubic.curve.epoch.unwrap();
        assert!(cubic.window.cwnd() == window && cubic.curve.w_max == 1000.0 * MSS as f64);
        assert!(
            restored.k == epoch.k && restored.start == epoch.start && restored.w_est == epoch.w_est
        );
    }

    #[test]
    fn marks_go_down_to_one_segment() {
        let mut clock = clock(10);
        (0..20).for_each(|_| clock.congestion(CongestionKind::Mark));
        assert_eq!((clock.cwnd(), clock.ssthresh()), (1.0, Some(2.0)));
    }

    #[test]
    fn impossible_parameters_are_refused_by_name() {
        for (field, value) in [
            ("c", 0.0),
            ("c", -1.0),
            ("beta", 0.0),
            ("beta", 1.0),
            ("beta", 1.5),
        ] {
            let mut tree = json!({ "kind": "cubic" });
            tree[field] = value.into();
            let error = choose::<ControlKind>(&tree, &NoFiles).unwrap_err();
            assert_eq!(error.key(), format!("out-of-range {field}"));
        }
    }
}
