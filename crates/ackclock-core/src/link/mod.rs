//! Links: the service process. A link's rate is a function of its own stream and of time alone, so
//! that every way of answering can share one realisation.

use self::facts::LinkFacts;
use crate::registry::{Entry, Kind, StreamScope};
use crate::units::{BitRate, Bytes, Time};
use std::fmt::Debug;

pub mod constant;
pub mod contention;
pub mod edca_queue;
pub mod facts;
pub mod feedback;
pub mod markov;
mod piecewise;
pub mod scheduled;
pub mod trace;

/// A link. Serves one packet at a time.
pub trait Link: Debug + Send {
    /// When a packet of `size` has been sent whose service starts at `start`; [`Time::NEVER`] when
    /// the link is down for good. `start` never runs backwards and is never before the last finish.
    /// The fraction of a nanosecond left over is carried into the next service that starts at this
    /// finish, so that rates do not drift.
    fn finish(&mut self, start: Time, size: Bytes) -> Time;
    /// The rate at that moment (any moment not before the last `start`).
    fn rate(&self, at: Time) -> BitRate;
    /// The mean of the rate between two moments, moments as above; the rate itself if they are one.
    /// It takes as long as the rate changes often in between.
    fn mean_rate(&self, from: Time, until: Time) -> BitRate;
    /// The same if the rate changes no more than so often in between, `None` if it may: for those
    /// who can do without.
    fn mean_rate_within(&self, from: Time, until: Time, _changes: u64) -> Option<BitRate> {
        Some(self.mean_rate(from, until))
    }
    /// What has been sent up to `at` beyond the integral of [`Link::rate`], in bytes, less where it
    /// is behind; not before the moment asked for last. Only of a link whose packets keep the rate
    /// that they began with, and only once [`Link::keep_excess`] was called, before the first
    /// service.
    fn excess(&self, _at: Time) -> f64 {
        0.0
    }
    /// Has it keep what [`Link::excess`] needs, until that is asked for.
    fn keep_excess(&mut self) {}
    /// Whether it sends in a busy time exactly what its rate and its excess say, nanoseconds apart.
    fn is_exact(&self) -> bool {
        true
    }
    /// The same link as a value, if its rate is constant: a hop need not call that one through a
    /// pointer.
    fn as_constant(&self) -> Option<constant::ConstantLink> {
        None
    }
}

/// What a link is built with.
#[derive(Debug)]
pub struct LinkContext<'a> {
    /// Where it stands (`hop/bottleneck/link`).
    pub place: StreamScope<'a>,
    /// Another instance of the link that this one [measures](facts::LinkFacts::measures), with the
    /// same realisation; nothing for those that measure none.
    pub measured: Option<Box<dyn Link>>,
}

impl<'a> LinkContext<'a> {
    /// For a link that measures no other.
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
    fn entries() -> &'static [Entry<Self>] {
        const LIST: &[Entry<LinkKind>] = &[
            Entry::of::<constant::Constant>(),
            Entry::of::<scheduled::Scheduled>(),
            Entry::of::<markov::Markov>(),
            Entry::of::<trace::Trace>(),
            Entry::of::<feedback::Feedback>(),
            Entry::of::<edca_queue::EdcaQueue>(),
        ];
        LIST
    }
}
