//! The tables of a finished run.

use super::description::Different;
use super::drive::Driven;
use super::host_pair::Pair;
use super::self_test::SelfTest;
use super::telemetry::{Labels, Names, Summary, seconds_of};
use crate::device::DeviceKind;
use crate::fidelity::{HostWaits, Verdict};
use crate::protocol::ReportEntry;
use crate::settings::KernelAnswer;
use crate::workload::{ReceivedFlow, SAMPLE_INTERVAL_NS, SentFlow, SentSession, SocketSetting};
use ackclock_core::activity::{Activity, bit_per_s};
use ackclock_core::result::{
    CounterRow, EventRow, FidelityRow, FlowRow, HopRow, LatenessRow, SampleRow, SettingRow, Table,
};
use ackclock_core::transport::control_name;
use ackclock_scenario::Scenario;
use ackclock_scenario::network::Instance;
use ackclock_spec::units::{Bytes, Span, Time};

/// Returns all tables except `tcp_info` without rows, as they are before the first run has ended.
pub fn empty_tables() -> Vec<(&'static str, Table)> {
    vec![
        ("flows", FlowRow::table()),
        ("samples", SampleRow::table()),
        ("hops", HopRow::table()),
        ("events", EventRow::table()),
        ("fidelity", FidelityRow::table()),
        ("lateness", LatenessRow::table()),
        ("settings", SettingRow::table()),
        ("counters", CounterRow::table()),
    ]
}

/// A finished run.
#[derive(Debug)]
pub(super) struct Finished<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) labels: Labels,
    pub(super) instances: &'a [Instance],
    pub(super) names: &'a Names,
    pub(super) driven: &'a Driven,
}

impl Finished<'_> {
    /// Returns the table `flows`, one row per flow.
    pub(super) fn flows(&self, summaries: &[Summary]) -> Table {
        let mut table = FlowRow::table();
        for (flow, summary) in summaries.iter().enumerate() {
            self.flow_row(flow, summary).push(&mut table);
        }
        table
    }

    fn flow_row(&self, flow: usize, summary: &Summary) -> FlowRow<'_> {
        let (sent, received) = (
            &self.driven.sending.flows[flow],
            &self.driven.receiving.flows[flow],
        );
        let driver = &self.driven.report.driver;
        let instance = &self.instances[flow];
        let group = &self.scenario.flows[instance.group as usize];
        let (name, number) = self.names.get(flow);
        let activity = Activity {
            start: instance.start,
            stop: group.stop,
            completed: received.completed_ns.map(Time::from_nanos),
        };
        let end = Time::ZERO + self.driven.report.elapsed.min(self.scenario.duration);
        let measured = activity.measured(Time::ZERO + self.scenario.warmup, end);
        let session = sent.session.as_ref();
        let of_session = |count: fn(&SentSession) -> Option<u64>| {
            session
                .and_then(count)
                .map_or(f64::NAN, |count| count as f64)
        };
        let payload = received.received_by_end_bytes - received.received_by_warmup_bytes;
        let id = driver.written()[flow].0 as usize;
        let (wire, losses) = (driver.delivered()[id], driver.dropped()[id]);
        FlowRow {
            point: self.labels.0,
            replicate: self.labels.1,
            flow: name,
            instance: number,
            control: control_name(&group.transport),
            start_s: activity.start.as_seconds(),
            end_s: activity.ended(end).map_or(f64::NAN, Time::as_seconds),
            completion_time_s: activity
                .completion_time()
                .map_or(f64::NAN, Span::as_seconds),
            measured_s: measured.as_seconds(),
            goodput_bit_per_s: bit_per_s(Bytes(payload), measured),
            throughput_bit_per_s: bit_per_s(Bytes(wire.bytes - wire.by_warmup_bytes), measured),
            delivered_bytes: received.received_by_end_bytes.cast_signed(),
            sent_packets: sent_packets(sent),
            retransmitted_packets: match session {
                Some(_) => of_session(|session| session.retransmitted_packets),
                None => sent.retransmissions.map_or(f64::NAN, f64::from),
            },
            dropped_packets: losses.drops() as f64,
            dropped_acks: losses.acks.into(),
            fast_retransmits: f64::NAN,
            timeouts: match sent.last.as_ref() {
                Some(info) => info.timeouts.map_or(f64::NAN, f64::from),
                None => of_session(|session| session.timeouts),
            },
            ecn_reactions: f64::NAN,
            rtt_mean_s: summary.rtt_mean_s(),
            rtt_min_s: summary
                .rtt_min_s()
                .min(seconds_of(session.and_then(|session| session.rtt_min_ns))),
            rtt_max_s: seconds_of(session.and_then(|session| session.rtt_max_ns)),
            lost_packets: of_session(|session| session.lost_packets),
            spurious_losses: of_session(|session| session.spurious_losses),
            cwnd_mean_bytes: summary.cwnd_mean_bytes(),
        }
    }

    /// Returns the table `fidelity`, one row.
    pub(super) fn fidelity(&self, mtu: u32, test: &SelfTest, device: DeviceKind) -> Table {
        let report = &self.driven.report;
        let base_rtt = super::description::base_rtt(self.scenario);
        let elsewhere = self.driven.lost + test.lost + self.lost_by_sockets();
        let mut measured = report.measured(elsewhere, base_rtt, mtu.into(), test.median());
        measured.hosts = Some(self.host_waits());
        let verdict = Verdict::of(&measured);
        let lateness = &report.timing.lateness;
        let late = |quantile| lateness.quantile(quantile).as_seconds();
        let seconds = |span: Option<Span>| span.map_or(f64::NAN, Span::as_seconds);
        let share = |span: Option<Span>| seconds(span) / report.elapsed.as_seconds();
        let host_waits = self.host_waits();
        let mut table = FidelityRow::table();
        FidelityRow {
            point: self.labels.0,
            replicate: self.labels.1,
            reliable: verdict.is_reliable().into(),
            verdict: &verdict.to_string(),
            outside_drops: measured.outside_drops.cast_signed(),
            lateness_p50_s: late(0.5),
            lateness_p99_s: late(0.99),
            lateness_p999_s: late(0.999),
            lateness_max_s: lateness.most().as_seconds(),
            longest_gap_s: measured.longest_gap.as_seconds(),
            cpu_share: measured.cpu_share,
            largest_packet_bytes: measured.largest_packet.cast_signed(),
            mtu_bytes: measured.mtu.cast_signed(),
            base_rtt_s: measured.base_rtt.as_seconds(),
            probes_sent: test.sent.cast_signed(),
            probes_measured: test.extras.len() as i64,
            probe_extra_p50_s: seconds(test.median()),
            probe_extra_max_s: seconds(test.extras.last().copied()),
            device: match device {
                DeviceKind::Tun => "tun",
                DeviceKind::PacketSocket => "packet_socket",
            },
            host_wait_max_s: seconds(host_waits.longest),
            host_stalled_share: host_waits.stalled_share,
            softirq_wait_share: host_waits.softirq_share.unwrap_or(f64::NAN),
            missed_readings_share: host_waits.missed_share,
            cpu_pressure_share: share(self.driven.pressure),
            host_priority: self.ordinary_host().unwrap_or("SCHED_FIFO"),
            priority: self.driven.ordinary.as_deref().unwrap_or("SCHED_FIFO"),
            idle_states: self.driven.drowsy.as_deref().unwrap_or("none"),
        }
        .push(&mut table);
        table
    }

    /// Returns the waits of the hosts' threads.
    fn host_waits(&self) -> HostWaits {
        let (sending, receiving) = (&self.driven.sending, &self.driven.receiving);
        let both = [&sending.punctuality, &receiving.punctuality];
        let elapsed = self.driven.report.elapsed;
        let share = |span: Span| span.as_seconds() / elapsed.as_seconds();
        let longest = both.iter().map(|host| host.longest_ns).max().unwrap_or(0);
        let unbridged = both.iter().map(|host| host.unbridged_ns).sum();
        let readings = elapsed.as_nanos() / SAMPLE_INTERVAL_NS;
        HostWaits {
            longest: both
                .iter()
                .all(|host| host.is_known)
                .then_some(Span::from_nanos(longest)),
            stalled_share: share(Span::from_nanos(unbridged)),
            softirq_share: self.driven.softirqs_waited.map(share),
            missed_share: sending.missed_samples as f64 / readings.max(1) as f64,
        }
    }

    /// Returns the reason why a host has no real-time priority, if one has none.
    fn ordinary_host(&self) -> Option<&str> {
        let sending = self.driven.sending.punctuality.ordinary.as_deref();
        sending.or(self.driven.receiving.punctuality.ordinary.as_deref())
    }

    /// Returns the datagrams that the kernel refused or had no buffer for.
    fn lost_by_sockets(&self) -> u64 {
        let (sent, received) = (&self.driven.sending.flows, &self.driven.receiving.flows);
        let sources = sent.iter().filter_map(|flow| flow.datagrams.as_ref());
        let sinks = received.iter().filter_map(|flow| flow.datagrams.as_ref());
        let at_sources: u64 = sources.map(|datagrams| datagrams.refused).sum();
        let at_sinks: u64 = sinks
            .map(|datagrams| datagrams.overflowed.unwrap_or(0) + datagrams.refused)
            .sum();
        at_sources + at_sinks
    }

    /// Returns the table `lateness`.
    pub(super) fn lateness(&self) -> Table {
        let mut table = LatenessRow::table();
        for (_, at_most, packets) in self.driven.report.timing.lateness.buckets() {
            LatenessRow {
                point: self.labels.0,
                replicate: self.labels.1,
                at_most_s: at_most.as_seconds(),
                packets: packets.cast_signed(),
            }
            .push(&mut table);
        }
        table
    }

    /// Returns the table `counters`: those of each host, over all its flows.
    pub(super) fn counters(&self) -> Table {
        let mut table = CounterRow::table();
        for (host, counters) in [
            ("senders", &self.driven.sending.counters),
            ("receivers", &self.driven.receiving.counters),
        ] {
            for counted in counters {
                CounterRow {
                    point: self.labels.0,
                    replicate: self.labels.1,
                    host,
                    name: &counted.name,
                    value: counted.value.cast_signed(),
                    measured_value: counted.measured_value.cast_signed(),
                }
                .push(&mut table);
            }
        }
        table
    }

    /// Returns the table `settings`: values requested from the kernel, and differences of the
    /// kernel.
    pub(super) fn settings(&self, pair: &Pair, different: &[Different]) -> Table {
        let mut table = SettingRow::table();
        let mut push = |host: &str, name: &str, asked: &str, has: &str, refusal: &str| {
            SettingRow {
                point: self.labels.0,
                replicate: self.labels.1,
                host,
                name,
                asked,
                has,
                refusal,
            }
            .push(&mut table);
        };
        for (host, worker) in [("senders", &pair.senders), ("receivers", &pair.receivers)] {
            for entry in &worker.report {
                let (has, refusal) = of_entry(entry);
                push(host, &entry.name, &entry.asked, has, refusal);
            }
        }
        let sent = self
            .driven
            .sending
            .flows
            .iter()
            .map(|flow| ("senders", &flow.settings));
        let received = self
            .driven
            .receiving
            .flows
            .iter()
            .map(|flow| ("receivers", &flow.settings));
        let numbered = sent.enumerate().chain(received.enumerate());
        for (flow, (host, settings)) in numbered {
            let (name, instance) = self.names.get(flow);
            for setting in settings {
                let (has, refusal) = of_socket(setting);
                let title = format!("flow {name}/{instance} {}", setting.name);
                push(host, &title, &setting.asked.to_string(), &has, refusal);
            }
        }
        for Different {
            name,
            asked,
            reason,
        } in different
        {
            push("senders", name, asked, "", reason);
        }
        table
    }
}

/// Returns the number of packets with payload that a flow has sent.
fn sent_packets(sent: &SentFlow) -> i64 {
    let segments = sent.last.as_ref().and_then(|info| info.sent_data_segments);
    let datagrams = sent
        .datagrams
        .as_ref()
        .map(|datagrams| datagrams.sent.cast_signed());
    datagrams.or(segments.map(i64::from)).unwrap_or(0)
}

const OTHERWISE: &str = "the kernel uses another value";

fn of_entry(entry: &ReportEntry) -> (&str, &str) {
    match &entry.outcome {
        KernelAnswer::Accepted { value } if entry.is_as_asked() => (value, ""),
        KernelAnswer::Accepted { value } => (value, OTHERWISE),
        outcome => ("", outcome.reason()),
    }
}

fn of_socket(setting: &SocketSetting) -> (String, &str) {
    let has = setting.has.map_or(String::new(), |value| value.to_string());
    let refusal = match (&setting.refusal, setting.has) {
        (Some(refusal), _) => refusal,
        (None, Some(value)) if value != setting.asked => OTHERWISE,
        _ => "",
    };
    (has, refusal)
}

/// Returns one line for each flow that failed, or whose datagrams the kernel refused.
pub(super) fn complaints(
    names: &Names,
    sent: &[SentFlow],
    received: &[ReceivedFlow],
) -> Vec<String> {
    use crate::workload::Ending;
    let endings = sent.iter().map(|flow| &flow.ending).enumerate();
    let others = received.iter().map(|flow| &flow.ending).enumerate();
    let failed = endings
        .chain(others)
        .filter_map(|(flow, ending)| match ending {
            Ending::Failed(reason) => Some((flow, format!("failed: {reason}"))),
            _ => None,
        });
    let refusals = sent
        .iter()
        .map(|flow| flow.datagrams.as_ref()?.refusal.as_ref());
    let others = received
        .iter()
        .map(|flow| flow.datagrams.as_ref()?.refusal.as_ref());
    let refused = refusals
        .enumerate()
        .chain(others.enumerate())
        .filter_map(|(flow, refusal)| {
            refusal.map(|reason| {
                (
                    flow,
                    format!("sent datagrams that the kernel refused: {reason}"),
                )
            })
        });
    let described = failed.chain(refused).map(|(flow, what)| {
        let (name, instance) = names.get(flow);
        format!("flow {name}/{instance} {what}")
    });
    described.collect()
}
