//! The scenario: a network path and its traffic, checked and resolved.
//!
//! Text becomes a tree ([`tree::from_toml`]), a tree with a sweep one tree for each point
//! ([`tree::expand`]), and such a tree becomes [`Scenario`] ([`Scenario::from_tree`]), every
//! element through its registry. The tree with all defaults filled in is [`Scenario::resolved`];
//! reading it back gives the same scenario. What may be written is [`schema::schema`].

use crate::arrivals::Arrivals;
use crate::congestion::ControlKind;
use crate::datagram::DatagramParameters;
use crate::endpoint::TcpParameters;
use crate::impairment::ImpairmentKind;
use crate::link::LinkKind;
use crate::medium::MediumKind;
use crate::queue::QueueKind;
use crate::rate_control::RateControlKind;
use crate::registry::Selection;
use crate::traffic::TrafficKind;
use crate::units::{Bytes, Span, Time};
use error::Result;
use files::Files;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

mod check;
mod document;
pub mod error;
pub mod files;
pub mod parse;
pub mod quantity;
mod resolve;
pub mod schema;
pub mod source;
pub(crate) mod steps;
mod transport;
pub mod tree;
pub mod unit_spelling;

/// One run's worth of description, sweep already expanded.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// For titles and folders.
    pub name: String,
    /// When the run ends.
    pub duration: Span,
    /// From when on averages are taken.
    pub warmup: Span,
    /// The root of all randomness.
    pub seed: u64,
    /// How many times it is run, each with its own randomness.
    pub replicates: u32,
    /// Spacing of the time series.
    pub sample_interval: Span,
    /// The media.
    pub media: Vec<MediumDescription>,
    /// The hops.
    pub hops: Vec<HopDescription>,
    /// The flows, instances not yet expanded.
    pub flows: Vec<FlowDescription>,
    /// Everything above as a tree, defaults filled in.
    pub resolved: Value,
}

impl Scenario {
    /// Reads and checks the text of a file without a sweep, with assignments as the command line
    /// takes them (`path=value`).
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

/// A medium that hops contend for.
#[derive(Clone, Debug)]
pub struct MediumDescription {
    /// Its name, unique.
    pub name: String,
    /// What it is.
    pub medium: Selection<MediumKind>,
}

/// A hop: impairments, queue, link, propagation delay.
#[derive(Clone, Debug)]
pub struct HopDescription {
    /// Its name, unique.
    pub name: String,
    /// Whether every flow instance has one of its own (an access link).
    pub scope: Scope,
    /// The service process.
    pub link: Selection<LinkKind>,
    /// What waits for it.
    pub queue: Selection<QueueKind>,
    /// Propagation delay.
    pub delay: Span,
    /// In the order in which a packet meets them.
    pub impairments: Vec<Selection<ImpairmentKind>>,
}

/// Who shares a hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// All flows whose route names it.
    #[default]
    Shared,
    /// Nobody: each flow instance has its own copy.
    PerFlow,
}

/// A group of like flows.
#[derive(Clone, Debug)]
pub struct FlowDescription {
    /// Its name, unique; instances are `name/0`, `name/1`, …
    pub name: String,
    /// Which instances there are.
    pub instances: Instances,
    /// Hops of the data's way, as indices into [`Scenario::hops`].
    pub route: Vec<usize>,
    /// Hops of the ACKs' way.
    pub return_route: Vec<usize>,
    /// How data is sent.
    pub transport: Transport,
    /// What is sent.
    pub traffic: Selection<TrafficKind>,
    /// When instances start.
    pub start: Range,
    /// When they stop sending, [`Time::NEVER`] for the end of the run.
    pub stop: Time,
    /// One-way delay of an instance's own, before its first hop: from `low` for the first instance
    /// in even steps to `high` for the last; of arrivals drawn.
    pub access_delay: Range,
}

/// The instances of a group of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instances {
    /// So many.
    Count(u32),
    /// One after the other; how many is drawn.
    Arriving(Arrivals),
}

impl FlowDescription {
    /// How many instances there are in a run that lasts so long, of arrivals on average.
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

/// From `low` to `high`; equal for a fixed value. A start is drawn uniformly; an extra delay is
/// spread evenly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// Smallest.
    pub low: Span,
    /// Largest.
    pub high: Span,
}

/// How data is sent.
#[derive(Clone, Debug)]
pub enum Transport {
    /// TCP.
    Tcp {
        /// The congestion control.
        control: Selection<ControlKind>,
        /// Everything else.
        parameters: Arc<TcpParameters>,
    },
    /// UDP: each write leaves at once.
    Udp {
        /// Payload of a full datagram.
        mss: Bytes,
        /// IP and UDP headers.
        header: Bytes,
    },
    /// UDP under rate control.
    Controlled {
        /// What says how fast.
        control: Selection<RateControlKind>,
        /// Everything else.
        parameters: DatagramParameters,
    },
}

impl Transport {
    /// The name of its control as in tables; `udp` for UDP without one.
    pub const fn control_name(&self) -> &'static str {
        match self {
            Transport::Tcp { control, .. } => control.name,
            Transport::Udp { .. } => "udp",
            Transport::Controlled { control, .. } => control.name,
        }
    }
    /// Payload of a full packet.
    pub fn mss(&self) -> Bytes {
        match self {
            Transport::Tcp { parameters, .. } => parameters.mss,
            Transport::Udp { mss, .. } => *mss,
            Transport::Controlled { parameters, .. } => parameters.mss,
        }
    }
}
