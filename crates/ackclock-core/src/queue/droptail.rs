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
