//! The table of counters of loss recovery, under the names that `nstat` has for them.

use super::{Cell, ColumnDescription, Table};

rows! {
    /// One counter of loss recovery in one run.
    CounterRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Host that counts: `senders` or `receivers`.
        host: &'a str,
        /// Name of the counter, as `nstat` has it without `Tcp` or `TcpExt` before it.
        name: &'a str,
        /// Count over the whole run.
        value: i64,
        /// Count from the end of the warm-up on.
        measured_value: i64,
    }
}

/// The counters: names of Linux (RFC 4022 for `RetransSegs`), and what they count.
pub const COUNTERS: &[(&str, &str)] = &[
    (
        "TCPOrigDataSent",
        "Segments with data sent, retransmissions excluded.",
    ),
    ("RetransSegs", "Segments retransmitted, SYNs included."),
    ("TCPSynRetrans", "SYNs and answers to SYNs retransmitted."),
    ("TCPFastRetrans", "Segments retransmitted in fast recovery."),
    (
        "TCPSlowStartRetrans",
        "Segments retransmitted after a timeout.",
    ),
    (
        "TCPLostRetransmit",
        "Retransmissions that were lost in turn.",
    ),
    (
        "TCPRetransFail",
        "Retransmissions that the host could not send.",
    ),
    ("TCPTimeouts", "Expirations of the retransmission timer."),
    ("TCPSpuriousRTOs", "Timeouts that F-RTO found unnecessary."),
    ("TCPLossProbes", "Tail-loss probes sent."),
    (
        "TCPLossProbeRecovery",
        "Losses that a tail-loss probe repaired.",
    ),
    ("TCPSackRecovery", "Fast recoveries begun with SACK."),
    ("TCPRenoRecovery", "Fast recoveries begun without SACK."),
    (
        "TCPSackFailures",
        "Timeouts in the Disorder state, or with SACKed data, with SACK.",
    ),
    (
        "TCPRenoFailures",
        "Timeouts in the Disorder state, or after duplicate ACKs, without SACK.",
    ),
    (
        "TCPSackRecoveryFail",
        "Timeouts in fast recovery with SACK.",
    ),
    (
        "TCPRenoRecoveryFail",
        "Timeouts in fast recovery without SACK.",
    ),
    (
        "TCPLossFailures",
        "Timeouts while still recovering from an earlier timeout.",
    ),
    (
        "TCPSACKReneging",
        "Times a receiver took back what it had acknowledged by SACK.",
    ),
    (
        "TCPFullUndo",
        "Recoveries undone at their end because nothing was lost.",
    ),
    (
        "TCPPartialUndo",
        "Recoveries undone at a partial ACK because nothing was lost.",
    ),
    (
        "TCPDSACKUndo",
        "Reductions undone because DSACK covered every retransmission.",
    ),
    (
        "TCPLossUndo",
        "Reductions after a timeout undone because nothing was lost.",
    ),
    ("TCPSACKReorder", "Times SACK showed reordering."),
    (
        "TCPRenoReorder",
        "Times duplicate ACKs showed reordering, without SACK.",
    ),
    ("TCPTSReorder", "Times timestamps showed reordering."),
    (
        "TCPDSACKOldSent",
        "DSACKs sent for data that had been acknowledged.",
    ),
    (
        "TCPDSACKOfoSent",
        "DSACKs sent for data that was waiting out of order.",
    ),
    (
        "TCPDSACKRecv",
        "DSACKs received for data below the cumulative ACK.",
    ),
    (
        "TCPDSACKOfoRecv",
        "DSACKs received for data above the cumulative ACK.",
    ),
    ("TCPDSACKRecvSegs", "Segments that received DSACKs covered."),
    (
        "TCPDSACKIgnoredOld",
        "DSACKs ignored because they were too old to undo anything.",
    ),
    (
        "TCPDSACKIgnoredNoUndo",
        "DSACKs ignored because there was nothing to undo.",
    ),
    (
        "TCPDSACKIgnoredDubious",
        "DSACKs ignored because they did not fit what was sent.",
    ),
    ("TCPWinProbe", "Probes sent for a closed receive window."),
    (
        "TCPToZeroWindowAdv",
        "Times a receiver advertised a window of zero after another.",
    ),
    (
        "TCPFromZeroWindowAdv",
        "Times a receiver advertised another window after one of zero.",
    ),
    (
        "TCPHystartTrainDetect",
        "Slow starts that HyStart ended by a train of ACKs.",
    ),
    (
        "TCPHystartDelayDetect",
        "Slow starts that HyStart ended by a longer delay.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_counter_has_one_name_and_a_sentence() {
        let names: BTreeSet<&str> = COUNTERS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), COUNTERS.len());
        for (name, summary) in COUNTERS {
            assert!(summary.ends_with('.'), "{name}");
        }
    }
}
