//! Bytes by codepoint as the receiver of the data reports them in AccECN options (RFC 9768).

use ackclock_pcap::packet::{AccurateEcn, AccurateEcnShape};

/// Counters have 24 bits.
const MODULUS: u32 = 1 << 24;

/// The options that came back for a direction, and what they report.
#[derive(Clone, Copy, Debug, Default)]
pub struct CodepointBytes {
    /// Options, of any length.
    pub options: u64,
    /// Options among these of a length that the RFC does not list.
    pub odd: u64,
    /// Options among these that end behind the header or behind what was captured.
    pub cut: u64,
    /// Payload that arrived with ECT(0).
    pub ect0: Counter,
    /// Payload that arrived with ECT(1).
    pub ect1: Counter,
    /// Payload that arrived with CE.
    pub ce: Counter,
}

/// A counter that wraps, and the sum of its increases.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter(Option<(u32, u64)>);

impl CodepointBytes {
    /// Takes an option. `from_start` says that the connection has been seen from its SYN, so that
    /// the counters' initial values are known (section 3.2.1). Otherwise the first option is where
    /// counting begins. `is_current` is false for an ACK that others have overtaken.
    pub fn take(&mut self, option: &AccurateEcn, from_start: bool, is_current: bool) {
        self.options += 1;
        match option.shape {
            AccurateEcnShape::Listed => {}
            AccurateEcnShape::Odd => self.odd += 1,
            AccurateEcnShape::Cut => self.cut += 1,
        }
        if is_current {
            let initial = |value| from_start.then_some(value);
            self.ect0.take(option.ect0, initial(1));
            self.ect1.take(option.ect1, initial(1));
            self.ce.take(option.ce, initial(0));
        }
    }
}

impl Counter {
    /// Returns the bytes; None if no option has had the counter.
    pub fn bytes(self) -> Option<u64> {
        self.0.map(|(_, sum)| sum)
    }

    /// Takes a value. One that lies behind the last by less than half of the range is of an older
    /// ACK. More than 16 MiB between two options are counted too low by a multiple of that.
    fn take(&mut self, value: Option<u32>, initial: Option<u32>) {
        let Some(value) = value else { return };
        let (last, sum) = self.0.unwrap_or((initial.unwrap_or(value), 0));
        let increase = value.wrapping_sub(last) % MODULUS;
        self.0 = Some(if increase < MODULUS / 2 {
            (value, sum + u64::from(increase))
        } else {
            (last, sum)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(ect0: u32) -> AccurateEcn {
        AccurateEcn {
            ect0: Some(ect0),
            ..AccurateEcn::default()
        }
    }

    #[test]
    fn a_counter_wraps_and_does_not_run_backwards() {
        let mut found = CodepointBytes::default();
        found.take(&option(MODULUS - 10), false, true);
        assert_eq!(found.ect0.bytes(), Some(0), "where counting begins");
        found.take(&option(5), false, true);
        assert_eq!(found.ect0.bytes(), Some(15));
        found.take(&option(MODULUS - 10), false, true);
        assert_eq!(found.ect0.bytes(), Some(15), "older");
        found.take(&option(1_000), false, false);
        assert_eq!(found.ect0.bytes(), Some(15), "overtaken");
        found.take(&option(6), false, true);
        assert_eq!(found.ect0.bytes(), Some(16));
        assert_eq!((found.ect1.bytes(), found.ce.bytes()), (None, None));
        assert_eq!(found.options, 5);
    }
}
