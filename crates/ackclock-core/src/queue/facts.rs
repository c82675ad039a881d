//! The facts of a queue.

use ackclock_spec::prelude::*;
use ackclock_spec::quantity::QueueLimit;

/// The facts that a queue states about itself. A field that is not known is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct QueueFacts {
    /// Capacity of the queue.
    pub capacity: Option<Capacity>,
    /// Packets that the queue drops.
    pub drops: Option<Drops>,
    /// True if it marks ECN-capable packets instead of dropping them.
    pub marks: Option<bool>,
    /// Fixed thresholds of random drops; none also if the queue adapts them.
    pub thresholds: Stated<Thresholds>,
    /// Queue above which it marks what arrives; none if it marks by another rule or not at all.
    pub marking: Stated<Marking>,
    /// Wait in a flow's own queue above which a packet is marked; none if flows have no queues of
    /// their own, or if those mark by another rule or not at all.
    pub flow_marking: Stated<Marking>,
    /// Highest rate at which the queue itself lets packets pass in the long run; none if only its
    /// link limits it.
    pub highest_bit_per_s: Stated<u64>,
    /// Law that steers the delay of all packets; none also if each flow has its own.
    pub steering: Stated<Steering>,
    /// Second queue, which marks early (RFC 9332).
    pub low_latency: Stated<LowLatency>,
    /// Names of the classes that it tells apart, for tables of delays. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub classes: Vec<&'static str>,
    /// Name of the hop whose link it follows. Absent if it follows none.
    #[serde(skip_serializing_if = "is_none")]
    #[schemars(default)]
    pub measures: Stated<String>,
}

/// True if there is none, and so nothing to write.
const fn is_none(measures: &Stated<String>) -> bool {
    matches!(measures, Stated::None)
}

/// A queue for low latency, coupled to the other one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LowLatency {
    /// Packets that join it.
    pub joins: Classifier,
    /// Ratio of its marking probability to the square root of the other queue's probability.
    pub coupling: f64,
    /// Delay to which the other queue is steered, in seconds.
    pub classic_target_s: f64,
}

/// Packets that join a low-latency queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Classifier {
    /// ECT(1) and CE (RFC 9331).
    L4s,
    /// Every ECN-capable packet.
    AnyEct,
}

/// The capacity of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Capacity {
    /// A fixed limit.
    Limit {
        /// Packets, bytes, a time, or "unlimited".
        limit: QueueLimit,
        /// True if the packet in service counts towards it.
        counts_packet_in_service: bool,
    },
    /// A limit that the queue adapts.
    Moving {
        /// Largest value of the limit.
        most: QueueLimit,
        /// True if the packet in service counts towards it.
        counts_packet_in_service: bool,
    },
}

/// The packets that a queue drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Drops {
    /// Packets that arrive at a full queue.
    Tail,
    /// Packets that arrive at a full queue, and some that arrive before it is full.
    Early,
    /// Packets at the head of the queue.
    Head,
}

/// A threshold of the queue that a packet finds, above which the packet is marked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Marking {
    /// Packets, bytes or a time.
    pub threshold: QueueLimit,
    /// Further queue over which the probability rises from 0 to 1; none for a step.
    pub ramp: Stated<QueueLimit>,
}

impl Marking {
    /// Returns a step at that wait, none without it.
    pub(super) fn step(threshold: Option<Span>) -> Stated<Self> {
        let marking = threshold.map(|threshold| Marking {
            threshold: QueueLimit::Time(threshold),
            ramp: Stated::None,
        });
        marking.into()
    }
}

/// Thresholds of the average queue between which the drop probability rises linearly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Thresholds {
    /// Threshold up to which nothing is dropped: packets, bytes or a time.
    pub low: QueueLimit,
    /// Threshold at which the drop probability is `p_max`.
    pub high: QueueLimit,
    /// Drop probability at `high`, from 0 to 1.
    pub p_max: f64,
    /// True if the drop probability rises further to 1 at twice `high`, instead of jumping to 1.
    pub gentle: bool,
}

/// A control law that steers the queueing delay to a target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Steering {
    /// Kind of law.
    pub law: SteeringLaw,
    /// Target of the delay, in seconds.
    pub target_s: f64,
    /// Time for which the delay may exceed the target, in seconds; none if the law has none.
    pub interval_s: Stated<f64>,
}

/// Kind of a control law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SteeringLaw {
    /// Drops at random, with a probability adapted until the mean delay is the target.
    Random,
    /// Drops more and more often while the delay exceeds the target (RFC 8289).
    ControlledDelay,
}

impl QueueFacts {
    /// Adds a law with that target.
    pub(super) fn steered(
        mut self,
        law: SteeringLaw,
        target: Span,
        interval: Option<Span>,
    ) -> Self {
        self.steering = Stated::Some(Steering {
            law,
            target_s: target.as_seconds(),
            interval_s: interval.map(Span::as_seconds).into(),
        });
        self
    }

    /// Returns the facts of a queue that drops at the tail and marks nothing.
    pub(super) const fn tail(capacity: Capacity) -> Self {
        QueueFacts {
            capacity: Some(capacity),
            drops: Some(Drops::Tail),
            marks: Some(false),
            thresholds: Stated::None,
            marking: Stated::None,
            flow_marking: Stated::None,
            highest_bit_per_s: Stated::None,
            steering: Stated::None,
            low_latency: Stated::None,
            classes: Vec::new(),
            measures: Stated::None,
        }
    }

    /// Returns the facts of a queue that drops at the tail of an adapted limit and marks nothing.
    pub(super) fn moving(most: u32, counts_packet_in_service: bool) -> Self {
        QueueFacts::tail(Capacity::Moving {
            most: QueueLimit::Packets(most.into()),
            counts_packet_in_service,
        })
    }

    /// Returns the facts of a queue that drops at the tail of a fixed limit and marks nothing. The
    /// packet in service does not count towards the limit.
    pub(super) const fn fixed(limit: QueueLimit) -> Self {
        QueueFacts::tail(Capacity::Limit {
            limit,
            counts_packet_in_service: false,
        })
    }

    /// Returns the facts of a queue that drops at random before a limit is reached. The packet in
    /// service does not count towards the limit.
    pub(super) fn early(limit: QueueLimit, marks: bool) -> Self {
        QueueFacts {
            drops: Some(Drops::Early),
            marks: Some(marks),
            ..QueueFacts::fixed(limit)
        }
    }

    /// Returns the facts of a queue that drops at the head before a limit is reached. The packet
    /// in service does not count towards the limit.
    pub(super) fn head(limit: QueueLimit, marks: bool) -> Self {
        QueueFacts {
            drops: Some(Drops::Head),
            ..QueueFacts::early(limit, marks)
        }
    }

    /// Returns the limit and the thresholds, as far as they are stated.
    pub fn limits(&self) -> impl Iterator<Item = QueueLimit> {
        let capacity = self.capacity.map(|capacity| match capacity {
            Capacity::Limit { limit, .. } => limit,
            Capacity::Moving { most, .. } => most,
        });
        let thresholds = self.thresholds.some().into_iter();
        capacity
            .into_iter()
            .chain(thresholds.flat_map(|thresholds| [thresholds.low, thresholds.high]))
            .chain(self.marking.some().map(|marking| marking.threshold))
    }
}
