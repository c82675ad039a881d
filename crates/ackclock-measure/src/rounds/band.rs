//! Round trips in which a window stands still.

use crate::limits::Stillness;

/// Consecutive round trips whose peaks hardly grow, and after a loss do not fall either: by a
/// segment at most.
///
/// Before the first loss a congestion window never falls, and grows if it is used. So a lower peak
/// shows that something else was the limit, and not that a window grows again. Then a segment in
/// [`SLOWER_THAN`] round trips is allowed, too.
#[derive(Clone, Copy, Debug, Default)]
pub struct Band {
    pub low: u64,
    pub high: u64,
    pub still: Stillness,
}

/// Round trips per segment of a growth that no congestion window has. The slowest takes four:
/// CUBIC's Reno-friendly half segment (RFC 9438 section 4.3) with an ACK for two segments.
const SLOWER_THAN: u32 = 6;

impl Band {
    /// Adds a peak. Returns false, and changes nothing, if it lies outside.
    pub fn admit(&mut self, peak: u64, mss: u64) -> bool {
        let low = if self.still.after_loss {
            self.low.min(peak)
        } else {
            self.low
        };
        let high = self.high.max(peak);
        let segments = match self.still.after_loss {
            true => 1,
            false => u64::from(self.still.rounds / SLOWER_THAN).max(1),
        };
        let inside = self.still.rounds > 0 && high - low <= segments * mss;
        if inside {
            (self.low, self.high) = (low, high);
        }
        inside
    }
}
