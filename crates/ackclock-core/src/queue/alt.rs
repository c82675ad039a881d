//! ALT, adaptive limit tuning (Li, Leith and Malone 2011): a limit that rises while the queue is
//! empty and falls while it is not.

use super::adaptive_limit::{AdaptiveLimit, IdleTimeLimit, check_idle_time};
use super::facts::QueueFacts;
use super::{Discipline, QueueContext, QueueKind};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::{PacketRate, Segments};
use serde_json::json;

parameters! {
    /// Parameters. In the letters of the publication: t is `interval`, a1 `increase`, b1
    /// `decrease`, q_min `minimum`, q_max `maximum`. Where the limit settles, the queue is empty
    /// for b1/(a1 + b1) of the time, 9 %. All values but `initial` are quoted from memory.
    #[schemars(example = json!({}))]
    #[schemars(example = json!({
        "interval": "7 ms",
        "increase": "900 packets/s",
        "decrease": "200 packets/s",
        "minimum": "2 packets",
        "initial": "3 packets",
        "maximum": "9 packets",
        "counts_packet_in_service": false
    }))]
    pub struct Alt {
        /// Interval at which the limit is adapted.
        pub interval: Span = Span::from_millis(1000),
        /// Increase of the limit per second in which the queue is empty: nothing waits and nothing
        /// is sent. Above 0.
        pub increase: PacketRate = PacketRate(10.0),
        /// Decrease of the limit per second in which the queue is not empty. Above 0.
        pub decrease: PacketRate = PacketRate(1.0),
        /// Lower bound of the limit.
        pub minimum: Segments = Segments(5),
        /// Upper bound of the limit.
        pub maximum: Segments = Segments(1600),
        /// Initial limit. Our own choice, and low, because it rises by ten packets in a second and
        /// falls by one. From 1600 packets it would take 25 minutes.
        pub initial: Segments = Segments(50),
        /// True if the packet in service counts towards the limit, as at an 802.11 station, which
        /// may have to send it again.
        pub counts_packet_in_service: bool = true,
    }
}

impl Element<QueueKind> for Alt {
    const NAME: &'static str = "alt";
    const LABEL: &'static str = "ALT";
    const SUMMARY: &'static str = "Drop-tail whose limit, updated once a second, rises with idle \
        time and falls with busy time.";
    const REFERENCE: &'static str = "Li, Leith and Malone (2011), Buffer Sizing for 802.11-Based \
        Networks, IEEE/ACM Transactions on Networking";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let rates = [self.increase, self.decrease];
        let low = (self.minimum, self.initial);
        check_idle_time(self.interval, rates, low, ("maximum", self.maximum))
    }

    fn facts(&self) -> QueueFacts {
        QueueFacts::moving(self.maximum.0, self.counts_packet_in_service)
    }
}

impl Factory<QueueKind> for Alt {
    fn build(&self, _: QueueContext<'_>) -> Discipline {
        let rates = [self.increase, self.decrease];
        let bounds = [self.minimum, self.maximum];
        Discipline::InOrder(Box::new(AdaptiveLimit {
            by_service: None,
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
