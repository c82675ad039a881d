//! Loss of every n-th packet in a span of time: losses that are known beforehand.

use super::facts::{ImpairmentFacts, LossSpacing};
use super::{Applies, Impairment, ImpairmentKind, Side, Verdict};
use crate::packet::Packet;
use ackclock_spec::prelude::*;
use serde_json::json;

/// Parameters. The first packet from `from` on is lost, then every n-th after it, until `until`.
/// Tests use it: the number of losses in a round trip does not depend on random draws.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "every": 20 }))]
#[schemars(example = json!({ "every": 2, "from": "10 s", "until": "10.1 s" }))]
pub struct PeriodicLoss {
    /// Packets from one loss to the next.
    pub every: u64,
    /// Time of the first loss at the earliest, since the beginning of the run.
    #[serde(default)]
    pub from: Span,
    /// Time from which on nothing is lost; by default the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Span>,
    /// Position in the hop.
    #[serde(default = "Side::after_link")]
    pub side: Side,
    /// Packets to which it applies; others do not count.
    #[serde(default = "Applies::data")]
    pub applies: Applies,
}

impl PeriodicLoss {
    const fn changes(&self) -> bool {
        self.from.as_nanos() > 0 || self.until.is_some()
    }
}

impl Element<ImpairmentKind> for PeriodicLoss {
    const NAME: &'static str = "periodic_loss";
    const LABEL: &'static str = "periodic loss";
    const SUMMARY: &'static str = "Loses every n-th packet, always or in a span of time.";
    const REFERENCE: &'static str = "deterministic loss, as in the analysis of Mathis and others \
        1997";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let remedy = "is not after the first loss";
        let ends = self.until.is_none_or(|until| until > self.from);
        every([
            in_range(self.every > 0, "every", &self.every, "is not 1 or more"),
            consistent(ends, "until", &self.until, &["from"], remedy),
        ])
    }

    fn facts(&self) -> ImpairmentFacts {
        let always = !self.changes();
        ImpairmentFacts {
            mean_loss: always.then_some(1.0 / self.every as f64).into(),
            spacing: Some(LossSpacing::Even),
            changes: Some(!always),
            ..ImpairmentFacts::of(self.applies, self.side)
        }
    }
}

impl Factory<ImpairmentKind> for PeriodicLoss {
    fn build(&self, _: StreamScope<'_>) -> Box<dyn Impairment> {
        Box::new(PeriodicLossImpairment {
            parameters: self.clone(),
            seen: 0,
        })
    }
}

#[derive(Debug)]
struct PeriodicLossImpairment {
    parameters: PeriodicLoss,
    /// Packets since `from`.
    seen: u64,
}

impl Impairment for PeriodicLossImpairment {
    fn judge(&mut self, now: Time, packet: &Packet) -> Verdict {
        let PeriodicLoss { from, until, .. } = &self.parameters;
        let begun = now >= Time::ZERO + *from;
        let ended = until.is_some_and(|until| now >= Time::ZERO + until);
        if !self.parameters.applies.to(packet) || !begun || ended {
            return Verdict::Pass;
        }
        self.seen += 1;
        if (self.seen - 1).is_multiple_of(self.parameters.every) {
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    }
    fn side(&self) -> Side {
        self.parameters.side
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impairment::tests::{self, choose, packet};

    #[test]
    fn every_third_packet_of_its_time_is_lost() {
        let mut loss = tests::build(json!({
            "kind": "periodic_loss", "every": 3, "from": "10 ms", "until": "20 ms"
        }));
        let lost: Vec<u64> = (0..40)
            .filter(|ms| loss.judge(Time::from_nanos(ms * 1_000_000), &packet()) == Verdict::Drop)
            .collect();
        assert_eq!(lost, [10, 13, 16, 19]);
    }

    #[test]
    fn no_period_and_no_time_are_refused() {
        let refused = |tree| choose(tree).unwrap_err().key();
        let none = json!({ "kind": "periodic_loss", "every": 0 });
        assert_eq!(refused(none), "out-of-range every");
        let never = json!({ "kind": "periodic_loss", "every": 2, "from": "2 s", "until": "2 s" });
        assert_eq!(refused(never), "contradiction until");
    }
}
