//! A token bucket, for policers and shapers.

use ackclock_spec::units::{BitRate, Bytes, Span, Time};

/// Fractions of a byte in which tokens are counted: at a bit per second, one a nanosecond.
const PER_BYTE: u128 = 8_000_000_000;

fn fixed(bytes: Bytes) -> u128 {
    u128::from(bytes.0) * PER_BYTE
}

/// A bucket that is filled at a rate and full at the beginning.
#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    rate: BitRate,
    most: u128,
    /// Tokens at `at`, in fractions of a byte.
    tokens: u128,
    at: Time,
}

impl TokenBucket {
    /// Makes a full bucket that holds `most` bytes.
    pub fn new(rate: BitRate, most: Bytes) -> Self {
        TokenBucket {
            rate,
            most: fixed(most),
            tokens: fixed(most),
            at: Time::ZERO,
        }
    }

    /// Fills the bucket up to `now`, which never decreases.
    pub fn fill(&mut self, now: Time) {
        let passed = u128::from(now.since(self.at).as_nanos());
        let filled = self.tokens + passed * u128::from(self.rate.as_bit_per_s());
        self.tokens = filled.min(self.most);
        self.at = now;
    }

    /// True if the bucket holds that many bytes since it was last filled.
    pub fn holds(&self, size: Bytes) -> bool {
        self.tokens >= fixed(size)
    }

    /// Takes out the bytes, which it must [hold](TokenBucket::holds).
    pub fn take(&mut self, size: Bytes) {
        debug_assert!(self.holds(size), "tokens are not lent");
        self.tokens = self.tokens.saturating_sub(fixed(size));
    }

    /// Returns the time at which the bucket holds that many bytes, if nothing is taken out. The
    /// bucket must be large enough.
    pub fn ready_at(&self, size: Bytes) -> Time {
        debug_assert!(self.most >= fixed(size), "it never holds that much");
        let missing = fixed(size).saturating_sub(self.tokens);
        let rate = u128::from(self.rate.as_bit_per_s()).max(1);
        let nanos = u64::try_from(missing.div_ceil(rate)).unwrap_or(u64::MAX);
        self.at + Span::from_nanos(nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_comes_at_the_rate() {
        // 1000 bytes a second, three packets of 1000 bytes at once.
        let mut bucket = TokenBucket::new(BitRate::from_mbit_per_s(0.008), Bytes(3000));
        let size = Bytes(1000);
        for expected in [0.0, 0.0, 0.0, 1.0, 2.0, 3.0] {
            let at = bucket.ready_at(size);
            assert_eq!(at, Time::from_seconds(expected));
            bucket.fill(at);
            bucket.take(size);
        }
        bucket.fill(Time::from_seconds(1e6));
        assert!(bucket.holds(Bytes(3000)) && !bucket.holds(Bytes(3001)));
    }
}
