//! Feedback algorithms: the capacity that a hop reports to a source from its measurements, so that
//! the source sends at that rate instead of filling a queue to find it. One algorithm, one file,
//! one line in the list below.
//!
//! A link that follows such feedback ([`link::feedback`](crate::link::feedback)) owns the
//! algorithm, measures the capacity, and applies the delay.

use ackclock_spec::error::{Result, in_range};
use ackclock_spec::registry::{Entry, Kind, NoFacts};
use ackclock_spec::units::BitRate;
use std::fmt::Debug;

pub mod effcap;
pub mod instcap;
pub mod mean;
pub mod percentile;
mod sliding_mean;

/// Computes the rate to feed back from the measurements so far. The rate depends on a bounded
/// number of them, so that a driver can skip a long silence.
pub trait FeedbackAlgorithm: Debug + Send {
    /// Processes a measurement of the capacity, and returns the rate fed back from now on. With
    /// fewer measurements than the algorithm asks for, it uses those there are.
    fn feed_back(&mut self, measured: BitRate) -> BitRate;
    /// Returns the most measurements that determine the rate, the last one included.
    fn memory(&self) -> u64;
    /// Discards all measurements.
    fn clear(&mut self);
}

/// The registry of feedback algorithms.
#[derive(Debug)]
pub struct FeedbackKind;

impl Kind for FeedbackKind {
    type Product = Box<dyn FeedbackAlgorithm>;
    type Context<'a> = ();
    type Facts = NoFacts;
    const NAME: &'static str = "feedback algorithm";
    const PLURAL: &'static str = "feedback";
    const ENTRIES: &'static [Entry<Self>] = &[
        Entry::of::<instcap::Instcap>(),
        Entry::of::<effcap::Effcap>(),
        Entry::of::<percentile::Percentile>(),
        Entry::of::<mean::Mean>(),
    ];
}

/// Most measurements that an algorithm may keep: about a day at 100 ms.
const MOST_KEPT: u32 = 1_000_000;

/// Returns an error if the number of measurements is zero, or more than memory should hold.
fn check_number(field: &str, number: u32) -> Result<()> {
    let remedy = format!("is not between 1 and {MOST_KEPT}");
    in_range((1..=MOST_KEPT).contains(&number), field, &number, &remedy)
}

#[cfg(test)]
mod tests;
