//! From a scenario to hops and flows: instances expanded, elements built, each with its own named stream.

use crate::flow::{Flow, Protocol};
use crate::routes::{Routes, Stop};
use ackclock_core::congestion::ControlContext;
use ackclock_core::endpoint::{Receiver, Sender};
use ackclock_core::hop::Hop;
use ackclock_core::link::Link;
use ackclock_core::packet::FlowId;
use ackclock_core::queue::droptail::DropTail;
use ackclock_core::registry::{Place, Recipe};
use ackclock_core::scenario::quantity::Limit;
use ackclock_core::scenario::{FlowDescription, HopDescription, Range, Scenario, Scope, Transport};
use ackclock_core::streams::Streams;
use ackclock_core::traffic::TrafficContext;
use ackclock_core::units::{BitRate, Bytes, Span, Time};
use std::sync::Arc;

/// What a run is made of.
#[derive(Debug)]
pub struct Topology {
    /// The scenario's shared hops in their order, then hops of single flows.
    pub hops: Vec<Hop>,
    /// The name of each shared hop.
    pub shared: Vec<String>,
    /// A second instance of each shared hop's link, with the same realisation: the link itself may be asked only about the future.
    pub meters: Vec<Box<dyn Link>>,
    /// The flows' instances in the scenario's order.
    pub flows: Vec<Flow>,
    /// Their routes.
    pub routes: Routes,
}

/// Builds a replicate of a scenario.
pub fn build(scenario: &Scenario, replicate: u32) -> Topology {
    let streams = Streams::new(scenario.seed, replicate);
    let mut topology = Topology {
        hops: Vec::new(),
        shared: Vec::new(),
        meters: Vec::new(),
        flows: Vec::new(),
        routes: Routes::default(),
    };
    let mut index_of = vec![None; scenario.hops.len()];
    for (number, description) in scenario.hops.iter().enumerate() {
        if description.scope == Scope::Shared {
            index_of[number] = Some(topology.hops.len() as u32);
            topology.shared.push(description.name.clone());
            let place = format!("hop/{}", description.name);
            topology
                .hops
                .push(build_hop(description, Span::ZERO, &streams, &place));
            topology.meters.push(build_link(description, &streams, &place));
        }
    }
    for (group, description) in scenario.flows.iter().enumerate() {
        for instance in 0..description.count {
            let builder = FlowBuilder {
                scenario,
                description,
                streams: &streams,
                index_of: &index_of,
            };
            let flow = builder.build(group, instance, &mut topology);
            topology.flows.push(flow);
        }
    }
    topology
}

fn build_link(description: &HopDescription, streams: &Streams, place: &str) -> Box<dyn Link> {
    description.link.build(Place {
        streams,
        name: &format!("{place}/link"),
    })
}

fn build_hop(description: &HopDescription, extra: Span, streams: &Streams, place: &str) -> Hop {
    let queue = description.queue.build(Place {
        streams,
        name: &format!("{place}/queue"),
    });
    let impairments = (0..)
        .zip(&description.impairments)
        .map(|(number, one): (u32, _)| {
            one.build(Place {
                streams,
                name: &format!("{place}/impairment/{number}"),
            })
        })
        .collect();
    Hop::new(
        queue,
        build_link(description, streams, place),
        impairments,
        description.delay + extra,
    )
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
}

struct FlowBuilder<'a> {
    scenario: &'a Scenario,
    description: &'a FlowDescription,
    streams: &'a Streams,
    index_of: &'a [Option<u32>],
}

impl FlowBuilder<'_> {
    fn build(&self, group: usize, instance: u32, topology: &mut Topology) -> Flow {
        let FlowBuilder {
            description, streams, ..
        } = self;
        let name = format!("flow/{}/{instance}", description.name);
        let extra = spread(description.extra_delay, instance, description.count);
        let forward = self.route(&description.route, extra, &format!("{name}/route"), topology);
        let back = self.route(
            &description.return_route,
            Span::ZERO,
            &format!("{name}/return"),
            topology,
        );
        topology.routes.push(&forward, &back);
        let start = uniform(description.start, &mut streams.stream(&format!("{name}/start")));
        let (protocol, mss) = self.protocol(&name);
        let traffic_name = format!("{name}/traffic");
        let traffic = description.traffic.build(TrafficContext {
            place: Place {
                streams,
                name: &traffic_name,
            },
            mss,
        });
        Flow::new(
            FlowId(topology.flows.len() as u32),
            (group as u32, instance),
            protocol,
            traffic,
            Time::ZERO + start..description.stop,
        )
    }

    /// Where packets stop on the way. A hop of scope `per_flow` is built for each place in the route. An extra delay is a hop of the
    /// flow's own; before a hop that is its own already, it is as good behind that one's link.
    fn route(&self, numbers: &[usize], mut extra: Span, place: &str, topology: &mut Topology) -> Vec<Stop> {
        let mut stops = Vec::with_capacity(numbers.len() + 1);
        if extra > Span::ZERO
            && numbers
                .first()
                .is_some_and(|first| self.index_of[*first].is_some())
        {
            let unlimited = DropTail {
                limit: Limit::Unlimited,
                counts_packet_in_service: false,
            };
            let queue = unlimited.build(Place {
                streams: self.streams,
                name: place,
            });
            stops.push(Stop::hop(topology.hops.len(), true));
            topology.hops.push(Hop::new(
                queue,
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
                    let own = build_hop(description, std::mem::take(&mut extra), self.streams, &place);
                    topology.hops.push(own);
                    Stop::hop(topology.hops.len() - 1, true)
                }
            });
        }
        stops
    }

    fn protocol(&self, name: &str) -> (Protocol, Bytes) {
        match &self.description.transport {
            Transport::Tcp { control, parameters } => {
                let place = format!("{name}/control");
                let control = control.build(ControlContext {
                    place: Place {
                        streams: self.streams,
                        name: &place,
                    },
                    mss: parameters.mss,
                    initial_window: parameters.mss * u64::from(parameters.initial_window.0),
                    initial_ssthresh: parameters.initial_ssthresh.bytes(parameters.mss),
                });
                let jitter = self.streams.stream(&format!("{name}/jitter"));
                let sender = Sender::new(Arc::clone(parameters), control, jitter);
                (
                    Protocol::tcp(sender, Receiver::new(parameters), parameters),
                    parameters.mss,
                )
            }
            Transport::Udp { mss, header } => (Protocol::udp(*header), *mss),
        }
    }
}

/// The instance's share of an evenly spread range.
fn spread(range: Range, instance: u32, count: u32) -> Span {
    let steps = u64::from(count.max(2) - 1);
    range.low + (range.high - range.low) * u64::from(instance) / steps
}

/// Drawn uniformly from the range; one draw even if it is a single value.
fn uniform(range: Range, stream: &mut ackclock_core::streams::Stream) -> Span {
    range.low + stream.uniform_span(range.high - range.low)
}
