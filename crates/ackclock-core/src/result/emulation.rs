//! Tables that only an emulation fills: what the kernel says of its connections, and what says
//! whether the run can be trusted.

use super::{Cell, ColumnDescription, Table};

rows! {
    /// One connection at one reading of the kernel's `tcp_info` (tcp(7)). Counts are since the
    /// start.
    TcpInfoRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the flow group.
        flow: &'a str,
        /// Number of the instance in its group.
        instance: i64,
        /// When.
        time_s: f64,
        /// What the sender makes of its losses: `open`, `disorder`, `window_reduced`, `recovery`,
        /// `loss`.
        loss_state: &'a str,
        /// Congestion window.
        cwnd_segments: f64,
        /// Slow-start threshold; null before there was congestion.
        ssthresh_segments: f64,
        /// Payload of a full segment sent.
        mss_bytes: f64,
        /// Smoothed round-trip time.
        smoothed_rtt_s: f64,
        /// Variation of the round-trip time.
        rtt_variation_s: f64,
        /// The least round-trip time of the last minutes.
        rtt_min_s: f64,
        /// Retransmission timeout.
        rto_s: f64,
        /// Segments sent and not acknowledged.
        unacknowledged_segments: f64,
        /// Of these, those selectively acknowledged.
        sacked_segments: f64,
        /// Of these, those taken for lost.
        lost_segments: f64,
        /// Of these, those sent again.
        resent_segments: f64,
        /// Segments sent again.
        retransmissions: f64,
        /// Retransmission timeouts.
        timeouts: f64,
        /// Duplicate SACKs received: what was sent again for nothing (RFC 2883).
        duplicate_sacks: f64,
        /// How often reordering was seen.
        reordering_events: f64,
        /// The delivery rate last measured.
        delivery_rate_bit_per_s: f64,
        /// Whether that rate was limited by the application, 0 or 1.
        application_limited: f64,
        /// Rate of pacing; null if it has no limit.
        pacing_rate_bit_per_s: f64,
        /// Segments with payload sent, those sent again too.
        sent_data_segments: f64,
        /// Segments delivered.
        delivered_segments: f64,
        /// Of these, those marked "congestion experienced", as far as echoes tell.
        delivered_marked_segments: f64,
        /// Payload acknowledged.
        acknowledged_bytes: f64,
        /// What the application has written and that was never sent.
        unsent_bytes: f64,
        /// The receiver's window.
        receive_window_bytes: f64,
        /// Time with something outstanding or to send.
        busy_s: f64,
        /// Of this, the time in which the receiver's window was what limited the sender.
        receive_window_limited_s: f64,
        /// Of this, the time in which the send buffer was.
        send_buffer_limited_s: f64,
    }
}

rows! {
    /// How faithful one run was.
    FidelityRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// 1 if every bound was kept, else 0.
        reliable: i64,
        /// `reliable`, or the bounds that were broken, in words.
        verdict: &'a str,
        /// Packets lost outside the model: in the rings of the devices, by sockets, or refused by a
        /// device.
        outside_drops: i64,
        /// How late half of the packets were written at most, after the moment that the model gave
        /// them.
        lateness_p50_s: f64,
        /// How late 99 in 100 were at most.
        lateness_p99_s: f64,
        /// How late 999 in 1000 were at most.
        lateness_p999_s: f64,
        /// How late the latest was.
        lateness_max_s: f64,
        /// The longest time the emulator was away.
        longest_gap_s: f64,
        /// Processor time of the emulator's thread over the run's time.
        cpu_share: f64,
        /// The largest packet.
        largest_packet_bytes: i64,
        /// What a device may carry.
        mtu_bytes: i64,
        /// The shortest round trip that the scenario's delays allow.
        base_rtt_s: f64,
        /// Probes of the self-test before the run.
        probes_sent: i64,
        /// Of these, those whose delay was measured; the model may have dropped or still held the
        /// others.
        probes_measured: i64,
        /// How much longer than the model says half of the probes took at most, from the call that
        /// sent to the call that received.
        probe_extra_p50_s: f64,
        /// The same of the slowest.
        probe_extra_max_s: f64,
        /// The longest time that a host's thread waited for a processor, or was late to what was
        /// due; null where the kernel does not say.
        host_wait_max_s: f64,
        /// Share of the run in which a host could not do what was due and its buffers no longer
        /// bridged it.
        host_stalled_share: f64,
        /// Time that the kernel's threads for softirqs waited for a processor, over the run's time;
        /// null where they cannot be seen.
        softirq_wait_share: f64,
        /// Readings of flows that were left out, of those due.
        missed_readings_share: f64,
        /// Share of the run in which something on this machine waited for a processor; null where
        /// the kernel does not say.
        cpu_pressure_share: f64,
        /// What carried the packets: `tun` or `packet_socket`.
        device: &'a str,
        /// Scheduling of the emulator's thread: `SCHED_FIFO`, or why it is ordinary.
        priority: &'a str,
        /// Scheduling of the hosts' threads: `SCHED_FIFO`, or why one is ordinary.
        host_priority: &'a str,
        /// Idle states that processors could enter: `none`, or why they could not be forbidden.
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
        /// The longest lateness that belongs to it.
        at_most_s: f64,
        /// How many packets.
        packets: i64,
    }
}

rows! {
    /// One thing that the kernel was asked for, or that it does in its own way although the
    /// scenario says something else.
    SettingRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Where: `senders` or `receivers`.
        host: &'a str,
        /// A setting as in sysctl(8), a metric of a route, an option of a socket, or a parameter of
        /// the scenario's transport.
        name: &'a str,
        /// What it was asked to be.
        asked: &'a str,
        /// What it is; empty where the kernel does not say.
        has: &'a str,
        /// Why it is not what was asked; empty if it is.
        refusal: &'a str,
    }
}
