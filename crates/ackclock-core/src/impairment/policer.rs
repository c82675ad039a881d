//! A token-bucket policer: it drops the packets that exceed a rate, and queues none.

use super::facts::{ImpairmentFacts, LossSpacing};
use super::{Applies, Impairment, ImpairmentKind, Side, Verdict};
use crate::packet::Packet;
use crate::token_bucket::TokenBucket;
use ackclock_spec::prelude::*;
use serde_json::json;

/// Parameters. The bucket is full at the beginning. A packet that finds fewer tokens than its bytes
/// is dropped and takes none. Put it on a hop whose link is faster than `rate`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "rate": "10 Mbit/s", "burst": "100 kB" }))]
pub struct Policer {
    /// Rate at which the bucket is filled. Headers count.
    pub rate: BitRate,
    /// Most bytes that the bucket holds: what may pass at once after a pause.
    pub burst: Bytes,
    /// Position in the hop.
    #[serde(default = "before_queue")]
    pub side: Side,
    /// Packets to which it applies; others take no tokens.
    #[serde(default = "Applies::data")]
    pub applies: Applies,
}

const fn before_queue() -> Side {
    Side::BeforeQueue
}

impl Element<ImpairmentKind> for Policer {
    const NAME: &'static str = "policer";
    const LABEL: &'static str = "policer";
    const SUMMARY: &'static str = "Drops the packets that exceed a rate, by a token bucket.";
    const REFERENCE: &'static str = "RFC 2475 section 2.3.3.3 (policers); RFC 2697 with one \
        bucket";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            in_range(
                self.rate > BitRate::ZERO,
                "rate",
                &self.rate,
                "passes nothing; for example \"10 Mbit/s\"",
            ),
            in_range(
                self.burst >= LARGEST_PACKET,
                "burst",
                &self.burst,
                "may hold no packet; at least \"1500 bytes\"",
            ),
        ])
    }

    fn facts(&self) -> ImpairmentFacts {
        ImpairmentFacts {
            mean_loss: Stated::Unknown, // depends on the traffic
            spacing: Some(LossSpacing::Bursty),
            ..ImpairmentFacts::of(self.applies, self.side)
        }
    }
}

/// Packets of this size are common.
const LARGEST_PACKET: Bytes = Bytes(1500);

impl Factory<ImpairmentKind> for Policer {
    fn build(&self, _: StreamScope<'_>) -> Box<dyn Impairment> {
        Box::new(PolicerImpairment {
            applies: self.applies,
            side: self.side,
            bucket: TokenBucket::new(self.rate, self.burst),
        })
    }
}

#[derive(Debug)]
struct PolicerImpairment {
    applies: Applies,
    side: Side,
    bucket: TokenBucket,
}

impl Impairment for PolicerImpairment {
    fn judge(&mut self, now: Time, packet: &Packet) -> Verdict {
        if !self.applies.to(packet) {
            return Verdict::Pass;
        }
        self.bucket.fill(now);
        if self.bucket.holds(packet.bytes()) {
            self.bucket.take(packet.bytes());
            Verdict::Pass
        } else {
            Verdict::Drop
        }
    }
    fn side(&self) -> Side {
        self.side
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impairment::tests::{self, choose, packet};
    use crate::packet::{FlowId, PacketKind};

    fn passes(policer: &mut dyn Impairment, seconds: f64) -> bool {
        policer.judge(Time::from_seconds(seconds), &packet()) == Verdict::Pass
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        // A packet of 1500 bytes a second, and three at once.
        let tree = json!({ "kind": "policer", "rate": "12 kbit/s", "burst": "4500 bytes" });
        let mut policer = tests::build(tree);
        let moments = [0.0, 0.0, 0.0, 0.0, 1.0, 1.5, 2.0];
        let passed = moments.map(|at| passes(policer.as_mut(), at));
        assert_eq!(passed, [true, true, true, false, true, false, true]);
    }

    #[test]
    fn the_long_run_rate_is_exact() {
        let tree = json!({ "kind": "policer", "rate": "7 Mbit/s", "burst": "3000 bytes" });
        let mut policer = tests::build(tree);
        // Offered 12 Mbit/s for 100 s: 100,000 packets; 7/12 of them pass.
        let passed = (0..100_000)
            .filter(|number| passes(policer.as_mut(), f64::from(*number) * 1e-3))
            .count();
        assert!((58_332..=58_335).contains(&passed), "{passed}");
    }

    #[test]
    fn acks_take_no_tokens() {
        let tree = json!({ "kind": "policer", "rate": "1 kbit/s", "burst": "1500 bytes" });
        let mut policer = tests::build(tree);
        let ack = Packet::new(PacketKind::Ack, FlowId(0), 0, 1500, Time::ZERO);
        for _ in 0..9 {
            assert_eq!(policer.judge(Time::ZERO, &ack), Verdict::Pass);
        }
        assert!(passes(policer.as_mut(), 0.0) && !passes(policer.as_mut(), 0.0));
    }

    #[test]
    fn a_policer_that_passes_nothing_is_refused() {
        for (rate, burst, expected) in [
            ("0 bit/s", "100 kB", "out-of-range rate"),
            ("1 Mbit/s", "1499 bytes", "out-of-range burst"),
        ] {
            let tree = json!({ "kind": "policer", "rate": rate, "burst": burst });
            assert_eq!(choose(tree).unwrap_err().key(), expected);
        }
    }
}
