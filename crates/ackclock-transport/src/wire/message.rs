//! Messages: the content of each type of datagram behind the prefix.

use super::{
    ErrorCode, Fields, Kind, LONGEST, Malformed, Nonce, PREFIX, SHORTEST_DATA, StopReason, TAG,
};

/// Header lengths in bytes, prefix included. Padding may make those of DATA longer.
const HELLO_HEADER: usize = PREFIX + 16;
const COOKIE_HEADER: usize = PREFIX + 48;
const CHALLENGE_HEADER: usize = PREFIX + 16;
const START_HEADER: usize = PREFIX + 72;
pub(super) const DATA_HEADER: usize = PREFIX + 16;
const ACK_HEADER: usize = PREFIX + 48;
pub(super) const REPORT_HEADER: usize = ACK_HEADER + 12;
const STOP_HEADER: usize = PREFIX + 12;
const ERROR_HEADER: usize = PREFIX + 4;

/// A message of any type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Message<'a> {
    /// See [`Hello`].
    Hello(Hello),
    /// See [`Cookie`].
    Cookie(Cookie),
    /// See [`Challenge`]; of type COOKIE.
    Challenge(Challenge),
    /// See [`Start`].
    Start(Start),
    /// See [`Data`].
    Data(Data<'a>),
    /// See [`Acknowledgement`].
    Ack(Acknowledgement),
    /// See [`Report`].
    Report(Report),
    /// See [`Stop`].
    Stop(Stop),
    /// The reason why the session is refused or ends.
    Error(ErrorCode),
}

/// The receiver asks if a sender is there. It is as long as a datagram may be, so that the answer
/// does not amplify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The receiver's nonce, from which the session keys are derived.
    pub client: Nonce,
}

/// The sender's answer to HELLO, of which it remembers nothing. The prefix holds the connection id
/// that it has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie {
    /// Nonce of the HELLO; proves that the sender has seen it.
    pub client: Nonce,
    /// The sender's nonce, from which the session keys are derived.
    pub server: Nonce,
    /// Cookie, to be sent back from the same address.
    pub cookie: [u8; 16],
}

/// A cookie within a session, to an address other than the session's from which an authentic
/// datagram has come. It is shorter than any such datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// Cookie, to be sent back from that address.
    pub cookie: [u8; 16],
}

/// The receiver asks for data at this address, with this rate control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Nonce of the HELLO.
    pub client: Nonce,
    /// Nonce of the COOKIE.
    pub server: Nonce,
    /// Cookie of the COOKIE.
    pub cookie: [u8; 16],
    /// Name of the rate control.
    pub control: ControlName,
    /// Highest rate in bit/s, all headers included; `u64::MAX` if the receiver sets no limit.
    pub most_bit_per_s: u64,
}

/// The registered name of a rate control, padded with zeros.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ControlName([u8; 16]);

impl ControlName {
    /// Creates a name; `None` if it is empty, longer than 16 bytes, or has characters other than
    /// lower-case letters, digits and underscores.
    pub fn new(name: &str) -> Option<Self> {
        let mut bytes = [0; 16];
        bytes
            .get_mut(..name.len())?
            .copy_from_slice(name.as_bytes());
        Self::from_bytes(bytes)
    }

    fn from_bytes(bytes: [u8; 16]) -> Option<Self> {
        let length = bytes
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(bytes.len());
        let is_allowed =
            |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_';
        let is_name = length > 0 && bytes[..length].iter().all(is_allowed);
        (is_name && bytes[length..].iter().all(|byte| *byte == 0)).then_some(ControlName(bytes))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        let length = self
            .0
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(self.0.len());
        std::str::from_utf8(&self.0[..length]).unwrap_or("")
    }
}

impl std::fmt::Debug for ControlName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Payload. The packet number in the prefix is the sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'a> {
    /// Time of sending, in microseconds of the sender's clock. The receiver uses only differences
    /// of it, and echoes it.
    pub sent_us: u64,
    /// Nonce; proves that a packet has arrived, since only its receiver knows it.
    pub nonce: u32,
    /// The sender's estimate of the round-trip time in microseconds; 0 if there is none yet
    /// (RFC 5348 section 3.2.1).
    pub rtt_us: u32,
    /// Data of the application; empty in a packet that only keeps the session alive.
    pub payload: &'a [u8],
}

/// Feedback on the packets that have arrived up to `sequence`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Number of the packet answered: the highest that has arrived, or the one that has just
    /// arrived.
    pub sequence: u64,
    /// `sent_us` of that packet.
    pub echo_us: u64,
    /// Time between its arrival and this answer, in microseconds.
    pub held_us: u32,
    /// Sum, modulo 2^32, of the nonces of all packets claimed in `vector`.
    pub nonces: u32,
    /// Number of packets that arrived with a mark (CE) so far, modulo 2^32.
    pub marked: u32,
    /// Number of bits of the vector that the sender may use, at most 64; 0 if the receiver computes
    /// the rate control's input.
    pub width: u8,
    /// Bit vector: bit i is set if packet `sequence` − i has arrived. Bit 0 is always set; bits
    /// beyond the width are 0.
    pub vector: u64,
    /// Payload that has arrived so far, in bytes, duplicates not counted. For the sender's tables;
    /// its rate does not depend on it.
    pub delivered: u64,
}

/// An acknowledgement with the receiver's measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Packets that have arrived.
    pub arrived: Acknowledgement,
    /// Receive rate of payload in bytes per second (X_recv of RFC 5348).
    pub receive_byte_per_s: u64,
    /// Loss event rate in units of 2^-32; 2^32 - 1 stands for 1.
    pub loss_event_rate: u32,
}

/// An orderly end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Reason of the end.
    pub reason: StopReason,
    /// Number of DATA packets that this side has sent; 0 from a receiver.
    pub packets: u64,
}

impl<'a> Message<'a> {
    pub(super) const fn kind(&self) -> Kind {
        match self {
            Message::Hello(_) => Kind::Hello,
            Message::Cookie(_) | Message::Challenge(_) => Kind::Cookie,
            Message::Start(_) => Kind::Start,
            Message::Data(_) => Kind::Data,
            Message::Ack(_) => Kind::Ack,
            Message::Report(_) => Kind::Report,
            Message::Stop(_) => Kind::Stop,
            Message::Error(_) => Kind::Error,
        }
    }

    /// Appends the fields, padding and payload to a datagram that begins at `begin`; returns the
    /// length of its header.
    pub(super) fn write(&self, begin: usize, output: &mut Vec<u8>) -> usize {
        match self {
            Message::Hello(hello) => {
                output.extend_from_slice(&hello.client);
                output.resize(begin + LONGEST - TAG, 0);
                return HELLO_HEADER;
            }
            Message::Cookie(cookie) => {
                output.extend_from_slice(&cookie.client);
                output.extend_from_slice(&cookie.server);
                output.extend_from_slice(&cookie.cookie);
            }
            Message::Challenge(challenge) => output.extend_from_slice(&challenge.cookie),
            Message::Start(start) => start.write(output),
            Message::Data(data) => return data.write(begin, output),
            Message::Ack(ack) => ack.write(output),
            Message::Report(report) => {
                report.arrived.write(output);
                output.extend_from_slice(&report.receive_byte_per_s.to_be_bytes());
                output.extend_from_slice(&report.loss_event_rate.to_be_bytes());
            }
            Message::Stop(stop) => {
                output.extend_from_slice(&(stop.reason as u32).to_be_bytes());
                output.extend_from_slice(&stop.packets.to_be_bytes());
            }
            Message::Error(code) => output.extend_from_slice(&(*code as u32).to_be_bytes()),
        }
        output.len() - begin
    }

    /// Reads the content behind the prefix: the rest of the header, and the payload.
    pub(super) fn read(kind: Kind, header: &[u8], payload: &'a [u8]) -> Result<Self, Malformed> {
        let lengths: &[usize] = match kind {
            Kind::Hello => &[HELLO_HEADER],
            Kind::Cookie => &[COOKIE_HEADER, CHALLENGE_HEADER],
            Kind::Start => &[START_HEADER],
            Kind::Data => return Data::read(header, payload).map(Message::Data),
            Kind::Ack => &[ACK_HEADER],
            Kind::Report => &[REPORT_HEADER],
            Kind::Stop => &[STOP_HEADER],
            Kind::Error => &[ERROR_HEADER],
        };
        let length = header.len() + PREFIX;
        if !lengths.contains(&length) {
            return Err(Malformed::Header);
        }
        let padded = if kind == Kind::Hello {
            LONGEST - TAG - HELLO_HEADER
        } else {
            0
        };
        if payload.len() != padded {
            return Err(Malformed::Length);
        }
        if !Fields(payload).end_in_zeros() {
            return Err(Malformed::Unknown);
        }
        let mut fields = Fields(header);
        Ok(match kind {
            Kind::Hello => Message::Hello(Hello {
                client: fields.take(),
            }),
            Kind::Cookie if length == CHALLENGE_HEADER => Message::Challenge(Challenge {
                cookie: fields.take(),
            }),
            Kind::Cookie => Message::Cookie(Cookie {
                client: fields.take(),
                server: fields.take(),
                cookie: fields.take(),
            }),
            Kind::Start => Message::Start(Start::read(fields)?),
            Kind::Ack => Message::Ack(Acknowledgement::read(&mut fields)?),
            Kind::Report => Message::Report(Report {
                arrived: Acknowledgement::read(&mut fields)?,
                receive_byte_per_s: fields.u64(),
                loss_event_rate: fields.u32(),
            }),
            Kind::Stop => Message::Stop(Stop {
                reason: numbered(&StopReason::ALL, |reason| *reason as u32, fields.u32())?,
                packets: fields.u64(),
            }),
            Kind::Error | Kind::Data => Message::Error(numbered(
                &ErrorCode::ALL,
                |code| *code as u32,
                fields.u32(),
            )?),
        })
    }
}

fn numbered<T: Copy>(all: &[T], number: impl Fn(&T) -> u32, wanted: u32) -> Result<T, Malformed> {
    let value = all.iter().find(|candidate| number(candidate) == wanted);
    value.copied().ok_or(Malformed::Unknown)
}

impl Start {
    fn write(&self, output: &mut Vec<u8>) {
        output.extend_from_slice(&self.client);
        output.extend_from_slice(&self.server);
        output.extend_from_slice(&self.cookie);
        output.extend_from_slice(&self.control.0);
        output.extend_from_slice(&self.most_bit_per_s.to_be_bytes());
    }

    fn read(mut fields: Fields<'_>) -> Result<Self, Malformed> {
        let (client, server, cookie) = (fields.take(), fields.take(), fields.take());
        let control = ControlName::from_bytes(fields.take()).ok_or(Malformed::Value)?;
        Ok(Start {
            client,
            server,
            cookie,
            control,
            most_bit_per_s: fields.u64(),
        })
    }
}

impl<'a> Data<'a> {
    /// Returns the length of the padding for a payload of this length.
    const fn padding(payload: usize) -> usize {
        // In whole words, the unit of the header length.
        SHORTEST_DATA
            .saturating_sub(DATA_HEADER + payload + TAG)
            .next_multiple_of(4)
    }

    /// Returns the length of a datagram with a payload of this length.
    pub const fn length(payload: usize) -> usize {
        DATA_HEADER + Self::padding(payload) + payload + TAG
    }

    fn write(&self, begin: usize, output: &mut Vec<u8>) -> usize {
        output.extend_from_slice(&self.sent_us.to_be_bytes());
        output.extend_from_slice(&self.nonce.to_be_bytes());
        output.extend_from_slice(&self.rtt_us.to_be_bytes());
        let header = DATA_HEADER + Self::padding(self.payload.len());
        output.resize(begin + header, 0);
        output.extend_from_slice(self.payload);
        header
    }

    fn read(header: &[u8], payload: &'a [u8]) -> Result<Self, Malformed> {
        if header.len() + PREFIX != DATA_HEADER + Self::padding(payload.len()) {
            return Err(Malformed::Header);
        }
        let mut fields = Fields(header);
        let data = Data {
            sent_us: fields.u64(),
            nonce: fields.u32(),
            rtt_us: fields.u32(),
            payload,
        };
        if fields.end_in_zeros() {
            Ok(data)
        } else {
            Err(Malformed::Unknown)
        }
    }
}

impl Acknowledgement {
    /// Length of the datagram in bytes.
    pub const LENGTH: usize = ACK_HEADER + TAG;

    fn write(&self, output: &mut Vec<u8>) {
        output.extend_from_slice(&self.sequence.to_be_bytes());
        output.extend_from_slice(&self.echo_us.to_be_bytes());
        output.extend_from_slice(&self.held_us.to_be_bytes());
        output.extend_from_slice(&self.nonces.to_be_bytes());
        output.extend_from_slice(&self.marked.to_be_bytes());
        output.extend_from_slice(&[self.width, 0, 0, 0]);
        output.extend_from_slice(&self.vector.to_be_bytes());
        output.extend_from_slice(&self.delivered.to_be_bytes());
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, Malformed> {
        let ack = Acknowledgement {
            sequence: fields.u64(),
            echo_us: fields.u64(),
            held_us: fields.u32(),
            nonces: fields.u32(),
            marked: fields.u32(),
            width: read_width(fields)?,
            vector: fields.u64(),
            delivered: fields.u64(),
        };
        let beyond_width = ack.width < 64 && ack.vector >> ack.width.max(1) != 0;
        let before_first = ack.sequence < 63 && ack.vector >> (ack.sequence + 1) != 0;
        let plausible = ack.vector & 1 == 1 && !beyond_width && !before_first;
        if plausible {
            Ok(ack)
        } else {
            Err(Malformed::Value)
        }
    }
}

impl Report {
    /// Length of the datagram in bytes.
    pub const LENGTH: usize = REPORT_HEADER + TAG;
}

/// Reads a width, which is followed by three bytes of padding.
fn read_width(fields: &mut Fields<'_>) -> Result<u8, Malformed> {
    let width = fields.u8();
    if fields.take() != [0; 3] {
        return Err(Malformed::Unknown);
    }
    if width <= 64 {
        Ok(width)
    } else {
        Err(Malformed::Value)
    }
}
