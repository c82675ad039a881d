//! Feedback of accurate ECN (RFC 9768): bytes by codepoint as the receiver of the data reports them
//! in options, and marked packets as ACE, a counter of three bits, reports them in the header.

use ackclock_core::endpoint::accurate_ecn::{INITIAL_PACKETS, fitting};
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

/// CE packets as the sender of the data learns them from ACE.
#[derive(Clone, Copy, Debug, Default)]
pub struct MarkedPackets {
    /// The counter, and CE packets so far; None before the first ACK.
    counted: Option<(u32, u64)>,
    /// True if the receiver counted from one more, as the SYN-ACK arrived marked.
    from_mark: bool,
    /// True if the last ACK had no count of bytes.
    silent: bool,
    /// ACKs at which ACE may have wrapped.
    unclear: u64,
}

/// News of an ACK that makes progress.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// ACE of its header.
    pub ace: u8,
    /// Packets that it shows to be delivered.
    pub packets: u64,
    /// Bytes that arrived marked since the last option; None if this ACK has none.
    pub marked_bytes: Option<u64>,
    /// Payload of the smallest and of the largest packet that it may cover.
    pub payloads: (u64, u64),
}

impl MarkedPackets {
    /// Takes the first ACK of a client, which says in place of the counter with which codepoint the
    /// SYN-ACK arrived (section 3.2.2.1).
    pub fn begin(&mut self, ace: u8) {
        const MARKED: u8 = 0b110;
        self.from_mark = ace == MARKED;
    }

    /// Takes an ACK that makes progress. Returns how many more packets arrived marked, at least.
    pub fn take(&mut self, ack: &Progress) -> u64 {
        let start = INITIAL_PACKETS + u32::from(self.from_mark);
        let (counter, sum) = self.counted.unwrap_or((start, 0));
        let step = u64::from(u32::from(ack.ace).wrapping_sub(counter) & 0b111);
        let silent = std::mem::replace(&mut self.silent, ack.marked_bytes.is_none());
        let marked = ack.marked(step, ack.marked_bytes.filter(|_| !silent));
        self.unclear += u64::from(marked.is_none());
        let marked = marked.unwrap_or(step);
        self.counted = Some((counter.wrapping_add(marked as u32), sum + marked));
        marked
    }

    /// Returns how many packets arrived marked; None without an ACK, or if ACE may have wrapped.
    pub fn packets(&self) -> Option<u64> {
        let (_, sum) = self.counted?;
        (self.unclear == 0).then_some(sum)
    }

    /// Returns how many packets arrived marked, at least; None without an ACK.
    pub fn least(&self) -> Option<u64> {
        self.counted.map(|(_, sum)| sum)
    }

    /// Returns the number of ACKs at which ACE may have wrapped; None without an ACK.
    pub fn unclear(&self) -> Option<u64> {
        self.counted.map(|_| self.unclear)
    }
}

impl Progress {
    /// Returns the CE packets that a step of ACE stands for; None if several counts fit. `bytes` is
    /// the payload of those that the ACK tells of.
    fn marked(&self, step: u64, bytes: Option<u64>) -> Option<u64> {
        let (least, most) = fitting(step, self.packets);
        let (smallest, largest) = self.payloads;
        let fits = |count: u64| {
            bytes.is_none_or(|bytes| count * smallest <= bytes && bytes <= count * largest)
        };
        let mut fitting = (least..=most).step_by(8).filter(|count| fits(*count));
        // Marked packets without payload leave no count that fits.
        let count = fitting.next().unwrap_or(least);
        fitting.next().is_none().then_some(count)
    }
}

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

    fn heard(acks: &[Progress]) -> (Option<u64>, Option<u64>) {
        let mut marked = MarkedPackets::default();
        for ack in acks {
            marked.take(ack);
        }
        (marked.packets(), marked.unclear())
    }
    fn ack(ace: u32, packets: u64, marked_bytes: Option<u64>) -> Progress {
        Progress {
            ace: (ace & 7) as u8,
            packets,
            marked_bytes,
            payloads: (1000, 1000),
        }
    }

    #[test]
    fn ace_is_unwrapped_while_acks_are_of_few_packets() {
        let acks: Vec<_> = (1..=100).map(|n| ack(5 + 7 * n, 7, None)).collect();
        assert_eq!(heard(&acks), (Some(700), Some(0)));
        assert_eq!(heard(&[ack(5, 7, None)]), (Some(0), Some(0)));
        assert_eq!(heard(&[]), (None, None));
        // Five of twelve: thirteen would be too many.
        assert_eq!(heard(&[ack(5 + 5, 12, None)]), (Some(5), Some(0)));
    }

    #[test]
    fn where_ace_may_have_wrapped_the_count_is_unknown() {
        assert_eq!(heard(&[ack(5, 8, None)]), (None, Some(1)), "none or eight");
        assert_eq!(heard(&[ack(5 + 4, 12, None)]), (None, Some(1)));
        // The bytes tell.
        assert_eq!(heard(&[ack(5, 8, Some(0))]), (Some(0), Some(0)));
        assert_eq!(heard(&[ack(5, 8, Some(8_000))]), (Some(8), Some(0)));
        assert_eq!(heard(&[ack(5 + 9, 40, Some(9_000))]), (Some(9), Some(0)));
        // Not where packets are of several sizes.
        let sizes = Progress {
            payloads: (100, 1000),
            ..ack(5, 40, Some(9_000))
        };
        assert_eq!(heard(&[sizes]), (None, Some(1)), "16 to 40");
    }

    #[test]
    fn a_marked_syn_ack_counts_in_the_receivers_start_alone() {
        let mut marked = MarkedPackets::default();
        marked.begin(0b110);
        marked.take(&ack(6, 2, None));
        assert_eq!(marked.packets(), Some(0));
        let mut plain = MarkedPackets::default();
        plain.begin(0b010);
        plain.take(&ack(6, 2, None));
        assert_eq!(plain.packets(), Some(1));
    }

    #[test]
    fn a_counter_wraps_and_does_not_run_backwards() {
        let mut bytes = CodepointBytes::default();
        bytes.take(&option(MODULUS - 10), false, true);
        assert_eq!(bytes.ect0.bytes(), Some(0), "where counting begins");
        bytes.take(&option(5), false, true);
        assert_eq!(bytes.ect0.bytes(), Some(15));
        bytes.take(&option(MODULUS - 10), false, true);
        assert_eq!(bytes.ect0.bytes(), Some(15), "older");
        bytes.take(&option(1_000), false, false);
        assert_eq!(bytes.ect0.bytes(), Some(15), "overtaken");
        bytes.take(&option(6), false, true);
        assert_eq!(bytes.ect0.bytes(), Some(16));
        assert_eq!((bytes.ect1.bytes(), bytes.ce.bytes()), (None, None));
        assert_eq!(bytes.options, 5);
    }
}
