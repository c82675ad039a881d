//! Cuback: CUBIC's growth as a function of acknowledged packets instead of time (K. Oku,
//! draft-kazuho-ccwg-cuback of 31 August 2026).
//!
//! CUBIC asks which window it should have by now. Cuback asks how many packets a flow that is
//! limited by its window would have had acknowledged by then, and opens the window by a packet once
//! that many more are. So time in which nothing is sent does not count.

use super::cubic::{converging_maximum, reno_friendly_increase};
use super::facts::{ControlFacts, GrowthLaw, KeptShare};
use super::slow_start::{SlowStart, SlowStartExit};
use super::window::Window;
use super::{
    Ack, Congestion, CongestionControl, CongestionKind, ControlContext, ControlKind, ControlState,
    Event, Resumption,
};
use ackclock_spec::prelude::*;

parameters! {
    /// Parameters.
    pub struct Cuback {
        /// C: steepness of the window growth, in segments per cubic second. Larger than 0.
        pub c: f64 = 0.4,
        /// β: factor by which the congestion window is multiplied after a loss or a mark. Between 0
        /// and 1.
        pub beta: f64 = 0.7,
        /// True if a flow with a loss below its last maximum lowers the maximum further, to make
        /// room for others.
        pub fast_convergence: bool = true,
        /// The sign that ends the first slow start before a loss.
        pub slow_start_exit: SlowStartExit = SlowStartExit::None,
    }
}

impl Element<ControlKind> for Cuback {
    const NAME: &'static str = "cuback";
    const LABEL: &'static str = "Cuback";
    const SUMMARY: &'static str =
        "Grows the window as CUBIC, counted in acknowledged packets instead of time.";
    const REFERENCE: &'static str = "draft-kazuho-ccwg-cuback, 31 August 2026";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            check_positive("c", self.c, "0.4"),
            check_factor("beta", self.beta, "0.7"),
        ])
    }

    fn facts(&self) -> ControlFacts {
        ControlFacts {
            growth: Some(GrowthLaw::Cubic {
                c: Some(self.c),
                reno_friendly_speedup: Some(true),
                fast_convergence: Some(self.fast_convergence),
            }),
            slow_start_ends_early: Some(self.slow_start_exit.is_early()),
            early_end: self.slow_start_exit.early_end(),
            resumes: Some(true),
            ..ControlFacts::loss_based(KeptShare::Constant { share: self.beta })
        }
    }
}

impl Factory<ControlKind> for Cuback {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        Box::new(CubackControl::new(self, &context))
    }
}

/// Fewest acknowledged packets for which the window opens by one.
const LEAST: f64 = 2.0;

/// Most packets by which one ACK opens the window; what it has acknowledged beyond counts later.
/// Where no window bounds what an ACK acknowledges, nothing else would bound the work.
const MOST_STEPS: u32 = 1000;

/// Growth since a reduction, in packets. The draft's epoch is the window right after it.
#[derive(Clone, Copy, Debug)]
struct Curve {
    c: f64,
    /// Increase of Reno that is as aggressive, per round trip.
    alpha: f64,
    epoch: f64,
    /// Window before the reduction; that after slow start if there was none.
    prior: f64,
    w_max: f64,
    /// Time in which the curve is back at the maximum, in seconds.
    k: f64,
    /// Packets that the flow had acknowledged in a second before the reduction; infinite if it has
    /// no round-trip time, so that Reno's growth is taken.
    rate: f64,
}

impl Curve {
    fn new(c: f64, alpha: f64, [epoch, prior, w_max]: [f64; 3], trip: Option<Span>) -> Self {
        let w_max = w_max.max(epoch);
        Curve {
            c,
            alpha,
            epoch,
            prior: prior.max(epoch),
            w_max,
            k: libm::cbrt((w_max - epoch) / c),
            rate: trip.map_or(f64::INFINITY, |trip| prior.max(epoch) / trip.as_seconds()),
        }
    }

    /// Returns the acknowledged packets since the reduction after which CUBIC's curve has the
    /// window `w`.
    fn cubic(&self, w: f64) -> f64 {
        let time = self.k + libm::cbrt((w - self.w_max) / self.c);
        self.rate * time.max(0.0)
    }

    /// Returns the acknowledged packets after which Reno's growth has the window `w`: by alpha in a
    /// round trip up to the window before the reduction, by one from there on.
    fn reno(&self, w: f64) -> f64 {
        let sum = |from: f64, to: f64| (to - from) * (to + from - 1.0) / 2.0;
        let below = sum(self.epoch, w.min(self.prior)) / self.alpha;
        below
            + if w > self.prior {
                sum(self.prior, w)
            } else {
                0.0
            }
    }

    /// Returns the acknowledged packets after which the window is `w`.
    fn acked(&self, w: f64) -> f64 {
        self.cubic(w).min(self.reno(w))
    }

    /// Returns the acknowledged packets for which the window `w` opens by one.
    fn step(&self, w: f64) -> f64 {
        (self.acked(w + 1.0) - self.acked(w)).max(LEAST)
    }
}

#[derive(Debug)]
struct CubackControl {
    c: f64,
    beta: f64,
    alpha: f64,
    fast_convergence: bool,
    window: Window,
    slow_start: SlowStart,
    growth: Growth,
    /// Window and growth before the last reduction for a loss.
    undo: Option<Box<(Window, Growth)>>,
}

#[derive(Clone, Copy, Debug)]
struct Growth {
    /// Window at the last reduction, perhaps lowered by fast convergence, in packets; zero before
    /// the first and after a timeout.
    w_max: f64,
    /// Window before the last reduction, in packets; zero before the first.
    prior: f64,
    /// None from a timeout or the end of slow start to the next growth.
    curve: Option<Curve>,
    /// Window in bytes, and the acknowledged packets for which it opens on the curve.
    step: (f64, f64),
    /// Acknowledged packets that have not opened the window yet.
    pending: f64,
}

impl Growth {
    const NONE: Growth = Growth {
        w_max: 0.0,
        prior: 0.0,
        curve: None,
        step: (0.0, 0.0),
        pending: 0.0,
    };
}

impl CubackControl {
    fn new(parameters: &Cuback, context: &ControlContext<'_>) -> Self {
        let beta = parameters.beta;
        CubackControl {
            c: parameters.c,
            beta,
            alpha: reno_friendly_increase(beta),
            fast_convergence: parameters.fast_convergence,
            window: Window::new(context),
            slow_start: SlowStart::new(parameters.slow_start_exit, context),
            growth: Growth::NONE,
            undo: None,
        }
    }

    /// Returns the window in packets.
    fn packets(&self) -> f64 {
        self.window.cwnd() / self.window.mss()
    }

    /// Opens the window in congestion avoidance.
    fn grow(&mut self, credit: f64, smoothed_rtt: Option<Span>) {
        let curve = match self.growth.curve {
            Some(curve) => curve,
            None => self.begin_curve(smoothed_rtt),
        };
        self.growth.pending += credit / self.window.mss();
        for _ in 0..MOST_STEPS {
            let step = self.step(&curve);
            if self.growth.pending < step {
                return;
            }
            self.growth.pending -= step;
            self.window.grow(self.window.mss());
        }
    }

    /// Returns the acknowledged packets for which the window opens, which take two cube roots.
    fn step(&mut self, curve: &Curve) -> f64 {
        let cwnd = self.window.cwnd();
        if self.growth.step.0 != cwnd {
            self.growth.step = (cwnd, curve.step(self.packets()));
        }
        self.growth.step.1
    }

    /// Begins the growth after a reduction.
    fn remember_maximum(&mut self) {
        let cwnd = self.packets();
        self.growth = Growth {
            w_max: converging_maximum(cwnd, self.growth.w_max, self.beta, self.fast_convergence),
            prior: cwnd,
            curve: None,
            step: (0.0, 0.0),
            pending: 0.0,
        };
    }

    /// Begins a curve at the present window and rate.
    fn begin_curve(&mut self, smoothed_rtt: Option<Span>) -> Curve {
        let Growth { w_max, prior, .. } = self.growth;
        let windows = [self.packets(), prior, w_max];
        let curve = Curve::new(self.c, self.alpha, windows, smoothed_rtt);
        self.growth.curve = Some(curve);
        self.growth.step = (0.0, 0.0);
        curve
    }
}

impl CongestionControl for CubackControl {
    #[inline]
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        let credit = self.slow_start.grow(&mut self.window, now, ack);
        if credit > 0.0 {
            self.grow(credit, ack.smoothed_rtt);
        }
    }

    fn on_congestion(&mut self, _: Time, congestion: &Congestion) {
        let before = (self.window, self.growth);
        let kept = congestion.base.as_f64() * self.beta;
        match congestion.kind {
            CongestionKind::Loss | CongestionKind::Mark => {
                self.remember_maximum();
                if congestion.kind == CongestionKind::Loss {
                    self.window.reduce_after_loss(kept);
                    self.undo = Some(Box::new(before));
                } else {
                    self.window.reduce_after_mark(kept);
                    self.undo = None; // a mark is never spurious
                }
                self.begin_curve(congestion.smoothed_rtt);
            }
            CongestionKind::Timeout => {
                self.remember_maximum();
                self.growth.w_max = 0.0; // the next curve starts on its plateau, as CUBIC's
                self.window
                    .reduce_after_timeout(kept, congestion.loss_window);
                self.undo = Some(Box::new(before));
            }
            CongestionKind::RepeatedTimeout => {
                self.window.restart(congestion.loss_window);
                self.growth.curve = None;
            }
            CongestionKind::SpuriousLoss => {
                if let Some(undo) = self.undo.take()
                    && self.window.cwnd() < undo.0.cwnd()
                {
                    (self.window, self.growth) = *undo;
                }
                return;
            }
        }
        self.slow_start.end();
    }

    fn on_event(&mut self, _: Time, event: &Event) {
        if let Event::IdleRestart { limit } = event {
            let before = self.window.cwnd();
            self.window.lower(limit.as_f64());
            if self.window.cwnd() < before {
                self.growth.curve = None; // a new curve starts where slow start ends
            }
        }
    }

    fn cwnd(&self) -> Bytes {
        self.window.bytes()
    }

    fn resume(&mut self, step: Resumption) {
        self.window.resume(step);
        if let Resumption::Retreat(_) = step {
            self.slow_start.end();
            self.growth = Growth::NONE;
            self.undo = None;
        }
    }

    fn state(&self) -> ControlState {
        let packets = self.packets();
        let mode = match self.growth.curve {
            _ if self.window.in_slow_start() => self.slow_start.mode(),
            Some(curve) if curve.reno(packets + 1.0) < curve.cubic(packets + 1.0) => {
                "reno_friendly"
            }
            Some(curve) if packets < curve.w_max => "concave",
            Some(_) => "convex",
            None => "congestion_avoidance",
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
    use super::super::testing::{AckClock, MSS};
    use super::*;
    use serde_json::json;

    const ALPHA: f64 = 3.0 * 0.3 / 1.7;

    fn curve(windows: [f64; 3], ms: u64) -> Curve {
        Curve::new(0.4, ALPHA, windows, Some(Span::from_millis(ms)))
    }

    fn assert_close<const N: usize>(computed: [f64; N], printed: [f64; N], within: f64) {
        for (computed, printed) in computed.iter().zip(printed) {
            assert!((computed - printed).abs() <= within, "{computed} {printed}");
        }
    }

    #[test]
    fn it_needs_the_acknowledged_packets_that_the_draft_prints() {
        let small = curve([7.0, 10.0, 10.0], 100);
        let acked = [7.0, 8.0, 9.0, 10.0, 11.0, 12.0].map(|w| small.acked(w));
        let printed = [0.0, 13.2222, 28.3333, 45.3333, 55.3333, 66.3333];
        assert_close(acked, printed, 1e-4);
        let steps = [7.0, 8.0, 9.0, 10.0, 11.0].map(|w| small.step(w));
        assert_close(steps, [13.2222, 15.1111, 17.0, 10.0, 11.0], 1e-4);
        let large = curve([600.0, 1000.0, 1000.0], 100);
        assert_close([large.k], [10.0], 1e-9);
        let acked = [950.0, 1000.0, 1050.0, 1400.0].map(|w| large.acked(w));
        assert_close(acked, [50e3, 100e3, 150e3, 200e3], 1e-6);
    }

    #[test]
    fn the_plateau_is_crossed_by_the_reno_branch() {
        let curve = curve([140.0, 200.0, 200.0], 50);
        assert_close([curve.k], [5.3133], 1e-4);
        let acked = [150.0, 180.0, 195.0].map(|w| curve.acked(w));
        assert_close(acked, [1253.17, 6517.05, 11_969.99], 0.01);
        assert_close(
            [200.0, 220.0].map(|w| curve.acked(w)),
            [19_210.0, 23_400.0],
            0.5,
        );
        assert_close(
            [curve.step(199.0), curve.step(200.0)],
            [3385.664, 200.0],
            0.01,
        );
    }

    #[test]
    fn the_window_opens_by_a_packet_for_each_step() {
        let tree = json!({ "kind": "cuback" });
        let mut clock = AckClock::new(&tree, Span::from_millis(100), 10, Some(1));
        clock.congestion(CongestionKind::Loss);
        assert_eq!(clock.control.cwnd(), Bytes(7 * MSS));
        let mut opened = Vec::new();
        for acked in 1..=67_u32 {
            let before = clock.control.cwnd();
            clock.ack(MSS);
            if clock.control.cwnd() > before {
                opened.push(acked);
            }
        }
        // The sums above, rounded up.
        assert_eq!(opened, [14, 29, 46, 56, 67]);
    }

    /// Twice as many packets as there are in 1000 steps, and without end: the contract of controls
    /// has such ACKs.
    #[test]
    fn the_work_of_an_ack_is_bounded() {
        let tree = json!({ "kind": "cuback" });
        let mut clock = AckClock::new(&tree, Span::from_millis(100), 10, Some(1));
        clock.congestion(CongestionKind::Loss);
        let before = clock.cwnd();
        let ack = Ack {
            credit: Bytes(1 << 60),
            ..clock.ack_of(MSS)
        };
        clock.control.on_ack(clock.now, &ack);
        assert_eq!(clock.cwnd(), before + 1000.0);
    }

    #[test]
    fn time_without_acknowledgements_does_not_count() {
        let tree = json!({ "kind": "cuback" });
        let mut clock = AckClock::new(&tree, Span::from_millis(100), 1000, Some(1));
        clock.congestion(CongestionKind::Loss);
        let before = clock.control.cwnd();
        clock.now = clock.now + Span::from_millis(60_000);
        clock.ack(MSS);
        assert_eq!(clock.control.cwnd(), before);
    }

    #[test]
    fn a_spurious_loss_is_undone() {
        let tree = json!({ "kind": "cuback" });
        let mut clock = AckClock::new(&tree, Span::from_millis(100), 100, Some(1));
        clock.congestion(CongestionKind::Loss);
        assert_eq!(clock.control.cwnd(), Bytes(70 * MSS));
        clock.congestion(CongestionKind::SpuriousLoss);
        assert_eq!(clock.control.cwnd(), Bytes(100 * MSS));
    }
}
