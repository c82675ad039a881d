//! Segments beyond a hole, and the SACK blocks that report them (RFC 2018, RFC 2883).

use crate::packet::{SackBlock, SackBlocks};
use ackclock_spec::units::Bytes;
use std::collections::VecDeque;

/// Number of ranges whose memory is kept when the last hole closes.
const KEPT_RANGES: usize = 32;

/// Segments received beyond a hole. Memory grows with the number of holes; none is used without
/// one.
#[derive(Debug)]
pub(super) struct Beyond {
    /// Sorted; ranges neither overlap nor touch.
    pub(super) ranges: VecDeque<SackBlock>,
    /// Segments that changed a range, latest first, at most one per range; `u64::MAX` for none.
    pub(super) recent: [u64; SackBlocks::MOST],
    /// A segment that is not full (the last of a transfer), and its length.
    pub(super) short: u64,
    pub(super) short_length: u32,
    /// SACK blocks of the last ACK; allocated with the first hole or duplicate.
    pub(super) reported: Option<Box<SackBlocks>>,
    /// Duplicate segment to be reported by the next ACK; `u64::MAX` for none.
    pub(super) duplicate: u64,
}

/// Position of an arriving segment among those held beyond the hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// After all segments held.
    Last,
    /// Before a segment held.
    Reordered,
    /// Received before.
    Duplicate,
}

impl Beyond {
    pub(super) fn new() -> Self {
        Beyond {
            ranges: VecDeque::new(),
            recent: [u64::MAX; SackBlocks::MOST],
            short: u64::MAX,
            short_length: 0,
            reported: None,
            duplicate: u64::MAX,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Inserts a segment beyond the next one expected.
    pub(super) fn insert(&mut self, sequence: u64) -> Arrival {
        let at = match self.ranges.back() {
            Some(last) if sequence < last.end => {
                self.ranges.partition_point(|range| range.end < sequence)
            }
            Some(last) if sequence == last.end => self.ranges.len() - 1,
            _ => self.ranges.len(),
        };
        // ranges[at] is the first range that contains or touches the segment, or lies after it.
        let is_last = self.ranges.back().is_none_or(|last| last.end <= sequence);
        let arrival = match self.ranges.get(at).copied() {
            Some(range) if range.contains(sequence) => Arrival::Duplicate,
            _ if is_last => Arrival::Last,
            _ => Arrival::Reordered,
        };
        match self.ranges.get_mut(at) {
            _ if arrival == Arrival::Duplicate => {}
            Some(range) if range.end == sequence => {
                range.end += 1;
                let end = range.end;
                if let Some(following) = self
                    .ranges
                    .get(at + 1)
                    .copied()
                    .filter(|range| range.start == end)
                {
                    self.ranges[at].end = following.end;
                    self.ranges.remove(at + 1);
                }
            }
            Some(range) if range.start == sequence + 1 => range.start = sequence,
            _ => self.ranges.insert(
                at,
                SackBlock {
                    start: sequence,
                    end: sequence + 1,
                },
            ),
        }
        self.remember(sequence);
        arrival
    }

    /// Moves the range around `sequence` to the front of the recent ones. Removes those that were
    /// merged into it or released.
    pub(super) fn remember(&mut self, sequence: u64) {
        let (Some(changed), Some(first)) = (self.range_around(sequence), self.ranges.front())
        else {
            return;
        };
        let (first, previous) = (first.start, self.recent);
        let others = previous
            .into_iter()
            .filter(|&other| other != u64::MAX && first <= other && !changed.contains(other));
        self.recent = [u64::MAX; SackBlocks::MOST];
        for (slot, other) in self
            .recent
            .iter_mut()
            .zip(std::iter::once(sequence).chain(others))
        {
            *slot = other;
        }
    }

    pub(super) fn range_around(&self, sequence: u64) -> Option<SackBlock> {
        let at = self.ranges.partition_point(|range| range.end <= sequence);
        self.ranges
            .get(at)
            .copied()
            .filter(|range| range.contains(sequence))
    }

    /// Returns how many of the recent blocks changed later than the one that a segment would
    /// enlarge; all of them if it would begin a block, none if it is held already.
    pub(super) fn later_blocks(&self, sequence: u64) -> usize {
        if self.range_around(sequence).is_some() {
            return 0;
        }
        let touches = |block: SackBlock| block.end == sequence || block.start == sequence + 1;
        let recent = self.recent.iter().filter(|&&recent| recent != u64::MAX);
        recent
            .filter_map(|&recent| self.range_around(recent))
            .take_while(|&block| !touches(block))
            .count()
    }

    /// Removes the range that starts at `next`, if there is one, and returns its end.
    pub(super) fn release(&mut self, next: u64) -> Option<u64> {
        let first = self.ranges.front().filter(|range| range.start == next)?.end;
        self.ranges.pop_front();
        if self.ranges.is_empty() {
            self.recent = [u64::MAX; SackBlocks::MOST];
            if self.ranges.capacity() > KEPT_RANGES {
                self.ranges = VecDeque::new();
            }
        }
        Some(first)
    }

    /// Returns the payload of all segments held.
    pub(super) fn held(&self, mss: u32) -> Bytes {
        let payload = |range: &SackBlock| self.payload(range.start, range.end, mss);
        Bytes(self.ranges.iter().map(|range| payload(range).0).sum())
    }

    /// Returns the payload of the segments from `start` to before `end`.
    pub(super) fn payload(&self, start: u64, end: u64, mss: u32) -> Bytes {
        let full = Bytes((end - start).saturating_mul(u64::from(mss)));
        if (start..end).contains(&self.short) {
            full.saturating_sub(Bytes(u64::from(mss))) + Bytes(u64::from(self.short_length))
        } else {
            full
        }
    }

    /// Selects SACK blocks by RFC 2018 section 4: first the block with the segment that caused this
    /// ACK, then the most recently reported ones. Fills up with the highest others.
    ///
    /// A duplicate is reported first, once (RFC 2883 section 4).
    #[inline(never)] // rare: kept out of the path of every packet
    pub(super) fn report(&mut self) {
        let mut blocks = match std::mem::replace(&mut self.duplicate, u64::MAX) {
            u64::MAX => SackBlocks::default(),
            sequence => SackBlocks::reporting(SackBlock {
                start: sequence,
                end: sequence + 1,
            }),
        };
        let free = SackBlocks::MOST - blocks.as_slice().len();
        for sequence in self
            .recent
            .into_iter()
            .filter(|&sequence| sequence != u64::MAX)
        {
            if let Some(block) = self.range_around(sequence)
                && !blocks.held().contains(&block)
            {
                blocks.push(block);
            }
        }
        let wanted = self.ranges.len().min(free);
        for block in self.ranges.iter().rev() {
            if blocks.held().len() >= wanted {
                break;
            }
            if !blocks.held().contains(block) {
                blocks.push(*block);
            }
        }
        **self.reported.get_or_insert_default() = blocks;
    }
}
