//! eBDP (Li and Leith 2008): room for the packets that the link sends within a target delay, from
//! the average service time.

use super::adaptive_limit::{AdaptiveLimit, ServiceTimeLimit, check_service_time};
use super::facts::QueueFacts;
use super::{Discipline, QueueContext, QueueKind};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::Segments;
use serde_json::json;

parameters! {
    /// Parameters. The limit is the target delay over the average service time, plus
    /// `over_provision`, but at most `maximum`. A service lasts from the moment at which a packet
    /// is the first of the queue until it has been sent; its wait for other packets does not count.
    /// There is no lower bound other than `over_provision`.
    #[schemars(example = json!({}))]
    #[schemars(example = json!({
        "target_delay": "5 ms",
        "over_provision": "2 packets",
        "weight": 0.1,
        "maximum": "9 packets",
        "counts_packet_in_service": false
    }))]
    pub struct Ebdp {
        /// Target queueing delay. Inferred: 200 ms is the round-trip time of the publication's
        /// path, and twice that is the delay that it reports.
        pub target_delay: Span = Span::from_millis(200),
        /// Packets added to the limit, since a link with random service times needs more than its
        /// bandwidth-delay product. 40 fits the publication's results; its later version has 5,
        /// from memory.
        pub over_provision: Segments = Segments(40),
        /// Weight of the latest service in the average service time; above 0, at most 1. The
        /// publication's value: a memory of a thousand packets, however long they take.
        pub weight: f64 = 0.001,
        /// Upper bound of the limit, and the limit until a packet has been served. Inferred: the
        /// buffer of the publication's stations.
        pub maximum: Segments = Segments(400),
        /// True if the packet in service counts towards the limit, as at an 802.11 station, which
        /// may have to send it again.
        pub counts_packet_in_service: bool = true,
    }
}

impl Element<QueueKind> for Ebdp {
    const NAME: &'static str = "ebdp";
    const LABEL: &'static str = "eBDP";
    const SUMMARY: &'static str = "Drop-tail whose limit is what the link sends within a target \
        delay, from the average service time.";
    const REFERENCE: &'static str = "Li and Leith (2008), Buffer Sizing for TCP Flows in 802.11e \
        WLANs, IEEE Communications Letters";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        check_service_time(self.target_delay, self.weight, self.maximum)
    }

    fn facts(&self) -> QueueFacts {
        QueueFacts::moving(self.maximum.0, self.counts_packet_in_service)
    }
}

impl Factory<QueueKind> for Ebdp {
    fn build(&self, _: QueueContext<'_>) -> Discipline {
        let law = ServiceTimeLimit::new(
            self.target_delay,
            self.over_provision,
            self.weight,
            self.maximum,
        );
        Discipline::InOrder(Box::new(AdaptiveLimit {
            by_service: Some(law),
            by_idleness: None,
            counts_packet_in_service: self.counts_packet_in_service,
        }))
    }
}
