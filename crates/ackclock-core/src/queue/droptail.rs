//! First in, first out; what does not fit is dropped on arrival.

use super::{Queue, QueueKind, Server};
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, Fifo, PacketId};
use crate::registry::{Element, Place, Recipe};
use crate::scenario::quantity::Limit;
use crate::units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DropTail {
    /// The most that may wait, in packets, bytes, or time at the link's rate of the moment.
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
    fn build(&self, _: Place<'_>) -> Box<dyn Queue> {
        Box::new(DropTailQueue {
            parameters: self.clone(),
            waiting: Fifo::default(),
        })
    }
}

#[derive(Debug)]
struct DropTailQueue {
    parameters: DropTail,
    waiting: Fifo,
}

impl DropTailQueue {
    fn fits(&self, now: Time, size: Bytes, server: Server<'_>) -> bool {
        let counts = self.parameters.counts_packet_in_service;
        if !counts && server.in_service.packets == 0 {
            return true; // goes straight into service
        }
        let serving = if counts {
            server.in_service
        } else {
            Backlog::default()
        };
        let waiting = self.waiting.backlog();
        let bytes = waiting.bytes + serving.bytes + size;
        match self.parameters.limit {
            Limit::Packets(limit) => waiting.packets + serving.packets < limit,
            Limit::Bytes(limit) => bytes <= limit,
            Limit::Time(limit) => server.link.rate(now).serialization(bytes) <= limit,
            Limit::Unlimited => true,
        }
    }
}

impl Queue for DropTailQueue {
    #[inline]
    fn enqueue(&mut self, now: Time, id: PacketId, server: Server<'_>, context: &mut Context<'_>) {
        if self.fits(now, context.packets[id].bytes(), server) {
            self.waiting.push_back(id, context.packets);
        } else {
            context.drop_packet(now, id, DropReason::QueueFull);
        }
    }
    fn dequeue(&mut self, _now: Time, context: &mut Context<'_>) -> Option<PacketId> {
        self.waiting.pop_front(context.packets)
    }
    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
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
