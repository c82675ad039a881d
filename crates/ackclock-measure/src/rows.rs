//! Rows of the tables.

use crate::connection::{Connection, FlowName, Side};
use crate::datagrams::{Flow, Trips};
use crate::direction::Direction;
use crate::rounds::Stretch;
use crate::vantage::Vantage;
use ackclock_core::activity::{Activity, bit_per_s};
use ackclock_core::result::{
    ConnectionRow, DatagramRow, FlowRow, LimitPeriodRow, RateEstimateRow, RttHistogramRow,
    SampleRow, SegmentRow, Table,
};
use ackclock_spec::units::{Bytes, Span, Time};

mod connections;

/// Most samples of a silence with data in flight, besides the last one. Nothing changes in a
/// silence. We chose the value: three seconds of the default interval, longer than most timeouts.
const SAMPLES_OF_A_SILENCE: u64 = 32;

/// Number of samples of a connection after which the interval doubles, so that their number grows
/// with the logarithm of time. We chose it: almost an hour of the default interval.
const SAMPLES_OF_AN_INTERVAL: u64 = 32_768;

/// Conversion of nanoseconds of a capture to times of a table.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Numbers of point and replicate.
    pub labels: (i64, i64),
    /// Time zero.
    pub origin: u64,
    /// Length of the warm-up.
    pub warmup: Span,
    /// Interval between samples; not zero.
    pub interval: Span,
    /// True if the capture is known to have been taken at the senders.
    pub at_senders: bool,
}

impl Scale {
    fn seconds(&self, at: u64) -> f64 {
        Span::from_nanos(at.saturating_sub(self.origin)).as_seconds()
    }
    fn maybe_seconds(&self, at: Option<u64>) -> f64 {
        at.map_or(f64::NAN, |at| self.seconds(at))
    }
    /// Returns the interval after this many samples, in nanoseconds.
    fn interval_after(&self, samples: u64) -> u64 {
        let doublings = (samples / SAMPLES_OF_AN_INTERVAL).min(40);
        self.interval.as_nanos().saturating_mul(1 << doublings)
    }
    /// Returns the first sampling time that is not before `at`. Sampling times are multiples of
    /// `interval`, in nanoseconds.
    pub fn first_sample(&self, at: u64, interval: u64) -> u64 {
        let since = at.saturating_sub(self.origin);
        self.origin
            .saturating_add(since.div_ceil(interval).saturating_mul(interval))
    }
}

fn seconds_of(nanos: u64) -> f64 {
    Span::from_nanos(nanos).as_seconds()
}

fn span_seconds(span: Option<Span>) -> f64 {
    span.map_or(f64::NAN, Span::as_seconds)
}

/// The tables under construction.
#[derive(Debug)]
pub struct Rows {
    flows: Table,
    samples: Table,
    connections: Table,
    limit_periods: Table,
    rtt_histogram: Table,
    /// None without any.
    datagrams: Option<Table>,
    rate_estimates: Table,
    segments: Table,
    count: usize,
}

impl Rows {
    /// Creates empty tables.
    pub fn new() -> Self {
        Rows {
            flows: FlowRow::table(),
            samples: SampleRow::table(),
            connections: ConnectionRow::table(),
            limit_periods: LimitPeriodRow::table(),
            rtt_histogram: RttHistogramRow::table(),
            datagrams: None,
            rate_estimates: RateEstimateRow::table(),
            segments: SegmentRow::table(),
            count: 0,
        }
    }

    /// Returns the number of rows in all tables.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Takes the tables out.
    pub fn take(&mut self, segments: bool, rate_estimates: bool) -> Vec<(&'static str, Table)> {
        let rows = std::mem::replace(self, Rows::new());
        let mut tables = vec![
            ("flows", rows.flows),
            ("samples", rows.samples),
            ("connections", rows.connections),
            ("limit_periods", rows.limit_periods),
            ("rtt_histogram", rows.rtt_histogram),
        ];
        tables.extend(rows.datagrams.map(|rows| ("datagrams", rows)));
        if rate_estimates {
            tables.push(("rate_estimates", rows.rate_estimates));
        }
        if segments {
            tables.push(("segments", rows.segments));
        }
        tables
    }

    /// Writes the samples that were due before a packet at `at`.
    ///
    /// Nothing has changed since the packet before. In a pause without data in flight only the
    /// first and the last sample are written; in any other silence, the first few and the last. So
    /// there are never many more samples than packets. The interval grows in a long connection.
    pub fn take_samples(&mut self, connection: &mut Connection, at: u64, scale: &Scale) {
        if at <= connection.next_sample {
            return;
        }
        connection.settle(at);
        let busy = connection
            .directions
            .iter()
            .any(|direction| direction.outstanding.value() > 0);
        let mut most = if busy { SAMPLES_OF_A_SILENCE } else { 1 };
        while connection.next_sample < at {
            self.sample_both(connection, connection.next_sample, scale);
            connection.samples += 1;
            let interval = scale.interval_after(connection.samples);
            connection.next_sample =
                scale.first_sample(connection.next_sample.saturating_add(interval), interval);
            let last = scale.first_sample(at, interval).saturating_sub(interval);
            most -= u64::from(most > 0);
            if most == 0 && connection.next_sample < last {
                connection.next_sample = last;
            }
        }
    }

    fn sample_both(&mut self, connection: &mut Connection, at: u64, scale: &Scale) {
        for side in Side::BOTH {
            self.sample(connection, side, at, scale);
        }
    }

    fn sample(&mut self, connection: &mut Connection, side: Side, at: u64, scale: &Scale) {
        let direction = &mut connection.directions[side as usize];
        if direction.milestones.first_data_at.is_none() {
            return;
        }
        direction.told_delivered = direction.told_delivered.max(delivered(direction));
        let name = &connection.names[side as usize];
        let estimator = direction.trips.estimator();
        SampleRow {
            point: scale.labels.0,
            replicate: scale.labels.1,
            flow: &name.flow,
            instance: name.instance,
            time_s: scale.seconds(at),
            in_flight_bytes: direction.outstanding.value() as f64,
            rtt_s: span_seconds(estimator.latest()),
            smoothed_rtt_s: span_seconds(estimator.smoothed()),
            rto_s: estimator.rto().as_seconds(),
            delivered_bytes: direction.told_delivered as i64,
            sent_packets: direction.counts.data_packets as i64,
            retransmitted_packets: direction.counts.retransmitted_packets as f64,
            ..SampleRow::UNKNOWN
        }
        .push(&mut self.samples);
        self.count += 1;
        self.estimate_rates(connection, side, at, scale);
    }

    /// Writes the estimates of the rate estimators, if the ACKs pass as they reach the sender.
    /// Elsewhere ACKs may be compressed on the rest of the path, which the capture does not show.
    fn estimate_rates(&mut self, connection: &Connection, side: Side, at: u64, scale: &Scale) {
        let direction = &connection.directions[side as usize];
        let near = match direction.vantage() {
            Vantage::Sender => true,
            Vantage::Unknown => scale.at_senders,
            Vantage::Middle | Vantage::Receiver => false,
        };
        if !near {
            return;
        }
        let name = &connection.names[side as usize];
        for (estimator, rate) in direction.rate_estimates.rates() {
            RateEstimateRow {
                point: scale.labels.0,
                replicate: scale.labels.1,
                flow: &name.flow,
                instance: name.instance,
                time_s: scale.seconds(at),
                estimator,
                rate_bit_per_s: 8.0 * rate,
            }
            .push(&mut self.rate_estimates);
            self.count += 1;
        }
    }

    /// Writes the finished parts of a connection that goes on.
    pub fn take_finished(&mut self, connection: &mut Connection, scale: &Scale) {
        for side in Side::BOTH {
            let direction = &mut connection.directions[side as usize];
            if direction.rounds.has_finished() {
                self.take_stretches(connection, side, scale);
            }
            if connection.directions[side as usize].has_marks() {
                self.take_marks(connection, side, scale);
            }
        }
    }

    fn take_stretches(&mut self, connection: &mut Connection, side: Side, scale: &Scale) {
        let name = &connection.names[side as usize];
        let direction = &mut connection.directions[side as usize];
        let window_known = direction.window.is_known;
        for stretch in direction.rounds.take_finished() {
            let row = stretch_row(&stretch, window_known, scale);
            LimitPeriodRow {
                flow: &name.flow,
                instance: name.instance,
                ..row
            }
            .push(&mut self.limit_periods);
            self.count += 1;
        }
    }

    fn take_marks(&mut self, connection: &mut Connection, side: Side, scale: &Scale) {
        let name = &connection.names[side as usize];
        for mark in connection.directions[side as usize].take_marks() {
            SegmentRow {
                point: scale.labels.0,
                replicate: scale.labels.1,
                flow: &name.flow,
                instance: name.instance,
                time_s: scale.seconds(mark.at),
                kind: mark.kind,
                low_bytes: mark.low,
                high_bytes: mark.high,
            }
            .push(&mut self.segments);
            self.count += 1;
        }
    }

    /// Writes the remaining rows of a connection that is over.
    pub fn take_last(&mut self, connection: &mut Connection, scale: &Scale) {
        let last = connection.last;
        self.take_samples(connection, last, scale);
        // False only if a duplicate packet, which does not count, has caused a later sample.
        if last.saturating_add(scale.interval_after(connection.samples)) > connection.next_sample {
            self.sample_both(connection, last, scale);
        }
        self.take_finished(connection, scale);
        for side in Side::BOTH {
            let direction = &connection.directions[side as usize];
            if direction.counts.packets == 0 && direction.delivered().unwrap_or(0) == 0 {
                continue;
            }
            connections::row(connection, side, scale).push(&mut self.connections);
            self.count += 1;
            if direction.milestones.first_data_at.is_some() {
                flow_row(connection, side, scale).push(&mut self.flows);
                self.count += 1;
            }
            self.take_law(connection, side, scale);
        }
    }

    /// Writes both directions of a flow of UDP, as far as they have datagrams.
    pub fn take_datagrams(&mut self, flow: &Flow, names: &[FlowName; 2], scale: &Scale) {
        for (side, way) in flow
            .ways
            .iter()
            .enumerate()
            .filter(|(_, way)| way.count > 0)
        {
            let trips = flow.trips(side);
            let timed = trips.filter(|trips| trips.count > 0);
            let of_trips = |trip: fn(Trips) -> f64| timed.map_or(f64::NAN, trip);
            let lasted = Span::from_nanos(way.last - way.first);
            let several = lasted > Span::ZERO;
            let version = way
                .version
                .map_or(String::new(), |version| format!("{version:#010x}"));
            DatagramRow {
                point: scale.labels.0,
                replicate: scale.labels.1,
                flow: &names[side].flow,
                instance: names[side].instance,
                start_s: scale.seconds(way.first),
                end_s: scale.seconds(way.last),
                datagrams: way.count.cast_signed(),
                payload_bytes: way.payload.cast_signed(),
                smallest_bytes: way.sizes.0.into(),
                largest_bytes: way.sizes.1.into(),
                rate_bit_per_s: match several {
                    true => bit_per_s(Bytes(way.later_bytes), lasted),
                    false => f64::NAN,
                },
                longest_gap_s: match way.count {
                    1 => f64::NAN,
                    _ => seconds_of(way.longest_gap),
                },
                marked_datagrams: way.marked.cast_signed(),
                quic_version: &version,
                spin_edges: trips.map_or(f64::NAN, |trips| trips.changes as f64),
                spin_rtt_min_s: of_trips(|trips| seconds_of(trips.least)),
                spin_rtt_mean_s: of_trips(|trips| seconds_of(trips.sum) / trips.count as f64),
                spin_rtt_max_s: of_trips(|trips| seconds_of(trips.most)),
            }
            .push(self.datagrams.get_or_insert_with(DatagramRow::table));
            self.count += 1;
        }
    }

    fn take_law(&mut self, connection: &Connection, side: Side, scale: &Scale) {
        let name = &connection.names[side as usize];
        let trips = &connection.directions[side as usize].trips;
        let whole = trips.whole.moments.count() > 0;
        for (low, high, samples) in trips.for_flows().law.buckets() {
            RttHistogramRow {
                point: scale.labels.0,
                replicate: scale.labels.1,
                flow: &name.flow,
                instance: name.instance,
                part: if whole { "whole" } else { "receiver_side" },
                low_s: low.as_seconds(),
                // The last nanosecond belongs to the bucket.
                high_s: (high + Span::from_nanos(1)).as_seconds(),
                samples: samples as i64,
            }
            .push(&mut self.rtt_histogram);
            self.count += 1;
        }
    }
}

/// Returns the payload acknowledged in bytes; if no ACK was captured, the payload that passed.
fn delivered(direction: &Direction) -> u64 {
    direction
        .delivered()
        .unwrap_or(direction.counts.unique_bytes)
}

fn stretch_row(stretch: &Stretch, window_known: bool, scale: &Scale) -> LimitPeriodRow<'static> {
    let sums = &stretch.sums;
    let nanos = (stretch.end - stretch.start) as f64;
    let seconds = nanos / 1e9;
    LimitPeriodRow {
        point: scale.labels.0,
        replicate: scale.labels.1,
        flow: "",
        instance: 0,
        start_s: scale.seconds(stretch.start),
        end_s: scale.seconds(stretch.end),
        limit: stretch.limit.name(),
        in_flight_mean_bytes: sums.outstanding / nanos,
        receive_window_mean_bytes: if window_known {
            sums.window / nanos
        } else {
            f64::NAN
        },
        rate_bit_per_s: sums.acknowledged as f64 * 8.0 / seconds,
        rtt_mean_s: sums.round_trips.0 as f64 / sums.round_trips.1 as f64 / 1e9,
        retransmitted_packets: sums.resent as i64,
        marking_acks: sums.marks as i64,
        sent_bytes: sums.sent as i64,
    }
}

fn flow_row<'a>(connection: &'a Connection, side: Side, scale: &Scale) -> FlowRow<'a> {
    let direction = &connection.directions[side as usize];
    let (name, counts, warm) = (
        &connection.names[side as usize],
        &direction.counts,
        &direction.warm,
    );
    let activity = Activity {
        start: Time::from_nanos(connection.start),
        stop: Time::NEVER,
        completed: direction.milestones.finished_at.map(Time::from_nanos),
    };
    let warmup = Time::from_nanos(scale.origin) + scale.warmup;
    let measured = activity.measured(warmup, Time::from_nanos(connection.last));
    let rate = |bytes: u64| bit_per_s(Bytes(bytes), measured);
    let trips = direction.trips.for_flows().moments;
    let before = match direction.trips.whole.moments.count() > 0 {
        true => warm.whole,
        false => warm.by_sequence,
    };
    FlowRow {
        point: scale.labels.0,
        replicate: scale.labels.1,
        flow: &name.flow,
        instance: name.instance,
        start_s: scale.seconds(connection.start),
        end_s: scale.maybe_seconds(direction.milestones.finished_at),
        completion_time_s: span_seconds(activity.completion_time()),
        measured_s: measured.as_seconds(),
        goodput_bit_per_s: rate(delivered(direction).saturating_sub(warm.delivered)),
        throughput_bit_per_s: rate(counts.wire_bytes - warm.wire_bytes),
        delivered_bytes: delivered(direction) as i64,
        sent_packets: counts.data_packets as i64,
        retransmitted_packets: counts.retransmitted_packets as f64,
        fast_retransmits: counts.fast_recoveries as f64,
        timeouts: (connections::timeouts(direction) + counts.syn_retransmissions) as f64,
        rtt_mean_s: (trips.sum() - before.sum()) / (trips.count() - before.count()) as f64,
        rtt_min_s: trips.least(),
        rtt_max_s: trips.most(),
        ..FlowRow::UNKNOWN
    }
}
