//! The control law of CoDel (RFC 8289), for any line of packets with arrival times.

use super::arithmetic::Arithmetic;
use super::facts::Classifier;
use crate::observe::{Context, DropReason};
use crate::packet::{Ecn, PacketId};
use ackclock_spec::prelude::*;
use serde_json::json;

/// The constants of the law.
#[derive(Clone, Debug)]
pub(super) struct Law {
    /// Allowed standing queueing delay.
    pub target: Span,
    /// Time for which the delay may exceed the target before the first drop.
    pub interval: Span,
    /// True if ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Nothing is dropped with at most this many bytes waiting.
    pub mtu: Bytes,
    /// Linux has a clock of 1024 ns, takes an interval as over when more than it has passed, and
    /// approximates reciprocal square roots ([`Signals`]).
    pub arithmetic: Arithmetic,
    /// Marks beside those of the law.
    pub step: Option<Step>,
}

/// A threshold of the delay above which a packet is marked as it leaves: `ce_threshold` of Linux.
/// The law goes on as if there were none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// A packet that has waited longer is marked.
    pub threshold: Span,
    /// Packets that it may mark.
    pub marks: Classifier,
}

/// A line of packets under control of the law.
pub(super) trait Line {
    /// Removes the first packet and returns it with its arrival time.
    fn take(&mut self, context: &mut Context<'_>) -> Option<(Time, PacketId)>;
    /// Returns the bytes that the law compares with its `mtu`.
    fn bytes(&self) -> Bytes;
}

/// The state of RFC 8289 section 5.2: first_above_time_ is `late_from`, lastcount_ `last_count`.
#[derive(Debug, Default)]
pub(super) struct ControlledDelay {
    /// Time at which the delay will have exceeded the target for an interval; `None` while it does
    /// not exceed it.
    late_from: Option<Time>,
    /// True while packets are being dropped; then, the time of the next drop.
    dropping: bool,
    drop_next: Time,
    /// Signals in this dropping state, and the count with which it began.
    signals: Signals,
    last_count: u64,
    /// Arrival of the packet that was taken last.
    arrival: Time,
}

/// A count of signals, and one over its square root as Linux has it: a fraction of 2^16.
///
/// Linux corrects the fraction by one step of Newton's method for each signal. So the second
/// interval of a dropping state is half the first, instead of 0.71 of it; from the third on the
/// error is below 3 % (`codel_impl.h`).
#[derive(Clone, Copy, Debug, Default)]
struct Signals {
    count: u64,
    inverse_root: u16,
}

impl Signals {
    /// The first signal.
    const FIRST: Self = Signals {
        count: 1,
        inverse_root: u16::MAX,
    };

    /// Returns a new count, with the fraction corrected for it.
    fn corrected(self, count: u64) -> Self {
        // x (3 − count x²)/2, with x and x² as fractions of 2^32.
        let root = u64::from(self.inverse_root) << 16;
        let square = (root * root) >> 32;
        // Beyond x = sqrt(3/count) the step would be negative, and wraps around in Linux.
        let correction = (3_u64 << 32).wrapping_sub(count.wrapping_mul(square)) >> 2;
        let root = correction.wrapping_mul(root) >> 31;
        Signals {
            count,
            inverse_root: (root >> 16) as u16,
        }
    }
}

/// The packet taken from the head of the line.
#[derive(Clone, Copy, Debug)]
enum Head {
    Empty,
    InTime(PacketId),
    /// May be dropped: ok_to_drop.
    Late(PacketId),
}

impl Head {
    const fn packet(self) -> Option<PacketId> {
        match self {
            Head::Empty => None,
            Head::InTime(id) | Head::Late(id) => Some(id),
        }
    }
}

/// Result of a signal to a late packet.
#[derive(Clone, Copy, Debug)]
enum Signal {
    Marked,
    /// The packet behind it.
    Dropped(Head),
}

/// Binary logarithm of Linux's tick in nanoseconds.
const TICK_SHIFT: u32 = 10;

impl Law {
    /// Returns the time of the drop after one at `time`: control_law of RFC 8289 section 5.6.
    /// Throughput is proportional to one over the square root of the drop probability, so
    /// intervals of this length make it fall linearly with time.
    fn after(&self, time: Time, signals: Signals) -> Time {
        let Signals {
            count,
            inverse_root,
        } = signals;
        time + match self.arithmetic {
            Arithmetic::Exact => {
                Span::from_seconds(self.interval.as_seconds() / libm::sqrt(count as f64))
            }
            Arithmetic::Linux => {
                let ticks = self.interval.as_nanos() >> TICK_SHIFT;
                Span::from_nanos((ticks * u64::from(inverse_root)) >> 16 << TICK_SHIFT)
            }
        }
    }

    /// Returns the time of the law's clock.
    const fn clock(&self, time: Time) -> Time {
        Time::from_nanos(self.rounded(time.as_nanos()))
    }
    /// Returns the interval of the law's clock.
    const fn interval(&self) -> Span {
        Span::from_nanos(self.rounded(self.interval.as_nanos()))
    }
    const fn rounded(&self, nanos: u64) -> u64 {
        match self.arithmetic {
            Arithmetic::Exact => nanos,
            Arithmetic::Linux => nanos >> TICK_SHIFT << TICK_SHIFT,
        }
    }

    /// True if a packet that arrived at `arrival` has waited for less than the target.
    fn is_in_time(&self, arrival: Time, now: Time) -> bool {
        let waited = self.clock(now).since(self.clock(arrival));
        waited.as_nanos() < self.rounded(self.target.as_nanos())
    }

    /// True if a packet that arrived at `arrival` has waited for longer than a threshold.
    fn is_beyond(&self, threshold: Span, arrival: Time, now: Time) -> bool {
        let waited = self.clock(now).since(self.clock(arrival));
        waited.as_nanos() > self.rounded(threshold.as_nanos())
    }

    /// True if the interval that ends at `end` is over.
    fn is_over(&self, end: Time, now: Time) -> bool {
        match self.arithmetic {
            Arithmetic::Exact => now >= end,
            Arithmetic::Linux => self.clock(now) > end,
        }
    }
}

impl ControlledDelay {
    /// Returns the next packet to send, after drops and marks.
    pub fn dequeue(
        &mut self,
        now: Time,
        law: &Law,
        line: &mut impl Line,
        context: &mut Context<'_>,
    ) -> Option<PacketId> {
        let next = self.dequeue_by_law(now, law, line, context);
        if let (Some(step), Some(id)) = (law.step, next) {
            step.apply(
                law.is_beyond(step.threshold, self.arrival, now),
                now,
                id,
                context,
            );
        }
        next
    }

    /// Returns the next packet to send, after drops and marks of the law (RFC 8289 section 5.5).
    fn dequeue_by_law(
        &mut self,
        now: Time,
        law: &Law,
        line: &mut impl Line,
        context: &mut Context<'_>,
    ) -> Option<PacketId> {
        let mut head = self.take(now, law, line, context);
        if self.dropping {
            // With a large backlog several drops may be due at once.
            while let Head::Late(id) = head
                && now >= self.drop_next
            {
                self.signals = self.signals.corrected(self.signals.count + 1);
                match self.signal(now, law, id, line, context) {
                    Signal::Marked => {
                        self.drop_next = law.after(self.drop_next, self.signals);
                        return Some(id);
                    }
                    Signal::Dropped(next) => head = next,
                }
                if matches!(head, Head::Late(_)) {
                    self.drop_next = law.after(self.drop_next, self.signals);
                }
            }
            self.dropping = matches!(head, Head::Late(_));
        } else if let Head::Late(id) = head {
            if let Signal::Dropped(next) = self.signal(now, law, id, line, context) {
                head = next;
            }
            self.begin_dropping(now, law);
        }
        head.packet()
    }

    /// Counts a drop for another reason than the delay as one in the present dropping state.
    pub const fn count_drop(&mut self) {
        self.signals.count += 1;
    }

    /// dodequeue of RFC 8289 section 5.6: takes the next packet, and determines whether the delay
    /// has exceeded the target for an interval.
    fn take(
        &mut self,
        now: Time,
        law: &Law,
        line: &mut impl Line,
        context: &mut Context<'_>,
    ) -> Head {
        let Some((arrival, id)) = line.take(context) else {
            self.late_from = None;
            return Head::Empty;
        };
        self.arrival = arrival;
        if law.is_in_time(arrival, now) || line.bytes() <= law.mtu {
            self.late_from = None;
            return Head::InTime(id);
        }
        let due = law.clock(now) + law.interval();
        let late_from = *self.late_from.get_or_insert(due);
        if law.is_over(late_from, now) {
            Head::Late(id)
        } else {
            Head::InTime(id)
        }
    }

    /// Marks a packet if possible, as Linux does. Otherwise drops it and takes the next.
    fn signal(
        &mut self,
        now: Time,
        law: &Law,
        id: PacketId,
        line: &mut impl Line,
        context: &mut Context<'_>,
    ) -> Signal {
        if law.ecn && context.mark_packet(now, id) {
            return Signal::Marked;
        }
        context.drop_packet(now, id, DropReason::Aqm);
        Signal::Dropped(self.take(now, law, line, context))
    }

    /// Enters the dropping state (RFC 8289 section 5.5). If the last one ended less than 16
    /// intervals ago, its final rate is a better start than one drop per interval.
    fn begin_dropping(&mut self, now: Time, law: &Law) {
        let drops = self.signals.count - self.last_count;
        let now = law.clock(now);
        let recent = now.since(self.drop_next) < law.interval() * 16;
        self.signals = if drops > 1 && recent {
            self.signals.corrected(drops)
        } else {
            Signals::FIRST
        };
        self.last_count = self.signals.count;
        self.drop_next = law.after(now, self.signals);
        self.dropping = true;
    }
}

impl Step {
    /// Returns the step of a queue's parameters.
    pub fn of(threshold: Option<Span>, marks: Option<Classifier>) -> Option<Self> {
        let marks = marks.unwrap_or(Classifier::AnyEct);
        threshold.map(|threshold| Step { threshold, marks })
    }

    /// Marks a packet that leaves, if it is beyond the threshold and may be marked.
    #[cold] // few queues have a step
    #[inline(never)]
    pub fn apply(self, beyond: bool, now: Time, id: PacketId, context: &mut Context<'_>) {
        let chosen = self.marks == Classifier::AnyEct
            || matches!(context.packets[id].ecn(), Ecn::CapableL4s);
        if beyond && chosen {
            let _ = context.mark_packet(now, id); // what is not capable passes
        }
    }
}

/// Refuses a target of zero, and an interval that is not longer than the target.
///
/// # Errors
/// With the name of the field, `target` or `interval`.
pub(super) fn check_times(target: Span, interval: Span) -> Result<()> {
    let longer = format!(
        "is not longer than the target, {}; for example twenty times as long",
        json!(target)
    );
    every([
        check_above_zero("target", target, "5 ms"),
        consistent(
            interval > target,
            "interval",
            &interval,
            &["target"],
            &longer,
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the intervals after the first nine signals, in seconds.
    fn gaps(arithmetic: Arithmetic) -> Vec<f64> {
        let law = Law {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            ecn: false,
            mtu: Bytes(1500),
            arithmetic,
            step: None,
        };
        let mut signals = Signals::FIRST;
        let mut gaps = Vec::new();
        for next in 2..=10 {
            gaps.push(law.after(Time::ZERO, signals).as_seconds());
            signals = signals.corrected(next);
        }
        gaps
    }

    /// The inverse square root, exact and by one step of Newton's method for each signal.
    #[test]
    fn gaps_follow_the_inverse_square_root() {
        let exact = [
            100.0, 70.711, 57.735, 50.0, 44.721, 40.825, 37.796, 35.355, 33.333,
        ];
        let linux = [
            99.998, 50.001, 56.249, 48.778, 44.151, 40.406, 37.517, 35.151, 33.181,
        ];
        for (arithmetic, expected) in [(Arithmetic::Exact, exact), (Arithmetic::Linux, linux)] {
            for (gap, expected) in gaps(arithmetic).iter().zip(expected) {
                // The expected values are rounded to the microsecond.
                assert!((gap * 1e3 - expected).abs() < 5.1e-4, "{gap} {expected}");
            }
        }
    }

    #[test]
    fn the_approximation_approaches_the_root() {
        let mut signals = Signals::FIRST;
        for count in 2..=1000_u64 {
            signals = signals.corrected(count);
            let root = f64::from(signals.inverse_root) / 65_536.0;
            let error = root * libm::sqrt(count as f64) - 1.0;
            // A fraction of 2^16 is cut off; from 9 on, its error is below 0.5 %.
            assert!(count < 9 || error.abs() < 0.005, "{count}: {error}");
        }
    }
}
