//! Constant bit rate: packets of one size, evenly spaced.

use super::facts::TrafficFacts;
use super::{Traffic, TrafficContext, TrafficKind, Transports, Write};
use ackclock_spec::prelude::*;

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    /// Rate of the payload, without headers. `"0 bit/s"` sends nothing.
    pub rate: BitRate,
    /// Payload of each packet; by default a full packet (the flow's mss).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Bytes>,
}

impl Element<TrafficKind> for Cbr {
    const NAME: &'static str = "cbr";
    const LABEL: &'static str = "constant bit rate";
    const SUMMARY: &'static str = "Sends packets of one size at even spacing, starting at once.";
    const REFERENCE: &'static str = "exact: packet k leaves at k · size / rate, rounded down to \
        the nanosecond, and does not drift";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        check_packet_size(self.packet_size)
    }

    fn facts(&self) -> TrafficFacts {
        TrafficFacts {
            steady_bit_per_s: Stated::Some(self.rate.as_bit_per_s()),
            mean_bit_per_s: Stated::Some(self.rate.as_bit_per_s() as f64),
            ..TrafficFacts::paced(self.packet_size)
        }
    }
}

/// Refuses packets without payload: any rate would need infinitely many.
pub(super) fn check_packet_size(size: Option<Bytes>) -> Result<()> {
    check_above_zero("packet_size", size, "1000 bytes")
}

impl Factory<TrafficKind> for Cbr {
    fn build(&self, context: TrafficContext<'_>) -> Box<dyn Traffic> {
        Box::new(CbrTraffic {
            clock: PacketClock::new(self.rate, self.packet_size.unwrap_or(context.mss)),
        })
    }
}

/// Ticks once per packet: at 0, size/rate, 2·size/rate, … rounded down to the nanosecond, without
/// drift.
#[derive(Debug)]
pub(super) struct PacketClock {
    size: Bytes,
    rate: u64,
    /// Spacing of packets: whole nanoseconds and `fraction`/`rate` of one.
    whole: Span,
    fraction: u64,
    at: Time,
    /// Amount by which `at` was rounded down: `remainder`/`rate` nanoseconds.
    remainder: u64,
}

impl PacketClock {
    /// Makes a clock, which never ticks at rate zero.
    pub fn new(rate: BitRate, size: Bytes) -> Self {
        let bits = rate.as_bit_per_s();
        // At least one byte per tick, so that time passes.
        let size = Bytes(size.0.max(1));
        let scaled = u128::from(size.0) * 8_000_000_000;
        PacketClock {
            size,
            rate: bits,
            whole: rate.serialization(size),
            fraction: scaled.checked_rem(u128::from(bits)).unwrap_or(0) as u64,
            at: if bits == 0 { Time::NEVER } else { Time::ZERO },
            remainder: 0,
        }
    }
    /// Returns the payload of a packet.
    pub const fn size(&self) -> Bytes {
        self.size
    }
    /// Returns the time of the next tick.
    pub const fn at(&self) -> Time {
        self.at
    }
    /// Advances to the following tick.
    pub fn tick(&mut self) {
        self.remainder += self.fraction;
        let carry = if self.remainder >= self.rate {
            self.remainder -= self.rate;
            1
        } else {
            0
        };
        self.at = self.at + self.whole + Span::from_nanos(carry);
    }
}

#[derive(Debug)]
struct CbrTraffic {
    clock: PacketClock,
}

impl Traffic for CbrTraffic {
    fn transports(&self) -> Transports {
        Transports::Any
    }
    fn poll_timeout(&self) -> Time {
        self.clock.at()
    }
    fn poll_write(&mut self) -> Option<Write> {
        if self.clock.at().is_never() {
            return None;
        }
        self.clock.tick();
        Some(Write::Bytes(self.clock.size()))
    }
    fn total(&self) -> Option<Bytes> {
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::traffic::{Write, tests};
    use ackclock_spec::units::{Bytes, Time};
    use serde_json::json;

    #[test]
    fn packets_are_evenly_spaced_and_do_not_drift() {
        // 7 Mbit/s in packets of 1000 bytes: 8/7 ms apart.
        let mut cbr =
            tests::build(json!({ "kind": "cbr", "rate": "7 Mbit/s", "packet_size": "1000 bytes" }));
        for k in 0..70_000_u64 {
            assert_eq!(cbr.poll_timeout(), Time::from_nanos(k * 8_000_000 / 7));
            assert_eq!(cbr.poll_write(), Some(Write::Bytes(Bytes(1000))));
        }
    }

    #[test]
    fn the_packet_is_a_full_one_unless_given() {
        let mut cbr = tests::build(json!({ "kind": "cbr", "rate": "1 kbit/s" }));
        assert_eq!(cbr.poll_write(), Some(Write::Bytes(tests::MSS)));
        assert_eq!(
            cbr.poll_timeout(),
            Time::from_seconds(8.0 * tests::MSS.as_f64() / 1000.0)
        );
    }

    #[test]
    fn degenerate_rates_and_sizes_end_clearly() {
        let mut silent = tests::build(json!({ "kind": "cbr", "rate": "0 bit/s" }));
        assert!(silent.poll_timeout().is_never() && silent.poll_write().is_none());
        let tree = json!({ "kind": "cbr", "rate": "1 Mbit/s", "packet_size": "0 bytes" });
        assert_eq!(tests::choose(tree).unwrap_err().field(), "packet_size");
    }
}
