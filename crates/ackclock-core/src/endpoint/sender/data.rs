//! The data that the application has written, and the window that the receiver allows.

use super::super::parameters::TcpParameters;
use super::super::scoreboard::Scoreboard;
use crate::traffic::Write;
use ackclock_spec::units::Bytes;

/// Data to send.
#[derive(Debug)]
pub(super) struct Data {
    /// First segment that the application has not filled; `u64::MAX` for unlimited traffic.
    pub available: u64,
    /// Bytes that the application has written beyond the last full segment.
    rest: u64,
    /// True if the application writes no more.
    pub closed: bool,
    pub receive_window: u64,
}

impl Data {
    pub fn new(parameters: &TcpParameters, mss: u64) -> Self {
        let receive_window = parameters.receiver.receive_window.bytes(Bytes(mss));
        Data {
            available: 0,
            rest: 0,
            closed: false,
            receive_window: receive_window.map_or(u64::MAX, |bytes| bytes.0),
        }
    }

    /// Adds a write; what does not fill a segment waits.
    pub fn write(&mut self, write: Write, mss: u64) {
        match write {
            Write::Unlimited => self.available = u64::MAX,
            Write::Bytes(Bytes(bytes)) => {
                let bytes = self.rest.saturating_add(bytes);
                self.available = self.available.saturating_add(bytes / mss);
                self.rest = bytes % mss;
            }
        }
    }

    /// Ends the data with a short segment for what waits.
    pub fn close(&mut self, scoreboard: &mut Scoreboard) {
        self.closed = true;
        if self.rest > 0 && self.available != u64::MAX {
            scoreboard.set_short(self.available, self.rest);
            self.available += 1;
            self.rest = 0;
        }
    }

    /// True if the receive window allows another segment of `mss` bytes. One may always be in
    /// flight.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub const fn fits(&self, flight: u64, mss: u64) -> bool {
        flight == 0 || flight.saturating_add(mss) <= self.receive_window
    }
}
