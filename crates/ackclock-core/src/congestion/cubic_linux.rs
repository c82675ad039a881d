//! CUBIC as in Linux (`tcp_cubic.c` of 6.18): whole segments and 1024ths of a second.
//!
//! It differs from RFC 9438. The Reno-friendly window never grows faster than α, and the window
//! grows by at most half per round trip. A timeout forgets the last maximum. An undo restores the
//! window without the curve. Time passes in ticks of the kernel's clock.

use super::cubic::Cubic;
use super::segments::SegmentWindow;
use super::slow_start::{Exit, SlowStartExit};
use super::{
    Ack, Congestion, CongestionControl, CongestionKind, ControlContext, ControlState, Event, Needs,
    Resumption, SegmentSent,
};
use ackclock_spec::units::{Bytes, Span, Time};

/// `cnt` holds for at most a second divided by this (`HZ / 32`).
const RENEWALS_PER_SECOND: u64 = 32;
const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// Tick of a kernel with the usual configuration (`CONFIG_HZ=250`).
pub(super) const USUAL_TICK: Span = Span::from_millis(4);
/// Longest tick: CUBIC renews its slope 32 times a second.
pub(super) const LONGEST_TICK: Span = Span::from_millis(30);
/// Denominator of β (`BICTCP_BETA_SCALE`).
const SCALE: u64 = 1024;
/// Fractional bits of time, and of the cube with C.
const TIME_BITS: u32 = 10;
const CUBE_BITS: u32 = 10 + 3 * TIME_BITS;

/// The control. Names in brackets are those of `struct bictcp`.
#[derive(Debug)]
struct Curve {
    /// Start of the epoch, in ticks (`epoch_start`).
    start: Option<u64>,
    /// Time to the plateau in 1024ths of a second (`bic_K`), and the window there
    /// (`bic_origin_point`).
    k: u64,
    origin: u64,
    /// Segments delivered in the epoch, less what the friendly window has used (`ack_cnt`).
    delivered: u64,
    /// Reno-friendly window (`tcp_cwnd`).
    friendly: u64,
    /// Segments to be delivered before the window grows by one (`cnt`).
    /// It was computed for the window `at_cwnd` at the time `at` (`last_cwnd`, `last_time`).
    every: u64,
    at_cwnd: u64,
    at: u64,
}

impl Curve {
    const NONE: Curve = Curve {
        start: None,
        k: 0,
        origin: 0,
        delivered: 0,
        friendly: 0,
        every: 0,
        at_cwnd: 0,
        at: 0,
    };
}

/// CUBIC of Linux.
#[derive(Debug)]
pub(super) struct CubicLinux {
    /// β in 1024ths, and C in 1024ths times ten (`beta`, `bic_scale * 10`).
    beta: u64,
    /// β after a mark, which the kernel does not have.
    beta_after_mark: u64,
    c: u64,
    fast_convergence: bool,
    /// Tick of the clock in nanoseconds (a second divided by `HZ`).
    tick: u64,
    window: SegmentWindow,
    curve: Curve,
    /// Window before the last reduction (`last_max_cwnd`).
    maximum: u64,
    least_delay: Option<Span>,
    exit: Exit,
    last_sent: Time,
}

impl CubicLinux {
    pub fn new(parameters: &Cubic, context: &ControlContext<'_>) -> Self {
        CubicLinux {
            beta: libm::round(parameters.beta * SCALE as f64) as u64,
            beta_after_mark: libm::round(parameters.after_mark() * SCALE as f64) as u64,
            c: (libm::round(parameters.c * SCALE as f64 / 10.0) as u64 * 10).max(1),
            fast_convergence: parameters.fast_convergence,
            tick: parameters.tick.unwrap_or(USUAL_TICK).as_nanos().max(1),
            window: SegmentWindow::new(context),
            curve: Curve::NONE,
            maximum: 0,
            least_delay: None,
            exit: Exit::new(
                parameters.slow_start_exit.unwrap_or(SlowStartExit::HyStart),
                context,
            ),
            last_sent: Time::ZERO,
        }
    }

    /// Returns the time in ticks.
    const fn ticks(&self, now: Time) -> u64 {
        now.as_nanos() / self.tick
    }

    /// Takes in the round-trip time of an ACK (`cubictcp_acked`).
    fn learn_delay(&mut self, now: Time, ack: &Ack) {
        let Some(delay) = ack.newest_rtt else {
            return;
        };
        // In the first second of an epoch, the queue that the loss left falsifies it.
        if self
            .curve
            .start
            .is_some_and(|start| self.ticks(now) < start + NANOS_PER_SECOND / self.tick)
        {
            return;
        }
        let least = self.least_delay.map_or(delay, |least| least.min(delay));
        self.least_delay = Some(least);
        // In a proportional reduction the kernel has no other window than that.
        let window = ack.window.map(|bytes| self.window.whole_segments(bytes));
        let cwnd = window.unwrap_or(self.window.cwnd());
        if self.window.is_above(cwnd) && self.exit.is_over(now, ack, cwnd, Some(least)) {
            self.window.end_slow_start(cwnd);
        }
    }

    /// Computes after how many delivered segments the window grows by one (`bictcp_update`).
    fn update(&mut self, now: Time, delivered: u64) {
        let (cwnd, now) = (self.window.cwnd(), self.ticks(now));
        let renewal = NANOS_PER_SECOND / self.tick / RENEWALS_PER_SECOND;
        let curve = &mut self.curve;
        curve.delivered = curve.delivered.saturating_add(delivered);
        if curve.at_cwnd == cwnd && now.saturating_sub(curve.at) <= renewal {
            return;
        }
        if curve.start.is_none() || now != curve.at {
            (curve.at_cwnd, curve.at) = (cwnd, now);
            self.follow_curve(cwnd, now, delivered);
        }
        self.befriend(cwnd);
        self.curve.every = self.curve.every.max(2);
    }

    /// Computes `every` from the cubic function.
    fn follow_curve(&mut self, cwnd: u64, now: u64, delivered: u64) {
        let curve = &mut self.curve;
        let start = *curve.start.get_or_insert_with(|| {
            (curve.delivered, curve.friendly) = (delivered, cwnd);
            let below = self.maximum.saturating_sub(cwnd);
            let cube = (u128::from(below) << CUBE_BITS) / u128::from(self.c);
            curve.k = libm::cbrt(cube as f64) as u64;
            curve.origin = self.maximum.max(cwnd);
            now
        });
        let delay = self.least_delay.unwrap_or(Span::ZERO).as_nanos();
        let passed = now.saturating_sub(start) + delay.div_ceil(self.tick);
        let t = (passed << TIME_BITS) / (NANOS_PER_SECOND / self.tick);
        let offset = u128::from(t.abs_diff(curve.k).min(u64::from(u32::MAX)));
        let delta = ((u128::from(self.c) * offset * offset * offset) >> CUBE_BITS)
            .min(u128::from(u32::MAX)) as u64;
        let target = if t < curve.k {
            curve.origin.saturating_sub(delta)
        } else {
            curve.origin + delta
        };
        curve.every = match target.checked_sub(cwnd).filter(|&above| above > 0) {
            Some(above) => cwnd / above,
            None => 100 * cwnd,
        };
        if self.maximum == 0 {
            curve.every = curve.every.min(20); // the available bandwidth is still unknown
        }
    }

    /// Lowers `every` if Reno would have a larger window.
    fn befriend(&mut self, cwnd: u64) {
        let scale = 8 * (SCALE + self.beta) / 3 / (SCALE - self.beta);
        let per_segment = ((cwnd * scale) >> 3).max(1);
        let curve = &mut self.curve;
        // One more segment each time that more than so many were delivered.
        let more = curve.delivered.saturating_sub(1) / per_segment;
        curve.friendly += more;
        curve.delivered -= more * per_segment;
        if let Some(ahead) = curve.friendly.checked_sub(cwnd).filter(|&ahead| ahead > 0) {
            curve.every = curve.every.min(cwnd / ahead);
        }
    }

    /// Returns ssthresh for a window of `cwnd` segments, of which `beta` remains
    /// (`cubictcp_recalc_ssthresh`).
    fn reduced(&mut self, cwnd: u64, beta: u64) -> u64 {
        self.curve.start = None;
        self.maximum = if self.fast_convergence && cwnd < self.maximum {
            cwnd * (SCALE + self.beta) / (2 * SCALE)
        } else {
            cwnd
        };
        cwnd * beta / SCALE
    }

    /// Excludes the time for which the flow was idle from the curve (`CA_EVENT_TX_START`).
    fn note_sent(&mut self, now: Time, sent: &SegmentSent) {
        if sent.in_flight <= sent.bytes
            && let Some(start) = &mut self.curve.start
        {
            let ticks = |at: Time| at.as_nanos() / self.tick;
            let idle = ticks(now).saturating_sub(ticks(self.last_sent));
            *start = (*start + idle).min(ticks(now));
        }
        self.last_sent = now;
    }
}

impl CongestionControl for CubicLinux {
    fn needs(&self) -> Needs {
        Needs {
            sent: true,
            ..Needs::default()
        }
    }

    #[inline]
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.learn_delay(now, ack);
        if ack.credit == Bytes::ZERO {
            return;
        }
        let delivered = self.window.segments(ack.credit);
        let rest = self.window.grow_in_slow_start(delivered);
        if rest > 0 {
            self.update(now, rest);
            self.window.grow(self.curve.every, rest);
        }
    }

    fn on_congestion(&mut self, now: Time, congestion: &Congestion) {
        let mut window = self.window;
        let beta = match congestion.kind {
            CongestionKind::Mark => self.beta_after_mark,
            _ => self.beta,
        };
        window.react(congestion, |cwnd| self.reduced(cwnd, beta));
        self.window = window;
        if matches!(
            congestion.kind,
            CongestionKind::Timeout | CongestionKind::RepeatedTimeout
        ) {
            (self.curve, self.maximum, self.least_delay) = (Curve::NONE, 0, None);
            self.exit.reset(now);
        }
    }

    fn on_event(&mut self, now: Time, event: &Event) {
        match event {
            Event::Sent(sent) => self.note_sent(now, sent),
            Event::IdleRestart { limit } => self.window.restart(*limit),
            _ => {}
        }
    }

    fn cwnd(&self) -> Bytes {
        self.window.bytes()
    }

    fn resume(&mut self, step: Resumption) {
        self.window.resume(step);
        if let Resumption::Retreat(_) = step {
            (self.curve, self.maximum) = (Curve::NONE, 0);
            self.exit = Exit::None;
        }
    }

    fn state(&self) -> ControlState {
        let cwnd = self.window.cwnd();
        let mode = if self.window.in_slow_start() {
            "slow_start"
        } else if self.curve.start.is_none() {
            "congestion_avoidance"
        } else if self.curve.friendly > cwnd {
            "reno_friendly"
        } else if cwnd < self.curve.origin {
            "concave"
        } else {
            "convex"
        };
        ControlState {
            ssthresh: self.window.ssthresh(),
            mode,
            rate_estimate: None,
        }
    }
}
