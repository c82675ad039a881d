//! A link of constant rate.

use super::facts::LinkFacts;
use super::{Link, LinkContext, LinkKind};
use ackclock_spec::prelude::*;

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// Rate; `"0 bit/s"` is a link that is down for ever.
    pub rate: BitRate,
}

impl Element<LinkKind> for Constant {
    const NAME: &'static str = "constant";
    const LABEL: &'static str = "constant rate";
    const SUMMARY: &'static str = "Sends at a constant rate.";
    const REFERENCE: &'static str =
        "exact to the bit: the fraction of a nanosecond is carried from packet to packet";

    fn facts(&self) -> LinkFacts {
        LinkFacts {
            mean_bit_per_s: Some(self.rate.as_bit_per_s() as f64),
            highest_bit_per_s: Some(self.rate.as_bit_per_s()),
            ..LinkFacts::own(false)
        }
    }
}

impl Factory<LinkKind> for Constant {
    fn build(&self, _: LinkContext<'_>) -> Box<dyn Link> {
        Box::new(ConstantLink::new(self.rate))
    }
}

/// Converts bytes over bits per second to nanoseconds: 8 bits times 10⁹ ns.
const SCALE: u64 = 8_000_000_000;

/// The serialisation time of one packet size: `whole` nanoseconds and `fraction`/rate of one.
#[derive(Clone, Copy, Debug)]
struct Known {
    size: u64,
    whole: u64,
    fraction: u64,
}

impl Known {
    /// An infinite time: it leaves no fraction. The carry of one nanosecond that a fraction of 0/0
    /// adds makes it `u64::MAX`.
    const FOR_EVER: u64 = u64::MAX - 1;

    #[cold] // keeps the cost of the division off the common path
    fn new(size: u64, rate: BitRate) -> Self {
        let rate = rate.as_bit_per_s();
        let (whole, fraction) = match size.checked_mul(SCALE) {
            _ if rate == 0 => (Self::FOR_EVER, 0),
            Some(scaled) => (scaled / rate, scaled % rate),
            None => {
                let (scaled, rate) = (u128::from(size) * u128::from(SCALE), u128::from(rate));
                match u64::try_from(scaled / rate) {
                    Ok(whole) if whole < Self::FOR_EVER => (whole, (scaled % rate) as u64),
                    _ => (Self::FOR_EVER, 0),
                }
            }
        };
        Known {
            size,
            whole,
            fraction,
        }
    }
}

/// A link of constant rate in operation.
#[derive(Clone, Copy, Debug)]
pub struct ConstantLink {
    rate: BitRate,
    /// End of the last service, and the numerator of the fraction of a nanosecond (over `rate`) by
    /// which rounding made it too early.
    last_finish: Time,
    remainder: u64,
    /// Serialisation time of the last size. Most packets of one direction have the same size, so
    /// this saves a division per packet.
    last: Known,
}

impl ConstantLink {
    pub(super) fn new(rate: BitRate) -> Self {
        ConstantLink {
            rate,
            last_finish: Time::NEVER,
            remainder: 0,
            last: Known::new(0, rate),
        }
    }

    #[inline(always)]
    fn serialization(&mut self, size: u64) -> Known {
        if self.last.size != size {
            self.last = Known::new(size, self.rate);
        }
        self.last
    }

    /// Returns the service time of a packet of `size` that does not start at the last finish, in
    /// whole nanoseconds. `None` if 32 bits are too few.
    pub(crate) fn whole_nanos(&mut self, size: u64) -> Option<u32> {
        u32::try_from(self.serialization(size).whole).ok()
    }

    /// Records that a packet of the size last asked for was sent by `finish`, and that its service
    /// started later than the last finish.
    pub(crate) const fn note_idle(&mut self, finish: Time) {
        self.last_finish = finish;
        self.remainder = self.last.fraction;
    }
}

impl Link for ConstantLink {
    #[inline(always)]
    fn finish(&mut self, start: Time, size: Bytes) -> Time {
        let Known {
            whole, fraction, ..
        } = self.serialization(size.0);
        let carried = if start == self.last_finish {
            self.remainder
        } else {
            0
        };
        // Both are less than the rate, unless that is zero.
        let sum = carried + fraction;
        let (carry, remainder) = match sum.checked_sub(self.rate.as_bit_per_s()) {
            Some(rest) => (1, rest),
            None => (0, sum),
        };
        self.remainder = remainder;
        self.last_finish = start + Span::from_nanos(whole + carry);
        self.last_finish
    }

    fn rate(&self, _at: Time) -> BitRate {
        self.rate
    }

    fn mean_rate(&self, _from: Time, _until: Time) -> BitRate {
        self.rate
    }

    fn as_constant(&self) -> Option<ConstantLink> {
        Some(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_to_back_packets_do_not_drift() {
        // 3 Gbit/s, 1 byte: 2 2/3 ns. Three million in a row take exactly 8 ms.
        let mut link = ConstantLink::new(BitRate::from_bit_per_s(3_000_000_000));
        let mut now = Time::ZERO;
        for _ in 0..3_000_000 {
            now = link.finish(now, Bytes(1));
        }
        assert_eq!(now, Time::from_nanos(8_000_000));
    }

    #[test]
    fn extremes_hold() {
        let mut slow = ConstantLink::new(BitRate::from_bit_per_s(1_000));
        assert_eq!(
            slow.finish(Time::ZERO, Bytes(1500)),
            Time::from_seconds(12.0)
        );
        // The highest rate: 8 ps for a byte, 32 ps for an ACK.
        for (terabits, bytes, packets, nanos) in [
            (0.4, 1, 1000, 20),
            (10.0, 40, 1_000_000, 32_000),
            (10.0, 1, 1000, 0),
            (10.0, 1, 1250, 1),
        ] {
            let mut fast = ConstantLink::new(BitRate::from_mbit_per_s(terabits * 1e6));
            let mut now = Time::ZERO;
            for _ in 0..packets {
                now = fast.finish(now, Bytes(bytes));
            }
            assert_eq!(now, Time::from_nanos(nanos));
        }
        assert!(
            ConstantLink::new(BitRate::ZERO)
                .finish(Time::ZERO, Bytes(1))
                .is_never()
        );
    }

    #[test]
    fn sizes_may_alternate() {
        let mut link = ConstantLink::new(BitRate::from_mbit_per_s(7.0));
        let (mut now, mut bits) = (Time::ZERO, 0);
        for n in 0..70_000_u64 {
            let size = 40 + (n * n) % 1461;
            bits += 8 * size;
            now = link.finish(now, Bytes(size));
        }
        assert_eq!(now.as_nanos(), bits * 1000 / 7);
    }
}
