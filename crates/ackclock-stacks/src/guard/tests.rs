//! Planted sides: each that would stop the run or the process ends it with its reason.

use super::*;
use ackclock_core::packet::Ecn;
use ackclock_core::transport::facts::TransportFacts;
use ackclock_core::transport::{EndpointContext, Endpoints, TransportKind};
use ackclock_scenario::Scenario;
use ackclock_scenario::job::Job;
use ackclock_sim::run::{Run, SimulationOutcome, Unattended};
use ackclock_sim::topology;
use ackclock_sim::trace::NoTrace;
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::{Element, Factory, Selection};
use ackclock_spec::stated::Stated;
use schemars::JsonSchema;
use serde::Serialize;

/// A side that misbehaves once the flow has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
enum Planted {
    Panics,
    PanicsWhenAsked,
    Faults,
    TimerStandsStill,
    SendsForEver,
    Silent,
}

#[derive(Debug)]
struct Side {
    planted: Planted,
    is_open: bool,
}

impl Endpoint for Side {
    fn open(&mut self, _: Time) {
        self.is_open = true;
        assert!(self.planted != Planted::Panics, "no luck");
    }
    fn handle_packet(&mut self, _: Time, _: &Arrived<'_>) {}
    fn handle_timeout(&mut self, _: Time) {}
    fn poll_transmit(&mut self, now: Time, _: &mut Vec<u8>) -> Option<Transmit> {
        (self.is_open && self.planted == Planted::SendsForEver).then_some(Transmit {
            number: 0,
            size: 100,
            stamp: now,
            ecn: Ecn::NotCapable,
            options: None,
        })
    }
    fn poll_timeout(&self) -> Time {
        match self.is_open && self.planted == Planted::TimerStandsStill {
            true => Time::ZERO,
            false => Time::NEVER,
        }
    }
    fn progress(&self) -> Progress {
        assert!(
            !self.is_open || self.planted != Planted::PanicsWhenAsked,
            "asked"
        );
        Progress::default()
    }
    fn fault(&self) -> Option<String> {
        (self.is_open && self.planted == Planted::Faults).then(|| "gave up".into())
    }
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Transport(Planted);

impl Element<TransportKind> for Transport {
    const NAME: &'static str = "planted";
    const LABEL: &'static str = "planted";
    const SUMMARY: &'static str = "Misbehaves.";
    const REFERENCE: &'static str = "none";

    fn facts(&self) -> TransportFacts {
        TransportFacts {
            control_name: Stated::Some("planted".into()),
            ..TransportFacts::default()
        }
    }
}

impl Factory<TransportKind> for Transport {
    fn build(&self, _: EndpointContext<'_>) -> Endpoints {
        let side = |planted| {
            let side = Side {
                planted,
                is_open: false,
            };
            Box::new(Guarded::new(side))
        };
        Endpoints::Other {
            sender: side(self.0),
            receiver: side(Planted::Silent),
        }
    }
}

fn run(planted: Planted) -> SimulationOutcome<NoTrace> {
    let text = r#"
schema = 1
duration = "100 s"
[[hops]]
name = "only"
link = { kind = "constant", rate = "100 Mbit/s" }
queue = { kind = "droptail", limit = "10 packets" }
[[flows]]
name = "main"
route = ["only"]
return = ["only"]
start = "1 s"
transport = { kind = "udp", control = { kind = "tfrc" } }
traffic = { kind = "bulk" }
"#;
    let mut scenario = Scenario::from_toml(text, &[""; 0], &NoFiles).unwrap();
    scenario.flows[0].transport = Selection::of(Transport(planted));
    let job = Job {
        scenario: &scenario,
        point: 0,
        replicate: 0,
    };
    Run::simulate(&job, topology::build(&job), NoTrace, &Unattended)
}

#[test]
fn each_ends_with_its_reason() {
    for (planted, reason) in [
        (Planted::Panics, "panicked: no luck"),
        (Planted::PanicsWhenAsked, "panicked: asked"),
        (Planted::Faults, "gave up"),
        (Planted::TimerStandsStill, "its timer stands still"),
        (Planted::SendsForEver, "it sends without end"),
    ] {
        let outcome = run(planted);
        let fault = outcome.fault.map(|fault| fault.reason).unwrap_or_default();
        assert!(fault.contains(reason), "{planted:?}: {fault}");
    }
    let outcome = run(Planted::Silent);
    assert!(outcome.complete && outcome.fault.is_none());
}
