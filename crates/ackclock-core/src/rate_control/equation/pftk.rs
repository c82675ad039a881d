//! The full PFTK equation: the throughput of TCP Reno with timeouts and a window limit.
//!
//! Padhye, Firoiu, Towsley and Kurose, "Modeling TCP Reno performance: a simple model and its
//! empirical validation", IEEE/ACM Transactions on Networking 8(2), 2000. Symbols: p is the loss
//! rate, R the round-trip time, b the packets acknowledged by one ACK. T0 is the first
//! retransmission timeout (B in the papers on rate control), Wm or Wmax the largest window.
//! `ackclock.models.pftk` has the same equation in Python.

use libm::{expm1, log1p, sqrt};

/// Parameters of a connection. Rates are in packets per second, p is from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pftk {
    /// R, in seconds.
    pub rtt: f64,
    /// T0, in seconds.
    pub timeout: f64,
    /// Wm, in packets, at least 1; infinite for no limit.
    pub window: f64,
    /// b, at least 1.
    pub packets_per_ack: f64,
}

impl Pftk {
    /// Returns f(Wmax, R, p, B), the sending rate. At p = 0 and p = 1 it is the limit: a window per
    /// round trip, and one packet in 64 T0, the longest series of timeouts. The two branches do not
    /// quite meet where W(p) = Wm; within each, the rate falls as p grows.
    pub fn full(&self, p: f64) -> f64 {
        if p <= 0.0 {
            return self.window / self.rtt;
        }
        if p >= 1.0 {
            return 1.0 / (backoff(1.0) * self.timeout);
        }
        let (b, unlimited) = (self.packets_per_ack, self.unlimited_window(p));
        let before = (1.0 - p) / p;
        let (w, rounds) = if unlimited < self.window {
            (unlimited, b * unlimited / 2.0 + 1.0)
        } else {
            let w = self.window;
            (w, b * w / 8.0 + before / w + 2.0)
        };
        let q = timeout_share(p, w);
        let sent = before + w + q / (1.0 - p);
        sent / (self.rtt * rounds + q * backoff(p) * self.timeout / (1.0 - p))
    }

    /// Returns W(p) in packets: the mean window at a loss without a window limit.
    pub fn unlimited_window(&self, p: f64) -> f64 {
        let b = self.packets_per_ack;
        let k = (2.0 + b) / (3.0 * b);
        k + sqrt(8.0 * (1.0 - p) / (3.0 * b * p) + k * k)
    }
}

/// Returns Q(p, w): the share of loss indications that are timeouts when the window is w packets;
/// about min(1, 3/w).
fn timeout_share(p: f64, w: f64) -> f64 {
    if w <= 3.0 {
        return 1.0;
    }
    // Sums of positive terms avoid cancellation for small p: 1 − (1−p)³ = p (3 − p (3 − p)), and 1
    // − (1−p)^w = 1 − (1−p)³ + (1−p)³ (1 − (1−p)^(w−3)).
    let of_three = p * (3.0 - p * (3.0 - p));
    let kept = 1.0 - p;
    let of_others = kept * kept * kept * -expm1((w - 3.0) * log1p(-p));
    (of_three * (1.0 + of_others) / (of_three + of_others)).min(1.0)
}

/// Returns G(p): the mean length of a series of timeouts over T0/(1−p), doubled up to 64 T0.
fn backoff(p: f64) -> f64 {
    1.0 + p * (1.0 + p * (2.0 + p * (4.0 + p * (8.0 + p * (16.0 + p * 32.0)))))
}

#[cfg(test)]
mod tests;
