//! TCP Prague: a scalable control for L4S, as `tcp_prague.c` version 0.7 of the L4S team has it.
//!
//! It is DCTCP with these differences:
//!
//! * It asks for ECT(1) and accurate ECN. Without a feedback that counts marks it is Reno.
//! * α is 0 until the first mark, which halves the window. The average begins there.
//! * Each segment that arrives unmarked opens the window, also while it is being reduced for marks.
//! * Some round trips after slow start, flows with less than the target round-trip time (25 ms)
//!   act as if they had it. A window grows by (RTT/target)² of a segment per round trip. It is
//!   reduced, and α is updated, at most once per target. So rates do not depend on the round trip.
//! * It paces at cwnd/SRTT, twice that below half of ssthresh, in bursts of a quarter of a
//!   millisecond.
//! * cwnd follows the fractional window by one segment per ACK.
//!
//! With few segments the state is the rate instead of the window (`rate_mode_below`).
//! docs/deviations.md says what is left out.

use super::facts::{ControlFacts, EcnUse, GrowthLaw, KeptShare, LinuxControl};
use super::reno_linux::{RenoLinux, Shares};
use super::{
    Ack, Congestion, CongestionControl, CongestionKind, ControlContext, ControlKind, ControlState,
    Event, MarkReport, Needs, Pace, RecoveryPhase,
};
use crate::endpoint::parameters::{EcnCodepoint, EcnFeedback};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::Segments;

parameters! {
    /// Parameters. The defaults are those of version 0.7.
    pub struct Prague {
        /// g: weight of the last round trip in the average share of marks. Above 0, at most 1.
        pub gain: f64 = 1.0 / 16.0,
        /// α before the first mark, from 0 to 1. With 0 the first mark halves the window; version
        /// 0.6 had 1.
        pub initial_alpha: f64 = 0.0,
        /// Round-trip time that flows with a shorter one act as if they had; `"0 s"` for none.
        pub target_rtt: Span = Span::from_millis(25),
        /// Round trips after slow start from which on they do so. Version 0.6 had 500.
        pub transition_rounds: u32 = 4,
        /// Window, in segments, up to which the state is the rate instead of the window, once a
        /// flow is independent of its round-trip time. The rate then varies by 3 % within a round
        /// trip.
        pub rate_mode_below: Segments = Segments(4),
        /// Lowest rate.
        pub minimum_rate: BitRate = BitRate::from_bit_per_s(100_000),
    }
}

impl Element<ControlKind> for Prague {
    const NAME: &'static str = "prague";
    const LABEL: &'static str = "Prague";
    const SUMMARY: &'static str = "Scalable control for L4S: reduces its window by half the share \
        of marks, whatever the round-trip time.";
    const REFERENCE: &'static str = "L4STeam/linux, tcp_prague.c version 0.7; \
        draft-briscoe-iccrg-prague-congestion-control; RFC 9331 section 4";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            check_positive("gain", self.gain, "0.0625"),
            in_range(
                self.gain <= 1.0,
                "gain",
                &self.gain,
                "is more than 1; for example 0.0625",
            ),
            check_between("initial_alpha", self.initial_alpha, 0.0..=1.0, "0"),
            check_above_zero("minimum_rate", self.minimum_rate, "100 kbit/s"),
        ])
    }

    fn facts(&self) -> ControlFacts {
        ControlFacts {
            growth: Some(GrowthLaw::Linear {
                segments_per_rtt: Some(1.0),
                least_rtt_s: match self.target_rtt {
                    Span::ZERO => Stated::None,
                    target => Stated::Some(target.as_seconds()),
                },
            }),
            kept_after_loss: Some(KeptShare::Constant { share: 0.5 }),
            kept_after_mark: Some(KeptShare::ByMarks),
            ecn: Stated::Some(EcnUse {
                codepoint: EcnCodepoint::Ect1,
                feedback: EcnFeedback::Accurate,
            }),
            reacts_to_loss: Some(true),
            reacts_to_delay: Some(false),
            paces: Some(true),
            slow_start_ends_early: Some(false),
            linux: Stated::Some(LinuxControl::new("prague", self, &Prague::default())),
            ..ControlFacts::of_the_engine()
        }
    }
}

impl Factory<ControlKind> for Prague {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        if !context.counts_marks {
            let shares = Shares {
                after_loss: 0.5,
                after_mark: 0.5,
            };
            return Box::new(RenoLinux::new(&context, 1.0, shares));
        }
        Box::new(PragueControl::new(self.clone(), &context))
    }
}

/// Smallest window, in segments (`MIN_CWND_RTT`).
const FLOOR: f64 = 2.0;
/// Longest round-trip time for which growth is scaled (`MAX_SCALED_RTT`).
const LONGEST_SCALED: Span = Span::from_millis(100);
/// Share by which the rate varies within a round trip (`RATE_OFFSET`).
const RIPPLE: f64 = 4.0 / 128.0;
/// A burst has what the rate sends in this fraction of a second (`prague_burst_shift` = 12).
const BURSTS_PER_SECOND: f64 = 4096.0;
/// Weight of a round trip in the average of round-trip times by which rates become windows
/// (`HSRTT_SHIFT`).
const RTT_WEIGHT: f64 = 1.0 / 128.0;

/// The control. Windows are in segments, rates in segments per second. Names in brackets are those
/// of `struct prague`.
#[derive(Debug)]
struct PragueControl {
    parameters: Prague,
    mss: f64,
    /// The window in use, in whole segments.
    cwnd: f64,
    ssthresh: f64,
    /// The fractional window (`frac_cwnd`).
    window: f64,
    /// The rate, if the state is the rate (`rate_bytes`, `cwnd_mode`).
    rate: f64,
    in_rate_mode: bool,
    /// Segments by which the segments of a window open it (`ai_ack_increase`).
    increase: f64,
    alpha: f64,
    saw_mark: bool,
    /// True after a loss until recovery ends (`in_loss`).
    in_loss: bool,
    /// Round trips since slow start (`round`).
    rounds: u32,
    /// Data of the present round trip.
    delivered: f64,
    marked: f64,
    /// True if a round trip has ended and α waits for the target to elapse, too.
    round_ended: bool,
    alpha_at: Time,
    reduced_at: Option<Time>,
    rtt: Option<Span>,
    /// Slow average of the smoothed round-trip time, in seconds (`hsrtt_us`).
    slow_rtt: Option<f64>,
    in_flight: f64,
    /// Window and rate before the last loss.
    undo: Option<(f64, f64)>,
    /// Pacing rate and burst.
    pace: Pace,
}

/// Returns the pace at a rate, in segments per second.
fn pace(rate: f64, mss: f64) -> Pace {
    let segments = libm::floor(rate / BURSTS_PER_SECOND).max(1.0);
    Pace {
        rate: Some(BitRate::from_bit_per_s((rate * mss * 8.0) as u64)),
        burst: Some(Bytes((segments * mss) as u64)),
    }
}

impl PragueControl {
    fn new(parameters: Prague, context: &ControlContext<'_>) -> Self {
        let mss = context.mss.as_f64().max(1.0);
        let cwnd = (context.initial_window.as_f64() / mss).max(1.0);
        let ssthresh = context
            .initial_ssthresh
            .map_or(f64::INFINITY, |bytes| (bytes.as_f64() / mss).max(FLOOR));
        PragueControl {
            alpha: parameters.initial_alpha,
            mss,
            cwnd: libm::floor(cwnd).max(1.0),
            ssthresh,
            window: cwnd,
            rate: 0.0,
            in_rate_mode: false,
            increase: 1.0,
            saw_mark: false,
            in_loss: false,
            rounds: 0,
            delivered: 0.0,
            marked: 0.0,
            round_ended: false,
            alpha_at: Time::ZERO,
            reduced_at: None,
            rtt: None,
            slow_rtt: None,
            in_flight: 0.0,
            undo: None,
            // A window in a microsecond: until a round trip is known, nothing is held back.
            pace: pace(cwnd * 1e6, mss),
            parameters,
        }
    }

    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// True if the flow acts as if its round-trip time were the target (`prague_is_rtt_indep`).
    fn is_independent(&self) -> bool {
        !self.in_slow_start() && self.rounds >= self.parameters.transition_rounds
    }

    /// True if the state is the rate.
    fn keeps_rate(&self) -> bool {
        self.in_rate_mode && self.is_independent()
    }

    fn rtt_s(&self) -> f64 {
        self.rtt.map_or(0.0, Span::as_seconds)
    }

    /// The longer of round-trip time and target, in seconds (`prague_virtual_rtt`).
    fn virtual_rtt(&self) -> f64 {
        self.rtt_s().max(self.parameters.target_rtt.as_seconds())
    }

    fn minimum_rate(&self) -> f64 {
        self.parameters.minimum_rate.as_byte_per_s() / self.mss
    }

    fn rate_of_window(&self) -> f64 {
        let rtt = self.rtt_s();
        if rtt > 0.0 {
            (self.window / rtt).max(self.minimum_rate())
        } else {
            self.minimum_rate()
        }
    }

    fn window_of_rate(&self) -> f64 {
        self.rate * self.slow_rtt.unwrap_or_else(|| self.rtt_s())
    }

    /// Largest window, an exbibyte: sums of a few windows still fit in 64 bits.
    fn largest(&self) -> f64 {
        libm::floor((1_u64 << 60) as f64 / self.mss)
    }

    /// Returns the window in whole segments to which cwnd moves.
    fn whole(&self) -> f64 {
        libm::ceil(self.window - 1e-9).max(FLOOR)
    }

    /// Opens the window for `arrived` unmarked segments (`prague_update_cwnd`).
    fn open(&mut self, arrived: f64) {
        let mut arrived = arrived;
        if self.in_slow_start() {
            let used = arrived.min(self.ssthresh - self.cwnd);
            self.cwnd = (self.cwnd + used).min(self.largest());
            self.window = self.cwnd;
            arrived -= used;
            if arrived <= 0.0 {
                return;
            }
        }
        if self.keeps_rate() {
            let round = self.virtual_rtt();
            let window = libm::ceil(self.rate * round).max(1.0);
            self.rate += arrived / round / window;
            self.window = self.window.max(self.window_of_rate()).min(self.largest());
        } else {
            self.window = (self.window + arrived * self.increase / self.window).min(self.largest());
            self.rate = self.rate.max(self.rate_of_window());
        }
    }

    /// Moves cwnd by a segment towards the window.
    fn follow_window(&mut self) {
        let target = self.whole();
        if self.cwnd > target {
            self.cwnd = (self.cwnd - 1.0).max(target);
            self.ssthresh = self.cwnd;
        } else if self.cwnd < target {
            self.cwnd = (self.cwnd + 1.0).min(target);
        }
    }

    /// Ends a round trip (`prague_new_round`).
    fn begin_round(&mut self) {
        let rtt = self.rtt_s();
        self.slow_rtt = Some(match self.slow_rtt {
            Some(slow) => slow + RTT_WEIGHT * (rtt - slow),
            None => rtt,
        });
        (self.delivered, self.marked, self.round_ended) = (0.0, 0.0, false);
        if !self.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
        let target = self.parameters.target_rtt.as_seconds();
        let scaled = self.rounds >= self.parameters.transition_rounds
            && rtt > 0.0
            && rtt <= LONGEST_SCALED.as_seconds()
            && rtt < target;
        self.increase = if scaled {
            (rtt / target) * (rtt / target)
        } else {
            1.0
        };
    }

    /// Updates α at the end of a round trip, and of the target if the flow acts as if that were it
    /// (`prague_update_alpha`).
    fn update_alpha(&mut self, now: Time) {
        let waits = self.is_independent() && now.since(self.alpha_at) < self.parameters.target_rtt;
        if !self.round_ended || waits {
            return;
        }
        if self.saw_mark {
            let share = (self.marked / self.delivered.max(1.0)).min(1.0);
            self.alpha += self.parameters.gain * (share - self.alpha);
            self.alpha_at = now;
        }
        self.begin_round();
    }

    /// Chooses between window and rate as the state (`prague_cong_control`).
    fn choose_state(&mut self) {
        let most = f64::from(self.parameters.rate_mode_below.0);
        if self.saw_mark && self.cwnd <= most {
            if !self.in_rate_mode {
                self.in_rate_mode = true;
                self.rate = self.rate.max(self.minimum_rate());
            }
            self.window = self.window_of_rate();
        } else {
            self.in_rate_mode = false;
            self.rate = self.rate_of_window();
        }
    }

    /// Sets the pacing rate (`prague_update_pacing_rate`).
    fn update_pacing(&mut self, now: Time) {
        let rtt = self.rtt_s();
        if rtt <= 0.0 {
            return;
        }
        let mut rate = if self.keeps_rate() {
            let half = now.since(self.alpha_at).as_seconds() >= self.virtual_rtt() / 2.0;
            self.rate * if half { 1.0 - RIPPLE } else { 1.0 + RIPPLE }
        } else {
            let used = libm::floor(self.window).max(self.in_flight);
            self.rate = (used / rtt).max(self.minimum_rate());
            self.rate
        };
        if self.cwnd < self.ssthresh / 2.0 {
            rate *= 2.0;
        }
        self.pace = pace(rate, self.mss);
    }

    /// Reduces for marks, at most once per target (`prague_enter_cwr`).
    fn reduce_for_marks(&mut self, now: Time) {
        let too_soon = self.is_independent()
            && self
                .reduced_at
                .is_some_and(|at| now.since(at) < self.parameters.target_rtt);
        if too_soon {
            return;
        }
        self.reduced_at = Some(now);
        let kept = 1.0 - self.alpha / 2.0;
        if self.keeps_rate() {
            self.rate = (self.rate * kept).max(self.minimum_rate());
            self.window = self.window_of_rate();
        } else {
            self.window *= kept;
            self.rate = self.rate_of_window();
        }
        if self.cwnd > self.whole() {
            self.follow_window();
        }
    }

    /// Halves window and rate for a loss (`prague_enter_loss`).
    fn reduce_for_loss(&mut self) {
        self.undo = Some((self.cwnd, self.rate));
        if self.keeps_rate() {
            self.rate = (self.rate / 2.0).max(self.minimum_rate());
            self.window = self.window_of_rate();
        } else {
            self.window /= 2.0;
            self.rate = self.rate_of_window();
        }
        self.in_loss = true;
    }

    /// Counts the marks of the present round; the first one ends slow start.
    fn count_marks(&mut self, report: &MarkReport) {
        self.delivered += report.delivered.as_f64() / self.mss;
        self.marked += report.marked.as_f64() / self.mss;
        self.round_ended |= report.round_start;
        if report.marked > Bytes::ZERO && !self.saw_mark {
            self.saw_mark = true;
            if self.parameters.initial_alpha == 0.0 {
                self.window /= 2.0;
            }
            self.ssthresh = self.ssthresh.min(self.whole());
        }
    }
}

impl CongestionControl for PragueControl {
    fn needs(&self) -> Needs {
        Needs {
            marks: true,
            paces: true,
            replaces_recovery: true,
            ..Needs::default()
        }
    }

    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.rtt = ack.smoothed_rtt.or(self.rtt);
        self.in_flight = ack.in_flight.as_f64() / self.mss;
        self.in_loss &= matches!(ack.phase, RecoveryPhase::Recovery | RecoveryPhase::Loss);
        let unmarked = ack.newly_delivered.saturating_sub(ack.marked).as_f64() / self.mss;
        // Half of the window was in flight (RFC 7661 section 4.3); pacing may keep it from filling.
        let before = ack.in_flight.as_f64() + ack.newly_delivered.as_f64();
        let is_used = before >= self.cwnd * self.mss / 2.0;
        if unmarked > 0.0 && !self.in_loss && is_used {
            self.open(unmarked);
        }
        self.follow_window();
        self.update_alpha(now);
        self.update_pacing(now);
        self.choose_state();
    }

    fn on_congestion(&mut self, now: Time, congestion: &Congestion) {
        match congestion.kind {
            CongestionKind::Mark => self.reduce_for_marks(now),
            CongestionKind::Loss => {
                self.reduce_for_loss();
                self.cwnd = self.cwnd.min(self.whole());
                self.ssthresh = self.cwnd;
            }
            CongestionKind::Timeout | CongestionKind::RepeatedTimeout => {
                if congestion.kind == CongestionKind::Timeout {
                    self.reduce_for_loss();
                    self.ssthresh = self.whole();
                }
                let left = congestion.loss_window.as_f64() / self.mss;
                self.cwnd = libm::floor(left).max(1.0);
            }
            CongestionKind::SpuriousLoss => {
                self.in_loss = false;
                if let Some((cwnd, rate)) = self.undo.take() {
                    self.cwnd = self.cwnd.max(cwnd);
                    self.window = self.window.max(cwnd);
                    self.rate = self.rate.max(rate);
                }
            }
        }
    }

    fn on_event(&mut self, now: Time, event: &Event) {
        match event {
            Event::Open { rtt } => {
                self.rtt = *rtt;
                self.slow_rtt = rtt.map(Span::as_seconds);
                self.alpha_at = now;
                self.update_pacing(now);
            }
            Event::Marks(report) => self.count_marks(report),
            Event::RecoveryEnd => self.in_loss = false,
            Event::IdleRestart { limit } => {
                let limit = (limit.as_f64() / self.mss).max(1.0);
                self.cwnd = self.cwnd.min(libm::floor(limit));
                self.window = self.window.min(limit);
            }
            _ => {}
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes((self.cwnd * self.mss) as u64)
    }

    fn pace(&self) -> Pace {
        self.pace
    }

    fn state(&self) -> ControlState {
        ControlState {
            ssthresh: self
                .ssthresh
                .is_finite()
                .then_some(Bytes((self.ssthresh * self.mss) as u64)),
            mode: if self.in_slow_start() {
                "slow_start"
            } else if self.keeps_rate() {
                "rate"
            } else {
                "congestion_avoidance"
            },
            rate_estimate: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{AckClock, MSS};
    use super::*;
    use serde_json::{Value, json};

    fn clock(changes: Value, rtt_ms: u64, window: u64, ssthresh: Option<u64>) -> AckClock {
        let mut tree = json!({ "kind": "prague" });
        for (field, value) in changes.as_object().unwrap() {
            tree[field] = value.clone();
        }
        AckClock::new(&tree, Span::from_millis(rtt_ms), window, ssthresh)
    }

    #[test]
    fn slow_start_doubles_and_the_first_mark_halves() {
        let mut clock = clock(json!({}), 50, 10, None);
        (0..3).for_each(|_| clock.round());
        assert_eq!(clock.cwnd(), 80.0);
        clock.mark_next();
        clock.ack(MSS);
        // Step by step, a segment for each ACK; 79 unmarked ones open 40 segments by two.
        clock.round();
        assert!((40.0..=42.0).contains(&clock.cwnd()), "{}", clock.cwnd());
        assert_eq!(clock.control.state().mode, "congestion_avoidance");
    }

    #[test]
    fn growth_is_a_segment_per_round_trip_at_the_target_and_less_below() {
        for (rtt_ms, per_round) in [(50, 1.0), (25, 1.0), (10, 0.16), (5, 0.04)] {
            let mut clock = clock(json!({}), rtt_ms, 100, Some(1));
            // The transition, and more.
            (0..10).for_each(|_| clock.round());
            let before = clock.cwnd();
            let rounds = 200;
            (0..rounds).for_each(|_| clock.round());
            let grown = (clock.cwnd() - before) / f64::from(rounds);
            // Windows are rounded up: one segment in all.
            let band = 1.0 / f64::from(rounds) + 0.01 * per_round;
            assert!((grown - per_round).abs() <= band, "{rtt_ms} ms: {grown}");
        }
    }

    #[test]
    fn independent_marks_give_the_same_window_per_target_whatever_the_round_trip() {
        // Rates: window over round trip. The 5 ms flow acts as if its round trip were 25 ms.
        let rate = |rtt_ms: u64| {
            let mut clock = clock(json!({}), rtt_ms, 100, Some(50));
            clock.average_of_marked_rounds(0.01, 8000) / rtt_ms as f64
        };
        let (short, long) = (rate(5), rate(25));
        // Without the correction the ratio would be 5.
        assert!((0.8..1.25).contains(&(short / long)), "{short} {long}");
    }

    #[test]
    fn a_loss_halves_and_growth_waits_for_the_end_of_recovery() {
        let mut clock = clock(json!({}), 50, 100, Some(50));
        clock.react(CongestionKind::Loss);
        assert_eq!(clock.cwnd(), 50.0);
        clock.congestion(CongestionKind::SpuriousLoss);
        assert_eq!(clock.cwnd(), 100.0);
    }

    #[test]
    fn it_paces_at_a_window_per_round_trip_and_twice_that_in_slow_start() {
        for (ssthresh, gain) in [(Some(1), 1.0), (None, 2.0)] {
            let mut clock = clock(json!({}), 50, 100, ssthresh);
            clock.ack(MSS);
            let rate = clock.control.pace().rate.unwrap().as_byte_per_s();
            let expected = gain * 100.0 * MSS as f64 / 0.05;
            assert!((rate / expected - 1.0).abs() < 0.02, "{rate} {expected}");
        }
    }

    #[test]
    fn without_a_count_of_marks_it_is_reno() {
        use super::super::testing::context;
        use ackclock_spec::streams::Streams;
        let streams = Streams::new(1, 0);
        let context = ControlContext {
            counts_marks: false,
            ..context(&streams, 40, None)
        };
        let mut control = Prague::default().build(context);
        assert_eq!(control.pace().rate, None);
        let congestion = Congestion {
            kind: CongestionKind::Mark,
            base: Bytes(40 * MSS),
            in_flight: Bytes(40 * MSS),
            min_rtt: None,
            smoothed_rtt: None,
            loss_window: Bytes(MSS),
        };
        control.on_congestion(Time::ZERO, &congestion);
        assert_eq!(control.cwnd(), Bytes(20 * MSS));
    }
}
