//! Quantities with their unit in the type. [`scenario::quantity`](crate::quantity) reads
//! and writes them in scenarios.

use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A moment: nanoseconds since the run began. The range is 584 years.
///
/// A service may end within a nanosecond. Its end is rounded down, and the remainder is carried
/// into the next service. So rates are exact however short a service is (32 ps for 40 bytes at 10
/// Tbit/s), and a packet leaves up to a nanosecond early. A queue does not show what a link sends
/// in a nanosecond: 50 bytes at 400 Gbit/s, 1250 bytes at 10 Tbit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

/// An amount of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A rate: whole bits per second, so that serialisation times are exact fractions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

/// A probability in [0, 1].
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

const NANOS_PER_SECOND: f64 = 1e9;

impl Time {
    /// The beginning of the run.
    pub const ZERO: Time = Time(0);
    /// A moment after the end of any run.
    pub const NEVER: Time = Time(u64::MAX);

    /// Nanoseconds since the run began.
    pub const fn from_nanos(nanos: u64) -> Self {
        Time(nanos)
    }
    /// Seconds since the run began, rounded to the nanosecond. A negative value becomes zero, a
    /// value beyond the range `NEVER`.
    pub fn from_seconds(seconds: f64) -> Self {
        Time(libm::round(seconds * NANOS_PER_SECOND) as u64)
    }
    /// Nanoseconds since the run began.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Seconds since the run began (53 bits of precision).
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND
    }
    /// Returns the time passed since `earlier`, zero if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
    /// True if this moment is `NEVER`.
    pub const fn is_never(self) -> bool {
        self.0 == u64::MAX
    }
}

impl Span {
    /// Zero length.
    pub const ZERO: Span = Span(0);
    /// Longer than any run.
    pub const FOREVER: Span = Span(u64::MAX);

    /// Converts from nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Span(nanos)
    }
    /// Converts from microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Span(micros * 1_000)
    }
    /// Converts from milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Span(millis * 1_000_000)
    }
    /// Converts from seconds, rounded to the nanosecond. A negative value becomes zero.
    pub fn from_seconds(seconds: f64) -> Self {
        Span(libm::round(seconds * NANOS_PER_SECOND) as u64)
    }
    /// Returns nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Returns seconds (53 bits of precision).
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND
    }
}

/// Saturates at [`Time::NEVER`].
impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

/// # Panics
/// In debug builds if `earlier` is later than `self`: causality is broken.
impl Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        debug_assert!(
            self.0 >= earlier.0,
            "time runs backwards: {self:?} - {earlier:?}"
        );
        Span(self.0.wrapping_sub(earlier.0))
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}
impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}
impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, factor: u64) -> Span {
        Span(self.0.saturating_mul(factor))
    }
}
impl Div<u64> for Span {
    type Output = Span;
    fn div(self, divisor: u64) -> Span {
        Span(self.0 / divisor)
    }
}

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Bytes = Bytes(0);
    /// Converts to a floating-point number of bytes.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
    /// Returns the difference, zero if `other` is larger.
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}
impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}
impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0 - other.0)
    }
}
impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}
impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Bytes) {
        self.0 -= other.0;
    }
}
impl Mul<u64> for Bytes {
    type Output = Bytes;
    fn mul(self, factor: u64) -> Bytes {
        Bytes(self.0 * factor)
    }
}

impl BitRate {
    /// The rate of a link that is down.
    pub const ZERO: BitRate = BitRate(0);

    /// Converts from bits per second.
    pub const fn from_bit_per_s(bits: u64) -> Self {
        BitRate(bits)
    }
    /// Converts from megabits (10^6 bits) per second, rounded to the bit.
    pub fn from_mbit_per_s(megabits: f64) -> Self {
        BitRate(libm::round(megabits * 1e6) as u64)
    }
    /// Returns bits per second.
    pub const fn as_bit_per_s(self) -> u64 {
        self.0
    }
    /// Returns bytes per second.
    pub fn as_byte_per_s(self) -> f64 {
        self.0 as f64 / 8.0
    }
    /// Returns the average rate of `size` in `span`, zero for an empty span.
    pub fn average(size: Bytes, span: Span) -> Self {
        if span == Span::ZERO {
            return BitRate::ZERO;
        }
        BitRate(libm::round(size.as_f64() * 8.0 / span.as_seconds()) as u64)
    }
    /// Returns the time to send `size` at this rate, rounded down to the nanosecond;
    /// [`Span::FOREVER`] at rate zero.
    pub fn serialization(self, size: Bytes) -> Span {
        if self.0 == 0 {
            return Span::FOREVER;
        }
        let nanos = u128::from(size.0) * BIT_NANOS / u128::from(self.0);
        Span(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
    /// Returns the size of what is sent in `span` at this rate, in whole bytes.
    pub fn size_in(self, span: Span) -> Bytes {
        let bit_nanos = u128::from(self.0) * u128::from(span.0);
        Bytes(u64::try_from(bit_nanos / BIT_NANOS).unwrap_or(u64::MAX))
    }
    /// Returns the least time in which `size` is sent whole: [`BitRate::size_in`] of it is at least
    /// `size`. [`Span::FOREVER`] at rate zero.
    pub fn time_for(self, size: Bytes) -> Span {
        if self.0 == 0 {
            return Span::FOREVER;
        }
        let nanos = (u128::from(size.0) * BIT_NANOS).div_ceil(u128::from(self.0));
        Span(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// Bits per second times nanoseconds in a byte.
const BIT_NANOS: u128 = 8_000_000_000;

impl Probability {
    /// Probability 0.
    pub const ZERO: Probability = Probability(0.0);
    /// Probability 1.
    pub const ONE: Probability = Probability(1.0);

    /// Returns `None` unless 0 ≤ `value` ≤ 1.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Probability(value))
    }
    /// Returns the number.
    pub const fn get(self) -> f64 {
        self.0
    }
    /// True if chance decides: neither 0 nor 1.
    pub fn is_chance(self) -> bool {
        self != Probability::ZERO && self != Probability::ONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_absorbs_what_is_added() {
        assert_eq!(Time::NEVER + Span::from_millis(1), Time::NEVER);
        assert_eq!(Time::ZERO + Span::FOREVER, Time::NEVER);
    }

    #[test]
    fn serialization_is_size_over_rate() {
        let rate = BitRate::from_mbit_per_s(12.0);
        assert_eq!(rate.serialization(Bytes(1500)), Span::from_millis(1));
        assert_eq!(BitRate::ZERO.serialization(Bytes(1)), Span::FOREVER);
        assert_eq!(BitRate::average(Bytes(1500), Span::from_millis(1)), rate);
    }

    /// A size is sent at its time, and not a nanosecond earlier.
    #[test]
    fn a_size_and_its_time_belong_together() {
        for bits in [1, 7, 64_000, 12_000_001, 100_000_000_000] {
            for size in [1, 3, 1500, 1_234_567] {
                let (rate, size) = (BitRate::from_bit_per_s(bits), Bytes(size));
                let time = rate.time_for(size);
                assert!(rate.size_in(time) >= size, "{rate:?} {size:?}");
                let earlier = Span::from_nanos(time.as_nanos() - 1);
                assert!(rate.size_in(earlier) < size, "{rate:?} {size:?}");
            }
        }
        assert_eq!(BitRate::ZERO.time_for(Bytes(1)), Span::FOREVER);
        assert_eq!(BitRate::ZERO.size_in(Span::FOREVER), Bytes::ZERO);
    }

    #[test]
    fn probability_refuses_what_is_not_one() {
        assert!(Probability::new(1.01).is_none() && Probability::new(-0.0).is_some());
        assert!(Probability::new(f64::NAN).is_none());
    }
}
