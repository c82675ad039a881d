//! Rate estimators driven by the ACKs of a direction. They are the objects that the congestion
//! controls use, driven by a capture taken near the sender.

use ackclock_core::estimator::{AckSample, EstimatorContext, EstimatorKind, RateEstimator};
use ackclock_spec::registry::Selection;
use ackclock_spec::units::{Bytes, Time};
use std::sync::Arc;

/// A requested estimator.
#[derive(Clone, Debug)]
pub struct AskedEstimator {
    /// Name in the table.
    pub name: String,
    /// Kind and parameters.
    pub chosen: Selection<EstimatorKind>,
}

/// The requested estimators of a direction.
#[derive(Debug, Default)]
pub struct RateEstimates {
    asked: Arc<[AskedEstimator]>,
    /// In the order of `asked`; empty before the first ACK.
    running: Vec<Box<dyn RateEstimator>>,
    /// Latest time. Packets may step back in time a little, but estimators must not.
    latest: u64,
}

impl RateEstimates {
    /// Prepares the requested estimators.
    pub fn new(asked: &Arc<[AskedEstimator]>) -> Self {
        RateEstimates {
            asked: Arc::clone(asked),
            ..RateEstimates::default()
        }
    }

    /// True if any estimator was requested.
    pub fn are_wanted(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Passes on an ACK at `at`, in nanoseconds. `mss` is the payload of a full segment; only the
    /// first value counts.
    pub fn take(&mut self, at: u64, ack: &AckSample, mss: u64) {
        if self.running.is_empty() {
            let context = EstimatorContext { mss: Bytes(mss) };
            let built = self.asked.iter().map(|asked| asked.chosen.build(context));
            self.running = built.collect();
        }
        let now = self.advance(at);
        self.running
            .iter_mut()
            .for_each(|estimator| estimator.on_ack(now, ack));
    }

    /// Passes on a retransmission timeout, as inferred from the retransmissions.
    pub fn time_out(&mut self, at: u64) {
        let now = self.advance(at);
        self.running
            .iter_mut()
            .for_each(|estimator| estimator.on_timeout(now));
    }

    fn advance(&mut self, at: u64) -> Time {
        self.latest = self.latest.max(at);
        Time::from_nanos(self.latest)
    }

    /// Yields names and estimates in bytes per second; nothing before the first ACK.
    pub fn rates(&self) -> impl Iterator<Item = (&str, f64)> {
        let names = self.asked.iter().map(|asked| asked.name.as_str());
        names.zip(self.running.iter().map(|estimator| estimator.rate()))
    }
}
