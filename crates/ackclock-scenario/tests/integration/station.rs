//! A queue and its server, for the contracts of queues.

use crate::elements::at_place;
use ackclock_core::link::{LinkContext, LinkKind};
use ackclock_core::observe::{Context, DropReason, Observer};
use ackclock_core::packet::{Backlog, Ecn, FlowId, Packet, PacketId, PacketKind, PacketPool};
use ackclock_core::queue::cells::Cells;
use ackclock_core::queue::{Discipline, FlowLabels, Occupancy, QueueContext, QueueKind};
use ackclock_spec::registry::samples::SampleFiles;
use ackclock_spec::registry::{Selection, choose};
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use serde_json::json;
use std::collections::VecDeque;

/// The packets that a queue dropped, and how many it marked.
#[derive(Default)]
pub struct Log {
    pub drops: Vec<(u64, DropReason)>,
    pub marks: usize,
}

impl Observer for Log {
    fn dropped(&mut self, _now: Time, packet: &Packet, reason: DropReason) {
        self.drops.push((packet.sequence, reason));
    }
    fn marked(&mut self, _now: Time, _packet: &Packet) {
        self.marks += 1;
    }
}

/// A discipline, a server that takes one packet at a time, and the fates of the packets.
pub struct Station {
    discipline: Discipline,
    pub pool: PacketPool,
    pub log: Log,
    /// ECN and flow of the packets that arrive.
    pub ecn: Ecn,
    pub flow: FlowId,
    pub served: Vec<u64>,
    pub serving: Backlog,
    /// Time since which the packet in service has been the first.
    since: Time,
    /// The packet in service and, for a discipline that keeps the order of arrival, all packets
    /// that wait behind it.
    line: VecDeque<PacketId>,
}

impl Station {
    pub const RATE: BitRate = BitRate::from_bit_per_s(10_000_000);

    /// Returns true if a queue keeps whole packets. The laws of cells are tested with their hop.
    pub fn serves(chosen: &Selection<QueueKind>) -> bool {
        chosen.parameters::<Cells>().is_none()
    }

    /// Returns all that the discipline holds, its random numbers included.
    pub fn state(&self) -> String {
        format!("{:?}", self.discipline)
    }

    pub fn new(chosen: &Selection<QueueKind>, seed: u64) -> Self {
        let constant = json!({ "kind": "constant", "rate": Self::RATE });
        let constant = choose::<LinkKind>(&constant, &SampleFiles).unwrap();
        let link = || at_place(seed, |place| constant.build(LinkContext::alone(place)));
        Station {
            // The hop's shortcut for drop-tail is not part of the contract.
            discipline: match at_place(seed, |place| {
                chosen.build(QueueContext {
                    measured: &|| chosen.facts.measures.some().map(|_| link()),
                    labels: &FlowLabels::default(),
                    place,
                    link: &*link(),
                })
            }) {
                Discipline::DropTail(queue) => Discipline::InOrder(Box::new(queue)),
                other => other,
            },
            pool: PacketPool::new(),
            log: Log::default(),
            ecn: Ecn::NotCapable,
            flow: FlowId(0),
            served: Vec::new(),
            serving: Backlog::default(),
            since: Time::ZERO,
            line: VecDeque::new(),
        }
    }

    pub fn waiting(&self) -> Backlog {
        match &self.discipline {
            Discipline::Scheduled(queue) => queue.backlog(),
            Discipline::Cells(_) => unreachable!("served by their hop"),
            Discipline::DropTail(_) | Discipline::InOrder(_) => {
                let waiting = self.line.iter().skip(1);
                Backlog {
                    packets: waiting.len() as u64,
                    bytes: Bytes(waiting.map(|id| self.pool[*id].bytes().0).sum()),
                }
            }
        }
    }

    pub fn arrive(&mut self, now: Time, sequence: u64, size: u16) {
        let (waiting, in_service) = (self.waiting(), self.serving);
        let mut packet = Packet::new(PacketKind::Data, self.flow, sequence, size, now);
        packet.set_ecn(self.ecn);
        let id = self.pool.insert(packet);
        let mut context = Context {
            packets: &mut self.pool,
            observer: &mut self.log,
        };
        match &mut self.discipline {
            Discipline::Scheduled(queue) => queue.enqueue(now, id, in_service, &mut context),
            Discipline::DropTail(_) => unreachable!("boxed when the station was made"),
            Discipline::Cells(_) => unreachable!("served by their hop"),
            Discipline::InOrder(admission) => {
                let residual_service = Self::RATE.serialization(in_service.bytes) / 2;
                let occupancy = Occupancy {
                    waiting,
                    in_service,
                    residual_service,
                    wait: residual_service + Self::RATE.serialization(waiting.bytes),
                    idle: Span::ZERO,
                };
                if admission.admit(now, id, &occupancy, &mut context) {
                    self.line.push_back(id);
                }
            }
        }
        if self.serving.packets == 0 {
            self.start(now);
        }
    }

    pub fn start(&mut self, now: Time) {
        let mut context = Context {
            packets: &mut self.pool,
            observer: &mut self.log,
        };
        self.since = now;
        if let Discipline::Scheduled(queue) = &mut self.discipline {
            self.line.extend(queue.dequeue(now, &mut context));
        }
        self.serving = self
            .line
            .front()
            .map_or_else(Backlog::default, |id| Backlog {
                packets: 1,
                bytes: self.pool[*id].bytes(),
            });
    }

    /// When a queue that holds its packets back, if it does, lets the next one go.
    pub fn ready_at(&self) -> Time {
        match &self.discipline {
            Discipline::Scheduled(queue) if self.serving.packets == 0 => queue.ready_at(),
            _ => Time::NEVER,
        }
    }

    /// Serves the packets that a queue held back until now.
    pub fn wake(&mut self, now: Time) {
        let ready = self.ready_at();
        if ready <= now {
            self.start(ready);
        }
    }

    /// Removes the packet in service, if there is one, as sent.
    pub fn complete(&mut self, now: Time) {
        if let Some(id) = self.line.pop_front() {
            self.served.push(self.pool[id].sequence);
            self.pool.remove(id);
            if let Discipline::InOrder(admission) = &mut self.discipline
                && admission.observes_service()
            {
                admission.note_service(self.since, now);
            }
        }
        self.start(now);
    }
}
