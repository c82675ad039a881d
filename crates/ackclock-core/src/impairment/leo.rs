//! The delay of a path through satellites in low orbits, which changes every 15 s.

use super::facts::ImpairmentFacts;
use super::{Applies, Impairment, ImpairmentKind, Overtaking, Side, Verdict};
use crate::packet::Packet;
use crate::reallocation::{self, DAY, PERIOD};
use ackclock_spec::prelude::*;
use serde_json::json;

/// Parameters. The extra delay is added to the hop's delay, after the link. The link `leo` has the
/// rate that goes with it; both change at the same times.
///
/// The path through the constellation is a little longer or shorter every 15 s. Around a change
/// the delay is raised: for about 75 ms before it and 140 ms after it (arXiv 2601.08439), by 30 to
/// 50 ms (G. Huston, APNIC, May 2024). That both are uniform and independent is a guess, and so is
/// the range of the path.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({}))]
#[schemars(example = json!({
    "path": "20 ms", "raised_by": "40 ms", "outage": "100 ms", "phase": "0 s"
}))]
pub struct Leo {
    /// Largest extra delay of the path. That of each 15 s is uniform from 0 on.
    #[serde(default = "path")]
    pub path: Span,
    /// Mean raise around a change, uniform within a quarter of it.
    #[serde(default = "raised_by")]
    pub raised_by: Span,
    /// Time before a change from which the delay is raised.
    #[serde(default = "before")]
    pub before: Span,
    /// Time after a change until which the delay is raised.
    #[serde(default = "after")]
    pub after: Span,
    /// Time from each change on in which packets are lost. Those that wait for the link are not.
    #[serde(default)]
    pub outage: Span,
    /// Time between a full minute and the beginning of the run; by default drawn for each run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Span>,
    /// Packets to which it applies.
    #[serde(default = "Applies::data")]
    pub applies: Applies,
}

const fn path() -> Span {
    Span::from_millis(10)
}
const fn raised_by() -> Span {
    Span::from_millis(40)
}
const fn before() -> Span {
    Span::from_millis(75)
}
const fn after() -> Span {
    Span::from_millis(140)
}

/// Part of the raise by which it may be shorter or longer: 30 to 50 ms around 40 ms.
const SPREAD: f64 = 0.25;

impl Element<ImpairmentKind> for Leo {
    const NAME: &'static str = "leo";
    const LABEL: &'static str = "low orbit";
    const SUMMARY: &'static str =
        "Delays packets as a path through satellites in low orbits, which changes every 15 s.";
    const REFERENCE: &'static str =
        "times of changes: arXiv 2601.08439; the laws of the delay are a guess";

    fn facts(&self) -> ImpairmentFacts {
        let loses = self.outage > Span::ZERO;
        ImpairmentFacts {
            mean_loss: match loses {
                true => Stated::None,
                false => Stated::Some(0.0),
            },
            delays: Some(true),
            changes: Some(true),
            ..ImpairmentFacts::of(self.applies, Side::AfterLink)
        }
    }
}

impl Factory<ImpairmentKind> for Leo {
    fn build(&self, place: StreamScope<'_>) -> Box<dyn Impairment> {
        let mut stream = place.stream();
        let mut draw = || self.draw(&mut stream);
        Box::new(LeoImpairment {
            last: None,
            coming: reallocation::first(self.phase, place.streams),
            now: draw(),
            next: draw(),
            stream,
            parameters: self.clone(),
        })
    }

    fn draws(&self) -> bool {
        true
    }
}

impl Leo {
    /// Draws what one change brings.
    fn draw(&self, stream: &mut Stream) -> Change {
        let factor = 1.0 + SPREAD * (2.0 * stream.uniform() - 1.0);
        Change {
            raise: Span::from_seconds(self.raised_by.as_seconds() * factor),
            path: stream.uniform_span(self.path),
        }
    }
}

/// Delays that a change brings.
#[derive(Clone, Copy, Debug)]
struct Change {
    /// Raise around it.
    raise: Span,
    /// Delay of the path from it on.
    path: Span,
}

#[derive(Debug)]
struct LeoImpairment {
    parameters: Leo,
    stream: Stream,
    /// Times of the last change of the run and of the next.
    last: Option<Time>,
    coming: Time,
    /// Delays by the last change, which is at first before the run, and by the next.
    now: Change,
    next: Change,
}

impl LeoImpairment {
    /// Takes in the changes by now.
    fn advance(&mut self, now: Time) {
        if now.since(self.coming) > DAY {
            let whole = now.since(self.coming).as_nanos() / PERIOD.as_nanos();
            self.coming = self.coming + PERIOD * whole;
        }
        while self.coming <= now {
            self.last = Some(self.coming);
            self.coming = self.coming + PERIOD;
            self.now = self.next;
            self.next = self.parameters.draw(&mut self.stream);
        }
    }

    fn delay(&self, now: Time) -> Span {
        let Leo { before, after, .. } = self.parameters;
        let raise = if self.is_within(after, now) {
            self.now.raise
        } else if self.coming.since(now) <= before {
            self.next.raise
        } else {
            Span::ZERO
        };
        self.now.path + raise
    }

    /// True for that time from a change on.
    fn is_within(&self, time: Span, now: Time) -> bool {
        self.last.is_some_and(|last| now.since(last) < time)
    }
}

impl Impairment for LeoImpairment {
    fn judge(&mut self, now: Time, packet: &Packet) -> Verdict {
        if !self.parameters.applies.to(packet) {
            return Verdict::Pass;
        }
        self.advance(now);
        if self.is_within(self.parameters.outage, now) {
            return Verdict::Drop;
        }
        Verdict::Delay {
            by: self.delay(now),
            overtaken: Overtaking::Forbidden,
        }
    }
    fn side(&self) -> Side {
        Side::AfterLink
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impairment::tests::{self, packet};
    use serde_json::Value;

    /// Returns the delays of packets that leave the link at these times, both in milliseconds; none
    /// of one that is lost.
    fn delays<const N: usize>(more: Value, times: [u64; N]) -> [Option<f64>; N] {
        let mut tree = json!({ "kind": "leo", "phase": "0 s" });
        for (name, value) in more.as_object().unwrap() {
            tree[name] = value.clone();
        }
        let mut leo = tests::build(tree);
        times.map(
            |ms| match leo.judge(Time::ZERO + Span::from_millis(ms), &packet()) {
                Verdict::Delay { by, .. } => Some(by.as_seconds() * 1e3),
                Verdict::Drop => None,
                other => panic!("{other:?}"),
            },
        )
    }

    #[test]
    fn the_path_changes_every_15_s_and_is_longer_around_a_change() {
        let times = [0, 11_924, 11_925, 12_000, 12_139, 12_140, 26_924, 27_140];
        let [first, end, before, at, after, second, still, third] =
            delays(json!({}), times).map(Option::unwrap);
        assert_eq!((first, second), (end, still));
        assert!(first != second && second != third);
        assert!(
            [first, second, third]
                .iter()
                .all(|ms| (0.0..=10.0).contains(ms))
        );
        assert!((30.0..=50.0).contains(&(before - first)));
        // The raise belongs to the change, and the path is already the next one.
        assert!((at - second - (before - first)).abs() < 1e-6);
        assert_eq!(at, after);
    }

    #[test]
    fn an_outage_loses_packets_from_the_change_on() {
        let times = [11_999, 12_000, 12_099, 12_100];
        let delays = delays(json!({ "outage": "100 ms" }), times);
        assert_eq!(
            delays.map(|delay| delay.is_some()),
            [true, false, false, true]
        );
    }

    #[test]
    fn nothing_depends_on_how_often_it_is_asked() {
        let whole = delays(
            json!({}),
            [1, 11_950, 12_001, 12_500, 26_950, 41_000, 41_950],
        );
        let rarely = delays(json!({}), [41_000, 41_950]);
        assert_eq!(whole[5..], rarely);
    }
}
