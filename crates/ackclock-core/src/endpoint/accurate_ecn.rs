//! Accurate ECN (AccECN, RFC 9768): the counters of the receiver, and their decoding by the sender.
//!
//! Letters of the RFC: r.cep and s.cep are `ce_packets` at the receiver and at the sender, r.ceb,
//! r.e0b and r.e1b are the byte counters, and ACE is the three lowest bits of r.cep.

use super::parameters::AccurateEcn;
use crate::packet::{Ecn, EcnCounters};

/// Initial value of the packet counters (section 3.2.1).
pub const INITIAL_PACKETS: u32 = 5;
/// Most packets that ACE can tell apart.
const ACE_MASK: u32 = 0b111;
/// CE packets after which the receiver acknowledges at once (section 3.2.2.5.1): the packet has
/// data that is not acknowledged.
const CE_PER_ACK: u32 = 2;

/// Returns the least and the most CE packets that a step of ACE can stand for, over an ACK of so
/// many packets (appendix A.2). With at most seven packets they are the same.
pub fn fitting(step: u64, packets: u64) -> (u64, u64) {
    let most = packets.saturating_sub(packets.wrapping_sub(step) & u64::from(ACE_MASK));
    (step, most.max(step))
}

/// The receiver's counters.
#[derive(Clone, Debug)]
pub(super) struct Counting {
    ce_packets: u32,
    bytes: EcnCounters,
    /// CE packets since the last ACK.
    pending: u32,
    /// True if the last packet was marked.
    marked: bool,
    /// True if ACKs carry the byte counters.
    option: bool,
}

impl Counting {
    pub fn new(parameters: AccurateEcn) -> Self {
        Counting {
            ce_packets: INITIAL_PACKETS,
            bytes: EcnCounters::default(),
            pending: 0,
            marked: false,
            option: parameters.option,
        }
    }

    /// Counts a packet with `payload` bytes. True if it is to be acknowledged at once.
    pub fn count(&mut self, ecn: Ecn, payload: u64) -> bool {
        self.bytes.add(ecn, payload);
        let before = self.marked;
        self.marked = ecn == Ecn::Marked;
        if !self.marked {
            return false;
        }
        self.ce_packets = self.ce_packets.wrapping_add(1);
        self.pending += 1;
        !before || self.pending >= CE_PER_ACK
    }

    /// Returns ACE and the byte counters for an ACK.
    pub fn report(&mut self) -> (u8, Option<EcnCounters>) {
        self.pending = 0;
        let ace = (self.ce_packets & ACE_MASK) as u8;
        (ace, self.option.then_some(self.bytes))
    }
}

/// Content of an ACK that is not old.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Packets and bytes that it shows to be delivered.
    pub packets: u64,
    pub bytes: u64,
    /// True if it carries SACK blocks.
    pub sack: bool,
    pub ace: u8,
    pub counters: Option<EcnCounters>,
}

/// The sender's decoder.
#[derive(Clone, Debug)]
pub(super) struct Decoding {
    ce_packets: u32,
    bytes: EcnCounters,
    mss: u64,
    /// Moving average of packets per ACK in 64ths, with gain 1/64; zero before the first ACK.
    packets_per_ack: u64,
    thinning_estimate: bool,
}

/// Scale and gain of the average, as powers of two (`PKTS_ACKED_PREC`, `PKTS_ACKED_WEIGHT`).
const AVERAGE_SHIFT: u32 = 6;
/// Packets per ACK above which ACKs are thinned as a rule (`ACK_COMP_THRESH`).
const THINNED: u64 = 4;

impl Decoding {
    pub fn new(parameters: AccurateEcn, mss: u64) -> Self {
        Decoding {
            ce_packets: INITIAL_PACKETS,
            bytes: EcnCounters::default(),
            mss,
            packets_per_ack: 0,
            thinning_estimate: parameters.thinning_estimate,
        }
    }

    /// Returns the number of CE packets since the last call (appendix A.2; with byte counters as in
    /// Linux, `__tcp_accecn_process`).
    pub fn decode(&mut self, ack: &Progress) -> u64 {
        let marked_bytes = ack.counters.map(|counters| {
            let grown = counters.ce_since(&self.bytes);
            self.bytes = counters;
            grown
        });
        if ack.packets > 0 {
            self.average(ack.packets);
        }
        let delta = u64::from(u32::from(ack.ace).wrapping_sub(self.ce_packets) & ACE_MASK);
        let marked = self.choose(ack, delta, marked_bytes);
        self.ce_packets = self.ce_packets.wrapping_add(marked as u32);
        marked
    }

    fn average(&mut self, packets: u64) {
        let scaled = packets << AVERAGE_SHIFT;
        self.packets_per_ack = match self.packets_per_ack {
            0 => scaled,
            average => ((average << AVERAGE_SHIFT) - average + scaled) >> AVERAGE_SHIFT,
        };
    }

    fn choose(&self, ack: &Progress, delta: u64, marked_bytes: Option<u64>) -> u64 {
        let mask = u64::from(ACE_MASK);
        let (least, safe) = fitting(delta, ack.packets);
        if least == safe {
            return delta;
        }
        let Some(marked) = marked_bytes else {
            let thinned = self.packets_per_ack > THINNED << AVERAGE_SHIFT;
            let likely = self.thinning_estimate && thinned;
            return if likely { delta } else { safe };
        };
        if marked == 0 {
            return delta;
        }
        if ack.packets >= 2 * (mask + 1) && ack.sack {
            let estimate = (marked * ack.packets).div_ceil(ack.bytes.max(1));
            return safe.min(delta + (estimate & !mask));
        }
        if marked <= delta * self.mss && marked < safe * self.mss / 2 {
            return delta;
        }
        safe
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1460;

    fn decoder(thinning_estimate: bool) -> Decoding {
        let parameters = AccurateEcn {
            option: false,
            thinning_estimate,
        };
        Decoding::new(parameters, MSS)
    }
    fn ack(ace: u8, packets: u64) -> Progress {
        Progress {
            packets,
            bytes: packets * MSS,
            sack: false,
            ace,
            counters: None,
        }
    }

    /// RFC 9768 appendix A.2 and the arithmetic there; the third is its own example, +2 over an ACK
    /// of 10.
    #[test]
    fn the_safest_likely_count_is_the_largest_that_fits() {
        for (ace, packets, marks) in [(6, 2, 1), (4, 5, 7), (7, 10, 10), (6, 20, 17), (5, 16, 16)] {
            assert_eq!(
                decoder(false).decode(&ack(ace, packets)),
                marks,
                "{ace} {packets}"
            );
        }
    }

    /// One ACK for ten segments, the first of the connection. The packetdrill scripts of Linux
    /// expect the same (`tcp_accecn_delivered_largeack`, `…2`, `…maxack`).
    #[test]
    fn where_acks_are_thinned_as_a_rule_ace_is_believed() {
        for (ace, thinned, not) in [(5, 0, 8), (6, 1, 9), (4, 7, 7)] {
            assert_eq!(decoder(true).decode(&ack(ace, 10)), thinned);
            assert_eq!(decoder(false).decode(&ack(ace, 10)), not, "Linux 6.18");
        }
        // One large ACK among small ones is not believed.
        let mut decoder = decoder(true);
        (0..200).for_each(|_| assert_eq!(decoder.decode(&ack(5, 2)), 0));
        assert_eq!(decoder.decode(&ack(5, 10)), 8);
        // ACKs of five packets each are thinned, those of three are not (`ACK_COMP_THRESH`). The
        // large one counts in the average.
        for (each, marks) in [(3, 8), (5, 0)] {
            let mut decoder = self::decoder(true);
            (0..200).for_each(|_| assert_eq!(decoder.decode(&ack(5, each)), 0));
            assert_eq!(decoder.decode(&ack(5, 8)), marks, "{each}");
        }
    }

    /// Ten segments with ECT(0), as in Linux's script `tcp_accecn_…_falseoverflow_detect`.
    #[test]
    fn byte_counters_tell_no_mark_from_eight() {
        let mut counters = EcnCounters::default();
        counters.add(Ecn::Capable, 10 * MSS);
        assert_eq!(counters.ect0_bytes, 14_601);
        let with = |counters| Progress {
            counters: Some(counters),
            ..ack(5, 10)
        };
        assert_eq!(decoder(false).decode(&with(counters)), 0);
        // Eight of ten were marked.
        let mut counters = EcnCounters::default();
        counters.add(Ecn::Capable, 2 * MSS);
        counters.add(Ecn::Marked, 8 * MSS);
        assert_eq!(decoder(false).decode(&with(counters)), 8);
    }

    #[test]
    fn byte_counters_and_sack_estimate_the_wraps() {
        let mut counters = EcnCounters::default();
        counters.add(Ecn::Marked, 9 * MSS);
        counters.add(Ecn::Capable, 31 * MSS);
        let ack = Progress {
            counters: Some(counters),
            sack: true,
            ..ack(((5 + 9) & 7) as u8, 40)
        };
        assert_eq!(decoder(false).decode(&ack), 9, "33 would be the safest");
    }

    #[test]
    fn the_receiver_counts_from_five_and_acknowledges_a_new_mark_and_every_second() {
        let parameters = AccurateEcn {
            option: true,
            thinning_estimate: false,
        };
        let mut counting = Counting::new(parameters);
        let mut at_once = |ecn| counting.count(ecn, MSS);
        assert!(!at_once(Ecn::CapableL4s));
        assert!(at_once(Ecn::Marked), "a mark after none");
        assert!(!at_once(Ecn::Capable), "the change back is no news");
        let (ace, counters) = counting.report();
        assert_eq!(ace, 6);
        let counters = counters.unwrap();
        assert_eq!(
            [counters.ce_bytes, counters.ect0_bytes, counters.ect1_bytes],
            [MSS, 1 + MSS, 1 + MSS].map(|bytes| bytes as u32)
        );
        let marked: Vec<bool> = (0..5)
            .map(|_| {
                let at_once = counting.count(Ecn::Marked, MSS);
                if at_once {
                    counting.report();
                }
                at_once
            })
            .collect();
        assert_eq!(marked, [true, false, true, false, true]);
        assert_eq!(counting.report().0, (6 + 5) % 8);
    }

    /// With ACKs of twelve packets, of which one or two are marked, the safest likely count is too
    /// high wherever eight more would fit. Byte counters correct it.
    #[test]
    fn byte_counters_correct_what_is_safest() {
        let heard = |option| {
            let parameters = AccurateEcn {
                option,
                thinning_estimate: false,
            };
            let mut counting = Counting::new(parameters);
            let mut decoder = Decoding::new(parameters, MSS);
            let (mut marks, mut heard) = (0, 0);
            for n in 1..=12_000_u64 {
                let marked = n.is_multiple_of(8);
                marks += u64::from(marked);
                counting.count(if marked { Ecn::Marked } else { Ecn::CapableL4s }, MSS);
                if n.is_multiple_of(12) {
                    let (ace, counters) = counting.report();
                    heard += decoder.decode(&Progress {
                        counters,
                        ..ack(ace, 12)
                    });
                }
            }
            (heard, marks)
        };
        assert_eq!(heard(true), (1_500, 1_500));
        assert_eq!(heard(false), (1_500 + 8 * 1000, 1_500));
    }

    /// With at most seven packets an ACK, sender and receiver agree, whatever is marked.
    #[test]
    fn sender_and_receiver_agree_while_acks_are_small() {
        let parameters = AccurateEcn {
            option: false,
            thinning_estimate: false,
        };
        let (mut counting, mut decoder) = (Counting::new(parameters), decoder(false));
        let (mut marks, mut heard, mut waiting) = (0, 0, 0);
        for n in 0..10_000_u64 {
            let ecn = if n * n % 11 < 4 {
                Ecn::Marked
            } else {
                Ecn::CapableL4s
            };
            marks += u64::from(ecn == Ecn::Marked);
            counting.count(ecn, MSS);
            waiting += 1;
            if waiting == 1 + n % 7 {
                let (ace, _) = counting.report();
                heard += decoder.decode(&ack(ace, waiting));
                waiting = 0;
                assert_eq!(heard, marks);
            }
        }
    }
}
