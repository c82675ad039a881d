//! Real-world captures: truncated, with packets missing, doubled, out of order. Nothing may panic,
//! invariants must hold, and results that cannot have changed must be the same.

use crate::common::*;
use ackclock_measure::Parameters;
use ackclock_pcap::CapturedPacket;
use ackclock_pcap::packet::{Segment, Transport};
use proptest::prelude::*;
use std::sync::OnceLock;

/// Returns captures at the senders and at the receivers of three connections with losses. Two of
/// them have timestamps, and one ends.
fn captures() -> &'static [Vec<CapturedPacket>; 2] {
    static CAPTURES: OnceLock<[Vec<CapturedPacket>; 2]> = OnceLock::new();
    CAPTURES.get_or_init(|| {
        let flows = "\n[[flows]]\nname = \"two\"\nroute = [\"forth\"]\nreturn = [\"back\"]\n\
            transport = { kind = \"tcp\", control = { kind = \"cubic\" }, preset = \"rfc\" }\n\
            traffic = { kind = \"bulk\" }\n\
            [[flows]]\nname = \"three\"\nroute = [\"forth\"]\nreturn = [\"back\"]\n\
            transport = { kind = \"tcp\", control = { kind = \"reno\" }, preset = \"linux\", \
            recovery = \"newreno\", after_timeout = \"go_back_n\" }\n\
            traffic = { kind = \"transfer\", size = \"500 kB\" }\n";
        let text = format!("{PIPE}{flows}");
        let losses = "hops.forth.impairments=[{ kind = \"iid_loss\", probability = \"2 %\" }]";
        let acks = "hops.back.impairments=[{ kind = \"iid_loss\", probability = \"1 %\" }]";
        let ran = run(&scenario(&text, &[losses, acks, "duration=\"4 s\""]), 0);
        [ran.at_senders, ran.at_receivers]
    })
}

fn measured(packets: &[CapturedPacket]) -> Tables {
    let parameters = Parameters {
        origin_ns: Some(0), // keeps times before the first packet
        segments: true,
        chunk_rows: 1_000,
        ..Parameters::default()
    };
    measure_foreign(parameters, packets)
}

/// Returns the tables of a capture as it is, measured once for all cases.
fn unchanged(place: usize) -> &'static Tables {
    static TABLES: [OnceLock<Tables>; 2] = [const { OnceLock::new() }; 2];
    TABLES[place].get_or_init(|| measured(&captures()[place]))
}

fn tcp(packet: &CapturedPacket) -> &Segment {
    match &packet.transport {
        Transport::Tcp(segment) => segment,
        Transport::Udp { .. } => unreachable!("only TCP here"),
    }
}

/// Returns rows of columns of `connections` that belong together; rows with an unknown value are
/// left out.
fn rows(tables: &Tables, names: &[&str]) -> Vec<Vec<f64>> {
    let columns: Vec<Vec<f64>> = names
        .iter()
        .map(|name| numbers(tables, "connections", name))
        .collect();
    let row = |n: usize| {
        columns
            .iter()
            .map(|column| column[n])
            .filter(|value| !value.is_nan())
            .collect()
    };
    (0..columns[0].len()).map(row).collect()
}

/// Asserts the invariants of any capture.
fn check_laws(tables: &Tables, packets: &[CapturedPacket]) {
    for order in [
        &["unique_bytes", "payload_bytes"][..],
        &["largest_payload_bytes", "payload_bytes"],
        &["data_packets", "packets"],
        &["ack_rtt_min_s", "ack_rtt_mean_s", "ack_rtt_max_s"],
        &[
            "ack_rtt_min_s",
            "ack_rtt_median_s",
            "ack_rtt_p95_s",
            "ack_rtt_p99_s",
            "ack_rtt_max_s",
        ],
        &[
            "timestamp_rtt_min_s",
            "timestamp_rtt_mean_s",
            "timestamp_rtt_max_s",
        ],
        &[
            "receive_window_min_bytes",
            "receive_window_mean_bytes",
            "receive_window_max_bytes",
        ],
        &["in_flight_mean_bytes", "in_flight_max_bytes"],
        &[
            "losses_lower",
            "losses_estimate",
            "losses_upper",
            "retransmitted_packets",
        ],
        &[
            "retransmissions_spurious",
            "retransmitted_packets",
            "data_packets",
        ],
        &["triple_duplicate_acks", "duplicate_acks", "pure_acks"],
        &["start_s", "first_data_s", "last_data_s", "end_s"],
    ] {
        for row in rows(tables, order) {
            assert!(row.is_sorted(), "{order:?}: {row:?}");
        }
    }
    check_sums(tables, packets);
    check_stretches(tables);
    check_series(tables);
    check_law_of_round_trips(tables);
}

/// Asserts that classes add up, that nothing is negative, and that every packet is counted once.
fn check_sums(tables: &Tables, packets: &[CapturedPacket]) {
    let classes = ["fast", "timeout", "after_timeout", "tail_probe", "unclear"]
        .map(|class| format!("retransmissions_{class}"));
    let all: Vec<&str> = classes
        .iter()
        .map(String::as_str)
        .chain(["retransmitted_packets"])
        .collect();
    for row in rows(tables, &all) {
        assert!(
            row.len() < 6 || row[..5].iter().sum::<f64>() == row[5],
            "{row:?}"
        );
    }
    for name in [
        "in_flight_mean_bytes",
        "ack_rtt_min_s",
        "sender_side_rtt_s",
        "start_s",
        "missed_bytes",
    ] {
        assert!(
            numbers(tables, "connections", name)
                .iter()
                .all(|value| value.is_nan() || *value >= 0.0),
            "{name}"
        );
    }
    let seen = numbers(tables, "connections", "packets")
        .iter()
        .sum::<f64>()
        + numbers(tables, "connections", "duplicated_packets")
            .iter()
            .sum::<f64>();
    assert_eq!(seen, packets.len() as f64, "every packet is counted once");
}

/// Asserts that buckets are narrow and not empty.
fn check_law_of_round_trips(tables: &Tables) {
    for ((low, high), samples) in numbers(tables, "rtt_histogram", "low_s")
        .iter()
        .zip(numbers(tables, "rtt_histogram", "high_s"))
        .zip(numbers(tables, "rtt_histogram", "samples"))
    {
        assert!(*low < high && samples >= 1.0);
        assert!(high - low <= 0.01 * low || high < 1e-6, "{low} {high}");
    }
}

/// Asserts that shares are in range, and that the periods of a direction cover its time without
/// gaps.
fn check_stretches(tables: &Tables) {
    for row in rows(tables, &["limit_share"]) {
        assert!(
            row.iter().all(|share| *share > 0.0 && *share <= 1.0),
            "{row:?}"
        );
    }
    let keys = |table: &str| -> Vec<(String, i64)> {
        let instances = numbers(tables, table, "instance")
            .into_iter()
            .map(|instance| instance as i64);
        texts(tables, table, "flow")
            .into_iter()
            .zip(instances)
            .collect()
    };
    let (start, end) = (
        numbers(tables, "limit_periods", "start_s"),
        numbers(tables, "limit_periods", "end_s"),
    );
    let limits = texts(tables, "limit_periods", "limit");
    let of_stretches = keys("limit_periods");
    let (dominant, shares) = (
        texts(tables, "connections", "limit"),
        numbers(tables, "connections", "limit_share"),
    );
    for (row, key) in keys("connections").iter().enumerate() {
        let own: Vec<usize> = (0..start.len())
            .filter(|n| of_stretches[*n] == *key)
            .collect();
        assert!(
            own.windows(2).all(|pair| end[pair[0]] == start[pair[1]]),
            "without gaps"
        );
        assert!(own.iter().all(|n| start[*n] <= end[*n]));
        let time = |limit: &str| -> f64 {
            let these = own
                .iter()
                .filter(|n| limit.is_empty() || limits[**n] == limit);
            these.map(|n| end[*n] - start[*n]).sum()
        };
        // Seconds since 1970 are rounded to a part in 2^53.
        let last = own.last().map_or(0.0, |n| end[*n]);
        let rounding = own.len() as f64 * last * f64::EPSILON;
        if !own.is_empty() {
            let apart = (time(&dominant[row]) - shares[row] * time("")).abs();
            assert!(apart <= 1e-6 * time("") + rounding, "{apart} {rounding}");
        }
    }
}

/// Asserts that counts do not fall and that time goes on.
fn check_series(tables: &Tables) {
    let keys: Vec<_> = texts(tables, "samples", "flow")
        .into_iter()
        .zip(numbers(tables, "samples", "instance"))
        .collect();
    for name in [
        "time_s",
        "delivered_bytes",
        "sent_packets",
        "retransmitted_packets",
    ] {
        let series = numbers(tables, "samples", name);
        let mut last = std::collections::HashMap::new();
        for ((flow, instance), value) in keys.iter().zip(series) {
            let before = last.insert((flow, *instance as i64), value);
            assert!(
                before.is_none_or(|before| before <= value),
                "{name} of {flow}"
            );
        }
    }
}

/// Asserts that two results have the same numbers, except those of some columns.
fn assert_same(first: &Tables, second: &Tables, table: &str, names: &[&str], but: bool) {
    let columns = &first
        .iter()
        .find(|(name, _)| *name == table)
        .expect(table)
        .1
        .0;
    for (name, cells) in columns {
        if names.contains(name) != but {
            let same = format!("{cells:?}") == format!("{:?}", column(second, table, name));
            assert!(same, "{table}.{name} has changed");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_part_of_a_capture(place in 0..2_usize, from in 0.0..1.0_f64, length in 0.0..1.0_f64) {
        let packets = &captures()[place];
        let from = (from * packets.len() as f64) as usize;
        let length = (length * (packets.len() - from) as f64) as usize;
        let part = &packets[from..from + length];
        let tables = measured(part);
        check_laws(&tables, part);
        let payload: u64 = part.iter().map(|packet| u64::from(tcp(packet).payload)).sum();
        prop_assert_eq!(
            numbers(&tables, "connections", "payload_bytes").iter().sum::<f64>(),
            payload as f64,
        );
    }

    #[test]
    fn packets_the_capture_missed(
        place in 0..2_usize,
        kept in prop::collection::vec(prop::bool::weighted(0.9), 997),
    ) {
        let packets = &captures()[place];
        let thinned: Vec<_> = packets
            .iter()
            .zip(kept.iter().cycle())
            .filter(|(_, kept)| **kept)
            .collect();
        let thinned: Vec<_> = thinned.into_iter().map(|(packet, _)| packet.clone()).collect();
        check_laws(&measured(&thinned), &thinned);
    }

    /// Duplicates are counted as such, and nothing else changes.
    #[test]
    fn packets_captured_twice(
        place in 0..2_usize,
        gaps in prop::collection::vec(prop::option::weighted(0.3, 0..3_usize), 499),
    ) {
        let packets = &captures()[place];
        let mut doubled: Vec<(usize, &CapturedPacket)> = packets.iter().enumerate().collect();
        let copies: Vec<_> = packets.iter().enumerate().zip(gaps.iter().cycle())
            .filter_map(|((n, packet), gap)| gap.map(|gap| (n + gap, packet)))
            .collect();
        let count = copies.len() as f64;
        doubled.extend(copies);
        doubled.sort_by_key(|(n, _)| *n);
        let doubled: Vec<CapturedPacket> =
            doubled.into_iter().map(|(_, packet)| packet.clone()).collect();
        let (once, twice) = (unchanged(place), measured(&doubled));
        check_laws(&twice, &doubled);
        prop_assert_eq!(
            numbers(&twice, "connections", "duplicated_packets").iter().sum::<f64>(),
            count,
        );
        assert_same(once, &twice, "connections", &["duplicated_packets"], true);
        assert_same(once, &twice, "flows", &[], true);
        assert_same(once, &twice, "limit_periods", &[], true);
    }

    /// A clock of a tenth of a millisecond, and packets of one tick in any order.
    #[test]
    fn a_coarse_clock_and_no_order_within_its_tick(
        place in 0..2_usize,
        seeds in prop::collection::vec(0..u32::MAX, 499),
    ) {
        let packets = &captures()[place];
        const TICK: u64 = 100_000;
        let mut shuffled: Vec<(u64, u32, CapturedPacket)> = packets
            .iter()
            .zip(seeds.iter().cycle())
            .map(|(packet, seed)| (
                packet.at_ns / TICK,
                *seed,
                CapturedPacket { at_ns: packet.at_ns / TICK * TICK, ..packet.clone() },
            ))
            .collect();
        shuffled.sort_by_key(|(tick, seed, _)| (*tick, *seed));
        let shuffled: Vec<CapturedPacket> =
            shuffled.into_iter().map(|(_, _, packet)| packet).collect();
        let (exact, coarse) = (unchanged(place), measured(&shuffled));
        check_laws(&coarse, &shuffled);
        let same = [
            "flow",
            "begins",
            "packets",
            "wire_bytes",
            "data_packets",
            "payload_bytes",
            "unique_bytes",
            "acknowledged_bytes",
            "missed_bytes",
            "retransmitted_packets",
            "retransmitted_bytes",
            "duplicated_packets",
            "keep_alives",
            "mss_bytes",
        ];
        if place == 1 {
            // Next to the receiver, data and its ACK share a tick, and their order is unknown.
            return Ok(());
        }
        assert_same(exact, &coarse, "connections", &same, false);
        let unique = numbers(exact, "connections", "unique_bytes");
        for name in ["ack_rtt_min_s", "ack_rtt_mean_s"] {
            let pairs = numbers(exact, "connections", name)
                .into_iter()
                .zip(numbers(&coarse, "connections", name));
            for ((exact, coarse), _) in pairs.zip(&unique).filter(|(_, unique)| **unique > 0.0) {
                prop_assert!((exact - coarse).abs() < 2e-4, "{name}: {exact} {coarse}");
            }
        }
    }

    /// Arbitrary contents of a file.
    #[test]
    fn nonsense_does_no_harm(packets in prop::collection::vec(nonsense(0..5_000_000_000), 0..300)) {
        check_laws(&measured(&packets), &packets);
    }

    /// Arbitrary contents at arbitrary times.
    #[test]
    fn nonsense_at_any_time_does_no_harm(
        packets in prop::collection::vec(nonsense(0..u64::MAX), 0..300),
        shifts in prop::collection::vec(0..64_u32, 7),
    ) {
        let mut packets = packets;
        for (packet, shift) in packets.iter_mut().zip(shifts.iter().cycle()) {
            packet.at_ns >>= shift;
        }
        check_laws(&measured(&packets), &packets);
    }
}

/// Generates packets of few addresses, small numbers and any flags, at times in nanoseconds.
fn nonsense(times: std::ops::Range<u64>) -> impl Strategy<Value = CapturedPacket> {
    let numbers = (
        times,
        any::<u32>(),
        any::<u32>(),
        0..3_u8,
        0..3_000_u32,
        any::<u16>(),
    );
    let rest = (
        any::<u8>(),
        any::<bool>(),
        prop::option::of((0..50_u32, 0..50_u32)),
        prop::collection::vec((0..9_000_u32, 0..9_000_u32), 0..4),
    );
    (numbers, rest).prop_map(
        |((at, sequence, acknowledgment, near, payload, window), (bits, forth, stamps, sacks))| {
            let mut packet = captures()[0][0].clone();
            if forth {
                std::mem::swap(&mut packet.source, &mut packet.destination);
            }
            let reach = [100, 10_000, u32::MAX][usize::from(near)];
            let mut segment = Segment {
                sequence: sequence % reach,
                acknowledgment: acknowledgment % reach,
                payload,
                window,
                ..Segment::default()
            };
            segment.flags.ack = bits & 3 > 0;
            segment.flags.syn = bits & 28 == 28;
            segment.flags.fin = bits & 96 == 96;
            segment.flags.rst = bits > 250;
            segment.options.timestamps = stamps;
            sacks
                .iter()
                .for_each(|(left, right)| segment.options.push_sack(*left, *right));
            CapturedPacket {
                at_ns: at,
                identification: bits.into(),
                transport: Transport::Tcp(segment),
                ..packet
            }
        },
    )
}
