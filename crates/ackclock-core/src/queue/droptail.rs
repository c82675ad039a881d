//! First in, first out; what does not fit is dropped on arrival.

use super::{Admission, Discipline, Occupancy, QueueKind};
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, PacketId};
use crate::registry::{Element, Place, Recipe};
use crate::scenario::quantity::Limit;
use crate::units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DropTail {
    /// The most that may wait, in packets, in bytes, or in time: then what would wait longer than that for its service is dropped.
    pub limit: Limit,
    /// Whether the packet being sent counts towards the limit. ns-2's limit counts it; a textbook buffer does not.
    #[serde(default)]
    pub counts_packet_in_service: bool,
}

impl Element<QueueKind> for DropTail {
    const NAME: &'static str = "droptail";
    const LABEL: &'static str = "drop-tail";
    const SUMMARY: &'static str = "First in, first out; drops what does not fit.";
    const REFERENCE: &'static str = "RFC 7567 section 2 (tail drop)";
}

impl Recipe<QueueKind> for DropTail {
    fn build(&self, _: Place<'_>) -> Discipline {
        Discipline::InOrder(Box::new(self.clone()))
    }
}

impl DropTail {
    fn fits(&self, size: Bytes, occupancy: &Occupancy) -> bool {
        let counts = self.counts_packet_in_service;
        if occupancy.is_idle() && !counts {
            return true; // goes straight into service
        }
        let (serving, wait) = if counts {
            (occupancy.in_service, occupancy.wait)
        } else {
            (Backlog::default(), occupancy.wait - occupancy.residual_service)
        };
        let waiting = occupancy.waiting;
        match self.limit {
            Limit::Packets(limit) => waiting.packets + serving.packets < limit,
            Limit::Bytes(limit) => waiting.bytes + serving.bytes + size <= limit,
            Limit::Time(limit) => wait <= limit,
            Limit::Unlimited => true,
        }
    }
}

impl Admission for DropTail {
    #[inline]
    fn admit(&mut self, now: Time, id: PacketId, occupancy: &Occupancy, context: &mut Context<'_>) -> bool {
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
    use crate::units::Span;

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
        }
    }
    fn most(limit: Limit, counts_packet_in_service: bool) -> u64 {
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
        for limit in [Limit::Packets(4), Limit::Bytes(Bytes(4_999))] {
            assert_eq!((most(limit, false), most(limit, true)), (4, 3), "{limit:?}");
        }
    }

    #[test]
    fn a_time_limit_bounds_the_wait() {
        // 2 ms a packet and 1 ms left of the one in service.
        assert_eq!(most(Limit::Time(Span::from_millis(8)), false), 5);
        assert_eq!(most(Limit::Time(Span::from_millis(8)), true), 4);
    }

    #[test]
    fn an_idle_link_takes_a_packet_whatever_the_limit_unless_service_counts() {
        let zero = |counts_packet_in_service| DropTail {
            limit: Limit::Packets(0),
            counts_packet_in_service,
        };
        assert!(zero(false).fits(Bytes(1000), &occupancy(0, 0)));
        assert!(!zero(true).fits(Bytes(1000), &occupancy(0, 0)));
        assert!(!zero(false).fits(Bytes(1000), &occupancy(0, 1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::LinkKind;
    use crate::observe::Unobserved;
    use crate::packet::{FlowId, Packet, PacketKind, PacketPool};
    use crate::registry;
    use crate::scenario::files::NoFiles;
    use crate::streams::Streams;
    use serde_json::json;

    /// How many of twenty packets of 1000 bytes find room behind one of 500 bytes in service at 8 Mbit/s (1000 bytes/ms).
    fn accepted(limit: &str, counts: bool) -> u64 {
        let streams = Streams::new(1, 0);
        let place = Place {
            streams: &streams,
            name: "hop/test",
        };
        let tree = json!({ "kind": "droptail", "limit": limit, "counts_packet_in_service": counts });
        let mut queue = registry::choose::<QueueKind>(&tree, &NoFiles)
            .unwrap()
            .build(place);
        let tree = json!({ "kind": "constant", "rate": "8 Mbit/s" });
        let link = registry::choose::<LinkKind>(&tree, &NoFiles)
            .unwrap()
            .build(place);
        let server = Server {
            in_service: Backlog {
                packets: 1,
                bytes: Bytes(500),
            },
            link: &*link,
        };
        let mut pool = PacketPool::new();
        for sequence in 0..20 {
            let id = pool.insert(Packet::new(
                PacketKind::Data,
                FlowId(0),
                sequence,
                1000,
                Time::ZERO,
            ));
            let mut context = Context {
                packets: &mut pool,
                observer: &mut Unobserved,
            };
            queue.enqueue(Time::ZERO, id, server, &mut context);
            assert_eq!(
                context.packets.live() as u64,
                queue.backlog().packets,
                "a dropped packet is freed"
            );
        }
        let Backlog { packets, bytes } = queue.backlog();
        assert_eq!(bytes, Bytes(packets * 1000));
        // What was kept is the first of what came.
        let mut context = Context {
            packets: &mut pool,
            observer: &mut Unobserved,
        };
        for sequence in 0..packets {
            let id = queue.dequeue(Time::ZERO, &mut context).unwrap();
            assert_eq!(context.packets[id].sequence, sequence);
        }
        assert!(queue.dequeue(Time::ZERO, &mut context).is_none());
        packets
    }

    #[test]
    fn limits_are_in_packets_bytes_or_time_with_and_without_the_packet_in_service() {
        for (limit, alone, with_service) in [
            ("0 packets", 0, 0),
            ("1 packet", 1, 0),
            ("7 packets", 7, 6),
            ("999 bytes", 0, 0),
            ("3000 bytes", 3, 2),
            ("3499 bytes", 3, 2),
            ("3500 bytes", 3, 3),
            ("0 ms", 0, 0),
            ("3 ms", 3, 2),
            ("3500 us", 3, 3),
            ("unlimited", 20, 20),
        ] {
            assert_eq!(accepted(limit, false), alone, "{limit}");
            assert_eq!(
                accepted(limit, true),
                with_service,
                "{limit}, the packet in service counted"
            );
        }
    }
}
