//! Applies impairments to packets, before the queue and after the link.

use crate::impairment::{Impairment, Overtaking, Side, Verdict};
use crate::observe::{Context, DropReason};
use crate::packet::{FifoList, PacketId, PacketPool, Timeline};
use ackclock_spec::units::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The impairments and their state.
#[derive(Debug, Default)]
pub(super) struct Impairments {
    pub(super) before: Vec<Box<dyn Impairment>>,
    pub(super) after: Vec<Box<dyn Impairment>>,
    /// Packets to be judged when the link has sent them.
    pub(super) unjudged: FifoList,
    /// Packets in propagation that may be overtaken: (arrival, tie-break, packet).
    pub(super) overtakable: BinaryHeap<Reverse<(Time, u64, PacketId)>>,
    pub(super) serial: u64,
    /// The latest arrival of the packets that keep their order.
    pub(super) last: Time,
    pub(super) duplicates: u64,
}

impl Impairments {
    pub(super) fn new(impairments: Vec<Box<dyn Impairment>>) -> Self {
        let (before, after) = impairments
            .into_iter()
            .partition(|impairment| impairment.side() == Side::BeforeQueue);
        Impairments {
            before,
            after,
            ..Impairments::default()
        }
    }

    /// Starts the propagation of a packet that has been judged.
    pub(super) fn append(
        &mut self,
        ordered: &mut Timeline,
        (at, overtaking): (Time, Overtaking),
        id: PacketId,
        packets: &mut PacketPool,
    ) {
        match overtaking {
            Overtaking::Forbidden => {
                self.last = self.last.max(at);
                ordered.push_back(self.last, id, packets);
            }
            Overtaking::Allowed => {
                self.serial += 1;
                self.overtakable.push(Reverse((at, self.serial, id)));
            }
        }
    }
    pub(super) fn next_overtakable(&self) -> Time {
        self.overtakable
            .peek()
            .map_or(Time::NEVER, |Reverse((at, ..))| *at)
    }
}

pub(super) type Lateness = (Span, Overtaking);

/// Passes a packet through the impairments in their order. Returns the packets that result (none,
/// one or two), and their extra delay.
pub(super) fn judge(
    impairments: &mut [Box<dyn Impairment>],
    duplicates: &mut u64,
    now: Time,
    id: PacketId,
    context: &mut Context<'_>,
) -> ([Option<PacketId>; 2], Lateness) {
    let (mut copy, mut lateness) = (None, (Span::ZERO, Overtaking::Forbidden));
    for impairment in impairments {
        match impairment.judge(now, &context.packets[id]) {
            Verdict::Pass => {}
            Verdict::Drop => {
                context.drop_packet(now, id, DropReason::Impairment);
                return ([copy, None], lateness);
            }
            Verdict::Duplicate if copy.is_none() => {
                *duplicates += 1;
                copy = Some(context.duplicate_packet(id));
            }
            Verdict::Duplicate => {}
            Verdict::Rewrite(ecn) => context.packets[id].set_ecn(ecn),
            Verdict::Delay { by, overtaken } => {
                lateness.0 = lateness.0 + by;
                if overtaken == Overtaking::Allowed {
                    lateness.1 = Overtaking::Allowed;
                }
            }
        }
    }
    ([Some(id), copy], lateness)
}
