//! Cost of a packet: analysis alone, over few connections and many, and together with reading it
//! from a file.

use ackclock_core::endpoint::parameters::Preset;
use ackclock_core::packet::{Content, Ecn, FlowId, Packet, PacketKind};
use ackclock_measure::{Measurement, Parameters};
use ackclock_pcap::packet::{Flags, Segment, Transport};
use ackclock_pcap::{Capture, CapturedPacket, FlowAddresses, Labels, PacketEncoder, Reader};
use ackclock_spec::units::Time;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const PACKETS: usize = 600_000;
const MSS: u32 = 1448;
/// Segments in flight in each connection.
const WINDOW: u32 = 40;

/// Returns packets of the connections in turn: two segments, and their ACK a round trip of 40 ms
/// later. One segment in `lost` is retransmitted after SACK.
fn packets(connections: u32, lost: u32) -> Vec<CapturedPacket> {
    (0..PACKETS as u32)
        .map(|number| packet(number, number % connections, number / connections, lost))
        .collect()
}

fn packet(number: u32, connection: u32, turn: u32, lost: u32) -> CapturedPacket {
    let FlowAddresses { sender, receiver } = FlowAddresses::of(connection);
    let (pair, step) = (turn / 3, turn % 3);
    let is_ack = step == 2;
    let mut segment = Segment {
        window: 60_000,
        flags: Flags {
            ack: true,
            ..Flags::default()
        },
        ..Segment::default()
    };
    if is_ack {
        segment.sequence = 1;
        segment.acknowledgment = 1 + (2 * pair).saturating_sub(WINDOW) * MSS;
        segment.options.timestamps = Some((number, number.saturating_sub(WINDOW)));
        if pair % lost < 3 {
            segment.acknowledgment -= segment.acknowledgment.min(2 * MSS * (pair % lost));
            segment.options.push_sack(
                segment.acknowledgment + MSS,
                segment.acknowledgment + (2 + pair % lost) * MSS,
            );
        }
    } else {
        let again = pair % lost == 3 && step == 0;
        let place = if again {
            (2 * pair).saturating_sub(WINDOW)
        } else {
            2 * pair + step
        };
        segment.sequence = 1 + place * MSS;
        segment.acknowledgment = 1;
        segment.payload = MSS;
        segment.options.timestamps = Some((number, number.saturating_sub(1)));
    }
    let (source, destination) = if is_ack {
        (receiver, sender)
    } else {
        (sender, receiver)
    };
    CapturedPacket {
        // Each connection has its round trip of 40 ms.
        at_ns: u64::from(turn) * 1_000_000 + u64::from(connection) * 50,
        source: source.into(),
        destination: destination.into(),
        ip_bytes: 52 + segment.payload,
        identification: number as u16 | 1,
        ecn: Ecn::NotCapable,
        transport: Transport::Tcp(segment),
    }
}

fn measurement() -> Measurement {
    Measurement::new(Parameters::default())
}

fn analysis(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("analysis");
    group
        .throughput(Throughput::Elements(PACKETS as u64))
        .sample_size(20);
    for (name, connections, lost) in [
        ("10_connections", 10, u32::MAX),
        ("10_connections_1_percent_lost", 10, 50),
        ("10000_connections", 10_000, u32::MAX),
    ] {
        let packets = packets(connections, lost);
        group.bench_function(name, |bencher| {
            let run = |mut measurement: Measurement| {
                for packet in &packets {
                    measurement.handle_packet(black_box(packet));
                    while let Some(tables) = measurement.poll_tables() {
                        black_box(tables);
                    }
                }
                measurement
            };
            bencher.iter_batched(measurement, run, BatchSize::LargeInput);
        });
    }
    group.finish();
}

/// Returns a capture as `simulate` writes it, in memory.
fn file(connections: u32) -> Vec<u8> {
    let parameters = Preset::Linux.parameters();
    let encoder = |flow| PacketEncoder::tcp(FlowAddresses::of(flow), &parameters, None);
    let encoders = (0..connections).map(encoder).collect();
    let mut labels = vec![Labels::default(); connections as usize];
    let mut capture = Capture::new(Vec::new(), 96, encoders).expect("memory takes all");
    for number in 0..PACKETS as u64 {
        let (flow, turn) = (
            number % u64::from(connections),
            number / u64::from(connections),
        );
        let at = Time::from_nanos(turn * 1_000_000 + flow * 50);
        let (pair, step) = (turn / 3, turn % 3);
        let packet = match step {
            2 => {
                let sequence = (2 * pair).saturating_sub(u64::from(WINDOW));
                Packet::new(PacketKind::Ack, FlowId(flow as u32), sequence, 52, at)
            }
            _ => Packet::new(
                PacketKind::Data,
                FlowId(flow as u32),
                2 * pair + step,
                1500,
                at,
            ),
        };
        let labels = &mut labels[flow as usize];
        let label = labels.sent(at, &packet);
        labels.received(at, &packet);
        capture
            .write(at, &packet, Content::Nothing, label)
            .expect("memory takes all");
    }
    capture.finish().expect("memory takes all")
}

fn with_reading(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reading_and_analysis");
    group
        .throughput(Throughput::Elements(PACKETS as u64))
        .sample_size(20);
    for (name, connections) in [("10_connections", 10), ("10000_connections", 10_000)] {
        let file = file(connections);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut measurement = measurement();
                for packet in Reader::new(&file[..]).expect("it is a capture").flatten() {
                    measurement.handle_packet(&packet);
                    while let Some(tables) = measurement.poll_tables() {
                        black_box(tables);
                    }
                }
                measurement.finish();
                black_box(measurement.poll_tables());
            });
        });
    }
    group.finish();
}

criterion_group!(benches, analysis, with_reading);
criterion_main!(benches);
