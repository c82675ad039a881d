//! All kinds of elements, in one list: what can be chosen in a scenario, on the command line, in
//! the schema, and what tests of contracts go through.

use crate::congestion::ControlKind;
use crate::estimator::EstimatorKind;
use crate::feedback::FeedbackKind;
use crate::impairment::ImpairmentKind;
use crate::link::LinkKind;
use crate::medium::MediumKind;
use crate::queue::QueueKind;
use crate::rate_control::RateControlKind;
use crate::registry::{Entry, Kind, choose};
use crate::scenario::error::Result;
use crate::scenario::files::Files;
use crate::size::SizeKind;
use crate::traffic::TrafficKind;
use serde_json::Value;

/// A kind of element, whatever it makes.
#[derive(Clone, Copy, Debug)]
pub struct KindRecord {
    /// As in the catalogue and on the command line: "links", "queues".
    pub name: &'static str,
    /// As in an error message: "link", "queue".
    pub noun: &'static str,
    /// Everything registered, in reading order.
    pub elements: fn() -> Vec<ElementRecord>,
    /// JSON schema of the facts.
    pub facts: fn() -> Value,
    /// Reads `{ kind = "…", … }` and gives the resolved form ([`choose`]).
    pub resolve: fn(&Value, &dyn Files) -> Result<Value>,
}

/// An element, whatever it makes.
#[derive(Clone, Copy, Debug)]
pub struct ElementRecord {
    /// As written in a scenario's `kind`.
    pub name: &'static str,
    /// As written in a figure.
    pub label: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// RFC or paper.
    pub reference: &'static str,
    /// JSON schema of the parameters, without `kind`.
    pub schema: fn() -> Value,
}

/// All of them, in reading order.
pub const KINDS: [KindRecord; 10] = [
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
    /// The record of a kind.
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
        schema: entry.schema,
    };
    K::entries().iter().map(record).collect()
}
