//! The `packets` table: every step of every packet.

use crate::topology::Topology;
use crate::trace::{Step, Trace};
use ackclock_core::packet::{Content, Packet, PacketKind};
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
    table: Table,
    rows: usize,
}

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
            table: PacketRow::table(),
            rows: 0,
        }
    }

    /// Returns the number of rows since they were taken last.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Takes the rows since they were taken last.
    pub fn take(&mut self) -> Table {
        self.rows = 0;
        std::mem::replace(&mut self.table, PacketRow::table())
    }
}

/// Returns the name of a kind in tables.
fn kind_name(kind: PacketKind) -> &'static str {
    match kind {
        PacketKind::Data => "data",
        PacketKind::Ack => "ack",
        PacketKind::Syn => "syn",
        PacketKind::SynAck => "syn_ack",
        PacketKind::Datagram => "datagram",
        PacketKind::Feedback => "feedback",
        PacketKind::WindowProbe => "window_probe",
        PacketKind::Request => "request",
    }
}

impl Trace for PacketLog {
    fn record(
        &mut self,
        at: Time,
        step: Step,
        hop: Option<usize>,
        packet: &Packet,
        _: Content<'_>,
    ) {
        let (group, instance) = self.flows[packet.flow.0 as usize];
        let hop = hop.map_or("", |hop| {
            self.hops.get(hop).map_or("(per flow)", String::as_str)
        });
        PacketRow {
            point: self.labels.0,
            replicate: self.labels.1,
            time_s: at.as_seconds(),
            event: step.name(),
            hop,
            flow: &self.groups[group as usize],
            instance: instance.into(),
            kind: kind_name(packet.kind()),
            sequence: packet.sequence as i64,
            size_bytes: packet.size.into(),
        }
        .push(&mut self.table);
        self.rows += 1;
    }
}
