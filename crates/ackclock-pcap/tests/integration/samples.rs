//! Handmade captures, byte for byte: each format, byte order and link type, and packets other than
//! TCP that real captures hold.

#![allow(dead_code, reason = "each test program needs some of it")]

use std::io::Write;

/// Capture time of the first packet of a sample; each further packet follows after [`STEP_NS`].
/// Whole microseconds, so that every format can hold it.
pub const FIRST_NS: u64 = 1_700_000_000_123_456_000;
pub const STEP_NS: u64 = 1_001_000;

/// A byte order to write in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Big,
    Little,
}

impl Order {
    pub fn u16(self, value: u16) -> [u8; 2] {
        match self {
            Order::Big => value.to_be_bytes(),
            Order::Little => value.to_le_bytes(),
        }
    }
    pub fn u32(self, value: u32) -> [u8; 4] {
        match self {
            Order::Big => value.to_be_bytes(),
            Order::Little => value.to_le_bytes(),
        }
    }
    pub fn u64(self, value: u64) -> [u8; 8] {
        match self {
            Order::Big => value.to_be_bytes(),
            Order::Little => value.to_le_bytes(),
        }
    }
}

/// Returns the header of a pcap file.
pub fn pcap_header(order: Order, magic: u32, link: u32) -> Vec<u8> {
    let mut file = order.u32(magic).to_vec();
    file.extend(order.u16(2));
    file.extend(order.u16(4));
    file.extend([0; 8]);
    file.extend(order.u32(262_144));
    file.extend(order.u32(link));
    file
}

pub const MICROSECONDS: u32 = 0xa1b2_c3d4;
pub const NANOSECONDS: u32 = 0xa1b2_3c4d;
pub const KUZNETSOV: u32 = 0xa1b2_cd34;

/// Returns a record of a pcap file with this magic number. `original_length` is the packet's length
/// on the wire, in bytes.
pub fn pcap_record(
    order: Order,
    magic: u32,
    at_ns: u64,
    packet: &[u8],
    original_length: u32,
) -> Vec<u8> {
    let unit = if magic == NANOSECONDS { 1 } else { 1_000 };
    let mut record = order.u32((at_ns / 1_000_000_000) as u32).to_vec();
    record.extend(order.u32((at_ns % 1_000_000_000 / unit) as u32));
    record.extend(order.u32(packet.len() as u32));
    record.extend(order.u32(original_length));
    if magic == KUZNETSOV {
        record.extend(order.u32(2)); // index of the interface
        record.extend(order.u16(0x0800)); // protocol
        record.extend([4, 0]); // outgoing, padding
    }
    record.extend(packet);
    record
}

/// Returns a pcap file with these packets, one step apart.
pub fn pcap(order: Order, magic: u32, link: u32, packets: &[Vec<u8>]) -> Vec<u8> {
    snapped_pcap(order, magic, link, packets, usize::MAX)
}

/// Returns such a file with the first `held` bytes of each packet.
pub fn snapped_pcap(
    order: Order,
    magic: u32,
    link: u32,
    packets: &[Vec<u8>],
    held: usize,
) -> Vec<u8> {
    let mut file = pcap_header(order, magic, link);
    for (number, packet) in (0..).zip(packets) {
        let at_ns = FIRST_NS + number * STEP_NS;
        let beginning = &packet[..packet.len().min(held)];
        file.extend(pcap_record(
            order,
            magic,
            at_ns,
            beginning,
            packet.len() as u32,
        ));
    }
    file
}

/// Returns a block of a pcapng file.
pub fn block(order: Order, kind: u32, content: &[u8]) -> Vec<u8> {
    let padding = content.len().next_multiple_of(4) - content.len();
    let length = order.u32((content.len() + padding + 12) as u32);
    [
        &order.u32(kind),
        &length,
        content,
        &vec![0; padding],
        &length,
    ]
    .concat()
}

/// Returns a section header.
pub fn section(order: Order) -> Vec<u8> {
    let content = [
        &order.u32(0x1a2b_3c4d)[..],
        &order.u16(1),
        &order.u16(0),
        &order.u64(u64::MAX),
        &option(order, 4, b"by hand"),
        &option(order, 0, &[]),
    ];
    block(order, 0x0a0d_0d0a, &content.concat())
}

/// Returns an option of a block.
pub fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    let padding = value.len().next_multiple_of(4) - value.len();
    [
        &order.u16(code)[..],
        &order.u16(value.len() as u16),
        value,
        &vec![0; padding],
    ]
    .concat()
}

/// Returns an interface with these options.
pub fn interface(order: Order, link: u16, options: &[u8]) -> Vec<u8> {
    let fixed = [order.u16(link), order.u16(0)].concat();
    block(
        order,
        1,
        &[&fixed, &order.u32(262_144)[..], options].concat(),
    )
}

/// Returns an Enhanced Packet Block; `ticks` is in the unit of the interface.
pub fn enhanced_packet(
    order: Order,
    interface: u32,
    ticks: u64,
    packet: &[u8],
    options: &[u8],
) -> Vec<u8> {
    let numbers = [
        interface,
        (ticks >> 32) as u32,
        ticks as u32,
        packet.len() as u32,
        packet.len() as u32,
    ];
    let mut content = numbers.map(|number| order.u32(number)).concat();
    content.extend(packet);
    content.resize(content.len().next_multiple_of(4), 0);
    content.extend(options);
    block(order, 6, &content)
}

/// Returns a Simple Packet Block.
pub fn simple_packet(order: Order, packet: &[u8]) -> Vec<u8> {
    block(
        order,
        3,
        &[&order.u32(packet.len() as u32), packet].concat(),
    )
}

/// Returns an obsolete Packet Block.
pub fn obsolete_packet(order: Order, interface: u16, ticks: u64, packet: &[u8]) -> Vec<u8> {
    let mut content = [order.u16(interface), order.u16(3)].concat();
    let length = packet.len() as u32;
    for number in [(ticks >> 32) as u32, ticks as u32, length, length] {
        content.extend(order.u32(number));
    }
    content.extend(packet);
    block(order, 2, &content)
}

/// Returns a pcapng file of one interface with microseconds.
pub fn pcapng(order: Order, link: u16, packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = section(order);
    file.extend(interface(order, link, &[]));
    for (number, packet) in (0..).zip(packets) {
        let microseconds = (FIRST_NS + number * STEP_NS) / 1_000;
        file.extend(enhanced_packet(order, 0, microseconds, packet, &[]));
    }
    file
}

/// Compresses with gzip.
pub fn gzip(file: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(file).unwrap();
    packed.finish().unwrap()
}

/// Returns an IPv4 packet. `fragment` is the field of flags and offset; `options` of the header
/// must be whole words.
pub fn ipv4(protocol: u8, options: &[u8], fragment: u16, payload: &[u8]) -> Vec<u8> {
    let header = 20 + options.len();
    let mut packet = vec![0x40 | (header / 4) as u8, 0b0000_0010];
    packet.extend(((header + payload.len()) as u16).to_be_bytes());
    packet.extend([0x12, 0x34]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0, 192, 0, 2, 1, 198, 51, 100, 2]);
    packet.extend(options);
    packet.extend(payload);
    packet
}

/// Returns an IPv6 packet. `extensions` stand before the payload; `next` is the type of the first
/// of them, or of the payload.
pub fn ipv6(next: u8, extensions: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0x30, 0, 0];
    packet.extend(((extensions.len() + payload.len()) as u16).to_be_bytes());
    packet.extend([next, 64]);
    packet.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    packet.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    packet.extend(extensions);
    packet.extend(payload);
    packet
}

pub const TCP: u8 = 6;
pub const UDP: u8 = 17;

/// Returns a TCP segment from port 40000 to port 443. `options` must be whole words.
pub fn tcp(flags: u8, sequence: u32, options: &[u8], payload: usize) -> Vec<u8> {
    let mut segment = vec![0x9c, 0x40, 0x01, 0xbb];
    segment.extend(sequence.to_be_bytes());
    segment.extend(7_000_u32.to_be_bytes());
    segment.extend([
        ((20 + options.len()) * 4) as u8,
        flags,
        0x02,
        0x00,
        0,
        0,
        0,
        0,
    ]);
    segment.extend(options);
    segment.resize(segment.len() + payload, 0x55);
    segment
}

/// Options of a SYN: MSS 1460, SACK permitted, timestamps 100 and 0, no-operation, window scale 7.
pub const SYN_OPTIONS: [u8; 20] = [
    2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 100, 0, 0, 0, 0, 1, 3, 3, 7,
];
/// Options of an ACK with two SACK blocks: timestamps 200 and 100, 3000 to 4000, 1000 to 2000.
pub const SACK_OPTIONS: [u8; 32] = [
    1, 1, 8, 10, 0, 0, 0, 200, 0, 0, 0, 100, 1, 1, 5, 18, 0, 0, 0x0b, 0xb8, 0, 0, 0x0f, 0xa0, 0, 0,
    0x03, 0xe8, 0, 0, 0x07, 0xd0,
];

pub const SYN: u8 = 0x02;
pub const ACK: u8 = 0x10;

/// Returns a UDP datagram from port 5353 to port 53.
pub fn udp(payload: usize) -> Vec<u8> {
    let mut datagram = vec![0x14, 0xe9, 0, 53];
    datagram.extend(((payload + 8) as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.resize(payload + 8, 0x66);
    datagram
}

/// Returns five packets: a SYN, data over IPv6, an ACK with SACK blocks, a datagram behind IPv4
/// options, a datagram behind IPv6 extensions.
pub fn packets() -> Vec<Vec<u8>> {
    // Hop-by-hop, then destination options, both filled with padding.
    let extensions = [60, 0, 1, 4, 0, 0, 0, 0, UDP, 0, 1, 4, 0, 0, 0, 0];
    vec![
        ipv4(TCP, &[], 0x4000, &tcp(SYN, 1_000, &SYN_OPTIONS, 0)),
        ipv6(TCP, &[], &tcp(ACK, 1_001, &[], 1_000)),
        ipv4(TCP, &[], 0x4000, &tcp(ACK, 1_001, &SACK_OPTIONS, 0)),
        ipv4(UDP, &[1, 1, 1, 0], 0, &udp(20)),
        ipv6(0, &extensions, &udp(100)),
    ]
}

/// Returns the packet behind the header of this link type.
pub fn on_link(link: u32, packet: &[u8]) -> Vec<u8> {
    let is_ipv6 = packet[0] >> 4 == 6;
    let ether_type = if is_ipv6 { [0x86, 0xdd] } else { [0x08, 0x00] };
    let header = match link {
        0 => vec![if is_ipv6 { 24 } else { 2 }, 0, 0, 0],
        108 => vec![0, 0, 0, if is_ipv6 { 24 } else { 2 }],
        1 => [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], &ether_type[..]].concat(),
        113 => [&[0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0], &ether_type[..]].concat(),
        276 => [
            &ether_type[..],
            &[0, 0, 0, 0, 0, 2, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0],
        ]
        .concat(),
        _ => Vec::new(),
    };
    [&header, packet].concat()
}

/// Returns the five packets on this link type.
pub fn packets_on(link: u32) -> Vec<Vec<u8>> {
    packets()
        .iter()
        .map(|packet| on_link(link, packet))
        .collect()
}

/// Returns other frames of an Ethernet capture: tags, padding, fragments, ARP, ICMP, a packet that
/// the card will segment.
pub fn odd_frames() -> Vec<Vec<u8>> {
    let arp = [&[0xff; 12], &[0x08, 0x06][..], &[0; 28]].concat();
    let mut tagged = on_link(1, &packets()[0]);
    tagged.splice(12..12, [0x88, 0xa8, 0, 5, 0x81, 0x00, 0, 6]);
    let mut padded = on_link(1, &ipv4(TCP, &[], 0, &tcp(ACK, 1_001, &[], 0)));
    padded.resize(60, 0);
    let mut unsegmented = ipv4(TCP, &[], 0x4000, &tcp(ACK, 1_001, &[], 66_000));
    unsegmented[2..4].fill(0);
    let fragment = |offset: u16, more: u16, payload: &[u8]| {
        ipv6(
            44,
            &[
                &[UDP, 0],
                &u16::to_be_bytes(offset << 3 | more)[..],
                &[0, 0, 0, 9],
            ]
            .concat(),
            payload,
        )
    };
    vec![
        arp,
        tagged,
        padded,
        on_link(1, &ipv4(UDP, &[], 0x2000, &udp(2_000)[..1_480])),
        on_link(1, &ipv4(UDP, &[], 185, &[0x66; 528])),
        on_link(1, &fragment(0, 1, &udp(2_000)[..1_448])),
        on_link(1, &fragment(181, 0, &[0x66; 560])),
        on_link(1, &ipv4(1, &[], 0, &[8, 0, 0, 0, 0, 0, 0, 0])),
        on_link(1, &unsegmented),
    ]
}

/// Link types that can be decoded and can hold both versions of IP.
pub const LINKS: [u32; 8] = [0, 1, 12, 14, 101, 108, 113, 276];

/// Bytes kept of each packet in `snapped.pcap`: an Ethernet, an IPv4 and a TCP header, and twelve
/// bytes of options.
pub const SNAPPED: usize = 66;

/// Returns files by name, for the tests, for tshark, and as seeds for fuzzing.
pub fn files() -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for order in [Order::Little, Order::Big] {
        let name = format!("{order:?}").to_lowercase();
        let packets = packets_on(1);
        files.push((
            format!("microseconds-{name}.pcap"),
            pcap(order, MICROSECONDS, 1, &packets),
        ));
        files.push((
            format!("nanoseconds-{name}.pcap"),
            pcap(order, NANOSECONDS, 1, &packets),
        ));
        files.push((
            format!("kuznetsov-{name}.pcap"),
            pcap(order, KUZNETSOV, 1, &packets),
        ));
        files.push((format!("{name}.pcapng"), pcapng(order, 1, &packets)));
    }
    for link in LINKS {
        let file = pcap(Order::Little, MICROSECONDS, link, &packets_on(link));
        files.push((format!("link-{link}.pcap"), file));
    }
    let odd = snapped_pcap(Order::Little, MICROSECONDS, 1, &odd_frames(), 128);
    files.push(("odd.pcap".into(), odd));
    let snapped = snapped_pcap(Order::Big, NANOSECONDS, 1, &packets_on(1), SNAPPED);
    files.push(("snapped.pcap".into(), snapped));
    files.push(("sections.pcapng".into(), sections()));
    let packed = pcap(Order::Big, NANOSECONDS, 1, &packets_on(1));
    files.push((
        "packed.pcap.gz".into(),
        [gzip(&packed[..100]), gzip(&packed[100..])].concat(),
    ));
    files
}

/// Returns two sections of different byte order. The first has interfaces with clocks of their own
/// and blocks to be skipped; the second an obsolete block and one without a time.
pub fn sections() -> Vec<u8> {
    let packets = packets();
    let (one, two) = (Order::Little, Order::Big);
    let mut file = section(one);
    let nanoseconds = [
        option(one, 2, b"eth0"),
        option(one, 9, &[9]),
        option(one, 0, &[]),
    ]
    .concat();
    file.extend(interface(one, 1, &nanoseconds));
    // Ticks of 2^-20 s, counted from 1.6 billion seconds on.
    let binary = [
        option(one, 9, &[0x80 | 20]),
        option(one, 14, &one.u64(1_600_000_000)),
    ]
    .concat();
    file.extend(interface(one, 101, &binary));
    let secrets = [one.u32(0x544c_534b), one.u32(5)].concat(); // a TLS key log
    file.extend(block(one, 10, &[&secrets, &b"nokey"[..]].concat()));
    file.extend(block(one, 0x8000_1234, b"of somebody's own"));
    let flags = [option(one, 2, &one.u32(1)), option(one, 0, &[])].concat();
    let ethernet = on_link(1, &packets[0]);
    file.extend(enhanced_packet(one, 0, FIRST_NS, &ethernet, &flags));
    let half_a_second = (100_000_000 << 20) + (1 << 19);
    file.extend(enhanced_packet(one, 1, half_a_second, &packets[1], &[]));
    file.extend(block(one, 5, &[0; 12])); // statistics
    file.extend(section(two));
    file.extend(interface(two, 276, &[]));
    let cooked = on_link(276, &packets[2]);
    file.extend(obsolete_packet(two, 0, FIRST_NS / 1_000 + 7, &cooked));
    file.extend(simple_packet(two, &cooked));
    file
}
