//! Decisions of hops about packets. A run's record holds them, and a replay must reproduce them.

use ackclock_core::observe::DropReason;
use ackclock_spec::units::Time;

/// The fate of a packet.
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
    /// Marked with CE; it goes on.
    Marked = 4,
    /// Given up by a medium after too many collisions.
    GivenUp = 5,
}

impl Fate {
    /// Returns the fate with this number; `None` if there is none.
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
    /// Scheduled time of the decision, not the time of the wake-up that carried it out.
    pub at: Time,
    /// Index into [`Network::hops`](super::Network). For a departure it is the
    /// last hop of the route, or [`Decision::NOWHERE`] if the route has none.
    pub hop: u32,
    /// Number of the packet: the run's arrivals counted from 0. A duplicate has its original's
    /// number.
    pub packet: u64,
    /// Fate of the packet.
    pub outcome: Fate,
}

impl Decision {
    /// Value of `hop` without a hop.
    pub const NOWHERE: u32 = u32::MAX;
}
