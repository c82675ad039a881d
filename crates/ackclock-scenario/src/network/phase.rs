//! Phases: what repeats of a run vary in which nothing is random.
//!
//! Where packets of a flow meet others, and whether one more fits into a queue, depends on phases.
//! They are those of starts, and of round-trip times relative to the time in which the bottleneck
//! sends a packet. A delay that is longer by less than that time can change altogether who loses
//! packets (Floyd and Jacobson 1992, On traffic phase effects in packet-switched gateways,
//! Internetworking: Research and Experience 3, sections 3 and 4). No network keeps phases from one
//! repeat to the next.
//!
//! So the second and later replicates draw them. Each start is later by up to a base round-trip
//! time, which covers all phases of a start. Each hop's delay is longer by up to the time in which
//! its link sends the largest packet that crosses it.

use crate::{FlowDescription, HopDescription, Instances, Scenario, Vary};
use ackclock_core::arrivals::Intervals;
use ackclock_spec::stated::Stated;
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{BitRate, Bytes, Span, Time};

impl Scenario {
    /// True if replicates differ by what they draw. Access delays are drawn by instances that
    /// arrive.
    pub fn draws(&self) -> bool {
        let hops = self.hops.iter().any(|hop| {
            let impaired = hop.impairments.iter().any(|chosen| chosen.draws());
            impaired || hop.link.draws() || hop.queue.draws()
        });
        let flows = self.flows.iter().any(|flow| {
            let arriving = match flow.instances {
                Instances::Count(_) => false,
                Instances::Arriving(arrivals) => {
                    let access = flow.access_delay;
                    arrivals.kind == Intervals::Poisson || access.low < access.high
                }
            };
            let starts = flow.start.low < flow.start.high;
            arriving || starts || flow.transport.draws() || flow.traffic.draws()
        });
        let media = self.media.iter().any(|entry| entry.medium.draws());
        hops || flows || media
    }
}

/// The phases of one replicate that varies them.
pub(super) struct Phases<'a>(&'a Scenario);

impl<'a> Phases<'a> {
    /// Returns the phases of a replicate; `None` if it varies none.
    pub(super) fn of(scenario: &'a Scenario, streams: &Streams) -> Option<Self> {
        (scenario.vary == Vary::Phase && !streams.are_of_the_first()).then_some(Phases(scenario))
    }

    /// Returns the most by which an instance of a flow starts later: its base round-trip time, but
    /// no more than half of the time until it stops.
    pub(super) fn of_start(&self, flow: &FlowDescription) -> Span {
        let path = flow.route.iter().chain(&flow.return_route);
        let delays = path.map(|&hop| self.0.hops[hop].delay);
        let round_trip = delays.fold(flow.access_delay.high, |sum, delay| sum + delay);
        let stop = flow.stop.min(Time::ZERO + self.0.duration);
        round_trip.min(stop.since(Time::ZERO + flow.start.high) / 2)
    }

    /// Returns the most by which the delay of a hop is longer: the time in which its link sends the
    /// largest packet that crosses it; zero if its mean rate is unknown.
    pub(super) fn of_hop(&self, hop: &HopDescription) -> Span {
        let rate = hop.link.facts.mean_bit_per_s.unwrap_or_default() as u64;
        let crosses = |route: &[usize]| route.iter().any(|&at| self.0.hops[at].name == hop.name);
        let largest = self.0.flows.iter().flat_map(|flow| {
            let facts = &flow.transport.facts;
            let data = facts.full_write() + Bytes(facts.header_bytes.unwrap_or_default());
            let answer = match facts.answer_bytes {
                Stated::Some(bytes) => Bytes(bytes),
                Stated::None | Stated::Unknown => Bytes(0),
            };
            let sizes = [(&flow.route, data), (&flow.return_route, answer)];
            sizes.map(|(route, size)| if crosses(route) { size } else { Bytes(0) })
        });
        match (rate, largest.max()) {
            (0, _) | (_, None) => Span::ZERO,
            (rate, Some(size)) => BitRate::from_bit_per_s(rate).serialization(size),
        }
    }
}

/// Draws the phase of a place, at most `most`.
pub(super) fn draw(most: Span, place: &str, streams: &Streams) -> Span {
    streams.stream(&format!("{place}/phase")).uniform_span(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Network, build};
    use crate::tree;
    use ackclock_spec::files::NoFiles;
    use serde_json::json;

    const CONSTANT: &str = r#"
schema = 1
duration = "10 s"
[[hops]]
name = "access"
scope = "per_flow"
link = { kind = "constant", rate = "50 Mbit/s" }
queue = { kind = "droptail", limit = "40 packets" }
[[hops]]
name = "bottleneck"
link = { kind = "constant", rate = "12 Mbit/s" }
queue = { kind = "codel" }
delay = "20 ms"
[[hops]]
name = "back"
link = { kind = "constant", rate = "32 kbit/s" }
queue = { kind = "droptail", limit = "40 packets" }
delay = "10 ms"
[[flows]]
name = "near"
count = 2
route = ["access", "bottleneck"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "cubic" }, mss = "1448 bytes", header = "52 bytes" }
access_delay = ["4 ms", "8 ms"]
[[flows]]
name = "short"
route = ["bottleneck"]
transport = { kind = "udp", mss = "100 bytes" }
traffic = { kind = "cbr", rate = "64 kbit/s" }
start = "3 s"
stop = "3.01 s"
"#;

    fn scenario(assignments: &[&str]) -> Scenario {
        Scenario::from_toml(CONSTANT, assignments, &NoFiles).unwrap()
    }
    fn network(scenario: &Scenario, replicate: u32) -> Network {
        build(scenario, &Streams::new(scenario.seed, replicate))
    }
    fn seen(scenario: &Scenario, replicate: u32) -> (Vec<(u32, u32, Time)>, Vec<String>) {
        let network = network(scenario, replicate);
        let mut starts: Vec<_> = network
            .instances
            .iter()
            .map(|instance| (instance.group, instance.number, instance.start))
            .collect();
        starts.sort_unstable();
        let mut hops: Vec<String> = network.hops.iter().map(|hop| format!("{hop:?}")).collect();
        hops.sort_unstable();
        (starts, hops)
    }

    #[test]
    fn the_first_replicate_is_as_written_and_later_ones_differ() {
        let (phase, nothing) = (scenario(&[]), scenario(&["vary=nothing"]));
        assert_eq!((phase.vary, nothing.vary), (Vary::Phase, Vary::Nothing));
        assert_eq!(seen(&phase, 0), seen(&nothing, 0));
        for replicate in 1..20 {
            assert_eq!(seen(&nothing, replicate), seen(&nothing, 0));
            assert_eq!(seen(&phase, replicate), seen(&phase, replicate));
            let (starts, hops) = seen(&phase, replicate);
            assert_ne!(starts, seen(&phase, 0).0);
            assert_ne!(hops, seen(&phase, 0).1);
            assert_ne!(starts, seen(&phase, replicate + 20).0);
        }
    }

    #[test]
    fn starts_are_later_by_up_to_a_round_trip_and_before_the_stop() {
        let scenario = scenario(&[]);
        let mut latest = [Span::ZERO; 2];
        for replicate in 1..200 {
            for instance in network(&scenario, replicate).instances {
                let group = instance.group as usize;
                let written = Time::ZERO + scenario.flows[group].start.low;
                latest[group] = latest[group].max(instance.start.since(written));
            }
        }
        // 20 and 10 ms, and 8 ms of access delay; half of the 10 ms from start to stop.
        let most = [Span::from_millis(38), Span::from_millis(5)];
        for (latest, most) in latest.into_iter().zip(most) {
            assert!(
                latest <= most && latest > most * 9 / 10,
                "{latest:?} of {most:?}"
            );
        }
    }

    #[test]
    fn delays_are_longer_by_up_to_the_time_of_a_packet() {
        let scenario = scenario(&[]);
        let streams = Streams::new(scenario.seed, 1);
        let phases = Phases::of(&scenario, &streams).unwrap();
        let most: Vec<Span> = scenario.hops.iter().map(|hop| phases.of_hop(hop)).collect();
        // 1500 bytes at 50 and 12 Mbit/s, ACKs of 52 bytes at 32 kbit/s.
        let expected = [240, 1000, 13_000].map(Span::from_micros);
        assert_eq!(most, expected);
        let draws: Vec<Span> = (0..1000)
            .map(|replicate| draw(most[1], "hop/bottleneck", &Streams::new(1, replicate)))
            .collect();
        assert!(draws.iter().all(|draw| *draw <= most[1]));
        let mean = draws.iter().map(|draw| draw.as_seconds()).sum::<f64>() / 1000.0;
        assert!((mean - 0.5e-3).abs() < 4.0 * 0.29e-3 / 1000.0_f64.sqrt());
    }

    #[test]
    fn phases_are_varied_where_nothing_draws() {
        let varied = |assignment: &str| scenario(&[assignment]).vary;
        let draws = [
            "hops.bottleneck.impairments=[{ kind = \"iid_loss\", probability = \"1 %\" }]",
            "hops.bottleneck.queue={ kind = \"pie\" }",
            "hops.bottleneck.link={ kind = \"markov\", rates = [\"6 Mbit/s\", \"1 Mbit/s\"], \
             mean_sojourn = \"200 ms\" }",
            "flows.near.transport.control={ kind = \"bbr3\" }",
            "flows.near.transport.send_jitter=1 ms",
            "flows.near.start=[\"0 s\", \"1 s\"]",
            "flows.near.traffic={ kind = \"transfer\", size = { kind = \"pareto\", mean = \
             \"20 kB\", shape = 1.2 } }",
            "flows.short.traffic={ kind = \"on_off\", rate = \"64 kbit/s\", mean_on = \"1 s\", \
             mean_off = \"1 s\" }",
        ];
        for assignment in draws {
            assert_eq!(varied(assignment), Vary::Nothing, "{assignment}");
        }
        let constant = [
            "hops.bottleneck.queue={ kind = \"fq_codel\" }",
            "hops.bottleneck.impairments=[{ kind = \"iid_loss\", probability = 0 }]",
            "hops.bottleneck.impairments=[{ kind = \"periodic_loss\", every = 100 }]",
            "flows.near.traffic={ kind = \"transfer\", size = \"20 kB\" }",
        ];
        for assignment in constant {
            assert_eq!(varied(assignment), Vary::Phase, "{assignment}");
        }
        let chosen = scenario(&["vary=phase", draws[0]]);
        assert_eq!(chosen.vary, Vary::Phase);
        assert!(Phases::of(&chosen, &Streams::new(1, 1)).is_some());
    }

    #[test]
    fn the_resolved_form_says_what_varies_and_is_the_same_scenario() {
        for (assignments, vary) in [(&[][..], "phase"), (&["vary=nothing"][..], "nothing")] {
            let resolved = scenario(assignments).resolved;
            assert_eq!(resolved["vary"], json!(vary));
            let again = Scenario::from_tree(&resolved, &NoFiles).unwrap();
            assert_eq!(again.resolved, resolved);
        }
        let mut tree = tree::from_toml(CONSTANT).unwrap();
        tree["vary"] = json!("everything");
        let error = Scenario::from_tree(&tree, &NoFiles).unwrap_err();
        assert!(error.key().ends_with(" vary"), "{}", error.key());
    }
}
