//! Constants of all datagrams.

/// The first bytes of every datagram.
pub const MAGIC: [u8; 2] = *b"AC";
/// The version of the format.
pub const VERSION: u8 = 1;
/// Length of the prefix that every datagram begins with.
pub const PREFIX: usize = 24;
/// Length of the tag that every datagram ends with.
pub const TAG: usize = 16;
/// The longest datagram as UDP payload, in bytes. With 48 bytes of IPv6 and UDP headers it passes
/// every IPv6 path (RFC 8200 section 5: 1280 bytes).
pub const LONGEST: usize = 1200;

/// Random bytes that only the two sides of a handshake know.
pub type Nonce = [u8; 16];
