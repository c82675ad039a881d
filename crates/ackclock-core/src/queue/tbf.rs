//! A token-bucket shaper: a FIFO queue that sends at a rate of its own, below that of its link.

use super::buffer::{Buffer, check_limit};
use super::facts::QueueFacts;
use super::{Discipline, Queue, QueueContext, QueueKind};
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, PacketId};
use crate::token_bucket::TokenBucket;
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::QueueLimit;
use serde_json::json;

/// Parameters. The buckets are full at the beginning. Put it on a hop whose link is faster than
/// `rate`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "rate": "10 Mbit/s", "burst": "10 kB", "limit": "60 kB" }))]
#[schemars(example = json!({
    "rate": "1 Mbit/s",
    "burst": "20 kB",
    "limit": "40 packets",
    "peak_rate": "3 Mbit/s"
}))]
pub struct Tbf {
    /// Rate at which the bucket is filled. Headers count.
    pub rate: BitRate,
    /// Most bytes that the bucket holds: what may pass at once after a pause. At least
    /// 1500 bytes. A larger packet is dropped.
    pub burst: Bytes,
    /// Most packets or bytes that may wait, without the packet in service.
    pub limit: QueueLimit,
    /// Rate of a second bucket, which spreads a burst. Above `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rate: Option<BitRate>,
    /// Most bytes that the second bucket holds. At least 1500 bytes.
    #[serde(default = "largest_packet")]
    pub peak_burst: Bytes,
}

const fn largest_packet() -> Bytes {
    Bytes(1500)
}

impl Element<QueueKind> for Tbf {
    const NAME: &'static str = "tbf";
    const LABEL: &'static str = "token bucket";
    const SUMMARY: &'static str = "First in, first out; sends at a rate of its own, with bursts, \
        and drops packets that do not fit.";
    const REFERENCE: &'static str = "Linux, `sch_tbf.c`; RFC 2475 section 2.3.3.4 (shapers)";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let holds = |field, burst: Bytes| {
            let remedy = "may hold no packet; at least \"1500 bytes\"";
            in_range(burst >= largest_packet(), field, &burst, remedy)
        };
        every([
            in_range(
                self.rate > BitRate::ZERO,
                "rate",
                &self.rate,
                "sends nothing; for example \"10 Mbit/s\"",
            ),
            holds("burst", self.burst),
            holds("peak_burst", self.peak_burst),
            check_limit("limit", self.limit),
            consistent(
                self.peak_rate.is_none_or(|peak| peak > self.rate),
                "peak_rate",
                &self.peak_rate,
                &["rate"],
                "is not above the rate; for example three times as much",
            ),
        ])
    }

    fn facts(&self) -> QueueFacts {
        QueueFacts {
            highest_bit_per_s: Stated::Some(self.rate.as_bit_per_s()),
            ..QueueFacts::fixed(self.limit)
        }
    }
}

impl Factory<QueueKind> for Tbf {
    fn build(&self, _: QueueContext<'_>) -> Discipline {
        Discipline::Scheduled(Box::new(TbfQueue::new(self)))
    }
}

#[derive(Debug)]
struct TbfQueue {
    buffer: Buffer,
    buckets: Vec<TokenBucket>,
    /// Size of the largest packet that passes.
    largest: Bytes,
    ready_at: Time,
}

impl TbfQueue {
    fn new(parameters: &Tbf) -> Self {
        let peak = parameters
            .peak_rate
            .map(|rate| TokenBucket::new(rate, parameters.peak_burst));
        let largest = match peak {
            Some(_) => parameters.burst.min(parameters.peak_burst),
            None => parameters.burst,
        };
        let bucket = TokenBucket::new(parameters.rate, parameters.burst);
        TbfQueue {
            buffer: Buffer::new(parameters.limit),
            buckets: std::iter::once(bucket).chain(peak).collect(),
            largest,
            ready_at: Time::NEVER,
        }
    }
}

impl Queue for TbfQueue {
    fn enqueue(&mut self, now: Time, id: PacketId, in_service: Backlog, context: &mut Context<'_>) {
        if context.packets[id].bytes() > self.largest {
            return context.drop_packet(now, id, DropReason::QueueFull);
        }
        // A packet that waits for tokens keeps the link from being idle.
        let waits = in_service.packets == 0 && self.buffer.backlog().packets > 0;
        let in_service = if waits {
            Backlog {
                packets: 1,
                bytes: Bytes::ZERO,
            }
        } else {
            in_service
        };
        self.buffer.enqueue(now, id, in_service, context);
    }

    fn dequeue(&mut self, now: Time, context: &mut Context<'_>) -> Option<PacketId> {
        self.ready_at = Time::NEVER;
        let size = context.packets[self.buffer.first()?].bytes();
        self.buckets.iter_mut().for_each(|bucket| bucket.fill(now));
        let ready = self.buckets.iter().map(|bucket| bucket.ready_at(size));
        let ready = ready.max().unwrap_or(now);
        if ready > now {
            self.ready_at = ready;
            return None;
        }
        self.buckets.iter_mut().for_each(|bucket| bucket.take(size));
        self.buffer.dequeue(context).map(|(_, id)| id)
    }

    fn backlog(&self) -> Backlog {
        self.buffer.backlog()
    }

    fn ready_at(&self) -> Time {
        self.ready_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;
    use crate::queue::testing::{Bench, assert_refused};

    /// 1000 bytes a second behind a link that takes no time, and three packets at once.
    fn bench(peak_rate: Option<BitRate>, limit: QueueLimit) -> Bench<TbfQueue> {
        let parameters = Tbf {
            rate: BitRate::from_mbit_per_s(0.008),
            burst: Bytes(3000),
            limit,
            peak_rate,
            peak_burst: largest_packet(),
        };
        Bench::new(TbfQueue::new(&parameters), 0)
    }

    fn starts(bench: &Bench<TbfQueue>) -> Vec<f64> {
        bench.waits.iter().map(|(at, _)| *at).collect()
    }

    #[test]
    fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
        let mut bench = bench(None, QueueLimit::Unlimited);
        for at in [0.0, 0.0, 0.0, 0.0, 1.0, 1.5, 2.0] {
            bench.arrive_of(at, FlowId(0), 1000);
        }
        bench.serve_until(Time::from_seconds(100.0));
        assert_eq!(starts(&bench), [0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0]);
    }

    /// The second bucket holds 1500 bytes and is filled with 2000 bytes a second.
    #[test]
    fn the_peak_rate_spreads_a_burst() {
        let peak = BitRate::from_mbit_per_s(0.016);
        let mut bench = bench(Some(peak), QueueLimit::Unlimited);
        (0..4).for_each(|_| bench.arrive_of(0.0, FlowId(0), 1000));
        bench.serve_until(Time::from_seconds(100.0));
        assert_eq!(starts(&bench), [0.0, 0.25, 0.75, 1.25]);
    }

    #[test]
    fn what_does_not_fit_is_dropped() {
        let mut bench = bench(None, QueueLimit::Packets(2));
        (0..8).for_each(|_| bench.arrive_of(0.0, FlowId(0), 1000));
        // Three have passed and two wait.
        assert_eq!(bench.log.drops, [(0.0, DropReason::QueueFull); 3]);
        bench.arrive_of(0.0, FlowId(0), 3001);
        assert_eq!(bench.log.drops.len(), 4);
    }

    #[test]
    fn impossible_parameters_are_refused_by_name() {
        assert_refused(
            &json!({
                "kind": "tbf", "rate": "1 Mbit/s", "burst": "3 kB", "limit": "9 packets"
            }),
            [
                ("rate", json!("0 bit/s")),
                ("burst", json!("1499 bytes")),
                ("peak_burst", json!("0 bytes")),
                ("peak_rate", json!("1 Mbit/s")),
                ("limit", json!("20 ms")),
            ],
        );
    }
}
