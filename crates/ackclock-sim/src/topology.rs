//! Builds hops and flows from a scenario: the [`network`](ackclock_core::network), and the flow
//! instances with their endpoints, each with its own named stream.

use crate::flow::{Flow, Protocol};
use ackclock_core::congestion::ControlContext;
use ackclock_core::datagram::{DatagramReceiver, DatagramSender};
use ackclock_core::endpoint::{Receiver, Sender};
use ackclock_core::hop::Hop;
use ackclock_core::job::Job;
use ackclock_core::link::Link;
use ackclock_core::network::{Instance, Network, SharedMedium};
use ackclock_core::packet::FlowId;
use ackclock_core::rate_control::RateContext;
use ackclock_core::registry::StreamScope;
use ackclock_core::routes::Routes;
use ackclock_core::scenario::{FlowDescription, Transport};
use ackclock_core::streams::Streams;
use ackclock_core::traffic::TrafficContext;
use ackclock_core::units::Bytes;
use std::sync::Arc;

/// The parts of a run.
#[derive(Debug)]
pub struct Topology {
    /// The scenario's shared hops in their order, then the hops of single flows.
    pub hops: Vec<Hop>,
    /// The name of each shared hop.
    pub shared: Vec<String>,
    /// A second instance of each shared hop's link with the same realisation, since the link itself
    /// may be asked only about the future. `None` if the hop contends for a medium.
    pub meters: Vec<Option<Box<dyn Link>>>,
    /// The scenario's media.
    pub media: Vec<SharedMedium>,
    /// The flow instances in the scenario's order.
    pub flows: Vec<Flow>,
    /// The routes of the instances.
    pub routes: Routes,
}

/// Builds the parts of a run.
pub fn build(job: &Job<'_>) -> Topology {
    let (scenario, streams) = (job.scenario, job.streams());
    let Network {
        hops,
        shared,
        meters,
        media,
        instances,
        routes,
    } = job.network();
    let flow = |(id, instance): (u32, &Instance)| {
        let builder = FlowBuilder {
            description: &scenario.flows[instance.group as usize],
            streams: &streams,
        };
        builder.build(FlowId(id), instance, &instance.place(scenario))
    };
    let flows = (0..).zip(&instances).map(flow).collect();
    Topology {
        hops,
        shared,
        meters,
        media,
        flows,
        routes,
    }
}

struct FlowBuilder<'a> {
    description: &'a FlowDescription,
    streams: &'a Streams,
}

impl FlowBuilder<'_> {
    fn build(&self, id: FlowId, instance: &Instance, name: &str) -> Flow {
        let (protocol, mss) = self.protocol(name);
        let traffic_name = format!("{name}/traffic");
        let traffic = self.description.traffic.build(TrafficContext {
            place: StreamScope {
                streams: self.streams,
                name: &traffic_name,
            },
            mss,
        });
        Flow::new(
            id,
            (instance.group, instance.number),
            protocol,
            traffic,
            instance.start..self.description.stop,
        )
    }

    fn protocol(&self, name: &str) -> (Protocol, Bytes) {
        match &self.description.transport {
            Transport::Tcp {
                control,
                parameters,
            } => {
                let place = format!("{name}/control");
                let control = control.build(ControlContext {
                    place: StreamScope {
                        streams: self.streams,
                        name: &place,
                    },
                    mss: parameters.mss,
                    initial_window: parameters.mss * u64::from(parameters.initial_window.0),
                    initial_ssthresh: parameters.initial_ssthresh.bytes(parameters.mss),
                    ssthresh_in_whole_segments: parameters.ssthresh_in_whole_segments,
                });
                let jitter = self.streams.stream(&format!("{name}/jitter"));
                let sender = Sender::new(Arc::clone(parameters), control, jitter);
                (
                    Protocol::tcp(sender, Receiver::new(parameters), parameters),
                    parameters.mss,
                )
            }
            Transport::Udp { mss, header } => (Protocol::udp(*header), *mss),
            Transport::Controlled {
                control,
                parameters,
            } => {
                let halves = control.build(RateContext {
                    place: StreamScope {
                        streams: self.streams,
                        name: &format!("{name}/control"),
                    },
                    mss: parameters.mss,
                });
                let jitter = self.streams.stream(&format!("{name}/jitter"));
                let sender = DatagramSender::new(halves.sender, parameters, jitter);
                let receiver = DatagramReceiver::new(halves.receiver);
                (
                    Protocol::controlled(sender, receiver, parameters),
                    parameters.mss,
                )
            }
        }
    }
}
