//! The tables of a run: time series at the sampling times, reactions to congestion, and one row per
//! flow at the end.

use crate::counters::Counters;
use crate::flow::{Flow, Protocol};
use crate::hop_slot::HopSlot;
use crate::ledger::Losses;
use crate::media::{Media, MediaSeries};
use crate::topology::Topology;
use ackclock_core::activity::bit_per_s;
use ackclock_core::endpoint::{Sender, SenderEvent};
use ackclock_core::observe::FlowLosses;
use ackclock_core::packet::FlowId;
use ackclock_core::programs::push_calls;
use ackclock_core::result::{
    ControlCallRow, ControlStateRow, EventRow, FlowControlRow, FlowRow, RequestRow, SampleRow,
    Table,
};
use ackclock_core::sampling::{HopSeries, class_table, delay_table};
use ackclock_core::transport::control_name;
use ackclock_core::transport::endpoint::Progress;
use ackclock_scenario::Instances;
use ackclock_scenario::job::Job;
use ackclock_spec::units::{BitRate, Bytes, Span, Time};

/// A run at a moment up to which every hop has caught up.
#[derive(Debug)]
pub struct Snapshot<'a> {
    /// The hops.
    pub hops: &'a [HopSlot],
    /// The flows, whose events are taken out.
    pub flows: &'a mut [Flow],
    /// Drops and marks.
    pub losses: &'a Losses,
    /// The media.
    pub media: &'a Media,
}

/// Fills the tables of a run.
#[derive(Debug)]
pub struct Sampler {
    point: i64,
    replicate: i64,
    hops: HopSeries,
    media: MediaSeries,
    /// Name and control of each flow group.
    groups: Vec<(String, String)>,
    /// The flows in the scenario's order, which is that of the rows.
    order: Vec<FlowId>,
    /// True for groups whose instances arrive. Those have samples from the one before they start to
    /// the one after they end.
    arriving: Vec<bool>,
    interval: Span,
    warmup: Time,
    warm: bool,
    next: Time,
    last: Option<Time>,
    counters: Counters,
    samples: Table,
    events: Table,
    /// States of controls, if a flow asks for them.
    control_states: Option<Table>,
    control_calls: Option<Table>,
}

/// Rows that are written together, column by column: they stay in the processor's caches.
const TOGETHER: usize = 256;

fn bytes(value: Option<Bytes>) -> f64 {
    value.map_or(f64::NAN, Bytes::as_f64)
}
fn seconds(value: Option<Span>) -> f64 {
    value.map_or(f64::NAN, Span::as_seconds)
}
fn count(value: Option<u64>) -> f64 {
    value.map_or(f64::NAN, |count| count as f64)
}

impl Sampler {
    /// Makes a sampler without rows.
    pub fn new(job: &Job<'_>, topology: &mut Topology) -> Self {
        let scenario = job.scenario;
        let (point, replicate) = job.labels();
        Sampler {
            point,
            replicate,
            hops: HopSeries::new(
                (point, replicate),
                std::mem::take(&mut topology.shared),
                std::mem::take(&mut topology.meters),
            ),
            media: MediaSeries::new((point, replicate), &topology.media),
            groups: scenario
                .flows
                .iter()
                .map(|flow| (flow.name.clone(), control_name(&flow.transport).to_owned()))
                .collect(),
            order: topology.written.clone(),
            arriving: scenario
                .flows
                .iter()
                .map(|flow| matches!(flow.instances, Instances::Arriving(_)))
                .collect(),
            interval: scenario.sample_interval,
            warmup: Time::ZERO + scenario.warmup,
            warm: false,
            next: Time::ZERO,
            last: None,
            counters: Counters::default(),
            samples: SampleRow::table(),
            events: EventRow::table(),
            control_states: scenario
                .flows
                .iter()
                .any(|flow| flow.control_states)
                .then(ControlStateRow::table),
            control_calls: scenario
                .flows
                .iter()
                .any(|flow| flow.control_calls)
                .then(ControlCallRow::table),
        }
    }

    /// Records everything due at `now`: a sample, or the counts at the end of the warm-up. Returns
    /// the time of the next call.
    pub fn sample(&mut self, now: Time, mut run: Snapshot<'_>) -> Time {
        if !self.warm && now >= self.warmup {
            self.warm = true;
            for flow in &mut *run.flows {
                flow.warm = flow.counts(now);
            }
            self.counters.note_warm(run.flows);
            self.media.note_warm(run.media);
        }
        if now >= self.next {
            self.next = now + self.interval;
            self.write_samples(now, &mut run);
        }
        if self.warm {
            self.next
        } else {
            self.next.min(self.warmup)
        }
    }

    /// Writes the last sample and returns the tables.
    pub fn finish(mut self, end: Time, mut run: Snapshot<'_>) -> Vec<(&'static str, Table)> {
        if self.last != Some(end) {
            self.write_samples(end, &mut run);
        }
        let flow_control = self.flow_control(end, run.flows);
        let requests = self.requests(run.flows);
        let mut flows = FlowRow::table();
        for id in &self.order {
            let number = id.0 as usize;
            self.flow_row(&run.flows[number], end, run.losses.flows[number])
                .push(&mut flows);
        }
        let mut tables = vec![
            ("flows", flows),
            ("samples", self.samples),
            ("hops", self.hops.take_table()),
            ("events", self.events),
            (
                "counters",
                self.counters
                    .finish((self.point, self.replicate), run.flows),
            ),
        ];
        let names: Vec<&str> = self.groups.iter().map(|(name, _)| name.as_str()).collect();
        let hops = self.hops.names().zip(run.hops.iter().map(|slot| &slot.hop));
        let delays = delay_table((self.point, self.replicate), hops, &names);
        tables.extend(delays.map(|delays| ("delays", delays)));
        let hops = self.hops.names().zip(run.hops.iter().map(|slot| &slot.hop));
        let classes = class_table((self.point, self.replicate), hops);
        tables.extend(classes.map(|classes| ("classes", classes)));
        tables.extend(flow_control.map(|rows| ("flow_control", rows)));
        tables.extend(requests.map(|rows| ("requests", rows)));
        let states = self.control_states;
        tables.extend(states.map(|states| ("control_states", states)));
        let calls = self.control_calls;
        tables.extend(calls.map(|calls| ("control_calls", calls)));
        tables.extend(self.media.finish(run.media, run.flows, &self.groups));
        tables
    }

    /// Returns the table `flow_control`; `None` if no receiver reads slowly.
    fn flow_control(&self, end: Time, flows: &[Flow]) -> Option<Table> {
        let mut table = None;
        for id in &self.order {
            let flow = &flows[id.0 as usize];
            let Protocol::Tcp {
                sender, receiver, ..
            } = &flow.protocol
            else {
                continue;
            };
            let counts = sender.flow_control_counts(end);
            let Some((sent, advertised)) = counts.zip(receiver.advertised_counts()) else {
                continue;
            };
            FlowControlRow {
                point: self.point,
                replicate: self.replicate,
                flow: &self.groups[flow.group as usize].0,
                instance: flow.instance.into(),
                receive_window_limited_s: sent.limited.as_seconds(),
                window_closed_s: sent.closed.as_seconds(),
                window_closings: sent.closings.cast_signed(),
                window_probes: sent.probes.cast_signed(),
                zero_windows: advertised.to_zero.cast_signed(),
                window_updates: advertised.updates.cast_signed(),
                most_unread_bytes: advertised.most_unread.0.cast_signed(),
            }
            .push(table.get_or_insert_with(FlowControlRow::table));
        }
        table
    }

    /// Returns the table `requests`; `None` if no flow has a client.
    fn requests(&self, flows: &[Flow]) -> Option<Table> {
        let mut table = None;
        for id in &self.order {
            let flow = &flows[id.0 as usize];
            let Some(dialogue) = &flow.dialogue else {
                continue;
            };
            let table = table.get_or_insert_with(RequestRow::table);
            let start_s = dialogue.start.as_seconds();
            let at = |time: Time| start_s + time.as_seconds();
            for exchange in dialogue.client.exchanges() {
                RequestRow {
                    point: self.point,
                    replicate: self.replicate,
                    flow: &self.groups[flow.group as usize].0,
                    instance: flow.instance.into(),
                    request: exchange.request.number.cast_signed(),
                    kind: exchange.kind,
                    page: count(exchange.page),
                    asked_s: at(exchange.asked),
                    begun_s: exchange.begun.map_or(f64::NAN, at),
                    answered_s: exchange.answered.map_or(f64::NAN, at),
                    request_bytes: exchange.request.size.0.cast_signed(),
                    response_bytes: exchange.request.response.0.cast_signed(),
                    sent_again: exchange.sent_again.into(),
                    rate_bit_per_s: count(exchange.rate.map(BitRate::as_bit_per_s)),
                    buffer_s: seconds(exchange.buffer),
                    stall_s: seconds(exchange.stall),
                    page_time_s: seconds(exchange.page_time),
                }
                .push(table);
            }
        }
        table
    }

    fn write_samples(&mut self, now: Time, run: &mut Snapshot<'_>) {
        let (before, next) = (self.last.replace(now), now + self.interval);
        for number in 0..self.order.len() {
            let flow = &mut run.flows[self.order[number].0 as usize];
            self.write_events(flow);
            self.write_control_states(flow);
            self.write_control_calls(flow);
        }
        let mut samples = std::mem::take(&mut self.samples);
        let mut rows = Vec::with_capacity(TOGETHER);
        for id in &self.order {
            let flow = &mut run.flows[id.0 as usize];
            let over = before.is_some_and(|before| flow.activity.last() <= before);
            if !self.arriving[flow.group as usize] || (flow.activity.start < next && !over) {
                rows.push(self.sample_row(now, flow));
            }
            if rows.len() == TOGETHER {
                SampleRow::push_all(&rows, &mut samples);
                rows.clear();
            }
        }
        SampleRow::push_all(&rows, &mut samples);
        self.samples = samples;
        let hops = run.hops.iter().map(|slot| &slot.hop);
        self.hops.write(now, hops, &run.losses.hops);
        self.media.write(now, run.media);
    }

    /// Returns the number of hops that are sampled; they have the first numbers.
    pub const fn sampled_hops(&self) -> usize {
        self.hops.hops()
    }

    fn sample_row(&self, now: Time, flow: &mut Flow) -> SampleRow<'_> {
        let mut row = SampleRow {
            point: self.point,
            replicate: self.replicate,
            flow: &self.groups[flow.group as usize].0,
            instance: flow.instance.into(),
            time_s: now.as_seconds(),
            cwnd_bytes: f64::NAN,
            ssthresh_bytes: f64::NAN,
            in_flight_bytes: f64::NAN,
            rtt_s: f64::NAN,
            smoothed_rtt_s: f64::NAN,
            rto_s: f64::NAN,
            delivered_bytes: flow.delivered(now).0 as i64,
            sent_packets: 0,
            retransmitted_packets: f64::NAN,
            mode: "",
            rate_estimate_bit_per_s: f64::NAN,
            allowed_rate_bit_per_s: f64::NAN,
            loss_event_rate: f64::NAN,
        };
        match &flow.protocol {
            Protocol::Tcp { sender, .. } => {
                fill_from_sender(&mut row, sender);
                if self.warm && now >= flow.activity.start {
                    flow.cwnd_samples.0 += row.cwnd_bytes;
                    flow.cwnd_samples.1 += 1;
                }
            }
            Protocol::Other(other) => fill_from_progress(&mut row, &other.progress()),
        }
        row
    }

    fn write_events(&mut self, flow: &mut Flow) {
        let (group, instance) = (flow.group as usize, flow.instance);
        let mut write = |event: SenderEvent| {
            let SenderEvent {
                at,
                kind,
                cwnd_before,
                cwnd_after,
                ssthresh_after,
                in_flight,
            } = event;
            EventRow {
                point: self.point,
                replicate: self.replicate,
                flow: &self.groups[group].0,
                instance: instance.into(),
                time_s: at.as_seconds(),
                kind: kind.name(),
                cwnd_before_bytes: cwnd_before.as_f64(),
                cwnd_after_bytes: cwnd_after.as_f64(),
                ssthresh_after_bytes: bytes(ssthresh_after),
                in_flight_bytes: bytes(in_flight),
            }
            .push(&mut self.events);
        };
        match &mut flow.protocol {
            Protocol::Tcp { sender, .. } => sender.take_events().for_each(&mut write),
            Protocol::Other(other) => other.take_events().into_iter().for_each(&mut write),
        }
    }

    fn write_control_states(&mut self, flow: &mut Flow) {
        let (labels, instance) = ((self.point, self.replicate), flow.instance);
        let name = &self.groups[flow.group as usize].0;
        let (Some(table), Some(sender)) = (&mut self.control_states, flow.sender_mut()) else {
            return;
        };
        for record in sender.take_control_records() {
            record.push(labels, name, instance, table);
        }
    }

    fn write_control_calls(&mut self, flow: &mut Flow) {
        let (labels, instance) = ((self.point, self.replicate), flow.instance);
        let name = &self.groups[flow.group as usize].0;
        let (Some(table), Some(sender)) = (&mut self.control_calls, flow.sender_mut()) else {
            return;
        };
        push_calls(&sender.take_calls(), labels, name, instance, table);
    }

    fn flow_row(&self, flow: &Flow, end: Time, losses: FlowLosses) -> FlowRow<'_> {
        let (name, control) = &self.groups[flow.group as usize];
        let activity = flow.activity.known_at(end);
        let measured = activity.measured(self.warmup, end);
        let (total, warm) = (flow.counts(end), flow.warm);
        let rate = |now: Bytes, then: Bytes| bit_per_s(now.saturating_sub(then), measured);
        let mut row = FlowRow {
            point: self.point,
            replicate: self.replicate,
            flow: name,
            instance: flow.instance.into(),
            control,
            start_s: activity.start.as_seconds(),
            end_s: activity.ended(end).map_or(f64::NAN, Time::as_seconds),
            completion_time_s: seconds(activity.completion_time()),
            measured_s: measured.as_seconds(),
            goodput_bit_per_s: rate(total.delivered, warm.delivered),
            throughput_bit_per_s: rate(total.received_on_wire, warm.received_on_wire),
            delivered_bytes: total.delivered.0 as i64,
            sent_packets: 0,
            retransmitted_packets: f64::NAN,
            dropped_packets: losses.drops() as f64,
            dropped_acks: losses.acks.into(),
            fast_retransmits: f64::NAN,
            timeouts: f64::NAN,
            ecn_reactions: f64::NAN,
            rtt_mean_s: (total.rtt_sum_s - warm.rtt_sum_s)
                / (total.rtt_samples - warm.rtt_samples) as f64,
            rtt_min_s: f64::NAN,
            rtt_max_s: f64::NAN,
            lost_packets: f64::NAN,
            spurious_losses: f64::NAN,
            cwnd_mean_bytes: flow.cwnd_samples.0 / flow.cwnd_samples.1 as f64,
        };
        match &flow.protocol {
            Protocol::Tcp { sender, .. } => {
                let counts = sender.statistics();
                row.sent_packets = counts.sent_segments as i64;
                row.retransmitted_packets = counts.retransmitted_segments as f64;
                row.fast_retransmits = counts.fast_retransmits as f64;
                row.timeouts = counts.timeouts as f64;
                row.ecn_reactions = counts.ecn_reactions as f64;
                if counts.rtt_samples > 0 {
                    (row.rtt_min_s, row.rtt_max_s) = (counts.rtt_min_s, counts.rtt_max_s);
                }
            }
            Protocol::Other(other) => {
                let progress = other.progress();
                row.sent_packets = progress.sent as i64;
                row.retransmitted_packets = count(progress.retransmitted);
                row.timeouts = count(progress.timeouts);
                row.lost_packets = count(progress.lost);
                row.spurious_losses = count(progress.spurious_losses);
                if let Some(range) = progress.round_trips.range_s {
                    (row.rtt_min_s, row.rtt_max_s) = range;
                }
            }
        }
        row
    }
}

fn fill_from_progress(row: &mut SampleRow<'_>, progress: &Progress) {
    row.cwnd_bytes = bytes(progress.cwnd);
    row.ssthresh_bytes = bytes(progress.ssthresh);
    row.in_flight_bytes = bytes(progress.in_flight);
    row.rtt_s = seconds(progress.rtt);
    row.smoothed_rtt_s = seconds(progress.smoothed_rtt);
    row.rto_s = seconds(progress.timeout);
    row.sent_packets = progress.sent as i64;
    row.retransmitted_packets = count(progress.retransmitted);
    row.mode = progress.mode;
    row.allowed_rate_bit_per_s = progress.allowed_rate.map_or(f64::NAN, |rate| 8.0 * rate);
    row.loss_event_rate = progress.loss_event_rate.unwrap_or(f64::NAN);
}

fn fill_from_sender(row: &mut SampleRow<'_>, sender: &Sender) {
    let (state, counts) = (sender.control().state(), sender.statistics());
    row.cwnd_bytes = sender.cwnd().as_f64();
    row.ssthresh_bytes = bytes(state.ssthresh);
    row.in_flight_bytes = sender.in_flight().as_f64();
    row.rtt_s = seconds(sender.rtt().latest());
    row.smoothed_rtt_s = seconds(sender.rtt().smoothed());
    row.rto_s = sender.rtt().rto().as_seconds();
    row.sent_packets = counts.sent_segments as i64;
    row.retransmitted_packets = counts.retransmitted_segments as f64;
    row.mode = state.mode;
    row.rate_estimate_bit_per_s = state
        .rate_estimate
        .map_or(f64::NAN, |rate| rate.as_bit_per_s() as f64);
}
