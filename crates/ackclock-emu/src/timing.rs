//! Punctuality of a run: lateness of the packets written, and times that the loop was away.

use ackclock_core::histogram::Histogram;
use ackclock_spec::units::Span;

/// Logarithm to base 2 of the buckets per doubling: a lateness is known to an eighth.
const FINENESS: u32 = 3;

/// Punctuality of a run.
#[derive(Clone, Debug, Default)]
pub struct Timing {
    /// Lateness of the packets written, relative to the model's time.
    pub lateness: Histogram<FINENESS>,
    /// Longest time that the loop was away: late after a requested wake-up, or busy with one turn.
    pub longest_gap: Span,
    /// Number of turns of the loop.
    pub turns: u64,
    /// Number of times that the loop slept.
    pub sleeps: u64,
}

impl Timing {
    /// Records that the loop has been away for `gap`.
    pub fn note_gap(&mut self, gap: Span) {
        self.longest_gap = self.longest_gap.max(gap);
    }
}
