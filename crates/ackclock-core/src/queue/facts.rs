//! What a queue states about itself.

use crate::scenario::quantity::QueueLimit;
use schemars::JsonSchema;
use serde::Serialize;

/// What a queue states about itself with its parameters. A field that is not known is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct QueueFacts {
    /// How much it holds.
    pub capacity: Option<Capacity>,
    /// Which packets it drops.
    pub drops: Option<Drops>,
    /// Whether it marks ECN-capable packets instead of dropping them.
    pub marks: Option<bool>,
    /// Fixed thresholds of random drops; null also if it has none, or if they move.
    pub thresholds: Option<Thresholds>,
}

/// How much a queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Capacity {
    /// A limit that stays.
    Limit {
        /// Packets, bytes, a time, or "unlimited".
        limit: QueueLimit,
        /// Whether the packet being sent counts towards it.
        counts_packet_in_service: bool,
    },
    /// A limit that moves.
    Moving {
        /// The largest that it may become.
        most: QueueLimit,
        /// Whether the packet being sent counts towards it.
        counts_packet_in_service: bool,
    },
}

/// Which packets a queue drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Drops {
    /// Those that arrive at a full queue.
    Tail,
    /// Besides those, some at arrival before the queue is full.
    Early,
    /// Those at the head of the queue.
    Head,
}

/// Thresholds of the average queue between which the share of random drops rises in a straight
/// line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Thresholds {
    /// Up to which nothing is dropped: packets, bytes or a time.
    pub low: QueueLimit,
    /// At which the share dropped is `p_max`.
    pub high: QueueLimit,
    /// The share dropped at `high`, from 0 to 1.
    pub p_max: f64,
    /// Whether the share rises on to 1 at twice `high`, instead of at once.
    pub gentle: bool,
}

impl QueueFacts {
    /// Drops at the tail of a moving limit, and marks nothing.
    pub(super) fn moving(most: u32, counts_packet_in_service: bool) -> Self {
        QueueFacts {
            capacity: Some(Capacity::Moving {
                most: QueueLimit::Packets(most.into()),
                counts_packet_in_service,
            }),
            drops: Some(Drops::Tail),
            marks: Some(false),
            thresholds: None,
        }
    }

    /// Drops at random before a limit is reached that the packet being sent does not count towards.
    pub(super) fn early(limit: QueueLimit, marks: bool, thresholds: Option<Thresholds>) -> Self {
        QueueFacts {
            capacity: Some(Capacity::Limit {
                limit,
                counts_packet_in_service: false,
            }),
            drops: Some(Drops::Early),
            marks: Some(marks),
            thresholds,
        }
    }

    /// The limits and thresholds, as far as they are stated.
    pub(crate) fn limits(&self) -> impl Iterator<Item = QueueLimit> {
        let capacity = self.capacity.map(|capacity| match capacity {
            Capacity::Limit { limit, .. } => limit,
            Capacity::Moving { most, .. } => most,
        });
        let thresholds = self.thresholds.into_iter();
        capacity
            .into_iter()
            .chain(thresholds.flat_map(|one| [one.low, one.high]))
    }
}
