//! Undo: evidence that a reduction of the window was unnecessary.
//!
//! There are two kinds. The echoed timestamp shows that an ACK answers an original that was sent
//! before the first retransmission (RFC 3522, RFC 4015). Reports of duplicates show that every
//! retransmission arrived twice (RFC 3708). Where Linux differs from the RFCs, this is Linux
//! (`tcp_may_undo`).

use ackclock_spec::units::Time;

/// Evidence about the last reduction.
#[derive(Debug)]
pub(super) struct Undo {
    /// First unacknowledged segment when the reduction began; `None` if there is nothing to undo.
    marker: Option<u64>,
    /// Retransmissions not yet reported as duplicates; `None` before the first one.
    retransmissions: Option<u64>,
    /// Time of the first retransmission; [`Time::NEVER`] before it.
    pub first_retransmission: Time,
    /// True if the window may not be restored, because the network has marked packets.
    forbidden: bool,
}

impl Undo {
    /// Nothing to undo.
    pub fn new() -> Self {
        Undo {
            marker: None,
            retransmissions: None,
            first_retransmission: Time::NEVER,
            forbidden: false,
        }
    }

    /// Begins an episode at `first`, with so many retransmissions in flight. `forbidden` if the
    /// window may not be restored.
    pub fn begin(&mut self, first: u64, retransmissions: u64, forbidden: bool) {
        self.marker = Some(first);
        // None in flight yet is not the same as none left.
        self.retransmissions = (retransmissions > 0).then_some(retransmissions);
        self.forbidden = forbidden;
    }
    /// Ends the episode.
    pub fn end(&mut self) {
        self.marker = None;
    }
    /// Forbids to restore the window: the network has marked packets.
    pub fn forbid(&mut self) {
        self.forbidden = true;
    }
    /// True if the window may be restored.
    pub const fn restores(&self) -> bool {
        !self.forbidden
    }
    /// True if an episode has begun and is not undone.
    pub const fn is_open(&self) -> bool {
        self.marker.is_some()
    }

    /// Records a retransmission.
    pub fn on_retransmission(&mut self, now: Time) {
        self.retransmissions = Some(self.retransmissions.unwrap_or(0) + 1);
        self.first_retransmission = self.first_retransmission.min(now);
    }

    /// Records the report that the segments before `end` arrived `count` times too often.
    pub fn on_duplicate(&mut self, end: u64, count: u64) {
        if self.marker.is_some_and(|marker| end > marker) {
            self.retransmissions = self.retransmissions.map(|left| left.saturating_sub(count));
        }
    }

    /// True if each retransmission of the episode has been reported as a duplicate.
    pub fn by_duplicates(&self) -> bool {
        self.marker.is_some() && self.retransmissions == Some(0)
    }

    /// True if the ACK with this echo answers an original: it was sent before the first
    /// retransmission, or there was none.
    pub fn by_timestamp(&self, echo: Time) -> bool {
        self.marker.is_some()
            && (self.first_retransmission.is_never()
                || (!echo.is_never() && echo < self.first_retransmission))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_spec::units::Span;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn an_echo_from_before_the_first_retransmission_undoes() {
        let mut undo = Undo::new();
        assert!(!undo.by_timestamp(at(1)) && !undo.by_duplicates());
        undo.begin(10, 0, false);
        assert!(undo.by_timestamp(Time::NEVER), "nothing was sent again");
        undo.on_retransmission(at(50));
        undo.on_retransmission(at(60));
        assert!(undo.by_timestamp(at(49)));
        assert!(!undo.by_timestamp(at(50)) && !undo.by_timestamp(Time::NEVER));
    }

    #[test]
    fn as_many_duplicates_as_retransmissions_undo() {
        let mut undo = Undo::new();
        undo.begin(10, 0, false);
        undo.on_duplicate(12, 1);
        assert!(!undo.by_duplicates(), "nothing was sent again yet");
        undo.on_retransmission(at(50));
        undo.on_retransmission(at(51));
        undo.on_duplicate(10, 1);
        undo.on_duplicate(11, 1);
        assert!(!undo.by_duplicates(), "one was of an earlier episode");
        undo.on_duplicate(12, 1);
        assert!(undo.by_duplicates());
        undo.end();
        assert!(!undo.by_duplicates());
    }
}
