//! The time at which a permitted segment leaves: pacing spreads segments over the round trip, and
//! jitter breaks phase effects.

use super::parameters::Pacing;
use crate::congestion::CongestionControl;
use ackclock_spec::streams::Stream;
use ackclock_spec::units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Pacing rate over cwnd/SRTT in slow start, and after it (the usual setting of Linux).
pub(super) const SLOW_START_GAIN: f64 = 2.0;
pub(super) const AVOIDANCE_GAIN: f64 = 1.2;

/// Keeps segments apart.
#[derive(Debug, Default)]
pub(super) struct Pacer {
    next: Time,
    /// Fraction of a nanosecond by which `next` is too early, so that high rates do not drift.
    /// Below zero, the nanoseconds by which gaps may still be shorter.
    fraction: f64,
}

impl Pacer {
    /// Returns when the next segment may leave.
    pub const fn next(&self) -> Time {
        self.next
    }

    /// Records that a segment leaves now which pacing does not delay.
    pub fn on_unpaced(&mut self, now: Time) {
        self.next = self.next.max(now);
    }

    /// Lets the gaps after the segments of this moment be shorter by as much as they are late, each
    /// at most by half. Call it before [`Pacer::on_sent`].
    pub fn give_credit(&mut self, now: Time) {
        if self.next < now {
            self.fraction = -(now.since(self.next).as_nanos() as f64);
            self.next = now;
        } else if self.next == now {
            self.fraction = self.fraction.max(0.0); // credit is not kept
        }
    }

    /// Records that a segment of `length` bytes leaves now at `bytes_per_s`. The gap is at most
    /// `longest`: even at rate zero, the retransmission timer can send its segment.
    pub fn on_sent(&mut self, now: Time, length: u64, bytes_per_s: f64, longest: Span) {
        if self.next < now {
            self.next = now;
            self.fraction = 0.0;
        }
        let gap = length as f64 * 1e9 / bytes_per_s;
        let carried = self.fraction.max(-gap / 2.0);
        let nanos = gap + carried;
        if !nanos.is_finite() || nanos >= longest.as_nanos() as f64 {
            self.next = self.next + longest;
            self.fraction = 0.0;
        } else {
            let whole = libm::floor(nanos.max(0.0));
            self.next = self.next + Span::from_nanos(whole as u64);
            self.fraction = nanos.max(0.0) - whole + (self.fraction - carried);
        }
    }

    /// Ends the last gap by now.
    pub fn end_gap(&mut self, now: Time) {
        if self.next > now {
            (self.next, self.fraction) = (now, 0.0);
        }
    }

    /// Discards the last gap.
    pub fn reset(&mut self) {
        *self = Pacer::default();
    }
}

/// Returns the pacing rate in bytes per second, made of `window` if the control has none; `None` to
/// send at once.
pub(super) fn rate(
    pacing: Pacing,
    control: &dyn CongestionControl,
    window: u64,
    smoothed_rtt: Option<Span>,
) -> Option<f64> {
    if let Some(rate) = control.pace().rate {
        return Some(rate.as_byte_per_s());
    }
    if pacing != Pacing::Always {
        return None;
    }
    let seconds = smoothed_rtt?.as_seconds();
    if seconds <= 0.0 {
        return None;
    }
    let Bytes(cwnd) = control.cwnd();
    let slow_start = control
        .state()
        .ssthresh
        .is_none_or(|threshold| cwnd < threshold.0);
    let gain = if slow_start {
        SLOW_START_GAIN
    } else {
        AVOIDANCE_GAIN
    };
    Some(gain * window as f64 / seconds)
}

/// Delays each segment uniformly by up to `most`, in order.
#[derive(Debug)]
pub(super) struct Jitter {
    stream: Stream,
    most: Span,
    /// Release times of segments that could have left already; never decreasing.
    releases: VecDeque<Time>,
}

impl Jitter {
    /// Most release times held; more make no difference.
    const MOST_HELD: u64 = 1 << 16;

    pub fn new(stream: Stream, most: Span) -> Self {
        Jitter {
            stream,
            most,
            releases: VecDeque::new(),
        }
    }

    /// Returns when the first of the `ready` segments (at least one) that could leave now does
    /// leave.
    pub fn release(&mut self, now: Time, ready: u64) -> Time {
        let ready = ready.clamp(1, Self::MOST_HELD) as usize;
        // There are fewer than before if a reaction to congestion has withdrawn the permission.
        self.releases.truncate(ready);
        while self.releases.len() < ready {
            let earliest = self.releases.back().copied().unwrap_or(now);
            let release = earliest.max(now + self.stream.uniform_span(self.most));
            self.releases.push_back(release);
        }
        self.releases[0]
    }

    /// Records that the first segment has left.
    pub fn on_sent(&mut self) {
        self.releases.pop_front();
    }

    /// Discards all release times: no segment may leave.
    pub fn forget(&mut self) {
        self.releases.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_spec::streams::Streams;

    #[test]
    fn gaps_add_up_to_the_rate_without_drift() {
        let mut pacer = Pacer::default();
        // At 3 bytes/ns, the gap of 1000 bytes is 333 1/3 ns.
        let mut now = Time::ZERO;
        for _ in 0..3000 {
            pacer.on_sent(now, 1000, 3e9, Span::from_millis(1));
            now = pacer.next();
        }
        assert!(now.as_nanos().abs_diff(1_000_000) <= 1, "{now:?}");
    }

    #[test]
    fn a_rate_of_zero_waits_as_long_as_it_may() {
        let mut pacer = Pacer::default();
        pacer.on_sent(Time::ZERO, 1000, 0.0, Span::from_millis(7));
        assert_eq!(pacer.next(), Time::ZERO + Span::from_millis(7));
    }

    #[test]
    fn time_not_used_is_not_saved_up() {
        let mut pacer = Pacer::default();
        let late = Time::ZERO + Span::from_millis(500);
        pacer.on_sent(Time::ZERO, 1000, 1e6, Span::FOREVER);
        pacer.on_sent(late, 1000, 1e6, Span::FOREVER);
        assert_eq!(pacer.next(), late + Span::from_millis(1));
    }

    /// A burst of two, 10 µs late and then 5 ms: each gap would be 1 ms.
    #[test]
    fn a_late_burst_shortens_its_gaps_by_half_at_most() {
        let mut pacer = Pacer::default();
        let mut send = |at_us: u64| {
            let now = Time::ZERO + Span::from_micros(at_us);
            pacer.give_credit(now);
            pacer.on_sent(now, 1000, 1e6, Span::FOREVER);
            pacer.next().as_nanos() / 1000
        };
        assert_eq!((send(0), send(0)), (1_000, 2_000));
        assert_eq!((send(2_010), send(2_010)), (3_000, 4_000));
        assert_eq!((send(9_000), send(9_000)), (9_500, 10_000));
        assert_eq!(send(10_000), 11_000, "the credit is not kept");
    }

    #[test]
    fn jitter_keeps_order_and_bound() {
        let most = Span::from_micros(100);
        let mut jitter = Jitter::new(Streams::new(1, 0).stream("jitter"), most);
        let mut left = Vec::new();
        let (mut now, mut ready) = (Time::ZERO, 200);
        while ready > 0 {
            now = now.max(jitter.release(now, ready));
            jitter.on_sent();
            left.push(now);
            ready -= 1;
        }
        assert!(left.is_sorted());
        assert!(left[0] > Time::ZERO && *left.last().unwrap() <= Time::ZERO + most);
    }
}
