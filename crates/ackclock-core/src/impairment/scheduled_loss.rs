//! Independent loss whose probability changes at given times: a step of loss, a blackout.

use super::facts::{ImpairmentFacts, LossStep};
use super::{Applies, Impairment, ImpairmentKind, Side, Verdict};
use crate::packet::Packet;
use ackclock_spec::prelude::*;
use ackclock_spec::steps;
use serde_json::json;

/// Parameters. There is no loss before the first step; the last step holds for ever. A step of
/// `"100 %"` is a blackout of this direction; `applies = "all"` includes the ACKs that cross this
/// hop.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({
    "steps": [{ "from": "0 s", "probability": "1 %" }, { "from": "60 s", "probability": "5 %" }]
}))]
#[schemars(example = json!({
    "steps": [{ "from": "60 s", "probability": "100 %" }, { "from": "90 s", "probability": "0 %" }],
    "applies": "all"
}))]
pub struct ScheduledLoss {
    /// Steps in the order of their times.
    pub steps: Vec<Step>,
    /// Position in the hop.
    #[serde(default = "Side::after_link")]
    pub side: Side,
    /// Packets to which it applies.
    #[serde(default = "Applies::data")]
    pub applies: Applies,
}

/// A loss probability and the time from which it holds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Time from which the probability holds, since the beginning of the run.
    pub from: Span,
    /// Loss probability of a packet from then on, whatever its size.
    pub probability: Probability,
}

impl Step {
    /// Returns the only step of a probability that does not change.
    pub(super) const fn always(probability: Probability) -> Self {
        Step {
            from: Span::ZERO,
            probability,
        }
    }
}

impl Element<ImpairmentKind> for ScheduledLoss {
    const NAME: &'static str = "scheduled_loss";
    const LABEL: &'static str = "scheduled loss";
    const SUMMARY: &'static str =
        "Loses packets independently, with a probability that changes at given times.";
    const REFERENCE: &'static str = "Bernoulli trials, one draw per packet; what RFC 5166 calls \
        the response to changes is measured with steps";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let moments: Vec<Span> = self.steps.iter().map(|step| step.from).collect();
        steps::check(&moments, "[{ from = \"60 s\", probability = \"5 %\" }]")
    }

    fn facts(&self) -> ImpairmentFacts {
        let step = |step: &Step| LossStep {
            from_s: step.from.as_seconds(),
            probability: step.probability.get(),
        };
        ImpairmentFacts {
            mean_loss: Stated::None,
            loss_steps: Stated::Some(self.steps.iter().map(step).collect()),
            changes: Some(true),
            ..ImpairmentFacts::of(self.applies, self.side)
        }
    }
}

impl Factory<ImpairmentKind> for ScheduledLoss {
    fn build(&self, place: StreamScope<'_>) -> Box<dyn Impairment> {
        Box::new(Trials {
            steps: self.steps.clone(),
            success: Verdict::Drop,
            applies: self.applies,
            side: self.side,
            stream: place.stream(),
        })
    }

    fn draws(&self) -> bool {
        self.steps.iter().any(|step| step.probability.is_chance())
    }
}

/// Bernoulli trials: each packet independently meets `success` with the probability of its time.
///
/// There is one draw for every packet, whatever the probabilities, so that runs with different ones
/// share them.
#[derive(Debug)]
pub(super) struct Trials {
    /// Probabilities in the order of their times; zero before the first.
    pub steps: Vec<Step>,
    pub success: Verdict,
    pub applies: Applies,
    pub side: Side,
    pub stream: Stream,
}

impl Impairment for Trials {
    fn judge(&mut self, now: Time, packet: &Packet) -> Verdict {
        if !self.applies.to(packet) {
            return Verdict::Pass;
        }
        let begun = self
            .steps
            .partition_point(|step| Time::ZERO + step.from <= now);
        let probability = begun
            .checked_sub(1)
            .map_or(Probability::ZERO, |last| self.steps[last].probability);
        if self.stream.chance(probability) {
            self.success
        } else {
            Verdict::Pass
        }
    }
    fn side(&self) -> Side {
        self.side
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impairment::tests::{self, choose, packet};
    use serde_json::Value;

    /// Returns for each of `n` packets true if it is lost. Packets are a millisecond apart, the
    /// first at zero.
    fn lost(tree: Value, n: u64) -> Vec<bool> {
        let mut loss = tests::build(tree);
        (0..n)
            .map(|ms| loss.judge(Time::from_nanos(ms * 1_000_000), &packet()) == Verdict::Drop)
            .collect()
    }

    fn scheduled(steps: Value) -> Value {
        json!({ "kind": "scheduled_loss", "steps": steps })
    }

    #[test]
    fn a_blackout_is_all_and_only_its_time() {
        let steps = json!([
            { "from": "60 ms", "probability": "100 %" },
            { "from": "90 ms", "probability": "0 %" }
        ]);
        let losses = lost(scheduled(steps), 200);
        assert!(
            losses
                .iter()
                .zip(0..)
                .all(|(&lost, ms)| lost == (60..90).contains(&ms))
        );
    }

    #[test]
    fn between_its_steps_it_is_independent_loss_of_that_probability() {
        let steps = json!([
            { "from": "0 s", "probability": "1 %" },
            { "from": "5 s", "probability": "20 %" }
        ]);
        let losses = lost(scheduled(steps), 10_000);
        let plain = |probability: &str| {
            lost(
                json!({ "kind": "iid_loss", "probability": probability }),
                10_000,
            )
        };
        assert_eq!(losses[..5000], plain("1 %")[..5000]);
        assert_eq!(losses[5000..], plain("20 %")[5000..]);
        assert_ne!(losses[5000..], plain("1 %")[5000..]);
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for (steps, expected) in [
            (json!([]), "out-of-range steps"),
            (
                json!([
                    { "from": "9 s", "probability": 0.1 },
                    { "from": "9 s", "probability": 0.2 }
                ]),
                "contradiction steps.1.from",
            ),
            (
                json!([{ "from": "9 s", "probability": "101 %" }]),
                "out-of-range steps.0.probability",
            ),
        ] {
            let error = choose(scheduled(steps)).unwrap_err();
            assert_eq!(error.key(), expected, "{error}");
        }
    }
}
