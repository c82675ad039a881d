//! Real IPv4, TCP and UDP headers for simulated packets.
//!
//! # Fields of the capture
//! * Sequence numbers on the wire count bytes modulo 2^32. Both initial sequence numbers are 0, so
//!   that a tool's relative numbers are the raw ones. Segment n begins at 1 + n · MSS.
//! * The timestamp option (RFC 7323) is present if the endpoints measure the RTT with it. Its unit
//!   is the microsecond.
//! * Every SYN has the window scale option. Without a handshake a tool cannot know the scale, as
//!   with any capture that began late, and shows the field as it is.
//! * The payload is zeros. A datagram begins with its number, 8 bytes big-endian, if it is long
//!   enough. One that an implementation of QUIC made has its bytes, encrypted as they are. The last
//!   segment of a finite transfer has PSH. There is no FIN: simulated connections do not close.
//!
//! # Where simulated sizes and real headers differ
//! All simulated packets have headers of one size, `TcpParameters::header`. Real headers are as
//! long as their options. The capture keeps the payload and every option:
//! * If the options are shorter than the simulated header, no-operations fill them up, so that the
//!   IP length is the simulated size. That works for headers of 40 to 80 bytes in steps of 4, the
//!   sizes that TCP can have.
//! * If they are longer (SACK blocks, the options of a SYN), the packet in the capture is longer
//!   than the simulated one by the difference.
//!
//! A datagram always has its simulated size. Bytes of `header` beyond 28 are payload for UDP.
//!
//! # Fields that a simulated packet lacks
//! An ACK lacks a timestamp, data lacks an echo, and both lack an identification. These fields
//! are in the packet's [`Label`], which [`Labels`](crate::Labels) keeps from sender to
//! receiver.

use crate::FlowAddresses;
use crate::labels::Label;
use ackclock_core::endpoint::TcpParameters;
use ackclock_core::endpoint::parameters::{EcnFeedback, RttSampling};
use ackclock_core::packet::{Content, Dscp, Ecn, Packet, PacketKind, SackBlock};
use ackclock_spec::units::Bytes;
use etherparse::checksum::Sum16BitWords;
use etherparse::tcp_option::{
    KIND_MAXIMUM_SEGMENT_SIZE, KIND_NOOP, KIND_SELECTIVE_ACK, KIND_SELECTIVE_ACK_PERMITTED,
    KIND_TIMESTAMP, KIND_WINDOW_SCALE, LEN_MAXIMUM_SEGMENT_SIZE, LEN_SELECTIVE_ACK_PERMITTED,
    LEN_TIMESTAMP, LEN_WINDOW_SCALE,
};
use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptions, UdpHeader};
use std::net::SocketAddrV4;

/// The TTL that Linux sends with.
const TIME_TO_LIVE: u8 = 64;
const IP_LENGTH: u16 = Ipv4Header::MIN_LEN_U16;
/// Length of a TCP header without options.
const TCP_LENGTH: u16 = TcpHeader::MIN_LEN as u16;
/// Bytes of a timestamp option in a segment, alignment included.
const TIMESTAMP: u64 = 12;
/// The largest window scale shift (RFC 7323 section 2.3).
const LARGEST_SHIFT: u8 = 14;

/// Encodes the packets of one flow. Allocates nothing.
#[derive(Clone, Debug)]
pub struct PacketEncoder {
    addresses: FlowAddresses,
    transport: Transport,
    codepoint: IpDscp,
}

#[derive(Clone, Debug)]
enum Transport {
    Tcp(Connection),
    Udp,
}

impl PacketEncoder {
    /// Creates an encoder of a TCP connection. `total` is the number of bytes that its application
    /// will write, if it ends. The segment that ends there may be shorter than the others.
    pub fn tcp(addresses: FlowAddresses, parameters: &TcpParameters, total: Option<Bytes>) -> Self {
        PacketEncoder {
            addresses,
            transport: Transport::Tcp(Connection::new(parameters, total)),
            codepoint: IpDscp::default(),
        }
    }

    /// Creates an encoder of UDP datagrams.
    pub fn udp(addresses: FlowAddresses) -> Self {
        PacketEncoder {
            addresses,
            transport: Transport::Udp,
            codepoint: IpDscp::default(),
        }
    }

    /// Gives all packets this differentiated services codepoint.
    #[must_use]
    pub fn with_codepoint(mut self, dscp: Dscp) -> Self {
        self.codepoint = IpDscp::try_new(dscp.bits()).expect("six bits");
        self
    }

    /// Replaces the content of `buffer` by at most the first `snap_length` bytes of `packet`.
    /// `content` is what it carries, `label` the fields that it lacks. Returns the length of the
    /// whole packet in bytes.
    pub fn encode(
        &self,
        packet: &Packet,
        content: Content<'_>,
        label: Label,
        snap_length: u32,
        buffer: &mut Vec<u8>,
    ) -> u32 {
        buffer.clear();
        let FlowAddresses { sender, receiver } = self.addresses;
        let (from, to) = if packet.is_forward() {
            (sender, receiver)
        } else {
            (receiver, sender)
        };
        let mut ip = Ipv4Header {
            identification: label.identification,
            ecn: ip_ecn(packet.ecn()),
            dscp: self.codepoint,
            time_to_live: TIME_TO_LIVE,
            source: from.ip().octets(),
            destination: to.ip().octets(),
            ..Ipv4Header::default()
        };
        match &self.transport {
            Transport::Tcp(connection) if packet.kind() != PacketKind::Datagram => {
                let (mut tcp, payload) = connection.header(packet, content, label);
                (tcp.source_port, tcp.destination_port) = (from.port(), to.port());
                ip.protocol = IpNumber::TCP;
                ip.total_len = IP_LENGTH + tcp.header_len_u16() + payload;
                put_tcp(ip.clone(), &tcp, buffer);
            }
            _ => {
                ip.protocol = IpNumber::UDP;
                ip.total_len = packet.size.max(IP_LENGTH + UdpHeader::LEN_U16);
                let number = packet.sequence.to_be_bytes();
                let room = usize::from(ip.total_len - IP_LENGTH) - UdpHeader::LEN;
                let payload = match content {
                    Content::Bytes(bytes) => &bytes[..bytes.len().min(room)],
                    _ if room >= number.len() => &number,
                    _ => &[],
                };
                put_udp(ip.clone(), from, to, payload, buffer);
            }
        }
        let whole = u32::from(ip.total_len);
        buffer.resize(whole.min(snap_length) as usize, 0);
        whole
    }
}

pub(crate) const fn ip_ecn(ecn: Ecn) -> IpEcn {
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

/// Appends IP and TCP headers. The checksum covers the zero payload without reading it: zeros do
/// not change the sum. The payload counts only in the length of the pseudo header (RFC 9293
/// section 3.1).
fn put_tcp(ip: Ipv4Header, tcp: &TcpHeader, buffer: &mut Vec<u8>) {
    let mut bytes = tcp.to_bytes();
    let checksum = Sum16BitWords::new()
        .add_4bytes(ip.source)
        .add_4bytes(ip.destination)
        .add_2bytes([0, IpNumber::TCP.0])
        .add_2bytes((ip.total_len - IP_LENGTH).to_be_bytes())
        .add_slice(&bytes)
        .ones_complement();
    // The sum adds words in native byte order, so the result is in native byte order too.
    bytes[16..18].copy_from_slice(&checksum.to_ne_bytes());
    put_ip(ip, buffer);
    buffer.extend_from_slice(&bytes);
}

/// Appends IP and UDP headers, and a payload that may be shorter than the packet.
fn put_udp(
    ip: Ipv4Header,
    from: SocketAddrV4,
    to: SocketAddrV4,
    payload: &[u8],
    buffer: &mut Vec<u8>,
) {
    let length = ip.total_len - IP_LENGTH;
    let mut udp = UdpHeader {
        source_port: from.port(),
        destination_port: to.port(),
        length,
        checksum: 0,
    };
    // Fails only for payloads longer than a datagram. The zeros after it do not change the sum.
    udp.checksum = udp.calc_checksum_ipv4(&ip, payload).unwrap_or(0);
    put_ip(ip, buffer);
    buffer.extend_from_slice(&udp.to_bytes());
    buffer.extend_from_slice(payload);
}

/// Parameters of a TCP connection that its headers depend on.
#[derive(Clone, Debug)]
struct Connection {
    mss: u64,
    /// Length of the IP and TCP headers of a simulated packet, in bytes.
    header: u16,
    /// End of the data, in bytes.
    total: Option<u64>,
    timestamps: bool,
    sack: bool,
    /// Feedback of marks, if the connection has ECN.
    ecn: Option<EcnFeedback>,
    /// Window that the receiver of data advertises, in bytes, and its window scale shift.
    window: u64,
    window_shift: u8,
}

impl Connection {
    fn new(parameters: &TcpParameters, total: Option<Bytes>) -> Self {
        let largest = u64::from(u16::MAX) << LARGEST_SHIFT;
        let window = match parameters
            .receiver
            .receive_window
            .bytes(parameters.connection.mss)
        {
            Some(window) => window.0.min(largest),
            None => largest,
        };
        let window_shift = (0..LARGEST_SHIFT).find(|shift| window >> shift <= u64::from(u16::MAX));
        Connection {
            mss: parameters.connection.mss.0,
            header: u16::try_from(parameters.connection.header.0).unwrap_or(u16::MAX),
            total: total.map(|total| total.0),
            timestamps: parameters.timer.rtt_sampling == RttSampling::Timestamps,
            sack: parameters.recovery.uses_sack(),
            ecn: parameters.ecn.enabled.then_some(parameters.ecn.feedback),
            window,
            window_shift: window_shift.unwrap_or(LARGEST_SHIFT),
        }
    }

    /// Returns the offset of the first byte of segment `segment` in the application's data.
    fn offset(&self, segment: u64) -> u64 {
        let offset = segment.saturating_mul(self.mss);
        self.total.map_or(offset, |total| offset.min(total))
    }

    /// Returns the sequence number of a segment on the wire. The initial sequence number is 0 and
    /// the SYN takes one.
    fn wire_sequence(&self, segment: u64) -> u32 {
        (self.offset(segment) as u32).wrapping_add(1)
    }

    /// Returns the TCP header without ports and checksum, and the length of the payload in bytes.
    fn header(&self, packet: &Packet, content: Content<'_>, label: Label) -> (TcpHeader, u16) {
        let (sacks, advertised) = match content {
            Content::Sacks(blocks) => (blocks, None),
            Content::Window(window, blocks) => (blocks, Some(window)),
            _ => (&[][..], None),
        };
        let kind = packet.kind();
        let (is_syn, is_forward) = (
            matches!(kind, PacketKind::Syn | PacketKind::SynAck),
            packet.is_forward(),
        );
        let payload = match kind {
            PacketKind::Data | PacketKind::Request => packet.size.saturating_sub(self.header),
            _ => 0,
        };
        let mut options = self.options(packet, sacks, label);
        options.fill_to(packet.size - payload);
        let payload = payload.min(u16::MAX - IP_LENGTH - TCP_LENGTH - options.length as u16);
        let end = self.offset(packet.sequence).saturating_add(payload.into());
        let ace = self.ecn_flags(packet);
        let header = TcpHeader {
            sequence_number: match kind {
                PacketKind::Syn | PacketKind::SynAck => 0,
                PacketKind::Data => self.wire_sequence(packet.sequence),
                PacketKind::WindowProbe => self.wire_sequence(packet.sequence).wrapping_sub(1),
                // All requests of a client are equally long.
                PacketKind::Request => {
                    (packet.sequence.wrapping_mul(payload.into()) as u32).wrapping_add(1)
                }
                _ => 1, // the receiver sends no data
            },
            acknowledgment_number: match kind {
                PacketKind::Syn => 0,
                PacketKind::Ack => self.wire_sequence(packet.sequence),
                _ => 1,
            },
            syn: is_syn,
            ack: kind != PacketKind::Syn,
            psh: match kind {
                PacketKind::Request => true,
                _ => payload > 0 && (self.total == Some(end) || packet.is_pushed()),
            },
            ns: ace & 0b100 != 0, // AE of RFC 9768
            cwr: ace & 0b010 != 0,
            ece: ace & 0b001 != 0,
            window_size: self.window_field(is_syn, is_forward, advertised),
            options: options.finish(),
            ..TcpHeader::default()
        };
        (header, payload)
    }

    /// Returns the flags AE, CWR and ECE as a number.
    fn ecn_flags(&self, packet: &Packet) -> u8 {
        match (self.ecn, packet.kind()) {
            // RFC 3168 section 6.1.1: ECE and CWR on a SYN request ECN; ECE on the SYN-ACK accepts.
            (Some(EcnFeedback::Classic | EcnFeedback::Dctcp), PacketKind::Syn) => 0b011,
            (Some(EcnFeedback::Classic | EcnFeedback::Dctcp), PacketKind::SynAck) => 0b001,
            // RFC 9768 section 3.1.1: all three request accurate ECN; the SYN-ACK says that the SYN
            // was not ECN-capable.
            (Some(EcnFeedback::Accurate), PacketKind::Syn) => 0b111,
            (Some(EcnFeedback::Accurate), PacketKind::SynAck) => 0b010,
            // Section 3.2.1: the counter of a sender that has received no marks.
            (Some(EcnFeedback::Accurate), PacketKind::Data) => 5,
            (_, PacketKind::Data) => u8::from(packet.has_window_reduced()) << 1,
            (_, PacketKind::Ack) => packet.ace(),
            _ => 0,
        }
    }

    fn window_field(&self, is_syn: bool, is_forward: bool, advertised: Option<Bytes>) -> u16 {
        if is_forward {
            return u16::MAX; // the sender receives no data
        }
        // RFC 7323 section 2.2: the window of a SYN is never scaled.
        let shift = if is_syn { 0 } else { self.window_shift };
        let window = advertised.map_or(self.window, |Bytes(bytes)| bytes.min(self.window));
        (window >> shift).min(u16::MAX.into()) as u16
    }

    fn options(&self, packet: &Packet, sacks: &[SackBlock], label: Label) -> Options {
        let kind = packet.kind();
        let is_syn = matches!(kind, PacketKind::Syn | PacketKind::SynAck);
        let mut options = Options::new();
        if is_syn {
            // RFC 9293 section 3.7.1: the MSS does not subtract the options of later segments.
            let later = if self.timestamps { TIMESTAMP } else { 0 };
            let mss = u16::try_from(self.mss.saturating_add(later)).unwrap_or(u16::MAX);
            let mss = mss.to_be_bytes();
            options.put(&[
                KIND_MAXIMUM_SEGMENT_SIZE,
                LEN_MAXIMUM_SEGMENT_SIZE,
                mss[0],
                mss[1],
            ]);
        }
        // Two bytes before a timestamp align it; "SACK permitted" takes exactly two.
        let permitted = if is_syn && self.sack {
            [KIND_SELECTIVE_ACK_PERMITTED, LEN_SELECTIVE_ACK_PERMITTED]
        } else {
            [KIND_NOOP; 2]
        };
        if self.timestamps {
            options.put(&[permitted[0], permitted[1], KIND_TIMESTAMP, LEN_TIMESTAMP]);
            options.put(&label.value.to_be_bytes());
            options.put(&label.echo.to_be_bytes());
        } else if is_syn && self.sack {
            options.put(&[KIND_NOOP, KIND_NOOP, permitted[0], permitted[1]]);
        }
        if is_syn {
            let shift = if packet.is_forward() {
                0
            } else {
                self.window_shift
            };
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

/// Builder of TCP options, aligned to four bytes. Unwritten bytes are no-operations.
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

    /// Fills up the options so that all headers together have `headers` bytes, or as close to it as
    /// possible without dropping an option.
    fn fill_to(&mut self, headers: u16) {
        let room = usize::from(headers.saturating_sub(IP_LENGTH + TCP_LENGTH)) / 4 * 4;
        self.length = self.length.max(room.min(TcpOptions::MAX_LEN));
    }

    fn finish(&self) -> TcpOptions {
        TcpOptions::try_from_slice(&self.bytes[..self.length]).expect("at most 40 bytes")
    }
}

#[cfg(test)]
mod tests;
