//! What hops decide about packets, as a run's record keeps it and a replay of it must find it
//! again.

use ackclock_core::observe::DropReason;
use ackclock_core::units::Time;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Fate {
    /// It left the last hop of its route.
    Departed = 0,
    /// Dropped: the queue was full.
    QueueFull = 1,
    /// Dropped by a queue discipline.
    Aqm = 2,
    /// Lost by an impairment.
    Lost = 3,
    /// Marked "congestion experienced"; it goes on.
    Marked = 4,
    /// Given up by a medium after too many collisions.
    GivenUp = 5,
}

impl Fate {
    /// The outcome of that number, `None` if there is none.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Fate::Departed),
            1 => Some(Fate::QueueFull),
            2 => Some(Fate::Aqm),
            3 => Some(Fate::Lost),
            4 => Some(Fate::Marked),
            5 => Some(Fate::GivenUp),
            _ => None,
        }
    }
}

impl From<DropReason> for Fate {
    fn from(reason: DropReason) -> Self {
        match reason {
            DropReason::QueueFull => Fate::QueueFull,
            DropReason::Aqm => Fate::Aqm,
            DropReason::Impairment => Fate::Lost,
            DropReason::Retries => Fate::GivenUp,
        }
    }
}

/// One decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The scheduled time of the decision, not when somebody woke up for it.
    pub at: Time,
    /// Where: an index into [`Network::hops`](ackclock_core::network::Network). Of a departure, the
    /// last hop of the route; [`Decision::NOWHERE`] if the route has none.
    pub hop: u32,
    /// The number of the packet: the run's arrivals counted from zero. A copy has its original's.
    pub packet: u64,
    /// What.
    pub outcome: Fate,
}

impl Decision {
    /// In place of a hop: none.
    pub const NOWHERE: u32 = u32::MAX;
}
