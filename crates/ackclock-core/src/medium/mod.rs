//! Shared media. They decide between several queues which one may send, instead of each hop's link.
//!
//! A hop whose link is a [contender](crate::link::edca_queue) for a medium keeps its queue,
//! impairments and delay. It requests access to the medium for the packet at the head of its queue.
//! The medium reports when the exchange is complete: the packet was sent or given up. A medium has
//! no clock: the driver passes the time, and asks for the time of the next call.

use self::facts::MediumFacts;
use crate::link::contention::Contention;
use ackclock_spec::error::Result;
use ackclock_spec::registry::{Entry, Kind, StreamScope};
use ackclock_spec::streams::Stream;
use ackclock_spec::units::{Bytes, Span, Time};
use std::fmt::Debug;

pub mod edca;
pub mod facts;
pub mod phy;

/// Number of a contender for a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContenderId {
    /// Number of the medium in the network.
    pub medium: u32,
    /// Number of the contender at the medium.
    pub contender: u32,
}

/// The end of an exchange: the packet at the head of a contender's queue was sent or given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Number of the contender.
    pub contender: usize,
    /// True if the packet was sent; false if the medium gave it up.
    pub sent: bool,
}

/// A medium, driven from outside. `now` never decreases and is never later than [`Medium::next`].
pub trait Medium: Debug + Send {
    /// Adds a contender of a station, with its random stream, and returns its number.
    ///
    /// # Errors
    /// Parameters that the medium does not support; fields relative to the contender's.
    fn add(&mut self, station: u32, contention: &Contention, stream: Stream) -> Result<usize>;
    /// Reports that a packet has come to an empty queue.
    fn join(&mut self, now: Time, contender: usize, size: Bytes);
    /// Reports the packet behind one whose exchange is complete since `now`. Call it at once.
    fn follow(&mut self, now: Time, contender: usize, size: Bytes);
    /// Returns the time of the next [`Medium::proceed`], [`Time::NEVER`] if no contender has a
    /// packet to send.
    fn next(&self) -> Time;
    /// Does everything due at `now`, and appends the exchanges that are complete.
    fn proceed(&mut self, now: Time, completions: &mut Vec<Completion>);
    /// Returns the usage of the medium up to `now`.
    fn usage(&self, now: Time) -> Usage;
    /// Returns the counts of a contender, by its number.
    fn counts(&self, contender: usize) -> ContenderCounts;
}

/// Usage of a medium: times, which add up to all of it, to the nanosecond; and counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Time in which no station transmitted, including the stations' waits before they transmit.
    pub idle: Span,
    /// Time of successful exchanges.
    pub success: Span,
    /// Time of collisions.
    pub collision: Span,
    /// Successful exchanges.
    pub successes: u64,
    /// Collisions between stations, each counted once however many stations took part.
    pub collisions: u64,
}

/// Counts of a contender since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContenderCounts {
    /// Transmissions that succeeded.
    pub successes: u64,
    /// Transmissions that collided with another station's.
    pub collisions: u64,
    /// Internal collisions: a higher class of the same station transmitted instead.
    pub internal_collisions: u64,
    /// Packets given up after too many collisions, internal or not.
    pub retry_drops: u64,
    /// Time on the air of its successful exchanges and of its frames that collided.
    pub airtime: Span,
    /// Service times of the packets sent.
    pub service: ServiceTimes,
}

impl ContenderCounts {
    /// Returns the number of transmissions.
    pub const fn attempts(&self) -> u64 {
        self.successes + self.collisions
    }
}

/// Service times: from the head of the queue to the end of the exchange. They are sums of whole
/// nanoseconds, so the service times of a part of the run are a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceTimes {
    number: u64,
    sum: u128,
    sum_of_squares: u128,
}

impl ServiceTimes {
    /// Adds one service time.
    pub fn push(&mut self, service: Span) {
        let nanos = u128::from(service.as_nanos());
        self.number += 1;
        self.sum += nanos;
        self.sum_of_squares += nanos * nanos;
    }

    /// Returns the service times without those in `earlier`, which is a part of these.
    pub const fn since(&self, earlier: &ServiceTimes) -> ServiceTimes {
        ServiceTimes {
            number: self.number - earlier.number,
            sum: self.sum - earlier.sum,
            sum_of_squares: self.sum_of_squares - earlier.sum_of_squares,
        }
    }

    /// Returns the number of service times.
    pub const fn number(&self) -> u64 {
        self.number
    }
    /// Returns their mean in seconds, NaN if there is none.
    pub fn mean_s(&self) -> f64 {
        self.sum as f64 / self.number as f64 / 1e9
    }
    /// Returns their standard deviation in seconds, NaN if there are fewer than two.
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
    const ENTRIES: &'static [Entry<Self>] = &[Entry::of::<edca::Edca>()];
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
