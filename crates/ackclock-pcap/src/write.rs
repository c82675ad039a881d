//! Writing of the pcap file format (draft-ietf-opsawg-pcap): a file header of 24 bytes, then per
//! packet a record header of 16 bytes and the packet.

use ackclock_spec::units::Time;
use std::io::{self, Write};

/// Magic number of files whose timestamps count nanoseconds (draft-ietf-opsawg-pcap section 4).
const NANOSECOND_MAGIC: u32 = 0xa1b2_3c4d;
const VERSION: (u16, u16) = (2, 4);
/// LINKTYPE_RAW: the packet begins with its IP header.
const LINK_TYPE: u32 = 101;
/// Snap length that keeps whole packets: longer than any IP packet; tcpdump uses it too.
const WHOLE_PACKETS: u32 = 262_144;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Writes packets that begin with an IP header to a pcap file with nanosecond timestamps. The file
/// is little-endian on every machine.
///
/// Makes many small writes; `output` should be a [`std::io::BufWriter`].
#[derive(Debug)]
pub struct PcapWriter<W: Write> {
    output: W,
    snap_length: u32,
}

impl<W: Write> PcapWriter<W> {
    /// Writes the file header. At most `snap_length` bytes of each packet are kept; 0 keeps whole
    /// packets.
    ///
    /// # Errors
    /// Errors of `output`.
    pub fn new(mut output: W, snap_length: u32) -> io::Result<Self> {
        let snap_length = if snap_length == 0 {
            WHOLE_PACKETS
        } else {
            snap_length
        };
        let mut header = [0; 24];
        header[..4].copy_from_slice(&NANOSECOND_MAGIC.to_le_bytes());
        header[4..6].copy_from_slice(&VERSION.0.to_le_bytes());
        header[6..8].copy_from_slice(&VERSION.1.to_le_bytes());
        // Bytes 8 to 16 are reserved; they used to hold the time zone and the accuracy.
        header[16..20].copy_from_slice(&snap_length.to_le_bytes());
        header[20..].copy_from_slice(&LINK_TYPE.to_le_bytes());
        output.write_all(&header)?;
        Ok(PcapWriter {
            output,
            snap_length,
        })
    }

    /// Returns the largest number of bytes kept of a packet.
    pub const fn snap_length(&self) -> u32 {
        self.snap_length
    }

    /// Returns the output, for writing.
    pub const fn output_mut(&mut self) -> &mut W {
        &mut self.output
    }

    /// Writes one packet. `at` counts from the beginning of the run, which is 1 January 1970 in the
    /// file. The format has 32 bits for the seconds, so times beyond 136 years saturate.
    ///
    /// `packet` may already be cut; `original_length` is its length on the wire, in bytes.
    ///
    /// # Errors
    /// Errors of `output`.
    pub fn write(&mut self, at: Time, packet: &[u8], original_length: u32) -> io::Result<()> {
        let kept = packet.len().min(self.snap_length as usize);
        let nanos = at.as_nanos();
        let seconds = u32::try_from(nanos / NANOS_PER_SECOND).unwrap_or(u32::MAX);
        let mut header = [0; 16];
        header[..4].copy_from_slice(&seconds.to_le_bytes());
        header[4..8].copy_from_slice(&((nanos % NANOS_PER_SECOND) as u32).to_le_bytes());
        header[8..12].copy_from_slice(&(kept as u32).to_le_bytes());
        header[12..].copy_from_slice(&original_length.to_le_bytes());
        self.output.write_all(&header)?;
        self.output.write_all(&packet[..kept])
    }

    /// Flushes and returns the output.
    ///
    /// # Errors
    /// Errors of `output`.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.flush()?;
        Ok(self.output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_of_the_format() {
        let mut writer = PcapWriter::new(Vec::new(), 4).unwrap();
        let at = Time::from_nanos(3 * NANOS_PER_SECOND + 7);
        writer
            .write(at, &[0x45, 0xab, 0xcd, 0xef, 0xff, 0xff], 1500)
            .unwrap();
        writer.write(at, &[0x45, 0xab], 2).unwrap();
        let bytes = writer.finish().unwrap();
        #[rustfmt::skip]
        let expected = [
            0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 101, 0, 0, 0,
            3, 0, 0, 0, 7, 0, 0, 0, 4, 0, 0, 0, 0xdc, 5, 0, 0, 0x45, 0xab, 0xcd, 0xef,
            3, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0x45, 0xab,
        ];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn snap_length_zero_keeps_whole_packets() {
        let mut writer = PcapWriter::new(Vec::new(), 0).unwrap();
        let packet = vec![1; 65_535];
        writer.write(Time::ZERO, &packet, 65_535).unwrap();
        let bytes = writer.finish().unwrap();
        assert_eq!(&bytes[40..], packet);
    }

    #[test]
    fn times_beyond_the_format_are_its_last_second() {
        let mut writer = PcapWriter::new(Vec::new(), 96).unwrap();
        writer.write(Time::NEVER, &[], 0).unwrap();
        let bytes = writer.finish().unwrap();
        assert_eq!(bytes[24..28], u32::MAX.to_le_bytes());
        assert!(u32::from_le_bytes(bytes[28..32].try_into().unwrap()) < 1_000_000_000);
    }

    /// A writer that takes this many bytes, then fails.
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 < bytes.len() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0 -= bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_reported() {
        assert!(PcapWriter::new(Full(23), 96).is_err());
        let mut writer = PcapWriter::new(Full(24 + 16), 96).unwrap();
        let error = writer.write(Time::ZERO, &[0; 20], 20).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
