//! Long-term bandwidth sampling: the rate that a policer allows (`bbr_lt_bw_sampling` of Linux).

use super::parameters::Bbr1;
use super::{BANDWIDTH_BITS, GAIN_ONE, Sampled};
use ackclock_spec::units::{Bytes, Time};

/// The detection of a policer, and the rate that it allows once found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    /// Bandwidth of the last interval; zero before the first (`lt_bw`).
    bandwidth: u64,
    /// True once two intervals agree: `bandwidth` holds (`lt_use_bw`).
    in_use: bool,
    is_sampling: bool,
    /// Rounds of the interval, or since the rate is in use.
    rounds: u64,
    /// Start of the interval, in milliseconds, and the counts then.
    start: u64,
    delivered: Bytes,
    lost: Bytes,
}

/// The consequence of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// None.
    Continue,
    /// A policer was found.
    Found,
    /// Its rate has been in use for long enough.
    Expired,
}

impl Policer {
    /// Returns the rate that it allows, if a policer was found.
    pub fn bandwidth(&self) -> Option<u64> {
        self.in_use.then_some(self.bandwidth)
    }

    /// Forgets everything.
    pub fn reset(&mut self, now: &Sampled) {
        *self = Policer::default();
        self.begin(now);
    }

    /// Begins an interval.
    fn begin(&mut self, now: &Sampled) {
        self.start = millis(now.at);
        (self.delivered, self.lost) = (now.delivered, now.lost);
        self.rounds = 0;
    }

    /// Takes in an ACK or a timeout.
    pub fn sample(&mut self, parameters: &Bbr1, now: &Sampled, probing: bool) -> Verdict {
        if self.in_use {
            if probing && now.round_start {
                self.rounds += 1;
                if self.rounds >= parameters.policer_use_rounds {
                    self.reset(now);
                    return Verdict::Expired;
                }
            }
            return Verdict::Continue;
        }
        if !self.is_sampling {
            // Before the first loss the policer still has tokens.
            if !now.has_losses {
                return Verdict::Continue;
            }
            self.begin(now);
            self.is_sampling = true;
        }
        if now.application_limited {
            self.reset(now);
            return Verdict::Continue;
        }
        self.rounds += u64::from(now.round_start);
        if self.rounds < parameters.policer_rounds {
            return Verdict::Continue;
        }
        if self.rounds > 4 * parameters.policer_rounds {
            self.reset(now);
            return Verdict::Continue;
        }
        // An interval ends with a loss, when the tokens are used up.
        if !now.has_losses {
            return Verdict::Continue;
        }
        self.end(parameters, now)
    }

    /// Ends an interval, if enough was lost in it.
    fn end(&mut self, parameters: &Bbr1, now: &Sampled) -> Verdict {
        let lost = now.segments(now.lost.saturating_sub(self.lost));
        let delivered = now.segments(now.delivered.saturating_sub(self.delivered));
        let enough = lost * GAIN_ONE >= parameters.policer_loss * delivered;
        let elapsed = millis(now.at).saturating_sub(self.start);
        if delivered == 0 || !enough || elapsed < 1 {
            return Verdict::Continue;
        }
        let micros = elapsed.saturating_mul(1000);
        let bandwidth = (delivered << BANDWIDTH_BITS) / micros;
        let before = self.bandwidth;
        let apart = bandwidth.abs_diff(before);
        let close = u128::from(apart) * u128::from(GAIN_ONE)
            <= u128::from(parameters.policer_ratio) * u128::from(before)
            || now.byte_per_s(apart) <= parameters.policer_difference.as_bit_per_s() / 8;
        if before > 0 && close {
            self.bandwidth = bandwidth.midpoint(before);
            self.in_use = true;
            self.rounds = 0;
            return Verdict::Found;
        }
        self.bandwidth = bandwidth;
        self.begin(now);
        Verdict::Continue
    }
}

fn millis(at: Time) -> u64 {
    at.as_nanos() / 1_000_000
}
