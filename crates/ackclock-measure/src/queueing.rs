//! Queueing on each of the two ways between the capture point and the receiver, and in the sender's
//! own host before the capture point, from timestamps.
//!
//! The receiver's timestamp in an ACK (RFC 7323) says when the ACK left, by a clock of unknown zero
//! and rate. There the way of the data ends and that of the ACK begins. The time of each way beyond
//! its least of the last minutes is queueing; the unknown zero cancels. The way of the data
//! includes the delay of ACKs, but its least does not. A sender's timestamp says when a segment
//! left TCP; a capture is taken behind the queue of the device.

use crate::rtt::Moments;

/// Rates of timestamp clocks, in ticks per second (RFC 7323 section 5.4 has 1 to 1000; Linux may
/// have a million).
const RATES: [f64; 5] = [10.0, 100.0, 250.0, 1_000.0, 1e6];

/// Largest factor between a clock and its rate while that is found. A queue that fills makes one.
const OFF: f64 = 1.5;

/// Time after which the rate is found, in nanoseconds.
const SETTLED: u64 = 200_000_000;

/// Time after which an older least is forgotten, in nanoseconds: clocks drift, by 3 ms a minute at
/// 50 ppm.
const MINUTE: u64 = 60_000_000_000;

/// Times of one way, with an unknown constant added.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    /// Least of the minute before, and of this one.
    least: (Option<f64>, Option<f64>),
    queueing: Moments,
}

/// The clock of one side's timestamps.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    /// First packet: time and timestamp.
    first: Option<(u64, u32)>,
    rate: Option<f64>,
    /// Beginning of the present minute.
    minute: u64,
}

/// Queueing on both ways.
#[derive(Clone, Copy, Debug, Default)]
pub struct Queueing {
    clock: Clock,
    there: Way,
    back: Way,
}

/// Queueing of a sender's segments before the capture point.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnQueue {
    clock: Clock,
    way: Way,
}

impl Way {
    /// Adds a time; returns how far it is beyond the least.
    fn add(&mut self, seconds: f64, new_minute: bool) -> f64 {
        if new_minute {
            self.least = (self.least.1, None);
        }
        let least = self.least.1.map_or(seconds, |least| least.min(seconds));
        self.least.1 = Some(least);
        let least = self.least.0.map_or(least, |before| before.min(least));
        self.queueing.add(seconds - least);
        seconds - least
    }
}

impl Clock {
    /// Returns the time of a timestamp that passes at `at`, in seconds since the first, and true if
    /// a new minute begins. None until the rate is known.
    fn read(&mut self, at: u64, value: u32) -> Option<(f64, bool)> {
        let (first_at, first) = *self.first.get_or_insert((at, value));
        let ticks = f64::from(value.wrapping_sub(first).cast_signed());
        let passed = at.saturating_sub(first_at);
        if self.rate.is_none() && passed >= SETTLED {
            let ticks_per_s = ticks / (passed as f64 / 1e9);
            let is_near = |rate: &f64| ticks_per_s < rate * OFF && ticks_per_s * OFF > *rate;
            self.rate = RATES.into_iter().find(is_near);
            self.minute = at;
        }
        let rate = self.rate?;
        let new_minute = at >= self.minute.saturating_add(MINUTE);
        if new_minute {
            self.minute = at;
        }
        Some((ticks / rate, new_minute))
    }

    /// Returns a time in seconds since the first packet.
    fn since(&self, at: u64) -> f64 {
        let first_at = self.first.map_or(at, |(first_at, _)| first_at);
        (at as f64 - first_at as f64) / 1e9
    }
}

impl OwnQueue {
    /// Takes a segment; returns for how many seconds it has waited, if that is known.
    pub fn take(&mut self, at: u64, value: u32) -> Option<f64> {
        let (left, new_minute) = self.clock.read(at, value)?;
        Some(self.way.add(self.clock.since(at) - left, new_minute))
    }
}

impl Queueing {
    /// Takes an ACK at `at` with the receiver's timestamp `value`. It echoes the timestamp of a
    /// packet that passed at `sent_at`. Times are in nanoseconds.
    pub fn take(&mut self, at: u64, value: u32, sent_at: u64) {
        let Some((left, new_minute)) = self.clock.read(at, value) else {
            return;
        };
        let (sent, heard) = (self.clock.since(sent_at), self.clock.since(at));
        self.there.add(left - sent, new_minute);
        self.back.add(heard - left, new_minute);
    }

    /// Returns the mean queueing on the way of the data and on that of the ACKs, in seconds; NaN if
    /// unknown.
    pub fn means(&self) -> (f64, f64) {
        (self.there.queueing.mean(), self.back.queueing.mean())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ACKs every 10 ms for 5 s over ways of 20 ms each; every second one waits for `there` and
    /// `back` ms. The clock ticks every millisecond from 4,294,966,000 on, so that it wraps.
    fn means(there: u64, back: u64, ticks_per_ms: u64) -> (f64, f64) {
        const MS: u64 = 1_000_000;
        let mut queueing = Queueing::default();
        for n in 0..500 {
            let waits = n % 2;
            let left = 10 * n + 20 + waits * there;
            let stamp = (4_294_966_000 + left * ticks_per_ms) as u32;
            queueing.take((left + 20 + waits * back) * MS, stamp, 10 * n * MS);
        }
        queueing.means()
    }

    #[test]
    fn each_way_has_its_queue() {
        let (there, back) = means(0, 30, 1);
        assert!(
            there.abs() < 0.001 && (back - 0.015).abs() < 0.001,
            "{there} {back}"
        );
        let (there, back) = means(30, 0, 1);
        assert!(
            back.abs() < 0.001 && (there - 0.015).abs() < 0.001,
            "{there} {back}"
        );
    }

    #[test]
    fn a_segment_waits_in_the_senders_own_host() {
        let mut own = OwnQueue::default();
        let waits = (0..100_u64).map(|n| {
            let waits = if n == 90 { 30 } else { n % 2 };
            own.take((10 * n + waits) * 1_000_000, 1_000 + 10 * n as u32)
        });
        let waits: Vec<Option<f64>> = waits.collect();
        assert_eq!(waits[10], None, "the clock is not known yet");
        assert!(waits[90].is_some_and(|waited| (waited - 0.03).abs() < 0.002));
        assert!(waits[91].is_some_and(|waited| waited < 0.002));
    }

    #[test]
    fn a_clock_of_an_odd_rate_tells_nothing() {
        let (there, back) = means(0, 30, 30);
        assert!(there.is_nan() && back.is_nan());
    }
}
