//! Data that the application has written and the socket has not taken.

use ackclock_core::traffic::Write;

/// Bytes between the application and a socket. Only a count is kept: every byte is zero.
///
/// Before the end only full segments are handed over, as in the engine's sender. The remainder
/// waits for the next write or the close.
#[derive(Debug)]
pub(super) struct Offered {
    mss: u64,
    written: u64,
    taken: u64,
    closed: bool,
}

impl Offered {
    pub(super) fn new(mss: u64) -> Self {
        Offered {
            mss: mss.max(1),
            written: 0,
            taken: 0,
            closed: false,
        }
    }
    /// Adds data written by the application.
    pub(super) fn write(&mut self, write: Write) {
        self.written = match write {
            Write::Unlimited => u64::MAX,
            Write::Bytes(bytes) => self.written.saturating_add(bytes.0),
        };
    }
    /// Marks the end of the application's data.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }
    /// Returns the number of bytes that may be handed to the socket now.
    pub(super) fn ready(&self) -> u64 {
        let whole = if self.closed || self.written == u64::MAX {
            self.written
        } else {
            self.written - self.written % self.mss
        };
        whole.saturating_sub(self.taken)
    }
    /// Records that the socket has taken `bytes`.
    pub(super) fn take(&mut self, bytes: u64) {
        self.taken += bytes;
    }
    /// Returns the bytes that the socket has taken so far.
    pub(super) const fn taken(&self) -> u64 {
        self.taken
    }
    /// True if all data is handed over and no more will follow.
    pub(super) fn is_finished(&self) -> bool {
        self.closed && self.taken == self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_spec::units::Bytes;

    #[test]
    fn full_segments_before_the_close_and_the_rest_with_it() {
        let mut offered = Offered::new(1000);
        offered.write(Write::Bytes(Bytes(700)));
        assert_eq!(offered.ready(), 0);
        offered.write(Write::Bytes(Bytes(1800)));
        assert_eq!(offered.ready(), 2000);
        offered.take(1500);
        assert_eq!(offered.ready(), 500);
        offered.close();
        assert_eq!((offered.ready(), offered.is_finished()), (1000, false));
        offered.take(1000);
        assert_eq!((offered.ready(), offered.is_finished()), (0, true));
    }

    #[test]
    fn unlimited_is_never_used_up() {
        let mut offered = Offered::new(1000);
        offered.write(Write::Unlimited);
        offered.take(1 << 60);
        assert!(offered.ready() > 1 << 60 && !offered.is_finished());
        assert_eq!(offered.taken(), 1 << 60);
    }
}
