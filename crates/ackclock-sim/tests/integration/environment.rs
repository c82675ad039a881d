//! Runs in steps, scripts, and environments: none of them changes what a run gives.

use crate::common::{DUMBBELL, cells, scenario};
use ackclock_core::congestion::steered::Order;
use ackclock_scenario::Scenario;
use ackclock_scenario::job::Job;
use ackclock_sim::environment::many::{Beginning, Environments, Path};
use ackclock_sim::environment::{COLUMNS, Clock, Environment, NAMES};
use ackclock_sim::run::{Run, Simulation, Unattended};
use ackclock_sim::topology;
use ackclock_sim::trace::NoTrace;
use ackclock_spec::files::Files;
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;

const LOSSY: &str = r#"hops.bottleneck.impairments=[{ kind = "iid_loss", probability = 0.01 }]"#;
const STEERED: &str = r#"flows.bulk.transport={ kind = "tcp", control = { kind = "external" } }"#;

fn first(scenario: &Scenario) -> Job<'_> {
    Job {
        scenario,
        point: 0,
        replicate: 0,
    }
}

/// Asserts that steps of these lengths in turn, in milliseconds, give the tables of the whole run.
fn steps_change_nothing(scenario: &Scenario, steps: &[f64]) {
    let job = first(scenario);
    let whole = Run::simulate(&job, topology::build(&job), NoTrace, &Unattended);
    assert!(whole.statistics.data_packets > 500);
    let mut stepped = Simulation::new(&job, topology::build(&job), NoTrace);
    let (mut stop, mut lengths) = (Time::ZERO, steps.iter().cycle());
    while !stepped.proceed_to(stop) {
        stop = stop + Span::from_seconds(lengths.next().unwrap() / 1e3);
    }
    let stepped = stepped.finish();
    assert!(stepped.complete);
    for (one, other) in cells(&whole.tables).iter().zip(&cells(&stepped.tables)) {
        assert_eq!(one, other, "{}.{}", one.0, one.1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_run_in_steps_is_the_whole_run(
        steps in prop::collection::vec(0.05_f64..200.0, 1..5),
        lossy: bool,
    ) {
        let assignments: &[&str] = if lossy { &[LOSSY] } else { &[] };
        steps_change_nothing(&scenario(DUMBBELL, assignments), &steps);
    }
}

#[test]
fn a_run_of_many_flows_in_steps_is_the_whole_run() {
    let many = [
        "flows.bulk.count=220",
        "duration=2 s",
        r#"hops.bottleneck.link.rate="60 Mbit/s""#,
        LOSSY,
    ];
    steps_change_nothing(&scenario(DUMBBELL, &many), &[7.3, 20.0, 0.4]);
}

/// A learner whose window and rate are this function of the number of its step.
fn order(step: u64) -> Order {
    Order {
        cwnd: Some(Bytes(1448 * (4 + step * 7 % 23))),
        rate: step
            .is_multiple_of(3)
            .then(|| BitRate::from_bit_per_s(400_000 + 100_000 * (step % 11))),
    }
}

/// Files of which there is one, whatever its name.
struct Only(String);

impl Files for Only {
    fn read(&self, _: &str) -> Result<String, String> {
        Ok(self.0.clone())
    }
}

#[test]
fn recorded_orders_give_the_tables_of_the_environment() {
    let own = [STEERED, LOSSY, "flows.bulk.count=3"];
    let steered = scenario(DUMBBELL, &own);
    let seed = steered.seed;
    let mut environment = Environment::new(&steered, 0, seed, Clock::RoundTrips(1.0));
    let mut observed = vec![f64::NAN; 3 * COLUMNS];
    environment.begin(&mut observed);
    let mut script = String::from("time_s,cwnd_bytes,rate_bit_per_s,instance\n");
    let mut step = 0;
    while observed[1] == 0.0 {
        let mut orders = [Order::default(); 3];
        for (learner, row) in observed.chunks(COLUMNS).enumerate() {
            if row[0] == 0.0 {
                continue;
            }
            step += 1;
            let given = order(step);
            orders[learner] = given;
            let written =
                |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
            script += &format!(
                "{:.9},{},{},{learner}\n",
                row[2],
                written(given.cwnd.map(|cwnd| cwnd.0)),
                written(given.rate.map(BitRate::as_bit_per_s)),
            );
        }
        environment.step(&orders, &mut observed);
    }
    assert!(step > 100, "{step} orders");
    let environment = environment.finish();
    let files = Only(script);
    let scripted = r#"flows.bulk.transport.control={ kind = "scripted", file = "actions.csv" }"#;
    let scripted = Scenario::from_toml(DUMBBELL, &[own[0], own[1], own[2], scripted], &files);
    let scripted = scripted.unwrap();
    let job = first(&scripted);
    let replayed = Run::simulate(&job, topology::build(&job), NoTrace, &Unattended);
    let pairs = cells(&environment.tables);
    assert!(pairs.len() > 50);
    // An environment keeps no events, which would take its memory.
    for (one, other) in pairs.iter().zip(&cells(&replayed.tables)) {
        if one.0 != "events" {
            assert_eq!(one, other, "{}.{}", one.0, one.1);
        }
    }
}

/// Steps environments with these numbers, each by its own orders, and returns all they observe.
fn observed(numbers: &[usize], threads: usize, clock: Clock) -> Vec<Vec<f64>> {
    let path = |rate: &str| Path {
        scenario: scenario(
            DUMBBELL,
            &[
                STEERED,
                LOSSY,
                "flows.bulk.count=1",
                &format!("hops.bottleneck.link.rate=\"{rate}\""),
            ],
        ),
        group: 0,
    };
    let paths = vec![path("3 Mbit/s"), path("8 Mbit/s")];
    let count = numbers.len();
    let mut environments = Environments::new(paths, 1, count, clock, threads);
    let beginnings: Vec<Beginning> = (0..)
        .zip(numbers)
        .map(|(environment, number)| Beginning {
            environment,
            path: number % 2,
            seed: *number as u64,
        })
        .collect();
    let mut rows = vec![f64::NAN; count * COLUMNS];
    environments.reset(&beginnings, &mut rows);
    let mut all: Vec<Vec<f64>> = vec![Vec::new(); count];
    for step in 0..40 {
        for (kept, row) in all.iter_mut().zip(rows.chunks(COLUMNS)) {
            kept.extend_from_slice(row);
        }
        let orders: Vec<Order> = numbers
            .iter()
            .map(|number| order(step + *number as u64))
            .collect();
        environments.step(&orders, &vec![false; count], &mut rows);
    }
    all
}

fn bits(rows: &[Vec<f64>]) -> Vec<Vec<u64>> {
    rows.iter()
        .map(|row| row.iter().map(|value| value.to_bits()).collect())
        .collect()
}

#[test]
fn environments_do_not_depend_on_each_other_or_on_threads() {
    for clock in [
        Clock::RoundTrips(1.0),
        Clock::Fixed(Span::from_millis(30)),
        Clock::Acks(5),
        Clock::Congestion,
    ] {
        let numbers: Vec<usize> = (0..70).collect();
        let together = bits(&observed(&numbers, 1, clock));
        assert!(together[0] != together[2], "seeds differ");
        for threads in [2, 8] {
            assert_eq!(
                together,
                bits(&observed(&numbers, threads, clock)),
                "{clock:?}"
            );
        }
        for number in [0, 33, 69] {
            let alone = bits(&observed(&[number], 1, clock));
            assert_eq!(together[number], alone[0], "{clock:?}");
        }
    }
}

fn column(name: &str) -> usize {
    NAMES.iter().position(|other| *other == name).unwrap()
}

/// Steps the only environment of a scenario under one order, and returns its rows.
fn rows_under(order: Order, clock: Clock, assignments: &[&str]) -> Vec<Vec<f64>> {
    let assignments = [&[STEERED, "flows.bulk.count=1"], assignments].concat();
    let scenario = scenario(DUMBBELL, &assignments);
    let mut environment = Environment::new(&scenario, 0, 1, clock);
    let mut row = vec![f64::NAN; COLUMNS];
    environment.begin(&mut row);
    let mut rows = vec![row.clone()];
    while row[1] == 0.0 {
        environment.step(&[order], &mut row);
        rows.push(row.clone());
    }
    rows
}

#[test]
fn a_constant_window_gets_window_by_round_trip_or_the_link() {
    for (segments, limited) in [(4, false), (40, true)] {
        let order = Order {
            cwnd: Some(Bytes(1448 * segments)),
            rate: None,
        };
        let own = ["duration=20 s", r#"flows.bulk.start="0 s""#];
        let rows = rows_under(order, Clock::RoundTrips(1.0), &own);
        let (delivered, interval) = (column("delivered_bytes"), column("interval_s"));
        let steady = &rows[20..rows.len() - 1];
        let bytes: f64 = steady.iter().map(|row| row[delivered]).sum();
        let seconds: f64 = steady.iter().map(|row| row[interval]).sum();
        let rtt: f64 = steady.iter().map(|row| row[column("rtt_mean_s")]).sum();
        let rtt = rtt / steady.len() as f64;
        let by_window = 1448.0 * segments as f64 / rtt;
        // 52 bytes of header, with timestamps.
        let link = 6e6 / 8.0 * 1448.0 / 1500.0;
        let expected = if limited { link } else { by_window };
        let goodput = bytes / seconds;
        assert!(
            (goodput / expected - 1.0).abs() < 0.005,
            "{goodput} {expected}"
        );
    }
}

#[test]
fn the_clocks_stop_at_what_they_say() {
    let order = Order {
        cwnd: Some(Bytes(1448 * 12)),
        rate: None,
    };
    for row in &rows_under(order, Clock::Acks(5), &[])[1..] {
        let acks = row[column("acks")];
        assert!(
            acks == 5.0 || row[1] != 0.0 || row[column("interval_s")] >= 0.2,
            "{acks}"
        );
    }
    let congestion = rows_under(order, Clock::Congestion, &[LOSSY]);
    let lost = column("lost_bytes");
    assert!(congestion.iter().filter(|row| row[lost] > 0.0).count() > 10);
    for row in rows_under(order, Clock::Fixed(Span::from_millis(25)), &[])
        .iter()
        .skip(1)
    {
        assert!(row[1] != 0.0 || (row[column("interval_s")] - 0.025).abs() < 1e-9);
    }
}

#[test]
fn an_order_acts_on_the_segments_sent_after_it_at_once() {
    let own = scenario(
        DUMBBELL,
        &[STEERED, "flows.bulk.count=1", r#"flows.bulk.start="0 s""#],
    );
    let window = |segments: u64| Order {
        cwnd: Some(Bytes(1448 * segments)),
        rate: None,
    };
    let mut environment = Environment::new(&own, 0, 1, Clock::Fixed(Span::from_millis(100)));
    let mut row = vec![f64::NAN; COLUMNS];
    environment.begin(&mut row);
    for _ in 0..10 {
        environment.step(&[window(2)], &mut row);
    }
    let in_flight = row[column("in_flight_bytes")];
    assert_eq!(in_flight, 2.0 * 1448.0);
    // Shorter than any round trip: no ACK can have let these segments go.
    let mut quick = Environment::new(&own, 0, 1, Clock::Fixed(Span::from_micros(100)));
    quick.begin(&mut row);
    for _ in 0..2000 {
        quick.step(&[window(2)], &mut row);
    }
    quick.step(&[window(6)], &mut row);
    assert_eq!(row[column("in_flight_bytes")], 6.0 * 1448.0);
    assert_eq!(row[column("sent_bytes")], 4.0 * 1448.0);
}
