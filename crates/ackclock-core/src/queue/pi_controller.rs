//! The proportional-integral controller of PI2 and DualPI2 (RFC 9332 appendix A.1). It adapts a
//! base probability p′ until the queueing delay meets a target.

use super::arithmetic::Arithmetic;
use ackclock_spec::prelude::*;

/// Shortest interval between updates, which bounds the work for a link that stands still; our own
/// choice.
const LEAST_INTERVAL: Span = Span::from_millis(1);
/// Linux's gains count 256ths per second (`sch_dualpi2.c`).
const GAINS_PER_HERTZ: f64 = 256.0;
/// Binary logarithm of the nanoseconds in which Linux counts delays.
const TICK_SHIFT: u32 = 6;
/// Linux's probabilities are fractions of that.
const ONE: u64 = u32::MAX as u64;

/// Refuses a target of zero and an interval between updates that is too short.
///
/// # Errors
/// With the name of the field.
pub(super) fn check_times(target: Span, update_interval: Span) -> Result<()> {
    every([
        check_above_zero("target", target, "15 ms"),
        in_range(
            update_interval >= LEAST_INTERVAL,
            "update_interval",
            &update_interval,
            "is shorter than 1 ms; for example \"15 ms\"",
        ),
    ])
}

/// The constants of a controller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gains {
    /// Delay to which the probability is adapted.
    pub target: Span,
    /// Time from one update to the next.
    pub update_interval: Span,
    /// Weight of the delay's distance from the target, per second.
    pub alpha: f64,
    /// Weight of the delay's change since the last update, per second.
    pub beta: f64,
}

impl Gains {
    /// Refuses what the controller cannot use.
    ///
    /// # Errors
    /// With the name of the field.
    pub fn check(&self, arithmetic: Arithmetic) -> Result<()> {
        let gain = |field, gain: f64, example| {
            // Rounded to 256ths, and at most 31 bits.
            let countable = gain * GAINS_PER_HERTZ >= 0.5 && gain <= 8_388_607.0;
            let uncountable = format!("rounds to none of Linux's 256ths; for example {example}");
            let linux = arithmetic == Arithmetic::Linux;
            every([
                check_positive(field, gain, example),
                consistent(
                    countable || !linux || gain <= 0.0,
                    field,
                    &gain,
                    &["arithmetic"],
                    &uncountable,
                ),
            ])
        };
        every([
            check_times(self.target, self.update_interval),
            gain("alpha", self.alpha, "0.16"),
            gain("beta", self.beta, "3.2"),
        ])
    }
}

/// The controller. There is no timer: who uses it makes up for the updates due by each arrival and
/// departure.
#[derive(Debug)]
pub(super) struct Controller {
    gains: Gains,
    /// Integers of Linux, or real numbers.
    integers: Option<Integers>,
    state: State,
    next_update: Time,
    /// Largest p′.
    most: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    /// p′.
    probability: f64,
    /// The delay at the last update.
    delay: Span,
}

/// Gains in Linux's integers.
#[derive(Debug)]
struct Integers {
    alpha: i64,
    beta: i64,
}

impl Integers {
    fn new(gains: &Gains) -> Self {
        let scaled = |gain: f64| {
            let parameter = libm::round(gain * GAINS_PER_HERTZ) as u64;
            // 256ths, and delays in 64ths: two bits remain.
            (((parameter * ONE) >> 2) / 1_000_000_000).cast_signed()
        };
        Integers {
            alpha: scaled(gains.alpha),
            beta: scaled(gains.beta),
        }
    }

    /// Returns a probability after a step.
    fn after(&self, probability: f64, delay: Span, from: [Span; 2]) -> f64 {
        let nanos = |span: Span| span.as_nanos().cast_signed();
        let part = |gain: i64, from| gain.wrapping_mul(nanos(delay) - nanos(from));
        let step = part(self.alpha, from[0]).wrapping_add(part(self.beta, from[1]));
        let size = step.unsigned_abs() >> TICK_SHIFT;
        let before = (probability * ONE as f64) as u64; // exact: 32 bits
        let after = if step > 0 {
            before.saturating_add(size).min(ONE)
        } else {
            before.saturating_sub(size)
        };
        after as f64 / ONE as f64
    }
}

impl Controller {
    pub fn new(gains: Gains, arithmetic: Arithmetic, most: f64) -> Self {
        let linux = arithmetic == Arithmetic::Linux;
        Controller {
            gains,
            integers: linux.then(|| Integers::new(&gains)),
            state: State {
                probability: 0.0,
                delay: Span::ZERO,
            },
            next_update: Time::ZERO + gains.update_interval,
            most,
        }
    }

    /// Returns p′, from 0 to 1.
    pub const fn probability(&self) -> f64 {
        self.state.probability
    }

    #[cfg(test)]
    pub const fn set_probability(&mut self, probability: f64) {
        self.state.probability = probability;
    }

    /// Updates p′ with the present delay.
    fn update(&mut self, delay: Span) {
        let State {
            probability,
            delay: before,
        } = self.state;
        let target = self.gains.target;
        let after = match &self.integers {
            Some(integers) => integers.after(probability, delay, [target, before]),
            None => {
                let beyond = |from: Span| delay.as_seconds() - from.as_seconds();
                let Gains { alpha, beta, .. } = self.gains;
                probability + alpha * beyond(target) + beta * beyond(before)
            }
        };
        self.state = State {
            probability: after.clamp(0.0, self.most),
            delay,
        };
    }

    /// Makes up for the updates due by `now`, but leaves out those that would change nothing. So
    /// the work of a long pause is bounded. `delay_at` returns the delay at a moment since the last
    /// arrival or departure.
    pub fn catch_up(&mut self, now: Time, delay_at: impl Fn(Time) -> Span) {
        let interval = self.gains.update_interval;
        while self.next_update <= now {
            let (at, before) = (self.next_update, self.state);
            self.update(delay_at(at));
            self.next_update = at + interval;
            if self.has_settled(before, &delay_at) {
                let left_out = now.since(at).as_nanos() / interval.as_nanos();
                self.state.delay = delay_at(at + interval * left_out);
                self.next_update = at + interval * (left_out + 1);
            }
        }
    }

    /// True if updates change nothing until a packet comes or goes. Either nothing waits and the
    /// update has changed nothing. Or the delay grows above the target, and the probability is the
    /// largest already.
    fn has_settled(&self, before: State, delay_at: impl Fn(Time) -> Span) -> bool {
        let state = self.state;
        if delay_at(self.next_update) == state.delay {
            return state == before;
        }
        let most = [before, state]
            .iter()
            .all(|state| state.probability == self.most);
        most && state.delay > self.gains.target
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAINS: Gains = Gains {
        target: Span::from_millis(15),
        update_interval: Span::from_millis(16),
        alpha: 0.16,
        beta: 3.2,
    };

    /// α (q − target) + β (q − the delay before), computed by hand; Linux's gains are 41 and 819
    /// 256ths.
    #[test]
    fn the_probability_takes_the_steps_of_the_control_law() {
        let expected = [0.0648, 0.0992, 0.1016, 0.0704, 0.0376];
        for (arithmetic, tolerance) in [(Arithmetic::Exact, 1e-9), (Arithmetic::Linux, 1e-4)] {
            let mut controller = Controller::new(GAINS, arithmetic, 1.0);
            for (delay, expected) in [20, 30, 30, 20, 10].into_iter().zip(expected) {
                controller.update(Span::from_millis(delay));
                let probability = controller.probability();
                assert!(
                    (probability - expected).abs() < tolerance,
                    "{probability} {expected}"
                );
            }
        }
    }

    #[test]
    fn linux_has_256ths() {
        let mut controller = Controller::new(GAINS, Arithmetic::Linux, 1.0);
        controller.update(Span::from_millis(20));
        // 41 and 819 256ths per second are 44 and 879 in units of 2^-32 in 64 ns.
        let step = (44 * 5_000_000 + 879 * 20_000_000_i64) / 64;
        assert_eq!(controller.probability(), step as f64 / f64::from(u32::MAX));
    }

    #[test]
    fn the_probability_stays_between_zero_and_its_bound() {
        for arithmetic in [Arithmetic::Exact, Arithmetic::Linux] {
            let mut controller = Controller::new(GAINS, arithmetic, 0.5);
            controller.update(Span::from_millis(2000));
            assert_eq!(controller.probability(), 0.5);
            controller.update(Span::ZERO);
            assert_eq!(controller.probability(), 0.0);
        }
    }

    /// With packets that wait, the delay grows with time; without, it is zero.
    #[test]
    fn updates_left_out_in_a_pause_would_have_changed_nothing() {
        let until = Time::from_seconds(3600.0);
        for arithmetic in [Arithmetic::Exact, Arithmetic::Linux] {
            for waiting in [false, true] {
                let delay_at = |at: Time| match waiting {
                    true => at.since(Time::ZERO),
                    false => Span::ZERO,
                };
                let [mut all, mut few] = [(); 2].map(|()| Controller::new(GAINS, arithmetic, 1.0));
                (all.state.probability, few.state.probability) = (0.3, 0.3);
                while all.next_update <= until {
                    all.update(delay_at(all.next_update));
                    all.next_update = all.next_update + GAINS.update_interval;
                }
                few.catch_up(until, delay_at);
                assert_eq!((all.state, all.next_update), (few.state, few.next_update));
            }
        }
    }

    #[test]
    fn a_century_of_silence_takes_no_time() {
        let century = Time::from_seconds(100.0 * 365.0 * 86_400.0);
        for waiting in [false, true] {
            let mut controller = Controller::new(GAINS, Arithmetic::Exact, 1.0);
            controller.catch_up(century, |at| match waiting {
                true => at.since(Time::ZERO),
                false => Span::ZERO,
            });
            assert!(controller.next_update > century);
        }
    }
}
