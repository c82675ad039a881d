//! Sessions without clock or socket: bytes and times in, bytes out. The receiver of the data opens
//! a session; the sender waits for it.
//!
//! ```text
//! receiver                      sender
//!    HELLO (1200 bytes)  ----->            remembers nothing
//!              <-----  COOKIE (88 bytes)
//!    START               ----->            verifies address and key: the session begins
//!              <-----  DATA …
//!    ACK or REPORT       ----->
//!              <-----  STOP (finished)
//!    STOP (confirmed)    ----->
//! ```

use crate::wire::{Data, ErrorCode};
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use std::net::{IpAddr, SocketAddr};

mod receiving;
mod sending;
#[cfg(test)]
mod tests;

pub use receiving::{ArrivedCounts, Receiver, ReceiverReport, ReceiverSettings};
pub use sending::{Sender, SenderReport, SenderSettings, Source, Written};

/// Longest time without feedback, or three of its rounds, until a sender stops. This is a circuit
/// breaker (RFC 8085 section 3.1.10). A receiver stops after as long without data.
pub const SILENCE: Span = Span::from_millis(10_000);
/// Interval at which a sender without data sends empty packets, so that the receiver does not take
/// it for gone. We chose it so that several fit into [`SILENCE`].
pub const KEEP_ALIVE: Span = Span::from_millis(2_000);
/// Longest time that data waits to fill a packet. We chose it below what a person notices.
pub const PUSH_AFTER: Span = Span::from_millis(50);
/// Time between the first two attempts of a message that is repeated until it is answered. It
/// doubles with each attempt, up to [`LONGEST_REPEAT`].
const FIRST_REPEAT: Span = Span::from_millis(250);
const LONGEST_REPEAT: Span = Span::from_millis(2_000);
/// Number of STOPs sent to a peer that does not confirm.
const STOPS: u32 = 4;
/// Time for which the side that confirmed the end stays, in case its answer is lost and STOP is
/// repeated.
const LINGER: Span = Span::from_millis(300);

/// Longest plausible round-trip time. A longer one means that a clock has jumped, or that the peer
/// wants this side to remember too much.
const LONGEST_RTT: Span = Span::from_millis(60_000);
/// IP and UDP headers as the cap counts them, in bytes: those of IPv6, the longer ones.
const HEADERS: u64 = 48;

/// Returns the length on the wire of a packet of data, as the cap counts it.
pub(crate) const fn on_wire(payload: usize) -> Bytes {
    Bytes(Data::length(payload) as u64 + HEADERS)
}

/// The default cap. It is slow enough to do no harm by mistake.
pub const MOST: BitRate = BitRate::from_bit_per_s(1_000_000);

/// Returns the cap for packets to this address: `given`, or the default. There is no default cap to
/// this host itself.
fn most_to(peer: SocketAddr, given: Option<BitRate>) -> BitRate {
    let default = if peer.ip().to_canonical().is_loopback() {
        BitRate::from_bit_per_s(u64::MAX)
    } else {
        MOST
    };
    given.unwrap_or(default)
}

/// True if the address belongs to this host or to a private network: loopback, link-local, RFC 1918
/// or unique local (RFC 4193).
pub fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

/// The reason why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All data has been sent.
    Finished {
        /// True if the other side has confirmed the end.
        confirmed: bool,
    },
    /// This side asked for the end.
    Stopped,
    /// The other side asked for the end.
    PeerStopped,
    /// The other side did not answer when the session was to be opened.
    NoAnswer,
    /// The other side was silent for this long.
    Silence(Span),
    /// The other side refused or gave up, with this reason.
    Refused(ErrorCode),
    /// The other side claimed packets that it cannot have received.
    Dishonest,
}

/// Numbers of datagrams that were ignored, by reason. They have had no influence on the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    /// Not a datagram of this format and version.
    pub malformed: u64,
    /// From another session, or from one that has ended.
    pub foreign: u64,
    /// The tag does not fit the key.
    pub unauthenticated: u64,
    /// Seen before, or too old to tell.
    pub replayed: u64,
    /// Authentic, but from an address that has not been verified as the receiver's.
    pub elsewhere: u64,
    /// Authentic, but not expected at this point of the session.
    pub unexpected: u64,
    /// Feedback on packets that are no longer remembered.
    pub forgotten: u64,
    /// Feedback on packets that cannot have arrived.
    pub dishonest: u64,
}

impl Ignored {
    /// Returns the counts with their names.
    pub const fn by_name(&self) -> [(&'static str, u64); 8] {
        [
            ("malformed", self.malformed),
            ("foreign", self.foreign),
            ("unauthenticated", self.unauthenticated),
            ("replayed", self.replayed),
            ("elsewhere", self.elsewhere),
            ("unexpected", self.unexpected),
            ("forgotten", self.forgotten),
            ("dishonest", self.dishonest),
        ]
    }
}

/// A message that is repeated until it is answered.
#[derive(Clone, Copy, Debug)]
struct Repeated {
    next: Time,
    gap: Span,
    said: u32,
}

impl Repeated {
    /// Creates one that is due at once.
    const fn from(now: Time) -> Self {
        Repeated {
            next: now,
            gap: FIRST_REPEAT,
            said: 0,
        }
    }

    /// Returns true if the message is due, and counts it as sent.
    fn take(&mut self, now: Time) -> bool {
        if now < self.next {
            return false;
        }
        self.next = now + self.gap;
        self.gap = (self.gap * 2).min(LONGEST_REPEAT);
        self.said += 1;
        true
    }
}

/// Converts a time to microseconds of this host's clock, as in packets.
const fn micros(at: Time) -> u64 {
    at.as_nanos() / 1000
}
