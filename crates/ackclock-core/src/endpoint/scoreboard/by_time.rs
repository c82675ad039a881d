//! The records as RACK sees them: in the order of transmission.

use super::{AMBIGUOUS, JUDGED, LOST, RESENT, Record, SACKED, Scoreboard};
use crate::packet::SackBlock;
use ackclock_spec::units::{Span, Time};
use std::collections::VecDeque;

/// Segments that RACK has just marked as lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct MarkedLost {
    /// The segments, lost retransmissions included.
    pub segments: Vec<u64>,
    /// Number of lost retransmissions.
    pub again: u64,
    /// Time until the last of the segments that are late, and not yet lost, will be lost.
    pub wait: Option<Span>,
}

/// The order of transmission, for RACK.
#[derive(Debug, Default)]
pub(in super::super) struct TransmissionOrder {
    /// All segments below this one have arrived, are lost, or were sent again.
    unjudged: u64,
    /// Retransmissions in the order of sending. An entry is stale once its segment was sent again,
    /// has arrived or is lost.
    retransmissions: VecDeque<(u64, Time)>,
}

impl TransmissionOrder {
    /// Adds a retransmission.
    pub fn queue(&mut self, sequence: u64, now: Time) {
        self.retransmissions.push_back((sequence, now));
    }
}

impl Scoreboard {
    /// Applies RACK (RFC 8985 section 6.2 step 5). A segment is lost `limit` after it was sent, if
    /// one that was sent later has arrived. `latest` is the sending time and the number of the
    /// latest arrival. Retransmissions are judged by their own times.
    pub fn detect_losses_by_time(
        &mut self,
        order: &mut TransmissionOrder,
        latest: (Time, u64),
        limit: Span,
        now: Time,
    ) -> MarkedLost {
        let mut marked = MarkedLost::default();
        // Without any distance all happens at one time, and order says nothing.
        let limit = limit.max(Span::from_nanos(1));
        let mut judge = |sent_at: Time| {
            let late = now.since(sent_at);
            if late < limit {
                let rest = limit - late;
                marked.wait = Some(marked.wait.map_or(rest, |wait| wait.max(rest)));
            }
            late >= limit
        };
        let mut lost = Vec::new();
        order.unjudged = order.unjudged.max(self.first);
        let mut sequence = order.unjudged;
        while let Some(record) = self.ring.get_mut((sequence - self.first) as usize) {
            let done = if record.flags & (SACKED | AMBIGUOUS | JUDGED) != 0 {
                true
            } else if record.flags & LOST != 0 {
                false // since a timeout, which may prove spurious
            } else if (record.sent_at, sequence) >= latest {
                break;
            } else if judge(record.sent_at) {
                record.flags |= JUDGED;
                lost.push(sequence);
                true
            } else {
                false
            };
            order.unjudged += u64::from(done && order.unjudged == sequence);
            sequence += 1;
        }
        let mut position = 0;
        while let Some(&(sequence, sent_at)) = order.retransmissions.get(position) {
            let record = sequence
                .checked_sub(self.first)
                .and_then(|index| self.ring.get(index as usize));
            let stale = record.is_none_or(|record| {
                let waits = record.flags & (LOST | RESENT) == LOST;
                record.sent_at != sent_at || record.flags & SACKED != 0 || waits
            });
            if !stale {
                if (sent_at, sequence) >= latest {
                    break;
                }
                if !judge(sent_at) {
                    position += 1;
                    continue;
                }
                lost.push(sequence);
            }
            order.retransmissions.remove(position);
        }
        for &sequence in &lost {
            marked.again += u64::from(self.mark_lost(sequence));
        }
        marked.segments = lost;
        marked
    }

    /// Marks a segment that is not SACKED as lost, to be sent again. Returns true if it was a
    /// retransmission.
    pub(super) fn mark_lost(&mut self, sequence: u64) -> bool {
        let length = self.length(sequence);
        let Some(record) = self.ring.get_mut((sequence - self.first) as usize) else {
            return false;
        };
        let (was_lost, resent) = (record.flags & LOST != 0, record.flags & RESENT != 0);
        record.flags = (record.flags | LOST) & !RESENT;
        if !was_lost {
            self.lost += length;
        }
        if resent {
            self.resent -= length;
        }
        self.due += u64::from(!was_lost || resent);
        self.lost_end = self.lost_end.max(sequence + 1);
        self.cursor = self.cursor.min(sequence);
        resent
    }

    /// Marks segments as lost after the timer expired: the first one, and those sent at least
    /// `round_trip` ago. If the first one is SACKED yet not acknowledged, the receiver has
    /// discarded data (reneging): all SACK marks are cleared, and all segments are lost. Returns
    /// the SACKED bytes that were cleared, and what is lost that was not.
    pub fn lose_older(&mut self, round_trip: Span, now: Time) -> (u64, MarkedLost) {
        let reneged = self.reneged();
        let cleared = if reneged { self.forget_sacked() } else { 0 };
        let mut marked = MarkedLost::default();
        for index in 0..self.ring.len() {
            let Record { sent_at, flags, .. } = self.ring[index];
            let old = index == 0 || reneged || now.since(sent_at) >= round_trip;
            if flags & SACKED == 0 && old {
                let sequence = self.first + index as u64;
                if flags & (LOST | RESENT) != LOST {
                    marked.segments.push(sequence);
                }
                marked.again += u64::from(self.mark_lost(sequence));
            }
        }
        (cleared, marked)
    }

    /// Returns the segments of `block` that were sent more than once and are outstanding, and
    /// whether each is SACKED.
    pub fn resent_within(&self, block: SackBlock) -> impl Iterator<Item = (u64, bool)> + '_ {
        let within = block.start.max(self.first)..block.end.min(self.next());
        within.filter_map(|sequence| {
            let flags = self.ring[(sequence - self.first) as usize].flags;
            (flags & AMBIGUOUS != 0).then_some((sequence, flags & SACKED != 0))
        })
    }

    /// Clears all LOST marks: what was marked was only late.
    pub fn unlose(&mut self) {
        for record in &mut self.ring {
            record.flags &= !LOST;
        }
        (self.lost, self.due) = (0, 0);
    }
}
