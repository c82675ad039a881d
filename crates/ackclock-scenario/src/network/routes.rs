//! The routes of a flow instance and the hops that belong to it alone.

use super::{HopBuilder, Network, place_of, spread, uniform};
use crate::{FlowDescription, Instances, Scenario};
use ackclock_core::hop::Hop;
use ackclock_core::link::Link;
use ackclock_core::queue::Discipline;
use ackclock_core::queue::FlowLabels;
use ackclock_core::routes::Stop;
use ackclock_spec::quantity::QueueLimit;
use ackclock_spec::registry::StreamScope;
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{BitRate, Bytes, Span, Time};

/// The link of a flow's extra delay; it sends in zero time.
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

/// Builds the routes of flows.
pub(super) struct RouteBuilder<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) labels: &'a FlowLabels,
    pub(super) streams: &'a Streams,
    /// Index in the network of each hop of the scenario, `None` if it is not shared.
    pub(super) index_of: &'a [Option<u32>],
}

impl RouteBuilder<'_> {
    /// Adds the routes of a flow instance and the hops that belong to it alone.
    pub(super) fn add_routes(
        &self,
        description: &FlowDescription,
        (id, number): (u32, u32),
        network: &mut Network,
    ) {
        let name = place_of(description, number);
        let extra = match description.instances {
            Instances::Count(count) => spread(description.access_delay, number, count),
            Instances::Arriving(_) => {
                let mut stream = self.streams.stream(&format!("{name}/extra_delay"));
                uniform(description.access_delay, &mut stream)
            }
        };
        let place = format!("{name}/route");
        let forward = self.route(&description.route, (id, extra), &place, network);
        let place = format!("{name}/return");
        let back = self.route(&description.return_route, (id, Span::ZERO), &place, network);
        network.routes.push(&forward, &back);
    }

    /// Returns the stops of a route.
    ///
    /// A hop of scope `per_flow` is built once for each place in the route. An extra delay is a
    /// private hop. If the first hop is private already, the extra delay is added to that hop's
    /// delay instead, which is equivalent. A hop that contends for a medium is not private, because
    /// other flows can notice it.
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
                Discipline::DropTail(QueueLimit::Unlimited.into()),
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
                        labels: self.labels,
                        description,
                        place: StreamScope {
                            streams: self.streams,
                            name: &place,
                        },
                    };
                    builder.add(network, std::mem::take(&mut extra), Some(id));
                    Stop::hop(
                        network.hops.len() - 1,
                        !description.link.facts.contends.is_some(),
                    )
                }
            });
        }
        stops
    }
}
