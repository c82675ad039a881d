//! Duplicate ACKs in the place of SACK blocks: how many segments have arrived beyond the first
//! unacknowledged one, not which (`tcp_add_reno_sack`, `tcp_remove_reno_sacks` of Linux 6.18).
//!
//! The count is in the place of the SACKED bytes. No record has a mark for it.

use super::{LOST, SACKED, Scoreboard};

impl Scoreboard {
    /// Counts a duplicate ACK. Returns the bytes that it shows to have arrived, and whether more
    /// were counted than can have arrived, which means reordering.
    pub fn count_duplicate(&mut self) -> (u64, bool) {
        let before = self.sacked_segments();
        let too_many = self.set_counted(before + 1);
        let news = self.sacked_segments() - before;
        (news * self.mss, too_many)
    }

    /// Takes from the count what an ACK explains that has just acknowledged `segments`: one of them
    /// filled a hole, and the others had been counted. Returns the bytes that it shows to have
    /// arrived beside those, and whether too many had been counted.
    pub fn explain_duplicates(&mut self, segments: u64, bytes: u64) -> (u64, bool) {
        let counted = self.sacked_segments();
        let explained = counted.min(segments.saturating_sub(1));
        let too_many = self.set_counted(counted - explained);
        (bytes.saturating_sub(explained * self.mss), too_many)
    }

    /// Forgets all duplicate ACKs (`tcp_reset_reno_sack`).
    pub fn forget_duplicates(&mut self) {
        self.set_counted(0);
    }

    /// Marks the first unacknowledged segment as lost. Returns its number if it was not lost
    /// before.
    pub fn lose_first(&mut self) -> Option<u64> {
        let record = self.ring.front()?;
        if record.flags & (LOST | SACKED) != 0 {
            return None;
        }
        self.mark_lost(self.first);
        self.set_counted(self.sacked_segments());
        Some(self.first)
    }

    /// Sets the count, at most to what is not lost: one segment at least is missing. Returns true
    /// if it was more (`tcp_limit_reno_sacked`).
    fn set_counted(&mut self, segments: u64) -> bool {
        let outstanding = self.ring.len() as u64;
        let holes = self.lost.div_ceil(self.mss).max(1);
        let most = outstanding.saturating_sub(holes);
        // The last segment may be short: what is lost and what has arrived are not more than all.
        self.sacked = (segments.min(most) * self.mss).min(self.flight - self.lost);
        self.sacked_end = self.first;
        segments > most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_spec::units::Time;

    fn sent(segments: u64) -> Scoreboard {
        let mut scoreboard = Scoreboard::new(100);
        for n in 0..segments {
            scoreboard.push(Time::from_nanos(n), 100, false);
        }
        scoreboard
    }

    #[test]
    fn a_duplicate_is_a_segment_that_has_left() {
        let mut scoreboard = sent(4);
        assert_eq!(scoreboard.count_duplicate(), (100, false));
        assert_eq!(scoreboard.count_duplicate(), (100, false));
        assert_eq!((scoreboard.pipe(), scoreboard.sacked_segments()), (200, 2));
        assert_eq!(scoreboard.count_duplicate(), (100, false));
        assert_eq!(
            scoreboard.count_duplicate(),
            (0, true),
            "the first is missing"
        );
        scoreboard.check();
        scoreboard.forget_duplicates();
        assert_eq!(scoreboard.pipe(), 400);
    }

    #[test]
    fn an_ack_explains_the_duplicates_before_it() {
        let mut scoreboard = sent(10);
        for _ in 0..5 {
            scoreboard.count_duplicate();
        }
        assert_eq!(scoreboard.lose_first(), Some(0));
        assert_eq!(scoreboard.lose_first(), None);
        assert_eq!(scoreboard.pipe(), 400);
        // The hole and two that had arrived.
        scoreboard.advance(3, |_| {});
        assert_eq!(scoreboard.explain_duplicates(3, 300), (100, false));
        assert_eq!((scoreboard.sacked_segments(), scoreboard.pipe()), (3, 400));
        scoreboard.check();
        // More arrived than was counted.
        scoreboard.advance(9, |_| {});
        assert_eq!(scoreboard.explain_duplicates(6, 600), (300, false));
        assert_eq!(scoreboard.sacked_segments(), 0);
        scoreboard.check();
    }

    #[test]
    fn what_is_left_bounds_the_count() {
        let mut scoreboard = sent(4);
        for _ in 0..3 {
            scoreboard.count_duplicate();
        }
        scoreboard.advance(1, |_| {});
        // Three were counted, and of three that are outstanding one is missing.
        assert_eq!(scoreboard.explain_duplicates(1, 100), (100, true));
        assert_eq!(scoreboard.sacked_segments(), 2);
        scoreboard.check();
    }

    #[test]
    fn a_short_last_segment_does_not_count_twice() {
        let mut scoreboard = Scoreboard::new(100);
        scoreboard.set_short(1, 7);
        scoreboard.push(Time::ZERO, 100, false);
        scoreboard.push(Time::ZERO, 7, false);
        scoreboard.count_duplicate();
        scoreboard.lose_first();
        assert_eq!((scoreboard.pipe(), scoreboard.sacked_segments()), (0, 1));
        scoreboard.check();
    }
}
