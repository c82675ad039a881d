//! A link that is no link of its own: the hop contends with others for a medium of the scenario.
//!
//! One hop is one transmit queue of one station. Those that name the same station know of each
//! other and never collide on the air: the higher class goes first, that is the one with the
//! smaller AIFSN, or if they have the same, with the smaller contention windows.
//!
//! Nobody can tell beforehand when such a hop will have sent a packet, so tables give neither its
//! rate nor its capacity, and its queue cannot be limited in time. A discipline whose parameters
//! follow from the rate of the link takes that at which frames are sent.

use super::constant::ConstantLink;
use super::contention::{Bound, Contention, ContentionWindow};
use super::facts::LinkFacts;
use super::{Link, LinkContext, LinkKind};
use crate::registry::{Element, Factory};
use crate::scenario::error::{Error, Result};
use crate::scenario::files::Files;
use crate::units::BitRate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "medium": "cell", "station": "ap", "rate": "54 Mbit/s", "access": "video" }))]
#[schemars(example = json!({ "medium": "cell", "rate": "54 Mbit/s", "aifsn": 6, "cw_min": 31, "cw_max": 1023 }))]
pub struct EdcaQueue {
    /// The name of the medium, one of the scenario's `[[shared_media]]`.
    #[schemars(extend("examples" = ["cell"]))]
    pub medium: String,
    /// Whose queue it is; hops that say nothing are a station each. Of hops of scope `per_flow`
    /// those of one flow instance belong together, and none to the station of a shared hop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("examples" = ["ap"]))]
    pub station: Option<String>,
    /// At which its data frames are sent.
    pub rate: BitRate,
    /// The access category, which says what is not given of the three below.
    #[serde(default)]
    pub access: Access,
    /// How many slots after SIFS the medium must have been idle before the backoff goes on; from 1
    /// to 15.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 15))]
    pub aifsn: Option<u32>,
    /// The contention window at first: a backoff is drawn from 0 to it, both included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(max = 32767))]
    pub cw_min: Option<u32>,
    /// The largest contention window; after a collision it becomes 2 cw + 1, but not more than
    /// this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(max = 32767))]
    pub cw_max: Option<u32>,
}

/// An access category, with the default parameters that IEEE 802.11 gives it (802.11-2016 table
/// 9-137), which stations add to what they know of the physical layer: its aCWmin and aCWmax.
/// Limits of transmission opportunities are not modelled: each access sends one frame.
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
    /// As before 802.11e: DIFS is SIFS and two slots, aCWmin to aCWmax.
    Dcf,
}

impl Access {
    /// AIFSN, and the smallest and the largest contention window (802.11-2016 table 9-137).
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
        if self.rate == BitRate::ZERO {
            let remedy = "is too low; for example \"54 Mbit/s\"";
            return Err(Error::new("rate", &json!(self.rate), remedy));
        }
        Ok(())
    }

    /// The rate of frames is that of no link: how long others keep the medium is not known.
    fn facts(&self) -> LinkFacts {
        let (aifsn, cw_min, cw_max) = self.access.defaults();
        let or_given = |default, given: Option<u32>| {
            given.map_or(default, |window| ContentionWindow::Constant { window })
        };
        LinkFacts {
            varies: Some(true),
            contends: Some(Contention {
                medium: self.medium.clone(),
                station: self.station.clone(),
                bit_per_s: self.rate.as_bit_per_s(),
                aifsn: self.aifsn.unwrap_or(aifsn),
                cw_min: or_given(cw_min, self.cw_min),
                cw_max: or_given(cw_max, self.cw_max),
            }),
            ..LinkFacts::default()
        }
    }
}

impl Factory<LinkKind> for EdcaQueue {
    /// For disciplines whose parameters follow from a rate; nobody is served by it.
    fn build(&self, _: LinkContext<'_>) -> Box<dyn Link> {
        Box::new(ConstantLink::new(self.rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::choose;
    use crate::scenario::files::NoFiles;
    use serde_json::Value;

    fn contention(more: &Value) -> Result<Contention> {
        let mut tree = json!({ "kind": "edca", "medium": "cell", "rate": "54 Mbit/s" });
        tree.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        choose::<LinkKind>(&tree, &NoFiles).map(|chosen| chosen.facts.contends.unwrap())
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
            let one = contention(&json!({ "access": access })).unwrap();
            for (cw, expected) in [((15, 1023), ofdm), ((31, 1023), dsss)] {
                let found = one.parameters(cw).unwrap();
                assert_eq!(
                    (found.aifsn, found.cw_min, found.cw_max),
                    expected,
                    "{access}"
                );
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused_in_one_line() {
        let refused = |more: Value| {
            let parameters = contention(&more).and_then(|one| one.parameters((15, 1023)));
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
