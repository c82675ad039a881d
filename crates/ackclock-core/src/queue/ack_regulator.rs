//! An edge device that regulates the acknowledgements of TCP: the edge-to-edge loop of explicit
//! rate feedback, where senders know nothing of the rate.
//!
//! Data waits here for a server, which is a link of its own. With a link that follows feedback, the
//! edge is a source of the network that feeds the rate back. Acknowledgements on their way to the
//! senders are held. One is released when
//!
//! 1. the server could have sent `data_size` since the last release, and
//! 2. no more than `hold_above` packets of data wait for the server.
//!
//! The first rule gives the senders the explicit rate. A congestion window grows all the same, so a
//! little more data comes than was acknowledged. The second rule keeps that from waiting as data:
//! it waits as acknowledgements, which cannot be lost to a full buffer.
//!
//! For both rules the hop is on the route of the data and on that of the acknowledgements. On the
//! return route alone, only the first rule holds. The rules read no header, only which way a packet
//! travels. So the same decisions are taken for packets of real hosts.
//!
//! Both rules have one line for all flows of the hop. The text of the paper says that edges
//! regulate the flow of acknowledgements, and not how: both rules are guesses.

use super::buffer::{Buffer, check_limit};
use super::facts::{Drops, QueueFacts};
use super::{ClassCounts, Discipline, Queue, QueueContext, QueueKind};
use crate::link::{Link, LinkContext, LinkKind};
use crate::observe::Context;
use crate::packet::{Backlog, Packet, PacketId, TimedFifo};
use ackclock_spec::error::both;
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::QueueLimit;
use ackclock_spec::registry::{Selection, StreamScope, choose_within};
use serde_json::{Value, json};

/// Parameters. Put it on a hop whose link is faster than the server, and that is the same in both
/// directions: its scope is not `per_flow`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({
    "server": { "kind": "constant", "rate": "4 Mbit/s" },
    "limit": "40 packets"
}))]
#[schemars(example = json!({
    "server": {
        "kind": "feedback",
        "from": "bottleneck",
        "algorithm": { "kind": "instcap" },
        "delay": "200 ms",
        "period": "30 ms"
    },
    "limit": "20 packets",
    "hold_above": 1,
    "data_size": "500 bytes"
}))]
pub struct AckRegulator {
    /// Link that sends the data, one packet at a time; any but one that contends for a medium.
    #[schemars(
        schema_with = "ackclock_spec::schema::one_of::<LinkKind>",
        extend("examples" = [{ "kind": "constant", "rate": "4 Mbit/s" }])
    )]
    pub server: Value,
    /// Most packets or bytes of data that may wait, without the packet that the server sends.
    pub limit: QueueLimit,
    /// Packets of data that wait, above which no acknowledgement is released.
    #[serde(default = "some_packets")]
    pub hold_above: u32,
    /// Bytes of data that follow an acknowledgement, headers included. Twice a packet if receivers
    /// acknowledge every other one.
    #[serde(default = "full_packet")]
    pub data_size: Bytes,
    #[serde(skip)]
    chosen: Option<Selection<LinkKind>>,
}

/// A guess: what keeps a server busy for a round trip of the local network, as long as that is
/// shorter than the service of two packets.
const fn some_packets() -> u32 {
    2
}
const fn full_packet() -> Bytes {
    Bytes(1500)
}

impl Element<QueueKind> for AckRegulator {
    const NAME: &'static str = "ack_regulator";
    const LABEL: &'static str = "ACK regulator";
    const SUMMARY: &'static str = "An edge device: sends data at the rate of a link of its own, \
        and holds acknowledgements back to that rate.";
    const REFERENCE: &'static str = "Shakkottai, Kumar, Karnik, Anvekar (2001), IEEE/ACM ToN 9(4): \
        figure 2, the edge-to-edge loop; both rules are guesses";

    fn check(&mut self, files: &dyn Files) -> Result<()> {
        let checks = every([
            check_limit("limit", self.limit),
            check_above_zero("data_size", self.data_size, "1500 bytes"),
        ]);
        let chosen = choose_within::<LinkKind>("server", &self.server, files).and_then(|chosen| {
            let remedy = "contends for a medium, which serves hops only; choose another link";
            let alone = !chosen.facts.contends.is_some();
            in_range(alone, "server.kind", chosen.name, remedy).map(|()| chosen)
        });
        let ((), chosen) = both(checks, chosen)?;
        self.server = chosen.resolved.clone();
        self.chosen = Some(chosen);
        Ok(())
    }

    /// The rate and the capacity stay unknown: acknowledgements wait here besides the data, so no
    /// model of a queue holds.
    fn facts(&self) -> QueueFacts {
        let measures = match &self.chosen {
            Some(chosen) => chosen.facts.measures.clone(),
            None => Stated::Unknown,
        };
        QueueFacts {
            capacity: None,
            drops: Some(Drops::Tail),
            highest_bit_per_s: Stated::Unknown,
            classes: CLASSES.into(),
            measures,
            ..QueueFacts::fixed(self.limit)
        }
    }
}

impl Factory<QueueKind> for AckRegulator {
    fn build(&self, context: QueueContext<'_>) -> Discipline {
        let Some(chosen) = &self.chosen else {
            unreachable!("the parameters' check chooses the server");
        };
        // Two instances with the same realisation, as each serves a line of its own.
        let place = StreamScope {
            name: &format!("{}/server", context.place.name),
            ..context.place
        };
        let link = || {
            chosen.build(LinkContext {
                place,
                measured: (context.measured)(),
            })
        };
        Discipline::Scheduled(Box::new(AckRegulatorQueue::new(self, [link(), link()])))
    }
}

#[derive(Debug)]
struct AckRegulatorQueue {
    data: Buffer,
    /// The packet that the server sends, and when it will have sent it.
    serving: Option<(Time, Waiting)>,
    server: Box<dyn Link>,
    acks: TimedFifo,
    /// The server once more: it tells when the next acknowledgement may be released.
    pace: Box<dyn Link>,
    next_release: Time,
    hold_above: u64,
    data_size: Bytes,
    counts: [ClassCounts; 2],
}

/// A packet with its length.
type Waiting = (PacketId, Bytes);

/// Classes of packets, for tables.
const CLASSES: [&str; 2] = ["data", "acks"];

/// Returns the place of a packet's class in [`CLASSES`].
fn class_of(packet: &Packet) -> usize {
    usize::from(!packet.is_forward())
}

impl AckRegulatorQueue {
    fn new(parameters: &AckRegulator, [server, pace]: [Box<dyn Link>; 2]) -> Self {
        AckRegulatorQueue {
            data: Buffer::new(parameters.limit),
            serving: None,
            server,
            acks: TimedFifo::default(),
            pace,
            next_release: Time::ZERO,
            hold_above: u64::from(parameters.hold_above),
            data_size: parameters.data_size,
            counts: [ClassCounts::default(); 2],
        }
    }

    /// Gives the idle server the first packet of data, if one waits. The server has been idle since
    /// `free_at`.
    fn serve(&mut self, free_at: Time, context: &mut Context<'_>) {
        if let Some((arrival, id)) = self.data.dequeue(context) {
            let size = context.packets[id].bytes();
            let done = self.server.finish(free_at.max(arrival), size);
            self.serving = Some((done, (id, size)));
        }
    }

    /// Returns what the server holds: one packet or none.
    fn at_the_server(&self) -> Backlog {
        self.serving
            .map_or_else(Backlog::default, |(_, (_, bytes))| Backlog {
                packets: 1,
                bytes,
            })
    }

    /// Returns the time from which an acknowledgement may be released, as long as nothing arrives.
    fn release_at(&self) -> Time {
        let is_held = self.data.backlog().packets > self.hold_above;
        if is_held || self.acks.backlog().packets == 0 {
            Time::NEVER
        } else {
            self.next_release
        }
    }
}

impl Queue for AckRegulatorQueue {
    fn enqueue(&mut self, now: Time, id: PacketId, _: Backlog, context: &mut Context<'_>) {
        let class = class_of(&context.packets[id]);
        self.counts[class].arrivals += 1;
        if !context.packets[id].is_forward() {
            return self.acks.push_back(now, id, context.packets);
        }
        let at_the_server = self.at_the_server();
        let had = self.data.backlog().packets;
        self.data.enqueue(now, id, at_the_server, context);
        self.counts[class].drops += u64::from(self.data.backlog().packets == had);
        if self.serving.is_none() {
            self.serve(now, context);
        }
    }

    fn dequeue(&mut self, now: Time, context: &mut Context<'_>) -> Option<PacketId> {
        if let Some((done, (id, _))) = self.serving
            && done <= now
        {
            self.serving = None;
            self.serve(done, context);
            return Some(id);
        }
        if self.release_at() > now {
            return None;
        }
        self.next_release = self.pace.finish(now, self.data_size);
        self.acks.pop_front(context.packets).map(|(_, id)| id)
    }

    fn backlog(&self) -> Backlog {
        let parts = [
            self.data.backlog(),
            self.at_the_server(),
            self.acks.backlog(),
        ];
        Backlog {
            packets: parts.iter().map(|part| part.packets).sum(),
            bytes: Bytes(parts.iter().map(|part| part.bytes.0).sum()),
        }
    }

    fn ready_at(&self) -> Time {
        let sent = self.serving.map_or(Time::NEVER, |(done, _)| done);
        sent.min(self.release_at())
    }

    fn class(&self, packet: &Packet) -> &'static str {
        CLASSES[class_of(packet)]
    }

    fn classes(&self) -> Vec<(&'static str, ClassCounts)> {
        CLASSES.into_iter().zip(self.counts).collect()
    }
}

#[cfg(test)]
mod tests;
