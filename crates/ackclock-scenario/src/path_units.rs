//! The units `RTT` and `BDP` of a scenario: quantities of its path.
//!
//! `RTT` is a base round-trip time, without transmission and queueing. It is the sum of the delays
//! of all hops on a flow's route and return route and of its access delay. The flow depends on the
//! field. In the queue of a hop, it is the flow through the hop with the smallest `RTT`. In a flow,
//! it is that flow. In a time of the whole scenario, it is the flow with the longest.
//!
//! `BDP` is a bandwidth-delay product, for the queue of a hop. It is the mean rate of the hop's own
//! link times the `RTT` of that queue.
//!
//! A field on which the round-trip time depends cannot be written in either.

use ackclock_core::link::LinkKind;
use ackclock_spec::error::Code;
use ackclock_spec::expression::{Amount, Fault};
use ackclock_spec::files::Files;
use ackclock_spec::quantity::Range;
use ackclock_spec::quantity::shown;
use ackclock_spec::registry::choose;
use ackclock_spec::tree::default_name;
use ackclock_spec::unit_spelling::Dimension;
use ackclock_spec::units::Span;
use serde_json::Value;
use std::collections::HashMap;

/// Fields of the whole scenario that may be in round-trip times.
const TIMES: [&str; 3] = ["duration", "warmup", "sample_interval"];

/// A quantity of the path, and where it comes from.
pub(super) type FromPath = Result<(Amount, String), Fault>;

/// True for a field on which a round-trip time or the rate of a link may depend.
pub(super) fn is_of_path(steps: &[String]) -> bool {
    match &steps.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["hops", _, field, ..] => *field != "queue",
        ["flows", _, field, ..] => *field == "access_delay",
        [field, ..] => *field == "shared_media",
        [] => false,
    }
}

/// The base round-trip time of a flow: the smallest and the largest of its instances.
#[derive(Clone, Debug)]
struct RoundTrip {
    flow: String,
    low: Span,
    high: Span,
}

/// The round-trip times of a scenario, and the links of its hops.
#[derive(Default)]
pub(super) struct RoundTrips {
    /// Those of each flow; none without a return route.
    flows: Vec<Option<RoundTrip>>,
    /// Name and link of each hop.
    hops: Vec<(String, Value)>,
    /// By name of a hop, the flow through it with the smallest.
    smallest: HashMap<String, RoundTrip>,
}

impl RoundTrips {
    /// Reads them from a tree whose delays are plain quantities.
    pub(super) fn of(tree: &Value) -> Self {
        let list = |name: &str| {
            tree.get(name)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
        };
        let hops: Vec<(String, Value)> = list("hops")
            .map(|hop| (text(hop, "name").into(), hop["link"].clone()))
            .collect();
        let mut delays: HashMap<&str, Span> = HashMap::new();
        for hop in list("hops") {
            // One that cannot be read is refused when the hop is read.
            let delay = hop
                .get("delay")
                .map(|delay| serde_json::from_value(delay.clone()));
            let delay = delay.and_then(Result::ok).unwrap_or_default();
            delays.entry(text(hop, "name")).or_insert(delay);
        }
        let mut smallest: HashMap<String, RoundTrip> = HashMap::new();
        let mut flows = Vec::new();
        for (at, flow) in list("flows").enumerate() {
            let round_trip = round_trip(flow, at, &delays);
            for (hop, round_trip) in path(flow).zip(std::iter::repeat(&round_trip)) {
                let Some(round_trip) = round_trip else { break };
                match smallest.get_mut(hop) {
                    None => drop(smallest.insert(hop.into(), round_trip.clone())),
                    Some(other) if round_trip.low < other.low => *other = round_trip.clone(),
                    Some(_) => {}
                }
            }
            flows.push(round_trip);
        }
        RoundTrips {
            flows,
            hops,
            smallest,
        }
    }

    /// The quantity that a unit stands for in a field; `steps` lead to it from the root.
    ///
    /// # Errors
    /// The unit has no meaning there, or the field would depend on itself.
    pub(super) fn quantity(&self, steps: &[String], unit: &str, files: &dyn Files) -> FromPath {
        if is_of_path(steps) {
            let sentence = format!("is in {unit}, which depends on this field; write the quantity");
            return Err(Fault::new(Code::Contradiction, sentence));
        }
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        let position = |at: &str| at.parse::<usize>().unwrap_or(usize::MAX);
        match (&steps[..], unit) {
            (["hops", hop, ..], _) => self.of_hop(position(hop), unit, files),
            (["flows", flow, ..], "RTT") => self.of_flow(position(flow)),
            ([field, ..], "RTT") if TIMES.contains(field) => self.longest(),
            _ => {
                let sentence =
                    format!("is in {unit}, which only the queue of a hop has; write the quantity");
                Err(Fault::new(Code::Contradiction, sentence))
            }
        }
    }

    fn of_hop(&self, hop: usize, unit: &str, files: &dyn Files) -> FromPath {
        let hop = self.hops.get(hop);
        let smallest = hop.and_then(|(name, link)| Some((self.smallest.get(name)?, link)));
        let Some((RoundTrip { flow, low, .. }, link)) = smallest else {
            let sentence = format!(
                "is in {unit}, but no flow with a return route crosses this hop; write the quantity"
            );
            return Err(Fault::new(Code::Contradiction, sentence));
        };
        let rtt = time(*low);
        if unit == "RTT" {
            return Ok((rtt, source(&rtt, flow)));
        }
        let rate = match choose::<LinkKind>(link, files) {
            Ok(link) => link.facts.mean_bit_per_s,
            Err(_) => Some(1e7), // any: it is refused when the link is read
        };
        let Some(rate) = rate else {
            let sentence = "is in BDP, but the mean rate of this hop's link is unknown; write \
                packets or bytes";
            return Err(Fault::new(Code::Contradiction, sentence));
        };
        let rate = Amount::of(Dimension::Rate, rate);
        let words = format!("BDP = {} × {} (flow {flow})", shown(&rate), shown(&rtt));
        Ok((rate.times(rtt, 1), words))
    }

    fn of_flow(&self, flow: usize) -> FromPath {
        match self.flows.get(flow).and_then(Option::as_ref) {
            Some(RoundTrip { low, high, .. }) if low == high => {
                let rtt = time(*low);
                Ok((rtt, format!("RTT = {} (this flow)", shown(&rtt))))
            }
            Some(_) => Err(Fault::new(
                Code::Contradiction,
                "is in RTT, but instances of this flow have different access delays; write a time",
            )),
            None => Err(no_return()),
        }
    }

    fn longest(&self) -> FromPath {
        let longest = self.flows.iter().flatten().max_by_key(|flow| flow.high);
        let longest = longest.ok_or_else(no_return)?;
        let rtt = time(longest.high);
        Ok((rtt, source(&rtt, &longest.flow)))
    }
}

fn time(span: Span) -> Amount {
    Amount::of(Dimension::Time, span.as_nanos() as f64)
}

fn source(rtt: &Amount, flow: &str) -> String {
    format!("RTT = {} (flow {flow})", shown(rtt))
}

fn no_return() -> Fault {
    let sentence = "is in RTT, but no flow here has a return route; write a time";
    Fault::new(Code::Contradiction, sentence)
}

/// The round-trip time of a flow; none without a return route, or with a hop that does not exist.
fn round_trip(flow: &Value, at: usize, delays: &HashMap<&str, Span>) -> Option<RoundTrip> {
    names(flow, "return").next()?;
    let mut sum = Span::ZERO;
    for name in path(flow) {
        sum = sum + *delays.get(name)?;
    }
    let access: Range = match flow.get("access_delay") {
        Some(delay) => serde_json::from_value(delay.clone()).unwrap_or_default(),
        None => Range::default(),
    };
    let name = flow.get("name").and_then(Value::as_str);
    Some(RoundTrip {
        flow: name.map_or_else(|| default_name(at), String::from),
        low: sum + access.low,
        high: sum + access.high,
    })
}

fn text<'a>(tree: &'a Value, key: &str) -> &'a str {
    tree.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The hops that a flow's data and ACKs cross.
fn path(flow: &Value) -> impl Iterator<Item = &str> {
    names(flow, "route").chain(names(flow, "return"))
}

fn names<'a>(flow: &'a Value, route: &str) -> impl Iterator<Item = &'a str> {
    let list = flow.get(route).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}
