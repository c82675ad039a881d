//! Cost of reading a packet from files in the page cache: full segments and ACKs with SACK blocks
//! on Ethernet, as tcpdump keeps them with `-s 96` and whole.

#[path = "../../crates/ackclock-pcap/tests/integration/samples.rs"]
mod samples;

use ackclock_pcap::Reader;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use samples::{ACK, MICROSECONDS, NANOSECONDS, Order, SACK_OPTIONS, TCP};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

const PACKETS: usize = 200_000;

/// Returns frames cut at `held` bytes. Numbers and payload differ from packet to packet; otherwise
/// gzip would have nothing to do.
fn frames(held: usize) -> Vec<Vec<u8>> {
    let mut random = 1_u32;
    let mut frame = |number: usize| {
        let sequence = 1_448 * (number as u32 / 2);
        let (options, payload) = if number.is_multiple_of(2) {
            (&SACK_OPTIONS[..12], 1_448)
        } else {
            (&SACK_OPTIONS[..], 0)
        };
        let mut segment = samples::tcp(ACK, sequence, options, payload);
        let (header, payload) = segment.split_at_mut(20 + options.len());
        header[24..28].copy_from_slice(&(number as u32 / 10).to_be_bytes());
        for byte in payload {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = (random >> 24) as u8;
        }
        let mut frame = samples::on_link(1, &samples::ipv4(TCP, &[], 0x4000, &segment));
        frame.truncate(held);
        frame
    };
    (0..PACKETS).map(&mut frame).collect()
}

fn write(name: &str, content: &[u8]) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&file, content).expect("the target directory can be written");
    file
}

fn read(criterion: &mut Criterion) {
    let (headers, whole) = (frames(96), frames(usize::MAX));
    let pcap = samples::pcap(Order::Little, MICROSECONDS, 1, &headers);
    let files = [
        ("pcap_headers", write("headers.pcap", &pcap)),
        (
            "pcap_headers_gzip",
            write("headers.pcap.gz", &samples::gzip(&pcap)),
        ),
        (
            "pcap_whole",
            write(
                "whole.pcap",
                &samples::pcap(Order::Big, NANOSECONDS, 1, &whole),
            ),
        ),
        (
            "pcapng_headers",
            write(
                "headers.pcapng",
                &samples::pcapng(Order::Little, 1, &headers),
            ),
        ),
    ];
    let mut group = criterion.benchmark_group("read");
    group
        .throughput(Throughput::Elements(PACKETS as u64))
        .sample_size(20);
    for (name, path) in files {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let file = File::open(&path).expect("it was written");
                let reader = Reader::new(file).expect("it is a capture");
                assert_eq!(reader.flatten().count(), PACKETS);
            });
        });
        // A file that stays behind does no harm.
        let _ = fs::remove_file(path);
    }
    group.finish();
}

criterion_group!(benches, read);
criterion_main!(benches);
