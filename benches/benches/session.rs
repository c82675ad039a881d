//! Cost of a packet at both ends, without sockets: sealed, verified, passed to the control and
//! answered; then the answer sealed, verified and passed to the control. At 1 Gbit/s a packet of
//! 1200 bytes has 9.6 µs on each side.

use ackclock_core::datagram::DatagramParameters;
use ackclock_core::rate_control::RateControlKind;
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::{Kind, Selection, choose};
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use ackclock_transport::keys::{SharedKey, TagKey};
use ackclock_transport::session::{Receiver, ReceiverSettings, Sender, SenderSettings, Source};
use ackclock_transport::wire::{LONGEST, LONGEST_PAYLOAD};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::net::SocketAddr;

const PACKETS: u64 = 10_000;
const RATE: f64 = 1000.0; // Mbit/s

fn control(name: &str) -> Selection<RateControlKind> {
    choose(&serde_json::json!({ "kind": name }), &NoFiles).expect("its defaults are good")
}

/// Two ends on a path with a delay of a millisecond.
struct Pair {
    now: Time,
    sender: Sender,
    receiver: Receiver,
    from: SocketAddr,
    datagrams: Vec<u8>,
    answers: Vec<u8>,
    payload: Vec<u8>,
}

impl Pair {
    fn new(name: &str) -> Self {
        let payload = Bytes(LONGEST_PAYLOAD as u64);
        let settings = SenderSettings {
            key: SharedKey::public(),
            controls: vec![control(name)],
            most: Some(BitRate::from_mbit_per_s(RATE)),
            datagrams: DatagramParameters {
                mss: payload,
                granularity: Span::from_millis(1),
                ..DatagramParameters::default()
            },
            catch_up: Span::from_millis(10),
            finer_ticks: true,
            streams: Streams::new(1, 0),
            place: "flow/0".into(),
            anywhere: false,
        };
        let asked = ReceiverSettings {
            key: SharedKey::public(),
            sender: SocketAddr::from(([127, 0, 0, 1], 7400)),
            control: control(name),
            payload,
            most: None,
            wait: Span::from_millis(10_000),
        };
        Pair {
            now: Time::ZERO,
            sender: Sender::new(settings, Source::Synthetic(None), &[1; 32]),
            receiver: Receiver::new(Time::ZERO, asked, [2; 16]),
            from: SocketAddr::from(([127, 0, 0, 1], 7401)),
            datagrams: Vec::new(),
            answers: Vec::new(),
            payload: Vec::new(),
        }
    }

    fn sent(&self) -> u64 {
        self.sender
            .report()
            .map_or(0, |report| report.statistics.sent)
    }

    /// Advances the clock by a tick; transmits and answers everything due in it.
    fn tick(&mut self) {
        self.now = self.now + Span::from_millis(1);
        let now = self.now;
        loop {
            self.datagrams.clear();
            if self
                .sender
                .poll_transmit(now, &mut self.datagrams)
                .is_none()
            {
                break;
            }
            self.receiver
                .handle_datagram(now, &self.datagrams, false, &mut self.payload);
            self.payload.clear();
            self.answer();
        }
        self.answer();
    }

    fn answer(&mut self) {
        let later = self.now + Span::from_micros(100);
        let mut back = Vec::new();
        self.answers.clear();
        while self
            .receiver
            .poll_transmit(self.now, &mut self.answers)
            .is_some()
        {
            self.sender
                .handle_datagram(later, self.from, &self.answers, &mut back);
            if !back.is_empty() {
                self.receiver
                    .handle_datagram(later, &back, false, &mut self.payload);
            }
            self.answers.clear();
        }
        self.now = later;
    }
}

fn packets(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("session");
    group
        .sample_size(10)
        .throughput(Throughput::Elements(PACKETS));
    for entry in RateControlKind::ENTRIES {
        let mut pair = Pair::new(entry.name);
        group.bench_function(entry.name, |bencher| {
            bencher.iter(|| {
                let begin = pair.sent();
                while pair.sent() < begin + PACKETS {
                    pair.tick();
                }
            });
        });
    }
    group.finish();
    let key = TagKey::new(&[1; 32]);
    let datagram = [0x5a; LONGEST];
    let mut group = criterion.benchmark_group("tag");
    group.throughput(Throughput::Bytes(LONGEST as u64));
    group.bench_function("1200 bytes", |bencher| {
        bencher.iter(|| key.tag(black_box(&datagram)))
    });
    group.finish();
}

criterion_group!(benches, packets);
criterion_main!(benches);
