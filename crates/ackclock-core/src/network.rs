//! From a scenario to a network: hops built, each element with its own named stream, and every flow instance's routes through them. Whatever
//! drives it, virtual time or the real clock, starts from the same network and draws the same numbers.

use crate::hop::Hop;
use crate::link::contention::Contention;
use crate::link::{Link, LinkContext};
use crate::medium::{Medium, Seat};
use crate::queue::{Discipline, QueueContext};
use crate::registry::Place;
use crate::routes::{Routes, Stop};
use crate::scenario::quantity::Limit;
use crate::scenario::{
    FlowDescription, HopDescription, Instances, MediumDescription, Range, Scenario, Scope,
};
use crate::streams::{Stream, Streams};
use crate::units::{BitRate, Bytes, Span, Time};
use std::collections::BTreeMap;

/// What packets travel through.
#[derive(Debug)]
pub struct Network {
    /// The scenario's shared hops in their order, then hops of single flows, first those that others can feel because they contend for a medium.
    pub hops: Vec<Hop>,
    /// The name of each shared hop.
    pub shared: Vec<String>,
    /// A second instance of each shared hop's link, with the same realisation: the link itself may be asked only about the future. Nothing where it
    /// contends for a medium.
    pub meters: Vec<Option<Box<dyn Link>>>,
    /// The scenario's media in their order.
    pub media: Vec<SharedMedium>,
    /// The flows' instances in the scenario's order, as a [`FlowId`](crate::packet::FlowId) numbers them.
    pub instances: Vec<Instance>,
    /// Their routes.
    pub routes: Routes,
}

/// A medium, and who contends for it.
#[derive(Debug)]
pub struct SharedMedium {
    /// Its name.
    pub name: String,
    /// The medium.
    pub medium: Box<dyn Medium>,
    /// Its contenders, as it numbers them.
    pub contenders: Vec<Occupant>,
    /// The stations that have a name: of which flow instance, if of one, and which.
    stations: BTreeMap<(Option<u32>, String), u32>,
    next_station: u32,
}

/// A contender for a medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupant {
    /// Its hop, as an index into [`Network::hops`].
    pub hop: u32,
    /// That hop's name.
    pub name: String,
    /// The instance whose hop it is, as an index into [`Network::instances`]; `None` if it is shared.
    pub owner: Option<u32>,
    /// Number of its station.
    pub station: u32,
}

impl SharedMedium {
    /// The number of that station, a new one for a name that is new or for none.
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

/// One flow of a group of like flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Which of [`Scenario::flows`] it is an instance of.
    pub group: u32,
    /// Which instance of that.
    pub number: u32,
    /// When it starts.
    pub start: Time,
}

impl Instance {
    /// The prefix of its streams' names, `flow/NAME/NUMBER`.
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
        routes: Routes::default(),
    };
    let mut index_of = vec![None; scenario.hops.len()];
    for (number, description) in scenario.hops.iter().enumerate() {
        if description.scope == Scope::Shared {
            index_of[number] = Some(network.hops.len() as u32);
            network.shared.push(description.name.clone());
            let place = place_of_hop(description);
            let builder = HopBuilder {
                scenario,
                description,
                place: Place {
                    streams,
                    name: &place,
                },
            };
            builder.add(&mut network, Span::ZERO, None);
            let contends = description.link.facts.contends.is_some();
            let meter = (!contends).then(|| build_link(scenario, description, streams, &place));
            network.meters.push(meter);
        }
    }
    let builder = RouteBuilder {
        scenario,
        streams,
        index_of: &index_of,
    };
    for (group, description) in scenario.flows.iter().enumerate() {
        let first = network.instances.len();
        network.instances.extend(instances_of(scenario, group, streams));
        for number in 0..(network.instances.len() - first) as u32 {
            builder.add_routes(description, (first as u32 + number, number), &mut network);
        }
    }
    if network.hops[network.shared.len()..]
        .iter()
        .any(|hop| hop.seat().is_some())
    {
        network.number_contenders_first();
    }
    network
}

/// The scenario's media, nobody contending yet.
fn media(scenario: &Scenario, streams: &Streams) -> Vec<SharedMedium> {
    let medium = |description: &MediumDescription| SharedMedium {
        name: description.name.clone(),
        medium: description.medium.build(Place {
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
    /// Moves the contending hops of single flows in front of what nobody but a flow can see: who works ahead tells the two apart by their numbers.
    fn number_contenders_first(&mut self) {
        let private = |(number, hop): &(usize, Hop)| *number >= self.shared.len() && hop.seat().is_none();
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
        for occupant in self.media.iter_mut().flat_map(|medium| &mut medium.contenders) {
            occupant.hop = numbers[occupant.hop as usize];
        }
    }
}

/// The instances of all flows in the scenario's order, with the streams of one replicate: those of the [`Network`] that is built of them.
pub fn instances(scenario: &Scenario, streams: &Streams) -> Vec<Instance> {
    (0..scenario.flows.len())
        .flat_map(|group| instances_of(scenario, group, streams))
        .collect()
}

/// The instances of one group of flows.
fn instances_of(scenario: &Scenario, group: usize, streams: &Streams) -> Vec<Instance> {
    let description = &scenario.flows[group];
    let start = |name: &str| Time::ZERO + uniform(description.start, &mut streams.stream(name));
    let instance = |(number, start)| Instance {
        group: group as u32,
        number,
        start,
    };
    match description.instances {
        Instances::Count(count) => (0..count)
            .map(|number| (number, start(&format!("{}/start", place_of(description, number)))))
            .map(instance)
            .collect(),
        Instances::Arriving(arrivals) => {
            let place = format!("flow/{}", description.name);
            let end = description.stop.min(Time::ZERO + scenario.duration);
            let mut stream = streams.stream(&format!("{place}/arrivals"));
            let times = arrivals.times(start(&format!("{place}/start")), end, &mut stream);
            (0..).zip(times).map(instance).collect()
        }
    }
}

/// A hop's link. One that measures another hop's gets an instance of that of its own, which draws the same numbers.
pub fn build_link(
    scenario: &Scenario,
    description: &HopDescription,
    streams: &Streams,
    place: &str,
) -> Box<dyn Link> {
    let measured = scenario
        .hops
        .iter()
        .find(|hop| description.link.facts.measures.as_ref() == Some(&hop.name));
    description.link.build(LinkContext {
        measured: measured.map(|hop| build_link(scenario, hop, streams, &place_of_hop(hop))),
        place: Place {
            streams,
            name: &format!("{place}/link"),
        },
    })
}

/// The prefix of the names of a shared hop's streams.
fn place_of_hop(description: &HopDescription) -> String {
    format!("hop/{}", description.name)
}

/// A hop to be built at a place.
struct HopBuilder<'a> {
    scenario: &'a Scenario,
    description: &'a HopDescription,
    place: Place<'a>,
}

impl HopBuilder<'_> {
    /// Adds the hop, and itself to the medium it contends for; `owner` is the instance whose hop it is.
    fn add(&self, network: &mut Network, extra: Span, owner: Option<u32>) {
        let HopDescription {
            name,
            link,
            queue,
            impairments,
            delay,
            ..
        } = self.description;
        let Place { streams, name: place } = self.place;
        let seat = link
            .facts
            .contends
            .as_ref()
            .map(|contention| self.seat(contention, network, (name, owner)));
        let link = build_link(self.scenario, self.description, streams, place);
        let queue = queue.build(QueueContext {
            place: Place {
                streams,
                name: &format!("{place}/queue"),
            },
            link: &*link,
        });
        let impairments = (0..)
            .zip(impairments)
            .map(|(number, one): (u32, _)| {
                one.build(Place {
                    streams,
                    name: &format!("{place}/impairment/{number}"),
                })
            })
            .collect();
        let delay = *delay + extra;
        network.hops.push(match seat {
            Some(seat) => Hop::contending(queue, (seat, link), impairments, delay),
            None => Hop::new(queue, link, impairments, delay),
        });
    }

    /// Where the hop that is built next contends.
    fn seat(
        &self,
        contention: &Contention,
        network: &mut Network,
        (name, owner): (&String, Option<u32>),
    ) -> Seat {
        let hop = network.hops.len() as u32;
        let found = network
            .media
            .iter()
            .position(|medium| medium.name == contention.medium);
        let Some(number) = found else {
            unreachable!("the scenario's check finds the medium");
        };
        let shared = &mut network.media[number];
        let station = shared.station(owner, contention.station.as_ref());
        let stream = self.place.streams.stream(&format!("{}/link", self.place.name));
        let Ok(added) = shared.medium.add(station, contention, stream) else {
            unreachable!("the scenario's check adds each contender");
        };
        shared.contenders.push(Occupant {
            hop,
            name: name.clone(),
            owner,
            station,
        });
        Seat {
            medium: number as u32,
            contender: added as u32,
        }
    }
}

/// Takes no time to send anything: the link of a flow's extra delay.
#[derive(Debug)]
struct Instant;

impl Link for Instant {
    fn finish(&mut self, start: Time, _size: Bytes) -> Time {
        start
    }
    fn rate(&self, _at: Time) -> BitRate {
        BitRate::from_bit_per_s(u64::MAX)
    }
    fn mean_rate(&self, from: Time, _until: Time) -> BitRate {
        self.rate(from)
    }
}

struct RouteBuilder<'a> {
    scenario: &'a Scenario,
    streams: &'a Streams,
    index_of: &'a [Option<u32>],
}

impl RouteBuilder<'_> {
    /// Adds the routes of a flow's instance, and the hops on them that are its own.
    fn add_routes(&self, description: &FlowDescription, (id, number): (u32, u32), network: &mut Network) {
        let name = place_of(description, number);
        let extra = match description.instances {
            Instances::Count(count) => spread(description.extra_delay, number, count),
            Instances::Arriving(_) => {
                let mut stream = self.streams.stream(&format!("{name}/extra_delay"));
                uniform(description.extra_delay, &mut stream)
            }
        };
        let place = format!("{name}/route");
        let forward = self.route(&description.route, (id, extra), &place, network);
        let place = format!("{name}/return");
        let back = self.route(&description.return_route, (id, Span::ZERO), &place, network);
        network.routes.push(&forward, &back);
    }

    /// Where packets stop on the way. A hop of scope `per_flow` is built for each place in the route. An extra delay is a hop of the
    /// flow's own; before a hop that is its own already, it is as good behind that one's link. Who contends for a medium can be felt by others.
    fn route(
        &self,
        numbers: &[usize],
        (id, mut extra): (u32, Span),
        place: &str,
        network: &mut Network,
    ) -> Vec<Stop> {
        let mut stops = Vec::with_capacity(numbers.len() + 1);
        if extra > Span::ZERO
            && numbers
                .first()
                .is_some_and(|first| self.index_of[*first].is_some())
        {
            stops.push(Stop::hop(network.hops.len(), true));
            network.hops.push(Hop::new(
                Discipline::DropTail(Limit::Unlimited.into()),
                Box::new(Instant),
                Vec::new(),
                std::mem::take(&mut extra),
            ));
        }
        for &number in numbers {
            let description = &self.scenario.hops[number];
            stops.push(match self.index_of[number] {
                Some(shared) => Stop::hop(shared as usize, false),
                None => {
                    let place = format!("{place}/{}/{}", stops.len(), description.name);
                    let builder = HopBuilder {
                        scenario: self.scenario,
                        description,
                        place: Place {
                            streams: self.streams,
                            name: &place,
                        },
                    };
                    builder.add(network, std::mem::take(&mut extra), Some(id));
                    Stop::hop(network.hops.len() - 1, description.link.facts.contends.is_none())
                }
            });
        }
        stops
    }
}

/// The instance's share of an evenly spread range.
fn spread(range: Range, instance: u32, count: u32) -> Span {
    let steps = u64::from(count.max(2) - 1);
    range.low + (range.high - range.low) * u64::from(instance) / steps
}

/// Drawn uniformly from the range; one draw even if it is a single value.
fn uniform(range: Range, stream: &mut Stream) -> Span {
    range.low + stream.uniform_span(range.high - range.low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{files::NoFiles, tree};

    const TWO_GROUPS: &str = r#"
schema = 1
name = "two groups"
duration = "10 s"

[[hops]]
name = "access"
scope = "per_flow"
link = { kind = "constant", rate = "50 Mbit/s" }
queue = { kind = "droptail", limit = "40 packets" }

[[hops]]
name = "bottleneck"
link = { kind = "markov", rates = ["6 Mbit/s", "1 Mbit/s"], mean_sojourn = "200 ms" }
queue = { kind = "droptail", limit = "25 packets" }

[[flows]]
name = "near"
count = 2
route = ["access", "bottleneck"]
return = ["bottleneck"]
transport = { kind = "tcp", control = { kind = "reno" } }
traffic = { kind = "bulk" }
start = ["0 s", "1 s"]
extra_delay = ["4 ms", "8 ms"]

[[flows]]
name = "far"
route = ["bottleneck"]
return = ["bottleneck", "access"]
transport = { kind = "tcp", control = { kind = "reno" } }
traffic = { kind = "bulk" }
start = "3 s"
extra_delay = "10 ms"
"#;

    fn network(replicate: u32) -> (Scenario, Network) {
        let scenario = Scenario::from_tree(&tree::from_toml(TWO_GROUPS).unwrap(), &NoFiles).unwrap();
        let network = build(&scenario, &Streams::new(scenario.seed, replicate));
        (scenario, network)
    }

    #[test]
    fn instances_are_numbered_as_written_and_own_hops_follow_shared_ones() {
        let (scenario, network) = network(0);
        let places: Vec<String> = network.instances.iter().map(|one| one.place(&scenario)).collect();
        assert_eq!(places, ["flow/near/0", "flow/near/1", "flow/far/0"]);
        assert_eq!(network.shared, ["bottleneck"]);
        let way = |flow, forward| -> Vec<usize> {
            network
                .routes
                .way(flow, forward)
                .filter_map(Stop::as_hop)
                .collect()
        };
        assert_eq!((way(0, true), way(0, false)), (vec![1, 0], vec![0]));
        assert_eq!((way(1, true), way(1, false)), (vec![2, 0], vec![0]));
        // An extra delay in front of a shared hop is a hop.
        assert_eq!((way(2, true), way(2, false)), (vec![3, 0], vec![0, 4]));
        assert_eq!(network.hops.len(), 5);
    }

    #[test]
    fn arrivals_are_the_flows_own_draws_and_end_with_it() {
        let arriving = TWO_GROUPS.replacen(
            "count = 2\n",
            "arrivals = { kind = \"poisson\", mean_interval = \"20 ms\" }\nstop = \"9 s\"\n",
            1,
        );
        let built = |text: &str, replicate| {
            let scenario = Scenario::from_tree(&tree::from_toml(text).unwrap(), &NoFiles).unwrap();
            let built = build(&scenario, &Streams::new(scenario.seed, replicate));
            (scenario, built)
        };
        let (scenario, network) = built(&arriving, 0);
        let (far, near) = network.instances.split_last().unwrap();
        assert_eq!(far.place(&scenario), "flow/far/0");
        assert!(near.is_sorted_by_key(|one| one.start));
        assert!(near.iter().all(|one| one.start < Time::from_seconds(9.0)));
        // They begin somewhere in the first second: 400 to 450 on average, give or take 4·√450.
        assert!((310..540).contains(&near.len()), "{}", near.len());
        assert_eq!(
            instances(&scenario, &Streams::new(scenario.seed, 0)),
            network.instances
        );
        let (again, other) = (built(&arriving, 0).1, built(&arriving, 1).1);
        assert_eq!(again.instances, network.instances);
        assert_ne!(other.instances[..10], network.instances[..10]);
        // Another flow, or another seed of it, moves no arrival.
        let alone = arriving.replace("extra_delay = \"10 ms\"", "count = 3");
        assert_eq!(built(&alone, 0).1.instances[..near.len()], *near);
        // Each has the hop of its own on its route, and a delay of its own in that.
        let delays: Vec<Span> = (0..near.len())
            .filter_map(|flow| network.routes.first(flow, true).as_hop())
            .map(|hop| network.hops[hop].delay())
            .collect();
        assert!(
            delays
                .iter()
                .all(|delay| (Span::from_millis(4)..=Span::from_millis(8)).contains(delay))
        );
        assert_ne!(delays[0], delays[1]);
    }

    #[test]
    fn who_contends_comes_before_what_nobody_sees_and_stations_have_names() {
        let cell = TWO_GROUPS
            .replace("[[hops]]\nname = \"access\"", "[[media]]\nname = \"cell\"\nkind = \"edca\"\n\n[[hops]]\nname = \"access\"")
            .replace("name = \"bottleneck\"\nlink = { kind = \"markov\", rates = [\"6 Mbit/s\", \"1 Mbit/s\"], mean_sojourn = \"200 ms\" }", CONTENDERS)
            .replace("route = [\"access\", \"bottleneck\"]", "route = [\"access\", \"data\", \"bottleneck\"]")
            .replace("return = [\"bottleneck\"]", "return = [\"bottleneck\", \"acks\", \"data\", \"access\"]");
        let scenario = Scenario::from_tree(&tree::from_toml(&cell).unwrap(), &NoFiles).unwrap();
        let network = build(&scenario, &Streams::new(scenario.seed, 0));
        // One shared, then of each of two flows one on its way and two on the way back.
        let contends: Vec<bool> = network.hops.iter().map(|hop| hop.seat().is_some()).collect();
        assert_eq!(contends.iter().position(|one| !one), Some(7));
        assert_eq!(network.routes.shared_hops(), 7);
        let way = |flow, forward| -> Vec<usize> {
            network
                .routes
                .way(flow, forward)
                .filter_map(Stop::as_hop)
                .collect()
        };
        assert_eq!((way(0, true), way(0, false)), (vec![7, 1, 0], vec![0, 2, 3, 8]));
        assert_eq!((way(1, true), way(1, false)), (vec![9, 4, 0], vec![0, 5, 6, 10]));
        let occupants = &network.media[0].contenders;
        let told: Vec<_> = occupants
            .iter()
            .map(|one| (one.hop, &*one.name, one.owner, one.station))
            .collect();
        // Hops of an instance that name a station are one; the shared hop of that name is another.
        let expected = [
            (0, "bottleneck", None, 0),
            (1, "data", Some(0), 1),
            (2, "acks", Some(0), 2),
            (3, "data", Some(0), 1),
            (4, "data", Some(1), 3),
            (5, "acks", Some(1), 4),
            (6, "data", Some(1), 3),
        ];
        assert_eq!(told, expected);
        for (number, one) in (0..).zip(occupants) {
            let seat = network.hops[one.hop as usize].seat();
            assert_eq!(
                seat,
                Some(Seat {
                    medium: 0,
                    contender: number
                })
            );
        }
        assert!(network.meters[0].is_none());
    }

    const CONTENDERS: &str = r#"name = "data"
scope = "per_flow"
link = { kind = "contender", medium = "cell", rate = "54 Mbit/s", station = "a" }
queue = { kind = "droptail", limit = "unlimited" }

[[hops]]
name = "acks"
scope = "per_flow"
link = { kind = "contender", medium = "cell", rate = "54 Mbit/s" }
queue = { kind = "droptail", limit = "unlimited" }

[[hops]]
name = "bottleneck"
link = { kind = "contender", medium = "cell", rate = "54 Mbit/s", station = "a" }"#;

    #[test]
    fn a_replicate_draws_its_own_numbers_and_always_the_same() {
        let starts = |replicate| network(replicate).1.instances;
        assert_eq!(starts(0), starts(0));
        assert_ne!(starts(0)[..2], starts(1)[..2]);
        assert!(
            starts(0)[..2]
                .iter()
                .all(|one| one.start <= Time::from_seconds(1.0))
        );
        assert_eq!(starts(0)[2].start, Time::from_seconds(3.0));
    }
}
