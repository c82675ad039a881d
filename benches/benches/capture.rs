//! Cost of writing a packet to a capture, its label included: full segments and ACKs with SACK
//! blocks, cut at 96 bytes.

use ackclock_core::endpoint::parameters::Preset;
use ackclock_core::packet::{Content, FlowId, Packet, PacketKind, SackBlock};
use ackclock_pcap::{Capture, FlowAddresses, Labels, PacketEncoder};
use ackclock_spec::units::Time;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::io::{BufWriter, sink};

fn capture(criterion: &mut Criterion) {
    let parameters = Preset::Linux.parameters();
    let encoder = PacketEncoder::tcp(FlowAddresses::of(0), &parameters, None);
    let mut capture =
        Capture::new(BufWriter::new(sink()), 96, vec![encoder]).expect("a sink takes all");
    let mut labels = Labels::default();
    let sacks = [SackBlock { start: 5, end: 9 }; 3];
    let mut nanos = 0;
    let mut group = criterion.benchmark_group("capture");
    group.throughput(Throughput::Elements(2));
    group.bench_function("segment_and_ack", |bencher| {
        bencher.iter(|| {
            nanos += 1_000;
            let at = Time::from_nanos(nanos);
            let data = Packet::new(PacketKind::Data, FlowId(0), nanos, 1500, at);
            let ack = Packet::new(PacketKind::Ack, FlowId(0), nanos, 52, at);
            labels.sent(at, &ack);
            let (sent, received) = (labels.sent(at, &data), labels.received(at, &ack));
            labels.received(at, &data);
            capture
                .write(at, black_box(&data), Content::Nothing, sent)
                .expect("a sink takes all");
            capture
                .write(
                    at,
                    black_box(&ack),
                    black_box(Content::Sacks(&sacks)),
                    received,
                )
                .expect("a sink takes all");
        });
    });
    group.finish();
}

criterion_group!(benches, capture);
criterion_main!(benches);
