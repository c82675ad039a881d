//! Tables that only a capture fills, with one row or more for each direction of each TCP
//! connection.
//!
//! "This direction" is the direction of the row's data. ACKs "came back" from the other side. A
//! count that the capture cannot support is null, for example that of ACKs if it holds none.

use super::{Cell, ColumnDescription, Table};

rows! {
    /// One direction of one connection in a capture.
    ConnectionRow<'a> {
        /// Number of the sweep's point; 0 for a capture that ackclock did not write.
        point: i64,
        /// Number of the replicate; 0 for a capture that ackclock did not write.
        replicate: i64,
        /// Name of the flow group; for a capture that ackclock did not write, `SOURCE:PORT >
        /// DESTINATION:PORT`.
        flow: &'a str,
        /// Number of the instance in its group; for a capture that ackclock did not write, the
        /// number of earlier connections with the same addresses.
        instance: i64,
        /// Address and port of the sender.
        source: &'a str,
        /// Address and port of the receiver.
        destination: &'a str,
        /// Role of the sender: `client` if it opened the connection, `server`, `both` if both
        /// opened it, `unknown` if the capture does not show it.
        role: &'a str,
        /// Beginning of the connection in the capture: `syn` or `midway`.
        begins: &'a str,
        /// End of the connection in the capture: `fin`, `reset` or `open`.
        ends: &'a str,
        /// Time of the first packet, in either direction.
        start_s: f64,
        /// Time of the last packet, in either direction.
        end_s: f64,
        /// Time of the first packet with payload.
        first_data_s: f64,
        /// Time of the last packet with payload.
        last_data_s: f64,
        /// Packets. A packet that was captured twice or duplicated by the network counts once, in
        /// all columns.
        packets: i64,
        /// Lengths of the packets, IP headers included.
        wire_bytes: i64,
        /// Packets with payload.
        data_packets: i64,
        /// Segments in these packets. A packet of an offloading host holds several segments of
        /// `mss_bytes`; null if that is unknown.
        data_segments: f64,
        /// Packets with more payload than one segment holds; null if `mss_bytes` is unknown.
        super_packets: f64,
        /// Payload, retransmissions included.
        payload_bytes: i64,
        /// Payload, each byte once.
        unique_bytes: i64,
        /// Payload acknowledged.
        acknowledged_bytes: f64,
        /// Payload that was acknowledged or skipped and that the capture does not hold.
        missed_bytes: f64,
        /// Lower bound on the packets missing from the capture: echoed or acknowledged by the other
        /// side, or needed for what it sent. Counts and losses are too low by this number.
        missed_packets: f64,
        /// Packets with payload retransmitted.
        retransmitted_packets: f64,
        /// Payload retransmitted.
        retransmitted_bytes: f64,
        /// Packets captured twice or duplicated by the network; counted in no other column.
        duplicated_packets: i64,
        /// Packets with payload that arrived after later ones and were not retransmissions.
        out_of_order_packets: i64,
        /// Keep-alives (RFC 9293 section 3.8.4).
        keep_alives: i64,
        /// Probes of a zero window (RFC 9293 section 3.8.6.1).
        window_probes: i64,
        /// SYNs retransmitted.
        syn_retransmissions: i64,
        /// ACKs without payload that came back.
        pure_acks: f64,
        /// ACKs without payload that were duplicates (RFC 5681 section 2; with SACK, RFC 6675
        /// section 2).
        duplicate_acks: f64,
        /// Number of times a third duplicate ACK in a row came back.
        triple_duplicate_acks: f64,
        /// ACKs of data sent once, sent behind data that was retransmitted later.
        post_loss_acks: f64,
        /// ACKs with SACK blocks.
        acks_with_sack: f64,
        /// SACK blocks that report a duplicate (RFC 2883).
        duplicate_sacks: f64,
        /// Packets retransmitted on duplicate ACKs or SACK.
        retransmissions_fast: f64,
        /// Packets retransmitted because the retransmission timer expired.
        retransmissions_timeout: f64,
        /// Packets retransmitted in the slow start after a timeout.
        retransmissions_after_timeout: f64,
        /// Last segments retransmitted as a tail-loss probe (RFC 8985 section 7).
        retransmissions_tail_probe: f64,
        /// Packets retransmitted for none of these reasons.
        retransmissions_unclear: f64,
        /// Packets of any of these classes retransmitted needlessly, according to DSACK (RFC 2883),
        /// timestamps (RFC 3522) or an ACK that came too soon.
        retransmissions_spurious: f64,
        /// Fast recoveries. Each includes everything that it retransmitted.
        fast_recoveries: f64,
        /// Lower bound on the losses of acknowledged data: recoveries that began with three
        /// duplicate ACKs or SACK. It holds if the path keeps the order of packets.
        losses_lower: f64,
        /// Estimate of the losses: packets retransmitted, without those retransmitted needlessly.
        losses_estimate: f64,
        /// Upper bound on the losses: packets retransmitted, without those that DSACK reports as
        /// duplicates.
        losses_upper: f64,
        /// 1 if both sides agreed on ECN (RFC 3168 section 6.1.1), else 0; null without the SYNs.
        ecn_negotiated: f64,
        /// Packets with ECT(0).
        ect0_packets: i64,
        /// Packets with ECT(1).
        ect1_packets: i64,
        /// Packets marked CE before the capture point.
        ce_packets: i64,
        /// ACKs that came back with ECE.
        ece_acks: f64,
        /// ACKs that came back with an AccECN option (RFC 9768 section 3.2.3).
        accecn_options: f64,
        /// Options among these whose length is not 2, 5, 8 or 11. Their whole counters count.
        accecn_odd_options: f64,
        /// Options among these that end behind the header or behind what was captured.
        accecn_cut_options: f64,
        /// Payload that arrived with ECT(0), by these options; from the first one on if the capture
        /// lacks the SYN. Null if no option has the counter.
        accecn_ect0_bytes: f64,
        /// Payload that arrived with ECT(1), by these options.
        accecn_ect1_bytes: f64,
        /// Payload that arrived marked CE, by these options.
        accecn_ce_bytes: f64,
        /// Packets that arrived marked CE, as the sender learns it from ACE, the counter of three
        /// bits in the header (RFC 9768 section 3.2.2). Null without both SYNs, without accurate
        /// ECN, and if ACE may have wrapped.
        accecn_ce_packets: f64,
        /// ACKs for so many packets that ACE may have wrapped, where no option tells.
        accecn_unclear_acks: f64,
        /// Packets with CWR.
        cwr_packets: i64,
        /// Least number of marks that the sender was told of, or that passed: by ACE, by CE in
        /// headers, or by CWR, one for all marks in a window.
        marks_lower: f64,
        /// MSS option of this side's SYN: the largest segment that this side accepts.
        mss_option_bytes: f64,
        /// Payload of a full-sized segment.
        mss_bytes: f64,
        /// Largest payload of a packet.
        largest_payload_bytes: i64,
        /// Window scale option of this side's SYN; null without the SYN or the option.
        window_scale: f64,
        /// 1 if this side's SYN permits SACK, else 0.
        sack_permitted: f64,
        /// 1 if this side's packets carry timestamps, else 0.
        timestamps: f64,
        /// 1 if the scale of the other side's window is known, else 0; then the next columns hold
        /// the unscaled field.
        receive_window_scaled: f64,
        /// Smallest window that the other side offered.
        receive_window_min_bytes: f64,
        /// Time average of the window that the other side offered.
        receive_window_mean_bytes: f64,
        /// Largest window that the other side offered.
        receive_window_max_bytes: f64,
        /// Number of times the other side closed its window.
        zero_windows: f64,
        /// Samples of the round trip from the capture point to the receiver and back, by sequence
        /// numbers; without retransmitted data (Karn's algorithm).
        ack_rtt_samples: i64,
        /// Mean of these round-trip times.
        ack_rtt_mean_s: f64,
        /// Standard deviation of these round-trip times.
        ack_rtt_sd_s: f64,
        /// Smallest of these round-trip times.
        ack_rtt_min_s: f64,
        /// Median of these round-trip times, within 1 % as the other quantiles.
        ack_rtt_median_s: f64,
        /// 95th percentile of these round-trip times.
        ack_rtt_p95_s: f64,
        /// 99th percentile of these round-trip times.
        ack_rtt_p99_s: f64,
        /// Largest of these round-trip times.
        ack_rtt_max_s: f64,
        /// Samples of the same round trip by timestamps (RFC 7323 section 4).
        timestamp_rtt_samples: i64,
        /// Mean of the round-trip times by timestamps.
        timestamp_rtt_mean_s: f64,
        /// Smallest of the round-trip times by timestamps.
        timestamp_rtt_min_s: f64,
        /// Largest of the round-trip times by timestamps.
        timestamp_rtt_max_s: f64,
        /// Time from the SYN to the ACK of its answer: a whole round trip, wherever the capture was
        /// taken. Null if it is unclear which SYN was answered.
        handshake_rtt_s: f64,
        /// Position of the capture point on the path of the data: `sender`, `middle`, `receiver` or
        /// `unknown`.
        vantage: &'a str,
        /// Smallest time from the capture point to the receiver and back.
        receiver_side_rtt_s: f64,
        /// Smallest time from the capture point to the sender and back.
        sender_side_rtt_s: f64,
        /// Mean queueing of data between the capture point and the receiver, by the receiver's
        /// timestamps; with the delay of ACKs beyond its least. Null without timestamps, and if
        /// their clock has an unusual rate.
        data_queueing_mean_s: f64,
        /// Mean queueing of ACKs between the receiver and the capture point.
        ack_queueing_mean_s: f64,
        /// Time average of the data in flight between the first data and the last: the window used.
        in_flight_mean_bytes: f64,
        /// Most data in flight.
        in_flight_max_bytes: f64,
        /// Payload delivered, each byte once, over the time from the first packet to the last
        /// (`ATp`).
        delivered_rate_bit_per_s: f64,
        /// Payload sent, retransmissions included, over the time from the first data to the last
        /// (`ATpXmit`).
        transmitted_rate_bit_per_s: f64,
        /// Mean data in flight over mean round-trip time (`NoTOTput`).
        window_rate_bit_per_s: f64,
        /// Cause that limited the rate for the longest time, as in the table `limit_periods`.
        limit: &'a str,
        /// Share of the time in which it did.
        limit_share: f64,
    }
}

rows! {
    /// A period in which one cause limited one direction of a connection, with the evidence.
    LimitPeriodRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the flow.
        flow: &'a str,
        /// Number of the instance.
        instance: i64,
        /// Beginning of the period.
        start_s: f64,
        /// End of the period.
        end_s: f64,
        /// Cause: `application`, `receive_window`, `sender_buffer`, `congestion_window`,
        /// `bottleneck_rate`, `slow_start`, `recovery` or `unknown`.
        limit: &'a str,
        /// Time average of the data in flight.
        in_flight_mean_bytes: f64,
        /// Time average of the receiver's window.
        receive_window_mean_bytes: f64,
        /// Payload acknowledged per second.
        rate_bit_per_s: f64,
        /// Mean round-trip time.
        rtt_mean_s: f64,
        /// Packets retransmitted.
        retransmitted_packets: i64,
        /// ACKs that came back and reported marks: with ECE, or a rise of ACE (RFC 9768).
        marking_acks: i64,
        /// New payload sent.
        sent_bytes: i64,
    }
}

rows! {
    /// One bucket of the histogram of the round-trip times of one direction of a connection.
    /// Buckets are at most 1 % wide.
    RttHistogramRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the flow.
        flow: &'a str,
        /// Number of the instance.
        instance: i64,
        /// Measured round trip: `whole`, or `receiver_side` if the delay on the sender's side is
        /// unknown.
        part: &'a str,
        /// Lower end of the bucket.
        low_s: f64,
        /// Upper end of the bucket.
        high_s: f64,
        /// Samples in the bucket.
        samples: i64,
    }
}

rows! {
    /// One direction of one UDP flow, as its headers and the times of its datagrams tell. What was
    /// lost or sent again, an encrypted flow does not tell.
    DatagramRow<'a> {
        /// Number of the sweep's point; 0 for a capture that ackclock did not write.
        point: i64,
        /// Number of the replicate; 0 for a capture that ackclock did not write.
        replicate: i64,
        /// Name of the flow; its addresses if it has none.
        flow: &'a str,
        /// Number of the instance.
        instance: i64,
        /// Time of the first datagram.
        start_s: f64,
        /// Time of the last datagram.
        end_s: f64,
        /// Number of datagrams.
        datagrams: i64,
        /// Payload of UDP.
        payload_bytes: i64,
        /// Smallest payload of UDP.
        smallest_bytes: i64,
        /// Largest payload of UDP.
        largest_bytes: i64,
        /// IP packets per second, in bits, from the first to the last; empty for a single one.
        rate_bit_per_s: f64,
        /// Longest time between two datagrams; empty for a single one.
        longest_gap_s: f64,
        /// Datagrams marked by a queue on the way (CE).
        marked_datagrams: i64,
        /// Version of QUIC in its first packets with a long header (RFC 8999 section 5.1), as a
        /// hexadecimal number; empty if there was none that this recognises.
        quic_version: &'a str,
        /// Changes of the spin bit (RFC 9000 section 17.4). Empty unless it spins in both
        /// directions, each with at least 128 packets.
        spin_edges: f64,
        /// Shortest time between two changes of the spin bit: a round trip, with the time that
        /// either side waits before it sends.
        spin_rtt_min_s: f64,
        /// Mean of these times.
        spin_rtt_mean_s: f64,
        /// Longest of these times.
        spin_rtt_max_s: f64,
    }
}

rows! {
    /// Estimate of one rate estimator for one direction of a connection at one sampling time.
    RateEstimateRow<'a> {
        /// Number of the sweep's point; 0 for a capture that ackclock did not write.
        point: i64,
        /// Number of the replicate; 0 for a capture that ackclock did not write.
        replicate: i64,
        /// Name of the flow, as in `connections`.
        flow: &'a str,
        /// Number of the instance, as in `connections`.
        instance: i64,
        /// Sampling time.
        time_s: f64,
        /// Name of the estimator, as in the request.
        estimator: &'a str,
        /// Estimate from the ACKs captured so far.
        rate_bit_per_s: f64,
    }
}

rows! {
    /// One mark of a time-sequence plot.
    SegmentRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the flow.
        flow: &'a str,
        /// Number of the instance.
        instance: i64,
        /// Time of the mark.
        time_s: f64,
        /// Kind of mark: `data`, `retransmission`, `ack`, `sack` or `window`.
        kind: &'a str,
        /// First byte, counted from the first byte of the connection or of its capture.
        low_bytes: i64,
        /// Byte after the last; for an ACK or a window, the same as the first.
        high_bytes: i64,
    }
}
