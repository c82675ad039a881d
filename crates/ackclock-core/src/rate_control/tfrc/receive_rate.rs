//! The receive rate: measured by the receiver, remembered by the sender.

use ackclock_spec::units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Measures X_recv over the last round trip (RFC 5348 section 6.2 step 2).
#[derive(Debug, Default)]
pub struct ReceiveRate {
    arrivals: VecDeque<(Time, Bytes)>,
    /// Last expiry of the feedback timer, and the number of arrivals since.
    expired: Time,
    since: usize,
}

/// Receive rate over one round trip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Payload, in bytes per second.
    pub bytes_per_s: f64,
    /// Packets per second.
    pub packets_per_s: f64,
}

impl ReceiveRate {
    /// Records an arrival; `rtt` is the span of the next measurement.
    pub fn on_arrival(&mut self, now: Time, length: Bytes, rtt: Span) {
        self.arrivals.push_back((now, length));
        self.since += 1;
        // Keeps twice the span, because the round-trip time may have grown at the measurement.
        while self.arrivals.len() > self.since
            && self
                .arrivals
                .front()
                .is_some_and(|(at, _)| *at + rtt * 2 < now)
        {
            self.arrivals.pop_front();
        }
    }

    /// Measures at the expiry of the feedback timer: arrivals in the last `rtt`, or since the last
    /// expiry if that is longer, as with a late timer.
    pub fn expire(&mut self, now: Time, rtt: Span) -> Measured {
        let span = rtt.max(now.since(self.expired));
        // Arrivals since the last expiry count even if they came at the same moment.
        let recent = self.arrivals.iter().rev().enumerate();
        let recent = recent.take_while(|(i, (at, _))| *i < self.since || now.since(*at) < span);
        let (packets, bytes) = recent.fold(
            (0_u64, Bytes::ZERO),
            |(packets, bytes), (_, (_, length))| (packets + 1, bytes + *length),
        );
        self.restart(now);
        let seconds = span.as_seconds();
        Measured {
            bytes_per_s: bytes.as_f64() / seconds,
            packets_per_s: packets as f64 / seconds,
        }
    }

    #[cfg(test)]
    pub fn remembered(&self) -> usize {
        self.arrivals.len()
    }

    /// Restarts the measurement: the feedback timer starts, or there was nothing to report until
    /// now.
    pub fn restart(&mut self, now: Time) {
        self.expired = now;
        self.since = 0;
    }
}

/// X_recv_set: receive rates reported in the last two round trips, in bytes per second (section
/// 4.3).
#[derive(Debug)]
pub struct ReceiveRateSet {
    rates: Vec<(Time, f64)>,
}

impl ReceiveRateSet {
    /// The initial set: infinity, from `start` on.
    pub fn new(start: Time) -> Self {
        ReceiveRateSet {
            rates: vec![(start, f64::INFINITY)],
        }
    }

    /// "Update X_recv_set": adds a report and removes those older than two round trips.
    pub fn update(&mut self, now: Time, receive_rate: f64, rtt: Span) {
        self.rates.retain(|(at, _)| now.since(*at) <= rtt * 2);
        self.rates.push((now, receive_rate));
    }
    /// "Maximize X_recv_set": keeps only the largest rate, except the initial infinity, with the
    /// present time.
    pub fn maximize(&mut self, now: Time, receive_rate: f64) {
        let finite = self
            .rates
            .iter()
            .map(|(_, rate)| *rate)
            .filter(|rate| rate.is_finite());
        self.rates = vec![(now, finite.fold(receive_rate, f64::max))];
    }
    /// Halves all rates.
    pub fn halve(&mut self) {
        self.rates.iter_mut().for_each(|(_, rate)| *rate /= 2.0);
    }
    /// Replaces the set by one rate.
    pub fn replace(&mut self, now: Time, receive_rate: f64) {
        self.rates = vec![(now, receive_rate)];
    }
    /// Returns the largest rate.
    pub fn largest(&self) -> f64 {
        self.rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
    }
}
