//! A link that follows the capacity of another hop's link: a host whose network tells it at which
//! rate to send.
//!
//! The other link is measured over periods that begin at multiples of `period`. At the end of each,
//! the algorithm computes a rate to feed back from the mean rate of this period and of earlier
//! ones. This link takes its share of that rate `delay` later. The delay stands for the whole round
//! trip, since the other hop cannot notice a change here until a full round trip after its own
//! change. Before the first feedback arrives, the link sends at `initial_rate`.
//!
//! **A packet keeps the rate at which its service started**, unlike on a link whose own rate
//! changes: a source spaces its packets by the rate that it knows. Fractions of a nanosecond are
//! still carried. The bytes that such packets get beyond the rate, or lack, count as capacity of
//! the link (`Link::excess`). So a link never sends more than it could have sent.
//!
//! The measured link is another instance of the hop's link, with the same realisation, which serves
//! no packets. So the rate of this link is a function of time like any other's. It needs no
//! packets, no events and no order between the two hops. The model leaves out control packets that
//! are lost or wait in a queue. It measures the capacity of the link, whoever uses it.
//!
//! By default the rate jumps to the one fed back. With `source` it follows by the rules of a source
//! of ATM's ABR service ([`abr_source`]), whose control packets are among those that it sends. Then
//! the rate depends on what this link has sent, too. Tables have neither rate nor capacity of it.
//!
//! The source of the renewal model of TCP over ABR, S(t) = R(t − Δ), has `delay = "0 s"` and a
//! period of one round trip. Its measured link changes at multiples of the round trip.

use super::facts::{FeedbackFacts, LinkFacts};
use super::piecewise::{WORK_PER_BYTE, mean_of};
use super::{Link, LinkContext, LinkKind};
use crate::feedback::{FeedbackAlgorithm, FeedbackKind};
use abr_source::{AbrSource, Allowed, Bounds};
use ackclock_spec::error::both;
use ackclock_spec::prelude::*;
use ackclock_spec::registry::{Selection, choose};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::VecDeque;

pub mod abr_source;

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({
    "from": "bottleneck",
    "algorithm": { "kind": "instcap" },
    "delay": "200 ms",
    "period": "30 ms"
}))]
#[schemars(example = json!({
    "from": "bottleneck",
    "algorithm": { "kind": "effcap", "m": 7, "n": 49 },
    "delay": "200 ms",
    "period": "30 ms",
    "sessions": 2
}))]
#[schemars(example = json!({
    "from": "bottleneck",
    "algorithm": { "kind": "instcap" },
    "delay": "200 ms",
    "period": "30 ms",
    "source": { "peak_rate": "800 kbit/s" }
}))]
pub struct Feedback {
    /// Name of the hop whose link is measured: a shared hop whose link is not a feedback link.
    #[schemars(extend("examples" = ["bottleneck"]))]
    pub from: String,
    /// Algorithm that turns the measurements into a rate.
    #[schemars(
        schema_with = "ackclock_spec::schema::one_of::<FeedbackKind>",
        extend("examples" = [{ "kind": "effcap", "m": 7, "n": 49 }])
    )]
    pub algorithm: Value,
    /// Time from the end of a measurement until the link follows it.
    pub delay: Span,
    /// Length of each measurement.
    pub period: Span,
    /// Number of sessions that share the rate equally; each has its own host.
    #[serde(default = "single_session")]
    #[schemars(range(min = 1))]
    pub sessions: u32,
    /// Share of the rate that is asked for, between 0 and 1. Less than 1 leaves the bottleneck room
    /// to empty its queue. The overhead of ATM cells (48/53) does not belong here: where cells fill
    /// both links, as with ABR, it is a factor on the result, or both have the queue `cells`.
    #[serde(default = "all")]
    pub target_utilisation: Probability,
    /// Lowest rate: ABR's minimum cell rate. A link whose rate fell to zero would not even learn
    /// that it may send again.
    #[serde(default = "minimum_rate")]
    pub minimum_rate: BitRate,
    /// Rate before the first feedback, and of a `source` after a pause: ABR's initial cell rate. By
    /// default, the session's share of the initial rate of the measured link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_rate: Option<BitRate>,
    /// Rules by which the rate follows the one fed back; by default, it jumps to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<AbrSource>,
    #[serde(skip)]
    chosen: Option<Selection<FeedbackKind>>,
}

/// A guess: a packet of 1500 bytes in a fifth of a second.
const MINIMUM_RATE: BitRate = BitRate::from_bit_per_s(64_000);

/// Measuring over shorter periods would cost more than the packets.
const SHORTEST_PERIOD: Span = Span::from_micros(1);

fn single_session() -> u32 {
    1
}
fn all() -> Probability {
    Probability::ONE
}
fn minimum_rate() -> BitRate {
    MINIMUM_RATE
}

impl Element<LinkKind> for Feedback {
    const NAME: &'static str = "feedback";
    const LABEL: &'static str = "explicit-rate feedback";
    const SUMMARY: &'static str =
        "Sends at the rate fed back from another hop: a host under explicit rate control.";
    const REFERENCE: &'static str = "Shakkottai, Kumar, Karnik, Anvekar (2001), IEEE/ACM ToN 9(4): \
        the segmentation buffer's server";

    fn check(&mut self, files: &dyn Files) -> Result<()> {
        let chosen = choose::<FeedbackKind>(&self.algorithm, files);
        let chosen = chosen.map_err(|error| error.within("algorithm"));
        let source = self.source.as_ref().map_or(Ok(()), |source| {
            source.check(self.minimum_rate, self.initial_rate)
        });
        let checks = every([
            source.map_err(|error| error.within("source")),
            in_range(
                self.period >= SHORTEST_PERIOD,
                "period",
                &self.period,
                "is too short; for example \"30 ms\"",
            ),
            in_range(
                self.sessions > 0,
                "sessions",
                &self.sessions,
                "is less than 1",
            ),
            check_above_zero("target_utilisation", self.target_utilisation, "98 %"),
            check_above_zero("minimum_rate", self.minimum_rate, "64 kbit/s"),
            check_above_zero("initial_rate", self.initial_rate, "64 kbit/s"),
        ]);
        let ((), chosen) = both(checks, chosen)?;
        self.algorithm = chosen.resolved.clone();
        self.chosen = Some(chosen);
        Ok(())
    }

    fn facts(&self) -> LinkFacts {
        let feedback = self.chosen.as_ref().map(|chosen| FeedbackFacts {
            algorithm: chosen.name.into(),
            measurements: chosen.build(()).memory(),
            lag_s: self.delay.as_seconds() + self.period.as_seconds(),
            share: self.target_utilisation.get() / f64::from(self.sessions),
            lowest_bit_per_s: self.minimum_rate.as_bit_per_s(),
            jumps: self.source.is_none(),
        });
        LinkFacts {
            measures: Stated::Some(self.from.clone()),
            feedback: feedback.into(),
            ..LinkFacts::own(true)
        }
    }
}

impl Factory<LinkKind> for Feedback {
    fn build(&self, context: LinkContext<'_>) -> Box<dyn Link> {
        let (Some(measured), Some(chosen)) = (context.measured, &self.chosen) else {
            unreachable!(
                "the scenario's check names the link, the parameters' check the algorithm"
            );
        };
        let initial = self
            .initial_rate
            .unwrap_or_else(|| self.part(measured.rate(Time::ZERO)));
        let measurements = Measurements {
            measured,
            algorithm: chosen.build(()),
            period: self.period,
            taken: 0,
            fed_back: BitRate::ZERO,
        };
        let bounds = Bounds {
            lowest: self.minimum_rate,
            initial,
            round_trip: self.delay,
        };
        let allowed = |source: AbrSource| Allowed::new(source, bounds);
        Box::new(FeedbackLink {
            fed_back: FedBack {
                parameters: self.clone(),
                initial,
                measurements: RefCell::new(measurements),
            },
            allowed: self.source.clone().map(allowed),
            last_finish: Time::NEVER,
            owed: 0,
            excess: None,
        })
    }
}

impl Feedback {
    /// Returns the share of a rate that one session takes.
    fn part(&self, rate: BitRate) -> BitRate {
        let part =
            rate.as_bit_per_s() as f64 * self.target_utilisation.get() / f64::from(self.sessions);
        BitRate::from_bit_per_s(part as u64).max(self.minimum_rate)
    }
}

/// The measured link, and the state of the measurements.
#[derive(Debug)]
struct Measurements {
    measured: Box<dyn Link>,
    algorithm: Box<dyn FeedbackAlgorithm>,
    period: Span,
    /// Number of measurements taken.
    taken: u64,
    /// Rate fed back since the last measurement.
    fed_back: BitRate,
}

impl Measurements {
    /// Returns the rate fed back after that many measurements, at least one. Skips measurements
    /// that no longer matter. If more were taken already, takes the last ones again.
    fn after(&mut self, number: u64) -> BitRate {
        let first = number.saturating_sub(self.algorithm.memory());
        if number < self.taken || self.taken < first {
            self.algorithm.clear();
            self.taken = first;
        }
        while self.taken < number {
            let from = Time::ZERO + self.period * self.taken;
            let measured = self.measured.mean_rate(from, from + self.period);
            self.fed_back = self.algorithm.feed_back(measured);
            self.taken += 1;
        }
        self.fed_back
    }
}

/// The session's part of the rate fed back, as a function of time.
#[derive(Debug)]
struct FedBack {
    parameters: Feedback,
    initial: BitRate,
    /// In a cell, because asking for the rate also advances the measurements.
    measurements: RefCell<Measurements>,
}

impl FedBack {
    /// Returns the rate that is known at a moment.
    fn at(&self, at: Time) -> BitRate {
        match self.arrived(at) {
            0 => self.initial,
            number => {
                let fed_back = self.measurements.borrow_mut().after(number);
                self.parameters.part(fed_back)
            }
        }
    }

    /// Returns the number of measurements known at that moment.
    fn arrived(&self, at: Time) -> u64 {
        at.since(Time::ZERO + self.parameters.delay).as_nanos() / self.parameters.period.as_nanos()
    }

    /// Returns the next time after `at` at which the rate may change.
    fn next_change(&self, at: Time) -> Time {
        let Feedback { delay, period, .. } = self.parameters;
        Time::ZERO + delay + period * (self.arrived(at) + 1)
    }
}

#[derive(Debug)]
struct FeedbackLink {
    fed_back: FedBack,
    /// The rate of an ABR source, which does not jump to the rate fed back.
    allowed: Option<Allowed>,
    last_finish: Time,
    /// Work left at `last_finish`: less than a nanosecond's.
    owed: u64,
    /// Recorded on request. In a cell, as the measurements are.
    excess: Option<RefCell<Excess>>,
}

/// The work that packets in service did beyond the rate of the moment.
#[derive(Debug, Default)]
struct Excess {
    /// Settled excess, in billionths of a bit.
    settled: i128,
    /// Periods in order in which a packet has another rate than the link, with the difference in
    /// bit/s.
    held: VecDeque<(Time, Time, i128)>,
}

impl Excess {
    /// Returns the excess up to `at`, in bytes.
    fn at(&mut self, at: Time) -> f64 {
        let work =
            |from: Time, until: Time, more: i128| more * i128::from(until.since(from).as_nanos());
        while let Some(&(from, until, more)) = self.held.front()
            && until <= at
        {
            self.settled += work(from, until, more);
            self.held.pop_front();
        }
        let begun = self
            .held
            .front()
            .map_or(0, |&(from, _, more)| work(from, at, more));
        (self.settled + begun) as f64 / WORK_PER_BYTE as f64
    }
}

impl FeedbackLink {
    /// Records the periods of a service at `rate` in which the link's own rate differs.
    fn note_held(&self, rate: BitRate, start: Time, finish: Time) {
        let Some(excess) = &self.excess else {
            return;
        };
        let mut now = self.next_change(start);
        while now < finish {
            let until = self.next_change(now).min(finish);
            let more = i128::from(rate.as_bit_per_s()) - i128::from(self.rate(now).as_bit_per_s());
            if more != 0 {
                excess.borrow_mut().held.push_back((now, until, more));
            }
            now = until;
        }
    }

    /// Returns the next time after `at` at which the rate may change.
    fn next_change(&self, at: Time) -> Time {
        match &self.allowed {
            Some(allowed) => allowed.next_change(at),
            None => self.fed_back.next_change(at),
        }
    }

    /// Begins a service at `start` and returns its rate.
    fn begin(&mut self, start: Time) -> BitRate {
        match &mut self.allowed {
            Some(allowed) => allowed.begin(start, |at| self.fed_back.at(at)),
            None => self.fed_back.at(start),
        }
    }

    /// Records a service at a rate.
    fn note_sent(&mut self, rate: BitRate, (start, finish): (Time, Time), size: Bytes) {
        match &mut self.allowed {
            Some(allowed) => allowed.note_sent(rate, (start, finish), size),
            None => self.note_held(rate, start, finish),
        }
    }
}

impl Link for FeedbackLink {
    fn finish(&mut self, start: Time, size: Bytes) -> Time {
        let carried = if start == self.last_finish {
            self.owed
        } else {
            0
        };
        let held = self.begin(start);
        let rate = u128::from(held.as_bit_per_s());
        let work = u128::from(size.0) * u128::from(WORK_PER_BYTE) + u128::from(carried);
        self.owed = (work % rate) as u64;
        self.last_finish = start + Span::from_nanos(u64::try_from(work / rate).unwrap_or(u64::MAX));
        self.note_sent(held, (start, self.last_finish), size);
        self.last_finish
    }

    fn excess(&self, at: Time) -> f64 {
        self.excess
            .as_ref()
            .map_or(0.0, |excess| excess.borrow_mut().at(at))
    }

    fn keep_excess(&mut self) {
        self.excess = Some(RefCell::default());
    }

    fn rate(&self, at: Time) -> BitRate {
        match &self.allowed {
            Some(allowed) => allowed.rate(at, |at| self.fed_back.at(at)),
            None => self.fed_back.at(at),
        }
    }

    fn mean_rate(&self, from: Time, until: Time) -> BitRate {
        let mut work = 0;
        let mut now = from;
        while now < until {
            let next = self.next_change(now).min(until);
            work +=
                u128::from(self.rate(now).as_bit_per_s()) * u128::from(next.since(now).as_nanos());
            now = next;
        }
        mean_of(work, from, until).unwrap_or_else(|| self.rate(from))
    }

    fn mean_rate_within(&self, from: Time, until: Time, changes: u64) -> Option<BitRate> {
        let most = match &self.allowed {
            Some(allowed) => allowed.changes(),
            None => until.since(from).as_nanos() / self.fed_back.parameters.period.as_nanos(),
        };
        (most < changes).then(|| self.mean_rate(from, until))
    }
}

#[cfg(test)]
mod tests;
