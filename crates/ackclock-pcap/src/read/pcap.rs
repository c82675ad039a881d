//! The pcap format (draft-ietf-opsawg-pcap) with microseconds or nanoseconds, and Alexey
//! Kuznetsov's variant of it.

use super::error::Damage;
use super::input::Input;
use super::order::ByteOrder;
use super::{CaptureError, Found, LARGEST_PACKET, Record, Stop};
use crate::decode::LinkType;
use std::io::Read;

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
const VERSION: u16 = 2;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Magic numbers, each with the nanoseconds in a unit of the timestamps' fraction, and the length
/// of a record header in bytes. The third format adds the interface, the protocol and the direction
/// to the record header. A patched tcpdump of some Linux distributions wrote it around the year
/// 2000; libpcap still reads it.
const MAGICS: [(u32, u64, usize); 3] = [
    (0xa1b2_c3d4, 1_000, RECORD_HEADER),
    (0xa1b2_3c4d, 1, RECORD_HEADER),
    (0xa1b2_cd34, 1_000, RECORD_HEADER + 8),
];

/// A pcap file whose header has been read.
#[derive(Debug)]
pub(super) struct Pcap {
    order: ByteOrder,
    nanos_per_unit: u64,
    record_header: usize,
    link: LinkType,
}

impl Pcap {
    /// Reads the header; returns `None` if the file has another format.
    pub fn open<R: Read>(input: &mut Input<R>) -> Result<Option<Self>, Stop> {
        let Some(magic) = input.peek(4)?.first_chunk().copied() else {
            return Ok(None);
        };
        let format = MAGICS.iter().find_map(|&(value, nanos, record_header)| {
            ByteOrder::of(magic, value).map(|order| (order, nanos, record_header))
        });
        let Some((order, nanos_per_unit, record_header)) = format else {
            return Ok(None);
        };
        let header = input.take(FILE_HEADER, "the header of a pcap file")?;
        let version = order.u16(header, 4);
        if version != VERSION {
            return Err(
                CaptureError::version("pcap", version, order.u16(header, 6), VERSION).into(),
            );
        }
        // The upper half holds the length of the frame check sequence, which follows the packet and
        // does not matter here.
        let number = order.u32(header, 20) & 0xffff;
        let link = LinkType::from_number(number).ok_or_else(|| CaptureError::link_type(number))?;
        Ok(Some(Pcap {
            order,
            nanos_per_unit,
            record_header,
            link,
        }))
    }

    /// Reads the next packet.
    pub fn read<'a, R: Read>(&self, input: &'a mut Input<R>) -> Result<Found<'a>, Stop> {
        input.check_end()?;
        let begin = input.offset();
        let header = input.need(self.record_header, "the header of a packet")?;
        let [seconds, fraction, held, original_length] =
            [0, 4, 8, 12].map(|at| self.order.u32(header, at));
        if held > LARGEST_PACKET {
            let damage = format!("a packet claims {held} bytes, which is more than any has");
            return Err(Stop::Damage(Damage::new(begin, damage)));
        }
        let record = input.take(self.record_header + held as usize, "a packet")?;
        Ok(Found::Packet(Record {
            at_ns: u64::from(seconds) * NANOS_PER_SECOND
                + u64::from(fraction) * self.nanos_per_unit,
            link: self.link,
            bytes: &record[self.record_header..],
            original_length,
        }))
    }
}
