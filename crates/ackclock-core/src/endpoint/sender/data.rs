//! The data that the application has written, and the window that the receiver allows.

use super::super::parameters::TcpParameters;
use super::super::scoreboard::Scoreboard;
use crate::traffic::Write;
use ackclock_spec::units::Bytes;

/// Largest payload of a buffer of Linux, whose header has 320 bytes (`tcp_xmit_size_goal`).
const LARGEST_BUFFER: u64 = 65_536 - 1 - 320;

/// The buffers in which Linux keeps new data. A write fills the last one before it begins another.
/// All are full but the last, so that where one of them began says where the others end.
#[derive(Debug)]
struct Buffers {
    /// First segment of a buffer.
    start: u64,
    /// Segments available before the writes of this event; `u64::MAX` if there were no writes.
    before: u64,
}

/// Data to send.
#[derive(Debug)]
pub(super) struct Data {
    /// First segment that the application has not filled; `u64::MAX` for unlimited traffic.
    pub available: u64,
    /// Bytes that the application has written beyond the last full segment.
    rest: u64,
    /// True if the application writes no more.
    pub closed: bool,
    /// Bytes from the first unacknowledged one on that the receiver can take.
    pub receive_window: u64,
    buffers: Buffers,
}

impl Data {
    pub fn new(parameters: &TcpParameters, mss: u64) -> Self {
        let receive_window = parameters.receiver.receive_window.bytes(Bytes(mss));
        Data {
            available: 0,
            rest: 0,
            closed: false,
            receive_window: receive_window.map_or(u64::MAX, |bytes| bytes.0),
            buffers: Buffers {
                start: 0,
                before: u64::MAX,
            },
        }
    }

    /// Fills buffers with what was written and cannot leave now.
    #[inline(always)] // so that only a write costs a call
    pub fn fill_buffers(&mut self, scoreboard: &Scoreboard) {
        if self.buffers.before != u64::MAX {
            self.fill_last_buffer(scoreboard);
        }
    }

    #[inline(never)] // once for a write
    fn fill_last_buffer(&mut self, scoreboard: &Scoreboard) {
        let before = std::mem::replace(&mut self.buffers.before, u64::MAX);
        if self.buffer_end(scoreboard).is_none_or(|end| end >= before) {
            // The last buffer was the first, and a part of it has left.
            self.buffers.start = scoreboard.next();
        }
    }

    /// Returns the end of the buffer from which the next segment comes; `None` if it is the last.
    pub fn buffer_end(&self, scoreboard: &Scoreboard) -> Option<u64> {
        let (start, next) = (self.buffers.start, scoreboard.next());
        let size = (LARGEST_BUFFER / scoreboard.mss()).max(1);
        let end = next + size - next.saturating_sub(start) % size;
        (end < self.available).then_some(end)
    }

    /// Adds a write; what does not fill a segment waits.
    pub fn write(&mut self, write: Write, mss: u64) {
        self.buffers.before = self.buffers.before.min(self.available);
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

    /// True if the receive window allows another segment of `length` bytes.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub const fn fits(&self, flight: u64, length: u64) -> bool {
        flight.saturating_add(length) <= self.receive_window
    }
}
