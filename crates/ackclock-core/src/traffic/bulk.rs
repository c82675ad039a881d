//! Bulk traffic: there is always more to send.

use super::facts::TrafficFacts;
use super::transfer::SingleWrite;
use super::{Traffic, TrafficContext, TrafficKind, Write};
use ackclock_spec::prelude::*;

/// Bulk traffic has no parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bulk {}

impl Element<TrafficKind> for Bulk {
    const NAME: &'static str = "bulk";
    const LABEL: &'static str = "bulk";
    const SUMMARY: &'static str = "Always has data to send; not over UDP without a rate control.";
    const REFERENCE: &'static str = "the greedy, or persistent, source; ns-2's FTP";

    fn facts(&self) -> TrafficFacts {
        TrafficFacts::at_any_pace(true, false)
    }
}

impl Factory<TrafficKind> for Bulk {
    fn build(&self, _: TrafficContext<'_>) -> Box<dyn Traffic> {
        Box::new(SingleWrite::of(Write::Unlimited))
    }
}

#[cfg(test)]
mod tests {
    use crate::traffic::{Transports, Write, tests::build};
    use ackclock_spec::units::Time;
    use serde_json::json;

    #[test]
    fn one_write_without_end() {
        let mut bulk = build(json!({ "kind": "bulk" }));
        assert_eq!(
            (bulk.transports(), bulk.total()),
            (Transports::Controlled, None)
        );
        assert_eq!(bulk.poll_timeout(), Time::ZERO);
        assert_eq!(bulk.poll_write(), Some(Write::Unlimited));
        assert!(bulk.poll_timeout().is_never() && bulk.poll_write().is_none());
    }
}
