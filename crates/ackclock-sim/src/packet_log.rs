//! The `packets` table: every step of every packet.
//!
//! A run has a hundred steps for each row of its other tables, so a step is kept as a record of 32
//! bytes. Columns and words are made of the records at the end.

use crate::topology::Topology;
use crate::trace::{Step, Trace};
use ackclock_core::packet::{Packet, PacketKind, SackBlock};
use ackclock_core::result::{PacketRow, Table};
use ackclock_scenario::job::Job;
use ackclock_spec::units::Time;

/// Records every step.
#[derive(Debug)]
pub struct PacketLog {
    labels: (i64, i64),
    hops: Vec<String>,
    groups: Vec<String>,
    /// Group and instance of each flow.
    flows: Vec<(u32, u32)>,
    /// The records, in blocks: memory of a block is given back when its rows have been made.
    blocks: Vec<Vec<Record>>,
}

/// Records of a block: 2 MB.
const BLOCK: usize = 1 << 16;

/// A step of a packet.
#[derive(Clone, Copy, Debug)]
struct Record {
    at: Time,
    sequence: u64,
    flow: u32,
    /// Number of the hop; [`AT_ENDPOINT`] at an endpoint.
    hop: u32,
    size: u16,
    step: Step,
    kind: PacketKind,
}

const _: () = assert!(size_of::<Record>() <= 32);

/// Stands for an endpoint.
const AT_ENDPOINT: u32 = u32::MAX;

impl PacketLog {
    /// Makes a log without rows.
    pub fn new(job: &Job<'_>, topology: &Topology) -> Self {
        PacketLog {
            labels: job.labels(),
            hops: topology.shared.clone(),
            groups: job
                .scenario
                .flows
                .iter()
                .map(|flow| flow.name.clone())
                .collect(),
            flows: topology
                .flows
                .iter()
                .map(|flow| (flow.group, flow.instance))
                .collect(),
            blocks: Vec::new(),
        }
    }

    /// Returns the rows.
    pub fn into_table(mut self) -> Table {
        let mut table = PacketRow::table();
        for block in std::mem::take(&mut self.blocks) {
            for records in block.chunks(TOGETHER) {
                let rows: Vec<PacketRow<'_>> =
                    records.iter().map(|record| self.row(record)).collect();
                PacketRow::push_all(&rows, &mut table);
            }
        }
        table
    }

    fn row(&self, record: &Record) -> PacketRow<'_> {
        let (group, instance) = self.flows[record.flow as usize];
        let hop = match record.hop {
            AT_ENDPOINT => "",
            hop => self
                .hops
                .get(hop as usize)
                .map_or("(per flow)", String::as_str),
        };
        PacketRow {
            point: self.labels.0,
            replicate: self.labels.1,
            time_s: record.at.as_seconds(),
            event: record.step.name(),
            hop,
            flow: &self.groups[group as usize],
            instance: instance.into(),
            kind: kind_name(record.kind),
            sequence: record.sequence as i64,
            size_bytes: record.size.into(),
        }
    }
}

/// Records whose rows are made together: they stay in the first cache.
const TOGETHER: usize = 256;

/// Returns the name of a kind in tables.
fn kind_name(kind: PacketKind) -> &'static str {
    match kind {
        PacketKind::Data => "data",
        PacketKind::Ack => "ack",
        PacketKind::Syn => "syn",
        PacketKind::SynAck => "syn_ack",
        PacketKind::Datagram => "datagram",
        PacketKind::Feedback => "feedback",
    }
}

impl Trace for PacketLog {
    fn record(
        &mut self,
        at: Time,
        step: Step,
        hop: Option<usize>,
        packet: &Packet,
        _: &[SackBlock],
    ) {
        if self.blocks.last().is_none_or(|block| block.len() == BLOCK) {
            self.blocks.push(Vec::with_capacity(BLOCK));
        }
        let record = Record {
            at,
            sequence: packet.sequence,
            flow: packet.flow.0,
            hop: hop.map_or(AT_ENDPOINT, |hop| hop as u32),
            size: packet.size,
            step,
            kind: packet.kind(),
        };
        if let Some(block) = self.blocks.last_mut() {
            block.push(record);
        }
    }
}
