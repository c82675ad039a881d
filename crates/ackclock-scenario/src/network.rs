//! Builds the network of a scenario: the hops, each element with its own named stream, and the
//! routes of all flow instances. Virtual time and the real clock start from the same network and
//! draw the same random numbers.
//!
//! [`graph`] moves packets through a network in the order of time, for emulations and replays; its
//! [`decision`]s are what they record. The engine has a faster loop that does the same.

use crate::{FlowDescription, HopDescription, Instances, MediumDescription, Scenario, Scope};
use ackclock_core::hop::Hop;
use ackclock_core::link::contention::Contention;
use ackclock_core::link::{Link, LinkContext};
use ackclock_core::medium::{ContenderId, Medium};
use ackclock_core::packet::FlowId;
use ackclock_core::queue::{FlowLabel, FlowLabels, QueueContext};
use ackclock_core::routes::Routes;
use ackclock_spec::quantity::Range;
use ackclock_spec::registry::StreamScope;
use ackclock_spec::stated::Stated;
use ackclock_spec::streams::{Stream, Streams};
use ackclock_spec::units::{Span, Time};
use phase::Phases;
use routes::RouteBuilder;
use std::collections::BTreeMap;
use std::sync::Arc;

pub mod decision;
pub mod graph;
mod phase;
mod routes;

/// Hops, media, flow instances and routes of one run.
#[derive(Debug)]
pub struct Network {
    /// The hops of scope `shared` in the scenario's order, then those of scope `per_flow`. Of the
    /// latter, those that contend for a medium come first, because other flows can notice them. A
    /// hop that one flow alone uses is private in `routes`, whatever its scope.
    pub hops: Vec<Hop>,
    /// The name of each shared hop.
    pub shared: Vec<String>,
    /// A second instance of each shared hop's link with the same realisation, since the link itself
    /// may be asked only about the future. Its rate may not depend on what is served: `None` for an
    /// ABR source, and for a hop that contends for a medium.
    pub meters: Vec<Option<Box<dyn Link>>>,
    /// The media in the scenario's order.
    pub media: Vec<SharedMedium>,
    /// The flow instances, numbered as a [`FlowId`] in the order in which they act in the same
    /// nanosecond. Each group draws its turn, so the order of the groups in the scenario decides
    /// nothing, and none is first in every replicate.
    pub instances: Vec<Instance>,
    /// The flow of each instance in the scenario's order, in which tables list them.
    pub written: Vec<FlowId>,
    /// The routes of the instances.
    pub routes: Routes,
}

/// A medium and its contenders.
#[derive(Debug)]
pub struct SharedMedium {
    /// Name of the medium.
    pub name: String,
    /// The medium.
    pub medium: Box<dyn Medium>,
    /// The contenders, as the medium numbers them.
    pub contenders: Vec<Contender>,
    /// Number of each named station. A station of one flow instance is keyed by that instance, too.
    stations: BTreeMap<(Option<u32>, String), u32>,
    next_station: u32,
}

/// A contender for a medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// Index of its hop in [`Network::hops`].
    pub hop: u32,
    /// Name of its hop.
    pub name: String,
    /// Index in [`Network::instances`] of the instance that owns the hop; `None` if the hop is
    /// shared.
    pub owner: Option<u32>,
    /// Number of its station.
    pub station: u32,
}

impl SharedMedium {
    /// Returns the number of a station. A new name, or no name, gets a new number.
    fn station(&mut self, owner: Option<u32>, name: Option<&String>) -> u32 {
        let next = self.next_station;
        let number = match name {
            Some(name) => *self.stations.entry((owner, name.clone())).or_insert(next),
            None => next,
        };
        self.next_station += u32::from(number == next);
        number
    }
}

/// One instance of a flow group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Index of its group in [`Scenario::flows`].
    pub group: u32,
    /// Number of the instance in its group.
    pub number: u32,
    /// Time at which it starts.
    pub start: Time,
}

impl Instance {
    /// Returns the prefix of its streams' names, `flow/NAME/NUMBER`.
    pub fn place(&self, scenario: &Scenario) -> String {
        place_of(&scenario.flows[self.group as usize], self.number)
    }
}

fn place_of(description: &FlowDescription, number: u32) -> String {
    format!("flow/{}/{number}", description.name)
}

/// Builds a scenario's network with the streams of one replicate.
pub fn build(scenario: &Scenario, streams: &Streams) -> Network {
    let mut network = Network {
        hops: Vec::new(),
        shared: Vec::new(),
        meters: Vec::new(),
        media: media(scenario, streams),
        instances: Vec::new(),
        written: Vec::new(),
        routes: Routes::default(),
    };
    let labels = labels(scenario, streams);
    let mut index_of = vec![None; scenario.hops.len()];
    for (number, description) in scenario.hops.iter().enumerate() {
        if description.scope == Scope::Shared {
            index_of[number] = Some(network.hops.len() as u32);
            network.shared.push(description.name.clone());
            let place = place_of_hop(description);
            let builder = HopBuilder {
                scenario,
                labels: &labels,
                description,
                place: StreamScope {
                    streams,
                    name: &place,
                },
            };
            builder.add(&mut network, Span::ZERO, None);
            if let Some(hop) = network.hops.last_mut() {
                hop.keep_excess();
            }
            let is_metered = description.link.facts.has_rate_of_time();
            let meter = is_metered.then(|| build_link(scenario, description, streams, &place));
            network.meters.push(meter);
        }
    }
    let builder = RouteBuilder {
        scenario,
        labels: &labels,
        streams,
        index_of: &index_of,
    };
    let instances = in_turn(scenario, streams);
    for (id, instance) in (0..).zip(&instances) {
        let description = &scenario.flows[instance.group as usize];
        builder.add_routes(description, (id, instance.number), &mut network);
        network.written.push(FlowId(id));
    }
    network.written.sort_by_key(|flow| {
        let Instance { group, number, .. } = instances[flow.0 as usize];
        (group, number)
    });
    network.instances = instances;
    let Network { hops, routes, .. } = &mut network;
    routes.find_private(hops.len(), |hop| hops[hop].contender().is_none());
    record_delays(scenario, &mut network);
    if network.hops[network.shared.len()..]
        .iter()
        .any(|hop| hop.contender().is_some())
    {
        network.number_contenders_first();
    }
    network
}

/// Makes the shared hops that ask for it record the delays of packets after the warm-up.
fn record_delays(scenario: &Scenario, network: &mut Network) {
    let groups: Arc<[u32]> = network
        .instances
        .iter()
        .map(|instance| instance.group)
        .collect();
    let shared = scenario
        .hops
        .iter()
        .filter(|hop| hop.scope == Scope::Shared);
    for (description, hop) in shared.zip(&mut network.hops) {
        if description.packet_delays {
            hop.record_delays(Time::ZERO + scenario.warmup, groups.clone());
        }
    }
}

/// Returns the labels of the instances. Without named hosts, all have their own.
fn labels(scenario: &Scenario, streams: &Streams) -> FlowLabels {
    let names: Vec<&String> = turns(scenario, streams)
        .into_iter()
        .flat_map(|group| scenario.flows[group].hosts.iter().flatten())
        .collect();
    if names.is_empty() && scenario.flows.iter().all(|flow| flow.dscp.is_default()) {
        return FlowLabels::default();
    }
    let number = |flow: FlowId, name: &Option<String>| {
        let position = names.iter().position(|other| Some(*other) == name.as_ref());
        position.map_or(FlowLabels::own_host(flow), |number| {
            FlowLabels::named_host(number as u32)
        })
    };
    let instances = in_turn(scenario, streams);
    FlowLabels::new((0..).map(FlowId).zip(&instances).map(|(id, instance)| {
        let flow = &scenario.flows[instance.group as usize];
        FlowLabel {
            hosts: flow.hosts.each_ref().map(|name| number(id, name)),
            dscp: flow.dscp,
        }
    }))
}

/// Builds the scenario's media, without contenders.
fn media(scenario: &Scenario, streams: &Streams) -> Vec<SharedMedium> {
    let medium = |description: &MediumDescription| SharedMedium {
        name: description.name.clone(),
        medium: description.medium.build(StreamScope {
            streams,
            name: &format!("medium/{}", description.name),
        }),
        contenders: Vec::new(),
        stations: BTreeMap::new(),
        next_station: 0,
    };
    scenario.media.iter().map(medium).collect()
}

impl Network {
    /// Numbers the contending hops of single flows before the private hops. A driver that works
    /// ahead distinguishes the two by their numbers.
    fn number_contenders_first(&mut self) {
        let private = |(number, hop): &(usize, Hop)| {
            *number >= self.shared.len() && hop.contender().is_none()
        };
        let (last, first): (Vec<_>, Vec<_>) = std::mem::take(&mut self.hops)
            .into_iter()
            .enumerate()
            .partition(private);
        let mut numbers = vec![0; first.len() + last.len()];
        for (number, (former, hop)) in (0..).zip(first.into_iter().chain(last)) {
            numbers[former] = number;
            self.hops.push(hop);
        }
        self.routes.renumber(&numbers);
        for contender in self
            .media
            .iter_mut()
            .flat_map(|medium| &mut medium.contenders)
        {
            contender.hop = numbers[contender.hop as usize];
        }
    }
}

/// Returns the instances of all flows in the scenario's order, with the streams of one replicate.
/// The [`Network`] of these streams has the same instances.
pub fn instances(scenario: &Scenario, streams: &Streams) -> Vec<Instance> {
    (0..scenario.flows.len())
        .flat_map(|group| instances_of(scenario, group, streams))
        .collect()
}

/// Returns the instances in the order of their turns.
fn in_turn(scenario: &Scenario, streams: &Streams) -> Vec<Instance> {
    turns(scenario, streams)
        .into_iter()
        .flat_map(|group| instances_of(scenario, group, streams))
        .collect()
}

/// Returns the flow groups in the order of the turns that they draw.
fn turns(scenario: &Scenario, streams: &Streams) -> Vec<usize> {
    let turn = |group: &usize| {
        let name = &scenario.flows[*group].name;
        (streams.stream(&format!("flow/{name}/turn")).bits(), name)
    };
    let mut groups: Vec<usize> = (0..scenario.flows.len()).collect();
    groups.sort_by_cached_key(turn);
    groups
}

/// Returns the instances of one flow group.
fn instances_of(scenario: &Scenario, group: usize, streams: &Streams) -> Vec<Instance> {
    let description = &scenario.flows[group];
    let later = Phases::of(scenario, streams).map(|phases| phases.of_start(description));
    let start = |place: &str| {
        let start = uniform(
            description.start,
            &mut streams.stream(&format!("{place}/start")),
        );
        let later = later.map_or(Span::ZERO, |most| phase::draw(most, place, streams));
        Time::ZERO + start + later
    };
    let instance = |(number, start)| Instance {
        group: group as u32,
        number,
        start,
    };
    match description.instances {
        Instances::Count(count) => (0..count)
            .map(|number| (number, start(&place_of(description, number))))
            .map(instance)
            .collect(),
        Instances::Arriving(arrivals) => {
            let place = format!("flow/{}", description.name);
            let end = description.stop.min(Time::ZERO + scenario.duration);
            let mut stream = streams.stream(&format!("{place}/arrivals"));
            let times = arrivals.times(start(&place), end, &mut stream);
            (0..).zip(times).map(instance).collect()
        }
    }
}

/// Builds a hop's link. A link that measures another hop's link gets its own instance of that link,
/// which draws the same numbers.
pub fn build_link(
    scenario: &Scenario,
    description: &HopDescription,
    streams: &Streams,
    place: &str,
) -> Box<dyn Link> {
    description.link.build(LinkContext {
        measured: build_measured(scenario, &description.link.facts.measures, streams),
        place: StreamScope {
            streams,
            name: &format!("{place}/link"),
        },
    })
}

/// Builds an instance of the link of a hop that something else measures, if it measures one.
fn build_measured(
    scenario: &Scenario,
    measures: &Stated<String>,
    streams: &Streams,
) -> Option<Box<dyn Link>> {
    let name = measures.some()?;
    let hop = scenario.hops.iter().find(|hop| hop.name == *name)?;
    Some(build_link(scenario, hop, streams, &place_of_hop(hop)))
}

/// Returns the prefix of the names of a shared hop's streams.
fn place_of_hop(description: &HopDescription) -> String {
    format!("hop/{}", description.name)
}

/// Builds a hop at one place in the network.
struct HopBuilder<'a> {
    scenario: &'a Scenario,
    labels: &'a FlowLabels,
    description: &'a HopDescription,
    place: StreamScope<'a>,
}

impl HopBuilder<'_> {
    /// Adds the hop, and its contender to the medium it contends for. `owner` is the instance that
    /// owns the hop.
    fn add(&self, network: &mut Network, extra: Span, owner: Option<u32>) {
        let HopDescription {
            name,
            link,
            queue,
            impairments,
            delay,
            ..
        } = self.description;
        let StreamScope {
            streams,
            name: place,
        } = self.place;
        let id = link
            .facts
            .contends
            .some()
            .map(|contention| self.join_medium(contention, network, (name, owner)));
        let link = build_link(self.scenario, self.description, streams, place);
        let queue = queue.build(QueueContext {
            place: StreamScope {
                streams,
                name: &format!("{place}/queue"),
            },
            link: &*link,
            labels: self.labels,
            measured: &|| build_measured(self.scenario, &queue.facts.measures, streams),
        });
        let impairments = (0..)
            .zip(impairments)
            .map(|(number, one): (u32, _)| {
                one.build(StreamScope {
                    streams,
                    name: &format!("{place}/impairment/{number}"),
                })
            })
            .collect();
        let later = Phases::of(self.scenario, streams).map_or(Span::ZERO, |phases| {
            phase::draw(phases.of_hop(self.description), place, streams)
        });
        let delay = *delay + extra + later;
        network.hops.push(match id {
            Some(id) => Hop::contending(queue, (id, link), impairments, delay),
            None => Hop::new(queue, link, impairments, delay),
        });
    }

    /// Adds the next hop as a contender to its medium.
    fn join_medium(
        &self,
        contention: &Contention,
        network: &mut Network,
        (name, owner): (&String, Option<u32>),
    ) -> ContenderId {
        let hop = network.hops.len() as u32;
        let number = network
            .media
            .iter()
            .position(|medium| medium.name == contention.medium);
        let Some(number) = number else {
            unreachable!("the scenario's check finds the medium");
        };
        let shared = &mut network.media[number];
        let station = shared.station(owner, contention.station.some());
        let stream = self
            .place
            .streams
            .stream(&format!("{}/link", self.place.name));
        let Ok(added) = shared.medium.add(station, contention, stream) else {
            unreachable!("the scenario's check adds each contender");
        };
        shared.contenders.push(Contender {
            hop,
            name: name.clone(),
            owner,
            station,
        });
        ContenderId {
            medium: number as u32,
            contender: added as u32,
        }
    }
}

/// Returns the instance's value in an evenly spread range.
fn spread(range: Range, instance: u32, count: u32) -> Span {
    let steps = u64::from(count.max(2) - 1);
    range.low + (range.high - range.low) * u64::from(instance) / steps
}

/// Draws uniformly from the range; takes one draw even if it is a single value.
fn uniform(range: Range, stream: &mut Stream) -> Span {
    range.low + stream.uniform_span(range.high - range.low)
}

#[cfg(test)]
mod tests;
