//! The wire format, version 1: what the bytes of a datagram mean. Network byte order throughout.
//!
//! ```text
//!  0  magic "AC" (2) | version (1) | type (1)
//!  4  flags (1) | header length in words of 4 bytes (1) | reserved (2) = 0
//!  8  connection id (8)
//! 16  packet number (8) 24  fields of the type, then padding of zeros up to the header length,
//! then payload (DATA, HELLO) -16 tag (16)
//! ```
//!
//! Reading is in two steps, so that nothing behind the prefix is looked at before the tag has been
//! found right: [`Envelope::open`] takes the prefix apart, [`Envelope::message`] the rest. Neither
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

/// The shortest DATA: as long as the longest answer to it, so that nobody gets more than he sends.
pub const SHORTEST_DATA: usize = message::REPORT_HEADER + TAG;
/// The longest payload of DATA.
pub const LONGEST_PAYLOAD: usize = LONGEST - message::DATA_HEADER - TAG;
/// Numbers of DATA, ACK and REPORT are below, those of all other types from here on: the numbers of
/// DATA have no holes.
pub const FIRST_OF_OTHERS: u64 = 1 << 63;

/// What a datagram is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The receiver asks whether a sender is there.
    Hello = 1,
    /// The sender asks whether the address is real.
    Cookie = 2,
    /// The receiver wants data.
    Start = 3,
    /// Payload.
    Data = 4,
    /// What has arrived.
    Ack = 5,
    /// What has arrived, how fast and with how many losses.
    Report = 6,
    /// The end, in good order.
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

    /// Whether its numbers are those of the stream ([`FIRST_OF_OTHERS`]).
    const fn is_of_stream(self) -> bool {
        matches!(self, Kind::Data | Kind::Ack | Kind::Report)
    }
}

/// Why the bytes are no datagram of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Too short or too long for any.
    Length,
    /// They do not begin as ours do.
    Magic,
    /// Another version of the format, which is not to be guessed at.
    Version,
    /// A type or flag that is not known, a reserved field that is not zero, or padding that is not.
    Unknown,
    /// A header length that the type does not have.
    Header,
    /// A value that cannot be.
    Value,
}

/// Why a session is refused or ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ErrorCode {
    /// The version is not spoken.
    Version = 1,
    /// The sender has a session already.
    Busy = 2,
    /// The sender does not offer the rate control asked for.
    Control = 3,
    /// The peer claims what cannot be.
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

/// Why one side stops in good order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum StopReason {
    /// The sender has sent all there was.
    Finished = 1,
    /// Somebody asked for it.
    Asked = 2,
    /// The other side's STOP has arrived; not answered.
    Confirmed = 3,
}

impl StopReason {
    const ALL: [StopReason; 3] = [
        StopReason::Finished,
        StopReason::Asked,
        StopReason::Confirmed,
    ];
}

/// A datagram whose prefix has been read, and nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<'a> {
    datagram: &'a [u8],
    /// The version it says it is of.
    pub version: u8,
    /// Whose it says it is; 0 before there is a session.
    pub connection: u64,
    /// Its number.
    pub number: u64,
}

impl<'a> Envelope<'a> {
    /// Reads the prefix. Takes what may be of any version: prefix and tag are where they are in all
    /// of them.
    ///
    /// # Errors
    /// The bytes are too few, too many, or begin otherwise.
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

    /// The type, which says what key it is sealed with; `None` for one that is not known.
    pub fn kind(&self) -> Option<Kind> {
        Kind::ALL
            .into_iter()
            .find(|kind| *kind as u8 == self.datagram[3])
    }

    /// Whether who wrote it has the key. Takes the same time for every tag.
    pub fn is_sealed_with(&self, key: &TagKey) -> bool {
        let (said, tag) = self.datagram.split_at(self.datagram.len() - TAG);
        key.verifies(said, tag)
    }

    /// Reads the rest; to be asked once the tag has been found right.
    ///
    /// # Errors
    /// The bytes mean nothing in this version.
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
/// In debug builds if it is too long, or the number is not one of the message's kind.
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

/// Reads one field after the other. The lengths have been checked.
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
    /// Whether what is left is padding.
    fn end_in_zeros(&self) -> bool {
        self.0.iter().all(|byte| *byte == 0)
    }
}
