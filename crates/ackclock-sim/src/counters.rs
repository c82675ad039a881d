//! Counters of loss recovery over all TCP senders of a run, as a kernel keeps them for a host.

use crate::flow::Flow;
use ackclock_core::endpoint::Sender;
use ackclock_core::result::{CounterRow, Table};

/// Counters by name, as `nstat` has them. One that the engine does not keep has no row.
type Counts = [(&'static str, u64); 15];

/// The counters of a run and their values at the end of the warm-up.
#[derive(Debug, Default)]
pub struct Counters {
    warm: Option<Counts>,
}

impl Counters {
    /// Notes the values at the end of the warm-up.
    pub fn note_warm(&mut self, flows: &[Flow]) {
        self.warm = total(flows);
    }

    /// Returns the table `counters`; it has no rows without TCP.
    pub fn finish(&self, (point, replicate): (i64, i64), flows: &[Flow]) -> Table {
        let mut table = CounterRow::table();
        for (number, (name, value)) in total(flows).into_iter().flatten().enumerate() {
            let warm = self.warm.map_or(value, |warm| warm[number].1);
            CounterRow {
                point,
                replicate,
                host: "senders",
                name,
                value: value.cast_signed(),
                measured_value: (value - warm).cast_signed(),
            }
            .push(&mut table);
        }
        table
    }
}

/// Returns the sums over all TCP senders; `None` if there are none.
fn total(flows: &[Flow]) -> Option<Counts> {
    let senders = flows.iter().filter_map(Flow::sender).map(counts);
    senders.reduce(|mut sums, one| {
        for (sum, (_, value)) in sums.iter_mut().zip(one) {
            sum.1 += value;
        }
        sums
    })
}

fn counts(sender: &Sender) -> Counts {
    let (sent, by_time) = (sender.statistics(), sender.recovery_counts());
    let syns = u64::from(sender.retransmitted_syns());
    let with_sack = u64::from(sender.parameters().recovery.algorithm.uses_sack());
    [
        (
            "TCPOrigDataSent",
            sent.sent_segments - sent.retransmitted_segments,
        ),
        ("RetransSegs", sent.retransmitted_segments + syns),
        ("TCPSynRetrans", syns),
        ("TCPLostRetransmit", by_time.lost_retransmissions),
        ("TCPTimeouts", sent.timeouts + syns),
        ("TCPSpuriousRTOs", by_time.spurious_timeouts),
        ("TCPLossProbes", by_time.loss_probes),
        ("TCPLossProbeRecovery", by_time.loss_probe_recoveries),
        ("TCPSackRecovery", sent.fast_retransmits * with_sack),
        ("TCPRenoRecovery", sent.fast_retransmits * (1 - with_sack)),
        ("TCPFullUndo", by_time.full_undos),
        ("TCPPartialUndo", by_time.partial_undos),
        ("TCPDSACKUndo", by_time.duplicate_undos),
        ("TCPSACKReorder", by_time.sack_reorderings),
        ("TCPTSReorder", by_time.timestamp_reorderings),
    ]
}
