//! Service cell by cell: the cells of packets that still come, those that wait, and the one in
//! service. A packet is inside until its last cell has been sent or dropped.

use super::service::{Server, Service};
use super::{Cold, Hop};
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, FlowId, PacketId};
use crate::queue::cells::{CELL, Cells, Discard};
use ackclock_spec::units::{Bytes, Span, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A buffer of cells and its link.
#[derive(Debug)]
pub(super) struct CellService {
    parameters: Cells,
    spacing: Span,
    lines: BTreeMap<LineId, Line>,
    /// The lines on which cells come, by the time of the next one.
    coming: BTreeSet<(Time, LineId)>,
    /// The packet of each cell that waits.
    waiting: VecDeque<PacketId>,
    serving: Option<(Time, PacketId)>,
    /// Cells of packets inside, by the number of a packet's slot.
    frames: Vec<Frame>,
    /// Packets inside, and all their cells.
    packets: u64,
    cells: u64,
}

/// The flow and the direction whose packets come on a line.
type LineId = (FlowId, bool);

/// The line on which the cells of a flow's packets arrive.
#[derive(Debug, Default)]
struct Line {
    packets: VecDeque<PacketId>,
    /// Time from which the line is free for the next packet.
    free_at: Time,
    /// True if the last cell of the packet before was lost and others were not.
    unended: bool,
}

/// The cells of a packet that is inside.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    /// Cells that will still come.
    coming: u64,
    /// Cells that wait or are in service.
    present: u64,
    /// True if a cell has been let in.
    entered: bool,
    /// True if a cell has been dropped.
    cut: bool,
    /// True if the packet before has no end, so that this one is lost with it.
    joined: bool,
    /// True if its service has begun.
    served: bool,
}

/// The outcome of an event.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// True if the service of a cell began.
    cell: bool,
    /// The packet to which that cell belongs, if it is the first of it in service.
    begun: Option<PacketId>,
    /// A packet that is over, and true if it is lost.
    over: Option<(PacketId, bool)>,
}

impl CellService {
    pub(super) fn new(parameters: Cells) -> Self {
        CellService {
            spacing: parameters.spacing(),
            parameters,
            lines: BTreeMap::new(),
            coming: BTreeSet::new(),
            waiting: VecDeque::new(),
            serving: None,
            frames: Vec::new(),
            packets: 0,
            cells: 0,
        }
    }

    /// Takes in a packet; its cells come from now on.
    pub(super) fn enqueue(&mut self, now: Time, id: PacketId, context: &Context<'_>) {
        let packet = &context.packets[id];
        let cells = Cells::cells(packet.bytes());
        if self.frames.len() <= id.index() {
            self.frames.resize(id.index() + 1, Frame::default());
        }
        self.frames[id.index()] = Frame {
            coming: cells,
            ..Frame::default()
        };
        self.packets += 1;
        self.cells += cells;
        let key = (packet.flow, packet.is_forward());
        let line = self.lines.entry(key).or_default();
        if line.packets.is_empty() {
            self.coming.insert((line.free_at.max(now), key));
        }
        line.packets.push_back(id);
    }

    /// Returns the time of the next cell that comes or has been sent.
    pub(super) fn next_action(&self) -> Option<Time> {
        let coming = self.coming.first().map(|(at, _)| *at);
        let sent = self.serving.map(|(done, _)| done);
        coming.into_iter().chain(sent).min()
    }

    /// Carries out the next event, which is at `now`. A cell that has been sent makes room for one
    /// that comes at the same time.
    fn act(&mut self, now: Time, link: (&mut Server, &mut Time)) -> Outcome {
        let id = match self.serving {
            Some((done, id)) if done <= now => {
                self.serving = None;
                self.frames[id.index()].present -= 1;
                self.cells -= 1;
                id
            }
            _ => self.arrive(),
        };
        let (cell, begun) = match self.serving {
            Some(_) => (false, None),
            None => self.serve(now, link),
        };
        Outcome {
            cell,
            begun,
            over: self.over(id),
        }
    }

    /// Lets the next cell in, or drops it. Returns its packet.
    fn arrive(&mut self) -> PacketId {
        let (at, key) = self.coming.pop_first().expect("a cell comes");
        let line = self.lines.get_mut(&key).expect("cells come on a line");
        let id = line.packets[0];
        let frame = &mut self.frames[id.index()];
        if !frame.entered && !frame.cut {
            frame.joined = line.unended;
        }
        frame.coming -= 1;
        let is_last = frame.coming == 0;
        let is_wanted = match self.parameters.discard {
            Discard::Cell => true,
            Discard::Partial => !frame.cut || is_last,
            Discard::Packet => !frame.cut,
        };
        let is_free = self.serving.is_none() || (self.waiting.len() as u64) < self.parameters.limit;
        let enters = is_wanted && is_free;
        if enters {
            frame.entered = true;
            frame.present += 1;
            self.waiting.push_back(id);
        } else {
            frame.cut = true;
            self.cells -= 1;
        }
        if is_last {
            line.packets.pop_front();
            line.unended = !enters && (line.unended || frame.entered);
        }
        line.free_at = at + self.spacing;
        if !line.packets.is_empty() {
            self.coming.insert((line.free_at, key));
        }
        if !enters && self.parameters.discard == Discard::Packet {
            line.unended = false; // as if no cell of it had been sent
            self.discard(id);
        }
        id
    }

    /// Discards the cells of a packet that wait.
    fn discard(&mut self, id: PacketId) {
        let before = self.waiting.len();
        self.waiting.retain(|waits| *waits != id);
        let discarded = (before - self.waiting.len()) as u64;
        self.frames[id.index()].present -= discarded;
        self.cells -= discarded;
    }

    /// Gives the idle link the first cell that waits. Returns true if there is one, and its packet
    /// if that has had none before.
    fn serve(
        &mut self,
        now: Time,
        (server, free_at): (&mut Server, &mut Time),
    ) -> (bool, Option<PacketId>) {
        let Some(id) = self.waiting.pop_front() else {
            return (false, None);
        };
        self.serving = Some((server.serve(free_at, now, CELL), id));
        let is_first = !std::mem::replace(&mut self.frames[id.index()].served, true);
        (true, is_first.then_some(id))
    }

    /// Returns the packet if it is over, and whether it is lost.
    fn over(&mut self, id: PacketId) -> Option<(PacketId, bool)> {
        let frame = self.frames[id.index()];
        if frame.coming > 0 || frame.present > 0 {
            return None;
        }
        self.packets -= 1;
        Some((id, frame.cut || frame.joined))
    }

    /// Returns the packets that wait or still come, without the one in service, and their cells.
    pub(super) fn backlog(&self) -> Backlog {
        let serving = self.in_service();
        Backlog {
            packets: self.packets - serving.packets,
            bytes: Bytes(self.cells * CELL.0) - serving.bytes,
        }
    }

    /// Returns the packet whose cell is in service, with all its cells inside.
    pub(super) fn in_service(&self) -> Backlog {
        self.serving.map_or_else(Backlog::default, |(_, id)| {
            let Frame {
                coming, present, ..
            } = self.frames[id.index()];
            Backlog {
                packets: 1,
                bytes: Bytes((coming + present) * CELL.0),
            }
        })
    }

    /// Returns what the link has been given and has not sent: at most one cell, and no packet, as
    /// packets count when they are over.
    pub(super) fn unsent(&self) -> Backlog {
        Backlog {
            packets: 0,
            bytes: self.serving.map_or(Bytes::ZERO, |_| CELL),
        }
    }
}

impl Hop {
    /// Carries out what happens to cells up to now.
    #[inline(never)]
    pub(super) fn complete_cells(&mut self, now: Time, context: &mut Context<'_>) {
        while let Cold {
            service: Service::Cells(cells),
            server,
            counts,
            delays,
            ..
        } = &mut *self.cold
            && let Some(at) = cells.next_action()
            && at <= now
        {
            let Outcome { cell, begun, over } = cells.act(at, (server, &mut self.free_at));
            counts.given_bytes += if cell { CELL.0 } else { 0 };
            if let (Some(id), Some(delays)) = (begun, delays) {
                delays.note_service(at, id, context.packets);
            }
            match over {
                None => {}
                Some((id, true)) => context.drop_packet(at, id, DropReason::QueueFull),
                Some((id, false)) => {
                    counts.given += 1;
                    self.depart(at, id, context);
                }
            }
        }
    }
}
