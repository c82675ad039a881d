//! Cost of a packet in the driver alone: takes its bytes, passes it through the hops, records its
//! decisions, returns its bytes.

use ackclock_core::packet::FlowId;
use ackclock_emu::driver::Driver;
use ackclock_emu::ipv4::Direction;
use ackclock_scenario::network::{self, Network};
use ackclock_scenario::{Scenario, tree};
use ackclock_spec::files::NoFiles;
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{Span, Time};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const PACKETS: u64 = 20_000;
/// Nanoseconds between packets of 1500 bytes at 1 Gbit/s.
const SPACING: u64 = 12_000;
const PAYLOAD: [u8; 1500] = [0x45; 1500];

/// Returns a path of equal hops, crossed in about ten milliseconds, with a thousand packets inside.
fn network(hops: usize, impairments: &str) -> Network {
    let mut text = String::from("schema = 1\nname = \"path\"\nduration = \"100 s\"\n");
    let names: Vec<String> = (0..hops).map(|hop| format!("\"hop {hop}\"")).collect();
    for name in &names {
        text += &format!(
            "[[hops]]\nname = {name}\nlink = {{ kind = \"constant\", rate = \"1 Gbit/s\" }}\n\
             queue = {{ kind = \"droptail\", limit = \"1000 packets\" }}\ndelay = \"{} us\"\n\
             impairments = [{impairments}]\n",
            10_000 / hops
        );
    }
    text += &format!(
        "[[flows]]\nname = \"one\"\nroute = [{0}]\nreturn = [{0}]\n\
         transport = {{ kind = \"tcp\", control = {{ kind = \"reno\" }} }}\n\
         traffic = {{ kind = \"bulk\" }}\n",
        names.join(", ")
    );
    let tree = tree::from_toml(&text).expect("the text is TOML");
    let scenario = Scenario::from_tree(&tree, &NoFiles).expect("the scenario is sound");
    network::build(&scenario, &Streams::new(scenario.seed, 0))
}

fn drive(driver: &mut Driver) -> u64 {
    let mut bytes = 0;
    for number in 0..PACKETS {
        let now = Time::from_nanos(number * SPACING);
        driver.handle_packet(now, FlowId(0), Direction::Forward, &PAYLOAD);
        while let Some(departure) = driver.poll_departure(now) {
            bytes += u64::from(departure.bytes[number as usize % 1500]);
        }
        if driver.record_len() >= 2048 {
            driver.poll_record().clear();
        }
    }
    bytes
}

fn benchmark(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("driver");
    group.throughput(Throughput::Elements(PACKETS));
    let loss = "{ kind = \"iid_loss\", probability = \"1 %\" }";
    for (name, hops, impairments) in [
        ("1 hop", 1, ""),
        ("3 hops", 3, ""),
        ("1 lossy hop", 1, loss),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter_batched_ref(
                || Driver::new(network(hops, impairments), Span::from_millis(100), (0, 0)),
                |driver| black_box(drive(driver)),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, benchmark);
criterion_main!(benches);
