//! COBALT, the control of one queue of CAKE (`sch_cake.c`): CoDel, which forgets step by step, and
//! BLUE for flows that do not react.

use ackclock_spec::streams::Stream;
use ackclock_spec::units::{Span, Time};

/// The constants of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Law {
    /// Allowed standing queueing delay.
    pub target: Span,
    /// Time for which the delay may exceed the target before the first signal.
    pub interval: Span,
    /// Time that a full packet takes at the shaper's rate.
    pub mtu_time: Span,
}

/// Reciprocal square roots of 2 to 15 as fractions of 2^32. Those of 0 and 1 are 2^32 − 1.
const INVERSE_ROOTS: [u32; 14] = [
    3_037_000_500,
    2_479_700_525,
    2_147_483_647,
    1_920_767_767,
    1_753_413_056,
    1_623_345_051,
    1_518_500_250,
    1_431_655_765,
    1_358_187_914,
    1_294_981_364,
    1_239_850_263,
    1_191_209_601,
    1_147_878_294,
    1_108_955_788,
];
/// BLUE's steps: a 256th up when the buffer overflows, a 4096th down when the queue is empty.
const BLUE_UP: u32 = 1 << 24;
const BLUE_DOWN: u32 = 1 << 20;

/// The state of one queue.
#[derive(Clone, Debug)]
pub(super) struct Cobalt {
    count: u32,
    inverse_root: u32,
    dropping: bool,
    /// Time of the next signal; without signals to come, the end of the activity.
    drop_next: Time,
    /// BLUE's drop probability as a fraction of 2^32, and the time of its last step.
    blue: u32,
    blue_at: Time,
}

impl Default for Cobalt {
    fn default() -> Self {
        Cobalt {
            count: 0,
            inverse_root: u32::MAX,
            dropping: false,
            drop_next: Time::ZERO,
            blue: 0,
            blue_at: Time::ZERO,
        }
    }
}

impl Cobalt {
    /// Sets the count, and the reciprocal square root: from the table, or by one step of Newton's
    /// method.
    fn set_count(&mut self, count: u32) {
        self.count = count;
        self.inverse_root = match count {
            0 | 1 => u32::MAX,
            2..=15 => INVERSE_ROOTS[count as usize - 2],
            _ => {
                let root = u64::from(self.inverse_root);
                let square = (root * root) >> 32;
                let correction = (3_u64 << 32).wrapping_sub(u64::from(count) * square) >> 2;
                (correction.wrapping_mul(root) >> 31) as u32
            }
        };
    }

    /// Returns the time of the signal after one at `time`.
    fn after(&self, time: Time, law: &Law) -> Time {
        let nanos = u128::from(law.interval.as_nanos()) * u128::from(self.inverse_root);
        time + Span::from_nanos((nanos >> 32) as u64)
    }

    /// Notes a drop because the buffer overflowed.
    pub fn note_overflow(&mut self, now: Time, law: &Law) {
        if now.since(self.blue_at) > law.target {
            self.blue = self.blue.saturating_add(BLUE_UP);
            self.blue_at = now;
        }
        (self.dropping, self.drop_next) = (true, now);
        if self.count == 0 {
            self.set_count(1);
        }
    }

    /// Notes that the queue was asked and had nothing.
    pub fn note_empty(&mut self, now: Time, law: &Law) {
        if self.blue > 0 && now.since(self.blue_at) > law.target {
            self.blue = self.blue.saturating_sub(BLUE_DOWN);
            self.blue_at = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.set_count(self.count - 1);
            self.drop_next = self.after(self.drop_next, law);
        }
    }

    /// True if the state has not yet come to rest.
    pub fn is_active(&self, now: Time) -> bool {
        self.blue > 0 || self.count > 0 || now < self.drop_next
    }

    /// Judges a packet that has waited for `delay`. `signals` says what becomes of a signal: true
    /// if it drops the packet.
    pub fn judge(
        &mut self,
        now: Time,
        delay: Span,
        (law, stream): (&Law, &mut Stream),
        signals: impl FnOnce() -> bool,
    ) -> bool {
        let late = delay > law.target && delay > law.mtu_time * 4;
        let mut due = self.count > 0 && now >= self.drop_next;
        if late {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.after(now, law);
            }
            if self.count == 0 {
                self.set_count(1);
            }
        } else {
            self.dropping = false;
        }
        let mut drops = false;
        if due && self.dropping {
            drops = signals();
            self.set_count(self.count.saturating_add(1));
            self.drop_next = self.after(self.drop_next, law);
        } else {
            while due {
                self.set_count(self.count - 1);
                self.drop_next = self.after(self.drop_next, law);
                due = self.count > 0 && now >= self.drop_next;
            }
        }
        if self.blue > 0 {
            drops |= ((stream.bits() >> 32) as u32) < self.blue;
        }
        if self.count == 0 {
            self.drop_next = now + law.interval;
        } else if now > self.drop_next && !drops {
            self.drop_next = now;
        }
        drops
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_spec::streams::Streams;

    const LAW: Law = Law {
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        mtu_time: Span::from_millis(1),
    };

    fn stream() -> Stream {
        Streams::new(7, 0).stream("hop/test/queue")
    }

    /// Judges a packet every 0.1 ms and returns the times of the signals.
    fn signals(cobalt: &mut Cobalt, ms: std::ops::Range<u64>, delay_ms: u64) -> Vec<f64> {
        let (mut stream, mut times) = (stream(), Vec::new());
        for tick in ms.start * 10..ms.end * 10 {
            let now = Time::from_nanos(tick * 100_000);
            let delay = Span::from_millis(delay_ms);
            if cobalt.judge(now, delay, (&LAW, &mut stream), || true) {
                times.push(now.as_seconds());
            }
        }
        times
    }

    /// The first signal comes an interval after the delay has exceeded the target. Then intervals
    /// shrink with the square root of the count, which is already 2 after the first.
    #[test]
    fn signals_come_at_the_inverse_square_root_of_their_count() {
        let times = signals(&mut Cobalt::default(), 0..2000, 20);
        let mut due = 0.1;
        for (count, time) in (2..).zip(&times[..25]) {
            assert!((time - due).abs() < 2e-4, "{count}: {time} {due}");
            due += 0.1 / f64::from(count).sqrt();
        }
    }

    #[test]
    fn a_delay_of_four_packets_has_no_signals() {
        assert!(signals(&mut Cobalt::default(), 0..1000, 4).is_empty());
        let slow = Law {
            mtu_time: Span::from_millis(12),
            ..LAW
        };
        let mut cobalt = Cobalt::default();
        for ms in 0..1000 {
            let (now, delay) = (Time::from_nanos(ms * 1_000_000), Span::from_millis(48));
            assert!(!cobalt.judge(now, delay, (&slow, &mut stream()), || true));
        }
    }

    /// Without delay the count falls at the times at which signals would have come.
    #[test]
    fn the_count_decays_step_by_step() {
        let mut cobalt = Cobalt::default();
        signals(&mut cobalt, 0..1000, 20);
        let most = cobalt.count;
        assert!(most > 10);
        signals(&mut cobalt, 1000..1100, 0);
        assert!(cobalt.count < most && cobalt.count > 0, "{}", cobalt.count);
        signals(&mut cobalt, 1100..4000, 0);
        assert_eq!(cobalt.count, 0);
    }

    #[test]
    fn blue_rises_with_overflows_and_falls_while_empty_once_per_target() {
        let mut cobalt = Cobalt::default();
        for ms in 1..=60 {
            cobalt.note_overflow(Time::from_nanos(ms * 1_000_000), &LAW);
        }
        // At 6, 12, …, 60 ms.
        assert_eq!(cobalt.blue, 10 * BLUE_UP);
        for ms in 61..=121 {
            cobalt.note_empty(Time::from_nanos(ms * 1_000_000), &LAW);
        }
        assert_eq!(cobalt.blue, 10 * BLUE_UP - 10 * BLUE_DOWN);
        assert!(cobalt.is_active(Time::from_seconds(1.0)));
    }
}
