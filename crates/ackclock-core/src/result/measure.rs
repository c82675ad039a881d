//! Tables that only a capture fills: what its packets say of each direction of each TCP connection.
//!
//! "This direction" is the one in which the data of the row goes; ACKs "came back" from the other
//! side. Counts that the capture cannot support, such as those of ACKs where none of them was
//! captured, are null.

use super::{Cell, ColumnDescription, Table};

rows! {
    /// One direction of one connection in a capture.
    ConnectionRow<'a> {
        /// Number of the sweep's point; 0 of a capture from elsewhere.
        point: i64,
        /// Number of the replicate; 0 of a capture from elsewhere.
        replicate: i64,
        /// Name of the flow group; of a capture from elsewhere `SOURCE:PORT > DESTINATION:PORT`.
        flow: &'a str,
        /// Number of the instance in its group; of a capture from elsewhere how many earlier
        /// connections had the same addresses.
        instance: i64,
        /// Address and port that sent.
        source: &'a str,
        /// Address and port that received.
        destination: &'a str,
        /// Who sent: the `client`, which opened the connection, the `server`, `both` if both opened
        /// it, `unknown` if the capture does not show it.
        role: &'a str,
        /// How the capture of it begins: `syn` or `midway`.
        begins: &'a str,
        /// How it ends: `fin`, `reset` or `open`.
        ends: &'a str,
        /// First packet, either way.
        start_s: f64,
        /// Last packet, either way.
        end_s: f64,
        /// First packet with payload.
        first_data_s: f64,
        /// Last packet with payload.
        last_data_s: f64,
        /// Packets; one that was captured twice, or that the network duplicated, counts once here
        /// and below.
        packets: i64,
        /// Their lengths, IP header included.
        wire_bytes: i64,
        /// Packets with payload.
        data_packets: i64,
        /// Segments in them: packets of offloading hosts hold several of `mss_bytes`; null if that
        /// is unknown.
        data_segments: f64,
        /// Packets with more payload than one segment holds; null if that is unknown.
        super_packets: f64,
        /// Payload.
        payload_bytes: i64,
        /// Payload, each byte once.
        unique_bytes: i64,
        /// Payload acknowledged.
        acknowledged_bytes: f64,
        /// Payload that was acknowledged or passed over and that the capture does not hold.
        missed_bytes: f64,
        /// Packets that the capture lacks, at least: echoed or acknowledged by the other side, or
        /// needed for what it sent. Counts and losses are too low by them.
        missed_packets: f64,
        /// Packets with payload sent again.
        retransmitted_packets: f64,
        /// Payload sent again.
        retransmitted_bytes: f64,
        /// Packets that were captured twice or duplicated on the way; in no other column.
        duplicated_packets: i64,
        /// Packets with payload that came after later ones and had not been sent again.
        out_of_order_packets: i64,
        /// Keep-alives (RFC 9293 section 3.8.4).
        keep_alives: i64,
        /// Probes of a zero window (RFC 9293 section 3.8.6.1).
        window_probes: i64,
        /// SYNs sent again.
        syn_retransmissions: i64,
        /// ACKs without payload that came back.
        pure_acks: f64,
        /// Of these, duplicates (RFC 5681 section 2; with SACK, RFC 6675 section 2).
        duplicate_acks: f64,
        /// How often a third duplicate in a row came.
        triple_duplicate_acks: f64,
        /// ACKs of data sent once, behind data that was sent again after it.
        post_loss_acks: f64,
        /// ACKs with SACK blocks.
        acks_with_sack: f64,
        /// SACK blocks that report a duplicate (RFC 2883).
        duplicate_sacks: f64,
        /// Packets sent again on duplicate ACKs or SACK.
        retransmissions_fast: f64,
        /// Packets sent again because the retransmission timer went off.
        retransmissions_timeout: f64,
        /// Packets sent again in the slow start after that.
        retransmissions_after_timeout: f64,
        /// Last segments sent again as a tail-loss probe (RFC 8985 section 7).
        retransmissions_tail_probe: f64,
        /// Packets sent again that fit none of these.
        retransmissions_unclear: f64,
        /// Packets of any of these classes that were sent again needlessly, as DSACK (RFC 2883),
        /// timestamps (RFC 3522) or an ACK that came too soon tell.
        retransmissions_spurious: f64,
        /// How often fast retransmission began, each with all that it sent again.
        fast_recoveries: f64,
        /// Losses of what was acknowledged, at least: recoveries that began with three duplicate
        /// ACKs or SACK. Right if the way keeps the order.
        losses_lower: f64,
        /// The same, estimated: packets sent again and not needlessly.
        losses_estimate: f64,
        /// The same, at most: packets sent again, without those that by DSACK arrived beside
        /// another.
        losses_upper: f64,
        /// Whether both sides agreed on ECN (RFC 3168 section 6.1.1), 0 or 1; null without the
        /// SYNs.
        ecn_negotiated: f64,
        /// Packets with ECT(0).
        ect0_packets: i64,
        /// Packets with ECT(1).
        ect1_packets: i64,
        /// Packets marked "congestion experienced" before the capture point.
        ce_packets: i64,
        /// ACKs that came back with ECE.
        ece_acks: f64,
        /// Packets with CWR.
        cwr_packets: i64,
        /// The MSS option of this side's SYN: the largest segment that it accepts.
        mss_option_bytes: f64,
        /// Payload of a full segment.
        mss_bytes: f64,
        /// The largest payload of a packet.
        largest_payload_bytes: i64,
        /// The window scale option of this side's SYN; null without the SYN or the option.
        window_scale: f64,
        /// Whether this side's SYN permits SACK, 0 or 1.
        sack_permitted: f64,
        /// Whether this side's packets have timestamps, 0 or 1.
        timestamps: f64,
        /// Whether the scale of the other side's windows is known, 0 or 1; if not, the next columns
        /// hold the field as it is.
        receive_window_scaled: f64,
        /// The smallest window that the other side offered.
        receive_window_min_bytes: f64,
        /// Its mean over time.
        receive_window_mean_bytes: f64,
        /// The largest.
        receive_window_max_bytes: f64,
        /// How often the other side closed its window.
        zero_windows: f64,
        /// Round trips from the capture point to the receiver and back, by sequence numbers; none
        /// where data was sent again (Karn).
        ack_rtt_samples: i64,
        /// Their mean.
        ack_rtt_mean_s: f64,
        /// Their standard deviation.
        ack_rtt_sd_s: f64,
        /// The least.
        ack_rtt_min_s: f64,
        /// Their median, to 1 %, as are the other quantiles.
        ack_rtt_median_s: f64,
        /// What 95 % of them do not exceed.
        ack_rtt_p95_s: f64,
        /// What 99 % of them do not exceed.
        ack_rtt_p99_s: f64,
        /// The largest.
        ack_rtt_max_s: f64,
        /// The same round trips by timestamps (RFC 7323 section 4).
        timestamp_rtt_samples: i64,
        /// Their mean.
        timestamp_rtt_mean_s: f64,
        /// The least.
        timestamp_rtt_min_s: f64,
        /// The largest.
        timestamp_rtt_max_s: f64,
        /// From the SYN to the ACK of its answer: a whole round trip, wherever the capture was
        /// taken. Null if it is not clear which SYN was answered.
        handshake_rtt_s: f64,
        /// Where on the way of the data the capture was taken: `sender`, `middle`, `receiver` or
        /// `unknown`.
        vantage: &'a str,
        /// The least time from the capture point to the receiver and back.
        receiver_side_rtt_s: f64,
        /// The least time from the capture point to the sender and back.
        sender_side_rtt_s: f64,
        /// Outstanding data, mean over the time between first data and last: the window that was
        /// used.
        in_flight_mean_bytes: f64,
        /// The most outstanding data.
        in_flight_max_bytes: f64,
        /// Payload delivered, each byte once, over the time from first to last packet (`ATp`).
        delivered_rate_bit_per_s: f64,
        /// Payload sent, retransmissions included, over the time from first data to last
        /// (`ATpXmit`).
        transmitted_rate_bit_per_s: f64,
        /// Mean outstanding data over mean round-trip time (`NoTOTput`).
        window_rate_bit_per_s: f64,
        /// What limited it for the longest time, as in the table `limit_periods`.
        limit: &'a str,
        /// The share of the time in which that was so.
        limit_share: f64,
    }
}

rows! {
    /// A stretch of time in which one thing limited one direction of a connection, with the
    /// evidence.
    LimitPeriodRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the flow.
        flow: &'a str,
        /// Number of the instance.
        instance: i64,
        /// When it begins.
        start_s: f64,
        /// When it ends.
        end_s: f64,
        /// What: `application`, `receive_window`, `sender_buffer`, `congestion_window`,
        /// `bottleneck_rate`, `slow_start`, `recovery`, `unknown`.
        limit: &'a str,
        /// Outstanding data, mean over time.
        in_flight_mean_bytes: f64,
        /// The receiver's window, mean over time.
        receive_window_mean_bytes: f64,
        /// Payload acknowledged, over time.
        rate_bit_per_s: f64,
        /// Mean round-trip time.
        rtt_mean_s: f64,
        /// Packets sent again.
        retransmitted_packets: i64,
        /// New payload sent.
        sent_bytes: i64,
    }
}

rows! {
    /// One bucket of the law of the round-trip time of one direction of a connection. Buckets are
    /// at most 1 % wide.
    RttHistogramRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the flow.
        flow: &'a str,
        /// Number of the instance.
        instance: i64,
        /// Of what: `whole` round trips, or `receiver_side` where the sender's part is unknown.
        part: &'a str,
        /// Where the bucket begins.
        low_s: f64,
        /// Where it ends.
        high_s: f64,
        /// Round trips in it.
        samples: i64,
    }
}

rows! {
    /// What one rate estimator says of one direction of a connection at one sampling time.
    RateEstimateRow<'a> {
        /// Number of the sweep's point; 0 of a capture from elsewhere.
        point: i64,
        /// Number of the replicate; 0 of a capture from elsewhere.
        replicate: i64,
        /// Name of the flow, as in `connections`.
        flow: &'a str,
        /// Number of the instance, as in `connections`.
        instance: i64,
        /// When.
        time_s: f64,
        /// Name of the estimator, as it was asked for.
        estimator: &'a str,
        /// Its estimate, from the ACKs that have passed.
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
        /// When.
        time_s: f64,
        /// What: `data`, `retransmission`, `ack`, `sack` or `window`.
        kind: &'a str,
        /// The first byte, counted from the first of the connection or of the capture of it.
        low_bytes: i64,
        /// The byte after the last; of an ACK and a window the same as the first.
        high_bytes: i64,
    }
}
