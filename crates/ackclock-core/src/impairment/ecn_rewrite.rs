//! A path that clears or rewrites the ECN field, on purpose or with the rest of the old TOS byte.

use super::facts::ImpairmentFacts;
use super::scheduled_loss::{Step, Trials};
use super::{Applies, Impairment, ImpairmentKind, Side, Verdict};
use crate::packet::{Ecn, Packet};
use ackclock_spec::prelude::*;
use serde_json::json;

/// Parameters. The defaults clear the field of every packet, which is called bleaching.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({}))]
#[schemars(example = json!({ "from": ["ce"], "to": "ect0" }))]
#[schemars(example = json!({ "from": ["ect1"], "to": "ect0", "probability": "50 %" }))]
pub struct EcnRewrite {
    /// Codepoints that are rewritten.
    #[serde(default = "Codepoint::capable")]
    pub from: Vec<Codepoint>,
    /// Codepoint that they become.
    #[serde(default)]
    pub to: Codepoint,
    /// Probability that a packet is rewritten, for example the share of paths that do so.
    #[serde(default = "always")]
    pub probability: Probability,
    /// Position in the hop. Before the queue, a queue finds packets that it cannot mark; after the
    /// link, its marks are lost.
    #[serde(default = "Side::after_link")]
    pub side: Side,
    /// Packets to which it applies.
    #[serde(default = "Applies::data")]
    pub applies: Applies,
}

const fn always() -> Probability {
    Probability::ONE
}

/// A value of the ECN field (RFC 3168 section 5).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Codepoint {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable, ECT(0).
    Ect0,
    /// ECN-capable, ECT(1).
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl Codepoint {
    /// All codepoints but the one that is not ECN-capable.
    fn capable() -> Vec<Codepoint> {
        vec![Codepoint::Ect0, Codepoint::Ect1, Codepoint::Ce]
    }

    const fn field(self) -> Ecn {
        match self {
            Codepoint::NotEct => Ecn::NotCapable,
            Codepoint::Ect0 => Ecn::Capable,
            Codepoint::Ect1 => Ecn::CapableL4s,
            Codepoint::Ce => Ecn::Marked,
        }
    }
}

impl Element<ImpairmentKind> for EcnRewrite {
    const NAME: &'static str = "ecn_rewrite";
    const LABEL: &'static str = "rewritten ECN";
    const SUMMARY: &'static str = "Clears or rewrites the ECN field of packets (bleaching).";
    const REFERENCE: &'static str = "RFC 3168 section 18 on what a changed field does; Bernoulli \
        trials, one draw per packet";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let changes = self.from.iter().any(|codepoint| *codepoint != self.to);
        in_range(
            changes,
            "from",
            &format!("{:?}", self.from),
            "has no codepoint that changes; for example [\"ce\"]",
        )
    }

    fn facts(&self) -> ImpairmentFacts {
        ImpairmentFacts {
            rewrites_ecn: Some(self.probability > Probability::ZERO),
            ..ImpairmentFacts::of(self.applies, self.side)
        }
    }
}

impl Factory<ImpairmentKind> for EcnRewrite {
    fn build(&self, place: StreamScope<'_>) -> Box<dyn Impairment> {
        Box::new(Rewriting {
            from: self
                .from
                .iter()
                .map(|codepoint| codepoint.field())
                .collect(),
            trials: Trials {
                steps: vec![Step::always(self.probability)],
                success: Verdict::Rewrite(self.to.field()),
                applies: self.applies,
                side: self.side,
                stream: place.stream(),
            },
        })
    }

    fn draws(&self) -> bool {
        self.probability.is_chance()
    }
}

#[derive(Debug)]
struct Rewriting {
    from: Vec<Ecn>,
    trials: Trials,
}

impl Impairment for Rewriting {
    fn judge(&mut self, now: Time, packet: &Packet) -> Verdict {
        let verdict = self.trials.judge(now, packet);
        match self.from.contains(&packet.ecn()) {
            true => verdict,
            false => Verdict::Pass,
        }
    }
    fn side(&self) -> Side {
        self.trials.side
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impairment::tests::{build, choose, packet};

    fn verdict(impairment: &mut dyn Impairment, ecn: Ecn) -> Verdict {
        let mut packet = packet();
        packet.set_ecn(ecn);
        impairment.judge(Time::ZERO, &packet)
    }

    #[test]
    fn bleaching_clears_every_codepoint() {
        let mut bleaching = build(json!({ "kind": "ecn_rewrite" }));
        for ecn in [Ecn::Capable, Ecn::CapableL4s, Ecn::Marked] {
            let cleared = Verdict::Rewrite(Ecn::NotCapable);
            assert_eq!(verdict(bleaching.as_mut(), ecn), cleared);
        }
        assert_eq!(verdict(bleaching.as_mut(), Ecn::NotCapable), Verdict::Pass);
    }

    #[test]
    fn a_share_of_the_marks_is_erased_and_nothing_else_changes() {
        let erased = json!({
            "kind": "ecn_rewrite", "from": ["ce"], "to": "ect1", "probability": 0.25
        });
        let mut erasing = build(erased);
        assert_eq!(verdict(erasing.as_mut(), Ecn::CapableL4s), Verdict::Pass);
        let n = 100_000;
        let verdicts = (0..n).map(|_| verdict(erasing.as_mut(), Ecn::Marked));
        let changed = verdicts
            .filter(|v| *v == Verdict::Rewrite(Ecn::CapableL4s))
            .count();
        let share = changed as f64 / f64::from(n);
        assert!((share - 0.25).abs() < 0.006, "{share}"); // four standard deviations
    }

    #[test]
    fn what_changes_nothing_is_refused() {
        for from in [json!([]), json!(["ect0"])] {
            let tree = json!({ "kind": "ecn_rewrite", "from": from, "to": "ect0" });
            assert_eq!(choose(tree).unwrap_err().key(), "out-of-range from");
        }
    }
}
