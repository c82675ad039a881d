//! Duplication: a packet arrives twice.

use super::facts::ImpairmentFacts;
use super::scheduled_loss::{Step, Trials};
use super::{Applies, Impairment, ImpairmentKind, Side, Verdict};
use ackclock_spec::prelude::*;

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Duplicate {
    /// Probability that a copy follows a packet.
    pub probability: Probability,
    /// Position in the hop. Before the queue, the copy takes room in the buffer and capacity of the
    /// link like the original.
    #[serde(default = "Side::after_link")]
    pub side: Side,
    /// Packets to which it applies.
    #[serde(default = "Applies::data")]
    pub applies: Applies,
}

impl Element<ImpairmentKind> for Duplicate {
    const NAME: &'static str = "duplicate";
    const LABEL: &'static str = "duplication";
    const SUMMARY: &'static str =
        "Duplicates each packet with a fixed probability; the copy follows at once.";
    const REFERENCE: &'static str =
        "Bernoulli trials, one draw per packet: runs at different probabilities share them";

    fn facts(&self) -> ImpairmentFacts {
        ImpairmentFacts {
            duplicates: Some(true),
            ..ImpairmentFacts::of(self.applies, self.side)
        }
    }
}

impl Factory<ImpairmentKind> for Duplicate {
    fn build(&self, place: StreamScope<'_>) -> Box<dyn Impairment> {
        Box::new(Trials {
            steps: vec![Step::always(self.probability)],
            success: Verdict::Duplicate,
            applies: self.applies,
            side: self.side,
            stream: place.stream(),
        })
    }

    fn draws(&self) -> bool {
        self.probability.is_chance()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impairment::tests::{self, packet};
    use serde_json::json;

    #[test]
    fn the_share_of_copies_is_the_probability() {
        let (p, n) = (0.03, 200_000);
        let mut duplicate = tests::build(json!({ "kind": "duplicate", "probability": p }));
        let verdicts = (0..n).map(|_| duplicate.judge(Time::ZERO, &packet()));
        let copies = verdicts
            .filter(|verdict| *verdict == Verdict::Duplicate)
            .count() as f64;
        let expected = f64::from(n) * p;
        assert!(
            (copies - expected).abs() < 4.0 * libm::sqrt(expected * (1.0 - p)),
            "{copies} for {expected}"
        );
    }
}
