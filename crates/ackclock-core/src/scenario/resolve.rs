//! Converts the document to the scenario: reads every element with its registry, turns names into
//! indices, and fills in defaults.

use super::document::{Document, FlowDocument, HopDocument, Seed, Stop, VERSION};
use super::error::{Code, Error, Result, nearest};
use super::files::Files;
use super::{
    FlowDescription, HopDescription, Instances, MediumDescription, Scenario, parse, transport,
};
use crate::arrivals::Arrivals;
use crate::registry::{choose, choose_within};
use crate::units::Span;
use serde_json::{Map, Value};

/// Default for the most samples of all flows' time series together, and the least and the most of
/// one flow's.
const SAMPLES_OF_ALL_FLOWS: u64 = 1_000_000;
const SAMPLES_OF_A_FLOW: std::ops::RangeInclusive<u64> = 10..=1000;
/// Share of the run for which an instance that arrives is assumed to be present and have samples. A
/// guess that errs on the side of memory: where transfers end before they pile up, the share is far
/// smaller.
const PRESENT_SHARE: f64 = 0.1;

impl Scenario {
    /// Reads and checks a tree whose sweep has been expanded ([`expand`](super::tree::expand)).
    ///
    /// # Errors
    /// The first error: unknown or missing fields, invalid values, and everything that
    /// [`Scenario::check`] refuses. Hops and flows are addressed by name.
    pub fn from_tree(tree: &Value, files: &dyn Files) -> Result<Scenario> {
        let document = Document::read(tree)?;
        if document.sweep.is_some() {
            return Err(Error::message(
                "sweep",
                "describes several runs; expand it and read each point",
            )
            .coded(Code::Unsupported));
        }
        let media = each(&document.shared_media, "shared_media", |tree, _| {
            medium(tree, files)
        })?;
        unique(
            media.iter().map(|medium| medium.name.as_str()),
            "shared_media",
        )?;
        let hops = each(&document.hops, "hops", |tree, _| hop(tree, files))?;
        unique(hops.iter().map(|hop| hop.name.as_str()), "hops")?;
        let read = each(&document.flows, "flows", |tree, position| {
            flow(tree, position, &hops, files)
        })?;
        unique(read.iter().map(|(flow, _)| flow.name.as_str()), "flows")?;
        let (flows, transports): (Vec<_>, Vec<_>) = read.into_iter().unzip();
        let sample_interval = document
            .sample_interval
            .unwrap_or_else(|| sample_interval(document.duration, &flows));
        let mut scenario = Scenario {
            name: document.name,
            duration: document.duration,
            warmup: document.warmup,
            seed: document.seed.0,
            replicates: document.replicates,
            sample_interval,
            media,
            hops,
            flows,
            resolved: Value::Null,
        };
        scenario.check()?;
        scenario.resolved = scenario.written(transports);
        Ok(scenario)
    }

    /// Returns the document of this scenario, defaults included.
    fn written(&self, transports: Vec<Value>) -> Value {
        let hop = |hop: &HopDescription| HopDocument {
            name: hop.name.clone(),
            scope: hop.scope,
            link: hop.link.resolved.clone(),
            queue: hop.queue.resolved.clone(),
            delay: hop.delay,
            impairments: hop
                .impairments
                .iter()
                .map(|chosen| chosen.resolved.clone())
                .collect(),
        };
        let names = |route: &[usize]| route.iter().map(|&at| self.hops[at].name.clone()).collect();
        let flow = |(flow, transport): (&FlowDescription, Value)| FlowDocument {
            name: Some(flow.name.clone()),
            count: match flow.instances {
                Instances::Count(count) => Some(count),
                Instances::Arriving(_) => None,
            },
            arrivals: match flow.instances {
                Instances::Count(_) => None,
                Instances::Arriving(arrivals) => Some(arrivals),
            },
            route: names(&flow.route),
            return_route: names(&flow.return_route),
            transport,
            traffic: flow.traffic.resolved.clone(),
            start: flow.start,
            stop: Stop(flow.stop),
            access_delay: flow.access_delay,
        };
        parse::to_tree(&Document {
            schema: VERSION,
            name: self.name.clone(),
            duration: self.duration,
            warmup: self.warmup,
            seed: Seed(self.seed),
            replicates: self.replicates,
            sample_interval: Some(self.sample_interval),
            shared_media: self.media.iter().map(MediumDescription::written).collect(),
            hops: self
                .hops
                .iter()
                .map(|one| parse::to_tree(&hop(one)))
                .collect(),
            flows: self
                .flows
                .iter()
                .zip(transports)
                .map(|one| parse::to_tree(&flow(one)))
                .collect(),
            sweep: None,
        })
    }
}

/// Reads the items of a list. An item is addressed by its name if that is valid, else by its
/// position.
fn each<T>(
    list: &[Value],
    field: &str,
    read: impl Fn(&Value, usize) -> Result<T>,
) -> Result<Vec<T>> {
    let address = |tree: &Value, position: usize| match tree.get("name").and_then(Value::as_str) {
        Some(name) if check_name(name).is_ok() => format!("{field}.{name}"),
        _ => format!("{field}.{position}"),
    };
    list.iter()
        .enumerate()
        .map(|(position, tree)| {
            read(tree, position).map_err(|error| error.within(&address(tree, position)))
        })
        .collect()
}

/// Checks a name. Names are steps of paths (`hops.NAME.delay`), parts of streams' names
/// (`flow/NAME/0`) and items of lists in a sweep's key.
fn check_name(name: &str) -> Result<()> {
    let problem = if name.trim() != name || name.is_empty() {
        "is no name; write for example \"bottleneck\""
    } else if name.contains(['.', '/', ',', '=']) || name.contains(char::is_control) {
        "is no name; leave out \".\", \"/\", \",\" and \"=\""
    } else if name.bytes().all(|byte| byte.is_ascii_digit()) {
        "is no name but a number; begin it with a letter"
    } else {
        return Ok(());
    };
    Err(Error::new("name", &name.into(), problem))
}

/// Refuses the second of two equal names.
fn unique<'a>(names: impl Iterator<Item = &'a str>, field: &str) -> Result<()> {
    let mut seen = std::collections::BTreeMap::new();
    for (position, name) in names.enumerate() {
        if let Some(first) = seen.insert(name, position) {
            return Err(Error::contradiction(
                &format!("{field}.{position}.name"),
                &name.into(),
                &format!("is the name of {field}.{first} too; write another"),
            ));
        }
    }
    Ok(())
}

/// Reads a medium, which is written in one table with its name.
fn medium(tree: &Value, files: &dyn Files) -> Result<MediumDescription> {
    let mut tree = tree.clone();
    let name = tree
        .as_object_mut()
        .and_then(|map| map.shift_remove("name"));
    let name = match name {
        Some(Value::String(name)) => name,
        Some(other) => {
            return Err(
                Error::new("name", &other, "is no name; write for example \"cell\"")
                    .coded(Code::WrongType),
            );
        }
        None => return Err(Error::missing("name", "write for example name = \"cell\"")),
    };
    check_name(&name)?;
    let medium = choose(&tree, files)?;
    Ok(MediumDescription { name, medium })
}

impl MediumDescription {
    /// Returns its tree with all defaults.
    fn written(&self) -> Value {
        let mut written = Map::new();
        written.insert("name".into(), self.name.as_str().into());
        if let Value::Object(medium) = &self.medium.resolved {
            written.extend(medium.clone());
        }
        written.into()
    }
}

fn hop(tree: &Value, files: &dyn Files) -> Result<HopDescription> {
    let document: HopDocument = parse::from_tree(tree.clone())?;
    check_name(&document.name)?;
    Ok(HopDescription {
        link: choose_within("link", &document.link, files)?,
        queue: choose_within("queue", &document.queue, files)?,
        impairments: document
            .impairments
            .iter()
            .enumerate()
            .map(|(position, tree)| choose_within(&format!("impairments.{position}"), tree, files))
            .collect::<Result<_>>()?,
        name: document.name,
        scope: document.scope,
        delay: document.delay,
    })
}

/// Reads a flow. Returns it and the tree of its transport with all defaults.
fn flow(
    tree: &Value,
    position: usize,
    hops: &[HopDescription],
    files: &dyn Files,
) -> Result<(FlowDescription, Value)> {
    let document: FlowDocument = parse::from_tree(tree.clone())?;
    let name = document.name.unwrap_or_else(|| default_name(position));
    check_name(&name)?;
    let (transport, written) =
        transport::read(&document.transport, files).map_err(|error| error.within("transport"))?;
    let flow = FlowDescription {
        name,
        instances: instances(document.count, document.arrivals)?,
        route: route(&document.route, "route", hops)?,
        return_route: route(&document.return_route, "return", hops)?,
        transport,
        traffic: choose_within("traffic", &document.traffic, files)?,
        start: document.start,
        stop: document.stop.0,
        access_delay: document.access_delay,
    };
    Ok((flow, written))
}

/// Returns a number of instances, or arrivals; one instance if neither is given.
fn instances(count: Option<u32>, arrivals: Option<Arrivals>) -> Result<Instances> {
    match (count, arrivals) {
        (count, None) => Ok(Instances::Count(count.unwrap_or(1))),
        (None, Some(arrivals)) => Ok(Instances::Arriving(arrivals)),
        (Some(count), Some(_)) => {
            let remedy = "says how many there are, though how many arrive is drawn; leave out \
                count or arrivals";
            Err(Error::contradiction("count", &count.into(), remedy))
        }
    }
}

/// Returns the default name of the flow at that position of the list: the first is "flow-1".
pub(super) fn default_name(position: usize) -> String {
    format!("flow-{}", position + 1)
}

/// Returns the remedy for a name that no hop has.
pub(super) fn no_hop(name: &str, known: &[&str]) -> String {
    match (nearest(name, known), known) {
        (Some(name), _) => format!("names no hop; did you mean \"{name}\"?"),
        (None, []) => "names no hop, and there are none; describe it under [[hops]]".into(),
        (None, known) => format!("names no hop; write one of {}", known.join(", ")),
    }
}

/// Converts names of hops to their positions.
fn route(names: &[String], field: &str, hops: &[HopDescription]) -> Result<Vec<usize>> {
    let place = |(step, name): (usize, &String)| {
        hops.iter()
            .position(|hop| &hop.name == name)
            .ok_or_else(|| {
                let known: Vec<&str> = hops.iter().map(|hop| hop.name.as_str()).collect();
                Error::new(
                    &format!("{field}.{step}"),
                    &name.as_str().into(),
                    &no_hop(name, &known),
                )
                .coded(Code::UnknownName)
            })
    };
    names.iter().enumerate().map(place).collect()
}

/// Returns the default spacing of the time series.
fn sample_interval(duration: Span, flows: &[FlowDescription]) -> Span {
    let weight = |flow: &FlowDescription| match flow.instances {
        Instances::Count(_) => 1.0,
        Instances::Arriving(_) => PRESENT_SHARE,
    };
    let instances: f64 = flows
        .iter()
        .map(|flow| weight(flow) * flow.expected_instances(duration))
        .sum();
    let samples = (SAMPLES_OF_ALL_FLOWS / (instances as u64).max(1))
        .clamp(*SAMPLES_OF_A_FLOW.start(), *SAMPLES_OF_A_FLOW.end());
    Span::from_nanos((duration / samples).as_nanos().max(1))
}
