//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation-02), for the controls that
//! want them.

use crate::congestion::{RateSample, SegmentLost, SendLimit};
use ackclock_spec::units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// A segment that is sent or retransmitted.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// When it is sent.
    pub now: Time,
    /// Bytes delivered so far.
    pub delivered: u64,
    /// Segments found lost so far.
    pub lost: u64,
    /// Segments in flight, this one included.
    pub in_flight: u64,
    /// True if nothing before it is unacknowledged.
    pub idle: bool,
}

/// Counts of the connection at an ACK.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Bytes delivered so far.
    pub delivered: u64,
    /// Segments found lost so far.
    pub lost: u64,
    /// Bytes of a segment, by which counts in segments are multiplied.
    pub mss: u64,
}

/// State of a segment in flight: the draft's P.delivered, P.delivered_time, P.first_sent_time,
/// P.tx_in_flight, P.lost (both in segments, the second modulo 2³²) and P.is_app_limited.
/// P.sent_time is in the scoreboard.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    in_flight: u32,
    lost: u32,
    application_limited: bool,
}

impl Snapshot {
    fn tx_in_flight(&self, mss: u64) -> Bytes {
        Bytes(u64::from(self.in_flight) * mss)
    }
    fn lost_since(&self, counts: &Counts) -> Bytes {
        Bytes(u64::from((counts.lost as u32).wrapping_sub(self.lost)) * counts.mss)
    }
    const fn limited(&self) -> SendLimit {
        if self.application_limited {
            SendLimit::Application
        } else {
            SendLimit::CongestionWindow
        }
    }
}

/// The segment sent last among those that an ACK delivered.
#[derive(Clone, Copy, Debug)]
struct Latest {
    snapshot: Snapshot,
    sent_at: Time,
    sequence: u64,
}

/// State of the connection (the draft's C), with a snapshot for each segment of the scoreboard.
#[derive(Debug, Default)]
pub struct DeliveryRate {
    snapshots: VecDeque<Snapshot>,
    /// Sequence number of the first snapshot.
    first: u64,
    /// C.delivered_time.
    delivered_at: Time,
    /// C.first_sent_time.
    first_sent_at: Time,
    /// C.app_limited: until more than this is delivered, what is sent is application-limited; zero
    /// if it is not.
    limited_until: u64,
    latest: Option<Latest>,
}

impl DeliveryRate {
    /// Returns the snapshot of a segment (the draft's section 3.2).
    fn snapshot(&mut self, sending: &Sending) -> Snapshot {
        if sending.idle {
            self.first_sent_at = sending.now;
            self.delivered_at = sending.now;
        }
        Snapshot {
            delivered: sending.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            in_flight: u32::try_from(sending.in_flight).unwrap_or(u32::MAX),
            lost: sending.lost as u32,
            application_limited: self.is_limited(),
        }
    }

    /// True if samples of what is sent now are application-limited.
    pub const fn is_limited(&self) -> bool {
        self.limited_until != 0
    }

    /// Records that the next segment is sent.
    pub fn on_sent(&mut self, sending: &Sending) {
        let snapshot = self.snapshot(sending);
        if self.snapshots.len() == self.snapshots.capacity() {
            self.snapshots.reserve_exact(self.snapshots.len() / 4 + 8);
        }
        self.snapshots.push_back(snapshot);
    }

    /// Records that the segment at `index`, counted from the first, is retransmitted.
    pub fn on_resent(&mut self, index: usize, sending: &Sending) {
        let snapshot = self.snapshot(sending);
        if let Some(place) = self.snapshots.get_mut(index) {
            *place = snapshot;
        }
    }

    /// Records that the segment at `index`, sent at `sent_at`, has been delivered (the draft's
    /// section 3.3, UpdateRateSample).
    pub fn on_delivered(&mut self, index: usize, sent_at: Time) {
        let Some(&snapshot) = self.snapshots.get(index) else {
            return;
        };
        let sequence = self.first + index as u64;
        let newer = self
            .latest
            .is_none_or(|latest| (sent_at, sequence) > (latest.sent_at, latest.sequence));
        if newer {
            self.latest = Some(Latest {
                snapshot,
                sent_at,
                sequence,
            });
        }
    }

    /// Returns what a control is told of a lost segment of `length` bytes, which `counts` has as
    /// lost.
    pub fn loss(&self, sequence: u64, length: Bytes, counts: &Counts) -> Option<SegmentLost> {
        let index = sequence.checked_sub(self.first)?;
        let snapshot = self.snapshots.get(usize::try_from(index).ok()?)?;
        Some(SegmentLost {
            sequence,
            bytes: length,
            tx_in_flight: snapshot.tx_in_flight(counts.mss),
            lost: snapshot.lost_since(counts),
            delivered: Bytes(counts.delivered),
            limited: snapshot.limited(),
        })
    }

    /// Removes the first `count` segments, which are acknowledged.
    pub fn pop(&mut self, count: u64) {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let count = count.min(self.snapshots.len());
        for _ in 0..count {
            self.snapshots.pop_front(); // draining costs more than the usual one or two
        }
        self.first += count as u64;
    }

    /// Removes all segments (go-back-N).
    pub fn clear(&mut self) {
        self.snapshots.clear();
    }

    /// Records that there is no data to send although the window is open. Data sent before all of
    /// `delivered` and `in_flight` has arrived does not show the capacity of the path (the draft's
    /// section 3.4).
    pub fn mark_application_limited(&mut self, delivered: u64, in_flight: u64) {
        self.limited_until = (delivered + in_flight).max(1);
    }

    /// Returns the sample of this ACK (the draft's section 3.3, GenerateRateSample). Call it after
    /// [`on_delivered`](Self::on_delivered) for all segments that the ACK delivered. `None` if it
    /// delivered nothing, or if the interval is below the smallest round-trip time, which no path
    /// allows.
    pub fn sample(
        &mut self,
        now: Time,
        counts: &Counts,
        min_rtt: Option<Span>,
    ) -> Option<RateSample> {
        if self.limited_until != 0 && counts.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let Latest {
            snapshot, sent_at, ..
        } = self.latest.take()?;
        self.delivered_at = now;
        self.first_sent_at = sent_at;
        let send_interval = sent_at.since(snapshot.first_sent_at);
        let ack_interval = now.since(snapshot.delivered_at);
        let interval = send_interval.max(ack_interval);
        let amount = Bytes(counts.delivered.saturating_sub(snapshot.delivered));
        if interval == Span::ZERO || min_rtt.is_some_and(|least| interval < least) {
            return None;
        }
        Some(RateSample {
            delivered: amount,
            interval,
            send_elapsed: send_interval,
            ack_elapsed: ack_interval,
            tx_in_flight: snapshot.tx_in_flight(counts.mss),
            lost: snapshot.lost_since(counts),
            prior_delivered: Bytes(snapshot.delivered),
            limited: snapshot.limited(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_spec::units::BitRate;

    const MSS: u64 = 1000;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn sending(millis: u64, delivered: u64, idle: bool) -> Sending {
        Sending {
            now: at(millis),
            delivered,
            lost: 0,
            in_flight: 1,
            idle,
        }
    }
    fn counts(delivered: u64) -> Counts {
        Counts {
            delivered,
            lost: 0,
            mss: MSS,
        }
    }

    /// Sends a segment every millisecond, each acknowledged 10 ms later: 8 Mbit/s.
    fn steady(rate: &mut DeliveryRate, segments: u64) -> Vec<RateSample> {
        let mut samples = Vec::new();
        let mut delivered = 0;
        for millis in 0..segments + 10 {
            if millis >= 10 {
                rate.on_delivered(0, at(millis - 10));
                rate.pop(1);
                delivered += MSS;
                samples.extend(rate.sample(
                    at(millis),
                    &counts(delivered),
                    Some(Span::from_millis(10)),
                ));
            }
            if millis < segments {
                rate.on_sent(&sending(millis, delivered, millis == 0));
            }
        }
        samples
    }

    #[test]
    fn a_snapshot_is_at_most_forty_bytes() {
        assert!(size_of::<Snapshot>() <= 40);
    }

    #[test]
    fn a_steady_stream_is_sampled_at_its_rate() {
        let samples = steady(&mut DeliveryRate::default(), 100);
        assert_eq!(samples.len(), 100);
        for sample in &samples[10..] {
            assert_eq!(sample.rate(), BitRate::from_mbit_per_s(8.0));
            assert_eq!(sample.limited, SendLimit::CongestionWindow);
        }
    }

    #[test]
    fn compressed_acks_do_not_raise_the_rate() {
        let mut rate = DeliveryRate::default();
        for n in 0..10 {
            rate.on_sent(&sending(n, 0, n == 0));
        }
        // All ten ACKs arrive in one millisecond, 20 ms later.
        let mut delivered = 0;
        for n in 0..10 {
            rate.on_delivered(0, at(n));
            rate.pop(1);
            delivered += MSS;
            let sample = rate
                .sample(at(20), &counts(delivered), Some(Span::from_millis(11)))
                .unwrap();
            assert!(sample.rate() <= BitRate::from_mbit_per_s(8.0), "{sample:?}");
        }
    }

    #[test]
    fn what_is_sent_while_the_application_lags_is_marked_until_it_has_arrived() {
        let mut rate = DeliveryRate::default();
        rate.on_sent(&sending(0, 0, true));
        rate.mark_application_limited(0, MSS);
        rate.on_sent(&sending(1, 0, false));
        rate.on_delivered(0, at(0));
        rate.pop(1);
        assert_eq!(
            rate.sample(at(10), &counts(MSS), None).unwrap().limited,
            SendLimit::CongestionWindow
        );
        rate.on_delivered(0, at(1));
        rate.pop(1);
        assert_eq!(
            rate.sample(at(11), &counts(2 * MSS), None).unwrap().limited,
            SendLimit::Application
        );
        rate.on_sent(&sending(12, 2 * MSS, true));
        rate.on_delivered(0, at(12));
        rate.pop(1);
        assert_eq!(
            rate.sample(at(22), &counts(3 * MSS), None).unwrap().limited,
            SendLimit::CongestionWindow
        );
    }

    #[test]
    fn nothing_is_faster_than_the_smallest_round_trip() {
        let mut rate = DeliveryRate::default();
        rate.on_sent(&sending(0, 0, true));
        rate.on_delivered(0, at(0));
        rate.pop(1);
        assert_eq!(
            rate.sample(at(1), &counts(MSS), Some(Span::from_millis(10))),
            None
        );
    }

    #[test]
    fn a_sample_tells_what_was_in_flight_and_what_was_lost_since() {
        let mut rate = DeliveryRate::default();
        for (millis, in_flight, lost) in [(0, 1, 3), (4, 2, 5)] {
            rate.on_sent(&Sending {
                in_flight,
                lost,
                ..sending(millis, 0, millis == 0)
            });
        }
        rate.on_delivered(0, at(0));
        rate.on_delivered(1, at(4));
        let counts = Counts {
            lost: 12,
            ..counts(2 * MSS)
        };
        let sample = rate.sample(at(30), &counts, None).unwrap();
        let Bytes(in_flight) = sample.tx_in_flight;
        assert_eq!((in_flight, sample.lost), (2 * MSS, Bytes(7 * MSS)));
        assert_eq!(sample.send_elapsed, Span::from_millis(4));
        assert_eq!(sample.ack_elapsed, Span::from_millis(30));
        assert_eq!(sample.interval, Span::from_millis(30));
    }

    /// The last of a burst counts, though another was SACKed before it, and the first snapshot has
    /// changed meanwhile.
    #[test]
    fn the_last_of_a_burst_is_sampled() {
        let mut rate = DeliveryRate::default();
        for n in 0..3 {
            rate.on_sent(&Sending {
                in_flight: n + 1,
                ..sending(0, 0, n == 0)
            });
        }
        rate.on_delivered(1, at(0));
        rate.pop(2);
        rate.on_delivered(0, at(0));
        let sample = rate.sample(at(20), &counts(2 * MSS), None).unwrap();
        assert_eq!(sample.tx_in_flight, Bytes(3 * MSS));
    }

    /// After reordering, the segment sent last is sampled, not the one acknowledged last.
    #[test]
    fn the_newest_segment_is_sampled_in_whatever_order_they_are_named() {
        let mut rate = DeliveryRate::default();
        for n in 0..3 {
            rate.on_sent(&Sending {
                in_flight: n + 1,
                ..sending(n, 0, n == 0)
            });
        }
        for n in [2, 0, 1] {
            rate.on_delivered(n, at(n as u64));
        }
        let sample = rate.sample(at(20), &counts(3 * MSS), None).unwrap();
        assert_eq!(sample.tx_in_flight, Bytes(3 * MSS));
    }
}
