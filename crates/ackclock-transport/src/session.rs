//! Sessions without clock or socket: bytes and moments in, bytes out. The receiver of the data
//! opens one; the sender waits for it.
//!
//! ```text
//! receiver                      sender
//!    HELLO (1200 bytes)  ----->            remembers nothing
//!              <-----  COOKIE (88 bytes)
//!    START               ----->            a real address, somebody with the key: the session begins
//!              <-----  DATA …
//!    ACK or REPORT       ----->
//!              <-----  STOP (finished)
//!    STOP (confirmed)    ----->
//! ```

use crate::wire::{Data, ErrorCode};
use ackclock_core::units::{BitRate, Bytes, Span, Time};
use std::net::{IpAddr, SocketAddr};

mod receiving;
mod sending;
#[cfg(test)]
mod tests;

pub use receiving::{ArrivedCounts, Receiver, ReceiverReport, ReceiverSettings};
pub use sending::{Sender, SenderReport, SenderSettings, Source, Written};

/// Without feedback for so long, or three of its rounds, a sender stops (a circuit breaker, RFC
/// 8085 section 3.1.10); without data for so long a receiver does.
pub const SILENCE: Span = Span::from_millis(10_000);
/// A sender that has nothing to send says so this often, or a receiver would hold it gone. Ours:
/// several fit into [`SILENCE`].
pub const KEEP_ALIVE: Span = Span::from_millis(2_000);
/// Data that does not fill a packet waits so long for more. Ours: less than a person notices.
pub const PUSH_AFTER: Span = Span::from_millis(50);
/// Between the first two attempts of anything that is repeated until it is answered; then twice as
/// long, up to [`LONGEST_REPEAT`].
const FIRST_REPEAT: Span = Span::from_millis(250);
const LONGEST_REPEAT: Span = Span::from_millis(2_000);
/// How often STOP is said to somebody who does not confirm it.
const STOPS: u32 = 4;
/// Who has confirmed the end stays so long, in case his answer is lost and STOP is said again.
const LINGER: Span = Span::from_millis(300);

/// A round-trip time longer than that is none: a clock has jumped, or somebody wants the other side
/// to remember much.
const LONGEST_RTT: Span = Span::from_millis(60_000);
/// IP and UDP headers as the cap counts them: those of IPv6, the longer ones.
const HEADERS: u64 = 48;

/// Length of a packet of data as the cap counts it.
pub(crate) const fn on_wire(payload: usize) -> Bytes {
    Bytes(Data::length(payload) as u64 + HEADERS)
}

/// The cap where nobody has said another: what is slow enough to harm nobody by mistake.
pub const MOST: BitRate = BitRate::from_bit_per_s(1_000_000);

/// The cap for what goes to that address. On this host alone there is none by default.
fn most_to(peer: SocketAddr, told: Option<BitRate>) -> BitRate {
    let default = if peer.ip().to_canonical().is_loopback() {
        BitRate::from_bit_per_s(u64::MAX)
    } else {
        MOST
    };
    told.unwrap_or(default)
}

/// Whether that is an address of this host or of a private network: loopback, link-local, RFC 1918,
/// unique local (RFC 4193).
pub fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All there was has been sent.
    Finished {
        /// Whether the other side has said that it knows.
        confirmed: bool,
    },
    /// It was asked for on this side.
    Stopped,
    /// It was asked for on the other side.
    PeerStopped,
    /// Nobody answered when the session was to be opened.
    NoAnswer,
    /// The other side has fallen silent for that long.
    Silence(Span),
    /// The other side refused, or gave up, and said why.
    Refused(ErrorCode),
    /// The other side claimed packets that it cannot have.
    Dishonest,
}

/// Datagrams that changed nothing, by reason. What is counted here has had no influence on the
/// rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    /// Bytes that are no datagram of this format and version.
    pub malformed: u64,
    /// Of another session, or of one that is over.
    pub foreign: u64,
    /// The tag is not that of the key.
    pub unauthenticated: u64,
    /// Seen before, or too old to tell.
    pub replayed: u64,
    /// Authentic, but from an address that has not shown that it is the receiver's.
    pub elsewhere: u64,
    /// Authentic, but of no use at that moment.
    pub unexpected: u64,
    /// Feedback on packets that are no longer remembered.
    pub forgotten: u64,
    /// Claims of packets that cannot have arrived.
    pub dishonest: u64,
}

impl Ignored {
    /// The counts by name.
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

/// Something that is said again and again until it is answered.
#[derive(Clone, Copy, Debug)]
struct Repeated {
    next: Time,
    gap: Span,
    said: u32,
}

impl Repeated {
    /// Due at once.
    const fn from(now: Time) -> Self {
        Repeated {
            next: now,
            gap: FIRST_REPEAT,
            said: 0,
        }
    }

    /// Whether it is due; then it is taken for said.
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

/// Microseconds of this host's clock, as they are written into packets.
const fn micros(at: Time) -> u64 {
    at.as_nanos() / 1000
}
