//! The randomness that quinn lets its user give.

use ackclock_spec::streams::Stream;
use quinn_proto::crypto::{HandshakeTokenKey, HmacKey};
use quinn_proto::{ConnectionId, ConnectionIdGenerator};
use ring::{hkdf, hmac};
use std::sync::Arc;
use std::time::Duration;

/// Seeds of one side, from a stream of its flow.
#[derive(Debug)]
pub struct Seeds(Stream);

/// Length of a connection ID, as by quinn's default.
pub const ID_BYTES: usize = 8;

/// A provider of the connection ID to which a client sends its first packet.
type FirstDestination = Arc<dyn Fn() -> ConnectionId + Send + Sync>;

impl Seeds {
    pub fn new(stream: Stream) -> Self {
        Seeds(stream)
    }

    /// Draws a seed.
    pub fn bytes<const BYTES: usize>(&mut self) -> [u8; BYTES] {
        self.0.bytes()
    }

    /// Returns the key of the tokens of stateless resets.
    pub fn reset_key(&mut self) -> Arc<dyn HmacKey> {
        Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &self.bytes::<32>()))
    }

    /// Returns the key of the tokens of Retry packets; none is ever sent.
    pub fn token_key(&mut self) -> Arc<dyn HandshakeTokenKey> {
        Arc::new(hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(&self.bytes::<32>()))
    }

    /// Returns where a client sends its first packet: an ID of the largest length, as by quinn's
    /// default.
    pub fn first_destination(&mut self) -> FirstDestination {
        let id: [u8; 20] = self.bytes();
        Arc::new(move || ConnectionId::new(&id))
    }

    /// Returns the maker of a generator of connection IDs.
    pub fn connection_ids(
        &mut self,
    ) -> impl Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static {
        let stream = Stream::clone(&self.0);
        self.0.bits(); // what is drawn next is not what the first ID is made of
        move || Box::new(Ids(stream.clone()))
    }
}

#[derive(Debug)]
struct Ids(Stream);

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&self.0.bytes::<ID_BYTES>())
    }
    fn cid_len(&self) -> usize {
        ID_BYTES
    }
    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}
