//! Conversion of readings of connections and rate controls into table rows, as they come.

use crate::workload::{EventReading, LossState, RateReading, Readings, TcpInfoColumns};
use ackclock_core::result::{EventRow, SampleRow, Table, TcpInfoRow};
use ackclock_scenario::Scenario;
use ackclock_scenario::network::Instance;
use ackclock_spec::units::{Span, Time};

/// Numbers of the point and of the replicate.
pub(super) type Labels = (i64, i64);

/// Names of the flows, by number.
#[derive(Clone, Debug)]
pub(super) struct Names(Vec<(String, i64)>);

impl Names {
    pub(super) fn of(scenario: &Scenario, instances: &[Instance]) -> Self {
        let name = |instance: &Instance| {
            let group = &scenario.flows[instance.group as usize];
            (group.name.clone(), i64::from(instance.number))
        };
        Names(instances.iter().map(name).collect())
    }
    /// Returns the name of the group and the number of the instance.
    pub(super) fn get(&self, flow: usize) -> (&str, i64) {
        let (name, number) = &self.0[flow];
        (name, *number)
    }
}

/// Sums of a flow's readings after the warm-up, and the time of its next row in `samples`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Summary {
    cwnd_bytes: (f64, u64),
    rtt_s: (f64, u64),
    rtt_min_s: f64,
    next_sample: Time,
}

impl Default for Summary {
    fn default() -> Self {
        Summary {
            cwnd_bytes: (0.0, 0),
            rtt_s: (0.0, 0),
            rtt_min_s: f64::NAN,
            next_sample: Time::ZERO,
        }
    }
}

impl Summary {
    /// Adds a smoothed round-trip time after the warm-up, in seconds; ignores NaN.
    fn add_rtt(&mut self, rtt_s: f64) {
        if !rtt_s.is_nan() {
            self.rtt_s.0 += rtt_s;
            self.rtt_s.1 += 1;
        }
    }
    /// Returns true if a row of `samples` is due, and schedules the next one. Rows are `interval`
    /// apart.
    fn is_sample_due(&mut self, now: Time, interval: Span) -> bool {
        let is_due = self.next_sample <= now;
        while self.next_sample <= now {
            self.next_sample = self.next_sample + interval;
        }
        is_due
    }
    /// Returns the mean congestion window after the warm-up, in bytes; NaN without readings, as
    /// below.
    pub(super) fn cwnd_mean_bytes(&self) -> f64 {
        self.cwnd_bytes.0 / self.cwnd_bytes.1 as f64
    }
    /// Returns the mean of the smoothed round-trip time after the warm-up, in seconds.
    pub(super) fn rtt_mean_s(&self) -> f64 {
        self.rtt_s.0 / self.rtt_s.1 as f64
    }
    /// Returns the least round-trip time, in seconds.
    pub(super) fn rtt_min_s(&self) -> f64 {
        self.rtt_min_s
    }
}

/// Converts readings into rows, and sums them up by flow.
#[derive(Debug)]
pub(super) struct Telemetry {
    labels: Labels,
    names: Names,
    warmup: Time,
    interval: Span,
    flows: Vec<Summary>,
    samples: Table,
    events: Table,
    /// Bytes that the stack of each flow has delivered: times, in nanoseconds, and sums.
    delivered: Vec<Vec<(u64, u64)>>,
    /// Readings for rows of `samples` that lack what was delivered, which the other host says.
    incomplete: Vec<RateReading>,
}

fn seconds(micros: Option<impl Into<u64>>) -> f64 {
    micros.map_or(f64::NAN, |micros| {
        Span::from_micros(micros.into()).as_seconds()
    })
}
/// Converts nanoseconds to seconds; NaN if unknown.
pub(super) fn seconds_of(nanos: Option<u64>) -> f64 {
    nanos.map_or(f64::NAN, |nanos| Span::from_nanos(nanos).as_seconds())
}
fn number(value: Option<impl Into<u64>>) -> f64 {
    value.map_or(f64::NAN, |value| value.into() as f64)
}
fn bit_per_s(bytes: Option<u64>) -> f64 {
    number(bytes) * 8.0
}

/// Returns the name used in tables.
const fn name_of(state: LossState) -> &'static str {
    match state {
        LossState::Open => "open",
        LossState::Disorder => "disorder",
        LossState::WindowReduced => "window_reduced",
        LossState::Recovery => "recovery",
        LossState::Loss => "loss",
        LossState::Unknown => "",
    }
}

impl Telemetry {
    pub(super) fn new(scenario: &Scenario, names: Names, labels: Labels) -> Self {
        Telemetry {
            labels,
            flows: vec![Summary::default(); names.0.len()],
            delivered: vec![Vec::new(); names.0.len()],
            incomplete: Vec::new(),
            names,
            warmup: Time::ZERO + scenario.warmup,
            interval: scenario.sample_interval,
            samples: SampleRow::table(),
            events: EventRow::table(),
        }
    }

    /// Takes readings in order of time; returns those of connections as rows of `tcp_info`.
    pub(super) fn take(&mut self, readings: &Readings) -> Table {
        let mut rows = TcpInfoRow::table();
        let connections = &readings.tcp_info;
        for index in 0..connections.len() {
            self.tcp_info_row(connections, index).push(&mut rows);
            self.sum_up(connections, index);
        }
        for reading in &readings.rates {
            self.sum_up_rate(reading);
        }
        for reading in &readings.delivered {
            self.delivered[reading.flow as usize].push((reading.time_ns, reading.bytes));
        }
        for event in &readings.events {
            self.push_event(event);
        }
        rows
    }

    fn tcp_info_row(&self, all: &TcpInfoColumns, at: usize) -> TcpInfoRow<'_> {
        let (flow, instance) = self.names.get(all.flow[at] as usize);
        TcpInfoRow {
            point: self.labels.0,
            replicate: self.labels.1,
            flow,
            instance,
            time_s: Time::from_nanos(all.time_ns[at]).as_seconds(),
            loss_state: name_of(all.loss_state[at]),
            cwnd_segments: all.cwnd_segments[at].into(),
            ssthresh_segments: number(all.ssthresh_segments[at]),
            mss_bytes: all.mss_bytes[at].into(),
            smoothed_rtt_s: seconds(all.smoothed_rtt_us[at]),
            rtt_variation_s: seconds(Some(all.rtt_variation_us[at])),
            rtt_min_s: seconds(all.min_rtt_us[at]),
            rto_s: seconds(Some(all.rto_us[at])),
            unacknowledged_segments: all.unacknowledged_segments[at].into(),
            sacked_segments: all.sacked_segments[at].into(),
            lost_segments: all.lost_segments[at].into(),
            resent_segments: all.resent_segments[at].into(),
            retransmissions: all.retransmissions[at].into(),
            timeouts: number(all.timeouts[at]),
            duplicate_sacks: number(all.duplicate_sacks[at]),
            reordering_events: number(all.reordering_events[at]),
            delivery_rate_bit_per_s: bit_per_s(all.delivery_rate_byte_per_s[at]),
            application_limited: f64::from(u8::from(all.application_limited[at])),
            pacing_rate_bit_per_s: bit_per_s(all.pacing_rate_byte_per_s[at]),
            sent_data_segments: number(all.sent_data_segments[at]),
            delivered_segments: number(all.delivered_segments[at]),
            delivered_marked_segments: number(all.delivered_marked_segments[at]),
            acknowledged_bytes: number(all.acknowledged_bytes[at]),
            unsent_bytes: number(all.unsent_bytes[at]),
            receive_window_bytes: number(all.receive_window_bytes[at]),
            busy_s: seconds(all.busy_us[at]),
            receive_window_limited_s: seconds(all.receive_window_limited_us[at]),
            send_buffer_limited_s: seconds(all.send_buffer_limited_us[at]),
        }
    }

    fn sum_up(&mut self, all: &TcpInfoColumns, at: usize) {
        let now = Time::from_nanos(all.time_ns[at]);
        let flow = all.flow[at] as usize;
        let cwnd_bytes = f64::from(all.cwnd_segments[at]) * f64::from(all.mss_bytes[at]);
        let summary = &mut self.flows[flow];
        summary.rtt_min_s = summary.rtt_min_s.min(seconds(all.min_rtt_us[at]));
        if now >= self.warmup {
            summary.cwnd_bytes.0 += cwnd_bytes;
            summary.cwnd_bytes.1 += 1;
            summary.add_rtt(seconds(all.smoothed_rtt_us[at]));
        }
        if !summary.is_sample_due(now, self.interval) {
            return;
        }
        let mss = f64::from(all.mss_bytes[at]);
        let outstanding = i64::from(all.unacknowledged_segments[at])
            + i64::from(all.resent_segments[at])
            - i64::from(all.sacked_segments[at])
            - i64::from(all.lost_segments[at]);
        let (name, instance) = self.names.get(flow);
        SampleRow {
            point: self.labels.0,
            replicate: self.labels.1,
            flow: name,
            instance,
            time_s: now.as_seconds(),
            cwnd_bytes,
            ssthresh_bytes: number(all.ssthresh_segments[at]) * mss,
            in_flight_bytes: outstanding as f64 * mss,
            rtt_s: f64::NAN,
            smoothed_rtt_s: seconds(all.smoothed_rtt_us[at]),
            rto_s: seconds(Some(all.rto_us[at])),
            delivered_bytes: all.acknowledged_bytes[at].unwrap_or(0).cast_signed(),
            sent_packets: all.sent_data_segments[at].unwrap_or(0).into(),
            retransmitted_packets: all.retransmissions[at].into(),
            mode: name_of(all.loss_state[at]),
            rate_estimate_bit_per_s: f64::NAN,
            allowed_rate_bit_per_s: f64::NAN,
            loss_event_rate: f64::NAN,
        }
        .push(&mut self.samples);
    }

    fn sum_up_rate(&mut self, reading: &RateReading) {
        let now = Time::from_nanos(reading.time_ns);
        let flow = reading.flow as usize;
        let summary = &mut self.flows[flow];
        if now >= self.warmup {
            summary.add_rtt(seconds_of(reading.smoothed_rtt_ns));
        }
        if !summary.is_sample_due(now, self.interval) {
            return;
        }
        match reading.delivered_bytes {
            Some(bytes) => self.push_sample(reading, bytes),
            None => self.incomplete.push(reading.clone()),
        }
    }

    fn push_sample(&mut self, reading: &RateReading, delivered_bytes: u64) {
        let (name, instance) = self.names.get(reading.flow as usize);
        SampleRow {
            point: self.labels.0,
            replicate: self.labels.1,
            flow: name,
            instance,
            time_s: Time::from_nanos(reading.time_ns).as_seconds(),
            cwnd_bytes: number(reading.cwnd_bytes),
            ssthresh_bytes: number(reading.ssthresh_bytes),
            in_flight_bytes: number(reading.in_flight_bytes),
            rtt_s: seconds_of(reading.rtt_ns),
            smoothed_rtt_s: seconds_of(reading.smoothed_rtt_ns),
            rto_s: seconds_of(reading.timeout_ns),
            delivered_bytes: delivered_bytes.cast_signed(),
            sent_packets: reading.sent_packets.cast_signed(),
            retransmitted_packets: number(reading.retransmitted_packets),
            mode: &reading.mode,
            allowed_rate_bit_per_s: 8.0 * reading.rate_byte_per_s.unwrap_or(f64::NAN),
            loss_event_rate: reading.loss_event_rate.unwrap_or(f64::NAN),
            ..SampleRow::UNKNOWN
        }
        .push(&mut self.samples);
    }

    fn push_event(&mut self, event: &EventReading) {
        let (flow, instance) = self.names.get(event.flow as usize);
        EventRow {
            point: self.labels.0,
            replicate: self.labels.1,
            flow,
            instance,
            time_s: Time::from_nanos(event.time_ns).as_seconds(),
            kind: &event.kind,
            cwnd_before_bytes: event.cwnd_bytes.0 as f64,
            cwnd_after_bytes: event.cwnd_bytes.1 as f64,
            ssthresh_after_bytes: number(event.ssthresh_bytes),
            in_flight_bytes: number(event.in_flight_bytes),
        }
        .push(&mut self.events);
    }

    /// Returns the bytes that a flow's stack had delivered by a time.
    fn delivered_by(&self, flow: u32, time_ns: u64) -> u64 {
        let readings = &self.delivered[flow as usize];
        let later = readings.partition_point(|(at, _)| *at <= time_ns);
        later.checked_sub(1).map_or(0, |last| readings[last].1)
    }

    /// Returns the sums by flow, and the tables `samples` and `events`.
    pub(super) fn finish(mut self) -> (Names, Vec<Summary>, [Table; 2]) {
        for reading in std::mem::take(&mut self.incomplete) {
            let delivered = self.delivered_by(reading.flow, reading.time_ns);
            self.push_sample(&reading, delivered);
        }
        (self.names, self.flows, [self.samples, self.events])
    }
}
