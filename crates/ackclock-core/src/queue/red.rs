//! Random Early Detection (Floyd and Jacobson 1993): drops or marks at random before the buffer is
//! full, with a probability that rises with the average queue.

use super::early_detection::{Average, Curve, EarlyDetection, Level, Spacing};
use super::facts::{QueueFacts, Thresholds};
use super::{Discipline, QueueContext, QueueKind};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::QueueLimit;
use serde_json::json;

/// Parameters. In the letters of the paper: min_th is `minimum_threshold`, max_th
/// `maximum_threshold`, max_p `maximum_probability`, w_q `weight`, s the time that `typical_packet`
/// takes at `rate`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({
    "limit": "100 packets",
    "minimum_threshold": "5 packets",
    "maximum_threshold": "15 packets"
}))]
#[schemars(example = json!({
    "limit": "60 kB",
    "minimum_threshold": "2 ms",
    "maximum_threshold": "6 ms",
    "gentle": true,
    "ecn": true,
    "weight": 0.1
}))]
pub struct Red {
    /// Most packets or bytes that may wait, or the longest wait, without the packet in service.
    /// Above zero.
    pub limit: QueueLimit,
    /// Average queue up to which nothing is dropped, in packets, in bytes, or in time.
    pub minimum_threshold: QueueLimit,
    /// Average queue from which on everything is dropped, or more and more with `gentle`. Above the
    /// minimum threshold, in the same unit, and not above the limit.
    pub maximum_threshold: QueueLimit,
    /// Drop probability at the maximum threshold, to which it rises linearly. Above 0. The paper
    /// has 2 %; 10 % is what its first author recommended later.
    #[serde(default = "maximum_probability")]
    pub maximum_probability: Probability,
    /// Weight, in the average, of the queue that an arriving packet finds. Above 0, at most 1.
    #[serde(default = "weight")]
    pub weight: f64,
    /// True if the drop probability rises further, to 1 at twice the maximum threshold, instead of
    /// jumping to 1 (Floyd 2000).
    #[serde(default)]
    pub gentle: bool,
    /// True if ECN-capable packets are marked instead of dropped at random. Where the queue drops
    /// every packet, it drops them, too.
    #[serde(default)]
    pub ecn: bool,
    /// True if at least 1/p packets pass after each random drop, p being the drop probability
    /// without the spacing. So there are three times fewer drops at the same average queue. It is
    /// `wait_` of ns-2, where it is true by default; the paper has no such rule.
    #[serde(default)]
    pub wait: bool,
    /// RED drops and marks early only packets that find at least this much waiting. The paper has
    /// no such rule; ns-2 spares a packet that finds fewer than 2.
    #[serde(default = "always")]
    pub early_from: QueueLimit,
    /// Packet size assumed for idle time. While the link is idle, the average falls as if it sent
    /// such packets back to back, each of which found the queue empty. The paper says "a small
    /// packet"; a larger one makes the average fall more slowly.
    #[serde(default = "typical_packet")]
    pub typical_packet: Bytes,
    /// Rate of the link for the packets assumed in idle time. By default its mean rate over the
    /// first minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
}

fn maximum_probability() -> Probability {
    Probability::new(0.1).unwrap_or(Probability::ONE)
}
const fn always() -> QueueLimit {
    QueueLimit::Packets(0)
}
/// Floyd and Jacobson 1993, section 6.
const fn weight() -> f64 {
    0.002
}
/// Most packets in queues are full-sized.
pub(super) const fn typical_packet() -> Bytes {
    Bytes(1500)
}

impl Element<QueueKind> for Red {
    const NAME: &'static str = "red";
    const LABEL: &'static str = "RED";
    const SUMMARY: &'static str =
        "First in, first out; drops or marks at random, more often as the average queue grows.";
    const REFERENCE: &'static str = "Floyd and Jacobson (1993), Random Early Detection Gateways \
        for Congestion Avoidance; RFC 7141 section 2 (packets count alike, whatever their size)";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            check_room("limit", self.limit),
            check_level("minimum_threshold", self.minimum_threshold),
            check_level("maximum_threshold", self.maximum_threshold),
            self.check_thresholds(),
            check_probability("maximum_probability", self.maximum_probability),
            check_weight("weight", self.weight, "0.002"),
            check_early_from(self.early_from),
            check_typical(self.typical_packet, self.rate),
        ])
    }

    fn facts(&self) -> QueueFacts {
        let thresholds = Thresholds {
            low: self.minimum_threshold,
            high: self.maximum_threshold,
            p_max: self.maximum_probability.get(),
            gentle: self.gentle,
        };
        QueueFacts {
            thresholds: Stated::Some(thresholds),
            ..QueueFacts::early(self.limit, self.ecn)
        }
    }
}

impl Red {
    /// Refuses thresholds that contradict one another, or the limit.
    fn check_thresholds(&self) -> Result<()> {
        let [low, high] = [self.minimum_threshold, self.maximum_threshold].map(Level::of);
        let (Some(low), Some(high)) = (low, high) else {
            return Ok(()); // refused for itself
        };
        let (field, threshold) = ("maximum_threshold", &self.maximum_threshold);
        let minimum = json!(self.minimum_threshold);
        let other_unit =
            format!("has another unit than minimum_threshold, {minimum}; use the same unit");
        let too_low = format!(
            "is not more than minimum_threshold, {minimum}; for example three times as much"
        );
        let too_high = format!(
            "is more than the limit, {}; lower it or raise the limit",
            json!(self.limit)
        );
        let same_unit = low.measure == high.measure;
        let fits = Level::of(self.limit)
            .is_none_or(|limit| limit.measure != high.measure || limit.value >= high.value);
        let low_name = "minimum_threshold";
        every([
            consistent(same_unit, field, threshold, &[low_name], &other_unit),
            consistent(
                !same_unit || low.value < high.value,
                field,
                threshold,
                &[low_name],
                &too_low,
            ),
            consistent(fits, field, threshold, &["limit"], &too_high),
        ])
    }
}

/// Refuses a buffer without room for a packet.
pub(super) fn check_room(field: &str, limit: QueueLimit) -> Result<()> {
    let has_room = Level::of(limit).is_none_or(|level| level.value > 0.0);
    in_range(
        has_room,
        field,
        &limit,
        "is too small; for example \"100 packets\"",
    )
}

/// Refuses a drop probability of zero.
pub(super) fn check_probability(field: &str, probability: Probability) -> Result<()> {
    check_above_zero(field, probability, "10 %")
}

/// Refuses a threshold without a limit.
fn check_level(field: &str, threshold: QueueLimit) -> Result<()> {
    let remedy = "is not a limit; for example \"15 packets\"";
    in_range(Level::of(threshold).is_some(), field, &threshold, remedy)
}

/// Refuses a length that no queue reaches.
pub(super) fn check_early_from(early_from: QueueLimit) -> Result<()> {
    let remedy = "is never reached; for example \"2 packets\"";
    in_range(
        Level::of(early_from).is_some(),
        "early_from",
        &early_from,
        remedy,
    )
}

/// Refuses a packet of zero bytes and a link of rate zero.
pub(super) fn check_typical(packet: Bytes, rate: Option<BitRate>) -> Result<()> {
    every([
        check_above_zero("typical_packet", packet, "1500 bytes"),
        check_above_zero("rate", rate, "10 Mbit/s"),
    ])
}

impl Factory<QueueKind> for Red {
    fn build(&self, context: QueueContext<'_>) -> Discipline {
        let (Some(low), Some(high), Some(early_from)) = (
            Level::of(self.minimum_threshold),
            Level::of(self.maximum_threshold),
            Level::of(self.early_from),
        ) else {
            unreachable!("checked");
        };
        let rate = self.rate.unwrap_or_else(|| context.mean_rate());
        Discipline::InOrder(Box::new(EarlyDetection {
            buffer: self.limit.into(),
            measure: low.measure,
            average: Average::new(
                self.weight,
                self.typical_packet.as_f64() / rate.as_byte_per_s(),
            ),
            curve: Curve {
                low: low.value,
                high: high.value,
                most: self.maximum_probability.get(),
                gentle: self.gentle,
            },
            spacing: Spacing::new(context.place.stream(), self.wait),
            ecn: self.ecn,
            early_from,
        }))
    }

    fn draws(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::queue::QueueKind;
    use ackclock_spec::files::NoFiles;
    use ackclock_spec::registry::choose;
    use serde_json::{Value, json};

    fn red(changes: &Value) -> Value {
        let mut tree = json!({ "kind": "red", "limit": "100 packets",
            "minimum_threshold": "5 packets",
            "maximum_threshold": "15 packets" });
        for (field, value) in changes.as_object().unwrap() {
            tree[field] = value.clone();
        }
        tree
    }

    #[test]
    fn what_cannot_be_is_refused_by_name_in_one_line() {
        for (changes, key) in [
            (json!({ "limit": "0 packets" }), "out-of-range limit"),
            (json!({ "limit": "0 ms" }), "out-of-range limit"),
            (
                json!({ "maximum_threshold": "5 packets" }),
                "contradiction maximum_threshold",
            ),
            (
                json!({ "minimum_threshold": "20 packets" }),
                "contradiction maximum_threshold",
            ),
            (
                json!({ "maximum_threshold": "15 kB" }),
                "contradiction maximum_threshold",
            ),
            (
                json!({ "maximum_threshold": "101 packets" }),
                "contradiction maximum_threshold",
            ),
            (
                json!({ "minimum_threshold": "unlimited" }),
                "out-of-range minimum_threshold",
            ),
            (
                json!({ "maximum_threshold": "unlimited" }),
                "out-of-range maximum_threshold",
            ),
            (
                json!({ "maximum_probability": "0 %" }),
                "out-of-range maximum_probability",
            ),
            (json!({ "weight": 0 }), "out-of-range weight"),
            (json!({ "weight": 1.5 }), "out-of-range weight"),
            (
                json!({ "typical_packet": "0 bytes" }),
                "out-of-range typical_packet",
            ),
            (json!({ "rate": "0 bit/s" }), "out-of-range rate"),
            (
                json!({ "early_from": "unlimited" }),
                "out-of-range early_from",
            ),
        ] {
            let error = choose::<QueueKind>(&red(&changes), &NoFiles).unwrap_err();
            assert_eq!(error.key(), key, "{error}");
        }
    }

    #[test]
    fn a_limit_in_another_unit_than_the_thresholds_and_one_as_high_as_them_may_be() {
        for changes in [
            json!({ "limit": "1 ms" }),
            json!({ "limit": "15 packets" }),
            json!({ "limit": "unlimited" }),
        ] {
            choose::<QueueKind>(&red(&changes), &NoFiles).unwrap();
        }
    }
}
