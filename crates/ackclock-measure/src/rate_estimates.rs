//! Rate estimators that run along with the ACKs of a direction: the very objects of the congestion
//! controls, fed with what a capture near the sender shows.

use ackclock_core::estimator::{AckSample, EstimatorContext, EstimatorKind, RateEstimator};
use ackclock_core::registry::Selection;
use ackclock_core::units::{Bytes, Time};
use std::sync::Arc;

/// An estimator that is to run along.
#[derive(Clone, Debug)]
pub struct AskedEstimator {
    /// As it is called in the table.
    pub name: String,
    /// Which.
    pub chosen: Selection<EstimatorKind>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct RateEstimates {
    asked: Arc<[AskedEstimator]>,
    /// In the order of `asked`; none before the first ACK.
    running: Vec<Box<dyn RateEstimator>>,
    /// Packets may step back in time a little, estimators do not.
    latest: u64,
}

impl RateEstimates {
    /// Those that were asked for.
    pub fn new(asked: &Arc<[AskedEstimator]>) -> Self {
        RateEstimates {
            asked: Arc::clone(asked),
            ..RateEstimates::default()
        }
    }

    /// Whether any was asked for.
    pub fn are_wanted(&self) -> bool {
        !self.asked.is_empty()
    }

    /// An ACK has passed at `at`, in nanoseconds. Of `mss`, what a full segment holds, the first
    /// word counts.
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

    /// The retransmission timer went off, as what was sent again says.
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

    /// Names and estimates, in bytes per second; nothing before the first ACK.
    pub fn rates(&self) -> impl Iterator<Item = (&str, f64)> {
        let names = self.asked.iter().map(|asked| asked.name.as_str());
        names.zip(self.running.iter().map(|estimator| estimator.rate()))
    }
}
