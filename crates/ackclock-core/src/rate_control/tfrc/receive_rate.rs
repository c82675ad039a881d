//! What arrives per second: as the receiver measures it, and as the sender remembers it.

use crate::units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Measures X_recv over the last round trip (RFC 5348 section 6.2 step 2).
#[derive(Debug, Default)]
pub struct ReceiveRate {
    arrivals: VecDeque<(Time, Bytes)>,
    /// When the feedback timer expired last, and how many of those have arrived since.
    expired: Time,
    since: usize,
}

/// Over one round trip, in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Payload in bytes.
    pub bytes_per_s: f64,
    /// Packets.
    pub packets_per_s: f64,
}

impl ReceiveRate {
    /// A packet has arrived; `rtt` is how far back will be asked about.
    pub fn on_arrival(&mut self, now: Time, length: Bytes, rtt: Span) {
        self.arrivals.push_back((now, length));
        self.since += 1;
        // Twice, because the round-trip time may have grown when it is asked.
        while self.arrivals.len() > self.since
            && self
                .arrivals
                .front()
                .is_some_and(|(at, _)| *at + rtt * 2 < now)
        {
            self.arrivals.pop_front();
        }
    }

    /// The feedback timer expires: what has arrived in the last `rtt`, or since it expired last if
    /// that is longer ago, as where a timer is late.
    pub fn expire(&mut self, now: Time, rtt: Span) -> Measured {
        let span = rtt.max(now.since(self.expired));
        // What has arrived since counts even if it came at the very moment of the last expiry.
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

    /// The feedback timer starts, or there was nothing to be said until now.
    pub fn restart(&mut self, now: Time) {
        self.expired = now;
        self.since = 0;
    }
}

/// X_recv_set: what the receiver has reported in the last two round trips, in bytes per second
/// (section 4.3).
#[derive(Debug)]
pub struct ReceiveRateSet {
    rates: Vec<(Time, f64)>,
}

impl ReceiveRateSet {
    /// Nothing is known: infinity, since `start`.
    pub fn new(start: Time) -> Self {
        ReceiveRateSet {
            rates: vec![(start, f64::INFINITY)],
        }
    }

    /// "Update X_recv_set": adds a report, forgets what is older than two round trips.
    pub fn update(&mut self, now: Time, receive_rate: f64, rtt: Span) {
        self.rates.retain(|(at, _)| now.since(*at) <= rtt * 2);
        self.rates.push((now, receive_rate));
    }
    /// "Maximize X_recv_set": only the largest remains, the initial infinity aside, and is new.
    pub fn maximize(&mut self, now: Time, receive_rate: f64) {
        let finite = self
            .rates
            .iter()
            .map(|(_, rate)| *rate)
            .filter(|rate| rate.is_finite());
        self.rates = vec![(now, finite.fold(receive_rate, f64::max))];
    }
    /// Halves all.
    pub fn halve(&mut self) {
        self.rates.iter_mut().for_each(|(_, rate)| *rate /= 2.0);
    }
    /// Only this remains.
    pub fn replace(&mut self, now: Time, receive_rate: f64) {
        self.rates = vec![(now, receive_rate)];
    }
    /// The largest.
    pub fn largest(&self) -> f64 {
        self.rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
    }
}
