//! Estimators of the rate that a path gives, from the ACKs that come back: one estimator, one file,
//! one line in the list below.
//!
//! The controls of the Westwood family set ssthresh to what such an estimate says the path holds; a
//! captured connection is looked at with the very same objects ([`trace`]). An estimator knows no
//! window but the one it is told, and reacts to nothing.

use crate::registry::{Entry, Kind, NoFacts};
use crate::units::{Bytes, Span, Time};
use std::fmt::Debug;

pub mod abse;
pub mod be;
pub mod crb;
pub mod low_pass;
pub mod observation;
pub mod re;
mod recent;
#[cfg(test)]
mod testing;
pub mod trace;
pub mod westwood_linux;
pub mod westwood_plus;

/// What an ACK tells an estimator. Those that acknowledge less than was acknowledged before are
/// left out.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Cumulatively acknowledged for the first time; zero for a duplicate ACK.
    pub newly_acked: Bytes,
    /// Learnt to have been delivered by whatever the ACK says, SACK included, each byte once.
    pub newly_delivered: Bytes,
    /// Round-trip time measured by this ACK.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time (RFC 6298).
    pub smoothed_rtt: Option<Span>,
    /// Congestion window, without what recovery inflates it by.
    pub cwnd: Bytes,
}

/// One estimator of one connection. `now` never runs backwards.
pub trait RateEstimator: Debug + Send {
    /// An ACK has arrived. The first one only says when estimating begins.
    fn on_ack(&mut self, now: Time, ack: &AckSample);
    /// The retransmission timer went off.
    fn on_timeout(&mut self, now: Time) {
        let _ = now;
    }
    /// The estimate, in bytes per second.
    fn rate(&self) -> f64;
    /// Smallest round-trip time, in seconds, as this estimator sees it; `None` before there is one.
    fn rtt_min(&self) -> Option<f64>;
    /// What the path holds at that rate without a queue, in bytes: the window after a loss learnt
    /// from duplicate ACKs.
    fn window(&self) -> Option<f64> {
        self.rtt_min().map(|rtt_min| self.rate() * rtt_min)
    }
    /// The same after a timeout, where it is another estimate.
    fn window_after_timeout(&self) -> Option<f64> {
        self.window()
    }
}

/// What an estimator is made with.
#[derive(Clone, Copy, Debug)]
pub struct EstimatorContext {
    /// Payload of a full segment.
    pub mss: Bytes,
}

/// The registry of rate estimators.
#[derive(Debug)]
pub struct EstimatorKind;

impl Kind for EstimatorKind {
    type Product = Box<dyn RateEstimator>;
    type Context<'a> = EstimatorContext;
    type Facts = NoFacts;
    const NAME: &'static str = "rate estimator";
    const PLURAL: &'static str = "estimators";
    fn entries() -> &'static [Entry<Self>] {
        const LIST: &[Entry<EstimatorKind>] = &[
            Entry::of::<be::Be>(),
            Entry::of::<re::Re>(),
            Entry::of::<crb::Crb>(),
            Entry::of::<abse::Abse>(),
            Entry::of::<abse::AbseLiteral>(),
            Entry::of::<westwood_plus::WestwoodPlus>(),
            Entry::of::<westwood_linux::WestwoodLinux>(),
        ];
        LIST
    }
}

/// In seconds, by a multiplication: this is on the way of every ACK.
fn seconds(span: Span) -> f64 {
    span.as_nanos() as f64 * 1e-9
}
