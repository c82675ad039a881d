//! The wire format, version 1. Numbers are in network byte order.
//!
//! ```text
//!   0  magic "AC" (2) | version (1) | type (1)
//!   4  flags (1) | header length in words of 4 bytes (1) | reserved (2) = 0
//!   8  connection id (8)
//!  16  packet number (8)
//!  24  fields of the type, then padding of zeros up to the header length,
//!      then payload (DATA, HELLO)
//! -16  tag (16)
//! ```
//!
//! Reading has two steps, so that nothing behind the prefix is used before the tag has been
//! verified. [`Envelope::open`] reads the prefix, [`Envelope::message`] the rest. Neither
//! allocates.

use crate::keys::TagKey;

pub mod format;
mod message;
#[cfg(test)]
mod tests;

pub use format::{LONGEST, MAGIC, Nonce, PREFIX, TAG, VERSION};
pub use message::{
    Acknowledgement, Challenge, ControlName, Cookie, Data, Hello, Message, Report, Start, Stop,
};

/// The shortest DATA, in bytes. It is as long as the longest answer to it, so that an answer never
/// amplifies.
pub const SHORTEST_DATA: usize = message::REPORT_HEADER + TAG;
/// The longest payload of DATA, in bytes.
pub const LONGEST_PAYLOAD: usize = LONGEST - message::DATA_HEADER - TAG;
/// The lowest packet number of types other than DATA, ACK and REPORT, which use numbers below it.
/// So the numbers of DATA have no gaps.
pub const FIRST_OF_OTHERS: u64 = 1 << 63;

/// The type of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The receiver asks if a sender is there.
    Hello = 1,
    /// The sender checks the receiver's address.
    Cookie = 2,
    /// The receiver asks for data.
    Start = 3,
    /// Payload.
    Data = 4,
    /// Feedback: packets that arrived.
    Ack = 5,
    /// Feedback: packets that arrived, receive rate and loss event rate.
    Report = 6,
    /// Orderly end.
    Stop = 7,
    /// A refusal.
    Error = 8,
}

impl Kind {
    const ALL: [Kind; 8] = [
        Kind::Hello,
        Kind::Cookie,
        Kind::Start,
        Kind::Data,
        Kind::Ack,
        Kind::Report,
        Kind::Stop,
        Kind::Error,
    ];

    /// True if its numbers are below [`FIRST_OF_OTHERS`].
    const fn is_of_stream(self) -> bool {
        matches!(self, Kind::Data | Kind::Ack | Kind::Report)
    }
}

/// The reason why bytes are not a valid datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Too short or too long.
    Length,
    /// Wrong magic bytes.
    Magic,
    /// Another version of the format.
    Version,
    /// Unknown type or flag, or a reserved field or padding that is not zero.
    Unknown,
    /// A header length that the type does not have.
    Header,
    /// An impossible value.
    Value,
}

/// The reason why a session is refused or ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ErrorCode {
    /// Unsupported version.
    Version = 1,
    /// The sender already has a session.
    Busy = 2,
    /// The sender does not offer the requested rate control.
    Control = 3,
    /// The peer claims something impossible.
    Dishonest = 4,
    /// No feedback for too long.
    Silence = 5,
}

impl ErrorCode {
    const ALL: [ErrorCode; 5] = [
        ErrorCode::Version,
        ErrorCode::Busy,
        ErrorCode::Control,
        ErrorCode::Dishonest,
        ErrorCode::Silence,
    ];
}

/// The reason for an orderly end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum StopReason {
    /// The sender has sent all its data.
    Finished = 1,
    /// The user asked for it.
    Asked = 2,
    /// The other side's STOP has arrived. This is not answered.
    Confirmed = 3,
}

impl StopReason {
    const ALL: [StopReason; 3] = [
        StopReason::Finished,
        StopReason::Asked,
        StopReason::Confirmed,
    ];
}

/// A datagram of which only the prefix has been read.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<'a> {
    datagram: &'a [u8],
    /// Version of the format.
    pub version: u8,
    /// Connection id; 0 before there is a session.
    pub connection: u64,
    /// Packet number.
    pub number: u64,
}

impl<'a> Envelope<'a> {
    /// Reads the prefix. Accepts any version: prefix and tag are at the same place in all of them.
    ///
    /// # Errors
    /// Too few or too many bytes, or wrong magic bytes.
    pub fn open(datagram: &'a [u8]) -> Result<Self, Malformed> {
        if datagram.len() < PREFIX + TAG || datagram.len() > LONGEST {
            return Err(Malformed::Length);
        }
        if datagram[..2] != MAGIC {
            return Err(Malformed::Magic);
        }
        let mut fields = Fields(&datagram[8..PREFIX]);
        Ok(Envelope {
            datagram,
            version: datagram[2],
            connection: fields.u64(),
            number: fields.u64(),
        })
    }

    /// Returns the type, which determines the key of the tag; `None` if it is unknown.
    pub fn kind(&self) -> Option<Kind> {
        Kind::ALL
            .into_iter()
            .find(|kind| *kind as u8 == self.datagram[3])
    }

    /// True if the tag was made with the key. Takes the same time for every tag.
    pub fn is_sealed_with(&self, key: &TagKey) -> bool {
        let (said, tag) = self.datagram.split_at(self.datagram.len() - TAG);
        key.verifies(said, tag)
    }

    /// Reads the rest. Call it after the tag has been verified.
    ///
    /// # Errors
    /// Bytes that are not valid in this version.
    pub fn message(&self) -> Result<Message<'a>, Malformed> {
        if self.version != VERSION {
            return Err(Malformed::Version);
        }
        let kind = self.kind().ok_or(Malformed::Unknown)?;
        if self.datagram[4] != 0 || self.datagram[6..8] != [0, 0] {
            return Err(Malformed::Unknown);
        }
        if kind.is_of_stream() != (self.number < FIRST_OF_OTHERS) {
            return Err(Malformed::Value);
        }
        let body = &self.datagram[..self.datagram.len() - TAG];
        let header = usize::from(self.datagram[5]) * 4;
        if header < PREFIX || header > body.len() {
            return Err(Malformed::Header);
        }
        Message::read(kind, &body[PREFIX..header], &body[header..])
    }
}

/// Appends a sealed datagram to `output`, which may hold others.
///
/// # Panics
/// In debug builds if it is too long, or the number does not belong to the message's type.
pub fn write(
    message: &Message<'_>,
    connection: u64,
    number: u64,
    key: &TagKey,
    output: &mut Vec<u8>,
) {
    let begin = output.len();
    let kind = message.kind();
    debug_assert_eq!(
        kind.is_of_stream(),
        number < FIRST_OF_OTHERS,
        "{kind:?} {number}"
    );
    output.extend_from_slice(&MAGIC);
    output.extend_from_slice(&[VERSION, kind as u8, 0, 0, 0, 0]);
    output.extend_from_slice(&connection.to_be_bytes());
    output.extend_from_slice(&number.to_be_bytes());
    let header = message.write(begin, output);
    debug_assert!(
        header.is_multiple_of(4) && header <= 4 * usize::from(u8::MAX),
        "{header}"
    );
    output[begin + 5] = (header / 4) as u8;
    let tag = key.tag(&output[begin..]);
    output.extend_from_slice(&tag);
    debug_assert!(output.len() - begin <= LONGEST, "{}", output.len() - begin);
}

/// Reads one field after the other. The lengths must have been checked.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (taken, rest) = self
            .0
            .split_first_chunk()
            .expect("lengths are checked before");
        self.0 = rest;
        *taken
    }
    fn u8(&mut self) -> u8 {
        u8::from_be_bytes(self.take())
    }
    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take())
    }
    fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.take())
    }
    /// True if the remaining bytes are zero padding.
    fn end_in_zeros(&self) -> bool {
        self.0.iter().all(|byte| *byte == 0)
    }
}
