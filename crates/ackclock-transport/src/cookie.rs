//! Cookies: a host proves that an address is its own by sending back the cookie sent there. The
//! sender of a cookie remembers nothing.

use crate::keys::TagKey;
use crate::wire::{Challenge, Cookie, Nonce, Start};
use ackclock_spec::units::{Span, Time};
use std::net::{IpAddr, SocketAddr};

/// Length of a time slot. A cookie is valid in its slot and in the next one. We chose the length so
/// that a handshake over a path of several seconds succeeds, but the cookie of an address that is
/// reassigned expires soon.
pub const SLOT: Span = Span::from_millis(10_000);

/// Purposes of digests.
const COOKIE: &[u8] = b"cookie";
const SERVER: &[u8] = b"server";

/// Makes cookies and recognises its own.
#[derive(Clone, Debug)]
pub struct Cookies {
    key: TagKey,
}

impl Cookies {
    /// Creates one with a secret of this process.
    pub fn new(secret: &[u8; 32]) -> Self {
        Cookies {
            key: TagKey::new(secret),
        }
    }

    /// Returns the answer to a HELLO from `address`, and its connection id. Both are the same
    /// within a slot, so that nothing need be remembered.
    pub fn offer(&self, now: Time, address: SocketAddr, client: &Nonce) -> (u64, Cookie) {
        self.offer_in(slot(now), address, client)
    }

    /// True if START answers such an offer, from the same address, in time.
    pub fn accepts(&self, now: Time, address: SocketAddr, connection: u64, start: &Start) -> bool {
        let slot = slot(now);
        [Some(slot), slot.checked_sub(1)]
            .into_iter()
            .flatten()
            .any(|slot| {
                let (offered, cookie) = self.offer_in(slot, address, &start.client);
                // The cookie is the secret. Comparing digests keeps the time of comparison
                // independent of it.
                offered == connection
                    && cookie.server == start.server
                    && self.same(&cookie.cookie, &start.cookie)
            })
    }

    /// Returns a cookie for a new address of a session.
    pub fn challenge(&self, now: Time, address: SocketAddr, client: &Nonce) -> Challenge {
        Challenge {
            cookie: self.cookie(slot(now), address, client),
        }
    }

    /// True if START brings that cookie back from that address, in time.
    pub fn is_met(&self, now: Time, address: SocketAddr, start: &Start) -> bool {
        let slot = slot(now);
        let is_met_in = |slot| self.same(&self.cookie(slot, address, &start.client), &start.cookie);
        is_met_in(slot) || slot.checked_sub(1).is_some_and(is_met_in)
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
        // 0 means no connection.
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

    fn same(&self, left: &[u8; 16], right: &[u8; 16]) -> bool {
        self.key.digest(&[left]) == self.key.digest(&[right])
    }
}

fn slot(now: Time) -> u64 {
    now.as_nanos() / SLOT.as_nanos()
}
