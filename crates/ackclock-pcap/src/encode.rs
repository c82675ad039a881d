//! Real IPv4, TCP and UDP headers for simulated packets.
//!
//! # What a capture says
//! - Sequence numbers on the wire count bytes modulo 2^32. Both initial sequence numbers are 0, so that a tool's
//!   relative numbers are the raw ones: segment n begins at 1 + n · MSS.
//! - The timestamp option (RFC 7323) is there if the endpoints measure with it; its unit is the microsecond.
//! - The window scale option is there whenever a SYN is. Without a handshake a tool cannot know the scale, as with any
//!   capture that began late, and shows the field as it is.
//! - The payload is zeros; a datagram begins with its number, 8 bytes big-endian, if it is that long. The last segment
//!   of a finite transfer has PSH. There is no FIN: simulated connections do not close.
//!
//! # Where simulated sizes and real headers differ
//! Simulated packets have headers of one size, `TcpParameters::header`. Real ones are as long as their options. The
//! capture keeps the payload and every option:
//! - if the options are shorter than the simulated header, they are filled up with no-operations, so that the IP length is
//!   the simulated size (for sizes from 40 to 80 bytes in steps of 4, which is what TCP can have);
//! - if they are longer (SACK blocks, the options of a SYN), the packet in the capture is longer than the simulated one
//!   by that much.
//!
//! A datagram always has its simulated size: what `header` has beyond 28 bytes is payload for UDP.
//!
//! # What a simulated packet does not know
//! - An ACK has no timestamp of its own, and data no echo. [`Labels`](crate::Labels) remember them from one end to the other. Without a
//!   label an ACK's value is the time of capture, which is right where ACKs leave, and a data segment echoes the last one the encoder saw, which is right where
//!   ACKs arrive. Echoes in ACKs are always right.
//! - The identification counts, without labels, the captured packets of a flow and direction, not the sent ones.

use crate::FlowAddresses;
use crate::labels::{Label, microseconds};
use ackclock_core::endpoint::TcpParameters;
use ackclock_core::endpoint::parameters::{LossRecovery, RttSampling};
use ackclock_core::packet::{Ecn, Packet, PacketKind, SackBlock};
use ackclock_core::units::{Bytes, Time};
use etherparse::checksum::Sum16BitWords;
use etherparse::tcp_option::{
    KIND_MAXIMUM_SEGMENT_SIZE, KIND_NOOP, KIND_SELECTIVE_ACK, KIND_SELECTIVE_ACK_PERMITTED, KIND_TIMESTAMP,
    KIND_WINDOW_SCALE, LEN_MAXIMUM_SEGMENT_SIZE, LEN_SELECTIVE_ACK_PERMITTED, LEN_TIMESTAMP,
    LEN_WINDOW_SCALE,
};
use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptions, UdpHeader};
use std::net::SocketAddrV4;

/// As Linux does.
const TIME_TO_LIVE: u8 = 64;
const IP_LENGTH: u16 = Ipv4Header::MIN_LEN_U16;
/// Without options.
const TCP_LENGTH: u16 = TcpHeader::MIN_LEN as u16;
/// The largest shift of a window (RFC 7323 section 2.3).
const LARGEST_SHIFT: u8 = 14;

/// Makes the bytes of one flow's packets. Allocates nothing.
#[derive(Clone, Debug)]
pub struct PacketEncoder {
    addresses: FlowAddresses,
    transport: Transport,
    sent_forward: u16,
    sent_back: u16,
}

#[derive(Clone, Debug)]
enum Transport {
    Tcp(Connection),
    Udp,
}

impl PacketEncoder {
    /// Encodes the packets of a TCP connection. `total` is all that its application will ever write, if it ends: the
    /// segment that ends there may be shorter than the others.
    pub fn tcp(addresses: FlowAddresses, parameters: &TcpParameters, total: Option<Bytes>) -> Self {
        Self::new(addresses, Transport::Tcp(Connection::new(parameters, total)))
    }

    /// Encodes UDP datagrams.
    pub fn udp(addresses: FlowAddresses) -> Self {
        Self::new(addresses, Transport::Udp)
    }

    fn new(addresses: FlowAddresses, transport: Transport) -> Self {
        PacketEncoder {
            addresses,
            transport,
            sent_forward: 0,
            sent_back: 0,
        }
    }

    /// Puts at most the first `snap_length` bytes of `packet`, as seen at `at`, into `buffer`, whose content is
    /// replaced. `sacks` are the blocks of an ACK, `label` what it carries from end to end. Returns the length of the whole packet in bytes.
    pub fn encode(
        &mut self,
        at: Time,
        packet: &Packet,
        sacks: &[SackBlock],
        label: Option<Label>,
        snap_length: u32,
        buffer: &mut Vec<u8>,
    ) -> u32 {
        buffer.clear();
        let FlowAddresses { sender, receiver } = self.addresses;
        let (from, to, identification) = if packet.is_forward() {
            (sender, receiver, &mut self.sent_forward)
        } else {
            (receiver, sender, &mut self.sent_back)
        };
        let mut ip = Ipv4Header {
            identification: label.map_or(*identification, |label| label.identification),
            ecn: ip_ecn(packet.ecn()),
            time_to_live: TIME_TO_LIVE,
            source: from.ip().octets(),
            destination: to.ip().octets(),
            ..Ipv4Header::default()
        };
        *identification = identification.wrapping_add(1);
        match &mut self.transport {
            Transport::Tcp(connection) if packet.kind() != PacketKind::Datagram => {
                let (mut tcp, payload) = connection.header(at, packet, sacks, label);
                (tcp.source_port, tcp.destination_port) = (from.port(), to.port());
                ip.protocol = IpNumber::TCP;
                ip.total_len = IP_LENGTH + tcp.header_len_u16() + payload;
                put_tcp(ip.clone(), &tcp, buffer);
            }
            _ => {
                ip.protocol = IpNumber::UDP;
                ip.total_len = packet.size.max(IP_LENGTH + UdpHeader::LEN_U16);
                put_udp(ip.clone(), from, to, packet.sequence, buffer);
            }
        }
        let whole = u32::from(ip.total_len);
        buffer.resize(whole.min(snap_length) as usize, 0);
        whole
    }
}

const fn ip_ecn(ecn: Ecn) -> IpEcn {
    match ecn {
        Ecn::NotCapable => IpEcn::NotEct,
        Ecn::Capable => IpEcn::Ect0,
        Ecn::CapableL4s => IpEcn::Ect1,
        Ecn::Marked => IpEcn::CongestionExperienced,
    }
}

fn put_ip(mut ip: Ipv4Header, buffer: &mut Vec<u8>) {
    ip.header_checksum = ip.calc_header_checksum();
    buffer.extend_from_slice(&ip.to_bytes());
}

/// The checksum covers a payload of zeros without reading it: zeros add nothing to a sum, and only the length in the pseudo
/// header (RFC 9293 section 3.1) tells of them.
fn put_tcp(ip: Ipv4Header, tcp: &TcpHeader, buffer: &mut Vec<u8>) {
    let mut bytes = tcp.to_bytes();
    let checksum = Sum16BitWords::new()
        .add_4bytes(ip.source)
        .add_4bytes(ip.destination)
        .add_2bytes([0, IpNumber::TCP.0])
        .add_2bytes((ip.total_len - IP_LENGTH).to_be_bytes())
        .add_slice(&bytes)
        .ones_complement();
    // The sum is of words as they lie in memory, and so is the result.
    bytes[16..18].copy_from_slice(&checksum.to_ne_bytes());
    put_ip(ip, buffer);
    buffer.extend_from_slice(&bytes);
}

fn put_udp(ip: Ipv4Header, from: SocketAddrV4, to: SocketAddrV4, number: u64, buffer: &mut Vec<u8>) {
    let number = number.to_be_bytes();
    let length = ip.total_len - IP_LENGTH;
    let fits = usize::from(length) >= UdpHeader::LEN + number.len();
    let payload = if fits { &number[..] } else { &[] };
    let mut udp = UdpHeader {
        source_port: from.port(),
        destination_port: to.port(),
        length,
        checksum: 0,
    };
    // Fails on payloads longer than a datagram only; this one is 8 bytes. The zeros after it add nothing to the sum.
    udp.checksum = udp.calc_checksum_ipv4(&ip, payload).unwrap_or(0);
    put_ip(ip, buffer);
    buffer.extend_from_slice(&udp.to_bytes());
    buffer.extend_from_slice(payload);
}

/// What the headers of a TCP connection depend on.
#[derive(Clone, Debug)]
struct Connection {
    mss: u64,
    /// IP and TCP headers of a simulated packet.
    header: u16,
    /// Where its data ends, in bytes.
    total: Option<u64>,
    timestamps: bool,
    sack: bool,
    ecn: bool,
    /// What the receiver of data advertises, and how far it is shifted.
    window: u64,
    window_shift: u8,
    /// The last timestamp of the receiver.
    receiver_stamp: u32,
}

impl Connection {
    fn new(parameters: &TcpParameters, total: Option<Bytes>) -> Self {
        let largest = u64::from(u16::MAX) << LARGEST_SHIFT;
        let window = match parameters.receive_window.bytes(parameters.mss) {
            Some(window) => window.0.min(largest),
            None => largest,
        };
        let window_shift = (0..LARGEST_SHIFT).find(|shift| window >> shift <= u64::from(u16::MAX));
        Connection {
            mss: parameters.mss.0,
            header: u16::try_from(parameters.header.0).unwrap_or(u16::MAX),
            total: total.map(|total| total.0),
            timestamps: parameters.rtt_sampling == RttSampling::Timestamps,
            sack: parameters.recovery == LossRecovery::Sack,
            ecn: parameters.ecn,
            window,
            window_shift: window_shift.unwrap_or(LARGEST_SHIFT),
            receiver_stamp: 0,
        }
    }

    /// Where segment number `segment` begins in the application's bytes.
    fn offset(&self, segment: u64) -> u64 {
        let offset = segment.saturating_mul(self.mss);
        self.total.map_or(offset, |total| offset.min(total))
    }

    /// The initial sequence number is 0 and the SYN takes one.
    fn wire_sequence(&self, segment: u64) -> u32 {
        (self.offset(segment) as u32).wrapping_add(1)
    }

    /// The TCP header without ports and checksum, and the length of the payload.
    fn header(
        &mut self,
        at: Time,
        packet: &Packet,
        sacks: &[SackBlock],
        label: Option<Label>,
    ) -> (TcpHeader, u16) {
        let kind = packet.kind();
        let (is_syn, is_forward) = (
            matches!(kind, PacketKind::Syn | PacketKind::SynAck),
            packet.is_forward(),
        );
        let payload = match kind {
            PacketKind::Data => packet.size.saturating_sub(self.header),
            _ => 0,
        };
        let stamps = match label {
            Some(label) => (label.value, label.echo),
            None => self.stamps(at, packet),
        };
        let mut options = self.options(packet, sacks, stamps);
        options.fill_to(packet.size - payload);
        let payload = payload.min(u16::MAX - IP_LENGTH - TCP_LENGTH - options.length as u16);
        let end = self.offset(packet.sequence).saturating_add(payload.into());
        // RFC 3168 section 6.1.1: ECE and CWR on a SYN ask for ECN, ECE on its answer agrees.
        let asks_for_ecn = self.ecn && kind == PacketKind::Syn;
        let agrees_to_ecn = self.ecn && kind == PacketKind::SynAck;
        let header = TcpHeader {
            sequence_number: match kind {
                PacketKind::Syn | PacketKind::SynAck => 0,
                PacketKind::Data => self.wire_sequence(packet.sequence),
                _ => 1, // the receiver sends no data
            },
            acknowledgment_number: match kind {
                PacketKind::Syn => 0,
                PacketKind::Ack => self.wire_sequence(packet.sequence),
                _ => 1,
            },
            syn: is_syn,
            ack: kind != PacketKind::Syn,
            psh: payload > 0 && self.total == Some(end),
            ece: packet.has_ecn_echo() || asks_for_ecn || agrees_to_ecn,
            cwr: packet.has_window_reduced() || asks_for_ecn,
            window_size: self.window_field(is_syn, is_forward),
            options: options.finish(),
            ..TcpHeader::default()
        };
        (header, payload)
    }

    fn window_field(&self, is_syn: bool, is_forward: bool) -> u16 {
        if is_forward {
            return u16::MAX; // the sender receives no data
        }
        // RFC 7323 section 2.2: the window of a SYN is never shifted.
        let shift = if is_syn { 0 } else { self.window_shift };
        (self.window >> shift).min(u16::MAX.into()) as u16
    }

    /// Value and echo as well as they are known here.
    fn stamps(&mut self, at: Time, packet: &Packet) -> (u32, u32) {
        if packet.is_forward() {
            return (microseconds(packet.stamp), self.receiver_stamp);
        }
        self.receiver_stamp = microseconds(at);
        (self.receiver_stamp, microseconds(packet.stamp))
    }

    fn options(&self, packet: &Packet, sacks: &[SackBlock], (value, echo): (u32, u32)) -> Options {
        let kind = packet.kind();
        let is_syn = matches!(kind, PacketKind::Syn | PacketKind::SynAck);
        let mut options = Options::new();
        if is_syn {
            let mss = u16::try_from(self.mss).unwrap_or(u16::MAX).to_be_bytes();
            options.put(&[
                KIND_MAXIMUM_SEGMENT_SIZE,
                LEN_MAXIMUM_SEGMENT_SIZE,
                mss[0],
                mss[1],
            ]);
        }
        // Two bytes before a timestamp align it; "SACK permitted" is two bytes.
        let permitted = if is_syn && self.sack {
            [KIND_SELECTIVE_ACK_PERMITTED, LEN_SELECTIVE_ACK_PERMITTED]
        } else {
            [KIND_NOOP; 2]
        };
        if self.timestamps {
            options.put(&[permitted[0], permitted[1], KIND_TIMESTAMP, LEN_TIMESTAMP]);
            options.put(&value.to_be_bytes());
            options.put(&echo.to_be_bytes());
        } else if is_syn && self.sack {
            options.put(&[KIND_NOOP, KIND_NOOP, permitted[0], permitted[1]]);
        }
        if is_syn {
            let shift = if packet.is_forward() { 0 } else { self.window_shift };
            options.put(&[KIND_NOOP, KIND_WINDOW_SCALE, LEN_WINDOW_SCALE, shift]);
        }
        if kind == PacketKind::Ack && !sacks.is_empty() {
            let room = (TcpOptions::MAX_LEN - options.length - 4) / 8;
            let sacks = &sacks[..sacks.len().min(room)];
            options.put(&[
                KIND_NOOP,
                KIND_NOOP,
                KIND_SELECTIVE_ACK,
                2 + 8 * sacks.len() as u8,
            ]);
            for block in sacks {
                options.put(&self.wire_sequence(block.start).to_be_bytes());
                options.put(&self.wire_sequence(block.end).to_be_bytes());
            }
        }
        options
    }
}

/// TCP options being put together, four-byte aligned; what is not written is no-operation.
struct Options {
    bytes: [u8; TcpOptions::MAX_LEN],
    length: usize,
}

impl Options {
    const fn new() -> Self {
        Options {
            bytes: [KIND_NOOP; TcpOptions::MAX_LEN],
            length: 0,
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    /// Makes all headers together `headers` bytes long, as nearly as they can be without leaving anything out.
    fn fill_to(&mut self, headers: u16) {
        let room = usize::from(headers.saturating_sub(IP_LENGTH + TCP_LENGTH)) / 4 * 4;
        self.length = self.length.max(room.min(TcpOptions::MAX_LEN));
    }

    fn finish(&self) -> TcpOptions {
        TcpOptions::try_from_slice(&self.bytes[..self.length]).expect("at most 40 bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_core::endpoint::parameters::Preset;
    use ackclock_core::packet::FlowId;
    use ackclock_core::scenario::quantity::OptionalWindow;
    use etherparse::{SlicedPacket, TcpOptionElement, TransportSlice};

    const MICROSECOND: u64 = 1_000;
    const WHOLE: u32 = 65_535;

    fn packet(kind: PacketKind, sequence: u64, size: u16, stamp_us: u64) -> Packet {
        let stamp = Time::from_nanos(stamp_us * MICROSECOND + 999);
        Packet::new(kind, FlowId(0), sequence, size, stamp)
    }

    /// Linux: MSS 1448, header 52, timestamps, SACK. RFC: MSS 1460, header 40, SACK, no timestamps.
    fn encoder(parameters: &TcpParameters) -> PacketEncoder {
        PacketEncoder::tcp(FlowAddresses::of(FlowId(0)), parameters, None)
    }

    fn encode(encoder: &mut PacketEncoder, at_us: u64, packet: &Packet, sacks: &[SackBlock]) -> Vec<u8> {
        let mut buffer = vec![0xff; 7];
        let at = Time::from_nanos(at_us * MICROSECOND);
        let whole = encoder.encode(at, packet, sacks, None, WHOLE, &mut buffer);
        assert_eq!(whole as usize, buffer.len());
        check(&buffer);
        buffer
    }

    /// Whether the packet is one that a real host would accept: lengths and checksums.
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
        let mut encoder = encoder(&Preset::Linux.parameters());
        let mut ack = packet(PacketKind::Ack, 2, 52, 0x0102_0304);
        ack.set_ecn_echo(true);
        let bytes = encode(&mut encoder, 0x0a0b_0c0d, &ack, &[]);
        #[rustfmt::skip]
        let expected = [
            // version and length; DSCP and ECN; total length; identification; don't fragment; TTL, TCP, checksum
            0x45, 0, 0, 52, 0, 0, 0x40, 0, 64, 6, 0x26, 0x43,
            10, 128, 0, 1, 10, 0, 0, 1,
            // ports 9 and 38000; sequence 1; acknowledges 2 · 1448 + 1; 32 bytes, ECE and ACK; window; checksum; urgent
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
            let mut encoder = encoder(&preset.parameters());
            let bytes = encode(
                &mut encoder,
                0,
                &packet(PacketKind::Data, 0, header + mss, 0),
                &[],
            );
            assert_eq!(
                (bytes.len(), tcp(&bytes).1),
                (usize::from(header + mss), usize::from(mss))
            );
            let bytes = encode(&mut encoder, 0, &packet(PacketKind::Ack, 1, header, 0), &[]);
            assert_eq!((bytes.len(), tcp(&bytes).1), (usize::from(header), 0));
        }
    }

    #[test]
    fn headers_of_any_size_keep_the_payload() {
        for header in 0..200_u16 {
            for preset in [Preset::Linux, Preset::Rfc] {
                let mut parameters = preset.parameters();
                parameters.header = Bytes(header.into());
                let mut encoder = encoder(&parameters);
                let bytes = encode(
                    &mut encoder,
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
        let mut encoder = encoder(&parameters);
        for segment in [0, 1, (1 << 32) / 1460, (1 << 32) / 1460 + 1, 1 << 40, u64::MAX] {
            let expected = (u128::from(segment) * 1460).min(u64::MAX.into()) as u32;
            let expected = expected.wrapping_add(1);
            let (data, _) = tcp(&encode(
                &mut encoder,
                0,
                &packet(PacketKind::Data, segment, 1500, 0),
                &[],
            ));
            assert_eq!((data.sequence_number, data.acknowledgment_number), (expected, 1));
            let (ack, _) = tcp(&encode(
                &mut encoder,
                0,
                &packet(PacketKind::Ack, segment, 40, 0),
                &[],
            ));
            assert_eq!((ack.sequence_number, ack.acknowledgment_number), (1, expected));
        }
        // One segment straddles the wrap: the next begins where its last byte leaves off.
        let straddling = (1_u64 << 32) / 1460;
        let sequence = |encoder: &mut PacketEncoder, segment| {
            let bytes = encode(encoder, 0, &packet(PacketKind::Data, segment, 1500, 0), &[]);
            tcp(&bytes).0.sequence_number
        };
        let (before, after) = (
            sequence(&mut encoder, straddling),
            sequence(&mut encoder, straddling + 1),
        );
        assert!(before > after);
        assert_eq!(before.wrapping_add(1460), after);
    }

    #[test]
    fn the_end_of_a_transfer_is_pushed_and_acknowledged_to_the_byte() {
        let parameters = Preset::Rfc.parameters();
        let addresses = FlowAddresses::of(FlowId(0));
        let mut encoder = PacketEncoder::tcp(addresses, &parameters, Some(Bytes(2 * 1460 + 100)));
        let pushes: Vec<_> = [(0, 1500), (1, 1500), (2, 140)]
            .map(|(segment, size)| {
                let bytes = encode(&mut encoder, 0, &packet(PacketKind::Data, segment, size, 0), &[]);
                (tcp(&bytes).0.sequence_number, tcp(&bytes).0.psh)
            })
            .into();
        assert_eq!(pushes, [(1, false), (1461, false), (2921, true)]);
        let sacks = [SackBlock { start: 2, end: 3 }];
        let (ack, _) = tcp(&encode(
            &mut encoder,
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
        let (ack, _) = tcp(&encode(&mut encoder, 0, &packet(PacketKind::Ack, 3, 40, 0), &[]));
        assert_eq!(ack.acknowledgment_number, 3021);
    }

    #[test]
    fn a_handshake_agrees_on_options() {
        use TcpOptionElement::*;
        let mut parameters = Preset::Linux.parameters();
        parameters.receive_window = OptionalWindow::Bytes(Bytes(1 << 20));
        parameters.ecn = true;
        let mut encoder = encoder(&parameters);
        let bytes = encode(&mut encoder, 5, &packet(PacketKind::Syn, 0, 52, 5), &[]);
        let (syn, _) = tcp(&bytes);
        assert_eq!(
            bytes.len(),
            60,
            "eight bytes more than simulated: RFC 7323 and 2018 ask for them"
        );
        assert!(syn.syn && !syn.ack && syn.ece && syn.cwr);
        assert_eq!((syn.sequence_number, syn.acknowledgment_number), (0, 0));
        let asked = [
            MaximumSegmentSize(1448),
            SelectiveAcknowledgementPermitted,
            Timestamp(5, 0),
            WindowScale(0),
        ];
        assert_eq!(elements(&syn), asked);
        let (answer, _) = tcp(&encode(
            &mut encoder,
            25,
            &packet(PacketKind::SynAck, 0, 52, 5),
            &[],
        ));
        assert!(answer.syn && answer.ack && answer.ece && !answer.cwr);
        assert_eq!((answer.sequence_number, answer.acknowledgment_number), (0, 1));
        assert_eq!(answer.window_size, u16::MAX);
        let agreed = [
            MaximumSegmentSize(1448),
            SelectiveAcknowledgementPermitted,
            Timestamp(25, 5),
            WindowScale(5),
        ];
        assert_eq!(elements(&answer), agreed);
        let (data, _) = tcp(&encode(
            &mut encoder,
            26,
            &packet(PacketKind::Data, 0, 1500, 26),
            &[],
        ));
        assert_eq!(elements(&data), [Timestamp(26, 25)], "echoes the answer's");
        let (ack, _) = tcp(&encode(
            &mut encoder,
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
        parameters.receive_window = OptionalWindow::Segments(20);
        let (syn, _) = tcp(&encode(
            &mut encoder(&parameters),
            0,
            &packet(PacketKind::SynAck, 0, 40, 0),
            &[],
        ));
        assert_eq!(elements(&syn), [MaximumSegmentSize(1000), WindowScale(0)]);
        assert_eq!(syn.window_size, 20_000);
        assert!(!syn.ece && !syn.cwr);
        let (syn, _) = tcp(&encode(
            &mut encoder(&Preset::Rfc.parameters()),
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
            parameters.receive_window = OptionalWindow::Bytes(Bytes(window));
            let mut encoder = encoder(&parameters);
            let (answer, _) = tcp(&encode(
                &mut encoder,
                0,
                &packet(PacketKind::SynAck, 0, 40, 0),
                &[],
            ));
            let shift = elements(&answer).iter().find_map(|element| match element {
                TcpOptionElement::WindowScale(shift) => Some(*shift),
                _ => None,
            });
            let (ack, _) = tcp(&encode(&mut encoder, 0, &packet(PacketKind::Ack, 1, 40, 0), &[]));
            assert_eq!(u64::from(ack.window_size) << shift.unwrap(), wire);
        }
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
            let mut encoder = encoder(&Preset::Linux.parameters());
            let ack = packet(PacketKind::Ack, 5, 52, 1);
            let bytes = encode(&mut encoder, 9, &ack, &blocks[..count]);
            let more = [2, 3, 4].map(|n| (n <= count.min(3) as u32).then(|| wire(n)));
            assert_eq!(bytes.len(), length);
            assert_eq!(
                elements(&tcp(&bytes).0),
                [Timestamp(9, 1), SelectiveAcknowledgement(wire(1), more)]
            );
        }
        // Without timestamps a fourth fits (RFC 2018 section 3).
        let bytes = encode(
            &mut encoder(&Preset::Rfc.parameters()),
            9,
            &packet(PacketKind::Ack, 5, 40, 1),
            &blocks,
        );
        assert_eq!(bytes.len(), 40 + 4 + 4 * 8);
        // Nothing but an ACK has them.
        let bytes = encode(
            &mut encoder(&Preset::Rfc.parameters()),
            9,
            &packet(PacketKind::Data, 5, 1500, 1),
            &blocks,
        );
        assert_eq!(bytes.len(), 1500);
    }

    #[test]
    fn ecn_reaches_both_headers() {
        let mut encoder = encoder(&Preset::Linux.parameters());
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
                let bytes = encode(&mut encoder, 0, &data, &[]);
                assert_eq!(
                    (bytes[1], tcp(&bytes).0.cwr, tcp(&bytes).0.ece),
                    (bits, reduced, false)
                );
            }
        }
    }

    #[test]
    fn identifications_count_each_direction() {
        let mut encoder = encoder(&Preset::Linux.parameters());
        let identification = |encoder: &mut PacketEncoder, kind| {
            let bytes = encode(encoder, 0, &packet(kind, 0, 100, 0), &[]);
            u16::from_be_bytes([bytes[4], bytes[5]])
        };
        for n in 0..=65_536_u32 {
            assert_eq!(identification(&mut encoder, PacketKind::Data), n as u16);
        }
        assert_eq!(identification(&mut encoder, PacketKind::Ack), 0);
    }

    #[test]
    fn datagrams_carry_their_number_and_have_their_size() {
        let mut encoder = PacketEncoder::udp(FlowAddresses::of(FlowId(0)));
        for size in [0, 27, 28, 29, 35, 36, 37, 1500, u16::MAX] {
            let bytes = encode(
                &mut encoder,
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
            let whole = encode(&mut encoder(&parameters), 0, &packet(kind, 77, 1500, 0), &[]);
            for snap_length in [0, 1, 20, 51, 96, 1499, 1500, 4000] {
                let mut buffer = Vec::new();
                let length = encoder(&parameters).encode(
                    Time::ZERO,
                    &packet(kind, 77, 1500, 0),
                    &[],
                    None,
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
            (parameters.mss, parameters.header) = (Bytes(mss), Bytes(header));
            for total in [None, Some(Bytes(0)), Some(Bytes(u64::MAX))] {
                let addresses = FlowAddresses::of(FlowId(u32::MAX));
                for mut encoder in [
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
                            let bytes = encode(&mut encoder, u64::MAX / MICROSECOND, &never, &sacks);
                            assert!(bytes.len() >= 28);
                        }
                    }
                }
            }
        }
    }
}
