//! A FIFO queue that drops, on arrival, the packets that do not fit.

use super::facts::{Capacity, QueueFacts};
use super::{Admission, Discipline, Occupancy, QueueContext, QueueKind};
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, PacketId};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::QueueLimit;

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DropTail {
    /// Most packets or bytes that may wait, or the longest wait: a packet that would wait longer
    /// for its service is dropped.
    pub limit: QueueLimit,
    /// True if the packet in service counts towards the limit. It counts in ns-2, but not in a
    /// textbook buffer.
    #[serde(default)]
    pub counts_packet_in_service: bool,
}

impl Element<QueueKind> for DropTail {
    const NAME: &'static str = "droptail";
    const LABEL: &'static str = "drop-tail";
    const SUMMARY: &'static str = "First in, first out; drops packets that do not fit.";
    const REFERENCE: &'static str = "RFC 7567 section 2 (tail drop)";

    fn facts(&self) -> QueueFacts {
        QueueFacts::tail(Capacity::Limit {
            limit: self.limit,
            counts_packet_in_service: self.counts_packet_in_service,
        })
    }
}

impl Factory<QueueKind> for DropTail {
    fn build(&self, _: QueueContext<'_>) -> Discipline {
        Discipline::DropTail(self.clone())
    }
}

/// A textbook buffer, where the packet in service does not count.
impl From<QueueLimit> for DropTail {
    fn from(limit: QueueLimit) -> Self {
        DropTail {
            limit,
            counts_packet_in_service: false,
        }
    }
}

impl DropTail {
    /// Returns the number of packets, waiting or in service, below which one more fits whatever its
    /// size. With that many or more, it depends.
    pub const fn fits_below(&self) -> u64 {
        match (self.limit, self.counts_packet_in_service) {
            (QueueLimit::Unlimited, _) => u64::MAX,
            (QueueLimit::Packets(limit), true) => limit,
            (QueueLimit::Packets(limit), false) => limit.saturating_add(1),
            (QueueLimit::Bytes(_) | QueueLimit::Time(_), true) => 0,
            (QueueLimit::Bytes(_) | QueueLimit::Time(_), false) => 1, // goes straight into service
        }
    }

    /// Returns true if there is room for a packet of `size`.
    pub(super) fn fits(&self, size: Bytes, occupancy: &Occupancy) -> bool {
        let counts = self.counts_packet_in_service;
        if occupancy.is_idle() && !counts {
            return true; // goes straight into service
        }
        let (serving, wait) = if counts {
            (occupancy.in_service, occupancy.wait)
        } else {
            (
                Backlog::default(),
                occupancy.wait - occupancy.residual_service,
            )
        };
        let waiting = occupancy.waiting;
        match self.limit {
            QueueLimit::Packets(limit) => waiting.packets + serving.packets < limit,
            QueueLimit::Bytes(limit) => waiting.bytes + serving.bytes + size <= limit,
            QueueLimit::Time(limit) => wait <= limit,
            QueueLimit::Unlimited => true,
        }
    }
}

impl Admission for DropTail {
    fn admit(
        &mut self,
        now: Time,
        id: PacketId,
        occupancy: &Occupancy,
        context: &mut Context<'_>,
    ) -> bool {
        let fits = self.fits(context.packets[id].bytes(), occupancy);
        if !fits {
            context.drop_packet(now, id, DropReason::QueueFull);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occupancy(waiting: u64, serving: u64) -> Occupancy {
        let backlog = |packets| Backlog {
            packets,
            bytes: Bytes(packets * 1000),
        };
        Occupancy {
            waiting: backlog(waiting),
            in_service: backlog(serving),
            residual_service: Span::from_millis(serving),
            wait: Span::from_millis(waiting * 2 + serving),
            idle: Span::ZERO,
        }
    }
    fn most(limit: QueueLimit, counts_packet_in_service: bool) -> u64 {
        let queue = DropTail {
            limit,
            counts_packet_in_service,
        };
        (0..100)
            .take_while(|&waiting| queue.fits(Bytes(1000), &occupancy(waiting, 1)))
            .count() as u64
    }

    #[test]
    fn the_packet_in_service_counts_only_if_told() {
        for limit in [QueueLimit::Packets(4), QueueLimit::Bytes(Bytes(4_999))] {
            assert_eq!((most(limit, false), most(limit, true)), (4, 3), "{limit:?}");
        }
    }

    #[test]
    fn what_need_not_be_asked_would_be_admitted() {
        let span = Span::from_millis(8);
        let limits = [
            QueueLimit::Packets(0),
            QueueLimit::Packets(7),
            QueueLimit::Bytes(Bytes(0)),
            QueueLimit::Bytes(Bytes(7_000)),
            QueueLimit::Time(span),
            QueueLimit::Unlimited,
        ];
        for (limit, counts_packet_in_service) in limits
            .into_iter()
            .flat_map(|limit| [(limit, false), (limit, true)])
        {
            let queue = DropTail {
                limit,
                counts_packet_in_service,
            };
            for inside in 0..100_u64 {
                let occupancy = occupancy(inside.saturating_sub(1), inside.min(1));
                let fits = queue.fits(Bytes(1000), &occupancy);
                let sure = inside < queue.fits_below();
                assert!(fits || !sure, "{queue:?} with {inside}");
                assert!(
                    fits == sure
                        || !matches!(limit, QueueLimit::Packets(_) | QueueLimit::Unlimited)
                );
            }
        }
    }

    #[test]
    fn a_time_limit_bounds_the_wait() {
        // 2 ms per packet, and 1 ms left of the one in service.
        assert_eq!(most(QueueLimit::Time(Span::from_millis(8)), false), 5);
        assert_eq!(most(QueueLimit::Time(Span::from_millis(8)), true), 4);
    }

    #[test]
    fn an_idle_link_takes_a_packet_whatever_the_limit_unless_service_counts() {
        let zero = |counts_packet_in_service| DropTail {
            limit: QueueLimit::Packets(0),
            counts_packet_in_service,
        };
        assert!(zero(false).fits(Bytes(1000), &occupancy(0, 0)));
        assert!(!zero(true).fits(Bytes(1000), &occupancy(0, 0)));
        assert!(!zero(false).fits(Bytes(1000), &occupancy(0, 1)));
    }
}
