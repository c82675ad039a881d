//! The receiving side of a UDP flow under rate control.

use super::Once;
use crate::rate_control::{Arrived, Feedback, RateReceiver};
use crate::units::{Bytes, Time};

/// Counts payload, each datagram once, and answers as the control's other half says.
#[derive(Debug)]
pub struct DatagramReceiver {
    half: Box<dyn RateReceiver>,
    once: Once,
    statistics: DatagramReceiverStatistics,
}

/// Counts of one receiver since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramReceiverStatistics {
    /// Payload handed to the application.
    pub delivered: Bytes,
    /// Datagrams that arrived for the first time.
    pub received: u64,
    /// Copies.
    pub duplicates: u64,
}

impl DatagramReceiver {
    /// Before the first datagram.
    pub fn new(half: Box<dyn RateReceiver>) -> Self {
        DatagramReceiver {
            half,
            once: Once::default(),
            statistics: DatagramReceiverStatistics::default(),
        }
    }

    /// A datagram has arrived.
    pub fn handle_datagram(&mut self, now: Time, data: &Arrived) {
        if !self.once.is_new(data.sequence) {
            self.statistics.duplicates += 1;
            return;
        }
        self.statistics.received += 1;
        self.statistics.delivered += data.length;
        self.half.on_data(now, data);
    }

    /// The next answer, if there is one to be sent.
    pub fn poll_feedback(&mut self, now: Time) -> Option<Feedback> {
        self.half.poll_feedback(now)
    }

    /// When it wants to be called.
    pub fn poll_timeout(&self) -> Time {
        self.half.poll_timeout()
    }
    /// Does what is due by `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.half.poll_timeout() <= now {
            self.half.handle_timeout(now);
        }
    }
    /// Counts.
    pub const fn statistics(&self) -> &DatagramReceiverStatistics {
        &self.statistics
    }
}
