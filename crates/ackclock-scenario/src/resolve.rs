//! Converts the document to the scenario: reads every element with its registry, turns names into
//! indices, and fills in defaults.

use super::check::{
    check_acknowledged, check_control_calls, check_control_states, check_hops, check_host,
    check_instances, check_route, check_run, check_samples, check_times, check_traffic,
    unknown_hop,
};
use super::derive::Plain;
use super::document::{Document, FlowDocument, HopDocument, Seed, Stop, VERSION};
use super::{
    FlowDescription, HopDescription, Instances, MediumDescription, Scenario, Vary, derive, lab,
};
use ackclock_core::arrivals::Arrivals;
use ackclock_spec::error::{Code, Error, Result, all, both, every};
use ackclock_spec::files::{Files, Rationed};
use ackclock_spec::parse;
use ackclock_spec::registry::{choose, choose_within};
use ackclock_spec::tree::{default_name, to_tree};
use ackclock_spec::units::Span;
use serde_json::{Map, Value};
use std::collections::HashMap;

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
    /// Unknown or missing fields, invalid values, and everything that [`Scenario::check`] refuses:
    /// all that can be known at once. Hops and flows are addressed by name.
    pub fn from_tree(tree: &Value, files: &dyn Files) -> Result<Scenario> {
        let files = &Rationed::new(files);
        let plain = derive::plain(tree, files)?;
        let scenario = Scenario::from_plain(plain, files);
        let (scenario, ()) =
            both(scenario, lab::check(tree)).map_err(|error| error.quoting(tree))?;
        Ok(scenario)
    }

    fn from_plain(plain: Plain<'_>, files: &dyn Files) -> Result<Scenario> {
        let (document, mistakes) = Document::read(&plain.tree)?;
        let mistakes = plain
            .mistakes
            .into_iter()
            .chain(mistakes)
            .reduce(Error::and);
        if document.sweep.is_some() {
            return Err(Error::message(
                "sweep",
                "describes several points; expand it and use one of them",
            )
            .coded(Code::Unsupported));
        }
        let names = |list: &[Value]| -> Vec<String> {
            let name = |item: &Value| Some(item.get("name")?.as_str()?.to_owned());
            list.iter()
                .map(|item| name(item).unwrap_or_default())
                .collect()
        };
        let media = each(&document.shared_media, "shared_media", |tree, _| {
            medium(tree, files)
        });
        let media = both(
            media,
            unique(&names(&document.shared_media), "shared_media"),
        );
        let hop_names = names(&document.hops);
        let hops = each(&document.hops, "hops", |tree, _| hop(tree, files));
        let hops = both(hops, unique(&hop_names, "hops"));
        // Of two with the same name, the first.
        let hop_places = hop_names.iter().enumerate().rev();
        let hop_places = hop_places.map(|(at, name)| (name.as_str(), at)).collect();
        let flows = each(&document.flows, "flows", |tree, position| {
            flow(tree, position, (&hop_names, &hop_places), files)
        });
        let flow_names: Vec<String> = (0..)
            .zip(names(&document.flows))
            .map(|(position, name)| match name.is_empty() {
                true => default_name(position),
                false => name,
            })
            .collect();
        let flows = both(flows, unique(&flow_names, "flows"));
        let run = every([
            mistakes.map_or(Ok(()), Err),
            check_run(
                &document.name,
                document.duration,
                document.warmup,
                document.replicates,
            ),
            document.sample_interval.map_or(Ok(()), |interval| {
                check_samples(interval, document.duration)
            }),
        ]);
        let network = both(media, hops).and_then(|((media, ()), (hops, ()))| {
            check_hops(&hops, &media)?;
            Ok((media, hops))
        });
        let (_, ((media, hops), (flows, ()))) = both(run, both(network, flows))?;
        let sample_interval = document
            .sample_interval
            .unwrap_or_else(|| sample_interval(document.duration, &flows));
        let mut scenario = Scenario {
            name: document.name,
            question: document.question,
            duration: document.duration,
            warmup: document.warmup,
            seed: document.seed.0,
            replicates: document.replicates,
            vary: document.vary.unwrap_or(Vary::Nothing),
            sample_interval,
            media,
            hops,
            flows,
            resolved: Value::Null,
            derived: plain.derived,
        };
        if document.vary.is_none() && !scenario.draws() {
            scenario.vary = Vary::Phase;
        }
        scenario.check()?;
        scenario.resolved = scenario.written();
        Ok(scenario)
    }

    /// Returns the document of this scenario, defaults included.
    fn written(&self) -> Value {
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
            packet_delays: hop.packet_delays,
        };
        let names = |route: &[usize]| route.iter().map(|&at| self.hops[at].name.clone()).collect();
        let flow = |flow: &FlowDescription| FlowDocument {
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
            transport: flow.transport.resolved.clone(),
            traffic: flow.traffic.resolved.clone(),
            start: flow.start,
            stop: Stop(flow.stop),
            access_delay: flow.access_delay,
            control_states: flow.control_states,
            control_calls: flow.control_calls,
            source: flow.hosts[0].clone(),
            destination: flow.hosts[1].clone(),
            dscp: flow.dscp,
        };
        let hops: Vec<Value> = self.hops.iter().map(|entry| to_tree(&hop(entry))).collect();
        let flows: Vec<Value> = self
            .flows
            .iter()
            .map(|entry| to_tree(&flow(entry)))
            .collect();
        // Hops and flows, which are trees already, take the places of the empty lists.
        let mut written = to_tree(&Document {
            schema: VERSION,
            name: self.name.clone(),
            question: self.question.clone(),
            duration: self.duration,
            warmup: self.warmup,
            seed: Seed(self.seed),
            replicates: self.replicates,
            vary: Some(self.vary),
            sample_interval: Some(self.sample_interval),
            shared_media: self.media.iter().map(MediumDescription::written).collect(),
            hops: Vec::new(),
            flows: Vec::new(),
            values: None,
            sweep: None,
            lab: None,
        });
        written["hops"] = hops.into();
        written["flows"] = flows.into();
        written
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
    all(list.iter().enumerate().map(|(position, tree)| {
        read(tree, position).map_err(|error| error.within(&address(tree, position)))
    }))
}

/// Checks a name. Names are steps of paths (`hops.NAME.delay`), parts of streams' names
/// (`flow/NAME/0`) and items of lists in a sweep's key.
fn check_name(name: &str) -> Result<()> {
    let problem = if name.trim() != name || name.is_empty() {
        "is not a name; for example \"bottleneck\""
    } else if name.contains(['.', '/', ',', '=']) || name.contains(char::is_control) {
        "contains \".\", \"/\", \",\", \"=\" or a control character; remove it"
    } else if name.bytes().all(|byte| byte.is_ascii_digit()) {
        "is a number; a name needs a character other than a digit"
    } else {
        return Ok(());
    };
    Err(Error::new("name", &name.into(), problem))
}

/// Refuses the second of two equal names. An empty one is a mistake by itself.
fn unique(names: &[String], field: &str) -> Result<()> {
    let mut seen = std::collections::BTreeMap::new();
    let mut check = |position: usize, name: &String| match seen.insert(name.clone(), position) {
        Some(first) if !name.is_empty() => Err(Error::contradiction(
            &format!("{field}.{position}.name"),
            &name.as_str().into(),
            &format!("is also the name of {field}.{first}; choose another"),
        )),
        _ => Ok(()),
    };
    all(names
        .iter()
        .enumerate()
        .map(|(position, name)| check(position, name)))
    .map(|_| ())
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
                Error::new("name", &other, "is not a name; for example \"cell\"")
                    .coded(Code::WrongType),
            );
        }
        None => return Err(Error::missing("name", "for example name = \"cell\"")),
    };
    let (_, medium) = both(check_name(&name), choose(&tree, files))?;
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
    let (document, mistakes): (HopDocument, _) = parse::leniently(tree)?;
    let link = choose_within("link", &document.link, files);
    let queue = choose_within("queue", &document.queue, files);
    let impairment =
        |(position, tree)| choose_within(&format!("impairments.{position}"), tree, files);
    let impairments = all(document.impairments.iter().enumerate().map(impairment));
    let name = both(mistakes.map_or(Ok(()), Err), check_name(&document.name));
    let (_, ((link, queue), impairments)) = both(name, both(both(link, queue), impairments))?;
    Ok(HopDescription {
        link,
        queue,
        impairments,
        name: document.name,
        scope: document.scope,
        delay: document.delay,
        packet_delays: document.packet_delays,
    })
}

/// Returns an element with the defaults of all parameters, those of elements in it included. Its
/// facts are those of an element whose parameters cannot be read.
fn with_defaults(element: &Value) -> Value {
    let Value::Object(map) = element else {
        return element.clone();
    };
    let kept = map.iter().filter_map(|(name, value)| match value {
        _ if name == "kind" => Some((name.clone(), value.clone())),
        Value::Object(inner) if inner.contains_key("kind") => {
            Some((name.clone(), with_defaults(value)))
        }
        _ => None,
    });
    Value::Object(kept.collect())
}

/// Reads a flow.
fn flow(
    tree: &Value,
    position: usize,
    hops: (&[String], &HopPlaces<'_>),
    files: &dyn Files,
) -> Result<FlowDescription> {
    let (document, mistakes): (FlowDocument, _) = parse::leniently(tree)?;
    let name = document.name.unwrap_or_else(|| default_name(position));
    let transport = choose_within("transport", &document.transport, files);
    let instances = instances(document.count, document.arrivals);
    let routes = both(
        route(&document.route, "route", hops),
        route(&document.return_route, "return", hops),
    );
    let traffic = choose_within("traffic", &document.traffic, files);
    let whole = every([
        mistakes.map_or(Ok(()), Err),
        check_name(&name),
        check_times(document.start, document.stop.0),
        check_route("route", &document.route, true),
        check_route("return", &document.return_route, false),
        check_control_states(document.control_states, &transport),
        check_control_calls(document.control_calls, &transport),
        check_host("source", document.source.as_deref()),
        check_host("destination", document.destination.as_deref()),
    ]);
    let usual = || choose(&with_defaults(&document.transport), files).ok();
    let fit = both(
        match transport.as_ref().ok().cloned().or_else(usual) {
            Some(transport) => check_acknowledged(&transport, &document.return_route),
            None => Ok(()),
        },
        match (&transport, &traffic) {
            (Ok(transport), Ok(traffic)) => check_traffic(transport, traffic),
            _ => Ok(()),
        },
    );
    let parts = both(both(transport, instances), both(routes, traffic));
    let ((), (parts, _)) = both(whole, both(parts, fit))?;
    let ((transport, instances), ((route, return_route), traffic)) = parts;
    Ok(FlowDescription {
        name,
        instances,
        route,
        return_route,
        transport,
        traffic,
        start: document.start,
        stop: document.stop.0,
        access_delay: document.access_delay,
        control_states: document.control_states,
        control_calls: document.control_calls,
        hosts: [document.source, document.destination],
        dscp: document.dscp,
    })
}

/// Returns a number of instances, or arrivals; one instance if neither is given.
fn instances(count: Option<u32>, arrivals: Option<Arrivals>) -> Result<Instances> {
    let instances = match (count, arrivals) {
        (count, None) => Instances::Count(count.unwrap_or(1)),
        (None, Some(arrivals)) => Instances::Arriving(arrivals),
        (Some(count), Some(_)) => {
            let remedy = "does not go with arrivals, which draw the number of instances; remove \
                count or arrivals";
            return Err(Error::contradiction("count", &count.into(), remedy));
        }
    };
    check_instances(instances)?;
    Ok(instances)
}

/// Positions of hops by their names.
type HopPlaces<'a> = HashMap<&'a str, usize>;

/// Converts names of hops to their positions.
fn route(
    names: &[String],
    field: &str,
    (hops, places): (&[String], &HopPlaces<'_>),
) -> Result<Vec<usize>> {
    let place = |(step, name): (usize, &String)| {
        let place = places.get(name.as_str()).copied();
        place.ok_or_else(|| unknown_hop(&format!("{field}.{step}"), name, hops))
    };
    all(names.iter().enumerate().map(place))
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
