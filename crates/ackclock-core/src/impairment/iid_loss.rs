//! Independent loss: every packet is lost with the same probability.

use super::facts::ImpairmentFacts;
use super::scheduled_loss::{Step, Trials};
use super::{Applies, Impairment, ImpairmentKind, Side, Verdict};
use ackclock_spec::prelude::*;

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IidLoss {
    /// Loss probability of a packet, whatever its size.
    pub probability: Probability,
    /// Position in the hop.
    #[serde(default = "Side::after_link")]
    pub side: Side,
    /// Packets to which it applies.
    #[serde(default = "Applies::data")]
    pub applies: Applies,
}

impl Element<ImpairmentKind> for IidLoss {
    const NAME: &'static str = "iid_loss";
    const LABEL: &'static str = "independent loss";
    const SUMMARY: &'static str = "Loses each packet independently, with a fixed probability.";
    const REFERENCE: &'static str =
        "Bernoulli trials, one draw per packet: runs at different probabilities share them";

    fn facts(&self) -> ImpairmentFacts {
        ImpairmentFacts {
            mean_loss: Stated::Some(self.probability.get()),
            ..ImpairmentFacts::of(self.applies, self.side)
        }
    }
}

impl Factory<ImpairmentKind> for IidLoss {
    fn build(&self, place: StreamScope<'_>) -> Box<dyn Impairment> {
        Box::new(Trials {
            steps: vec![Step::always(self.probability)],
            success: Verdict::Drop,
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

    fn lost(probability: &str, n: usize) -> Vec<bool> {
        let mut loss = tests::build(json!({ "kind": "iid_loss", "probability": probability }));
        (0..n)
            .map(|_| loss.judge(Time::ZERO, &packet()) == Verdict::Drop)
            .collect()
    }

    #[test]
    fn the_share_lost_is_the_probability() {
        let n = 200_000;
        for p in [0.005, 0.05, 0.5] {
            let count = lost(&format!("{p}"), n)
                .into_iter()
                .filter(|&lost| lost)
                .count();
            let sigma = libm::sqrt(n as f64 * p * (1.0 - p));
            assert!(
                (count as f64 - n as f64 * p).abs() < 4.0 * sigma,
                "{count} of {n} at {p}"
            );
        }
        assert!(lost("0 %", 1000).into_iter().all(|lost| !lost));
        assert!(lost("100 %", 1000).into_iter().all(|lost| lost));
    }

    #[test]
    fn losses_are_independent() {
        let losses = lost("20 %", 200_000);
        let after_loss: Vec<bool> = losses.windows(2).filter(|w| w[0]).map(|w| w[1]).collect();
        let share =
            after_loss.iter().filter(|&&lost| lost).count() as f64 / after_loss.len() as f64;
        let sigma = libm::sqrt(0.2 * 0.8 / after_loss.len() as f64);
        assert!((share - 0.2).abs() < 4.0 * sigma, "{share}");
    }

    #[test]
    fn what_is_lost_at_a_lower_probability_is_lost_at_a_higher() {
        let (low, high) = (lost("5 %", 10_000), lost("10 %", 10_000));
        assert!(low.iter().zip(&high).all(|(low, high)| !low || *high));
        assert!(low.iter().filter(|l| **l).count() < high.iter().filter(|h| **h).count());
    }
}
