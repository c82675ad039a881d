//! The scoreboard: the segments in flight (RFC 6675 section 3), in 16 bytes each.
//!
//! A ring holds a record for each segment from the first unacknowledged one to the last one sent.
//! Each change of a record also updates all sums (`pipe`, SACKed, lost and resent bytes). The cost
//! of an ACK is therefore proportional to the number of records it changes, not to the data in
//! flight.

use crate::packet::SackBlock;
use ackclock_spec::units::{Span, Time};
use std::collections::VecDeque;

mod by_time;
mod counted;

pub(super) use by_time::{MarkedLost, TransmissionOrder};

/// Received, according to a SACK block.
const SACKED: u8 = 1;
/// `IsLost` of RFC 6675 section 4, or in flight when the timer expired.
const LOST: u8 = 2;
/// Retransmitted since the current recovery began, and counted in `resent`.
const RESENT: u8 = 4;
/// Sent more than once at any time: its round-trip time is ambiguous (Karn).
const AMBIGUOUS: u8 = 8;
/// Marked as lost by RACK, which does not judge it again before it is retransmitted.
const JUDGED: u8 = 16;

#[derive(Clone, Copy, Debug)]
struct Record {
    sent_at: Time,
    /// Number of records, from a SACKED one on, known to be SACKED without a gap; zero if only this
    /// one is known. Lets a repeated SACK block be skipped in one step.
    run: u32,
    flags: u8,
}

/// A segment that an ACK shows to have arrived, once for each segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivered {
    /// Number of the segment.
    pub sequence: u64,
    /// Its position among the records, from the first one before this ACK.
    pub index: usize,
    /// Time at which it was sent last.
    pub sent_at: Time,
    /// True if it was sent more than once.
    pub ambiguous: bool,
}

/// The data newly covered by a cumulative acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Advance {
    /// Bytes acknowledged for the first time.
    pub acked: u64,
    /// Bytes of `acked` that were not SACKED before.
    pub delivered: u64,
    /// Earliest sending time of the data in `delivered`; [`Time::NEVER`] if there is none.
    pub oldest: Time,
    /// Sending time of the last segment in `delivered`; [`Time::NEVER`] if there is none.
    pub newest: Time,
    /// True if any of the data was sent more than once.
    pub ambiguous: bool,
}

impl Advance {
    /// Nothing is covered.
    pub const NONE: Advance = Advance {
        acked: 0,
        delivered: 0,
        oldest: Time::NEVER,
        newest: Time::NEVER,
        ambiguous: false,
    };

    /// Returns the round-trip time of the last segment in `delivered`, unless it may be that of a
    /// retransmission.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn newest_rtt(&self, now: Time) -> Option<Span> {
        (!self.ambiguous && !self.newest.is_never()).then(|| now.since(self.newest))
    }
}

/// The records and sums of the segments in flight. Sums are in bytes.
#[derive(Debug)]
pub(super) struct Scoreboard {
    ring: VecDeque<Record>,
    /// Sequence number of the first record: the first unacknowledged segment.
    first: u64,
    mss: u64,
    /// First segment never sent. After go-back-N it lies beyond the last record.
    highest: u64,
    /// Number of the last segment of a finite transfer, which may be short, and its length.
    short_sequence: u64,
    short_length: u64,
    flight: u64,
    /// SACKED; without SACK, what duplicate ACKs count.
    sacked: u64,
    lost: u64,
    resent: u64,
    /// Number of segments that are LOST and not RESENT.
    due: u64,
    /// All segments below this one that are not SACKED are LOST. Like `sacked_end` and `cursor`, it
    /// may lie before `first`: it is updated where it is used, not at every ACK.
    lost_below: u64,
    /// Number of SACKED segments from `lost_below` on.
    sacked_beyond: u64,
    /// First segment after the highest SACKED one.
    sacked_end: u64,
    /// First segment after the highest LOST one.
    lost_end: u64,
    /// HighRxt of RFC 6675 plus one: the start of the search for the next retransmission.
    cursor: u64,
}

impl Scoreboard {
    pub fn new(mss: u64) -> Self {
        Scoreboard {
            ring: VecDeque::new(),
            first: 0,
            highest: 0,
            mss,
            short_sequence: u64::MAX,
            short_length: mss,
            flight: 0,
            sacked: 0,
            lost: 0,
            resent: 0,
            due: 0,
            lost_below: 0,
            sacked_beyond: 0,
            sacked_end: 0,
            lost_end: 0,
            cursor: 0,
        }
    }

    /// Sets the length of the last segment, `sequence`, to `length` bytes.
    pub fn set_short(&mut self, sequence: u64, length: u64) {
        self.short_sequence = sequence;
        self.short_length = length;
    }
    /// Returns the payload of a segment.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub const fn length(&self, sequence: u64) -> u64 {
        if sequence == self.short_sequence {
            return self.short_length();
        }
        self.mss
    }
    #[cold] // once per transfer: a branch, not a selection
    const fn short_length(&self) -> u64 {
        self.short_length
    }
    /// Returns the payload of the segments from `start` to before `end`.
    pub const fn bytes(&self, start: u64, end: u64) -> u64 {
        let full = end.saturating_sub(start).saturating_mul(self.mss);
        if start <= self.short_sequence && self.short_sequence < end {
            full - (self.mss - self.short_length)
        } else {
            full
        }
    }
    /// Returns the payload of a full segment.
    pub const fn mss(&self) -> u64 {
        self.mss
    }
    /// Returns the first unacknowledged segment.
    pub const fn first(&self) -> u64 {
        self.first
    }
    /// Returns the number of the segment after the last record.
    pub fn next(&self) -> u64 {
        self.first + self.ring.len() as u64
    }
    /// Returns the first segment that was never sent.
    pub const fn highest(&self) -> u64 {
        self.highest
    }
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }
    /// Returns the bytes sent and not cumulatively acknowledged (FlightSize of RFC 5681).
    pub const fn flight(&self) -> u64 {
        self.flight
    }
    /// Returns the bytes assumed to be in the network (`pipe` of RFC 6675).
    pub const fn pipe(&self) -> u64 {
        self.flight + self.resent - self.sacked - self.lost
    }
    /// Returns the bytes sent that are neither acknowledged nor SACKED.
    pub const fn unsacked(&self) -> u64 {
        self.flight - self.sacked
    }
    /// Returns the number of lost segments to be retransmitted.
    pub const fn due(&self) -> u64 {
        self.due
    }
    /// True if `IsLost(HighACK + 1)`.
    #[inline(always)] // for the first comparison, which nearly always decides
    pub fn first_is_lost(&self) -> bool {
        self.lost != 0
            && self
                .ring
                .front()
                .is_some_and(|record| record.flags & (LOST | SACKED) == LOST)
    }

    /// Adds the next segment, of `length` bytes. `ambiguous` if it was sent before.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn push(&mut self, now: Time, length: u64, ambiguous: bool) {
        if self.ring.len() == self.ring.capacity() {
            self.grow();
        }
        self.flight += length;
        self.ring.push_back(Record {
            sent_at: now,
            run: 0,
            flags: if ambiguous { AMBIGUOUS } else { 0 },
        });
        self.highest = self.highest.max(self.next());
    }

    /// Makes room for more records.
    #[cold]
    fn grow(&mut self) {
        // A quarter instead of doubling, to bound the memory per packet in flight (BENCHMARKS.md).
        self.ring.reserve_exact(self.ring.len() / 4 + 8);
    }

    /// Records a retransmission of `sequence`. With `counted`, it adds to the pipe. The rescue
    /// retransmission of RFC 6675 does not: it does not move HighRxt.
    pub fn resend(&mut self, sequence: u64, now: Time, counted: bool) {
        let length = self.length(sequence);
        let Some(record) = self.ring.get_mut((sequence - self.first) as usize) else {
            return;
        };
        record.sent_at = now;
        record.flags |= AMBIGUOUS;
        if counted && record.flags & (RESENT | SACKED) == 0 {
            record.flags |= RESENT;
            self.resent += length;
            self.due -= u64::from(record.flags & LOST != 0);
        }
        if counted {
            self.cursor = self.cursor.max(sequence + 1);
        }
    }

    /// Acknowledges everything before `to`. Calls `delivered` for each record that was not SACKED.
    #[inline(always)] // so that what it returns stays in registers
    pub fn advance(&mut self, to: u64, mut delivered: impl FnMut(Delivered)) -> Advance {
        let mut advance = Advance::NONE;
        let mut sequence = self.first;
        while sequence < to
            && let Some(record) = self.ring.pop_front()
        {
            let length = self.length(sequence);
            advance.acked += length;
            if record.flags != 0 {
                advance.ambiguous |= record.flags & AMBIGUOUS != 0;
                self.uncount(sequence, length, record.flags);
            }
            if record.flags & SACKED == 0 {
                advance.delivered += length;
                advance.oldest = advance.oldest.min(record.sent_at);
                advance.newest = record.sent_at;
                delivered(Delivered {
                    sequence,
                    index: (sequence - self.first) as usize,
                    sent_at: record.sent_at,
                    ambiguous: record.flags & AMBIGUOUS != 0,
                });
            }
            sequence += 1;
        }
        self.flight -= advance.acked;
        if sequence < to {
            // Go-back-N: the ACK covers more than has been sent again.
            let beyond = self.bytes(sequence, to);
            advance.acked += beyond;
            advance.delivered += beyond;
            advance.ambiguous = true;
        }
        self.first = to;
        advance
    }

    /// Removes the length of a departing record from the sums that contain it.
    #[inline(never)] // records with flags are rare
    fn uncount(&mut self, sequence: u64, length: u64, flags: u8) {
        if flags & SACKED != 0 {
            self.sacked -= length;
            self.sacked_beyond -= u64::from(sequence >= self.lost_below);
            return;
        }
        if flags & LOST != 0 {
            self.lost -= length;
            self.due -= u64::from(flags & RESENT == 0);
        }
        if flags & RESENT != 0 {
            self.resent -= length;
        }
    }

    /// Marks `block` as received. Skips the first unacknowledged segment and unsent data, which the
    /// receiver cannot hold. Returns the newly SACKED bytes, and calls `delivered` for each such
    /// record.
    pub fn sack(&mut self, block: SackBlock, mut delivered: impl FnMut(Delivered)) -> u64 {
        let start = block.start.max(self.first + 1);
        let end = block.end.min(self.next());
        if start >= end {
            return 0;
        }
        let before = self.sacked;
        let mut sequence = start;
        while sequence < end {
            let index = (sequence - self.first) as usize;
            let Record {
                sent_at,
                run,
                flags,
            } = self.ring[index];
            if flags & SACKED != 0 {
                sequence += u64::from(run.max(1));
                continue;
            }
            let length = self.length(sequence);
            if flags & LOST != 0 {
                self.lost -= length;
                self.due -= u64::from(flags & RESENT == 0);
            }
            if flags & RESENT != 0 {
                self.resent -= length;
            }
            self.ring[index].flags = SACKED | (flags & AMBIGUOUS);
            self.sacked += length;
            self.sacked_beyond += u64::from(sequence >= self.lost_below);
            delivered(Delivered {
                sequence,
                index,
                sent_at,
                ambiguous: flags & AMBIGUOUS != 0,
            });
            sequence += 1;
        }
        self.ring[(start - self.first) as usize].run =
            u32::try_from(sequence - start).unwrap_or(u32::MAX);
        self.sacked_end = self.sacked_end.max(end);
        self.sacked - before
    }

    /// Applies `IsLost` of RFC 6675 section 4 to all segments: a segment with `threshold` SACKED
    /// segments above it is lost. In whole segments, this equals the second criterion, more than
    /// (DupThresh − 1) SMSS, and the first criterion follows from it.
    /// Calls `lost` for each newly lost one.
    pub fn detect_losses(&mut self, threshold: u64, mut lost: impl FnMut(u64)) {
        self.lost_below = self.lost_below.max(self.first);
        while self.sacked_beyond >= threshold.max(1) {
            let length = self.length(self.lost_below);
            let Some(record) = self.ring.get_mut((self.lost_below - self.first) as usize) else {
                break;
            };
            if record.flags & SACKED != 0 {
                self.sacked_beyond -= 1;
            } else if record.flags & LOST == 0 {
                record.flags |= LOST;
                self.lost += length;
                self.due += u64::from(record.flags & RESENT == 0);
                self.lost_end = self.lost_end.max(self.lost_below + 1);
                lost(self.lost_below);
            }
            self.lost_below += 1;
        }
    }

    /// Begins a recovery: the first segment is lost, regardless of the scoreboard, and no segment
    /// has been retransmitted yet (HighRxt = HighACK).
    pub fn begin_recovery(&mut self) {
        if self.resent > 0 {
            for record in &mut self.ring {
                self.due += u64::from(record.flags & (LOST | RESENT) == LOST | RESENT);
                record.flags &= !RESENT;
            }
            self.resent = 0;
        }
        self.cursor = self.first;
        let length = self.length(self.first);
        let Some(record) = self.ring.front_mut() else {
            return;
        };
        if record.flags & SACKED == 0 {
            self.lost_below = self.lost_below.max(self.first + 1);
        }
        if record.flags & (SACKED | LOST) == 0 {
            record.flags |= LOST;
            self.lost += length;
            self.due += 1;
            self.lost_end = self.lost_end.max(self.first + 1);
        }
    }

    /// True if the first unacknowledged segment is SACKED: the receiver has discarded data.
    fn reneged(&self) -> bool {
        self.ring
            .front()
            .is_some_and(|record| record.flags & SACKED != 0)
    }

    /// Clears all SACK marks. Returns the bytes that had one.
    fn forget_sacked(&mut self) -> u64 {
        for record in &mut self.ring {
            record.flags &= !SACKED;
            record.run = 0;
        }
        self.sacked_beyond = 0;
        self.sacked_end = self.first;
        std::mem::take(&mut self.sacked)
    }

    /// Returns the first segment after the highest SACKED one; the first unacknowledged one if none
    /// is SACKED (`tcp_highest_sack_seq` of Linux).
    pub const fn sacked_end(&self) -> u64 {
        if self.sacked == 0 {
            self.first
        } else {
            self.sacked_end
        }
    }
    /// Returns the number of SACKED segments, a short last one included.
    pub const fn sacked_segments(&self) -> u64 {
        self.sacked.div_ceil(self.mss)
    }
    /// Returns the bytes in retransmissions that have neither arrived nor been lost.
    pub const fn resent(&self) -> u64 {
        self.resent
    }
    /// Returns the bytes marked as lost, retransmitted ones included.
    pub const fn lost(&self) -> u64 {
        self.lost
    }
    /// True if a segment in flight is SACKED, lost or sent again.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub const fn has_marks(&self) -> bool {
        self.sacked | self.lost | self.resent != 0
    }
    /// Returns the time at which the first unacknowledged segment was sent last, and whether it
    /// was sent more than once.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn head(&self) -> Option<(Time, bool)> {
        let record = self.ring.front()?;
        Some((record.sent_at, record.flags & AMBIGUOUS != 0))
    }
    /// Returns the last segment in flight.
    pub fn last(&self) -> Option<u64> {
        self.next().checked_sub(1).filter(|_| !self.is_empty())
    }

    /// Marks all segments that are not SACKED as lost, after the timer expired. If the first
    /// segment is SACKED yet not acknowledged, the receiver has discarded data (reneging, RFC 2018
    /// section 8), and all SACK marks are cleared. Returns the SACKED bytes that were cleared, and
    /// calls `lost` for each segment that was not lost before.
    pub fn lose_all(&mut self, mut lost: impl FnMut(u64)) -> u64 {
        let reneged = self.reneged();
        let before = self.sacked;
        (self.sacked, self.lost, self.resent, self.due) = (0, 0, 0, 0);
        for (record, sequence) in self.ring.iter_mut().zip(self.first..) {
            let length = if sequence == self.short_sequence {
                self.short_length
            } else {
                self.mss
            };
            if record.flags & SACKED != 0 && !reneged {
                self.sacked += length;
            } else {
                if record.flags & (LOST | RESENT) != LOST {
                    lost(sequence);
                }
                record.flags = LOST | (record.flags & AMBIGUOUS);
                record.run = 0;
                self.lost += length;
                self.due += 1;
            }
        }
        self.lost_below = self.next();
        self.lost_end = self.lost_below;
        self.sacked_beyond = 0;
        self.cursor = self.first;
        before - self.sacked
    }

    /// Discards all records: data from `first` on will be sent as if new. Returns the bytes that
    /// were SACKED.
    pub fn go_back(&mut self) -> u64 {
        let sacked = self.sacked;
        self.ring.clear();
        (self.flight, self.sacked, self.lost, self.resent, self.due) = (0, 0, 0, 0, 0);
        self.lost_below = self.first;
        self.sacked_beyond = 0;
        self.sacked_end = self.first;
        self.lost_end = self.first;
        self.cursor = self.first;
        sacked
    }

    /// Applies rule 1 of NextSeg (RFC 6675 section 4): the first lost segment not retransmitted
    /// yet.
    pub fn next_lost(&mut self) -> Option<u64> {
        if self.due == 0 {
            return None;
        }
        self.cursor = self.cursor.max(self.first);
        while self.cursor < self.lost_end {
            let record = self.ring.get((self.cursor - self.first) as usize)?;
            if record.flags & (LOST | SACKED | RESENT) == LOST {
                return Some(self.cursor);
            }
            self.cursor += 1;
        }
        None
    }

    /// Applies rule 3: the first segment below the highest SACKED one that is neither SACKED nor
    /// retransmitted, and not known to be lost.
    pub fn next_unsacked(&mut self) -> Option<u64> {
        self.cursor = self.cursor.max(self.first);
        while self.cursor < self.sacked_end {
            let record = self.ring.get((self.cursor - self.first) as usize)?;
            if record.flags & (SACKED | RESENT) == 0 {
                return Some(self.cursor);
            }
            // A SACKED segment stays SACKED, so HighRxt may pass it.
            self.cursor += 1;
        }
        None
    }

    /// Applies rule 4: the highest segment in flight that is not SACKED.
    pub fn highest_unsacked(&self) -> Option<u64> {
        let from_end = self
            .ring
            .iter()
            .rev()
            .position(|record| record.flags & SACKED == 0)?;
        Some(self.next() - 1 - from_end as u64)
    }

    /// Checks all sums against a recount of the records, in one pass: tests do so at each step.
    #[cfg(test)]
    pub fn check(&self) {
        let (mut flight, mut sacked, mut lost, mut resent) = (0, 0, 0, 0);
        let (mut due, mut beyond) = (0, 0);
        let mut without_gap = 0; // records from this one on that are SACKED
        for (index, record) in self.ring.iter().enumerate().rev() {
            let sequence = self.first + index as u64;
            let has = |flag: u8| record.flags & flag != 0;
            let length = self.length(sequence);
            let counted = |flag: u8| if has(flag) { length } else { 0 };
            flight += length;
            sacked += counted(SACKED);
            lost += counted(LOST);
            resent += counted(RESENT);
            due += u64::from(has(LOST) && !has(RESENT));
            without_gap = if has(SACKED) { without_gap + 1 } else { 0 };
            if has(SACKED) {
                assert!(!has(LOST | RESENT), "exclusive");
                beyond += u64::from(sequence >= self.lost_below);
                let run = (record.run as usize).min(self.ring.len() - index);
                assert!(run <= without_gap, "a run has no gap");
            }
        }
        assert_eq!(self.flight, flight, "flight");
        // Duplicate ACKs are counted without a mark, and keep the end at the first segment.
        let is_counted = sacked == 0 && self.sacked_end == self.first;
        assert!(self.sacked == sacked || is_counted, "sacked");
        assert!(self.sacked + self.lost <= self.flight, "at most all");
        assert_eq!(self.lost, lost, "lost");
        assert_eq!(self.resent, resent, "resent");
        assert_eq!(self.due, due, "due");
        assert_eq!(self.sacked_beyond, beyond, "sacked beyond");
        assert!(self.lost_below <= self.next().max(self.first));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(segments: u64) -> Scoreboard {
        let mut scoreboard = Scoreboard::new(100);
        for n in 0..segments {
            scoreboard.push(Time::from_nanos(n), scoreboard.length(n), false);
        }
        scoreboard
    }
    fn sack(scoreboard: &mut Scoreboard, start: u64, end: u64) -> u64 {
        let news = scoreboard.sack(SackBlock { start, end }, |_| {});
        scoreboard.detect_losses(3, |_| {});
        scoreboard.check();
        news
    }

    #[test]
    fn a_record_is_sixteen_bytes() {
        assert_eq!(size_of::<Record>(), 16);
    }

    #[test]
    fn the_ring_grows_by_a_quarter() {
        let scoreboard = sent(10_000);
        assert!(scoreboard.ring.capacity() < 10_000 * 5 / 4 + 16);
    }

    #[test]
    fn what_has_three_sacked_above_is_lost() {
        let mut scoreboard = sent(10);
        assert_eq!(sack(&mut scoreboard, 2, 4), 200);
        assert!(!scoreboard.first_is_lost());
        assert_eq!(sack(&mut scoreboard, 2, 5), 100);
        assert!(scoreboard.first_is_lost());
        assert_eq!(scoreboard.pipe(), 1000 - 300 - 200);
        assert_eq!(sack(&mut scoreboard, 7, 8), 100);
        // Segments 5 and 6 have one SACKED segment above them.
        assert_eq!(scoreboard.due(), 2);
        sack(&mut scoreboard, 7, 10);
        assert_eq!(scoreboard.due(), 4);
    }

    #[test]
    fn a_segment_is_news_once() {
        let mut scoreboard = sent(10);
        assert_eq!(sack(&mut scoreboard, 5, 7), 200);
        assert_eq!(sack(&mut scoreboard, 3, 9), 400);
        assert_eq!(sack(&mut scoreboard, 3, 9), 0);
        assert_eq!(sack(&mut scoreboard, 4, 10), 100);
    }

    #[test]
    fn absurd_blocks_change_nothing() {
        let mut scoreboard = sent(4);
        for (start, end) in [
            (0, 1),
            (4, 9),
            (3, 2),
            (2, 2),
            (u64::MAX, u64::MAX),
            (u64::MAX, 0),
        ] {
            assert_eq!(sack(&mut scoreboard, start, end), 0);
        }
        // The receiver cannot hold the first segment, which it waits for.
        assert_eq!(sack(&mut scoreboard, 0, u64::MAX), 300);
    }

    #[test]
    fn next_segments_come_in_the_order_of_the_rules() {
        let mut scoreboard = sent(10);
        sack(&mut scoreboard, 1, 2);
        sack(&mut scoreboard, 3, 4);
        sack(&mut scoreboard, 5, 6);
        scoreboard.begin_recovery();
        let mut order = Vec::new();
        while let Some(sequence) = scoreboard
            .next_lost()
            .or_else(|| scoreboard.next_unsacked())
        {
            order.push(sequence);
            scoreboard.resend(sequence, Time::ZERO, true);
            scoreboard.check();
        }
        assert_eq!(order, [0, 2, 4]);
        assert_eq!(scoreboard.highest_unsacked(), Some(9));
        // A second recovery may retransmit them again.
        scoreboard.begin_recovery();
        scoreboard.check();
        assert_eq!(scoreboard.next_lost(), Some(0));
    }

    #[test]
    fn reneging_is_seen_at_the_timeout() {
        let mut scoreboard = sent(5);
        sack(&mut scoreboard, 1, 5);
        scoreboard.advance(1, |_| {});
        scoreboard.check();
        assert_eq!(scoreboard.lose_all(|_| {}), 400);
        scoreboard.check();
        assert_eq!((scoreboard.due(), scoreboard.pipe()), (4, 0));
        assert_eq!(scoreboard.next_lost(), Some(1));
    }

    #[test]
    fn the_short_segment_counts_its_real_bytes() {
        let mut scoreboard = Scoreboard::new(100);
        scoreboard.set_short(2, 7);
        for _ in 0..3 {
            scoreboard.push(Time::ZERO, scoreboard.length(scoreboard.next()), false);
        }
        assert_eq!(scoreboard.flight(), 207);
        assert_eq!(sack(&mut scoreboard, 2, 3), 7);
        assert_eq!(scoreboard.advance(3, |_| {}).acked, 207);
        assert_eq!(scoreboard.flight(), 0);
        scoreboard.check();
    }
}
