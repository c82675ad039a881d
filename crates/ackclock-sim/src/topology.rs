//! Builds hops and flows from a scenario: its [`network`], and the flow
//! instances with their endpoints, each with its own named stream.

use crate::flow::{Flow, Protocol};
use ackclock_core::hop::Hop;
use ackclock_core::link::Link;
use ackclock_core::packet::FlowId;
use ackclock_core::routes::Routes;
use ackclock_core::traffic::TrafficContext;
use ackclock_core::transport::stack::Logs;
use ackclock_core::transport::{EndpointContext, Recording};
use ackclock_scenario::job::Job;
use ackclock_scenario::network::{self, Instance, Network, SharedMedium};
use ackclock_scenario::{FlowDescription, Scenario};
use ackclock_spec::error::Error;
use ackclock_spec::registry::StreamScope;
use ackclock_spec::streams::Streams;

/// The parts of a run.
#[derive(Debug)]
pub struct Topology {
    /// The scenario's shared hops in their order, then the hops of single flows.
    pub hops: Vec<Hop>,
    /// The name of each shared hop.
    pub shared: Vec<String>,
    /// A second instance of each shared hop's link with the same realisation, since the link itself
    /// may be asked only about the future. Its rate may not depend on what is served: `None` for an
    /// ABR source, and for a hop that contends for a medium.
    pub meters: Vec<Option<Box<dyn Link>>>,
    /// The scenario's media.
    pub media: Vec<SharedMedium>,
    /// The flow instances in the order of their turns.
    pub flows: Vec<Flow>,
    /// The flows in the scenario's order, in which tables list them.
    pub written: Vec<FlowId>,
    /// The routes of the instances.
    pub routes: Routes,
}

/// Refuses a scenario whose transports the engine cannot make: those with a control of a kernel.
///
/// # Errors
/// The first such transport.
pub fn check(scenario: &Scenario) -> Result<(), Error> {
    for flow in &scenario.flows {
        if let Some(refusal) = flow.transport.refusal() {
            let place = format!("flows.{}.transport", flow.name);
            return Err(refusal.within(&place));
        }
    }
    Ok(())
}

/// Builds the parts of a run of a scenario that [`check`] accepts.
pub fn build(job: &Job<'_>) -> Topology {
    build_logging(job, None)
}

/// Builds the parts of a run, as [`build`] does, whose stacks write files.
pub fn build_logging(job: &Job<'_>, logs: Option<&dyn Logs>) -> Topology {
    build_drawing(job.scenario, job.streams(), logs)
}

/// Builds the parts of a run with other random streams than a replicate's.
pub fn build_drawing(scenario: &Scenario, streams: Streams, logs: Option<&dyn Logs>) -> Topology {
    let Network {
        hops,
        shared,
        meters,
        media,
        instances,
        written,
        routes,
    } = network::build(scenario, &streams);
    let flow = |(id, instance): (u32, &Instance)| {
        let builder = FlowBuilder {
            description: &scenario.flows[instance.group as usize],
            streams: &streams,
            logs,
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
        written,
        routes,
    }
}

struct FlowBuilder<'a> {
    description: &'a FlowDescription,
    streams: &'a Streams,
    logs: Option<&'a dyn Logs>,
}

impl FlowBuilder<'_> {
    fn build(&self, id: FlowId, instance: &Instance, name: &str) -> Flow {
        let place = |name| StreamScope {
            streams: self.streams,
            name,
        };
        let FlowDescription {
            transport, traffic, ..
        } = self.description;
        let protocol = transport.build(EndpointContext {
            place: place(name),
            recording: Recording {
                states: self.description.control_states,
                calls: self.description.control_calls,
                logs: self.logs,
            },
        });
        let traffic = traffic.build(TrafficContext {
            place: place(&format!("{name}/traffic")),
            mss: transport.facts.full_write(),
        });
        Flow::new(
            id,
            (instance.group, instance.number),
            Protocol::of(protocol),
            traffic,
            instance.start..self.description.stop,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_core::congestion::ControlKind;
    use ackclock_spec::files::NoFiles;
    use ackclock_spec::registry::Kind;
    use ackclock_spec::registry::samples::samples;

    /// The scenario of one flow under a control.
    fn under(control: &str) -> Scenario {
        over(&format!(r#"{{ kind = "tcp", control = {control} }}"#))
    }

    /// The scenario of one flow over a transport.
    fn over(transport: &str) -> Scenario {
        let text = format!(
            r#"
schema = 1
duration = "1 s"
[[hops]]
name = "only"
link = {{ kind = "constant", rate = "1 Mbit/s" }}
queue = {{ kind = "droptail", limit = "10 packets" }}
[[flows]]
name = "main"
route = ["only"]
return = ["only"]
transport = {transport}
"#
        );
        Scenario::from_toml(&text, &[""; 0], &NoFiles).unwrap()
    }

    #[test]
    fn what_the_engine_makes_is_not_refused() {
        for entry in ControlKind::ENTRIES.iter().filter(|entry| entry.simulated) {
            let sample = samples(&(entry.schema)()).swap_remove(0);
            let fields = sample.as_object().unwrap().iter();
            let fields: String = fields
                .map(|(name, value)| format!(", {name} = {value}"))
                .collect();
            let checked = check(&under(&format!("{{ kind = \"{}\"{fields} }}", entry.name)));
            assert!(checked.is_ok(), "{}", entry.name);
        }
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let error = check(&under(r#"{ kind = "kernel", name = "bbr" }"#)).unwrap_err();
        assert_eq!(error.key(), "unsupported flows.main.transport.control.name");
        let sentence = error.sentence();
        assert!(sentence.contains("ackclock emulate only"), "{sentence}");
    }

    /// A page has no implementations, whatever their names.
    #[test]
    fn an_implementation_that_is_not_here_is_refused() {
        for stack in ["quinn", "other"] {
            let quic = format!(r#"{{ kind = "quic", stack = "{stack}", control = "cubic" }}"#);
            let error = check(&over(&quic)).unwrap_err();
            assert_eq!(error.key(), "unsupported flows.main.transport.stack");
            let sentence = error.sentence();
            assert!(sentence.contains("use ackclock simulate"), "{sentence}");
        }
    }
}
