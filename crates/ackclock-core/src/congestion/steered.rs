//! A control that decides nothing itself: it obeys orders from outside and counts what its sender
//! hears, for whoever gives them. Both [`external`](super::external) and
//! [`scripted`](super::scripted) are made of it.
//!
//! All that is counted comes from the calls that every control hears, so nothing is counted that a
//! sender could not know. An order acts on the segments that are sent after it; it delays none.

use super::{Ack, Congestion, CongestionControl, CongestionKind, ControlContext, ControlState};
use super::{Event, LARGEST_WINDOW, Needs, Pace};
use ackclock_spec::units::{BitRate, Bytes, Time};
use std::sync::Arc;

/// An order. What is `None` stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Congestion window; at least one segment and at most ten million are applied.
    pub cwnd: Option<Bytes>,
    /// Pacing rate; at least one bit per second is applied.
    pub rate: Option<BitRate>,
}

/// An order that was written down: its time, and the instance of the flow that obeys; all do if it
/// is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOrder {
    /// Time of the order.
    pub at: Time,
    /// Number of the instance in its group.
    pub instance: Option<u32>,
    /// The order.
    pub order: Order,
}

/// Round-trip times since the last observation, in seconds, and their trend by least squares.
#[derive(Clone, Copy, Debug, Default)]
struct RoundTrips {
    count: u32,
    sum: f64,
    min: f64,
    last: f64,
    /// Sums over the samples of the time since the last observation, of its square, and of its
    /// product with the round-trip time.
    time: f64,
    square: f64,
    product: f64,
}

impl RoundTrips {
    fn add(&mut self, after: f64, rtt: f64) {
        self.min = match self.count {
            0 => rtt,
            _ => self.min.min(rtt),
        };
        self.count += 1;
        self.sum += rtt;
        self.last = rtt;
        self.time += after;
        self.square += after * after;
        self.product += after * rtt;
    }

    /// Returns the slope of the regression of round-trip time on time: seconds per second, zero for
    /// samples at one moment.
    fn gradient(&self) -> f64 {
        let count = f64::from(self.count);
        let spread = count * self.square - self.time * self.time;
        if self.count < 2 || spread <= 1e-18 * count {
            return 0.0;
        }
        (count * self.product - self.time * self.sum) / spread
    }
}

/// The events that a sender has heard since the last observation, and where it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observation {
    /// Data sent, retransmissions included.
    pub sent: Bytes,
    /// Data newly known to be delivered.
    pub delivered: Bytes,
    /// Data found lost: by ACKs, or all that was in flight when the retransmission timer expired.
    pub lost: Bytes,
    /// Data that arrived marked.
    pub marked: Bytes,
    /// Number of ACKs.
    pub acks: u32,
    /// Number of retransmission timeouts.
    pub timeouts: u32,
    /// Number of round-trip times measured.
    pub rtts: u32,
    /// Their mean in s; NaN if there is none.
    pub rtt_mean: f64,
    /// The smallest in s; NaN if there is none.
    pub rtt_min: f64,
    /// The last in s; NaN if there is none.
    pub rtt_last: f64,
    /// Slope of their regression on time, in s/s.
    pub rtt_gradient: f64,
    /// Smallest round-trip time of the connection in s; NaN before the first.
    pub least_rtt: f64,
    /// Smoothed round-trip time in s; NaN before the first.
    pub smoothed_rtt: f64,
    /// Data in flight.
    pub in_flight: Bytes,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Pacing rate that was ordered, if any was.
    pub rate: Option<BitRate>,
}

/// The control.
#[derive(Debug)]
pub struct Steered {
    mss: Bytes,
    cwnd: Bytes,
    rate: Option<BitRate>,
    /// Time of the last observation.
    since: Time,
    sent: Bytes,
    delivered: Bytes,
    lost: Bytes,
    marked: Bytes,
    acks: u32,
    timeouts: u32,
    round_trips: RoundTrips,
    least_rtt: f64,
    smoothed_rtt: f64,
    in_flight: Bytes,
    script: Arc<[TimedOrder]>,
}

impl Steered {
    /// Makes a control with the transport's initial window, and orders that were written down.
    pub fn new(context: &ControlContext<'_>, script: Arc<[TimedOrder]>) -> Self {
        Steered {
            mss: context.mss,
            cwnd: context.initial_window.max(context.mss),
            rate: None,
            since: Time::ZERO,
            sent: Bytes::ZERO,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            marked: Bytes::ZERO,
            acks: 0,
            timeouts: 0,
            round_trips: RoundTrips::default(),
            least_rtt: f64::NAN,
            smoothed_rtt: f64::NAN,
            in_flight: Bytes::ZERO,
            script,
        }
    }

    /// Returns the orders that were written down.
    pub fn script(&self) -> Arc<[TimedOrder]> {
        self.script.clone()
    }

    /// Obeys an order. Returns true if the window has grown, so that more may be sent at once.
    pub fn obey(&mut self, order: &Order) -> bool {
        let before = self.cwnd;
        if let Some(cwnd) = order.cwnd {
            let most = Bytes(self.mss.0 * u64::from(LARGEST_WINDOW));
            self.cwnd = cwnd.max(self.mss).min(most);
        }
        if let Some(rate) = order.rate {
            self.rate = Some(rate.max(BitRate::from_bit_per_s(1)));
        }
        self.cwnd > before
    }

    /// True if a loss, a mark or a timeout is known since the last observation.
    pub fn has_heard_of_congestion(&self) -> bool {
        self.lost > Bytes::ZERO || self.marked > Bytes::ZERO || self.timeouts > 0
    }

    /// Returns the number of ACKs since the last observation.
    pub const fn acks(&self) -> u32 {
        self.acks
    }

    /// Returns what was heard since the last observation, and begins the next.
    pub fn observe(&mut self, now: Time) -> Observation {
        let round_trips = std::mem::take(&mut self.round_trips);
        let measured = |value: f64| match round_trips.count {
            0 => f64::NAN,
            _ => value,
        };
        let observation = Observation {
            sent: self.sent,
            delivered: self.delivered,
            lost: self.lost,
            marked: self.marked,
            acks: self.acks,
            timeouts: self.timeouts,
            rtts: round_trips.count,
            rtt_mean: measured(round_trips.sum / f64::from(round_trips.count)),
            rtt_min: measured(round_trips.min),
            rtt_last: measured(round_trips.last),
            rtt_gradient: round_trips.gradient(),
            least_rtt: self.least_rtt,
            smoothed_rtt: self.smoothed_rtt,
            in_flight: self.in_flight,
            cwnd: self.cwnd,
            rate: self.rate,
        };
        (self.sent, self.delivered, self.lost) = (Bytes::ZERO, Bytes::ZERO, Bytes::ZERO);
        (self.marked, self.acks, self.timeouts) = (Bytes::ZERO, 0, 0);
        self.since = now;
        observation
    }
}

impl CongestionControl for Steered {
    fn needs(&self) -> Needs {
        Needs {
            sent: true,
            paces: true,
            replaces_recovery: true,
            ..Needs::default()
        }
    }

    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.acks += 1;
        self.delivered += ack.newly_delivered;
        self.lost += ack.newly_lost;
        self.marked += ack.marked;
        self.in_flight = ack.in_flight;
        if let Some(rtt) = ack.rtt {
            self.round_trips
                .add(now.since(self.since).as_seconds(), rtt.as_seconds());
        }
        if let Some(rtt) = ack.min_rtt {
            self.least_rtt = rtt.as_seconds();
        }
        if let Some(rtt) = ack.smoothed_rtt {
            self.smoothed_rtt = rtt.as_seconds();
        }
    }

    fn on_congestion(&mut self, _: Time, congestion: &Congestion) {
        if matches!(
            congestion.kind,
            CongestionKind::Timeout | CongestionKind::RepeatedTimeout
        ) {
            self.timeouts += 1;
            self.lost += congestion.in_flight;
            self.in_flight = Bytes::ZERO;
        }
    }

    fn on_event(&mut self, _: Time, event: &Event) {
        if let Event::Sent(segment) = event {
            self.sent += segment.bytes;
            self.in_flight = segment.in_flight;
        }
    }

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn pace(&self) -> Pace {
        Pace {
            rate: self.rate,
            burst: None,
        }
    }

    fn state(&self) -> ControlState {
        ControlState {
            ssthresh: None,
            mode: "steered",
            rate_estimate: None,
        }
    }

    fn steered(&mut self) -> Option<&mut Steered> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_is_the_slope_of_the_regression() {
        let mut rising = RoundTrips::default();
        for number in 0..20 {
            let after = 0.01 * f64::from(number);
            rising.add(after, 0.05 + 0.3 * after);
        }
        assert!((rising.gradient() - 0.3).abs() < 1e-12, "{rising:?}");
        assert_eq!(rising.min, 0.05);
        let mut together = RoundTrips::default();
        together.add(0.5, 0.1);
        together.add(0.5, 0.2);
        assert_eq!(together.gradient(), 0.0);
    }
}
