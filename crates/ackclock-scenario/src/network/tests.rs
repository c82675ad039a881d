//! Networks as built from scenarios.

use super::*;
use crate::tree;
use ackclock_core::routes::Stop;
use ackclock_spec::files::NoFiles;

const TWO_GROUPS: &str = r#"
schema = 1
name = "two groups"
duration = "10 s"

[[hops]]
name = "access"
scope = "per_flow"
link = { kind = "constant", rate = "50 Mbit/s" }
queue = { kind = "droptail", limit = "40 packets" }

[[hops]]
name = "bottleneck"
link = { kind = "markov", rates = ["6 Mbit/s", "1 Mbit/s"], mean_sojourn = "200 ms" }
queue = { kind = "droptail", limit = "25 packets" }

[[flows]]
name = "near"
count = 2
route = ["access", "bottleneck"]
return = ["bottleneck"]
transport = { kind = "tcp", control = { kind = "reno" } }
traffic = { kind = "bulk" }
start = ["0 s", "1 s"]
access_delay = ["4 ms", "8 ms"]

[[flows]]
name = "far"
route = ["bottleneck"]
return = ["bottleneck", "access"]
transport = { kind = "tcp", control = { kind = "reno" } }
traffic = { kind = "bulk" }
start = "3 s"
access_delay = "10 ms"
"#;

fn network(replicate: u32) -> (Scenario, Network) {
    let scenario = Scenario::from_tree(&tree::from_toml(TWO_GROUPS).unwrap(), &NoFiles).unwrap();
    let network = build(&scenario, &Streams::new(scenario.seed, replicate));
    (scenario, network)
}

/// Returns the network of the first replicate whose turns are in the order of the scenario.
fn network_as_written(scenario: &Scenario) -> Network {
    let replicates =
        (0..).map(|replicate| build(scenario, &Streams::new(scenario.seed, replicate)));
    let mut written = replicates.filter(|network| network.written.is_sorted());
    written.next().unwrap()
}

/// Returns the instances in the order of the scenario.
fn listed(network: &Network) -> Vec<Instance> {
    let written = network.written.iter();
    written
        .map(|flow| network.instances[flow.0 as usize])
        .collect()
}

#[test]
fn turns_are_drawn_for_each_replicate_and_do_not_depend_on_the_order_in_the_scenario() {
    let tree = tree::from_toml(TWO_GROUPS).unwrap();
    let mut reversed = tree.clone();
    reversed["flows"].as_array_mut().unwrap().reverse();
    let scenarios = [tree, reversed].map(|tree| Scenario::from_tree(&tree, &NoFiles).unwrap());
    let mut first = Vec::new();
    for replicate in 0..20 {
        let [network, other] = scenarios.each_ref().map(|scenario| {
            let network = build(scenario, &Streams::new(scenario.seed, replicate));
            [network.instances.clone(), listed(&network)].map(|instances| -> Vec<String> {
                let places = instances.iter().map(|instance| instance.place(scenario));
                places.collect()
            })
        });
        assert_eq!(network[0], other[0], "the same turns");
        assert_eq!(network[1], ["flow/near/0", "flow/near/1", "flow/far/0"]);
        assert_eq!(other[1], ["flow/far/0", "flow/near/0", "flow/near/1"]);
        first.push(network[0][0].clone());
    }
    let far = first.iter().filter(|place| *place == "flow/far/0").count();
    assert!(
        (1..20).contains(&far),
        "each is first at times: {far} of 20"
    );
}

#[test]
fn instances_of_a_flow_are_numbered_in_order_and_own_hops_follow_shared_ones() {
    let scenario = network(0).0;
    let network = network_as_written(&scenario);
    let places: Vec<String> = network
        .instances
        .iter()
        .map(|instance| instance.place(&scenario))
        .collect();
    assert_eq!(places, ["flow/near/0", "flow/near/1", "flow/far/0"]);
    assert_eq!(network.shared, ["bottleneck"]);
    let way = |flow, forward| -> Vec<usize> {
        network
            .routes
            .way(flow, forward)
            .filter_map(Stop::as_hop)
            .collect()
    };
    assert_eq!((way(0, true), way(0, false)), (vec![1, 0], vec![0]));
    assert_eq!((way(1, true), way(1, false)), (vec![2, 0], vec![0]));
    // An extra delay in front of a shared hop is a hop.
    assert_eq!((way(2, true), way(2, false)), (vec![3, 0], vec![0, 4]));
    assert_eq!(network.hops.len(), 5);
}

#[test]
fn arrivals_are_the_flows_own_draws_and_end_with_it() {
    let arriving = TWO_GROUPS.replacen(
        "count = 2\n",
        "arrivals = { kind = \"poisson\", mean_interval = \"20 ms\" }\nstop = \"9 s\"\n",
        1,
    );
    let built = |text: &str, replicate| {
        let scenario = Scenario::from_tree(&tree::from_toml(text).unwrap(), &NoFiles).unwrap();
        let built = build(&scenario, &Streams::new(scenario.seed, replicate));
        (scenario, built)
    };
    let (scenario, network) = built(&arriving, 0);
    let all = listed(&network);
    let (far, near) = all.split_last().unwrap();
    assert_eq!(far.place(&scenario), "flow/far/0");
    assert!(near.is_sorted_by_key(|instance| instance.start));
    assert!(
        near.iter()
            .all(|instance| instance.start < Time::from_seconds(9.0))
    );
    // They begin somewhere in the first second: 400 to 450 on average, give or take 4·√450.
    assert!((310..540).contains(&near.len()), "{}", near.len());
    assert_eq!(instances(&scenario, &Streams::new(scenario.seed, 0)), all);
    let (again, other) = (built(&arriving, 0).1, built(&arriving, 1).1);
    assert_eq!(again.instances, network.instances);
    assert_ne!(listed(&other)[..10], all[..10]);
    // Another flow, or another seed of it, moves no arrival.
    let alone = arriving.replace("access_delay = \"10 ms\"", "count = 3");
    assert_eq!(listed(&built(&alone, 0).1)[..near.len()], *near);
    // Each has its own hop on its route, with its own delay.
    let written = network.written[..near.len()].iter();
    let delays: Vec<Span> = written
        .filter_map(|flow| network.routes.first(flow.0 as usize, true).as_hop())
        .map(|hop| network.hops[hop].delay())
        .collect();
    assert!(
        delays
            .iter()
            .all(|delay| (Span::from_millis(4)..=Span::from_millis(8)).contains(delay))
    );
    assert_ne!(delays[0], delays[1]);
}

#[test]
fn who_contends_comes_before_what_nobody_sees_and_stations_have_names() {
    let cell = TWO_GROUPS
        .replace(
            "[[hops]]\nname = \"access\"",
            "[[shared_media]]\nname = \"cell\"\nkind = \"edca\"\n\n[[hops]]\nname = \"access\"",
        )
        .replace(
            "name = \"bottleneck\"\nlink = { kind = \"markov\", rates = [\"6 Mbit/s\", \"1 \
             Mbit/s\"], mean_sojourn = \"200 ms\" }",
            CONTENDERS,
        )
        .replace(
            "route = [\"access\", \"bottleneck\"]",
            "route = [\"access\", \"data\", \"bottleneck\"]",
        )
        .replace(
            "return = [\"bottleneck\"]",
            "return = [\"bottleneck\", \"acks\", \"data\", \"access\"]",
        );
    let scenario = Scenario::from_tree(&tree::from_toml(&cell).unwrap(), &NoFiles).unwrap();
    let network = network_as_written(&scenario);
    // One shared hop, then for each of two flows one on the forward route and two on the return
    // route.
    let contends: Vec<bool> = network
        .hops
        .iter()
        .map(|hop| hop.contender().is_some())
        .collect();
    assert_eq!(contends.iter().position(|contends| !contends), Some(7));
    assert_eq!(network.routes.shared_hops(), 7);
    let way = |flow, forward| -> Vec<usize> {
        network
            .routes
            .way(flow, forward)
            .filter_map(Stop::as_hop)
            .collect()
    };
    assert_eq!(
        (way(0, true), way(0, false)),
        (vec![7, 1, 0], vec![0, 2, 3, 8])
    );
    assert_eq!(
        (way(1, true), way(1, false)),
        (vec![9, 4, 0], vec![0, 5, 6, 10])
    );
    let contenders = &network.media[0].contenders;
    let rows: Vec<_> = contenders
        .iter()
        .map(|contender| {
            (
                contender.hop,
                &*contender.name,
                contender.owner,
                contender.station,
            )
        })
        .collect();
    // Hops of one instance that name the same station share it; the shared hop's station of that
    // name is another.
    let expected = [
        (0, "bottleneck", None, 0),
        (1, "data", Some(0), 1),
        (2, "acks", Some(0), 2),
        (3, "data", Some(0), 1),
        (4, "data", Some(1), 3),
        (5, "acks", Some(1), 4),
        (6, "data", Some(1), 3),
    ];
    assert_eq!(rows, expected);
    for (number, one) in (0..).zip(contenders) {
        let id = network.hops[one.hop as usize].contender();
        assert_eq!(
            id,
            Some(ContenderId {
                medium: 0,
                contender: number
            })
        );
    }
    assert!(network.meters[0].is_none());
}

const CONTENDERS: &str = r#"name = "data"
scope = "per_flow"
link = { kind = "edca", medium = "cell", rate = "54 Mbit/s", station = "a" }
queue = { kind = "droptail", limit = "unlimited" }

[[hops]]
name = "acks"
scope = "per_flow"
link = { kind = "edca", medium = "cell", rate = "54 Mbit/s" }
queue = { kind = "droptail", limit = "unlimited" }

[[hops]]
name = "bottleneck"
link = { kind = "edca", medium = "cell", rate = "54 Mbit/s", station = "a" }"#;

#[test]
fn a_replicate_draws_its_own_numbers_and_always_the_same() {
    let starts = |replicate| listed(&network(replicate).1);
    assert_eq!(starts(0), starts(0));
    assert_ne!(starts(0)[..2], starts(1)[..2]);
    assert!(
        starts(0)[..2]
            .iter()
            .all(|instance| instance.start <= Time::from_seconds(1.0))
    );
    assert_eq!(starts(0)[2].start, Time::from_seconds(3.0));
}
