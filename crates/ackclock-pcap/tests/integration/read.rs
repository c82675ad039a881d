//! Reading of handmade captures. Damaged ones yield the packets that are intact, and one line that
//! says what is wrong.

use crate::samples::*;
use ackclock_core::packet::Ecn;
use ackclock_pcap::packet::{Flags, Segment, Transport};
use ackclock_pcap::{CaptureError, CapturedPacket, Merged, Reader, Skipped};
use std::io::{self, Cursor, Read};

/// Reads a file without errors.
fn read(file: &[u8]) -> (Vec<CapturedPacket>, Reader<Cursor<Vec<u8>>>) {
    let mut reader = Reader::new(Cursor::new(file.to_vec())).unwrap();
    let packets = reader.by_ref().map(Result::unwrap).collect();
    (packets, reader)
}

/// Reads the packets of an undamaged file.
fn read_all(file: &[u8]) -> Vec<CapturedPacket> {
    let (packets, reader) = read(file);
    assert_eq!(reader.damage(), None);
    assert_eq!(*reader.skipped(), Skipped::default());
    packets
}

/// Asserts that a file is refused with one line that contains these words.
fn refuses(file: &[u8], words: &str) {
    let error = Reader::new(file).unwrap_err();
    assert!(matches!(error, CaptureError::Format(_)), "{error:?}");
    let line = error.to_string();
    assert!(line.contains(words) && !line.contains('\n'), "{line}");
}

/// Asserts that a file is refused as an unsupported capture, with one line that contains these
/// words.
fn does_not_support(file: &[u8], words: &str) {
    let error = Reader::new(file).unwrap_err();
    assert!(matches!(error, CaptureError::Unsupported(_)), "{error:?}");
    let line = error.to_string();
    assert!(line.contains(words) && !line.contains('\n'), "{line}");
}

/// Returns the packets of `samples::packets`, decoded, one step apart.
fn expected() -> Vec<CapturedPacket> {
    let (v4, v6) = (
        ["192.0.2.1", "198.51.100.2"],
        ["2001:db8::1", "2001:db8::2"],
    );
    let packet = |number: u64, [from, to]: [&str; 2], ports: (u16, u16), ip_bytes, transport| {
        CapturedPacket {
            at_ns: FIRST_NS + number * STEP_NS,
            source: (from.parse::<std::net::IpAddr>().unwrap(), ports.0).into(),
            destination: (to.parse::<std::net::IpAddr>().unwrap(), ports.1).into(),
            ip_bytes,
            identification: if from.contains(':') { 0 } else { 0x1234 },
            ecn: if from.contains(':') {
                Ecn::Marked
            } else {
                Ecn::Capable
            },
            transport,
        }
    };
    let segment = |sequence, payload, syn: bool| Segment {
        sequence,
        acknowledgment: 7_000,
        payload,
        window: 512,
        flags: Flags {
            syn,
            ack: !syn,
            ..Flags::default()
        },
        ..Segment::default()
    };
    let mut syn = segment(1_000, 0, true);
    syn.options.maximum_segment = Some(1_460);
    syn.options.sack_permitted = true;
    syn.options.timestamps = Some((100, 0));
    syn.options.window_scale = Some(7);
    let mut sack = segment(1_001, 0, false);
    sack.options.timestamps = Some((200, 100));
    sack.options.push_sack(3_000, 4_000);
    sack.options.push_sack(1_000, 2_000);
    let (tcp, udp) = ((40_000, 443), (5_353, 53));
    let datagram = |payload| Transport::Udp {
        payload,
        begin: Some([0x66; 5]),
    };
    vec![
        packet(0, v4, tcp, 60, Transport::Tcp(syn)),
        packet(
            1,
            v6,
            tcp,
            1_060,
            Transport::Tcp(segment(1_001, 1_000, false)),
        ),
        packet(2, v4, tcp, 72, Transport::Tcp(sack)),
        packet(3, v4, udp, 52, datagram(20)),
        packet(4, v6, udp, 164, datagram(100)),
    ]
}

#[test]
fn every_format_byte_order_and_link_says_the_same() {
    for (name, file) in files() {
        if !["odd.pcap", "sections.pcapng", "snapped.pcap"].contains(&name.as_str()) {
            assert_eq!(read_all(&file), expected(), "{name}");
        }
    }
    // Packets of one IP version.
    for (link, version) in [(228, 4), (229, 6)] {
        let packets: Vec<_> = packets()
            .into_iter()
            .filter(|packet| packet[0] >> 4 == version)
            .collect();
        let file = pcap(Order::Little, NANOSECONDS, link, &packets);
        assert_eq!(read_all(&file).len(), packets.len());
    }
}

#[test]
fn packed_files_read_as_what_was_packed() {
    for (name, file) in files() {
        let (packets, _) = read(&file);
        if !name.ends_with(".gz") {
            assert_eq!(read(&gzip(&file)).0, packets, "{name}");
        }
    }
}

#[test]
fn sections_interfaces_and_clocks_differ() {
    let (packets, reader) = read(&sections());
    assert_eq!(reader.damage(), None);
    let without_time = Skipped {
        without_time: 1,
        ..Skipped::default()
    };
    assert_eq!(*reader.skipped(), without_time);
    let times = [
        FIRST_NS,
        1_700_000_000_500_000_000,
        FIRST_NS / 1_000 * 1_000 + 7_000,
    ];
    for ((packet, expected), at_ns) in packets.iter().zip(expected()).zip(times) {
        assert_eq!(*packet, CapturedPacket { at_ns, ..expected });
    }
    assert_eq!(packets.len(), 3);
}

#[test]
fn what_is_beside_tcp_and_udp_is_counted_by_reason() {
    let (packets, reader) = read(&pcap(Order::Little, MICROSECONDS, 1, &odd_frames()));
    assert_eq!(reader.damage(), None);
    let skipped = Skipped {
        not_ip: 1,
        other_transport: 1,
        fragments: 2,
        ..Skipped::default()
    };
    assert_eq!(*reader.skipped(), skipped);
    let payload = |packet: &CapturedPacket| match packet.transport {
        Transport::Tcp(segment) => segment.payload,
        Transport::Udp { payload, .. } => payload,
    };
    let lengths: Vec<_> = packets
        .iter()
        .map(|packet| (packet.ip_bytes, payload(packet)))
        .collect();
    // Tagged; padded on the wire; the first fragments of two datagrams; to be segmented.
    assert_eq!(
        lengths,
        [
            (60, 0),
            (40, 0),
            (1_500, 2_000),
            (1_496, 2_000),
            (66_040, 66_000)
        ]
    );
}

#[test]
fn impossible_headers_are_counted() {
    let good = packets()[0].clone();
    let with = |at: usize, value: u8| {
        let mut packet = good.clone();
        packet[at] = value;
        packet
    };
    let unfinished = ipv6(60, &[UDP, 200, 1, 4, 0, 0, 0, 0], &udp(8));
    let odd = [
        with(0, 0x44),  // IP header of 16 bytes
        with(3, 19),    // packet shorter than its header
        with(3, 30),    // no room for a TCP header
        with(32, 0x40), // TCP header of 16 bytes
        unfinished,     // extension longer than the packet
        with(0, 0x75),  // version 7
        vec![],
    ];
    let (packets, reader) = read(&pcap(Order::Little, MICROSECONDS, 101, &odd));
    assert_eq!(packets, []);
    let skipped = Skipped {
        malformed: 5,
        not_ip: 1,
        too_short: 1,
        ..Skipped::default()
    };
    assert_eq!(*reader.skipped(), skipped);
}

#[test]
fn the_capture_may_hold_any_part_of_a_packet() {
    for (packet, whole) in packets().iter().zip(expected()) {
        let frame = on_link(1, packet);
        let ip_header = if packet[0] == 0x60 {
            40
        } else {
            usize::from(packet[0] & 15) * 4
        };
        let extensions = if packet[6] == 0 && packet[0] == 0x60 {
            16
        } else {
            0
        };
        for held in 0..frame.len() {
            let mut file = pcap_header(Order::Big, NANOSECONDS, 1);
            let original = frame.len() as u32;
            file.extend(pcap_record(
                Order::Big,
                NANOSECONDS,
                whole.at_ns,
                &frame[..held],
                original,
            ));
            let (read, reader) = read(&file);
            let needed = 14
                + ip_header
                + extensions
                + if matches!(whole.transport, Transport::Tcp(_)) {
                    16
                } else {
                    6
                };
            assert_eq!(
                read.len(),
                usize::from(held >= needed),
                "{held} of {whole:?}"
            );
            assert_eq!(reader.skipped().too_short, u64::from(held < needed));
            let Some(read) = read.into_iter().next() else {
                continue;
            };
            let (Transport::Tcp(cut), Transport::Tcp(segment)) =
                (read.transport.clone(), whole.transport.clone())
            else {
                let (datagram, payload) = (14 + ip_header + extensions + 8, 5);
                let mut expected = whole.clone();
                if let Transport::Udp { begin, .. } = &mut expected.transport {
                    *begin = begin.filter(|_| held >= datagram + payload);
                }
                assert_eq!(read, expected, "{held}");
                continue;
            };
            let header = 14 + ip_header + usize::from(packet[ip_header + 12] >> 4) * 4;
            assert_eq!(cut.cut, held < header);
            let bare = |segment| Segment {
                options: Default::default(),
                cut: false,
                ..segment
            };
            assert_eq!(bare(cut), bare(segment));
            assert!(cut.cut || cut == segment);
            let rest = CapturedPacket {
                transport: read.transport.clone(),
                ..whole.clone()
            };
            assert_eq!(read, rest);
        }
    }
}

#[test]
fn a_packet_without_a_length_has_that_of_the_wire() {
    // Cut: the original length counts, not the number of captured bytes.
    let frame = odd_frames().pop().unwrap();
    let mut file = pcap_header(Order::Little, MICROSECONDS, 1);
    file.extend(pcap_record(
        Order::Little,
        MICROSECONDS,
        FIRST_NS,
        &frame[..96],
        frame.len() as u32,
    ));
    assert_eq!(read_all(&file)[0].ip_bytes, 66_040);
    let mut packet = ipv6(TCP, &[], &tcp(ACK, 1, &[], 70_000));
    packet[4..6].fill(0);
    assert_eq!(
        read_all(&pcap(Order::Little, MICROSECONDS, 101, &[packet]))[0].ip_bytes,
        70_060
    );
}

#[test]
fn the_frame_check_sequence_in_a_link_type_is_passed_over() {
    let file = pcap(Order::Little, MICROSECONDS, 0x2400_0000 | 1, &packets_on(1));
    assert_eq!(read_all(&file), expected());
}

#[test]
fn an_original_length_of_zero_is_the_length_that_is_there() {
    let mut packet = packets()[1].clone();
    packet[4..6].fill(0);
    let mut file = pcap_header(Order::Little, MICROSECONDS, 101);
    file.extend(pcap_record(
        Order::Little,
        MICROSECONDS,
        FIRST_NS,
        &packet,
        0,
    ));
    assert_eq!(read_all(&file)[0].ip_bytes, 1_060);
}

#[test]
fn what_is_no_capture_is_named() {
    refuses(b"", "empty");
    refuses(&gzip(b""), "empty");
    refuses(b"#!/bin/sh\necho \xc3\xa9\n", "text file");
    refuses(b"\x7fELF\x02\x01", "7f 45 4c 46");
    refuses(&[0x1f], "1f");
    refuses(b"\x28\xb5\x2f\xfdxx", "zstd -d FILE");
    refuses(b"snoop\0\0\0\0\0\0\x02", "editcap -F pcap FILE OUTPUT");
}

#[test]
fn a_header_that_is_cut_or_unknown_is_named() {
    let header = pcap_header(Order::Little, MICROSECONDS, 1);
    refuses(&header[..23], "at byte 0: the file ends within the header");
    let mut version = header;
    version[4] = 3;
    does_not_support(&version, "3.4");
    does_not_support(&pcap_header(Order::Big, NANOSECONDS, 127), "127");
    refuses(
        &section(Order::Big)[..20],
        "at byte 0: the file ends within a block",
    );
    let mut unordered = section(Order::Little);
    unordered[8] = 0;
    refuses(&unordered, "at byte 0: ");
    let mut version = section(Order::Little);
    version[12] = 2;
    does_not_support(&version, "2.0");
    refuses(
        &gzip(&pcap_header(Order::Little, MICROSECONDS, 1))[..15],
        "at byte 0: its gzip data",
    );
}

/// Appends `behind` to a file of two packets and returns the damage that the reader reports. Both
/// packets must be read.
fn damage_behind(mut file: Vec<u8>, behind: &[u8]) -> String {
    let begin = file.len();
    file.extend(behind);
    let (packets, reader) = read(&file);
    assert_eq!(packets.len(), 2);
    let damage = reader.damage().unwrap().to_string();
    assert!(
        damage.starts_with(&format!("at byte {begin}: ")),
        "{damage} is not at {begin}"
    );
    damage.split_once(": ").unwrap().1.to_owned()
}

#[test]
fn a_pcap_file_is_read_as_far_as_it_is_sound() {
    let two = || pcap(Order::Little, MICROSECONDS, 1, &packets_on(1)[..2]);
    assert_eq!(
        damage_behind(two(), &[0; 15]),
        "the file ends within the header of a packet"
    );
    let record = pcap_record(Order::Little, MICROSECONDS, FIRST_NS, &[0; 100], 100);
    assert_eq!(
        damage_behind(two(), &record[..50]),
        "the file ends within a packet"
    );
    let mut huge = record.clone();
    huge[8..12].fill(0xff);
    assert_eq!(
        damage_behind(two(), &huge),
        "a packet claims 4294967295 bytes, which is more than any has"
    );
}

#[test]
fn a_pcapng_file_is_read_as_far_as_it_is_sound() {
    let order = Order::Big;
    let two = || pcapng(order, 1, &packets_on(1)[..2]);
    let of = |kind, content: &[u8]| block(order, kind, content);
    let with = |mut block: Vec<u8>, at: usize, value: [u8; 4]| {
        block[at..at + 4].copy_from_slice(&value);
        block
    };
    let odd = with(of(4, &[0; 8]), 4, order.u32(18));
    assert_eq!(
        damage_behind(two(), &odd),
        "a block claims 18 bytes, which none can have"
    );
    let small = with(of(4, &[0; 8]), 4, order.u32(8));
    assert_eq!(
        damage_behind(two(), &small),
        "a block claims 8 bytes, which none can have"
    );
    for kind in [4, 6] {
        let disagree = with(of(kind, &[0; 40]), 48, order.u32(56));
        let message = "a block has 52 bytes by its beginning and 56 by its end";
        assert_eq!(damage_behind(two(), &disagree), message);
        assert_eq!(
            damage_behind(two(), &of(kind, &[0; 40])[..11]),
            "the file ends within a block"
        );
    }
    let huge = with(of(6, &[0; 40]), 4, order.u32(0xffff_fff0));
    let message = "a block claims 4294967280 bytes, which is more than any packet has";
    assert_eq!(damage_behind(two(), &huge), message);
    let huge_but_unknown = with(of(4, &[0; 40]), 4, order.u32(0xffff_fff0));
    assert_eq!(
        damage_behind(two(), &huge_but_unknown),
        "the file ends within a block"
    );
    assert_eq!(
        damage_behind(two(), &of(1, &[0; 4])),
        "the block of an interface is too short"
    );
    let options = "the options of an interface do not fit into its block";
    let resolution = option(order, 9, &[6]);
    for cut in [
        &resolution[..4],
        &option(order, 9, &[]),
        &option(order, 14, &[0; 4]),
    ] {
        assert_eq!(damage_behind(two(), &interface(order, 1, cut)), options);
    }
    assert_eq!(
        damage_behind(two(), &block(order, 0x0a0d_0d0a, &order.u32(0x1a2b_3c4d))),
        "the block of a section is too short"
    );
}

#[test]
fn a_flaw_within_a_block_does_not_end_a_file() {
    let order = Order::Little;
    let frame = &packets_on(1)[0];
    let mut lying = enhanced_packet(order, 0, FIRST_NS / 1_000, frame, &[]);
    lying[20..24].fill(0xff);
    let flaws = [
        (
            lying,
            "a packet claims 4294967295 bytes, which is more than its block has",
        ),
        (
            enhanced_packet(order, 7, 0, frame, &[]),
            "a packet is of interface 7, which is not described",
        ),
        (
            block(order, 6, &[0; 16]),
            "the block of a packet is too short",
        ),
    ];
    for (flaw, message) in flaws {
        let mut file = pcapng(order, 1, &packets_on(1)[..1]);
        let begin = file.len() as u64;
        file.extend(flaw);
        file.extend(enhanced_packet(order, 9, 0, frame, &[]));
        file.extend(enhanced_packet(order, 0, FIRST_NS / 1_000, frame, &[]));
        let (packets, reader) = read(&file);
        assert_eq!(packets.len(), 2);
        assert_eq!(reader.skipped().damaged, 2);
        let damage = reader.damage().unwrap();
        assert_eq!(
            (damage.offset, damage.description.as_str()),
            (begin, message),
            "the first flaw is told"
        );
    }
}

#[test]
fn interfaces_are_not_collected_without_bound() {
    let mut file = pcapng(Order::Little, 1, &packets_on(1)[..2]);
    let block = interface(Order::Little, 1, &[]);
    file.extend(block.repeat(65_535));
    let message = "a section has more than 65536 interfaces";
    assert_eq!(damage_behind(file, &block), message);
}

#[test]
fn an_unknown_link_is_an_error_unless_another_can_be_decoded() {
    let order = Order::Little;
    let packet = &packets()[0];
    let mut file = [section(order), interface(order, 127, &[])].concat();
    let unknown = enhanced_packet(order, 0, 1, packet, &[]);
    let mut reader = Reader::new(Cursor::new([&file[..], &unknown].concat())).unwrap();
    let error = reader.next().unwrap().unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("has packets of link type 127, "),
        "{error}"
    );
    assert!(reader.next().is_none());
    file.extend(interface(order, 101, &[]));
    file.extend(unknown);
    file.extend(enhanced_packet(order, 1, 1, packet, &[]));
    let (packets, reader) = read(&file);
    assert_eq!((packets.len(), reader.skipped().other_link), (1, 1));
}

#[test]
fn damaged_gzip_data_gives_what_could_be_unpacked() {
    // Bytes without a pattern, so that the compressed file has many pieces.
    let mut state = 1_u32;
    let packets: Vec<_> = (0..2_000)
        .map(|_| {
            let mut packet = ipv4(TCP, &[], 0, &tcp(ACK, 1, &[], 400));
            packet[40..].iter_mut().for_each(|byte| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *byte = (state >> 24) as u8;
            });
            packet
        })
        .collect();
    let file = gzip(&pcap(Order::Little, NANOSECONDS, 101, &packets));
    let (all, reader) = read(&file);
    assert_eq!((all.len(), reader.damage()), (2_000, None));
    let (some, reader) = read(&file[..file.len() / 2]);
    assert!(
        some.len() > 900 && some[..] == all[..some.len()],
        "{}",
        some.len()
    );
    let damage = reader.damage().unwrap();
    assert!(
        damage
            .description
            .starts_with("its gzip data is damaged or cut ("),
        "{damage}"
    );
    let mut checksum = file.clone();
    let end = checksum.len() - 8;
    checksum[end] ^= 1;
    let (some, reader) = read(&checksum);
    assert_eq!(some.len(), 2_000);
    assert!(reader.damage().is_some());
    let (some, reader) = read(&[&file[..], b"and something else"].concat());
    assert_eq!(some.len(), 2_000);
    assert!(reader.damage().is_some());
}

#[test]
fn an_error_of_the_device_is_an_error() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let file = pcap(Order::Little, MICROSECONDS, 1, &packets_on(1));
    let mut reader = Reader::new(file.chain(Broken)).unwrap();
    let packets: Vec<_> = reader.by_ref().take(5).map(Result::unwrap).collect();
    assert_eq!(packets, expected());
    let error = reader.next().unwrap().unwrap_err();
    assert!(matches!(error, CaptureError::Input(_)));
    assert_eq!(error.to_string(), "cannot be read: the disk is gone");
    assert!(reader.next().is_none());
    assert!(Reader::new(Broken).is_err());
}

#[test]
fn captures_of_one_place_are_one_in_the_order_of_time() {
    let packets = packets_on(1);
    // One file with the packets at even steps, one with those at odd steps, cut within the last.
    let file = |odd: u64| {
        let mut file = pcap_header(Order::Little, NANOSECONDS, 1);
        for (number, packet) in (0..).zip(&packets).filter(|(number, _)| number % 2 == odd) {
            let at_ns = FIRST_NS + number * STEP_NS;
            file.extend(pcap_record(
                Order::Little,
                NANOSECONDS,
                at_ns,
                packet,
                packet.len() as u32,
            ));
        }
        file
    };
    let (even, mut odd) = (file(0), file(1));
    odd.extend([0; 15]);
    let readers = [even, odd].map(|file| Reader::new(Cursor::new(file)).unwrap());
    let mut merged = Merged::new(readers);
    let whole = read_all(&pcap(Order::Little, NANOSECONDS, 1, &packets));
    assert_eq!(merged.by_ref().collect::<Vec<_>>(), whole);
    assert_eq!(merged.skipped(), Skipped::default());
    assert!(
        merged
            .damage()
            .unwrap()
            .ends_with("the file ends within the header of a packet")
    );
    let ties = [0, 1]
        .map(|_| Reader::new(Cursor::new(pcap(Order::Little, NANOSECONDS, 1, &packets))).unwrap());
    assert_eq!(Merged::new(ties).count(), 2 * whole.len());
}
