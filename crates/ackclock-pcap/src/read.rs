//! Reading of captures: pcap and pcapng, plain or compressed with gzip, from a file or a pipe.
//!
//! A file is read once, from beginning to end. Memory is bounded by the largest packet, whatever
//! lengths the file claims. Nothing is allocated per packet. Why we wrote this code ourselves:
//! `docs/decisions/0011-reading-captures.md`.

mod clock;
mod error;
mod input;
mod merged;
mod order;
mod pcap;
mod pcapng;

pub use error::{CaptureError, Damage};
pub use merged::Merged;

use crate::CapturedPacket;
use crate::decode::{LinkType, decode};
use crate::skipped::{Skip, Skipped};
use input::Input;
use pcap::Pcap;
use pcapng::Pcapng;
use std::io::{self, Read};

/// The largest snap length of tcpdump and Wireshark. A record that claims more bytes is damaged.
const LARGEST_PACKET: u32 = 262_144;

/// Iterator over the packets of a capture, in the order of the file.
///
/// ```
/// use ackclock_pcap::Reader;
///
/// # let file: &[u8] = &[
/// #     0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 96, 0, 0, 0, 101, 0, 0, 0,
/// # ];
/// let mut reader = Reader::new(file)?;
/// for packet in reader.by_ref() {
///     let packet = packet?;
///     println!("{} ns: {} bytes from {}", packet.at_ns, packet.ip_bytes, packet.source);
/// }
/// if let Some(damage) = reader.damage() {
///     eprintln!("{damage}");
/// }
/// # Ok::<(), ackclock_pcap::CaptureError>(())
/// ```
///
/// Packets that are neither TCP nor UDP, or cannot be decoded, are counted in [`Reader::skipped`].
/// A damaged or truncated file yields the packets that can be read; afterwards [`Reader::damage`]
/// says where and why it ended. An error is the last item.
#[derive(Debug)]
pub struct Reader<R: Read> {
    input: Input<R>,
    format: Format,
    skipped: Skipped,
    damage: Option<Damage>,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Opens a capture. Blocks until the file header has arrived if `input` is a pipe.
    ///
    /// # Errors
    /// Errors of `input`; [`CaptureError::Format`] if it is not a capture, or one that cannot be
    /// read.
    pub fn new(input: R) -> Result<Self, CaptureError> {
        let mut input = Input::new(input)?;
        let format = Format::open(&mut input)?;
        Ok(Reader {
            input,
            format,
            skipped: Skipped::default(),
            damage: None,
            ended: false,
        })
    }

    /// Returns how many packets have been skipped so far, by reason.
    pub const fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Returns the damage found so far: where reading had to stop or, if it did not have to, the
    /// first damaged place.
    pub const fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// Reads the next item of the file; `None` if it is not a packet that can be decoded.
    fn advance(&mut self) -> Result<Option<CapturedPacket>, Stop> {
        let item = match &mut self.format {
            Format::Pcap(format) => format.read(&mut self.input),
            Format::Pcapng(format) => format.read(&mut self.input),
        }?;
        match item {
            Found::Packet(record) => {
                // Some writers set the original length to 0 if the packet is not cut.
                let original_length = record.original_length.max(record.bytes.len() as u32);
                match decode(record.at_ns, record.link, record.bytes, original_length) {
                    Ok(packet) => return Ok(Some(packet)),
                    Err(reason) => self.skipped.count(reason),
                }
            }
            Found::Skip(reason) => self.skipped.count(reason),
            Found::Damaged(damage) => {
                self.skipped.count(Skip::Damaged);
                self.damage.get_or_insert(damage);
            }
            Found::Other => {}
        }
        Ok(None)
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<CapturedPacket, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            let stop = match self.advance() {
                Ok(Some(packet)) => return Some(Ok(packet)),
                Ok(None) => continue,
                Err(stop) => stop,
            };
            self.ended = true;
            match stop {
                Stop::End => {}
                Stop::Damage(damage) => self.damage = Some(damage),
                Stop::Error(error) => return Some(Err(error)),
            }
        }
        None
    }
}

#[derive(Debug)]
enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

impl Format {
    fn open<R: Read>(input: &mut Input<R>) -> Result<Self, CaptureError> {
        let opened = match Pcap::open(input) {
            Ok(None) => Pcapng::open(input).map(|format| format.map(Format::Pcapng)),
            pcap => pcap.map(|format| format.map(Format::Pcap)),
        };
        match opened {
            Ok(Some(format)) => Ok(format),
            Ok(None) => Err(CaptureError::not_a_capture(input.peek(error::LOOKED_AT)?)),
            Err(Stop::Error(error)) => Err(error),
            Err(Stop::Damage(damage)) => Err(damage.before_any_packet()),
            Err(Stop::End) => Err(CaptureError::not_a_capture(&[])),
        }
    }
}

/// One packet of the file.
#[derive(Debug)]
struct Record<'a> {
    at_ns: u64,
    link: LinkType,
    /// The captured bytes of the packet.
    bytes: &'a [u8],
    /// Length of the packet on the wire, in bytes.
    original_length: u32,
}

/// The result of reading one item of the file.
#[derive(Debug)]
enum Found<'a> {
    Packet(Record<'a>),
    /// A packet that cannot be decoded.
    Skip(Skip),
    /// A damaged packet; the file can be read on.
    Damaged(Damage),
    /// An item that holds no packet.
    Other,
}

/// The reason why reading ends.
#[derive(Debug)]
enum Stop {
    End,
    Damage(Damage),
    Error(CaptureError),
}

impl From<CaptureError> for Stop {
    fn from(error: CaptureError) -> Self {
        Stop::Error(error)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Stop::Error(error.into())
    }
}
