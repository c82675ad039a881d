//! All kinds of elements, in one list. The scenario, the command line, the schema and the contract
//! tests use it.

use ackclock_core::congestion::ControlKind;
use ackclock_core::estimator::EstimatorKind;
use ackclock_core::feedback::FeedbackKind;
use ackclock_core::impairment::ImpairmentKind;
use ackclock_core::link::LinkKind;
use ackclock_core::medium::MediumKind;
use ackclock_core::queue::QueueKind;
use ackclock_core::rate_control::RateControlKind;
use ackclock_core::size::SizeKind;
use ackclock_core::traffic::TrafficKind;
use ackclock_core::transport::TransportKind;
use ackclock_spec::error::Result;
use ackclock_spec::files::Files;
use ackclock_spec::registry::{Entry, Kind, choose};
use serde_json::Value;

/// A kind of element, without the type that it makes.
#[derive(Clone, Copy, Debug)]
pub struct KindRecord {
    /// Name in the catalogue and on the command line: "links", "queues".
    pub name: &'static str,
    /// Name in an error message: "link", "queue".
    pub noun: &'static str,
    /// Returns all registered elements, in reading order.
    pub elements: fn() -> Vec<ElementRecord>,
    /// Returns the JSON schema of the facts.
    pub facts: fn() -> Value,
    /// Reads `{ kind = "…", … }` and returns the resolved form ([`choose`]).
    pub resolve: fn(&Value, &dyn Files) -> Result<Value>,
}

/// An element, without the type that it makes.
#[derive(Clone, Copy, Debug)]
pub struct ElementRecord {
    /// Name in a scenario's `kind`.
    pub name: &'static str,
    /// Label in a figure.
    pub label: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// RFC or paper.
    pub reference: &'static str,
    /// True if the engine can make it; otherwise only a real system runs it.
    pub simulated: bool,
    /// Returns the JSON schema of the parameters, without `kind`.
    pub schema: fn() -> Value,
}

/// All kinds, in reading order.
pub const KINDS: [KindRecord; 11] = [
    KindRecord::of::<TransportKind>(),
    KindRecord::of::<ControlKind>(),
    KindRecord::of::<RateControlKind>(),
    KindRecord::of::<EstimatorKind>(),
    KindRecord::of::<QueueKind>(),
    KindRecord::of::<MediumKind>(),
    KindRecord::of::<LinkKind>(),
    KindRecord::of::<FeedbackKind>(),
    KindRecord::of::<ImpairmentKind>(),
    KindRecord::of::<TrafficKind>(),
    KindRecord::of::<SizeKind>(),
];

impl KindRecord {
    /// Returns the record of a kind.
    pub const fn of<K: Kind>() -> Self {
        KindRecord {
            name: K::PLURAL,
            noun: K::NAME,
            elements: elements::<K>,
            facts: || schemars::schema_for!(K::Facts).to_value(),
            resolve: |tree, files| choose::<K>(tree, files).map(|chosen| chosen.resolved),
        }
    }
}

fn elements<K: Kind>() -> Vec<ElementRecord> {
    let record = |entry: &Entry<K>| ElementRecord {
        name: entry.name,
        label: entry.label,
        summary: entry.summary,
        reference: entry.reference,
        simulated: entry.simulated,
        schema: entry.schema,
    };
    K::ENTRIES.iter().map(record).collect()
}
