//! Timestamps of a pcapng interface.

use crate::packet::LATEST_NS;

const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// Decimal digits of a second with nanosecond resolution.
const NANOSECOND_DIGITS: u32 = 9;

/// Converts timestamps to nanoseconds since the beginning of 1970 (draft-ietf-opsawg-pcapng
/// section 4.2, options if_tsresol and if_tsoffset).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    resolution: Resolution,
    /// Offset to add to each time, in seconds.
    pub offset_s: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resolution {
    /// Nanoseconds per tick.
    Nanoseconds(u64),
    /// Ticks per nanosecond.
    PerNanosecond(u64),
    /// Power of 2 of the ticks per second.
    Binary(u32),
}

impl Default for Clock {
    /// Returns the format's default, microseconds without an offset.
    fn default() -> Self {
        Clock {
            resolution: Resolution::Nanoseconds(1_000),
            offset_s: 0,
        }
    }
}

impl Clock {
    /// Sets the resolution from the value of if_tsresol: a negative power of 10, or of 2 if the
    /// highest bit is set.
    pub fn set_resolution(&mut self, option: u8) {
        let power = u32::from(option & 0x7f);
        self.resolution = if option & 0x80 != 0 {
            Resolution::Binary(power)
        } else if power <= NANOSECOND_DIGITS {
            Resolution::Nanoseconds(10_u64.pow(NANOSECOND_DIGITS - power))
        } else {
            // So fine that 64 bits of ticks do not reach a nanosecond: all times are 0.
            let ticks = 10_u64
                .checked_pow(power - NANOSECOND_DIGITS)
                .unwrap_or(u64::MAX);
            Resolution::PerNanosecond(ticks)
        };
    }

    /// Returns the time of a timestamp, at most [`LATEST_NS`].
    pub fn at_ns(self, ticks: u64) -> u64 {
        let nanos = match self.resolution {
            Resolution::Nanoseconds(length) => ticks.saturating_mul(length),
            Resolution::PerNanosecond(ticks_per_nano) => ticks / ticks_per_nano,
            Resolution::Binary(power) => {
                let nanos = (u128::from(ticks) * u128::from(NANOS_PER_SECOND)) >> power;
                u64::try_from(nanos).unwrap_or(u64::MAX)
            }
        };
        let offset = self
            .offset_s
            .unsigned_abs()
            .saturating_mul(NANOS_PER_SECOND);
        let at = if self.offset_s < 0 {
            nanos.saturating_sub(offset)
        } else {
            nanos.saturating_add(offset)
        };
        at.min(LATEST_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(resolution: u8, offset_s: i64, ticks: u64) -> u64 {
        let mut clock = Clock {
            offset_s,
            ..Clock::default()
        };
        clock.set_resolution(resolution);
        clock.at_ns(ticks)
    }

    #[test]
    fn powers_of_ten_and_of_two_are_nanoseconds() {
        let second_and_a_half = [
            (0, 1),
            (1, 15),
            (3, 1_500),
            (6, 1_500_000),
            (9, 1_500_000_000),
            (12, 1_500_000_000_000),
            (0x80, 1),
            (0x81, 3),
            (0x80 | 20, 3 << 19),
            (0x80 | 62, 3 << 61),
        ];
        for (resolution, ticks) in second_and_a_half {
            let whole = [0, 0x80].contains(&resolution);
            let expected = if whole { 1_000_000_000 } else { 1_500_000_000 };
            assert_eq!(at(resolution, 0, ticks), expected, "{resolution:#x}");
        }
        let mut microseconds = Clock::default();
        assert_eq!(microseconds.at_ns(7), 7_000);
        microseconds.set_resolution(6);
        assert_eq!(microseconds, Clock::default());
    }

    #[test]
    fn an_offset_moves_either_way() {
        assert_eq!(at(9, 2, 5), 2_000_000_005);
        assert_eq!(at(9, -1, 3_000_000_000), 2_000_000_000);
    }

    #[test]
    fn what_does_not_fit_is_the_nearest_that_does() {
        assert_eq!(at(0, 0, u64::MAX), LATEST_NS);
        assert_eq!(at(0x80, 0, u64::MAX), LATEST_NS);
        assert_eq!(at(6, i64::MAX, 1), LATEST_NS);
        assert_eq!(at(6, i64::MIN, 1), 0);
        for resolution in 0..=u8::MAX {
            assert!(
                at(resolution, 0, u64::MAX - 1) <= at(resolution, 0, u64::MAX),
                "{resolution:#x}"
            );
        }
        assert_eq!(at(0x7f, 0, 1), 0);
        assert_eq!(at(0xff, 0, u64::MAX), 0);
    }
}
