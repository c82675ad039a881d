//! A* (Li, Leith and Malone 2011): the smaller of the limits of eBDP and ALT.

use super::adaptive_limit::{
    AdaptiveLimit, IdleTimeLimit, ServiceTimeLimit, check_idle_time, check_service_time,
};
use super::facts::QueueFacts;
use super::{Discipline, QueueContext, QueueKind};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::{PacketRate, Segments};
use serde_json::json;

parameters! {
    /// Parameters: those of `ebdp` and of `alt`, whose `maximum` is `tuned_maximum` here. eBDP
    /// bounds the delay. ALT removes the buffer that several flows do not need, since they do not
    /// halve their windows at the same time.
    #[schemars(example = json!({}))]
    #[schemars(example = json!({
        "target_delay": "5 ms",
        "over_provision": "2 packets",
        "weight": 0.1,
        "maximum": "9 packets",
        "interval": "7 ms",
        "increase": "900 packets/s",
        "decrease": "200 packets/s",
        "minimum": "2 packets",
        "initial": "3 packets",
        "tuned_maximum": "12 packets"
    }))]
    pub struct AStar {
        /// Target queueing delay of eBDP. Inferred: 200 ms is the round-trip time of the
        /// publication's path, and twice that is the delay that it reports.
        pub target_delay: Span = Span::from_millis(200),
        /// Packets added to those that are sent within the target delay. From memory of the
        /// publication.
        pub over_provision: Segments = Segments(5),
        /// Weight of the latest service in the average service time; above 0, at most 1.
        pub weight: f64 = 0.001,
        /// Upper bound of eBDP's limit.
        pub maximum: Segments = Segments(400),
        /// Interval at which ALT adapts its limit. This and the following are from memory of the
        /// publication, except `initial`.
        pub interval: Span = Span::from_millis(1000),
        /// Increase of ALT's limit per second in which the queue is empty. Above 0.
        pub increase: PacketRate = PacketRate(10.0),
        /// Decrease of ALT's limit per second in which the queue is not empty. Above 0.
        pub decrease: PacketRate = PacketRate(1.0),
        /// Lower bound of ALT's limit; eBDP's may be lower.
        pub minimum: Segments = Segments(5),
        /// Upper bound of ALT's limit. From there, at the default `decrease`, the limit falls to
        /// eBDP's by one packet per second.
        pub tuned_maximum: Segments = Segments(1600),
        /// Initial limit of ALT. Our own choice, and low, because the limit rises ten times as fast
        /// as it falls.
        pub initial: Segments = Segments(50),
        /// True if the packet in service counts towards the limit, as at an 802.11 station, which
        /// may have to send it again.
        pub counts_packet_in_service: bool = true,
    }
}

impl Element<QueueKind> for AStar {
    const NAME: &'static str = "a_star";
    const LABEL: &'static str = "A*";
    const SUMMARY: &'static str = "Drop-tail with the smaller of the limits of `ebdp` and `alt`.";
    const REFERENCE: &'static str = "Li, Leith and Malone (2011), Buffer Sizing for 802.11-Based \
        Networks, IEEE/ACM Transactions on Networking";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let rates = [self.increase, self.decrease];
        let low = (self.minimum, self.initial);
        let high = ("tuned_maximum", self.tuned_maximum);
        every([
            check_service_time(self.target_delay, self.weight, self.maximum),
            check_idle_time(self.interval, rates, low, high),
        ])
    }

    fn facts(&self) -> QueueFacts {
        let most = self.maximum.min(self.tuned_maximum);
        QueueFacts::moving(most.0, self.counts_packet_in_service)
    }
}

impl Factory<QueueKind> for AStar {
    fn build(&self, _: QueueContext<'_>) -> Discipline {
        let by_service = ServiceTimeLimit::new(
            self.target_delay,
            self.over_provision,
            self.weight,
            self.maximum,
        );
        let rates = [self.increase, self.decrease];
        let bounds = [self.minimum, self.tuned_maximum];
        Discipline::InOrder(Box::new(AdaptiveLimit {
            by_service: Some(by_service),
            by_idleness: Some(IdleTimeLimit::new(
                self.interval,
                rates,
                bounds,
                self.initial,
            )),
            counts_packet_in_service: self.counts_packet_in_service,
        }))
    }
}
