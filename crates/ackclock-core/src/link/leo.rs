//! The link of a terminal to satellites in low orbits, whose rate changes every 15 s.

use super::facts::LinkFacts;
use super::piecewise::{Piece, PiecewiseLink, Rates};
use super::{Link, LinkContext, LinkKind};
use crate::reallocation::{self, DAY, PERIOD};
use ackclock_spec::prelude::*;
use serde_json::json;

/// Parameters. The impairment `leo` has the delay that goes with it; both change at the same times.
///
/// The times are those of Starlink: at the seconds 12, 27, 42 and 57 of a minute. The law of the
/// rate is a guess: one for each 15 s, uniform between two bounds and independent of the others.
/// Measured are 10 to 370 Mbit/s (G. Huston, APNIC, May 2024).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({}))]
#[schemars(example = json!({
    "lowest": "10 Mbit/s", "highest": "20 Mbit/s", "outage": "100 ms", "phase": "0 s"
}))]
pub struct Leo {
    /// Lowest rate.
    #[serde(default = "lowest")]
    pub lowest: BitRate,
    /// Highest rate.
    #[serde(default = "highest")]
    pub highest: BitRate,
    /// Time for which it is down from each change on. Packets wait; the impairment drops them.
    #[serde(default)]
    pub outage: Span,
    /// Time between a full minute and the beginning of the run; by default drawn for each run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Span>,
}

fn lowest() -> BitRate {
    BitRate::from_bit_per_s(50_000_000)
}
fn highest() -> BitRate {
    BitRate::from_bit_per_s(150_000_000)
}

impl Element<LinkKind> for Leo {
    const NAME: &'static str = "leo";
    const LABEL: &'static str = "low orbit";
    const SUMMARY: &'static str =
        "Sends at a rate that changes every 15 s, as to satellites in low orbits.";
    const REFERENCE: &'static str = "times of changes: arXiv 2601.08439; the law of the rate is a \
        guess within what was measured";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            in_range(
                self.lowest > BitRate::ZERO,
                "lowest",
                &self.lowest,
                "is too low; for example \"50 Mbit/s\"",
            ),
            in_range(
                self.lowest <= self.highest,
                "highest",
                &self.highest,
                "is below the lowest rate",
            ),
            in_range(
                self.outage < PERIOD,
                "outage",
                &self.outage,
                "is not shorter than 15 s, the time between two changes",
            ),
        ])
    }

    fn facts(&self) -> LinkFacts {
        let up = 1.0 - self.outage.as_seconds() / PERIOD.as_seconds();
        let sum = self.lowest.as_bit_per_s() as f64 + self.highest.as_bit_per_s() as f64;
        LinkFacts {
            mean_bit_per_s: Some(0.5 * sum * up),
            highest_bit_per_s: Some(self.highest.as_bit_per_s()),
            ..LinkFacts::own(true)
        }
    }
}

impl Factory<LinkKind> for Leo {
    fn build(&self, context: LinkContext<'_>) -> Box<dyn Link> {
        let mut stream = context.place.stream();
        let rate = self.draw(&mut stream);
        let mut change = reallocation::first(self.phase, context.place.streams);
        if change == Time::ZERO {
            change = change + PERIOD; // the first rate is that of a change at the start
        }
        Box::new(PiecewiseLink::new(Served {
            parameters: self.clone(),
            change,
            stream,
            piece: Piece {
                from: Time::ZERO,
                until: change,
                rate,
            },
        }))
    }

    fn draws(&self) -> bool {
        true
    }
}

impl Leo {
    fn draw(&self, stream: &mut Stream) -> BitRate {
        let (lowest, highest) = (self.lowest.as_bit_per_s(), self.highest.as_bit_per_s());
        let above = stream.uniform() * (highest - lowest) as f64;
        BitRate::from_bit_per_s(lowest + above as u64)
    }
}

/// The rates of a run.
#[derive(Clone, Debug)]
struct Served {
    parameters: Leo,
    /// The next change.
    change: Time,
    stream: Stream,
    piece: Piece,
}

impl Rates for Served {
    fn piece(&self) -> Piece {
        self.piece
    }

    /// Skips changes that nothing has met for a day: the rate before them holds until the last.
    fn seek(&mut self, at: Time) {
        let since = at.since(self.change);
        if since > DAY {
            let whole = since.as_nanos() / PERIOD.as_nanos();
            self.change = self.change + PERIOD * whole;
            self.piece.until = self.change;
        }
        while at >= self.piece.until && !self.piece.until.is_never() {
            self.advance();
        }
    }

    fn advance(&mut self) {
        let Leo { outage, .. } = self.parameters;
        let from = self.piece.until;
        let begins = from == self.change;
        if begins {
            self.change = from + PERIOD;
        }
        self.piece = if begins && outage > Span::ZERO {
            Piece {
                from,
                until: from + outage,
                rate: BitRate::ZERO,
            }
        } else {
            Piece {
                from,
                until: self.change,
                rate: self.parameters.draw(&mut self.stream),
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_spec::files::NoFiles;
    use ackclock_spec::registry;
    use ackclock_spec::streams::Streams;
    use serde_json::Value;

    fn build(tree: Value) -> Box<dyn Link> {
        let chosen = registry::choose::<LinkKind>(&tree, &NoFiles).unwrap();
        chosen.build(LinkContext::alone(StreamScope {
            streams: &Streams::new(1, 0),
            name: "hop/test/link",
        }))
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn the_rate_changes_at_12_and_27_s_and_an_outage_holds_packets() {
        let tree = json!({ "kind": "leo", "outage": "100 ms", "phase": "0 s" });
        let mut link = build(tree);
        let rates = [0, 11_999, 12_000, 12_099, 12_100, 26_999, 27_000, 27_100]
            .map(|ms| link.rate(at(ms)).as_bit_per_s());
        let [first, still, down, yet, second, end, again, third] = rates;
        assert_eq!((first, down, yet, again), (still, 0, 0, 0));
        assert_eq!(second, end);
        assert!(first != second && second != third);
        let up = [first, second, third];
        assert!(
            up.iter()
                .all(|rate| (50_000_000..=150_000_000).contains(rate))
        );
        // A packet that begins in the outage leaves 1500 bytes after its end.
        let finish = link.finish(at(12_050), Bytes(1500));
        let takes = 12_000.0 / second as f64;
        assert!((finish.as_seconds() - 12.1 - takes).abs() < 1e-8);
    }

    #[test]
    fn its_mean_is_what_it_states() {
        let tree = json!({ "kind": "leo", "outage": "1500 ms", "phase": "0 s" });
        let facts = registry::choose::<LinkKind>(&tree, &NoFiles).unwrap().facts;
        assert_eq!(facts.mean_bit_per_s, Some(90e6));
        let link = build(tree);
        let slots = 10_000;
        let mean = link.mean_rate(at(12_000), at(12_000 + slots * 15_000));
        // One standard deviation of a uniform rate of 100 Mbit/s width, 0.9 of the time.
        let deviation = 0.9 * 100e6 / libm::sqrt(12.0 * slots as f64);
        assert!((mean.as_bit_per_s() as f64 - 90e6).abs() < 4.0 * deviation);
    }

    #[test]
    fn bounds_in_the_wrong_order_are_refused() {
        let wrong = json!({ "kind": "leo", "lowest": "2 Mbit/s", "highest": "1 Mbit/s" });
        let error = registry::choose::<LinkKind>(&wrong, &NoFiles).unwrap_err();
        assert_eq!(error.field(), "highest");
    }
}
