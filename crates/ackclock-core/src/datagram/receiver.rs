//! The receiver of a UDP flow under rate control.

use super::Once;
use crate::rate_control::{Arrived, Feedback, RateReceiver};
use ackclock_spec::units::{Bytes, Time};

/// Counts payload, each datagram once, and answers when the control's half does.
#[derive(Debug)]
pub struct DatagramReceiver {
    half: Box<dyn RateReceiver>,
    once: Once,
    statistics: DatagramReceiverStatistics,
}

/// Counts of one receiver since its creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramReceiverStatistics {
    /// Payload delivered to the application.
    pub delivered: Bytes,
    /// Datagrams that arrived for the first time.
    pub received: u64,
    /// Copies of datagrams that had arrived.
    pub duplicates: u64,
}

impl DatagramReceiver {
    /// A receiver before the first datagram.
    pub fn new(half: Box<dyn RateReceiver>) -> Self {
        DatagramReceiver {
            half,
            once: Once::default(),
            statistics: DatagramReceiverStatistics::default(),
        }
    }

    /// Processes a datagram.
    pub fn handle_datagram(&mut self, now: Time, data: &Arrived) {
        if !self.once.is_new(data.sequence) {
            self.statistics.duplicates += 1;
            return;
        }
        self.statistics.received += 1;
        self.statistics.delivered += data.length;
        self.half.on_data(now, data);
    }

    /// Returns the next answer, if one is to be sent.
    pub fn poll_feedback(&mut self, now: Time) -> Option<Feedback> {
        self.half.poll_feedback(now)
    }

    /// Returns when to call [`DatagramReceiver::handle_timeout`].
    pub fn poll_timeout(&self) -> Time {
        self.half.poll_timeout()
    }
    /// Handles all timeouts due by `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.half.poll_timeout() <= now {
            self.half.handle_timeout(now);
        }
    }
    /// Returns the counts.
    pub const fn statistics(&self) -> &DatagramReceiverStatistics {
        &self.statistics
    }
}
