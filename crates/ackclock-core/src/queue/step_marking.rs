//! Marking at a threshold: every packet that finds more than K waiting is marked (DCTCP 2010,
//! section 3.1). With a ramp, the probability rises from 0 at the threshold to 1 above it, as in
//! the L queue of RFC 9332 appendix A.

use super::droptail::DropTail;
use super::early_detection::{Level, Measure};
use super::facts::{Drops, Marking, QueueFacts};
use super::red::check_room;
use super::{Admission, Discipline, Occupancy, QueueContext, QueueKind};
use crate::observe::{Context, DropReason};
use crate::packet::PacketId;
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::QueueLimit;
use serde_json::json;

/// Parameters. The queue that counts is what a packet finds on arrival, before it joins: packets or
/// bytes that wait, without the one in service, or the time that the packet itself will wait.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "limit": "500 packets", "threshold": "65 packets" }))]
#[schemars(example = json!({
    "limit": "1 MB",
    "threshold": "800 us",
    "ramp": "400 us",
    "not_capable": "pass"
}))]
pub struct StepMarking {
    /// Most packets or bytes that may wait, or the longest wait, without the packet in service.
    /// Above zero.
    pub limit: QueueLimit,
    /// K: a packet that finds more is marked. In time, this is the packet's wait until its service
    /// begins, which is its sojourn time at departure. DCTCP needs K > C RTT/7 (Alizadeh 2010
    /// section 3.4).
    pub threshold: QueueLimit,
    /// Further queue over which the probability of a mark rises linearly from 0 to 1, in the unit
    /// of `threshold`. Zero or absent: a step. RFC 9332 appendix A has 800 µs and 400 µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp: Option<QueueLimit>,
    /// Fate, in the place of a mark, of a packet that is not ECN-capable.
    #[serde(default)]
    pub not_capable: NotCapable,
}

/// The fate of a packet that would be marked and is not ECN-capable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotCapable {
    /// It is dropped (RFC 3168 section 5): DCTCP's switches do so.
    #[default]
    Drop,
    /// It stays in the queue (Linux's `ce_threshold`).
    Pass,
}

impl Element<QueueKind> for StepMarking {
    const NAME: &'static str = "step_marking";
    const LABEL: &'static str = "step marking";
    const SUMMARY: &'static str =
        "First in, first out; marks every packet that finds more than a threshold waiting.";
    const REFERENCE: &'static str = "Alizadeh et al. (2010), Data Center TCP (DCTCP), section 3.1; \
        RFC 9332 appendix A (ramp)";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let level = Level::of(self.threshold);
        let ramp = self.ramp.and_then(Level::of);
        let unit = json!(self.threshold);
        let remedy = format!("has another unit than threshold, {unit}; use the same unit");
        let same = level
            .zip(ramp)
            .is_none_or(|(low, width)| low.measure == width.measure);
        every([
            check_room("limit", self.limit),
            in_range(
                level.is_some(),
                "threshold",
                &self.threshold,
                "is not a limit; for example \"65 packets\"",
            ),
            in_range(
                self.ramp.is_none() || ramp.is_some(),
                "ramp",
                &self.ramp,
                "is not a length; for example \"400 us\"",
            ),
            consistent(same, "ramp", &self.ramp, &["threshold"], &remedy),
        ])
    }

    fn facts(&self) -> QueueFacts {
        QueueFacts {
            drops: Some(match self.not_capable {
                NotCapable::Drop => Drops::Early,
                NotCapable::Pass => Drops::Tail,
            }),
            marks: Some(true),
            marking: Stated::Some(Marking {
                threshold: self.threshold,
                ramp: self.ramp.into(),
            }),
            ..QueueFacts::fixed(self.limit)
        }
    }
}

impl Factory<QueueKind> for StepMarking {
    fn build(&self, context: QueueContext<'_>) -> Discipline {
        let Some(threshold) = Level::of(self.threshold) else {
            unreachable!("checked");
        };
        let width = self.ramp.and_then(Level::of).map_or(0.0, |ramp| ramp.value);
        Discipline::InOrder(Box::new(Threshold {
            buffer: self.limit.into(),
            threshold,
            ramp: (width > 0.0).then(|| (width, context.place.stream())),
            not_capable: self.not_capable,
        }))
    }

    fn draws(&self) -> bool {
        self.ramp.is_some()
    }
}

/// A drop-tail buffer that marks above a threshold.
#[derive(Debug)]
struct Threshold {
    buffer: DropTail,
    threshold: Level,
    /// Width of the ramp in the threshold's unit, and its draws.
    ramp: Option<(f64, Stream)>,
    not_capable: NotCapable,
}

impl Threshold {
    /// True if a packet that finds this queue is marked.
    fn strikes(&mut self, occupancy: &Occupancy) -> bool {
        let length = match self.threshold.measure {
            Measure::Seconds => occupancy.wait.as_seconds(),
            Measure::Packets => occupancy.waiting.packets as f64,
            Measure::Bytes => occupancy.waiting.bytes.as_f64(),
        };
        let above = length - self.threshold.value;
        match &mut self.ramp {
            // RFC 9332 appendix A: min(max((q − lo)/w, 0), 1).
            Some((width, stream)) if above > 0.0 => stream.uniform() < above / *width,
            _ => above > 0.0,
        }
    }
}

impl Admission for Threshold {
    fn admit(
        &mut self,
        now: Time,
        id: PacketId,
        occupancy: &Occupancy,
        context: &mut Context<'_>,
    ) -> bool {
        if !self.buffer.admit(now, id, occupancy, context) {
            return false;
        }
        if !self.strikes(occupancy) || context.mark_packet(now, id) {
            return true;
        }
        let passes = self.not_capable == NotCapable::Pass;
        if !passes {
            context.drop_packet(now, id, DropReason::Aqm);
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::super::early_detection::tests::{Fates, waiting};
    use super::*;
    use crate::link::{LinkContext, LinkKind};
    use crate::packet::{Ecn, FlowId, Packet, PacketKind, PacketPool};
    use ackclock_spec::files::NoFiles;
    use ackclock_spec::registry::choose;
    use ackclock_spec::streams::Streams;
    use serde_json::Value;

    fn queue(changes: Value) -> Value {
        let mut tree = json!({ "kind": "step_marking", "limit": "100 packets",
            "threshold": "20 packets" });
        for (field, value) in changes.as_object().unwrap() {
            tree[field] = value.clone();
        }
        tree
    }

    fn build(changes: Value) -> Box<dyn Admission> {
        let link = json!({ "kind": "constant", "rate": "8 Mbit/s" });
        let streams = Streams::new(1, 0);
        let place = StreamScope {
            streams: &streams,
            name: "hop/b/queue",
        };
        let link = choose::<LinkKind>(&link, &NoFiles)
            .unwrap()
            .build(LinkContext::alone(place));
        let context = QueueContext {
            measured: &|| None,
            labels: &crate::queue::FlowLabels::default(),
            place,
            link: &*link,
        };
        match choose::<QueueKind>(&queue(changes), &NoFiles)
            .unwrap()
            .build(context)
        {
            Discipline::InOrder(admission) => admission,
            other => panic!("{other:?}"),
        }
    }

    /// Offers `n` packets that each find `length` waiting. Returns their fates.
    fn offer(queue: &mut dyn Admission, length: u64, n: u64, ecn: Ecn) -> Fates {
        let (mut pool, mut fates) = (PacketPool::new(), Fates::default());
        for number in 0..n {
            let mut packet = Packet::new(PacketKind::Data, FlowId(0), number, 1000, Time::ZERO);
            packet.set_ecn(ecn);
            let id = pool.insert(packet);
            let mut context = Context {
                packets: &mut pool,
                observer: &mut fates,
            };
            if queue.admit(Time::ZERO, id, &waiting(length), &mut context) {
                pool.remove(id);
            }
        }
        assert_eq!(pool.live(), 0);
        fates
    }

    #[test]
    fn a_packet_that_finds_more_than_the_threshold_is_marked() {
        // Packets of 1000 bytes and 1 ms behind one with half a millisecond left.
        for (threshold, first_marked) in [
            ("20 packets", 21),
            ("20 kB", 21),
            ("19999 bytes", 20),
            ("20.5 ms", 21),
            ("20.4 ms", 20),
            ("0 packets", 1),
        ] {
            let mut queue = build(json!({ "threshold": threshold }));
            for length in 0..60 {
                let marks = offer(&mut *queue, length, 1, Ecn::CapableL4s).marks.len();
                assert_eq!(marks == 1, length >= first_marked, "{threshold} {length}");
            }
        }
    }

    #[test]
    fn a_ramp_marks_the_share_that_its_formula_says() {
        let mut queue = build(json!({ "ramp": "40 packets" }));
        let n = 40_000;
        for (found, share) in [
            (20, 0.0),
            (30, 0.25),
            (40, 0.5),
            (50, 0.75),
            (60, 1.0),
            (80, 1.0),
        ] {
            let marks = offer(&mut *queue, found, n, Ecn::Capable).marks.len() as f64;
            // Four standard deviations of a binomial share.
            let band = 4.0 * libm::sqrt(share * (1.0 - share) / n as f64);
            let found_share = marks / n as f64;
            assert!(
                (found_share - share).abs() <= band,
                "{found}: {found_share}"
            );
        }
    }

    #[test]
    fn what_is_not_capable_is_dropped_or_passes_as_told() {
        for (fate, drops) in [("drop", 10), ("pass", 0)] {
            let mut queue = build(json!({ "not_capable": fate }));
            let fates = offer(&mut *queue, 30, 10, Ecn::NotCapable);
            assert_eq!((fates.drops.len(), fates.marks.len()), (drops, 0));
            assert!(fates.drops.iter().all(|(_, why)| *why == DropReason::Aqm));
            assert!(offer(&mut *queue, 20, 10, Ecn::NotCapable).drops.is_empty());
        }
    }

    #[test]
    fn a_full_buffer_drops_what_could_be_marked() {
        let fates = offer(&mut *build(json!({})), 100, 5, Ecn::CapableL4s);
        assert_eq!((fates.drops.len(), fates.marks.len()), (5, 0));
        assert_eq!(fates.drops[0].1, DropReason::QueueFull);
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        for (changes, key) in [
            (json!({ "limit": "0 packets" }), "out-of-range limit"),
            (
                json!({ "threshold": "unlimited" }),
                "out-of-range threshold",
            ),
            (json!({ "ramp": "unlimited" }), "out-of-range ramp"),
            (json!({ "ramp": "1 ms" }), "contradiction ramp"),
            (json!({ "not_capable": "keep" }), "unknown-name not_capable"),
        ] {
            let error = choose::<QueueKind>(&queue(changes), &NoFiles).unwrap_err();
            assert_eq!(error.key(), key, "{error}");
        }
    }
}
