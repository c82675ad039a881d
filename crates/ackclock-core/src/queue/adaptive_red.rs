//! Adaptive RED (Floyd, Gummadi, Shenker 2001). Its thresholds and its weight follow from the link
//! and a target delay. It adapts its maximum drop probability until the average queue is half way
//! between the thresholds.

use super::early_detection::{Average, Curve, EarlyDetection, Level, Measure, Spacing};
use super::facts::QueueFacts;
use super::red::{check_early_from, check_probability, check_room, check_typical, typical_packet};
use super::{Admission, Discipline, Occupancy, QueueContext, QueueKind};
use crate::observe::Context;
use crate::packet::PacketId;
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::QueueLimit;

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdaptiveRed {
    /// Most packets or bytes that may wait, or the longest wait, without the packet in service. At
    /// least 15 packets, the lowest value of the upper threshold.
    pub limit: QueueLimit,
    /// Approximate target of the average queueing delay. The lower threshold is half of it, but at
    /// least five packets; the upper threshold is three times the lower.
    #[serde(default = "target_delay")]
    pub target_delay: Span,
    /// True if ECN-capable packets are marked instead of dropped at random. Where the queue drops
    /// every packet, it drops them, too.
    #[serde(default)]
    pub ecn: bool,
    /// True if at least 1/p packets pass after each random drop, p being the drop probability
    /// without the spacing. So there are three times fewer drops at the same average queue. It is
    /// `wait_` of ns-2, where it is true by default; the paper has no such rule.
    #[serde(default)]
    pub wait: bool,
    /// The queue drops and marks early only packets that find at least this much waiting. The
    /// default is ns-2's, where the paper's results come from; its text has no such rule. Without
    /// it, the slow average goes on dropping after the queue has emptied.
    #[serde(default = "early_from")]
    pub early_from: QueueLimit,
    /// Initial drop probability at the upper threshold, from 1 % to 50 %. Our own choice within the
    /// range of its adaptation.
    #[serde(default = "initial_probability")]
    pub initial_probability: Probability,
    /// Packet size for converting the link's rate to packets per second.
    #[serde(default = "typical_packet")]
    pub typical_packet: Bytes,
    /// Rate of the link. By default its mean rate over the first minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
}

/// The value of the paper's simulations.
const fn target_delay() -> Span {
    Span::from_millis(5)
}
const fn early_from() -> QueueLimit {
    QueueLimit::Packets(2)
}
fn initial_probability() -> Probability {
    Probability::new(0.1).unwrap_or(Probability::ONE)
}

// Floyd, Gummadi, Shenker 2001, figure 2 and section 5.
const INTERVAL: Span = Span::from_millis(500);
/// α, or a quarter of max_p if that is less.
const MOST_ADDED: f64 = 0.01;
const PART_ADDED: f64 = 0.25;
/// β.
const KEPT: f64 = 0.9;
const SMALLEST: f64 = 0.01;
const LARGEST: f64 = 0.5;
/// Target range of the average queue, as shares of the distance between the thresholds.
const TARGET: [f64; 2] = [0.4, 0.6];
/// Smallest lower threshold, in packets.
const LEAST_LOW: f64 = 5.0;
/// Upper threshold divided by the lower.
const HIGH_OVER_LOW: f64 = 3.0;
/// Most steps at a time: from SMALLEST to LARGEST takes 90 steps, and back 38.
const STEPS: u64 = 100;

impl Element<QueueKind> for AdaptiveRed {
    const NAME: &'static str = "adaptive_red";
    const LABEL: &'static str = "Adaptive RED";
    const SUMMARY: &'static str = "RED that adapts its drop probability every 0.5 s to hold the \
        average queue midway between the thresholds.";
    const REFERENCE: &'static str = "Floyd, Gummadi and Shenker (2001), Adaptive RED: An Algorithm \
        for Increasing the Robustness of RED's Active Queue Management";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let (limit, probability) = (self.limit, self.initial_probability);
        let least = HIGH_OVER_LOW * LEAST_LOW;
        let reaches = !matches!(limit, QueueLimit::Packets(limit) if (limit as f64) < least);
        every([
            check_room("limit", limit),
            in_range(
                reaches,
                "limit",
                &limit,
                "is less than the upper threshold, which is at least 15 packets; for example \
                \"100 packets\"",
            ),
            check_above_zero("target_delay", self.target_delay, "5 ms"),
            check_probability("initial_probability", probability),
            in_range(
                (SMALLEST..=LARGEST).contains(&probability.get()),
                "initial_probability",
                &probability,
                "is not between 1 % and 50 %; for example \"10 %\"",
            ),
            check_early_from(self.early_from),
            check_typical(self.typical_packet, self.rate),
        ])
    }

    /// States neither the thresholds, which follow from the link, nor the drop probability at the
    /// upper one, which is adapted.
    fn facts(&self) -> QueueFacts {
        QueueFacts::early(self.limit, self.ecn)
    }
}

impl Factory<QueueKind> for AdaptiveRed {
    fn build(&self, context: QueueContext<'_>) -> Discipline {
        Discipline::InOrder(Box::new(self.queue(&context)))
    }

    fn draws(&self) -> bool {
        true
    }
}

impl AdaptiveRed {
    /// Builds the queue as in section 4: w_q = 1 − exp(−1/C), a time constant of a second; min_th =
    /// max(5, C delay/2). C is the link's rate in packets per second.
    fn queue(&self, context: &QueueContext<'_>) -> AdaptiveQueue {
        let rate = self.rate.unwrap_or_else(|| context.mean_rate());
        let typical = self.typical_packet.as_f64() / rate.as_byte_per_s(); // 1/C
        let low = LEAST_LOW.max(self.target_delay.as_seconds() / typical / 2.0);
        let Some(early_from) = Level::of(self.early_from) else {
            unreachable!("checked");
        };
        AdaptiveQueue {
            detection: EarlyDetection {
                buffer: self.limit.into(),
                measure: Measure::Packets,
                average: Average::new(-libm::expm1(-typical), typical),
                curve: Curve {
                    low,
                    high: HIGH_OVER_LOW * low,
                    most: self.initial_probability.get(),
                    gentle: true,
                },
                spacing: Spacing::new(context.place.stream(), self.wait),
                ecn: self.ecn,
                early_from,
            },
            adapted: Time::ZERO,
        }
    }
}

/// Adapts when a packet comes, for every interval that has ended since.
#[derive(Debug)]
struct AdaptiveQueue {
    detection: EarlyDetection,
    /// End of the last interval for which it has adapted.
    adapted: Time,
}

impl AdaptiveQueue {
    /// Adapts for all intervals that have ended. If nothing came in several of them, all use the
    /// average that the next packet finds.
    #[inline(never)]
    fn adapt(&mut self, now: Time) {
        let intervals = now.since(self.adapted).as_nanos() / INTERVAL.as_nanos();
        self.adapted = self.adapted + INTERVAL * intervals;
        let curve = &mut self.detection.curve;
        let average = self.detection.average.value;
        let [from, to] = TARGET.map(|part| curve.low + part * (curve.high - curve.low));
        for _ in 0..intervals.min(STEPS) {
            if average > to {
                curve.most += MOST_ADDED.min(PART_ADDED * curve.most);
            } else if average < from {
                curve.most *= KEPT;
            }
            curve.most = curve.most.clamp(SMALLEST, LARGEST);
        }
    }
}

impl Admission for AdaptiveQueue {
    fn admit(
        &mut self,
        now: Time,
        id: PacketId,
        occupancy: &Occupancy,
        context: &mut Context<'_>,
    ) -> bool {
        let admitted = self.detection.admit(now, id, occupancy, context);
        if now.since(self.adapted) >= INTERVAL {
            self.adapt(now);
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::super::early_detection::tests::{Fates, offer, waiting};
    use super::*;
    use crate::link::{LinkContext, LinkKind};
    use crate::packet::Ecn;
    use ackclock_spec::files::NoFiles;
    use ackclock_spec::registry::choose;
    use ackclock_spec::streams::Streams;
    use serde_json::json;

    /// Makes a queue for a link that sends that many packets of 1500 bytes per second.
    fn queue(packets_per_second: u64, target_ms: u64) -> AdaptiveQueue {
        let place = StreamScope {
            streams: &Streams::new(3, 0),
            name: "hop/test/queue",
        };
        let rate =
            json!({ "kind": "constant", "rate": format!("{} bit/s", 12_000 * packets_per_second) });
        let link = choose::<LinkKind>(&rate, &NoFiles)
            .unwrap()
            .build(LinkContext::alone(place));
        let parameters = AdaptiveRed {
            limit: QueueLimit::Packets(1000),
            target_delay: Span::from_millis(target_ms),
            ecn: false,
            wait: false,
            early_from: early_from(),
            initial_probability: initial_probability(),
            typical_packet: typical_packet(),
            rate: None,
        };
        parameters.queue(&QueueContext {
            measured: &|| None,
            labels: &crate::queue::FlowLabels::default(),
            place,
            link: &*link,
        })
    }

    /// Offers a packet that finds that average.
    fn find(queue: &mut AdaptiveQueue, at: Time, average: f64) {
        queue.detection.average.value = average;
        offer(
            queue,
            (at, 0, Ecn::NotCapable),
            &waiting(average as u64),
            &mut Fates::default(),
        );
    }

    #[test]
    fn thresholds_and_weight_follow_from_the_link_and_the_delay() {
        for (rate, delay, low) in [
            (1000, 5, 5.0),
            (1000, 20, 10.0),
            (10_000, 5, 25.0),
            (100_000, 1, 50.0),
        ] {
            let queue = queue(rate, delay);
            let curve = &queue.detection.curve;
            assert!(
                (curve.low - low).abs() < 1e-9
                    && (curve.high - 3.0 * low).abs() < 1e-9
                    && curve.gentle
            );
            // After a second of packets back to back, 1/e of a change is still missing from the
            // average.
            let mut left = queue;
            left.detection.average.value = 1.0;
            let mut fates = Fates::default();
            for _ in 0..rate {
                offer(
                    &mut left,
                    (Time::ZERO, 0, Ecn::NotCapable),
                    &waiting(0),
                    &mut fates,
                );
            }
            assert!((left.detection.average.value - libm::exp(-1.0)).abs() < 1e-9);
        }
    }

    #[test]
    fn the_highest_share_rises_by_adding_and_falls_by_a_factor_once_per_interval() {
        let mut queue = queue(10_000, 5); // thresholds 25 and 75, target 45 to 55
        let mut at = Time::ZERO;
        let mut after = |average: f64, ms: u64| {
            at = at + Span::from_millis(ms);
            find(&mut queue, at, average);
            queue.detection.curve.most
        };
        assert_eq!(after(60.0, 499), 0.1);
        assert!((after(60.0, 1) - 0.11).abs() < 1e-12);
        assert!((after(60.0, 499) - 0.11).abs() < 1e-12, "once");
        assert!((after(50.0, 1) - 0.11).abs() < 1e-12, "within the target");
        assert!((after(40.0, 500) - 0.099).abs() < 1e-12);
        assert!(
            (after(40.0, 1100) - 0.099 * 0.81).abs() < 1e-12,
            "two intervals have ended"
        );
        assert!(
            (after(40.0, 400) - 0.099 * 0.729).abs() < 1e-12,
            "the grid stays"
        );
        // A quarter is added to a small share.
        let low = after(0.0, 8_000);
        assert!(low < 0.02 && low > 0.01);
        assert!((after(70.0, 500) - 1.25 * low).abs() < 1e-12);
    }

    #[test]
    fn the_highest_share_stays_within_its_bounds() {
        for (average, bound) in [(74.0, LARGEST), (1.0, SMALLEST)] {
            let mut queue = queue(10_000, 5);
            for step in 1..200 {
                find(
                    &mut queue,
                    Time::ZERO + Span::from_millis(500 * step),
                    average,
                );
                assert!((SMALLEST..=LARGEST).contains(&queue.detection.curve.most));
            }
            assert_eq!(queue.detection.curve.most, bound);
            // One packet after a very long time does the same.
            let mut other = self::queue(10_000, 5);
            find(&mut other, Time::from_seconds(1e9), average);
            assert_eq!(other.detection.curve.most, bound);
        }
    }

    #[test]
    fn what_cannot_be_is_refused_by_name_in_one_line() {
        for (field, value) in [
            ("limit", "0 packets"),
            ("limit", "14 packets"),
            ("target_delay", "0 ms"),
            ("initial_probability", "0 %"),
            ("initial_probability", "0.5 %"),
            ("typical_packet", "0 bytes"),
            ("rate", "0 bit/s"),
        ] {
            let mut tree = json!({ "kind": "adaptive_red", "limit": "100 packets" });
            tree[field] = value.into();
            let error = choose::<QueueKind>(&tree, &NoFiles).unwrap_err();
            assert_eq!(error.key(), format!("out-of-range {field}"), "{error}");
        }
    }
}
