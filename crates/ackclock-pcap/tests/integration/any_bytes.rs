//! Properties that hold for any bytes. The fuzz targets try new bytes; `corpus.rs` replays recorded
//! ones.

use ackclock_pcap::decode::{LinkType, decode};
use ackclock_pcap::packet::{Options, Transport};
use ackclock_pcap::{CapturedPacket, Reader};
use std::io::{self, Read};

/// The least length of IP with TCP or UDP headers, in bytes.
const LEAST_HEADERS: u32 = 20 + 8;
/// Length of the shortest record of any format, a block without content, in bytes. Compressed data
/// may expand by a factor of about a thousand.
const LEAST_RECORD: usize = 12;
const BEST_PACKING: usize = 1_032;

/// A reader that returns a few bytes at a time, like a pipe.
struct Pipe<'a>(&'a [u8]);
impl Read for Pipe<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(7).min(self.0.len());
        self.0.read(&mut buffer[..length])
    }
}

/// Reads everything that can be known of a file.
fn read(input: impl Read, most: usize) -> (Vec<CapturedPacket>, String) {
    let mut reader = match Reader::new(input) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), error.to_string()),
    };
    let mut packets = Vec::new();
    let mut message = String::new();
    for packet in reader.by_ref() {
        match packet {
            Ok(packet) => packets.push(packet),
            Err(error) => message = error.to_string(),
        }
        assert!(packets.len() <= most, "more packets than there is room for");
    }
    assert!(reader.next().is_none());
    let damage = reader.damage().map(ToString::to_string).unwrap_or_default();
    assert!(
        message.is_empty() || damage.is_empty() || reader.skipped().damaged > 0,
        "{message}, {damage}"
    );
    (packets, format!("{message}{damage}{:?}", reader.skipped()))
}

/// Reads any bytes as a capture. Reading ends, yields plausible packets and at most one line of
/// complaint, in whatever pieces the bytes arrive.
pub fn capture(data: &[u8]) {
    let packing = if data.starts_with(&[0x1f, 0x8b]) {
        BEST_PACKING
    } else {
        1
    };
    let most = data.len() / LEAST_RECORD * packing;
    let (packets, said) = read(data, most);
    assert_eq!(said.lines().count(), 1);
    for packet in &packets {
        assert!(packet.ip_bytes >= LEAST_HEADERS);
        if let Transport::Tcp(segment) = packet.transport {
            assert!(segment.payload < packet.ip_bytes);
        }
        assert_eq!(packet.source.is_ipv4(), packet.destination.is_ipv4());
    }
    let (in_pieces, said_in_pieces) = read(Pipe(data), most);
    if packing == 1 {
        assert_eq!((in_pieces, said_in_pieces), (packets, said));
    } else {
        // The amount decompressed before corrupt gzip data depends on the size of the reads.
        let common = in_pieces.len().min(packets.len());
        assert_eq!(in_pieces[..common], packets[..common]);
    }
}

/// Returns the packet without the fields that depend on the captured length: TCP's options, and the
/// first bytes of a datagram.
fn without_options(packet: &CapturedPacket) -> CapturedPacket {
    let mut packet = packet.clone();
    match &mut packet.transport {
        Transport::Tcp(segment) => {
            segment.options = Options::default();
            segment.cut = false;
        }
        Transport::Udp { begin, .. } => *begin = None,
    }
    packet
}

/// Returns the first bytes of a datagram, if there are any.
fn first_bytes(packet: &CapturedPacket) -> Option<[u8; 5]> {
    match packet.transport {
        Transport::Udp { begin, .. } => begin,
        Transport::Tcp(_) => None,
    }
}

/// Decodes any bytes as a packet of any link type. It is decoded or skipped, and a shorter snap
/// length only loses information. The first two bytes are the link type, the next four the length
/// on the wire.
pub fn packet(data: &[u8]) {
    let Some((&[l0, l1, o0, o1, o2, o3], bytes)) = data.split_first_chunk() else {
        return;
    };
    let Some(link) = LinkType::from_number(u16::from_le_bytes([l0, l1]).into()) else {
        return;
    };
    let original_length = u32::from_le_bytes([o0, o1, o2, o3]).max(bytes.len() as u32);
    let whole = decode(7, link, bytes, original_length);
    if let Ok(packet) = &whole {
        assert_eq!(packet.at_ns, 7);
        if let Transport::Tcp(segment) = packet.transport {
            assert!(segment.payload < packet.ip_bytes);
            assert!(segment.options.sacks().len() <= Options::MOST_SACKS);
        }
    }
    for held in (0..bytes.len()).step_by(3) {
        if let Ok(cut) = decode(7, link, &bytes[..held], original_length) {
            let whole = whole
                .as_ref()
                .expect("what a part of it says, all of it says");
            assert_eq!(without_options(&cut), without_options(whole));
            let begin = first_bytes(&cut);
            assert!(begin.is_none() || begin == first_bytes(whole));
        }
    }
}
