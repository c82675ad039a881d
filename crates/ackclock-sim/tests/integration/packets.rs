//! The table of packets has a row for each step, with the words and numbers of the step.

use crate::common::{DUMBBELL, cells, scenario};
use ackclock_core::packet::{Packet, PacketKind, SackBlock};
use ackclock_core::result::{Column, PacketRow, Table};
use ackclock_scenario::job::Job;
use ackclock_sim::packet_log::PacketLog;
use ackclock_sim::run::{Run, Unattended};
use ackclock_sim::topology;
use ackclock_sim::trace::{Step, Trace};
use ackclock_spec::units::Time;

/// Keeps the log, and the rows written one by one.
struct Both {
    log: PacketLog,
    hops: Vec<String>,
    /// Instance of each flow; there is one group.
    instances: Vec<u32>,
    rows: Table,
}

impl Trace for Both {
    fn record(
        &mut self,
        at: Time,
        step: Step,
        hop: Option<usize>,
        packet: &Packet,
        sacks: &[SackBlock],
    ) {
        self.log.record(at, step, hop, packet, sacks);
        let hop = hop.map_or("", |hop| {
            self.hops.get(hop).map_or("(per flow)", String::as_str)
        });
        PacketRow {
            point: 3,
            replicate: 2,
            time_s: at.as_seconds(),
            event: step.name(),
            hop,
            flow: "bulk",
            instance: self.instances[packet.flow.0 as usize].into(),
            kind: match packet.kind() {
                PacketKind::Data => "data",
                PacketKind::Ack => "ack",
                other => unreachable!("without handshakes there is no {other:?}"),
            },
            sequence: packet.sequence as i64,
            size_bytes: packet.size.into(),
        }
        .push(&mut self.rows);
    }
}

#[test]
fn the_log_has_the_rows_of_all_steps() {
    let scenario = scenario(DUMBBELL, &["duration=\"20 s\""]);
    let job = Job {
        scenario: &scenario,
        point: 3,
        replicate: 2,
    };
    let topology = topology::build(&job);
    let both = Both {
        log: PacketLog::new(&job, &topology),
        hops: topology.shared.clone(),
        instances: topology.flows.iter().map(|flow| flow.instance).collect(),
        rows: PacketRow::table(),
    };
    let Both { log, rows, .. } = Run::simulate(&job, topology, both, &Unattended).trace;
    let table = log.into_table();
    let Column::Text(events) = &table.0[3].1 else {
        panic!("the fourth column is {}", table.0[3].0);
    };
    // More than one block of records, and every event but marks.
    assert!(events.indices.len() > 1 << 16, "{}", events.indices.len());
    assert_eq!(events.values.len(), 4);
    assert!(table == rows);
    assert_eq!(cells(&[("packets", table)]), cells(&[("packets", rows)]));
}
