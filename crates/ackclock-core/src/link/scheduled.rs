//! A link whose rate changes at given times: a step of the rate, an outage.

use super::facts::{LinkFacts, RateStep};
use super::piecewise::PiecewiseLink;
use super::trace::Rows;
use super::{Link, LinkContext, LinkKind};
use ackclock_spec::prelude::*;
use ackclock_spec::steps;
use serde_json::json;

/// Parameters. A change of the rate applies at once, also to the packet in service. While the rate
/// is `"0 bit/s"`, packets wait, and a full queue drops them. For many changes, or recorded ones,
/// use the link `trace`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({
    "steps": [{ "from": "0 s", "rate": "10 Mbit/s" }, { "from": "60 s", "rate": "5 Mbit/s" }]
}))]
#[schemars(example = json!({
    "steps": [
        { "from": "0 s", "rate": "10 Mbit/s" },
        { "from": "60 s", "rate": "0 bit/s" },
        { "from": "90 s", "rate": "10 Mbit/s" }
    ]
}))]
pub struct Scheduled {
    /// Steps in the order of their times. The first is at 0 s; the last one holds for ever.
    pub steps: Vec<Step>,
}

/// A rate and the time from which it holds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Time from which the rate holds, since the beginning of the run.
    pub from: Span,
    /// Rate from then on; `"0 bit/s"` is a link that is down.
    pub rate: BitRate,
}

impl Element<LinkKind> for Scheduled {
    const NAME: &'static str = "scheduled";
    const LABEL: &'static str = "scheduled rate";
    const SUMMARY: &'static str = "Sends at a rate that changes at given times.";
    const REFERENCE: &'static str = "exact to the bit across changes; what RFC 5166 calls the \
        response to changes is measured with steps";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let moments: Vec<Span> = self.steps.iter().map(|step| step.from).collect();
        let remedy = "is not \"0 s\"; the first step sets the rate at the start of the run";
        let first = moments.first();
        every([
            steps::check(&moments, "[{ from = \"0 s\", rate = \"10 Mbit/s\" }]"),
            in_range(
                first.is_none_or(|first| *first == Span::ZERO),
                "steps.0.from",
                &first,
                remedy,
            ),
        ])
    }

    /// The mean is unknown, because it depends on the length of the run.
    fn facts(&self) -> LinkFacts {
        let step = |step: &Step| RateStep {
            from_s: step.from.as_seconds(),
            bit_per_s: step.rate.as_bit_per_s(),
        };
        let steps: Vec<RateStep> = self.steps.iter().map(step).collect();
        let varies = steps
            .iter()
            .any(|step| step.bit_per_s != steps[0].bit_per_s);
        LinkFacts {
            highest_bit_per_s: steps.iter().map(|step| step.bit_per_s).max(),
            steps: Stated::Some(steps),
            ..LinkFacts::own(varies)
        }
    }
}

impl Factory<LinkKind> for Scheduled {
    fn build(&self, _: LinkContext<'_>) -> Box<dyn Link> {
        let rows = self
            .steps
            .iter()
            .map(|step| (step.from.as_nanos(), Some(step.rate)));
        Box::new(PiecewiseLink::new(Rows::new(rows.collect(), None)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_spec::files::NoFiles;
    use ackclock_spec::registry::{self, Selection};
    use ackclock_spec::streams::Streams;
    use serde_json::Value;

    fn choose(steps: Value) -> Result<Selection<LinkKind>> {
        registry::choose(&json!({ "kind": "scheduled", "steps": steps }), &NoFiles)
    }

    #[test]
    fn a_step_and_an_outage_are_served_as_written() {
        let steps = json!([
            { "from": "0 s", "rate": "12 Mbit/s" },
            { "from": "1 ms", "rate": "0 bit/s" },
            { "from": "6 ms", "rate": "6 Mbit/s" },
        ]);
        let streams = Streams::new(1, 0);
        let mut link = choose(steps)
            .unwrap()
            .build(LinkContext::alone(StreamScope {
                streams: &streams,
                name: "hop/test/link",
            }));
        // 1 ms at 12 Mbit/s is 1500 bytes; then nothing for 5 ms; then 1500 bytes in 2 ms.
        let ms = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let half = link.finish(Time::ZERO, Bytes(750));
        assert_eq!(half, Time::from_nanos(500_000));
        assert_eq!(link.rate(ms(3)), BitRate::ZERO);
        assert_eq!(link.finish(half, Bytes(1500)), ms(7));
        assert_eq!(link.finish(ms(7), Bytes(1500)), ms(9));
        assert_eq!(link.rate(ms(1000)), BitRate::from_mbit_per_s(6.0));
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for (steps, expected) in [
            (json!([]), "out-of-range steps"),
            (
                json!([{ "from": "1 s", "rate": "1 Mbit/s" }]),
                "out-of-range steps.0.from",
            ),
            (
                json!([
                    { "from": "0 s", "rate": "1 Mbit/s" },
                    { "from": "0 s", "rate": "2 Mbit/s" }
                ]),
                "contradiction steps.1.from",
            ),
        ] {
            let error = choose(steps).unwrap_err();
            assert_eq!(error.key(), expected, "{error}");
        }
    }
}
