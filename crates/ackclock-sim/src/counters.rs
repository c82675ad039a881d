//! Counters of loss recovery and flow control over all TCP flows of a run, as a kernel keeps them
//! for a host.

use crate::flow::{Flow, Protocol};
use ackclock_core::endpoint::{Receiver, Sender};
use ackclock_core::result::{CounterRow, Table};
use ackclock_spec::units::Time;

const SENDERS: &str = "senders";
const RECEIVERS: &str = "receivers";

/// A counter: its host, its name as `nstat` has it, its value. One that the engine does not keep
/// has no row.
type Count = (&'static str, &'static str, u64);

/// The counters of a run and their values at the end of the warm-up.
#[derive(Debug, Default)]
pub struct Counters {
    warm: Option<Vec<Count>>,
}

impl Counters {
    /// Notes the values at the end of the warm-up.
    pub fn note_warm(&mut self, flows: &[Flow]) {
        self.warm = Some(totals(flows));
    }

    /// Returns the table `counters`; it has no rows without TCP.
    pub fn finish(&self, (point, replicate): (i64, i64), flows: &[Flow]) -> Table {
        let mut table = CounterRow::table();
        for (number, (host, name, value)) in totals(flows).into_iter().enumerate() {
            let warm = self.warm.as_ref().map_or(value, |warm| warm[number].2);
            CounterRow {
                point,
                replicate,
                host,
                name,
                value: value.cast_signed(),
                measured_value: (value - warm).cast_signed(),
            }
            .push(&mut table);
        }
        table
    }
}

/// Returns the sums over all TCP flows. Counters of flow control are kept only if a receiver reads
/// slowly.
fn totals(flows: &[Flow]) -> Vec<Count> {
    let tcp = || {
        flows.iter().filter_map(|flow| match &flow.protocol {
            Protocol::Tcp {
                sender, receiver, ..
            } => Some((&**sender, receiver)),
            Protocol::Other(_) => None,
        })
    };
    let mut totals = sum(tcp().map(|(sender, _)| recovery(sender)));
    totals.extend(sum(
        tcp().filter_map(|(sender, receiver)| flow_control(sender, receiver))
    ));
    totals
}

/// Returns the sums of counters that stand in the same order; none if there are none.
fn sum<const N: usize>(all: impl Iterator<Item = [Count; N]>) -> Vec<Count> {
    let sums = all.reduce(|mut sums, more| {
        for (sum, (.., value)) in sums.iter_mut().zip(more) {
            sum.2 += value;
        }
        sums
    });
    sums.into_iter().flatten().collect()
}

fn flow_control(sender: &Sender, receiver: &Receiver) -> Option<[Count; 3]> {
    // Counts do not depend on the time until which they are asked for.
    let sent = sender.flow_control_counts(Time::ZERO)?;
    let advertised = receiver.advertised_counts()?;
    Some([
        (SENDERS, "TCPWinProbe", sent.probes),
        (RECEIVERS, "TCPToZeroWindowAdv", advertised.to_zero),
        (RECEIVERS, "TCPFromZeroWindowAdv", advertised.from_zero),
    ])
}

fn recovery(sender: &Sender) -> [Count; 15] {
    let (sent, by_time) = (sender.statistics(), sender.recovery_counts());
    let syns = u64::from(sender.retransmitted_syns());
    let with_sack = u64::from(sender.parameters().recovery.uses_sack());
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
    .map(|(name, value)| (SENDERS, name, value))
}
