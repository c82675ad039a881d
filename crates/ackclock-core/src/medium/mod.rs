//! Shared media: who of several queues may send is decided between them, not by each hop's link
//! alone.
//!
//! A hop whose link is a [contender](crate::link::edca_queue) for a medium keeps its queue,
//! impairments and delay. For the head of its line it requests access to the medium, which says
//! when the exchange is complete: the packet is sent, or given up. A medium has no clock: whoever
//! drives it passes the time, and asks when to come again.

use self::facts::MediumFacts;
use crate::link::contention::Contention;
use crate::registry::{Entry, Kind, StreamScope};
use crate::scenario::error::Result;
use crate::streams::Stream;
use crate::units::{Bytes, Span, Time};
use std::fmt::Debug;

pub mod edca;
pub mod facts;
pub mod phy;

/// Names a contender for a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContenderId {
    /// Number of the medium among the network's.
    pub medium: u32,
    /// Number of the contender there.
    pub contender: u32,
}

/// The end of an exchange: the packet at the head of a contender's line has been sent or given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Number of the contender.
    pub contender: usize,
    /// Whether it has been sent; if not, the medium has given it up.
    pub sent: bool,
}

/// A medium, driven from outside. `now` never runs backwards and is never later than
/// [`Medium::next`].
pub trait Medium: Debug + Send {
    /// Takes in a contender of that station, with the randomness it draws from; its number.
    ///
    /// # Errors
    /// What it asks for and the medium has not; fields relative to the contender's.
    fn add(&mut self, station: u32, contention: &Contention, stream: Stream) -> Result<usize>;
    /// A packet has come to an empty line.
    fn join(&mut self, now: Time, contender: usize, size: Bytes);
    /// The packet behind one whose exchange is complete since `now`; to be called at once.
    fn follow(&mut self, now: Time, contender: usize, size: Bytes);
    /// When [`Medium::proceed`] is to be called, [`Time::NEVER`] if nobody has anything to send.
    fn next(&self) -> Time;
    /// Does what is due at `now`, and appends the exchanges that are complete.
    fn proceed(&mut self, now: Time, completions: &mut Vec<Completion>);
    /// How the time up to `now` was spent.
    fn usage(&self, now: Time) -> Usage;
    /// What its contenders have done, by number.
    fn counts(&self, contender: usize) -> ContenderCounts;
}

/// How a medium's time was spent; the three make up all of it, to the nanosecond. And how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Nobody was sending; what stations wait before they do is in it.
    pub idle: Span,
    /// With exchanges that succeeded.
    pub success: Span,
    /// With collisions.
    pub collision: Span,
    /// Exchanges that succeeded.
    pub successes: u64,
    /// Collisions between stations, each counted once however many took part.
    pub collisions: u64,
}

/// What a contender has done since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContenderCounts {
    /// Transmissions that succeeded.
    pub successes: u64,
    /// Transmissions that collided with another station's.
    pub collisions: u64,
    /// Times when a higher class of the same station sent in its place.
    pub internal_collisions: u64,
    /// Packets given up after too many collisions of either kind.
    pub retry_drops: u64,
    /// Of its exchanges that succeeded, and of its frames that collided.
    pub airtime: Span,
    /// Service times of the packets sent.
    pub service: ServiceTimes,
}

impl ContenderCounts {
    /// Transmissions.
    pub const fn attempts(&self) -> u64 {
        self.successes + self.collisions
    }
}

/// How long packets took from the head of the line to the end of their exchange. Sums of whole
/// nanoseconds, so that those of a part of the run are the difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceTimes {
    number: u64,
    sum: u128,
    sum_of_squares: u128,
}

impl ServiceTimes {
    /// Adds one.
    pub fn push(&mut self, service: Span) {
        let nanos = u128::from(service.as_nanos());
        self.number += 1;
        self.sum += nanos;
        self.sum_of_squares += nanos * nanos;
    }

    /// Those that are not in `earlier`, which is a part of these.
    pub const fn since(&self, earlier: &ServiceTimes) -> ServiceTimes {
        ServiceTimes {
            number: self.number - earlier.number,
            sum: self.sum - earlier.sum,
            sum_of_squares: self.sum_of_squares - earlier.sum_of_squares,
        }
    }

    /// How many.
    pub const fn number(&self) -> u64 {
        self.number
    }
    /// Their mean in seconds, not a number if there is none.
    pub fn mean_s(&self) -> f64 {
        self.sum as f64 / self.number as f64 / 1e9
    }
    /// Their standard deviation in seconds, not a number if there are fewer than two.
    pub fn sd_s(&self) -> f64 {
        if self.number < 2 {
            return f64::NAN;
        }
        // n Σx² − (Σx)² is exact in whole numbers; the division comes last.
        let n = u128::from(self.number);
        let spread = (n * self.sum_of_squares - self.sum * self.sum) as f64;
        libm::sqrt(spread / (n * (n - 1)) as f64) / 1e9
    }
}

/// The registry of media.
#[derive(Debug)]
pub struct MediumKind;

impl Kind for MediumKind {
    type Product = Box<dyn Medium>;
    type Context<'a> = StreamScope<'a>;
    type Facts = MediumFacts;
    const NAME: &'static str = "medium";
    const PLURAL: &'static str = "media";
    fn entries() -> &'static [Entry<Self>] {
        const LIST: &[Entry<MediumKind>] = &[Entry::of::<edca::Edca>()];
        LIST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_times_of_a_part_are_the_difference() {
        let mut all = ServiceTimes::default();
        all.push(Span::from_millis(1));
        all.push(Span::from_millis(5));
        let earlier = all;
        for millis in [2, 4, 9] {
            all.push(Span::from_millis(millis));
        }
        let part = all.since(&earlier);
        assert_eq!(part.number(), 3);
        assert!((part.mean_s() - 5e-3).abs() < 1e-15);
        assert!((part.sd_s() - 13e-6_f64.sqrt()).abs() < 1e-15); // (9 + 1 + 16) / 2
        assert!(ServiceTimes::default().mean_s().is_nan());
    }
}
