//! The row of one direction in the table `connections`.

use super::{Scale, delivered, span_seconds};
use crate::connection::{Connection, Side};
use crate::direction::Direction;
use crate::retransmission::Class;
use ackclock_core::result::ConnectionRow;

/// Returns the number, or NaN if it is unknown.
fn if_known(is_known: bool, value: u64) -> f64 {
    if is_known { value as f64 } else { f64::NAN }
}

fn maybe(value: Option<u64>) -> f64 {
    value.map_or(f64::NAN, |value| value as f64)
}

fn flag(value: Option<bool>) -> f64 {
    value.map_or(f64::NAN, |value| f64::from(u8::from(value)))
}

/// Returns the number of retransmission timeouts for data.
pub fn timeouts(direction: &Direction) -> u64 {
    direction.resent_as(Class::Timeout)
}

/// Returns the row of a direction.
pub fn row<'a>(connection: &'a Connection, side: Side, scale: &Scale) -> ConnectionRow<'a> {
    let mut row = ConnectionRow::UNKNOWN;
    let direction = &connection.directions[side as usize];
    fill_names(&mut row, connection, side, scale);
    fill_sent(&mut row, direction);
    fill_acks(&mut row, direction);
    fill_retransmissions(&mut row, direction);
    let other = &connection.directions[side.other() as usize];
    row.missed_packets = direction.missed_packets(other) as f64;
    fill_losses(&mut row, direction);
    fill_options(&mut row, connection, direction);
    fill_windows(&mut row, direction);
    fill_round_trips(&mut row, connection, direction);
    fill_rates(&mut row, connection, direction);
    row
}

fn fill_names<'a>(
    row: &mut ConnectionRow<'a>,
    connection: &'a Connection,
    side: Side,
    scale: &Scale,
) {
    let direction = &connection.directions[side as usize];
    let name = &connection.names[side as usize];
    (row.point, row.replicate) = scale.labels;
    (row.flow, row.instance) = (&name.flow, name.instance);
    row.source = &connection.written[side as usize];
    row.destination = &connection.written[side.other() as usize];
    row.role = connection.role(side);
    row.begins = connection.begins();
    row.ends = connection.ends();
    row.start_s = scale.seconds(connection.start);
    row.end_s = scale.seconds(connection.last);
    row.first_data_s = scale.maybe_seconds(direction.milestones.first_data_at);
    row.last_data_s = scale.maybe_seconds(direction.milestones.last_data_at);
}

fn fill_sent(row: &mut ConnectionRow<'_>, direction: &Direction) {
    let counts = &direction.counts;
    let sized = direction.mss().is_some();
    row.packets = counts.packets as i64;
    row.wire_bytes = counts.wire_bytes as i64;
    row.data_packets = counts.data_packets as i64;
    row.data_segments = if_known(sized, counts.data_segments);
    row.super_packets = if_known(sized, counts.super_packets);
    row.payload_bytes = counts.payload_bytes as i64;
    row.unique_bytes = counts.unique_bytes as i64;
    row.duplicated_packets = counts.copies as i64;
    row.out_of_order_packets = counts.out_of_order as i64;
    row.keep_alives = counts.keep_alives as i64;
    row.window_probes = counts.window_probes as i64;
    row.syn_retransmissions = counts.syn_retransmissions as i64;
    row.ect0_packets = counts.capable as i64;
    row.ect1_packets = counts.capable_l4s as i64;
    row.ce_packets = counts.marked as i64;
    row.cwr_packets = counts.window_reduced as i64;
    row.largest_payload_bytes = counts.largest_payload as i64;
    row.mss_bytes = maybe(direction.mss());
}

fn fill_acks(row: &mut ConnectionRow<'_>, direction: &Direction) {
    let acks = &direction.acks;
    let count = |value| if_known(acks.any > 0, value);
    row.acknowledged_bytes = maybe(direction.delivered());
    row.pure_acks = count(acks.pure);
    row.duplicate_acks = count(acks.duplicate);
    row.triple_duplicate_acks = count(acks.triple_duplicate);
    row.post_loss_acks = count(acks.post_loss);
    row.acks_with_sack = count(acks.with_sack);
    row.duplicate_sacks = count(acks.duplicate_sacks);
    row.ece_acks = count(acks.echoes);
    let codepoints = &acks.codepoints;
    row.accecn_options = count(codepoints.options);
    row.accecn_odd_options = count(codepoints.odd);
    row.accecn_cut_options = count(codepoints.cut);
    row.accecn_ect0_bytes = maybe(codepoints.ect0.bytes());
    row.accecn_ect1_bytes = maybe(codepoints.ect1.bytes());
    row.accecn_ce_bytes = maybe(codepoints.ce.bytes());
    row.accecn_ce_packets = maybe(acks.marked.packets());
    row.accecn_unclear_acks = maybe(acks.marked.unclear());
    row.zero_windows = count(acks.zero_windows);
    let counts = &direction.counts;
    let by_ace = acks.marked.least().unwrap_or(0);
    row.marks_lower = count(by_ace.max(counts.marked).max(counts.window_reduced));
}

fn fill_retransmissions(row: &mut ConnectionRow<'_>, direction: &Direction) {
    let counts = &direction.counts;
    let count = |value| if_known(counts.packets > 0, value);
    // Only ACKs show the cause of a retransmission, and if it was needed.
    let class = |class| {
        if_known(
            counts.packets > 0 && direction.acks.any > 0,
            direction.resent_as(class),
        )
    };
    row.missed_bytes = count(direction.missed());
    row.retransmitted_packets = count(counts.retransmitted_packets);
    row.retransmitted_bytes = count(counts.retransmitted_bytes);
    row.retransmissions_fast = class(Class::Fast);
    row.retransmissions_timeout = class(Class::Timeout);
    row.retransmissions_after_timeout = class(Class::AfterTimeout);
    row.retransmissions_tail_probe = class(Class::TailProbe);
    row.retransmissions_unclear = class(Class::Unclear);
    row.retransmissions_spurious = if_known(direction.acks.any > 0, counts.spurious);
    row.fast_recoveries = if_known(direction.acks.any > 0, counts.fast_recoveries);
}

/// Fills in the losses of data that has been acknowledged.
///
/// Upper bound: each loss was retransmitted, so there are at most as many losses as
/// retransmissions, less those known to have arrived as a duplicate.
///
/// Lower bound: a third duplicate ACK outside of recovery shows at least one loss, if the path
/// keeps the order. A spurious retransmission shows that it did not.
///
/// Estimate, between the two: a spurious retransmission answers no loss, though it may have been
/// lost itself.
fn fill_losses(row: &mut ConnectionRow<'_>, direction: &Direction) {
    let (counts, acks) = (&direction.counts, &direction.acks);
    if counts.packets == 0 || acks.any == 0 {
        return;
    }
    let most = counts
        .retransmitted_packets
        .saturating_sub(counts.arrived_needlessly);
    let least = acks.lower.saturating_sub(counts.spurious).min(most);
    // Slow start after a timeout retransmits data that had arrived. Without SACK only duplicate
    // ACKs show it, one for each packet (Allman, Eddy, Ostermann 2003).
    let by_duplicates = match acks.with_sack {
        0 => acks
            .after_timeout
            .min(direction.resent_as(Class::AfterTimeout)),
        _ => 0,
    };
    let needed = counts
        .retransmitted_packets
        .saturating_sub(counts.spurious + by_duplicates);
    row.losses_upper = most as f64;
    row.losses_lower = least as f64;
    row.losses_estimate = needed.clamp(least, most) as f64;
}

fn fill_options(row: &mut ConnectionRow<'_>, connection: &Connection, direction: &Direction) {
    row.ecn_negotiated = flag(connection.ecn_is_negotiated());
    row.timestamps = flag((direction.counts.packets > 0).then_some(direction.stamped));
    if let Some(opening) = &direction.opening {
        row.mss_option_bytes = maybe(opening.maximum_segment.map(u64::from));
        row.window_scale = maybe(opening.window_scale.map(u64::from));
        row.sack_permitted = flag(opening.whole.then_some(opening.sack_permitted));
    }
}

fn fill_windows(row: &mut ConnectionRow<'_>, direction: &Direction) {
    let window = &direction.window.size;
    row.receive_window_scaled = flag(window.mean().map(|_| direction.window.is_known));
    row.receive_window_min_bytes = maybe(window.least());
    row.receive_window_mean_bytes = window.mean().unwrap_or(f64::NAN);
    row.receive_window_max_bytes = maybe(window.most());
}

fn fill_round_trips(row: &mut ConnectionRow<'_>, connection: &Connection, direction: &Direction) {
    let trips = &direction.trips;
    let (sequence, stamp) = (&trips.by_sequence, &trips.by_stamp);
    row.ack_rtt_samples = sequence.moments.count() as i64;
    row.ack_rtt_mean_s = sequence.moments.mean();
    row.ack_rtt_sd_s = sequence.moments.deviation();
    row.ack_rtt_min_s = sequence.moments.least();
    row.ack_rtt_median_s = sequence.quantile(0.5);
    row.ack_rtt_p95_s = sequence.quantile(0.95);
    row.ack_rtt_p99_s = sequence.quantile(0.99);
    row.ack_rtt_max_s = sequence.moments.most();
    row.timestamp_rtt_samples = stamp.count() as i64;
    row.timestamp_rtt_mean_s = stamp.mean();
    row.timestamp_rtt_min_s = stamp.least();
    row.timestamp_rtt_max_s = stamp.most();
    row.handshake_rtt_s = span_seconds(connection.handshake_round_trip());
    row.vantage = direction.vantage().name();
    row.receiver_side_rtt_s = span_seconds(trips.receiver_side());
    row.sender_side_rtt_s = span_seconds(trips.sender_side());
    (row.data_queueing_mean_s, row.ack_queueing_mean_s) = direction.queueing.means();
}

fn fill_rates(row: &mut ConnectionRow<'_>, connection: &Connection, direction: &Direction) {
    let counts = &direction.counts;
    if direction.milestones.first_data_at.is_some() && direction.acks.any > 0 {
        row.in_flight_mean_bytes = direction.outstanding.mean().unwrap_or(f64::NAN);
        row.in_flight_max_bytes = maybe(direction.outstanding.most());
    }
    let rate = |bytes: u64, from: Option<u64>, to: Option<u64>| match (from, to) {
        (Some(from), Some(to)) if to > from => bytes as f64 * 8.0 * 1e9 / (to - from) as f64,
        _ => f64::NAN,
    };
    row.delivered_rate_bit_per_s = rate(
        delivered(direction),
        Some(connection.start),
        Some(connection.last),
    );
    row.transmitted_rate_bit_per_s = rate(
        counts.unique_bytes + counts.retransmitted_bytes,
        direction.milestones.first_data_at,
        direction.milestones.last_data_at,
    );
    row.window_rate_bit_per_s =
        row.in_flight_mean_bytes * 8.0 / direction.trips.for_flows().moments.mean();
    if let Some((limit, share)) = direction.rounds.dominant() {
        (row.limit, row.limit_share) = (limit.name(), share);
    }
}
