//! Impairments: everything that a path does to packets other than queueing and serving them.

use self::facts::ImpairmentFacts;
use crate::packet::{Ecn, Packet};
use ackclock_spec::prelude::*;
use ackclock_spec::registry::{Entry, Kind};
use std::fmt::Debug;

pub mod aggregation;
pub mod duplicate;
pub mod ecn_rewrite;
pub mod facts;
pub mod gilbert_elliott;
pub mod iid_loss;
pub mod jitter;
pub mod leo;
pub mod measured_delay;
pub mod periodic_loss;
pub mod policer;
pub mod scheduled_delay;
pub mod scheduled_loss;

/// Position of an impairment in the hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// On arrival, before the queue: a lost packet uses neither buffer nor capacity.
    BeforeQueue,
    /// After the link has sent the packet: a lost packet has used buffer and capacity.
    AfterLink,
}

impl Side {
    /// The usual position of losses: a radio link loses packets that it has sent.
    const fn after_link() -> Self {
        Side::AfterLink
    }
}

/// The packets to which an impairment applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Applies {
    /// Data, SYN and datagrams: packets from sender to receiver.
    Data,
    /// ACKs, SYN-ACKs and requests of a client: packets from receiver to sender.
    Acks,
    /// All packets.
    All,
}

impl Applies {
    /// The default.
    const fn data() -> Self {
        Applies::Data
    }
    /// Returns true if the impairment applies to `packet`.
    pub fn to(self, packet: &Packet) -> bool {
        match self {
            Applies::Data => packet.is_forward(),
            Applies::Acks => !packet.is_forward(),
            Applies::All => true,
        }
    }
}

/// Effect of an impairment on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// None.
    Pass,
    /// The packet is lost.
    Drop,
    /// A copy follows right behind it.
    Duplicate,
    /// Its ECN field has another value from here on.
    Rewrite(Ecn),
    /// Its propagation delay is longer. Only for [`Side::AfterLink`].
    Delay {
        /// Extra delay.
        by: Span,
        /// Permission to be overtaken. If it is forbidden, the packets that follow wait behind it.
        overtaken: Overtaking,
    },
}

/// Permission for packets to change their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overtaking {
    /// Later packets may arrive earlier.
    Allowed,
    /// Packets keep their order.
    Forbidden,
}

/// An impairment. `now` is the scheduled time of arrival or of the end of service.
pub trait Impairment: Debug + Send {
    /// Decides on one packet.
    fn judge(&mut self, now: Time, packet: &Packet) -> Verdict;
    /// Returns its position in the hop.
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
    const ENTRIES: &'static [Entry<Self>] = &[
        Entry::of::<iid_loss::IidLoss>(),
        Entry::of::<gilbert_elliott::GilbertElliott>(),
        Entry::of::<scheduled_loss::ScheduledLoss>(),
        Entry::of::<periodic_loss::PeriodicLoss>(),
        Entry::of::<policer::Policer>(),
        Entry::of::<jitter::Jitter>(),
        Entry::of::<scheduled_delay::ScheduledDelay>(),
        Entry::of::<leo::Leo>(),
        Entry::of::<measured_delay::MeasuredDelay>(),
        Entry::of::<aggregation::Aggregation>(),
        Entry::of::<duplicate::Duplicate>(),
        Entry::of::<ecn_rewrite::EcnRewrite>(),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FlowId, PacketKind};
    use ackclock_spec::error::Result;
    use ackclock_spec::files::NoFiles;
    use ackclock_spec::registry::{self, Selection};
    use ackclock_spec::streams::Streams;
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
