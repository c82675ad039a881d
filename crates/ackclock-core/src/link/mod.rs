//! Links: the service process. The rate of a link depends only on its own stream and on time, so
//! that all methods can use the same realisation. That of an ABR source depends on what it has
//! served, too.

use self::facts::LinkFacts;
use ackclock_spec::registry::{Entry, Kind, StreamScope};
use ackclock_spec::units::{BitRate, Bytes, Time};
use std::fmt::Debug;

pub mod constant;
pub mod contention;
pub mod edca_queue;
pub mod facts;
pub mod feedback;
pub mod leo;
pub mod markov;
mod piecewise;
pub mod scheduled;
pub mod trace;

/// A link, which serves one packet at a time.
pub trait Link: Debug + Send {
    /// Returns the time at which a packet of `size` has been sent whose service starts at `start`.
    /// [`Time::NEVER`] if the link is down for good.
    ///
    /// `start` never decreases and is never before the last finish. The remaining fraction of a
    /// nanosecond is carried into the next service if that starts at this finish, so that rates do
    /// not drift.
    fn finish(&mut self, start: Time, size: Bytes) -> Time;
    /// Returns the rate at a moment, which is not before the last `start`.
    fn rate(&self, at: Time) -> BitRate;
    /// Returns the mean rate between two moments, neither before the last `start`; the rate itself
    /// if they are equal. Its cost grows with the number of rate changes in between.
    fn mean_rate(&self, from: Time, until: Time) -> BitRate;
    /// Returns [`Link::mean_rate`], or `None` if the rate may change more than `_changes` times in
    /// between. For callers that can do without the mean.
    fn mean_rate_within(&self, from: Time, until: Time, _changes: u64) -> Option<BitRate> {
        Some(self.mean_rate(from, until))
    }
    /// Returns the bytes sent up to `at` beyond the integral of [`Link::rate`]; negative if fewer
    /// were sent. `at` is not before the moment last asked for.
    ///
    /// Only for a link whose packets keep the rate at which they began, and only after
    /// [`Link::keep_excess`] was called before the first service.
    fn excess(&self, _at: Time) -> f64 {
        0.0
    }
    /// Makes the link record what [`Link::excess`] needs.
    fn keep_excess(&mut self) {}
    /// True if, while busy, it sends exactly its rate plus its excess, within nanoseconds.
    fn is_exact(&self) -> bool {
        true
    }
    /// Returns the same link as a value if its rate is constant, so that a hop need not call it
    /// through a pointer.
    fn as_constant(&self) -> Option<constant::ConstantLink> {
        None
    }
}

/// Context from which a link is built.
#[derive(Debug)]
pub struct LinkContext<'a> {
    /// Place of the link (`hop/bottleneck/link`).
    pub place: StreamScope<'a>,
    /// Another instance of the link that this one [measures](facts::LinkFacts::measures), with the
    /// same realisation; `None` if it measures none.
    pub measured: Option<Box<dyn Link>>,
}

impl<'a> LinkContext<'a> {
    /// Makes the context of a link that measures no other.
    pub fn alone(place: StreamScope<'a>) -> Self {
        LinkContext {
            place,
            measured: None,
        }
    }
}

/// The registry of links.
#[derive(Debug)]
pub struct LinkKind;

impl Kind for LinkKind {
    type Product = Box<dyn Link>;
    type Context<'a> = LinkContext<'a>;
    type Facts = LinkFacts;
    const NAME: &'static str = "link";
    const PLURAL: &'static str = "links";
    const ENTRIES: &'static [Entry<Self>] = &[
        Entry::of::<constant::Constant>(),
        Entry::of::<scheduled::Scheduled>(),
        Entry::of::<markov::Markov>(),
        Entry::of::<trace::Trace>(),
        Entry::of::<leo::Leo>(),
        Entry::of::<feedback::Feedback>(),
        Entry::of::<edca_queue::EdcaQueue>(),
    ];
}
