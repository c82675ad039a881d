//! Impairments: what a path does to packets besides queueing and serving them.

use self::facts::ImpairmentFacts;
use crate::packet::Packet;
use crate::registry::{Entry, Kind, StreamScope};
use crate::units::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

pub mod duplicate;
pub mod facts;
pub mod gilbert_elliott;
pub mod iid_loss;
pub mod jitter;
pub mod scheduled_loss;

/// Where in the hop an impairment acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// On arrival, before the queue: a lost packet uses neither buffer nor capacity.
    BeforeQueue,
    /// When the link has sent it: a lost packet has used its share of buffer and capacity.
    AfterLink,
}

impl Side {
    /// Where losses usually are: a radio link loses what it has sent.
    const fn after_link() -> Self {
        Side::AfterLink
    }
}

/// Which packets an impairment looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Applies {
    /// Data, SYN and datagrams: what travels from sender to receiver.
    Data,
    /// ACKs and SYN-ACKs: what travels back.
    Acks,
    /// Everything.
    All,
}

impl Applies {
    /// What an impairment looks at unless it is told otherwise.
    const fn data() -> Self {
        Applies::Data
    }
    /// Whether `packet` is looked at.
    pub fn to(self, packet: &Packet) -> bool {
        match self {
            Applies::Data => packet.is_forward(),
            Applies::Acks => !packet.is_forward(),
            Applies::All => true,
        }
    }
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Pass,
    /// It is lost.
    Drop,
    /// A second one appears right behind it.
    Duplicate,
    /// It takes longer over the propagation delay. Only [`Side::AfterLink`].
    Delay {
        /// By how much.
        by: Span,
        /// Whether it may be overtaken; if not, what follows waits behind it.
        overtaken: Overtaking,
    },
}

/// Whether packets may change their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overtaking {
    /// Later packets may arrive earlier.
    Allowed,
    /// Order is kept.
    Forbidden,
}

/// An impairment. `now` is the scheduled time of arrival or of the end of service.
pub trait Impairment: Debug + Send {
    /// Decides on one packet.
    fn judge(&mut self, now: Time, packet: &Packet) -> Verdict;
    /// Where it acts.
    fn side(&self) -> Side;
}

/// The registry of impairments.
#[derive(Debug)]
pub struct ImpairmentKind;

impl Kind for ImpairmentKind {
    type Product = Box<dyn Impairment>;
    type Context<'a> = StreamScope<'a>;
    type Facts = ImpairmentFacts;
    const NAME: &'static str = "impairment";
    const PLURAL: &'static str = "impairments";
    fn entries() -> &'static [Entry<Self>] {
        const LIST: &[Entry<ImpairmentKind>] = &[
            Entry::of::<iid_loss::IidLoss>(),
            Entry::of::<gilbert_elliott::GilbertElliott>(),
            Entry::of::<scheduled_loss::ScheduledLoss>(),
            Entry::of::<jitter::Jitter>(),
            Entry::of::<duplicate::Duplicate>(),
        ];
        LIST
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FlowId, PacketKind};
    use crate::registry::{self, Selection};
    use crate::scenario::error::Result;
    use crate::scenario::files::NoFiles;
    use crate::streams::Streams;
    use serde_json::Value;

    pub(super) fn choose(tree: Value) -> Result<Selection<ImpairmentKind>> {
        registry::choose::<ImpairmentKind>(&tree, &NoFiles)
    }

    pub(super) fn build(tree: Value) -> Box<dyn Impairment> {
        choose(tree).unwrap().build(StreamScope {
            streams: &Streams::new(1, 0),
            name: "hop/test/impairment/0",
        })
    }

    pub(super) fn packet() -> Packet {
        Packet::new(PacketKind::Data, FlowId(0), 0, 1500, Time::ZERO)
    }
}
