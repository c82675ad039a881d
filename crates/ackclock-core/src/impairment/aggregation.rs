//! Aggregation: packets wait for a clock and arrive together, as behind a link that sends batches.

use super::facts::ImpairmentFacts;
use super::{Applies, Impairment, ImpairmentKind, Overtaking, Side, Verdict};
use crate::packet::Packet;
use ackclock_spec::prelude::*;
use serde_json::json;

/// Parameters. A packet that the link has sent is held until the next tick, and keeps its order.
/// On the hop of the ACKs, `applies = "acks"` aggregates ACKs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "interval": "20 ms" }))]
#[schemars(example = json!({ "interval": "4 ms", "from": "10 s" }))]
pub struct Aggregation {
    /// Time between two ticks.
    pub interval: Span,
    /// Time of the first tick, since the beginning of the run. Packets before it are not held.
    #[serde(default)]
    pub from: Span,
    /// Packets to which it applies.
    #[serde(default = "Applies::data")]
    pub applies: Applies,
}

impl Element<ImpairmentKind> for Aggregation {
    const NAME: &'static str = "aggregation";
    const LABEL: &'static str = "aggregation";
    const SUMMARY: &'static str =
        "Holds packets and releases them together at evenly spaced times.";
    const REFERENCE: &'static str = "the effect of batches in Wi-Fi, cellular and DOCSIS links, \
        with a clock in place of their schedulers";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        check_above_zero("interval", self.interval, "20 ms")
    }

    fn facts(&self) -> ImpairmentFacts {
        ImpairmentFacts {
            delays: Some(true),
            changes: Some(self.from != Span::ZERO),
            ..ImpairmentFacts::of(self.applies, Side::AfterLink)
        }
    }
}

impl Factory<ImpairmentKind> for Aggregation {
    fn build(&self, _: StreamScope<'_>) -> Box<dyn Impairment> {
        Box::new(AggregationImpairment(self.clone()))
    }
}

#[derive(Debug)]
struct AggregationImpairment(Aggregation);

impl Impairment for AggregationImpairment {
    fn judge(&mut self, now: Time, packet: &Packet) -> Verdict {
        let first = Time::ZERO + self.0.from;
        if !self.0.applies.to(packet) || now < first {
            return Verdict::Pass;
        }
        let interval = self.0.interval.as_nanos();
        let past = now.since(first).as_nanos() % interval;
        Verdict::Delay {
            by: Span::from_nanos((interval - past) % interval),
            overtaken: Overtaking::Forbidden,
        }
    }
    fn side(&self) -> Side {
        Side::AfterLink
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impairment::tests::{self, choose, packet};

    #[test]
    fn packets_leave_at_ticks_only() {
        let tree = json!({ "kind": "aggregation", "interval": "20 ms", "from": "5 ms" });
        let mut held = tests::build(tree);
        for ms in 0..100_u64 {
            let now = Time::from_nanos(ms * 1_000_000);
            match held.judge(now, &packet()) {
                Verdict::Pass => assert!(ms < 5),
                Verdict::Delay { by, overtaken } => {
                    let release = ms + by.as_nanos() / 1_000_000;
                    assert_eq!((release - 5) % 20, 0, "{ms}");
                    assert!(ms >= 5 && by < Span::from_millis(20));
                    assert_eq!(overtaken, Overtaking::Forbidden);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_clock_without_time_between_ticks_is_refused() {
        let error = choose(json!({ "kind": "aggregation", "interval": "0 s" })).unwrap_err();
        assert_eq!(error.key(), "out-of-range interval");
    }
}
