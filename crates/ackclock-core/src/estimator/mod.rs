//! Estimators of the rate that a path carries, from returning ACKs: one estimator, one file, one
//! line in the list below.
//!
//! The controls of the Westwood family set ssthresh to the amount that the path holds by such an
//! estimate. Captured connections are analysed with the same objects ([`trace`]). An estimator
//! knows only the congestion window that it is given, and reacts to nothing.

use ackclock_spec::registry::{Entry, Kind, NoFacts};
use ackclock_spec::units::{Bytes, Span, Time};
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

/// The information of one ACK for an estimator. ACKs that acknowledge less than before are
/// excluded.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Bytes cumulatively acknowledged for the first time; zero for a duplicate ACK.
    pub newly_acked: Bytes,
    /// Bytes newly known to be delivered, by any part of the ACK including SACK, each byte once.
    pub newly_delivered: Bytes,
    /// Round-trip time measured with this ACK.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time (RFC 6298).
    pub smoothed_rtt: Option<Span>,
    /// Congestion window, without the inflation of recovery.
    pub cwnd: Bytes,
}

/// One estimator of one connection. `now` never decreases.
pub trait RateEstimator: Debug + Send {
    /// Processes an ACK. The first one only sets the start of the estimation.
    fn on_ack(&mut self, now: Time, ack: &AckSample);
    /// Handles expiry of the retransmission timer.
    fn on_timeout(&mut self, now: Time) {
        let _ = now;
    }
    /// Returns the estimate, in bytes per second.
    fn rate(&self) -> f64;
    /// Returns the smallest round-trip time by this estimator, in seconds; `None` before there is
    /// one.
    fn rtt_min(&self) -> Option<f64>;
    /// Returns the amount that the path holds at that rate without a queue, in bytes: the
    /// congestion window after a loss inferred from duplicate ACKs.
    fn window(&self) -> Option<f64> {
        self.rtt_min().map(|rtt_min| self.rate() * rtt_min)
    }
    /// Returns the window after a timeout, if another estimate applies there.
    fn window_after_timeout(&self) -> Option<f64> {
        self.window()
    }
}

/// The context in which an estimator is built.
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
    const ENTRIES: &'static [Entry<Self>] = &[
        Entry::of::<be::Be>(),
        Entry::of::<re::Re>(),
        Entry::of::<crb::Crb>(),
        Entry::of::<abse::Abse>(),
        Entry::of::<abse::AbseLiteral>(),
        Entry::of::<westwood_plus::WestwoodPlus>(),
        Entry::of::<westwood_linux::WestwoodLinux>(),
    ];
}

/// Converts to seconds with a multiplication, since this runs for every ACK.
fn seconds(span: Span) -> f64 {
    span.as_nanos() as f64 * 1e-9
}
