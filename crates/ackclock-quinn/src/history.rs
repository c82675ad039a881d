//! When datagrams were sent, and the state of the path at each of these times.
//!
//! quinn tells the time at which an acknowledged packet was sent, not its number. Packets sent at
//! one time are one entry: they have the same state.

use ackclock_core::congestion::{RateSample, SegmentLost};
use ackclock_core::endpoint::delivery_rate::{Counts, DeliveryRate, Sending};
use ackclock_spec::units::{Bytes, Span, Time};
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub struct History {
    rate: DeliveryRate,
    /// Times of the entries, in order.
    times: VecDeque<Time>,
    /// Entries that have been forgotten.
    forgotten: u64,
}

impl History {
    /// Records that a datagram is sent.
    pub fn on_sent(&mut self, sending: &Sending) {
        if self.times.back() == Some(&sending.now) {
            self.rate.on_resent(self.times.len() - 1, sending);
        } else {
            self.rate.on_sent(sending);
            self.times.push_back(sending.now);
        }
    }

    /// Records that a datagram that was sent then has been delivered.
    pub fn on_delivered(&mut self, sent_at: Time) {
        if let Ok(index) = self.times.binary_search(&sent_at) {
            self.rate.on_delivered(index, sent_at);
        }
    }

    /// Returns the number of the entry after all that were sent until then.
    pub fn after(&self, sent_at: Time) -> u64 {
        let until = self.times.partition_point(|time| *time <= sent_at);
        self.forgotten + until as u64
    }

    /// Returns the number of the next entry.
    pub fn next(&self) -> u64 {
        self.forgotten + self.times.len() as u64
    }

    /// Returns the number of entries that are kept.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Records that the application has nothing to send: see
    /// [`DeliveryRate::mark_application_limited`].
    pub fn mark_application_limited(&mut self, delivered: u64, in_flight: u64) {
        self.rate.mark_application_limited(delivered, in_flight);
    }

    /// Returns the sample of the ACK whose deliveries have been recorded.
    pub fn sample(
        &mut self,
        now: Time,
        counts: &Counts,
        min_rtt: Option<Span>,
    ) -> Option<RateSample> {
        self.rate.sample(now, counts, min_rtt)
    }

    /// Returns what a control is told of lost data of which the last was sent then.
    pub fn loss(&self, sent_at: Time, lost: Bytes, counts: &Counts) -> Option<SegmentLost> {
        let index = self.times.binary_search(&sent_at).ok()?;
        self.rate.loss(self.forgotten + index as u64, lost, counts)
    }

    /// Forgets what was sent before a time.
    pub fn forget(&mut self, before: Time) {
        let count = self.times.partition_point(|time| *time < before);
        self.times.drain(..count);
        self.rate.pop(count as u64);
        self.forgotten += count as u64;
    }
}
