//! Independent check: tshark reads our capture of a made-up connection.
//!
//! Skips, and says so, where tshark is not installed.

use crate::peer::{Scratch, tshark, tshark_is_missing};
use ackclock_core::endpoint::parameters::{Preset, TcpParameters};
use ackclock_core::packet::{Content, Ecn, FlowId, Packet, PacketKind, SackBlock};
use ackclock_pcap::{Capture, FlowAddresses, Labels, PacketEncoder};
use ackclock_spec::units::{Bytes, Time};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

const CHECKSUMS: &[&str] = &[
    "ip.check_checksum:TRUE",
    "tcp.check_checksum:TRUE",
    "udp.check_checksum:TRUE",
];
const MILLISECOND: u64 = 1_000_000;
const SACK: [SackBlock; 2] = [
    SackBlock { start: 4, end: 6 },
    SackBlock { start: 2, end: 3 },
];

/// Returns a connection, the flow of that number, and a datagram of the next flow. The connection
/// has a handshake and six segments, the last of them short. The second and the fourth are lost
/// behind the point of capture, reported by SACK and retransmitted.
fn connection(parameters: &TcpParameters, flow: u32) -> Vec<(u64, Packet, &'static [SackBlock])> {
    let (mss, header) = (
        parameters.connection.mss.0 as u16,
        parameters.connection.header.0 as u16,
    );
    let at = |ms: u64| Time::from_nanos(ms * MILLISECOND);
    let up = |ms, kind, sequence, payload: u16| {
        let mut packet = Packet::new(kind, FlowId(flow), sequence, header + payload, at(ms));
        if kind == PacketKind::Data {
            packet.set_ecn(Ecn::Capable);
        }
        (ms, packet, &[][..])
    };
    let back = |ms, kind, sequence, echo, sacks| {
        let packet = Packet::new(kind, FlowId(flow), sequence, header, at(echo));
        (ms, packet, sacks)
    };
    let mut retransmission = up(143, PacketKind::Data, 1, mss);
    retransmission.1.set_retransmission(true);
    retransmission.1.set_window_reduced(true);
    let mut marked = back(121, PacketKind::Ack, 1, 50, &SACK[1..]);
    marked.1.set_ace(1);
    let datagram = Packet::new(PacketKind::Datagram, FlowId(flow + 1), 7, 528, at(300));
    vec![
        up(10, PacketKind::Syn, 0, 0),
        back(50, PacketKind::SynAck, 0, 10, &[]),
        up(50, PacketKind::Data, 0, mss),
        up(51, PacketKind::Data, 1, mss),
        up(52, PacketKind::Data, 2, mss),
        up(53, PacketKind::Data, 3, mss),
        up(54, PacketKind::Data, 4, mss),
        up(55, PacketKind::Data, 5, mss),
        back(120, PacketKind::Ack, 1, 50, &[]),
        marked,
        back(142, PacketKind::Ack, 1, 50, &SACK[..]),
        retransmission,
        up(144, PacketKind::Data, 3, mss),
        up(145, PacketKind::Data, 6, 100),
        back(210, PacketKind::Ack, 3, 143, &SACK[..1]),
        back(211, PacketKind::Ack, 7, 144, &[]),
        (300, datagram, &[]),
    ]
}

/// Captures a connection with each of these parameters, one after the other.
fn capture(file: &Path, connections: &[TcpParameters], snap_length: u32) {
    let encoders = (0..).step_by(2).zip(connections).flat_map(|(flow, one)| {
        let total = one.connection.mss * 6 + Bytes(100);
        [
            PacketEncoder::tcp(FlowAddresses::of(flow), one, Some(total)),
            PacketEncoder::udp(FlowAddresses::of(flow + 1)),
        ]
    });
    let output = BufWriter::new(File::create(file).unwrap());
    let mut capture = Capture::new(output, snap_length, encoders.collect()).unwrap();
    for (flow, one) in (0..).step_by(2).zip(connections) {
        let mut labels = Labels::default();
        for (ms, packet, sacks) in connection(one, flow) {
            let at = Time::from_nanos(ms * MILLISECOND + 1);
            // Captured where ACKs arrive; here they arrive at once.
            let mut label = labels.sent(at, &packet);
            if !packet.is_forward() {
                label = labels.received(at, &packet);
            }
            capture
                .write(at, &packet, Content::Sacks(sacks), label)
                .unwrap();
        }
    }
    capture.finish().unwrap();
}

#[test]
fn tshark_finds_nothing_wrong() {
    if tshark_is_missing() {
        return;
    }
    let scratch = Scratch::new("nothing-wrong.pcap");
    let presets = [Preset::Linux, Preset::Rfc, Preset::Ns2Of2002].map(Preset::parameters);
    for snap_length in [0, 96] {
        capture(&scratch.0, &presets, snap_length);
        let fields = "_ws.malformed ip.checksum.status tcp.checksum.status udp.checksum.status \
                      tcp.analysis.ack_lost_segment tcp.analysis.lost_segment tcp.options.unknown";
        let rows = tshark(&scratch.0, CHECKSUMS, fields);
        // 1 is good; 2 is unverified, all that tshark can say of a cut packet. Nothing is lost that
        // was not captured, and no option is unknown.
        let whole = |row: &String| [" 1 1    ", " 1  1   "].contains(&row.as_str());
        let cut = |row: &String| [" 1 2    ", " 1  2   "].contains(&row.as_str());
        assert_eq!(rows.len(), 17 * presets.len());
        assert!(
            rows.iter()
                .all(|row| whole(row) || (snap_length > 0 && cut(row))),
            "{rows:#?}"
        );
    }
}

#[test]
fn tshark_reads_the_connection_that_was_written() {
    if tshark_is_missing() {
        return;
    }
    let scratch = Scratch::new("connection.pcap");
    let mut parameters = Preset::Linux.parameters();
    parameters.connection.mss = Bytes(1000);
    parameters.ecn.enabled = true;
    capture(&scratch.0, &[parameters], 96);
    let fields = "frame.time_epoch ip.src ip.len tcp.flags.str tcp.len tcp.seq tcp.ack \
                  tcp.window_size \
                  tcp.options.sack_le tcp.options.sack_re \
                  tcp.options.timestamp.tsval tcp.options.timestamp.tsecr";
    let rows = tshark(&scratch.0, CHECKSUMS, fields);
    let largest_window = 65_535 << 14;
    let up = |ms: u32, flags: &str, length: u32, sequence: u32, echo: u32| {
        let wire = length + 52;
        format!(
            "0.{ms:03}000001 10.0.0.1 {wire} {flags} {length} {sequence} \
             1 65535   {ms}000 {echo}000"
        )
    };
    let ack = |ms: u32, wire: u32, flags: &str, ack: u32, left: &str, right: &str, echo: u32| {
        format!(
            "0.{ms:03}000001 10.128.0.1 {wire} {flags} 0 1 {ack} \
             {largest_window} {left} {right} {ms}000 {echo}000"
        )
    };
    let data = "·······A····";
    let expected = [
        "0.010000001 10.0.0.1 60 ····CE····S· 0 0 0 65535   10000 0".to_owned(),
        "0.050000001 10.128.0.1 60 ·····E·A··S· 0 0 1 65535   50000 10000".to_owned(),
        up(50, data, 1000, 1, 50),
        up(51, data, 1000, 1001, 50),
        up(52, data, 1000, 2001, 50),
        up(53, data, 1000, 3001, 50),
        up(54, data, 1000, 4001, 50),
        up(55, data, 1000, 5001, 50),
        ack(120, 52, data, 1001, "", "", 50),
        ack(121, 64, "·····E·A····", 1001, "2001", "3001", 50),
        ack(142, 72, data, 1001, "4001,2001", "6001,3001", 50),
        up(143, "····C··A····", 1000, 1001, 142),
        up(144, data, 1000, 3001, 142),
        up(145, "·······AP···", 100, 6001, 142),
        ack(210, 64, data, 3001, "4001", "6001", 143),
        ack(211, 52, data, 6101, "", "", 144),
    ];
    for (row, expected) in rows.iter().zip(&expected) {
        assert_eq!(row, expected);
    }
    assert_eq!(rows.len(), expected.len() + 1);
}

#[test]
fn tshark_sees_the_losses_the_round_trip_and_the_datagram() {
    if tshark_is_missing() {
        return;
    }
    let scratch = Scratch::new("losses.pcap");
    capture(&scratch.0, &[Preset::Linux.parameters()], 96);
    let rows = tshark(
        &scratch.0,
        CHECKSUMS,
        "tcp.analysis.retransmission tcp.analysis.initial_rtt tcp.analysis.ack_rtt \
         ip.src ip.dst ip.len udp.srcport udp.dstport udp.length frame.cap_len frame.len",
    );
    let retransmitted = |row: &&String| !row.starts_with(' ');
    assert_eq!(rows.iter().filter(retransmitted).count(), 2, "{rows:#?}");
    // The SYN left at 10 ms and was answered at 50 ms; segment 0 left at 50 ms and its ACK arrived
    // at 120 ms.
    assert!(
        rows[8].starts_with(" 0.040000000 0.070000000 10.128.0.1 "),
        "{}",
        rows[8]
    );
    assert_eq!(
        rows.last().unwrap(),
        "   10.0.0.2 10.128.0.2 528 38001 9 508 96 528"
    );
}
