//! Loss in bursts: a channel with a good and a bad state, which may change with each packet. Each
//! state has a loss probability.

use super::facts::{ImpairmentFacts, LossSpacing};
use super::{Applies, Impairment, ImpairmentKind, Side, Verdict};
use crate::packet::Packet;
use ackclock_spec::prelude::*;

/// Parameters. With the defaults, bursts of loss last 1/`bad_to_good` packets on average, and the
/// share `good_to_bad`/(`good_to_bad` + `bad_to_good`) of all packets is lost.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability that the good state becomes bad after a packet.
    pub good_to_bad: Probability,
    /// Probability that the bad state becomes good after a packet.
    pub bad_to_good: Probability,
    /// Loss probability in the good state.
    #[serde(default)]
    pub loss_in_good: Probability,
    /// Loss probability in the bad state.
    #[serde(default = "certain")]
    pub loss_in_bad: Probability,
    /// Position in the hop.
    #[serde(default = "Side::after_link")]
    pub side: Side,
    /// Packets to which it applies; other packets are not lost and do not change the state.
    #[serde(default = "Applies::data")]
    pub applies: Applies,
}

fn certain() -> Probability {
    Probability::ONE
}

impl Element<ImpairmentKind> for GilbertElliott {
    const NAME: &'static str = "gilbert_elliott";
    const LABEL: &'static str = "Gilbert-Elliott loss";
    const SUMMARY: &'static str =
        "Loses packets in bursts: a two-state channel that may change state at each packet.";
    const REFERENCE: &'static str =
        "Gilbert 1960; Elliott 1963, Bell System Technical Journal 39 and 42";

    fn facts(&self) -> ImpairmentFacts {
        let bad = self.share_of_bad().get();
        let mean_loss = (1.0 - bad) * self.loss_in_good.get() + bad * self.loss_in_bad.get();
        ImpairmentFacts {
            mean_loss: Stated::Some(mean_loss),
            spacing: Some(LossSpacing::Bursty),
            ..ImpairmentFacts::of(self.applies, self.side)
        }
    }
}

impl GilbertElliott {
    /// Returns the long-run share of packets that meet the bad state. A channel that never changes
    /// is good.
    fn share_of_bad(&self) -> Probability {
        let (to_bad, to_good) = (self.good_to_bad.get(), self.bad_to_good.get());
        Probability::new(to_bad / (to_bad + to_good)).unwrap_or(Probability::ZERO)
    }
}

impl Factory<ImpairmentKind> for GilbertElliott {
    fn build(&self, place: StreamScope<'_>) -> Box<dyn Impairment> {
        let mut stream = place.stream();
        Box::new(GilbertElliottImpairment {
            bad: stream.chance(self.share_of_bad()),
            parameters: self.clone(),
            stream,
        })
    }

    fn draws(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct GilbertElliottImpairment {
    parameters: GilbertElliott,
    stream: Stream,
    bad: bool,
}

impl Impairment for GilbertElliottImpairment {
    fn judge(&mut self, _now: Time, packet: &Packet) -> Verdict {
        let parameters = &self.parameters;
        if !parameters.applies.to(packet) {
            return Verdict::Pass;
        }
        let (loss, leave) = if self.bad {
            (parameters.loss_in_bad, parameters.bad_to_good)
        } else {
            (parameters.loss_in_good, parameters.good_to_bad)
        };
        // Two draws for every packet, whatever the parameters, so that runs with different
        // parameters share them.
        let lost = self.stream.chance(loss);
        self.bad ^= self.stream.chance(leave);
        if lost { Verdict::Drop } else { Verdict::Pass }
    }
    fn side(&self) -> Side {
        self.parameters.side
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impairment::tests::{self, packet};
    use serde_json::json;

    fn lost(parameters: serde_json::Value, n: usize) -> Vec<bool> {
        let mut loss = tests::build(parameters);
        (0..n)
            .map(|_| loss.judge(Time::ZERO, &packet()) == Verdict::Drop)
            .collect()
    }

    #[test]
    fn bursts_have_their_mean_length_and_share() {
        let (p, r, n) = (0.01, 0.2, 400_000);
        let losses = lost(
            json!({ "kind": "gilbert_elliott", "good_to_bad": p, "bad_to_good": r }),
            n,
        );
        let bursts: Vec<f64> = losses
            .chunk_by(|a, b| a == b)
            .filter(|run| run[0])
            .map(|run| run.len() as f64)
            .collect();
        let mean = bursts.iter().sum::<f64>() / bursts.len() as f64;
        // Geometric: mean 1/r, variance (1 − r)/r².
        let sigma = libm::sqrt((1.0 - r) / (r * r) / bursts.len() as f64);
        assert!(
            (mean - 1.0 / r).abs() < 4.0 * sigma,
            "{mean} over {} bursts",
            bursts.len()
        );
        // Variance of the share of a two-state chain with correlation λ = 1 − p − r from packet to
        // packet.
        let (share, lambda) = (p / (p + r), 1.0 - p - r);
        let sigma = libm::sqrt(share * (1.0 - share) / n as f64 * (1.0 + lambda) / (1.0 - lambda));
        let observed = losses.iter().filter(|&&lost| lost).count() as f64 / n as f64;
        assert!(
            (observed - share).abs() < 4.0 * sigma,
            "{observed} for {share}"
        );
    }

    #[test]
    fn each_state_has_its_own_loss() {
        let losses = lost(
            json!({ "kind": "gilbert_elliott", "good_to_bad": "50 %", "bad_to_good": "50 %",
                    "loss_in_good": "10 %", "loss_in_bad": "30 %" }),
            200_000,
        );
        let share = losses.iter().filter(|&&lost| lost).count() as f64 / losses.len() as f64;
        // With these transitions, packets are independent.
        assert!(
            (share - 0.2).abs() < 4.0 * libm::sqrt(0.2 * 0.8 / losses.len() as f64),
            "{share}"
        );
    }

    #[test]
    fn a_channel_that_cannot_move_is_good_and_one_that_cannot_recover_is_bad() {
        let stuck = |to_bad, to_good| {
            lost(
                json!({ "kind": "gilbert_elliott", "good_to_bad": to_bad, "bad_to_good": to_good }),
                1000,
            )
        };
        assert!(stuck("0 %", "0 %").into_iter().all(|lost| !lost));
        assert!(stuck("1 %", "0 %").into_iter().all(|lost| lost));
        assert!(
            stuck("100 %", "100 %")
                .chunk_by(|a, b| a == b)
                .all(|run| run.len() == 1)
        );
    }
}
