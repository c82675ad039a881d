use super::*;
use crate::Labels;
use ackclock_core::endpoint::parameters::{EcnFeedback, Preset};
use ackclock_core::packet::{Content, Dscp, FlowId};
use ackclock_spec::quantity::OptionalWindow;
use ackclock_spec::units::Time;
use etherparse::{SlicedPacket, TcpOptionElement, TransportSlice};

const MICROSECOND: u64 = 1_000;
const WHOLE: u32 = 65_535;

fn packet(kind: PacketKind, sequence: u64, size: u16, stamp_us: u64) -> Packet {
    let stamp = Time::from_nanos(stamp_us * MICROSECOND + 999);
    Packet::new(kind, FlowId(0), sequence, size, stamp)
}

/// Returns an encoder. Linux: MSS 1448, header 52, timestamps, SACK. RFC: MSS 1460, header 40,
/// SACK, no timestamps.
fn encoder(parameters: &TcpParameters) -> PacketEncoder {
    PacketEncoder::tcp(FlowAddresses::of(0), parameters, None)
}

fn encode(encoder: &PacketEncoder, at_us: u64, packet: &Packet, sacks: &[SackBlock]) -> Vec<u8> {
    encode_with(encoder, at_us, packet, Content::Sacks(sacks))
}

fn encode_with(
    encoder: &PacketEncoder,
    at_us: u64,
    packet: &Packet,
    content: Content<'_>,
) -> Vec<u8> {
    let mut buffer = vec![0xff; 7];
    let at = Time::from_nanos(at_us * MICROSECOND);
    let label = Labels::default().sent(at, packet);
    let whole = encoder.encode(packet, content, label, WHOLE, &mut buffer);
    assert_eq!(whole as usize, buffer.len());
    check(&buffer);
    buffer
}

/// Asserts that a real host would accept the packet: lengths and checksums.
fn check(bytes: &[u8]) {
    let sliced = SlicedPacket::from_ip(bytes).unwrap();
    let (ip, _) = Ipv4Header::from_slice(bytes).unwrap();
    assert_eq!(usize::from(ip.total_len), bytes.len());
    assert_eq!(ip.header_checksum, ip.calc_header_checksum());
    assert!(ip.dont_fragment && ip.time_to_live == 64);
    match sliced.transport.unwrap() {
        TransportSlice::Tcp(tcp) => {
            let expected = tcp.to_header().calc_checksum_ipv4(&ip, tcp.payload());
            assert_eq!(Ok(tcp.checksum()), expected);
        }
        TransportSlice::Udp(udp) => {
            let expected = udp.to_header().calc_checksum_ipv4(&ip, udp.payload());
            assert_eq!(Ok(udp.checksum()), expected);
            assert_eq!(usize::from(udp.length()), bytes.len() - 20);
        }
        other => panic!("{other:?}"),
    }
}

fn tcp(bytes: &[u8]) -> (TcpHeader, usize) {
    let (header, payload) = TcpHeader::from_slice(&bytes[20..]).unwrap();
    (header, payload.len())
}

fn elements(header: &TcpHeader) -> Vec<TcpOptionElement> {
    let all: Result<Vec<_>, _> = header.options_iterator().collect();
    let mut all = all.unwrap();
    all.retain(|element| *element != TcpOptionElement::Noop);
    all
}

#[test]
fn an_ack_has_exactly_these_bytes() {
    let encoder = encoder(&Preset::Linux.parameters());
    let mut ack = packet(PacketKind::Ack, 2, 52, 0x0102_0304);
    ack.set_ace(1);
    let bytes = encode(&encoder, 0x0a0b_0c0d, &ack, &[]);
    #[rustfmt::skip]
    let expected = [
        // version and length; DSCP and ECN; total length; identification; don't fragment; TTL, TCP,
        // checksum
        0x45, 0, 0, 52, 0, 1, 0x40, 0, 64, 6, 0x26, 0x42,
        10, 128, 0, 1, 10, 0, 0, 1,
        // ports 9 and 38000; sequence 1; acknowledges 2 · 1448 + 1; 32 bytes, ECE and ACK; window;
        // checksum; urgent
        0, 9, 0x94, 0x70, 0, 0, 0, 1, 0, 0, 0x0b, 0x51, 0x80, 0x50, 0xff, 0xff, 0xa8, 0x12, 0, 0,
        1, 1, 8, 10, 0x0a, 0x0b, 0x0c, 0x0d, 1, 2, 3, 4,
    ];
    assert_eq!(bytes, expected);
}

#[test]
fn the_length_on_the_wire_is_the_simulated_size() {
    for (preset, header, mss) in [
        (Preset::Linux, 52, 1448),
        (Preset::Rfc, 40, 1460),
        (Preset::Ns2Of2002, 40, 1000),
    ] {
        let encoder = encoder(&preset.parameters());
        let bytes = encode(
            &encoder,
            0,
            &packet(PacketKind::Data, 0, header + mss, 0),
            &[],
        );
        assert_eq!(
            (bytes.len(), tcp(&bytes).1),
            (usize::from(header + mss), usize::from(mss))
        );
        let bytes = encode(&encoder, 0, &packet(PacketKind::Ack, 1, header, 0), &[]);
        assert_eq!((bytes.len(), tcp(&bytes).1), (usize::from(header), 0));
    }
}

#[test]
fn headers_of_any_size_keep_the_payload() {
    for header in 0..200_u16 {
        for preset in [Preset::Linux, Preset::Rfc] {
            let mut parameters = preset.parameters();
            parameters.connection.header = Bytes(header.into());
            let encoder = encoder(&parameters);
            let bytes = encode(
                &encoder,
                0,
                &packet(PacketKind::Data, 3, header + 500, 0),
                &[],
            );
            assert_eq!(tcp(&bytes).1, 500);
            let needed = if preset == Preset::Linux { 52 } else { 40 };
            if (needed..=80).contains(&header) && header % 4 == 0 {
                assert_eq!(bytes.len(), usize::from(header) + 500);
            }
        }
    }
}

#[test]
fn sequence_numbers_count_bytes_modulo_32_bits() {
    let parameters = Preset::Rfc.parameters();
    let encoder = encoder(&parameters);
    for segment in [
        0,
        1,
        (1 << 32) / 1460,
        (1 << 32) / 1460 + 1,
        1 << 40,
        u64::MAX,
    ] {
        let expected = (u128::from(segment) * 1460).min(u64::MAX.into()) as u32;
        let expected = expected.wrapping_add(1);
        let (data, _) = tcp(&encode(
            &encoder,
            0,
            &packet(PacketKind::Data, segment, 1500, 0),
            &[],
        ));
        assert_eq!(
            (data.sequence_number, data.acknowledgment_number),
            (expected, 1)
        );
        let (ack, _) = tcp(&encode(
            &encoder,
            0,
            &packet(PacketKind::Ack, segment, 40, 0),
            &[],
        ));
        assert_eq!(
            (ack.sequence_number, ack.acknowledgment_number),
            (1, expected)
        );
    }
    // One segment straddles the wrap: the next begins right after its last byte.
    let straddling = (1_u64 << 32) / 1460;
    let sequence = |encoder: &PacketEncoder, segment| {
        let bytes = encode(encoder, 0, &packet(PacketKind::Data, segment, 1500, 0), &[]);
        tcp(&bytes).0.sequence_number
    };
    let (before, after) = (
        sequence(&encoder, straddling),
        sequence(&encoder, straddling + 1),
    );
    assert!(before > after);
    assert_eq!(before.wrapping_add(1460), after);
}

#[test]
fn the_end_of_a_transfer_is_pushed_and_acknowledged_to_the_byte() {
    let parameters = Preset::Rfc.parameters();
    let addresses = FlowAddresses::of(0);
    let encoder = PacketEncoder::tcp(addresses, &parameters, Some(Bytes(2 * 1460 + 100)));
    let pushes: Vec<_> = [(0, 1500), (1, 1500), (2, 140)]
        .map(|(segment, size)| {
            let bytes = encode(
                &encoder,
                0,
                &packet(PacketKind::Data, segment, size, 0),
                &[],
            );
            (tcp(&bytes).0.sequence_number, tcp(&bytes).0.psh)
        })
        .into();
    assert_eq!(pushes, [(1, false), (1461, false), (2921, true)]);
    let sacks = [SackBlock { start: 2, end: 3 }];
    let (ack, _) = tcp(&encode(
        &encoder,
        0,
        &packet(PacketKind::Ack, 1, 40, 0),
        &sacks,
    ));
    assert_eq!(
        elements(&ack),
        [TcpOptionElement::SelectiveAcknowledgement(
            (2921, 3021),
            [None; 3]
        )]
    );
    let (ack, _) = tcp(&encode(
        &encoder,
        0,
        &packet(PacketKind::Ack, 3, 40, 0),
        &[],
    ));
    assert_eq!(ack.acknowledgment_number, 3021);
}

#[test]
fn a_handshake_agrees_on_options() {
    use TcpOptionElement::*;
    let mut parameters = Preset::Linux.parameters();
    parameters.receiver.receive_window = OptionalWindow::Bytes(Bytes(1 << 20));
    parameters.ecn.enabled = true;
    let encoder = encoder(&parameters);
    let bytes = encode(&encoder, 5, &packet(PacketKind::Syn, 0, 52, 5), &[]);
    let (syn, _) = tcp(&bytes);
    assert_eq!(
        bytes.len(),
        60,
        "eight bytes more than simulated: RFC 7323 and 2018 ask for them"
    );
    assert!(syn.syn && !syn.ack && syn.ece && syn.cwr);
    assert_eq!((syn.sequence_number, syn.acknowledgment_number), (0, 0));
    let asked = [
        MaximumSegmentSize(1460),
        SelectiveAcknowledgementPermitted,
        Timestamp(5, 0),
        WindowScale(0),
    ];
    assert_eq!(elements(&syn), asked);
    let (answer, _) = tcp(&encode(
        &encoder,
        25,
        &packet(PacketKind::SynAck, 0, 52, 5),
        &[],
    ));
    assert!(answer.syn && answer.ack && answer.ece && !answer.cwr);
    assert_eq!(
        (answer.sequence_number, answer.acknowledgment_number),
        (0, 1)
    );
    assert_eq!(answer.window_size, u16::MAX);
    let agreed = [
        MaximumSegmentSize(1460),
        SelectiveAcknowledgementPermitted,
        Timestamp(25, 5),
        WindowScale(5),
    ];
    assert_eq!(elements(&answer), agreed);
    let (ack, _) = tcp(&encode(
        &encoder,
        46,
        &packet(PacketKind::Ack, 1, 52, 26),
        &[],
    ));
    assert_eq!(u64::from(ack.window_size) << 5, 1 << 20);
    assert_eq!(elements(&ack), [Timestamp(46, 26)]);
}

#[test]
fn a_handshake_without_timestamps_and_sack_has_neither() {
    use TcpOptionElement::*;
    let mut parameters = Preset::Ns2Of2002.parameters();
    parameters.receiver.receive_window = OptionalWindow::Segments(20);
    let (syn, _) = tcp(&encode(
        &encoder(&parameters),
        0,
        &packet(PacketKind::SynAck, 0, 40, 0),
        &[],
    ));
    assert_eq!(elements(&syn), [MaximumSegmentSize(1000), WindowScale(0)]);
    assert_eq!(syn.window_size, 20_000);
    assert!(!syn.ece && !syn.cwr);
    let (syn, _) = tcp(&encode(
        &encoder(&Preset::Rfc.parameters()),
        0,
        &packet(PacketKind::Syn, 0, 40, 0),
        &[],
    ));
    assert_eq!(
        elements(&syn),
        [
            MaximumSegmentSize(1460),
            SelectiveAcknowledgementPermitted,
            WindowScale(0)
        ]
    );
}

#[test]
fn the_advertised_window_is_the_largest_that_fits() {
    for (window, wire) in [
        (1, 1),
        (65_535, 65_535),
        (65_536, 65_536),
        (1_000_001, 1_000_000),
        (u64::MAX, 65_535 << 14),
    ] {
        let mut parameters = Preset::Rfc.parameters();
        parameters.receiver.receive_window = OptionalWindow::Bytes(Bytes(window));
        let encoder = encoder(&parameters);
        let (answer, _) = tcp(&encode(
            &encoder,
            0,
            &packet(PacketKind::SynAck, 0, 40, 0),
            &[],
        ));
        let shift = elements(&answer).iter().find_map(|element| match element {
            TcpOptionElement::WindowScale(shift) => Some(*shift),
            _ => None,
        });
        let (ack, _) = tcp(&encode(
            &encoder,
            0,
            &packet(PacketKind::Ack, 1, 40, 0),
            &[],
        ));
        assert_eq!(u64::from(ack.window_size) << shift.unwrap(), wire);
    }
}

#[test]
fn a_window_that_closes_and_the_probe_that_asks_for_it_are_in_the_headers() {
    let mut parameters = Preset::Rfc.parameters();
    parameters.receiver.receive_window = OptionalWindow::Bytes(Bytes(60_000));
    let encoder = encoder(&parameters);
    for window in [0, 1460, 60_000] {
        let content = Content::Window(Bytes(window), &[]);
        let ack = packet(PacketKind::Ack, 3, 40, 0);
        let (header, payload) = tcp(&encode_with(&encoder, 0, &ack, content));
        assert_eq!((u64::from(header.window_size), payload), (window, 0));
    }
    let probe = packet(PacketKind::WindowProbe, 3, 40, 0);
    let (header, payload) = tcp(&encode(&encoder, 0, &probe, &[]));
    let last_acknowledged = 3 * 1460; // the byte before SND.UNA, which is 1 + 3 · MSS
    assert_eq!((header.sequence_number, payload), (last_acknowledged, 0));
    assert!(header.ack && !header.psh);
}

#[test]
fn sack_blocks_lengthen_the_ack() {
    use TcpOptionElement::*;
    let blocks: Vec<_> = (1..6)
        .map(|n| SackBlock {
            start: 10 * n,
            end: 10 * n + 2,
        })
        .collect();
    let wire = |n: u32| (14_480 * n + 1, 14_480 * n + 2 * 1448 + 1);
    for (count, length) in [(1, 52 + 12), (2, 52 + 20), (3, 52 + 28), (5, 52 + 28)] {
        let encoder = encoder(&Preset::Linux.parameters());
        let ack = packet(PacketKind::Ack, 5, 52, 1);
        let bytes = encode(&encoder, 9, &ack, &blocks[..count]);
        let more = [2, 3, 4].map(|n| (n <= count.min(3) as u32).then(|| wire(n)));
        assert_eq!(bytes.len(), length);
        assert_eq!(
            elements(&tcp(&bytes).0),
            [Timestamp(9, 1), SelectiveAcknowledgement(wire(1), more)]
        );
    }
    // Without timestamps a fourth block fits (RFC 2018 section 3).
    let bytes = encode(
        &encoder(&Preset::Rfc.parameters()),
        9,
        &packet(PacketKind::Ack, 5, 40, 1),
        &blocks,
    );
    assert_eq!(bytes.len(), 40 + 4 + 4 * 8);
    // Only an ACK has SACK blocks.
    let bytes = encode(
        &encoder(&Preset::Rfc.parameters()),
        9,
        &packet(PacketKind::Data, 5, 1500, 1),
        &blocks,
    );
    assert_eq!(bytes.len(), 1500);
}

/// RFC 9768 sections 3.1.1 and 3.2: a SYN asks with all three flags, the answer says that the SYN
/// was not ECN-capable, and other packets carry the counter.
#[test]
fn accurate_ecn_is_in_the_flags() {
    let mut parameters = Preset::Linux.parameters();
    parameters.ecn.enabled = true;
    parameters.ecn.feedback = EcnFeedback::Accurate;
    let encoder = encoder(&parameters);
    let flags = |packet: &Packet| {
        let (header, _) = tcp(&encode(&encoder, 0, packet, &[]));
        (header.ns, header.cwr, header.ece)
    };
    assert_eq!(
        flags(&packet(PacketKind::Syn, 0, 52, 0)),
        (true, true, true)
    );
    assert_eq!(
        flags(&packet(PacketKind::SynAck, 0, 52, 0)),
        (false, true, false)
    );
    assert_eq!(
        flags(&packet(PacketKind::Data, 0, 1500, 0)),
        (true, false, true),
        "5"
    );
    for (ace, expected) in [(6, (true, true, false)), (0, (false, false, false))] {
        let mut ack = packet(PacketKind::Ack, 3, 52, 0);
        ack.set_ace(ace);
        assert_eq!(flags(&ack), expected);
    }
}

#[test]
fn ecn_reaches_both_headers() {
    let encoder = encoder(&Preset::Linux.parameters());
    for (ecn, bits) in [
        (Ecn::NotCapable, 0),
        (Ecn::Capable, 2),
        (Ecn::CapableL4s, 1),
        (Ecn::Marked, 3),
    ] {
        for reduced in [false, true] {
            let mut data = packet(PacketKind::Data, 0, 1500, 0);
            data.set_ecn(ecn);
            data.set_window_reduced(reduced);
            let bytes = encode(&encoder, 0, &data, &[]);
            assert_eq!(
                (bytes[1], tcp(&bytes).0.cwr, tcp(&bytes).0.ece),
                (bits, reduced, false)
            );
        }
    }
}

#[test]
fn the_codepoint_is_above_the_ecn_field() {
    let encoder = encoder(&Preset::Linux.parameters()).with_codepoint(Dscp::EF);
    let mut data = packet(PacketKind::Data, 0, 1500, 0);
    data.set_ecn(Ecn::Marked);
    let bytes = encode(&encoder, 0, &data, &[]);
    assert_eq!(bytes[1], 46 << 2 | 3);
    check(&bytes);
}

#[test]
fn a_label_reaches_the_headers() {
    let label = Label {
        identification: 0x0708,
        value: 26,
        echo: 25,
    };
    for kind in [PacketKind::Data, PacketKind::Ack] {
        let mut bytes = Vec::new();
        let encoder = encoder(&Preset::Linux.parameters());
        encoder.encode(
            &packet(kind, 0, 100, 9),
            Content::Nothing,
            label,
            WHOLE,
            &mut bytes,
        );
        check(&bytes);
        assert_eq!(bytes[4..6], [7, 8]);
        assert_eq!(
            elements(&tcp(&bytes).0),
            [TcpOptionElement::Timestamp(26, 25)]
        );
    }
}

#[test]
fn datagrams_carry_their_number_and_have_their_size() {
    let encoder = PacketEncoder::udp(FlowAddresses::of(0));
    for size in [0, 27, 28, 29, 35, 36, 37, 1500, u16::MAX] {
        let bytes = encode(
            &encoder,
            0,
            &packet(PacketKind::Datagram, 0x0102_0304_0506_0708, size, 0),
            &[],
        );
        assert_eq!(bytes.len(), usize::from(size.max(28)));
        let payload = &bytes[28..];
        if payload.len() >= 8 {
            assert_eq!(payload[..8], [1, 2, 3, 4, 5, 6, 7, 8]);
            assert!(payload[8..].iter().all(|byte| *byte == 0));
        } else {
            assert!(payload.iter().all(|byte| *byte == 0));
        }
    }
}

#[test]
fn snapped_packets_are_beginnings_of_whole_ones() {
    let parameters = Preset::Linux.parameters();
    for kind in [PacketKind::Data, PacketKind::Datagram, PacketKind::SynAck] {
        let whole = encode(&encoder(&parameters), 0, &packet(kind, 77, 1500, 0), &[]);
        for snap_length in [0, 1, 20, 51, 96, 1499, 1500, 4000] {
            let mut buffer = Vec::new();
            let length = encoder(&parameters).encode(
                &packet(kind, 77, 1500, 0),
                Content::Nothing,
                Labels::default().sent(Time::ZERO, &packet(kind, 77, 1500, 0)),
                snap_length,
                &mut buffer,
            );
            assert_eq!(length as usize, whole.len());
            assert_eq!(buffer, whole[..whole.len().min(snap_length as usize)]);
        }
    }
}

#[test]
fn degenerate_packets_are_still_packets() {
    let kinds = [
        PacketKind::Data,
        PacketKind::Ack,
        PacketKind::Syn,
        PacketKind::SynAck,
        PacketKind::Datagram,
    ];
    for (mss, header) in [(0, 0), (1, 40), (65_495, 40), (u64::MAX, u64::MAX)] {
        let mut parameters = Preset::Linux.parameters();
        (parameters.connection.mss, parameters.connection.header) = (Bytes(mss), Bytes(header));
        for total in [None, Some(Bytes(0)), Some(Bytes(u64::MAX))] {
            let addresses = FlowAddresses::of(u32::MAX);
            for encoder in [
                PacketEncoder::tcp(addresses, &parameters, total),
                PacketEncoder::udp(addresses),
            ] {
                for kind in kinds {
                    for (sequence, size) in [(0, 0), (u64::MAX, u16::MAX)] {
                        let never = Packet::new(kind, FlowId(0), sequence, size, Time::NEVER);
                        let sacks = [SackBlock {
                            start: u64::MAX,
                            end: 0,
                        }; 9];
                        let bytes = encode(&encoder, u64::MAX / MICROSECOND, &never, &sacks);
                        assert!(bytes.len() >= 28);
                    }
                }
            }
        }
    }
}

/// A datagram that an implementation made has its bytes, and zeros up to its simulated size.
#[test]
fn bytes_of_a_datagram_are_kept() {
    let bytes: Vec<u8> = (1..=200).collect();
    for (size, kept) in [(228, 200), (248, 200), (128, 100)] {
        let mut buffer = Vec::new();
        let datagram = packet(PacketKind::Datagram, 3, size, 0);
        let label = Labels::default().sent(Time::ZERO, &datagram);
        let (encoder, content) = (
            PacketEncoder::udp(FlowAddresses::of(0)),
            Content::Bytes(&bytes),
        );
        let whole = encoder.encode(&datagram, content, label, WHOLE, &mut buffer);
        check(&buffer);
        assert_eq!((whole, buffer.len()), (u32::from(size), usize::from(size)));
        assert_eq!(buffer[28..28 + kept], bytes[..kept]);
        assert!(buffer[28 + kept..].iter().all(|byte| *byte == 0));
    }
}
