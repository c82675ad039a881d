//! Quantities that estimators take from an ACK: the amount delivered, and the smallest round-trip
//! time.

use super::{AckSample, seconds};
use ackclock_spec::prelude::*;

/// Quantities taken from each ACK.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Observation {
    /// Method of counting the data that an ACK reports as delivered.
    pub delivered: Delivered,
    /// Most segments counted per ACK. The ns-2 modules of Westwood count at most two, which is too
    /// few if ACKs are lost. Linux has no such limit, and neither does the default here.
    pub at_most: Option<u32>,
    /// Clock tick to which round-trip times are rounded, at least one. ns-2 of 2002 has 0.1 s. By
    /// default they are exact.
    pub tick: Option<Span>,
}

/// Methods of counting delivered data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Delivered {
    /// By duplicate and cumulative ACKs, as in the papers (AckedCount): a duplicate ACK counts as
    /// one segment, which the next cumulative ACK does not count again.
    #[default]
    DuplicateAcks,
    /// By all information of the transport, SACK included.
    Sack,
}

impl Observation {
    pub(super) fn check(&self) -> Result<()> {
        every([
            in_range(
                self.at_most != Some(0),
                "observation.at_most",
                &self.at_most,
                "is too small; choose at least 1 byte, or remove it",
            ),
            in_range(
                self.tick != Some(Span::ZERO),
                "observation.tick",
                &self.tick,
                "is too short; for example \"10 ms\"; or remove it",
            ),
        ])
    }
}

/// An [`Observation`] applied to one connection.
#[derive(Clone, Debug)]
pub(super) struct Observer {
    rule: Delivered,
    counter: AckedCount,
    /// Most bytes counted per ACK.
    at_most: u64,
    tick: Option<Span>,
    rtt_min: Option<f64>,
    /// True after the first ACK.
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

    /// Returns the bytes that the ACK reports as delivered. The first ACK counts no bytes, but
    /// gives a round-trip time.
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

    /// Returns a round-trip time rounded to the clock tick.
    pub fn read(&self, rtt: Span) -> Span {
        let Some(tick) = self.tick.map(Span::as_nanos) else {
            return rtt;
        };
        let ticks = rtt.as_nanos().saturating_add(tick / 2) / tick;
        Span::from_nanos(ticks.max(1).saturating_mul(tick))
    }

    /// Returns the smallest round-trip time, in seconds.
    pub const fn rtt_min(&self) -> Option<f64> {
        self.rtt_min
    }
}

/// AckedCount (Mascolo, Casetti, Gerla, Sanadidi, Wang, "TCP Westwood", Mobicom 2001), in bytes.
///
/// An ACK of exactly one segment is never reduced, so that each partial ACK of one segment counts
/// one too many.
#[derive(Clone, Debug)]
pub(super) struct AckedCount {
    mss: u64,
    /// Bytes counted for duplicate ACKs and not yet deducted from a cumulative one.
    accounted: u64,
}

impl AckedCount {
    pub const fn new(mss: Bytes) -> Self {
        AckedCount {
            mss: mss.0,
            accounted: 0,
        }
    }

    /// Returns the bytes counted for an ACK that advances by `cumulative` bytes.
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
        // Ticks of 0.1 s turn 72 ms into 100 ms: a path of 70 ms appears 43 % longer.
        assert_eq!(
            [None, Some(10), Some(100), Some(1000)].map(rtt_min),
            [72.0, 70.0, 100.0, 1000.0]
        );
    }
}
