//! What estimators take from an ACK: how much it says to have been delivered, and the smallest
//! round-trip time.

use super::{AckSample, seconds};
use crate::scenario::error::{Error, Result};
use crate::units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is taken from each ACK.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Observation {
    /// How the data is counted that an ACK says to have been delivered.
    pub delivered: Delivered,
    /// The most segments that one ACK may count for. The ns-2 modules of Westwood count two at
    /// most, and so too little where ACKs are lost; Linux has no such limit, and neither have we by
    /// default.
    pub at_most: Option<u32>,
    /// Clock that round-trip times are read from: rounded to its ticks, one at least. ns-2 of 2002
    /// has 0.1 s. By default they are exact.
    pub tick: Option<Span>,
}

/// See [`Observation::delivered`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Delivered {
    /// By duplicate and cumulative ACKs, as the papers do (AckedCount): a duplicate ACK stands for
    /// one segment, which the cumulative ACK that follows does not count again.
    #[default]
    DuplicateAcks,
    /// By all that the transport knows, SACK included.
    Sack,
}

impl Observation {
    pub(super) fn check(&self) -> Result<()> {
        if self.at_most == Some(0) {
            return Err(Error::new(
                "observation.at_most",
                &0.into(),
                "is too small; choose at least 1 byte, or remove it",
            ));
        }
        if self.tick == Some(Span::ZERO) {
            return Err(Error::new(
                "observation.tick",
                &"0 s".into(),
                "is too short; for example \"10 ms\"; or remove it",
            ));
        }
        Ok(())
    }
}

/// An [`Observation`] of one connection.
#[derive(Clone, Debug)]
pub(super) struct Observer {
    rule: Delivered,
    counter: AckedCount,
    /// The most bytes that one ACK counts for.
    at_most: u64,
    tick: Option<Span>,
    rtt_min: Option<f64>,
    /// Whether the first ACK has come.
    begun: bool,
}

impl Observer {
    pub fn new(parameters: &Observation, mss: Bytes) -> Self {
        Observer {
            rule: parameters.delivered,
            counter: AckedCount::new(mss),
            at_most: parameters
                .at_most
                .map_or(u64::MAX, |segments| (mss * u64::from(segments)).0),
            tick: parameters.tick,
            rtt_min: None,
            begun: false,
        }
    }

    /// Bytes that the ACK says to have been delivered. The first ACK says what round trips take,
    /// and what comes later is counted from it on.
    pub fn take(&mut self, ack: &AckSample) -> f64 {
        if let Some(rtt) = ack.rtt.map(|rtt| seconds(self.read(rtt))) {
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
        }
        if !std::mem::replace(&mut self.begun, true) {
            return 0.0;
        }
        let counted = match self.rule {
            Delivered::DuplicateAcks => self.counter.count(ack.newly_acked.0),
            Delivered::Sack => ack.newly_delivered.0,
        };
        counted.min(self.at_most) as f64
    }

    /// A round-trip time as the clock has it.
    pub fn read(&self, rtt: Span) -> Span {
        let Some(tick) = self.tick.map(Span::as_nanos) else {
            return rtt;
        };
        let ticks = rtt.as_nanos().saturating_add(tick / 2) / tick;
        Span::from_nanos(ticks.max(1).saturating_mul(tick))
    }

    /// Smallest round-trip time, in seconds.
    pub const fn rtt_min(&self) -> Option<f64> {
        self.rtt_min
    }
}

/// AckedCount (Mascolo, Casetti, Gerla, Sanadidi, Wang, "TCP Westwood", Mobicom 2001), in bytes.
///
/// An ACK of exactly one segment is never reduced, so that each partial ACK that advances by one
/// counts one too many.
#[derive(Clone, Debug)]
pub(super) struct AckedCount {
    mss: u64,
    /// Counted for duplicate ACKs, and not yet taken off from a cumulative one.
    accounted: u64,
}

impl AckedCount {
    pub const fn new(mss: Bytes) -> Self {
        AckedCount {
            mss: mss.0,
            accounted: 0,
        }
    }

    /// Bytes that an ACK counts for that advances by `cumulative` bytes.
    pub fn count(&mut self, cumulative: u64) -> u64 {
        if cumulative == 0 {
            self.accounted += self.mss;
            return self.mss;
        }
        if cumulative <= self.mss {
            return cumulative;
        }
        if self.accounted >= cumulative {
            self.accounted -= cumulative;
            return self.mss;
        }
        cumulative - std::mem::take(&mut self.accounted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(advances: &[u64]) -> Vec<u64> {
        let mut counter = AckedCount::new(Bytes(1));
        advances
            .iter()
            .map(|&segments| counter.count(segments))
            .collect()
    }

    #[test]
    fn duplicate_acks_are_not_counted_twice() {
        assert_eq!(counts(&[0, 0, 0, 4]), [1, 1, 1, 1]);
        assert_eq!(counts(&[2, 2, 1]), [2, 2, 1]);
        assert_eq!(counts(&[0, 0, 0, 0, 0, 3, 7]), [1, 1, 1, 1, 1, 1, 5]);
    }

    #[test]
    fn an_ack_of_one_segment_is_never_reduced() {
        assert_eq!(counts(&[0, 0, 0, 1, 1, 3]), [1, 1, 1, 1, 1, 1]);
        assert_eq!(counts(&[0, 1, 2]), [1, 1, 1]);
    }

    fn ack(newly_acked: u64, newly_delivered: u64, rtt_ms: u64) -> AckSample {
        AckSample {
            newly_acked: Bytes(newly_acked),
            newly_delivered: Bytes(newly_delivered),
            rtt: (rtt_ms > 0).then_some(Span::from_millis(rtt_ms)),
            smoothed_rtt: None,
            cwnd: Bytes(10_000),
        }
    }

    #[test]
    fn the_switches_do_what_they_say() {
        let plain = Observation::default();
        let sack = Observation {
            delivered: Delivered::Sack,
            ..plain.clone()
        };
        let clamped = Observation {
            at_most: Some(2),
            ..plain.clone()
        };
        let counted = |observation: &Observation| {
            let mut observer = Observer::new(observation, Bytes(1000));
            [(7000, 7000), (5000, 3000)]
                .map(|(acked, delivered)| observer.take(&ack(acked, delivered, 0)))
        };
        assert_eq!(
            [&plain, &sack, &clamped].map(counted),
            [[0.0, 5000.0], [0.0, 3000.0], [0.0, 2000.0]],
            "the first ACK counts nothing"
        );
    }

    #[test]
    fn a_coarse_clock_makes_the_threshold_too_large() {
        let rtt_min = |tick: Option<u64>| {
            let observation = Observation {
                tick: tick.map(Span::from_millis),
                ..Observation::default()
            };
            let mut observer = Observer::new(&observation, Bytes(1000));
            for rtt in [0, 76, 72, 140] {
                observer.take(&ack(1000, 1000, rtt));
            }
            libm::round(observer.rtt_min().unwrap() * 1e9) / 1e6
        };
        // Ticks of 0.1 s read 72 ms as 100: a path of 70 ms looks 43 % longer.
        assert_eq!(
            [None, Some(10), Some(100), Some(1000)].map(rtt_min),
            [72.0, 70.0, 100.0, 1000.0]
        );
    }
}
