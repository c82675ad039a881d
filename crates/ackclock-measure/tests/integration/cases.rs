//! Handmade connections, each with a difficulty and a known answer.

use crate::common::{Tables, column, measure_foreign, numbers, tables, texts};
use ackclock_core::packet::Ecn;
use ackclock_measure::{Measurement, Parameters};
use ackclock_pcap::CapturedPacket;
use ackclock_pcap::packet::{AccurateEcn, AccurateEcnShape, Flags, Segment, Transport};
use ackclock_spec::units::Span;

const CLIENT: &str = "10.0.0.1:40000";
const SERVER: &str = "[2001:db8::2]:80";
const FORTH: &str = "10.0.0.1:40000 > [2001:db8::2]:80";
const BACK: &str = "[2001:db8::2]:80 > 10.0.0.1:40000";

/// Initial sequence numbers of client and server.
const C: u32 = 1_000;
const S: u32 = 5_000;

/// Packets of the client and the server, in order; identifications count packets.
#[derive(Default)]
struct Script {
    packets: Vec<CapturedPacket>,
    sent: [u16; 2],
}

fn flags(text: &str) -> Flags {
    Flags {
        fin: text.contains('F'),
        syn: text.contains('S'),
        rst: text.contains('R'),
        ack: text.contains('.'),
        ece: text.contains('E'),
        cwr: text.contains('W'),
        ..Flags::default()
    }
}

impl Script {
    fn push(&mut self, from_client: bool, ms: f64, segment: Segment) -> &mut CapturedPacket {
        let sent = &mut self.sent[usize::from(from_client)];
        *sent += 1;
        let (client, server) = (CLIENT.parse().unwrap(), SERVER.parse().unwrap());
        let (source, destination) = if from_client {
            (client, server)
        } else {
            (server, client)
        };
        self.packets.push(CapturedPacket {
            at_ns: 1_700_000_000_000_000_000 + (ms * 1e6) as u64,
            source,
            destination,
            ip_bytes: 40 + segment.payload,
            identification: *sent,
            ecn: Ecn::NotCapable,
            transport: Transport::Tcp(segment),
        });
        self.packets.last_mut().unwrap()
    }

    /// The client sends from byte `low` to byte `high`.
    fn data(&mut self, ms: f64, low: u32, high: u32) -> &mut CapturedPacket {
        let segment = Segment {
            sequence: C.wrapping_add(1).wrapping_add(low),
            acknowledgment: S + 1,
            payload: high - low,
            window: 1_000,
            flags: flags("."),
            ..Segment::default()
        };
        self.push(true, ms, segment)
    }

    /// The server acknowledges everything before byte `number`.
    fn ack(&mut self, ms: f64, number: u32) -> &mut CapturedPacket {
        let segment = Segment {
            sequence: S + 1,
            acknowledgment: C.wrapping_add(1).wrapping_add(number),
            window: 1_000,
            flags: flags("."),
            ..Segment::default()
        };
        self.push(false, ms, segment)
    }

    /// The same with SACK blocks.
    fn sack(&mut self, ms: f64, number: u32, blocks: &[(u32, u32)]) -> &mut CapturedPacket {
        let packet = self.ack(ms, number);
        for (low, high) in blocks {
            tcp(packet).options.push_sack(C + 1 + low, C + 1 + high);
        }
        packet
    }

    fn syn(&mut self, ms: f64) -> &mut CapturedPacket {
        let mut segment = Segment {
            sequence: C,
            window: 60_000,
            flags: flags("S"),
            ..Segment::default()
        };
        segment.options.maximum_segment = Some(1460);
        segment.options.window_scale = Some(7);
        segment.options.sack_permitted = true;
        self.push(true, ms, segment)
    }

    fn syn_ack(&mut self, ms: f64) -> &mut CapturedPacket {
        let mut segment = Segment {
            sequence: S,
            acknowledgment: C + 1,
            window: 60_000,
            flags: flags("S."),
            ..Segment::default()
        };
        segment.options.maximum_segment = Some(1400);
        segment.options.window_scale = Some(3);
        self.push(false, ms, segment)
    }

    /// SYN, SYN-ACK after 20 ms, and its ACK 10 ms later.
    fn open(&mut self) {
        self.syn(0.0);
        self.syn_ack(20.0);
        self.data(30.0, 0, 0);
    }

    fn measure(&self) -> Tables {
        measure_foreign(Parameters::default(), &self.packets)
    }
}

fn tcp(packet: &mut CapturedPacket) -> &mut Segment {
    match &mut packet.transport {
        Transport::Tcp(segment) => segment,
        Transport::Udp { .. } => unreachable!("only TCP here"),
    }
}

fn of(tables: &Tables, flow: &str, name: &str) -> f64 {
    crate::common::of(tables, flow, name)
}

fn words(tables: &Tables, flow: &str, names: &[&str]) -> Vec<String> {
    names
        .iter()
        .map(|name| crate::common::word_of(tables, flow, name))
        .collect()
}

#[test]
fn a_whole_connection() {
    let mut script = Script::default();
    script.open();
    script.data(40.0, 0, 1_400);
    script.data(40.1, 1_400, 2_000);
    script.ack(60.1, 2_000);
    tcp(script.data(70.0, 2_000, 2_000)).flags.fin = true;
    let fin = script.ack(90.0, 2_001);
    tcp(fin).flags.fin = true;
    let last = script.data(100.0, 2_001, 2_001);
    tcp(last).acknowledgment = S + 2;
    let tables = script.measure();
    assert_eq!(texts(&tables, "connections", "flow"), [FORTH, BACK]);
    assert_eq!(
        words(&tables, FORTH, &["role", "begins", "ends", "vantage"]),
        ["client", "syn", "fin", "middle"]
    );
    assert_eq!(
        words(&tables, BACK, &["role", "source", "destination"]),
        ["server", SERVER, CLIENT]
    );
    let expected = [
        ("packets", 6.0),
        ("data_packets", 2.0),
        ("data_segments", 2.0),
        ("wire_bytes", 6.0 * 40.0 + 2_000.0),
        ("unique_bytes", 2_000.0),
        ("acknowledged_bytes", 2_000.0),
        ("missed_bytes", 0.0),
        ("pure_acks", 1.0),
        ("duplicate_acks", 0.0),
        ("mss_option_bytes", 1460.0),
        ("mss_bytes", 1400.0),
        ("window_scale", 7.0),
        ("sack_permitted", 1.0),
        ("timestamps", 0.0),
        ("ecn_negotiated", 0.0),
        ("receive_window_scaled", 1.0),
        ("receive_window_min_bytes", 8_000.0),
        ("receive_window_max_bytes", 60_000.0),
        ("handshake_rtt_s", 0.03),
        ("receiver_side_rtt_s", 0.02),
        ("sender_side_rtt_s", 0.01),
        ("ack_rtt_samples", 3.0), // SYN, data, FIN
        ("in_flight_max_bytes", 2_000.0),
        ("start_s", 0.0),
        ("end_s", 0.1),
    ];
    for (name, value) in expected {
        assert!(
            (of(&tables, FORTH, name) - value).abs() < 1e-9,
            "{name}: {}",
            of(&tables, FORTH, name)
        );
    }
    assert_eq!(
        numbers(&tables, "flows", "delivered_bytes"),
        [2_000.0],
        "only what carried payload"
    );
    assert!((numbers(&tables, "flows", "completion_time_s")[0] - 0.0601).abs() < 1e-9);
    assert!(numbers(&tables, "flows", "dropped_packets")[0].is_nan());
    assert_eq!(texts(&tables, "flows", "control"), [""]);
}

#[test]
fn a_capture_that_begins_midway() {
    let mut script = Script::default();
    script.ack(0.0, 10_000); // of data sent before
    script.data(1.0, 50_000, 51_000);
    script.ack(2.0, 20_000);
    script.data(3.0, 51_000, 52_000);
    script.ack(40.0, 51_000);
    script.ack(42.0, 52_000);
    let tables = script.measure();
    assert_eq!(
        words(&tables, FORTH, &["role", "begins", "ends"]),
        ["unknown", "midway", "open"]
    );
    assert_eq!(of(&tables, FORTH, "acknowledged_bytes"), 2_000.0);
    assert_eq!(
        of(&tables, FORTH, "missed_bytes"),
        0.0,
        "the capture did not hold it"
    );
    assert_eq!(of(&tables, FORTH, "retransmitted_packets"), 0.0);
    assert_eq!(of(&tables, FORTH, "receive_window_scaled"), 0.0);
    assert_eq!(
        of(&tables, FORTH, "receive_window_max_bytes"),
        1_000.0,
        "as it is in the header"
    );
    for name in [
        "handshake_rtt_s",
        "mss_bytes",
        "data_segments",
        "super_packets",
        "window_scale",
        "sack_permitted",
    ] {
        assert!(of(&tables, FORTH, name).is_nan(), "{name}");
    }
}

#[test]
fn what_the_capture_missed_is_neither_lost_nor_sent_again() {
    let mut script = Script::default();
    script.open();
    script.data(40.0, 0, 1_000);
    script.ack(60.0, 3_000); // 1000 to 3000 was never seen
    script.data(61.0, 3_000, 4_000);
    script.data(62.0, 5_000, 6_000); // 4000 to 5000 neither
    script.ack(82.0, 6_000);
    let tables = script.measure();
    assert_eq!(of(&tables, FORTH, "missed_bytes"), 3_000.0);
    assert_eq!(of(&tables, FORTH, "acknowledged_bytes"), 6_000.0);
    assert_eq!(of(&tables, FORTH, "unique_bytes"), 3_000.0);
    for name in [
        "retransmitted_packets",
        "out_of_order_packets",
        "losses_upper",
    ] {
        assert_eq!(of(&tables, FORTH, name), 0.0, "{name}");
    }
}

#[test]
fn an_ack_captured_before_its_data() {
    let mut script = Script::default();
    script.open();
    script.ack(60.0, 1_000);
    script.data(59.9, 0, 1_000);
    script.data(61.0, 1_000, 2_000);
    script.ack(81.0, 2_000);
    let tables = script.measure();
    for (name, value) in [
        ("missed_bytes", 0.0),
        ("retransmitted_packets", 0.0),
        ("unique_bytes", 2_000.0),
        ("out_of_order_packets", 0.0),
    ] {
        assert_eq!(of(&tables, FORTH, name), value, "{name}");
    }
    assert!(of(&tables, FORTH, "ack_rtt_min_s") >= 0.0);
}

#[test]
fn segments_in_packets_of_an_offloading_host() {
    let mut script = Script::default();
    script.open();
    script.data(40.0, 0, 7_000); // five segments of 1400
    script.data(40.2, 7_000, 9_000);
    script.ack(60.0, 2_800);
    script.ack(61.0, 7_000);
    script.ack(62.0, 9_000);
    let tables = script.measure();
    for (name, value) in [
        ("data_packets", 2.0),
        ("super_packets", 2.0),
        ("data_segments", 7.0),
        ("largest_payload_bytes", 7_000.0),
        ("mss_bytes", 1_400.0),
        ("retransmitted_packets", 0.0),
        ("ack_rtt_samples", 4.0),
    ] {
        assert_eq!(of(&tables, FORTH, name), value, "{name}");
    }
    assert!((of(&tables, FORTH, "ack_rtt_max_s") - 0.0218).abs() < 1e-9);
}

#[test]
fn a_segment_of_a_larger_packet_sent_again() {
    let mut script = Script::default();
    script.open();
    script.data(40.0, 0, 7_000);
    script.ack(60.0, 1_400);
    for n in 0..3 {
        script.sack(
            60.1 + f64::from(n),
            1_400,
            &[(2_800, 4_200 + 1_400 * n as u32)],
        );
    }
    script.data(62.2, 1_400, 2_800);
    script.ack(82.2, 7_000);
    let tables = script.measure();
    for (name, value) in [
        ("retransmitted_packets", 1.0),
        ("retransmitted_bytes", 1_400.0),
        ("retransmissions_fast", 1.0),
        ("triple_duplicate_acks", 1.0),
        ("acks_with_sack", 3.0),
        ("losses_lower", 1.0),
        ("losses_estimate", 1.0),
        ("losses_upper", 1.0),
        ("post_loss_acks", 1.0),
        ("ack_rtt_samples", 2.0), // SYN, and 1400 bytes: no more, by Karn
    ] {
        assert_eq!(of(&tables, FORTH, name), value, "{name}");
    }
}

#[test]
fn keep_alives_and_probes_are_not_sent_again_data() {
    let mut script = Script::default();
    script.open();
    script.data(40.0, 0, 1_000);
    script.ack(60.0, 1_000);
    for n in 0..3 {
        script.data(10_000.0 + 1_000.0 * f64::from(n), 999, 999 + n % 2); // with a byte or without
        script.ack(10_020.0 + 1_000.0 * f64::from(n), 1_000);
    }
    script.data(14_000.0, 1_000, 2_000);
    tcp(script.ack(14_020.0, 2_000)).window = 0;
    for n in 0..2 {
        script.data(14_300.0 + 300.0 * f64::from(n), 1_999, 1_999); // as Linux probes
        tcp(script.ack(14_320.0 + 300.0 * f64::from(n), 2_000)).window = 0;
    }
    for n in 0..2 {
        script.data(15_000.0 + 300.0 * f64::from(n), 2_000, 2_001); // as others do
        tcp(script.ack(15_020.0 + 300.0 * f64::from(n), 2_000)).window = 0;
    }
    script.ack(16_000.0, 2_000);
    script.data(16_010.0, 2_000, 3_000);
    script.ack(16_030.0, 3_000);
    let tables = script.measure();
    for (name, value) in [
        ("keep_alives", 3.0),
        ("window_probes", 4.0),
        ("zero_windows", 1.0),
        ("retransmitted_packets", 0.0),
        ("duplicate_acks", 0.0),
        ("unique_bytes", 3_000.0),
        ("acknowledged_bytes", 3_000.0),
        ("missed_bytes", 0.0),
    ] {
        assert_eq!(of(&tables, FORTH, name), value, "{name}");
    }
    let limits = texts(&tables, "limit_periods", "limit");
    assert!(
        limits.contains(&"receive_window".into()) && limits.contains(&"application".into()),
        "{limits:?}"
    );
}

#[test]
fn a_syn_sent_again_makes_the_handshake_ambiguous_unless_timestamps_tell() {
    for stamped in [false, true] {
        let stamp = |packet: &mut CapturedPacket, value, echo| {
            tcp(packet).options.timestamps = stamped.then_some((value, echo));
        };
        let mut script = Script::default();
        stamp(script.syn(0.0), 10, 0);
        stamp(script.syn(1_000.0), 1_010, 0);
        stamp(script.syn_ack(1_020.0), 70, 1_010);
        stamp(script.data(1_030.0, 0, 100), 1_040, 70);
        stamp(script.ack(1_050.0, 100), 100, 1_040);
        let tables = script.measure();
        assert_eq!(
            texts(&tables, "connections", "flow").len(),
            2,
            "one connection"
        );
        assert_eq!(of(&tables, FORTH, "syn_retransmissions"), 1.0);
        assert_eq!(of(&tables, FORTH, "retransmitted_packets"), 0.0);
        assert_eq!(numbers(&tables, "flows", "timeouts"), [1.0]);
        let handshake = of(&tables, FORTH, "handshake_rtt_s");
        assert!(if stamped {
            (handshake - 0.03).abs() < 1e-9
        } else {
            handshake.is_nan()
        });
        assert_eq!(of(&tables, FORTH, "ack_rtt_samples"), 1.0, "Karn");
    }
}

#[test]
fn both_sides_open_at_once() {
    let mut script = Script::default();
    script.syn(0.0);
    let other = script.syn_ack(1.0);
    (tcp(other).flags, tcp(other).acknowledgment) = (flags("S"), 0);
    script.syn_ack(20.0);
    let answer = script.syn(21.0);
    (tcp(answer).flags, tcp(answer).acknowledgment) = (flags("S."), S + 1);
    script.data(40.0, 0, 500);
    script.ack(60.0, 500);
    let tables = script.measure();
    assert_eq!(words(&tables, FORTH, &["role", "begins"]), ["both", "syn"]);
    assert_eq!(words(&tables, BACK, &["role"]), ["both"]);
    assert_eq!(texts(&tables, "connections", "flow").len(), 2);
    assert_eq!(of(&tables, FORTH, "acknowledged_bytes"), 500.0);
    assert!(of(&tables, FORTH, "handshake_rtt_s").is_nan());
}

#[test]
fn a_connection_that_is_refused_or_never_answered() {
    let mut script = Script::default();
    script.syn(0.0);
    let tables = script.measure();
    assert_eq!(
        texts(&tables, "connections", "flow"),
        [FORTH],
        "nothing came from the other side"
    );
    assert_eq!(words(&tables, FORTH, &["ends", "role"]), ["open", "client"]);
    assert!(of(&tables, FORTH, "acknowledged_bytes").is_nan());
    assert_eq!(numbers(&tables, "flows", "sent_packets").len(), 0);
    tcp(script.syn_ack(20.0)).flags = flags("R.");
    assert_eq!(words(&script.measure(), FORTH, &["ends"]), ["reset"]);
}

#[test]
fn ports_are_used_again() {
    let mut script = Script::default();
    script.open();
    script.data(40.0, 0, 100);
    script.ack(60.0, 100);
    tcp(script.data(61.0, 100, 100)).flags.rst = true;
    script.ack(62.0, 100); // late, and still of the first
    let syn = script.syn(1_000.0);
    tcp(syn).sequence = 900_000;
    let answer = script.syn_ack(1_020.0);
    (tcp(answer).sequence, tcp(answer).acknowledgment) = (7, 900_001);
    let data = script.data(1_030.0, 0, 300);
    (tcp(data).sequence, tcp(data).acknowledgment) = (900_001, 8);
    let tables = script.measure();
    assert_eq!(
        texts(&tables, "connections", "flow"),
        [FORTH, BACK, FORTH, BACK]
    );
    assert_eq!(
        numbers(&tables, "connections", "instance"),
        [0.0, 0.0, 1.0, 1.0]
    );
    assert_eq!(
        numbers(&tables, "connections", "unique_bytes"),
        [100.0, 0.0, 300.0, 0.0]
    );
    assert_eq!(
        texts(&tables, "connections", "ends"),
        ["reset", "reset", "open", "open"]
    );
    assert_eq!(numbers(&tables, "connections", "pure_acks")[0], 2.0);
}

#[test]
fn a_capture_of_one_way_only() {
    let mut script = Script::default();
    script.open();
    for n in 0..10 {
        script.data(40.0 + f64::from(n), 1_000 * n, 1_000 * n + 1_000);
        script.ack(60.0 + f64::from(n), 1_000 * n + 1_000);
    }
    script.data(90.0, 9_000, 10_000);
    script.packets.sort_by_key(|packet| packet.at_ns);
    let from_client = |packet: &CapturedPacket| packet.source == CLIENT.parse().unwrap();
    let (data, acks): (Vec<_>, Vec<_>) = script.packets.iter().cloned().partition(from_client);

    let tables = measure_foreign(Parameters::default(), &data);
    assert_eq!(of(&tables, FORTH, "unique_bytes"), 10_000.0);
    assert_eq!(of(&tables, FORTH, "retransmitted_packets"), 1.0);
    for name in [
        "acknowledged_bytes",
        "pure_acks",
        "retransmissions_fast",
        "losses_upper",
        "in_flight_mean_bytes",
        "ack_rtt_mean_s",
    ] {
        assert!(of(&tables, FORTH, name).is_nan(), "{name}");
    }
    assert_eq!(numbers(&tables, "flows", "sent_packets"), [11.0]);

    let tables = measure_foreign(Parameters::default(), &acks);
    assert_eq!(of(&tables, FORTH, "acknowledged_bytes"), 10_000.0);
    assert_eq!(
        (
            of(&tables, FORTH, "packets"),
            of(&tables, FORTH, "pure_acks")
        ),
        (0.0, 10.0)
    );
    for name in [
        "retransmitted_packets",
        "missed_bytes",
        "losses_upper",
        "first_data_s",
        "timestamps",
    ] {
        assert!(of(&tables, FORTH, name).is_nan(), "{name}");
    }
}

#[test]
fn data_both_ways() {
    let mut script = Script::default();
    script.open();
    for n in 0..5 {
        script.data(40.0 + 30.0 * f64::from(n), 100 * n, 100 * n + 100);
        let answer = script.ack(60.0 + 30.0 * f64::from(n), 100 * n + 100);
        (tcp(answer).sequence, tcp(answer).payload) = (S + 1 + 700 * n, 700);
        let ack = script.data(65.0 + 30.0 * f64::from(n), 100 * n + 100, 100 * n + 100);
        tcp(ack).acknowledgment = S + 1 + 700 * n + 700;
    }
    let tables = script.measure();
    assert_eq!(
        (
            of(&tables, FORTH, "acknowledged_bytes"),
            of(&tables, BACK, "acknowledged_bytes")
        ),
        (500.0, 3_500.0)
    );
    assert_eq!(
        (
            of(&tables, FORTH, "pure_acks"),
            of(&tables, BACK, "pure_acks")
        ),
        (0.0, 6.0)
    );
    assert!((of(&tables, BACK, "ack_rtt_min_s") - 0.005).abs() < 1e-9);
    assert_eq!(of(&tables, FORTH, "duplicate_acks"), 0.0);
    assert_eq!(
        numbers(&tables, "flows", "delivered_bytes"),
        [500.0, 3_500.0]
    );
}

#[test]
fn ecn_is_negotiated_and_counted() {
    let mut script = Script::default();
    tcp(script.syn(0.0)).flags = flags("SEW");
    tcp(script.syn_ack(20.0)).flags = flags("S.E");
    for (n, ecn) in [Ecn::Capable, Ecn::Marked, Ecn::CapableL4s, Ecn::NotCapable]
        .into_iter()
        .enumerate()
    {
        let n = n as u32;
        script.data(30.0 + f64::from(n), 100 * n, 100 * n + 100).ecn = ecn;
    }
    tcp(script.ack(50.0, 200)).flags = flags(".E");
    tcp(script.data(51.0, 400, 500)).flags = flags(".W");
    let tables = script.measure();
    for (name, value) in [
        ("ecn_negotiated", 1.0),
        ("ect0_packets", 1.0),
        ("ect1_packets", 1.0),
        ("ce_packets", 1.0),
        ("ece_acks", 1.0),
        ("cwr_packets", 1.0),
    ] {
        assert_eq!(of(&tables, FORTH, name), value, "{name}");
    }
    assert_eq!(of(&tables, BACK, "ece_acks"), 0.0, "on a SYN it asks");
}

#[test]
fn accurate_ecn_options_tell_bytes_by_codepoint() {
    let option = |ect0, ce, ect1| {
        Some(AccurateEcn {
            ect0,
            ce,
            ect1,
            shape: AccurateEcnShape::Listed,
        })
    };
    let mut script = Script::default();
    script.syn(0.0);
    // Initial values (RFC 9768 section 3.2.1).
    tcp(script.syn_ack(20.0)).options.accurate_ecn = option(Some(1), Some(0), Some(1));
    for n in 0..4 {
        script.data(30.0 + f64::from(n), 100 * n, 100 * n + 100);
    }
    tcp(script.ack(50.0, 200)).options.accurate_ecn = option(Some(101), Some(100), Some(1));
    tcp(script.ack(51.0, 400)).options.accurate_ecn = option(None, Some(200), Some(101));
    // Overtaken by the one before.
    tcp(script.ack(52.0, 300)).options.accurate_ecn = option(None, Some(190), None);
    tcp(script.ack(53.0, 400)).options.accurate_ecn = Some(AccurateEcn {
        shape: AccurateEcnShape::Cut,
        ..AccurateEcn::default()
    });
    tcp(script.ack(54.0, 400)).options.accurate_ecn = Some(AccurateEcn {
        ce: Some(200),
        shape: AccurateEcnShape::Odd,
        ..AccurateEcn::default()
    });
    let tables = script.measure();
    for (name, value) in [
        ("accecn_options", 6.0),
        ("accecn_odd_options", 1.0),
        ("accecn_cut_options", 1.0),
        ("accecn_ect0_bytes", 100.0),
        ("accecn_ect1_bytes", 100.0),
        ("accecn_ce_bytes", 200.0),
    ] {
        assert_eq!(of(&tables, FORTH, name), value, "{name}");
    }
    assert!(of(&tables, BACK, "accecn_ce_bytes").is_nan());
}

#[test]
fn needless_retransmissions_are_found() {
    // By DSACK.
    let mut script = Script::default();
    script.open();
    script.data(40.0, 0, 1_000);
    script.data(700.0, 0, 1_000);
    script.ack(701.0, 1_000);
    script.sack(720.0, 1_000, &[(0, 1_000)]);
    script.data(730.0, 1_000, 2_000);
    script.ack(750.0, 2_000);
    let tables = script.measure();
    for (name, value) in [
        ("retransmissions_timeout", 1.0),
        ("retransmissions_spurious", 1.0),
        ("duplicate_sacks", 1.0),
        ("losses_upper", 0.0),
        ("losses_estimate", 0.0),
    ] {
        assert_eq!(of(&tables, FORTH, name), value, "{name}");
    }
    // By timestamps: the ACK echoes the first transmission.
    let mut script = Script::default();
    let stamp = |packet: &mut CapturedPacket, value, echo| {
        tcp(packet).options.timestamps = Some((value, echo))
    };
    stamp(script.syn(0.0), 1, 0);
    stamp(script.syn_ack(20.0), 900, 1);
    stamp(script.data(30.0, 0, 1_000), 31, 900);
    stamp(script.data(700.0, 0, 1_000), 701, 900);
    stamp(script.ack(730.0, 1_000), 1_600, 31);
    let tables = script.measure();
    assert_eq!(of(&tables, FORTH, "retransmissions_spurious"), 1.0);
    assert_eq!(
        (
            of(&tables, FORTH, "losses_estimate"),
            of(&tables, FORTH, "losses_upper")
        ),
        (0.0, 1.0)
    );
    assert_eq!(of(&tables, FORTH, "timestamp_rtt_samples"), 2.0);
    assert!(
        (of(&tables, FORTH, "timestamp_rtt_max_s") - 0.7).abs() < 1e-9,
        "of the first transmission"
    );
    assert_eq!(
        of(&tables, FORTH, "ack_rtt_samples"),
        1.0,
        "Karn: only the SYN"
    );
}

#[test]
fn reordering_is_not_retransmission() {
    let mut script = Script::default();
    script.open();
    for (ms, segment) in [
        (40.0, 0),
        (40.1, 2),
        (40.2, 1),
        (40.3, 3),
        (60.0, 5),
        (75.0, 4),
    ] {
        let packet = script.data(ms, segment * 1_000, segment * 1_000 + 1_000);
        // In the order of sending; the last one was lost before and is retransmitted.
        packet.identification = if segment == 4 {
            50
        } else {
            10 + segment as u16
        };
    }
    script.ack(95.0, 6_000);
    let tables = script.measure();
    for (name, value) in [
        ("out_of_order_packets", 1.0),
        ("retransmitted_packets", 1.0),
        ("unique_bytes", 6_000.0),
        ("missed_bytes", 0.0),
    ] {
        assert_eq!(of(&tables, FORTH, name), value, "{name}");
    }
}

#[test]
fn copies_count_as_copies_and_nothing_else() {
    let mut script = Script::default();
    script.open();
    script.data(40.0, 0, 1_000);
    script.data(41.0, 1_000, 2_000);
    script.ack(60.0, 1_000);
    for n in 0..2 {
        script.ack(61.0 + f64::from(n), 1_000);
    }
    script.ack(70.0, 2_000);
    let once = script.measure();
    let twice: Vec<_> = script
        .packets
        .iter()
        .flat_map(|packet| [packet.clone(), packet.clone()])
        .collect();
    let twice = measure_foreign(Parameters::default(), &twice);
    assert_eq!(of(&twice, FORTH, "duplicated_packets"), 4.0);
    assert_eq!(of(&twice, BACK, "duplicated_packets"), 5.0);
    for (name, _) in &once
        .iter()
        .find(|(name, _)| *name == "connections")
        .unwrap()
        .1
        .0
    {
        if *name != "duplicated_packets" {
            let same = format!("{:?}", column(&once, "connections", name))
                == format!("{:?}", column(&twice, "connections", name));
            assert!(same, "{name}");
        }
    }
    assert_eq!(
        of(&once, FORTH, "duplicate_acks"),
        2.0,
        "ACKs that say the same are no copies"
    );
}

#[test]
fn a_tail_loss_probe_and_a_timeout_behind_it() {
    let mut script = Script::default();
    script.open();
    for n in 0..5 {
        script.data(40.0 + f64::from(n), 1_000 * n, 1_000 * n + 1_000);
        script.ack(60.0 + f64::from(n), 1_000 * n + 1_000);
    }
    script.data(100.0, 5_000, 6_000);
    script.data(100.1, 6_000, 7_000);
    script.data(165.0, 6_000, 7_000); // the last one, after two round trips
    script.data(500.0, 5_000, 6_000); // nothing came: the first one
    script.ack(520.0, 6_000);
    script.data(521.0, 6_000, 7_000);
    script.ack(541.0, 7_000);
    script.packets.sort_by_key(|packet| packet.at_ns);
    let tables = script.measure();
    for (name, value) in [
        ("retransmissions_tail_probe", 1.0),
        ("retransmissions_timeout", 1.0),
        ("retransmissions_after_timeout", 1.0),
        ("retransmissions_fast", 0.0),
        ("retransmissions_unclear", 0.0),
    ] {
        assert_eq!(of(&tables, FORTH, name), value, "{name}");
    }
}

#[test]
fn what_is_over_is_forgotten() {
    let mut measurement = Measurement::new(Parameters {
        chunk_rows: 1,
        ..Parameters::default()
    });
    let mut script = Script::default();
    script.open();
    tcp(script.data(40.0, 0, 0)).flags.rst = true;
    script
        .packets
        .iter()
        .for_each(|packet| measurement.handle_packet(packet));
    assert_eq!(
        (measurement.live(), measurement.poll_tables().is_some()),
        (1, false)
    );
    // One packet with a wild time does not make time pass; two do. One packet is held back until
    // the next one shows if its time is wild.
    let mut later = Script::default();
    for (ms, port) in [
        (1e9, 50_000),
        (20_000.0, 50_001),
        (1_700_000.0, 50_002),
        (1_700_001.0, 50_002),
    ] {
        later.syn(ms).source.set_port(port);
    }
    measurement.handle_packet(&later.packets[0]);
    assert_eq!(
        (measurement.live(), measurement.poll_tables().is_some()),
        (1, false)
    );
    measurement.handle_packet(&later.packets[1]);
    assert_eq!(measurement.live(), 1, "what was reset is over");
    assert_eq!(measurement.repairs().wrong_times, 1);
    let rows = measurement.poll_tables().unwrap();
    assert_eq!(texts(&rows, "connections", "ends"), ["reset", "reset"]);
    measurement.handle_packet(&later.packets[2]);
    assert_eq!(measurement.live(), 2);
    measurement.handle_packet(&later.packets[3]);
    assert_eq!(measurement.live(), 1, "silence has ended the others");
}

#[test]
fn times_that_step_back_a_little_do_no_harm() {
    let mut script = Script::default();
    script.open();
    script.data(40.0, 0, 1_000);
    script.data(39.9, 1_000, 2_000);
    script.ack(39.8, 1_000);
    script.ack(60.0, 2_000);
    script.packets.swap(0, 1);
    let tables = script.measure();
    assert_eq!(
        words(&tables, FORTH, &["role", "begins"]),
        ["client", "syn"]
    );
    for name in [
        "ack_rtt_min_s",
        "ack_rtt_sd_s",
        "in_flight_mean_bytes",
        "start_s",
    ] {
        assert!(of(&tables, FORTH, name) >= 0.0, "{name}");
    }
    assert!(
        numbers(&tables, "samples", "time_s")
            .iter()
            .all(|time| *time >= 0.0)
    );
}

#[test]
fn marks_of_a_time_sequence_plot() {
    let mut script = Script::default();
    script.open();
    script.data(40.0, 0, 1_000);
    script.data(40.1, 1_000, 2_000);
    script.sack(60.0, 0, &[(1_000, 2_000)]);
    script.data(400.0, 0, 1_000);
    script.ack(420.0, 2_000);
    let parameters = Parameters {
        segments: true,
        ..Parameters::default()
    };
    let tables = tables(Measurement::new(parameters), &script.packets);
    let kinds = texts(&tables, "segments", "kind");
    let (low, high) = (
        numbers(&tables, "segments", "low_bytes"),
        numbers(&tables, "segments", "high_bytes"),
    );
    let flows = texts(&tables, "segments", "flow");
    let marks: Vec<_> = (0..kinds.len())
        .filter(|n| flows[*n] == FORTH && kinds[*n] != "window" && high[*n] > 0.0)
        .map(|n| (kinds[n].as_str(), low[n] as i64, high[n] as i64))
        .collect();
    let expected = [
        ("data", 0, 1_000),
        ("data", 1_000, 2_000),
        ("sack", 1_000, 2_000),
        ("retransmission", 0, 1_000),
        ("ack", 2_000, 2_000),
    ];
    assert_eq!(marks, expected);
    let windows: Vec<_> = (0..kinds.len())
        .filter(|n| kinds[*n] == "window" && flows[*n] == FORTH)
        .map(|n| low[n])
        .collect();
    assert_eq!(windows, [60_000.0, 8_000.0, 10_000.0]);
    assert!(
        measure_foreign(Parameters::default(), &script.packets)
            .iter()
            .all(|(name, _)| *name != "segments")
    );
}

#[test]
fn an_idle_connection_has_few_samples() {
    let mut script = Script::default();
    script.open();
    script.data(40.0, 0, 1_000);
    script.ack(60.0, 1_000);
    script.data(500_040.0, 1_000, 2_000);
    script.data(502_000.0, 1_000, 2_000); // after two seconds of waiting
    script.ack(502_020.0, 2_000);
    let tables = measure_foreign(
        Parameters {
            sample_interval: Span::from_millis(100),
            ..Parameters::default()
        },
        &script.packets,
    );
    let times = numbers(&tables, "samples", "time_s");
    assert!(times.len() > 20 && times.len() < 30, "{}", times.len());
    assert!(times.is_sorted());
}

/// A reader takes 8 kB every 300 ms out of a buffer of 16 kB. In between, the window is closed and
/// the sender has more data. The application is not the limit, although nothing is in flight most
/// of the time and only the last packet of each window fills it.
#[test]
fn a_slow_reader_is_what_limits() {
    {
        let mut script = Script::default();
        script.syn(0.0);
        script.syn_ack(40.0);
        script.data(40.1, 0, 0);
        let (mut sent, mut read) = (0, 0);
        for turn in 0..100 {
            let begun = 100.0 + f64::from(turn) * 300.0;
            // Reading opens the window; the scale is 3.
            read += 8_000;
            let free = read + 8_000 - sent;
            tcp(script.ack(begun, sent)).window = (free / 8) as u16;
            let from = sent;
            while sent < read + 8_000 {
                let next = (sent + 1_000).min(read + 8_000);
                script.data(begun + 0.05 + f64::from(next - from) / 1e6, sent, next);
                sent = next;
            }
            // Every second packet is acknowledged, and the window closes by as much.
            let mut acked = from;
            while acked < sent {
                acked = (acked + 2_000).min(sent);
                let left = read + 8_000 - acked;
                tcp(script.ack(begun + 40.0 + f64::from(acked - from) / 1e6, acked)).window =
                    (left / 8) as u16;
            }
        }
        script.packets.sort_by_key(|packet| packet.at_ns);
        let tables = script.measure();
        assert_eq!(words(&tables, FORTH, &["limit"]), ["receive_window"]);
        let share = of(&tables, FORTH, "limit_share");
        assert!(share > 0.95, "{share}");
    }
}
