//! A hop without its own link: it contends with other hops for a medium of the scenario.
//!
//! One hop is one transmit queue of one station. Queues that name the same station know of each
//! other and never collide on the air. The higher class goes first: the one with the smaller AIFSN
//! or, if these are equal, with the smaller contention windows.
//!
//! The time at which such a hop will have sent a packet is not known in advance. So tables give
//! neither its rate nor its capacity, and its queue cannot be limited in time. A discipline whose
//! parameters follow from the link's rate uses the rate of data frames.

use super::constant::ConstantLink;
use super::contention::{Bound, Contention, ContentionWindow};
use super::facts::LinkFacts;
use super::{Link, LinkContext, LinkKind};
use ackclock_spec::prelude::*;
use serde_json::json;

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({
    "medium": "cell",
    "station": "ap",
    "rate": "54 Mbit/s",
    "access": "video"
}))]
#[schemars(example = json!({
    "medium": "cell",
    "rate": "54 Mbit/s",
    "aifsn": 6,
    "cw_min": 31,
    "cw_max": 1023
}))]
pub struct EdcaQueue {
    /// Name of the medium, one of the scenario's `[[shared_media]]`.
    #[schemars(extend("examples" = ["cell"]))]
    pub medium: String,
    /// Station that the queue belongs to; without it, each hop is a station. Hops of scope
    /// `per_flow` share a station only within one flow instance, and never with a shared hop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("examples" = ["ap"]))]
    pub station: Option<String>,
    /// Rate of its data frames.
    pub rate: BitRate,
    /// Access category, which sets those of the three parameters below that are not given.
    #[serde(default)]
    pub access: Access,
    /// Slots after SIFS for which the medium must have been idle before the backoff continues; from
    /// 1 to 15.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 15))]
    pub aifsn: Option<u32>,
    /// Initial contention window: a backoff is drawn from 0 to it, both included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(max = 32767))]
    pub cw_min: Option<u32>,
    /// Largest contention window. After a collision the window becomes 2 cw + 1, but no more than
    /// this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(max = 32767))]
    pub cw_max: Option<u32>,
}

/// An access category with the default parameters of IEEE 802.11 (802.11-2016 table 9-137). They
/// depend on the aCWmin and aCWmax of the physical layer. Limits of transmission opportunities are
/// not modelled: each access sends one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// AIFSN 7, aCWmin to aCWmax.
    Background,
    /// AIFSN 3, aCWmin to aCWmax.
    #[default]
    BestEffort,
    /// AIFSN 2, (aCWmin + 1)/2 - 1 to aCWmin.
    Video,
    /// AIFSN 2, (aCWmin + 1)/4 - 1 to (aCWmin + 1)/2 - 1.
    Voice,
    /// Access before 802.11e: DIFS is SIFS and two slots, aCWmin to aCWmax.
    Dcf,
}

impl Access {
    /// Returns AIFSN, and the smallest and the largest contention window (802.11-2016 table 9-137).
    fn defaults(self) -> (u32, ContentionWindow, ContentionWindow) {
        let (least, most) = (ContentionWindow::CW_MIN, ContentionWindow::CW_MAX);
        let part = |divisor| ContentionWindow::OfMedium {
            bound: Bound::CwMin,
            divisor,
        };
        match self {
            Access::Background => (7, least, most),
            Access::BestEffort => (3, least, most),
            Access::Video => (2, part(2), least),
            Access::Voice => (2, part(4), part(2)),
            Access::Dcf => (2, least, most),
        }
    }
}

impl Element<LinkKind> for EdcaQueue {
    const NAME: &'static str = "edca";
    const LABEL: &'static str = "contender for a medium";
    const SUMMARY: &'static str =
        "Contends with other hops for a shared medium: one transmit queue of one station.";
    const REFERENCE: &'static str = "IEEE 802.11-2016 section 10.22.2 (EDCA)";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        check_above_zero("rate", self.rate, "54 Mbit/s")
    }

    /// The rate of frames is not stated as the rate of the link, because the share of the medium
    /// that others use is unknown.
    fn facts(&self) -> LinkFacts {
        let (aifsn, cw_min, cw_max) = self.access.defaults();
        let or_given = |default, given: Option<u32>| {
            given.map_or(default, |window| ContentionWindow::Constant { window })
        };
        LinkFacts {
            contends: Stated::Some(Contention {
                medium: self.medium.clone(),
                station: self.station.clone().into(),
                bit_per_s: self.rate.as_bit_per_s(),
                aifsn: self.aifsn.unwrap_or(aifsn),
                cw_min: or_given(cw_min, self.cw_min),
                cw_max: or_given(cw_max, self.cw_max),
            }),
            ..LinkFacts::own(true)
        }
    }
}

impl Factory<LinkKind> for EdcaQueue {
    /// Builds a link for disciplines whose parameters follow from a rate; it serves no packet.
    fn build(&self, _: LinkContext<'_>) -> Box<dyn Link> {
        Box::new(ConstantLink::new(self.rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_spec::files::NoFiles;
    use ackclock_spec::registry::choose;
    use serde_json::Value;

    fn contention(more: &Value) -> Result<Contention> {
        let mut tree = json!({ "kind": "edca", "medium": "cell", "rate": "54 Mbit/s" });
        tree.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        choose::<LinkKind>(&tree, &NoFiles)
            .map(|chosen| chosen.facts.contends.some().unwrap().clone())
    }

    /// Table 9-137 for OFDM (aCWmin 15) and for DSSS (31).
    #[test]
    fn categories_are_those_of_the_standard() {
        for (access, ofdm, dsss) in [
            ("background", (7, 15, 1023), (7, 31, 1023)),
            ("best_effort", (3, 15, 1023), (3, 31, 1023)),
            ("video", (2, 7, 15), (2, 15, 31)),
            ("voice", (2, 3, 7), (2, 7, 15)),
            ("dcf", (2, 15, 1023), (2, 31, 1023)),
        ] {
            let contention = contention(&json!({ "access": access })).unwrap();
            for (cw, expected) in [((15, 1023), ofdm), ((31, 1023), dsss)] {
                let parameters = contention.parameters(cw).unwrap();
                assert_eq!(
                    (parameters.aifsn, parameters.cw_min, parameters.cw_max),
                    expected,
                    "{access}"
                );
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused_in_one_line() {
        let refused = |more: Value| {
            let parameters =
                contention(&more).and_then(|contention| contention.parameters((15, 1023)));
            parameters.unwrap_err().key()
        };
        for (more, key) in [
            (json!({ "aifsn": 0 }), "out-of-range aifsn"),
            (
                json!({ "cw_min": 31, "cw_max": 15 }),
                "contradiction cw_max",
            ),
            (
                json!({ "access": "voice", "cw_min": 8 }),
                "contradiction cw_max",
            ),
            (json!({ "aifsn": 16 }), "out-of-range aifsn"),
            (json!({ "cw_max": 65535 }), "out-of-range cw_max"),
            (json!({ "cw_min": 65535 }), "out-of-range cw_min"),
            (json!({ "rate": "0 bit/s" }), "out-of-range rate"),
        ] {
            assert_eq!(refused(more), key);
        }
    }
}
