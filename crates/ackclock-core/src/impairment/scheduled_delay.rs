//! An extra delay that changes at given times: a delay spike, a change of route, a late packet.

use super::facts::ImpairmentFacts;
use super::{Applies, Impairment, ImpairmentKind, Overtaking, Side, Verdict};
use crate::packet::Packet;
use ackclock_spec::prelude::*;
use ackclock_spec::steps;
use serde_json::json;

/// Parameters. The extra delay is added to the hop's delay, after the link, by the time at which
/// the link has sent the packet. There is none before the first step; the last step holds for ever.
/// If packets keep their order, those behind a late one wait for it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "steps": [{ "from": "0 s", "delay": "60 ms" }] }))]
#[schemars(example = json!({
    "steps": [{ "from": "0 s", "delay": "30 ms" }, { "from": "9 s", "delay": "0 s" }],
    "reordering": "allowed"
}))]
pub struct ScheduledDelay {
    /// Steps in the order of their times.
    pub steps: Vec<Step>,
    /// Permission for a packet to overtake another when the delay falls.
    #[serde(default = "forbidden")]
    pub reordering: Overtaking,
    /// Packets to which it applies.
    #[serde(default = "Applies::data")]
    pub applies: Applies,
}

const fn forbidden() -> Overtaking {
    Overtaking::Forbidden
}

/// An extra delay and the time from which it holds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Time from which the delay holds, since the beginning of the run.
    pub from: Span,
    /// Extra delay of a packet from then on.
    pub delay: Span,
}

impl Element<ImpairmentKind> for ScheduledDelay {
    const NAME: &'static str = "scheduled_delay";
    const LABEL: &'static str = "scheduled delay";
    const SUMMARY: &'static str =
        "Delays packets by a time that changes at given times, with or without reordering.";
    const REFERENCE: &'static str = "a step is a change of route, two steps are a delay spike as \
        in RFC 5682; what RFC 5166 calls the response to changes is measured with steps";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let moments: Vec<Span> = self.steps.iter().map(|step| step.from).collect();
        steps::check(&moments, "[{ from = \"60 s\", delay = \"1 s\" }]")
    }

    fn facts(&self) -> ImpairmentFacts {
        ImpairmentFacts {
            delays: Some(true),
            changes: Some(true),
            reorders: Some(self.reordering == Overtaking::Allowed),
            ..ImpairmentFacts::of(self.applies, Side::AfterLink)
        }
    }
}

impl Factory<ImpairmentKind> for ScheduledDelay {
    fn build(&self, _: StreamScope<'_>) -> Box<dyn Impairment> {
        Box::new(ScheduledDelayImpairment(self.clone()))
    }
}

#[derive(Debug)]
struct ScheduledDelayImpairment(ScheduledDelay);

impl Impairment for ScheduledDelayImpairment {
    fn judge(&mut self, now: Time, packet: &Packet) -> Verdict {
        let ScheduledDelay {
            steps,
            reordering,
            applies,
        } = &self.0;
        let begun = steps.partition_point(|step| Time::ZERO + step.from <= now);
        match begun.checked_sub(1) {
            Some(last) if applies.to(packet) => Verdict::Delay {
                by: steps[last].delay,
                overtaken: *reordering,
            },
            _ => Verdict::Pass,
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
    fn a_spike_is_all_and_only_its_time() {
        let mut spike = tests::build(json!({
            "kind": "scheduled_delay",
            "steps": [{ "from": "60 ms", "delay": "1500 ms" }, { "from": "90 ms", "delay": "0 s" }],
            "reordering": "allowed"
        }));
        for ms in 0..200_u64 {
            let verdict = spike.judge(Time::from_nanos(ms * 1_000_000), &packet());
            let delay = |by| Verdict::Delay {
                by: Span::from_millis(by),
                overtaken: Overtaking::Allowed,
            };
            let expected = match ms {
                0..60 => Verdict::Pass,
                60..90 => delay(1500),
                _ => delay(0),
            };
            assert_eq!(verdict, expected, "{ms}");
        }
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        let empty = json!({ "kind": "scheduled_delay", "steps": [] });
        assert_eq!(choose(empty).unwrap_err().key(), "out-of-range steps");
    }
}
