//! Bounds of memory and time: the cost of a measurement grows neither with the length of a capture
//! nor with SYNs from strangers.
//!
//! Both are measured for the whole process, so this program runs one test at a time. `MUTATED=20000
//! cargo test -p ackclock-measure --test bounds -- --nocapture` tries as many mutated captures and
//! prints the cost of the worst.

#[path = "integration/common.rs"]
mod common;

use ackclock_core::packet::Ecn;
use ackclock_core::result::Column;
use ackclock_measure::measurement::Surplus;
use ackclock_measure::{Measurement, Parameters};
use ackclock_pcap::packet::{Flags, Segment, Transport};
use ackclock_pcap::{CapturedPacket, Reader};
use common::*;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most memory, in kilobytes, and most processor time, in seconds, that one capture may take.
const MOST_KB: u64 = 300_000;
const MOST_S: f64 = 2.0;

/// Ensures that one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the most memory that the process has had since [`forget_peak`], in kilobytes (proc(5)).
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn forget_peak() {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
}

/// Returns the processor time of this thread in seconds. Its time on a processor in nanoseconds is
/// the first number (proc(5)).
fn processor_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace()
        .next()
        .unwrap()
        .parse::<f64>()
        .unwrap()
        / 1e9
}

/// Counts the rows of each table, and discards them like a caller that writes them to disk.
fn count_rows(
    parameters: Parameters,
    packets: impl Iterator<Item = CapturedPacket>,
) -> (Vec<(&'static str, usize)>, Measurement) {
    let mut measurement = Measurement::new(parameters);
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    let mut take = |measurement: &mut Measurement| {
        while let Some(tables) = measurement.poll_tables() {
            for (name, table) in tables {
                let rows = numbers_of(&table.0[0].1);
                match counts.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, count)) => *count += rows,
                    None => counts.push((name, rows)),
                }
            }
        }
    };
    for packet in packets {
        measurement.handle_packet(&packet);
        take(&mut measurement);
    }
    measurement.finish();
    take(&mut measurement);
    (counts, measurement)
}

fn numbers_of(column: &Column) -> usize {
    match column {
        Column::Number(rows) => rows.len(),
        Column::Integer(rows) => rows.len(),
        Column::Text(words) => words.indices.len(),
    }
}

fn rows_of(counts: &[(&'static str, usize)], name: &str) -> usize {
    counts
        .iter()
        .find(|(known, _)| *known == name)
        .map_or(0, |(_, count)| *count)
}

/// Returns a transfer of some seconds, two thousand packets, as the file that `simulate` writes.
fn file() -> Vec<u8> {
    let lossy = "hops.forth.impairments=[{ kind = \"iid_loss\", probability = \"1 %\" }]";
    let assignments = [
        lossy,
        "duration=\"6 s\"",
        "flows.one.traffic={ kind = \"transfer\", size = \"3 MB\" }",
    ];
    run(&scenario(PIPE, &assignments), 0).file
}

/// Thirty days pass while data is in flight.
#[test]
fn memory_does_not_grow_with_time() {
    let _alone = alone();
    const MONTH: u64 = 30 * 86_400 * 1_000_000_000;
    let mut packets = read(&file());
    let half = packets.len() / 2;
    packets[half..]
        .iter_mut()
        .for_each(|packet| packet.at_ns += MONTH);
    forget_peak();
    let (before, busy) = (peak_kb(), processor_s());
    let few = packets.len();
    let (counts, measurement) = count_rows(Parameters::default(), packets.into_iter());
    assert!(
        peak_kb().saturating_sub(before) < 30_000,
        "{} kB",
        peak_kb().saturating_sub(before)
    );
    assert!(processor_s() - busy < MOST_S);
    assert!(rows_of(&counts, "samples") < 2 * few, "{counts:?}");
    assert_eq!(measurement.repairs().wrong_times, 0);
}

/// A month with a packet each ten seconds: samples become less and less frequent. An interval has
/// one, whatever its packets, so that more packets would show nothing else.
#[test]
fn samples_grow_with_the_logarithm_of_time() {
    let _alone = alone();
    let script = Script::default();
    let packets = (0..259_200_u64).map(|n| script.data(n * 10_000_000_000, n as u32 * 100, 100));
    let (counts, _) = count_rows(Parameters::default(), packets);
    let samples = rows_of(&counts, "samples");
    // 26 million intervals are 9.6 doublings of 32,768; one direction has data.
    assert!((100_000..11 * 32_768).contains(&samples), "{samples}");
}

/// Packets with arbitrary times, as classic pcap and pcapng can hold them: the number of rows is
/// bounded by that of packets, so that the work is, too.
#[test]
fn rows_do_not_grow_with_arbitrary_times() {
    let _alone = alone();
    let packets = read(&file());
    let seconds: fn(u64) -> u64 = |draw| (draw as u32 as u64) * 1_000_000_000 + (draw >> 40);
    let laws: [fn(u64) -> u64; 4] = [
        seconds,
        |draw| draw,
        |draw| draw >> (draw % 64),
        |draw| u64::MAX - draw % 2_000_000_000,
    ];
    let mut set_back = 0;
    for (seed, time) in (0..).zip(laws.into_iter().cycle().take(40)) {
        let mut draws = Draws(seed);
        let count = 70 + draws.below(200);
        let mut packets: Vec<_> = packets.iter().take(count).cloned().collect();
        packets
            .iter_mut()
            .for_each(|packet| packet.at_ns = time(draws.next()));
        let busy = processor_s();
        let (counts, measurement) = count_rows(Parameters::default(), packets.into_iter());
        assert!(processor_s() - busy < MOST_S, "seed {seed}");
        assert!(rows_of(&counts, "limit_periods") <= 4 * count, "{counts:?}");
        assert!(rows_of(&counts, "samples") <= 70 * count, "{counts:?}");
        set_back += measurement.repairs().set_back;
    }
    assert!(set_back > 40);
}

/// A single wrong time changes nothing else.
#[test]
fn a_wrong_time_changes_nothing() {
    let _alone = alone();
    let packets = read(&file());
    let right = measure_foreign(Parameters::default(), &packets);
    for wrong in [0, 30 * 86_400 * 1_000_000_000_u64, u64::MAX] {
        let mut packets = packets.clone();
        let middle = packets.len() / 2;
        let (before, after) = (packets[middle - 1].at_ns, packets[middle + 1].at_ns);
        packets[middle].at_ns = wrong;
        let measured = measure_foreign(
            Parameters {
                origin_ns: Some(packets[0].at_ns),
                ..Parameters::default()
            },
            &packets,
        );
        assert!(after - before < 10_000_000, "its neighbours are close");
        for name in [
            "packets",
            "retransmitted_packets",
            "end_s",
            "acknowledged_bytes",
            "limit",
        ] {
            let (right, measured) = (
                column(&right, "connections", name),
                column(&measured, "connections", name),
            );
            assert_eq!(format!("{right:?}"), format!("{measured:?}"), "{name}");
        }
        let samples = |tables: &Tables| numbers(tables, "samples", "time_s").len();
        assert!(samples(&right).abs_diff(samples(&measured)) <= 1);
    }
}

/// Packets from one side of a connection without options.
#[derive(Default)]
struct Script {
    from: u32,
}

impl Script {
    fn packet(&self, at_ns: u64, segment: Segment) -> CapturedPacket {
        let client = |number: u32| {
            SocketAddr::new(
                IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + number / 60_000)),
                (number % 60_000) as u16 + 1,
            )
        };
        CapturedPacket {
            at_ns,
            source: client(self.from),
            destination: "192.0.2.1:80".parse().unwrap(),
            ip_bytes: 40 + segment.payload,
            identification: 0,
            ecn: Ecn::NotCapable,
            transport: Transport::Tcp(segment),
        }
    }

    fn syn(&self, at_ns: u64) -> CapturedPacket {
        let flags = Flags {
            syn: true,
            ..Flags::default()
        };
        self.packet(
            at_ns,
            Segment {
                flags,
                window: 1_000,
                ..Segment::default()
            },
        )
    }

    /// Returns the reset that refuses a SYN.
    fn refused(&self, at_ns: u64) -> CapturedPacket {
        let flags = Flags {
            rst: true,
            ack: true,
            ..Flags::default()
        };
        let mut packet = self.packet(
            at_ns,
            Segment {
                flags,
                acknowledgment: 1,
                ..Segment::default()
            },
        );
        std::mem::swap(&mut packet.source, &mut packet.destination);
        packet
    }

    fn data(&self, at_ns: u64, sequence: u32, payload: u32) -> CapturedPacket {
        let flags = Flags {
            ack: true,
            ..Flags::default()
        };
        self.packet(
            at_ns,
            Segment {
                flags,
                sequence,
                payload,
                window: 1_000,
                ..Segment::default()
            },
        )
    }
}

/// A flood of SYNs in ten seconds, one spread over a day, and a scan of closed ports.
#[test]
fn memory_does_not_grow_with_strangers() {
    let _alone = alone();
    const STRANGERS: u32 = 100_000;
    // What is followed at a time takes some 28 MB. Growth by 70 bytes a stranger is too much.
    const MOST_KB: u64 = 35_000;
    let parameters = Parameters::default();
    for gap in [40_000, 345_600_000] {
        forget_peak();
        let before = peak_kb();
        let syns = (0..STRANGERS).map(|from| Script { from }.syn(u64::from(from) * gap));
        let (counts, measurement) = count_rows(parameters, syns);
        let rows = rows_of(&counts, "connections") as u64;
        assert!(
            peak_kb().saturating_sub(before) < MOST_KB,
            "{} kB",
            peak_kb().saturating_sub(before)
        );
        assert!(rows <= parameters.most_empty_rows, "{rows}");
        let empty = u64::from(STRANGERS) - rows;
        assert_eq!(
            measurement.surplus(),
            Surplus {
                empty,
                ended_early: 0
            },
            "each has a row or is counted"
        );
    }
    forget_peak();
    let before = peak_kb();
    let scan = (0..STRANGERS).flat_map(|from| {
        let (one, at) = (Script { from }, u64::from(from) * 12_000);
        [one.syn(at), one.refused(at + 500)]
    });
    let (counts, measurement) = count_rows(parameters, scan);
    assert!(
        peak_kb().saturating_sub(before) < MOST_KB,
        "{} kB",
        peak_kb().saturating_sub(before)
    );
    assert!(
        measurement.surplus().empty > u64::from(STRANGERS) * 9 / 10
            && rows_of(&counts, "connections") > 0,
        "{counts:?}"
    );
}

/// Strangers do not end connections that carry data. If there are too many of these, those silent
/// longest are ended, and have their rows.
#[test]
fn what_carries_something_stays() {
    let _alone = alone();
    let parameters = Parameters {
        most_live: 64,
        most_empty: 32,
        ..Parameters::default()
    };
    let mut packets = Vec::new();
    for from in 0..200 {
        packets.push(Script { from }.data(u64::from(from) * 1_000, 7, 100));
        packets.extend((0..10).map(|n| {
            Script {
                from: 1_000 + 10 * from + n,
            }
            .syn(u64::from(from) * 1_000 + 1)
        }));
    }
    packets.push(Script { from: 199 }.data(300_000, 107, 100));
    let (counts, measurement) = count_rows(parameters, packets.into_iter());
    let surplus = measurement.surplus();
    assert!((100..=150).contains(&surplus.ended_early), "{surplus:?}");
    let rows = rows_of(&counts, "connections") as u64;
    assert_eq!(rows + surplus.empty, 200 + 2_000, "each once");
    assert_eq!(
        rows_of(&counts, "flows"),
        200,
        "those with payload all have rows"
    );
}

/// Random numbers of SplitMix64 (Steele, Lea, Flood 2014).
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Returns the offsets of the records of a capture, and of its end.
fn records(file: &[u8]) -> Vec<usize> {
    let mut places = vec![24];
    while let Some(kept) = file
        .get(places[places.len() - 1] + 8..)
        .and_then(|rest| rest.get(..4))
    {
        let kept = u32::from_le_bytes(kept.try_into().unwrap()) as usize;
        places.push(places[places.len() - 1] + 16 + kept);
    }
    places
}

/// Damages a capture in one to forty places: bits, times, lengths, numbers; whole records doubled,
/// moved or removed; the end cut off.
fn mutate(file: &[u8], places: &[usize], draws: &mut Draws) -> Vec<u8> {
    let count = places.len() - 1;
    let mut order: Vec<usize> = (0..count).collect();
    let mut bytes = file.to_vec();
    for _ in 0..=draws.below(40) {
        let record = draws.below(count);
        let (start, end) = (places[record], places[record + 1]);
        match draws.below(10) {
            0 => bytes[start + 16 + draws.below(end - start - 16)] ^= 1 << draws.below(8),
            1 => bytes[start + draws.below(16)] ^= 1 << draws.below(8),
            // Seconds: of this record, or of all that follow.
            2 => bytes[start..start + 4].copy_from_slice(&(draws.next() as u32).to_le_bytes()),
            3 => {
                let ahead = (draws.next() as u32) >> draws.below(31);
                for place in &places[record..count] {
                    let field = &mut bytes[*place..*place + 4];
                    let seconds =
                        u32::from_le_bytes((&*field).try_into().unwrap()).wrapping_add(ahead);
                    field.copy_from_slice(&seconds.to_le_bytes());
                }
            }
            // Bytes of the headers: IPv4 has 20, followed by TCP.
            4 => bytes[start + 16 + draws.below(40)] = draws.next() as u8,
            5 => {
                bytes[start + 16 + 24..start + 16 + 32].copy_from_slice(&draws.next().to_le_bytes())
            }
            6 => order.insert(draws.below(order.len()), record),
            7 => {
                order.remove(draws.below(order.len()));
            }
            8 => {
                let (one, two) = (draws.below(order.len()), draws.below(order.len()));
                order.swap(one, two);
            }
            // Removes a run of packets.
            _ => {
                let from = draws.below(order.len());
                let to = (from + draws.below(200)).min(order.len() - 1);
                order.drain(from..to);
            }
        }
    }
    let mut mutated = bytes[..24].to_vec();
    order
        .iter()
        .for_each(|record| mutated.extend_from_slice(&bytes[places[*record]..places[*record + 1]]));
    if draws.below(10) == 0 {
        mutated.truncate(24 + draws.below(mutated.len() - 24));
    }
    mutated
}

/// A damaged capture takes neither long nor much memory, whatever the damage.
#[test]
fn mutated_captures_take_little() {
    let _alone = alone();
    let asked = option_env!("MUTATED").map(|count| count.parse().unwrap());
    let count: u64 = asked.unwrap_or(300);
    let file = file();
    let places = records(&file);
    assert!(
        file.len() > 200_000 && places.len() > 2_000,
        "{} {}",
        file.len(),
        places.len()
    );
    let (mut longest, mut largest, mut most_rows) = (0.0_f64, 0, 0);
    for seed in 0..count {
        let mutated = mutate(&file, &places, &mut Draws(seed));
        forget_peak();
        let begun = processor_s();
        let packets = Reader::new(&mutated[..]).unwrap().map_while(Result::ok);
        let parameters = Parameters {
            segments: seed % 2 == 0,
            ..Parameters::default()
        };
        let (counts, _) = count_rows(parameters, packets);
        let (took, peak) = (processor_s() - begun, peak_kb());
        assert!(
            took < MOST_S && peak < MOST_KB,
            "seed {seed}: {took} s, {peak} kB"
        );
        longest = longest.max(took);
        largest = largest.max(peak);
        most_rows = most_rows.max(counts.iter().map(|(_, count)| count).sum());
    }
    println!("{count} mutated captures: at most {longest:.3} s, {largest} kB, {most_rows} rows");
}
