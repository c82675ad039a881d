//! Frame durations: the physical layers of IEEE 802.11 as data.

use ackclock_spec::units::{BitRate, Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A physical layer of IEEE 802.11.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Profile {
    /// OFDM at 2.4 GHz with the short slot, without stations of 802.11b nearby: slot 9 us,
    /// SIFS 10 us, preamble 20 us. Symbols of 4 us, 22 bits of service and tail, 6 us of signal
    /// extension, control frames at 6 Mbit/s, contention windows 15 to 1023.
    #[default]
    #[serde(rename = "802.11g")]
    G,
    /// DSSS with the long preamble: slot 20 us, SIFS 10 us, preamble 192 us, no symbols. Control
    /// frames at 2 Mbit/s, contention windows 31 to 1023.
    #[serde(rename = "802.11b")]
    B,
    /// OFDM at 5 GHz: as 802.11g, but SIFS 16 us and no signal extension.
    #[serde(rename = "802.11a")]
    A,
    /// Like 802.11g, but with 802.11n's mixed preamble of 36 us before data. It is like 802.11n
    /// only in this: there is neither aggregation nor block acknowledgement.
    #[serde(rename = "802.11n")]
    N,
}

/// The constants of a physical layer that determine frame durations and access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phy {
    /// Slot of the backoff.
    pub slot: Span,
    /// SIFS: time between the frames of an exchange.
    pub sifs: Span,
    /// Preamble and header of the physical layer before a data frame.
    pub preamble: Span,
    /// Preamble and header of the physical layer before control frames: ACK, RTS, CTS.
    pub control_preamble: Span,
    /// Symbol, which is sent as a whole; with zero, bits are sent one by one.
    pub symbol: Span,
    /// Bits of a frame in addition to its bytes.
    pub service_and_tail_bits: u32,
    /// Signal extension after each frame.
    pub signal_extension: Span,
    /// Rate of control frames.
    pub basic_rate: BitRate,
    /// Default smallest and largest contention window.
    pub cw: (u32, u32),
}

const fn micros(number: u64) -> Span {
    Span::from_micros(number)
}

impl Profile {
    /// Returns the constants of the profile. IEEE 802.11-2016: clause 16 (b; long preamble and
    /// header, 144 + 48 bits at 1 Mbit/s), 17 (a), 18 (g), 19 (n).
    ///
    /// In clause 17, the preamble is 16 us and SIGNAL 4 us, and there are 16 service and 6 tail
    /// bits. The mixed format of n adds HT-SIG, HT-STF and one HT-LTF. Basic rates are a choice of
    /// the cell: for OFDM the lowest, as in the study of buffers in 802.11e; for DSSS the higher of
    /// the two that every station has.
    pub const fn phy(self) -> Phy {
        let ofdm = Phy {
            slot: micros(9),
            sifs: micros(10),
            preamble: micros(20),
            control_preamble: micros(20),
            symbol: micros(4),
            service_and_tail_bits: 22,
            signal_extension: micros(6),
            basic_rate: BitRate::from_bit_per_s(6_000_000),
            cw: (15, 1023),
        };
        match self {
            Profile::G => ofdm,
            Profile::A => Phy {
                sifs: micros(16),
                signal_extension: Span::ZERO,
                ..ofdm
            },
            Profile::N => Phy {
                preamble: micros(36),
                ..ofdm
            },
            Profile::B => Phy {
                slot: micros(20),
                preamble: micros(192),
                control_preamble: micros(192),
                symbol: Span::ZERO,
                service_and_tail_bits: 0,
                signal_extension: Span::ZERO,
                basic_rate: BitRate::from_bit_per_s(2_000_000),
                cw: (31, 1023),
                ..ofdm
            },
        }
    }
}

impl Phy {
    /// Returns the duration of a data frame; `size` is its size above the physical layer.
    pub fn data(&self, size: Bytes, rate: BitRate) -> Span {
        self.frame(self.preamble, size, rate)
    }
    /// Returns the duration of a control frame.
    pub fn control(&self, size: Bytes) -> Span {
        self.frame(self.control_preamble, size, self.basic_rate)
    }

    /// Returns whole symbols; without symbols, rounds up to the next nanosecond.
    fn frame(&self, preamble: Span, size: Bytes, rate: BitRate) -> Span {
        let bits = u128::from(self.service_and_tail_bits) + 8 * u128::from(size.0);
        let (scaled, rate) = (bits * 1_000_000_000, u128::from(rate.as_bit_per_s()));
        let body = match u128::from(self.symbol.as_nanos()) {
            0 => scaled.div_ceil(rate),
            symbol => scaled.div_ceil(rate * symbol) * symbol,
        };
        let body = Span::from_nanos(u64::try_from(body).unwrap_or(u64::MAX));
        preamble + body + self.signal_extension
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEGABIT: u64 = 1_000_000;
    /// Bytes of the layers below IP: MAC header and FCS 28, LLC 8.
    const OVERHEAD: u64 = 36;

    fn airtimes(phy: &Phy, megabits: u64) -> [u64; 3] {
        let rate = BitRate::from_bit_per_s(megabits * MEGABIT);
        let data = |size| phy.data(Bytes(size + OVERHEAD), rate).as_nanos();
        [data(1000), data(40), phy.control(Bytes(14)).as_nanos()]
    }

    /// Data of 1000 bytes, a TCP ACK of 40 bytes and a MAC ACK, counted by hand: 39, 3 and 6
    /// symbols.
    #[test]
    fn frames_of_ofdm_are_whole_symbols() {
        assert_eq!(airtimes(&Profile::G.phy(), 54), [182_000, 38_000, 50_000]);
        assert_eq!(airtimes(&Profile::A.phy(), 54), [176_000, 32_000, 44_000]);
        assert_eq!(airtimes(&Profile::N.phy(), 54), [198_000, 54_000, 50_000]);
    }

    /// Matches ns-2: 192 bits of preamble and header at 6 Mbit/s, then bit by bit.
    #[test]
    fn without_symbols_bits_are_sent_one_by_one() {
        let ns2 = Phy {
            preamble: micros(32),
            control_preamble: micros(32),
            symbol: Span::ZERO,
            service_and_tail_bits: 0,
            signal_extension: Span::ZERO,
            ..Profile::G.phy()
        };
        assert_eq!(airtimes(&ns2, 54), [185_482, 43_260, 50_667]); // 185.5, 43.3 and 50.7 us
        let dsss = airtimes(&Profile::B.phy(), 11);
        assert_eq!(
            dsss,
            [192_000 + 753_455, 192_000 + 55_273, 192_000 + 56_000]
        );
    }
}
