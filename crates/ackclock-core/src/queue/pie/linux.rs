//! PIE in the integers of Linux (`sch_pie.c`, `pie.h`), with timestamps.
//!
//! A probability is a fraction of 2^56 − 1, and a time counts ticks of 64 ns. The delay is that of
//! the last packet that left, or zero if it left nothing behind.

use super::{Control, Departing, Line, Pie};
use ackclock_spec::streams::Stream;
use ackclock_spec::units::{Bytes, Span, Time};

/// Probability 1.
const ONE: u64 = u64::MAX >> 8;
/// Binary logarithm of a tick in nanoseconds.
const TICK_SHIFT: u32 = 6;
const TICKS_PER_SECOND: u64 = 1_000_000_000 >> TICK_SHIFT;
/// Time of the first update.
const FIRST_UPDATE: Time = Time::from_nanos(500_000_000);
/// Delay above which an update adds 2 % on top.
const HIGH_DELAY: u64 = 250_000_000 >> TICK_SHIFT;
/// Gains count sixteenths.
const GAIN_SHIFT: u32 = 4;
/// An update without delay, after another one, takes a 64th away.
const DECAY_SHIFT: u32 = 6;

const fn ticks(nanos: u64) -> u64 {
    nanos >> TICK_SHIFT
}

/// The control of one line.
#[derive(Debug)]
pub(crate) struct Linux {
    alpha: u64,
    beta: u64,
    target: u64,
    burst_allowance: u64,
    update_interval: Span,
    mark_up_to: u64,
    /// Nothing is dropped at random with less than this waiting.
    spared: Bytes,
    next_update: Time,
    state: State,
}

/// The variables of `pie_vars`; times in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    probability: u64,
    /// Sum of the probabilities of the packets since the last drop.
    accumulated: u64,
    delay: u64,
    /// Delay at the last update.
    old_delay: u64,
    /// Rest of the burst allowance.
    burst: u64,
    last_departure: Option<u64>,
}

impl Linux {
    /// Returns the gains at the present probability: a fraction of probability 1 per tick.
    fn gains(&self) -> (u64, u64) {
        let scaled = |gain: u64| (gain * (ONE / TICKS_PER_SECOND)) >> GAIN_SHIFT;
        let (mut alpha, mut beta) = (scaled(self.alpha), scaled(self.beta));
        if self.state.probability < ONE / 10 {
            (alpha, beta) = (alpha >> 1, beta >> 1);
            let mut power = 100;
            while power <= 1_000_000 && self.state.probability < ONE / power {
                (alpha, beta) = (alpha >> 2, beta >> 2);
                power *= 10;
            }
        }
        (alpha, beta)
    }

    /// Updates the probability; `waiting` is false if nothing waits.
    fn update(&mut self, waiting: bool) {
        let (alpha, beta) = self.gains();
        let State {
            probability: before,
            delay,
            old_delay,
            ..
        } = self.state;
        let product = |gain: u64, from: u64| gain.wrapping_mul(delay.wrapping_sub(from));
        let sum = product(alpha, self.target).wrapping_add(product(beta, old_delay));
        let mut step = sum.cast_signed();
        if step > (ONE / 50).cast_signed() && before >= ONE / 10 {
            step = (ONE / 100 * 2).cast_signed();
        }
        if delay > HIGH_DELAY {
            step += (ONE / 50).cast_signed();
        }
        let mut after = before.saturating_add_signed(step).min(ONE);
        // No decay with so little waiting that the delay counts as zero.
        if delay == 0 && old_delay == 0 && !waiting {
            after -= after >> DECAY_SHIFT;
        }
        self.state.probability = after;
        let short = |delay: u64| delay < self.target / 2;
        if short(delay) && short(old_delay) && after == 0 {
            self.begin();
        }
        self.state.old_delay = delay;
    }

    /// Begins again after congestion; `pie_vars_init`.
    fn begin(&mut self) {
        self.state.burst = self.burst_allowance;
        self.state.accumulated = 0;
        self.state.last_departure = None;
    }
}

impl Control for Linux {
    fn new(parameters: &Pie) -> Self {
        let sixteenths = |gain: f64| (gain * f64::from(1 << GAIN_SHIFT)) as u64; // checked
        let burst_allowance = ticks(parameters.burst_allowance.as_nanos());
        Linux {
            alpha: sixteenths(parameters.alpha),
            beta: sixteenths(parameters.beta),
            target: ticks(parameters.target.as_nanos()),
            burst_allowance,
            update_interval: parameters.update_interval,
            mark_up_to: (parameters.mark_up_to.get() * ONE as f64) as u64,
            spared: parameters.mean_packet * 2,
            next_update: FIRST_UPDATE,
            state: State {
                probability: 0,
                accumulated: 0,
                delay: 0,
                old_delay: 0,
                burst: burst_allowance,
                last_departure: None,
            },
        }
    }

    /// The delay does not change while no packet leaves. So once an update has changed nothing,
    /// none does.
    fn catch_up(&mut self, now: Time, line: Line) {
        while self.next_update <= now {
            let (at, before) = (self.next_update, self.state);
            self.update(line.bytes > Bytes::ZERO);
            let passed = if self.state == before {
                now.since(at).as_nanos() / self.update_interval.as_nanos()
            } else {
                0
            };
            self.next_update = at + self.update_interval * (passed + 1);
        }
    }

    fn strikes(&mut self, line: Line, stream: &mut Stream) -> bool {
        let State {
            probability,
            delay,
            burst,
            ..
        } = self.state;
        let uncongested = delay < self.target / 2 && probability < ONE / 5;
        if burst > 0 || uncongested || line.bytes < self.spared {
            return false;
        }
        self.state.accumulated = match probability {
            0 => 0,
            _ => self.state.accumulated + probability,
        };
        if self.state.accumulated < ONE / 100 * 85 {
            return false;
        }
        if self.state.accumulated >= ONE / 2 * 17 {
            return true; // the sum begins again only if this is a drop
        }
        let strikes = stream.bits() >> 8 < probability;
        if strikes {
            self.state.accumulated = 0;
        }
        strikes
    }

    fn may_mark(&self) -> bool {
        self.state.probability <= self.mark_up_to
    }

    fn note_departure(&mut self, now: Time, packet: Departing, left: Line) {
        let now = ticks(now.as_nanos());
        self.state.delay = if left.bytes == Bytes::ZERO {
            0
        } else {
            now - ticks(packet.arrival.as_nanos())
        };
        let since = self
            .state
            .last_departure
            .replace(now)
            .map(|last| now - last);
        self.state.burst = self.state.burst.saturating_sub(since.unwrap_or(0));
    }

    fn note_drop(&mut self) {
        self.state.accumulated = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linux(probability: f64, old_ms: u64) -> Linux {
        let mut control = Linux::new(&Pie::default());
        control.state.probability = (probability * ONE as f64) as u64;
        control.state.old_delay = ticks(old_ms * 1_000_000);
        control
    }

    fn update(control: &mut Linux, delay_ms: u64) -> f64 {
        control.state.delay = ticks(delay_ms * 1_000_000);
        control.update(true);
        control.state.probability as f64 / ONE as f64
    }

    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!(
            (found - expected).abs() <= tolerance * expected.abs(),
            "{found} is not {expected}"
        );
    }

    /// The integers agree with the real numbers of RFC 8033 to six digits.
    #[test]
    fn the_probability_takes_the_steps_of_the_control_law() {
        let mut control = linux(0.0, 0);
        let expected = [1.251_22e-5, 1.248_17e-4, 1.834_11e-4, 0.0, 0.0];
        for (delay, expected) in [20, 30, 30, 20, 10].into_iter().zip(expected) {
            near(update(&mut control, delay), expected, 1e-5);
        }
    }

    /// (drop probability, delay before, delay, new drop probability), delays in ms.
    #[test]
    fn steps_are_tuned_and_capped() {
        for (before, old, delay, expected) in [
            (0.2, 50, 100, 0.22),
            (0.2, 50, 300, 0.24),
            (0.005, 20, 20, 0.005_078_125),
            (0.995, 100, 300, 1.0),
        ] {
            near(update(&mut linux(before, old), delay), expected, 1e-6);
        }
    }

    /// After two updates without delay a 64th is taken away, if nothing waits.
    #[test]
    fn an_empty_line_makes_the_probability_decay() {
        let rest = 0.2 - 0.125 * 0.015;
        for (waiting, expected) in [(false, rest * 63.0 / 64.0), (true, rest)] {
            let mut control = linux(0.2, 0);
            control.update(waiting);
            near(
                control.state.probability as f64 / ONE as f64,
                expected,
                1e-6,
            );
        }
    }

    #[test]
    fn the_burst_allowance_counts_the_time_between_departures() {
        let mut control = linux(0.0, 0);
        let allowance = control.burst_allowance;
        let line = Line {
            first_at: None,
            bytes: Bytes(3000),
        };
        for ms in [10, 40, 250] {
            let now = Time::from_nanos(ms * 1_000_000);
            let packet = Departing {
                arrival: now,
                size: Bytes(1500),
            };
            control.note_departure(now, packet, line);
            // The first departure has none before it.
            let passed = ticks(ms * 1_000_000) - ticks(10_000_000);
            assert_eq!(control.state.burst, allowance.saturating_sub(passed));
        }
    }

    /// The first packet strikes at random once the sum is 0.85, and surely at 8.5. A strike that
    /// becomes a mark leaves a sum of 8.5 standing.
    #[test]
    fn a_sure_strike_begins_the_sum_again_only_if_it_drops() {
        let mut control = linux(0.05, 20);
        (control.state.burst, control.state.delay) = (0, ticks(20_000_000));
        control.state.accumulated = ONE / 2 * 17;
        let mut stream = ackclock_spec::streams::Streams::new(7, 0).stream("hop/test/queue");
        let line = Line {
            first_at: None,
            bytes: Bytes(3000),
        };
        assert!(control.strikes(line, &mut stream) && control.strikes(line, &mut stream));
        control.note_drop();
        assert!(!control.strikes(line, &mut stream));
    }

    #[test]
    fn a_century_of_silence_takes_no_time() {
        let century = Time::from_seconds(100.0 * 365.0 * 86_400.0);
        for delay_ms in [0, 5, 20, 300] {
            let mut control = linux(0.3, 0);
            control.state.delay = ticks(delay_ms * 1_000_000);
            let line = Line {
                first_at: None,
                bytes: Bytes(3000),
            };
            control.catch_up(century, line);
            assert!(control.next_update > century);
        }
    }
}
