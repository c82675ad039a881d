//! No encryption: what crosses the network is as long as with TLS 1.3, and the same in every run.
//!
//! The handshake has the messages and the round trips of TLS, about as long. Each packet ends in a
//! tag of 16 bytes, which names the key and the number, so that a packet under another key is
//! refused. Headers are not protected.

use bytes::BytesMut;
use quinn_proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey,
    ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use std::any::Any;
use std::sync::Arc;

/// Lengths of the messages: ClientHello; ServerHello; the server's other messages with one
/// certificate; the client's Finished.
const HELLO: usize = 260;
const SERVER_HELLO: usize = 90;
const SERVER_FLIGHT: usize = 640;
const FINISHED: usize = 36;

const TAG: usize = 16;
/// Bytes from which TLS makes the mask of a header.
const SAMPLE: usize = 16;

/// The configuration of both sides.
#[derive(Debug)]
pub struct Null;

impl ClientConfig for Null {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(Handshake::new(Side::Client, parameters)))
    }
}

impl ServerConfig for Null {
    fn initial_keys(&self, _: u32, first: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(initial(first, Side::Server))
    }
    fn retry_tag(&self, _: u32, _: &ConnectionId, _: &[u8]) -> [u8; 16] {
        [0; TAG] // nobody retries
    }
    fn start_session(
        self: Arc<Self>,
        _: u32,
        parameters: &TransportParameters,
    ) -> Box<dyn Session> {
        Box::new(Handshake::new(Side::Server, parameters))
    }
}

/// The steps of a side: it waits for so many bytes, or sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    SendHello,
    AwaitServerHello,
    TakeHandshakeKeys,
    AwaitServerFlight,
    SendFinished,
    AwaitHello,
    SendServerHello,
    SendServerFlight,
    AwaitFinished,
    Done,
}

struct Handshake {
    side: Side,
    step: Step,
    own: Vec<u8>,
    arrived: Vec<u8>,
    peer: Option<TransportParameters>,
    /// Generation of the keys of data.
    generation: u64,
}

impl Handshake {
    fn new(side: Side, parameters: &TransportParameters) -> Self {
        let mut own = Vec::new();
        parameters.write(&mut own);
        Handshake {
            side,
            step: match side {
                Side::Client => Step::SendHello,
                Side::Server => Step::AwaitHello,
            },
            own,
            arrived: Vec::new(),
            peer: None,
            generation: 0,
        }
    }

    /// Writes a message with the transport parameters: their length, then they, then zeros.
    fn write_parameters(&self, length: usize, buffer: &mut Vec<u8>) {
        let end = buffer.len() + length.max(2 + self.own.len());
        buffer.extend_from_slice(&(self.own.len() as u16).to_be_bytes());
        buffer.extend_from_slice(&self.own);
        buffer.resize(end, 0);
    }

    /// Takes a message of that length, if it is there.
    fn take(&mut self, length: usize) -> Option<Vec<u8>> {
        (self.arrived.len() >= length).then(|| self.arrived.drain(..length).collect())
    }

    fn read_parameters(&mut self, message: &[u8]) -> Result<(), TransportError> {
        let length = usize::from(u16::from_be_bytes([message[0], message[1]]));
        let mut written = message.get(2..2 + length).unwrap_or_default();
        let read = TransportParameters::read(self.side, &mut written);
        self.peer = Some(read?);
        Ok(())
    }
}

impl Session for Handshake {
    fn initial_keys(&self, first: &ConnectionId, side: Side) -> Keys {
        initial(first, side)
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.peer.is_some().then(|| Box::new(()) as Box<dyn Any>)
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }
    fn early_data_accepted(&self) -> Option<bool> {
        (self.side == Side::Client).then_some(false)
    }
    fn is_handshaking(&self) -> bool {
        self.step != Step::Done
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.arrived.extend_from_slice(bytes);
        let (length, next) = match self.step {
            Step::AwaitServerHello => (SERVER_HELLO, Step::TakeHandshakeKeys),
            Step::AwaitServerFlight => (SERVER_FLIGHT, Step::SendFinished),
            Step::AwaitHello => (HELLO, Step::SendServerHello),
            Step::AwaitFinished => (FINISHED, Step::Done),
            _ => return Ok(false),
        };
        let Some(message) = self.take(length) else {
            return Ok(false);
        };
        self.step = next;
        let has_parameters = matches!(length, HELLO | SERVER_FLIGHT);
        if has_parameters {
            self.read_parameters(&message)?;
        }
        Ok(has_parameters)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, buffer: &mut Vec<u8>) -> Option<Keys> {
        let (next, keys) = match self.step {
            Step::SendHello => {
                self.write_parameters(HELLO, buffer);
                (Step::AwaitServerHello, None)
            }
            Step::TakeHandshakeKeys => (Step::AwaitServerFlight, Some(Level::Handshake)),
            Step::SendFinished => {
                buffer.resize(buffer.len() + FINISHED, 0);
                (Step::Done, Some(Level::Data(0)))
            }
            Step::SendServerHello => {
                buffer.resize(buffer.len() + SERVER_HELLO, 0);
                (Step::SendServerFlight, Some(Level::Handshake))
            }
            Step::SendServerFlight => {
                self.write_parameters(SERVER_FLIGHT, buffer);
                (Step::AwaitFinished, Some(Level::Data(0)))
            }
            _ => return None,
        };
        self.step = next;
        keys.map(|level| keys_of(level, self.side))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.generation += 1;
        Some(keys_of(Level::Data(self.generation), self.side).packet)
    }
    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        false
    }
    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

/// The purpose of a key.
#[derive(Clone, Copy, Debug)]
enum Level {
    /// The first packets, by the connection ID that the client sent them to.
    Initial(u64),
    Handshake,
    /// Data, by generation.
    Data(u64),
}

impl Level {
    /// A number of its own for each key of a connection.
    const fn key(self, sender: Side) -> u64 {
        let (level, rest) = match self {
            Level::Initial(first) => (1, first),
            Level::Handshake => (2, 0),
            Level::Data(generation) => (3, generation),
        };
        let side = match sender {
            Side::Client => 0,
            Side::Server => 4,
        };
        (rest << 3) | side | level
    }
}

fn initial(first: &ConnectionId, side: Side) -> Keys {
    let bytes = first.iter().take(8);
    let first = bytes.fold(0, |number, byte| (number << 8) | u64::from(*byte));
    keys_of(Level::Initial(first), side)
}

fn keys_of(level: Level, side: Side) -> Keys {
    let packet = |sender| -> Box<dyn PacketKey> { Box::new(Key(level.key(sender))) };
    Keys {
        header: KeyPair {
            local: Box::new(NoMask),
            remote: Box::new(NoMask),
        },
        packet: KeyPair {
            local: packet(side),
            remote: packet(!side),
        },
    }
}

struct NoMask;

impl HeaderKey for NoMask {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}
    fn encrypt(&self, _: usize, _: &mut [u8]) {}
    fn sample_size(&self) -> usize {
        SAMPLE
    }
}

/// A key that only tags.
struct Key(u64);

impl Key {
    fn tag(&self, packet: u64) -> [u8; TAG] {
        (u128::from(self.0) << 64 | u128::from(packet)).to_be_bytes()
    }
}

impl PacketKey for Key {
    fn encrypt(&self, packet: u64, buffer: &mut [u8], _: usize) {
        let begin = buffer.len() - TAG;
        buffer[begin..].copy_from_slice(&self.tag(packet));
    }
    fn decrypt(&self, packet: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let length = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        if payload[length..] != self.tag(packet) {
            return Err(CryptoError);
        }
        payload.truncate(length);
        Ok(())
    }
    fn tag_len(&self) -> usize {
        TAG
    }
    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }
    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}
