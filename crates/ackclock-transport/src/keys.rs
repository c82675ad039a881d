//! Authentication: a key that both sides share in advance, session keys derived from it, and the
//! tags of datagrams.

use crate::wire::format::{Nonce, TAG};
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;

/// Fewest bytes of a key: 128 bits if each is random. Shorter keys can be guessed.
pub const SHORTEST_KEY: usize = 16;
/// Most bytes of a key. A longer file was given by mistake.
pub const LONGEST_KEY: usize = ackclock_spec::limits::KEY_BYTES as usize;

/// Purposes of keys. They include the version, so that one version cannot be taken for another.
const OPENING: &[u8] = b"ackclock 1 opening";
const DATA: &[u8] = b"ackclock 1 data";
const FEEDBACK: &[u8] = b"ackclock 1 feedback";
/// The public key, used without a shared one. It keeps out only those who cannot see the datagrams.
const PUBLIC: &[u8] = b"ackclock without a key";

/// The key that both sides share in advance.
#[derive(Clone)]
pub struct SharedKey(Hkdf<Sha256>, TagKey);

/// A key for tags, with its key schedule computed once: HMAC-SHA-256 (RFC 2104), truncated to 128
/// bits.
#[derive(Clone)]
pub struct TagKey(Hmac<Sha256>);

/// The keys of a session, one per direction.
#[derive(Clone, Debug)]
pub struct SessionKeys {
    /// Key of the sender of the data.
    pub data: TagKey,
    /// Key of the receiver of the data.
    pub feedback: TagKey,
}

impl SharedKey {
    /// Creates a key from the bytes of a file. Line ends at the end are ignored.
    ///
    /// # Errors
    /// Wrong length: a description and the remedy.
    pub fn new(bytes: &[u8]) -> Result<Self, String> {
        let end = bytes
            .iter()
            .rposition(|byte| !matches!(byte, b'\n' | b'\r'));
        let bytes = &bytes[..end.map_or(0, |last| last + 1)];
        let remedy = "make one with: (umask 077; head -c 32 /dev/urandom | base64 > FILE)";
        match bytes.len() {
            SHORTEST_KEY..=LONGEST_KEY => Ok(Self::of(bytes)),
            length if length < SHORTEST_KEY => Err(format!(
                "holds a key of {length} bytes, fewer than {SHORTEST_KEY}; {remedy}"
            )),
            _ => Err(format!(
                "holds more than {LONGEST_KEY} bytes, too many for a key; {remedy}"
            )),
        }
    }

    /// Returns the public key.
    pub fn public() -> Self {
        Self::of(PUBLIC)
    }

    fn of(bytes: &[u8]) -> Self {
        let extracted = Hkdf::new(None, bytes);
        let opening = expand(&extracted, &[OPENING]);
        SharedKey(extracted, opening)
    }

    /// Returns the key of messages before there is a session.
    pub const fn opening(&self) -> &TagKey {
        &self.1
    }

    /// Returns the keys of the session with these two nonces.
    pub fn session(&self, client: &Nonce, server: &Nonce) -> SessionKeys {
        let key = |purpose| expand(&self.0, &[purpose, client, server]);
        SessionKeys {
            data: key(DATA),
            feedback: key(FEEDBACK),
        }
    }
}

/// Derives a key by HKDF-Expand (RFC 5869).
fn expand(extracted: &Hkdf<Sha256>, info: &[&[u8]]) -> TagKey {
    let mut key = [0; 32];
    extracted
        .expand_multi_info(info, &mut key)
        .expect("32 bytes are fewer than HKDF gives");
    TagKey::new(&key)
}

impl TagKey {
    /// Creates a tag key from these bytes.
    pub fn new(key: &[u8; 32]) -> Self {
        TagKey(Hmac::new_from_slice(key).expect("HMAC takes keys of any length"))
    }

    /// Returns the full HMAC-SHA-256 of the concatenated parts.
    pub fn digest(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.0.clone();
        parts.iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes().into()
    }

    /// Returns the tag of these bytes.
    pub fn tag(&self, bytes: &[u8]) -> [u8; TAG] {
        let digest = self.digest(&[bytes]);
        *digest.first_chunk().expect("a digest is longer than a tag")
    }

    /// True if the tag fits the bytes. Takes the same time either way.
    pub fn verifies(&self, bytes: &[u8], tag: &[u8]) -> bool {
        let mut mac = self.0.clone();
        mac.update(bytes);
        tag.len() == TAG && mac.verify_truncated_left(tag).is_ok()
    }
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedKey")
    }
}

impl fmt::Debug for TagKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TagKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> TagKey {
        TagKey::new(&[0x0b; 32])
    }

    /// Computed with Python: hmac.new(bytes([0x0b]*32), b"Hi There", "sha256").
    #[test]
    fn tags_are_those_of_hmac_sha_256_cut_to_half() {
        let expected = [
            0x19, 0x8a, 0x60, 0x7e, 0xb4, 0x4b, 0xfb, 0xc6, 0x99, 0x03, 0xa0, 0xf1, 0xcf, 0x2b,
            0xbd, 0xc5,
        ];
        assert_eq!(key().tag(b"Hi There"), expected);
        assert_eq!(key().digest(&[b"Hi", b" There"])[..TAG], expected);
        assert!(key().verifies(b"Hi There", &expected));
    }

    #[test]
    fn a_tag_holds_for_all_of_its_bytes_and_no_others() {
        let tag = key().tag(b"Hi There");
        for bit in 0..128 {
            let mut other = tag;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!key().verifies(b"Hi There", &other));
        }
        assert!(!key().verifies(b"hi There", &tag));
        assert!(
            !key().verifies(b"Hi There", &tag[..8]),
            "not even a part of it"
        );
        assert!(!key().verifies(b"Hi There", &[]));
    }

    #[test]
    fn every_nonce_and_direction_and_key_gives_other_keys() {
        let shared = SharedKey::new(&[7; 32]).unwrap();
        let other = SharedKey::new(&[8; 32]).unwrap();
        let (one, two) = ([1; 16], [2; 16]);
        let all = [
            shared.session(&one, &two),
            shared.session(&two, &one),
            shared.session(&one, &one),
            other.session(&one, &two),
            SharedKey::public().session(&one, &two),
        ];
        let mut tags: Vec<_> = all
            .iter()
            .flat_map(|keys| [keys.data.tag(b"x"), keys.feedback.tag(b"x")])
            .chain([shared.opening().tag(b"x"), other.opening().tag(b"x")])
            .collect();
        tags.sort_unstable();
        tags.dedup();
        assert_eq!(tags.len(), 12);
    }

    #[test]
    fn a_key_file_may_end_in_a_line_end_and_must_be_of_some_length() {
        let tag = |bytes: &[u8]| SharedKey::new(bytes).map(|key| key.opening().tag(b"x"));
        assert_eq!(tag(b"0123456789abcdef"), tag(b"0123456789abcdef\r\n"));
        assert!(tag(b"0123456789abcde\n").unwrap_err().contains("15 bytes"));
        assert!(tag(b"").is_err());
        assert!(tag(&[1; LONGEST_KEY + 1]).is_err());
        assert_eq!(
            format!("{:?}", SharedKey::new(&[7; 32]).unwrap()),
            "SharedKey",
            "keys are not printed"
        );
    }
}
