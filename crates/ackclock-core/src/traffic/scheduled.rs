//! A source whose rate changes at given times: a pause, a ramp, a step.

use super::cbr::check_packet_size;
use super::facts::TrafficFacts;
use super::{Traffic, TrafficContext, TrafficKind, Transports, Write};
use ackclock_spec::prelude::*;
use ackclock_spec::steps;
use serde_json::json;

/// Parameters. Nothing is sent before the first step; the last step holds for ever. A packet is due
/// when the rate since the last one adds up to its size, so that a step neither adds nor takes
/// data.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({
    "steps": [
        { "from": "0 s", "rate": "5 Mbit/s" },
        { "from": "60 s", "rate": "0 bit/s" },
        { "from": "66 s", "rate": "5 Mbit/s" }
    ]
}))]
pub struct Scheduled {
    /// Steps in the order of their times.
    pub steps: Vec<Step>,
    /// Payload of each packet; by default a full packet (the flow's mss).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Bytes>,
}

/// A rate and the time from which it holds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Time from which the rate holds, since the start of the flow.
    pub from: Span,
    /// Rate of the payload from then on; `"0 bit/s"` is a pause.
    pub rate: BitRate,
}

impl Element<TrafficKind> for Scheduled {
    const NAME: &'static str = "scheduled";
    const LABEL: &'static str = "scheduled rate";
    const SUMMARY: &'static str = "Sends at a rate that changes at given times, with pauses.";
    const REFERENCE: &'static str = "exact: a packet leaves when the integral of the rate reaches \
        its size, rounded up to the nanosecond, and does not drift";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let moments: Vec<Span> = self.steps.iter().map(|step| step.from).collect();
        every([
            steps::check(&moments, "[{ from = \"0 s\", rate = \"5 Mbit/s\" }]"),
            check_packet_size(self.packet_size),
        ])
    }

    /// The long-run rate is unknown, because a run may end before the last step.
    fn facts(&self) -> TrafficFacts {
        TrafficFacts {
            mean_bit_per_s: Stated::Unknown,
            ..TrafficFacts::paced(self.packet_size)
        }
    }
}

impl Factory<TrafficKind> for Scheduled {
    fn build(&self, context: TrafficContext<'_>) -> Box<dyn Traffic> {
        let size = self.packet_size.unwrap_or(context.mss);
        let mut source = ScheduledTraffic {
            steps: self.steps.clone(),
            size,
            step: 0,
            at: Time::ZERO + self.steps[0].from,
            // The first packet is due as soon as there is a rate.
            credit: needed(size),
        };
        source.find_next();
        Box::new(source)
    }
}

/// Returns the credit that a packet needs. At a bit per second, it grows by one a nanosecond.
fn needed(size: Bytes) -> u128 {
    // At least one byte, so that time passes.
    u128::from(size.0.max(1)) * 8_000_000_000
}

#[derive(Debug)]
struct ScheduledTraffic {
    steps: Vec<Step>,
    size: Bytes,
    /// The step that holds at `at`.
    step: usize,
    /// Time of the next packet.
    at: Time,
    /// Rest of the rate's integral at `at`.
    credit: u128,
}

impl ScheduledTraffic {
    /// Goes on to the moment at which the credit suffices for a packet, and takes it.
    fn find_next(&mut self) {
        let needed = needed(self.size);
        loop {
            let rate = u128::from(self.steps[self.step].rate.as_bit_per_s());
            let until = self
                .steps
                .get(self.step + 1)
                .map_or(Time::NEVER, |next| Time::ZERO + next.from);
            let missing = needed.saturating_sub(self.credit);
            let wait = match rate {
                0 => u128::MAX,
                rate => missing.div_ceil(rate),
            };
            let left = u128::from(until.since(self.at).as_nanos());
            if wait < left {
                self.at = self.at + Span::from_nanos(wait as u64);
                self.credit = self.credit + wait * rate - needed;
                return;
            }
            if until.is_never() {
                self.at = Time::NEVER;
                return;
            }
            self.credit += left * rate;
            (self.at, self.step) = (until, self.step + 1);
        }
    }
}

impl Traffic for ScheduledTraffic {
    fn transports(&self) -> Transports {
        Transports::Any
    }
    fn poll_timeout(&self) -> Time {
        self.at
    }
    fn poll_write(&mut self) -> Option<Write> {
        if self.at.is_never() {
            return None;
        }
        self.find_next();
        Some(Write::Bytes(self.size))
    }
    fn total(&self) -> Option<Bytes> {
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::traffic::{Traffic, Write, tests};
    use ackclock_spec::units::{Bytes, Time};
    use serde_json::{Value, json};

    /// Times of the first writes in ms, each of 1000 bytes.
    fn written(steps: Value, n: usize) -> Vec<f64> {
        let tree = json!({ "kind": "scheduled", "steps": steps, "packet_size": "1000 bytes" });
        let mut source = tests::build(tree);
        let mut next = || {
            let at = source.poll_timeout();
            let write = source.poll_write()?;
            assert_eq!(write, Write::Bytes(Bytes(1000)));
            Some(at.as_seconds() * 1e3)
        };
        (0..n).map_while(|_| next()).collect()
    }

    #[test]
    fn a_pause_stops_it_and_loses_nothing() {
        let steps = json!([
            { "from": "0 s", "rate": "8 Mbit/s" },
            { "from": "2.5 ms", "rate": "0 bit/s" },
            { "from": "10 ms", "rate": "4 Mbit/s" }
        ]);
        // Half a packet is due when the pause begins, the rest a millisecond after it.
        assert_eq!(written(steps, 6), [0.0, 1.0, 2.0, 11.0, 13.0, 15.0]);
    }

    #[test]
    fn one_step_is_a_constant_bit_rate_without_drift() {
        let tree = |kind, rate: Value| {
            let mut tree = json!({ "kind": kind, "packet_size": "1000 bytes" });
            tree[if kind == "cbr" { "rate" } else { "steps" }] = rate;
            tests::build(tree)
        };
        let mut steady = tree("cbr", json!("7 Mbit/s"));
        let mut stepped = tree("scheduled", json!([{ "from": "0 s", "rate": "7 Mbit/s" }]));
        for _ in 0..70_000 {
            let late = stepped.poll_timeout().since(steady.poll_timeout());
            assert!(late.as_nanos() <= 1, "{late:?}");
            assert_eq!(stepped.poll_write(), steady.poll_write());
        }
    }

    #[test]
    fn it_begins_with_its_first_rate_and_ends_with_none() {
        let steps = json!([
            { "from": "5 ms", "rate": "0 bit/s" },
            { "from": "7 ms", "rate": "8 Mbit/s" },
            { "from": "9.5 ms", "rate": "0 bit/s" }
        ]);
        assert_eq!(written(steps, 9), [7.0, 8.0, 9.0]);
    }

    #[test]
    fn degenerate_schedules_end_clearly() {
        let silent =
            json!({ "kind": "scheduled", "steps": [{ "from": "0 s", "rate": "0 bit/s" }] });
        let silent: Box<dyn Traffic> = tests::build(silent);
        assert_eq!(silent.poll_timeout(), Time::NEVER);
        let empty = json!({ "kind": "scheduled", "steps": [] });
        assert_eq!(tests::choose(empty).unwrap_err().field(), "steps");
    }
}
