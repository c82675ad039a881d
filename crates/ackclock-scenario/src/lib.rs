//! The scenario: a network path and its traffic, checked and resolved. Every element is below it,
//! and none knows it.
//!
//! [`tree::from_toml`] turns text into a tree, and [`tree::expand`] a tree with a sweep into one
//! tree per point. [`Scenario::from_tree`] turns such a tree into a [`Scenario`], where each
//! element is read by its registry. [`Scenario::resolved`] is the tree with all defaults filled in;
//! reading it gives the same scenario. [`schema::schema`] describes valid files.
//!
//! [`kinds`] lists the kinds of elements. A [`job`] is one run of a scenario: one replicate of one
//! point of its sweep. [`network`] builds the hops of the run, each element with its own random
//! stream, and the routes of each flow instance through them.

use ackclock_core::arrivals::Arrivals;
use ackclock_core::impairment::ImpairmentKind;
use ackclock_core::link::LinkKind;
use ackclock_core::medium::MediumKind;
use ackclock_core::packet::Dscp;
use ackclock_core::queue::QueueKind;
use ackclock_core::traffic::TrafficKind;
use ackclock_core::transport::TransportKind;
use ackclock_spec::error::Result;
use ackclock_spec::files::Files;
use ackclock_spec::quantity::Range;
use ackclock_spec::registry::Selection;
use ackclock_spec::units::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
pub use values::Derived;

mod check;
mod derive;
mod document;
pub mod job;
pub mod kinds;
mod lab;
pub mod network;
mod path_units;
mod resolve;
pub mod schema;
pub mod source;
pub mod text;
pub mod tree;
mod values;

/// The description of one point; its sweep has been expanded.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name for titles and folders.
    pub name: String,
    /// The question that it answers.
    pub question: Option<String>,
    /// Length of the run.
    pub duration: Span,
    /// Time from which on means are taken.
    pub warmup: Span,
    /// Root of all random numbers.
    pub seed: u64,
    /// Number of runs of each point, each with its own random numbers.
    pub replicates: u32,
    /// Differences of the second and later replicates besides their random numbers.
    pub vary: Vary,
    /// Spacing of the time series.
    pub sample_interval: Span,
    /// Shared media.
    pub media: Vec<MediumDescription>,
    /// Hops.
    pub hops: Vec<HopDescription>,
    /// Flow groups; instances are not yet expanded.
    pub flows: Vec<FlowDescription>,
    /// All of the above as a tree with defaults filled in.
    pub resolved: Value,
    /// The quantities that were computed from expressions.
    pub derived: Vec<Derived>,
}

impl Scenario {
    /// Reads and checks the text of a file without a sweep, with assignments as on the command line
    /// (`path=value`).
    ///
    /// # Errors
    /// Those of the file's syntax, of an assignment, and of [`Scenario::from_tree`].
    pub fn from_toml(
        text: &str,
        assignments: &[impl AsRef<str>],
        files: &dyn Files,
    ) -> Result<Scenario> {
        let mut tree = tree::from_toml(text)?;
        for assignment in assignments {
            let (path, value) = tree::parse_assignment(assignment.as_ref())?;
            tree::assign(&mut tree, &path, value)?;
        }
        Scenario::from_tree(&tree, files)
    }
}

/// Differences of the second and later replicates besides their random numbers. The first is as the
/// scenario says in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Vary {
    /// The phases of flows and packets.
    Phase,
    /// Nothing.
    Nothing,
}

/// A medium for which hops contend.
#[derive(Clone, Debug)]
pub struct MediumDescription {
    /// Unique name.
    pub name: String,
    /// Kind of medium, with its parameters.
    pub medium: Selection<MediumKind>,
}

/// A hop: impairments, queue, link, propagation delay.
#[derive(Clone, Debug)]
pub struct HopDescription {
    /// Unique name.
    pub name: String,
    /// Sharing of the hop: by all flows, or one hop for each flow instance (an access link).
    pub scope: Scope,
    /// Service process.
    pub link: Selection<LinkKind>,
    /// Queue in front of the link.
    pub queue: Selection<QueueKind>,
    /// Propagation delay.
    pub delay: Span,
    /// Impairments in the order in which a packet meets them.
    pub impairments: Vec<Selection<ImpairmentKind>>,
    /// True if the queueing delay of each packet is recorded.
    pub packet_delays: bool,
}

/// The flows that share a hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// All flows whose route names it.
    #[default]
    Shared,
    /// None: each flow instance has its own copy.
    PerFlow,
}

/// A group of flows with the same parameters.
#[derive(Clone, Debug)]
pub struct FlowDescription {
    /// Unique name; instances are `name/0`, `name/1`, …
    pub name: String,
    /// Instances of the group.
    pub instances: Instances,
    /// Hops on the data's route, as indices into [`Scenario::hops`].
    pub route: Vec<usize>,
    /// Hops on the ACKs' route.
    pub return_route: Vec<usize>,
    /// Transport, with its parameters.
    pub transport: Selection<TransportKind>,
    /// Source of the data.
    pub traffic: Selection<TrafficKind>,
    /// Start times of instances.
    pub start: Range,
    /// Time at which instances stop sending, [`Time::NEVER`] for the end of the run.
    pub stop: Time,
    /// One-way delay of each instance before its first hop. It rises in even steps from `low` for
    /// the first instance to `high` for the last; for arrivals it is drawn.
    pub access_delay: Range,
    /// True if the states of its congestion controls are recorded.
    pub control_states: bool,
    /// True if the calls of its congestion controls, which are programs, are recorded.
    pub control_calls: bool,
    /// Names of the sending and the receiving host; without a name, each instance has its own.
    pub hosts: [Option<String>; 2],
    /// Codepoint of its packets, ACKs included.
    pub dscp: Dscp,
}

/// The instances of a flow group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instances {
    /// A fixed number.
    Count(u32),
    /// Arrivals one after the other; their number is random.
    Arriving(Arrivals),
}

impl FlowDescription {
    /// Returns the number of instances in a run of that length; for arrivals, the mean number.
    pub fn expected_instances(&self, duration: Span) -> f64 {
        match self.instances {
            Instances::Count(count) => count.into(),
            Instances::Arriving(arrivals) => {
                let last = self.stop.min(Time::ZERO + duration);
                arrivals.expected(last.since(Time::ZERO + self.start.low))
            }
        }
    }
}
