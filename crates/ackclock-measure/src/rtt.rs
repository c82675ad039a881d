//! Round-trip times of one direction, measured at the capture point, and the timeout that a sender
//! would compute from them.

use crate::vantage::Vantage;
use ackclock_core::endpoint::RttEstimator;
use ackclock_core::endpoint::parameters::{Preset, RtoFloor};
use ackclock_core::histogram::Histogram;
use ackclock_spec::units::Span;

/// Logarithm to base 2 of the buckets per doubling. A bucket is at most 1/128 of its lower bound
/// wide, less than 1 %.
const FINENESS: u32 = 7;

/// Time in which a host answers, and another host hardly does. We chose the value.
const HOST: Span = Span::from_micros(50);

/// Distribution of round-trip times, to 1 %.
pub type Law = Histogram<FINENESS>;

/// Count, mean, spread and extremes of times in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    count: u64,
    mean: f64,
    /// Sum of squared differences from the mean (Welford 1962).
    squares: f64,
    least: f64,
    most: f64,
}

impl Moments {
    /// Adds a time.
    pub fn add(&mut self, seconds: f64) {
        let first = self.count == 0;
        self.count += 1;
        let distance = seconds - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (seconds - self.mean);
        self.least = if first {
            seconds
        } else {
            self.least.min(seconds)
        };
        self.most = if first {
            seconds
        } else {
            self.most.max(seconds)
        };
    }

    /// Returns the number of times.
    pub const fn count(&self) -> u64 {
        self.count
    }
    /// Returns the mean; this and all below are NaN if there are no times.
    pub fn mean(&self) -> f64 {
        // Accumulated rounding may take the mean beyond an extreme.
        self.or_nan(self.mean.max(self.least).min(self.most))
    }
    /// Returns the standard deviation; 0 for one time.
    pub fn deviation(&self) -> f64 {
        self.or_nan((self.squares / self.count.saturating_sub(1).max(1) as f64).sqrt())
    }
    /// Returns the least time.
    pub fn least(&self) -> f64 {
        self.or_nan(self.least)
    }
    /// Returns the largest time.
    pub fn most(&self) -> f64 {
        self.or_nan(self.most)
    }
    /// Returns the sum.
    pub fn sum(&self) -> f64 {
        self.mean * self.count as f64
    }
    const fn or_nan(&self, value: f64) -> f64 {
        if self.count == 0 { f64::NAN } else { value }
    }
}

/// Round-trip times: moments and distribution.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Moments.
    pub moments: Moments,
    /// Distribution.
    pub law: Law,
}

impl Samples {
    fn add(&mut self, span: Span) {
        self.moments.add(span.as_seconds());
        self.law.add(span);
    }
    /// Returns a quantile in seconds; NaN without samples.
    pub fn quantile(&self, quantile: f64) -> f64 {
        match self.moments.count {
            0 => f64::NAN,
            _ => self.law.quantile(quantile).as_seconds(),
        }
    }
}

/// Round-trip times of one direction.
///
/// A capture point divides the round trip in two. The receiver's side is the time between a data
/// packet and its ACK at that point; the sender's side, between an ACK and the data that it
/// released. Sequence numbers give the first; timestamps give both; the handshake gives
/// both once. At the sender, the sender's side is almost 0.
#[derive(Clone, Debug)]
pub struct RoundTrips {
    /// The receiver's side, from sequence numbers.
    pub by_sequence: Samples,
    /// The receiver's side, from timestamps.
    pub by_stamp: Moments,
    /// Both sides together, if the sender's side is known.
    pub whole: Samples,
    /// Least receiver's side, from any source, and least sender's side.
    receiver_side: Option<Span>,
    sender_side: Option<Span>,
    /// Recent values of the sender's side.
    lately: Lately,
    /// Number of values of it as short as within a host, and of all.
    prompt_answers: (u64, u64),
    rto_minimum: Span,
    estimator: RttEstimator,
}

fn estimator(rto_minimum: Span) -> RttEstimator {
    let mut timer = Preset::Rfc.parameters().timer;
    timer.rto_minimum = rto_minimum;
    // Linux adds its floor to the smoothed time; the RFC's rule gives the lower timeout.
    timer.rto_floor = RtoFloor::Timeout;
    RttEstimator::new(&timer)
}

/// The last few samples. Several are kept, since an application without data makes some of them too
/// long.
#[derive(Clone, Copy, Debug, Default)]
struct Lately {
    spans: [Span; Lately::MOST],
    count: usize,
}

impl Lately {
    /// Few enough that a queue changes little meanwhile. We chose the value.
    const MOST: usize = 4;

    fn add(&mut self, span: Span) {
        self.spans[self.count % Self::MOST] = span;
        self.count += 1;
    }
    fn least(&self) -> Option<Span> {
        self.spans[..self.count.min(Self::MOST)]
            .iter()
            .min()
            .copied()
    }
}

impl RoundTrips {
    /// Creates an empty record. `rto_minimum` is the floor of the timeout.
    pub fn new(rto_minimum: Span) -> Self {
        RoundTrips {
            rto_minimum,
            by_sequence: Samples::default(),
            by_stamp: Moments::default(),
            whole: Samples::default(),
            receiver_side: None,
            sender_side: None,
            prompt_answers: (0, 0),
            lately: Lately::default(),
            estimator: estimator(rto_minimum),
        }
    }

    /// Adds the receiver's side of an ACK, by sequence numbers, timestamps, or both; returns the
    /// whole round trip. Sequence numbers are finer than the ticks of most timestamps; timestamps
    /// also cover retransmissions.
    pub fn add_receiver_side(
        &mut self,
        by_sequence: Option<Span>,
        by_stamp: Option<Span>,
    ) -> Option<Span> {
        if let Some(span) = by_sequence {
            self.by_sequence.add(span);
        }
        if let Some(span) = by_stamp {
            self.by_stamp.add(span.as_seconds());
        }
        let span = by_sequence.or(by_stamp)?;
        self.receiver_side = Some(self.receiver_side.map_or(span, |least| least.min(span)));
        let whole = self.whole_of(span);
        if self.sender_side.is_some() {
            self.whole.add(whole);
        }
        self.estimator.sample(whole);
        Some(whole)
    }

    /// Adds both sides from the handshake.
    pub fn add_handshake(&mut self, receiver_side: Span, sender_side: Span) {
        self.add_sender_side(sender_side);
        self.whole.add(receiver_side + sender_side);
        self.estimator.sample(receiver_side + sender_side);
    }

    /// Adds a value of the sender's side.
    pub fn add_sender_side(&mut self, span: Span) {
        if self.sender_side.is_none() {
            // The estimator has seen only one side so far.
            self.estimator = estimator(self.rto_minimum);
        }
        self.sender_side = Some(self.sender_side.map_or(span, |least| least.min(span)));
        self.lately.add(span);
        self.prompt_answers.0 += u64::from(span <= HOST * 4);
        self.prompt_answers.1 += 1;
    }

    /// Returns the round trips for `flows`: whole ones, or the receiver's side if the sender's is
    /// unknown.
    pub fn for_flows(&self) -> &Samples {
        if self.whole.moments.count > 0 {
            &self.whole
        } else {
            &self.by_sequence
        }
    }
    /// Returns the least receiver's side.
    pub const fn receiver_side(&self) -> Option<Span> {
        self.receiver_side
    }
    /// Returns the least sender's side.
    pub const fn sender_side(&self) -> Option<Span> {
        self.sender_side
    }
    /// Returns the current sender's side, if known. Next to the sender it is the least ever: any
    /// excess is time in which the application had nothing to send.
    pub fn sender_side_now(&self) -> Option<Span> {
        match self.vantage() {
            Vantage::Sender => self.sender_side,
            _ => self.lately.least(),
        }
    }
    /// Returns the whole round trip for a receiver's side of `span`. An unknown sender's side
    /// counts as 0.
    pub fn whole_of(&self, span: Span) -> Span {
        span + self.sender_side_now().unwrap_or(Span::ZERO)
    }
    /// True if the sender's side was once as short as within a host.
    pub fn is_within_host(&self) -> bool {
        self.sender_side.is_some_and(|side| side <= HOST)
    }
    /// Returns the position of the capture point. Between hosts of one machine both sides are
    /// short. There the capture is the sender's if that answers at once, mostly; a queue of its own
    /// before the capture point delays the answers.
    pub fn vantage(&self) -> Vantage {
        let (prompt, all) = self.prompt_answers;
        if self.is_within_host() && 2 * prompt > all {
            return Vantage::Sender;
        }
        Vantage::of(self.sender_side, self.receiver_side)
    }
    /// Returns the least whole round trip. An unknown sender's side counts as 0.
    pub fn least(&self) -> Option<Span> {
        self.receiver_side
            .map(|span| span + self.sender_side.unwrap_or(Span::ZERO))
    }
    /// Returns the estimator of smoothed round-trip time and timeout (RFC 6298).
    pub const fn estimator(&self) -> &RttEstimator {
        &self.estimator
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_millis(1);

    #[test]
    fn moments_are_those_of_the_textbook() {
        let mut moments = Moments::default();
        assert!(
            moments.mean().is_nan() && moments.deviation().is_nan() && moments.least().is_nan()
        );
        for seconds in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            moments.add(seconds);
        }
        assert_eq!(
            (moments.count(), moments.mean(), moments.sum()),
            (8, 5.0, 40.0)
        );
        assert!((moments.deviation() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!((moments.least(), moments.most()), (2.0, 9.0));
    }

    #[test]
    fn both_sides_make_the_whole() {
        let mut trips = RoundTrips::new(MS * 200);
        trips.add_receiver_side(Some(MS * 30), None);
        assert_eq!(
            trips.for_flows().moments.mean(),
            0.03,
            "the sender's side is unknown"
        );
        trips.add_sender_side(MS * 20);
        trips.add_receiver_side(None, Some(MS * 40));
        trips.add_sender_side(MS * 5);
        trips.add_receiver_side(Some(MS * 31), Some(MS * 31));
        assert_eq!(trips.by_sequence.moments.count(), 2);
        assert_eq!((trips.by_stamp.count(), trips.by_stamp.most()), (2, 0.04));
        assert_eq!(trips.for_flows().moments.count(), 2);
        assert_eq!(
            (
                trips.for_flows().moments.most(),
                trips.for_flows().moments.least()
            ),
            (0.06, 0.036)
        );
        assert_eq!(trips.least(), Some(MS * 35));
    }

    #[test]
    fn the_timeout_has_a_floor() {
        let mut trips = RoundTrips::new(MS * 200);
        assert_eq!(trips.estimator().rto(), MS * 1000, "RFC 6298 (2.1)");
        (0..50).for_each(|_| {
            trips.add_receiver_side(Some(MS * 20), None);
        });
        assert_eq!(trips.estimator().rto(), MS * 200);
        (0..50).for_each(|_| {
            trips.add_receiver_side(Some(MS * 300), None);
        });
        assert!(trips.estimator().rto() > MS * 300);
    }
}
