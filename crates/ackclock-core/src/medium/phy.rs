//! How long frames last: the physical layers of IEEE 802.11 as data.

use crate::units::{BitRate, Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which physical layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Profile {
    /// OFDM at 2.4 GHz with the short slot, as nobody is near who only knows 802.11b: slot 9 us,
    /// SIFS 10 us, preamble 20 us, symbols of 4 us, 22 bits of service and tail, 6 us of signal
    /// extension, control frames at 6 Mbit/s, contention windows 15 to 1023.
    #[default]
    #[serde(rename = "802.11g")]
    G,
    /// DSSS with the long preamble: slot 20 us, SIFS 10 us, preamble 192 us, no symbols, control
    /// frames at 2 Mbit/s, contention windows 31 to 1023.
    #[serde(rename = "802.11b")]
    B,
    /// OFDM at 5 GHz: as 802.11g, but SIFS 16 us and no signal extension.
    #[serde(rename = "802.11a")]
    A,
    /// As 802.11g with 802.11n's mixed preamble of 36 us in front of data, and neither aggregation
    /// nor block acknowledgement: like 802.11n only in this.
    #[serde(rename = "802.11n")]
    N,
}

/// The constants of a physical layer, and what of the layer above counts as time on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phy {
    /// A slot of the backoff.
    pub slot: Span,
    /// Between the frames of one exchange.
    pub sifs: Span,
    /// In front of a data frame: what the receiver synchronises by, and the header of the physical
    /// layer.
    pub preamble: Span,
    /// The same in front of control frames: ACK, RTS, CTS.
    pub control_preamble: Span,
    /// A symbol, which is sent whole; at zero bits are sent one by one.
    pub symbol: Span,
    /// Sent with each frame besides its bytes.
    pub service_and_tail_bits: u32,
    /// Behind each frame.
    pub signal_extension: Span,
    /// Of control frames.
    pub basic_rate: BitRate,
    /// The default smallest and largest contention window.
    pub cw: (u32, u32),
}

const fn micros(number: u64) -> Span {
    Span::from_micros(number)
}

impl Profile {
    /// The table. IEEE 802.11-2016: clause 16 (b; long preamble and header, 144 + 48 bits at 1
    /// Mbit/s), 17 (a), 18 (g), 19 (n). In clause 17 a preamble of 16 us and SIGNAL of 4 us, and 16
    /// service and 6 tail bits; n's mixed format puts HT-SIG, HT-STF and one HT-LTF behind them.
    /// Basic rates are a choice of the cell: the lowest of OFDM, as in the study of buffers in
    /// 802.11e; of DSSS the higher of the two that every station has.
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
    /// How long a data frame lasts; `size` is all of it above the physical layer.
    pub fn data(&self, size: Bytes, rate: BitRate) -> Span {
        self.frame(self.preamble, size, rate)
    }
    /// How long a control frame lasts.
    pub fn control(&self, size: Bytes) -> Span {
        self.frame(self.control_preamble, size, self.basic_rate)
    }

    /// Whole symbols; without symbols up to the next whole nanosecond.
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
    /// Of the layers below IP: MAC header and FCS 28, LLC 8.
    const OVERHEAD: u64 = 36;

    fn airtimes(phy: &Phy, megabits: u64) -> [u64; 3] {
        let rate = BitRate::from_bit_per_s(megabits * MEGABIT);
        let data = |size| phy.data(Bytes(size + OVERHEAD), rate).as_nanos();
        [data(1000), data(40), phy.control(Bytes(14)).as_nanos()]
    }

    /// Data of 1000 bytes, a TCP ACK of 40 and a MAC ACK, counted by hand: 39, 3 and 6 symbols.
    #[test]
    fn frames_of_ofdm_are_whole_symbols() {
        assert_eq!(airtimes(&Profile::G.phy(), 54), [182_000, 38_000, 50_000]);
        assert_eq!(airtimes(&Profile::A.phy(), 54), [176_000, 32_000, 44_000]);
        assert_eq!(airtimes(&Profile::N.phy(), 54), [198_000, 54_000, 50_000]);
    }

    /// As ns-2 reckons: 192 bits of preamble and header at 6 Mbit/s, then bit by bit.
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
