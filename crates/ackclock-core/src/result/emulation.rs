//! Tables that only an emulation fills: the kernel's view of its connections, and the evidence on
//! whether the run is reliable.

use super::{Cell, ColumnDescription, Table};

rows! {
    /// One connection at one reading of the kernel's `tcp_info` (tcp(7)). Counts are since the
    /// start of the connection.
    TcpInfoRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the flow group.
        flow: &'a str,
        /// Number of the instance in its group.
        instance: i64,
        /// Time of the reading.
        time_s: f64,
        /// Loss state of the sender: `open`, `disorder`, `window_reduced`, `recovery` or `loss`.
        loss_state: &'a str,
        /// Congestion window.
        cwnd_segments: f64,
        /// Slow-start threshold; null before the first congestion event.
        ssthresh_segments: f64,
        /// Payload of a full-sized segment.
        mss_bytes: f64,
        /// Smoothed round-trip time.
        smoothed_rtt_s: f64,
        /// Variation of the round-trip time (RTTVAR).
        rtt_variation_s: f64,
        /// Smallest round-trip time of the last minutes.
        rtt_min_s: f64,
        /// Retransmission timeout.
        rto_s: f64,
        /// Segments sent and not acknowledged.
        unacknowledged_segments: f64,
        /// Unacknowledged segments that a SACK block covers.
        sacked_segments: f64,
        /// Unacknowledged segments deemed lost.
        lost_segments: f64,
        /// Unacknowledged segments that were retransmitted.
        resent_segments: f64,
        /// Segments retransmitted.
        retransmissions: f64,
        /// Retransmission timeouts.
        timeouts: f64,
        /// Duplicate SACKs received, one for each segment retransmitted needlessly (RFC 2883).
        duplicate_sacks: f64,
        /// Number of times reordering was seen.
        reordering_events: f64,
        /// Latest sample of the delivery rate.
        delivery_rate_bit_per_s: f64,
        /// 1 if the application limited the delivery rate, else 0.
        application_limited: f64,
        /// Pacing rate; null if there is none.
        pacing_rate_bit_per_s: f64,
        /// Segments with payload sent, retransmissions included.
        sent_data_segments: f64,
        /// Segments delivered.
        delivered_segments: f64,
        /// Delivered segments that were marked CE, as far as the echoes tell.
        delivered_marked_segments: f64,
        /// Payload acknowledged.
        acknowledged_bytes: f64,
        /// Bytes that the application has written and that were never sent.
        unsent_bytes: f64,
        /// Window that the receiver offers.
        receive_window_bytes: f64,
        /// Time with data in flight or to send.
        busy_s: f64,
        /// Busy time in which the receiver's window limited the sender.
        receive_window_limited_s: f64,
        /// Busy time in which the send buffer limited the sender.
        send_buffer_limited_s: f64,
    }
}

rows! {
    /// Fidelity of one run.
    FidelityRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// 1 if the run kept every bound, else 0.
        reliable: i64,
        /// `reliable`, or a list of the bounds that the run broke.
        verdict: &'a str,
        /// Packets lost outside the model: in the rings of the devices, in sockets, or refused by a
        /// device.
        outside_drops: i64,
        /// Median lateness of packets: from the departure in the model to the write to the device.
        lateness_p50_s: f64,
        /// 99th percentile of the lateness.
        lateness_p99_s: f64,
        /// 99.9th percentile of the lateness.
        lateness_p999_s: f64,
        /// Largest lateness.
        lateness_max_s: f64,
        /// Longest time for which the emulator's loop did not run when it should have.
        longest_gap_s: f64,
        /// Processor time of the emulator's thread divided by the time of the run.
        cpu_share: f64,
        /// Length of the largest packet.
        largest_packet_bytes: i64,
        /// Largest packet that a device may carry.
        mtu_bytes: i64,
        /// Shortest round trip that the delays of the scenario allow.
        base_rtt_s: f64,
        /// Probes that the self-test before the run sent.
        probes_sent: i64,
        /// Probes whose delay was measured; the model may have dropped or still held the others.
        probes_measured: i64,
        /// Median delay of the probes beyond the model's, from the sending call to the receiving
        /// call.
        probe_extra_p50_s: f64,
        /// Largest delay of a probe beyond the model's.
        probe_extra_max_s: f64,
        /// Longest time that a host's thread waited for a processor or was late to an action; null
        /// if the kernel does not report it.
        host_wait_max_s: f64,
        /// Share of the run in which a host was held up for longer than its buffers bridge.
        host_stalled_share: f64,
        /// Time that the kernel's softirq threads waited for a processor, divided by the time of
        /// the run; null if they cannot be seen.
        softirq_wait_share: f64,
        /// Share of the readings due of flows that were not taken.
        missed_readings_share: f64,
        /// Share of the run in which some task of this machine waited for a processor; null if the
        /// kernel does not report it.
        cpu_pressure_share: f64,
        /// Device that carried the packets: `tun` or `packet_socket`.
        device: &'a str,
        /// Scheduling of the emulator's thread: `SCHED_FIFO`, or the reason why it is ordinary.
        priority: &'a str,
        /// Scheduling of the hosts' threads: `SCHED_FIFO`, or the reason why one is ordinary.
        host_priority: &'a str,
        /// Idle states that processors could enter: `none`, or the reason why they could not be
        /// forbidden.
        idle_states: &'a str,
    }
}

rows! {
    /// One bucket of the histogram of lateness of one run.
    LatenessRow {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Upper end of the bucket.
        at_most_s: f64,
        /// Packets in the bucket.
        packets: i64,
    }
}

rows! {
    /// One setting that the kernel was asked for, or in which it differs from the scenario.
    SettingRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Host: `senders` or `receivers`.
        host: &'a str,
        /// A setting as in sysctl(8), a route metric, a socket option, or a parameter of the
        /// scenario's transport.
        name: &'a str,
        /// Value asked for.
        asked: &'a str,
        /// Value in effect; empty if the kernel does not report it.
        has: &'a str,
        /// Reason why the value differs; empty if it does not.
        refusal: &'a str,
    }
}
