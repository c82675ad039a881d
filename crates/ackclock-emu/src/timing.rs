//! How punctual a run was: how late packets were written, and how long the loop was away.

use ackclock_core::histogram::Histogram;
use ackclock_core::units::Span;

/// Buckets for each doubling, as a power of two: a lateness is told to an eighth.
const FINENESS: u32 = 3;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Timing {
    /// How late packets were written, after the moment the model gave them.
    pub lateness: Histogram<FINENESS>,
    /// The longest time the loop was away: late after a moment it had asked to be woken at, or busy
    /// with one turn.
    pub longest_gap: Span,
    /// How often the loop went round.
    pub turns: u64,
    /// How often it slept.
    pub sleeps: u64,
}

impl Timing {
    /// The loop has been away for so long.
    pub fn note_gap(&mut self, gap: Span) {
        self.longest_gap = self.longest_gap.max(gap);
    }
}
