//! What the application has written and the socket has not taken.

use ackclock_core::traffic::Write;

/// Bytes on their way from the application into a socket. They are nothing but a count: every byte
/// is zero.
///
/// Only full segments are handed over before the end, as the engine's sender does it: what is left
/// over waits for the next write or the close.
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
    /// The application writes.
    pub(super) fn write(&mut self, write: Write) {
        self.written = match write {
            Write::Unlimited => u64::MAX,
            Write::Bytes(bytes) => self.written.saturating_add(bytes.0),
        };
    }
    /// The application will write no more.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }
    /// How much may be handed to the socket now.
    pub(super) fn ready(&self) -> u64 {
        let whole = if self.closed || self.written == u64::MAX {
            self.written
        } else {
            self.written - self.written % self.mss
        };
        whole.saturating_sub(self.taken)
    }
    /// The socket has taken that much.
    pub(super) fn take(&mut self, bytes: u64) {
        self.taken += bytes;
    }
    /// What the socket has taken so far.
    pub(super) const fn taken(&self) -> u64 {
        self.taken
    }
    /// Whether all is handed over and nothing follows.
    pub(super) fn is_finished(&self) -> bool {
        self.closed && self.taken == self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_core::units::Bytes;

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
