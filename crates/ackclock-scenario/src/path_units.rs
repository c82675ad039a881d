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

/// The quantity that a unit stands for in a field; `steps` lead to it from the root.
///
/// # Errors
/// The unit has no meaning there, or the field would depend on itself.
pub(super) fn quantity(tree: &Value, steps: &[String], unit: &str, files: &dyn Files) -> FromPath {
    if is_of_path(steps) {
        let sentence = format!("is in {unit}, which depends on this field; write the quantity");
        return Err(Fault::new(Code::Contradiction, sentence));
    }
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    match (&steps[..], unit) {
        (["hops", hop, ..], _) => of_hop(tree, item(tree, "hops", hop), unit, files),
        (["flows", flow, ..], "RTT") => of_flow(tree, item(tree, "flows", flow)),
        ([field, ..], "RTT") if TIMES.contains(field) => longest(tree),
        _ => {
            let sentence =
                format!("is in {unit}, which only the queue of a hop has; write the quantity");
            Err(Fault::new(Code::Contradiction, sentence))
        }
    }
}

fn of_hop(tree: &Value, hop: &Value, unit: &str, files: &dyn Files) -> FromPath {
    let name = text(hop, "name");
    let crosses = |flow: &Value| path(flow).any(|hop_name| hop_name == name);
    let smallest = round_trips(tree, crosses).min_by_key(|(_, low, _)| *low);
    let Some((flow, low, _)) = smallest else {
        let sentence = format!(
            "is in {unit}, but no flow with a return route crosses this hop; write the quantity"
        );
        return Err(Fault::new(Code::Contradiction, sentence));
    };
    let rtt = time(low);
    if unit == "RTT" {
        return Ok((rtt, source(&rtt, &flow)));
    }
    let rate = match choose::<LinkKind>(&hop["link"], files) {
        Ok(link) => link.facts.mean_bit_per_s,
        Err(_) => Some(1e7), // any: it is refused when the link is read
    };
    let Some(rate) = rate else {
        let sentence =
            "is in BDP, but the mean rate of this hop's link is unknown; write packets or bytes";
        return Err(Fault::new(Code::Contradiction, sentence));
    };
    let rate = Amount::of(Dimension::Rate, rate);
    let words = format!("BDP = {} × {} (flow {flow})", shown(&rate), shown(&rtt));
    Ok((rate.times(rtt, 1), words))
}

fn of_flow(tree: &Value, flow: &Value) -> FromPath {
    match round_trip(tree, flow) {
        Some((low, high)) if low == high => {
            let rtt = time(low);
            Ok((rtt, format!("RTT = {} (this flow)", shown(&rtt))))
        }
        Some(_) => Err(Fault::new(
            Code::Contradiction,
            "is in RTT, but instances of this flow have different access delays; write a time",
        )),
        None => Err(no_return()),
    }
}

fn longest(tree: &Value) -> FromPath {
    let longest = round_trips(tree, |_| true).max_by_key(|(.., high)| *high);
    let (flow, _, high) = longest.ok_or_else(no_return)?;
    let rtt = time(high);
    Ok((rtt, source(&rtt, &flow)))
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

/// Names of the flows that are wanted, with their smallest and largest base round-trip time.
fn round_trips(
    tree: &Value,
    wanted: impl Fn(&Value) -> bool,
) -> impl Iterator<Item = (String, Span, Span)> {
    let flows = tree.get("flows").and_then(Value::as_array);
    let flows = flows.into_iter().flatten().enumerate();
    flows
        .filter(move |(_, flow)| wanted(flow))
        .filter_map(|(at, flow)| {
            let name = flow.get("name").and_then(Value::as_str);
            let (low, high) = round_trip(tree, flow)?;
            Some((
                name.map_or_else(|| default_name(at), String::from),
                low,
                high,
            ))
        })
}

/// The smallest and the largest base round-trip time of a flow's instances; none without a return
/// route.
fn round_trip(tree: &Value, flow: &Value) -> Option<(Span, Span)> {
    names(flow, "return").next()?;
    let hops = tree.get("hops")?.as_array()?;
    let mut sum = Span::ZERO;
    for name in path(flow) {
        let hop = hops.iter().find(|hop| text(hop, "name") == name)?;
        if let Some(delay) = hop.get("delay") {
            // One that cannot be read is refused when the hop is read.
            sum = sum + serde_json::from_value(delay.clone()).unwrap_or_default();
        }
    }
    let access: Range = match flow.get("access_delay") {
        Some(delay) => serde_json::from_value(delay.clone()).unwrap_or_default(),
        None => Range::default(),
    };
    Some((sum + access.low, sum + access.high))
}

fn item<'a>(tree: &'a Value, list: &str, at: &str) -> &'a Value {
    let at = at.parse::<usize>().ok();
    let item = tree.get(list).zip(at).and_then(|(list, at)| list.get(at));
    item.unwrap_or(&Value::Null)
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
