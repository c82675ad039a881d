//! Feedback algorithms: what a hop tells a source of the capacity it measures, so that the source
//! sends at a rate of its own instead of filling a queue to find it. One algorithm, one file, one
//! line in the list below.
//!
//! A link that follows such feedback ([`link::feedback`](crate::link::feedback)) owns the
//! algorithm, measures, and waits for the delay.

use crate::registry::{Entry, Kind, NoFacts};
use crate::scenario::error::{Error, Result};
use crate::units::BitRate;
use std::fmt::Debug;

pub mod effcap;
pub mod instcap;
pub mod mean;
pub mod percentile;
mod sliding_mean;

/// Makes a rate to feed back of the measurements so far. It depends on finitely many of them, so
/// that a long silence need not be gone through.
pub trait FeedbackAlgorithm: Debug + Send {
    /// The capacity has been measured once more: what is fed back from now on. The first
    /// measurements of all are fewer than an algorithm asks for; it uses those there are.
    fn feed_back(&mut self, measured: BitRate) -> BitRate;
    /// On how many measurements, the last one included, the answer depends at most.
    fn memory(&self) -> u64;
    /// Forgets all measurements.
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
    fn entries() -> &'static [Entry<Self>] {
        const LIST: &[Entry<FeedbackKind>] = &[
            Entry::of::<instcap::Instcap>(),
            Entry::of::<effcap::Effcap>(),
            Entry::of::<percentile::Percentile>(),
            Entry::of::<mean::Mean>(),
        ];
        LIST
    }
}

/// Measurements that an algorithm may keep: a day of them at 100 ms.
const MOST_KEPT: u32 = 1_000_000;

/// Refuses a number of measurements that is none, or more than memory should hold.
fn check_number(field: &str, number: u32) -> Result<()> {
    if number == 0 || number > MOST_KEPT {
        let remedy = format!("is not between 1 and {MOST_KEPT}");
        return Err(Error::new(field, &number.into(), &remedy));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
