//! Estimates the least memory that a batch of runs needs, before it begins. A process that runs out
//! of memory is killed without a message.

use crate::events::Target;
use crate::flow::{Flow, Other};
use crate::hop_slot::HopSlot;
use ackclock_core::endpoint::Sender;
use ackclock_core::hop::Hop;
use ackclock_core::observe::{FlowLosses, HopLosses};
use ackclock_core::result::{FlowRow, HopRow, SampleRow, Table};
use ackclock_core::transport::{Quic, Tcp};
use ackclock_scenario::network::Instance;
use ackclock_scenario::{FlowDescription, Instances, Scenario, Scope};
use ackclock_spec::units::{Span, Time};

/// Bytes of the smallest congestion control and the smallest traffic of a flow, each in a box with
/// the allocator's overhead.
const ELEMENTS: usize = 256;

/// Memory that a batch needs. The number of packets is not known in advance, so this is a lower
/// bound.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Need {
    /// Flow instances of the largest run.
    pub flows: f64,
    /// Bytes of the runs that execute at the same time.
    pub runs: f64,
    /// Bytes of the rows that all runs write.
    pub rows: f64,
}

impl Need {
    /// Returns all bytes: the rows, and the larger of the runs and of the copy of the rows that
    /// Python gets after them.
    pub fn bytes(&self) -> f64 {
        self.rows + self.runs.max(self.rows)
    }

    /// Returns the need of so many replicates of each of these points on that many threads.
    pub fn of<'a>(points: impl IntoIterator<Item = (&'a Scenario, u32)>, threads: usize) -> Need {
        let mut need = Need::default();
        let mut runs = Vec::new();
        for (point, replicates) in points {
            let instances = |flow: &FlowDescription| flow.expected_instances(point.duration);
            let run: f64 = point
                .flows
                .iter()
                .map(|flow| instances(flow) * of_instance(point, flow))
                .sum();
            let rows: f64 = point
                .flows
                .iter()
                .map(|flow| instances(flow) * rows_of_instance(point, flow))
                .sum();
            let shared = point
                .hops
                .iter()
                .filter(|hop| hop.scope == Scope::Shared)
                .count() as f64;
            let hop_rows = shared * samples(point, point.duration) * row(&HopRow::table());
            need.rows += f64::from(replicates) * (rows + hop_rows);
            need.flows = need.flows.max(point.flows.iter().map(instances).sum());
            let side_by_side = threads.min(replicates as usize);
            runs.extend(std::iter::repeat_n(run, side_by_side));
        }
        runs.sort_by(|run, other| other.total_cmp(run));
        need.runs = runs.iter().take(threads).sum();
        need
    }
}

/// Returns the bytes that an instance takes during its run.
fn of_instance(scenario: &Scenario, flow: &FlowDescription) -> f64 {
    let ways = flow.route.iter().chain(&flow.return_route);
    let own = ways
        .clone()
        .filter(|hop| scenario.hops[**hop].scope == Scope::PerFlow)
        .count();
    let delayed = usize::from(flow.access_delay.high > Span::ZERO);
    let stops = (ways.count() + 2) * 4 + 8;
    let (tcp, quic) = (
        flow.transport.parameters::<Tcp>(),
        flow.transport.parameters::<Quic>(),
    );
    let sender = match tcp {
        Some(_) => size_of::<Sender>(),
        None => size_of::<Other>() + quic.map_or(0, Quic::connection_bytes),
    };
    let flow = size_of::<Flow>() + sender + size_of::<Instance>() + size_of::<FlowLosses>();
    // The calendar holds at least one wake-up of the sender.
    let events = size_of::<(Time, Target)>();
    let hop = size_of::<HopSlot>() + Hop::boxed() + size_of::<HopLosses>();
    (flow + ELEMENTS + stops + events + (own + delayed) * hop) as f64
}

/// Returns the bytes of the rows that an instance writes.
fn rows_of_instance(scenario: &Scenario, flow: &FlowDescription) -> f64 {
    let sampled = match flow.instances {
        Instances::Count(_) => samples(scenario, scenario.duration),
        Instances::Arriving(_) => 1.0, // their duration is unknown
    };
    sampled * row(&SampleRow::table()) + row(&FlowRow::table())
}

fn samples(scenario: &Scenario, during: Span) -> f64 {
    (during.as_nanos() / scenario.sample_interval.as_nanos().max(1)) as f64 + 1.0
}

fn row(table: &Table) -> f64 {
    table.row_bytes() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_scenario::tree;
    use ackclock_spec::files::NoFiles;

    fn point(count: u32, interval: &str) -> Scenario {
        let text = format!(
            r#"
schema = 1
duration = "10 s"
sample_interval = "{interval}"
[[hops]]
name = "access"
scope = "per_flow"
link = {{ kind = "constant", rate = "100 Mbit/s" }}
queue = {{ kind = "droptail", limit = "unlimited" }}
[[hops]]
name = "out"
link = {{ kind = "constant", rate = "10 Mbit/s" }}
queue = {{ kind = "droptail", limit = "100 packets" }}
[[flows]]
count = {count}
route = ["access", "out"]
return = ["out"]
transport = {{ kind = "tcp", control = {{ kind = "reno" }} }}
"#
        );
        Scenario::from_tree(&tree::from_toml(&text).unwrap(), &NoFiles).unwrap()
    }

    #[test]
    fn flows_take_memory_in_each_run_that_goes_on_and_rows_in_every_run() {
        let small = point(1000, "1 s");
        let (middle, large) = (point(5000, "1 s"), point(10_000, "1 s"));
        let single = Need::of([(&small, 1)], 4);
        let many = Need::of([(&large, 1)], 4);
        assert_eq!(many.flows, 10_000.0);
        assert!((many.runs / single.runs - 10.0).abs() < 1e-9);
        let replicates = Need::of([(&small, 6)], 4);
        assert_eq!(
            (replicates.runs, replicates.rows),
            (4.0 * single.runs, 6.0 * single.rows)
        );
        let points = Need::of([(&small, 1), (&middle, 1)], 1);
        assert_eq!(points.runs, 5.0 * single.runs, "the largest");
        assert_eq!(points.rows, single.rows + Need::of([(&middle, 1)], 1).rows);
        let fine = Need::of([(&point(1000, "10 ms"), 1)], 4);
        assert!(fine.rows > 50.0 * single.rows && fine.runs == single.runs);
    }
}
