//! Named random streams. The seed of a stream is a hash of the run's seed, the replicate and the
//! stream's name (`flow/3/start`, `hop/bottleneck/loss`). So adding a flow changes no other draw.

use crate::units::{Probability, Span};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The root of all random streams of one run.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    root: u64,
    first: bool,
}

/// One named sequence of draws.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Streams {
    /// Returns the streams of one replicate of a run.
    pub fn new(seed: u64, replicate: u32) -> Self {
        Streams {
            root: mix(mix(seed) ^ u64::from(replicate)),
            first: replicate == 0,
        }
    }

    /// True for those of the first replicate.
    pub fn are_of_the_first(&self) -> bool {
        self.first
    }

    /// Returns the stream with that name, which begins with the same draws at every call.
    pub fn stream(&self, name: &str) -> Stream {
        let hash = name
            .bytes()
            .fold(self.root, |hash, byte| mix(hash ^ u64::from(byte)));
        Stream(Xoshiro256PlusPlus::seed_from_u64(hash))
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection that spreads every bit.
pub fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Stream {
    /// Draws 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
    /// Draws random bytes, eight at a time.
    pub fn bytes<const BYTES: usize>(&mut self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.bits().to_le_bytes()[..chunk.len()]);
        }
        bytes
    }
    /// Draws uniformly from [0, 1), 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
    /// Returns true with the given probability. Always takes one draw, so that runs at different
    /// probabilities share their random numbers.
    pub fn chance(&mut self, probability: Probability) -> bool {
        self.uniform() < probability.get()
    }
    /// Draws uniformly from [0, `limit`].
    pub fn uniform_span(&mut self, limit: Span) -> Span {
        Span::from_nanos((self.uniform() * (limit.as_nanos() as f64 + 1.0)) as u64)
    }
    /// Draws from an exponential distribution with the given mean, in the mean's unit.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -libm::log(1.0 - self.uniform()) * mean
    }
    /// Draws a time from an exponential distribution with the given mean, in whole nanoseconds.
    pub fn exponential_span(&mut self, mean: Span) -> Span {
        Span::from_nanos(libm::round(self.exponential(mean.as_nanos() as f64)) as u64)
    }
    /// Draws from a normal distribution with mean 0 and variance 1: one of the pair of Box and
    /// Muller (1958), Annals of Mathematical Statistics 29(2).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.uniform()));
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }
    /// Draws from a Pareto distribution with the given mean and shape > 1, in the mean's unit: `P(X
    /// > x) = (m/x)^shape` for x ≥ m = mean (shape − 1)/shape.
    pub fn pareto(&mut self, mean: f64, shape: f64) -> f64 {
        let minimum = mean * (shape - 1.0) / shape;
        minimum * libm::pow(1.0 - self.uniform(), -1.0 / shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fixes_the_draws_and_another_name_changes_them() {
        let draws = |replicate, name| {
            let mut stream = Streams::new(7, replicate).stream(name);
            std::array::from_fn::<f64, 4, _>(|_| stream.uniform())
        };
        assert_eq!(draws(0, "flow/3/start"), draws(0, "flow/3/start"));
        assert_ne!(draws(0, "flow/3/start"), draws(0, "flow/4/start"));
        assert_ne!(draws(0, "flow/3/start"), draws(1, "flow/3/start"));
    }

    #[test]
    fn means_are_right() {
        let mut stream = Streams::new(1, 0).stream("test");
        let n = 200_000;
        let mean = |f: &mut dyn FnMut() -> f64| (0..n).map(|_| f()).sum::<f64>() / f64::from(n);
        assert!((mean(&mut || stream.uniform()) - 0.5).abs() < 0.005);
        assert!((mean(&mut || stream.exponential(3.0)) - 3.0).abs() < 0.05);
        assert!((mean(&mut || stream.pareto(2.0, 3.0)) - 2.0).abs() < 0.05);
        assert!(mean(&mut || stream.normal()).abs() < 0.01);
        assert!((mean(&mut || stream.normal().powi(2)) - 1.0).abs() < 0.015);
    }
}
