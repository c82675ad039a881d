//! Cookies: an address shows that it is real by sending back what was sent to it. The sender of a
//! cookie remembers nothing.

use crate::keys::TagKey;
use crate::wire::{Challenge, Cookie, Nonce, Start};
use ackclock_core::units::{Span, Time};
use std::net::{IpAddr, SocketAddr};

/// A cookie is good in the slot of time in which it was made and in the next one: chosen so that a
/// handshake over a path of several seconds succeeds, and that an address that somebody else gets
/// is soon worth nothing.
pub const SLOT: Span = Span::from_millis(10_000);

/// What a digest is for.
const COOKIE: &[u8] = b"cookie";
const SERVER: &[u8] = b"server";

/// Makes cookies and knows its own.
#[derive(Clone, Debug)]
pub struct Cookies {
    key: TagKey,
}

impl Cookies {
    /// With a secret of this process.
    pub fn new(secret: &[u8; 32]) -> Self {
        Cookies {
            key: TagKey::new(secret),
        }
    }

    /// The answer to a HELLO from `address`, and the connection id that goes with it: the same
    /// within a slot, so that nothing need be remembered of it.
    pub fn offer(&self, now: Time, address: SocketAddr, client: &Nonce) -> (u64, Cookie) {
        self.offer_in(slot(now), address, client)
    }

    /// Whether START answers such an offer, from the same address, in time.
    pub fn accepts(&self, now: Time, address: SocketAddr, connection: u64, start: &Start) -> bool {
        let slot = slot(now);
        [Some(slot), slot.checked_sub(1)]
            .into_iter()
            .flatten()
            .any(|slot| {
                let (offered, cookie) = self.offer_in(slot, address, &start.client);
                // The cookie is the secret: compared by its digest, so that the time taken says
                // nothing about it.
                offered == connection
                    && cookie.server == start.server
                    && self.same(&cookie.cookie, &start.cookie)
            })
    }

    /// A cookie for a new address of a session.
    pub fn challenge(&self, now: Time, address: SocketAddr, client: &Nonce) -> Challenge {
        Challenge {
            cookie: self.cookie(slot(now), address, client),
        }
    }

    /// Whether START brings that cookie back from there, in time.
    pub fn is_met(&self, now: Time, address: SocketAddr, start: &Start) -> bool {
        let slot = slot(now);
        let known = |slot| self.same(&self.cookie(slot, address, &start.client), &start.cookie);
        known(slot) || slot.checked_sub(1).is_some_and(known)
    }

    fn offer_in(&self, slot: u64, address: SocketAddr, client: &Nonce) -> (u64, Cookie) {
        let digest = self.digest(SERVER, slot, address, client);
        let (server, rest) = digest
            .split_first_chunk()
            .expect("a digest is longer than a nonce");
        let id = rest.first_chunk().expect("and than a nonce and an id");
        let cookie = Cookie {
            client: *client,
            server: *server,
            cookie: self.cookie(slot, address, client),
        };
        // 0 stands for no connection.
        (u64::from_be_bytes(*id).max(1), cookie)
    }

    fn cookie(&self, slot: u64, address: SocketAddr, client: &Nonce) -> [u8; 16] {
        let digest = self.digest(COOKIE, slot, address, client);
        *digest
            .first_chunk()
            .expect("a digest is longer than a cookie")
    }

    fn digest(&self, purpose: &[u8], slot: u64, address: SocketAddr, client: &Nonce) -> [u8; 32] {
        let host = match address.ip().to_canonical() {
            IpAddr::V4(host) => host.to_ipv6_mapped(),
            IpAddr::V6(host) => host,
        };
        let (port, slot) = (address.port().to_be_bytes(), slot.to_be_bytes());
        self.key
            .digest(&[purpose, &host.octets(), &port, &slot, client])
    }

    fn same(&self, one: &[u8; 16], other: &[u8; 16]) -> bool {
        self.key.digest(&[one]) == self.key.digest(&[other])
    }
}

fn slot(now: Time) -> u64 {
    now.as_nanos() / SLOT.as_nanos()
}
